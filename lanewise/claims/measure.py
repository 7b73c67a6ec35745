"""What the articles' claims are held against, counted: the course's own kernels on the simulator, at sizes where a count takes seconds.

Every function here is one table of results/claims.json. Bytes are bytes; `compulsory` are those that DRAM must deliver or take at least once a launch;
`asked` are those the SMs ask of global memory, as if there were no L2 cache.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise import cost_model, cp, simt, streaming
from lanewise.exercise import ceil_div
from lanewise.listing import source
from lanewise.plots_stages import hidden
from lanewise.results import Row
from lanewise.simt.resources import occupancy

NAIVE = ("ch09_scores", "ch09_softmax", "ch09_values")
FLASH_ROWS = 32  # query rows a block of ch12_flash_forward keeps
EPSILON = 1e-6  # listing A adds it to a tile's sum


def sized(key: str, **sizes: int) -> str:
    """A kernel's text with other values of its `constexpr int` constants. Raises ValueError where one isn't defined exactly once."""
    text = source(key)
    for name, value in sizes.items():
        text, count = re.subn(rf"\b{name} = \d+([,;])", rf"{name} = {value}\1", text)
        if count != 1:
            raise ValueError(f"{key}.cu defines {name} {count} times: name a constant that is defined once.")
    return text


def run(key: str, grid: Any, block: Any, arguments: Sequence[Any], *, text: str = "", shared: int = 0, schedule: int = 0) -> Any:
    """Launch the kernel `key` and return its simt.Counters. Raises KernelFault where the report holds a fault: a faulty kernel's counts mean nothing."""
    kernel = simt.compile(text or source(key)).kernel(key.split("_", 1)[1])
    report = kernel.launch(grid, block, tuple(arguments), shared, schedule=schedule)
    report.raise_if_faulty()
    return report.counters


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def compulsory(counters: Any) -> int:
    return counters.dram_read_bytes + counters.dram_write_bytes


def branches() -> list[Row]:
    """Two recipes of 16 steps, chosen by the lane or by the warp: 256 threads."""
    rows = []
    for key in ("ch02_branch_by_lane", "ch02_branch_by_warp"):
        c = run(key, 1, 256, (np.empty(256, np.float32), np.int32(16)))
        rows.append({"kernel": key, "warp_instructions": c.warp_instructions, "active_lane_ratio": round(c.active_lane_ratio, 3)})
    return rows


def sums() -> list[Row]:
    """A sum of 4096 floats in blocks of 256, by tree and by shuffles: what each takes of a thread and of shared memory."""
    rows = []
    for key in ("ch05_tree_sum", "ch05_warp_sum"):
        c = run(key, 16, 256, (normal(4096), np.empty(16, np.float32), np.int32(4096)))
        taken = simt.compile(source(key)).kernel(key.split("_", 1)[1]).resources("sm_90a")
        shared = c.shared_load_requests + c.shared_store_requests
        rows.append({"kernel": key, "registers": taken.registers, "shared_requests": shared, "barriers": c.barriers})
    return rows


def atomic_orders(orders: int = 8) -> list[Row]:
    """The same 4096 floats added by atomics, with the blocks in other orders."""
    x = np.random.default_rng(0).random(4096, dtype=np.float32)
    exact = x.sum(dtype=np.float64)
    found = []
    for order in range(orders):
        total = np.zeros(1, np.float32)
        run("ch05_atomic_sum", 16, 256, (x, total, np.int32(4096)), schedule=order)
        found.append(float(total[0]))
    worst = max(abs(value - exact) / exact for value in found)
    return [{"kernel": "ch05_atomic_sum", "orders": orders, "different_sums": len(set(found)), "worst_relative_error": float(f"{worst:.1e}")}]


def occupied() -> list[Row]:
    """What the fast float32 kernels take of an SM: registers a thread, shared memory a block (ptxas, and the kernels' own launches)."""
    rows = []
    for key, dynamic in (("ch12_flash_forward", 0), ("ch12_flash_registers", 107520)):
        taken = simt.compile(source(key)).kernel(key.split("_", 1)[1]).resources("sm_90a")
        rows.append({"kernel": key, "registers": taken.registers, "shared_bytes": taken.static_shared + dynamic, "spilled_bytes": taken.spill_stores})
    return rows


def naive_steps(sizes: Sequence[int] = (128, 256, 512)) -> list[Row]:
    """Attention in three launches, one head, d = 64."""
    rows = []
    for n in sizes:
        for key, c in naive(n).items():
            rows.append({"N": n, "kernel": key, "flops": c.flops, "asked": c.global_bytes, "read": c.dram_read_bytes, "written": c.dram_write_bytes})
    return rows


def naive(n: int) -> dict[str, Any]:
    """Kernel → counters of attention in three launches, one head, d = 64, n queries and keys (a multiple of 32)."""
    Q, K, V = (normal(1, n, 64, seed=seed) for seed in range(3))
    S, O, size = np.empty((1, n, n), np.float32), np.empty_like(Q), np.int32(n)  # noqa: E741
    launches = (
        ((n // 32, n // 8, 1), (32, 8), (Q, K, S, size, size, np.float32(0.125))),
        ((n // 4, 1), 128, (S, size, size)),
        ((n // 4, 1), (64, 4), (S, V, O, size, size)),
    )
    return {key: run(key, grid, block, arguments) for key, (grid, block, arguments) in zip(NAIVE, launches, strict=True)}


def flash(n: int) -> Any:
    """Counters of ch12_flash_forward, one head, d = 64."""
    Q, K, V = (normal(1, n, 64, seed=seed) for seed in range(3))
    O, LSE = np.empty_like(Q), np.empty((1, n), np.float32)  # noqa: E741
    arguments = (Q, K, V, O, LSE, np.int32(n), np.int32(n), np.float32(0.125), np.uintp(0))
    return run("ch12_flash_forward", (ceil_div(n, FLASH_ROWS), 1), 128, arguments)


def ways(sizes: Sequence[int] = (64, 128, 256, 512, 1024)) -> list[Row]:
    """Three launches against one: one head, d = 64. `held` are the bytes of all arrays."""
    rows = []
    for n in sizes:
        steps, one = list(naive(n).values()), flash(n)
        thin = 4 * 4 * n * 64
        rows.append({
            "N": n,
            "asked_naive": sum(c.global_bytes for c in steps), "asked_flash": one.global_bytes,
            "compulsory_naive": sum(map(compulsory, steps)), "compulsory_flash": compulsory(one),
            "flops_naive": sum(c.flops for c in steps), "flops_flash": one.flops,
            "held_naive": thin + 4 * n * n, "held_flash": thin + 4 * n,
        })  # fmt: skip
    return rows


def tiles(shapes: Sequence[tuple[int, int]] = ((8, 32), (16, 32), (32, 32), (64, 32), (32, 8), (32, 16), (32, 64)), n: int = 128, d: int = 32) -> list[Row]:
    """Queries in the outer loop, with other tiles: bytes asked against the formula, and bytes written besides O and LSE."""
    rows = []
    for Br, Bc in shapes:
        Q, K, V = (normal(n, d, seed=seed) for seed in range(3))
        O, LSE = np.empty_like(Q), np.empty(n, np.float32)  # noqa: E741
        arguments = (Q, K, V, O, LSE, np.int32(n), np.int32(n), np.float32(d**-0.5), np.uintp(0))
        text = sized("ch12_flash_tiles", Br=Br, Bc=Bc)
        c = run("ch12_flash_tiles", ceil_div(n, Br), 4 * Br, arguments, text=text)
        rows.append({
            "Br": Br, "Bc": Bc, "asked": c.global_bytes, "formula": 4 * (2 * n * d + 2 * ceil_div(n, Br) * n * d + n),
            "scores_written": 32 * c.global_store_sectors - 4 * (n * d + n),
            "tile_pairs": ceil_div(n, Br) * ceil_div(n, Bc),
            "shared_bytes": simt.compile(text).kernel("flash_tiles").resources("sm_90a").static_shared,
        })  # fmt: skip
    return rows


def keys_outer(widths: Sequence[int] = (8, 16, 32, 64), n: int = 64, d: int = 32) -> list[Row]:
    """Keys in the outer loop (FlashAttention-1, Algorithm 1), with other widths of the key tile."""
    rows = []
    for Bc in widths:
        Q, K, V = (normal(n, d, seed=seed) for seed in range(3))
        O, m, l = np.zeros((n, d), np.float32), np.full(n, -np.inf, np.float32), np.zeros(n, np.float32)  # noqa: E741
        c = run("ch12_flash_kv_outer", 1, 128, (Q, K, V, O, m, l, np.int32(n), np.float32(d**-0.5)), text=sized("ch12_flash_kv_outer", Bc=Bc))
        rows.append({"Bc": Bc, "asked": c.global_bytes, "formula": 4 * (2 * n * d + ceil_div(n, Bc) * (3 * n * d + 4 * n))})
    return rows


def unstored_scores() -> list[Row]:
    """Log-sum-exp of scores that nobody stores, 64 queries, 128 keys, d = 64: in two passes and in one."""
    Q, K, LSE = normal(64, 64), normal(128, 64, seed=1), np.empty(64, np.float32)
    rows = []
    for passes in (2, 1):
        c = run("ch10_unstored_scores", 1, 64, (Q, K, LSE, np.int32(64), np.int32(128), np.float32(0.125), np.int32(passes)))
        rows.append({"passes": passes, "flops_a_score": round(c.flops / (64 * 128))})
    return rows


def softmax_slots() -> list[Row]:
    """Online softmax of 64 rows, a warp a row: lanes' places in instructions, used or not, for each score."""
    rows = []
    for keys in (1024, 33):
        S, P, LSE = normal(64, keys), np.empty((64, keys), np.float32), np.empty(64, np.float32)
        c = run("ch10_online_warp", 16, 128, (S, P, LSE, np.int32(64), np.int32(keys), np.uintp(0)))
        rows.append({"keys": keys, "slots_a_score": round(32 * c.warp_instructions / S.size, 1), "active_lane_ratio": round(c.active_lane_ratio, 3)})
    return rows


def listing_a(Q: np.ndarray, K: np.ndarray, V: np.ndarray, block: int) -> np.ndarray:
    """The article's loop over tiles, in the type of its arguments: one maximum and one sum for a whole tile, no scale, results added up."""
    O = np.zeros((len(Q), V.shape[1]), Q.dtype)  # noqa: E741
    for row in range(0, len(Q), block):
        for key in range(0, len(K), block):
            S = Q[row : row + block] @ K[key : key + block].T
            e = np.exp(S - S.max())
            O[row : row + block] += e / (e.sum() + Q.dtype.type(EPSILON)) @ V[key : key + block]
    return O


def listing_a_ones(sizes: Sequence[int] = (64, 128, 256, 512), block: int = 64, d: int = 64) -> list[Row]:
    """Listing A with V = 1 everywhere, so that every right output is 1: the mean of all outputs, the smallest and the largest."""
    rows = []
    for n in sizes:
        got = listing_a(normal(n, d), normal(n, d, seed=1), np.ones((n, d), np.float32), block)
        mean, smallest, largest = got.mean(dtype=np.float64), got.min(), got.max()
        rows.append({"N": n, "block": block, "mean": float(f"{mean:.5g}"), "smallest": float(f"{smallest:.2g}"), "largest": float(f"{largest:.2g}")})
    return rows


def tile_sums(lengths: Sequence[int] = (16, 32, 64, 128)) -> list[Row]:
    """The broken kernel of exercise ch11c, which sums each row by itself but adds up its tiles of 16 keys: one output, V = 1 everywhere."""
    rows = []
    for keys in lengths:
        O = np.empty((1, 8), np.float32)  # noqa: E741
        arguments = (normal(1, 8), normal(keys, 8, seed=1), np.ones((keys, 8), np.float32), O, np.int32(1), np.int32(keys), np.float32(8**-0.5), np.uintp(0))
        run("ch11c_tile_softmax", 1, 32, arguments)
        rows.append({"keys": keys, "tiles": ceil_div(keys, 16), "output": round(float(O[0, 0]), 4)})
    return rows


def listing_b() -> list[Row]:
    """The broken kernel of exercise ch12e, 32 queries and keys, d = 16: what it loads of what it needs, and what the simulator finds."""
    Q, K, V = (normal(32, 16, seed=seed) for seed in range(3))
    arguments = (Q, K, V, np.empty((32, 16), np.float32), np.int32(32), np.int32(32), np.float32(0.25), np.uintp(0))
    report = simt.compile(source("ch12e_partial_load")).kernel("partial_load").launch(1, 32, arguments)
    found = {kind: sum(finding.count for finding in report.findings if finding.kind == kind) for kind in ("uninitialised-read", "race")}
    loaded = 8 * (report.counters.global_load_sectors or 0)
    return [{"loaded": loaded, "needed": Q.size + K.size + V.size, "uninitialised_reads": found["uninitialised-read"], "races": found["race"]}]


def backward(sizes: Sequence[int] = (64, 128, 256)) -> list[Row]:
    """Attention's backward pass, one head, d = 64: five launches with a stored P (ch15) against delta and one pass that makes P again (ch16).

    `held` are the bytes of P, dP and dS, or of LSE and delta: what there is beside Q, K, V, O, dO and the gradients.
    """
    rows = []
    for n in sizes:
        P, dP, dS = (np.ones((1, n, n), np.float32) for _ in range(3))
        q, k, v, o, g, dq, dk, dv = (np.ones((1, n, 64), np.float32) for _ in range(8))
        lse, delta, size, one, scale = np.ones((1, n), np.float32), np.ones((1, n), np.float32), np.int32(n), np.float32(1), np.float32(0.125)
        tall, wide = ((n // 4, 1), (64, 4)), ((n // 32, n // 8, 1), (32, 8))
        stored = [
            run("ch15_key_gradient", *tall, (P, g, dv, size, size, one)),
            run("ch09_scores", *wide, (g, v, dP, size, size, one)),
            run("ch15_softmax_backward", n // 4, 128, (P, dP, dS, size, size)),
            run("ch09_values", *tall, (dS, k, dq, size, size)),
            run("ch15_key_gradient", *tall, (dS, q, dk, size, size, scale)),
        ]
        heads, null = np.int32(1), np.uintp(0)
        again = [
            run("ch16_delta", n // 4, 128, (o, g, delta, size)),
            run("ch16_flash_backward", (n // 32, 1, 1), 128, (q, k, v, g, lse, delta, dq, dk, dv, size, size, heads, heads, scale, np.int32(0), null, null)),
        ]
        rows.append({
            "N": n, "flops_stored": sum(c.flops for c in stored), "flops_again": sum(c.flops for c in again),
            "compulsory_stored": sum(map(compulsory, stored)), "compulsory_again": sum(map(compulsory, again)),
            "held_stored": 3 * 4 * n * n, "held_again": 2 * 4 * n,
        })  # fmt: skip
    return rows


def far_below(gaps: Sequence[int] = (0, 10, 20, 80, 90, 110)) -> list[Row]:
    """A row of 64 equal scores that lies `gap` below its tile's maximum: the error of a weight, without and with the 1e-6, as a part of the right one."""
    rows = []
    for gap in gaps:
        e = np.exp(np.full(64, -gap, np.float32))
        total = e.sum(dtype=np.float32)
        with np.errstate(invalid="ignore"):
            plain, padded = (float(e[0] / (total + np.float32(extra))) * 64 - 1 for extra in (0.0, EPSILON))
        rows.append({"gap": gap, "error_of_a_weight": told(plain), "with_1e-6": told(padded)})
    return rows


def sixteen_bits(sizes: Sequence[int] = (1, 10), keys: int = 512, queries: int = 16) -> list[Row]:
    """Attention in float32 but for one part of it in 16 bits: log2 of the output's relative error, for scores of size 1 and larger ones."""
    rows, d = [], 32
    K, V = normal(2, keys, d, seed=1)
    for size in sizes:
        Q, O = np.float32(size) * normal(queries, d, seed=2), np.empty((queries, d), np.float32)  # noqa: E741
        S = d**-0.5 * Q.astype(np.float64) @ K.T
        P = np.exp(S - S.max(axis=1, keepdims=True))
        right = P @ V / P.sum(axis=1, keepdims=True)
        for part, name in enumerate(("Q, K, V", "scores", "weights", "l, acc"), 1):
            row: Row = {"sixteen_bits": name, "scores_up_to": round(float(abs(S).max()))}
            for bf16, format in enumerate(("fp16", "bf16")):
                run("ch18_attention_parts", queries, 32, (Q, K, V, O, np.int32(keys), np.float32(d**-0.5), np.int32(part), np.int32(bf16)))
                row[f"log2_error_{format}"] = round(float(np.log2(np.linalg.norm(O - right) / np.linalg.norm(right))), 1)
            rows.append(row)
    return rows


def stages(tiles: int = 5) -> list[Row]:
    """One query's P V, tiles of 16 rows: how many tiles are on their way while another one is used, and barriers; in program order, the simulator's clock."""
    rows = []
    w, V, n = normal(1, 16 * tiles, seed=1), normal(1, 16 * tiles, 64, seed=2), np.int32(16 * tiles)
    for key, places in (("ch21_rows_waiting", 1), ("ch21_rows_stages", 2), ("ch21_rows_stages", 3)):
        events, out = np.zeros((tiles, 3), np.int64), np.empty((1, 64), np.float32)
        counters = run(key, 1, 64, (w, V, out, n, events), text=sized(key, stages=places) if places > 1 else "")
        rows.append(
            {"kernel": key, "places": places, "tiles": tiles, "on_the_way_while_another_is_used": hidden(events.tolist()), "barriers": counters.barriers}
        )
    return rows


def streamed_keys(lengths: Sequence[int] = (1000, 2000, 4000), size: int = 128, d: int = 32) -> list[Row]:
    """Attention of 16 queries over keys on the host, in chunks (ch13_flash_masked, joined): bytes on the host and of the buffers, and whether it is right."""
    kernel, scale, rows = simt.compile(source("ch13_flash_masked")).kernel("flash_masked"), np.float32(d**-0.5), []
    Q = normal(16, d, seed=1)
    for n in lengths:
        K, V = normal(2, n, d, seed=2)
        held: set[tuple[int, int]] = set()

        def part(k: Any, v: Any, count: int, held: set[tuple[int, int]] = held) -> Any:
            held |= {(x.data.ptr, x.nbytes) for x in (k, v)}
            O, LSE = np.empty((16, d), np.float32), np.empty(16, np.float32)  # noqa: E741
            sizes = (np.int32(16), np.int32(count), scale, np.int32(0), np.uintp(0))
            kernel.launch(1, 64, (Q, cp.asnumpy(k), cp.asnumpy(v), O, LSE, *sizes)).raise_if_faulty()
            return cp.asarray(O), cp.asarray(LSE)

        O = cp.asnumpy(streaming.attend(part, K, V, size)[0])  # noqa: E741
        E = np.exp(Q.astype(np.float64) @ K.T * scale)
        right = bool(np.abs(O - E @ V / E.sum(axis=1, keepdims=True)).max() < 1e-5)
        rows.append({"keys": n, "chunk": size, "host_bytes": K.nbytes + V.nbytes, "buffer_bytes": sum(size for _, size in held), "right": right})
    return rows


def tile_costs(sizes: Sequence[int] = (64, 128)) -> list[Row]:
    """What the tiles of flash2 take on an H200: registers and bytes spilled a thread (ptxas), shared memory a block, and how many blocks fit an SM."""
    rows = []
    for d in sizes:
        for tile in cost_model.candidates(d):
            used = cost_model.used(tile)
            resident = occupancy(used.registers, tile.shared_bytes, tile.threads, "H200")
            rows.append({
                "d": d, "Br": tile.Br, "Bc": tile.Bc, "warps": tile.warps, "registers": used.registers, "spilled_bytes": used.spill_stores + used.spill_loads,
                "shared_bytes": tile.shared_bytes, "blocks_an_SM": resident.blocks, "limited_by": resident.limited_by,
            })  # fmt: skip
    return rows


def told(error: float) -> str:
    """An error as text: NaN isn't JSON."""
    return "NaN" if error != error else f"{abs(error):.1e}" if error else "0"


TABLES: dict[str, Callable[[], list[Row]]] = {
    function.__name__: function
    for function in (
        listing_a_ones, far_below, branches, sums, atomic_orders, occupied, naive_steps, ways, tiles, keys_outer, unstored_scores, softmax_slots,
        tile_sums, listing_b, backward, sixteen_bits, stages, streamed_keys, tile_costs,
    )
}  # fmt: skip
IN_NUMPY = ("listing_a_ones", "far_below")  # of the article's pseudocode, no kernel
