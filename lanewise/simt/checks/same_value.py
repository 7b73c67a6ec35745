"""Stores of one value by several threads: right, though seldom meant; a remark instead of a race."""

from __future__ import annotations

import numpy as np

from ..values import Split, ndarray


def against_memory(where, view: ndarray, shift: int, values: tuple, j: int, grain: int):
    """Per lane: does the value it stores equal what is there? `j` counts words of the race check."""
    size = view.itemsize
    k = j * grain // size
    if k >= len(values):
        return None
    value = values[k].full() if values[k].__class__ is Split else values[k]
    there = where.get(view, shift, k)
    return there == value


def in_one_store(g, where, values: tuple | None, j: int, shift: int, grain: int, shape: tuple[int, int]):
    """Per lane: do all lanes that store to its word store the same value? (Lanes of one instruction.)"""
    if values is None:
        return None
    size = 1 << shift
    k = j * grain // size
    if k >= len(values):
        return None
    value = values[k].full() if values[k].__class__ is Split else values[k]
    value = np.broadcast_to(np.asarray(value), shape).ravel()
    bits = value.view(np.dtype(f"u{value.dtype.itemsize}")) if value.dtype.kind == "f" else value
    place = where.index(shift)
    place = np.broadcast_to(np.asarray(place), shape).ravel()
    order = np.argsort(place, kind="stable")
    p, v = place[order], bits[order]
    starts = np.flatnonzero(np.r_[True, p[1:] != p[:-1]])
    same = np.minimum.reduceat(v, starts) == np.maximum.reduceat(v, starts)
    lengths = np.diff(np.r_[starts, len(p)])
    out = np.empty(len(p), bool)
    out[order] = np.repeat(same, lengths)
    return out.reshape(shape)
