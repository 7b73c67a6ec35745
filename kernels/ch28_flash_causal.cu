// Causal attention with all ideas of FlashAttention-3, d = 64. The work is in
// flash3.cuh, where each idea can be left out.
//
// grid:  any: blocks draw tiles until none is left      block: 384 threads
// shared: dynamic, 65536 bytes: Q and O, two stages of K and V
// Qm, Om: tensor maps of fp16 (heads, Nq, 64), boxes (1, 64, 64), swizzle 128B
// Km, Vm: tensor maps of fp16 (heads / group, Nk, 64), read, the same boxes
// LSE:   float32 (heads, Nq), written      ticket: int32 (1), zero, left zero
// group: query heads that share a key head     section: heads whose keys fit L2
// Query i sees keys up to i + Nk - Nq. A row that sees no key gets O = 0 and
// LSE = -infinity
#include <flash3.cuh>

extern "C" __global__ void __launch_bounds__(384, 1) flash_causal(
    const __grid_constant__ ptx::TensorMap Qm,
    const __grid_constant__ ptx::TensorMap Km,
    const __grid_constant__ ptx::TensorMap Vm,
    const __grid_constant__ ptx::TensorMap Om, float* LSE, int* ticket, int Nq,
    int Nk, int heads, int group, int section, float scale) {
    // T, d, keys of a tile, consumers, stages, causal
    // pingpong, overlap, longest_first, own_tiles
    flash3_block<__half, 64, 64, 2, 2, true, true, true, true, false>(
        Qm, Km, Vm, Om, LSE, ticket, Nq, Nk, heads, group, section, scale);
}
