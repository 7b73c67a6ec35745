"""Shuffles, votes, matches, masks and reductions within a warp."""

from __future__ import annotations

import numpy as np

from .case import Case

LANES = np.arange(32)


def values(seed, n=64):
    return np.random.default_rng(seed).integers(-1000, 1000, n).astype(np.int32)


def case(entry, body, expect, x=None, dtype=np.int32, results=64, block=64, preamble=""):
    """`body` turns element v of thread i (lane: its lane) into y[i]; `expect` does it for one warp of values."""
    ctype = {np.int32: "int", np.uint32: "unsigned", np.float32: "float", np.float64: "double", np.int64: "long long"}[dtype]
    source = f"""{preamble}
extern "C" __global__ void {entry}(const {ctype}* x, {ctype}* y) {{
    int i = threadIdx.x, lane = i & 31;
    {ctype} v = x[i];
    {body}
}}
"""
    data = x if x is not None else values(len(entry))
    return Case(
        name=f"warp.{entry}",
        source=source,
        entry=entry,
        args=lambda: [data.astype(dtype), np.zeros(results, dtype)],
        outputs=(1,),
        expect=lambda x, y: [np.concatenate([np.asarray(expect(part)) for part in x.reshape(-1, 32)]).astype(dtype)],
        block=block,
    )


def within(source, width):
    """Lane numbers of a shuffle whose source leaves its section stay their own."""
    first = LANES // width * width
    return np.where((source >= first) & (source < first + width), source, LANES)


def tree(v):
    """Sums as __shfl_down_sync adds them, one lane after another."""
    v = v.copy()
    for step in (16, 8, 4, 2, 1):
        v = v + v[within(LANES + step, 32)]
    return v


def inclusive(v):
    v = v.copy()
    for step in (1, 2, 4, 8, 16):
        v = np.where(step <= LANES, v + v[np.maximum(LANES - step, 0)], v)
    return v


def bits(flags) -> int:
    return sum(1 << k for k, flag in enumerate(flags) if flag)


def signed(mask):
    return (mask + 2**31) % 2**32 - 2**31


ALL = "0xffffffffu"
FLOATS = np.random.default_rng(100).standard_normal(64)
CASES: list[Case] = [
    case("shfl_index", f"y[i] = __shfl_sync({ALL}, v, (lane * 5 + 3) & 31);", lambda v: v[(LANES * 5 + 3) & 31]),
    case("shfl_broadcast", f"y[i] = __shfl_sync({ALL}, v, 7, 8);", lambda v: v[LANES // 8 * 8 + 7]),
    case("shfl_wraps", f"y[i] = __shfl_sync({ALL}, v, lane + 5, 16);", lambda v: v[LANES // 16 * 16 + (LANES + 5) % 16]),
    case("shfl_up", f"y[i] = __shfl_up_sync({ALL}, v, 3);", lambda v: v[within(LANES - 3, 32)]),
    case("shfl_up_width", f"y[i] = __shfl_up_sync({ALL}, v, 2, 8);", lambda v: v[within(LANES - 2, 8)]),
    case("shfl_down", f"y[i] = __shfl_down_sync({ALL}, v, 9);", lambda v: v[within(LANES + 9, 32)]),
    case("shfl_down_width", f"y[i] = __shfl_down_sync({ALL}, v, 1, 4);", lambda v: v[within(LANES + 1, 4)]),
    case("shfl_xor", f"y[i] = __shfl_xor_sync({ALL}, v, 13);", lambda v: v[LANES ^ 13]),
    case("shfl_xor_width", f"y[i] = __shfl_xor_sync({ALL}, v, 9, 8);", lambda v: v[np.where(LANES // 8 < (LANES ^ 9) // 8, LANES, LANES ^ 9)]),
    case(
        "shfl_double",
        f"y[i] = __shfl_xor_sync({ALL}, v, 1) + __shfl_down_sync({ALL}, v, 4);",
        lambda v: v[LANES ^ 1] + v[within(LANES + 4, 32)],
        FLOATS,
        np.float64,
    ),
    case("shfl_long", f"y[i] = __shfl_sync({ALL}, v << 33, 31 - lane);", lambda v: (v << 33)[::-1], dtype=np.int64),
    case("tree_sum", f"for (int step = 16; step; step >>= 1) v += __shfl_down_sync({ALL}, v, step);\n    y[i] = v;", tree, FLOATS, np.float32),
    case(
        "butterfly_max",
        f"for (int step = 16; step; step >>= 1) v = fmaxf(v, __shfl_xor_sync({ALL}, v, step));\n    y[i] = v;",
        lambda v: np.full(32, v.max()),
        FLOATS,
        np.float32,
    ),
    case(
        "scan",
        f"for (int step = 1; step < 32; step <<= 1) {{ int left = __shfl_up_sync({ALL}, v, step); if (lane >= step) v += left; }}\n    y[i] = v;",
        inclusive,
    ),
    case("ballot", f"y[i] = (int)__ballot_sync({ALL}, v > 0);", lambda v: np.full(32, signed(bits(v > 0)))),
    case("any", f"y[i] = __any_sync({ALL}, v > 990) + 2 * __any_sync({ALL}, v > 2000);", lambda v: np.full(32, int((v > 990).any()))),
    case("all", f"y[i] = __all_sync({ALL}, v > -2000) + 2 * __all_sync({ALL}, v > 0);", lambda v: np.full(32, 1)),
    case("uniform", f"y[i] = __uni_sync({ALL}, v > 0) + 2 * __uni_sync({ALL}, v > 2000);", lambda v: np.full(32, 2 + ((v > 0).all() or not (v > 0).any()))),
    case("match_any", f"y[i] = (int)__match_any_sync({ALL}, v & 3);", lambda v: [signed(bits((v & 3) == (a & 3))) for a in v]),
    case(
        "match_all",
        f"""int same, other;
    unsigned m = __match_all_sync({ALL}, v >> 20, &same);
    __match_all_sync({ALL}, lane, &other);
    y[i] = (int)(m & 0xff) + 256 * same + 512 * other;""",
        lambda v: np.full(32, 255 + 256),
        np.abs(values(5)),
    ),
    case("match_any_long", f"y[i] = (long long)__match_any_sync({ALL}, (v & 1) << 40);", lambda v: [bits((v & 1) == (a & 1)) for a in v], dtype=np.int64),
    case(
        "reduce_signed",
        f"y[i] = __reduce_add_sync({ALL}, v) + 10 * __reduce_min_sync({ALL}, v) + 100 * __reduce_max_sync({ALL}, v);",
        lambda v: np.full(32, v.sum() + 10 * v.min() + 100 * v.max()),
    ),
    case(
        "reduce_unsigned",
        f"y[i] = __reduce_and_sync({ALL}, v | 0xf0u) + __reduce_or_sync({ALL}, v) * 3u + __reduce_xor_sync({ALL}, v) * 7u + __reduce_max_sync({ALL}, v);",
        lambda v: np.full(
            32,
            (int(np.bitwise_and.reduce(v | np.uint32(0xF0))) + 3 * int(np.bitwise_or.reduce(v)) + 7 * int(np.bitwise_xor.reduce(v)) + int(v.max())) % 2**32,
        ),
        dtype=np.uint32,
        x=np.random.default_rng(7).integers(0, 2**32, 64, dtype=np.uint32),
    ),
    case(
        "divergent_mask",
        """if (lane % 3 == 0) {
        unsigned m = __activemask();
        v = __shfl_sync(0x49249249u, v, lane == 30 ? 0 : lane + 3) + (m == 0x49249249u);
    } else {
        v = __popc(__ballot_sync(0xb6db6db6u, v > 0));
    }
    y[i] = v;""",
        lambda v: np.where(LANES % 3 == 0, v[np.where(LANES >= 30, 0, np.minimum(LANES + 3, 31))] + 1, int(((v > 0) & (LANES % 3 != 0)).sum())),
    ),
    case(
        "half_warps",
        "unsigned m = lane < 16 ? 0x0000ffffu : 0xffff0000u;\n    if (lane < 16) v = __reduce_add_sync(m, v); else v = __reduce_max_sync(m, v);\n    y[i] = v;",
        lambda v: np.where(LANES < 16, v[:16].sum(), v[16:].max()),
    ),
    case(
        "lane_masks",
        """unsigned lt, le, eq, ge, gt, id;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(le));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(eq));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(ge));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(gt));
    asm("mov.u32 %0, %%laneid;" : "=r"(id));
    y[i] = __popc(lt) + 100 * __popc(le) + (int)(eq >> id) + 10000 * __popc(ge) + 1000000 * (__popc(gt) + (int)id);""",
        lambda v: LANES + 100 * (LANES + 1) + 1 + 10000 * (32 - LANES) + 1000000 * 31,
    ),
    case(
        "compact",
        f"""unsigned keep = __ballot_sync({ALL}, v > 0);
    int at = __popc(keep & ((1u << lane) - 1u));
    y[i] = 0;
    __syncwarp();
    if (v > 0) y[i - lane + at] = v;""",
        lambda v: np.concatenate([v[v > 0], np.zeros(32 - (v > 0).sum(), v.dtype)]),
    ),
    case(
        "partial_warp",
        """int next = __shfl_down_sync(0x000fffffu, v, 1);
    y[i] = (lane < 19 ? next : 0) + (int)__activemask();""",
        lambda v: np.where(LANES < 19, v[np.minimum(LANES + 1, 31)] + 0xFFFFF, np.where(LANES == 19, 0xFFFFF, 0)),
        results=32,
        x=np.concatenate([values(9, 20), np.zeros(12, np.int32)]),
        block=20,
    ),
    case(
        "masks_side_by_side",
        """unsigned m = lane < 16 ? 0x0000ffffu : 0xffff0000u;
    y[i] = __reduce_add_sync(m, v) + 10000 * __popc(__ballot_sync(m, v > 0)) + __shfl_xor_sync(m, v, 3) * 3;""",
        lambda v: np.repeat(v.reshape(2, 16).sum(1) + 10000 * (v.reshape(2, 16) > 0).sum(1), 16) + v[LANES ^ 3] * 3,
    ),
    case(
        "elected",
        """unsigned leader;
    int chosen;
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.s32 %1, 1, 0, p; }" : "=r"(leader), "=r"(chosen));
    y[i] = chosen * 100 + (leader == lane);""",
        lambda v: np.where(LANES == 0, 101, 0),
    ),
    case(
        "half2_shuffle",
        f"__half2 h = __floats2half2_rn(v, -v);\n    h = __shfl_xor_sync({ALL}, h, 2);\n    y[i] = __low2float(h) - 2.0f * __high2float(h);",
        lambda v: v.astype(np.float16)[LANES ^ 2].astype(np.float32) * np.float32(3),
        FLOATS,
        np.float32,
        preamble="#include <cuda_fp16.h>",
    ),
    case(
        "both_branches",
        f"if (lane < 12) y[i] = 100 + __shfl_xor_sync({ALL}, v, 16);\n    else y[i] = 200 + __shfl_xor_sync({ALL}, v, 16);",
        lambda v: v[LANES ^ 16] + np.where(LANES < 12, 100, 200),
    ),
    case(
        "one_shuffle_ahead",
        f"""if (lane < 16) v = 100 + __shfl_xor_sync({ALL}, v, 16);
    v = 1000 + __shfl_xor_sync({ALL}, v, 16);
    if (lane >= 16) v = 5000 + __shfl_xor_sync({ALL}, v, 16);
    y[i] = v;""",
        lambda v: np.where(LANES < 16, 2000 + v, 5100 + v),
    ),
    case(
        "a_turn_ahead",
        """#pragma unroll 1
    for (int k = lane < 16 ? 1 : 0; k < 2 + (x[0] > 5000); ++k) v += __shfl_xor_sync(k == 0 ? 0xffff0000u : 0xffffffffu, v, 1);
    y[i] = v;""",
        lambda v: np.where(LANES < 16, v + v[LANES ^ 1], 2 * (v + v[LANES ^ 1])),
    ),
    case(
        "guarded",
        """int kept = 5;
    asm volatile("{ .reg .pred p; setp.lt.s32 p, %1, 16; @p shfl.sync.bfly.b32 %0, %2, 1, 31, 0xffff; }" : "+r"(kept) : "r"(lane), "r"(v));
    y[i] = kept;""",
        lambda v: np.where(LANES < 16, v[LANES ^ 1], 5),
    ),
]
