"""C types of kernel parameters against NumPy dtypes."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

import numpy as np

_LONG = 4 if sys.platform == "win32" else 8


@dataclass(frozen=True)
class CType:
    """`kind`: "f" float, "i" signed, "u" unsigned, "b" bool, "h" half or bfloat16, "?" any bytes. `size` in bytes of one part; `parts` of a vector."""

    kind: str
    size: int
    parts: int = 1

    @property
    def bytes(self) -> int:
        return self.size * self.parts


_PLAIN = {
    "float": CType("f", 4),
    "double": CType("f", 8),
    "bool": CType("b", 1),
    "char": CType("i", 1),
    "signed char": CType("i", 1),
    "unsigned char": CType("u", 1),
    "short": CType("i", 2),
    "unsigned short": CType("u", 2),
    "int": CType("i", 4),
    "unsigned int": CType("u", 4),
    "long": CType("i", _LONG),
    "unsigned long": CType("u", _LONG),
    "long long": CType("i", 8),
    "unsigned long long": CType("u", 8),
    "size_t": CType("u", 8),
    "ptrdiff_t": CType("i", 8),
    "intptr_t": CType("i", 8),
    "uintptr_t": CType("u", 8),
    "half": CType("h", 2),
    "__half": CType("h", 2),
    "__nv_bfloat16": CType("h", 2),
    "nv_bfloat16": CType("h", 2),
    "half2": CType("h", 2, 2),
    "__half2": CType("h", 2, 2),
    "__nv_bfloat162": CType("h", 2, 2),
    "nv_bfloat162": CType("h", 2, 2),
    "__nv_fp8_e4m3": CType("u", 1),
    "__nv_fp8_e5m2": CType("u", 1),
    "cuComplex": CType("f", 4, 2),
    "cuFloatComplex": CType("f", 4, 2),
    "cuDoubleComplex": CType("f", 8, 2),
    "dim3": CType("u", 4, 3),
}
_VECTOR_BASES = {"char": ("i", 1), "uchar": ("u", 1), "short": ("i", 2), "ushort": ("u", 2), "int": ("i", 4), "uint": ("u", 4)}
_VECTOR_BASES |= {"long": ("i", _LONG), "ulong": ("u", _LONG), "longlong": ("i", 8), "ulonglong": ("u", 8), "float": ("f", 4), "double": ("f", 8)}

_NUMPY = {("f", 4): "float32", ("f", 8): "float64", ("h", 2): "float16", ("b", 1): "bool_"}


def find(name: str) -> CType | None:
    """What is known of a C type's layout; None for structs, template parameters and anything else."""
    name = re.sub(r"^(?:::)?(?:cuda::)?(?:std::)?", "", name)
    wrapped = re.fullmatch(r"(?:cuda::)?(?:std::)?(?:atomic|atomic_ref|thrust::complex|complex)<\s*([\w ]+?)\s*(?:,.*)?>", name)
    if wrapped:
        inner = find(wrapped[1])
        return CType(inner.kind, inner.size, 2 if "complex" in name else 1) if inner else None
    if name in _PLAIN:
        return _PLAIN[name]
    if name.endswith("*"):
        return CType("u", 8)
    fixed = re.fullmatch(r"(u?)int(8|16|32|64)_t", name)
    if fixed:
        return CType("u" if fixed[1] else "i", int(fixed[2]) // 8)
    vector = re.fullmatch(r"([a-z]+)([1-4])(?:_16a|_32a)?", name)
    if vector and vector[1] in _VECTOR_BASES:
        kind, size = _VECTOR_BASES[vector[1]]
        return CType(kind, size, int(vector[2]))
    return None


def numpy_name(ctype: CType) -> str:
    """The NumPy type to convert to: `float32`, `uint8` …"""
    if (ctype.kind, ctype.size) in _NUMPY:
        return _NUMPY[ctype.kind, ctype.size]
    return f"{'uint' if ctype.kind == 'u' else 'int'}{8 * ctype.size}"


def points_to(ctype: CType | None, element: str, dtype: np.dtype) -> bool:
    """Whether an array of `dtype` may stand behind a pointer to `element`: the same bytes, read the same way."""
    if ctype is None or element in ("void", "unsigned char", "std::byte", "cuda::std::byte"):
        return True  # raw bytes, a struct, a template parameter
    if dtype.kind == "V":  # a structured dtype, or bfloat16 of ml_dtypes
        return dtype.itemsize in (ctype.bytes, ctype.size)
    if ctype.parts > 1 and ctype.kind in "iu" and ctype.size >= 4:
        return True  # int4, uint2 …: how 8 or 16 bytes of anything are copied at once
    if ctype.kind == "h":
        return (dtype.kind in "fiu" and dtype.itemsize == 2) or (ctype.parts == 2 and dtype.kind in "iu" and dtype.itemsize == 4)
    if ctype.kind == "f":
        return (dtype.kind == "f" and dtype.itemsize == ctype.size) or (dtype.kind == "c" and dtype.itemsize == 2 * ctype.size)
    return dtype.kind in "iub" and dtype.itemsize == ctype.size
