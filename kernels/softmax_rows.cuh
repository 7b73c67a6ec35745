// Online softmax on a warpgroup's 64 rows of scores, where wgmma leaves them:
// for every 8 keys a thread has four floats, two neighbours of row lane / 4 of
// its warp's 16 and two of row lane / 4 + 8. h = 0, 1 are these two rows.
#pragma once
#include <math_constants.h>
#include <ptx_hopper.cuh>

// Keys start, start + 1, ..: those from `keys` on don't exist, and if `causal`
// my rows see keys up to `sees` and `sees` + 8.
template <int n>
__device__ __forceinline__ void mask_keys(float (&s)[n], int start, int keys, bool causal, int sees) {
    const int mine = start + threadIdx.x % 4 * 2;
#pragma unroll
    for (int i = 0; i < n; ++i) {
        const int key = mine + i / 4 * 8 + i % 2;
        if (key >= keys || (causal && key > sees + i / 2 % 2 * 8)) s[i] = -CUDART_INF_F;
    }
}

// s becomes exp2(s scale2 - m scale2); m and l move on; `shrink` is what older
// sums are multiplied by. l is my own part of a row's sum.
template <int n>
__device__ __forceinline__ void softmax_rows(float (&s)[n], float (&m)[2], float (&l)[2], float (&shrink)[2], float scale2) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        float top = m[h];
#pragma unroll
        for (int i = 0; i < n / 4; ++i) top = fmaxf(top, fmaxf(s[4 * i + 2 * h], s[4 * i + 2 * h + 1]));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
        const float safe = top == -CUDART_INF_F ? 0.0f : top * scale2;   // no key yet: exp2(-inf - 0) is 0
        shrink[h] = ptx::exp2_approx(m[h] * scale2 - safe);
        m[h] = top;
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < n / 4; ++i) {
            s[4 * i + 2 * h] = ptx::exp2_approx(fmaf(s[4 * i + 2 * h], scale2, -safe));
            s[4 * i + 2 * h + 1] = ptx::exp2_approx(fmaf(s[4 * i + 2 * h + 1], scale2, -safe));
            sum += s[4 * i + 2 * h] + s[4 * i + 2 * h + 1];
        }
        l[h] = l[h] * shrink[h] + sum;
    }
}

// An accumulator is laid out as A's fragments are: rounded pairs are all it takes.
template <typename T, int n>
__device__ __forceinline__ void pack_rows(unsigned (&P)[n], const float (&s)[2 * n]) {
#pragma unroll
    for (int i = 0; i < n; ++i) P[i] = ptx::pack2(s[2 * i], s[2 * i + 1], T());
}

// Row h of o times f[h].
template <int n>
__device__ __forceinline__ void scale_rows(float (&o)[n], const float (&f)[2]) {
#pragma unroll
    for (int i = 0; i < n; ++i) o[i] *= f[i / 2 % 2];
}

// A row's whole sum: four threads have a part each.
__device__ __forceinline__ float row_sum(float mine) {
    mine += __shfl_xor_sync(0xffffffffu, mine, 1);
    return mine + __shfl_xor_sync(0xffffffffu, mine, 2);
}
