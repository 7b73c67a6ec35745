"""The child of sandbox.py: a request on standard input, answers in lines of JSON on standard output.

The secret seed is a second line of the input. It is asked for ("run") when the compiler, a process of its own, has ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer the request and leave. Only this module's lines reach the real standard output; whatever else prints goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    stage = "start"

    def say(**message: Any) -> None:
        nonlocal stage
        stage = message.get("stage", stage)
        out.write(json.dumps(message) + "\n")
        out.flush()

    request = json.loads(sys.stdin.buffer.readline())
    from dataclasses import replace

    from lanewise.exercise import load_exercise
    from lanewise.names import Course, Key

    try:
        exercise = replace(load_exercise(Key.parse(request["key"]), Course(Path(request["root"]))), **request["changes"])
    except Exception as error:
        say(error=f"kernels/{request['key']}.py doesn't load: {error}")
        return
    cases = [{"name": case.name, "visible": case.visible} for case in exercise.cases]
    say(stage="load", exercise={"max_score": exercise.points, "cases": cases})
    if request["describe"]:
        return
    from lanewise.grading.apart import CompilerStopped, assembler_complaint, compile_apart, lift, limit
    from lanewise.grading.check import check, refused
    from lanewise.grading.gpu import GpuTrouble

    def compile(text: str, arch: str, options: tuple[str, ...]) -> Any:
        say(stage="compile")
        limit(request["cpu"], for_good=False)  # for what is made of the PTX here, until the run
        return compile_apart(text, arch, options, request["cpu"])

    def secret() -> int | None:
        lift()
        say(stage="run")
        return json.loads(sys.stdin.buffer.readline())

    gpu = None
    if request["gpu"]:
        from lanewise.grading.gpu import Gpu, Quarantine

        module, seconds, note = request["gpu"]
        gpu = Gpu(module, seconds, Quarantine(Path(note)))
    try:
        found = check(
            exercise, request["text"], secret=secret, compile=compile, progress=lambda stage: say(stage=stage), gpu=gpu, headers=request["headers"],
            note=lambda sentence: say(note=sentence),
        )  # fmt: skip
        if found.passed and not gpu and "asm" in request["text"]:  # which a GPU's driver would refuse only there
            complaint = assembler_complaint(request["text"], exercise.arch, exercise.options, request["cpu"])
            found = refused(exercise, request["text"], f"The inline assembly is no PTX: {complaint}.") if complaint else found
        say(verdict=asdict(found))
    except CompilerStopped as error:
        say(stopped=str(error))
    except MemoryError:
        lift()
        say(**{"stopped": "out of memory"} if stage == "compile" else {"broke": "MemoryError"})
    except GpuTrouble as error:
        say(broke=str(error), lost=error.lost)
    except Exception as error:  # a fault of ours or of the machine; of the learner where it is assembly that ptxas refuses, too
        complaint = ""
        if "asm" in request["text"]:
            with contextlib.suppress(CompilerStopped):
                complaint = assembler_complaint(request["text"], exercise.arch, exercise.options, request["cpu"])
        if complaint:
            say(verdict=asdict(refused(exercise, request["text"], f"The inline assembly is no PTX: {complaint}.")))
        else:
            say(broke=f"{type(error).__name__}: {error}")
