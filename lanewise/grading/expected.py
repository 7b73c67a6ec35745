"""What a submission's result must be, before it counts: every expected verdict exactly once, every field of the right type, points within their limits."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lanewise.grading.verdict import clean_text

INFRASTRUCTURE = "infrastructure"
HEAD_TYPES: dict[str, tuple[type, ...]] = {
    "assignment": (str,), "submission": (str,), "submitted": (str, type(None)), "late": (bool, type(None)), "status": (str,), "visibility": (str,),
    "score": (int, float), "max_score": (int, float), "notes": (list,),
}  # fmt: skip
CASE_TYPES = {"name": str, "passed": bool, "visible": bool}


class NotAResult(Exception):
    """What a grader answered isn't a whole result: the message says where."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a verdict on an exercise must say: the most points, and the version of the test set."""

    points: float
    testset: str


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
