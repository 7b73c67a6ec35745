"""Functions of CUDA's device runtime that kernels call: printf, assert, malloc."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from .errors import Stop
from .memory import LOCAL_WINDOW
from .values import full, ndarray

if TYPE_CHECKING:
    from .group import Group

BUILT_IN = frozenset(("vprintf", "__assertfail"))
PRINT_LIMIT = 1 << 17  # characters kept of a launch's output (a GPU keeps 1 MB and overwrites the oldest)
WIDEST = "4096"  # characters of one value; a kernel could ask for two thousand million
_TOO_WIDE = re.compile(r"[1-9]\d{4,}")
_FORMAT = re.compile(r"%[-+ #0]*(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|z|j|t|L)?([diouxXeEfFgGaAcsp%])")


def call_built_in(g: Group, name: str, args: tuple[str, ...], results: tuple[str, ...], next_pc: int) -> int:
    values = [_argument(g, arg) for arg in args]
    machine = g.batch.machine
    if name == "__assertfail":
        machine.faults.trapped(g, _text(machine, _first(values[0])))
        raise Stop
    count = _print(g, values[0], values[1])
    for result in results:
        for (owner, _), slot in g.code.params.items():
            if owner == result:
                g.regs[slot] = count
    return next_pc


def _argument(g: Group, name: str):
    return next((g.regs[slot] for (owner, offset), slot in g.code.params.items() if owner == name and offset == 0), 0)


def _first(value) -> int:
    value = full(value)
    return int(value.flat[0]) if value.__class__ is ndarray else int(value)


def _text(machine, address: int) -> str:
    """The C string at an address of global memory."""
    a = machine.memory.at(address)
    if a is None:
        return ""
    start = address - a.base
    raw = bytes(a.data[start:])
    return raw.split(b"\0")[0].decode("utf-8", "replace")


def _print(g: Group, text, buffer) -> int:
    """printf of every lane, block by block. Arguments lie one after the other in the thread's local memory, each aligned to its size."""
    machine = g.batch.machine
    form = _text(machine, _first(text))
    parts = [m for m in _FORMAT.finditer(form) if m[4] != "%"]
    if machine.print_full:
        return len(parts)
    lanes = np.arange(g.n * g.batch.B if g.cols is None else g.n)
    rows = np.repeat(g.rows, g.batch.B) if g.cols is None else g.rows
    columns = np.tile(np.arange(g.batch.B), g.n) if g.cols is None else g.cols
    addresses = full(buffer)
    flat = np.broadcast_to(addresses, g.shape).ravel() if addresses.__class__ is ndarray else np.full(len(lanes), addresses)
    for k in np.lexsort((rows, columns)):
        if machine.print_full:
            break
        values = []
        offset = (int(flat[k]) - LOCAL_WINDOW) if int(flat[k]) else 0
        words = g.batch.local.words
        for part in parts:
            for _ in range(part[0].count("*")):  # a width or precision that comes as an argument
                part = _with_star(part, _int(words[offset // 4 : offset // 4 + 1, rows[k], columns[k]]))
                offset += 4
            wide = part[4] in "eEfFgGaAsp" or part[3] in ("l", "ll", "z", "j", "t")
            if wide:
                offset = (offset + 7) // 8 * 8
            raw = words[offset // 4 : offset // 4 + (2 if wide else 1), rows[k], columns[k]]
            offset += 8 if wide else 4
            values.append(_value(machine, part, np.ascontiguousarray(raw)) if len(raw) else part[0])  # fewer arguments than the format names
        machine.print(_filled(form, values))
    return len(parts)


def _filled(form: str, values: list[str]) -> str:
    """The format with its conversions replaced by the values, one after the other."""
    left = iter(values)
    return _FORMAT.sub(lambda m: "%" if m[4] == "%" else next(left), form)


def _int(raw: np.ndarray) -> int:
    return int(np.ascontiguousarray(raw).view(np.int32)[0]) if len(raw) else 0


def _with_star(part: re.Match, number: int) -> re.Match:
    """The specification with its first `*` replaced; a negative precision counts as none."""
    text = part[0].replace("*", str(number), 1)
    return _FORMAT.fullmatch(text.replace(f".{number}", "") if number < 0 else text) or part


def _value(machine, part: re.Match, raw: np.ndarray) -> str:
    kind = part[4]
    spec = "%" + part[0][1:].replace(part[3] or "", "", 1) if part[3] else part[0]
    spec = _TOO_WIDE.sub(WIDEST, spec)
    if kind in "eEfFgG":
        return spec % float(raw.view(np.float64)[0])
    if kind in "aA":
        return float(raw.view(np.float64)[0]).hex()
    if kind == "s":
        return spec % _text(machine, int(raw.view(np.uint64)[0]))
    if kind == "p":
        return f"{int(raw.view(np.uint64)[0]):#x}"
    if kind == "c":
        return spec % chr(int(raw[0]) & 0xFF)
    if len(raw) == 2:
        value = int(raw.view(np.int64 if kind in "di" else np.uint64)[0])
    else:
        value = int(raw.view(np.int32 if kind in "di" else np.uint32)[0])
        if part[3] == "h":
            value = int(np.int16(value & 0xFFFF) if kind in "di" and value & 0x8000 else value & 0xFFFF)
    return spec.replace("i", "d").replace("u", "d") % value if "*" not in spec else part[0]
