// One tile of flash2.cuh, chosen: heads of 64 columns, blocks of 64 queries,
// tiles of 32 keys, four warps. Other numbers give another kernel with the same
// values, and other registers, traffic and time.
//
// grid:   (ceil(Nq / 64), heads)        block: 128 threads
// shared: dynamic, 2 * 64 * (64 + 2 * 32) = 16,384 bytes
// Q, O:   __half (heads, Nq, 64)        K, V: __half (heads / group, Nk, 64)
// LSE:    float32 (heads, Nq)           group: query heads for a key head
// Nq, Nk: any >= 1; no mask
#include <flash2.cuh>

extern "C" __global__ void __launch_bounds__(128) tile(
    const __half* Q, const __half* K, const __half* V, __half* O, float* LSE,
    int Nq, int Nk, int group, float scale) {
    // The parameters: type, d, Bc, causal, Br, warps.
    flash2_block<__half, 64, 32, false, 64, 4>(
        Q, K, V, O, LSE, Nq, Nk, group, scale);
}
