// Who holds what when a warp multiplies (mma.sync m16n8k16): each lane writes
// its number to the places of the elements that it holds.
//
// grid:  1 block           block: 32 threads: one warp
// A:     int32 (16, 16), written: lane + 32 * register that holds the element
// B:     int32 (16, 8), written, likewise; two elements share a register
// C:     int32 (16, 8), written, likewise; one element a register
extern "C" __global__ void fragment_map(int* A, int* B, int* C) {
    const int lane = threadIdx.x;     // 0 .. 31
    const int group = lane / 4;       // 0 .. 7: my row of A and C, column of B
    const int pair = lane % 4 * 2;    // 0, 2, 4, 6: where my pairs begin
    for (int r = 0; r < 4; ++r) {     // A: 4 registers, a pair in each
        const int row = group + r % 2 * 8, col = pair + r / 2 * 8;
        A[row * 16 + col] = A[row * 16 + col + 1] = lane + 32 * r;
    }
    for (int r = 0; r < 2; ++r) {     // B: 2 registers; pairs go down
        const int row = pair + r * 8, col = group;
        B[row * 8 + col] = B[(row + 1) * 8 + col] = lane + 32 * r;
    }
    for (int r = 0; r < 4; ++r) {     // C: 4 registers, one float in each
        const int row = group + r / 2 * 8, col = pair + r % 2;
        C[row * 8 + col] = lane + 32 * r;
    }
}
