"""A kernel's parameters as places for arguments: what PTX (sizes) and the source (names, types) tell of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from . import c_types
from .c_types import CType
from .finding import Finding
from .signature import Parameter


class Layout(Protocol):
    """A parameter as PTX declares it: `type` ("u64", "f32", "b8" …) and `size` in bytes."""

    type: str
    size: int


@dataclass(frozen=True)
class Slot:
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

    def error(self, text: str) -> Finding:
        return Finding("argument-mismatch", "error", f"{self.name} ({self.written}): {text}.", array=self.name)

    def remark(self, text: str) -> Finding:
        return Finding("argument-mismatch", "remark", f"{self.name} ({self.written}): {text}.", array=self.name)


def read_slots(layouts: Sequence[Layout] | None, parameters: list[Parameter] | None) -> list[Slot] | None:
    """A slot for each parameter; None where neither PTX nor the source tells of any."""
    if layouts is not None and parameters is not None and len(layouts) != len(parameters):
        parameters = None  # the source was misread
    if layouts is None and parameters is None:
        return None
    count = len(layouts if layouts is not None else parameters or [])
    return [_slot(i, layouts[i] if layouts is not None else None, parameters[i] if parameters else None) for i in range(count)]


def _slot(at: int, layout: Layout | None, parameter: Parameter | None) -> Slot:
    name = parameter.name if parameter and parameter.name else f"argument {at + 1}"
    size = layout.size if layout else None
    align = getattr(layout, "align", 0)
    if parameter:
        ctype = c_types.find(parameter.element)
        if parameter.pointer and size in (None, 8):
            return Slot(name, parameter.ctype, True, ctype, parameter.element, parameter.const, 8, parameter)
        if not parameter.pointer and (size is None or ctype is None or ctype.bytes == size):
            return Slot(name, parameter.ctype, None if ctype is None and size == 8 else False, ctype, parameter.element, False,
                        size or (ctype.bytes if ctype else None), parameter, align)  # fmt: skip
    if layout and layout.type in ("f32", "f64"):
        return Slot(name, "float" if layout.size == 4 else "double", False, CType("f", layout.size), "", False, layout.size, parameter)
    return Slot(name, f"{size} bytes", None if size == 8 else False, None, "", False, size, parameter, align)
