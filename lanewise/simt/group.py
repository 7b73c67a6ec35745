"""Groups of lanes that execute together, and how they part and meet.

A *regular* group holds the same threads (`rows`) of every block of its batch: its registers have shape (n, B).
An *irregular* group is a list of lanes (`rows[i]` of block column `cols[i]`): its registers have shape (n, 1). Generated code is the same for both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .shapes import flatten, join_values, take_columns, take_rows
from .specials import special
from .values import ndarray

if TYPE_CHECKING:
    from .batch import Batch


class Group:
    __slots__ = (
        "batch", "rows", "cols", "n", "pc", "regs", "frames", "code", "whole", "origin", "turn", "waits", "steps", "held", "came_from",
        "_cache", "nwarps", "nlanes", "taint", "ran", "idle",
    )  # fmt: skip

    def __init__(self, batch: Batch, rows: ndarray, cols: ndarray | None, pc: int, regs: list, code):
        self.batch, self.rows, self.cols, self.pc, self.regs, self.code = batch, rows, cols, pc, regs, code
        self.frames: tuple = ()  # callers, outermost first
        self.origin: ndarray | None = None  # rows of the regular group that an irregular one was made from
        self.turn = 0  # groups of different turns never merge (schedules other than 0 let warps run one after the other)
        self.waits = ""  # "", "barrier" or "warp"
        self.held: Any = None  # barriers.Held of a group that waits at a block barrier
        self.steps = 0
        self.came_from = -1
        self.ran = 0  # pick of the batch at which it last ran
        self.idle = -1  # machine.stores at which it was found to spin: see progress
        self.taint: dict | None = None  # slot → lanes whose value came from a lane that isn't there
        self.resized()

    def resized(self) -> None:
        """Recompute what follows from `rows` and `cols`."""
        self.n = len(self.rows)
        self._cache: dict = {}
        batch = self.batch
        self.whole = self.cols is None and self.n == batch.T
        if self.whole:
            self.nwarps, self.nlanes = batch.W * batch.B, batch.T * batch.B
        elif self.cols is None:
            self.nwarps, self.nlanes = len(np.unique(self.rows >> 5)) * batch.B, self.n * batch.B
        else:
            self.nwarps, self.nlanes = len(np.unique(self.cols * batch.W + (self.rows >> 5))), self.n

    # ------------------------------------------------------------------ what the lanes are

    def special(self, name: str):
        """A special register: tid.x, ctaid.y, laneid …"""
        value = self._cache.get(name)
        if value is None:
            value = self._cache[name] = special(self.batch.machine, self, name)
        return value

    @property
    def row_key(self) -> int:
        """The same number for groups of the same threads: memory patterns are remembered by it."""
        key = self._cache.get("row_key")
        if key is None:
            key = self._cache["row_key"] = self.batch.machine.intern_rows(self.rows)
        return key

    @property
    def block_columns(self) -> ndarray:
        """Column of each lane's block, shape (1, B) or (n, 1)."""
        value = self._cache.get("cols")
        if value is None:
            value = np.arange(self.batch.B)[None, :] if self.cols is None else self.cols[:, None]
            self._cache["cols"] = value
        return value

    @property
    def warp_columns(self) -> ndarray:
        """A number for each lane's warp, shape (n, B) or (n, 1)."""
        value = self._cache.get("warps")
        if value is None:
            value = self._cache["warps"] = (self.rows >> 5)[:, None] * self.batch.B + self.block_columns
        return value

    @property
    def lanes(self) -> ndarray:
        """Lane number of each thread in its warp, shape (n, 1)."""
        value = self._cache.get("lanes")
        if value is None:
            value = self._cache["lanes"] = (self.rows & 31)[:, None]
        return value

    @property
    def inverse(self) -> ndarray:
        """Thread (regular) or thread·B + column (irregular) → index in the group, −1 where it isn't a member. The last entry is always −1."""
        value = self._cache.get("inverse")
        if value is None:
            batch = self.batch
            if self.cols is None:
                value = np.full(batch.W * 32 + 1, -1)
                value[self.rows] = np.arange(self.n)
            else:
                value = np.full((batch.W * 32) * batch.B + 1, -1)
                value[self.rows * batch.B + self.cols] = np.arange(self.n)
            self._cache["inverse"] = value
        return value

    @property
    def shape(self) -> tuple[int, int]:
        return (self.n, self.batch.B) if self.cols is None else (self.n, 1)

    @property
    def stack(self) -> int:
        """Local memory that the callers use, in bytes: where this function's own begins."""
        return self.frames[-1].stack if self.frames else 0

    # ------------------------------------------------------------------ parting

    def taken(self, index: ndarray, pc: int | None = None) -> Group:
        """The lanes `index` of this group, with the registers alive at `pc` (all of them if None)."""
        child = Group(self.batch, self.rows[index], None if self.cols is None else self.cols[index], self.pc if pc is None else pc, [], self.code)
        live = None if pc is None else self.code.blocks[pc].live_in_slots
        child.regs = _pick(self.regs, live, lambda v: take_rows(v, index))
        child.frames = tuple(frame.map(lambda v: take_rows(v, index)) for frame in self.frames)
        child.origin, child.turn, child.steps, child.came_from, child.ran = self.origin, self.turn, self.steps, self.came_from, self.ran
        if self.taint:
            child.taint = {slot: take_rows(v, index) for slot, v in self.taint.items()}
        return child

    def columns(self, batch: Batch, keep: ndarray) -> Group | None:
        """This group's lanes in the blocks `keep` of its batch, as a group of `batch` (which holds just those blocks)."""
        if self.cols is not None:
            renumber = np.full(self.batch.B, -1)
            renumber[keep] = np.arange(len(keep))
            index = np.flatnonzero(renumber[self.cols] >= 0)
            if not len(index):
                return None
            child = self.taken(index)
            child.batch, child.cols = batch, renumber[child.cols]
            child.resized()
            child.waits, child.held = self.waits, self.held and self.held.map(lambda v: take_rows(v, index))
            return child
        pick = lambda v: take_columns(v, keep)  # noqa: E731
        child = Group(batch, self.rows, None, self.pc, [None if v is None else pick(v) for v in self.regs], self.code)
        child.frames = tuple(frame.map(pick) for frame in self.frames)
        child.waits, child.held = self.waits, self.held and self.held.map(pick)
        child.turn, child.steps, child.came_from, child.ran = self.turn, self.steps, self.came_from, self.ran
        if self.taint:
            child.taint = {slot: pick(v) for slot, v in self.taint.items()}
        return child

    def flattened(self) -> Group:
        """The same lanes as an irregular group."""
        if self.cols is not None:
            return self
        n, B = self.n, self.batch.B
        flat = lambda v: flatten(v, n, B)  # noqa: E731
        child = Group(self.batch, np.repeat(self.rows, B), np.tile(np.arange(B), n), self.pc, [None if v is None else flat(v) for v in self.regs], self.code)
        child.frames = tuple(frame.map(flat) for frame in self.frames)
        child.waits, child.held = self.waits, self.held and self.held.map(flat)
        child.origin, child.turn, child.steps, child.came_from, child.ran = self.rows, self.turn, self.steps, self.came_from, self.ran
        if self.taint:
            child.taint = {slot: flat(v) for slot, v in self.taint.items()}
        return child

    def regular(self) -> Group:
        """This irregular group as a regular one, if it holds the same threads of every block again."""
        B = self.batch.B
        if self.cols is None or self.origin is None or self.n != len(self.origin) * B:
            return self
        order = np.argsort(self.rows * B + self.cols, kind="stable")
        rows = self.rows[order].reshape(-1, B)
        if (rows != rows[:, :1]).any():
            return self
        fold = lambda v: v[order].reshape(-1, B) if v.__class__ is ndarray and v.shape[0] > 1 else v  # noqa: E731
        child = Group(self.batch, np.ascontiguousarray(rows[:, 0]), None, self.pc, [None if v is None else fold(v) for v in self.regs], self.code)
        child.frames = tuple(frame.map(fold) for frame in self.frames)
        child.turn, child.steps, child.came_from, child.ran = self.turn, self.steps, self.came_from, self.ran
        child.waits, child.held = self.waits, self.held and self.held.map(fold)
        if self.taint:
            child.taint = {slot: fold(v) for slot, v in self.taint.items()}
        return child

    # ------------------------------------------------------------------ meeting

    @property
    def place(self) -> tuple:
        """Groups with equal places can merge."""
        return (self.pc, id(self.code), self.turn, tuple((id(f.code), f.pc) for f in self.frames))

    def merged(self, other: Group) -> Group:
        """Both groups' lanes, ordered by thread; they stand at the same place."""
        a, b = self, other
        if (a.cols is None) != (b.cols is None):
            a, b = a.flattened(), b.flattened()
        if a.rows[0] > b.rows[0]:
            a, b = b, a
        rows = np.concatenate([a.rows, b.rows])
        cols = None if a.cols is None else np.concatenate([a.cols, b.cols])
        key = rows if cols is None else rows * a.batch.B + cols
        order = None if (key[1:] > key[:-1]).all() else np.argsort(key, kind="stable")
        if order is not None:
            rows, cols = rows[order], None if cols is None else cols[order]
        B = a.batch.B if cols is None else 1
        join = lambda x, y, type: join_values(x, y, a.n, b.n, B, type, order)  # noqa: E731
        child = Group(a.batch, rows, cols, a.pc, [], a.code)
        types = a.code.slot_types
        child.regs = [None] * len(types)
        for slot in a.code.blocks[a.pc].live_in_slots:
            child.regs[slot] = join(a.regs[slot], b.regs[slot], types[slot])
        child.frames = tuple(fa.merged(fb, join) for fa, fb in zip(a.frames, b.frames, strict=True))
        child.turn, child.steps, child.came_from, child.ran = a.turn, max(a.steps, b.steps), max(a.came_from, b.came_from), max(a.ran, b.ran)
        child.waits = a.waits if a.waits == b.waits else ""
        if a.held is not None and b.held is not None:
            child.held = a.held.merged(b.held, join)
        if a.taint or b.taint:
            ta, tb = a.taint or {}, b.taint or {}
            child.taint = {slot: join(ta.get(slot, False), tb.get(slot, False), "pred") for slot in ta.keys() | tb.keys()}
        if cols is not None:
            for parent in (a, b):
                if parent.origin is not None and (child.origin is None or len(parent.origin) > len(child.origin)):
                    child.origin = parent.origin
            if child.n == a.batch.T * a.batch.B:
                child.origin = np.arange(a.batch.T)
            return child.regular()
        return child


class Frame:
    """A caller: where to go on, its registers, and which of them get the return values: ((name, offset) in the callee, slot here)."""

    __slots__ = ("code", "pc", "regs", "results", "stack")

    def __init__(self, code, pc: int, regs: list, results: tuple, stack: int):
        self.code, self.pc, self.regs, self.results, self.stack = code, pc, regs, results, stack

    def map(self, f) -> Frame:
        return Frame(self.code, self.pc, [None if v is None else f(v) for v in self.regs], self.results, self.stack)

    def merged(self, other: Frame, join) -> Frame:
        types = self.code.slot_types
        regs = [None if x is None and y is None else join(x, y, types[i]) for i, (x, y) in enumerate(zip(self.regs, other.regs, strict=True))]
        return Frame(self.code, self.pc, regs, self.results, self.stack)


def _pick(regs: list, live, f) -> list:
    if live is None:
        return [None if v is None else f(v) for v in regs]
    out = [None] * len(regs)
    for slot in live:
        v = regs[slot]
        if v is not None:
            out[slot] = f(v)
    return out
