"""The child that launches one case on the GPU and then ends, so that whatever the case did to its CUDA context ends with it.

A job (gpu_job.py) comes on standard input; the answer on standard output is a line of JSON, and for "done" the images of the arrays after each launch.
A kernel's printf goes nowhere: only this module has the real standard output.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from lanewise.grading.gpu_job import read_job

FILE_BYTES = 256 << 20  # the cache of compiled kernels, at most


class LaunchFailed(Exception):
    """The GPU says that the kernel did something wrong: `kind` as of a finding, and a sentence."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


class Unfit(Exception):
    """This GPU can't run such a kernel, which is no fault of it: half a sentence. `whole`: it can't run any case of it."""

    def __init__(self, message: str, whole: bool = True):
        super().__init__(message)
        self.whole = whole


def main(device: str, seconds: int) -> None:
    """Answer one job. `device`: the module that launches, or the path of one. After `seconds` the system ends this process, whatever it waits for."""
    out = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    _limit(seconds)
    try:
        job, launches = read_job(sys.stdin.buffer)
        run = _module(device).run
        images = [image for before in launches for image in run(job, before)]
        answer: dict[str, Any] = {"ended": "done"}
    except LaunchFailed as error:
        images, answer = [], {"ended": "failed", "kind": error.kind, "why": str(error)}
    except Unfit as error:
        images, answer = [], {"ended": "unfit", "why": str(error)[:500], "whole": error.whole}
    except Exception as error:  # the machine's fault, or ours
        images, answer = [], {"ended": "broke", "why": f"{type(error).__name__}: {error}"[:500]}
    out.write(json.dumps(answer).encode() + b"\n")
    for image in images:
        out.write(image.tobytes())
    out.flush()
    os._exit(0)  # not through CUDA's own clearing up: a context that is lost can hang there


def _module(device: str) -> Any:
    if not device.endswith(".py"):
        return importlib.import_module(device)
    spec = importlib.util.spec_from_file_location(Path(device).stem, device)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _limit(seconds: int) -> None:
    """A clock that needs no Python to run; no core dumps, no huge files. The judge has a clock of its own: this one is for a judge that died."""
    if not hasattr(os, "fork"):
        return
    import resource

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    most = FILE_BYTES if hard == resource.RLIM_INFINITY else min(FILE_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
