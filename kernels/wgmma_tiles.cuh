// What a warpgroup's accumulators become: 16-bit numbers in shared memory, laid
// out as the copy engine stores them. Used by the matmuls and by flash3.cuh.
#pragma once
#include <ptx_hopper.cuh>

// Columns first .. first + 63 of my warpgroup's 64 rows, as 64 rows of 128 bytes
// under the 128-byte swizzle. c: the accumulators of wgmma, 4 floats a thread
// for 8 columns: rows lane / 4 and lane / 4 + 8 of my warp's 16; those of the
// first are multiplied by `upper`, those of the second by `lower`.
template <typename T, int n>
__device__ __forceinline__ void panel_to_shared(unsigned at, const float (&c)[n], int first, float upper = 1.0f, float lower = 1.0f) {
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
    for (int j = 0; j < 8; j += 2) {                         // two chunks of 8 columns
        const float* e = c + (first / 8 + j) * 4;
        ptx::stmatrix_x4(at + row * 128 + (((j + lane / 16) ^ (row & 7)) * 16),
                         ptx::pack2(e[0] * upper, e[1] * upper, T()), ptx::pack2(e[2] * lower, e[3] * lower, T()),
                         ptx::pack2(e[4] * upper, e[5] * upper, T()), ptx::pack2(e[6] * lower, e[7] * lower, T()));
    }
}
