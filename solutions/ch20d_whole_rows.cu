// S = Q K^T in fp16 for tiles of 16 queries, with 64 keys, d = 64. The values
// are right; each lane writes its pairs of S to global memory itself.
//
// grid:  ceil(Nq / 16) blocks     block: 32 threads: a warp
// Q:     fp16 (Nq, 64), read      K: fp16 (64, 64), read
// S:     fp16 (Nq, 64), written
// Nq:    any >= 1
#include <ptx.cuh>

extern "C" __global__ void whole_rows(const __half* Q, const __half* K,
                                      __half* S, int Nq) {
    __shared__ __align__(128) unsigned char tile[80 * 128];  // Q's rows, K's
    const int lane = threadIdx.x;
    const int first = blockIdx.x * 16;  // the block's first query

    // Byte of 16-byte chunk `chunk` (0 .. 7) of row `row` in the tile.
    auto place = [](int row, int chunk) {
        return row * 128 + (chunk ^ row & 7) * 16;
    };

    for (int p = lane; p < 80 * 8; p += 32) {  // 8 chunks of 16 bytes a row
        const int r = p / 8, chunk = p % 8;
        uint4 x = uint4();
        if (r >= 16) x = ((const uint4*)K)[p - 128];
        else if (first + r < Nq) x = ((const uint4*)Q)[first * 8 + p];
        *(uint4*)(tile + place(r, chunk)) = x;
    }
    __syncwarp();  // the tile is filled

    const unsigned at = ptx::shared_address(tile);
    float s[8][4] = {};  // 8 fragments of 16 queries x 8 keys
    for (int k = 0; k < 4; ++k) {  // chunks 2 k and 2 k + 1
        unsigned a[4], b[4];
        ptx::ldmatrix_x4(a, at + place(lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int r = 16 + 16 * j + lane / 16 * 8 + lane % 8;
            ptx::ldmatrix_x4(b, at + place(r, 2 * k + lane / 8 % 2));
            ptx::mma_m16n8k16(s[2 * j], a, b[0], b[1], __half());
            ptx::mma_m16n8k16(s[2 * j + 1], a, b[2], b[3], __half());
        }
    }

    unsigned r[8][2];  // pairs as fp16: row lane / 4, row lane / 4 + 8
#pragma unroll
    for (int j = 0; j < 8; ++j)
        for (int h = 0; h < 2; ++h)
            r[j][h] = ptx::pack2(s[j][2 * h], s[j][2 * h + 1], __half());

    //@solution fragments to Q's rows by stmatrix; then write chunks, guarded
    // Lanes 8 m .. name the rows of matrix m: rows 0 .., rows 8 .., and the
    // same rows of the next chunk. So the lane that read a chunk of Q writes
    // it: S takes Q's place without a barrier.
#pragma unroll
    for (int j = 0; j < 8; j += 2)
        ptx::stmatrix_x4(at + place(lane % 16, j + lane / 16),
                         r[j][0], r[j][1], r[j + 1][0], r[j + 1][1]);
    __syncwarp();  // S is in shared memory
    for (int p = lane; p < 16 * 8; p += 32) {
        // Excluded: rows past the last query.
        if (first + p / 8 < Nq)
            ((uint4*)S)[first * 8 + p] =
                *(const uint4*)(tile + place(p / 8, p % 8));
    }
    //@stub
    //@ #pragma unroll
    //@     for (int j = 0; j < 8; ++j)
    //@         for (int h = 0; h < 2; ++h) {
    //@             const int row = first + lane / 4 + 8 * h;
    //@             __half* to = S + row * 64 + 8 * j + lane % 4 * 2;
    //@             if (row < Nq) *(unsigned*)to = r[j][h];
    //@         }
    //@end
}
