"""Classroom 50 (`classroom50/result/v1`): integers, one test an exercise. What only its runner knows comes from the environment it sets."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from lanewise.names import CourseError

WORKFLOW = """\
# .github/workflows/grade.yml: grades a push on GitHub's own machine, without a GPU.
name: grade
on: [push]
permissions:
  contents: read
jobs:
  grade:
    runs-on: ubuntu-latest
    timeout-minutes: 15
    steps:
      - uses: actions/checkout@v4
        with: { path: answers, persist-credentials: false }
      - uses: actions/checkout@v4
        with: { repository: COURSE_REPOSITORY, path: course, persist-credentials: false }
      - uses: actions/setup-python@v5
        with: { python-version: "3.12" }
      - run: python -I -m pip install --quiet "./course[grade]"
      - run: >-
          cd course && python -I -m lanewise grade-submission ../answers --set ASSIGNMENT --out ../teacher.json
          --also junit=../junit.xml --also markdown=../report.md && cat ../report.md >> "$GITHUB_STEP_SUMMARY"
"""


def result_v1(report: dict[str, Any], environment: Mapping[str, str] = os.environ, now: datetime | None = None) -> dict[str, Any]:
    """A student's report as result.json. Raises CourseError where the points aren't whole numbers, which the format wants.

    A part of a point is dropped: a score is never more than what was earned.
    """
    fractional = next((e for e in report["exercises"] if e["max_score"] != int(e["max_score"])), None)
    if fractional:
        raise CourseError(f"Classroom 50 counts in whole points, and {fractional['key']} has {fractional['max_score']:g}: change it in the assignment file.")
    tests = [_test(e) for e in report["exercises"]]
    commit = environment.get("COMMIT_URL", "")
    when = (now or datetime.now(UTC)).astimezone(UTC)
    return {
        "schema": "classroom50/result/v1",
        "classroom": environment.get("CLASSROOM", "lanewise"),
        "assignment": environment.get("ASSIGNMENT") or report["assignment"],
        "usernames": environment.get("USERNAMES", report["submission"]).split(","),
        "submission": environment.get("SUBMISSION_TAG") or report["submission"],
        "commit": commit,
        "release": environment.get("RELEASE_URL", ""),
        "review": environment.get("REVIEW_URL") or commit,
        "datetime": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "score": sum(test["score"] for test in tests),
        "max-score": sum(test["max-score"] for test in tests),
        "tests": tests,
    }


def _test(e: dict[str, Any]) -> dict[str, Any]:
    return {"test-name": e["key"], "passed": e["kind"] is None, "score": math.floor(e["score"] + 1e-9), "max-score": int(e["max_score"])}
