"""nbgrader's export: a CSV row a student, quoted by the csv module, with formulas made harmless for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from datetime import datetime
from typing import Any

COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score", "late_submission_penalty", "score", "max_score"
)  # fmt: skip
STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def table(results: Iterable[dict[str, Any]], due: datetime | None = None, students: dict[str, dict[str, str]] | None = None) -> str:
    """The CSV of teachers' results. `students`: submission → last_name, first_name, email, where they are known. A submission without a score is no row."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(COLUMNS)
    for result in results:
        if result["status"] != "graded":
            continue
        person = (students or {}).get(result["submission"], {})
        row = [result["assignment"], due.isoformat() if due else "", result["submitted"] or "", result["submission"]]
        row += [person.get(field, "") for field in ("last_name", "first_name", "email")]
        row += [result["score"], 0, result["score"], result["max_score"]]
        writer.writerow([harmless(value) for value in row])
    return out.getvalue()


def harmless(value: Any) -> str:
    """A cell that no spreadsheet takes for a formula: one that would begin like one gets an apostrophe in front. Numbers stay numbers."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.10g}"
    text = "".join(c if c.isprintable() else " " for c in str(value))
    return f"'{text}" if str(value).lstrip(" \ufeff").startswith(STARTS_A_FORMULA) else text
