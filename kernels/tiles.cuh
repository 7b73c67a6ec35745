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
    static_assert(step % 8 == 0 && rows % step == 0, "a thread copies the same chunk of each of its rows");
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

}  // namespace tiles
