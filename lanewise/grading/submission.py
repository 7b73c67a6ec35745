"""One submission against one assignment → the teacher's result: every exercise of the assignment has a verdict, whatever was handed in."""

from __future__ import annotations

import hashlib
import re
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from lanewise.grading import sandbox
from lanewise.grading.assignment import Assignment, Item
from lanewise.grading.handed_in import HandedIn, read
from lanewise.grading.notebook_answers import answers_in
from lanewise.grading.verdict import Verdict, clean, clean_text
from lanewise.names import Course, CourseError, Key

SCHEMA = "lanewise/submission/v1"
MOST_NOTES = 20


def grade_submission(path: Path, assignment: Assignment, course: Course, submitted: datetime | None = None) -> dict[str, Any]:
    """Grade a folder or a .zip. The result's keys: schema, assignment, assignment_sha256, submission, submitted, late, visibility, graded, status, score,
    max_score, notes, verdicts, protections, seconds.

    `status` is "graded", or "infrastructure" where a verdict couldn't be computed through no fault of the submission. Each verdict has its secret `seed`:
    this is the teacher's file. Raises CourseError where the course itself is broken.
    """
    began = time.monotonic()
    handed = read(HandedIn(clean_text(path.name.removesuffix(".zip"), 140), path))
    answers, notes = find_answers(handed.files, assignment, course)
    notes = [*handed.notes, *([handed.unreadable] if handed.unreadable else []), *notes]
    verdicts = [(item, _grade(item, answers.get(item.key), assignment, course)) for item in assignment.items]
    return {
        "schema": SCHEMA,
        "assignment": assignment.name,
        "assignment_sha256": assignment.sha256,
        "submission": handed.student,
        "submitted": submitted.isoformat() if submitted else None,
        "late": assignment.late(submitted),
        "visibility": assignment.visibility,
        "graded": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": "infrastructure" if any(verdict.kind == "infrastructure" for _, verdict in verdicts) else "graded",
        "score": _sum(verdict.score for _, verdict in verdicts),
        "max_score": _sum(verdict.max_score for _, verdict in verdicts),
        "notes": [clean_text(note, 400) for note in notes[:MOST_NOTES]],
        "verdicts": [verdict.as_dict() | {"seed": assignment.secret(item)} for item, verdict in verdicts],
        "protections": _protections(),
        "seconds": round(time.monotonic() - began, 3),
    }


def find_answers(files: Mapping[str, bytes], assignment: Assignment, course: Course) -> tuple[dict[Key, bytes], list[str]]:
    """The answer to each exercise among a submission's files, and notes on what was chosen or isn't there.

    A `.cu` file named after the key counts before a notebook's cell, the whole key before the short one, the less deeply nested before the other.
    What was chosen depends on names alone, never on what would score more.
    """
    found: dict[Key, bytes] = {}
    notes: list[str] = []
    cells: dict[Key, str] = {}
    for name in sorted(name for name in files if name.lower().endswith(".ipynb")):
        answers = answers_in(files[name], name, course)
        notes += answers.notes
        for key, text in answers.texts.items():
            cells.setdefault(key, text)
    for item in assignment.items:
        candidates = sorted((rank, name) for name in files if (rank := _rank(name, item.key)) is not None)
        if candidates:
            chosen = candidates[0][1]
            found[item.key] = files[chosen]
            if len({hashlib.sha256(files[name]).digest() for _, name in candidates}) > 1:
                notes.append(f"{item.key.short} is there more than once: {chosen} was graded, {candidates[1][1]} was not.")
        elif item.key in cells:
            found[item.key] = cells[item.key].encode("utf-8", "replace")
        elif near := next((name for name in sorted(files) if _looks_like(name, item.key)), None):
            notes.append(f"{near} looks like an answer to {item.key.short}, but isn't called {item.key}.cu, and was not graded.")
    return found, notes


def _grade(item: Item, raw: bytes | None, assignment: Assignment, course: Course) -> Verdict:
    if raw is None:
        return _missing(item, course)
    verdict = sandbox.grade(item.key, raw, course, terms=item.terms, secret=assignment.secret(item))
    if verdict.kind == "infrastructure":  # the machine may have been busy: once more, and no more
        verdict = sandbox.grade(item.key, raw, course, terms=item.terms, secret=assignment.secret(item))
    return verdict if item.terms.points is None else replace(verdict, max_score=item.terms.points)


def _missing(item: Item, course: Course) -> Verdict:
    words = f"No answer to {item.key.short} was handed in: its file is called {item.key}.cu."
    verdict = clean(Verdict(str(item.key), 0, item.terms.points or 1, "kernel-not-found", words))
    return replace(verdict, testset=sandbox.testset(course, item.key))


def _rank(name: str, key: Key) -> tuple[int, int] | None:
    """How well a file's name fits: smaller is better, None not at all."""
    path = PurePosixPath(name)
    if path.suffix.lower() != ".cu":
        return None
    stem = path.stem.lower()
    return None if stem not in (str(key), key.short) else (int(stem != str(key)), len(path.parts))


def _looks_like(name: str, key: Key) -> bool:
    """ch05b (1).cu, CH05B-final.cu, block_max.cu.txt: not graded, but said."""
    plain = re.sub(r"[^a-z0-9]+", "_", unicodedata.normalize("NFKD", PurePosixPath(name).name).lower())
    return ".cu" in name.lower() and (key.short in plain or key.slug in plain)


def _sum(values: Any) -> float:
    """To 1e-9, so that 0.1 + 0.2 is 0.3."""
    total = round(sum(values), 9)
    return int(total) if total == int(total) else total


def _protections() -> list[str]:
    from lanewise.grading.apart import protections

    return protections()


def refuse_missing(path: Path) -> None:
    """Raise CourseError where there is no submission at all: that is trouble of the caller, not a score of 0."""
    if not path.is_dir() and not (path.is_file() and path.suffix.lower() == ".zip"):
        raise CourseError(f"{path} is no submission: give a folder of answers, or a .zip of one.")
