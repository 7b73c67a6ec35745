"""membar and fence: what the lanes wrote before is seen before what they write after (PTX ISA 9.7.13, "membar, fence")."""

from __future__ import annotations

from typing import Any

from ..checks import proxy
from ..codegen import Emitter
from ..ptx import Instruction

NAMES: dict[str, Any] = {"PROXYFENCE": proxy.fence}


def emit_fence(e: Emitter, i: Instruction) -> None:
    """`fence.proxy` orders what threads do with asynchronous copies: see checks.proxy."""
    gp, ix = e.masked()
    if "mbarrier_init" in i.modifiers or any(m == "async" or m.startswith("async::") for m in i.modifiers):
        if e.code.program.asynchronous:
            space = next((m.split("::")[0] for m in i.modifiers if m.startswith(("shared", "global"))), "")
            call = f"PROXYFENCE({gp},{'mbarrier_init' not in i.modifiers},{space!r})"
            e.line(call if ix == "None" else f"if {gp} is not None: {call}")
        return
    if "proxy" in i.modifiers:
        return
    scope = "cta" if "cta" in i.modifiers else "gpu"
    e.line(f"FENCE({gp},{scope!r})" if ix == "None" else f"if {gp} is not None: FENCE({gp},{scope!r})")


EMIT = {"membar": emit_fence, "fence": emit_fence}
