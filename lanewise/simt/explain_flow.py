"""The words of errors in the flow of threads: barriers, deadlocks, endless loops, warps, copies that are under way, traps. See explain.py."""

from __future__ import annotations

from .finding import Finding
from .words import THIRD_PERSON, Dim3, at_line, element, index_value, lanes, plural, thread_ranges, times, tuple_text, who


def barrier_divergence(
    *,
    lines: list[int | None],
    threads: list[list[int]],
    block: Dim3,
    thread: Dim3 | None = None,
    left: list[int] | None = None,
    left_line: int | None = None,
    next_step: str = "",
    arrives: tuple[bool, ...] = (),
) -> Finding:
    """Threads of one block wait at different barriers, or some never come.

    `lines[i]` is the line of a barrier and `threads[i]` the linear numbers of those who wait there; `left` are the threads that wait at none
    (they have ended, or are elsewhere, on `left_line` if that is known). `arrives`: at which barriers they arrive without waiting.
    """
    groups: list[str] = []
    for line, group in zip(lines, threads, strict=True):
        verb = "arrive" if any(arrives[len(groups) : len(groups) + 1]) else "wait"
        again = line in lines[: len(groups)]  # a line in both branches, in a function that both call, or in an unrolled loop
        where = f"at that{at_line(line)} in another branch or turn of a loop" if again else f"at the barrier{at_line(line)}"
        groups.append(f"{thread_ranges(group)} {verb}{'' if len(group) > 1 else 's'} {where}")
    if left:
        ending = f"are on line {left_line}" if left_line else "have ended"
        if len(left) == 1:
            ending = ending.replace("are on", "is on").replace("have", "has")
        groups.append(f"{thread_ranges(left)} {ending} without reaching it")
    text = f"barrier divergence in block {tuple_text(block)}: " + ", ".join(groups) + "."
    text += " " + (next_step or "Every thread of the block must reach the same __syncthreads(): put one behind the if, not inside it.")
    return Finding("barrier-divergence", "error", text, line=lines[0] if lines else None, thread=thread, block=block, count=1)


def deadlock(*, line: int | None, threads: list[int], block: Dim3, waits_for: str, next_step: str, thread: Dim3 | None = None) -> Finding:
    """Nobody can go on. `threads` (linear numbers) wait on `line` for `waits_for`, a phrase such as "64 threads at barrier 1, but only 32 come"."""
    verb = "waits" if len(set(threads)) == 1 else "wait"
    text = f"deadlock in block {tuple_text(block)}: {thread_ranges(threads)} {verb}{at_line(line)} for {waits_for}, and nobody is left to go on. {next_step}"
    return Finding("deadlock", "error", text, line=line, thread=thread, block=block)


def named_barrier_deadlock(
    *, line: int | None, threads: list[int], block: Dim3, barrier: int, expected: int, arrived: int, thread: Dim3 | None = None, alone: str = "",
    lacking: list[int] | None = None, elsewhere: str = "",
) -> Finding:  # fmt: skip
    """A numbered barrier whose count isn't reached.

    `alone`: what to say where bar.arrive had completed it before. `lacking`: threads (linear numbers) of warps of which others have come.
    `elsewhere`: what to say of arrivals at another number.
    """
    waits_for = f"{expected} threads at barrier {barrier}, of which {arrived} came"
    step = f"Let {expected - arrived} more threads come to it (who arrives without waiting counts, too), or make its count that of those who come."
    if lacking:
        step = f"A warp counts when all of its threads have come, or have ended: {thread_ranges(lacking)} {'do' if len(lacking) > 1 else 'does'} neither."
    if elsewhere:
        step = elsewhere
    if alone:
        step = alone[0].upper() + alone[1:] + "."
    return deadlock(line=line, threads=threads, block=block, thread=thread, waits_for=waits_for, next_step=step)


def no_such_barrier(*, line: int | None, thread: Dim3, block: Dim3, barrier: int) -> Finding:
    """A barrier's number beyond 15 (a negative one arrives as a large one)."""
    text = f"barrier divergence in block {tuple_text(block)}: {who(thread, block)} names barrier {_signed(barrier)}{at_line(line)}, and a block has "
    text += "barriers 0 to 15 (0 is __syncthreads). Take a number from 1 to 15, and use it again when all have met."
    return Finding("barrier-divergence", "error", text, line=line, thread=thread, block=block)


def barrier_count(*, line: int | None, thread: Dim3, block: Dim3, barrier: int, count: int, arrives: bool) -> Finding:
    """A barrier's number of threads that no warps make up."""
    text = f"barrier divergence in block {tuple_text(block)}: {who(thread, block)} {'arrives at' if arrives else 'waits at'} barrier {_signed(barrier)} for "
    text += f"{plural(_signed(count), 'thread')}{at_line(line)}, but warps come as a whole: the count is a multiple of 32, from 32 to 1024."
    text += " Count all threads of the warps that come, those that arrive and those that wait."
    return Finding("barrier-divergence", "error", text, line=line, thread=thread, block=block)


def barrier_counts_differ(*, line: int | None, thread: Dim3, block: Dim3, barrier: int, count: int, other_line: int | None, other_count: int) -> Finding:
    """Two threads that meet at a barrier expect different numbers."""
    text = f"barrier divergence in block {tuple_text(block)}: {who(thread, block)} comes to barrier {barrier} for {plural(count, 'thread')}{at_line(line)}, "
    text += f"but others{at_line(other_line)} came to it for {other_count}. All who meet at a barrier give the same count: the sum of those who arrive and "
    text += "those who wait. Or take another number for another meeting."
    return Finding("barrier-divergence", "error", text, line=line, thread=thread, block=block)


def barrier_of_a_warp(*, line: int | None, thread: Dim3, block: Dim3, mine: int, other_thread: Dim3, others: int, counts: bool = False) -> Finding:
    """Two lanes of a warp come to one instruction with different numbers of a barrier (`counts`: of threads), `mine` and `others`."""
    what = "count different numbers of threads" if counts else "name different barriers"
    text = f"barrier divergence in block {tuple_text(block)}: lanes of one warp {what}{at_line(line)} (thread {tuple_text(thread)}: {_signed(mine)}, "
    text += f"thread {tuple_text(other_thread)}: {_signed(others)}). All lanes of a warp come to one barrier together: work the number out from the warp's, "
    text += "threadIdx.x / 32, not from the lane's."
    return Finding("barrier-divergence", "error", text, line=line, thread=thread, block=block)


def too_many_at_a_barrier(*, line: int | None, threads: list[int], thread: Dim3, block: Dim3, barrier: int, count: int, came: int) -> Finding:
    """More threads wait at a barrier than it counts. `threads`: linear numbers of those who wait; `came`: how many came, in whole warps."""
    text = f"barrier divergence in block {tuple_text(block)}: {came} threads come to barrier {barrier} for {count} at the same time ({thread_ranges(threads)} "
    text += f"wait{at_line(line)}): which warps meet is left to chance. Give every group of warps a number of its own, or count all who come."
    return Finding("barrier-divergence", "error", text, line=line, thread=thread, block=block)


def others_at_a_barrier(*, line: int | None, met_line: int | None, thread: Dim3, block: Dim3, barrier: int, met: list[int]) -> Finding:
    """A warp comes to a barrier at which others (`met`, linear numbers) met before, without knowing it."""
    text = f"barrier divergence in block {tuple_text(block)}: the warp of thread {tuple_text(thread)} comes to barrier {barrier}{at_line(line)}, at which "
    text += f"{thread_ranges(met)} met{at_line(met_line)}, and nothing makes it wait until they have: which warps meet is left to chance. "
    text += "Give every group of warps a number of its own, or put a barrier for all of them between."
    return Finding("barrier-divergence", "error", text, line=line, thread=thread, block=block)


def counted_twice(*, line: int | None, arrived_line: int | None, thread: Dim3, block: Dim3, barrier: int, arrives: bool) -> Finding:
    """A warp arrived at a barrier and comes to it again before it was complete."""
    text = f"barrier divergence in block {tuple_text(block)}: the warp of thread {tuple_text(thread)} {'arrives' if arrives else 'waits'} at barrier "
    text += f"{barrier}{at_line(line)}, but it has arrived there already{at_line(arrived_line)}, and the barrier hasn't been complete since. A warp counts "
    text += "once each time: let another warp arrive, wait until it is complete, or take another number."
    return Finding("barrier-divergence", "error", text, line=line, thread=thread, block=block)


def _signed(x: int) -> int:
    """A 32-bit number as the source had it."""
    return x - (1 << 32) if x >> 31 else x


def step_limit(*, line: int | None, steps: int, thread: Dim3 | None = None, block: Dim3 | None = None, unchanged: bool = False) -> Finding:
    """A loop that doesn't end. `steps` basic blocks were executed; `unchanged`: the thread repeats the same state, so it would never end."""
    subject = who(thread, block) if thread is not None and block is not None else "the kernel"
    text = f"step limit: {subject} is still running{at_line(line)} after {plural(steps, 'step')}"
    text += ", and nothing that its loop looks at changes any more." if unchanged else "."
    text += " Check the condition that ends the loop" + (" and who should change it." if unchanged else ", or raise max_steps if it needs so many.")
    return Finding("step-limit", "error", text, line=line, thread=thread, block=block)


def warp_mask(
    *, line: int | None, thread: Dim3, block: Dim3, operation: str, mask: int, active: int, next_step: str = "", elsewhere: tuple[str, int] | None = None,
    other_mask: int | None = None, count: int = 1,
) -> Finding:  # fmt: skip
    """A warp operation whose mask names lanes that don't take part. `operation` as in the source: "__ballot_sync"; `active`: lanes that do.

    `elsewhere`: an operation at which some of the others wait, and its line. `other_mask`: that with which (the first of) them came to this one.
    """
    absent = mask & ~active
    text = f"warp mask: {who(thread, block)} calls {operation} with mask {mask:#010x}{at_line(line)}"
    if absent:
        one = absent & (absent - 1) == 0
        text += f", but {lanes(absent)} of the warp {'does' if one else 'do'} not come along"
        if other_mask is not None:
            text += f" with that mask: {'it passes' if one else 'they pass'} {other_mask:#010x}."
            next_step = next_step or "Lanes that name each other pass the same mask: give every lane the mask of the whole group that it is in."
        else:
            text += f": {'it waits' if one else 'they wait'} at {elsewhere[0]}{at_line(elsewhere[1])}." if elsewhere else "."
    else:
        text += f", but its own lane is not in the mask (lanes there: {active & 0xFFFFFFFF:#010x})."
    text += times(count)
    text += " " + (next_step or "Call it outside the branch, or pass the mask of the lanes that take part (from __ballot_sync before the branch).")
    return Finding("warp-mask", "error", text, line=line, thread=thread, block=block, count=count)


def absent_lane_value(
    *, line: int | None, thread: Dim3, block: Dim3, operation: str, lane: int, used_line: int | None, exists: bool = True, count: int = 1
) -> Finding:
    """A value that was shuffled from a lane that takes no part, or isn't there (`exists` False), and then used on `used_line`."""
    why = "takes no part in it" if exists else "isn't there: the block ends before it"
    text = f"warp mask: {who(thread, block)} takes a value from lane {lane} by {operation}{at_line(line)}, but that lane {why}. "
    text += f"The value is undefined, and it is used{at_line(used_line)}." + times(count)
    text += " Use it only where the source lane takes part, or replace it by the neutral element."
    return Finding("warp-mask", "error", text, line=line, thread=thread, block=block, count=count)


def async_copy(
    *,
    array: str,
    index: int,
    thread: Dim3,
    block: Dim3,
    line: int | None,
    copy_line: int | None,
    access: str = "read",
    space: str = "shared",
    dims: tuple[int, ...] | None = None,
    waited: bool = False,
    count: int = 1,
) -> Finding:
    """An element touched while an asynchronous copy into it is under way. `waited`: a wait came, but it left this group pending."""
    text = f"async copy: {who(thread, block)} {THIRD_PERSON[access]} {element(array, index, dims)} ({space}){at_line(line)} "
    text += f"while the asynchronous copy{at_line(copy_line)} into it is not finished." + times(count)
    if waited:
        text += " The wait before it allows this group to stay pending: wait for one group less, then __syncthreads()."
    else:
        text += " Wait for the copy first (cp.async.wait_group or __pipeline_wait_prior), then __syncthreads()."
    return Finding("async-copy", "error", text, line=line, array=array, index=index_value(index, dims), thread=thread, block=block, count=count)


def trapped(*, line: int | None, thread: Dim3, block: Dim3, assertion: str = "", count: int = 1) -> Finding:
    """`assert` failed or `__trap` ran: kind "trap". `assertion` is the text of the condition."""
    cause = f"the assertion {assertion} fails" if assertion else "__trap() is called"
    text = f"trap: {cause}{at_line(line)} in {who(thread, block)}, and the kernel stops there." + times(count)
    text += " Find out why the condition does not hold for that thread." if assertion else " Find out what led that thread there."
    return Finding("trap", "error", text, line=line, thread=thread, block=block, count=count)
