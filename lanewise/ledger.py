"""work/attempts.jsonl: every graded attempt and every hint taken, one line of JSON each, only ever appended to."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lanewise.names import Course, CourseError, Key, not_writable


@dataclass(frozen=True, slots=True)
class Ledger:
    """The learner's record. Reading skips lines that are damaged; writing appends one whole line in one call."""

    course: Course

    @property
    def path(self) -> Path:
        return self.course.work_dir / "attempts.jsonl"

    def attempt(self, key: Key, raw: bytes, score: float, max_score: float, kind: str | None) -> None:
        """Note a verdict on a text. Raises CourseError where work/ can't be written."""
        text = hashlib.sha256(raw).hexdigest()
        self._append(event="attempt", key=str(key), score=score, max_score=max_score, kind=kind, sha256=text, cases=self.cases_hash(key))

    def hint(self, key: Key, number: int) -> None:
        """Note that hint `number` (from 1) was shown."""
        self._append(event="hint", key=str(key), number=number)

    def solved(self) -> set[str]:
        """Keys that some attempt solved."""
        return {entry["key"] for entry in self._entries("attempt") if entry.get("kind") is None}

    def attempts(self) -> dict[str, int]:
        """Key → number of attempts."""
        count: dict[str, int] = {}
        for entry in self._entries("attempt"):
            count[entry["key"]] = count.get(entry["key"], 0) + 1
        return count

    def hints(self, key: Key) -> int:
        """How many hints of this exercise were shown."""
        return max((entry["number"] for entry in self._entries("hint") if entry["key"] == str(key)), default=0)

    def cases_hash(self, key: Key) -> str:
        """Which cases a verdict came from: the hash of kernels/<key>.py."""
        path = self.course.spec(key)
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""

    def _append(self, **entry: Any) -> None:
        entry["time"] = datetime.now(UTC).isoformat(timespec="seconds")
        line = json.dumps(entry, sort_keys=True) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(handle, line.encode())
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise CourseError(not_writable(self.path, error)) from error

    def _entries(self, event: str) -> Iterator[dict[str, Any]]:
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and entry.get("event") == event and isinstance(entry.get("key"), str):
                yield entry
