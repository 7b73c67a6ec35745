"""Grading in a child process with limits, so that no text whatever can crash, hang or fill the caller.

The compiler is the only part that runs on what a learner wrote (the simulator interprets): nine lines of template code can hold it
for minutes, deep nesting can overflow its stack. So it has a process of its own (apart.py), a child of the one that judges (worker.py),
which says which stage it is in and, at the end, the verdict. Whatever ends it before that is named by its stage.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lanewise import __version__
from lanewise.grading.assignment import Terms
from lanewise.grading.children import end, how_it_ended
from lanewise.grading.confine import confined
from lanewise.grading.source import NotGradable, decode, headers_in
from lanewise.grading.verdict import CaseResult, Verdict, clean
from lanewise.names import Course, CourseError, Key

if TYPE_CHECKING:
    from lanewise.grading.gpu import Gpu

COMPILE_SECONDS = 20  # of processor time; the largest header (cooperative groups) takes 5 on a slow machine
WALL_SECONDS = 60  # for the whole verdict; steps, not this, stop a kernel
GPU_SECONDS = 240  # more, once it comes to a GPU: a process for each case, and one that hangs has a clock of its own
INHERITED = {
    "PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "SYSTEMDRIVE", "USERPROFILE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"
}  # fmt: skip
LONGEST_ANSWER = 1 << 20  # bytes of a line; a verdict has below 200 kB


OWN_TERMS = Terms()


@dataclass
class _Heard:
    """What the child has said so far."""

    stage: str = "start"
    exercise: dict[str, Any] = field(default_factory=dict)  # key, max_score, cases: known before anything ran
    verdict: dict[str, Any] | None = None
    error: str = ""  # a sentence: the course itself is at fault
    stopped: str = ""  # what stopped the compiler
    broke: str = ""  # the exception that ended the check
    lost: str = ""  # why the GPU can't be trusted any more
    note: str = ""  # a sentence: the GPU couldn't run the kernel
    clock: bool = False  # the wall clock stopped it, which says nothing about the kernel


def grade(
    key: Key, raw: bytes, course: Course, *, terms: Terms = OWN_TERMS, secret: int | None = None, wall_seconds: float = WALL_SECONDS, gpu: Gpu | None = None
) -> Verdict:
    """Grade a file's bytes. Always a Verdict; raises CourseError only where the course itself is broken (a reference that doesn't load).

    `terms`: what an assignment sets (points, the budget's share). `secret`: the number that hidden cases are drawn from, None without them.
    `gpu`: how to reach a GPU; None: as `cp` finds one. Where it can't run the kernel, a line on standard error says that the simulator alone judged.
    """
    try:
        text, refused = decode(raw), None
    except NotGradable as error:
        text, refused = "", error
    request = {
        "root": str(course.root), "key": str(key), "text": text, "changes": terms.changes(), "describe": refused is not None, "cpu": COMPILE_SECONDS,
        "headers": _headers(course, key), "gpu": gpu and (gpu.device, gpu.seconds, str(gpu.quarantine.path)),
    }  # fmt: skip
    heard, ended = _ask(request, secret, wall_seconds, gpu)
    if heard.lost:
        _set_aside(heard.lost, gpu)
    if heard.error:
        raise CourseError(heard.error)
    if heard.note:
        print(heard.note, file=sys.stderr)
    verdict = _from_dict(heard.verdict) if heard.verdict is not None else clean(_without_answer(str(key), heard, ended, refused))
    graded = raw if refused else text.encode()
    return replace(verdict, source_sha256=hashlib.sha256(graded).hexdigest(), testset=testset(course, key))


def _headers(course: Course, key: Key) -> list[str] | None:
    """The headers that the exercise begins with."""
    try:
        return sorted(headers_in(course.kernel(key).read_text(encoding="utf-8")))
    except OSError:
        return None


def _set_aside(why: str, gpu: Gpu | None) -> None:
    """Note it here: the judging process may have no file that it can write."""
    from lanewise.grading.gpu import Quarantine

    (gpu.quarantine if gpu else Quarantine()).note(why)


def testset(course: Course, key: Key) -> str:
    """Which cases and which checker a verdict comes from: the version, and a hash of kernels/<key>.py."""
    return f"{__version__}-{hashlib.sha256(course.spec(key).read_bytes()).hexdigest()[:16]}"


def _without_answer(key: str, heard: _Heard, ended: str, refused: NotGradable | None) -> Verdict:
    """The verdict where the child gave none: 0 points, of the maximum that was fixed before anything ran."""
    cases = tuple(CaseResult(case["name"], False, case["visible"], "not run") for case in heard.exercise.get("cases", ()))
    most = heard.exercise.get("max_score", 1)
    if refused is not None and heard.exercise:
        return Verdict(key, 0, most, refused.kind, str(refused), refused.line, cases)
    ended = heard.broke or ended
    if heard.stage == "compile" and not (heard.broke or heard.clock) and (heard.stopped or ended):
        why = heard.stopped or ended
        words = f"The compiler was stopped ({why}): make the kernel smaller; look at templates, constexpr loops, #pragma unroll, very large arrays."
        return Verdict(key, 0, most, "compile-limit", words, None, cases)
    words = f"Grading stopped at {heard.stage!r} ({ended or 'no answer'}), through no fault of the kernel: grade it again, and report it if it happens twice."
    return Verdict(key, 0, most, "infrastructure", words, None, cases)


def _ask(request: dict[str, Any], secret: int | None, wall_seconds: float, gpu: Gpu | None) -> tuple[_Heard, str]:
    """Run the child; returns what it said and, if it didn't end by itself, why."""
    package = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.insert(0, {package!r}); from lanewise.grading.worker import main; main()"
    readable, writable = [Path(package), Path(request["root"]).resolve()], [Path(gpu.device).parent] if gpu and gpu.device.endswith(".py") else []
    with tempfile.TemporaryDirectory(prefix="lanewise-") as empty, tempfile.TemporaryFile() as complaints:
        child = subprocess.Popen(
            confined([sys.executable, "-P", "-E", "-c", program], empty, readable, writable, [Path(request["root"]) / "solutions"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            cwd=empty,
            env=environment(),
            start_new_session=True,
        )
        assert child.stdin is not None and child.stdout is not None
        heard, ended = _Heard(), ""
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(child.stdout, lines), daemon=True)
        reader.start()
        try:
            ended = _converse(child, request, secret, heard, lines, wall_seconds)
            if not ended and child.wait() != 0:
                ended = how_it_ended(child.returncode)
        finally:
            end(child)
            reader.join()
            child.stdout.close()
            with contextlib.suppress(BrokenPipeError):
                child.stdin.close()
        complaints.seek(0)
        last = complaints.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        if ended.startswith("exit status") and last:
            ended = last[-1]
        if ended and heard.verdict is None and heard.stage == "start" and not heard.clock:
            heard.error = f"Grading could not start: {ended}"
        return heard, ended


def environment() -> dict[str, str]:
    """What a child inherits: nothing that tells Python or the loader to run something else, nothing of a CI job's tokens."""
    return {name: value for name, value in os.environ.items() if name in INHERITED or name.startswith(("LC_", "LANEWISE_", "CUDA_", "NVIDIA_"))}


def _converse(
    child: subprocess.Popen[bytes], request: dict[str, Any], secret: int | None, heard: _Heard, lines: queue.SimpleQueue[bytes], seconds: float
) -> str:
    """Send the request, hear lines until the child closes its output; returns "" or why it was stopped. The secret is sent once the compiler has ended."""
    deadline = time.monotonic() + seconds
    if not _send(child, request):
        return "it never started"
    told = False
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
        before = heard.stage
        _hear(line, heard)
        if heard.stage == "gpu" and before != "gpu":
            deadline += GPU_SECONDS
        if heard.stage == "run" and not told:
            told = _send(child, secret)


def _send(child: subprocess.Popen[bytes], message: Any) -> bool:
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(message).encode() + b"\n")
        child.stdin.flush()
    except BrokenPipeError:
        return False
    return True


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


def _from_dict(whole: dict[str, Any]) -> Verdict:
    cases = tuple(CaseResult(**case) for case in whole.pop("cases"))
    lines = tuple((number, text) for number, text in whole.pop("excerpt"))
    return Verdict(**whole, cases=cases, excerpt=lines)
