"""The words of every finding: plain data in, a `Finding` with its message out.

A message says what happened in the learner's terms (array, index, size, thread, block, line) and ends with one next step.
Nothing here looks at a machine or a kernel: the checks call these builders with keyword arguments. `count` is always the number of
merged events, the one that is described included.
"""

from __future__ import annotations

from dataclasses import dataclass

from .finding import Finding

Dim3 = tuple[int, int, int]

_THIRD_PERSON = {"read": "reads", "write": "writes", "atomic": "updates atomically"}
_NOUN = {"read": "read", "write": "write", "atomic": "atomic operation"}


@dataclass(frozen=True, slots=True)
class Party:
    """The second access of a race: `Finding.other`. `access` is "read", "write" or "atomic"."""

    line: int | None
    access: str
    thread: Dim3
    block: Dim3


# ---------------------------------------------------------------------------------------------- words


def element(array: str, index: int, dims: tuple[int, ...] | None = None) -> str:
    """A flat element index as the source would write it.

    `dims` are the declared dimensions: None for a pointer (one flat subscript), () for a variable that is no array, (8, 9) for `s[8][9]`.
    An index outside keeps counting in the first dimension, so `s[8][0]` is the first element behind `s[8][9]`.
    """
    if dims == () and index == 0:
        return array
    if not dims or len(dims) == 1 or index < 0:
        return f"{array}[{index}]"
    return array + "".join(f"[{i}]" for i in unravel(index, dims))


def unravel(index: int, dims: tuple[int, ...]) -> tuple[int, ...]:
    """A flat index (≥ 0) by dimension, last one fastest; what exceeds the dims stays in the first."""
    parts = []
    for size in reversed(dims[1:]):
        index, rest = divmod(index, max(size, 1))
        parts.append(rest)
    return (index, *reversed(parts))


def at_line(line: int | None) -> str:
    """" on line 7", or nothing where the line isn't known."""
    return f" on line {line}" if line else ""


def tuple_text(xyz: Dim3) -> str:
    return f"({','.join(str(int(i)) for i in xyz)})"


def plural(count: int, word: str) -> str:
    """"1 element", "12 elements"."""
    return f"{count} {word}" if count == 1 else f"{count} {_plural_word(word)}"


def _plural_word(word: str) -> str:
    if word.endswith(("ss", "sh", "ch", "x")):
        return word + "es"
    return word + "s"


def _who(thread: Dim3, block: Dim3, name_block: bool = True) -> str:
    text = f"thread {tuple_text(thread)}"
    return f"{text} of block {tuple_text(block)}" if name_block else text


def _index_value(index: int, dims: tuple[int, ...] | None) -> int | tuple[int, ...]:
    return unravel(index, dims) if dims and len(dims) > 1 and index >= 0 else index


def _span(array: str, first: int, last: int, dims: tuple[int, ...] | None = None) -> str:
    """y[10..15]; for several dimensions both corners."""
    if first == last:
        return element(array, first, dims)
    if dims and len(dims) > 1 and first >= 0:
        return f"{element(array, first, dims)}..{element(array, last, dims).removeprefix(array)}"
    return f"{array}[{first}..{last}]"


def _also_numpy(array: str, index: int, shape: tuple[int, ...] | None) -> str:
    """The NumPy index beside the flat one, where the argument has several dimensions: " (that is C[1, 2])"."""
    if not shape or len(shape) < 2:
        return ""
    size = 1
    for n in shape:
        size *= n
    return f" (that is {array}[{', '.join(str(i) for i in unravel(index, shape))}])" if 0 <= index < size else ""


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
    what = _span(array, index, index + elements - 1, dims) if elements > 1 else element(array, index, dims)
    place = "" if space == "global" else f" ({space} memory)"
    text = f"out of bounds: {_who(thread, block)} {_THIRD_PERSON[access]} {what}{place}{at_line(line)}, but {array} has {_extent(size, dims, shape)}."
    if count > 1:
        text += f" {count} {_NOUN[access]}s fall outside"
        text += f": {_span(array, first, last, dims)}." if first != last else f", all at {element(array, first, dims)}."
    text += " " + (next_step or _bounds_step(index, size, access, space, elements))
    return Finding(
        "out-of-bounds", "error", text, line=line, array=array, index=_index_value(index, dims), thread=thread, block=block, count=count
    )


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
    return f"Guard the {_NOUN[access]}, for example with if (i < n)."


def null_pointer(*, array: str | None, access: str, thread: Dim3, block: Dim3, line: int | None, offset: int = 0, count: int = 1) -> Finding:
    """An access through a null pointer; `offset` is the byte offset from it, `array` the parameter where it is known."""
    name = f"the null pointer {array}" if array else "a null pointer"
    beyond = f", {plural(offset, 'byte')} behind it" if offset else ""
    text = f"out of bounds: {_who(thread, block)} {_THIRD_PERSON[access]} through {name}{at_line(line)}{beyond}."
    text += _times(count) + f" Test it before the {_NOUN[access]}, or pass an array."
    return Finding("out-of-bounds", "error", text, line=line, array=array, thread=thread, block=block, count=count)


def wild_pointer(*, address: int, access: str, thread: Dim3, block: Dim3, line: int | None, nearest: str | None = None, distance: int = 0, count: int = 1) -> Finding:
    """An address that belongs to no array. `nearest` is the closest array and `distance` the bytes from its end (negative: before its start)."""
    text = f"out of bounds: {_who(thread, block)} {_THIRD_PERSON[access]} address {address:#x}{at_line(line)}, which belongs to no array."
    if nearest:
        side = f"{plural(distance, 'byte')} behind the end" if distance >= 0 else f"{plural(-distance, 'byte')} before the start"
        text += f" The nearest is {nearest}: the address lies {side} of it."
    text += _times(count) + " Check the pointer arithmetic of that line."
    return Finding("out-of-bounds", "error", text, line=line, array=nearest, thread=thread, block=block, count=count)


def _times(count: int) -> str:
    return f" It happens {count} times." if count > 1 else ""


def misaligned(
    *, array: str | None, index: int | None, access: str, thread: Dim3, block: Dim3, line: int | None, access_bytes: int, offset: int, space: str = "global", count: int = 1
) -> Finding:
    """An address that isn't a multiple of the access's width. `offset` is the byte offset in the array (or the address itself without array)."""
    where = f"at {element(array, index)}" if array is not None and index is not None else f"at {array}" if array else "there"
    text = (
        f"misaligned: {_who(thread, block)} {_THIRD_PERSON[access]} {plural(access_bytes, 'byte')} {where}{at_line(line)}, "
        f"but the address, {plural(offset, 'byte')} {'behind the start of ' + array if array else 'in all'}, is no multiple of {access_bytes}."
    )
    text += _times(count)
    lanes = {8: "float2", 16: "float4"}.get(access_bytes)
    text += f" Start a {lanes} at an index that is a multiple of {access_bytes // 4} floats." if lanes else " Use a smaller access, or align the data."
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
    text = f"uninitialised read: {_who(thread, block)} {verb} {what} ({'output' if space == 'global' else space}){at_line(line)}"
    text += f"{_also_numpy(array, index, shape)}, but no thread has written it before."
    if elements > 1 and first_index is not None and last_index is not None:
        text += f" {elements} elements are read unset, in {_span(array, first_index, last_index, dims)}."
    elif count > 1:
        text += f" {count} such reads."
    if space == "global":
        text += " Set the array before the launch, or write before reading."
    elif space == "local":
        text += f" Initialise {array} where it is declared."
    else:
        text += f" Fill all of {array} first (0 where there is no data; loop if there are more elements than threads), then __syncthreads()."
    return Finding(
        "uninitialised-read", "error", text, line=line, array=array, index=_index_value(index, dims), thread=thread, block=block, count=count
    )


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
    contiguous = last - first + 1 == count
    which = _span(array, first, last) if contiguous else f"{plural(count, 'element')} of {array}, the first {element(array, first)} and the last {element(array, last)},"
    verb = "is" if contiguous and count == 1 else "are" if contiguous or count > 1 else "is"
    if count == size:
        which, verb = f"{array} ({plural(size, 'element')})", "is"
    text = f"unwritten output: {which}{_also_numpy(array, first, shape) if count < size else ''} {verb} written by nobody."
    blocks, threads = _product(grid), _product(block)
    if blocks * threads < size and count < size:
        text += (
            f" The grid has {blocks * threads} threads ({plural(blocks, 'block')} of {threads}) for {size} elements. If each thread writes one, "
            f"it takes (n + {threads} - 1) // {threads} = {-(-size // threads)} blocks: n // {threads} rounds down."
        )
    elif count == size:
        text += " Check that the kernel stores its result, and the guard that may keep every thread from doing so."
    else:
        text += " Check the guard and the index of the store: which thread should write them?" if count > 1 else " Check the guard and the index of the store: which thread should write it?"
    return Finding("unwritten-output", "error", text, array=array, index=first, count=count)


def _product(dims: tuple[int, ...]) -> int:
    total = 1
    for n in dims:
        total *= int(n)
    return total


# ---------------------------------------------------------------------------------------------- races


def race(
    *,
    array: str,
    index: int,
    space: str,
    line: int | None,
    access: str,
    thread: Dim3,
    block: Dim3,
    other_line: int | None,
    other_access: str,
    other_thread: Dim3,
    other_block: Dim3,
    same_warp: bool = False,
    dims: tuple[int, ...] | None = None,
    read_and_written: bool = False,
    uses_atomics: bool = False,
    count: int = 1,
) -> Finding:
    """Two accesses to one element without order; the other party's access came first.

    `index`: flat element index. `space`: shared or global. `read_and_written`: both threads read the element and write it back
    (`s += 1`), so only an atomic helps. `uses_atomics`: the kernel has atomics (a flag or a lock), so a fence may be what is missing.
    """
    what = element(array, index, dims)
    one_block, one_line = block == other_block, line == other_line
    names = space != "shared" or block != (0, 0, 0)
    where = "the same line" if one_line else f"line {other_line}"
    head = f"race on {what} ({space}{f', line {line}' if line else ''}): "
    first = _who(thread, block, names)
    second = _who(other_thread, other_block, names and not (one_block and space == "shared"))
    text = head + f"{first} {_does(access)} while {second} {_does(other_access)}{f' on {where}' if other_line else ''}, and "
    text += _what_lacks(space, one_block, same_warp, access, other_access)
    if count > 1:
        text += f" {count} such pairs."
    text += " " + _race_step(array, line, access, other_line, other_access, one_block, same_warp, read_and_written, uses_atomics)
    return Finding(
        "race",
        "error",
        text,
        line=line,
        array=array,
        index=_index_value(index, dims),
        thread=thread,
        block=block,
        other=Party(other_line, other_access, other_thread, other_block),
        count=count,
    )


def _does(access: str) -> str:
    return "updates it atomically" if access == "atomic" else f"{_THIRD_PERSON[access]} it"


def _what_lacks(space: str, one_block: bool, same_warp: bool, access: str, other: str) -> str:
    if not one_block:
        return "nothing orders two blocks of one launch."
    if same_warp:
        return "no __syncwarp() stands between."
    return "no __syncthreads() stands between."


def _race_step(
    array: str, line: int | None, access: str, other_line: int | None, other: str, one_block: bool, same_warp: bool, read_and_written: bool, uses_atomics: bool
) -> str:
    barrier = "__syncwarp()" if same_warp else "__syncthreads()"
    if read_and_written:
        return "Reading, changing and writing back are separate steps: use atomicAdd (or another atomic)."
    if "atomic" in (access, other) and not one_block:
        return f"Make the plain {_NOUN[other if access == 'atomic' else access]} atomic too, or move it into a later launch."
    if not one_block:
        if uses_atomics:
            return "Publish the data with __threadfence() before the atomic that announces it, and again after the atomic that sees it."
        return "Give each block its own elements, use an atomic, or read in a second launch."
    if line == other_line and line is not None:
        if access == other == "write":
            return "Let one thread write it, or use an atomic."
        return f"Read into a variable first, then {barrier}, and write after it."
    return f"Put one after line {other_line}." if other_line else f"Put a {barrier} between the two accesses."


def same_value_write(
    *, array: str, index: int, space: str, line: int | None, thread: Dim3, block: Dim3, other_thread: Dim3, other_block: Dim3, dims: tuple[int, ...] | None = None, count: int = 1
) -> Finding:
    """Several threads store the same value into one element: right, but usually not meant."""
    names = block != other_block
    text = (
        f"{_who(thread, block, names)} and {_who(other_thread, other_block, names)} both store the same value into {element(array, index, dims)} "
        f"({space}){at_line(line)}. The result is right whoever comes last"
    )
    text += f"; {plural(count, 'element')} in all" if count > 1 else ""
    text += ". Let one thread do it, and say so with an if."
    return Finding(
        "same-value-write",
        "remark",
        text,
        line=line,
        array=array,
        index=_index_value(index, dims),
        thread=thread,
        block=block,
        other=Party(line, "write", other_thread, other_block),
        count=count,
    )


# ---------------------------------------------------------------------------------------------- barriers, warps, progress


def thread_ranges(threads: list[int], limit: int = 4) -> str:
    """Linear thread numbers in words: "threads 0..31", "threads 0..15, 32..47", "thread 5"."""
    numbers = sorted(set(int(t) for t in threads))
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    shown = [f"{a}" if a == b else f"{a}..{b}" for a, b in runs[:limit]]
    more = f" and {len(runs) - limit} more groups" if len(runs) > limit else ""
    return ("thread " if len(numbers) == 1 else "threads ") + ", ".join(shown) + more


def barrier_divergence(
    *, lines: list[int | None], threads: list[list[int]], block: Dim3, thread: Dim3 | None = None, left: list[int] | None = None, left_line: int | None = None
) -> Finding:
    """Threads of one block wait at different barriers, or some never come.

    `lines[i]` is the line of a barrier and `threads[i]` the linear numbers of those who wait there; `left` are the threads that wait at none
    (they have ended, or are elsewhere, on `left_line` if that is known).
    """
    groups = [f"{thread_ranges(group)} wait at the barrier{at_line(line)}" if len(group) > 1 else f"{thread_ranges(group)} waits at the barrier{at_line(line)}"
              for line, group in zip(lines, threads, strict=True)]  # fmt: skip
    if left:
        ending = f"are on line {left_line}" if left_line else "have ended"
        if len(left) == 1:
            ending = ending.replace("are on", "is on").replace("have", "has")
        groups.append(f"{thread_ranges(left)} {ending} without reaching it")
    text = f"barrier divergence in block {tuple_text(block)}: " + ", ".join(groups) + "."
    text += " Every thread of the block must reach the same __syncthreads(): put one behind the if, not inside it."
    return Finding("barrier-divergence", "error", text, line=lines[0] if lines else None, thread=thread, block=block, count=1)


def deadlock(*, line: int | None, threads: list[int], block: Dim3, waits_for: str, next_step: str, thread: Dim3 | None = None) -> Finding:
    """Nobody can go on. `threads` (linear numbers) wait on `line` for `waits_for`, a phrase such as "64 threads at barrier 1, but only 32 come"."""
    verb = "waits" if len(set(threads)) == 1 else "wait"
    text = f"deadlock in block {tuple_text(block)}: {thread_ranges(threads)} {verb}{at_line(line)} for {waits_for}, and nobody is left to go on. {next_step}"
    return Finding("deadlock", "error", text, line=line, thread=thread, block=block)


def named_barrier_deadlock(*, line: int | None, threads: list[int], block: Dim3, barrier: int, expected: int, arrived: int, thread: Dim3 | None = None) -> Finding:
    """A numbered barrier whose count isn't reached."""
    waits_for = f"{expected} threads at barrier {barrier}, of which {arrived} came"
    return deadlock(
        line=line, threads=threads, block=block, thread=thread, waits_for=waits_for, next_step="Make the count of the barrier equal to the number of threads that reach it."
    )


def step_limit(*, line: int | None, steps: int, thread: Dim3 | None = None, block: Dim3 | None = None, unchanged: bool = False) -> Finding:
    """A loop that doesn't end. `steps` basic blocks were executed; `unchanged`: the thread repeats the same state, so it would never end."""
    who = f"{_who(thread, block)} is" if thread is not None and block is not None else "the kernel is"
    text = f"step limit: {who} still running{at_line(line)} after {plural(steps, 'step')}"
    text += ", and nothing that its loop looks at changes any more." if unchanged else "."
    text += " Check the condition that ends the loop" + (" and who should change it." if unchanged else ", or raise max_steps if it needs so many.")
    return Finding("step-limit", "error", text, line=line, thread=thread, block=block)


def warp_mask(
    *, line: int | None, thread: Dim3, block: Dim3, operation: str, mask: int, active: int, next_step: str = "", count: int = 1
) -> Finding:
    """A warp operation whose mask names lanes that don't take part. `operation` as in the source: "__ballot_sync"; `active`: lanes that do."""
    absent = mask & ~active
    text = f"warp mask: {_who(thread, block)} calls {operation} with mask {mask:#010x}{at_line(line)}"
    if absent:
        text += f", but {_lanes(absent)} of the warp {'does' if absent & (absent - 1) == 0 else 'do'} not come along."
    else:
        text += f", but its own lane is not in the mask (lanes there: {active & 0xFFFFFFFF:#010x})."
    text += _times(count)
    text += " " + (next_step or "Call it outside the branch, or pass the mask of the lanes that take part (from __ballot_sync before the branch).")
    return Finding("warp-mask", "error", text, line=line, thread=thread, block=block, count=count)


def absent_lane_value(
    *, line: int | None, thread: Dim3, block: Dim3, operation: str, lane: int, used_line: int | None, exists: bool = True, count: int = 1
) -> Finding:
    """A value that was shuffled from a lane that takes no part, or isn't there (`exists` False), and then used on `used_line`."""
    why = "takes no part in it" if exists else "isn't there: the block ends before it"
    text = f"warp mask: {_who(thread, block)} takes a value from lane {lane} by {operation}{at_line(line)}, but that lane {why}. "
    text += f"The value is undefined, and it is used{at_line(used_line)}." + _times(count)
    text += " Use it only where the source lane takes part, or replace it by the neutral element."
    return Finding("warp-mask", "error", text, line=line, thread=thread, block=block, count=count)


def _lanes(mask: int) -> str:
    return thread_ranges([i for i in range(32) if mask >> i & 1]).replace("threads", "lanes").replace("thread", "lane")


def async_copy(
    *, array: str, index: int, thread: Dim3, block: Dim3, line: int | None, copy_line: int | None, access: str = "read", space: str = "shared",
    dims: tuple[int, ...] | None = None, waited: bool = False, count: int = 1,
) -> Finding:  # fmt: skip
    """An element touched while an asynchronous copy into it is under way. `waited`: a wait came, but it left this group pending."""
    text = f"async copy: {_who(thread, block)} {_THIRD_PERSON[access]} {element(array, index, dims)} ({space}){at_line(line)} "
    text += f"while the asynchronous copy{at_line(copy_line)} into it is not finished." + _times(count)
    if waited:
        text += " The wait before it allows this group to stay pending: wait for one group less, then __syncthreads()."
    else:
        text += " Wait for the copy first (cp.async.wait_group or __pipeline_wait_prior), then __syncthreads()."
    return Finding("async-copy", "error", text, line=line, array=array, index=_index_value(index, dims), thread=thread, block=block, count=count)


def trapped(*, line: int | None, thread: Dim3, block: Dim3, assertion: str = "", count: int = 1) -> Finding:
    """`assert` failed or `__trap` ran: kind "trap". `assertion` is the text of the condition."""
    cause = f"the assertion {assertion} fails" if assertion else "__trap() is called"
    text = f"trap: {cause}{at_line(line)} in {_who(thread, block)}, and the kernel stops there." + _times(count)
    text += " Find out why the condition does not hold for that thread." if assertion else " Find out what led that thread there."
    return Finding("trap", "error", text, line=line, thread=thread, block=block, count=count)


# ---------------------------------------------------------------------------------------------- remarks


def uncoalesced(*, line: int | None, array: str | None, sectors: int, requests: int, ideal: float, access: str = "read", access_bytes: int = 4) -> Finding:
    """A line of global memory accesses that touches far more 32-byte sectors than its lanes need. `ideal`: sectors a request if all were contiguous."""
    name = array or "global memory"
    text = (
        f"uncoalesced: the {_NOUN[access]}s of {name}{at_line(line)} touch {_per(sectors, requests)} 32-byte sectors a request "
        f"where {_short(ideal)} would do ({plural(access_bytes, 'byte')} a lane). "
        "Let threadIdx.x follow the fastest dimension, so that neighbouring lanes touch neighbouring elements."
    )
    return Finding("uncoalesced", "remark", text, line=line, array=array, count=requests)


def bank_conflict(*, line: int | None, array: str | None, wavefronts: int, requests: int, ideal: float, access: str = "read") -> Finding:
    """A line of shared memory accesses that needs several passes. `ideal`: wavefronts a request without conflicts."""
    name = array or "shared memory"
    text = (
        f"bank conflict: the {_NOUN[access]}s of {name}{at_line(line)} take {_per(wavefronts, requests)} passes a request where {_short(ideal)} would do: "
        "lanes of one warp want different words of one bank. Pad the rows by one element (s[32][33]), or change which lane takes which column."
    )
    return Finding("bank-conflict", "remark", text, line=line, array=array, count=requests)


def divergence(*, line: int | None, ratio: float, warps: int = 0) -> Finding:
    """A branch that splits warps. `ratio`: lanes active on average after it, of all; `warps`: how many warps split."""
    split = f"{plural(warps, 'warp')} {'splits' if warps == 1 else 'split'} at the branch" if warps else "warps split at the branch"
    text = (
        f"divergence: {split}{at_line(line)}, and both sides run one after the other: on average {32 * ratio:.1f} of 32 lanes work. "
        "Let whole warps take the same side, for example by deciding on threadIdx.x / 32."
    )
    return Finding("divergence", "remark", text, line=line, count=max(warps, 1))


def local_memory(*, line: int | None, bytes: int, array: str | None = None) -> Finding:
    """An array of the thread that lives in memory instead of registers. `bytes` a thread."""
    name = f"the array {array}" if array else "an array of the thread"
    text = (
        f"local memory: {name} ({plural(bytes, 'byte')} a thread) lies in memory, not in registers, because its index is only known at run time{at_line(line)}. "
        "Unroll the loop over it (#pragma unroll with constant bounds)."
    )
    return Finding("local-memory", "remark", text, line=line, array=array)


def unused_shared(*, array: str, index: int, elements: int, line: int | None, block: Dim3 | None = None, dims: tuple[int, ...] | None = None) -> Finding:
    """Shared values that are written and never read (kind "unread-shared"): `elements` of them, the first at flat `index`, written on `line`."""
    which = f"{plural(elements, 'element')} of {array} (the first: {element(array, index, dims)})" if elements > 1 else element(array, index, dims)
    text = f"unread shared: {which} {'is' if elements == 1 else 'are'} written{at_line(line)} and never read."
    text += " If they belong to a sum, it drops them: check the bounds and the first stride of the reduction."
    return Finding("unread-shared", "remark", text, line=line, array=array, index=_index_value(index, dims), block=block, count=elements)


def aliased_shared(*, arrays: tuple[str, ...], line: int | None) -> Finding:
    """Several `extern __shared__` arrays: all start at the same address (kind "aliased-shared")."""
    names = " and ".join([", ".join(arrays[:-1]), arrays[-1]]) if len(arrays) > 1 else arrays[0]
    text = f"aliased shared: the extern __shared__ arrays {names} start at the same address. Declare one array and give the others an offset into it."
    return Finding("aliased-shared", "remark", text, line=line, array=arrays[0])


def index_wrapped(*, line: int | None, thread: Dim3, block: Dim3, array: str | None = None, value: int | None = None, count: int = 1) -> Finding:
    """A 32-bit index whose product or sum left the range of int (kind "index-wrapped"). `value`: the mathematical result."""
    name = f"the index of {array}" if array else "an index"
    amount = f" {value} does not fit into 32 bits:" if value is not None else ""
    text = f"index wrapped:{amount} {name}{at_line(line)} is computed as int in {_who(thread, block)} and wraps around." + _times(count)
    text += " Compute it as long long (or size_t), from the first factor on."
    return Finding("index-wrapped", "remark", text, line=line, array=array, thread=thread, block=block, count=count)


def _per(amount: int, requests: int) -> str:
    return _short(amount / requests) if requests else "0"


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
