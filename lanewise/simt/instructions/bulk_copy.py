"""cp.async.bulk and cp.reduce.async.bulk without tensors: runs of bytes between global and shared memory, and their groups
(PTX ISA 9.7.9.25.4 and .5, "Asynchronous copy: bulk copy").

A copy's data is read when it is issued. What goes to shared memory shows there when a thread first sees the phase of its mbarrier complete, as late as
a GPU may do it; what goes to global memory shows at once. Its bytes count for the mbarrier at once: who needs them waits in any case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .. import clusters
from ..access import lanes_group
from ..checks import bulk as check
from ..checks import mbarrier as barrier_check
from ..checks import proxy
from ..checks.cluster import no_such_rank
from ..codegen import Emitter
from ..group import Group
from ..mbarriers import Barrier, barriers
from ..memory import RANGE, Allocation
from ..ptx import Address, Instruction
from ..values import full, i64, ndarray, u8, u32
from .mbarrier import known, offset_of
from .memory import address_text
from .reductions import reduced

UNIT = 16  # bytes: sizes and addresses are multiples of it


@dataclass(frozen=True, slots=True)
class Lane:
    """One thread of some blocks, whose copy has the same place in shared memory in all of them. `free` are values that differ, one a block."""

    g: Group
    row: int
    columns: ndarray  # block columns
    everywhere: bool  # all columns of the batch
    fixed: tuple[int, ...]
    free: tuple[ndarray, ...]


def lanes(g, fixed: tuple, free: tuple) -> Iterator[Lane]:
    """The lanes of a group, one thread after the other."""
    batch = g.batch
    table = [np.broadcast_to(np.asarray(full(x)).astype(i64), g.shape) for x in (*fixed, *free)]
    B, n = batch.B, len(fixed)
    if g.cols is None:
        for k, row in enumerate(g.rows.tolist()):
            values = [t[k] for t in table]
            keys = np.stack(values[:n]) if n else np.zeros((1, B), i64)
            if batch.machine.cluster == 1 and (keys == keys[:, :1]).all():
                one = Group(batch, g.rows[k : k + 1], None, g.pc, [], g.code)
                yield Lane(one, row, np.arange(B), True, tuple(int(x[0]) for x in values[:n]), tuple(values[n:]))
                continue
            for column in range(B):
                one = lanes_group(g, np.array([k * B + column]))
                yield Lane(one, row, np.array([column]), False, tuple(int(x[column]) for x in values[:n]), tuple(x[column : column + 1] for x in values[n:]))
        return
    for k, (row, column) in enumerate(zip(g.rows.tolist(), g.cols.tolist(), strict=True)):
        one = lanes_group(g, np.array([k]))
        yield Lane(one, row, np.array([column]), B == 1, tuple(int(t[k, 0]) for t in table[:n]), tuple(t[k] for t in table[n:]))


@dataclass(eq=False, slots=True)
class Landing:
    """Data on its way to shared memory: 32-bit words × blocks (one column: the same in every block)."""

    words: ndarray
    data: ndarray
    blocks: ndarray | None  # None: all of the batch

    def columns(self, keep: ndarray, renumber: bool = True) -> Landing:
        """What goes to the blocks `keep`, which are in order; `renumber`: they make up a batch of their own."""
        if self.blocks is None:
            return Landing(self.words, self.data if self.data.shape[1] == 1 else self.data[:, keep], None if renumber else keep)
        here = np.flatnonzero(np.isin(self.blocks, keep))
        data = self.data if self.data.shape[1] == 1 else self.data[:, here]
        return Landing(self.words, data, np.searchsorted(keep, self.blocks[here]) if renumber else self.blocks[here])

    def land(self, batch) -> None:
        if self.blocks is None:
            batch.shared.words[self.words] = self.data
        elif len(self.blocks):
            batch.shared.words[self.words[:, None], self.blocks] = self.data
        batch.machine.stores += 1


# ------------------------------------------------------------------------------------------------ to shared memory


def arriving(lane: Lane, iid: int, address: int, receivers: list[ndarray], multicast: bool) -> Barrier | None:
    """The mbarrier that a copy names, in the blocks that get its data; None, with a finding, where there is none."""
    batch = lane.g.batch
    b = None
    barrier, columns = local(lane, address)
    if not multicast and batch.machine.check and (columns != receivers[0]).any():
        barrier_check.in_another_block(lane.g, iid, barrier, int(columns[0]), int(receivers[0][0]))
    for there in receivers:
        part = lane.g if lane.everywhere else Group(batch, np.full(len(there), lane.row), there, lane.g.pc, [], lane.g.code)
        b = known(lane.g, part, iid, barrier, "names", None if lane.everywhere else lane.columns)
        if b is None:
            return None
    if b is not None and lane.g.batch.machine.check:
        barrier_check.visible(lane.g.batch, lane.g, iid, b)
    return b


def local(lane: Lane, address: int) -> tuple[int, ndarray]:
    """A shared::cluster address as an offset, and the columns of the blocks that it lies in."""
    offsets, columns = clusters.local(lane.g.batch, np.full(len(lane.columns), address), lane.columns)
    return int(offsets[0]), columns


def receivers(lane: Lane, iid: int, columns: ndarray, mask: int | None) -> list[ndarray]:
    """For each block of the cluster that a copy goes to, its columns. `mask`: the ranks of a multicast."""
    if mask is None:
        return [columns]
    batch = lane.g.batch
    if mask >> batch.machine.cluster:
        no_such_rank(lane.g, iid, mask.bit_length() - 1)
    return [clusters.peer_columns(batch, lane.columns, rank) for rank in range(batch.machine.cluster) if mask >> rank & 1]


def deliver(
    lane: Lane, iid: int, b: Barrier | None, words: ndarray, data: ndarray, nbytes: int, columns: ndarray, swizzle: int = -1, element: str = ""
) -> None:
    """Data for shared memory of the blocks `columns`, and its bytes for their mbarriers. `data`: words × blocks, or one column for all of them."""
    batch = lane.g.batch
    everywhere = len(columns) == batch.B and bool((columns[1:] > columns[:-1]).all())
    landing = Landing(words, data, None if everywhere else columns)
    if b is None:
        landing.land(batch)
        return
    if not len(words):
        return
    if batch.machine.check:
        proxy.begin_write(lane.g, lane.row, iid, words, b, None if everywhere else columns, swizzle, element)
    phase = b.phase.copy()
    if not everywhere:
        phase[:] = -1
        phase[columns] = b.phase[columns]
    b.data.append((phase, landing))
    barriers(batch).bytes(b, -nbytes, slice(None) if everywhere else columns)


def load(g, iids: tuple[int, int, int], to, source, size, barrier, mask=None) -> None:
    """Global → shared memory; of the blocks of the cluster that `mask` names, if there is one."""
    m = g.batch.machine
    write, read, at = iids
    for lane in lanes(g, (to, size, barrier) if mask is None else (to, size, barrier, mask), (source,)):
        size_ = lane.fixed[1]
        to_, columns = local(lane, lane.fixed[0])
        blocks = receivers(lane, write, columns, None if mask is None else lane.fixed[3])
        b = arriving(lane, at, lane.fixed[2], blocks, mask is not None)
        m.tma_requests += len(lane.columns)
        place = check.shared_place(lane.g, write, to_, size_, UNIT, "write")
        if not place:
            if b is not None:
                for there in blocks:
                    barriers(g.batch).bytes(b, -size_, there)
            continue
        cut = np.full((size_ // 4, len(lane.columns)), 0, u32)
        for k, address in enumerate(lane.free[0].tolist()):
            run = _global_run(lane, k, read, address, size_, "read")
            if run is None:
                continue
            a, offset = run
            cut[:, k] = np.frombuffer(a.data[offset : offset + size_].tobytes(), u32)
            check.read_global(one_block(lane, k), read, a, np.array([offset]), size_)
            m.tma_load_bytes += size_
            m.tma_load_sectors += check.sectors(a, np.array([offset]), size_) * len(blocks)
        for there in blocks:
            deliver(lane, write, b, np.arange(to_ >> 2, to_ + size_ >> 2), cut, size_, there)


def one_block(lane: Lane, k: int) -> Group:
    """The lane in one of its blocks."""
    return lanes_group(lane.g, np.array([k])) if len(lane.columns) > 1 else lane.g


def _global_run(lane: Lane, k: int, iid: int, address: int, size: int, access: str) -> tuple[Allocation, int] | None:
    """Where a run of global memory lies; None, with a finding, where it doesn't."""
    m = lane.g.batch.machine
    a = m.memory.ranges.get(address >> RANGE)
    g, at = one_block(lane, k), np.array([address])
    if a is None or a.space == "param":
        m.faults.no_allocation(g, iid, np.array([0]), at, access, size)
        return None
    if address % UNIT or size % UNIT:
        check.bulk_misaligned(g, iid, a.name, address - a.base, size, access)
        return None
    if address < a.base or address + size > a.end:
        check.global_outside(g, iid, a, address, size, access)
        return None
    return a, address - a.base


def between(g, iids: tuple[int, int, int], to, source, size, barrier, operation: str = "", type: str = "") -> None:
    """Shared → shared memory of the cluster; with an operation, combined with what is there."""
    batch = g.batch
    write, read, at = iids
    for lane in lanes(g, (to, source, size, barrier), ()):
        source_, size_ = lane.fixed[1:3]
        to_, columns = local(lane, lane.fixed[0])
        b = arriving(lane, at, lane.fixed[3], [columns], False)
        places = check.shared_place(lane.g, write, to_, size_, UNIT, "write"), check.shared_place(lane.g, read, source_, size_, UNIT, "read")
        batch.machine.tma_requests += len(lane.columns)
        if not all(places):
            continue
        words = np.arange(source_ >> 2, source_ + size_ >> 2)
        if batch.machine.check:
            proxy.end_read(batch, proxy.begin_read(lane.g, read, words))
        data = batch.shared.words[words][:, lane.columns]
        there = np.arange(to_ >> 2, to_ + size_ >> 2)
        if operation:
            data = _reduced_words(operation, type, batch.shared.words[there][:, columns], data)
        if b is not None and (columns != lane.columns).any():
            b.sent[int(columns[0]) % batch.machine.cluster, int(lane.columns[0]) % batch.machine.cluster] = int(b.phase[columns].max()), lane.row, read
        deliver(lane, write, b, there, data, size_, columns)


def _reduced_words(operation: str, type: str, old: ndarray, new: ndarray) -> ndarray:
    """A reduction of 32-bit words × blocks: elements of any width run along the words."""
    a, b = (np.ascontiguousarray(x.T) for x in (old, new))
    return np.ascontiguousarray(reduced(operation, type, a, b).T)


# ------------------------------------------------------------------------------------------------ to global memory


def store(g, iids: tuple[int, int], to, source, size, operation: str = "", type: str = "", mask=None) -> None:
    """Shared → global memory; with an operation, combined with what is there. `mask`: which bytes of each 16 are written (None: all)."""
    batch = g.batch
    m = batch.machine
    write, read = iids
    for lane in lanes(g, (source, size), (to,) if mask is None else (to, mask)):
        source_, size_ = lane.fixed
        m.tma_requests += len(lane.columns)
        if not check.shared_place(lane.g, read, source_, size_, UNIT, "read"):
            continue
        words = np.arange(source_ >> 2, source_ + size_ >> 2)
        groups(batch).issue(lane, read, words)
        data = batch.shared.words[words]
        for k, address in enumerate(lane.free[0].tolist()):
            run = _global_run(lane, k, write, address, size_, "write")
            if run is None:
                continue
            a, offset = run
            bytes_ = np.ascontiguousarray(data[:, lane.columns[k]]).view(u8)
            there = a.data[offset : offset + size_]
            check.write_global(one_block(lane, k), write, a, np.array([offset]), size_, bool(operation))
            if operation:
                there[:] = reduced(operation, type, there.copy(), bytes_)
            elif mask is None:
                there[:] = bytes_
            else:
                keep = np.tile((int(lane.free[1][k]) >> np.arange(16) & 1).astype(bool), size_ // 16)
                there[keep] = bytes_[keep]
            m.tma_store_bytes += size_
            m.stores += 1


class Groups:
    """Bulk stores under way and the groups they were committed to, by thread."""

    def __init__(self, batch) -> None:
        self.batch = batch
        self.committed = np.zeros(batch.T, i64)
        self.pending: list[tuple[int, int, int]] = []  # (thread, its commits before the store, ticket of the read)

    def columns(self, batch) -> Groups:
        other = Groups(batch)
        other.committed, other.pending = self.committed.copy(), list(self.pending)
        return other

    def issue(self, lane: Lane, iid: int, words: ndarray) -> None:
        ticket = proxy.begin_read(lane.g, iid, words)
        if ticket:
            self.pending.append((lane.row, int(self.committed[lane.row]), ticket))

    def wait(self, g, left: int) -> None:
        rows = set(np.unique(g.rows).tolist())
        still = []
        for row, group, ticket in self.pending:
            if row in rows and group < self.committed[row] - left:
                proxy.end_read(self.batch, ticket)
            else:
                still.append((row, group, ticket))
        self.pending = still


def groups(batch) -> Groups:
    if batch.bulk is None:
        batch.bulk = Groups(batch)
    return batch.bulk


def commit(g) -> None:
    groups(g.batch).committed[np.unique(g.rows)] += 1


def wait_group(g, left: int) -> None:
    groups(g.batch).wait(g, left)


NAMES = {"BULKLOAD": load, "BULKBETWEEN": between, "BULKSTORE": store, "BULKCOMMIT": commit, "BULKWAIT": wait_group, "MBOFFSET": offset_of}
_REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


def emit_bulk(e: Emitter, i: Instruction) -> None:
    """cp.async.bulk… and cp.reduce.async.bulk…"""
    from . import tensor_copy

    if "tensor" in i.modifiers:
        e.code.program.names(tensor_copy.NAMES)
        tensor_copy.emit_tensor(e, i)
        return
    gp, ix = e.masked()
    if "commit_group" in i.modifiers:
        line(e, gp, ix, f"BULKCOMMIT({gp})")
    elif "wait_group" in i.modifiers:
        line(e, gp, ix, f"BULKWAIT({gp},{e.use(i.operands[0], 'u32')})")
    elif "prefetch" not in i.modifiers:
        _copy(e, i, gp, ix)


def line(e: Emitter, gp: str, ix: str, call: str) -> None:
    e.line(call if ix == "None" else f"if {gp} is not None: {call}")


def picked(gp: str, ix: str, text: str) -> str:
    return text if ix == "None" else f"PICK(g,{gp},{text},{ix})"


def _copy(e: Emitter, i: Instruction, gp: str, ix: str) -> None:
    spaces = [m.split("::")[0] for m in i.modifiers if m.startswith("shared") or m == "global"]
    to, source, size, *rest = i.operands
    assert isinstance(to, Address) and isinstance(source, Address)
    sites = [e.site(f"bulk.{spaces[0]}"), e.site(f"bulk.{spaces[1]}", 1)]
    values = [address_text(e, to), address_text(e, source), e.use(size, "u32")]
    operation = next((m for m in i.modifiers if m in _REDUCTIONS), "") if "reduce" in i.modifiers else ""
    extra = f",{operation!r},{i.modifiers[-1]!r}" if operation else ""
    if spaces[0] == "shared":
        barrier = rest[0]
        assert isinstance(barrier, Address)
        sites.append(e.site("mbarrier.complete_tx", 2))
        values.append(address_text(e, barrier))
        if "multicast::cluster" in i.modifiers:
            values.append(e.use(rest[1], "u16"))
    texts = ",".join(picked(gp, ix, v) for v in values)
    name = "BULKSTORE" if spaces[0] == "global" else "BULKLOAD" if spaces[1] == "global" else "BULKBETWEEN"
    if "cp_mask" in i.modifiers:
        extra += f",mask={picked(gp, ix, e.use(rest[-1], 'u16'))}"
    line(e, gp, ix, f"{name}({gp},{tuple(sites)!r},{texts}{extra})")
