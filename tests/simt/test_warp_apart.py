"""Lanes of a warp that meet at different instructions: the operation, its qualifiers and the mask must agree, and it must be meant."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pairs import i32, launch, messages

SCHEDULES = range(4)
LANE = np.arange(32)


def ran(body: str, *, block: int = 32, grid: int = 1, schedule: int = 0, check: bool = True):
    """(report, y) of a kernel whose thread t of the grid has x = 3 t + 1, lane l, warp w, and stores v."""
    source = f"""
extern "C" __global__ void k(const int* a, int* y) {{
  const int t = blockIdx.x * blockDim.x + threadIdx.x, l = threadIdx.x % 32, w = threadIdx.x / 32;
  __shared__ volatile int flag;
  int x = a[t], v = 0;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
{body}
  y[t] = v;
}}
"""
    n = block * grid
    y = np.full(n, -1, i32)
    return launch(source, [3 * np.arange(n, dtype=i32) + 1, y], grid, block, schedule=schedule, check=check), y


def quiet(body: str, **how) -> np.ndarray:
    report, y = ran(body, **how)
    assert report.ok, messages(report.findings)
    return y


def x_of(lane: np.ndarray, warps: int) -> np.ndarray:
    """x in the given lane of each warp, for all threads."""
    return (3 * (32 * np.arange(warps)[:, None] + lane) + 1).ravel()


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("block, grid", [(32, 1), (128, 3)])
def test_a_shuffle_in_both_branches_of_an_if(block, grid, schedule):
    body = """
  if (l < 12) v = __shfl_xor_sync(0xffffffff, x, 16) + 1000;
  else        v = __shfl_xor_sync(0xffffffff, x, 16) + 2000;
"""
    y = quiet(body, block=block, grid=grid, schedule=schedule)
    warps = block * grid // 32
    assert (y == x_of(LANE ^ 16, warps) + np.tile(np.where(LANE < 12, 1000, 2000), warps)).all()


def test_each_lane_brings_its_own_operands():
    """A distance is no qualifier; one side has constants, the other registers, one a float."""
    body = """
  if (l % 2) v = __float_as_int(__shfl_down_sync(0xffffffff, __int_as_float(x), 1));
  else       v = __shfl_down_sync(0xffffffff, x, l == 30 ? 0 : 2);
"""
    assert (quiet(body) == x_of(np.where(LANE % 2, np.minimum(LANE + 1, LANE + (LANE < 31)), np.where(LANE == 30, 30, LANE + 2)), 1)).all()


def test_a_function_that_both_branches_call():
    source = """
__device__ __noinline__ int other(int x, int d) { return __shfl_xor_sync(0xffffffff, x, d) + d; }
extern "C" __global__ void k(int* y) {
  int l = threadIdx.x;
  if (l < 12) y[l] = 100 + other(l, 16);
  else        y[l] = 200 + other(l, 16);
}
"""
    y = np.zeros(32, i32)
    report = launch(source, [y])
    assert report.ok, messages(report.findings)
    assert (y == np.where(LANE < 12, 100, 200) + (LANE ^ 16) + 16).all()


def test_three_places_and_a_partial_mask():
    body = """
  if (l < 4) v = __shfl_sync(0x0fffffff, x, 27);
  else if (l < 20) v = __shfl_sync(0x0fffffff, x, 2);
  else if (l < 28) v = __shfl_sync(0x0fffffff, x, 11);
"""
    assert (quiet(body) == np.where(LANE < 28, x_of(np.select([LANE < 4, LANE < 20], [27, 2], 11), 1), 0)).all()


@pytest.mark.parametrize(
    "operation, expected",
    [
        ("(int)__ballot_sync(-1, x % 4 == {0})", lambda x, side: ((x % 4 == side) << LANE).sum()),
        ("__any_sync(-1, x == {0} * 64)", lambda x, side: int((x == 64 * side).any())),
        ("__all_sync(-1, x > {0} - 1)", lambda x, side: int((x > side - 1).all())),
        ("(int)__match_any_sync(-1, x / 9 + 0 * {0})", lambda x, side: np.array([((x // 9 == v // 9) << LANE).sum() for v in x])),
        ("__reduce_add_sync(-1, x * {0})", lambda x, side: (x * side).sum()),
        ("__reduce_max_sync(-1, x - 200 * {0})", lambda x, side: (x - 200 * side).max()),
    ],
)
def test_votes_matches_and_reductions_on_one_line(operation, expected):
    """As when a compiler copies one into two branches; on two lines each branch would be asking for its own lanes."""
    body = f"  if (l < 9) v = {operation.format(1)}; else v = {operation.format(2)};\n"
    x = 3 * LANE + 1
    assert (quiet(body) == np.asarray(expected(x, np.where(LANE < 9, 1, 2))).astype(np.uint32).astype(i32)).all()
    first = ran(body.replace("; else", ";\n  else"))[0].errors[0]
    assert first.kind == "warp-mask" and re.search(r"lanes 9\.\.31 of the warp do not come along: they wait at __\w+ on line 8", first.message)


def test_match_all_gives_both_results():
    body = "  int p, q; if (l < 9) v = __match_all_sync(-1, x > 0, &p) + 2 * p; else v = __match_all_sync(-1, 1, &p) + 4 * p + __match_all_sync(-512, x, &q);"
    assert quiet(body).tolist() == [1] * 9 + [3] * 23


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_syncwarp_in_both_branches_orders_memory(schedule):
    body = """
  __shared__ int s[64];
  s[threadIdx.x] = x;
  if (l < 16) { SYNC v = s[threadIdx.x ^ 31]; }
  else        { SYNC v = s[threadIdx.x ^ 16]; }
"""
    y = quiet(body.replace("SYNC", "__syncwarp();"), block=64, schedule=schedule)
    assert (y == x_of(np.where(LANE < 16, LANE ^ 31, LANE ^ 16), 2)).all()
    assert "race" in {f.kind for f in ran(body.replace("SYNC", ""), block=64, schedule=schedule)[0].errors}


def test_syncwarp_of_half_a_warp_orders_its_members_alone():
    body = """
  __shared__ int s[32];
  s[l] = x;
  if (l < 8) { __syncwarp(0xffff); v = s[l ^ 8]; }
  else if (l < 16) { __syncwarp(0xffff); v = s[l ^ FAR]; }
"""
    assert (quiet(body.replace("FAR", "8")) == np.where(LANE < 16, x_of(LANE ^ 8, 1), 0)).all()
    assert {f.kind for f in ran(body.replace("FAR", "24"))[0].errors} == {"race"}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_lanes_go_on_though_another_warp_of_their_group_must_wait_for_them(schedule):
    """Half of warp 1 spins until warp 0, which meets apart, sets the flag; the other half waits where warp 0's lower half waits."""
    body = """
  if (l < 16) v = __shfl_xor_sync(0xffffffff, x, 16);
  else {
    if (w == 1) while (flag == 0) { }
    v = __shfl_xor_sync(0xffffffff, x, 16);
  }
  if (threadIdx.x == 31) { __threadfence_block(); flag = 1; }
"""
    y = quiet(body, block=64, schedule=schedule, check=False)
    assert (y == x_of(LANE ^ 16, 2)).all()


def test_lanes_that_have_left_are_not_awaited():
    body = """
  if (l >= 24) return;
  if (l < 12) v = __shfl_sync(0xffffffff, x, 23);
  else        v = __shfl_sync(0xffffffff, x, 1);
"""
    assert quiet(body).tolist() == [70] * 12 + [4] * 12 + [-1] * 8


@pytest.mark.parametrize("lane, used", [(28, True), (28, False), (3, True)])
def test_a_value_from_a_lane_that_has_left(lane, used):
    body = f"""
  if (l >= 24) return;
  if (l < 12) v = __shfl_sync(0xffffffff, x, {lane});
  else        v = __shfl_sync(0xffffffff, x, 1);
  {"" if used else "if (l < 12) v = 10;"}
"""
    report, y = ran(body)
    if lane < 24 or not used:
        assert report.ok and y.tolist() == [10] * 12 + [4] * 12 + [-1] * 8
        return
    assert [f.kind for f in report.errors] == ["warp-mask"]
    assert "takes a value from lane 28 by __shfl_sync on line 9, but that lane takes no part in it" in report.errors[0].message


def test_such_a_value_is_followed_through_a_second_meeting():
    """Lane 3 has the value of a lane that left; who takes lane 3's, apart, uses it too."""
    body = """
  if (l >= 24) return;
  x = __shfl_sync(0x00ffffff, x, l == 3 ? 28 : l);
  if (l < 12) v = __shfl_sync(0x00ffffff, x, FIRST);
  else        v = __shfl_sync(0x00ffffff, x, 1);
"""
    assert [f.kind for f in ran(body.replace("FIRST", "3"))[0].errors] == ["warp-mask"]
    assert quiet(body.replace("FIRST", "2"))[:12].tolist() == [7] * 12


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "other",
    [
        "__shfl_down_sync(0xffffffff, x, 16)",
        "__shfl_xor_sync(0xfffffff0, x, 16)",
        "__ballot_sync(0xffffffff, x)",
    ],
)
def test_another_operation_or_another_mask_is_no_meeting(other, schedule):
    report, _ = ran(f"  if (l < 12) v = __shfl_xor_sync(0xffffffff, x, 16);\n  else v = {other};\n", schedule=schedule)
    first = report.errors[0]
    assert (first.kind, first.line) == ("warp-mask", 7) and "lanes 12..31 of the warp do not come along: they wait at __" in first.message
    assert "_sync on line 8. Call it outside the branch" in first.message


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_who_was_left_out_is_found_though_another_shuffle_comes(schedule):
    """Lanes 16 to 31 wait at the next shuffle of the same kind: they have passed the first by, and the others will come to the next too."""
    body = """
  v = x;
  if (l < 16) v += __shfl_down_sync(0xffffffff, v, 8);
  v += __shfl_down_sync(0xffffffff, v, 4);
"""
    report, _ = ran(body, schedule=schedule)
    first = report.errors[0]
    assert (first.kind, first.line) == ("warp-mask", 9)
    assert "lanes 16..31 of the warp do not come along: they wait at __shfl_down_sync on line 10." in first.message


def test_rounds_of_an_unrolled_loop_are_not_one_place():
    body = """
  for (int i = 0; i < 3; ++i) {
    if (l == 5 && i == 1) continue;
    v += __shfl_xor_sync(0xffffffff, x, 1);
  }
  v += __any_sync(0xffffffff, v);
"""
    report, _ = ran(body)
    assert report.errors[0].kind == "warp-mask" and "lane 5 of the warp does not come along. Call" in report.errors[0].message


def test_an_aligned_instruction_stays_one_instruction():
    """mma.sync.aligned: all lanes of the warp execute the same one."""
    product = 'asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+r"(v), "+r"(c) : "r"(x), "r"(x));'
    report, _ = ran(f"  int c = 0;\n  if (l < 16) {{ {product} }}\n  else {{ {product} v += 1; }}\n")
    assert report.errors[0].kind == "warp-mask"


@pytest.mark.parametrize("seed", range(8))
def test_each_warp_parts_in_its_own_way(seed):
    """Which branch a lane takes, and the mask of its warp, come from memory; warps, and blocks of one batch, are complete at different times."""
    rng = np.random.default_rng(seed)
    warps, leaves = 12, 4
    branch = rng.integers(0, leaves, (warps, 32)) if seed % 2 else rng.integers(0, leaves, (warps, 1)) + np.where(rng.random((warps, 32)) < 0.1, 1, 0)
    mask = rng.integers(0, 1 << 32, (warps, 1), dtype=np.uint64) | 1
    mask[rng.random((warps, 1)) < 0.3] = 0xFFFFFFFF
    body = "  " + "\n  else ".join(f"if (b == {k}) v = {k}000 + __shfl_sync(m, x, from[t]);" for k in range(leaves + 1))
    source = f"""
extern "C" __global__ void k(const unsigned* masks, const int* branch, const int* from, int* y) {{
  int t = blockIdx.x * blockDim.x + threadIdx.x, l = t % 32, x = 3 * t + 1, v = -1, b = branch[t];
  unsigned m = masks[t / 32];
  if (!(m >> l & 1)) b = -1;
  for (int i = 0; i < b % 3; ++i) atomicAdd(y + t, 0);
{body}
  y[t] = v;
}}
"""
    named = (mask >> np.arange(32, dtype=np.uint64) & np.uint64(1)).astype(bool)
    wanted = np.array([rng.choice(np.flatnonzero(lanes), 32) for lanes in named])  # only from lanes that take part
    expected = np.where(named, branch * 1000 + 3 * (32 * np.arange(warps)[:, None] + wanted) + 1, -1)
    for schedule in range(2):
        y = np.zeros(32 * warps, i32)
        args = [mask.astype(np.uint32).ravel(), branch.astype(i32).ravel(), wanted.astype(i32).ravel(), y]
        report = launch(source, args, 4, 96, schedule=schedule)
        assert report.ok, messages(report.findings)
        assert (y.reshape(warps, 32) == expected).all()


HALVES = "  unsigned m = l < 16 ? 0x0000ffff : 0xffff0000;\n"
RING = """
  __shared__ unsigned long long full, empty;
  __shared__ int item;
  if (threadIdx.x == 0) { INIT(full, 1); INIT(empty, 32); }
  __syncthreads();
  if (threadIdx.x == 32 LANE)
    for (int i = 0; i < 4; ++i) { WAIT(empty, i & 1 ^ 1); item = 5 * i; ARRIVE(full); }
  MEET
  if (w == 0)
    for (int i = 0; i < 4; ++i) { WAIT(full, i & 1); v += item; ARRIVE(empty); }
"""
MBARRIER = {
    "INIT(full, 1)": 'asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"((unsigned)__cvta_generic_to_shared(&full)) : "memory")',
    "INIT(empty, 32)": 'asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"((unsigned)__cvta_generic_to_shared(&empty)) : "memory")',
}
for _name in ("full", "empty"):
    MBARRIER[f"ARRIVE({_name})"] = f'asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"((unsigned)__cvta_generic_to_shared(&{_name})) : "memory")'
    MBARRIER[f"WAIT({_name}, "] = f"wait_for(&{_name}, "
WAIT_FOR = """
  auto wait_for = [](void* bar, int parity) {
    int done = 0;
    while (!done)
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.s32 %0, 1, 0, p;}"
                   : "=r"(done) : "r"((unsigned)__cvta_generic_to_shared(bar)), "r"(parity) : "memory");
  };
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("lane", ["", "+ blockIdx.x"])
@pytest.mark.parametrize("meet", ["__syncwarp();", "v = 1000 * __shfl_xor_sync(-1, x, 1);"])
def test_warps_go_on_though_a_lane_of_another_waits_for_them(meet, lane, schedule):
    """One lane produces, the others of its warp wait for it where all warps meet; the consumers come out of the same instruction."""
    body = WAIT_FOR + RING.replace("LANE", lane).replace("MEET", meet)
    for name, text in MBARRIER.items():
        body = body.replace(name, text)
    y = quiet(body, block=64, grid=3, schedule=schedule)
    met = 1000 * x_of(LANE ^ 1, 6) if "shfl" in meet else 0
    assert (y == met + np.tile(np.repeat([30, 0], 32), 3)).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_masks_of_two_halves_at_one_instruction(schedule):
    """The lower half goes on though lane 30, which waits for it, still misses in the upper one."""
    body = HALVES + "  if (w == 0 && l == 30) while (flag == 0) { }\n  v = __shfl_xor_sync(m, x, 1);\n  if (threadIdx.x == 0) flag = 1;\n"
    assert (quiet(body, block=64, schedule=schedule, check=False) == x_of(LANE ^ 1, 2)).all()


@pytest.mark.parametrize("operation", ["__shfl_xor_sync(m, x, 1)", "__reduce_add_sync(m, x)", "__ballot_sync(m, x > 0)", "__match_any_sync(m, 1)"])
@pytest.mark.parametrize("come, thread, missing", [("l < 16 || l >= 20", 20, "lanes 16..19"), ("l >= 4", 4, "lanes 0..3"), ("l != 30", 16, "lane 30")])
def test_each_mask_at_an_instruction_is_looked_at(operation, come, thread, missing):
    found = ran(HALVES + f"  if ({come})\n    v = {operation};\n", block=64, grid=2)[0].errors[0]
    assert found.kind == "warp-mask" and found.thread == (thread, 0, 0) and found.line == 9, found.message
    assert f"with mask {'0x0000ffff' if thread < 16 else '0xffff0000'} on line 9, but {missing} of the warp" in found.message


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "mask, other, ordered",
    [("m", 1, True), ("m", 16, False), ("m", 32, False), ("0xffu << (l & 24)", 7, True), ("0xffu << (l & 24)", 8, False), ("0xffff * 65537u", 16, True)],
)
def test_who_has_another_mask_has_not_met(mask, other, ordered, schedule):
    """One __syncwarp for all, of each lane's own mask: neither the other half nor another warp is in order with it."""
    body = HALVES + f"  __shared__ int s[64];\n  s[threadIdx.x] = x;\n  __syncwarp({mask});\n  v = s[threadIdx.x ^ {other}];\n"
    report, y = ran(body, block=64, grid=3, schedule=schedule)
    if ordered:
        assert report.ok and (y == x_of(LANE ^ other, 6)).all(), messages(report.findings)
    else:
        assert {f.kind for f in report.errors} == {"race"} and 11 in {f.line for f in report.errors}, messages(report.findings)


UNLIKE = "l < 16 ? 0xffffffff : 0xffff0000"
OPERATIONS = [
    ("__shfl_xor_sync(M, x, 1)", "__shfl_xor_sync"),
    ("__ballot_sync(M, x & 1)", "__ballot_sync"),
    ("__any_sync(M, x > 40)", "__any_sync"),
    ("__match_any_sync(M, x % 3)", "__match_any_sync"),
    ("__reduce_max_sync(M, x)", "__reduce_max_sync"),
    ("(__syncwarp(M), x)", "__syncwarp"),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("block, grid", [(32, 1), (96, 3)])
@pytest.mark.parametrize("operation, name", OPERATIONS)
def test_lanes_that_name_each_other_pass_one_mask(operation, name, block, grid, schedule):
    """The lower half waits for the upper one, which only waits for itself: they don't meet, though all stand at one instruction."""
    report, _ = ran(f"  v = {operation.replace('M', UNLIKE)};\n", block=block, grid=grid, schedule=schedule)
    first = report.errors[0]
    assert (first.kind, first.line, first.thread[0] % 32) == ("warp-mask", 7, 0)
    assert first.message == (
        f"warp mask: thread ({first.thread[0]},0,0) of block ({first.block[0]},0,0) calls {name} with mask 0xffffffff on line 7, but lanes 16..31 of the warp "
        "do not come along with that mask: they pass 0xffff0000. Lanes that name each other pass the same mask: give every lane the mask of the whole group "
        "that it is in."
    )
    assert first.message in " ".join(str(report).split()) and max(map(len, str(report).splitlines())) <= 80
    quiet(f"  v = {operation.replace('M', 'l < 16 ? 0x0000ffff : 0xffff0000')};\n", block=block, grid=grid, schedule=schedule)


def test_a_lane_that_passes_a_mask_of_its_own():
    found = ran("  v = x; __syncwarp(l == 7 ? 0x80 : -1);\n", block=64)[0].errors
    assert [f.kind for f in found] == ["warp-mask"] and "but lane 7 of the warp does not come along with that mask: it passes 0x00000080." in found[0].message


def test_masks_that_overlap_both_ways():
    """Nobody can go on: each half names lanes that pass the other mask."""
    found = ran("  v = __shfl_xor_sync(l < 16 ? 0x0001ffff : 0xffff8000, x, 1);\n")[0].errors[0]
    assert found.kind == "warp-mask" and "lane 16 of the warp does not come along with that mask: it passes 0xffff8000." in found.message


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_same_instruction_in_another_turn_brings_the_other_mask(schedule):
    """Lanes 16 to 31 are a turn ahead: first among themselves, then with all; the others wait for them at the same instruction meanwhile."""
    body = """
  #pragma unroll 1
  for (int i = l < 16 ? 1 : 0; i < a[0] + 2; ++i) {
    unsigned m = i == 0 ? 0xffff0000u : 0xffffffffu;
    v = 10 * v + __shfl_xor_sync(m, x + i, 1);
  }
"""
    near = x_of(LANE ^ 1, 2)
    y = quiet(body.replace("a[0]", "(a[0] > 0)"), block=64, schedule=schedule)
    first = near  # of i = 0: lanes 16 to 31 alone
    expected = np.where(np.tile(LANE, 2) < 16, 0, first)
    for i in (1, 2):
        expected = 10 * expected + near + i
    assert (y == expected).all()


def test_tiles_of_a_warp_by_value_are_quiet():
    """The masks of __match_any_sync are a partition: equal in all lanes that they name, and new at each turn of the loop."""
    body = """
  for (int i = 2; i < 6; ++i) {
    unsigned m = __match_any_sync(-1, x % i);
    v += __shfl_sync(m, x, __ffs(m) - 1) + __popc(__ballot_sync(m, 1)) + __reduce_add_sync(m, 1);
  }
"""
    y = quiet(body, block=64, grid=5).reshape(-1, 32)
    x = (3 * np.arange(320) + 1).reshape(-1, 32)
    expected = np.zeros_like(x)
    for i in range(2, 6):
        alike = (x % i)[:, :, None] == (x % i)[:, None, :]
        expected += np.take_along_axis(x, alike.argmax(axis=2), axis=1) + 2 * alike.sum(axis=2)
    assert (y == expected).all()


def test_a_guarded_shuffle_is_one_of_the_lanes_with_the_predicate():
    """@p in assembly: the others jump over it, and are not awaited."""
    shuffle = """asm volatile("{.reg .pred p; setp.lt.s32 p, %1, 16; @p shfl.sync.bfly.b32 %0, %2, 1, 31, MASK;}" : "+r"(v) : "r"(l), "r"(x));"""
    y = quiet(f"  v = 5;\n  {shuffle.replace('MASK', '0xffff')}\n", block=64)
    assert (y == np.where(np.arange(64) % 32 < 16, x_of(LANE ^ 1, 2), 5)).all()
    found = ran(f"  v = 5;\n  {shuffle.replace('MASK', '-1')}\n")[0].errors[0]
    assert found.kind == "warp-mask" and "lanes 16..31 of the warp do not come along" in found.message


SKEWED = """
  v = x;
  if (l < 16) v = 100 + __shfl_xor_sync(-1, v, 16);
  v = 1000 + __shfl_xor_sync(-1, v, 16);
  if (l >= 16) v = 5000 + __shfl_xor_sync(-1, v, 16);
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("block, grid", [(32, 1), (96, 3)])
def test_lanes_that_stay_one_shuffle_ahead_meet_in_order(block, grid, schedule):
    """Each half shuffles twice: the first of one meets the second line of the other, as the ISA says and an H200 does."""
    y = quiet(SKEWED, block=block, grid=grid, schedule=schedule)
    x, far = (x_of(lanes, block * grid // 32) for lanes in (LANE, LANE ^ 16))
    lower = 1000 + (1000 + x)  # of who met this lane's own x on line 9, and sends that to line 10
    assert (y == np.where(np.tile(LANE, block * grid // 32) < 16, lower, 5000 + 100 + x)).all() and (far != x).all()


def test_lanes_that_stay_ahead_in_a_loop():
    body = """
  v = l;
  if (l < 16) v += 100 * __shfl_xor_sync(-1, v, 16);
  #pragma unroll 1
  for (int i = 0; i < a[0] + 2; ++i) v += __shfl_xor_sync(-1, v, 16);
  if (l >= 16) v += 1000 * __shfl_xor_sync(-1, v, 16);
"""
    v = np.arange(32, dtype=np.int64)
    low, high = v[:16], v[16:]
    low, high = low + 100 * high, high + low  # the lower half's first, the upper half's first turn
    for _ in range(2):
        low, high = low + high, high + low
    low, high = low + high, high + 1000 * low
    assert (quiet(body) == np.concatenate([low, high])).all()


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_syncwarps_that_stay_ahead_order_memory(schedule):
    body = """
  __shared__ int s[64];
  s[threadIdx.x] = x;
  if (l < 16) { __syncwarp(); v = s[threadIdx.x ^ 16]; }
  __syncwarp();
  if (l >= 16) { v = s[threadIdx.x ^ 16]; __syncwarp(); }
"""
    assert (quiet(body, block=64, schedule=schedule) == x_of(LANE ^ 16, 2)).all()
    early = body.replace("v = s[threadIdx.x ^ 16]; }\n  __syncwarp();", "v = s[threadIdx.x ^ 16]; s[threadIdx.x] = 0; }\n  __syncwarp();")
    assert "race" in {f.kind for f in ran(early, block=64, schedule=schedule)[0].errors}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("last", ["", "  __syncthreads();\n", "  v += __any_sync(-1, v);\n", "  v += __shfl_up_sync(-1, v, 1);\n"])
def test_one_shuffle_too_many_is_told_where_it_met_another(last, schedule):
    """The lower half has three, the upper two: whatever comes behind, the first meeting of unlike lines is the cause."""
    body = "  v = x;\n  if (l < 16) v += __shfl_xor_sync(-1, v, 8);\n  v += __shfl_xor_sync(-1, v, 4);\n  v += __shfl_xor_sync(-1, v, 2);\n" + last
    report, _ = ran(body, block=64, schedule=schedule)
    first = report.errors[0]
    assert (first.kind, first.line) == ("warp-mask", 8)
    assert first.message == (
        f"warp mask: thread ({first.thread[0]},0,0) of block (0,0,0) calls __shfl_xor_sync with mask 0xffffffff on line 8, but lanes 16..31 of the warp do "
        "not come along: they wait at __shfl_xor_sync on line 9. Call it outside the branch, or pass the mask of the lanes that take part (from __ballot_sync "
        "before the branch)."
    )
    quiet(body.replace("if (l < 16) v += __shfl_xor_sync(-1", "if (l < 16) v += __shfl_xor_sync(0xffff"), block=64, schedule=schedule)
