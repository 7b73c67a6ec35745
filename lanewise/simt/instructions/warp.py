"""Shuffles, votes, matches, reductions of a warp (PTX ISA 9.7.9 "shfl.sync", 9.7.13). The machine has seen to it that the lanes are together."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..codegen import Emitter
from ..ptx import Instruction, Vector
from ..values import full as _full
from ..values import i64, ndarray, u32


class Warps:
    """A group's lanes arranged by warp: `index[w, l]` is the number in the group of lane l of warp w, −1 where it isn't a member."""

    __slots__ = ("index", "member", "warp", "complete", "n", "lanes")

    def __init__(self, g) -> None:
        key = g.rows >> 5 if g.cols is None else (g.rows >> 5) * g.batch.B + g.cols
        unique, self.warp = np.unique(key, return_inverse=True)
        self.lanes = g.rows & 31
        self.index = np.full((len(unique), 32), -1)
        self.index[self.warp, self.lanes] = np.arange(g.n)
        self.member = self.index >= 0
        self.complete = g.cols is None and bool(self.member.all())
        self.n = g.n

    def spread(self, x, fill) -> ndarray:
        """A value of the group's lanes as (warps, 32, columns); `fill` where no member is."""
        if x.__class__ is not ndarray or x.shape[0] == 1:
            columns = x.shape[1] if x.__class__ is ndarray else 1
            out = np.broadcast_to(np.asarray(x).reshape(1, 1, -1), (*self.index.shape, columns))
        elif self.complete and (self.index.ravel() == np.arange(self.n)).all():
            return x.reshape(-1, 32, x.shape[1])
        else:
            out = x[self.index]
        return out if self.complete else np.where(self.member[:, :, None], out, fill)

    def gather(self, x: Any) -> ndarray:
        """A value per warp, (warps, columns), for every lane of the group."""
        return x[self.warp]

    def back(self, x: ndarray) -> ndarray:
        """(warps, 32, columns) → (n, columns)."""
        return x[self.warp, self.lanes]


def warps(g) -> Warps:
    got = g._cache.get("warp_table")
    if got is None:
        got = g._cache["warp_table"] = Warps(g)
    return got


def in_mask(g, mask) -> ndarray | bool:
    """Which lanes of each warp the mask names, as (warps, 32, columns) or True for a full mask."""
    if mask == 0xFFFFFFFF if mask.__class__ is int else False:
        return True
    w = warps(g)
    m = w.spread(_full(mask), u32(0)) if mask.__class__ is not int else np.full((1, 1, 1), mask, u32)
    return (m >> np.arange(32, dtype=u32)[None, :, None] & u32(1)) != 0


def _source_lane(lane, mode: str, b, c):
    segment = (c >> 8) & 31
    clamp = c & 31
    last = (lane & segment) | (clamp & ~segment)
    b = b & 31
    if mode == "up":
        j = lane - b
        return j, j >= last
    if mode == "down":
        j = lane + b
    elif mode == "bfly":
        j = lane ^ b
    else:
        j = (lane & segment) | (b & ~segment)
    return j, j <= last


def shuffle(g, mode: str, a, b, c, mask, pc: int):
    """(value of the source lane, whether the source was in range)."""
    fixed = b.__class__ is int and c.__class__ is int
    key = ("shfl", mode, b, c) if fixed else None
    got = g._cache.get(key) if fixed else None
    if got is None:
        lane = g.lanes.astype(i64)
        signed = lambda x: x if x.__class__ is int else _full(x).astype(i64)  # noqa: E731
        j, inside = _source_lane(lane, mode, signed(b), signed(c))
        j = np.where(inside, j, lane)
        row = (g.rows & ~31)[:, None] + j
        index = g.inverse[row] if g.cols is None else g.inverse[row * g.batch.B + g.cols[:, None]]
        got = (j, inside, index, bool((index >= 0).all()))
        if fixed:
            g._cache[key] = got
    j, inside, index, complete = got
    if mask != 0xFFFFFFFF if mask.__class__ is int else True:
        named = (_full(mask) if mask.__class__ is not int else u32(mask)) >> j.astype(u32) & u32(1)
        absent = (index < 0) | (named == 0)
        complete = complete and not absent.any()
    else:
        absent = index < 0
    a = _full(a)
    if a.__class__ is ndarray and a.shape[0] > 1:
        at = np.where(index < 0, 0, index)
        out = a[at[:, 0]] if at.shape[1] == 1 else np.take_along_axis(np.broadcast_to(a, (a.shape[0], at.shape[1])), at, axis=0)
    else:
        out = a
    if not complete:
        out = np.where(absent, u32(0xFFF5A5A5), out)
        if pc >= 0:
            g.batch.machine.absent_lane(g, pc, absent, j)
    return out, inside


def by_mask(operation):
    """The operation with one mask at a time, where lanes of a warp name different ones (tiles of a warp side by side)."""

    @functools.wraps(operation)
    def apply(g, *rest):
        *before, mask = rest
        mask = _full(mask)
        if mask.__class__ is int:
            return operation(g, *before, mask)
        different = np.unique(mask)
        if len(different) == 1:
            return operation(g, *before, int(different[0]))
        out = None
        for one in different:
            here = operation(g, *before, int(one))
            if out is None:
                out = here
            elif here.__class__ is tuple:
                out = tuple(np.where(mask == one, x, y) for x, y in zip(here, out, strict=True))
            else:
                out = np.where(mask == one, here, out)
        return out

    return apply


@by_mask
def vote(g, mode: str, p, mask):
    w = warps(g)
    if p.__class__ is bool and w.complete and mask.__class__ is int and mask == 0xFFFFFFFF:
        return (0xFFFFFFFF if p else 0) if mode == "ballot" else True if mode == "uni" else p
    named = in_mask(g, mask)
    x = w.spread(p, False) & named
    if mode == "ballot":
        bits = (x.astype(u32) << np.arange(32, dtype=u32)[None, :, None]).sum(axis=1, dtype=u32)
        return w.gather(bits)
    takes_part = np.broadcast_to(w.member[:, :, None] & named, x.shape)
    if mode == "any":
        return w.gather(x.any(axis=1))
    everyone = (x | ~takes_part).all(axis=1)
    if mode == "all":
        return w.gather(everyone)
    return w.gather(everyone | ~x.any(axis=1))


@by_mask
def match(g, mode: str, width: int, a, mask):
    """match.any: lanes of the mask with the same value. match.all: the mask if all agree, and whether they do."""
    w = warps(g)
    a = _full(a)
    x = w.spread(a if a.__class__ is ndarray else np.full((1, 1), a, np.uint64), 0)
    columns = x.shape[2] if mask.__class__ is int else max(x.shape[2], _full(mask).shape[1])
    named = np.broadcast_to(w.member[:, :, None] & in_mask(g, mask), (len(w.index), 32, columns))
    equal = (x[:, :, None, :] == x[:, None, :, :]) & named[:, None, :, :]
    bits = (equal.astype(u32) << np.arange(32, dtype=u32)[None, None, :, None]).sum(axis=2, dtype=u32)
    if mode == "any":
        return w.back(bits)
    everyone = (named.astype(u32) << np.arange(32, dtype=u32)[None, :, None]).sum(axis=1, dtype=u32)
    agreed = ((bits == everyone[:, None, :]) | ~named).all(axis=1)
    return w.gather(np.where(agreed, everyone, u32(0))), w.gather(agreed)


_REDUCE = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@by_mask
def reduce_warp(g, op: str, is_signed: bool, a, mask):
    w = warps(g)
    a = _full(a)
    x = w.spread(a if a.__class__ is ndarray else np.full((1, 1), a, u32), u32(0))
    named = np.broadcast_to(w.member[:, :, None] & in_mask(g, mask), x.shape)
    neutral = {"min": 0x7FFFFFFF if is_signed else 0xFFFFFFFF, "max": 0x80000000 if is_signed else 0, "and": 0xFFFFFFFF}.get(op, 0)
    x = np.where(named, x, u32(neutral))
    out = _REDUCE[op].reduce(x.view(np.int32) if is_signed else x, axis=1).astype(np.int32 if is_signed else u32).view(u32)
    return w.gather(out)


@by_mask
def elect(g, mask):
    """(number of the lowest lane of the mask, whether it is this one)."""
    w = warps(g)
    named = np.broadcast_to(w.member[:, :, None] & in_mask(g, mask), (len(w.index), 32, 1 if mask.__class__ is int else _full(mask).shape[1]))
    leader = w.gather(named.argmax(axis=1).astype(u32))
    return leader, g.lanes == leader


def active_mask(g):
    """The lanes of each warp that execute this now."""
    w = warps(g)
    return w.gather((w.member.astype(u32) << np.arange(32, dtype=u32)).sum(axis=1, dtype=u32)[:, None])


NAMES = {"SHFL": shuffle, "VOTE": vote, "MATCH": match, "REDUX": reduce_warp, "ELECT": elect, "ACTIVE": active_mask}


def emit_shfl(e: Emitter, i: Instruction) -> None:
    d, a, b, c, mask = i.operands
    mode = next(m for m in i.modifiers if m in ("up", "down", "bfly", "idx"))
    first, second = d.items if isinstance(d, Vector) else (d, None)
    t = e.temporary()
    lane, clamp = e.use(b, "u32"), e.use(c, "u32")
    e.line(f"{t}=SHFL(g,{mode!r},{e.use(a, 'b32')},{lane},{clamp},{e.use(mask, 'b32')},{e.index})")
    e.define(first, "b32", f"{t}[0]")
    e.define(second, "pred", f"{t}[1]")
    e.taint_result(first, a, mode, lane, clamp)


def emit_vote(e: Emitter, i: Instruction) -> None:
    mode = next(m for m in i.modifiers if m in ("all", "any", "uni", "ballot"))
    d, p, mask = i.operands
    e.define(d, "b32" if mode == "ballot" else "pred", f"VOTE(g,{mode!r},{e.use(p, 'pred')},{e.use(mask, 'b32')})")


def emit_match(e: Emitter, i: Instruction) -> None:
    d, a, mask = i.operands
    mode, type = ("all" if "all" in i.modifiers else "any"), i.modifiers[-1]
    made = f"MATCH(g,{mode!r},{type[1:]},{e.use(a, type)},{e.use(mask, 'b32')})"
    if mode == "any":
        e.define(d, "b32", made)
        return
    first, second = d.items if isinstance(d, Vector) else (d, None)
    t = e.temporary()
    e.line(f"{t}={made}")
    e.define(first, "b32", f"{t}[0]")
    e.define(second, "pred", f"{t}[1]")


def emit_redux(e: Emitter, i: Instruction) -> None:
    d, a, mask = i.operands
    op = next(m for m in i.modifiers if m in _REDUCE)
    if i.modifiers[-1] not in ("u32", "s32", "b32"):
        raise e.unsupported()
    e.define(d, "b32", f"REDUX(g,{op!r},{i.modifiers[-1] == 's32'},{e.use(a, 'b32')},{e.use(mask, 'b32')})")


def emit_elect(e: Emitter, i: Instruction) -> None:
    d, mask = i.operands
    first, second = d.items if isinstance(d, Vector) else (d, None)
    t = e.temporary()
    e.line(f"{t}=ELECT(g,{e.use(mask, 'b32')})")
    e.define(first, "b32", f"{t}[0]")
    e.define(second, "pred", f"{t}[1]")


def emit_activemask(e: Emitter, i: Instruction) -> None:
    e.define(i.operands[0], "b32", "ACTIVE(g)")


def mask_operand(i: Instruction):
    """Which operand of a warp-wide instruction is the member mask; None: all lanes of the warp."""
    if i.opcode in ("shfl", "vote", "match", "redux", "elect"):
        return i.operands[-1]
    if i.opcode in ("bar", "barrier") and "warp" in i.modifiers:
        return i.operands[0]
    return None


EMIT = {"shfl": emit_shfl, "vote": emit_vote, "match": emit_match, "redux": emit_redux, "elect": emit_elect, "activemask": emit_activemask}
