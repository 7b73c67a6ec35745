"""Subnormal numbers count as zero while a kernel compiled with -ftz=true runs, as on a GPU: the processor does it, at no cost.

C99's fenv.h: the floating-point environment holds the control word; x86 has two bits for it (flush results, take inputs for zero), Arm one.
Where neither is known (Windows, other processors) subnormals stay, which shows only in results below 1e-38.
"""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_BITS = {"x86_64": (28, 0x8040), "AMD64": (28, 0x8040), "aarch64": (0, 1 << 24), "arm64": (0, 1 << 24)}


def _library():
    if sys.platform == "win32" or platform.machine() not in _BITS:
        return None
    try:
        library = ctypes.CDLL(None)  # what Python itself is linked with: the C library and libm
        return library if hasattr(library, "fesetenv") and hasattr(library, "fegetenv") else None
    except OSError:
        return None


_LIBM = _library()


@contextmanager
def flushed() -> Iterator[None]:
    """Subnormals are zero inside."""
    if _LIBM is None:
        yield
        return
    offset, bits = _BITS[platform.machine()]
    before = (ctypes.c_uint8 * 64)()
    _LIBM.fegetenv(before)
    changed = (ctypes.c_uint8 * 64).from_buffer_copy(before)
    word = int.from_bytes(bytes(changed[offset : offset + 4]), "little") | bits
    changed[offset : offset + 4] = list(word.to_bytes(4, "little"))
    _LIBM.fesetenv(changed)
    try:
        yield
    finally:
        _LIBM.fesetenv(before)
