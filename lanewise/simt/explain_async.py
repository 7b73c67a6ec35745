"""The words of errors around mbarriers, bulk and tensor copies, and the two proxies. See explain.py.

`at` and `copy_at` are ends of phrases that say where: " on line 12 (called on line 30)".
"""

from __future__ import annotations

from .finding import Finding, Party
from .words import THIRD_PERSON, Dim3, at_line, element, index_value, plural, span, thread_ranges, times, tuple_text, who

# ---------------------------------------------------------------------------------------------- copies


def copy_race(
    *, array: str, index: int, line: int | None, thread: Dim3, block: Dim3, other_line: int | None, other_access: str, other_thread: Dim3,
    dims: tuple[int, ...] | None = None, count: int = 1,
) -> Finding:  # fmt: skip
    """A bulk copy into an element of shared memory that another thread may still read or write; that access came first."""
    text = f"race on {element(array, index, dims)} (shared{f', line {line}' if line else ''}): {who(thread, block)} issues a copy into it while "
    text += f"{who(other_thread, block, False)} {THIRD_PERSON[other_access]} it{at_line(other_line)}, and nothing orders the copy behind that."
    text += f" {count} elements are concerned." if count > 1 else ""
    text += f" Let the thread that {THIRD_PERSON[other_access]} it arrive on an mbarrier afterwards, and wait for its phase before the copy"
    text += " (or put __syncthreads() between)."
    return Finding(
        "race", "error", text, line=line, array=array, index=index_value(index, dims), thread=thread, block=block,
        other=Party(other_line, other_access, other_thread, block), count=count,
    )  # fmt: skip


def before_its_phase(
    *, array: str, index: int, line: int | None, thread: Dim3, block: Dim3, access: str, copy_at: str, mbarrier: str, phase: int, seen: int, complete: bool,
    dims: tuple[int, ...] | None = None, count: int = 1,
) -> Finding:  # fmt: skip
    """An element that a bulk copy brings is touched by a thread that has seen only `seen` phases of its mbarrier. `complete`: phase `phase` is over."""
    text = f"async copy: {who(thread, block)} {THIRD_PERSON[access]} {element(array, index, dims)} (shared){at_line(line)} before it has seen the copy"
    text += f"{copy_at} into it complete: that is phase {phase} of the mbarrier {mbarrier}, and this thread has seen {seen or 'none'} of its phases."
    text += times(count)
    if complete:
        text += f" Let every thread that reads wait for {mbarrier}, parity {phase & 1}, or meet one that did at a __syncthreads()."
    else:
        text += f" Wait for {mbarrier} with parity {phase & 1} first, and count the phases of each barrier from 0."
    return _copy("async-copy", text, line, array, index, dims, thread, block, count)


def copied_over(
    *, array: str, index: int, line: int | None, thread: Dim3, block: Dim3, at: str, copy_at: str, mbarrier: str, phase: int,
    dims: tuple[int, ...] | None = None,
) -> Finding:  # fmt: skip
    """A copy into words that an earlier copy may still be writing, as far as its thread knows."""
    text = f"async copy: {who(thread, block)} issues a copy into {element(array, index, dims)} (shared){at} while the copy{copy_at} into it may still be under "
    text += f"way: nothing tells this thread that phase {phase} of the mbarrier {mbarrier} is complete. Wait for the stage to be empty first: its readers wait "
    text += "for the data, then arrive on a second mbarrier, for which this thread waits."
    return _copy("async-copy", text, line, array, index, dims, thread, block)


def still_read(
    *, array: str, index: int, line: int | None, thread: Dim3, block: Dim3, access: str, at: str, other_line: int | None, wgmma: bool,
    dims: tuple[int, ...] | None = None,
) -> Finding:  # fmt: skip
    """Something writes what wgmma, or a bulk store, may still read. `access` "copy": a copy writes."""
    does = "copies into" if access == "copy" else THIRD_PERSON[access]
    text = f"async copy: {who(thread, block)} {does} {element(array, index, dims)} (shared){at} while the {'wgmma' if wgmma else 'bulk store'}"
    text += f"{at_line(other_line)} may still read it. Put {'wgmma.wait_group' if wgmma else 'cp.async.bulk.wait_group.read'} before the write, "
    text += f"in the thread{'s' if wgmma else ''} that issued it."
    return _copy("async-copy", text, line, array, index, dims, thread, block)


def missing_proxy_fence(
    *, array: str, index: int, line: int | None, block: Dim3, thread: Dim3, at: str, wgmma: bool, other_thread: Dim3, other_line: int | None, ordered: bool,
    dims: tuple[int, ...] | None = None,
) -> Finding:  # fmt: skip
    """wgmma or a bulk copy reads what `other_thread` wrote, with no proxy fence between. `ordered`: a barrier stands there."""
    text = f"async copy: {'wgmma' if wgmma else 'the bulk copy'}{at} reads {element(array, index, dims)} (shared), which thread {tuple_text(other_thread)} "
    text += f"of block {tuple_text(block)} writes{at_line(other_line)}, and "
    if ordered:
        text += "no proxy fence stands between: missing fence.proxy.async.shared::cta. Put it behind the writes, in every thread that writes, "
        text += "before the barrier."
    else:
        text += "nothing orders the two. Put fence.proxy.async.shared::cta and then __syncthreads() behind the writes."
    return _copy("async-copy", text, line, array, index, dims, thread, block)


def store_left(*, array: str, index: int, line: int | None, thread: Dim3, block: Dim3, at: str, dims: tuple[int, ...] | None = None) -> Finding:
    """A block has ended while a bulk store may still read its shared memory."""
    text = f"async copy: {who(thread, block)} ends while its bulk store{at} may still read {element(array, index, dims)} (shared), which the next block may "
    text += "get. Put cp.async.bulk.commit_group and cp.async.bulk.wait_group.read 0 behind the store, in the same thread."
    return _copy("async-copy", text, line, array, index, dims, thread, block)


def copy_left(
    *, array: str, index: int, line: int | None, thread: Dim3, block: Dim3, at: str, mbarrier: str, phase: int, dims: tuple[int, ...] | None = None
) -> Finding:
    """A block has ended while a copy may still write its shared memory."""
    text = f"async copy: {who(thread, block)} issues a copy into {element(array, index, dims)} (shared){at}, and the block ends while it may be under way: "
    text += f"nobody waits for phase {phase} of the mbarrier {mbarrier}. Wait for every copy, or don't issue it."
    return _copy("async-copy", text, line, array, index, dims, thread, block)


def _copy(kind: str, text: str, line: int | None, array: str, index: int, dims: tuple[int, ...] | None, thread: Dim3, block: Dim3, count: int = 1) -> Finding:
    at = index_value(index, dims)
    return Finding(kind, "error", text, line=line, array=array, index=at, thread=thread, block=block, count=count)


def bulk_misaligned(*, array: str, line: int | None, thread: Dim3, block: Dim3, access: str, size: int, offset: int, unit: int) -> Finding:
    """A bulk copy whose size is no multiple of 16, or whose address is none of `unit`. `offset`: bytes behind such a multiple, or a shared address."""
    text = f"misaligned: the bulk copy of {who(thread, block)}{at_line(line)} "
    does = "writes to" if access == "write" else "reads from"
    if size % 16:
        text += f"moves {plural(size, 'byte')}, which is no multiple of 16. Copy the last {size % 16} bytes with plain loads and stores."
    elif unit > 16:
        text += f"{does} {array} at the shared address {offset:#x}, and a tensor copy needs a multiple of {unit}. Declare {array} with __align__({unit}), "
        text += f"and keep its parts multiples of {unit} bytes."
    else:
        text += f"{does} {array}, {plural(offset % 16, 'byte')} behind a multiple of 16. Start at an element whose address is a multiple of 16 bytes."
    return Finding("misaligned", "error", text, line=line, array=array, thread=thread, block=block)


def swizzle_alignment(*, array: str, line: int | None, swizzle: int, offset: int) -> Finding:
    """A swizzled box that begins `offset` bytes behind where the pattern does."""
    text = f"swizzle: the {swizzle}B pattern of {array}{at_line(line)} repeats every {8 * swizzle} bytes of the shared address, and the box begins "
    text += f"{plural(offset, 'byte')} behind such a multiple. Declare {array} with __align__({8 * swizzle}), or count the xor from the address itself."
    return Finding("swizzle-alignment", "remark", text, line=line, array=array)


def no_tensor_map(*, array: str | None, line: int | None, thread: Dim3, block: Dim3, where: str, address: int = 0) -> Finding:
    """The address of a tensor copy's map holds none. `where`: "local", "nowhere", "misaligned" (a map, but not at a multiple of 64), "other"."""
    text = f"tensor map: {who(thread, block)} copies by the tensor map at "
    if where == "local":
        text += f"a local address{at_line(line)}, where the copy engine can't read it: declare the parameter const __grid_constant__, and take its address."
    elif where == "nowhere":
        text += f"address {address:#x}{at_line(line)}, where no array and no parameter lies: pass the address of a const __grid_constant__ parameter."
    elif where == "misaligned":
        text += f"{array}{at_line(line)}, whose address is no multiple of 64: align the map, or the struct that holds it, to 64 bytes."
    else:
        text += f"{array}{at_line(line)}, but these 128 bytes are no tensor map: pass tensor_map(array, box) for {array}."
    return Finding("tensor-map", "error", text, line=line, array=array, thread=thread, block=block)


def refused_start(*, array: str, line: int | None, thread: Dim3, block: Dim3, coordinates: tuple[int, ...], itemsize: int, stores: bool) -> Finding:
    """A tensor copy whose box begins where the copy engine can't. `coordinates` as in PTX, the contiguous axis first."""
    behind, unit = coordinates[0] * itemsize % 16, 16 // itemsize
    where = f"coordinates {{{', '.join(map(str, coordinates))}}} of {array}{at_line(line)}"
    if behind:
        text = f"misaligned: the tensor copy of {who(thread, block)} begins at {where}, and element {coordinates[0]} of a row lies {plural(behind, 'byte')} "
        text += f"behind a multiple of 16: a GPU stops with an illegal instruction. Let the first coordinate be a multiple of {unit} "
        text += f"({unit} elements of {plural(itemsize, 'byte')})."
        return Finding("misaligned", "error", text, line=line, array=array, thread=thread, block=block)
    text = f"out of bounds: the tensor store of {who(thread, block)} begins at {where}, before the array: a GPU stops with an illegal instruction. "
    text += "A store may reach past the array's end, where nothing is written, but it must not begin before its start; only loads may."
    return Finding("out-of-bounds", "error", text, line=line, array=array, thread=thread, block=block)


def tensor_map_rank(*, array: str | None, line: int | None, thread: Dim3, block: Dim3, coordinates: int, axes: int) -> Finding:
    """A tensor copy with another number of coordinates than the map's array has axes."""
    has = "one axis" if axes == 1 else f"{axes} axes"
    text = f"tensor map: {who(thread, block)} copies with {plural(coordinates, 'coordinate')}{at_line(line)}, but the map's array has {has}. "
    text += f"Use the .{axes}d form with a coordinate for each, the contiguous axis first."
    return Finding("tensor-map", "error", text, line=line, array=array, thread=thread, block=block)


# ---------------------------------------------------------------------------------------------- mbarriers


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


def not_there_yet(
    *, array: str, index: int, thread: Dim3, block: Dim3, line: int | None, first_index: int, last_index: int, dims: tuple[int, ...] | None = None,
    access: str = "read", count: int = 1, elements: int = 1,
) -> Finding:  # fmt: skip
    """A read of shared memory that nothing has set, in a kernel whose copies bring data that an mbarrier tells of; else explain.uninitialised_read."""
    verb = "adds atomically to" if access == "atomic" else "reads"
    text = f"uninitialised read: {who(thread, block)} {verb} {element(array, index, dims)} (shared){at_line(line)}, but no thread has written it before, "
    text += "and no copy into it has been issued."
    if elements > 1:
        text += f" {elements} elements are read unset, in {span(array, first_index, last_index, dims)}."
    text += f" If a copy brings {array}, wait for the copy's mbarrier before the read: parity 0 first, then 1, then 0 again. "
    text += f"Else fill all of {array} first, then __syncthreads()."
    return Finding("uninitialised-read", "error", text, line=line, array=array, index=index_value(index, dims), thread=thread, block=block, count=count)


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


def source_left(*, array: str, line: int | None, thread: Dim3, block: Dim3, at: str, receiver: Dim3) -> Finding:
    """A block ends while a copy to another block may still read its shared memory."""
    text = f"async copy: block {tuple_text(block)} may end while the copy{at} (thread {tuple_text(thread)}) still reads {array} for block "
    text += f"{tuple_text(receiver)}: nothing tells it that the copy is complete. Put barrier.cluster.arrive and barrier.cluster.wait at the end, where the "
    text += "other block has waited for its data."
    return Finding("async-copy", "error", text, line=line, array=array, thread=thread, block=block)


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
