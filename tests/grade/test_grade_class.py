"""grade-class and export as a teacher types them, with the real grader."""

import csv
import json
import zipfile

import pytest

from lanewise.__main__ import main
from lanewise.derive import solution_text
from lanewise.grading.formats import FORMATS
from lanewise.grading.ledger import ClassLedger
from lanewise.names import find_course

COURSE = find_course()
KEY = COURSE.exercise("ch01a")
SOLUTION = solution_text(COURSE.solution(KEY).read_text(encoding="utf-8"))
SKELETON = COURSE.kernel(KEY).read_text(encoding="utf-8")
SECRET = "a secret of twenty or more letters"


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A class that was graded once: (its folder, the results, the assignment, the exit status)."""
    folder = tmp_path_factory.mktemp("class")
    for student, text in (("ann", SOLUTION), ("dan", "// mine\n" + SOLUTION)):
        (folder / "class" / student).mkdir(parents=True)
        (folder / "class" / student / f"{KEY}.cu").write_text(text, encoding="utf-8")
    with zipfile.ZipFile(folder / "class" / "Bøb.zip", "w") as archive:
        archive.writestr("week/ch01a.cu", SKELETON)
        archive.writestr("../ch01a.cu", SOLUTION)
    (folder / "class" / "cid").mkdir()
    (folder / "times.csv").write_text("student,time\nann,2026-12-04T18:00:01+01:00\nBøb,2026-12-04T16:59:00Z\n", encoding="utf-8")
    (folder / "week.toml").write_text(
        f'name = "Week 1"\ndue = 2026-12-04T18:00:00+01:00\nhidden = true\nseed_file = "week.seed"\n[exercises]\n{KEY} = 4\n', encoding="utf-8"
    )
    (folder / "week.seed").write_text(SECRET, encoding="utf-8")
    command = ["grade-class", str(folder / "class"), "--out", str(folder / "results"), "--assignment", str(folder / "week.toml"), "--workers", "2"]
    command += ["--submitted", str(folder / "times.csv")]
    return folder, folder / "results", command, main(command)


@pytest.mark.slow
def test_a_class_is_graded_reported_and_compared(graded, capsys):
    folder, results, command, status = graded
    assert status == 0
    rows = {row["student"]: (row["status"], row["score"], row[f"{KEY} kind"]) for row in csv.DictReader((results / "results.csv").open(encoding="utf-8"))}
    late = {row["student"]: row["late"] for row in csv.DictReader((results / "results.csv").open(encoding="utf-8"))}
    assert late == {"ann": "yes", "Bøb": "no", "cid": "", "dan": ""}
    assert rows["ann"] == rows["dan"] == ("graded", "4", "passed")
    assert rows["Bøb"][:2] == ("graded", "0") and rows["Bøb"][2] not in ("passed", "kernel-not-found")
    assert rows["cid"] == ("graded", "0", "kernel-not-found")
    assert [row["first"] + row["second"] for row in csv.DictReader((results / "similarity.csv").open(encoding="utf-8"))] == ["anndan"]
    reports = sorted((results / "reports").iterdir())
    assert [path.name.partition("-")[0] for path in reports] == ["B_b", "ann", "cid", "dan"]
    for path in reports:
        text = path.read_text(encoding="utf-8")
        assert SECRET not in text and str(folder) not in text and "seed" not in text
    before = {path.name: path.read_bytes() for path in results.glob("*.*")}
    assert main(command) == 0  # and nothing is done again
    assert "0 graded now, 4 before." in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in results.glob("*.*")} == before


@pytest.mark.slow
def test_results_are_exported_in_every_form(graded, capsys, tmp_path):
    _, results, _, _ = graded
    assert main(["export", str(results)]) == 0
    assert capsys.readouterr().out == (results / "results.csv").read_text(encoding="utf-8")
    assert main(["export", str(results), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["students"][0]["student"] == "Bøb"
    assert main(["export", str(results), "--format", "nbgrader", "--out", str(tmp_path / "grades.csv")]) == 0
    rows = list(csv.DictReader((tmp_path / "grades.csv").open(encoding="utf-8")))
    assert [(row["student_id"], row["score"], row["max_score"]) for row in rows] == [("Bøb", "0", "4"), ("ann", "4", "4"), ("cid", "0", "4"), ("dan", "4", "4")]
    assert {row["duedate"] for row in rows} == {"2026-12-04T17:00:00+00:00"}
    for form in FORMATS:
        name = "report" if form == "json" else form
        assert main(["export", str(results), "--format", name, "--out", str(tmp_path / form)]) == 0
        assert len(list((tmp_path / form).iterdir())) == 4
    seeds = {str(verdict["seed"]) for path in (results / "verdicts").iterdir() for verdict in json.loads(path.read_text())["result"]["verdicts"]}
    assert len(seeds) == 1 and "None" not in seeds  # the teacher's files have it; what is handed back has not
    for path in [*tmp_path.rglob("*.*"), *(results / "reports").iterdir()]:
        text = path.read_text(encoding="utf-8")
        assert not any(seed in text for seed in seeds) and SECRET not in text and str(results) not in text, path.name


@pytest.mark.slow
def test_a_gap_is_loud(graded, capsys):
    _, results, _, _ = graded
    path = ClassLedger(results).verdict_path("ann")
    whole = path.read_bytes()
    path.write_bytes(whole[:100])
    try:
        assert main(["export", str(results)]) == 2
        said = capsys.readouterr()
        assert "NOT COMPLETE: of 4 expected verdicts" in said.err and "\n  ann: " in said.err
        assert '"ann","infrastructure","","4","","","infrastructure"' in said.out
    finally:
        path.write_bytes(whole)


def test_a_class_that_isnt_there_is_status_2_and_one_sentence(tmp_path, capsys):
    assert main(["grade-class", str(tmp_path / "none"), "--out", str(tmp_path / "results")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "text, says",
    [
        ("ann,yesterday", "'yesterday' is no time"),
        ("ann,2026-12-04T18:00:00", "has no offset"),
        ("ann", "times.csv, line 1: write `student,time`"),
        ("ann,2026-12-04T18:00:00Z\nann,2026-12-04T18:00:00Z", "line 2: write `student,time`, each student once"),
        ("eve,2026-12-04T18:00:00Z", "There is a time for eve, who handed nothing in"),
    ],
)
def test_times_that_say_nothing_are_refused(tmp_path, capsys, text, says):
    (tmp_path / "class" / "ann").mkdir(parents=True)
    (tmp_path / "times.csv").write_text(text)
    assert main(["grade-class", str(tmp_path / "class"), "--out", str(tmp_path / "r"), "--submitted", str(tmp_path / "times.csv")]) == 2
    assert says in capsys.readouterr().err


def test_an_export_of_nothing_says_what_to_call(tmp_path, capsys):
    assert main(["export", str(tmp_path)]) == 1
    assert "`lanewise grade-class SUBMISSIONS/ --out" in capsys.readouterr().err


def test_every_format_is_offered(capsys):
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    said = capsys.readouterr().out
    assert all(name in said for name in {*FORMATS, "report", "csv", "nbgrader"})
