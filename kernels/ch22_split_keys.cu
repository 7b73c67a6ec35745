// Attention whose warps split the keys of a tile, as the first FlashAttention
// did: a block for a head. The work is in flash2_by_keys.cuh. Of the later
// ideas only one is on: 8, tiles that no query sees are skipped.
//
// grid:   (1, heads)        block: 128 threads
// shared: dynamic, 45,312 bytes: Q, K, V, and what warps tell each other
// Q:      __half (heads, Nq, 64), read     K, V: __half (heads, Nk, 64), read
// O:      __half (heads, Nq, 64), written  LSE: float32 (heads, Nq), written
// causal: 1: query i sees keys up to i + Nk - Nq; 0: all. A row that sees no
//         key gets O = 0 and LSE = -infinity
#include <flash2_by_keys.cuh>

extern "C" __global__ void __launch_bounds__(128) split_keys(
    const __half* Q, const __half* K, const __half* V, __half* O, float* LSE,
    int Nq, int Nk, float scale, int causal) {
    // d, causal, ideas, Br, Bc
    if (causal) {
        keys_head<64, true, 8, 64, 64>(Q, K, V, O, LSE, Nq, Nk, scale);
    } else {
        keys_head<64, false, 8, 64, 64>(Q, K, V, O, LSE, Nq, Nk, scale);
    }
}
