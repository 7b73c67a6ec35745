"""Grading in a child process with limits, so that no text whatever can crash, hang or fill the caller.

The compiler is the only part that runs on what a learner wrote (the simulator interprets): nine lines of template code can hold it
for minutes, deep nesting can overflow its stack. The child (worker.py) says which stage it is in and, at the end, the verdict.
Whatever ends it before that is named by its stage.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from lanewise.grading.source import NotGradable, decode
from lanewise.grading.verdict import CaseResult, Verdict, clean, excerpt
from lanewise.names import Course, CourseError, Key

COMPILE_SECONDS = 20  # of processor time; the largest header (cooperative groups) takes 5 on a slow machine
WALL_SECONDS = 60  # for the whole verdict; steps, not this, stop a kernel
LONGEST_ANSWER = 1 << 20  # bytes of a line; a verdict has below 200 kB


@dataclass
class _Heard:
    """What the child has said so far."""

    stage: str = "start"
    exercise: dict[str, Any] = field(default_factory=dict)  # key, max_score, cases: known before anything ran
    verdict: dict[str, Any] | None = None
    error: str = ""  # a sentence: the course itself is at fault
    broke: str = ""  # the exception that ended the check
    memory: bool = False  # … which was a lack of memory
    clock: bool = False  # the wall clock stopped it, which says nothing about the kernel


def grade(key: Key, raw: bytes, course: Course, *, seed: int = 0, wall_seconds: float = WALL_SECONDS) -> Verdict:
    """Grade a file's bytes. Always a Verdict; raises CourseError only where the course itself is broken (a reference that doesn't load)."""
    try:
        text, refused = decode(raw), None
    except NotGradable as error:
        text, refused = "", error
    request = {"root": str(course.root), "key": str(key), "text": text, "seed": seed, "describe": refused is not None, "cpu": COMPILE_SECONDS}
    heard, ended = _ask(request, wall_seconds)
    if heard.error:
        raise CourseError(heard.error)
    if heard.verdict is not None:
        return _from_dict(heard.verdict)
    return clean(_without_answer(str(key), text, heard, ended, refused))


def _without_answer(key: str, text: str, heard: _Heard, ended: str, refused: NotGradable | None) -> Verdict:
    """The verdict where the child gave none: 0 points, of the maximum that was fixed before anything ran."""
    cases = tuple(CaseResult(case["name"], False, case["visible"], "not run") for case in heard.exercise.get("cases", ()))
    most = heard.exercise.get("max_score", 1)
    if refused is not None and heard.exercise:
        return Verdict(key, 0, most, refused.kind, str(refused), refused.line, cases)
    ended = heard.broke or ended
    if heard.stage == "compile" and ended and (heard.memory or not (heard.broke or heard.clock)):
        words = f"The compiler was stopped ({ended}): make the kernel smaller; look at templates, constexpr loops, #pragma unroll and very large arrays."
        return Verdict(key, 0, most, "compile-limit", words, None, cases, excerpt(text, None))
    words = f"Grading stopped at {heard.stage!r} ({ended or 'no answer'}), through no fault of the kernel: grade it again, and report it if it happens twice."
    return Verdict(key, 0, most, "infrastructure", words, None, cases)


def _ask(request: dict[str, Any], wall_seconds: float) -> tuple[_Heard, str]:
    """Run the child; returns what it said and, if it didn't end by itself, why."""
    package = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.insert(0, {package!r}); from lanewise.grading.worker import main; main()"
    with tempfile.TemporaryDirectory(prefix="lanewise-") as empty, tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(
            [sys.executable, "-P", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, cwd=empty, start_new_session=True
        )
        assert child.stdout is not None
        heard, ended = _Heard(), ""
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(child.stdout, lines), daemon=True)
        reader.start()
        try:
            ended = _converse(child, json.dumps(request).encode(), heard, lines, wall_seconds)
            if not ended and child.wait() != 0:
                ended = _how_it_ended(child.returncode)
        finally:
            _kill(child)
            reader.join()
            child.stdout.close()
        complaints.seek(0)
        last = complaints.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        if ended.startswith("exit status") and last:
            ended = last[-1]
        if ended and heard.verdict is None and heard.stage == "start" and not heard.clock:
            heard.error = f"Grading could not start: {ended}"
        return heard, ended


def _converse(child: subprocess.Popen[bytes], request: bytes, heard: _Heard, lines: queue.SimpleQueue[bytes], seconds: float) -> str:
    """Send the request, hear lines until the child closes its output; returns "" or why it was stopped."""
    deadline = time.monotonic() + seconds
    assert child.stdin is not None
    try:
        child.stdin.write(request)
        child.stdin.close()
    except BrokenPipeError:
        return "it never started"
    while True:
        try:
            line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            heard.clock = True
            return f"after {seconds:g} seconds"
        if not line:
            return ""
        if not line.endswith(b"\n"):
            return "its answer was cut off"
        _hear(line, heard)


def _read(stream: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """Pass the child's lines on, an empty one at the end. By a thread: Windows can't wait for a pipe with a time limit."""
    line = b"\n"
    while line.endswith(b"\n"):
        line = stream.readline(LONGEST_ANSWER)
        lines.put(line)


def _hear(line: bytes, heard: _Heard) -> None:
    message = json.loads(line)
    for name, value in message.items():
        setattr(heard, name, value)


def _how_it_ended(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    if -status == getattr(signal, "SIGXCPU", None):
        return f"after {COMPILE_SECONDS} seconds of processor time"
    return f"signal {signal.Signals(-status).name}"


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it started; the group is its own."""
    if child.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
        child.wait()


def _from_dict(whole: dict[str, Any]) -> Verdict:
    cases = tuple(CaseResult(**case) for case in whole.pop("cases"))
    lines = tuple((number, text) for number, text in whole.pop("excerpt"))
    return Verdict(**whole, cases=cases, excerpt=lines)
