"""Scalars of a launch against the kernel's parameters: what CuPy packs for each, and what the kernel would read of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import c_types
from .c_types import CType
from .finding import Finding
from .slots import Slot


def check_scalar(slot: Slot, value: Any) -> Finding | None:
    """A number, None or any other object that is no array against its parameter."""
    if value is None:
        return slot.error(f"None came: pass {'np.uintp(0) for a null pointer' if slot.pointer else scalar_call(slot, '...')}")
    if isinstance(value, bool | int) and not isinstance(value, np.generic):
        return _python_int(slot, value)
    if isinstance(value, float | complex) and not isinstance(value, np.generic):
        return _python_float(slot, value)
    if not isinstance(value, np.generic):
        return slot.error(f"{described(value)} came: pass {'an array' if slot.pointer else scalar_call(slot, '...')}")
    dtype = value.dtype
    if slot.pointer:
        if dtype.kind in "iu" and dtype.itemsize == 8:
            return None if int(value) == 0 else slot.error(f"the number {int(value)} came for a pointer: pass the array itself")
        return slot.error(f"{_shown(value)} came for a pointer: pass an array, such as np.array([{value}], np.{dtype.name})")
    if dtype.kind not in "biufcV":
        return slot.error(f"{described(value)} came: pass {scalar_call(slot, '...')}")
    if dtype.kind == "V":
        if slot.size in (None, dtype.itemsize):
            return None
        return slot.error(f"a struct of {dtype.itemsize} bytes came for one of {slot.size}: make the dtype's fields those of the struct, with align=True")
    return _numpy_scalar(slot, value, dtype)


def _numpy_scalar(slot: Slot, value: Any, dtype: np.dtype) -> Finding | None:
    wanted = slot.ctype
    if wanted is None:
        fits = slot.size is None or dtype.itemsize == slot.size
        return None if fits else slot.error(f"{_shown(value)} has {dtype.itemsize} bytes, the parameter {slot.size}: pass a scalar of its size")
    if wanted.parts > 1:
        if dtype.itemsize == wanted.bytes and dtype.kind == "c" and wanted.kind == "f":
            return None
        return slot.error(f"{_shown(value)} came for a vector: pass a structured scalar (np.void) of {wanted.bytes} bytes")
    if _same(wanted, dtype):
        if wanted.kind in "iu" and dtype.kind in "iu" and not _fits(wanted, int(value)):
            return slot.error(f"{_shown(value)} does not fit and would arrive as {_arrives(value, wanted)}: {_range(wanted)}")
        return None
    if wanted.kind in "iu" and dtype.kind in "iu" and dtype.itemsize > wanted.size:
        if _fits(wanted, int(value)):
            return slot.remark(f"{_shown(value)} has {dtype.itemsize} bytes and only its low {wanted.size} are read: write {scalar_call(slot, int(value))}")
        return slot.error(f"{_shown(value)} does not fit and would arrive as {_arrives(value, wanted)}: {_range(wanted)}")
    call = scalar_call(slot, value.real if dtype.kind == "c" else value)
    if dtype.itemsize < wanted.size:
        return slot.error(f"{_shown(value)} has {dtype.itemsize} bytes and {wanted.size} are read: pass {call}")
    return slot.error(f"{_shown(value)} would arrive as {_arrives(value, wanted)}: pass {call}")


def _python_int(slot: Slot, value: int) -> Finding | None:
    """CuPy passes a Python int as 8 bytes, a bool as one."""
    if slot.pointer:
        if value == 0 and not isinstance(value, bool):
            return slot.remark("the Python int 0 came for a pointer: write np.uintp(0)")
        return slot.error(f"the number {value} came for a pointer: pass an array")
    wanted = slot.ctype
    call = scalar_call(slot, value)
    if isinstance(value, bool):
        if wanted and wanted.kind == "b":
            return slot.remark(f"a Python bool came: write np.bool_({value})")
        return slot.error(f"{value} is passed as a single byte: pass {scalar_call(slot, int(value))}")
    if wanted is None:
        return None if slot.size in (None, 8) else slot.error(f"the Python int {value} came: pass a NumPy scalar of {slot.size} bytes")
    if wanted.parts > 1:
        return slot.error(f"the Python int {value} came for a vector: pass a structured scalar (np.void) of {wanted.bytes} bytes")
    if wanted.kind in "fh":
        return slot.error(f"the Python int {value} would arrive as {_arrives(np.int64(wrapped(value)), wanted)}: pass {call}")
    if wanted.kind == "b":
        return slot.error(f"the Python int {value} came: pass np.bool_({bool(value)})")
    if not _fits(wanted, value):
        return slot.error(f"the Python int {value} does not fit and would arrive as {_arrives(np.int64(wrapped(value)), wanted)}: {_range(wanted)}")
    return slot.remark(f"a Python int came, which is passed as 8 bytes: write {call}")


def _python_float(slot: Slot, value: float | complex) -> Finding:
    if slot.pointer:
        return slot.error(f"the Python {type(value).__name__} {value} came for a pointer: pass an array")
    wanted = slot.ctype
    if isinstance(value, complex):
        return slot.error(f"the Python complex {value} came: pass np.complex64({value})")
    if wanted is None or wanted.parts > 1:
        return slot.error(f"the Python float {value} came: pass a NumPy scalar of {slot.size or 'its'} bytes")
    call = scalar_call(slot, value)
    if wanted.kind == "f" and wanted.size == 8:
        return slot.error(f"a Python float came: say which size you mean, {call}")
    return slot.error(f"the Python float {value} is passed as 8 bytes and would arrive as {_arrives(np.float64(value), wanted)}: pass {call}")


def _same(wanted: CType, dtype: np.dtype) -> bool:
    if dtype.itemsize != wanted.size:
        return False
    if wanted.kind == "h":
        return dtype.kind in "fu"
    if wanted.kind == "b":
        return dtype.kind in "bu"
    return dtype.kind in ("iu" if wanted.kind in "iu" else wanted.kind)


def _fits(wanted: CType, value: int) -> bool:
    bits = 8 * wanted.size
    low, high = (0, 2**bits) if wanted.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return low <= value < high


def _range(wanted: CType) -> str:
    bits = 8 * wanted.size
    low, high = ("0", f"2**{bits} - 1") if wanted.kind == "u" else (f"-2**{bits - 1}", f"2**{bits - 1} - 1")
    return f"the parameter holds {low} to {high}; pass a smaller value or make it long long"


def wrapped(value: int) -> int:
    """The value of its low 64 bits, signed."""
    return (value + 2**63) % 2**64 - 2**63


def _arrives(value: Any, wanted: CType) -> str:
    """What the parameter reads from the scalar's bytes, in words."""
    kind = {"h": "f", "b": "u"}.get(wanted.kind, wanted.kind)
    read = np.frombuffer(value.tobytes().ljust(wanted.size, b"\0")[: wanted.size], f"<{kind}{wanted.size}")[0]
    return f"{float(read):.6g}" if kind == "f" else str(int(read))


def scalar_call(slot: Slot, value: Any) -> str:
    """What to write for the value: np.int32(7)."""
    if slot.ctype is None or slot.ctype.parts > 1:
        return f"a NumPy scalar or np.void of {slot.size} bytes" if slot.size else "a NumPy scalar of the parameter's type"
    if slot.ctype.kind in "iu" and isinstance(value, float | np.floating) and np.isfinite(value):
        value = int(value)
    shown = value if isinstance(value, str | int) else f"{float(value):.9g}"
    return f"np.{c_types.numpy_name(slot.ctype)}({shown})"


def _shown(value: Any) -> str:
    return f"np.{value.dtype.name if value.dtype.kind != 'b' else 'bool_'}({value})"


def described(value: Any) -> str:
    """An object that no kernel takes, in words."""
    return f"an object of type {type(value).__name__}"
