"""A class graded: find what is missing, have it graded on dask (pump.py), keep each result at once (ledger.py), reconcile.

What is done is known by the ledger alone, so a driver, worker or scheduler that dies costs the submissions in flight: the same command goes on.
"""

from __future__ import annotations

import base64
import csv
import json
import os
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lanewise.grading.assignment import Assignment, parse_time, read_assignment, whole_course
from lanewise.grading.expected import INFRASTRUCTURE, Expected, NotAResult, checked
from lanewise.grading.handed_in import HandedIn, Submission, find_submissions, read
from lanewise.grading.ledger import ClassLedger, Gap, Plan, work_hash
from lanewise.grading.pump import PumpStopped, connect, pump
from lanewise.grading.verdict import clean_text
from lanewise.names import Course, CourseError, Key

HEAVY_NOTEBOOK = 1 << 20  # bytes
SECONDS_A_SUBMISSION = 60
SECONDS_AN_EXERCISE = 600  # of wall clock before a child is given up: the sandbox's own clocks, twice each, are shorter


@dataclass(frozen=True, slots=True)
class Work:
    """What to grade a class for. `files`: the assignment's file, then its seed file, name → text; none for the whole course. `due`: in ISO form, or "".

    `times`: student → when it was handed in, where that is known. `grader`: the command that takes DIR --out RESULT.json [--set A.toml] [--submitted TIME].
    """

    assignment: str
    exercises: dict[str, Expected]
    files: dict[str, str] = field(default_factory=dict, repr=False)
    times: dict[str, str] = field(default_factory=dict)
    grader: tuple[str, ...] = ("lanewise", "grade-submission")
    due: str = ""


@dataclass(slots=True)
class Outcome:
    """A class after a run. `redone`: the students who were graded in this run; `before`: how many were graded whole in earlier ones."""

    plan: Plan
    results: dict[str, dict[str, Any]]
    gaps: list[Gap]
    redone: list[str] = field(default_factory=list)
    before: int = 0
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read_work(path: Path | None, course: Course) -> Work:
    """What an assignment file (None: the whole course) asks for, as it travels to the workers. Raises CourseError."""
    from lanewise.grading.sandbox import testset

    assignment = read_assignment(path, course) if path else whole_course(course)
    exercises = {str(item.key): Expected(item.terms.points or 0, testset(course, item.key)) for item in assignment.items}
    files = {}
    if path:
        text = path.read_bytes().decode("utf-8")
        files[path.name] = text
        if assignment.secret_text:
            files[tomllib.loads(text)["seed_file"]] = assignment.secret_text
    return Work(assignment.name, exercises, files, due=assignment.due.isoformat() if assignment.due else "")


def read_times(path: Path) -> dict[str, str]:
    """A CSV file of student, time (2026-12-04T18:00:00+01:00), a header allowed → student → time in UTC. Raises CourseError."""
    try:
        rows = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))
    except (OSError, ValueError, csv.Error) as error:
        raise CourseError(f"Can't read {path} ({error}): give a CSV file with a line `student,time` for each submission.") from error
    times: dict[str, str] = {}
    for number, row in enumerate(rows, 1):
        if not row or row[:2] == ["student", "time"]:
            continue
        if len(row) != 2 or row[0] in times:
            raise CourseError(f"{path.name}, line {number}: write `student,time`, each student once.")
        times[row[0]] = parse_time(row[1].strip()).isoformat()
    return times


def grade_class(
    submissions: Path,
    out: Path,
    work: Work,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[int, int, int], None] = lambda done, total, failed: None,
) -> Outcome:
    """Grade every submission that has no result of exactly this work yet, then reconcile.

    Raises CourseError where nothing can be graded or written. A scheduler that goes away, or a submission without a result, is in `gaps`.
    """
    if out.resolve().is_relative_to(submissions.resolve()):
        raise CourseError(f"{out} lies in {submissions} and would be taken for a student: give an --out elsewhere.")
    handed = find_submissions(submissions)
    if strangers := sorted(work.times.keys() - {one.student for one in handed}):
        raise CourseError(f"There is a time for {strangers[0]}, who handed nothing in: names must be those of {submissions}.")
    ledger = ClassLedger(out)
    with ledger.locked():
        ledger.tidy()
        hashes, notes, broken = _take_stock(handed, work)
        plan = Plan(work.assignment, work.exercises, hashes, work.due)
        ledger.plan(plan)
        for student, why in broken.items():
            ledger.attempt(student, hashes[student], INFRASTRUCTURE, why=why)
        missing = [one for one in handed if one.student not in broken and not ledger.is_graded(one.student, hashes[one.student], work.exercises)]
        redone: list[str] = []
        begun: dict[str, float] = {}
        failed = 0

        def tasks() -> Iterator[tuple[str, str]]:
            for one in missing:
                files = _read(one).files
                if _hash(files, work, one.student) != hashes[one.student]:
                    settle(one.student, None, "The submission changed while the class was graded: call grade-class again.")
                    continue
                begun[one.student] = time.monotonic()
                yield one.student, _task(files, work, one.student)

        def settle(student: str, answer: str | None, why: str) -> None:
            nonlocal failed
            seconds = time.monotonic() - begun.pop(student, time.monotonic())
            result = None
            try:
                if answer is not None:
                    result, why = _read_answer(answer, work)
            except NotAResult as error:
                why = f"The grader's answer can't be used: {error}."
            if result is None:
                ledger.attempt(student, hashes[student], INFRASTRUCTURE, why=why, seconds=round(seconds, 3))
            else:
                told = [*notes.get(student, ()), *result["notes"]]  # the grader saw only what was taken
                ledger.keep(student, hashes[student], result | {"submission": student, "notes": told}, seconds)
            failed += result is None
            redone.append(student)
            progress(len(redone), len(missing), failed)

        stopped = ""
        if missing:
            try:
                with connect(scheduler, min(workers or os.cpu_count() or 1, len(missing))) as client:
                    pump(client, tasks(), settle)
            except PumpStopped as error:
                stopped = str(error)
        results, gaps = ledger.reconcile(plan)
        if stopped:
            gaps.insert(0, Gap("the class", "", stopped))
        return Outcome(plan, results, gaps, redone, len(handed) - len(missing) - len(broken), notes)


def answers_of_class(submissions: Path, assignment: Assignment, course: Course) -> dict[Key, dict[str, bytes]]:
    """Exercise → student → the text that is graded."""
    from lanewise.grading.submission import find_answers

    found: dict[Key, dict[str, bytes]] = {item.key: {} for item in assignment.items}
    for one in find_submissions(submissions):
        for key, raw in find_answers(read(one).files, assignment, course)[0].items():
            found[key][one.student] = raw
    return found


def _take_stock(handed: Sequence[HandedIn], work: Work) -> tuple[dict[str, str], dict[str, tuple[str, ...]], dict[str, str]]:
    """(student → hash of the work, student → notes, student → why the archive can't be read). Holds one submission at a time."""
    hashes, notes, broken = {}, {}, {}
    for one in handed:
        submission = _read(one)
        # What can't be read is other work than an empty folder.
        files = {"unreadable": submission.unreadable.encode()} if submission.unreadable else submission.files
        hashes[one.student] = _hash(files, work, one.student)
        if submission.notes:
            notes[one.student] = submission.notes
        if submission.unreadable:
            broken[one.student] = submission.unreadable
    return hashes, notes, broken


def _read(one: HandedIn) -> Submission:
    submission = read(one)
    return replace(submission, files={name: _light(name, raw) for name, raw in submission.files.items()})


def _light(name: str, raw: bytes) -> bytes:
    """A heavy notebook without its outputs: nothing there is graded, and 200 MB of them would go through the scheduler."""
    if not name.lower().endswith(".ipynb") or len(raw) <= HEAVY_NOTEBOOK:
        return raw
    try:
        whole = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=lambda pairs: {key: [] if key == "outputs" else value for key, value in pairs})
        return json.dumps(whole).encode()
    except (ValueError, RecursionError):
        return raw[:HEAVY_NOTEBOOK]  # as unreadable as before


def _hash(files: dict[str, bytes], work: Work, student: str) -> str:
    exercises = {key: (expected.points, expected.testset) for key, expected in work.exercises.items()}
    return work_hash(files, work.assignment, json.dumps(exercises, sort_keys=True), work.times.get(student, ""), *work.files.values())


def _task(files: dict[str, bytes], work: Work, student: str) -> str:
    content = {name: base64.b64encode(raw).decode("ascii") for name, raw in files.items()}
    assignment = {name: base64.b64encode(text.encode()).decode("ascii") for name, text in work.files.items()}
    seconds = SECONDS_A_SUBMISSION + SECONDS_AN_EXERCISE * len(work.exercises)
    whole = {"files": content, "assignment": assignment, "grader": work.grader, "submitted": work.times.get(student, ""), "seconds": seconds}
    return json.dumps(whole)


def _read_answer(answer: Any, work: Work) -> tuple[dict[str, Any] | None, str]:
    """A worker's answer, type-checked: (result, "") or (None, why there is none). Raises NotAResult."""
    try:
        whole = json.loads(answer)
        result, why = whole["result"], whole["why"]
    except (TypeError, ValueError, KeyError, RecursionError) as error:
        raise NotAResult("it is no answer at all") from error
    if result is None:
        return None, clean_text(str(why), 500)
    return checked(result, work.exercises), ""
