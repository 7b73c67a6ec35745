"""Races in global memory.

For every word: who wrote it last, and two different threads that read it since. Two accesses of different threads race if one of them writes,
not both are atomic, and nothing orders them: a block barrier or `__syncwarp` between them (same block only), or a chain of atomics and fences.
Who and when are packed into one int64: thread + 1 (31 bits), time (20), memory instruction (11), atomic (1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import explain
from ..memory import Where
from ..values import i64, ndarray
from . import landing, same_value

if TYPE_CHECKING:
    from ..group import Group
    from ..machine import Machine
    from ..memory import Allocation

WHO, TIME_SHIFT, SITE_SHIFT, ATOMIC = (1 << 31) - 1, 31, 51, 1 << 62
TIME_MASK, SITE_MASK = (1 << 20) - 1, (1 << 11) - 1


class Access(NamedTuple):
    """An access as the race check remembers it."""

    thread: int  # global number: block · T + thread
    time: int
    site: int
    atomic: bool


def unpack(tag: int) -> Access:
    return Access((tag & WHO) - 1, tag >> TIME_SHIFT & TIME_MASK, tag >> SITE_SHIFT & SITE_MASK, bool(tag & ATOMIC))


class GlobalRaces:
    def __init__(self, machine: Machine):
        self.machine = machine
        self.grain = machine.program.grains["global"]
        self.shift = {1: 0, 2: 1, 4: 2}[self.grain]
        parsed = [i for f in machine.program.module.functions.values() for i in f.instructions or ()]
        self.has_atomics = any(i.opcode in ("atom", "red") or "volatile" in i.modifiers for i in parsed)

    def tags(self, g: Group, iid: int, atomic: bool) -> ndarray:
        """This access of every lane of the group, (n, B) or (n, 1)."""
        key = ("tag", g.batch.time)
        base = g._cache.get(key)
        if base is None:
            who = g._cache.get("who")
            if who is None:
                blocks = g.batch.ids[g.block_columns]
                who = g._cache["who"] = (blocks * self.machine.T + g.rows[:, None] + 1).astype(i64)
            base = g._cache[key] = who + i64(min(g.batch.time, TIME_MASK) << TIME_SHIFT)
        return base + i64((min(iid, SITE_MASK) << SITE_SHIFT) | (ATOMIC if atomic else 0))

    def _words(self, total: int) -> int:
        return max(total // self.grain, 1)

    def load(self, g: Group, iid: int, a: Allocation, where: Where, total: int, atomic: bool) -> None:
        region = a.region
        assert region is not None
        if region.reader is None:
            region.reader = np.zeros(region.size // self.grain + 4, i64)
            region.reader2 = np.zeros(region.size // self.grain + 4, i64)
        tags = self.tags(g, iid, atomic)
        for j in range(self._words(total)):
            if region.writer is not None:
                writer = where.get(_slice(region.writer, a, self.shift), self.shift, j)
                if np.any(writer):
                    self._conflicts(g, iid, a, where, j, np.broadcast_to(writer, tags.shape), tags, "read", atomic)
            self._remember_read(region, a, where, j, tags)
        if region.landing is not None and not atomic:
            landing.touched(self, g, iid, a, where, self._words(total), "read")

    def bulk(self, g: Group, iid: int, a: Allocation, offsets: ndarray, write: bool, atomic: bool) -> None:
        """One thread's bulk copy reads, or writes, these bytes of an allocation."""
        region = a.region
        if region is None:
            return
        size = region.size // self.grain + 4
        if region.writer is None:
            region.writer = np.zeros(size, i64)
            region.plain = np.zeros(size, i64) if self.has_atomics else None
        if region.reader is None or region.reader2 is None:
            region.reader, region.reader2 = np.zeros(size, i64), np.zeros(size, i64)
        words = np.unique(a.region_offset + offsets >> self.shift)
        if region.landing is not None and not write:
            landing.copied(self, g, iid, a, words)
        tag = int(self.tags(g, iid, atomic)[0, 0])
        T, batch = self.machine.T, g.batch
        block = int(batch.ids[0 if g.cols is None else int(g.cols[0])])
        for record, access in ((region.writer, "write"), (region.reader, "read"), (region.reader2, "read"))[: 3 if write else 1]:
            old = record[words]
            bad = (old != 0) & ((old ^ tag) & WHO != 0)
            if atomic:
                bad &= old & ATOMIC == 0
            bad &= ~((((old & WHO) - 1) // T == block) & ((old >> TIME_SHIFT & TIME_MASK) < batch.last_sync))
            for k in np.flatnonzero(bad)[np.unique(old[bad], return_index=True)[1]].tolist():
                if not self._ordered(g, unpack(int(old[k])), unpack(tag)):
                    at = (int(words[k]) << self.shift) - a.region_offset
                    where = Where("array", 0, np.array([[at]]), None, None, (1, 1), False)
                    self._report(g, iid, a, where, 0, np.array([0]), old[k : k + 1], np.array([tag]), "write" if write else "read", access, False)
                    return
        if write:
            region.writer[words] = tag
            if region.plain is not None and not atomic:
                region.plain[words] = tag
        else:
            region.reader2[words] = np.where(region.reader[words] != 0, region.reader[words], region.reader2[words])
            region.reader[words] = tag

    def _remember_read(self, region, a: Allocation, where: Where, j: int, tags: ndarray) -> None:
        reader, reader2 = _slice(region.reader, a, self.shift), _slice(region.reader2, a, self.shift)
        old = where.get(reader, self.shift, j)
        if where.shape != tags.shape:  # several lanes read one word: the first and the last of them stand for all
            first, last = tags, tags
            if where.shape[0] == 1:
                first, last = first[:1], last[-1:]
            if where.shape[1] == 1:
                first, last = first[:, :1], last[:, -1:]
            where.put(reader2, self.shift, first if where.kind != "uniform" else first[0, 0], j)
            where.put(reader, self.shift, last if where.kind != "uniform" else last[-1, -1], j)
            return
        if np.any(old):
            keep = (old != 0) & ((old ^ tags) & WHO != 0)
            if np.any(keep):
                older = where.get(reader2, self.shift, j)
                where.put(reader2, self.shift, np.where(keep, old, older), j)
        if where.distinct:
            where.put(reader, self.shift, tags, j)
        else:
            where.put(reader, self.shift, tags, j)
            kept = where.get(reader, self.shift, j)
            others = (kept ^ tags) & WHO != 0
            if np.any(others):  # some lane lost its place: remember one of them too
                lanes = np.flatnonzero(np.broadcast_to(others, tags.shape))
                index = (
                    np.broadcast_to(where.index(self.shift), tags.shape).ravel()[lanes] + j
                    if where.kind != "strided"
                    else where.get(np.arange(len(reader)), self.shift, j).ravel()[lanes]
                )
                reader2[index] = tags.ravel()[lanes]

    def store(self, g: Group, iid: int, a: Allocation, where: Where, total: int, atomic: bool, values: tuple | None, view: ndarray | None, shift: int) -> None:
        """`values` (None for an atomic) are compared with what is there: equal stores are a remark."""
        region = a.region
        assert region is not None
        if region.writer is None:
            region.writer = np.zeros(region.size // self.grain + 4, i64)
            region.plain = np.zeros_like(region.writer) if self.has_atomics else None
        plain = None if region.plain is None else _slice(region.plain, a, self.shift)
        tags = self.tags(g, iid, atomic)
        if region.landing is not None and not atomic:
            landing.touched(self, g, iid, a, where, self._words(total), "write")
        for j in range(self._words(total)):
            slot = _slice(region.writer, a, self.shift)
            writer = where.get(slot, self.shift, j)
            if np.any(writer):
                same = None
                if values is not None and view is not None:
                    same = same_value.against_memory(where, view, shift, values, j, self.grain)
                self._conflicts(g, iid, a, where, j, np.broadcast_to(writer, tags.shape), tags, "write", atomic, same)
            if region.reader is not None and region.reader2 is not None:
                for readers in (region.reader, region.reader2):
                    reader = where.get(_slice(readers, a, self.shift), self.shift, j)
                    if np.any(reader):
                        self._conflicts(g, iid, a, where, j, np.broadcast_to(reader, tags.shape), tags, "write", atomic, None, "read")
            if plain is not None and atomic:  # a later atomic of the writer's own block must not hide a plain store from other blocks
                writer = where.get(plain, self.shift, j)
                if np.any(writer):
                    self._conflicts(g, iid, a, where, j, np.broadcast_to(writer, tags.shape), tags, "write", atomic)
            last, crowd = tags, not where.distinct
            if where.kind == "uniform":
                last, crowd = tags[-1, -1], tags.size > 1
            elif where.shape != tags.shape:
                last, crowd = tags[-1:] if where.shape[0] == 1 else tags, True
                last = last[:, -1:] if where.shape[1] == 1 else last
            where.put(slot, self.shift, last, j)
            if plain is not None and not atomic:
                where.put(plain, self.shift, last, j)
            if crowd and not atomic:
                kept = np.broadcast_to(where.get(slot, self.shift, j), tags.shape)
                if ((kept ^ tags) & WHO).any():
                    same = same_value.in_one_store(g, where, values, j, shift, self.grain, tags.shape)
                    self._conflicts(g, iid, a, where, j, kept, tags, "write", atomic, same)

    def _conflicts(
        self,
        g: Group,
        iid: int,
        a: Allocation,
        where: Where,
        j: int,
        old: ndarray,
        tags: ndarray,
        access: str,
        atomic: bool,
        same=None,
        other_access: str = "write",
    ) -> None:
        """Report the lanes whose access isn't ordered after `old`."""
        T = self.machine.T
        differ = (old != 0) & ((old ^ tags) & WHO != 0)
        if atomic:
            differ = differ & (old & ATOMIC == 0)
        if not differ.any():
            return
        batch = g.batch
        block = ((old & WHO) - 1) // T
        mine = batch.ids[g.block_columns]
        ordered = (block == mine) & ((old >> TIME_SHIFT & TIME_MASK) < batch.last_sync)
        bad = differ & ~ordered
        if not bad.any():
            return
        lanes = np.flatnonzero(bad.ravel())
        flat_old, flat_tags = old.ravel(), tags.ravel()
        order = self.machine.order
        if batch.warp_sync is not None or batch.partial_syncs or order.active or batch.happened is not None:
            lanes = np.array([k for k in lanes if not self._ordered(g, unpack(int(flat_old[k])), unpack(int(flat_tags[k])))], int)
        if not len(lanes):
            return
        if same is not None:
            equal = np.broadcast_to(same, tags.shape).ravel()[lanes]
            if equal.any() and access == "write" and other_access == "write":
                self._report(g, iid, a, where, j, lanes[equal], flat_old, flat_tags, access, other_access, True)
            lanes = lanes[~equal]
        if len(lanes):
            self._report(g, iid, a, where, j, lanes, flat_old, flat_tags, access, other_access, False)

    def comes_after(self, g: Group, old: Access) -> bool:
        """Whether what the one lane of g does now is ordered after `old`."""
        batch, T = g.batch, self.machine.T
        me = int(batch.ids[0 if g.cols is None else int(g.cols[0])]) * T + int(g.rows[0])
        if me == old.thread or (me // T == old.thread // T and old.time < batch.last_sync):
            return True
        return self._ordered(g, old, Access(me, batch.time, 0, False))

    def _ordered(self, g: Group, old: Access, new: Access) -> bool:
        batch, T = g.batch, self.machine.T
        if old.thread // T == new.thread // T:
            a, b = old.thread % T, new.thread % T
            column = int(np.flatnonzero(batch.ids == new.thread // T)[0])
            if ordered_in_block(batch, a, b, column, old.time):
                return True
        return self.machine.order.before(old, new, g.batch)

    def _report(
        self, g: Group, iid: int, a: Allocation, where: Where, j: int, lanes: ndarray, old: ndarray, tags: ndarray, access: str, other_access: str, same: bool
    ) -> None:
        machine = self.machine
        faults, T = machine.faults, machine.T
        lane = int(lanes[0])
        before, now = unpack(int(old[lane])), unpack(int(tags[lane]))
        number = where.get(np.arange(max(len(a.data) // self.grain, 1) + 1), self.shift, j)
        index = int(np.broadcast_to(number, (tags.size // 1,) if np.ndim(number) == 0 else g.shape).ravel()[lane]) * self.grain // a.element
        other_line = faults.line(before.site) if before.site < len(machine.program.sites) else None
        seen = faults.seen("same-value-write" if same else "race", a.name, faults.line(iid), other_line)
        if seen is not None:
            seen.count += len(lanes)
            return
        thread, block = faults.thread(now.thread % T), faults.block(now.thread // T)
        other_thread, other_block = faults.thread(before.thread % T), faults.block(before.thread // T)
        if same:
            faults.add(
                explain.same_value_write(
                    array=a.name,
                    index=index,
                    space="global",
                    line=faults.line(iid),
                    thread=thread,
                    block=block,
                    other_thread=other_thread,
                    other_block=other_block,
                    count=len(lanes),
                )
            )
            return
        faults.add(
            explain.race(
                array=a.name, index=index, space="global", line=faults.line(iid), access="atomic" if now.atomic else access, thread=thread, block=block,
                other_line=other_line, other_access="atomic" if before.atomic else other_access, other_thread=other_thread, other_block=other_block,
                same_warp=block == other_block and now.thread % T >> 5 == before.thread % T >> 5, read_and_written=reads_and_writes(machine, iid, before.site),
                uses_atomics=self.has_atomics, count=len(lanes),
            )
        )  # fmt: skip


def reads_and_writes(machine: Machine, site: int, other: int) -> bool:
    """Whether one source line loads the array and stores it back: `s += 1`."""
    sites = machine.program.sites
    if other >= len(sites) or sites[site].line is None or sites[site].line != sites[other].line:
        return False
    here = [s for s in sites if s.line == sites[site].line and s.origin == sites[site].origin]
    loads = [s for s in here if s.kind.startswith("ld")]
    return len(loads) == 1 and any(s.kind.startswith("st") for s in here)


def copies(machine: Machine, site: int) -> bool:
    """Whether this memory instruction is a cp.async, whose bytes arrive while its thread goes on."""
    sites = machine.program.sites
    return site < len(sites) and sites[site].instruction.opcode == "cp" and "bulk" not in sites[site].instruction.modifiers


def ordered_in_block(batch, a: int, b: int, column: int, time: int) -> bool:
    """Whether threads a and b of one block have synchronised since `time`: by __syncwarp, or at a named barrier both took part in."""
    if batch.happened is not None and batch.happened.in_block(np.array([b]), np.array([a]), np.array([time]), np.array([column]))[0]:
        return True
    if batch.warp_sync is not None and a >> 5 == b >> 5:
        c = column if batch.warp_sync.shape[1] > 1 else 0
        if min(batch.warp_sync[a, c], batch.warp_sync[b, c]) > time:
            return True
    for when, members in reversed(batch.partial_syncs):
        if when <= time:
            return False
        c = column if members.shape[1] > 1 else 0
        if members[a, c] and members[a, c] == members[b, c]:
            return True
    return False


def _slice(records: ndarray, a: Allocation, shift: int) -> ndarray:
    """The records of an allocation's words: views of one array share them."""
    return records[a.region_offset >> shift :]
