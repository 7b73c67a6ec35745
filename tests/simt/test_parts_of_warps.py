"""What a barrier counts: whole warps. Parts of them at barriers for whole warps, ended lanes, guards; arrivals that nobody waits for."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt


def told(body: str, block: int = 64, schedule: int = 0, grid: int = 1) -> tuple[simt.Report, np.ndarray]:
    """A kernel with lane l, warp w and thread t of the block, which sets v on its own lines from line 4 on."""
    text = f"""
extern "C" __global__ void told(int* y) {{
    int t = threadIdx.x, l = t % 32, w = t / 32, v = 0;
{body}
    y[blockIdx.x * blockDim.x + t] = v;
}}
"""
    y = np.full(grid * block, -1, np.int32)
    return simt.compile(text).kernel("told").launch(grid, block, [y], schedule=schedule), y


def asm(text: str) -> str:
    return f'asm volatile("{text};" ::: "memory");'


def words(report: simt.Report) -> str:
    """The first error, as it stands in 80 columns."""
    text = str(report)
    assert max(map(len, text.splitlines())) <= 80 and report.errors[0].message in " ".join(text.split())
    return report.errors[0].message


PARTS = [  # barrier, what its lanes do there, how the advice ends
    ("bar.sync 1, 32", "wait", "or take barrier.sync, which lanes may meet apart."),
    ("barrier.sync.aligned 1, 32", "wait", "or take barrier.sync, which lanes may meet apart."),
    ("bar.arrive 1, 64", "arrive", ""),
    ("barrier.cluster.arrive.aligned", "arrive", "or take barrier.cluster.arrive, which lanes may come to apart."),
]


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize("grid", [1, 3])
@pytest.mark.parametrize("barrier, verb, end", PARTS)
def test_a_part_of_a_warp_at_a_barrier_for_whole_warps(barrier, verb, end, grid, schedule):
    """Two halves of two warps are 32 threads, but no warp: the others skip the barrier and end."""
    name = barrier.split()[0]
    report, _ = told(f"    if (l < 16) {asm(barrier)}", schedule=schedule, grid=grid)
    found = report.errors[0]
    first = 32 if found.thread == (32, 0, 0) else 0
    assert words(report) == (
        f"barrier divergence in block ({found.block[0]},0,0): threads {first}..{first + 15} {verb} at the barrier on line 4, "
        f"threads {first + 16}..{first + 31} have ended without reaching it. All lanes of a warp come to the same {name}: put one behind the if, not inside "
        f"it{', ' + end if end else '.'}"
    )
    assert found.kind == "barrier-divergence" and found.line == 4
    assert told(f"    {asm(barrier)}", schedule=schedule, grid=grid)[0].ok


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["bar.sync", "bar.arrive", "bar.red"])
def test_lanes_of_a_warp_on_both_sides_of_an_if(name, schedule):
    """One instruction for all of them, says the ISA; barrier.sync may be met apart."""
    red = 'asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; NAME.popc.u32 %0, 1, 64, p;}" : "=r"(v) : "r"(t & 1) : "memory");'
    one = red.replace("NAME", name) if "red" in name else asm(f"{name} 1, 64")
    body = (
        f"    if (w == 0 || {int('arrive' not in name)}) {{\n        if (l < 16) {one}\n        else {{ {one} v += 100; }}\n    }} else {asm('bar.sync 1, 64')}"
    )
    report, _ = told(body, schedule=schedule)
    does, advice = ("arrive", ".") if "arrive" in name else ("wait", f", or take {name.replace('bar', 'barrier')}, which lanes may meet apart.")
    first = report.errors[0].thread[0]
    assert words(report) == (
        f"barrier divergence in block (0,0,0): threads {first}..{first + 15} {does} at the barrier on line 5, threads {first + 16}..{first + 31} {does} at the "
        f"barrier on line 6. All lanes of a warp come to the same {name}: put one behind the if, not inside it{advice}"
    )
    assert len(report.errors) == 1
    apart, y = told(body.replace(f"{name} 1", f"{name.replace('bar', 'barrier')} 1").replace("bar.red", "barrier.red"), schedule=schedule)
    assert apart.ok, str(apart)
    assert (y == 100 * (np.arange(64) % 32 >= 16) * (np.arange(64) < (32 if "arrive" in name else 64)) + 32 * ("red" in name)).all()


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_others_of_the_warp_wait_elsewhere(schedule):
    report, _ = told(f"    if (l < 16) {asm('bar.sync 1, 64')}\n    else v = __shfl_sync(0xffff0000, t, 17);\n    __syncwarp();", schedule=schedule)
    assert "threads 16..31 are on line 6 without reaching it" in words(report) or "threads 48..63 are on line 6" in words(report)


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_a_guarded_barrier_is_for_lanes_with_the_predicate(schedule):
    guarded = 'asm volatile("{.reg .pred p; setp.lt.s32 p, %0, LIMIT; @p bar.arrive 1, 64;}" ::"r"(t) : "memory");'
    body = f"    if (w < 2) {guarded}\n    else {asm('bar.sync 1, 64')}"
    assert told(body.replace("LIMIT", "32"), 96, schedule)[0].ok
    report, _ = told(body.replace("LIMIT", "48"), 96, schedule)
    assert "threads 32..47 arrive at the barrier on line 4, threads 48..63 have ended without reaching it." in words(report)


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "body, block",
    [
        (asm("bar.sync 1, 64"), 48),
        (asm("bar.sync 1, 64"), 33),
        (asm("bar.sync 1"), 48),
        (f"if (w) {asm('bar.arrive 1, 64')} else {asm('bar.sync 1, 64')}", 48),
        (f"if (w) {asm('bar.arrive 1, 64')} else {asm('bar.sync 1')}", 48),
        (f"if (t >= 40) return;\n    {asm('bar.sync 1, 64')}", 64),
        (f"if (t >= 40) return;\n    if (w) {asm('bar.sync 1, 64')} else {asm('bar.arrive 1, 64')}", 64),
        (f"if (l >= 16) return;\n    {asm('barrier.sync 1, 32')}", 32),
        (f"if (l < 16) {asm('barrier.sync 1, 32')}", 32),
        (f"if (w == 0) {{ if (l < 16) {asm('barrier.arrive 1, 64')} else {asm('barrier.sync 1, 64')} }} else {asm('barrier.sync 1, 64')}", 64),
    ],
)
def test_a_warp_counts_as_32_threads(body, block, schedule):
    """Whatever is alive of it: who waits at a barrier waits for the rest of its warp, and the warp counts as a whole."""
    report, y = told("    " + body, block, schedule, grid=3)
    assert report.ok, str(report)
    assert (y[: min(block, 16)] == 0).all()


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_a_warp_that_is_not_all_there_does_not_count(schedule):
    report, _ = told(f"    if (l < 16) {asm('barrier.sync 1, 32')}\n    else {asm('barrier.sync 2, 32')}", 32, schedule)
    assert words(report) == (
        "deadlock in block (0,0,0): threads 0..15 wait on line 4 for 32 threads at barrier 1, of which 0 came, and nobody is left to go on. A warp counts when "
        "all of its threads have come, or have ended: threads 16..31 do neither."
    )


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize("side", ["l < 16", "w == 0"])
@pytest.mark.parametrize("barrier", ["__syncthreads()", "v += __syncthreads_count(t & 1)"])
def test_syncthreads_in_both_branches_of_one_line(barrier, side, schedule):
    report, _ = told(f"    if ({side}) {{ v = 3; {barrier}; }} else {{ {barrier}; v *= 2; }}", schedule=schedule)
    some, others = ("threads 0..15, 32..47", "threads 16..31, 48..63") if side == "l < 16" else ("threads 0..31", "threads 32..63")
    assert words(report) in {
        f"barrier divergence in block (0,0,0): {a} wait at the barrier on line 4, {b} wait at that on line 4 in another branch or turn of a loop. "
        "Every thread of the block must reach the same __syncthreads(): put one behind the if, not inside it."
        for a, b in ((some, others), (others, some))
    }
    assert told(f"    if ({side}) v = 3;\n    {barrier};\n    if (!({side})) v *= 2;", schedule=schedule)[0].ok


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_syncthreads_in_turns_of_an_unrolled_loop(schedule):
    report, _ = told("    for (int i = 0; i < 2; ++i) { if (w == i) __syncthreads(); v += t; }", schedule=schedule)
    assert report.errors[0].kind == "barrier-divergence" and "at that on line 4 in another branch or turn of a loop" in words(report)


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize("all_arrive", [False, True])
def test_an_arrival_for_which_no_instruction_waits_is_remarked_on(all_arrive, schedule):
    """The ISA allows it; a block may end with a barrier half full."""
    report, _ = told(f"    if (w == 0 || {int(all_arrive)}) {asm('bar.arrive 3, 64')}", schedule=schedule)
    first = report.findings[0].thread[0]
    assert report.ok and [f.kind for f in report.findings] == ["unawaited-arrival"] and first % 32 == 0
    assert report.findings[0].message == (
        f"unawaited arrival: thread ({first},0,0) of block (0,0,0) arrives at barrier 3 for 64 threads on line 4, and nothing in the kernel waits at that "
        "number. Let those who need what was done before wait there (bar.sync 3, 64), or leave the arrival out."
    )


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_arrivals_that_the_last_turns_leave_over_are_right(schedule):
    """Who fills waits for room only from the third turn on; with two turns nobody waits at numbers 3 and 4, and with five two are left over."""
    turns = """
    for (int i = 0; i < TURNS; ++i)
        if (w == 0) {
            if (i >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + i % 2) : "memory");
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + i % 2) : "memory");
        } else {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + i % 2) : "memory");
            asm volatile("bar.arrive %0, 64;" ::"r"(3 + i % 2) : "memory");
        }
"""
    for count in (2, 5):
        assert told(turns.replace("TURNS", str(count)), schedule=schedule)[0].findings == []


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_arrivals_at_another_number_are_named_to_those_who_wait(schedule):
    report, _ = told(f"    if (w == 0) {asm('bar.arrive 1, 64')}\n    else {asm('bar.sync 2, 64')}", schedule=schedule)
    assert words(report) == (
        "deadlock in block (0,0,0): threads 32..63 wait on line 5 for 64 threads at barrier 2, of which 32 came, and nobody is left to go on. 32 threads have "
        "arrived at barrier 1 on line 4, where nobody waits: give both the same number, if they are to meet."
    )


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "barrier, lower, upper, says",
    [
        ("bar.sync %0, 32", 1, 2, "name different barriers"),
        ("bar.arrive %0, 64", 1, 2, "name different barriers"),
        ("bar.sync 1, %0", 32, 64, "count different numbers of threads"),
    ],
)
def test_lanes_of_a_warp_come_to_one_barrier(barrier, lower, upper, says, schedule):
    """bar is for the warp as a whole, with its operands; each warp may have its own."""
    at = f'asm volatile("{barrier};" ::"r"(CHOICE ? {lower} : {upper}) : "memory");'
    report, _ = told("    " + at.replace("CHOICE", "l < 16"), schedule=schedule)
    first = report.errors[0].thread[0]
    assert words(report) == (
        f"barrier divergence in block (0,0,0): lanes of one warp {says} on line 4 (thread ({first},0,0): {lower}, thread ({first + 16},0,0): {upper}). "
        "All lanes of a warp come to one barrier together: work the number out from the warp's, threadIdx.x / 32, not from the lane's."
    )
    if "%0, 32" in barrier:
        assert told("    " + at.replace("CHOICE", "w == 0"), schedule=schedule)[0].ok


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_arrivals_complete_a_barrier_by_themselves(schedule):
    """Two warps arrive and fill it while nobody waits: the third then waits in vain, whatever the order."""
    arrivals, waits = asm("bar.arrive 1, 64; bar.arrive 2, 96"), asm("bar.sync 2, 96; bar.sync 1, 64")
    report, _ = told(f"    if (w != 1) {arrivals}\n    else {waits}", 96, schedule)
    assert report.errors[0].kind == "deadlock" and "The arrivals on line 4 completed it before anybody waited there" in words(report)


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize("again, verb", [("sync", "waits"), ("arrive", "arrives")])
def test_a_warp_comes_twice_before_the_barrier_is_complete(again, verb, schedule):
    """It would count for two, and others are not waited for."""
    body = f"    if (w == 0) {{ {asm('bar.arrive 1, 96')}\n        {asm(f'bar.{again} 1, 96')} }}\n    else if (w == 1) {asm('bar.sync 1, 96')}"
    report, _ = told(body, 64, schedule)
    assert words(report) == (
        f"barrier divergence in block (0,0,0): the warp of thread (0,0,0) {verb} at barrier 1 on line 5, but it has arrived there already on line 4, and the "
        "barrier hasn't been complete since. A warp counts once each time: let another warp arrive, wait until it is complete, or take another number."
    )


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_a_warp_comes_again_when_it_knows_that_the_barrier_is_complete(schedule):
    """In turns: who waited at number 1 says so at number 2, and the other arrives at number 1 anew."""
    body = f"""    for (int i = 0; i < 3; ++i)
        if (w == 0) {{ {asm("bar.arrive 1, 64")} {asm("bar.sync 2, 64")} }}
        else {{ {asm("bar.sync 1, 64")} {asm("bar.arrive 2, 64")} }}
    if (w == 0) {asm("bar.arrive 1, 64")} else {asm("bar.sync 1, 64")}"""
    for blocks in (1, 5):
        assert told(body, 64, schedule, grid=blocks)[0].findings == []


HAND = "s[t] = t; MEET v = s[t ^ 32];"


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize("grid", [1, 3])
def test_two_groups_of_warps_at_one_number(grid, schedule):
    """Each pair means itself, but any two of the four warps may meet."""
    shared = "    __shared__ int s[128];\n    "
    report, _ = told(shared + HAND.replace("MEET", asm("bar.sync 1, 64")), 128, schedule, grid)
    first = report.errors[0]
    assert words(report).startswith(f"barrier divergence in block ({first.block[0]},0,0): ") and first.line == 5
    assert "which warps meet is left to chance. Give every group of warps a number of its own" in first.message
    if schedule == 0:
        assert "128 threads come to barrier 1 for 64 at the same time (threads 0..127 wait on line 5)" in first.message
    own = shared + HAND.replace("MEET", 'asm volatile("bar.sync %0, 64;" ::"r"(1 + w / 2) : "memory");')
    report, y = told(own, 128, schedule, grid)
    assert report.ok and (y.reshape(-1, 128) == (np.arange(128) ^ 32)).all(), str(report)


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_two_groups_of_warps_at_one_number_on_lines_of_their_own(schedule):
    meet = asm("bar.sync 1, 64")
    body = f"    if (w < 2) {meet}\nBETWEEN    else {meet}"
    report, _ = told(body.replace("BETWEEN", ""), 128, schedule)
    late = report.errors[0].thread[0]
    others, here, there = ("0..63", 5, 4) if late >= 64 else ("64..127", 4, 5)
    assert words(report) == (
        f"barrier divergence in block (0,0,0): the warp of thread ({late},0,0) comes to barrier 1 on line {here}, at which threads {others} met on line "
        f"{there}, and nothing makes it wait until they have: which warps meet is left to chance. Give every group of warps a number of its own, or put a "
        "barrier for all of them between."
    )
    for between in ("__syncthreads();", asm("bar.sync 2, 128")):
        assert told(f"    if (w < 2) {meet}\n    {between}\n    if (w >= 2) {meet}", 128, schedule)[0].ok


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_a_warp_alone_at_a_number_meets_nobody(schedule):
    assert told("    " + asm("bar.sync 1, 32"), 128, schedule)[0].findings == []


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_the_next_warp_at_a_number_knows_that_the_last_have_passed(schedule):
    """Warp 1 met warp 0 at number 1 and then tells warp 2 at number 2, which meets warp 3 at number 1: in order, and quiet."""
    one, two = asm("bar.sync 1, 64"), asm("bar.sync 2, 64")
    chain = f"    if (w == 0) {one}\n    if (w == 1) {{ {one} {asm('bar.arrive 2, 64')} }}\n    if (w == 2) {{ {two} {asm('bar.arrive 3, 64')} {one} }}\n"
    chain += f"    if (w == 3) {{ {asm('bar.sync 3, 64')} {one} }}"
    for blocks in (1, 3):
        report, _ = told(chain, 128, schedule, blocks)
        assert report.ok, str(report)
    assert not told(chain.replace(f"{{ {two} ", "{ ").replace(asm("bar.arrive 2, 64"), ""), 128, schedule)[0].ok


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_a_reduction_at_a_barrier_at_which_others_arrive(schedule):
    red = 'asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; bar.red.popc.u32 %0, 1, 64, p;}" : "=r"(v) : "r"(t & 1) : "memory");'
    report, _ = told(f"    if (w == 0) {asm('bar.arrive 1, 64')}\n    else {red}", 64, schedule)
    assert words(report) == (
        "barrier divergence in block (0,0,0): threads 32..63 wait at the barrier on line 5, threads 0..31 arrive at the barrier on line 4. A barrier reduces "
        "the predicates of all who come, or of none: give bar.red a number of its own."
    )


ROLLED = "    #pragma unroll 1\n    for (int i = 0; i < 2; ++i) {\n        if (CHOICE) __syncthreads();\n        v += t;\n    }"


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize("blocks", [1, 3])
def test_syncthreads_in_turns_of_a_loop(blocks, schedule):
    """All come to one line in the end, but not in the same turn."""
    report, _ = told(ROLLED.replace("CHOICE", "(t & 1) == i"), 64, schedule, blocks)
    assert report.errors[0].kind == "barrier-divergence" and report.errors[0].line == 6
    assert "and 12 more groups wait at that on line 6 in another branch or turn of a loop" in words(report) or "and 28 more groups wait at that" in words(
        report
    )
    for right in ("i == 1", "i == (int)blockIdx.x % 2", "t >= 0"):
        assert told(ROLLED.replace("CHOICE", right), 64, schedule, blocks)[0].ok
    if schedule == 0:
        report, _ = told(ROLLED.replace("CHOICE", "w == i"), 64, schedule, blocks)
        assert "threads 0..31 wait at the barrier on line 6, threads 32..63 wait at that on line 6 in another branch or turn of a loop." in words(report)


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "body",
    [
        "    for (int i = 0; i < 4; ++i) { int j = i; while (j % 3 != t % 3) ++j; v += j; __syncthreads(); }",
        "    for (int i = 0; i < 3; ++i) if (i == 2 || t < 16) { v += i; if (i == 2) __syncthreads(); }",
        "    for (int i = 0; i < 3; ++i) { if (t % 2) v += i; else v -= i; __syncthreads(); if (t < 9) v *= 2; }",
    ],
)
def test_conditions_of_threads_around_a_barrier_for_all(body, schedule):
    """Threads search for different lengths of time, or work on different sides, and meet at each turn."""
    for blocks in (1, 3):
        report, _ = told("    #pragma unroll 1\n" + body, 64, schedule, blocks)
        assert report.ok, str(report)
