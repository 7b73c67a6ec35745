"""The child of sandbox.py: one request on standard input, one answer in lines of JSON on standard output."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

COMPILE_BYTES = 4 << 30  # of address space beyond what is mapped when the compiler starts


def main() -> None:
    """Answer the request and leave. Only this module's lines reach the real standard output; whatever else prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def say(**message: Any) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    request = json.loads(sys.stdin.buffer.read())
    from lanewise.exercise import load_exercise
    from lanewise.names import Course, Key

    try:
        exercise = load_exercise(Key.parse(request["key"]), Course(Path(request["root"])))
    except Exception as error:
        say(error=f"kernels/{request['key']}.py doesn't load: {error}")
        return
    cases = [{"name": case.name, "visible": case.visible} for case in exercise.cases]
    say(stage="load", exercise={"max_score": exercise.points, "cases": cases})
    if request["describe"]:
        return
    from lanewise.grading.check import check

    def progress(stage: str) -> None:
        say(stage=stage)
        if stage == "compile":
            _limit_compiler(request["cpu"])
        elif stage == "run":
            _lift("RLIMIT_CPU")  # steps bound the run
        else:
            _lift("RLIMIT_AS")  # a CUDA context maps more than a compiler may

    try:
        say(verdict=asdict(check(exercise, request["text"], seed=request["seed"], progress=progress)))
    except Exception as error:  # a fault of ours or of the machine, never the learner's
        _lift("RLIMIT_AS")
        say(broke=f"{type(error).__name__}: {error}", memory=isinstance(error, MemoryError))


def _limit_compiler(seconds: int) -> None:
    """Processor time and memory for the compiler alone: the soft limits, so that they can be lifted for the run."""
    try:
        import resource
    except ImportError:  # Windows: the parent's clock remains
        return
    used = sum(os.times()[:2])
    _soft(resource.RLIMIT_CPU, int(used) + seconds)
    _soft(resource.RLIMIT_CORE, 0)
    statm = Path("/proc/self/statm")
    if statm.exists():
        _soft(resource.RLIMIT_AS, int(statm.read_text().split()[0]) * resource.getpagesize() + COMPILE_BYTES)


def _lift(name: str) -> None:
    try:
        import resource
    except ImportError:
        return
    limit = getattr(resource, name)
    resource.setrlimit(limit, (resource.getrlimit(limit)[1],) * 2)


def _soft(name: int, value: int) -> None:
    import resource

    hard = resource.getrlimit(name)[1]
    resource.setrlimit(name, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
