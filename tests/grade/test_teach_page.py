"""docs/teach-with-this.md, done as a reader does it: every command, every number of its table."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "teach-with-this.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.slow
TABLE = re.findall(r"^\| (ann|bob|mallory) \|.*\| (\d+) of (\d+) \| (.*) \|$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The page's console blocks, run in their order where examples/class lies; `lanewise` and `python3` are this interpreter's."""
    base = tmp_path_factory.mktemp("teacher")
    shutil.copytree(ROOT / "examples", base / "examples")
    bin = base / "bin"
    bin.mkdir()
    for name, words in {"lanewise": "-I -m lanewise", "python3": ""}.items():
        (bin / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (bin / name).chmod(0o755)
    script = "set -e\n" + "".join(re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL))
    done = subprocess.run(["bash", "-c", script], cwd=base, env=os.environ | {"PATH": f"{bin}:{os.environ['PATH']}"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return base / "my-class"


@pytest.mark.parametrize(("student", "points", "most", "says"), TABLE, ids=[row[0] for row in TABLE])
def test_the_page_says_what_comes_out(folder, student, points, most, says):
    (path,) = (folder / "results" / "verdicts").glob(f"{student}-*.json")
    (report,) = (folder / "results" / "reports").glob(f"{student}-*.md")
    result = json.loads(path.read_text())["result"]
    assert (result["score"], result["max_score"], result["status"]) == (int(points), int(most), "graded")
    kinds = [verdict["kind"] or "solved" for verdict in result["verdicts"]]
    assert set(kinds) == set(re.findall(r"[a-z-]+", says))
    assert f"**{points} of {most} points**" in report.read_text(encoding="utf-8")
    assert all(str(verdict["seed"]) not in report.read_text(encoding="utf-8") for verdict in result["verdicts"])


def test_the_class_has_the_same_points(folder):
    rows = {row["student"]: (row["status"], row["score"], row["max_score"]) for row in csv.DictReader((folder / "results" / "results.csv").open())}
    assert rows == {student: ("graded", points, most) for student, points, most, _ in TABLE}
    grades = {row["student_id"]: row["score"] for row in csv.DictReader((folder / "grades.csv").open())}
    assert grades == {student: points for student, points, _, _ in TABLE}


def test_one_submission_alone_gets_the_same(folder):
    (path,) = (folder / "results" / "verdicts").glob("ann-*.json")
    alone = json.loads((folder / "ann.json").read_text())
    assert alone["verdicts"] == json.loads(path.read_text())["result"]["verdicts"] and "**10 of 10 points**" in (folder / "ann.md").read_text()


def test_the_table_has_all_three():
    assert [row[0] for row in TABLE] == ["ann", "bob", "mallory"]


def test_files_and_commands_that_the_page_names_exist():
    from lanewise.__main__ import parser
    from lanewise.grading.formats import FORMATS

    for target in re.findall(r"\]\(\.\./([^)]+)\)", PAGE):
        assert (ROOT / target).exists(), target
    known = parser()._subparsers._group_actions[0].choices
    assert set(re.findall(r"\blanewise ([a-z-]+)", PAGE)) <= set(known)
    assert all(f"`{name}`" in PAGE for name in FORMATS)
