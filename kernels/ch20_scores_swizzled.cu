// S = Q K^T for 16 queries and 64 keys, d = 64, on tensor cores: fragments by
// ldmatrix, from tiles whose rows are swizzled and not padded.
//
// grid:  1      block: 32 threads: a warp
// Q:     fp16 (16, 64), read      K: fp16 (64, 64), read
// S:     float32 (16, 64), written
#include <ptx.cuh>

// Byte of 16-byte chunk `chunk` (0 .. 7) of row `row`.
__device__ unsigned place(int row, int chunk) {
    const int swizzled = chunk ^ row & 7;
    return (row * 8 + swizzled) * 16;
}

extern "C" __global__ void scores_swizzled(const __half* Q, const __half* K,
                                           float* S) {
    __shared__ __align__(128) unsigned char Qs[16 * 128];
    __shared__ __align__(128) unsigned char Ks[64 * 128];
    const int lane = threadIdx.x;

    for (int p = lane; p < 80 * 8; p += 32) {  // 8 chunks of 16 bytes a row
        const int r = p / 8, chunk = p % 8;
        if (r < 16)
            *(uint4*)(Qs + place(r, chunk)) = ((const uint4*)Q)[p];
        else
            *(uint4*)(Ks + place(r - 16, chunk)) = ((const uint4*)K)[p - 128];
    }
    __syncwarp();  // Qs and Ks are filled

    const unsigned q = ptx::shared_address(Qs), key = ptx::shared_address(Ks);
    float s[8][4] = {};  // 8 fragments of 16 queries x 8 keys
    for (int k = 0; k < 4; ++k) {  // chunks 2 k and 2 k + 1
        // Four 8 x 8 matrices; lanes 8 m .. 8 m + 7 name the rows of matrix m.
        // Of Q: rows 0 .., rows 8 .., then both again one chunk further right.
        unsigned a[4], b[4];
        ptx::ldmatrix_x4(a, q + place(lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            // Of K: both chunks of keys 16 j .., then of keys 16 j + 8 ..
            const int r = 16 * j + lane / 16 * 8 + lane % 8;
            ptx::ldmatrix_x4(b, key + place(r, 2 * k + lane / 8 % 2));
            ptx::mma_m16n8k16(s[2 * j], a, b[0], b[1], __half());
            ptx::mma_m16n8k16(s[2 * j + 1], a, b[2], b[3], __half());
        }
    }

#pragma unroll
    for (int j = 0; j < 8; ++j)
        for (int h = 0; h < 2; ++h)
            *(float2*)(S + (lane / 4 + 8 * h) * 64 + 8 * j + lane % 4 * 2) =
                make_float2(s[j][2 * h], s[j][2 * h + 1]);
}
