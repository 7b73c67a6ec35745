"""Results in the formats of other systems. Each is made from the student's report, so none can say more than a student may read; "teacher" alone has all."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from lanewise.grading.reports import student_report, teacher_markdown, to_html, to_markdown
from lanewise.names import CourseError


def render(name: str, result: dict[str, Any]) -> str:
    """The text of a result in a format: a key of FORMATS, or "teacher". Raises CourseError for any other name, and where the format can't hold the result."""
    if name not in FORMATS | FOR_TEACHERS:
        raise CourseError(f"There is no format {name!r}: choose one of {', '.join(FORMATS | FOR_TEACHERS)}.")
    return (FORMATS | FOR_TEACHERS)[name](result)


def _json(whole: dict[str, Any]) -> str:
    return json.dumps(whole, indent=1, allow_nan=False, ensure_ascii=True) + "\n"


def _gradescope(result: dict[str, Any]) -> str:
    from lanewise.grading.formats.gradescope import results

    return _json(results(student_report(result), result.get("visibility", "visible"), result.get("seconds")))


def _classroom50(result: dict[str, Any]) -> str:
    from lanewise.grading.formats.classroom50 import result_v1

    return _json(result_v1(student_report(result)))


def _prairielearn(result: dict[str, Any]) -> str:
    from lanewise.grading.formats.prairielearn import results

    return _json(results(student_report(result)))


def _junit(result: dict[str, Any]) -> str:
    from lanewise.grading.formats.junit import xml

    return xml(student_report(result))


FORMATS: dict[str, Callable[[dict[str, Any]], str]] = {
    "json": lambda result: _json(student_report(result)),
    "markdown": lambda result: to_markdown(student_report(result)),
    "html": lambda result: to_html(student_report(result)),
    "gradescope": _gradescope,
    "classroom50": _classroom50,
    "prairielearn": _prairielearn,
    "junit": _junit,
}
FOR_TEACHERS: dict[str, Callable[[dict[str, Any]], str]] = {"teacher": teacher_markdown}
