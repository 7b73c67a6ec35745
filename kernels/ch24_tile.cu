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

// The parameters: type, d, Bc, causal, Br, warps.
template __global__ void flash2<__half, 64, 32, false, 64, 4>(
    const __half*, const __half*, const __half*, __half*, float*, int, int, int,
    float);
