"""membar and fence: what the lanes wrote before is seen before what they write after (PTX ISA 9.7.13, "membar, fence")."""

from __future__ import annotations

from typing import Any

from ..codegen import Emitter
from ..ptx import Instruction

NAMES: dict[str, Any] = {}


def emit_fence(e: Emitter, i: Instruction) -> None:
    """`fence.proxy` orders asynchronous copies, which take effect in program order here."""
    if "proxy" in i.modifiers or "mbarrier_init" in i.modifiers:
        return
    gp, ix = e.masked()
    scope = "cta" if "cta" in i.modifiers else "gpu"
    e.line(f"FENCE({gp},{scope!r})" if ix == "None" else f"if {gp} is not None: FENCE({gp},{scope!r})")


EMIT = {"membar": emit_fence, "fence": emit_fence}
