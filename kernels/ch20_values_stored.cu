// O = P V for 16 queries, 64 keys, d = 64: V's fragments by ldmatrix.trans,
// O in fp16 to shared memory by stmatrix (sm_90) and in whole rows from there.
//
// grid:  1      block: 32 threads: a warp
// P:     fp16 (16, 64), read      V: fp16 (64, 64), read: a key a row
// O:     fp16 (16, 64), written
#include <ptx.cuh>

// Byte of 16-byte chunk `chunk` (0 .. 7) of row `row`.
__device__ unsigned place(int row, int chunk) {
    return (row * 8 + (chunk ^ row & 7)) * 16;
}

extern "C" __global__ void values_stored(const __half* P, const __half* V,
                                         __half* O) {
    __shared__ __align__(128) unsigned char Ps[16 * 128];
    __shared__ __align__(128) unsigned char Vs[64 * 128];
    const int lane = threadIdx.x;

    for (int p = lane; p < 80 * 8; p += 32) {  // 8 chunks of 16 bytes a row
        const int r = p / 8, chunk = p % 8;
        if (r < 16)
            *(uint4*)(Ps + place(r, chunk)) = ((const uint4*)P)[p];
        else
            *(uint4*)(Vs + place(r - 16, chunk)) = ((const uint4*)V)[p - 128];
    }
    __syncwarp();  // Ps and Vs are filled

    const unsigned probs = ptx::shared_address(Ps);
    const unsigned values = ptx::shared_address(Vs);
    float o[8][4] = {};  // 8 fragments of 16 queries x 8 columns
    for (int k = 0; k < 4; ++k) {  // keys 16 k .. 16 k + 15
        unsigned a[4], b[4];
        ptx::ldmatrix_x4(a, probs + place(lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            // Keys 16 k .. and 16 k + 8 .. of chunk 2 j, then of the next one;
            // transposed: two keys of one column make a register.
            ptx::ldmatrix_x4_trans(
                b, values + place(16 * k + lane % 16, 2 * j + lane / 16));
            ptx::mma_m16n8k16(o[2 * j], a, b[0], b[1], __half());
            ptx::mma_m16n8k16(o[2 * j + 1], a, b[2], b[3], __half());
        }
    }

    // stmatrix is ldmatrix backwards: lanes 8 m .. 8 m + 7 name the rows of
    // matrix m; a register holds two elements of a row. O takes P's place: the
    // lane that named a chunk for reading names it now, so no barrier.
#pragma unroll
    for (int j = 0; j < 8; j += 2) {
        unsigned r[4];
        for (int m = 0; m < 4; ++m) {  // rows 0 .., rows 8 .., next fragment
            const float* pair = o[j + m / 2] + m % 2 * 2;
            r[m] = ptx::pack2(pair[0], pair[1], __half());
        }
        ptx::stmatrix_x4(probs + place(lane % 16, j + lane / 16),
                         r[0], r[1], r[2], r[3]);
    }
    __syncwarp();  // O is in shared memory
    for (int p = lane; p < 16 * 8; p += 32)
        ((uint4*)O)[p] = *(const uint4*)(Ps + place(p / 8, p % 8));
}
