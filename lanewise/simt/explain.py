"""The words of every error: plain data in, a `Finding` with its message out. Races are in explain_races.py; barriers, warps
and loops in explain_flow.py, remarks in remarks.py.

A message says what happened in the learner's terms (array, index, size, thread, block, line) and ends with one next step.
Nothing here looks at a machine or a kernel: the checks call these builders with keyword arguments. `count` is always the number of
merged events, the one that is described included.
"""

from __future__ import annotations

from .explain_flow import (  # noqa: F401  the checks reach every builder through this module
    absent_lane_value,
    async_copy,
    barrier_divergence,
    deadlock,
    named_barrier_deadlock,
    step_limit,
    trapped,
    warp_mask,
)
from .explain_races import race  # noqa: F401  the checks reach every builder through this module
from .finding import Finding
from .remarks import (  # noqa: F401  the checks reach every builder through this module
    aliased_shared,
    bank_conflict,
    divergence,
    index_wrapped,
    local_memory,
    same_value_write,
    unawaited_arrival,
    uncoalesced,
    unused_shared,
)
from .words import (
    NOUN,
    THIRD_PERSON,
    Dim3,
    also_numpy,
    at_line,
    element,
    index_value,
    plural,
    product,
    span,
    times,
    who,
)

# ---------------------------------------------------------------------------------------------- memory


def out_of_bounds(
    *,
    array: str,
    index: int,
    size: int,
    access: str,
    thread: Dim3,
    block: Dim3,
    line: int | None,
    space: str = "global",
    dims: tuple[int, ...] | None = None,
    shape: tuple[int, ...] | None = None,
    elements: int = 1,
    count: int = 1,
    first_index: int | None = None,
    last_index: int | None = None,
    next_step: str = "",
) -> Finding:
    """An access outside an array.

    `index` is the flat element index (negative: before the start), `size` the number of elements, `elements` how many one access touches
    (4 for a float4 of floats). `count` accesses were merged; they span `first_index`..`last_index` if both are given.
    `dims` as in `element`; `shape` is the NumPy shape of a global array. `space`: global, shared, local, constant, param.
    """
    first, last = (index, index) if first_index is None or last_index is None else (first_index, last_index)
    what = span(array, index, index + elements - 1, dims) if elements > 1 else element(array, index, dims)
    place = "" if space == "global" else f" ({space} memory)"
    text = f"out of bounds: {who(thread, block)} {THIRD_PERSON[access]} {what}{place}{at_line(line)}, but {array} has {_extent(size, dims, shape)}."
    if count > 1:
        text += f" {count} {NOUN[access]}s fall outside"
        text += f": {span(array, first, last, dims)}." if first != last else f", all at {element(array, first, dims)}."
    text += " " + (next_step or _bounds_step(index, size, access, space, elements))
    return Finding("out-of-bounds", "error", text, line=line, array=array, index=index_value(index, dims), thread=thread, block=block, count=count)


def _extent(size: int, dims: tuple[int, ...] | None, shape: tuple[int, ...] | None) -> str:
    if size == 0:
        return "no elements"
    many = dims if dims and len(dims) > 1 else shape if shape and len(shape) > 1 else None
    if many and dims is many:
        return f"{plural(size, 'element')}: {''.join(f'[{n}]' for n in many)}"
    if many:
        return f"{plural(size, 'element')} (shape {tuple(int(n) for n in many)})"
    return plural(size, "element")


def _bounds_step(index: int, size: int, access: str, space: str, elements: int) -> str:
    if index < 0:
        return "The index is negative: check what is subtracted from it, and guard the left edge."
    if elements > 1 and index < size:
        return f"A vector access takes {elements} elements at once: handle the last {size % elements or elements} one by one."
    if space in ("shared", "local", "constant"):
        return "Make the array as large as the largest index needs, or guard the access."
    return f"Guard the {NOUN[access]}, for example with if (i < n)."


def null_pointer(*, array: str | None, access: str, thread: Dim3, block: Dim3, line: int | None, offset: int = 0, count: int = 1) -> Finding:
    """An access through a null pointer; `offset` is the byte offset from it, `array` the parameter where it is known."""
    name = f"the null pointer {array}" if array else "a null pointer"
    beyond = f", {plural(offset, 'byte')} behind it" if offset else ""
    text = f"out of bounds: {who(thread, block)} {THIRD_PERSON[access]} through {name}{at_line(line)}{beyond}."
    text += times(count) + f" Test it before the {NOUN[access]}, or pass an array."
    return Finding("out-of-bounds", "error", text, line=line, array=array, thread=thread, block=block, count=count)


NEAR = 1 << 20  # bytes: a wild address farther from every array than this says nothing about them


def wild_pointer(
    *, address: int, access: str, thread: Dim3, block: Dim3, line: int | None, nearest: str | None = None, distance: int = 0, count: int = 1
) -> Finding:
    """An address that belongs to no array. `nearest` is the closest array and `distance` the bytes from its end (negative: before its start)."""
    text = f"out of bounds: {who(thread, block)} {THIRD_PERSON[access]} address {address:#x}{at_line(line)}, which belongs to no array."
    if nearest and abs(distance) < NEAR:
        side = f"{plural(distance, 'byte')} behind the end" if distance >= 0 else f"{plural(-distance, 'byte')} before the start"
        text += f" The nearest is {nearest}: the address lies {side} of it."
    text += times(count) + " Check the pointer arithmetic of that line."
    return Finding("out-of-bounds", "error", text, line=line, array=nearest, thread=thread, block=block, count=count)


def misaligned(
    *,
    array: str | None,
    index: int | None,
    access: str,
    thread: Dim3,
    block: Dim3,
    line: int | None,
    access_bytes: int,
    offset: int,
    element_bytes: int = 4,
    count: int = 1,
) -> Finding:
    """An address that isn't a multiple of the access's width. `offset`: its bytes from the array's start, or the address where there is no array."""
    if array is not None:
        where = f" at {element(array, index)}" if index is not None else f" in {array}"
        why = f"but {plural(offset, 'byte')} behind the start of {array} is no multiple of {access_bytes}"
        if offset % access_bytes == 0:  # so it is the start itself
            why = f"but {array} is a slice that starts at no multiple of {access_bytes} bytes"
    else:
        where, why = "", f"but the address {offset:#x} is no multiple of {access_bytes}"
    text = f"misaligned: {who(thread, block)} {THIRD_PERSON[access]} {plural(access_bytes, 'byte')} at once{where}{at_line(line)}, {why}." + times(count)
    if array is not None and offset % access_bytes == 0:
        text += " Pass a copy of the slice, or start it at another element."
    elif access_bytes > element_bytes:
        text += f" Start it at an index that is a multiple of {access_bytes // element_bytes}, or take the elements one by one."
    else:
        text += " Check the cast or the byte offset that the pointer comes from."
    return Finding("misaligned", "error", text, line=line, array=array, index=index, thread=thread, block=block, count=count)


def uninitialised_read(
    *,
    array: str,
    index: int,
    space: str,
    thread: Dim3,
    block: Dim3,
    line: int | None,
    dims: tuple[int, ...] | None = None,
    shape: tuple[int, ...] | None = None,
    access: str = "read",
    count: int = 1,
    elements: int = 1,
    first_index: int | None = None,
    last_index: int | None = None,
) -> Finding:
    """A read (or an atomic operation) of an element that nobody set.

    `space`: shared, local, global (an array passed through simt.Output). `elements`: how many elements of the array were read unset, in all.
    """
    what = element(array, index, dims)
    verb = "adds atomically to" if access == "atomic" else "reads"
    text = f"uninitialised read: {who(thread, block)} {verb} {what} ({'output' if space == 'global' else space}){at_line(line)}"
    text += f"{also_numpy(array, index, shape)}, but no thread has written it before."
    if elements > 1 and first_index is not None and last_index is not None:
        text += f" {elements} elements are read unset, in {span(array, first_index, last_index, dims)}."
    elif count > 1:
        text += f" {count} such reads."
    if space == "global":
        text += " Set the array before the launch, or write before reading."
    elif space == "local":
        text += f" Initialise {array} where it is declared."
    else:
        text += f" Fill all of {array} first (0 where there is no data; loop if there are more elements than threads), then __syncthreads()."
    return Finding("uninitialised-read", "error", text, line=line, array=array, index=index_value(index, dims), thread=thread, block=block, count=count)


def unwritten_output(
    *,
    array: str,
    first: int,
    last: int,
    count: int,
    size: int,
    grid: Dim3,
    block: Dim3,
    shape: tuple[int, ...] | None = None,
) -> Finding:
    """Elements of a simt.Output array that nobody wrote: `count` of them between the flat indices `first` and `last`; `size` is the array's."""
    if count == size:
        text = f"unwritten output: {array} ({plural(size, 'element')}) is written by nobody."
    elif last - first + 1 == count:
        text = f"unwritten output: {span(array, first, last)}{also_numpy(array, first, shape)} {'is' if count == 1 else 'are'} written by nobody."
    else:
        ends = f"the first {element(array, first)}{also_numpy(array, first, shape)}, the last {element(array, last)}{also_numpy(array, last, shape)}"
        text = f"unwritten output: {plural(count, 'element')} of {array} are written by nobody: {ends}."
    blocks, threads = product(grid), product(block)
    if count == size:
        text += " Check that the kernel stores its result, and the guard that may keep every thread from doing so."
    elif blocks * threads < size:
        text += (
            f" The grid has {plural(blocks * threads, 'thread')} ({plural(blocks, 'block')} of {threads}) for {size} elements. "
            f"If each thread writes one, it takes (n + {threads} - 1) // {threads} = {-(-size // threads)} blocks: n // {threads} rounds down."
        )
    else:
        text += f" Check the guard and the index of the store: which thread should write {'it' if count == 1 else 'them'}?"
    return Finding("unwritten-output", "error", text, array=array, index=first, count=count)
