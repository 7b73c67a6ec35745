"""cp.async: copies from global to shared memory that a thread waits for later (PTX ISA 9.7.9.25, "Data Movement and Conversion: Asynchronous copy").

The data is read when the copy is issued and shows in shared memory only when its thread waits, as late as a GPU may do it: a kernel that reads
too early sees what was there before. Each thread counts its commits; a copy belongs to the group of the count at its issue.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import global_access, shared_access
from ..checks.async_copy import Watched
from ..codegen import Emitter
from ..group import Group
from ..ptx import Imm, Instruction
from ..shapes import flatten, take_columns, take_rows
from ..values import full, i64, ndarray, u32
from .memory import address_text, pick, put_back, sub

COUNTED_AS = "ld.global"  # which counters the reading side goes to
SIZES = (4, 8, 16)


@dataclass(eq=False, slots=True)
class Copy:
    """One executed cp.async: the lanes that wait for it, where the data goes, and the data as words. Shapes as in a group of these lanes."""

    serial: int
    iid: int
    rows: ndarray
    cols: ndarray | None  # None: the same threads of every block
    address: object  # an int, an array or a Split, as registers are
    words: tuple
    ticket: ndarray  # commits of each lane before the copy
    waited: bool = False  # a wait has left it pending
    _group: Group | None = None

    def group(self, batch) -> Group:
        """The lanes, as a group without registers."""
        g = self._group
        if g is None or g.batch is not batch or g.n != len(self.rows):
            g = self._group = Group(batch, self.rows, self.cols, 0, [], batch.machine.program.main)
        return g

    @property
    def size(self) -> int:
        return 4 * len(self.words)

    def part(self, index: ndarray) -> Copy:
        """Some lanes of a copy whose lanes are listed one by one."""
        assert self.cols is not None
        words = tuple(take_rows(x, index) for x in self.words)
        return Copy(self.serial, self.iid, self.rows[index], self.cols[index], take_rows(self.address, index), words, self.ticket[index], self.waited)

    def flattened(self, B: int) -> Copy:
        """The same with the lanes of all blocks listed one by one."""
        if self.cols is not None:
            return self
        n = len(self.rows)
        rows, cols = np.repeat(self.rows, B), np.tile(np.arange(B), n)
        words = tuple(flatten(x, n, B) for x in self.words)
        return Copy(self.serial, self.iid, rows, cols, flatten(self.address, n, B), words, self.ticket.reshape(-1, 1), self.waited)

    def columns(self, keep: ndarray) -> Copy | None:
        """The copy's lanes in the blocks `keep`."""
        if self.cols is None:
            words = tuple(take_columns(x, keep) for x in self.words)
            return Copy(self.serial, self.iid, self.rows, None, take_columns(self.address, keep), words, self.ticket[:, keep], self.waited)
        index = np.flatnonzero(np.isin(self.cols, keep))
        if not len(index):
            return None
        part = self.part(index)
        part.cols = np.searchsorted(keep, self.cols[index])
        return part


class Copies:
    """The copies under way in a batch."""

    def __init__(self, batch) -> None:
        self.batch = batch
        self.pending: list[Copy] = []
        self.committed = np.zeros((batch.T, batch.B), i64)  # groups that each thread has committed
        self.issued = 0

    def columns(self, batch, keep: ndarray) -> Copies:
        other = Copies.__new__(Copies)
        other.batch, other.issued = batch, self.issued
        other.pending = [part for part in (copy.columns(keep) for copy in self.pending) if part is not None]
        other.committed = self.committed[:, keep]
        return other

    def issue(self, g, iid: int, address, words: tuple) -> None:
        batch = self.batch
        ticket = self.committed[g.rows] if g.cols is None else self.committed[g.rows, g.cols][:, None]
        self.issued += 1
        copy = Copy(self.issued, iid, g.rows, g.cols, address, words, ticket)
        good = _inside(g, iid, address, copy.size)
        if good is not None:
            if not len(good):
                return
            copy = copy.flattened(batch.B).part(good)
        self.pending.append(copy)
        if batch.machine.check:
            if batch.shared_check.__class__ is not Watched:
                batch.shared_check = Watched(batch.shared_check, batch)
            batch.shared_check.start(copy)

    def wait(self, g, left: int) -> None:
        """The lanes of g go on only when all but their last `left` committed groups are complete."""
        still: list[Copy] = []
        for copy in self.pending:
            done = self._done(g, copy, left)
            if done is None:
                still.append(copy)
            elif done is True:
                self._finish(copy)
            else:
                flat = copy.flattened(self.batch.B)
                still.append(flat.part(np.flatnonzero(~done)))
                self._finish(flat.part(np.flatnonzero(done)))
        self.pending = still

    def land_with(self, g, b) -> None:
        """All copies of these lanes, committed or not, will be seen with mbarrier `b`."""
        still: list[Copy] = []
        for copy in self.pending:
            flat = copy.flattened(self.batch.B)
            keys = set((np.repeat(g.rows, self.batch.B) * self.batch.B + np.tile(np.arange(self.batch.B), g.n)).tolist()
                       if g.cols is None else (g.rows * self.batch.B + g.cols).tolist())  # fmt: skip
            mine = np.array([k in keys for k in (flat.rows * self.batch.B + flat.cols).tolist()])
            for lanes, done in ((np.flatnonzero(~mine), False), (np.flatnonzero(mine), True)):
                if not len(lanes):
                    continue
                part = copy if len(lanes) == len(mine) else flat.part(lanes)
                if not done:
                    still.append(part)
                    continue
                self._finish(part)
                if self.batch.machine.check:
                    self.batch.shared_check.lands_with(part, b)
        self.pending = still

    def _done(self, g, copy: Copy, left: int) -> ndarray | bool | None:
        """Which lanes of the copy this wait completes: None for none of them, True for all, else a mask over the flattened lanes."""
        B = self.batch.B
        if g.cols is None:
            mine = g.inverse[copy.rows] >= 0
            mine = mine[:, None]
        elif copy.cols is not None:
            mine = g.inverse[copy.rows * B + copy.cols][:, None] >= 0
        else:
            mine = g.inverse[copy.rows[:, None] * B + np.arange(B)] >= 0
        if not mine.any():
            return None
        committed = self.committed[copy.rows] if copy.cols is None else self.committed[copy.rows, copy.cols][:, None]
        done = mine & (copy.ticket < committed - left)
        if done.all():
            return True
        copy.waited |= bool((mine & ~done).any())
        return done.ravel() if done.any() else None

    def _finish(self, copy: Copy) -> None:
        """The data is there: a store of the thread that issued the copy, now."""
        batch = self.batch
        if batch.machine.check:
            batch.shared_check.end(copy)
        shared_access.store_shared(copy.group(batch), copy.iid, copy.address, copy.words, u32, 4)


def _inside(g, iid: int, address, size: int) -> ndarray | None:
    """Lanes whose destination is in bounds and aligned (the others are reported); None: all of them."""
    m = g.batch.machine
    p = shared_access.shared_pattern(m, g, address, size)
    if p is not None and p.aligned:
        low, high = m.shared_extent(iid, p.low)
        if low <= p.low and p.high + size <= high:
            return None
    return shared_access.each_shared(g, iid, address, size, "write")[0]


# ------------------------------------------------------------------------------------------------ what generated code calls


def copies(batch) -> Copies:
    if batch.copies is None:
        batch.copies = Copies(batch)
    return batch.copies


def issue(g, read_iid: int, write_iid: int, to, source, size: int, amount) -> None:
    """Copy `size` bytes a lane; only the first `amount` come from memory (None: all), the rest are zeros."""
    copies(g.batch).issue(g, write_iid, to, _read(g, read_iid, source, size, amount))


def _read(g, iid: int, source, size: int, amount) -> tuple:
    amount = full(amount)
    if amount is None or amount.__class__ is int:
        return _words(g, iid, source, size, size if amount is None else min(amount, size))
    out: tuple = (0,) * (size // 4)
    for bytes_ in np.unique(amount):
        some, index = sub(g, amount == bytes_)
        words = _words(some, iid, pick(g, some, source, index), size, min(int(bytes_), size))
        out = tuple(_put(g, some, x, index, old) for x, old in zip(words, out, strict=True))
    return out


def _put(g, some, x, index, old):
    return put_back(g, some, np.full((1, 1), x, u32) if x.__class__ is int else x, index, old)


def _words(g, iid: int, source, size: int, amount: int) -> tuple:
    """The first `amount` bytes, filled up with zeros, as words. Nothing is read for 0."""
    count = size // 4
    if amount == 0:
        return (0,) * count
    if amount == size:
        got = global_access.load_global(g, iid, source, u32, 4, count)
        return (got,) if count == 1 else tuple(got)
    got = global_access.load_global(g, iid, source, np.uint8, 1, amount)
    parts = [got] if amount == 1 else got
    words: list = [0] * count
    for j, x in enumerate(parts):
        wide = x << 8 * (j % 4) if x.__class__ is int else x.astype(u32) << u32(8 * (j % 4))
        words[j // 4] = words[j // 4] | wide
    return tuple(words)


def commit(g) -> None:
    copies(g.batch).committed[g.rows if g.cols is None else (g.rows, g.cols)] += 1


def wait(g, left: int) -> None:
    copies(g.batch).wait(g, left)


def wait_all(g) -> None:
    """Copies that were never committed count too."""
    commit(g)
    copies(g.batch).wait(g, 0)


def arrive(g, iid: int, address, counted: bool) -> None:
    """`counted` (.noinc): the arrival is one of those that the phase waits for; otherwise it adds one to them first, so that the sum stays."""
    from ..mbarriers import barriers, parts, publish
    from . import mbarrier

    batch = g.batch
    for offset, part, index in parts(g, address):
        b = mbarrier.known(g, part, iid, offset, "arrives at")
        if b is not None:
            copies(batch).land_with(part, b)
            if counted:
                mbarrier.arrive(part, iid, offset)
            elif batch.happened is not None:
                publish(g, part, index, b, iid)
            barriers(batch).settle(b)


def ignoring(size: int, ignored):
    """The bytes to read where a predicate says whether the source is to be ignored."""
    if ignored.__class__ is not ndarray:
        return 0 if ignored else size
    return np.where(ignored, u32(0), u32(size))


NAMES = {"CPASYNC": issue, "CPCOMMIT": commit, "CPWAIT": wait, "CPWAITALL": wait_all, "CPIGNORE": ignoring}


def emit_cp(e: Emitter, i: Instruction) -> None:
    kind = i.modifiers[1:2]
    if "bulk" in i.modifiers:
        from . import bulk_copy

        e.code.program.names(bulk_copy.NAMES)
        bulk_copy.emit_bulk(e, i)
        return
    if i.modifiers[:1] != ("async",):
        raise e.unsupported()
    gp, ix = e.masked()
    if kind == ("mbarrier",):
        _arrive(e, i, gp, ix)
        return
    if kind == ("commit_group",):
        call = f"CPCOMMIT({gp})"
    elif kind == ("wait_all",):
        call = f"CPWAITALL({gp})"
    elif kind == ("wait_group",):
        call = f"CPWAIT({gp},{e.use(i.operands[0], 'u32')})"
    else:
        call = _copy(e, i, gp, ix)
    e.line(call if ix == "None" else f"if {gp} is not None: {call}")


def _arrive(e: Emitter, i: Instruction, gp: str, ix: str) -> None:
    """cp.async.mbarrier.arrive: an arrival when all earlier copies of the thread are there."""
    from . import mbarrier

    e.code.program.names(mbarrier.NAMES | {"CPARRIVE": arrive})
    address = mbarrier.barrier_text(e, i, i.operands[0])  # type: ignore[arg-type]
    where = address if ix == "None" else f"PICK(g,{gp},{address},{ix})"
    call = f"CPARRIVE({gp},{e.site('mbarrier.arrive')},{where},{'noinc' in i.modifiers})"
    e.line(call if ix == "None" else f"if {gp} is not None: {call}")


def _copy(e: Emitter, i: Instruction, gp: str, ix: str) -> str:
    to, source, size, *rest = i.operands
    if not isinstance(size, Imm) or size.value not in SIZES:
        raise e.unsupported("copies of 4, 8 or 16 bytes only")
    amount = "None"
    extra = rest[0] if rest else None
    if extra is not None and getattr(extra, "type", "") == "pred":
        amount = f"CPIGNORE({size.value},{e.use(extra, 'pred')})"
    elif extra is not None and width_is_32(extra):
        amount = e.use(extra, "u32")
    places = [address_text(e, to), address_text(e, source)]  # type: ignore[arg-type]
    if ix != "None":
        places = [f"PICK(g,{gp},{x},{ix})" for x in places]
        amount = amount if amount == "None" else f"PICK(g,{gp},{amount},{ix})"
    write = e.site("cp.shared")
    read = e.site(COUNTED_AS, 1)
    return f"CPASYNC({gp},{read},{write},{places[0]},{places[1]},{size.value},{amount})"


def width_is_32(operand) -> bool:
    """A size, not a 64-bit cache policy."""
    return isinstance(operand, Imm) or operand.type.endswith("32")


EMIT = {"cp": emit_cp}
