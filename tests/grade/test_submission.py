"""One submission, whole and odd: every exercise gets its verdict, what is graded is found by its name alone, and points are the assignment's."""

import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from lanewise.derive import solution_text
from lanewise.grading import sandbox
from lanewise.grading.assignment import Terms, read_assignment
from lanewise.grading.submission import find_answers, grade_submission
from lanewise.names import find_course

pytestmark = pytest.mark.slow  # children, compilers and clocks: seconds each in sum

COURSE = find_course()
A, B, C = (COURSE.exercise(word) for word in ("ch01a", "ch05b", "ch04a"))
RIGHT = solution_text(COURSE.solution(A).read_text(encoding="utf-8"))
THREE = 'name = "Week"\nhidden = true\nseed_file = "week.seed"\n[exercises]\nch01a = 4\nch05b = { points = 6, budget_share = 0.25 }\nch04a = 2.5\n'


@pytest.fixture
def three(assignment_file):
    return read_assignment(assignment_file(THREE), COURSE)


def put(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.cu").write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def test_every_exercise_has_its_verdict_with_the_assignments_points(tmp_path, three):
    wasteful = solution_text(COURSE.solution(B).read_text(encoding="utf-8")).replace("__syncthreads();", "__syncthreads(); __syncthreads();", 1)
    result = grade_submission(put(tmp_path / "ann", ch01a_grid_stride=RIGHT, ch05b=wasteful), three, COURSE)
    assert result["status"] == "graded" and (result["score"], result["max_score"]) == (4 + 6 * 0.75, 12.5)
    assert [(v["key"], v["score"], v["max_score"], v["kind"]) for v in result["verdicts"]] == [
        ("ch01a_grid_stride", 4, 4, None),
        ("ch05b_block_max", 4.5, 6, "over-budget"),
        ("ch04a_transpose_tile", 0, 2.5, "kernel-not-found"),
    ]
    first = result["verdicts"][0]
    assert list(first) == ["key", "score", "max_score", "kind", "message", "line", "cases", "counters", "source_sha256", "testset", "seed"]
    assert first["seed"] == three.secret(three.items[0]) and first["testset"].startswith("0.1.0-")
    assert any(case["name"].startswith("hidden 1") and not case["visible"] and case["passed"] for case in first["cases"])
    assert first["counters"]["n = 1000, 3 blocks"]["global_load_sectors"] == 125
    assert result["verdicts"][2]["message"] == "No answer to ch04a was handed in: its file is called ch04a_transpose_tile.cu."


def test_a_zip_a_folder_and_a_notebook_give_the_same_verdict(tmp_path, assignment_file, notebook):
    one = read_assignment(assignment_file("[exercises]\nch01a = 1\n"), COURSE)
    put(tmp_path / "folder", ch01a=RIGHT)
    with zipfile.ZipFile(tmp_path / "zipped.zip", "w") as archive:
        archive.writestr("handed in/ch01a.cu", RIGHT)
        archive.writestr("__MACOSX/handed in/._ch01a.cu", b"\0\5\x16\7")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "Käthes.ipynb").write_bytes(notebook("%%solve ch01a\n" + RIGHT))
    verdicts = [grade_submission(tmp_path / name, one, COURSE)["verdicts"] for name in ("folder", "zipped.zip", "book")]
    assert verdicts[0] == verdicts[1] == verdicts[2] and verdicts[0][0]["score"] == 1


def test_names_alone_decide_what_is_graded(three):
    files = {"deep/ch01a_grid_stride.cu": b"1", "ch01a.cu": b"2", "CH05B.CU": b"3", "ch04a (1).cu": b"4", "notes.txt": b""}
    found, notes = find_answers(files, three, COURSE)
    assert found == {A: b"1", B: b"3"}
    assert notes == [
        "ch01a is there more than once: deep/ch01a_grid_stride.cu was graded, ch01a.cu was not.",
        "ch04a (1).cu looks like an answer to ch04a, but isn't called ch04a_transpose_tile.cu, and was not graded.",
    ]


def test_two_copies_of_one_text_are_no_matter(three):
    assert find_answers({"a/ch01a.cu": b"1", "b/ch01a.cu": b"1"}, three, COURSE) == ({A: b"1"}, [])


def test_a_file_counts_before_a_notebooks_cell(three, notebook):
    assert find_answers({"n.ipynb": notebook("%%solve ch01a\ncell"), "ch01a.cu": b"file"}, three, COURSE)[0] == {A: b"file"}


def test_an_empty_folder_is_graded_with_nothing(tmp_path, three):
    result = grade_submission(put(tmp_path / "empty"), three, COURSE)
    assert (result["status"], result["score"]) == ("graded", 0) and len(result["verdicts"]) == 3


def test_the_graded_text_has_one_hash_whatever_its_line_ends():
    one = sandbox.grade(A, RIGHT.encode(), COURSE)
    other = sandbox.grade(A, b"\xef\xbb\xbf" + RIGHT.replace("\n", "\r\n").encode(), COURSE)
    assert one == other and len(one.source_sha256) == 64
    assert sandbox.grade(A, b"\xff", COURSE).source_sha256 != one.source_sha256


def test_one_seed_gives_one_verdict_and_another_other_data(three):
    text = RIGHT.replace("x[k] * x[k]", "(x[k] + 1e-3f) * x[k]")
    assert text != RIGHT
    secret = three.secret(three.items[0])
    verdicts = [sandbox.grade(A, text.encode(), COURSE, secret=secret).to_json() for _ in range(3)]
    assert len(set(verdicts)) == 1
    assert sandbox.grade(A, text.encode(), COURSE, secret=secret + 1).to_json() != verdicts[0]


def test_hidden_cases_do_not_touch_the_visible_ones():
    from lanewise.exercise import load_exercise

    plain = load_exercise(A, COURSE)
    hidden = plain.with_hidden(7)
    assert hidden.cases[: len(plain.cases)] == plain.cases and len(hidden.cases) > len(plain.cases)
    assert all(not case.visible and case.name.startswith("hidden ") for case in hidden.cases[len(plain.cases) :])
    assert not np.array_equal(hidden.cases[-1].data(7)["x"], hidden.cases[-1].data(8)["x"][:1])


def test_terms_of_an_assignment_replace_the_exercises_own():
    verdict = sandbox.grade(A, RIGHT.encode(), COURSE, terms=Terms(points=7.5))
    assert (verdict.score, verdict.max_score) == (7.5, 7.5)


def command(*words, cwd=None):
    return subprocess.run([sys.executable, "-m", "lanewise", *map(str, words)], cwd=cwd, capture_output=True, text=True)


def test_the_command_writes_the_result_and_reports(tmp_path, assignment_file):
    path = assignment_file("due = 2026-12-04T18:00:00Z\n[exercises]\nch01a = 4\n")
    put(tmp_path / "ann", ch01a=RIGHT)
    done = command(
        "grade-submission", tmp_path / "ann", "--set", path, "--out", tmp_path / "r.json", "--also", f"markdown={tmp_path / 'r.md'}", "--submitted",
        "2026-12-05T00:00:00Z",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "ann: 4 of 4 points (graded)\n")
    result = json.loads((tmp_path / "r.json").read_text())
    assert (result["schema"], result["late"], result["submitted"]) == ("lanewise/submission/v1", True, "2026-12-05T00:00:00+00:00")
    assert "**4 of 4 points**, late" in (tmp_path / "r.md").read_text()
    alone = command("grade-submission", tmp_path / "ann", "--set", path, "--out", "-")
    assert json.loads(alone.stdout)["score"] == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["none"], "none is no submission: give a folder of answers, or a .zip of one."),
        (["ann", "--set", "none.toml"], "Can't read none.toml"),
        (["ann", "--also", "pdf=x"], "--also pdf=x: write FORMAT=FILE with one of json, markdown, html, gradescope"),
        (["ann", "--submitted", "today"], "'today' is no time"),
    ],
)
def test_trouble_of_the_caller_is_exit_status_2_and_no_score(tmp_path, words, says):
    put(tmp_path / "ann")
    done = command("grade-submission", *words, "--out", tmp_path / "r.json", cwd=tmp_path)
    assert done.returncode == 2 and says in done.stderr and not (tmp_path / "r.json").exists()


def test_infrastructure_is_exit_status_2_and_writes_no_students_report(tmp_path, assignment_file, monkeypatch, capsys):
    from lanewise.__main__ import main
    from lanewise.grading import submission
    from lanewise.grading.verdict import Verdict

    put(tmp_path / "ann", ch01a=RIGHT)
    asked = []
    monkeypatch.setattr(submission.sandbox, "grade", lambda key, *a, **k: asked.append(key) or Verdict(str(key), 0, 4, "infrastructure", "Grading stopped."))
    path = assignment_file("[exercises]\nch01a = 4\n")
    reports = ["--out", str(tmp_path / "r.json"), "--also", f"gradescope={tmp_path / 'g.json'}"]
    status = main(["grade-submission", str(tmp_path / "ann"), "--set", str(path), *reports])
    assert status == 2 and len(asked) == 2, "a busy machine gets a second chance, not a third"
    assert json.loads((tmp_path / "r.json").read_text())["status"] == "infrastructure" and not (tmp_path / "g.json").exists()


def test_a_notebooks_cell_is_graded_by_grade(tmp_path, notebook):
    (tmp_path / "n.ipynb").write_bytes(notebook("%%solve ch01a\n" + RIGHT, "%%solve ch05b\nno"))
    assert json.loads(command("grade", "ch01a", "--file", "n.ipynb", "--json", "-", cwd=tmp_path).stdout)["kind"] is None
    done = command("grade", "ch04a", "--file", "n.ipynb", "--json", "-", cwd=tmp_path)
    assert "n.ipynb has no cell that begins with %%solve ch04a" in done.stderr
