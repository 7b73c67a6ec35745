// C = A B on tensor cores, the fragments read from plain shared memory.
//
// grid:  (ceil(N / 128), ceil(M / 128))  block: 256 threads: 2 x 4 warps,
//        each with 64 x 32 elements of C in its registers
// A:     T (M, K), read, 16-byte aligned     B: T (K, N), likewise
// C:     float32 (M, N), written
// M: any >= 1; N and K: multiples of 8, since 8 elements are read at a time
#include <ptx.cuh>

using T = __nv_bfloat16;  // __half does as well

constexpr int Bm = 128, Bn = 128, Bk = 32;  // a block's tile, and its step
constexpr int a_row = Bk + 8, b_row = Bn + 8;  // padded: see the loads below

extern "C" __global__ void __launch_bounds__(256)
matmul_mma(const T* A, const T* B, float* C, int M, int N, int K) {
    __shared__ __align__(16) T as[Bm][a_row];
    __shared__ __align__(16) T bs[Bk][b_row];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int group = lane / 4, pair = lane % 4 * 2;  // 0 .. 7; 0, 2, 4, 6
    const int top = blockIdx.y * Bm, left = blockIdx.x * Bn;
    const int row = warp / 4 * 64 + group;  // my rows: row + 16 i and + 8
    const int col = warp % 4 * 32;          // my warp's columns: 32 from here
    float c[4][4][4] = {};  // 4 x 4 fragments of 16 x 8 elements

    for (int start = 0; start < K; start += Bk) {
        // 512 pieces of 8 elements of each: two a thread; zeros past the ends.
        for (int p = threadIdx.x; p < Bm * Bk / 8; p += 256) {
            const int y = p / (Bk / 8), x = p % (Bk / 8) * 8;
            const bool real = top + y < M && start + x < K;
            const T* from = A + (size_t)(top + y) * K + start + x;
            *(uint4*)&as[y][x] = real ? *(const uint4*)from : uint4();
        }
        for (int p = threadIdx.x; p < Bk * Bn / 8; p += 256) {
            const int y = p / (Bn / 8), x = p % (Bn / 8) * 8;
            const bool real = start + y < K && left + x < N;
            const T* from = B + (size_t)(start + y) * N + left + x;
            *(uint4*)&bs[y][x] = real ? *(const uint4*)from : uint4();
        }
        __syncthreads();  // as and bs are filled

#pragma unroll
        for (int k = pair; k < Bk; k += 16) {
            // Pairs of neighbours in a row: one 32-bit load each. 8 rows are
            // 20 words apart, so 8 x 4 lanes hit 32 different banks.
            unsigned a[4][4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int y = row + 16 * i;
                a[i][0] = *(const unsigned*)&as[y][k];
                a[i][1] = *(const unsigned*)&as[y + 8][k];
                a[i][2] = *(const unsigned*)&as[y][k + 8];
                a[i][3] = *(const unsigned*)&as[y + 8][k + 8];
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                // Neighbours in a column: two 16-bit loads for each pair.
                const int x = col + 8 * j + group;
                const unsigned short* b = (const unsigned short*)&bs[k][x];
                const unsigned b0 = b[0] | b[b_row] << 16;
                const unsigned b1 = b[8 * b_row] | b[9 * b_row] << 16;
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    ptx::mma_m16n8k16(c[i][j], a[i], b0, b1, T());
            }
        }
        __syncthreads();  // all warps are done with as and bs: refill them
    }

#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int y = top + row + 16 * i, x = left + col + 8 * j + pair;
            if (x >= N) continue;  // N is even: the pair is there or isn't
            float* to = C + (size_t)y * N + x;
            if (y < M) *(float2*)to = make_float2(c[i][j][0], c[i][j][1]);
            if (y + 8 < M)
                *(float2*)(to + (size_t)8 * N) =
                    make_float2(c[i][j][2], c[i][j][3]);
        }
    }
}
