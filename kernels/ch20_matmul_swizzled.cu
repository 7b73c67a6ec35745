// C = A B on tensor cores, fragments by ldmatrix from swizzled tiles (sm_80).
//
// grid:  (ceil(N / 128), ceil(M / 128))  block: 256 threads: 2 x 4 warps,
//        each with 64 x 32 elements of C in its registers
// A:     T (M, K), read        B: T (K, N), read        C: T (M, N), written
// The sums are float32 and rounded once. M >= 1; N, K: multiples of 8
#include <ptx.cuh>

using T = __half;  // __nv_bfloat16 does as well

constexpr int BM = 128, BN = 128, BK = 64;  // a block's tile, and its step

// Byte of 16-byte chunk `chunk` of row `row` in a tile with rows of `chunks`:
// rows below each other have the same chunk in different banks.
template <int chunks>
__device__ __forceinline__ unsigned place(int row, int chunk) {
    return (row * chunks + (chunk ^ row & 7)) * 16;
}

extern "C" __global__ void __launch_bounds__(256)
matmul_swizzled(const T* A, const T* B, T* C, int M, int N, int K) {
    __shared__ __align__(128) unsigned char memory[(BM + BN) * BK * 2];
    unsigned char *as = memory, *bs = memory + BM * BK * 2;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int first_row = blockIdx.y * BM, first_col = blockIdx.x * BN;
    const int top = warp / 4 * 64, left = warp % 4 * 32;  // my warp's corner
    const unsigned at_a = ptx::shared_address(as);
    const unsigned at_b = ptx::shared_address(bs);
    float c[4][4][4] = {};  // 4 x 4 fragments of 16 x 8 elements

    for (int start = 0; start < K; start += BK) {
        // 1024 chunks of each, four a thread; zeros past the ends.
        for (int p = threadIdx.x; p < BM * BK / 8; p += 256) {
            const int r = p / (BK / 8), chunk = p % (BK / 8);
            const bool real = first_row + r < M && start + chunk * 8 < K;
            const T* from = A + (size_t)(first_row + r) * K + start + chunk * 8;
            *(uint4*)(as + place<BK / 8>(r, chunk)) =
                real ? *(const uint4*)from : uint4();
        }
        for (int p = threadIdx.x; p < BK * BN / 8; p += 256) {
            const int r = p / (BN / 8), chunk = p % (BN / 8);
            const bool real = start + r < K && first_col + chunk * 8 < N;
            const T* from = B + (size_t)(start + r) * N + first_col + chunk * 8;
            *(uint4*)(bs + place<BN / 8>(r, chunk)) =
                real ? *(const uint4*)from : uint4();
        }
        __syncthreads();  // as and bs are filled

        // Lane l names row l % 16, of the left or the right chunk, for one
        // ldmatrix of four: A's 16 x 16, and B's 16 x 16 transposed.
#pragma unroll
        for (int k = 0; k < BK / 16; ++k) {
            unsigned a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                ptx::ldmatrix_x4(a[i], at_a + place<BK / 8>(
                    top + 16 * i + lane % 16, 2 * k + lane / 16));
#pragma unroll
            for (int j = 0; j < 2; ++j)
                ptx::ldmatrix_x4_trans(b[j], at_b + place<BN / 8>(
                    16 * k + lane % 16, left / 8 + 2 * j + lane / 16));
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    ptx::mma_m16n8k16(c[i][j], a[i], b[j / 2][j % 2 * 2],
                                      b[j / 2][j % 2 * 2 + 1], T());
        }
        __syncthreads();  // all are done with as and bs: refill
    }

    // C as 16-bit numbers through the same memory: a row of 128 is 16 chunks.
    // A quad has the 4 words of a chunk, rows lane / 4 and lane / 4 + 8.
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const int r = top + 16 * i + 8 * h + lane / 4;
                *(unsigned*)(memory + place<BN / 8>(r, left / 8 + j)
                             + lane % 4 * 4) =
                    ptx::pack2(c[i][j][2 * h], c[i][j][2 * h + 1], T());
            }
    __syncthreads();  // the tile of C is complete
    for (int p = threadIdx.x; p < BM * BN / 8; p += 256) {
        const int r = p / (BN / 8), chunk = p % (BN / 8);
        const int row = first_row + r, col = first_col + chunk * 8;
        // Excluded: rows and chunks of the tile that hang over C.
        if (row < M && col < N)
            *(uint4*)(C + (size_t)row * N + col) =
                *(const uint4*)(memory + place<BN / 8>(r, chunk));
    }
}
