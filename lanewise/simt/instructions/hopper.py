"""Hopper's own instructions: named here, so that a kernel which uses one gets a clear answer."""

from __future__ import annotations

from typing import Any

from ..codegen import Emitter
from ..ptx import Instruction

LATER = "comes with the chapters on Hopper"


def emit_later(e: Emitter, i: Instruction) -> None:
    raise e.unsupported(LATER)


EMIT = dict.fromkeys(("mbarrier", "wgmma", "setmaxnreg", "griddepcontrol"), emit_later)
NAMES: dict[str, Any] = {}
