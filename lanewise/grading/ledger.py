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
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lanewise.grading.expected import INFRASTRUCTURE, Expected, NotAResult, checked
from lanewise.names import CourseError

GRADED = "graded"
LONGEST_RESULT = 8 << 20  # bytes of one student's result


@dataclass(frozen=True, slots=True)
class Gap:
    """An expected verdict that isn't there. `key` is empty where the whole submission is missing."""

    student: str
    key: str
    why: str

    def __str__(self) -> str:
        return f"{self.student}{f', {self.key}' if self.key else ''}: {self.why}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a class must have in the end, fixed before anything runs.

    `exercises`: what each must be graded with. `work`: student → hash of the work to be graded. `due`: in ISO form, "" for none.
    """

    assignment: str
    exercises: Mapping[str, Expected]
    work: Mapping[str, str]
    due: str = ""


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
        whole = {"assignment": plan.assignment, "due": plan.due, "exercises": exercises, "students": dict(plan.work)}
        write_durably(self.folder / "class.json", json.dumps(whole, indent=1, allow_nan=False) + "\n")

    def read_plan(self) -> Plan:
        """What class.json expects. Raises CourseError where there is none."""
        path = self.folder / "class.json"
        try:
            whole = json.loads(path.read_text(encoding="utf-8"))
            exercises = {key: Expected(**expected) for key, expected in whole["exercises"].items()}
            return Plan(whole["assignment"], exercises, whole["students"], whole.get("due", ""))
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
