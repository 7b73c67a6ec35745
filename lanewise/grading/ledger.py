"""A class's results on disk: each verdict at once and whole, every attempt ever made, and the reconciliation of both with what is expected.

RESULTS/
  class.json                what is expected: students × exercises, points, version of the test set
  attempts.jsonl            one line an attempt, only ever appended to
  verdicts/NAME-HASH.json   the newest result of a student, written to a temporary file, synced, renamed
  .lock                     held while a driver writes

A result counts only for the work it was made from: the hash of the texts, the assignment, the version of the test set and the seed. Clocks decide nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lanewise.grading.verdict import clean_text
from lanewise.names import CourseError

GRADED, INFRASTRUCTURE = "graded", "infrastructure"
HEAD_TYPES: dict[str, tuple[type, ...]] = {
    "assignment": (str,), "submission": (str,), "submitted": (str, type(None)), "late": (bool, type(None)), "status": (str,), "visibility": (str,),
    "score": (int, float), "max_score": (int, float), "notes": (list,),
}  # fmt: skip
CASE_TYPES = {"name": str, "passed": bool, "visible": bool}
LONGEST_RESULT = 8 << 20  # bytes of one student's result


class NotAResult(Exception):
    """What a grader answered isn't a whole result: the message says where."""


@dataclass(frozen=True, slots=True)
class Gap:
    """An expected verdict that isn't there. `key` is empty where the whole submission is missing."""

    student: str
    key: str
    why: str

    def __str__(self) -> str:
        return f"{self.student}{f', {self.key}' if self.key else ''}: {self.why}"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a verdict on an exercise must say: the most points, and the version of the test set."""

    points: float
    testset: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a class must have in the end, fixed before anything runs.

    `exercises`: what each must be graded with. `work`: student → hash of the work to be graded.
    """

    assignment: str
    exercises: Mapping[str, Expected]
    work: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClassLedger:
    """The results folder of one class and assignment."""

    folder: Path

    @property
    def attempts_path(self) -> Path:
        return self.folder / "attempts.jsonl"

    def verdict_path(self, student: str) -> Path:
        """One file a student, whatever the name: readable, with a hash that tells Ann from ann on every file system."""
        readable = re.sub(r"[^A-Za-z0-9_.-]+", "_", student)[:60].strip("._") or "student"
        return self.folder / "verdicts" / f"{readable}-{hashlib.sha256(student.encode('utf-8', 'replace')).hexdigest()[:12]}.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for one driver. The system lets go of the lock when the process ends, however it ends.

        Raises CourseError where another driver holds it, and where the folder can't be written.
        """
        path = self.folder / ".lock"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise CourseError(_unwritable(path, error)) from error
        try:
            if not _lock(handle):
                raise CourseError(f"Another grade-class is writing to {self.folder}: wait until it has ended, or give another --out.")
            yield
        finally:
            os.close(handle)

    def plan(self, plan: Plan) -> None:
        """Write down what is expected."""
        exercises = {key: asdict(expected) for key, expected in plan.exercises.items()}
        whole = {"assignment": plan.assignment, "exercises": exercises, "students": dict(plan.work)}
        write_durably(self.folder / "class.json", json.dumps(whole, indent=1, allow_nan=False) + "\n")

    def read_plan(self) -> Plan:
        """What class.json expects. Raises CourseError where there is none."""
        path = self.folder / "class.json"
        try:
            whole = json.loads(path.read_text(encoding="utf-8"))
            return Plan(whole["assignment"], {key: Expected(**expected) for key, expected in whole["exercises"].items()}, whole["students"])
        except (AttributeError, OSError, ValueError, KeyError, TypeError) as error:
            raise CourseError(f"{self.folder} holds no results of a class: `lanewise grade-class SUBMISSIONS/ --out {self.folder}` makes them.") from error

    def keep(self, student: str, work: str, result: dict[str, Any], seconds: float) -> None:
        """Put a checked result on disk: first the attempt, then the verdict. Raises CourseError where the disk doesn't take it."""
        kinds = {verdict["key"]: verdict["kind"] for verdict in result["verdicts"]}
        status = INFRASTRUCTURE if INFRASTRUCTURE in kinds.values() else GRADED
        texts = {verdict["key"]: verdict.get("source_sha256") for verdict in result["verdicts"]}
        seeds = {verdict["key"]: verdict.get("seed") for verdict in result["verdicts"]}
        self.attempt(student, work, status, seconds=round(seconds, 3), kinds=kinds, texts=texts, seeds=seeds)
        whole = {"student": student, "work": work, "result": result}
        write_durably(self.verdict_path(student), json.dumps(whole, indent=1, allow_nan=False) + "\n")

    def attempt(self, student: str, work: str, status: str, **more: Any) -> None:
        """Append one line. A line that a crash cut short stays alone on its line."""
        entry = {"student": student, "work": work, "status": status, **more}
        entry["time"] = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps(entry, sort_keys=True, allow_nan=False).encode() + b"\n"
        try:
            handle = os.open(self.attempts_path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                size = os.fstat(handle).st_size
                torn = size and os.pread(handle, 1, size - 1) != b"\n" if hasattr(os, "pread") else False
                whole = b"\n" + line if torn else line
                if os.write(handle, whole) != len(whole):
                    raise OSError(28, "No space left on device")
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise CourseError(_unwritable(self.attempts_path, error)) from error

    def attempts(self) -> list[dict[str, Any]]:
        """Every whole line of attempts.jsonl."""
        try:
            lines = self.attempts_path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return []
        found = []
        for line in lines:
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
                if isinstance(entry, dict):
                    found.append(entry)
        return found

    def result(self, student: str, work: str, exercises: Mapping[str, Expected]) -> dict[str, Any] | None:
        """The result on disk of exactly this work, or None: not there, of other work, damaged."""
        path = self.verdict_path(student)
        try:
            if path.stat().st_size > LONGEST_RESULT:
                return None
            whole = json.loads(path.read_text(encoding="utf-8"))
            if whole["student"] != student or whole["work"] != work:
                return None
            return checked(whole["result"], exercises)
        except (OSError, ValueError, KeyError, TypeError, NotAResult):
            return None

    def is_graded(self, student: str, work: str, exercises: Mapping[str, Expected]) -> bool:
        """Whether nothing of this work is missing: a verdict that the infrastructure failed is."""
        result = self.result(student, work, exercises)
        return result is not None and all(verdict["kind"] != INFRASTRUCTURE for verdict in result["verdicts"])

    def tidy(self) -> None:
        """Remove the temporary files that a driver left when it was killed. Only under the lock."""
        for folder in (self.folder, self.folder / "verdicts"):
            for path in folder.glob(".*.part"):
                with contextlib.suppress(OSError):
                    path.unlink()

    def reconcile(self, plan: Plan) -> tuple[dict[str, dict[str, Any]], list[Gap]]:
        """(student → result, every expected verdict that isn't there or that the infrastructure failed). Each pair of the plan is in exactly one of both."""
        last = {(entry.get("student"), entry.get("work")): str(entry.get("why") or "") for entry in self.attempts()}
        results, gaps = {}, []
        for student, work in plan.work.items():
            result = self.result(student, work, plan.exercises)
            if result is None:
                gaps.append(Gap(student, "", last.get((student, work)) or "not graded yet."))
                continue
            results[student] = result
            gaps += [Gap(student, verdict["key"], verdict["message"]) for verdict in result["verdicts"] if verdict["kind"] == INFRASTRUCTURE]
        return results, gaps


def checked(result: Any, exercises: Mapping[str, Expected]) -> dict[str, Any]:
    """A result with every expected verdict exactly once and every field of the right type. Raises NotAResult."""
    if not isinstance(result, dict) or not isinstance(result.get("verdicts"), list):
        raise NotAResult("it has no list of verdicts")
    seen = set()
    for verdict in result["verdicts"]:
        if not isinstance(verdict, dict) or not isinstance(verdict.get("key"), str):
            raise NotAResult("a verdict has no key")
        key = verdict["key"]
        if key not in exercises or key in seen:
            raise NotAResult(f"{clean_text(key, 60)} is {'there twice' if key in seen else 'no exercise of the assignment'}")
        seen.add(key)
        _check_verdict(verdict, key, exercises[key])
    if missing := [key for key in exercises if key not in seen]:
        raise NotAResult(f"{missing[0]} has no verdict")
    for name, kinds in HEAD_TYPES.items():
        if not isinstance(result.get(name), kinds):
            raise NotAResult(f"its {name} is missing or no {kinds[0].__name__}")
    if not all(isinstance(note, str) for note in result["notes"]):
        raise NotAResult("its notes are no sentences")
    try:
        json.dumps(result, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise NotAResult("it can't be written as JSON") from error
    for name in ("score", "max_score"):
        if abs(result[name] - math.fsum(verdict[name] for verdict in result["verdicts"])) > 1e-6:
            raise NotAResult(f"its {name} isn't the sum of its verdicts")
    return result


def _check_verdict(verdict: dict[str, Any], key: str, expected: Expected) -> None:
    score, most, kind = verdict.get("score"), verdict.get("max_score"), verdict.get("kind", "")
    if not (_is_number(score) and _is_number(most)):
        raise NotAResult(f"{key} has no score")
    if most != expected.points or not 0 <= score <= most:  # type: ignore[operator]
        raise NotAResult(f"{key} has {score} of {most} points, where {expected.points} is the most")
    if verdict.get("testset") != expected.testset:
        raise NotAResult(f"{key} was graded with other tests: give every worker this version of the course")
    if not (kind is None or (isinstance(kind, str) and kind)) or not isinstance(verdict.get("message"), str):
        raise NotAResult(f"{key} has no kind or no message")
    cases = verdict.get("cases")
    if not isinstance(cases, list) or not all(map(_is_case, cases)):
        raise NotAResult(f"{key} has no list of cases")
    if not isinstance(verdict.get("counters"), dict) or not isinstance(verdict.get("line", ""), int | None):
        raise NotAResult(f"{key} has no counters or no line")
    if (kind is None and score != most) or (kind == INFRASTRUCTURE and score != 0):
        raise NotAResult(f"{key} is {kind or 'passed'} with {score} of {most} points")


def _is_case(case: Any) -> bool:
    return isinstance(case, dict) and all(type(case.get(name)) is kind for name, kind in CASE_TYPES.items())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def work_hash(files: Mapping[str, bytes], *facts: str) -> str:
    """The hash of what is graded and of everything else that a verdict depends on."""
    digest = hashlib.sha256()
    for part in [*facts, "", *(f"{name}\0{hashlib.sha256(content).hexdigest()}" for name, content in sorted(files.items()))]:
        digest.update(part.encode("utf-8", "replace") + b"\n")
    return digest.hexdigest()


def write_durably(path: Path, text: str) -> None:
    """Write a file whole or not at all, and have it on the disk before returning. Raises CourseError."""
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise CourseError(_unwritable(path, error)) from error


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    try:
        import fcntl
    except ImportError:
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unwritable(path: Path, error: OSError) -> str:
    return (
        f"Can't write {path} ({error.strerror or error}): make room or give yourself write permission there, then call grade-class again; no verdict is lost."
    )
