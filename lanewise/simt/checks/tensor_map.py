"""What can be wrong with a tensor map and with the place of its box in shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import explain_async
from ..memory import LOCAL_WINDOW, RANGE, Allocation
from ..tensor_maps import TensorMap

if TYPE_CHECKING:
    from ..group import Group


def not_a_map(g: Group, iid: int, address: int, a: Allocation | None, is_map: bool) -> None:
    """The address of a tensor copy's map holds none."""
    faults = g.batch.machine.faults
    thread, block = faults.lane(g, 0)
    local = address >> RANGE == LOCAL_WINDOW >> RANGE
    where = "local" if local else "nowhere" if a is None else "misaligned" if is_map else "other"
    array = None if local or a is None else a.name
    faults.add(explain_async.no_tensor_map(array=array, line=faults.line(iid), thread=thread, block=block, where=where, address=address))


def wrong_rank(g: Group, iid: int, tm: TensorMap, rank: int) -> None:
    faults = g.batch.machine.faults
    thread, block = faults.lane(g, 0)
    a = g.batch.machine.tensor_maps.get(tm.number)
    name = a.name if a is not None else None
    faults.add(explain_async.tensor_map_rank(array=name, line=faults.line(iid), thread=thread, block=block, coordinates=rank, axes=len(tm.box)))


def refused_start(g: Group, iid: int, tm: TensorMap, coordinates: tuple[int, ...], stores: bool) -> None:
    """The box begins where the copy engine can't: see `tensor_copy._check_start`."""
    faults = g.batch.machine.faults
    thread, block = faults.lane(g, 0)
    a = g.batch.machine.tensor_maps.get(tm.number)
    faults.add(explain_async.refused_start(
        array=a.name if a is not None else "the array", line=faults.line(iid), thread=thread, block=block, coordinates=coordinates, itemsize=tm.itemsize,
        stores=stores,
    ))  # fmt: skip


def aligned_to_pattern(g: Group, iid: int, tm: TensorMap, offset: int) -> None:
    """A swizzled box should begin where the pattern does: its place on a GPU then doesn't depend on what lies before it."""
    late = offset % (tm.swizzle * 8) if tm.swizzle else 0
    if late:
        faults = g.batch.machine.faults
        name = faults.shared_at(iid, offset)[0]
        faults.add(explain_async.swizzle_alignment(array=name, line=faults.line(iid), swizzle=tm.swizzle, offset=late))
