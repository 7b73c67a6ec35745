"""One module per instruction family: `EMIT` (opcode → writes the Python of one instruction) and `NAMES` (what that Python calls)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from . import bits, control, convert, floating, integer, memory, warp

_FLOAT = {"f32", "f64"}
_HALF = {"f16", "f16x2", "bf16", "bf16x2"}


def _by_type(floats: Callable | None, ints: Callable | None, halves: str = "emit_arithmetic") -> Callable:
    """Opcodes that integers, floats and halves share: the type, the last part of the mnemonic, decides."""

    def emit(e, i):
        type = i.modifiers[-1]
        if type in _HALF:
            return getattr(import_module(".half", __name__), halves)(e, i)
        if type in ("s16x2", "u16x2"):
            return _later("video", "emit_pairs")(e, i)
        chosen = floats if type in _FLOAT else ints
        if chosen is None:
            raise e.unsupported()
        return chosen(e, i)

    return emit


EMIT: dict[str, Callable] = {}
NAMES: dict[str, Any] = {}
for _family in (integer, bits, floating, convert, memory, control, warp):
    EMIT |= _family.EMIT
    NAMES |= _family.NAMES
EMIT |= {
    "add": _by_type(floating.emit_two, integer.emit_add),
    "sub": _by_type(floating.emit_two, integer.emit_add),
    "mul": _by_type(floating.emit_two, integer.emit_mul),
    "mad": _by_type(floating.emit_fma, lambda e, i: integer.emit_madc(e, i) if "cc" in i.modifiers else integer.emit_mul(e, i)),
    "fma": _by_type(floating.emit_fma, None),
    "div": _by_type(floating.emit_div, integer.two("DIVI")),
    "min": _by_type(floating.emit_min, integer.emit_extreme),
    "max": _by_type(floating.emit_min, integer.emit_extreme),
    "neg": _by_type(floating.emit_one, integer.emit_neg),
    "abs": _by_type(floating.emit_one, integer.one("ABSI")),
    "ex2": _by_type(floating.emit_one, None),
    "tanh": _by_type(floating.emit_one, None),
}


def _later(module: str, name: str = "") -> Callable:
    """A family that is imported only when a kernel uses it; `name`: its function, else the one for the opcode."""

    def emit(e, i):
        family = import_module(f".{module}", __name__)
        e.code.program.names(family.NAMES)
        return (getattr(family, name) if name else family.EMIT[i.opcode])(e, i)

    return emit


def _asynchronous(plain: Callable) -> Callable:
    """st and red, whose form with .async is another instruction."""
    return lambda e, i: (_later("remote_store") if "async" in i.modifiers else plain)(e, i)


EMIT |= {"atom": _later("atomic"), "red": _asynchronous(_later("atomic")), "st": _asynchronous(EMIT["st"])}
EMIT |= dict.fromkeys(("membar", "fence"), _later("order"))
EMIT |= dict.fromkeys(("wmma", "ldmatrix", "stmatrix", "movmatrix"), _later("tensor"))
EMIT["mma"] = lambda e, i: _later("sparse" if i.modifiers[0].split("::")[0] == "sp" else "tensor")(e, i)
EMIT |= dict.fromkeys(("cp",), _later("async_copy"))
EMIT |= dict.fromkeys(("vabsdiff2", "vabsdiff4"), _later("video"))
EMIT |= dict.fromkeys(("wgmma",), _later("wgmma"))
EMIT |= dict.fromkeys(("mbarrier",), _later("mbarrier"))
EMIT |= dict.fromkeys(("setmaxnreg",), _later("registers"))
EMIT |= dict.fromkeys(("mapa", "getctarank"), _later("cluster"))
