"""The compiler in a process of its own: the one part that works on what a learner wrote, so it gets limits, no secrets and no files to write.

The child is forked before the hidden cases are known, and hands back PTX as text; the simulator interprets that text in the process that judges.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from typing import Any

from lanewise import simt
from lanewise.grading.children import how_it_ended
from lanewise.grading.confine import bubblewrap
from lanewise.simt import nvrtc
from lanewise.simt.nvrtc import Compiled

COMPILE_BYTES = 4 << 30  # of address space beyond what is mapped when the compiler starts
FILE_BYTES = 64 << 20  # NVRTC writes none, clang an assembly file
MOST_PTX = 64 << 20
CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWIPC = 0x10000000, 0x40000000, 0x08000000  # linux/sched.h


class CompilerStopped(Exception):
    """A limit or a crash ended the compiler; the text says which."""


def can_fork() -> bool:
    """Linux and macOS can, Windows can't: there the compiler runs in the judging process, under the caller's clock alone."""
    return hasattr(os, "fork")


def protections() -> list[str]:
    """Which of the protections this system offers, in words for a report."""
    if not can_fork():
        return ["a child process", "a wall clock"]
    found = ["a child process and a process group", "a wall clock", "a compiler that doesn't know the hidden cases", "processor time", "memory", "file size"]
    if bubblewrap():
        return [*found, "no network", "read-only files and no other process in sight (bubblewrap)"]
    return [*found, "no network"] if _namespaces_work() else found


def compile_apart(text: str, arch: str, options: tuple[str, ...], cpu_seconds: int) -> simt.Module:
    """`simt.compile` in a forked child with limits. Raises its CompileError or Unsupported, or CompilerStopped."""
    if not can_fork():
        return simt.compile(text, arch=arch, options=options)
    return _module(_apart(lambda: _said(lambda: simt.compile(text, arch=arch, options=options)), cpu_seconds), text, arch, options)


def assembler_complaint(text: str, arch: str, options: tuple[str, ...], cpu_seconds: int) -> str:
    """What ptxas says against a text, "" if it takes it. Inline assembly is read by nobody before: the front end of the compiler passes it on as it stands.

    For a text that the simulator broke on, which asks whose fault that is, or takes. "" where there is no ptxas. Raises CompilerStopped.
    """

    def work() -> dict[str, Any]:
        try:
            nvrtc.cubin(text, arch, options)
        except simt.CompileError as error:
            return {"complaint": next((line for line in error.log.splitlines() if "error" in line), str(error)) if error.log else ""}
        return {"complaint": ""}

    said = _apart(work, cpu_seconds) if can_fork() else work()
    return re.sub(r"^ptxas application ptx input, line \d+; (error\s*: )?", "", str(said["complaint"]))


def _apart(work: Callable[[], dict[str, Any]], cpu_seconds: int) -> dict[str, Any]:
    """What `work` answers in a forked child with limits. Raises CompilerStopped."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_child(reading, writing, work, cpu_seconds)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read(MOST_PTX + 1)
    if len(answer) > MOST_PTX:
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if len(answer) > MOST_PTX:
        raise CompilerStopped(f"its result has more than {MOST_PTX >> 20} MB")
    if status != 0:
        raise CompilerStopped(f"after {cpu_seconds} seconds of processor time" if status == -_number("SIGXCPU") else how_it_ended(status))
    said: dict[str, Any] = json.loads(answer)
    return said


def _module(said: dict[str, Any], text: str, arch: str, options: tuple[str, ...]) -> simt.Module:
    if "memory" in said:
        raise CompilerStopped("out of memory")
    if "error" in said:
        raise simt.CompileError(said["error"], said["log"])
    if "unsupported" in said:
        raise simt.Unsupported(said["unsupported"])
    if "broke" in said:
        raise RuntimeError(said["broke"])
    return simt.Module(text, Compiled(said["ptx"], said["log"], said["names"], said["approximate"]), arch, options)


def _be_the_child(reading: int, writing: int, work: Callable[[], dict[str, Any]], cpu_seconds: int) -> None:
    """Do the work, write one JSON document and leave; never returns."""
    status = 1
    try:
        os.close(reading)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1):  # the judge's conversation is none of the compiler's business
            os.dup2(nothing, stream)
        limit(cpu_seconds)
        _leave_the_network()
        answer = json.dumps(work()).encode()
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
        status = 0
    finally:
        os._exit(status)


def _said(compile: Callable[[], simt.Module]) -> dict[str, Any]:
    try:
        module = compile()
    except simt.CompileError as error:
        return {"error": str(error), "log": error.log}
    except simt.Unsupported as error:
        return {"unsupported": str(error)}
    except MemoryError:
        return {"memory": True}
    except Exception as error:  # ours or the machine's
        return {"broke": f"{type(error).__name__}: {error}"}
    return {"ptx": module.ptx, "log": module.log, "names": module.names, "approximate": module.approximate}


def limit(cpu_seconds: int, for_good: bool = True) -> None:
    """Processor time, memory, the size of files and of a core, for this process from now on; not `for_good`: until `lift`."""
    if not can_fork():
        return
    import resource

    used = sum(os.times()[:2])
    _lower(resource.RLIMIT_CPU, int(used) + cpu_seconds, for_good)
    _lower(resource.RLIMIT_CORE, 0, for_good)
    if for_good:
        _lower(resource.RLIMIT_FSIZE, FILE_BYTES, for_good)
    if sys.platform == "linux":  # macOS maps its shared cache, so that this limit says nothing there
        with open("/proc/self/statm", encoding="ascii") as file:
            _lower(resource.RLIMIT_AS, int(file.read().split()[0]) * resource.getpagesize() + COMPILE_BYTES, for_good)


def lift() -> None:
    """Take back a limit on processor time and memory that wasn't for good: steps and the simulator's own budgets bound a run."""
    if can_fork():
        import resource

        for name in (resource.RLIMIT_CPU, resource.RLIMIT_AS):
            resource.setrlimit(name, (resource.getrlimit(name)[1],) * 2)


def _lower(name: int, value: int, for_good: bool) -> None:
    import resource

    hard = resource.getrlimit(name)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    # SIGXCPU at the soft limit is the answer we read; SIGKILL follows for who ignores it.
    last = hard if not for_good else value + 1 if name == resource.RLIMIT_CPU else value
    resource.setrlimit(name, (value, last))


def _leave_the_network() -> bool:
    """Into namespaces of its own, where the kernel lets a process without rights do so (Linux, mostly). The compiler needs no network."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return any(libc.unshare(flags) == 0 for flags in (CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC, CLONE_NEWNET))


def _namespaces_work() -> bool:
    child = os.fork()
    if child == 0:
        os._exit(0 if _leave_the_network() else 1)
    return os.waitpid(child, 0)[1] == 0


def _number(name: str) -> int:
    return int(getattr(signal, name, 0))
