// C = A B for a tile of 16 x 16 elements, by one warp, through wmma: the
// library loads, multiplies and stores whole fragments.
//
// grid:  1 block          block: 32 threads: one warp
// A:     fp16 (16, K), read        B: fp16 (K, 16), read
// C:     float32 (16, 16), written
// K:     a multiple of 16; A, B and C are 32-byte aligned
#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void wmma_product(const __half* A, const __half* B,
                                        float* C, int K) {
    using namespace nvcuda::wmma;
    fragment<matrix_a, 16, 16, 16, __half, row_major> a;
    fragment<matrix_b, 16, 16, 16, __half, row_major> b;
    fragment<accumulator, 16, 16, 16, float> c;
    fill_fragment(c, 0.0f);
    for (int start = 0; start < K; start += 16) {
        load_matrix_sync(a, A + start, K);        // rows are K apart
        load_matrix_sync(b, B + start * 16, 16);  // rows are 16 apart
        mma_sync(c, a, b, c);
    }
    store_matrix_sync(C, c, 16, mem_row_major);
}
