"""The arguments of a launch against the kernel's parameters, before anything runs.

Needs neither the simulator nor a compiler: the same check stands in front of a real GPU, where a wrong argument gives no
message at all. Source of the rules: what CuPy packs for a launch (arrays as addresses, NumPy scalars as their bytes, a Python
int as 8 bytes, a Python float as a double) and the CUDA calling convention (a parameter reads its own size, little endian).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import c_types
from .finding import Finding
from .launch_types import Output, Unset
from .scalar_arguments import check_scalar, described, scalar_call, wrapped
from .signature import Parameter
from .slots import Layout, Slot, read_slots
from .tensor_maps import ALIGNMENT, BYTES, TensorMap


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


def check(
    kernel: str, layouts: Sequence[Layout] | None, parameters: list[Parameter] | None, args: Sequence[Any], device_arrays: bool = False
) -> tuple[list[Finding], list[Bound]]:
    """Findings of kind `argument-mismatch`, and the arguments as they would be bound (complete only without errors).

    `layouts` are PTX' parameters (sizes), `parameters` those of the source (names, types); either may be None.
    `device_arrays`: arrays must be device arrays (CuPy's or the twin's), a NumPy array is an error.
    """
    slots = read_slots(layouts, parameters)
    if slots is None:
        return [], [_bind(Slot(f"argument {i}", "", None, None, "", False, None, None), arg) for i, arg in enumerate(args, 1)]
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


def _one(slot: Slot, arg: Any, device_arrays: bool) -> Finding | None:
    inner = host_array(arg)
    if isinstance(inner, TensorMap):
        return _map(slot)
    if isinstance(arg, Output) and not is_array(inner):
        return slot.error(f"simt.Output holds {described(inner)}: it must hold an array")
    if is_array(inner):
        by_value = slot.pointer is False
        if by_value and isinstance(inner, np.ndarray) and inner.size == 1 and inner.dtype.kind == "V" and slot.size in (None, inner.dtype.itemsize):
            return None  # a structured array of one element is passed by value, as CuPy does
        if by_value and slot.size == BYTES and slot.align == ALIGNMENT:
            return slot.error("an array came for a tensor map: pass tensor_map(array, box), with the box that one copy brings")
        if by_value:
            return slot.error(f"an array came for a value: pass {scalar_call(slot, '...')}")
        return _array(slot, arg.array if isinstance(arg, Output | Unset) else arg, inner, device_arrays)
    return check_scalar(slot, inner)


def _map(slot: Slot) -> Finding | None:
    """A tensor map against its parameter."""
    by_value = f"declare the parameter const __grid_constant__, of a struct of {BYTES} bytes that is aligned to {ALIGNMENT}"
    if slot.pointer or slot.size not in (None, BYTES):
        return slot.error(f"a tensor map came, which is passed by value: {by_value}")
    if slot.align and slot.align < ALIGNMENT:
        return slot.error(f"a tensor map came, and the parameter is aligned to {slot.align} bytes: {by_value}")
    return None


def _array(slot: Slot, passed: Any, inner: Any, device_arrays: bool) -> Finding | None:
    library = "np" if isinstance(passed, np.ndarray) else "cp"
    dtype = inner.dtype
    if device_arrays and library == "np":
        return slot.error(f"a NumPy array came, which lies in the host's memory: pass cp.asarray({slot.name})")
    if dtype.kind not in "biufcV":
        return slot.error(f"an array of {dtype} came, which no kernel can read: convert it to a numeric dtype")
    if not dtype.isnative:
        return slot.error(f"the array's bytes are in foreign order ({dtype.str}): pass it as .astype({library}.{dtype.newbyteorder('=').name})")
    if slot.pointer and slot.ctype is not None and not c_types.points_to(slot.ctype, slot.element, dtype):
        wanted = c_types.numpy_name(slot.ctype)
        return slot.error(
            f"{_with_article(dtype.name)} array came, whose bytes {_with_article(slot.element)}* misreads: pass it as .astype({library}.{wanted})"
        )
    if not inner.flags.c_contiguous:
        back = "" if slot.const else ", and copy the result back if the kernel writes it"
        return slot.error(
            f"the array is a view with strides of {inner.strides} bytes, but a kernel gets the address alone and takes the elements as contiguous: "
            f"pass {library}.ascontiguousarray(...){back}",
        )
    if slot.pointer and not slot.const and isinstance(inner, np.ndarray) and not inner.flags.writeable:
        return slot.error("the array is read-only and the parameter is not const: pass a copy, or declare the parameter const")
    return None


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'aeiou' and not name.startswith(('uint', 'uchar', 'ushort')) else 'a'} {name}"


def _wrong_count(kernel: str, slots: list[Slot], args: Sequence[Any], device_arrays: bool) -> Finding:
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


def _bind(slot: Slot, arg: Any) -> Bound:
    inner = host_array(arg)
    if isinstance(inner, TensorMap):
        array = None if inner.array is None else whole(inner.array)  # an array on a GPU is checked, never bound
        return Bound(slot.name, array, bytes(inner), inner, isinstance(arg, Output) or inner.output, slot.parameter)
    if is_array(inner) and slot.pointer is not False:
        return Bound(slot.name, inner, poison=isinstance(arg, Output), parameter=slot.parameter)
    value = np.int64(wrapped(inner)) if isinstance(inner, int) and not isinstance(inner, bool | np.generic) else np.asarray(inner)
    size = slot.size or value.nbytes
    return Bound(slot.name, data=value.tobytes()[:size].ljust(size, b"\0"), parameter=slot.parameter)


def whole(array: Any) -> Any:
    """The contiguous array that a view is part of; the array itself where it is contiguous."""
    while not array.flags.c_contiguous and isinstance(array.base, np.ndarray):
        array = array.base
    return array
