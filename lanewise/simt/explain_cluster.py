"""The words of errors in clusters: shared memory of other blocks, barriers of a whole cluster. See explain.py."""

from __future__ import annotations

from .finding import Finding, Party
from .words import THIRD_PERSON, Dim3, at_line, element, index_value, plural, thread_ranges, times, tuple_text, who

SYNC = "cluster.sync() (barrier.cluster.arrive and .wait)"


def far_race(
    *, array: str, index: int, dims: tuple[int, ...] | None, owner: Dim3, line: int | None, access: str, thread: Dim3, block: Dim3,
    other_line: int | None, other_access: str, other_thread: Dim3, other_block: Dim3, arrivals: bool = False, count: int = 1,
) -> Finding:  # fmt: skip
    """Threads of two blocks touch the shared memory of one of them (`owner`), and no cluster barrier stands between.

    `arrivals`: blocks of this kernel arrive at each other's mbarriers, and no arrival orders the two accesses either.
    """
    text = f"race on {element(array, index, dims)} (shared memory of block {tuple_text(owner)}{at_line(line).replace(' on', ',')}): {who(thread, block)} "
    text += f"{THIRD_PERSON[access]} it while {who(other_thread, other_block)} {THIRD_PERSON[other_access]} it{at_line(other_line)}, and no barrier of the "
    text += f"cluster stands between{', nor an arrival at an mbarrier' if arrivals else ''}.{times(count)} "
    if arrivals:
        text += f"Let thread {tuple_text(other_thread)} arrive, behind its access, at an mbarrier of block {tuple_text(block)}"
        text += f" (mbarrier.arrive.release.cluster), and thread {tuple_text(thread)} wait there before its own; or put {SYNC} between."
    else:
        text += f"__syncthreads() is for one block: put {SYNC} there."
    return Finding(
        "race", "error", text, line=line, array=array, index=index_value(index, dims), thread=thread, block=block,
        other=Party(other_line, other_access, other_thread, other_block), count=count,
    )  # fmt: skip


def may_have_ended(*, array: str, line: int | None, owner: Dim3, thread: Dim3, block: Dim3, access: str, arrivals: bool = False) -> Finding:
    """Another block's shared memory is touched after the last barrier that its threads wait at: it may have ended by then.

    `arrivals`: blocks of this kernel arrive at each other's mbarriers.
    """
    text = f"out of bounds: {who(thread, block)} {THIRD_PERSON[access]} {array} of block {tuple_text(owner)}{at_line(line)}, and that block may have "
    text += "ended by then: its shared memory is gone. "
    if arrivals:
        text += f"Let that block wait, before it ends, at an mbarrier of its own for an arrival behind the last access; or put {SYNC} there."
    else:
        text += f"Put {SYNC} behind the last access, before the kernel ends."
    return Finding("out-of-bounds", "error", text, line=line, array=array, thread=thread, block=block)


def no_such_rank(*, line: int | None, rank: int, size: int, thread: Dim3, block: Dim3) -> Finding:
    """mapa names a block that the cluster doesn't have."""
    text = f"out of bounds: {who(thread, block)} asks for the shared memory of block {rank} of its cluster{at_line(line)}, but the cluster has "
    text += f"{plural(size, 'block')} (ranks from 0). " + ("Say how many with __cluster_dims__." if size == 1 else "Take the rank modulo the cluster's size.")
    return Finding("out-of-bounds", "error", text, line=line, thread=thread, block=block)


def barrier_misused(*, line: int | None, thread: Dim3, block: Dim3, waits: bool) -> Finding:
    """barrier.cluster.arrive and .wait that don't alternate. `waits`: a wait without an arrive, else a second arrive without a wait."""
    what = "waits at the cluster barrier" if waits else "arrives at the cluster barrier again"
    why = "without having arrived at it" if waits else "without having waited for the last time"
    text = f"barrier divergence in block {tuple_text(block)}: {who(thread, block)} {what}{at_line(line)} {why}. Every thread does barrier.cluster.arrive, "
    text += "then barrier.cluster.wait, in turn."
    return Finding("barrier-divergence", "error", text, line=line, thread=thread, block=block)


def cluster_deadlock(*, line: int | None, threads: list[int], block: Dim3, missing: list[int], missing_block: Dim3, missing_line: int | None) -> Finding:
    """Threads wait at a cluster barrier at which others never arrive."""
    verb = "waits" if len(threads) == 1 else "wait"
    text = f"deadlock in block {tuple_text(block)}: {thread_ranges(threads)} {verb}{at_line(line)} for the cluster barrier, but "
    text += f"{thread_ranges(missing)} of block {tuple_text(missing_block)} never {'arrives' if len(missing) == 1 else 'arrive'}"
    text += (f" (now{at_line(missing_line)})" if missing_line else "") + ". Let every thread of every block of the cluster reach it."
    return Finding("deadlock", "error", text, line=line, block=block)
