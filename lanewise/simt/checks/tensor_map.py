"""What can be wrong with a tensor map and with the place of its box in shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..finding import Finding
from ..memory import LOCAL_WINDOW, RANGE, Allocation
from ..tensor_maps import TensorMap
from ..words import at_line, plural, who

if TYPE_CHECKING:
    from ..group import Group


def _add(g: Group, kind: str, iid: int, text: str, array: str | None, severity: str = "error") -> None:
    faults = g.batch.machine.faults
    thread, block = faults.lane(g, 0)
    faults.add(Finding(kind, severity, text, line=faults.line(iid), array=array, thread=thread, block=block))


def not_a_map(g: Group, iid: int, address: int, a: Allocation | None, is_map: bool) -> None:
    """The address of a tensor copy's map holds none."""
    faults = g.batch.machine.faults
    thread, block = faults.lane(g, 0)
    head = f"tensor map: {who(thread, block)} copies by the tensor map at "
    line = at_line(faults.line(iid))
    if address >> RANGE == LOCAL_WINDOW >> RANGE:
        text = head + f"a local address{line}, where the copy engine can't read it: declare the parameter const __grid_constant__, and take its address."
        _add(g, "out-of-bounds", iid, text, None)
    elif a is None:
        text = head + f"address {address:#x}{line}, where no array and no parameter lies: pass the address of a const __grid_constant__ parameter."
        _add(g, "out-of-bounds", iid, text, None)
    elif is_map:
        text = head + f"{a.name}{line}, whose address is no multiple of 64: align the map, or the struct that holds it, to 64 bytes."
        _add(g, "misaligned", iid, text, a.name)
    else:
        text = head + f"{a.name}{line}, but these 128 bytes are no tensor map: pass tensor_map(array, box) for {a.name}."
        _add(g, "argument-mismatch", iid, text, a.name)


def wrong_rank(g: Group, iid: int, tm: TensorMap, rank: int) -> None:
    thread, block = g.batch.machine.faults.lane(g, 0)
    text = f"tensor map: {who(thread, block)} copies with {plural(rank, 'coordinate')}{at_line(g.batch.machine.faults.line(iid))}, "
    axes = f"{len(tm.box)} axes" if len(tm.box) > 1 else "one axis"
    text += f"but the map's array has {axes}. Use the .{len(tm.box)}d form with a coordinate for each, the contiguous axis first."
    _add(g, "argument-mismatch", iid, text, None)


def aligned_to_pattern(g: Group, iid: int, tm: TensorMap, offset: int) -> None:
    """A swizzled box should begin where the pattern does: its place on a GPU then doesn't depend on what lies before it."""
    repeats = tm.swizzle * 8
    if not repeats or offset % repeats == 0:
        return
    m = g.batch.machine
    name = m.faults.shared_at(iid, offset)[0]
    swizzle = f"{tm.swizzle}B"
    text = f"swizzle: the {swizzle} pattern of {name}{at_line(m.faults.line(iid))} repeats every {repeats} bytes of the shared address, and the box begins "
    text += f"{offset % repeats} bytes behind such a multiple. Declare {name} with __align__({repeats}), or count the xor from the address itself."
    _add(g, "misaligned", iid, text, name, "remark")
