// Attention whose warps split the queries, with all ideas of FlashAttention-2.
// The work is in flash2_by_queries.cuh, where each idea can be left out.
//
// grid:   (ceil(Nq / 64), heads)        block: 128 threads
// shared: dynamic, 24,576 bytes: Q, one tile of K, one of V
// Q:      __half (heads, Nq, 64), read     K, V: __half (heads, Nk, 64), read
// O:      __half (heads, Nq, 64), written  LSE: float32 (heads, Nq), written
// causal: 1: query i sees keys up to i + Nk - Nq; 0: all. A row that sees no
//         key gets O = 0 and LSE = -infinity
#include <flash2_by_queries.cuh>

extern "C" __global__ void __launch_bounds__(128) split_queries(
    const __half* Q, const __half* K, const __half* V, __half* O, float* LSE,
    int Nq, int Nk, float scale, int causal) {
    // d, causal, ideas, Br, Bc
    if (causal) {
        queries_head<64, true, all_ideas, 64, 64>(
            Q, K, V, O, LSE, Nq, Nk, scale);
    } else {
        queries_head<64, false, all_ideas, 64, 64>(
            Q, K, V, O, LSE, Nq, Nk, scale);
    }
}
