"""The words of errors around mbarriers. See explain.py.

`at` is the end of a phrase that says where: " on line 12 (called on line 30)".
"""

from __future__ import annotations

from .finding import Finding
from .words import THIRD_PERSON, Dim3, at_line, plural, thread_ranges, tuple_text, who


def barrier_count(*, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, expected: int) -> Finding:
    """mbarrier.init with a count that no phase can have."""
    text = f"mbarrier: {mbarrier} is initialised with a count of {expected}{at_line(line)}: a phase needs at least 1 arrival. "
    return _barrier("mbarrier", text + "Pass the number of arrivals that complete a phase.", mbarrier, line, thread, block)


def initialised_by_several(*, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, rows: list[int]) -> Finding:
    """Threads `rows` (linear numbers) all initialise one barrier."""
    text = f"mbarrier: {thread_ranges(rows)} all initialise {mbarrier}{at_line(line)}, each forgetting the arrivals before it. "
    return _barrier("mbarrier", text + "Let one thread do it, if (threadIdx.x == 0), then fence and __syncthreads().", mbarrier, line, thread, block)


def initialised_again(*, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, other_line: int | None) -> Finding:
    """mbarrier.init of a barrier in use."""
    text = f"mbarrier: {mbarrier} is initialised again{at_line(line)}, though it is in use since its initialisation{at_line(other_line)}. "
    return _barrier("mbarrier", text + "Initialise each barrier once; mbarrier.inval ends its use.", mbarrier, line, thread, block)


def not_initialised(*, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, does: str, at: str, invalidated: bool = False, distance: int = 0) -> Finding:
    """A barrier is used that nobody initialised, or that was invalidated. `distance`: bytes to the nearest one that is (0: none is near)."""
    text = f"mbarrier: {who(thread, block)} {does} {mbarrier}{at}, but "
    if invalidated:
        return _barrier("mbarrier", text + "it was invalidated. Use it before mbarrier.inval, or initialise it anew.", mbarrier, line, thread, block)
    text += "nobody has initialised it."
    if distance:
        text += f" The nearest barrier lies {plural(abs(distance), 'byte')} {'behind' if distance > 0 else 'before'} it."
    text += " Call mbarrier.init first (one thread), fence.mbarrier_init, then __syncthreads()."
    return _barrier("mbarrier", text, mbarrier, line, thread, block)


def init_not_ordered(
    *, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, does: str, at: str, other_thread: Dim3, other_line: int | None, far: bool = False
) -> Finding:
    """A thread uses a barrier without knowing that `other_thread` has initialised it. `far`: it is the barrier of another block of the cluster."""
    text = f"mbarrier: {who(thread, block)} {does} {mbarrier}{' of another block' if far else ''}{at}, but nothing orders that after thread "
    text += f"{tuple_text(other_thread)}{' of that block' if far else ''} initialised it{at_line(other_line)}. "
    text += f"Put {'a barrier of the cluster (barrier.cluster.arrive and wait)' if far else '__syncthreads()'} behind the initialisation."
    return _barrier("mbarrier", text, mbarrier, line, thread, block)


def init_not_fenced(*, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, at: str, other_line: int | None) -> Finding:
    """A copy names a barrier whose initialisation no fence has shown to the asynchronous proxy."""
    text = f"mbarrier: the copy{at} names {mbarrier}, but no fence stands between its mbarrier.init{at_line(other_line)} and the copy. "
    text += "Put fence.mbarrier_init.release.cluster behind the initialisation, in the thread that does it, and __syncthreads() after that."
    return _barrier("mbarrier", text, mbarrier, line, thread, block)


def barrier_touched(*, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, access: str, at: str, other_line: int | None) -> Finding:
    """A plain access, or a copy, to the 8 bytes of a barrier in use."""
    does = "copies into" if access == "copy" else THIRD_PERSON[access]
    text = f"mbarrier: {who(thread, block)} {does} the memory of {mbarrier}{at}, which is an mbarrier in use since its initialisation{at_line(other_line)}. "
    text += "Only mbarrier instructions may touch it: keep the arrays apart, or end its use with mbarrier.inval."
    return _barrier("mbarrier", text, mbarrier, line, thread, block)


def too_many_arrivals(
    *, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, at: str, arrivals: int, pending: int, tx: int, expected: int, other_line: int | None
) -> Finding:
    """`arrivals` at once where the phase waits for `pending` more (and for `tx` bytes)."""
    text = f"mbarrier: {who(thread, block)} arrives at {mbarrier}{at}, one of {plural(arrivals, 'arrival')} there, "
    text += f"but its phase waits for {plural(pending, 'more arrival')}"
    if pending == 0 and tx:
        text += f" (only {plural(abs(tx), 'byte')} {'are missing' if tx > 0 else 'too many have arrived'})"
    text += f". It was initialised{at_line(other_line)} for {plural(expected, 'arrival')} a phase: make the count equal to the arrivals, "
    return _barrier("mbarrier", text + "or let a thread wait for the phase before it arrives for the next.", mbarrier, line, thread, block)


def parity_beyond_one(*, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, at: str, parity: int) -> Finding:
    """A wait for a parity that is none: the number of a phase, say."""
    text = f"mbarrier: {who(thread, block)} waits for {mbarrier}{at} with parity {parity}, but a parity is 0 or 1. "
    return _barrier("mbarrier", text + "Pass the last bit of the phase's number: phase & 1.", mbarrier, line, thread, block)


def arrival_at_a_block_that_ended(*, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, at: str, other_block: Dim3) -> Finding:
    """A thread arrives at the barrier of another block of the cluster, which may have ended by then."""
    text = f"mbarrier: {who(thread, block)} arrives at {mbarrier} of block {tuple_text(other_block)}{at}, and that block may have ended by then: "
    text += "nothing tells it of this arrival. Put barrier.cluster.arrive and barrier.cluster.wait at the end of the kernel, for all threads of the cluster."
    return _barrier("mbarrier", text, mbarrier, line, thread, block)


def barrier_of_another_block(*, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, at: str, barrier_block: Dim3, receiver: Dim3) -> Finding:
    """Data goes to block `receiver`, and its bytes are counted at the barrier of block `barrier_block`."""
    text = f"mbarrier: {who(thread, block)} sends data to block {tuple_text(receiver)}{at}, but names {mbarrier} of block {tuple_text(barrier_block)}: "
    text += "the barrier must lie in the block that gets the data, which waits for it. Map both addresses to the same rank (mapa)."
    return _barrier("mbarrier", text, mbarrier, line, thread, block)


def completes_though_not_allowed(*, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, at: str) -> Finding:
    """An arrival with .noComplete that completes the phase."""
    text = f"mbarrier: the arrival at {mbarrier}{at} has .noComplete, but it completes the phase. "
    return _barrier("mbarrier", text + "Leave .noComplete out, or let another arrival be the last.", mbarrier, line, thread, block)


def _barrier(kind: str, text: str, mbarrier: str, line: int | None, thread: Dim3, block: Dim3) -> Finding:
    return Finding(kind, "error", text, line=line, array=mbarrier.split("[")[0], index=_index(mbarrier), thread=thread, block=block)


def _index(mbarrier: str) -> int | None:
    """The 2 of `full[2]`."""
    inner = mbarrier.partition("[")[2].rstrip("]")
    return int(inner) if inner.isdigit() else None


def mbarrier_deadlock(
    *, mbarrier: str, line: int | None, thread: Dim3, block: Dim3, rows: list[int], at: str, phase: int, pending: int, expected: int, tx: int, announced: int,
    unseen: int, others: str = "", initialised: bool = True,
) -> Finding:  # fmt: skip
    """Threads `rows` wait for a phase that never completes.

    `pending` of `expected` arrivals are missing, `tx` of `announced` bytes (negative: too many came). `unseen`: complete phases that these threads
    have not seen. `others`: a phrase about who waits elsewhere.
    """
    text = f"deadlock in block {tuple_text(block)}: {thread_ranges(rows)} {'waits' if len(rows) == 1 else 'wait'}{at} for phase {phase} of the mbarrier "
    text += f"{mbarrier}, and nobody is left to go on. "
    came = expected - pending
    if not initialised:
        text += "It was never initialised: call mbarrier.init first."
    elif tx > 0:
        text += f"expect_tx announced {plural(announced, 'byte')}, {announced - tx} arrived"
        text += f", and {plural(pending, 'arrival')} of {expected} {'is' if pending == 1 else 'are'} missing too" if pending else ""
        text += ". Announce exactly the bytes that the copies bring: for a tensor copy the whole box, its part outside of the array included."
    elif tx < 0:
        text += f"expect_tx announced {plural(announced, 'byte')}, but {announced - tx} arrived. Announce the bytes of all copies that name this barrier."
    elif unseen > 1 and unseen % 2 == 0:
        text += f"They have not seen {unseen} phases that are complete: the others went ahead. Make the count of mbarrier.init ({expected}) equal to all "
        text += "arrivals of a phase; and let who goes ahead wait for these threads, by a second mbarrier at which they arrive."
    elif unseen > 0:
        text += f"Phase {phase - 1} is complete, and these threads have not waited for it: the parity is wrong. Wait for parity 0 first, then 1, then 0 again."
    elif came == 0:
        text += f"No arrival of {expected} has come in this phase. Let the threads that use the data, or bring it, arrive at it once a phase."
    else:
        text += f"{plural(came, 'arrival')} of {expected} {'has' if came == 1 else 'have'} come. Make the count of mbarrier.init equal to the arrivals."
    return Finding("deadlock", "error", text + others, line=line, array=mbarrier.split("[")[0], index=_index(mbarrier), thread=thread, block=block)
