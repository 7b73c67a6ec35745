"""The words of every remark: code that is right, but slow or probably not meant. Like explain.py, plain data in, a `Finding` out."""

from __future__ import annotations

from .finding import Finding, Party
from .words import NOUN, Dim3, at_line, element, index_value, per, plural, short, times, who


def same_value_write(
    *,
    array: str,
    index: int,
    space: str,
    line: int | None,
    thread: Dim3,
    block: Dim3,
    other_thread: Dim3,
    other_block: Dim3,
    dims: tuple[int, ...] | None = None,
    count: int = 1,
) -> Finding:
    """Several threads store the same value into one element: right, but usually not meant."""
    names = block != other_block
    text = (
        f"same-value write: {who(thread, block, names)} and {who(other_thread, other_block, names)} both store the same value into "
        f"{element(array, index, dims)} ({space}){at_line(line)}. The result is right whoever comes last"
    )
    text += f"; it happens {count} times" if count > 1 else ""
    text += ". Let one thread do it, and say so with an if."
    return Finding(
        "same-value-write",
        "remark",
        text,
        line=line,
        array=array,
        index=index_value(index, dims),
        thread=thread,
        block=block,
        other=Party(line, "write", other_thread, other_block),
        count=count,
    )


def uncoalesced(
    *, line: int | None, array: str | None, sectors: int, requests: int, ideal: float, access: str = "read", access_bytes: int = 4
) -> Finding:
    """A line of global memory accesses that touches far more 32-byte sectors than its lanes need. `ideal`: sectors a request if all were contiguous."""
    name = array or "global memory"
    text = (
        f"uncoalesced: the {NOUN[access]}s of {name}{at_line(line)} touch {per(sectors, requests)} sectors of 32 bytes a request "
        f"where {short(ideal)} would do ({plural(access_bytes, 'byte')} a lane). "
        "Let threadIdx.x follow the fastest dimension, so that neighbouring lanes touch neighbouring elements."
    )
    return Finding("uncoalesced", "remark", text, line=line, array=array, count=requests)


def bank_conflict(
    *, line: int | None, array: str | None, wavefronts: int, requests: int, ideal: float, access: str = "read", copied: bool = False
) -> Finding:
    """A line of shared memory accesses that needs several passes. `ideal`: wavefronts a request without conflicts; `copied`: tensor copies fill the array."""
    name = array or "shared memory"
    step = "Pad the rows by one element (s[32][33]), or change which lane takes which column."
    if copied:
        step = "A tensor copy can't pad rows: give its map a swizzle, and read 16-byte piece p of row r at p ^ r % 8 (128B), or change which lane takes what."
    text = (
        f"bank conflict: the {NOUN[access]}s of {name}{at_line(line)} take {per(wavefronts, requests)} passes a request where {short(ideal)} would do: "
        f"lanes of one warp want different words of one bank. {step}"
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
        f"local memory: {name} ({plural(bytes, 'byte')} a thread) lies in memory, not in registers, "
        f"because its index{at_line(line)} is only known at run time. "
        "Unroll the loop over it (#pragma unroll with constant bounds)."
    )
    return Finding("local-memory", "remark", text, line=line, array=array)


def unused_shared(
    *, array: str, index: int, elements: int, line: int | None, block: Dim3 | None = None, dims: tuple[int, ...] | None = None
) -> Finding:
    """Shared values that are written and never read (kind "unread-shared"): `elements` of them, the first at flat `index`, written on `line`."""
    which = f"{plural(elements, 'element')} of {array} (the first: {element(array, index, dims)})" if elements > 1 else element(array, index, dims)
    text = f"unread shared: {which} {'is' if elements == 1 else 'are'} written{at_line(line)} and never read."
    text += f" If {'it belongs' if elements == 1 else 'they belong'} to a sum, the sum lacks {'it' if elements == 1 else 'them'}: "
    text += "check the bounds and the strides of the reduction."
    return Finding("unread-shared", "remark", text, line=line, array=array, index=index_value(index, dims), block=block, count=elements)


def unawaited_arrival(*, line: int | None, thread: Dim3, block: Dim3, barrier: int, count: int) -> Finding:
    """A bar.arrive at a number at which no instruction of the kernel waits (kind "unawaited-arrival"). `count`: threads it names."""
    text = f"unawaited arrival: {who(thread, block)} arrives at barrier {barrier} for {plural(count, 'thread')}{at_line(line)}, and nothing in the kernel "
    text += f"waits at that number. Let those who need what was done before wait there (bar.sync {barrier}, {count}), or leave the arrival out."
    return Finding("unawaited-arrival", "remark", text, line=line, thread=thread, block=block)


def aliased_shared(*, arrays: tuple[str, ...], line: int | None) -> Finding:
    """Several `extern __shared__` arrays: all start at the same address (kind "aliased-shared")."""
    names = " and ".join([", ".join(arrays[:-1]), arrays[-1]]) if len(arrays) > 1 else arrays[0]
    text = f"aliased shared: the extern __shared__ arrays {names} start at the same address. Declare one array and give the others an offset into it."
    return Finding("aliased-shared", "remark", text, line=line, array=arrays[0])


def index_wrapped(*, line: int | None, thread: Dim3, block: Dim3, array: str | None = None, value: int | None = None, count: int = 1) -> Finding:
    """A 32-bit index whose product or sum left the range of int (kind "index-wrapped"). `value`: the mathematical result."""
    name = f"the index of {array}" if array else "an index"
    amount = f" {value} does not fit into 32 bits:" if value is not None else ""
    text = f"index wrapped:{amount} {name}{at_line(line)} is computed as int in {who(thread, block)} and wraps around." + times(count)
    text += " Compute it as long long (or size_t), from the first factor on."
    return Finding("index-wrapped", "remark", text, line=line, array=array, thread=thread, block=block, count=count)
