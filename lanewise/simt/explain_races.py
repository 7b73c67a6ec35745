"""The words of races within a block and between blocks. See explain.py; races with copies are in explain_async.py, those of clusters in explain_cluster.py."""

from __future__ import annotations

from .finding import Finding, Party
from .words import NOUN, THIRD_PERSON, Dim3, element, index_value, who


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
    copied: bool = False,
    count: int = 1,
) -> Finding:
    """Two accesses to one element without order; the other party's access came first.

    `index`: flat element index. `space`: shared or global. `read_and_written`: both threads read the element and write it back
    (`s += 1`), so only an atomic helps. `uses_atomics`: the kernel has atomics (a flag or a lock), so a fence may be what is missing.
    `copied`: the other party's write is an asynchronous copy, over for that thread when it has waited.
    """
    what = element(array, index, dims)
    one_block, one_line = block == other_block, line == other_line
    names = space != "shared" or block != (0, 0, 0)
    where = "the same line" if one_line else f"line {other_line}"
    head = f"race on {what} ({space}{f', line {line}' if line else ''}): "
    first = who(thread, block, names)
    second = who(other_thread, other_block, names and not (one_block and space == "shared"))
    text = head + f"{first} {_does(access)} while {second} {_does(other_access)}{f' on {where}' if other_line else ''}, and "
    text += _what_lacks(space, one_block, same_warp, access, other_access)
    if copied:  # a barrier before the wait orders nothing
        text = text.removesuffix(".") + " that thread's wait for its copy and this."
    if count > 1:
        text += f" {count} such pairs."
    if copied:
        text += f" Put it behind the wait{f', before line {line}' if line else ''}."
    else:
        text += " " + _race_step(array, line, access, other_line, other_access, one_block, same_warp, read_and_written, uses_atomics)
    return Finding(
        "race",
        "error",
        text,
        line=line,
        array=array,
        index=index_value(index, dims),
        thread=thread,
        block=block,
        other=Party(other_line, other_access, other_thread, other_block),
        count=count,
    )


def _does(access: str) -> str:
    return "updates it atomically" if access == "atomic" else f"{THIRD_PERSON[access]} it"


def _what_lacks(space: str, one_block: bool, same_warp: bool, access: str, other: str) -> str:
    if not one_block:
        return "nothing orders two blocks of one launch."
    if same_warp:
        return "no __syncwarp() stands between."
    return "no __syncthreads() stands between."


def _race_step(
    array: str,
    line: int | None,
    access: str,
    other_line: int | None,
    other: str,
    one_block: bool,
    same_warp: bool,
    read_and_written: bool,
    uses_atomics: bool,
) -> str:
    barrier = "__syncwarp()" if same_warp else "__syncthreads()"
    if "atomic" in (access, other):
        plain = NOUN[other if access == "atomic" else access]
        if one_block:
            return f"Put a {barrier} between the two, or make the plain {plain} atomic too."
        return f"Make the plain {plain} atomic too, or move it into a later launch."
    if read_and_written and uses_atomics:
        return "Use an atomic; if a lock guards the line, put __threadfence() after taking it and before releasing it."
    if read_and_written:
        return "Reading, changing and writing back are separate steps: use atomicAdd (or another atomic)."
    if not one_block:
        if uses_atomics:
            return "Publish the data with __threadfence() before the atomic that announces it, and again after the atomic that sees it."
        return "Give each block its own elements, use an atomic, or read in a second launch."
    if line == other_line and line is not None:
        if access == other == "write":
            return "Let one thread write it, or use an atomic."
        return f"Read into a variable first, then {barrier}, and write after it."
    if other_line is None:
        return f"Put a {barrier} between the two accesses."
    if line is not None and other_line > line:  # the earlier access stands below: a loop leads back
        return f"Put one after line {other_line}, before the loop comes back to line {line}."
    return f"Put one after line {other_line}."
