// m, l and o of each row over one part of its keys: the largest score, the sum
// of exp(score - m), and the weighted mean of the values. A warp a part.
//
// grid:  (rows, parts)      block: 32 threads: a lane is a key of a tile,
//        and a column of V
// S:     float32 (rows, keys), read
// V:     float32 (keys, 32), read
// m, l:  float32 (rows, parts), written
// o:     float32 (rows, parts, 32), written
// size:  keys of a part, any >= 1. The last part may be short, or empty: it
//        gets m = -infinity, l = 0, o = 0
#include <math_constants.h>

extern "C" __global__ void part(const float* S, const float* V, float* m,
                                float* l, float* o, int keys, int size) {
    const int lane = threadIdx.x;
    const size_t row = blockIdx.x, place = row * gridDim.y + blockIdx.y;
    const int begin = blockIdx.y * size, end = min(keys, begin + size);

    float top = -CUDART_INF_F, sum = 0.0f, acc = 0.0f;
    for (int start = begin; start < end; start += 32) {
        const int j = start + lane;
        // A key past the part's end counts as -infinity.
        const float s = j < end ? S[row * keys + j] : -CUDART_INF_F;
        float top_new = fmaxf(top, s);
        for (int w = 16; w > 0; w /= 2) {
            const float other = __shfl_xor_sync(0xffffffffu, top_new, w);
            top_new = fmaxf(top_new, other);
        }
        const float p = expf(s - top_new);
        float sum_tile = p;
        for (int w = 16; w > 0; w /= 2) {
            sum_tile += __shfl_xor_sync(0xffffffffu, sum_tile, w);
        }
        const float fade = expf(top - top_new);
        sum = sum * fade + sum_tile;
        acc *= fade;
        // Lane k holds key k's weight, and hands it to all lanes.
        for (int k = 0; k < min(32, end - start); ++k) {
            const float weight = __shfl_sync(0xffffffffu, p, k);
            acc += weight * V[(size_t)(start + k) * 32 + lane];
        }
        top = top_new;
    }
    if (lane == 0) {
        m[place] = top;
        l[place] = sum;
    }
    o[place * 32 + lane] = sum > 0.0f ? acc / sum : 0.0f;
}
