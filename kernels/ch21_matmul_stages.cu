// C = A B on tensor cores, tiles copied in the background (sm_80 and up).
//
// grid:  1-D, ceil(M / 128) ceil(N / 256) blocks      block: 256 threads
// shared: dynamic, stages x 48 KB: a tile of A (128, 64), one of B (64, 256)
// A:     T (M, K), read        B: T (K, N), read        C: T (M, N), written
// T: __half in matmul_stages, __nv_bfloat16 in matmul_stages_bf16; the sums
// are float32 and rounded once. M >= 1; N, K: multiples of 8
#include <ptx.cuh>

// Where 16-byte chunk `chunk` of row `row` lies in a tile with rows of `chunks`
// (4 or more): 8 rows below each other have their chunks in different banks.
template <int chunks>
__device__ __forceinline__ unsigned place(int row, int chunk) {
    return (row * chunks + (chunk ^ (chunks >= 8 ? row & 7 : row / 2 & 3))) * 16;
}

template <typename T, int BM, int BN, int BK, int stages, int group>
__device__ __forceinline__ void matmul(const T* __restrict__ A, const T* __restrict__ B, T* __restrict__ C, int M, int N, int K) {
    constexpr int threads = BM / 64 * (BN / 64) * 32;     // a warp for 64 x 64 of C
    constexpr int A_bytes = BM * BK * 2, stage_bytes = A_bytes + BK * BN * 2;
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned base = ptx::shared_address(memory);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int top = warp / (BN / 64) * 64, left = warp % (BN / 64) * 64;  // my warp's corner in the block's tile

    // Blocks that run together should share rows and columns, which L2 then
    // holds: `group` tiles downwards, then one to the right.
    const int down = (M + BM - 1) / BM, right = (N + BN - 1) / BN;
    const int band = blockIdx.x / (group * right) * group, height = min(group, down - band);
    const int inside = blockIdx.x % (group * right);
    const int first_row = (band + inside % height) * BM, first_col = inside / height * BN;

    // What I copy of each tile: one chunk of some rows. Rows and columns past
    // the end repeat the last ones: nobody stores what they give.
    constexpr int A_chunks = BK / 8, A_step = threads / A_chunks, A_copies = BM / A_step;
    constexpr int B_chunks = BN / 8, B_step = threads / B_chunks, B_copies = BK / B_step;
    const int A_row = threadIdx.x / A_chunks, A_chunk = threadIdx.x % A_chunks;
    const int B_row = threadIdx.x / B_chunks, B_chunk = threadIdx.x % B_chunks;
    const T* from_A[A_copies];
#pragma unroll
    for (int i = 0; i < A_copies; ++i)
        from_A[i] = A + (size_t)min(first_row + A_row + i * A_step, M - 1) * K + A_chunk * 8;
    const T* from_B = B + (size_t)B_row * N + min(first_col + B_chunk * 8, N - 8);
    const unsigned to_A = place<A_chunks>(A_row, A_chunk), to_B = A_bytes + place<B_chunks>(B_row, B_chunk);
    static_assert(A_step % 8 == 0 && B_step % 8 == 0, "a thread's rows must have their chunks in the same place");

    auto copy = [&](int t, int stage) {                   // tile t of A and B into a stage; zeros past K
        const unsigned to = base + stage * stage_bytes;
        const int k = t * BK;
        const int bytes = k + A_chunk * 8 < K ? 16 : 0;
#pragma unroll
        for (int i = 0; i < A_copies; ++i)
            ptx::cp_async_16(to + to_A + i * A_step * BK * 2, from_A[i] + k, bytes);
#pragma unroll
        for (int i = 0; i < B_copies; ++i)
            ptx::cp_async_16(to + to_B + i * B_step * BN * 2, from_B + (size_t)(k + i * B_step) * N, k + B_row + i * B_step < K ? 16 : 0);
    };

    // ldmatrix: lane l names row l % 16 and one of two chunks.
    const unsigned at_A = (top + lane % 16) * BK * 2, flip_A = place<A_chunks>(lane % 8, lane / 16) % (BK * 2);
    const unsigned at_B = A_bytes + (lane % 16 * BN + left) * 2, flip_B = (lane / 16 ^ lane % 8) * 16;
    unsigned a[2][4][4], b[2][4][4];                      // fragments of this step and of the next
    auto load = [&](int stage, int k, int which) {        // columns 16 k .. of A, rows 16 k .. of B
        const unsigned from = base + stage * stage_bytes;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            ptx::ldmatrix_x4(a[which][i], from + at_A + 16 * i * BK * 2 + (k * 32 ^ flip_A));
#pragma unroll
        for (int j = 0; j < 4; ++j)
            ptx::ldmatrix_x4_trans(b[which][j], from + at_B + 16 * k * BN * 2 + (j * 32 ^ flip_B));
    };

    const int tiles = (K + BK - 1) / BK;
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) {
        if (s < tiles) copy(s, s);
        ptx::cp_async_commit();                           // a group a tile, empty past the last one
    }
    ptx::cp_async_wait<stages - 2>();
    __syncthreads();                                      // tile 0 is here, for all
    load(0, 0, 0);

    float c[4][8][4] = {};
    int stage = 0, fill = stages - 1;                     // where tile t lies, where tile t + stages - 1 goes
    for (int t = 0; t < tiles; ++t) {
#pragma unroll
        for (int k = 0; k < BK / 16; ++k) {
            if (k == BK / 16 - 1) {
                ptx::cp_async_wait<stages - 2>();
                __syncthreads();                          // tile t + 1 is here, for all; all are done with tile t
                stage = stage + 1 == stages ? 0 : stage + 1;
            }
            if (k + 1 < BK / 16 || t + 1 < tiles) load(stage, (k + 1) % (BK / 16), (k + 1) % 2);
            if (k == 0) {
                if (t + stages - 1 < tiles) copy(t + stages - 1, fill);
                ptx::cp_async_commit();
                fill = fill + 1 == stages ? 0 : fill + 1;
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    ptx::mma_m16n8k16(c[i][j], a[k % 2][i], b[k % 2][j / 2][j % 2 * 2], b[k % 2][j / 2][j % 2 * 2 + 1], T());
        }
    }

    // C through shared memory, a warp's 64 x 64 at a place of its own, so that
    // rows leave in chunks of 16 bytes.
    __syncthreads();                                      // all are done with the stages
    unsigned char* mine = memory + warp * 64 * 64 * 2;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int j = 0; j < 8; ++j)
                *reinterpret_cast<unsigned*>(mine + place<8>(16 * i + 8 * h + lane / 4, j) + lane % 4 * 4) = ptx::pack2(c[i][j][2 * h], c[i][j][2 * h + 1], T());
    __syncwarp();                                         // my warp's part of C is in shared memory
    const int col = first_col + left + lane % 8 * 8;
#pragma unroll
    for (int r = lane / 8; r < 64; r += 4) {
        const int row = first_row + top + r;
        if (row < M && col < N)
            *reinterpret_cast<uint4*>(C + (size_t)row * N + col) = *reinterpret_cast<const uint4*>(mine + place<8>(r, lane % 8));
    }
}

extern "C" __global__ void __launch_bounds__(256)
matmul_stages(const __half* A, const __half* B, __half* C, int M, int N, int K) {
    matmul<__half, 128, 256, 64, 4, 16>(A, B, C, M, N, K);
}

extern "C" __global__ void __launch_bounds__(256)
matmul_stages_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int M, int N, int K) {
    matmul<__nv_bfloat16, 128, 256, 64, 4, 16>(A, B, C, M, N, K);
}
