"""wgmma's rules: whole warpgroups, fences before, nothing touched until the wait, descriptors that point where the matrices lie."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import explain_tensor
from ..instructions.wgmma_layout import Descriptor, chunks, read_descriptor, words
from ..values import ndarray
from . import proxy_writes

if TYPE_CHECKING:
    from ..group import Group
    from ..instructions.wgmma import Product
    from ..instructions.wgmma_state import State
    from .faults import Faults


FLOATS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}

# ------------------------------------------------------------------------------------------------ who takes part


def operation_of(g: Group) -> str:
    """The warpgroup-wide instruction at which the group stands: "wgmma.wait_group"."""
    i = g.code.blocks[g.pc].instructions[0]
    return ".".join((i.opcode, *i.modifiers[:1]))


def incomplete(faults: Faults, g: Group) -> None:
    """Some warps of a warpgroup will never come to where the others are. Said once: they miss what follows, too."""
    if not faults.machine.check or any(f.kind == "barrier-divergence" for f in faults.found.values()):
        return
    which = g.rows >> 7
    short = np.bincount(which) % 128 > 0  # warpgroups of which threads are missing, in one block at least
    k = int(np.argmax(short[which]))
    threads = g.rows[(which == which[k]) & (g.cols == g.cols[k] if g.cols is not None else True)].tolist()
    thread, block = faults.lane(g, k if g.cols is not None else k * g.batch.B)
    first = threads[0] // 128 * 128
    faults.add(
        explain_tensor.incomplete_warpgroup(
            line=faults.pc_line(g), operation=operation_of(g), threads=threads, block=block, thread=thread,
            exists=len(threads) < min(128, faults.machine.T - first), left=bool(g.batch.exited[first : first + 128].any()),
        )
    )  # fmt: skip


def whole(g: Group) -> bool:
    """Whether all 128 threads of each warpgroup of a group are here; those that have left, or that the block doesn't have, are missing."""
    batch = g.batch
    if batch.T % 128 == 0 and not batch.exited.any():
        return True
    return not (np.bincount(g.rows >> 7) % 128).any()


def begins(state: State, g: Group, p: Product, site: int, at: tuple) -> None:
    """A product is issued: is its warpgroup whole, and were its registers fenced?"""
    machine = state.batch.machine
    faults = machine.faults
    if not whole(g):
        incomplete(faults, g)
    bare = ~state.fenced[at]
    if not bare.any():
        return
    first = bare & ~state.begun[at]
    if first.any() or p.unfenced:
        thread, block = faults.lane(g, 0)
        faults.add(explain_tensor.missing_wgmma_fence(line=faults.line(site), thread=thread, block=block, first=bool(first.any())))


# ------------------------------------------------------------------------------------------------ matrices in shared memory


@functools.lru_cache(maxsize=4096)
def _distinct(d: Descriptor, across: int, deep: int) -> ndarray:
    """Words of a matrix, each once, in order."""
    return np.unique(words(d, across, deep))


def matrix(g: Group, site: int, bits: int, across: int, deep: int) -> ndarray | None:
    """Word numbers of the matrix that a descriptor describes, each once; None after a finding. `g`: the lanes of its warpgroup."""
    machine = g.batch.machine
    faults = machine.faults
    d = read_descriptor(bits)
    known = _distinct(d, across, deep)
    if not _inside(faults, g, site, d, chunks(d, across, deep)):
        return None
    if d.span and (d.base - (d.start >> 7)) % (d.span // 16):
        array, index, _, _, dims = faults.shared_at(site, d.start)
        thread, block = faults.lane(g, 0)
        faults.add(
            explain_tensor.descriptor_misaligned(
                line=faults.line(site), operand=_operand(faults, site), array=array, index=index, dims=dims, span=d.span, late=d.late, base=d.base,
                thread=thread, block=block,
            )
        )  # fmt: skip
    _swizzle(faults, g, site, d, known)
    _element(faults, g, site, d, known)
    return known


def _operand(faults: Faults, site: int) -> str:
    return "A" if faults.machine.program.sites[site].kind.endswith("a") else "B"


def _form(d: Descriptor) -> str:
    return f"{d.swizzle}, leading offset {d.leading}, stride offset {d.stride} bytes"


def _inside(faults: Faults, g: Group, site: int, d: Descriptor, where: ndarray) -> bool:
    """Whether a matrix lies in one shared array."""
    machine = faults.machine
    first, last = int(where.min()), int(where.max()) + 15
    low, high = machine.shared_extent(site, first)
    if low <= first and last < high:
        return True
    thread, block = faults.lane(g, 0)
    before = [v for v in machine.shared_variables() if v.offset <= d.start]
    if not before:
        finding = explain_tensor.descriptor_outside(
            line=faults.line(site), operand=_operand(faults, site), array=None, first=0, last=0, size=0, dims=None, thread=thread, block=block, form=_form(d)
        )
    else:
        meant = max(before, key=lambda v: v.offset)
        array, element, dims = faults.variable(meant.name)
        finding = explain_tensor.descriptor_outside(
            line=faults.line(site), operand=_operand(faults, site), array=array, first=(first - meant.offset) // element,
            last=(last - meant.offset) // element, size=meant.size // element, dims=None if dims and 0 in dims else dims, thread=thread, block=block,
            form=_form(d),
        )  # fmt: skip
    faults.add(finding)
    return False


def _swizzle(faults: Faults, g: Group, site: int, d: Descriptor, known: ndarray) -> None:
    """Was the tile written by a tensor copy, and under the swizzle that the descriptor names?"""
    written = proxy_writes.swizzle_of(g.batch, known)
    if written is None:
        return
    wrong = (written >= 0) & (written != d.span)
    if not wrong.any():
        return
    k = int(np.argmax(wrong))
    array, index, _, _, dims = faults.shared_at(site, int(known[k]) * 4)
    thread, block = faults.lane(g, 0)
    faults.add(
        explain_tensor.wrong_swizzle(
            line=faults.line(site), operand=_operand(faults, site), array=array, index=index, dims=dims, written=int(written[k]), read=d.span,
            thread=thread, block=block,
        )
    )  # fmt: skip


def _element(faults: Faults, g: Group, site: int, d: Descriptor, known: ndarray) -> None:
    """Was the tile written by the map of an array of other floats? (Arrays of integers may hold any bits.)"""
    written, operand = proxy_writes.element_of(g.batch, int(known[0])), _operand(faults, site)
    read = faults.machine.program.sites[site].instruction.modifiers[-2 if operand == "A" else -1]
    if written not in FLOATS or read == written or (read, written) == ("tf32", "f32"):
        return
    array, index, _, _, dims = faults.shared_at(site, d.start)
    thread, block = faults.lane(g, 0)
    place: dict[str, Any] = {"array": array, "index": index, "dims": dims, "line": faults.line(site), "thread": thread, "block": block}
    faults.add(explain_tensor.wrong_element(**place, operand=operand, written=FLOATS[written], read=read))


def differ(g: Group, site: int) -> None:
    """The lanes of a warpgroup bring different descriptors."""
    faults = g.batch.machine.faults
    thread, block = faults.lane(g, 0)
    faults.add(explain_tensor.descriptors_differ(line=faults.line(site), operand=_operand(faults, site), thread=thread, block=block))


# ------------------------------------------------------------------------------------------------ accumulators


def unset_accumulators(g: Group, site: int, add: Any) -> None:
    """A product adds to accumulators that nothing has written."""
    faults = g.batch.machine.faults
    if np.any(add):
        thread, block = faults.lane(g, 0)
        faults.add(explain_tensor.accumulators_unset(line=faults.line(site), thread=thread, block=block))


def register_used(state: State, g: Group, sites: tuple[int, ...], number: int | None, line: int, shape: bool, p: Any, changes: bool) -> None:
    """An instruction uses accumulator `number` (None: a copy of one) of the products of `sites`, which may still be writing it.

    `changes`: it writes register `number` of A instead, which they may still be reading.
    """
    machine = state.batch.machine
    if not machine.check or p is False or not np.any(p):
        return
    for site in sites:
        pending = state.unfinished(g, site)
        if not pending.any():
            continue
        at = state.where(g)
        ticket = state.issued[site][at][pending].flat[0]
        committed = bool(ticket < state.committed[at][pending].flat[0])
        thread, block = machine.faults.lane(g, 0)
        facts: dict[str, Any] = {"line": line or None, "product_line": machine.faults.line(site), "number": number, "thread": thread, "block": block}
        facts |= {"committed": committed, "waited": bool(state.waited[at][pending].flat[0] > ticket), "count": int(pending.sum())}
        machine.faults.add(explain_tensor.factor_changed(**facts) if changes else explain_tensor.accumulator_used(**facts, shape=shape))
        return
