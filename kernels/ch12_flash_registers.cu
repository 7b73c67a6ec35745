// The same attention as ch12_flash_forward, shaped for the hardware: each
// thread keeps 8 x 8 scores and 8 x 8 outputs in registers, so that a float4
// from shared memory feeds 16 or 32 multiplications instead of 4.
//
// grid:  (ceil(Nq / 128), heads)     block: 128 threads, a warp for 32 rows
// shared: dynamic, 107520 bytes (Q 128 rows, K and V 64 rows, P 128 rows)
// Q:     float32 (heads, Nq, 64), read     K, V: float32 (heads, Nk, 64), read
// O:     float32 (heads, Nq, 64), written  LSE:  float32 (heads, Nq), written
// causal: 1: query i sees keys up to i + Nk - Nq; 0: all keys
// A row that sees no key gets O = 0 and LSE = -infinity.
#include <cuda_pipeline.h>
#include <math_constants.h>

constexpr int d = 64, row4 = d / 4;
constexpr int Br = 128, Bc = 64;  // query rows of a block, keys of a tile
constexpr int pad4 = row4 + 1;    // 17 float4: neighbouring rows, other banks
constexpr int Ppitch = Bc + 8;    // 4 rows of P lie 8 banks apart

// dst[r][:] = src[first + r][:] for `rows` rows, 16 bytes a copy, done in the
// background; rows past n are set to 0.
__device__ void copy_tile(float4 (*dst)[pad4], const float4* src, int first,
                          int rows, int n) {
    for (int k = threadIdx.x; k < rows * row4; k += 128) {
        const int r = k / row4, c = k % row4;
        if (first + r < n) {
            __pipeline_memcpy_async(&dst[r][c], &src[(first + r) * row4 + c],
                                    16);
        } else {
            dst[r][c] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
    }
}

__device__ float dot4(float4 a, float4 b, float sum) {
    sum = fmaf(a.x, b.x, sum);
    sum = fmaf(a.y, b.y, sum);
    sum = fmaf(a.z, b.z, sum);
    return fmaf(a.w, b.w, sum);
}

__device__ void add4(float4& acc, float p, float4 v) {
    acc.x = fmaf(p, v.x, acc.x);
    acc.y = fmaf(p, v.y, acc.y);
    acc.z = fmaf(p, v.z, acc.z);
    acc.w = fmaf(p, v.w, acc.w);
}

extern "C" __global__ void __launch_bounds__(128, 2)
flash_registers(const float4* Q, const float4* K, const float4* V, float4* O,
                float* LSE, int Nq, int Nk, float scale, int causal) {
    extern __shared__ float4 memory[];
    float4(*Qs)[pad4] = reinterpret_cast<float4(*)[pad4]>(memory);
    float4(*Ks)[pad4] = Qs + Br;
    float4(*Vs)[pad4] = Ks + Bc;
    float(*Ps)[Ppitch] = reinterpret_cast<float(*)[Ppitch]>(Vs + Bc);

    // A warp's lanes stand as 4 rows x 8 columns. Lane bits 1, 2, 3 are the
    // column: lanes i and i ^ 1 then share a key, lanes i and i ^ 2 a query,
    // and shared memory serves 16 lanes in one go.
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int col = lane / 2 % 8;                        // 0 .. 7
    const int mine = 32 * warp + lane % 2 + lane / 16 * 2;  // rows mine + 4 i
    const int first = blockIdx.x * Br;                   // first query row
    const size_t head = blockIdx.y;
    Q += head * Nq * row4;                               // now at this head
    K += head * Nk * row4;
    V += head * Nk * row4;

    // exp(x) is exp2(x log2 e): the factor goes into the scale.
    const float scale2 = scale * 1.4426950408889634f;
    const int see = Nk - Nq;                             // key <= row + see
    const int last = min(first + Br, Nq) - 1;            // my block's last row
    const int keys = causal ? max(0, min(Nk, last + see + 1)) : Nk;

    copy_tile(Qs, Q, first, Br, Nq);
    copy_tile(Ks, K, 0, Bc, Nk);
    __pipeline_commit();

    float m[8], l[8];
    float4 acc[8][2];
    for (int i = 0; i < 8; ++i) {
        m[i] = -CUDART_INF_F;
        l[i] = 0.0f;
        acc[i][0] = acc[i][1] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }

    for (int start = 0; start < keys; start += Bc) {
        __pipeline_wait_prior(0);
        __syncthreads();  // K is here for all; all are done with the old V
        copy_tile(Vs, V, start, Bc, Nk);
        __pipeline_commit();

        float s[8][8] = {};  // rows mine + 4 i, keys col + 8 j
#pragma unroll 4
        for (int c = 0; c < row4; ++c) {
            float4 k[8];
#pragma unroll
            for (int j = 0; j < 8; ++j) k[j] = Ks[col + 8 * j][c];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float4 q = Qs[mine + 4 * i][c];
#pragma unroll
                for (int j = 0; j < 8; ++j) s[i][j] = dot4(q, k[j], s[i][j]);
            }
        }

        // Tiles that every row sees whole need no mask.
        const bool whole = start + Bc <= Nk &&
                           (!causal || start + Bc - 1 <= first + see);
        if (!whole) {
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const int row = first + mine + 4 * i;
                const int limit = causal ? min(Nk, row + see + 1) : Nk;
#pragma unroll
                for (int j = 0; j < 8; ++j) {
                    if (start + col + 8 * j >= limit) s[i][j] = -CUDART_INF_F;
                }
            }
        }

#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float top = m[i];
#pragma unroll
            for (int j = 0; j < 8; ++j) top = fmaxf(top, s[i][j]);
            // The 8 lanes of a row differ in bits 1, 2, 3.
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 4));
            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 8));
            // A row without any key so far: -inf - -inf would be NaN.
            const float safe = top == -CUDART_INF_F ? 0.0f : top;
            const float shrink = exp2f((m[i] - safe) * scale2);
            m[i] = top;
            l[i] *= shrink;
#pragma unroll
            for (int u = 0; u < 2; ++u) {
                acc[i][u].x *= shrink;
                acc[i][u].y *= shrink;
                acc[i][u].z *= shrink;
                acc[i][u].w *= shrink;
            }
            const float shift = safe * scale2;
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                const float p = exp2f(fmaf(s[i][j], scale2, -shift));
                l[i] += p;  // my 8 keys only; joined after the last tile
                Ps[mine + 4 * i][col + 8 * j] = p;
            }
        }

        __pipeline_wait_prior(0);
        __syncthreads();  // V and P are here for all; all are done with K
        if (start + Bc < keys) copy_tile(Ks, K, start + Bc, Bc, Nk);
        __pipeline_commit();

#pragma unroll 4
        for (int j = 0; j < Bc; j += 4) {
            float4 v[4][2];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                v[k][0] = Vs[j + k][col];
                v[k][1] = Vs[j + k][col + 8];
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                const float4 p =
                    *reinterpret_cast<const float4*>(&Ps[mine + 4 * i][j]);
#pragma unroll
                for (int u = 0; u < 2; ++u) {
                    add4(acc[i][u], p.x, v[0][u]);
                    add4(acc[i][u], p.y, v[1][u]);
                    add4(acc[i][u], p.z, v[2][u]);
                    add4(acc[i][u], p.w, v[3][u]);
                }
            }
        }
    }

#pragma unroll
    for (int i = 0; i < 8; ++i) {
        float sum = l[i];
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        sum += __shfl_xor_sync(0xffffffffu, sum, 4);
        sum += __shfl_xor_sync(0xffffffffu, sum, 8);
        const int row = first + mine + 4 * i;
        if (row < Nq) {  // excluded: rows past the last query
            const float inverse = sum > 0.0f ? 1.0f / sum : 0.0f;
#pragma unroll
            for (int u = 0; u < 2; ++u) {
                float4 o = acc[i][u];
                o.x *= inverse;
                o.y *= inverse;
                o.z *= inverse;
                o.w *= inverse;
                O[(head * Nq + row) * row4 + col + 8 * u] = o;
            }
            if (col == 0) LSE[head * Nq + row] = m[i] * scale + logf(sum);
        }
    }
}
