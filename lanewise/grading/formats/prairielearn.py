"""PrairieLearn: results/results.json of an external grader."""

from __future__ import annotations

from typing import Any

LONGEST = 8000  # characters an exercise, so that the whole stays far below PrairieLearn's megabyte
NOT_GRADED = ("compile-error", "kernel-not-found")


def results(report: dict[str, Any]) -> dict[str, Any]:
    """A student's report as results.json; `score` is the part of the points, 0 to 1.

    `gradable` is false where no exercise has a text that compiles: PrairieLearn then takes no attempt from the student.
    """
    tests = [_test(e) for e in report["exercises"]]
    gradable = any(e["kind"] not in NOT_GRADED for e in report["exercises"])
    whole = {
        "gradable": gradable,
        "score": report["score"] / report["max_score"] if report["max_score"] else 0.0,
        "message": "" if gradable else "Nothing that compiles was handed in.",
        "output": "\n".join(report["notes"])[:LONGEST],
        "tests": tests,
    }
    return whole


def _test(e: dict[str, Any]) -> dict[str, Any]:
    hidden = f"hidden cases: {e['hidden']['passed']} of {e['hidden']['of']} pass" if e["hidden"]["of"] else ""
    cases = [f"{'pass' if case['passed'] else 'FAIL'}  {case['name']}" for case in e["cases"]]
    return {
        "name": e["key"],
        "description": e["kind"] or "solved",
        "points": e["score"],
        "max_points": e["max_score"],
        "message": e["message"][:LONGEST],
        "output": "\n".join(filter(None, [*cases, hidden]))[:LONGEST],
    }
