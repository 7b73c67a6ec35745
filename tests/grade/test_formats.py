"""The formats of other systems: each against a schema, or read back by a library of its own; hostile names included."""

import csv
import io
import json
import os
import subprocess
import sys
import zipfile
from datetime import UTC, datetime

import jsonschema
import pytest
from junitparser import JUnitXml
from schemas import CLASSROOM50, GRADESCOPE, PRAIRIELEARN

from lanewise.grading.assignment import read_assignment
from lanewise.grading.formats import classroom50, gradescope, junit, nbgrader, prairielearn, render
from lanewise.names import CourseError, find_course

COURSE = find_course()
HOSTILE = "=cmd|' /C calc'!A0</testcase>\x1b[31m\0\ud800 \u202e"


def exercise(key="ch01a_grid_stride", score=4, most=4, kind=None, message="", hidden=(2, 2)):
    return {
        "key": key, "score": score, "max_score": most, "kind": kind, "message": message, "line": 3 if kind else None,
        "cases": [{"name": "one", "passed": True}, {"name": "two", "passed": kind is None}],
        "hidden": {"passed": hidden[0], "of": hidden[1]}, "counters": {},
    }  # fmt: skip


def report(*exercises, **fields):
    exercises = list(exercises) or [exercise(), exercise("ch05b_block_max", 4.5, 6, "over-budget", "Case 2 (two): barriers is 12, …")]
    whole = {
        "schema": "lanewise/student-report/v1", "assignment": "Week 5", "submission": "ann", "submitted": "2026-12-04T10:00:00+00:00", "late": False,
        "status": "graded", "score": sum(e["score"] for e in exercises), "max_score": sum(e["max_score"] for e in exercises),
        "notes": ["a note"], "exercises": exercises,
    }  # fmt: skip
    return whole | fields


def hostile():
    return report(exercise(kind="compile-error", score=0, message=HOSTILE * 3), submission=HOSTILE, assignment=HOSTILE, notes=[HOSTILE])


def strict(whole):
    """Through text and back, as another program reads it."""
    return json.loads(json.dumps(whole, allow_nan=False))


@pytest.mark.parametrize("visibility", ["hidden", "after_due_date", "after_published", "visible"])
def test_gradescope(visibility):
    whole = strict(gradescope.results(report(), visibility, 1.23456))
    jsonschema.validate(whole, GRADESCOPE, jsonschema.Draft202012Validator)
    assert "score" not in whole, "a top-level score would override the tests' sum"
    assert [(t["score"], t["max_score"], t["status"]) for t in whole["tests"]] == [(4, 4, "passed"), (4.5, 6, "failed")]
    assert {t["visibility"] for t in whole["tests"]} == {visibility}
    assert whole["tests"][1]["output"] == "Case 2 (two): barriers is 12, …\npass  one\nFAIL  two\nhidden cases: 2 of 2 pass"
    assert whole["execution_time"] == 1.235


def test_classroom_50():
    environment = {
        "CLASSROOM": "gpu", "ASSIGNMENT": "week-5", "USERNAMES": "ann,bob", "SUBMISSION_TAG": "submit/1", "COMMIT_URL": "c", "RELEASE_URL": "r"
    }  # fmt: skip
    whole = strict(classroom50.result_v1(report(), environment, datetime(2026, 12, 4, 10, tzinfo=UTC)))
    jsonschema.validate(whole, CLASSROOM50, jsonschema.Draft202012Validator)
    assert (whole["score"], whole["max-score"], whole["usernames"], whole["datetime"], whole["review"]) == (8, 10, ["ann", "bob"], "2026-12-04T10:00:00Z", "c")
    assert whole["tests"][1] == {"test-name": "ch05b_block_max", "passed": False, "score": 4, "max-score": 6}
    with pytest.raises(CourseError, match="Classroom 50 counts in whole points, and ch01a_grid_stride has 2.5: change it"):
        classroom50.result_v1(report(exercise(score=2.5, most=2.5)), {})


def test_the_workflow_runs_isolated_and_without_rights():
    for needed in ("python -I -m lanewise grade-submission ../answers", "contents: read", "persist-credentials: false", "timeout-minutes"):
        assert needed in classroom50.WORKFLOW


def test_prairielearn():
    whole = strict(prairielearn.results(report()))
    jsonschema.validate(whole, PRAIRIELEARN, jsonschema.Draft202012Validator)
    assert (whole["gradable"], whole["score"]) == (True, 0.85)
    nothing = prairielearn.results(report(exercise(score=0, kind="kernel-not-found", message="No answer")))
    assert (nothing["gradable"], nothing["score"]) == (False, 0)
    long = report(*[exercise(kind="race", score=0, message="m" * 2000) for _ in range(60)])
    assert len(json.dumps(prairielearn.results(long))) < 1_000_000


def test_junit_is_read_by_its_own_library():
    read = JUnitXml.fromstring(junit.xml(report()).encode())
    suites = list(read)
    assert [(s.name, s.tests, s.failures, {p.name: p.value for p in s.properties()}) for s in suites] == [
        ("ch01a_grid_stride", 3, 0, {"score": "4", "max_score": "4"}),
        ("ch05b_block_max", 3, 1, {"score": "4.5", "max_score": "6"}),
    ]
    (failure,) = [case.result[0] for case in suites[1] if case.result]
    assert (failure.message, failure.type) == ("Case 2 (two): barriers is 12, …", "over-budget")


def test_hostile_text_breaks_no_format():
    jsonschema.validate(strict(gradescope.results(hostile())), GRADESCOPE)
    jsonschema.validate(strict(classroom50.result_v1(hostile(), {})), CLASSROOM50)
    jsonschema.validate(strict(prairielearn.results(hostile())), PRAIRIELEARN)
    (suite,) = JUnitXml.fromstring(junit.xml(hostile()).encode())
    assert suite.tests == 3 and "</testcase>" in [case.result[0] for case in suite if case.result][0].message


def test_the_csv_has_nbgraders_columns_and_no_formula():
    rows = [
        {"status": "graded", "assignment": "Week, 5", "submission": "=HYPERLINK(1)", "submitted": None, "score": 4.5, "max_score": 10},
        {"status": "infrastructure", "assignment": "Week, 5", "submission": "bob", "submitted": None, "score": 0, "max_score": 10},
        {"status": "graded", "assignment": "Week, 5", "submission": 'c"d\ne', "submitted": "2026-12-04T10:00:00+00:00", "score": 10, "max_score": 10},
    ]
    people = {"=HYPERLINK(1)": {"last_name": "-2+3", "first_name": "\t=1", "email": "@x"}}
    text = nbgrader.table(rows, datetime(2026, 12, 4, 17, tzinfo=UTC), people)
    read = list(csv.reader(io.StringIO(text)))
    assert ",".join(read[0]) == "assignment,duedate,timestamp,student_id,last_name,first_name,email,raw_score,late_submission_penalty,score,max_score"
    assert read[1] == ["Week, 5", "2026-12-04T17:00:00+00:00", "", "'=HYPERLINK(1)", "'-2+3", "' =1", "'@x", "4.5", "0", "4.5", "10"]
    assert len(read) == 3, "a submission that wasn't graded has no row, rather than a 0"
    assert read[2][3] == 'c"d e' and read[2][2] == "2026-12-04T10:00:00+00:00"


def test_an_unknown_format_is_refused():
    with pytest.raises(CourseError, match="There is no format 'pdf': choose one of json, markdown"):
        render("pdf", {})


@pytest.mark.slow
def test_the_autograder_zip_grades_by_itself_and_holds_no_solution(tmp_path, assignment_file):
    path = assignment_file('hidden = true\nseed_file = "week.seed"\n[exercises]\nch01a = 4\n')
    content = gradescope.autograder_zip(path, read_assignment(path, COURSE), COURSE)
    assert content == gradescope.autograder_zip(path, read_assignment(path, COURSE), COURSE), "the same files make the same archive"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "source")
        assert archive.getinfo("run_autograder").external_attr >> 16 & 0o111
    assert {"setup.sh", "run_autograder", "assignment/assignment.toml", "assignment/week.seed", "course/lanewise/grading/check.py"} <= set(names)
    assert not [name for name in names if "solutions/" in name or "/tests/" in name or ".ipynb" in name]
    for script in ("setup.sh", "run_autograder"):
        subprocess.run(["bash", "-n", tmp_path / "source" / script], check=True)
    run = (tmp_path / "source" / "run_autograder").read_text()
    assert "env -i" in run and "python -I -m lanewise grade-submission" in run
    # The archive's own course, its own copy of the package, on a submission.
    (tmp_path / "submission").mkdir()
    (tmp_path / "submission" / "ch01a.cu").write_text(COURSE.solution(COURSE.exercise("ch01a")).read_text())
    course = tmp_path / "source" / "course"
    program = f"import sys; sys.path.insert(0, {str(course)!r}); from lanewise.__main__ import main; sys.exit(main())"
    words = [tmp_path / "submission", "--set", tmp_path / "source" / "assignment" / "assignment.toml", "--out", tmp_path / "t.json"]
    words += ["--also", f"gradescope={tmp_path / 'results.json'}"]
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, "grade-submission", *map(str, words)], cwd=tmp_path, env={"PATH": os.defpath}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    whole = json.loads((tmp_path / "results.json").read_text())
    jsonschema.validate(whole, GRADESCOPE)
    assert whole["tests"][0]["score"] == 4 and "hidden cases:" in whole["tests"][0]["output"]
