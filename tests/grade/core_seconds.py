"""Processor time of a command and of everything it starts, however deep: by a control group of Linux where one can be made, else of the whole machine."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Meter:
    """`enter` is for a child between fork and exec; `seconds` is what was used since; `of` says by whom."""

    enter: Callable[[], None]
    seconds: Callable[[], float]
    of: str


@contextlib.contextmanager
def metered() -> Iterator[Meter]:
    """A group for the command alone (version 1 or 2 of control groups), removed afterwards."""
    name = f"lanewise-{os.getpid()}"
    for folder, usage in ((CGROUPS / "cpuacct" / name, _version_1), (CGROUPS / name, _version_2)):
        try:
            folder.mkdir()
        except OSError:
            continue
        if not (folder / "cgroup.procs").exists():
            folder.rmdir()
            continue
        yield Meter(lambda folder=folder: _enter(folder), lambda folder=folder, usage=usage: usage(folder), "the command")
        with contextlib.suppress(OSError):
            folder.rmdir()
        return
    before = _whole_machine()
    yield Meter(lambda: None, lambda: _whole_machine() - before, "the whole machine")


def _enter(folder: Path) -> None:
    (folder / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def _version_1(folder: Path) -> float:
    return int((folder / "cpuacct.usage").read_text(encoding="ascii")) / 1e9


def _version_2(folder: Path) -> float:
    return int((folder / "cpu.stat").read_text(encoding="ascii").split()[1]) / 1e6


def _whole_machine() -> float:
    times = psutil.cpu_times()
    return times.user + times.system + times.nice
