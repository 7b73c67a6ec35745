// Tiles of 16-bit numbers in shared memory: rows of d, in chunks of 16 bytes
// whose places a row's number permutes, so that ldmatrix meets no bank twice.
#pragma once
#include <ptx.cuh>

namespace tiles {

// Where chunk `chunk` of row `row` lies, in bytes from the tile's begin.
template <int d>
__device__ __forceinline__ unsigned place(int row, int chunk) {
    return (row * (d / 8) + (chunk ^ (row & 7))) * 16;
}

// Rows first .. first + rows - 1 of src into the tile `to` by cp.async; rows
// past n are zeros. A thread's rows are a multiple of 8 apart, so that its
// chunk lies in the same place of each.
template <int d, int rows, int threads, typename T>
__device__ __forceinline__ void copy(unsigned to, const T* src, int first, int n) {
    constexpr int chunks = d / 8, step = threads / chunks;
    static_assert(step % 8 == 0 && rows % step == 0, "a thread copies the same chunk of each of its rows: take more threads, or fewer");
    const int chunk = threadIdx.x % chunks, start = threadIdx.x / chunks;
    const unsigned at = to + place<d>(start, chunk);
    const T* from = src + (size_t)(first + start) * d + chunk * 8;
    if (first + rows <= n) {
#pragma unroll
        for (int r = 0; r < rows; r += step) ptx::cp_async_16(at + r * d * 2, from + r * d, 16);
    } else {
#pragma unroll
        for (int r = 0; r < rows; r += step) {
            const bool there = first + start + r < n;
            ptx::cp_async_16(at + r * d * 2, there ? from + r * d : src, there ? 16 : 0);
        }
    }
}

// A lane's addresses for ldmatrix: its row, and chunks 2 k + high for k = 0,
// 1, ..: one XOR each. Rows 8 further on lie d * 16 bytes further on.
template <int d>
struct Rows {
    unsigned base, flip;
    __device__ __forceinline__ Rows(unsigned tile, int row, int high)
        : base(tile + row * d * 2 + (high ^ (row & 1)) * 16), flip((row & 6) * 16) {}
    __device__ __forceinline__ unsigned at(int k) const { return base + (k * 32 ^ flip); }
};

// Which row and chunk a lane names for the four 8x8 matrices of ldmatrix: `down`:
// the second matrix lies below the first, the third to its right; else the other way round.
template <int d>
__device__ __forceinline__ Rows<d> down(unsigned tile, int row) {
    return Rows<d>(tile, row + threadIdx.x % 16, threadIdx.x % 32 / 16);
}
template <int d>
__device__ __forceinline__ Rows<d> across(unsigned tile, int row) {
    return Rows<d>(tile, row + threadIdx.x % 8 + threadIdx.x % 32 / 16 * 8, threadIdx.x / 8 % 2);
}

// C = A B^T over d, 16 m by n: rows of A and of B in shared memory.
// A lane's C[i][j] are row 16 i + lane / 4 (and + 8), columns 8 j + lane % 4 * 2 and the next.
template <int d, int m, int n, typename T>
__device__ __forceinline__ void multiply_rows(float (&c)[m][n / 8][4], Rows<d> a_at, Rows<d> b_at, T) {
#pragma unroll
    for (int i = 0; i < m; ++i)
#pragma unroll
        for (int j = 0; j < n / 8; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) c[i][j][e] = 0.0f;
#pragma unroll
    for (int k = 0; k < d / 16; ++k) {
        unsigned a[m][4];
#pragma unroll
        for (int i = 0; i < m; ++i) ptx::ldmatrix_x4(a[i], a_at.at(k) + 16 * i * d * 2);
#pragma unroll
        for (int j = 0; j < n / 16; ++j) {
            unsigned b[4];
            ptx::ldmatrix_x4(b, b_at.at(k) + 16 * j * d * 2);
#pragma unroll
            for (int i = 0; i < m; ++i) {
                ptx::mma_m16n8k16(c[i][2 * j], a[i], b[0], b[1], T());
                ptx::mma_m16n8k16(c[i][2 * j + 1], a[i], b[2], b[3], T());
            }
        }
    }
}

// C += A B, 16 m by `columns`: A's n columns as fragments in registers, B's n rows of d in shared memory.
template <int d, int m, int n, int columns = d, typename T>
__device__ __forceinline__ void add_product(float (&c)[m][columns / 8][4], const unsigned (&a)[m][n / 16][4], Rows<d> b_at, T) {
#pragma unroll
    for (int k = 0; k < n / 16; ++k)
#pragma unroll
        for (int j = 0; j < columns / 16; ++j) {
            unsigned b[4];
            ptx::ldmatrix_x4_trans(b, b_at.at(j) + 16 * k * d * 2);
#pragma unroll
            for (int i = 0; i < m; ++i) {
                ptx::mma_m16n8k16(c[i][2 * j], a[i][k], b[0], b[1], T());
                ptx::mma_m16n8k16(c[i][2 * j + 1], a[i][k], b[2], b[3], T());
            }
        }
}

// Accumulators in 16 bits are A's fragments of the next product: C's layout is A's.
template <int m, int n, typename T>
__device__ __forceinline__ void pack(unsigned (&a)[m][n / 16][4], const float (&c)[m][n / 8][4], T) {
#pragma unroll
    for (int i = 0; i < m; ++i)
#pragma unroll
        for (int j = 0; j < n / 8; ++j) {
            a[i][j / 2][j % 2 * 2] = ptx::pack2(c[i][j][0], c[i][j][1], T());
            a[i][j / 2][j % 2 * 2 + 1] = ptx::pack2(c[i][j][2], c[i][j][3], T());
        }
}

// Fragments made by `pack` as rows of d in a tile: 16 m rows from `row`, n columns from chunk `chunk`.
template <int d, int m, int n>
__device__ __forceinline__ void put(unsigned char* tile, const unsigned (&a)[m][n / 16][4], int row, int chunk) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < m; ++i)
#pragma unroll
        for (int j = 0; j < n / 8; ++j)
#pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<unsigned*>(tile + place<d>(row + 16 * i + lane / 4 + 8 * h, chunk + j) + lane % 4 * 4) = a[i][j / 2][j % 2 * 2 + h];
}

// C times factor in 16 bits, by way of the tile to rows of d in global memory: my warp's 16 m rows from first + row,
// `columns` from chunk `chunk`. Rows past n are left out.
template <int d, int m, int columns = d, typename T>
__device__ __forceinline__ void store_rows(T* out, unsigned char* tile, const float (&c)[m][columns / 8][4], float factor, int first, int row, int n,
                                           int chunk = 0) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < m; ++i)
#pragma unroll
        for (int j = 0; j < columns / 8; ++j)
#pragma unroll
            for (int h = 0; h < 2; ++h)
                *reinterpret_cast<unsigned*>(tile + place<d>(row + 16 * i + lane / 4 + 8 * h, chunk + j) + lane % 4 * 4) =
                    ptx::pack2(c[i][j][2 * h] * factor, c[i][j][2 * h + 1] * factor, T());
    __syncwarp();                                           // my warp's rows are there
#pragma unroll
    for (int k = lane; k < 16 * m * columns / 8; k += 32) {
        const int r = row + k / (columns / 8), at = chunk + k % (columns / 8);
        if (first + r < n) *reinterpret_cast<uint4*>(out + (size_t)(first + r) * d + at * 8) = *reinterpret_cast<const uint4*>(tile + place<d>(r, at));
    }
}

}  // namespace tiles
