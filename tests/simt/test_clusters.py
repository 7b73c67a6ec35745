"""Clusters: what a kernel may do wrong with the shared memory of other blocks, told in words; setmaxnreg's pool of registers."""

from __future__ import annotations

import numpy as np
import pytest
from families.clusters import PREAMBLE

from lanewise import simt

SHARED = "__shared__ int s[64]; s[t] = x[b * 64 + t];"
GOOD = f"{SHARED} sync(); y[b * 64 + t] = load(map(at(s + t), rank() ^ 1)); sync();"


def launch(body: str, dims: str = "__cluster_dims__(2, 1, 1)", grid=4, schedule: int = 0) -> simt.Report:
    source = f"""{PREAMBLE}
extern "C" __global__ void {dims} shared(const int* x, int* y) {{
    int t = threadIdx.x, b = blockIdx.x;
    {body}
}}"""
    blocks = int(np.prod(grid))
    return simt.compile(source).kernel("shared").launch(grid, 64, [np.arange(blocks * 64, dtype=np.int32), np.zeros(blocks * 64, np.int32)], schedule=schedule)


def errors(report: simt.Report) -> list[simt.Finding]:
    return [f for f in report.findings if f.severity == "error"]


@pytest.mark.parametrize("schedule", range(4))
def test_a_right_kernel_is_quiet(schedule: int) -> None:
    report = launch(GOOD, schedule=schedule)
    assert report.ok, str(report)


@pytest.mark.parametrize("schedule", range(4))
def test_a_barrier_of_the_block_is_not_enough(schedule: int) -> None:
    found = errors(launch(GOOD.replace("sync(); y", "__syncthreads(); y"), schedule=schedule))
    assert [f.kind for f in found] == ["race"], found
    assert found[0].array == "s" and found[0].other is not None and found[0].block != found[0].other.block
    assert "__syncthreads() is for one block: put cluster.sync()" in found[0].message


@pytest.mark.parametrize("schedule", range(4))
def test_a_block_that_ends_too_soon(schedule: int) -> None:
    found = errors(launch(GOOD.removesuffix(" sync();"), schedule=schedule))
    assert {f.kind for f in found} == {"out-of-bounds"} and "may have ended by then" in found[0].message
    assert "reads s of block" in found[0].message


HANDED = """__shared__ int s[64]; __shared__ unsigned long long bar;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64; fence.mbarrier_init.release.cluster;" ::"r"(at(&bar)) : "memory");
    sync();
    store(map(at(s + t), rank() ^ 1), x[b * 64 + t]);
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(map(at(&bar), rank() ^ 1)) : "memory");
    for (unsigned done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at(&bar)) : "memory");
    y[b * 64 + t] = s[63 - t];
    sync();"""


@pytest.mark.parametrize("schedule", range(4))
def test_a_store_that_the_others_barrier_tells_of(schedule: int) -> None:
    """The arrival hands over what was stored before it, and nothing that is stored behind it."""
    assert launch(HANDED, schedule=schedule).ok, str(launch(HANDED, schedule=schedule))
    store, arrive = (next(x for x in HANDED.splitlines(True) if word in x) for word in ("    store(", "mbarrier.arrive"))
    found = errors(launch(HANDED.replace(store + arrive, arrive + store), schedule=schedule))
    assert found and (found[0].kind, found[0].array) == ("race", "s")
    me, other = found[0], found[0].other
    assert "no barrier of the cluster stands between, nor an arrival at an mbarrier." in me.message
    there = f"at an mbarrier of block ({me.block[0]},0,0) (mbarrier.arrive.release.cluster)"
    assert f"Let thread ({other.thread[0]},0,0) arrive, behind its access, {there}, and thread ({me.thread[0]},0,0) wait there" in me.message


def test_a_block_that_ends_though_others_arrive_at_mbarriers() -> None:
    """The store comes when the other block has left."""
    found = errors(launch(HANDED.replace("    store", '    if (rank() == 1) asm volatile("exit;");\n    store')))
    ended = next(f for f in found if f.kind == "out-of-bounds")
    assert "Let that block wait, before it ends, at an mbarrier of its own for an arrival behind the last access; or put cluster.sync()" in ended.message


def test_memory_written_again_while_a_neighbour_reads() -> None:
    body = GOOD.replace("rank() ^ 1)); sync();", "rank() ^ 1)); s[t] = 0; sync();")
    found = errors(launch(body))
    assert [f.kind for f in found] == ["race"]


def test_two_blocks_write_the_same_word() -> None:
    body = "__shared__ int s[64]; s[t] = 0; sync(); store(map(at(s + t), 0), b); sync(); y[b * 64 + t] = s[t];"
    found = errors(launch(body))
    assert found and found[0].kind == "race" and found[0].array == "s"
    assert launch(body.replace("store(map(at(s + t), 0), b)", "store(map(at(s + t), rank() ^ 1), b)")).ok


def test_what_nobody_set() -> None:
    found = errors(launch("__shared__ int s[64]; if (rank() == 0) s[t] = t; sync(); y[b * 64 + t] = load(map(at(s + t), rank() ^ 1)); sync();"))
    assert [f.kind for f in found] == ["uninitialised-read"] and found[0].array == "s"


def test_beyond_the_array_of_another_block() -> None:
    found = errors(launch(GOOD.replace("at(s + t)", "at(s + t + 8)")))
    assert found[0].kind == "out-of-bounds" and found[0].array == "s" and found[0].index == 64


def test_a_rank_that_is_not_there() -> None:
    found = errors(launch(GOOD.replace("rank() ^ 1", "rank() + 1")))
    assert found[0].kind == "out-of-bounds" and "asks for the shared memory of block 2 of its cluster" in found[0].message
    found = errors(launch(GOOD, dims=""))
    assert "the cluster has 1 block (ranks from 0). Say how many with __cluster_dims__." in found[0].message


def test_a_barrier_that_not_all_reach() -> None:
    found = errors(launch(GOOD.replace("sync(); y", 'if (rank() == 0) sync(); else asm volatile("bar.sync 1, 128;"); y')))
    assert found[0].kind == "deadlock" and "for the cluster barrier, but threads 0..63 of block (1,0,0) never arrive" in found[0].message


def test_threads_that_have_left_are_not_waited_for() -> None:
    assert launch("if (rank() == 1 || t > 7) return; sync(); y[b * 64 + t] = 1; sync();").ok


@pytest.mark.parametrize("schedule", range(3))
def test_who_waits_at_the_end_of_a_cluster_is_not_the_cause(schedule: int) -> None:
    """One warp waits for an arrival that never comes, the other for it at the cluster's barrier: the mbarrier is named."""
    edits = {"[%0], 64; fence": "[%0], 65; fence", "for (unsigned done": "if (t < 32) for (unsigned done", "y[b * 64 + t] = s[63 - t];": ""}
    body = HANDED
    for old, new in edits.items():
        assert old in body
        body = body.replace(old, new)
    found = errors(launch(body, schedule=schedule))
    assert [f.kind for f in found] == ["deadlock"], found
    assert "threads 0..31 wait on line" in found[0].message and "for phase 0 of the mbarrier bar" in found[0].message
    assert "Meanwhile threads 32..63 wait at the cluster barrier on line" in found[0].message


def test_arrive_and_wait_take_turns() -> None:
    arrive, wait = (f'asm volatile("barrier.cluster.{what};" ::: "memory");' for what in ("arrive", "wait"))
    found = errors(launch(f"{arrive} {arrive} {wait}"))
    assert found[0].kind == "barrier-divergence" and "arrives at the cluster barrier again" in found[0].message
    found = errors(launch(f"{arrive} {wait} {wait}"))
    assert found[0].kind == "barrier-divergence" and "without having arrived at it" in found[0].message


@pytest.mark.slow
def test_cooperative_groups() -> None:
    source = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void __cluster_dims__(2, 1, 1) shared(const int* x, int* y) {
    __shared__ int s[64];
    cg::cluster_group cluster = cg::this_cluster();
    s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    cluster.sync();
    int* theirs = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
    y[blockIdx.x * 64 + threadIdx.x] = theirs[63 - threadIdx.x] + cluster.num_blocks();
    cluster.sync();
}"""
    x, y = np.arange(256, dtype=np.int32).reshape(4, 64), np.zeros((4, 64), np.int32)
    report = simt.compile(source).kernel("shared").launch(4, 64, [x, y])
    assert report.ok, str(report)
    assert (y == x[[1, 0, 3, 2], ::-1] + 2).all()


def test_launches_that_do_not_fit() -> None:
    assert "must be a multiple of the 2 blocks" in launch(GOOD, grid=3).findings[0].message
    assert "a cluster may have 8 blocks, not 16" in launch(GOOD, dims="__cluster_dims__(16, 1, 1)", grid=16).findings[0].message


def test_global_memory_between_blocks_is_ordered_by_the_cluster_barrier_alone() -> None:
    body = "y[b * 64 + t] = 1; sync(); int z = y[(b ^ 1) * 64 + t]; sync(); y[b * 64 + t] = z;"
    assert launch(body).ok, str(launch(body))
    assert errors(launch(body.replace("sync(); int", "__syncthreads(); int")))[0].kind == "race"


# ------------------------------------------------------------------------------------------------ setmaxnreg


def pool(less: str, more: str, bounds: str = "384, 1", schedule: int = 0) -> simt.Report:
    source = f"""extern "C" __global__ void __launch_bounds__({bounds}) roles(int* x) {{
    if (threadIdx.x < 128) {{ {less} }} else {{ {more} }}
    x[threadIdx.x] = threadIdx.x;
}}"""
    source = source.replace("DEC", 'asm volatile("setmaxnreg.dec.sync.aligned.u32 ').replace("INC", 'asm volatile("setmaxnreg.inc.sync.aligned.u32 ')
    return simt.compile(source).kernel("roles").launch(1, 384, [np.zeros(384, np.int32)], schedule=schedule)


@pytest.mark.parametrize("schedule", range(4))
def test_registers_given_back_are_there_for_the_others(schedule: int) -> None:
    assert pool('DEC 24;");', 'INC 240;");', schedule=schedule).ok


def test_more_registers_than_the_block_has() -> None:
    found = errors(pool('DEC 40;");', 'INC 240;");'))
    assert found[0].kind == "deadlock" and "its warpgroups hold 40, 240, 168 a thread, 7168 are free" in found[0].message


def test_the_wrong_direction() -> None:
    found = errors(pool('INC 40;");', 'INC 168;");'))
    assert [f.kind for f in found] == ["register-count"] and "has 168 registers a thread. Use setmaxnreg.dec" in found[0].message


def test_not_all_warps_of_a_warpgroup() -> None:
    found = errors(pool('if (threadIdx.x < 32) { DEC 24;"); }', ""))
    assert found[0].kind == "barrier-divergence" and "setmaxnreg.dec" in found[0].message


@pytest.mark.parametrize("schedule", range(4))
def test_one_thread_of_a_warpgroup_whose_others_have_left(schedule: int) -> None:
    found = errors(pool('if (threadIdx.x) return; DEC 24;");', "", schedule=schedule))
    assert found[0].kind == "barrier-divergence" and "only thread 0 comes to it: the others have ended" in found[0].message


def test_without_a_known_number_of_registers_it_does_nothing() -> None:
    report = pool('DEC 40;");', 'INC 240;");', bounds="384")
    assert report.ok and [f.kind for f in report.findings] == ["setmaxnreg-ignored"]


@pytest.mark.parametrize("count", [16, 30, 264])
def test_counts_that_do_not_exist(count: int) -> None:
    with pytest.raises((simt.Unsupported, simt.CompileError)):
        pool(f'DEC {count};");', "")
