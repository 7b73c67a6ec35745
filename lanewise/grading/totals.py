"""A class's totals as a table and as JSON: made from the verdicts on disk alone, without a time in them, so that the same class gives the same bytes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from lanewise.grading.expected import INFRASTRUCTURE
from lanewise.grading.formats.nbgrader import harmless
from lanewise.grading.ledger import GRADED, Gap, Plan
from lanewise.grading.similarity import Pair

LATE = {None: "", False: "no", True: "yes"}
Results = Mapping[str, dict[str, Any]]


def totals(plan: Plan, results: Results, gaps: Sequence[Gap]) -> dict[str, Any]:
    """Assignment, exercises, one entry a student of the plan, and the gaps. A student with a gap has the status "infrastructure" and no score."""
    waiting = {gap.student for gap in gaps}
    return {
        "schema": "lanewise/class/v1",
        "assignment": plan.assignment,
        "exercises": {key: {"max_score": expected.points, "testset": expected.testset} for key, expected in plan.exercises.items()},
        "students": [_student(student, plan, results.get(student), student in waiting) for student in plan.work],
        "gaps": [{"student": gap.student, "key": gap.key, "why": gap.why} for gap in gaps],
    }


def _student(student: str, plan: Plan, result: dict[str, Any] | None, waiting: bool) -> dict[str, Any]:
    verdicts = {verdict["key"]: verdict for verdict in result["verdicts"]} if result else {}
    exercises = {key: _exercise(verdicts.get(key)) for key in plan.exercises}
    return {
        "student": student,
        "status": INFRASTRUCTURE if waiting else GRADED,
        "score": None if waiting else _sum(verdict["score"] for verdict in verdicts.values()),
        "max_score": _sum(expected.points for expected in plan.exercises.values()),
        "late": result.get("late") if result else None,
        "notes": list(result.get("notes", [])) if result else [],
        "exercises": exercises,
    }


def _exercise(verdict: dict[str, Any] | None) -> dict[str, Any]:
    if verdict is None or verdict["kind"] == INFRASTRUCTURE:
        return {"score": None, "kind": INFRASTRUCTURE, "message": verdict["message"] if verdict else "", "source_sha256": ""}
    return {name: verdict.get(name) for name in ("score", "kind", "message", "source_sha256")}


def to_json(whole: dict[str, Any]) -> str:
    """Strict JSON."""
    return json.dumps(whole, indent=1, allow_nan=False, ensure_ascii=True) + "\n"


def to_csv(whole: dict[str, Any]) -> str:
    """A row a student: status, score, max_score, late, then score and kind of each exercise. Without a score a cell is empty, never 0."""
    keys = list(whole["exercises"])
    header = ["student", "status", "score", "max_score", "late", *(f"{key} {what}" for key in keys for what in ("score", "kind"))]
    rows = []
    for student in whole["students"]:
        row = [student["student"], student["status"], student["score"], student["max_score"], LATE[student["late"]]]
        for key in keys:
            exercise = student["exercises"][key]
            row += [exercise["score"], exercise["kind"] or "passed"]
        rows.append(row)
    return _table([header, *rows])


def pairs_to_csv(pairs: Sequence[Pair]) -> str:
    """A row a pair, the likest first within an exercise."""
    rows = [[pair.key, pair.first, pair.second, pair.share, pair.first_lines, pair.second_lines] for pair in pairs]
    return _table([["exercise", "first", "second", "share", "lines of first", "lines of second"], *rows])


def _table(rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([["" if cell is None else harmless(cell) for cell in row] for row in rows])
    return out.getvalue()


def _sum(values: Any) -> float:
    """To 1e-9, so that 0.1 + 0.2 is 0.3."""
    total = round(sum(values), 9)
    return int(total) if total == int(total) else total
