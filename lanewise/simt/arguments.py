"""The arguments of a launch against the kernel's parameters, before anything runs.

Needs neither the simulator nor a compiler: the same check stands in front of a real GPU, where a wrong argument gives no
message at all. Source of the rules: what CuPy packs for a launch (arrays as addresses, NumPy scalars as their bytes, a Python
int as 8 bytes, a Python float as a double) and the CUDA calling convention (a parameter reads its own size, little endian).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from . import c_types
from .c_types import CType
from .finding import Finding
from .launch_types import Output, Unset
from .signature import Parameter
from .tensor_maps import ALIGNMENT, BYTES, TensorMap


class Layout(Protocol):
    """A parameter as PTX declares it: `type` ("u64", "f32", "b8" …) and `size` in bytes."""

    type: str
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """An argument that fits. `array` for device memory (`poison`: passed as Output), else `data`, the parameter's bytes; both for a tensor `map`.

    `name` is the parameter's name in the source, or "argument 2" where the source doesn't tell.
    """

    name: str
    array: Any = None
    data: bytes = b""
    map: TensorMap | None = None
    poison: bool = False
    parameter: Parameter | None = None


@dataclass(frozen=True)
class _Slot:
    """One parameter with everything known of it."""

    name: str
    written: str  # the type for messages
    pointer: bool | None  # None: 8 bytes that may be either
    ctype: CType | None  # of the element or the value
    element: str
    const: bool
    size: int | None
    parameter: Parameter | None
    align: int = 0  # bytes, where PTX tells


def check(
    kernel: str, layouts: Sequence[Layout] | None, parameters: list[Parameter] | None, args: Sequence[Any], device_arrays: bool = False
) -> tuple[list[Finding], list[Bound]]:
    """Findings of kind `argument-mismatch`, and the arguments as they would be bound (complete only without errors).

    `layouts` are PTX' parameters (sizes), `parameters` those of the source (names, types); either may be None.
    `device_arrays`: arrays must be device arrays (CuPy's or the twin's), a NumPy array is an error.
    """
    slots = _slots(layouts, parameters)
    if slots is None:
        return [], [_bind(_Slot(f"argument {i}", "", None, None, "", False, None, None), arg) for i, arg in enumerate(args, 1)]
    if len(slots) != len(args):
        return [_wrong_count(kernel, slots, args, device_arrays)], []
    found = [_one(slot, arg, device_arrays) for slot, arg in zip(slots, args, strict=True)]
    findings = [finding for finding in found if finding]
    if any(finding.severity == "error" for finding in findings):
        return findings, []
    return findings, [_bind(slot, arg) for slot, arg in zip(slots, args, strict=True)]


def host_array(arg: Any) -> Any:
    """The array an argument stands for: out of an Output, and the NumPy buffer of a twin's array."""
    arg = arg.array if isinstance(arg, Output | Unset) else arg
    return getattr(arg, "device_array", arg)


def is_array(arg: Any) -> bool:
    """NumPy, CuPy and twin arrays; a NumPy scalar is none, nor is a class."""
    return not isinstance(arg, np.generic | type) and all(hasattr(arg, name) for name in ("dtype", "shape", "strides", "flags"))


def _slots(layouts: Sequence[Layout] | None, parameters: list[Parameter] | None) -> list[_Slot] | None:
    if layouts is not None and parameters is not None and len(layouts) != len(parameters):
        parameters = None  # the source was misread
    if layouts is None and parameters is None:
        return None
    count = len(layouts if layouts is not None else parameters or [])
    return [_slot(i, layouts[i] if layouts is not None else None, parameters[i] if parameters else None) for i in range(count)]


def _slot(at: int, layout: Layout | None, parameter: Parameter | None) -> _Slot:
    name = parameter.name if parameter and parameter.name else f"argument {at + 1}"
    size = layout.size if layout else None
    align = getattr(layout, "align", 0)
    if parameter:
        ctype = c_types.find(parameter.element)
        if parameter.pointer and size in (None, 8):
            return _Slot(name, parameter.ctype, True, ctype, parameter.element, parameter.const, 8, parameter)
        if not parameter.pointer and (size is None or ctype is None or ctype.bytes == size):
            return _Slot(name, parameter.ctype, None if ctype is None and size == 8 else False, ctype, parameter.element, False,
                         size or (ctype.bytes if ctype else None), parameter, align)  # fmt: skip
    if layout and layout.type in ("f32", "f64"):
        return _Slot(name, "float" if layout.size == 4 else "double", False, CType("f", layout.size), "", False, layout.size, parameter)
    return _Slot(name, f"{size} bytes", None if size == 8 else False, None, "", False, size, parameter, align)


def _one(slot: _Slot, arg: Any, device_arrays: bool) -> Finding | None:
    inner = host_array(arg)
    if isinstance(inner, TensorMap):
        return _map(slot)
    if isinstance(arg, Output) and not is_array(inner):
        return _error(slot, f"simt.Output holds {_what(inner)}: it must hold an array")
    if is_array(inner):
        by_value = slot.pointer is False
        if by_value and isinstance(inner, np.ndarray) and inner.size == 1 and inner.dtype.kind == "V" and slot.size in (None, inner.dtype.itemsize):
            return None  # a structured array of one element is passed by value, as CuPy does
        if by_value:
            return _error(slot, f"an array came for a value: pass {_scalar_call(slot, '...')}")
        return _array(slot, arg.array if isinstance(arg, Output | Unset) else arg, inner, device_arrays)
    return _value(slot, inner)


def _map(slot: _Slot) -> Finding | None:
    """A tensor map against its parameter."""
    by_value = f"declare the parameter const __grid_constant__, of a struct of {BYTES} bytes that is aligned to {ALIGNMENT}"
    if slot.pointer or slot.size not in (None, BYTES):
        return _error(slot, f"a tensor map came, which is passed by value: {by_value}")
    if slot.align and slot.align < ALIGNMENT:
        return _error(slot, f"a tensor map came, and the parameter is aligned to {slot.align} bytes: {by_value}")
    return None


def _array(slot: _Slot, passed: Any, inner: Any, device_arrays: bool) -> Finding | None:
    library = "np" if isinstance(passed, np.ndarray) else "cp"
    dtype = inner.dtype
    if device_arrays and library == "np":
        return _error(slot, f"a NumPy array came, which lies in the host's memory: pass cp.asarray({slot.name})")
    if dtype.kind not in "biufcV":
        return _error(slot, f"an array of {dtype} came, which no kernel can read: convert it to a numeric dtype")
    if not dtype.isnative:
        return _error(slot, f"the array's bytes are in foreign order ({dtype.str}): pass it as .astype({library}.{dtype.newbyteorder('=').name})")
    if slot.pointer and slot.ctype is not None and not c_types.points_to(slot.ctype, slot.element, dtype):
        wanted = c_types.numpy_name(slot.ctype)
        return _error(
            slot, f"{_with_article(dtype.name)} array came, whose bytes {_with_article(slot.element)}* misreads: pass it as .astype({library}.{wanted})"
        )
    if not inner.flags.c_contiguous:
        back = "" if slot.const else ", and copy the result back if the kernel writes it"
        return _error(
            slot,
            f"the array is a view with strides of {inner.strides} bytes, but a kernel gets the address alone and takes the elements as contiguous: "
            f"pass {library}.ascontiguousarray(...){back}",
        )
    if slot.pointer and not slot.const and isinstance(inner, np.ndarray) and not inner.flags.writeable:
        return _error(slot, "the array is read-only and the parameter is not const: pass a copy, or declare the parameter const")
    return None


def _value(slot: _Slot, value: Any) -> Finding | None:
    """A scalar of any kind against a parameter."""
    if value is None:
        return _error(slot, f"None came: pass {'np.uintp(0) for a null pointer' if slot.pointer else _scalar_call(slot, '...')}")
    if isinstance(value, bool | int) and not isinstance(value, np.generic):
        return _python_int(slot, value)
    if isinstance(value, float | complex) and not isinstance(value, np.generic):
        return _python_float(slot, value)
    if not isinstance(value, np.generic):
        return _error(slot, f"{_what(value)} came: pass {'an array' if slot.pointer else _scalar_call(slot, '...')}")
    dtype = value.dtype
    if slot.pointer:
        if dtype.kind in "iu" and dtype.itemsize == 8:
            return None if int(value) == 0 else _error(slot, f"the number {int(value)} came for a pointer: pass the array itself")
        return _error(slot, f"{_shown(value)} came for a pointer: pass an array, such as np.array([{value}], np.{dtype.name})")
    if dtype.kind not in "biufcV":
        return _error(slot, f"{_what(value)} came: pass {_scalar_call(slot, '...')}")
    if dtype.kind == "V":
        if slot.size in (None, dtype.itemsize):
            return None
        return _error(slot, f"a struct of {dtype.itemsize} bytes came for one of {slot.size}: make the dtype's fields those of the struct, with align=True")
    return _numpy_scalar(slot, value, dtype)


def _numpy_scalar(slot: _Slot, value: Any, dtype: np.dtype) -> Finding | None:
    wanted = slot.ctype
    if wanted is None:
        fits = slot.size is None or dtype.itemsize == slot.size
        return None if fits else _error(slot, f"{_shown(value)} has {dtype.itemsize} bytes, the parameter {slot.size}: pass a scalar of its size")
    if wanted.parts > 1:
        if dtype.itemsize == wanted.bytes and dtype.kind == "c" and wanted.kind == "f":
            return None
        return _error(slot, f"{_shown(value)} came for a vector: pass a structured scalar (np.void) of {wanted.bytes} bytes")
    if _same(wanted, dtype):
        if wanted.kind in "iu" and dtype.kind in "iu" and not _fits(wanted, int(value)):
            return _error(slot, f"{_shown(value)} does not fit and would arrive as {_arrives(value, wanted)}: {_range(wanted)}")
        return None
    if wanted.kind in "iu" and dtype.kind in "iu" and dtype.itemsize > wanted.size:
        if _fits(wanted, int(value)):
            return _remark(slot, f"{_shown(value)} has {dtype.itemsize} bytes and only its low {wanted.size} are read: write {_scalar_call(slot, int(value))}")
        return _error(slot, f"{_shown(value)} does not fit and would arrive as {_arrives(value, wanted)}: {_range(wanted)}")
    call = _scalar_call(slot, value.real if dtype.kind == "c" else value)
    if dtype.itemsize < wanted.size:
        return _error(slot, f"{_shown(value)} has {dtype.itemsize} bytes and {wanted.size} are read: pass {call}")
    return _error(slot, f"{_shown(value)} would arrive as {_arrives(value, wanted)}: pass {call}")


def _python_int(slot: _Slot, value: int) -> Finding | None:
    """CuPy passes a Python int as 8 bytes, a bool as one."""
    if slot.pointer:
        if value == 0 and not isinstance(value, bool):
            return _remark(slot, "the Python int 0 came for a pointer: write np.uintp(0)")
        return _error(slot, f"the number {value} came for a pointer: pass an array")
    wanted = slot.ctype
    call = _scalar_call(slot, value)
    if isinstance(value, bool):
        if wanted and wanted.kind == "b":
            return _remark(slot, f"a Python bool came: write np.bool_({value})")
        return _error(slot, f"{value} is passed as a single byte: pass {_scalar_call(slot, int(value))}")
    if wanted is None:
        return None if slot.size in (None, 8) else _error(slot, f"the Python int {value} came: pass a NumPy scalar of {slot.size} bytes")
    if wanted.parts > 1:
        return _error(slot, f"the Python int {value} came for a vector: pass a structured scalar (np.void) of {wanted.bytes} bytes")
    if wanted.kind in "fh":
        return _error(slot, f"the Python int {value} would arrive as {_arrives(np.int64(_wrapped(value)), wanted)}: pass {call}")
    if wanted.kind == "b":
        return _error(slot, f"the Python int {value} came: pass np.bool_({bool(value)})")
    if not _fits(wanted, value):
        return _error(slot, f"the Python int {value} does not fit and would arrive as {_arrives(np.int64(_wrapped(value)), wanted)}: {_range(wanted)}")
    return _remark(slot, f"a Python int came, which is passed as 8 bytes: write {call}")


def _python_float(slot: _Slot, value: float | complex) -> Finding:
    if slot.pointer:
        return _error(slot, f"the Python {type(value).__name__} {value} came for a pointer: pass an array")
    wanted = slot.ctype
    if isinstance(value, complex):
        return _error(slot, f"the Python complex {value} came: pass np.complex64({value})")
    if wanted is None or wanted.parts > 1:
        return _error(slot, f"the Python float {value} came: pass a NumPy scalar of {slot.size or 'its'} bytes")
    call = _scalar_call(slot, value)
    if wanted.kind == "f" and wanted.size == 8:
        return _error(slot, f"a Python float came: say which size you mean, {call}")
    return _error(slot, f"the Python float {value} is passed as 8 bytes and would arrive as {_arrives(np.float64(value), wanted)}: pass {call}")


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


def _wrapped(value: int) -> int:
    return (value + 2**63) % 2**64 - 2**63


def _arrives(value: Any, wanted: CType) -> str:
    """What the parameter reads from the scalar's bytes, in words."""
    kind = {"h": "f", "b": "u"}.get(wanted.kind, wanted.kind)
    read = np.frombuffer(value.tobytes().ljust(wanted.size, b"\0")[: wanted.size], f"<{kind}{wanted.size}")[0]
    return f"{float(read):.6g}" if kind == "f" else str(int(read))


def _scalar_call(slot: _Slot, value: Any) -> str:
    if slot.ctype is None or slot.ctype.parts > 1:
        return f"a NumPy scalar or np.void of {slot.size} bytes" if slot.size else "a NumPy scalar of the parameter's type"
    if slot.ctype.kind in "iu" and isinstance(value, float | np.floating) and np.isfinite(value):
        value = int(value)
    shown = value if isinstance(value, str | int) else f"{float(value):.9g}"
    return f"np.{c_types.numpy_name(slot.ctype)}({shown})"


def _shown(value: Any) -> str:
    return f"np.{value.dtype.name if value.dtype.kind != 'b' else 'bool_'}({value})"


def _what(value: Any) -> str:
    return f"an object of type {type(value).__name__}"


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' and not name.startswith(('uint', 'uchar', 'ushort')) else 'a'} {name}"


def _wrong_count(kernel: str, slots: list[_Slot], args: Sequence[Any], device_arrays: bool) -> Finding:
    """Which parameters are missing, or which arguments too many, is told by what fits the rest best."""
    names = ", ".join(slot.name for slot in slots) or "none"
    head = f"{kernel} takes {len(slots)} argument{'s' if len(slots) != 1 else ''} ({names}), but {len(args)} came"
    more, fewer = max(len(slots), len(args)), min(len(slots), len(args))

    def misfits(dropped: tuple[int, ...]) -> int:
        kept = [i for i in range(more) if i not in dropped]
        pairs = zip([slots[i] for i in kept], args, strict=True) if len(slots) > len(args) else zip(slots, [args[i] for i in kept], strict=True)
        return sum(1 for slot, arg in pairs if (found := _one(slot, arg, device_arrays)) and found.severity == "error")

    ways = itertools.combinations(reversed(range(more)), more - fewer)  # the last ones first: the usual slip
    chosen = sorted(min(itertools.islice(ways, 500), key=lambda way: misfits(tuple(way))))
    if len(slots) > len(args):
        missing = ", ".join(slots[i].name for i in chosen)
        return Finding("argument-mismatch", "error", f"{head}: pass {missing} too.", array=slots[chosen[0]].name)
    extra = ", ".join(str(i + 1) for i in chosen)
    return Finding("argument-mismatch", "error", f"{head}: leave out number {extra}.")


def _bind(slot: _Slot, arg: Any) -> Bound:
    inner = host_array(arg)
    if isinstance(inner, TensorMap):
        array = None if inner.array is None else whole(inner.array)  # an array on a GPU is checked, never bound
        return Bound(slot.name, array, bytes(inner), inner, isinstance(arg, Output) or inner.output, slot.parameter)
    if is_array(inner) and slot.pointer is not False:
        return Bound(slot.name, inner, poison=isinstance(arg, Output), parameter=slot.parameter)
    value = np.int64(_wrapped(inner)) if isinstance(inner, int) and not isinstance(inner, bool | np.generic) else np.asarray(inner)
    size = slot.size or value.nbytes
    return Bound(slot.name, data=value.tobytes()[:size].ljust(size, b"\0"), parameter=slot.parameter)


def whole(array: Any) -> Any:
    """The contiguous array that a view is part of; the array itself where it is contiguous."""
    while not array.flags.c_contiguous and isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _error(slot: _Slot, text: str) -> Finding:
    return Finding("argument-mismatch", "error", f"{slot.name} ({slot.written}): {text}.", array=slot.name)


def _remark(slot: _Slot, text: str) -> Finding:
    return Finding("argument-mismatch", "remark", f"{slot.name} ({slot.written}): {text}.", array=slot.name)
