"""The words of errors around bulk and tensor copies, and the two proxies. See explain.py; mbarriers have theirs in explain_mbarrier.py.

`at` and `copy_at` are ends of phrases that say where: " on line 12 (called on line 30)".
"""

from __future__ import annotations

from .finding import Finding, Party
from .words import THIRD_PERSON, Dim3, at_line, element, index_value, plural, span, times, tuple_text, who


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


def missing_global_fence(
    *, array: str, index: int, line: int | None, block: Dim3, thread: Dim3, at: str, other_thread: Dim3, other_block: Dim3, other_line: int | None
) -> Finding:  # fmt: skip
    """A bulk copy reads what a thread wrote to global memory, with no proxy fence between."""
    text = f"async copy: the bulk copy{at} reads {element(array, index)}, which {who(other_thread, other_block)} writes{at_line(other_line)}, and no proxy "
    text += "fence for global memory stands between: missing fence.proxy.async (its form .shared::cta is for shared memory alone). Put it behind the writes, "
    text += "in every thread that writes, before the barrier or the flag that tells of them."
    return _copy("async-copy", text, line, array, index, None, thread, block)


def store_left(*, array: str, index: int, line: int | None, thread: Dim3, block: Dim3, at: str, dims: tuple[int, ...] | None = None) -> Finding:
    """A block has ended while a bulk store may still read its shared memory."""
    text = f"async copy: {who(thread, block)} ends while its bulk store{at} may still read {element(array, index, dims)} (shared), which the next block may "
    text += "get. Put cp.async.bulk.commit_group and cp.async.bulk.wait_group.read 0 behind the store, in the same thread."
    return _copy("async-copy", text, line, array, index, dims, thread, block)


def store_not_finished(
    *, array: str, index: int, line: int | None, thread: Dim3, block: Dim3, access: str, at: str, read: bool, count: int = 1
) -> Finding:  # fmt: skip
    """Global memory that a bulk store may still be writing. `read`: its thread has waited, until shared memory was read."""
    text = f"async copy: {who(thread, block)} {THIRD_PERSON[access]} {element(array, index)}{at_line(line)} while the bulk store{at} may still write it."
    text += times(count)
    if read:
        text += " cp.async.bulk.wait_group.read waits only until the store has read shared memory: leave out .read where others look at the result."
    else:
        text += " Put cp.async.bulk.commit_group and cp.async.bulk.wait_group 0 behind the store, in its thread, before what tells others of it."
    return _copy("async-copy", text, line, array, index, None, thread, block, count)


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


def source_left(*, array: str, line: int | None, thread: Dim3, block: Dim3, at: str, receiver: Dim3) -> Finding:
    """A block ends while a copy to another block may still read its shared memory."""
    text = f"async copy: block {tuple_text(block)} may end while the copy{at} (thread {tuple_text(thread)}) still reads {array} for block "
    text += f"{tuple_text(receiver)}: nothing tells it that the copy is complete. Put barrier.cluster.arrive and barrier.cluster.wait at the end, where the "
    text += "other block has waited for its data."
    return Finding("async-copy", "error", text, line=line, array=array, thread=thread, block=block)
