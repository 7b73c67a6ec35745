"""The articles' claims, one entry each, in the order of the course. What was measured is a template: its numbers come from `figures`, none is typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["confirmed", "confirmed with a condition", "corrected", "documented", "not measured yet"]
GUIDE = "CUDA C++ Programming Guide, “Compute Capabilities”"
DATA_SHEET = "NVIDIA H200 data sheet"


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. `measured` holds `{figure}` places, filled from the tables named in `tables`; `source` is for what we can't measure ourselves."""

    number: str  # of the list in which the articles' claims were collected; a letter where one holds several
    chapter: str
    says: str
    expected: str
    verdict: Verdict
    why: str = ""  # what to say instead, or the condition
    measured: str = ""
    tables: tuple[str, ...] = ()
    source: str = ""


def later(number: str, chapter: str, says: str, expected: str) -> Claim:
    """A claim whose chapter is still to come."""
    return Claim(number, chapter, says, expected, "not measured yet")


CLAIMS = (
    Claim("1a", "ch03", "a register answers in 1 cycle", "an instruction starts each cycle; its result comes a few later", "corrected",
          "One multiply-add that needs the last one waits several cycles.",
          "{registers} cycles from one multiply-add to the next that needs it", ("memory_levels",)),
    Claim("1b", "ch03", "shared memory: about 30 cycles", "somewhat less on newer GPUs", "confirmed with a condition",
          "Without bank conflicts; each further pass adds to it.", "{shared} cycles", ("memory_levels",)),
    Claim("1c", "ch03", "constant memory: about 100 cycles", "one word for all lanes is quick, many words queue", "corrected",
          "Quick where all lanes want one place, slow where they don't.",
          "{constant_one} cycles where all lanes want one place, {constant_many} where each wants another", ("memory_levels",)),
    Claim("1d", "ch03", "texture memory: about 100 cycles", "a hit in L1 and some arithmetic", "confirmed with a condition",
          "Where the data lies in L1: a texture is a way to read global memory.", "{texture} cycles", ("memory_levels",)),
    Claim("1e", "ch03", "global memory: 400 to 800 cycles", "in this range when no cache holds the data", "confirmed", "",
          "{global} cycles, beyond the L2 cache", ("memory_levels",)),
    Claim("1f", "ch03", "local memory is as slow as global memory", "it is cached as global memory is", "corrected",
          "It answers like the cache that holds it.", "{local} cycles for an array that L1 holds; global {global}", ("memory_levels",)),
    Claim("1g", "ch03", "(the table has no line for L1 and L2)", "two steps between shared and global memory", "corrected",
          "Two levels are missing from it.", "L1 {l1} cycles, L2 {l2}", ("memory_levels",)),
    Claim("1h", "ch03", "coalesce accesses to global memory", "a request costs the sectors that it touches", "confirmed",
          "From stride 8 on the sectors stay the same; the rest is DRAM's.",
          "at stride one {stride_1} GB/s of wanted bytes ({sectors_1} sectors a request), at stride thirty-two {stride_32} ({sectors_32}): {stride_loss} ×",
          ("bandwidth_by_stride",)),
    Claim("2a", "ch02", "GTX 1080: compute capability 6.1, V100: 7.0, RTX 3090: 8.6", "as listed by NVIDIA", "documented",
          "All three are right.", source="NVIDIA, “CUDA GPU Compute Capability” (list of products)"),
    Claim("2b", "ch02", "an Ampere SM has 64 FP32, 64 INT32 and 32 FP64 units, 4 tensor cores and 1 RT core", "these are two chips", "documented",
          "Corrected: GA100 (A100) has the first four and no RT core; GA102 (RTX 3090) has 128 FP32, 64 of them for INT32 too, 2 FP64, 4 tensor, 1 RT core.",
          source="NVIDIA A100 and NVIDIA GA102 architecture whitepapers"),
    Claim("3a", "ch02", "32 threads of a warp run in step; divergent branches run one after the other",
          "both sides are executed where lanes of one warp disagree", "confirmed with a condition",
          "Only in a warp whose lanes disagree. And “in step” is no promise: what lanes exchange needs a `__syncwarp()` (ch05).",
          "{by_lane} warp instructions decided by the lane, {by_warp} decided by the warp; active lanes {lanes_by_lane} and {lanes_by_warp}", ("branches",)),
    Claim("3b", "ch05", "work at the level of warps lowers the need for registers", "registers are fixed when a kernel is compiled", "corrected",
          "It saves shared memory and barriers.", "{tree_registers} registers a thread for the tree, {warp_registers} with shuffles", ("sums",)),
    Claim("3c", "ch05", "shuffles exchange data fast", "no shared memory, no barrier of the block", "confirmed", "",
          "{tree_shared_requests} → {warp_shared_requests} requests to shared memory, {tree_barriers} → {warp_barriers} barriers", ("sums",)),
    Claim("3d", "ch05, ch16", "atomics make updates of global memory safe", "no update is lost, the order is left to chance", "confirmed with a condition",
          "Safe for integers and maxima; float sums differ from run to run in the last bits.",
          "{orders} orders of the blocks gave {different_sums} different float sums, off by at most {worst_sum} of the sum", ("atomic_orders",)),
    Claim("4a", "ch04, ch08", "48 KB of shared memory an SM", "48 KB is a block's limit unless it asks for more", "corrected",
          f"The default of a block, not the size of an SM's memory. Limits: {GUIDE}.",
          "ch12_flash_registers takes {fast_shared} a block; a block may have, in KB: {most_shared}", ("occupied",)),
    Claim("4b", "ch08, ch12", "a thread should use fewer than 64 registers", "enough in flight is what counts", "corrected",
          "Registers that hold what is used again pay for the warps they displace.",
          "{fast_registers} registers: {fast_tflops} TFLOP/s; {first_registers} registers: {first_tflops}", ("occupied", "fp32_ladder")),
    Claim("5a", "ch09", "scores take 4 MB, 256 MB, 4 GB a head for N = 1024, 8192, 32,768", "4 N² bytes in float32", "confirmed",
          "MiB and GiB, strictly.", "{score_bytes} bytes written by the first kernel (N = {naive_N}), so {score_sizes}", ("naive_steps",)),
    Claim("5b", "ch09", "O(N² d), O(N²), O(N² d) operations", "twice the N, four times the flops", "confirmed", "",
          "flops of scores, softmax, values when N doubles: × {growth}", ("naive_steps",)),
    Claim("5c", "ch09", "one attention of a model with 100 billion parameters moves terabytes", "GPT-3: 96 layers, 96 heads, d = 128, 2048 tokens", "corrected",
          "Gigabytes for a layer. Near a terabyte for all layers together, once.",
          "with the measured {crossings} crossings of N²: {gpt3_layer} a layer, {gpt3_all} for all layers (float32, at least)", ("naive_steps",)),
    Claim("5d", "ch09, ch12", "and uses less than 30 % of the GPU", "limited by memory", "confirmed with a condition",
          f"PyTorch's own naive way, float32, N = 4096, d = 64; against 67 TFLOP/s ({DATA_SHEET}). Other shapes and types have other shares.",
          "PyTorch's math attention: {math_tflops} TFLOP/s, {math_share} %", ("fp32_ladder",)),
    Claim("6a", "ch09", "three matrix operations, two round trips to memory", "S and P each written and read once", "confirmed",
          "A softmax in three passes asks for more where no cache helps.",
          "{naive_launches} launches; N² numbers cross {crossings} times, beside Q, K, V and O", ("naive_steps",)),
    Claim("6b", "ch12", "several launches cost overhead", "some microseconds each, so it matters for short sequences", "not measured yet",
          "Counted: three launches against one. Their time wasn't taken."),
    Claim("6c", "ch10", "softmax has uneven arithmetic", "little for each byte, idle lanes at the end of a row", "confirmed",
          "A slot is one lane's place in one instruction, used or not.",
          "flops a compulsory byte: {intensities}; slots a score: {slots_1024} for a row of full tiles, {slots_33} where the last tile has one key",
          ("naive_steps", "softmax_slots")),
    Claim("7a", "ch10", "softmax computes similarities again", "only where they weren't stored", "confirmed with a condition",
          "Several passes without stored scores compute them once a pass; with stored scores the price is bytes; online neither.",
          "{passes_2} flops a score in two passes, {passes_1} in one", ("unstored_scores",)),
    Claim("7b", "ch16", "(and FlashAttention doesn't)", "it does so in the backward pass, on purpose", "corrected",
          "One product more, for bytes that grow with N instead of N².",
          "flops + {backward_flops}; N doubled: compulsory bytes × {backward_growth}, with a stored P × {stored_growth}", ("backward",)),
    Claim("8a", "ch11", "listing A computes attention in tiles", "one sum for a whole tile, no running state: V = 1 gives N / 4096 on average, not 1",
          "corrected", "Right only for a single tile of one row, or by accident. The repair: one maximum and one sum a row, carried on.",
          "N = {ones_N}: mean output {ones_mean}, which is N / {ones_divisors}; outputs from {ones_smallest} to {ones_largest}", ("listing_a_ones",)),
    Claim("8b", "ch11", "(the same with a sum for each row)", "a row's weights sum to the number of tiles", "corrected",
          "No division by the number of tiles repairs it: then it is an average of the tiles, whatever they weigh.",
          "{sum_tiles} tiles, V = ones: output {sum_outputs}", ("tile_sums",)),
    Claim("8c", "ch11", "1e-6 in the denominator is for stability", "harmless while a row's sum is at least 1", "confirmed with a condition",
          "With the row's own maximum the sum is at least 1. With the tile's, a row that lies below loses its weights.",
          "relative error of a weight, for a row ten, twenty, eighty below the tile's maximum: {padded_10}, {padded_20}, {padded_80}", ("far_below",)),
    Claim("9a", "ch12", "listing B loads its tiles, asynchronously, while it computes", "one element a thread, plain loads, no barrier before the next",
          "corrected", "Most of a tile is never loaded, and a load overtakes its readers. Nothing in it is asynchronous. (An exercise's kernel.)",
          "{loaded} of {needed} elements loaded; {uninitialised_reads} reads of what nobody wrote, {races} races", ("listing_b",)),
    Claim("9b", "ch12", "one maximum for a whole tile", "legitimate until a row lies about 100 below it", "confirmed with a condition",
          "Beyond that every term of the row is 0, and 0 / 0 is NaN.",
          "error of a weight, ninety below: {plain_90}; a hundred and ten below: {plain_110}", ("far_below",)),
    Claim("10a", "ch12", "accesses to HBM fall from O(N²) to O(N² / M²), M being a tile's edge", "bytes fall with Br alone; Bc changes nothing", "corrected",
          "N² / M² counts pairs of tiles. Bytes are 4 · (2 Nq d + 2 ⌈Nq / Br⌉ Nk d + Nq): exact, queries in the outer loop.",
          "Br = {Brs}: {asked_by_Br} bytes; Bc = {Bcs}: {asked_by_Bc} bytes each, while pairs go {pairs_by_Bc}; {formula_misses} of all off the formula",
          ("tiles",)),
    Claim("10b", "ch12", "(the same, keys in the outer loop)", "2 N d + ⌈N / Bc⌉ (3 N d + 4 N) elements", "corrected",
          "In this order Bc alone decides, and O, m and l travel again and again.",
          "Bc = {outer_Bcs}: {outer_asked} bytes; {outer_misses} off the formula", ("keys_outer",)),
    Claim("10c", "ch12", "the N × N matrix is never stored", "0 bytes of it", "confirmed", "",
          "{scores_written} bytes written besides O and LSE", ("tiles",)),
    Claim("11a", "ch12", "up to 10 × fewer reads and writes", "compulsory: about 1 + N / d times; asked: as the naive kernels are",
          "confirmed with a condition", "No constant: it grows with N. At N = d it is two.",
          "compulsory bytes: {small_compulsory} × at N = {small_N}, {large_compulsory} × at N = {large_N}; asked: {small_asked} × and {large_asked} ×",
          ("ways",)),
    Claim("11b", "ch12", "compute density × 12", "grows as the compulsory bytes shrink", "confirmed with a condition", "At one N only.",
          "flops a compulsory byte: × {small_density} at N = {small_N}, × {large_density} at N = {large_N}", ("ways",)),
    Claim("11c", "ch12", "and is faster for it", "less than the bytes say: arithmetic takes over", "confirmed with a condition",
          "float32, N = 4096, d = 64, 128 heads.",
          "against PyTorch's math attention: memory-efficient {efficient_gain} ×, ch12_flash_forward {first_gain} ×, ch12_flash_registers {fast_gain} ×",
          ("fp32_ladder",)),
    Claim("12a", "ch12", "sequences larger than the GPU's memory", "memory linear in N instead of quadratic", "confirmed with a condition",
          f"Larger than the scores would allow; Q, K, V and O must still fit. 141 GB: {DATA_SHEET}.",
          "all arrays, N = {large_N}: {large_held} × fewer bytes; one head fills an H200 at {held_naive_N} tokens by its scores, at {held_flash_N} without",
          ("ways",)),
    Claim("12b", "ch21", "(larger than memory, truly)", "only when K and V come from the host in pieces and the parts are merged",
          "confirmed with a condition", "The kernel alone doesn't do it; streaming and the merge do.",
          "{stream_host} bytes of K and V on the host, {stream_buffers} in the GPU's buffers; {stream_right} right. On the H200 {stream_gib} GiB of K and V "
          "with {stream_pool} GiB allowed on the GPU: {stream_both} ms", ("streamed_keys", "streamed")),
    Claim("13a", "ch24", "larger tiles overflow shared memory and registers", "by how much is known before anything runs", "confirmed with a condition",
          "Registers overflow first, into local memory. Shared memory doesn't yet: a block may have up to 227 KB of it; fewer blocks fit an SM. More warps "
          "share the registers' load.",
          "d = {cost_ds}, four warps: the square tile takes {square_registers} registers, {square_shared} bytes, and {square_blocks} blocks fit; the one "
          "twice as long each way {large_registers} registers and {large_spilled} bytes spilled a thread, {large_shared} bytes, {large_blocks} blocks",
          ("tile_costs",)),
    Claim("13b", "ch24", "64 × 64 tiles are typical; smaller ones cost overhead and parallelism", "a sweep, with blocks in flight, decides",
          "confirmed with a condition", "Smaller ones are slower, but more of their blocks fit an SM. Larger ones are mostly faster still.",
          "{sweep_tiles} tiles of flash2, {sweep_shapes} shapes; fastest: {sweep_winners}, the article's for {square_first}; with four warps it has "
          "{square_share} % of the fastest's speed, with half the keys {smallest_share} %", ("tile_sweep",)),
    Claim("14", "ch18, ch19", "fp16, bf16 or tf32 for the products, softmax in fp32", "an error budget by part", "confirmed with a condition",
          "The sums of the products must be float32, too; and bf16 has less accuracy than fp16, not more.",
          "error of the output with one part in fp16: weights {s_weights}, Q, K, V {s_inputs}, scores {s_scores}, sums {s_sums}; with scores up to {l_size} "
          "instead of {s_size}: {l_weights}, {l_inputs}, {l_scores}, {l_sums}; bf16 inputs keep {bf16_loses} bits less", ("sixteen_bits",)),
    Claim("15", "ch21", "loads of the next tile run under this tile's softmax; streams overlap them",
          "streams overlap copies from the host, not tiles in a kernel", "confirmed with a condition",
          "By asynchronous copies and stages inside the kernel; a stream can't see tiles.",
          "tiles on their way while another one is used: {hidden_one} of {tiles} with one place, {hidden_two} with two stages, {hidden_three} with three. "
          "Streams: copies from the host {stream_copies} ms, kernels {stream_kernels} ms, both at once {stream_both} ms", ("stages", "streamed")),
    Claim("16", "ch22", "A100, N = 128: 12.3 → 98.7 TFLOP/s (8.02 ×), 3.2 → 0.45 ms (7.11 ×)",
          "the two ratios contradict each other; N = 128 needs many heads", "confirmed with a condition",
          "With thousands of heads in one launch (of 64 columns). An A100's roof is 100 to 130 TFLOP/s; and one of the two ratios must be wrong. "
          f"Memory's rate: 4.8 TB/s, {DATA_SHEET}.",
          "{short_intensity} flops a byte; {short_heads} heads: {short_tflops} TFLOP/s in {short_us} µs; the last with {short_bandwidth} % of the "
          "memory's rate", ("short_launches",)),
    Claim("17", "ch22, ch28", "85 % of the theoretical peak", "depends on which peak", "corrected",
          f"Of the data sheet's peak nobody has it here; of the fastest measured product the best two do. 989 TFLOP/s: {DATA_SHEET}. Published: "
          "FlashAttention-1, -2 and -3 reach 25 to 40, 50 to 73 and 75 % of the data sheet's.",
          "each at its best point, of the data sheet's peak (of the fastest measured product of matrices): flash3 {flash3_of_sheet} % ({flash3_of_product}), "
          "FlashAttention-4 {fa4_of_sheet} ({fa4_of_product}), cuDNN {cudnn_of_sheet} ({cudnn_of_product}), flash2 {flash2_of_sheet} "
          "({flash2_of_product}), PyTorch's FlashAttention-2 {fa2_of_sheet} ({fa2_of_product}); cuBLAS's product itself {cublas_of_sheet} %",
          ("attention_ladder", "tensor_ladder")),
    Claim("18", "ch22", "FlashAttention-2 is 2 to 3 × faster", "four reasons, each a switch", "confirmed with a condition",
          "Against a kernel with none of its ideas, more: two of them give that factor alone. The bytes of global memory are equal. (N = 4096.)",
          "each idea on top of those before it: warps split queries {gain_split_queries} ×, one division {gain_divide_once} ×, scale "
          "folded into the power {gain_folded_power} ×, a block for each tile of queries {gain_many_blocks} ×, causal tiles skipped {gain_skip_tiles} ×; all "
          "{gain_all} ×", ("flash2_switches",)),
    later("19a", "ch30", "prefer GPUs with high bandwidth", "for decoding; a long prefill is arithmetic"),
    later("19b", "ch34", "tiles over several GPUs; less communication in mixtures of experts", "attention doesn't change the experts' traffic"),
    Claim("19c", "ch16", "goes together with selective recomputation and checkpoints", "some flops more, no N × N array", "confirmed",
          "Attention's own part, counted; what a whole layer keeps is computed in ch16.",
          "N = {backward_N}: P made again costs {backward_flops} more flops and {backward_less} × fewer compulsory bytes; beside the inputs and gradients "
          "{held_again} bytes are held instead of {held_stored}", ("backward",)),
    later("19d", "ch29 to ch33", "quantised, sparse, low-rank and domain variants", "each has a shape where it fails"),
    Claim("19e", "ch24", "tiles chosen while the program runs (dynamic tiling)", "some per cent against one tile for all shapes", "confirmed with a condition",
          "A tile for each d, chosen once, is near the best for both lengths and masks of the sweep.",
          "{fixed}: in the worst of {sweep_shapes} shapes {fixed_share} % of the fastest's speed", ("tile_sweep",)),
)  # fmt: skip
