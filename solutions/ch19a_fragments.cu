// C = A B for a tile of 16 x 8 elements, by one warp. Give each lane what the
// tensor core wants from it.
//
// grid:  1 block          block: 32 threads: one warp
// A:     fp16 (16, K), read        B: fp16 (K, 8), read
// C:     float32 (16, 8), written
// K:     a multiple of 16
//
// mma.sync m16n8k16, with group = lane / 4 and pair = lane % 4 * 2:
// A, registers 0 .. 3: rows group and group + 8 (0, 1), the same 8 columns
// further (2, 3); in each the columns pair and pair + 1.
// B, registers 0, 1: column group; in each the rows pair and pair + 1, in
// register 1 8 rows further. The first of two is the low half of a register.
#include <ptx.cuh>

extern "C" __global__ void fragments(const __half* A, const __half* B, float* C,
                                     int K) {
    const int lane = threadIdx.x;     // 0 .. 31
    const int group = lane / 4;       // 0 .. 7
    const int pair = lane % 4 * 2;    // 0, 2, 4, 6
    float c[4] = {};

    for (int start = 0; start < K; start += 16) {
        __half2 a[4], b[2];           // .x is the low half
        //@solution my elements of A and B for columns and rows from start on
        for (int r = 0; r < 4; ++r) {
            const int row = group + r % 2 * 8;
            const int col = start + pair + r / 2 * 8;
            a[r] = __halves2half2(A[row * K + col], A[row * K + col + 1]);
        }
        for (int r = 0; r < 2; ++r) {
            const int row = start + pair + r * 8;
            b[r] = __halves2half2(B[row * 8 + group], B[(row + 1) * 8 + group]);
        }
        //@stub
        //@ for (int r = 0; r < 4; ++r) {
        //@     const int i = lane * 4 + r;   // the tile's pairs, one by one
        //@     const __half* p = A + i / 8 * K + start + i % 8 * 2;
        //@     a[r] = __halves2half2(p[0], p[1]);
        //@ }
        //@ for (int r = 0; r < 2; ++r) {
        //@     const __half* p = B + start * 8 + (lane * 2 + r) * 2;
        //@     b[r] = __halves2half2(p[0], p[1]);
        //@ }
        //@end
        const unsigned* bits = (const unsigned*)a;
        const unsigned registers[4] = {bits[0], bits[1], bits[2], bits[3]};
        ptx::mma_m16n8k16(c, registers, *(const unsigned*)&b[0],
                          *(const unsigned*)&b[1], __half());
    }

    // C, registers 0 .. 3: row group, columns pair and pair + 1 (0, 1); the
    // same 8 rows further (2, 3).
    //@solution my four elements of C
    for (int e = 0; e < 4; ++e) {
        C[(group + e / 2 * 8) * 8 + pair + e % 2] = c[e];
    }
    //@stub
    //@ for (int e = 0; e < 4; ++e) C[lane * 4 + e] = c[e];
    //@end
}
