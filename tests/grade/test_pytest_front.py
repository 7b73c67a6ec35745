"""`pytest tests/test_exercises.py --work DIR`: a test an exercise and case, points in the JUnit report, and nothing in the folder is ever imported."""

import subprocess
import sys

import pytest
from junitparser import JUnitXml, Properties

from lanewise.names import find_course

COURSE = find_course()
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    (folder / "ch01a_grid_stride.cu").write_bytes(COURSE.solution(COURSE.exercise("ch01a")).read_bytes())
    (folder / "ch05b.cu").write_bytes(b"\xff\xfe not a text")
    for name in ("conftest.py", "numpy.py", "test_exercises.py", "pytest.ini"):
        (folder / name).write_text(f"open({str(folder / 'was_here')!r}, 'w')\nraise SystemExit(0)\n")
    out = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_exercises.py", "--work", folder, "--junit-xml", out]
    done = subprocess.run(command, cwd=COURSE.root, capture_output=True, text=True)
    assert out.exists(), done.stdout + done.stderr
    return folder, done, [case for suite in JUnitXml.fromfile(str(out)) for case in suite]


def test_each_case_and_each_answer_is_a_test(run):
    _, done, cases = run
    names = [case.name for case in cases]
    assert done.returncode == 1 and "test_an_answer_passes_a_case[ch01a_grid_stride-one element]" in names
    assert not [name for name in names if not name.startswith("test_an_answer_")]
    passed = {case.name.split("[")[1].rstrip("]"): not case.result for case in cases if case.name.startswith("test_an_answer_is_solved")}
    assert passed == {"ch01a_grid_stride": True, "ch05b_block_max": False}


def test_points_are_properties(run):
    solved = [case for case in run[2] if case.name.startswith("test_an_answer_is_solved")]
    told = [{p.name: p.value for group in case.iterchildren(Properties) for p in group} for case in solved]
    assert [(t["exercise"], t["score"], t["max_score"], t["kind"]) for t in told] == [
        ("ch01a_grid_stride", "1", "1", ""), ("ch05b_block_max", "0", "1", "compile-error")
    ]  # fmt: skip


def test_nothing_in_the_folder_is_run(run):
    folder, _, _ = run
    assert not (folder / "was_here").exists()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--work={folder}", "tests/test_exercises.py", "--collect-only"]
    done = subprocess.run(command, cwd=COURSE.root, capture_output=True, text=True)
    assert done.returncode == 0 and "test_an_answer_is_solved[ch05b_block_max]" in done.stdout
    assert not (folder / "was_here").exists(), "with --work=DIR the order of the words doesn't matter"
