"""From tables to the numbers that claims.md quotes: name → text. Every number in a "measured" cell comes from here, and so from results/*.json."""

from __future__ import annotations

from collections.abc import Mapping

from lanewise.claims.tiles import tile_costs, tile_sweep
from lanewise.results import Row, Table
from lanewise.simt.gpus import GPUS, KB

# GPT-3 175B: Brown et al., 2020, table 2.1; the context is 2048 tokens.
GPT3_LAYERS, GPT3_HEADS, GPT3_D, GPT3_N = 96, 96, 128, 2048
# NVIDIA H200 data sheet: float32 without tensor cores, float16 on them (dense), and memory in bytes.
H200_FP32_TFLOPS, H200_FP16_TFLOPS, H200_BYTES, H200_GB_S = 67.0, 989.0, 141e9, 4800.0
# Columns of the table attention_ladder: the course's rungs and libraries.
RUNGS = {"flash2": "flash2", "flash3": "flash3", "fa2": "FlashAttention-2", "cudnn": "cuDNN", "fa4": "FlashAttention-4"}

Tables = Mapping[str, Table]
Figures = dict[str, str]


def figures(tables: Tables) -> dict[str, Figures]:
    """Table name → its figures. A table that wasn't measured has none. Raises StopIteration or KeyError where a table lacks an expected row or column."""
    found = {name: OF[name](tables[name]) for name in OF if name in tables}
    if "attention_ladder" in found and "tensor_ladder" in found:
        found["attention_ladder"] |= shares_of_a_product(tables["attention_ladder"], tables["tensor_ladder"])
    return found


def memory_levels(table: Table) -> Figures:
    cycles = {row["level"]: row["cycles"] for row in table.rows}
    names = {
        "registers": "registers", "shared": "shared memory", "l1": "L1 cache", "l2": "L2 cache", "local": "local memory", "global": "global memory",
        "texture": "texture", "constant_one": "constant memory, 32 lanes, one place", "constant_many": "constant memory, 32 lanes, 32 places",
    }  # fmt: skip
    return {name: f"{cycles[level]:.3g}" for name, level in names.items()}


def bandwidth_by_stride(table: Table) -> Figures:
    one, far = row_of(table, stride=1), row_of(table, stride=32)
    return {
        "stride_1": f"{one['wanted_gb_s']:,.0f}",
        "stride_32": f"{far['wanted_gb_s']:,.0f}",
        "stride_loss": f"{one['wanted_gb_s'] / far['wanted_gb_s']:.1f}",
        "sectors_1": f"{one['sectors_a_request']}",
        "sectors_32": f"{far['sectors_a_request']}",
    }


def fp32_ladder(table: Table) -> Figures:
    found: Figures = {}
    for name, kernel in (("math", "PyTorch math"), ("efficient", "PyTorch efficient"), ("first", "ch12_flash_forward"), ("fast", "ch12_flash_registers")):
        row = row_of(table, kernel=kernel, N=4096, causal=False)
        found |= {f"{name}_tflops": f"{row['TFLOPs']:.1f}", f"{name}_ms": f"{row['ms']:.1f}"}
        found[f"{name}_share"] = f"{100 * row['TFLOPs'] / H200_FP32_TFLOPS:.0f}"
        found[f"{name}_gain"] = f"{row_of(table, kernel='PyTorch math', N=4096, causal=False)['ms'] / row['ms']:.1f}"
    return found


def branches(table: Table) -> Figures:
    lane, warp = (row_of(table, kernel=f"ch02_branch_by_{what}") for what in ("lane", "warp"))
    return {
        "by_lane": f"{lane['warp_instructions']}",
        "by_warp": f"{warp['warp_instructions']}",
        "lanes_by_lane": f"{lane['active_lane_ratio']:.2f}",
        "lanes_by_warp": f"{warp['active_lane_ratio']:.2f}",
    }


def sums(table: Table) -> Figures:
    tree, warp = row_of(table, kernel="ch05_tree_sum"), row_of(table, kernel="ch05_warp_sum")
    return {f"{name}_{what}": f"{row[what]}" for name, row in (("tree", tree), ("warp", warp)) for what in ("registers", "shared_requests", "barriers")}


def atomic_orders(table: Table) -> Figures:
    row = table.rows[0]
    return {"orders": f"{row['orders']}", "different_sums": f"{row['different_sums']}", "worst_sum": f"{row['worst_relative_error']:.0e}"}


def occupied(table: Table) -> Figures:
    first, fast = row_of(table, kernel="ch12_flash_forward"), row_of(table, kernel="ch12_flash_registers")
    return {
        "first_registers": f"{first['registers']}",
        "fast_registers": f"{fast['registers']}",
        "fast_shared": f"{fast['shared_bytes'] / KB:.0f} KB",
        "most_shared": ", ".join(f"{name} {GPUS[name].limits.shared_per_block // KB}" for name in ("T4", "A100", "RTX 3090", "H200")),
    }


def naive_steps(table: Table) -> Figures:
    largest = max(table.column("N"))
    steps = {row["kernel"][5:]: row for row in table.rows if row["N"] == largest}
    half = {row["kernel"][5:]: row for row in table.rows if row["N"] == largest // 2}
    far = sum(row["read"] + row["written"] for row in steps.values())
    crossings = (far - 4 * 4 * largest * 64) / (4 * largest**2)
    scores = steps["scores"]["written"] / largest**2  # bytes of a score
    layer = GPT3_HEADS * 4 * (crossings * GPT3_N**2 + 4 * GPT3_N * GPT3_D)
    return {
        "naive_N": f"{largest}",
        "naive_launches": f"{len(steps)}",
        "score_bytes": f"{scores:.0f} N²",
        "score_sizes": ", ".join(f"{scores * n**2 / 2**20:,.0f} MiB" for n in (1024, 8192, 32768)),
        "growth": ", ".join(f"{steps[name]['flops'] / half[name]['flops']:.2f}" for name in ("scores", "softmax", "values")),
        "crossings": f"{crossings:.2f}",
        "gpt3_layer": f"{layer / 1e9:.1f} GB",
        "gpt3_all": f"{GPT3_LAYERS * layer / 1e12:.2f} TB",
        "intensities": ", ".join(f"{row['flops'] / (row['read'] + row['written']):.1f}" for row in steps.values()),
    }


def ways(table: Table) -> Figures:
    found: Figures = {}
    for name, row in (("small", table.rows[0]), ("large", table.rows[-1])):
        less = row["compulsory_naive"] / row["compulsory_flash"]
        density = row["flops_flash"] / row["compulsory_flash"] / (row["flops_naive"] / row["compulsory_naive"])
        found |= {
            f"{name}_N": f"{row['N']}",
            f"{name}_asked": f"{row['asked_naive'] / row['asked_flash']:.0f}",
            f"{name}_compulsory": f"{less:.1f}",
            f"{name}_density": f"{density:.1f}",
            f"{name}_held": f"{row['held_naive'] / row['held_flash']:.1f}",
        }
    last = table.rows[-1]
    found["held_naive_N"] = f"{(H200_BYTES / (last['held_naive'] / last['N'] ** 2)) ** 0.5 / 1e3:,.0f} thousand"
    found["held_flash_N"] = f"{H200_BYTES / (last['held_flash'] / last['N']) / 1e6:,.0f} million"
    return found


def tiles(table: Table) -> Figures:
    by_Br = {row["Br"]: row for row in table.rows if row["Bc"] == 32}
    by_Bc = {row["Bc"]: row for row in table.rows if row["Br"] == 32}
    return {
        "asked_by_Br": ", ".join(f"{by_Br[Br]['asked']:,}" for Br in sorted(by_Br)),
        "Brs": ", ".join(f"{Br}" for Br in sorted(by_Br)),
        "Bcs": ", ".join(f"{Bc}" for Bc in sorted(by_Bc)),
        "asked_by_Bc": ", ".join(sorted({f"{row['asked']:,}" for row in by_Bc.values()})),
        "pairs_by_Bc": ", ".join(f"{by_Bc[Bc]['tile_pairs']}" for Bc in sorted(by_Bc)),
        "formula_misses": f"{sum(row['asked'] != row['formula'] for row in table.rows)}",
        "scores_written": f"{sum(row['scores_written'] for row in table.rows)}",
    }


def keys_outer(table: Table) -> Figures:
    return {
        "outer_Bcs": ", ".join(f"{row['Bc']}" for row in table.rows),
        "outer_asked": ", ".join(f"{row['asked']:,}" for row in table.rows),
        "outer_misses": f"{sum(row['asked'] != row['formula'] for row in table.rows)}",
    }


def unstored_scores(table: Table) -> Figures:
    return {f"passes_{row['passes']}": f"{row['flops_a_score']}" for row in table.rows}


def softmax_slots(table: Table) -> Figures:
    return {f"slots_{row['keys']}": f"{row['slots_a_score']:.0f}" for row in table.rows}


def listing_a_ones(table: Table) -> Figures:
    row = table.rows[-1]
    return {
        "ones_N": ", ".join(f"{n}" for n in table.column("N")),
        "ones_mean": ", ".join(f"{mean:.4g}" for mean in table.column("mean")),
        "ones_divisors": ", ".join(sorted({f"{one['N'] / one['mean']:,.0f}" for one in table.rows})),
        "ones_smallest": f"{row['smallest']:.0e}",
        "ones_largest": f"{row['largest']:.1f}",
    }


def far_below(table: Table) -> Figures:
    found: Figures = {}
    for row in table.rows:
        found |= {f"plain_{row['gap']}": row["error_of_a_weight"], f"padded_{row['gap']}": row["with_1e-6"]}
    return found


def tile_sums(table: Table) -> Figures:
    return {"sum_tiles": ", ".join(f"{n}" for n in table.column("tiles")), "sum_outputs": ", ".join(f"{value:.3g}" for value in table.column("output"))}


def listing_b(table: Table) -> Figures:
    return {name: f"{value:,}" for name, value in table.rows[0].items()}


def backward(table: Table) -> Figures:
    last, before = table.rows[-1], table.rows[-2]
    return {
        "backward_N": f"{last['N']}",
        "backward_flops": f"{100 * (last['flops_again'] / last['flops_stored'] - 1):.0f} %",
        "backward_less": f"{last['compulsory_stored'] / last['compulsory_again']:.1f}",
        "backward_growth": f"{last['compulsory_again'] / before['compulsory_again']:.1f}",
        "stored_growth": f"{last['compulsory_stored'] / before['compulsory_stored']:.1f}",
        "held_stored": f"{last['held_stored']:,}",
        "held_again": f"{last['held_again']:,}",
    }


def row_of(table: Table, **wanted: object) -> Row:
    """The first row with these values."""
    return next(row for row in table.rows if all(row[key] == value for key, value in wanted.items()))


def sixteen_bits(table: Table) -> Figures:
    """Errors as powers of two, for the smallest and the largest scores: s_ and l_."""
    found: Figures = {}
    sizes = table.column("scores_up_to")
    for prefix, size in (("s", min(sizes)), ("l", max(sizes))):
        found[f"{prefix}_size"] = f"{size}"
        for name, part in (("inputs", "Q, K, V"), ("scores", "scores"), ("weights", "weights"), ("sums", "l, acc")):
            row = row_of(table, sixteen_bits=part, scores_up_to=size)
            found[f"{prefix}_{name}"] = f"2^{row['log2_error_fp16']}"
    row = row_of(table, sixteen_bits="Q, K, V", scores_up_to=min(sizes))
    return found | {"bf16_loses": f"{row['log2_error_bf16'] - row['log2_error_fp16']:.0f}"}


def stages(table: Table) -> Figures:
    one, two, three = (row_of(table, places=n) for n in (1, 2, 3))
    return {
        "tiles": f"{one['tiles']}",
        "hidden_one": f"{one['on_the_way_while_another_is_used']}",
        "hidden_two": f"{two['on_the_way_while_another_is_used']}",
        "hidden_three": f"{three['on_the_way_while_another_is_used']}",
    }


def streamed(table: Table) -> Figures:
    row = row_of(table, chunk=65536)
    names = {"copies": "copies_ms", "kernels": "kernels_ms", "both": "streamed_ms"}
    return {f"stream_{name}": f"{row[column]:.1f}" for name, column in names.items()} | {
        "stream_gib": f"{row['host_bytes'] / 2**30:.0f}",
        "stream_pool": f"{row['pool_bytes'] / 2**30:.1f}",
    }


def streamed_keys(table: Table) -> Figures:
    return {
        "stream_right": f"{sum(row['right'] for row in table.rows)} of {len(table.rows)}",
        "stream_host": ", ".join(f"{row['host_bytes']:,}" for row in table.rows),
        "stream_buffers": ", ".join(f"{row['buffer_bytes']:,}" for row in table.rows),
    }


def short_launches(table: Table) -> Figures:
    rows = [row for row in table.rows if row["kernel"] == "flash2.cuh"]
    return {
        "short_heads": ", ".join(f"{row['heads']:,}" for row in rows),
        "short_tflops": ", ".join(f"{row['TFLOPs']:.1f}" for row in rows),
        "short_us": ", ".join(f"{row['us']:.0f}" for row in rows),
        "short_intensity": f"{rows[-1]['flops_a_byte']:.0f}",
        "short_bandwidth": f"{100 * rows[-1]['gb_s'] / H200_GB_S:.0f}",
    }


def flash2_switches(table: Table) -> Figures:
    """What each idea gains when it joins those before it: from and to, over both head sizes and masks."""
    gains: dict[str, list[float]] = {}
    for d, causal in ((64, False), (64, True), (128, False), (128, True)):
        steps = [row for row in table.rows if (row["d"], row["causal"], row["series"]) == (d, causal, "cumulative")]
        for before, after in zip(steps, steps[1:], strict=False):
            gains.setdefault(after["idea"].removeprefix("+ ").replace("exp2", "power").replace(" ", "_"), []).append(before["ms"] / after["ms"])
        gains.setdefault("all", []).append(steps[0]["ms"] / steps[-1]["ms"])
    return {f"gain_{name}": f"{min(values):.1f} to {max(values):.1f}" for name, values in gains.items()}


def attention_ladder(table: Table) -> Figures:
    """Each rung's and library's best point, as a share of the data sheet's peak."""
    return {f"{name}_of_sheet": f"{100 * max(table.column(column)) / H200_FP16_TFLOPS:.0f}" for name, column in RUNGS.items()}


def tensor_ladder(table: Table) -> Figures:
    return {"cublas_of_sheet": f"{100 * max(row['cuBLAS'] for row in table.rows if row['type'] == 'bf16') / H200_FP16_TFLOPS:.0f}"}


def shares_of_a_product(attention: Table, tensor: Table) -> Figures:
    """Each best point of attention as a share of the fastest product measured on the same GPU."""
    fastest = max(row[column] for row in tensor.rows for column in ("cuBLAS", "TFLOPs"))
    return {f"{name}_of_product": f"{100 * max(attention.column(column)) / fastest:.0f}" for name, column in RUNGS.items()}


OF = {
    function.__name__: function
    for function in (
        memory_levels, bandwidth_by_stride, fp32_ladder, branches, sums, atomic_orders, occupied, naive_steps, ways, tiles, keys_outer, unstored_scores,
        softmax_slots, listing_a_ones, tile_sums, far_below, listing_b, backward, sixteen_bits, stages, streamed, streamed_keys,
        short_launches, flash2_switches, attention_ladder, tensor_ladder, tile_costs, tile_sweep,
    )
}  # fmt: skip
