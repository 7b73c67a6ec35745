"""The words of errors around wgmma: descriptors, registers and matrices of products that are under way. See explain.py."""

from __future__ import annotations

from .finding import Finding
from .words import Dim3, at_line, element, index_value, plural, span, thread_ranges, times, tuple_text, who


def incomplete_warpgroup(
    *, line: int | None, operation: str, threads: list[int], block: Dim3, thread: Dim3, exists: bool = True, left: bool = False
) -> Finding:
    """Only `threads` (linear numbers) of a warpgroup execute an instruction that all of it must. `exists`: the block has the others; they have `left`."""
    first = threads[0] // 128 * 128
    text = f"barrier divergence in block {tuple_text(block)}: {operation}{at_line(line)} is for all 128 threads of a warpgroup ({first}..{first + 127}), "
    if exists:
        text += f"but only {thread_ranges(threads)} {'comes' if len(threads) == 1 else 'come'} to it{': the others have ended' if left else ''}. "
        text += "Let the condition around it be the same for the four warps."
    else:
        text += "and the block ends before that. Launch a multiple of 128 threads."
    return Finding("barrier-divergence", "error", text, line=line, thread=thread, block=block)


def accumulator_used(
    *, line: int | None, product_line: int | None, number: int | None, thread: Dim3, block: Dim3, committed: bool, waited: bool, shape: bool, count: int = 1
) -> Finding:
    """A register of D used before its product has ended.

    `number`: its place in the register list of the wgmma. `waited`: a wait came, but left its group pending; `shape`: it is another product of
    another shape that adds to it.
    """
    use = "adds to" if shape else "uses"
    what = f"accumulator {number}" if number is not None else "a copy of an accumulator"
    text = f"async copy: {who(thread, block)} {use} {what}{at_line(line)} while the wgmma{at_line(product_line)} "
    text += "that writes it is not finished." + times(count) + _wait_first(committed, waited, "use")
    return Finding("async-copy", "error", text, line=line, thread=thread, block=block, count=count)


def factor_changed(
    *, line: int | None, product_line: int | None, number: int | None, thread: Dim3, block: Dim3, committed: bool, waited: bool, count: int = 1
) -> Finding:
    """A register of A written before the product that reads it has ended (PTX ISA 9.7.15.7.1). `number`: its place among A's."""
    what = f"register {number} of A" if number is not None else "a register of A"
    text = f"async copy: {who(thread, block)} changes {what}{at_line(line)} while the wgmma{at_line(product_line)} "
    text += "may still read it." + times(count) + _wait_first(committed, waited, "change")
    return Finding("async-copy", "error", text, line=line, thread=thread, block=block, count=count)


def _wait_first(committed: bool, waited: bool, before: str) -> str:
    if not committed:
        return " It was never committed: wgmma.commit_group, then wgmma.wait_group 0."
    if waited:
        return " The wait before it allows this group to stay pending: wait for one group less."
    return f" Put wgmma.wait_group before the {before}."


def accumulators_unset(*, line: int | None, thread: Dim3, block: Dim3) -> Finding:
    """A product adds to registers that hold anything."""
    text = f"uninitialised read: the wgmma{at_line(line)} of {who(thread, block)} adds to accumulators that nobody has set. "
    text += "Set them to 0 before wgmma.fence, or let the first product overwrite them (scale-d false)."
    return Finding("uninitialised-read", "error", text, line=line, thread=thread, block=block)


def missing_wgmma_fence(*, line: int | None, thread: Dim3, block: Dim3, first: bool) -> Finding:
    """Registers that ordinary instructions wrote or read go into a product that no wgmma.fence stands before."""
    why = "no wgmma.fence has come yet" if first else "its registers were used since the last wgmma.fence"
    text = f"async copy: {who(thread, block)} begins a wgmma{at_line(line)}, but {why}. Put wgmma.fence.sync.aligned before the first wgmma of each group."
    return Finding("async-copy", "error", text, line=line, thread=thread, block=block)


def descriptor_outside(
    *, line: int | None, operand: str, array: str | None, first: int, last: int, size: int, dims: tuple[int, ...] | None, thread: Dim3, block: Dim3, form: str
) -> Finding:
    """A descriptor whose matrix reaches beyond a shared array. `first`, `last`: elements it spans; `form`: what the descriptor says, in words."""
    if array is None:
        text = f"out of bounds: the descriptor of {operand}{at_line(line)} ({form}) of {who(thread, block)} points at no shared array. "
        text += "Its start is the shared address (from __cvta_generic_to_shared) divided by 16."
        return Finding("out-of-bounds", "error", text, line=line, thread=thread, block=block)
    text = f"out of bounds: the matrix {operand} of the wgmma{at_line(line)} spans {span(array, first, last, dims)} (shared memory), but {array} has "
    text += f"{plural(size, 'element')}. The descriptor says {form}, in {who(thread, block)}: check the offsets and which dimension is contiguous."
    return Finding("out-of-bounds", "error", text, line=line, array=array, index=index_value(last, dims), thread=thread, block=block)


def descriptor_misaligned(
    *, line: int | None, operand: str, array: str, index: int, dims: tuple[int, ...] | None, span: int, late: int, base: int, thread: Dim3, block: Dim3
) -> Finding:
    """A swizzled matrix that begins `late` bytes behind the swizzle's pattern: an error where the base offset says something else, a remark where it is 0.

    With a base offset of 0 the pattern goes by the address alone, as a tensor copy writes it (measured on an H200).
    """
    kind, severity = ("misaligned", "error") if base else ("swizzle-alignment", "remark")
    text = f"{kind.replace('-', ' ')}: the matrix {operand} of the wgmma{at_line(line)} begins at {element(array, index, dims)}, "
    text += f"{plural(late, 'byte')} behind a multiple of {8 * span}, " if late else ""
    text += f"where the pattern of the {span}-byte swizzle begins; the descriptor's base offset is {base} ({who(thread, block)}). "
    if not late:
        text += "Let it be 0."
    else:
        text += f"Align the tile to {8 * span} bytes" + (", or say the row of the pattern in the base offset." if base else ".")
    if not base:
        text += " Tensor copies write such a tile so that wgmma reads it right; a swizzle by rows counted from the tile's start is wrong."
    return Finding(kind, severity, text, line=line, array=array, index=index_value(index, dims), thread=thread, block=block)


def descriptors_differ(*, line: int | None, operand: str, thread: Dim3, block: Dim3) -> Finding:
    """The lanes of a warpgroup bring different descriptors."""
    text = f"warp mask: the descriptor of {operand} of the wgmma{at_line(line)} is not the same in all 128 threads of the warpgroup of {who(thread, block)}. "
    text += "Compute it from values that all of them share (take the warp's number from lane 0 by a shuffle)."
    return Finding("warp-mask", "error", text, line=line, thread=thread, block=block)


def wrong_swizzle(
    *, line: int | None, operand: str, array: str, index: int, dims: tuple[int, ...] | None, written: int, read: int, thread: Dim3, block: Dim3
) -> Finding:
    """A tensor copy wrote the tile under another swizzle than the descriptor's. Both in bytes, 0 for none."""
    name = lambda n: f"the {n}-byte swizzle" if n else "no swizzle"  # noqa: E731
    text = f"async copy: the tile at {element(array, index, dims)} (shared) was written with {name(written)}, but the descriptor of {operand} of the wgmma"
    text += f"{at_line(line)} says {name(read)} ({who(thread, block)}). Use the same in the tensor map and in bits 62 and 63 of the descriptor."
    return Finding("async-copy", "error", text, line=line, array=array, index=index_value(index, dims), thread=thread, block=block)


def wrong_element(
    *, line: int | None, operand: str, array: str, index: int, dims: tuple[int, ...] | None, written: str, read: str, thread: Dim3, block: Dim3
) -> Finding:
    """The map of an array of other floating-point numbers brought the tile. `written`: NumPy's name, `read`: PTX's."""
    text = f"tensor map: the tile at {element(array, index, dims)} (shared) came from an array of {written}, but {operand} of the wgmma{at_line(line)} is "
    text += f"{read} ({who(thread, block)}). Pass a map of an array of that type, or take the wgmma of the array's."
    return Finding("tensor-map", "error", text, line=line, array=array, index=index_value(index, dims), thread=thread, block=block)


def registers_wrong_way(*, line: int | None, count: int, held: int, more: bool, thread: Dim3, block: Dim3) -> Finding:
    """setmaxnreg.inc to fewer registers than there are, or .dec to more."""
    form, other = ("inc", "dec") if more else ("dec", "inc")
    text = f"register count: setmaxnreg.{form} {count}{at_line(line)}, but the warpgroup of {who(thread, block)} has {held} registers a thread. "
    text += f"Use setmaxnreg.{other}, or another number."
    return Finding("register-count", "error", text, line=line, thread=thread, block=block)


def no_registers(*, line: int | None, wanted: int, held: list[int], warpgroup: int, free: int, threads: list[int], block: Dim3) -> Finding:
    """A warpgroup waits for registers that the block doesn't have. `held`: registers a thread of each warpgroup; `free`: registers nobody has."""
    shares = ", ".join(str(n) for n in held)
    most = held[warpgroup] + free // 128 // 8 * 8
    text = f"deadlock in block {tuple_text(block)}: {thread_ranges(threads)} wait{at_line(line)} for {wanted} registers a thread by setmaxnreg.inc, "
    text += f"and the block has none left: its warpgroups hold {shares} a thread, {free} are free. "
    text += f"Ask for {most} at most, or give back more by setmaxnreg.dec elsewhere."
    return Finding("deadlock", "error", text, line=line, block=block)


def setmaxnreg_ignored(*, line: int | None, threads: int) -> Finding:
    """A remark: the compiler doesn't know how many registers the kernel starts with, so setmaxnreg does nothing."""
    text = f"setmaxnreg ignored: the compiler leaves out setmaxnreg{at_line(line)}, for it doesn't know the registers at the start. "
    text += f"Say how many blocks share a multiprocessor: __launch_bounds__({threads}, 1)."
    return Finding("setmaxnreg-ignored", "remark", text, line=line)
