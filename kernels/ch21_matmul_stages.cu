// C = A B on tensor cores, tiles copied in the background (sm_80 and up).
//
// grid:  1-D, ceil(M / BM) ceil(N / BN) blocks
// block: BM / 64 x BN / 64 warps, each with 64 x 64 elements of C
// shared: dynamic, stages x 2 BK (BM + BN) bytes: tiles of A and B; 144 KB as
//        it stands (A100, H100), 96 KB with stages = 2 (every sm_80 and up)
// A:     T (M, K), read        B: T (K, N), read        C: T (M, N), written
// The sums are float32 and rounded once. M >= 1; N, K: multiples of 8
#include <ptx.cuh>

using T = __half;  // __nv_bfloat16 does as well

constexpr int BM = 128, BN = 256, BK = 64, stages = 3;
constexpr int band = 16;  // tiles of C below each other that run together
constexpr int warps = BM / 64 * (BN / 64), threads = 32 * warps;
constexpr int a_bytes = BM * BK * 2, stage_bytes = a_bytes + BK * BN * 2;

// Byte of 16-byte chunk `chunk` of row `row` in a tile with rows of `chunks`:
// rows below each other have the same chunk in different banks.
template <int chunks>
__device__ __forceinline__ unsigned place(int row, int chunk) {
    const int flip = chunks >= 8 ? row & 7 : row / 2 & 3;
    return (row * chunks + (chunk ^ flip)) * 16;
}

extern "C" __global__ void __launch_bounds__(threads)
matmul_stages(const T* A, const T* B, T* C, int M, int N, int K) {
    extern __shared__ __align__(128) unsigned char memory[];
    const unsigned base = ptx::shared_address(memory);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int top = warp / (BN / 64) * 64;   // my warp's corner in the tile
    const int left = warp % (BN / 64) * 64;

    // Blocks that run together share rows and columns, which L2 then holds:
    // `band` tiles downwards, then one to the right.
    const int down = (M + BM - 1) / BM, right = (N + BN - 1) / BN;
    const int start = blockIdx.x / (band * right) * band;
    const int height = min(band, down - start);
    const int inside = blockIdx.x % (band * right);
    const int first_row = (start + inside % height) * BM;
    const int first_col = inside / height * BN;

    // What I copy of each tile: one chunk of some rows. Rows and columns past
    // the end repeat the last ones: nobody stores what they give.
    constexpr int a_chunks = BK / 8, a_step = threads / a_chunks;
    constexpr int b_chunks = BN / 8, b_step = threads / b_chunks;
    static_assert(a_step % 8 == 0 && b_step % 8 == 0, "one place for my chunk");
    const int a_row = threadIdx.x / a_chunks, a_chunk = threadIdx.x % a_chunks;
    const int b_row = threadIdx.x / b_chunks, b_chunk = threadIdx.x % b_chunks;
    const unsigned to_a = place<a_chunks>(a_row, a_chunk);
    const unsigned to_b = a_bytes + place<b_chunks>(b_row, b_chunk);
    const T* from_a[BM / a_step];
#pragma unroll
    for (int i = 0; i < BM / a_step; ++i) {
        const int row = min(first_row + a_row + i * a_step, M - 1);
        from_a[i] = A + (size_t)row * K + a_chunk * 8;
    }
    const T* from_b = B + (size_t)b_row * N;
    from_b += min(first_col + b_chunk * 8, N - 8);

    auto copy = [&](int t, int stage) {  // tile t into a stage; zeros past K
        const unsigned to = base + stage * stage_bytes;
        const int k = t * BK;
        const int bytes = k + a_chunk * 8 < K ? 16 : 0;
#pragma unroll
        for (int i = 0; i < BM / a_step; ++i)
            ptx::cp_async_16(to + to_a + i * a_step * BK * 2, from_a[i] + k,
                             bytes);
#pragma unroll
        for (int r = 0; r < BK; r += b_step)
            ptx::cp_async_16(to + to_b + r * BN * 2,
                             from_b + (size_t)(k + r) * N,
                             k + r + b_row < K ? 16 : 0);
    };

    // ldmatrix: lane l names row l % 16 and the left or the right chunk.
    const unsigned at_a = (top + lane % 16) * BK * 2;
    const unsigned flip_a = place<a_chunks>(lane % 8, lane / 16) % (BK * 2);
    const unsigned at_b = a_bytes + (lane % 16 * BN + left) * 2;
    const unsigned flip_b = (lane / 16 ^ lane % 8) * 16;
    unsigned a[2][4][4], b[2][4][4];  // fragments of this step and of the next
    auto load = [&](int stage, int k, int which) {  // 16 of K
        const unsigned from = base + stage * stage_bytes;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            ptx::ldmatrix_x4(a[which][i],
                             from + at_a + 16 * i * BK * 2 + (k * 32 ^ flip_a));
#pragma unroll
        for (int j = 0; j < 4; ++j)
            ptx::ldmatrix_x4_trans(
                b[which][j], from + at_b + 16 * k * BN * 2 + (j * 32 ^ flip_b));
    };

    const int tiles = (K + BK - 1) / BK;
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) {
        if (s < tiles) copy(s, s);
        ptx::cp_async_commit();  // a group a tile, empty past the last one
    }
    ptx::cp_async_wait<stages - 2>();
    __syncthreads();  // tile 0 is here, for all
    load(0, 0, 0);

    float c[4][8][4] = {};
    int stage = 0, fill = stages - 1;  // of tile t, of tile t + stages - 1
    for (int t = 0; t < tiles; ++t) {
#pragma unroll
        for (int k = 0; k < BK / 16; ++k) {
            if (k == BK / 16 - 1) {
                ptx::cp_async_wait<stages - 2>();
                __syncthreads();  // tile t + 1 is here; all are done with t
                stage = stage + 1 == stages ? 0 : stage + 1;
            }
            if (k + 1 < BK / 16 || t + 1 < tiles)
                load(stage, (k + 1) % (BK / 16), (k + 1) % 2);
            if (k == 0) {
                if (t + stages - 1 < tiles) copy(t + stages - 1, fill);
                ptx::cp_async_commit();
                fill = fill + 1 == stages ? 0 : fill + 1;
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    ptx::mma_m16n8k16(c[i][j], a[k % 2][i],
                                      b[k % 2][j / 2][j % 2 * 2],
                                      b[k % 2][j / 2][j % 2 * 2 + 1], T());
        }
    }

    // C through shared memory, a warp's 64 x 64 at a place of its own, so that
    // rows leave in chunks of 16 bytes. All are done with the stages: behind
    // the last barrier nobody has loaded.
    unsigned char* mine = memory + warp * 64 * 64 * 2;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                const int r = 16 * i + 8 * h + lane / 4;
                *(unsigned*)(mine + place<8>(r, j) + lane % 4 * 4) =
                    ptx::pack2(c[i][j][2 * h], c[i][j][2 * h + 1], T());
            }
    __syncwarp();  // my warp's part of C is in shared memory
    const int col = first_col + left + lane % 8 * 8;
#pragma unroll
    for (int r = lane / 8; r < 64; r += 4) {
        const int row = first_row + top + r;
        // Excluded: rows and chunks of the tile that hang over C.
        if (row < M && col < N)
            *(uint4*)(C + (size_t)row * N + col) =
                *(const uint4*)(mine + place<8>(r, lane % 8));
    }
}
