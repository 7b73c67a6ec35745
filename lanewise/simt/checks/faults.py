"""Findings of a launch, in the order in which they happen, equal ones merged; and the faults that need no record of their own."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from .. import c_types, explain
from ..demangle import demangle
from ..errors import Stop
from ..finding import Finding
from ..memory import CUT, RANGE, SHARED_WINDOW, Allocation
from ..values import Split, i64, ndarray, signed
from ..words import who

if TYPE_CHECKING:
    from ..group import Group
    from ..machine import Machine

Dim3 = tuple[int, int, int]
KEEP = 100  # different findings kept


def element_bytes(ctype: str) -> int:
    """Bytes of an array element of this C type; 4 where it is not known."""
    found = c_types.find(re.sub(r"\b(const|volatile)\b", "", ctype).strip())
    return found.bytes if found is not None else 4


def shared_pointer_step(offset: int) -> str:
    """What to do about a shared address that no shared memory has: it comes from a generic pointer. Empty for an offset that is merely too large."""
    if CUT <= offset < 2 * CUT:
        return "That is the lower half of a generic pointer. Take the shared address: (unsigned)__cvta_generic_to_shared(pointer)."
    if offset >> RANGE == SHARED_WINDOW >> RANGE:
        return "That is a generic pointer. Take the shared address: (unsigned)__cvta_generic_to_shared(pointer)."
    return "That is no address of shared memory. Declare what lies there __shared__." if offset >> RANGE not in (0, -1) else ""


class Faults:
    def __init__(self, machine: Machine):
        self.machine = machine
        self.found: dict[tuple, Finding] = {}
        # (function, block of code, member mask) → the mask that a lane which it names came with there: see waiting
        self.unlike_masks: dict[tuple[int, int, int], int] = {}
        self.arrays: dict[str, tuple[str, tuple[int, ...] | None]] = {}  # shared and local arrays of the source: name → (type, dims)

    # ------------------------------------------------------------------ collecting

    def add(self, finding: Finding) -> None:
        other = finding.other
        key = (finding.kind, finding.array, finding.line, other.line if other is not None else None)
        known = self.found.get(key)
        if known is not None:
            known.count += finding.count
        elif len(self.found) < KEEP:
            self.found[key] = finding

    def seen(self, kind: str, array: str | None, line: int | None, other: int | None = None) -> Finding | None:
        """A finding already made, so that a repeated fault costs no new text."""
        return self.found.get((kind, array, line, other))

    # ------------------------------------------------------------------ naming

    def lane(self, g: Group, index: int) -> tuple[Dim3, Dim3]:
        """(thread, block) of lane number `index` of the flattened group."""
        if g.cols is None:
            return self.thread(int(g.rows[index // g.batch.B])), self.block(int(g.batch.ids[index % g.batch.B]))
        return self.thread(int(g.rows[index])), self.block(int(g.batch.ids[g.cols[index]]))

    def thread(self, row: int) -> Dim3:
        x, y, _ = self.machine.block
        return row % x, row // x % y, row // (x * y)

    def block(self, id: int) -> Dim3:
        x, y, _ = self.machine.grid
        return id % x, id // x % y, id // (x * y)

    def line(self, iid: int) -> int | None:
        return self.machine.program.sites[iid].line

    def pc_line(self, g: Group) -> int | None:
        """The source line at which the group stands."""
        return next((i.line for i in g.code.blocks[g.pc].instructions if i.line), None)

    def variable(self, name: str) -> tuple[str, int, tuple[int, ...] | None]:
        """A PTX variable's name in the source, the bytes of its element, and its dimensions as far as known."""
        plain = demangle(name).split("::")[-1]
        plain = plain.split("$")[0]
        ctype, dims = self.arrays.get(plain, ("float", None))
        return plain, element_bytes(ctype), dims

    def shared_at(self, iid: int, offset: int) -> tuple[str, int, int, int, tuple[int, ...] | None]:
        """(name, index, size, element bytes, dims) of the shared variable of an access at `offset`."""
        m = self.machine
        low, high = m.shared_extent(iid, offset)
        for v in m.shared_variables():
            if v.offset == low:
                name, element, dims = self.variable(v.name)
                if dims is not None and 0 in dims:
                    dims = None
                if dims is not None and v.size % math.prod(dims) == 0:
                    element = v.size // math.prod(dims)  # of a type with a name of its own too
                return name, (offset - low) // element, (high - low) // element, element, dims
        nearest = min(m.shared_variables(), key=lambda v: abs(v.offset - offset), default=None)
        if nearest is None:
            return "shared memory", offset, 0, 1, None
        name, element, dims = self.variable(nearest.name)
        return name, (offset - nearest.offset) // element, nearest.size // element, element, dims

    # ------------------------------------------------------------------ global memory

    def out_of_bounds(self, g: Group, iid: int, a: Allocation, lanes: ndarray, addresses: ndarray, access: str, total: int) -> None:
        element = a.element
        index = (addresses - a.base) // element
        thread, block = self.lane(g, int(lanes[0]))
        self.add(
            explain.out_of_bounds(
                array=a.name, index=int(index[0]), size=len(a.data) // element, access=access, thread=thread, block=block, line=self.line(iid),
                space="constant" if a.space == "const" else a.space, shape=a.shape, elements=max(total // element, 1), count=len(lanes),
                first_index=int(index.min()), last_index=int(index.max()) + max(total // element, 1) - 1,
            )
        )  # fmt: skip

    def no_allocation(self, g: Group, iid: int, lanes: ndarray, addresses: ndarray, access: str, total: int) -> None:
        thread, block = self.lane(g, int(lanes[0]))
        address = int(addresses[0])
        site = self.machine.program.sites[iid]
        null = (addresses >= 0) & (addresses < 1 << 32) if site.origin is None else (np.abs(addresses) < 1 << 36)
        if null[0]:
            self.add(
                explain.null_pointer(
                    array=self.machine.argument_name(site.origin),
                    access=access,
                    thread=thread,
                    block=block,
                    line=self.line(iid),
                    offset=address,
                    count=len(lanes),
                )  # fmt: skip
            )
            return
        nearest, distance = None, 0
        for a in self.machine.memory.ranges.values():
            d = address - a.end if address >= a.end else address - a.base
            if a.space == "global" and (nearest is None or abs(d) < abs(distance)):
                nearest, distance = a.name, d
        self.add(
            explain.wild_pointer(
                address=address & (1 << 64) - 1,
                access=access,
                thread=thread,
                block=block,
                line=self.line(iid),
                nearest=nearest,
                distance=distance,
                count=len(lanes),
            )  # fmt: skip
        )

    def misaligned(self, g: Group, iid: int, a: Allocation, lanes: ndarray, addresses: ndarray, access: str, total: int) -> None:
        thread, block = self.lane(g, int(lanes[0]))
        offset = int(addresses[0]) - a.base
        self.add(
            explain.misaligned(
                array=a.name, index=offset // a.element, access=access, thread=thread, block=block, line=self.line(iid), access_bytes=total, offset=offset,
                element_bytes=a.element, count=len(lanes),
            )
        )  # fmt: skip

    def read_only(self, g: Group, iid: int, a: Allocation, lanes: ndarray, addresses: ndarray, access: str) -> None:
        if len(lanes):
            self.out_of_bounds(g, iid, a, lanes, addresses, access, a.element)

    # ------------------------------------------------------------------ shared and local memory

    def shared_out_of_bounds(self, g: Group, iid: int, lanes: ndarray, offsets: ndarray, access: str, total: int) -> None:
        thread, block = self.lane(g, int(lanes[0]))
        name, index, size, element, dims = self.shared_at(iid, int(offsets[0]))
        others = (offsets - int(offsets[0])) // element + index
        self.add(
            explain.out_of_bounds(
                array=name, index=index, size=size, access=access, thread=thread, block=block, line=self.line(iid), space="shared", dims=dims,
                elements=max(total // element, 1), count=len(lanes), first_index=int(others.min()), last_index=int(others.max()) + max(total // element, 1) - 1,
                next_step=shared_pointer_step(int(offsets[0])),
            )
        )  # fmt: skip

    def shared_misaligned(self, g: Group, iid: int, lanes: ndarray, offsets: ndarray, access: str, total: int) -> None:
        thread, block = self.lane(g, int(lanes[0]))
        name, index, _, element, _ = self.shared_at(iid, int(offsets[0]))
        low = self.machine.shared_extent(iid, int(offsets[0]))[0]
        self.add(
            explain.misaligned(
                array=name, index=index, access=access, thread=thread, block=block, line=self.line(iid), access_bytes=total, offset=int(offsets[0]) - low,
                element_bytes=element, count=len(lanes),
            )
        )  # fmt: skip

    def _local_name(self, g: Group, iid: int) -> str:
        arrays = self.machine.local_arrays
        line = self.line(iid)
        if len(arrays) == 1:
            return next(iter(arrays))
        text = self.machine.source_line(line)
        return next((name for name in arrays if name in text), "local array")

    def local_out_of_bounds(self, g: Group, iid: int, address, low: int, high: int, access: str, total: int):
        """Reports, and returns addresses that are in bounds (the lanes outside go to the start)."""
        full = address.full() if address.__class__ is Split else address
        full = np.full(g.shape, signed(full, 64), i64) if full.__class__ is int else np.broadcast_to(full.view(i64), g.shape)
        bad = (full < low) | (full + total > high)
        lanes = np.flatnonzero(bad.ravel())
        if len(lanes):
            thread, block = self.lane(g, int(lanes[0]))
            name = self._local_name(g, iid)
            ctype, dims = self.machine.local_arrays.get(name, ("float", None))
            element = element_bytes(ctype)
            index = (full.ravel()[lanes] - low) // element
            size = (high - low) // element
            if dims and 0 not in dims:
                size = int(np.prod(dims))
            self.add(
                explain.out_of_bounds(
                    array=name, index=int(index[0]), size=size, access=access, thread=thread, block=block, line=self.line(iid), space="local",
                    count=len(lanes), first_index=int(index.min()), last_index=int(index.max()),
                )
            )  # fmt: skip
        return np.ascontiguousarray(np.where(bad, low, full)).view(np.uint64)

    def local_misaligned(self, g: Group, iid: int, address, access: str, total: int) -> None:
        full = address.full() if address.__class__ is Split else address
        full = np.full(g.shape, signed(full, 64), i64) if full.__class__ is int else np.broadcast_to(full.view(i64), g.shape)
        lanes = np.flatnonzero((full & (total - 1)).ravel())
        thread, block = self.lane(g, int(lanes[0]))
        self.add(
            explain.misaligned(
                array=self._local_name(g, iid), index=None, access=access, thread=thread, block=block, line=self.line(iid), access_bytes=total,
                offset=int(full.ravel()[lanes[0]]), count=len(lanes),
            )
        )  # fmt: skip

    def stack_overflow(self, g: Group) -> None:
        thread, block = self.lane(g, 0)
        self.add(
            Finding(
                "step-limit", "error",
                f"the call stack of {who(thread, block)} is full after {len(g.frames)} nested calls{on_line(self.pc_line(g))}: "
                "a recursion doesn't end; check the condition that ends it.",
                line=self.pc_line(g), thread=thread, block=block,
            )
        )  # fmt: skip
        raise Stop

    def local_too_large(self, size: int) -> None:
        message = f"the kernel needs {size} bytes of local memory for each thread, more than a launch of this size can have: make the thread's arrays smaller."
        self.add(Finding("launch-refused", "error", message))

    # ------------------------------------------------------------------ control

    def step_limit(self, g: Group, unchanged: bool = False) -> None:
        thread, block = self.lane(g, 0)
        self.add(explain.step_limit(line=self.pc_line(g), steps=g.steps, thread=thread, block=block, unchanged=unchanged))

    def too_much_work(self, finished: int, seconds: float) -> None:
        message = (
            f"step limit: after {finished} of {self.machine.blocks} blocks the whole launch would take the simulator about "
            f"{max(round(seconds / 60), 1)} minutes. Launch fewer blocks, or smaller data; max_steps=… lifts the limit."
        )
        self.add(Finding("step-limit", "error", message))

    def trapped(self, g: Group, assertion: str = "") -> None:
        thread, block = self.lane(g, 0)
        self.add(explain.trapped(line=self.pc_line(g), thread=thread, block=block, assertion=assertion, count=g.n * (g.batch.B if g.cols is None else 1)))

    def bad_call(self, g: Group, address: int) -> None:
        thread, block = self.lane(g, 0)
        line = self.pc_line(g)
        message = f"{who(thread, block)} calls a function at address {address:#x}{on_line(line)}, but no function is there: the pointer was never set."
        self.add(Finding("out-of-bounds", "error", message, line=line, thread=thread, block=block))


def on_line(line: int | None) -> str:
    """The end of a message: where, if that is known."""
    return f" on line {line}" if line else ""
