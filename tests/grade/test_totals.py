"""A class's tables: no score where there was no verdict, nothing that a spreadsheet runs, the same bytes for the same class."""

import csv
import io
import json

from lanewise.grading.expected import Expected
from lanewise.grading.ledger import Gap, Plan
from lanewise.grading.similarity import Pair
from lanewise.grading.totals import pairs_to_csv, to_csv, to_json, totals

PLAN = Plan("Week 5", {"ch01a_x": Expected(0.1, "1-aa"), "ch01b_y": Expected(0.2, "1-bb")}, {"ann": "w1", '=HYPERLINK("x")': "w2", "cid": "w3"})


def verdict(key, score, most, kind=None):
    return {"key": key, "score": score, "max_score": most, "kind": kind, "message": "m" if kind else "", "source_sha256": "ab"}


def result(second=None):
    return {"verdicts": [verdict("ch01a_x", 0.1, 0.1), verdict("ch01b_y", 0 if second else 0.2, 0.2, second)], "notes": [], "graded": "2026-11-01"}


RESULTS = {"ann": result() | {"late": True}, '=HYPERLINK("x")': result("infrastructure")}
GAPS = [Gap('=HYPERLINK("x")', "ch01b_y", "The clock."), Gap("cid", "", "The worker failed.")]


def test_a_gap_is_an_empty_cell_and_never_a_0():
    rows = list(csv.reader(io.StringIO(to_csv(totals(PLAN, RESULTS, GAPS)))))
    assert rows == [
        ["student", "status", "score", "max_score", "late", "ch01a_x score", "ch01a_x kind", "ch01b_y score", "ch01b_y kind"],
        ["ann", "graded", "0.3", "0.3", "yes", "0.1", "passed", "0.2", "passed"],
        ['\'=HYPERLINK("x")', "infrastructure", "", "0.3", "", "0.1", "passed", "", "infrastructure"],
        ["cid", "infrastructure", "", "0.3", "", "", "infrastructure", "", "infrastructure"],
    ]


def test_the_json_names_every_student_and_every_gap_and_no_time():
    text = to_json(totals(PLAN, RESULTS, GAPS))
    whole = json.loads(text)
    assert [student["score"] for student in whole["students"]] == [0.3, None, None]
    assert whole["gaps"][1] == {"student": "cid", "key": "", "why": "The worker failed."}
    assert "2026" not in text and "seed" not in text


def test_pairs_are_rows_without_formulas():
    rows = list(csv.reader(io.StringIO(pairs_to_csv([Pair("ch01a_x", "+ann", "bob", 0.873, "3-9", "4-10, 12")]))))
    assert rows[1] == ["ch01a_x", "'+ann", "bob", "0.873", "3-9", "4-10, 12"]
