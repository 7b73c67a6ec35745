"""The commands as a learner types them."""

import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from lanewise.__main__ import main
from lanewise.derive import solution_text
from lanewise.ledger import Ledger
from lanewise.names import Course, find_course

COURSE = find_course()
KEY = COURSE.exercise("ch01a")
SOLUTION = solution_text(COURSE.solution(KEY).read_text(encoding="utf-8"))
SKELETON = COURSE.kernel(KEY).read_text(encoding="utf-8")
ENDLESS = 'extern "C" __global__ void grid_stride(const float* x, float* y, int n) { while (true) y[0] = x[0]; }\n'


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    """An empty work folder, from which the command is called."""
    folder = tmp_path / "work"
    monkeypatch.setenv("LANEWISE_WORK", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def call(capsys):
    """call("grade ch01a") → (exit status, standard output, standard error)."""

    def run(line):
        status = main(line.split())
        out, err = capsys.readouterr()
        return status, out, err

    return run


def process(line):
    command = [sys.executable, "-m", "lanewise", *line.split()]
    environment = {**os.environ, "PYTHONPATH": str(COURSE.root)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_list_fits_80_columns_and_offers_the_next_exercise(call):
    status, out, _ = call("list")
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80
    for key in COURSE.exercises():
        assert f"    {key.short}  " in out
    assert f"0 of {len(COURSE.exercises())} solved" in out
    assert out.endswith("next: lanewise start ch01a\n")


def test_start_copies_the_skeleton_and_never_overwrites_an_answer(call, work):
    status, out, _ = call("start ch01a")
    path = work / f"{KEY}.cu"
    assert (status, path.read_text()) == (0, SKELETON)
    assert out.startswith(f"work{os.sep}{KEY}.cu: ") and "`lanewise grade ch01a`" in out
    path.write_text("mine")
    status, out, _ = call("start ch01a")
    assert (status, path.read_text()) == (0, "mine")
    assert "is there already and stays as it is" in out


def test_the_way_from_the_skeleton_to_a_solved_exercise(call, work):
    call("start ch01a")
    status, out, _ = call("grade ch01a")
    assert status == 0
    assert out.startswith(f"{KEY}: ") and "0 of 1 point." in out.splitlines()[0]
    assert out.rstrip().splitlines()[-1] == "next: lanewise hint ch01a   ·   lanewise profile ch01a"
    (work / f"{KEY}.cu").write_text(SOLUTION)
    status, out, _ = call("grade ch01a")
    cases = len(json.loads(call("grade ch01a --json -")[1])["cases"])
    assert out.splitlines()[0] == f"{KEY}: solved. {cases} of {cases} cases pass, 1 of 1 point."
    assert out.rstrip().splitlines()[-1] == "next: lanewise start ch01b"
    assert "  ✓ ch01a  " in call("list")[1]
    assert [json.loads(line)["kind"] is None for line in (work / "attempts.jsonl").read_text().splitlines()] == [False, True, True]


def test_a_file_is_graded_beside_the_answer_and_not_noted(call, work, tmp_path):
    (tmp_path / "other.cu").write_text(SOLUTION)
    status, out, _ = call("grade ch01a_grid_stride --file other.cu")
    assert status == 0 and "solved." in out
    assert not work.exists()


def test_json_alone_is_on_standard_output(tmp_path):
    (tmp_path / "mine.cu").write_bytes(b"\xef\xbb\xbf" + SOLUTION.replace("\n", "\r\n").encode())
    child = process("grade ch01a --file mine.cu --json -")
    out, _ = child.communicate(timeout=60)
    verdict = json.loads(out)
    assert child.returncode == 0
    assert list(verdict) == ["key", "score", "max_score", "kind", "message", "line", "cases", "counters", "source_sha256", "testset"]
    assert (verdict["key"], verdict["score"], verdict["max_score"], verdict["kind"], verdict["message"], verdict["line"]) == (str(KEY), 1, 1, None, "", None)
    assert all(case["passed"] is True and list(case) == ["name", "passed", "visible", "message"] for case in verdict["cases"])


def test_json_to_a_file(call, tmp_path):
    (tmp_path / "mine.cu").write_text(SKELETON)
    status, out, _ = call("grade ch01a --file mine.cu --json out.json")
    verdict = json.loads((tmp_path / "out.json").read_text())
    assert status == 0 and verdict["score"] == 0 and verdict["kind"] and verdict["kind"] in out


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("grade ch01a", "There is no answer to ch01a yet: `lanewise start ch01a` makes one."),
        ("reset ch01a", "There is no answer to ch01a yet"),
        ("watch ch01a", "There is no answer to ch01a yet"),
        ("profile ch01a", "There is no answer to ch01a yet"),
        ("grade ch01a --file missing.cu", "Can't read missing.cu (No such file or directory)"),
        ("grade ch01a --file .", "is no ordinary file"),
        ("grade ch01a --file /dev/zero", "is no ordinary file"),
        ("start ch01z", "There is no exercise 'ch01z': did you mean ch01a_grid_stride, "),
        ("profile ch01_vector_add --case nine", "No single case is meant by 'nine'"),
        ("show ch01_vector_add 5000-6000", "so there are no lines 5000 to 6000"),
        ("new ch1", "is no key"),
    ],
)
def test_a_refusal_is_one_sentence_and_status_1(call, line, says):
    status, out, err = call(line)
    assert (status, out) == (1, "")
    assert says in err and err.count("\n") == 1


def test_what_cannot_be_graded_is_json_too_but_no_grade(call):
    status, out, err = call("grade ch01a --file missing.cu --json -")
    verdict = json.loads(out)
    assert status == 1 and "missing.cu" in err
    assert (verdict["kind"], verdict["score"], verdict["max_score"] > 0) == ("infrastructure", 0, True)


def test_hints_come_one_at_a_time_then_all(call):
    first, second, third = (call("hint ch01a")[1] for _ in range(3))
    assert first.startswith("hint 1 of 2: ") and second.startswith("hint 2 of 2: ")
    assert third.startswith("All the hints again:")
    assert first[13:].strip() in third and second[13:].strip() in third
    assert call("hint ch01b")[1].startswith("hint 1 of 2: ")


def test_reset_keeps_the_answer(call, work):
    call("start ch01a")
    assert "is the skeleton already" in call("reset ch01a")[1]
    path = work / f"{KEY}.cu"
    for text in ("mine 1", "mine 2"):
        path.write_text(text)
        status, out, _ = call("reset ch01a")
        assert status == 0 and "your answer is kept in" in out
        assert path.read_text() == SKELETON
    assert sorted(backup.read_text() for backup in (work / "backups").iterdir()) == ["mine 1", "mine 2"]


@pytest.mark.parametrize("line", ["start ch01a", "reset ch01a"])
def test_a_folder_without_permission_is_one_sentence(call, monkeypatch, tmp_path, line):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LANEWISE_WORK", str(tmp_path / "file" / "work"))
    status, out, err = call(line)
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert "Can't write" in err or "no answer" in err


def test_a_verdict_that_cannot_be_noted_is_printed_all_the_same(call, work):
    call("start ch01a")
    (work / "attempts.jsonl").mkdir()
    status, out, err = call("grade ch01a")
    assert status == 0 and out.startswith(f"{KEY}: ")
    assert err.startswith("The verdict wasn't noted. Can't write ") and err.count("\n") == 1


def test_a_damaged_ledger_loses_only_the_damaged_lines(call, work):
    ledger = Ledger(COURSE)
    ledger.attempt(KEY, b"text", 1, 1, None)
    with ledger.path.open("ab") as file:
        file.write(b'{"event": "attempt", "key": \xff\n[]\n{"event": "attempt"}\n')
    ledger.attempt(COURSE.exercise("ch01b"), b"text", 0, 1, "race")
    assert ledger.solved() == {str(KEY)}
    assert ledger.attempts() == {str(KEY): 1, "ch01b_saxpy": 1}
    entry = json.loads(ledger.path.read_text(errors="replace").splitlines()[0])
    assert entry["sha256"] == "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"
    assert datetime.fromisoformat(entry["time"]).tzinfo is not None


def test_profile_prints_findings_counters_and_lines(call, tmp_path):
    status, out, _ = call("profile ch01_vector_add")
    assert status == 0
    assert "global_load_sectors" in out or "sectors" in out
    assert "c[i] = a[i] + b[i]" in out
    (tmp_path / "mine.cu").write_text(SKELETON)
    assert "unwritten-output" in call("profile ch01a --file mine.cu")[1]


def test_profile_of_a_text_that_does_not_compile_is_the_compilers_sentence(call, tmp_path):
    (tmp_path / "mine.cu").write_text(SOLUTION.replace("gridDim", "gridDimm"))
    status, out, err = call("profile ch01a --file mine.cu")
    assert (status, out) == (1, "") and "gridDimm" in err


def test_show_numbers_the_lines(call):
    text = COURSE.kernel(COURSE.any_kernel("ch01_vector_add")).read_text().splitlines()
    assert call("show ch01_vector_add")[1].splitlines()[0] == f"   1  {text[0]}"
    assert call("show ch01_vector_add 2-3")[1] == f"   2  {text[1]}\n   3  {text[2]}\n"


def test_watch_grades_at_every_save(call, work, capsys):
    from lanewise.watch import watch

    call("start ch01a")
    path = work / f"{KEY}.cu"
    saves = iter([SOLUTION, None, None])

    def pause(seconds):
        text = next(saves)
        if text:
            path.write_text(text)

    assert watch(COURSE, KEY, pause, rounds=3) == 0
    out = capsys.readouterr().out
    assert out.count(f"{KEY}: ") == 2 and out.count("solved.") == 1


def test_ctrl_c_ends_watch_cleanly(call, work, capsys):
    from lanewise.watch import watch

    call("start ch01a")

    def pause(seconds):
        raise KeyboardInterrupt

    assert watch(COURSE, KEY, pause) == 0
    assert capsys.readouterr().out.endswith("\nStopped watching.\n")


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
def test_ctrl_c_in_the_middle_of_a_launch_is_one_line_and_leaves_nothing(tmp_path, work):
    (tmp_path / "endless.cu").write_text(ENDLESS)
    child = process("grade ch01a --file endless.cu")
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children")  # Linux; elsewhere the worker's end isn't looked at
    deadline = time.monotonic() + 20
    while children.exists() and not children.read_text().strip() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.5)
    worker = children.read_text().split() if children.exists() else []
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert (child.returncode, out, err) == (130, "", "\nStopped; nothing was lost.\n")
    assert not any(os.path.exists(f"/proc/{number}") for number in worker)


def test_an_ascii_terminal_gets_no_traceback(work):
    environment = {**os.environ, "PYTHONPATH": str(COURSE.root), "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-m", "lanewise", "list"], env=environment, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_reader_that_leaves_early_is_no_error(work):
    child = process("show ch12_flash_forward")
    child.stdout.close()
    assert child.wait(timeout=60) == 0
    assert "Traceback" not in child.stderr.read()
    child.stderr.close()


def test_grading_starts_without_heavy_imports():
    program = "import sys; from lanewise.commands import grade; print(sorted({'numpy', 'IPython', 'jupytext', 'lanewise.simt'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(COURSE.root)}, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n"


@pytest.fixture
def other_course(monkeypatch, tmp_path):
    """An empty course in which authors' commands may write."""
    course = Course(tmp_path)
    for folder in ("chapters", "kernels", "solutions"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr("lanewise.commands.author.find_course", lambda: course)
    return course


def test_new_build_and_check_go_together(call, other_course):
    status, out, _ = call("new ch05b_block_max")
    assert status == 0 and "wrote kernels/ch05b_block_max.cu\n" in out and "`lanewise check`" in out
    assert call("check --skeletons") == (0, "skeletons, descriptions and notebooks are as their sources say.\n", "")
    assert call("build --skeletons") == (0, "everything is as its source says.\n", "")
    skeleton = other_course.kernels_dir / "ch05b_block_max.cu"
    skeleton.write_text("edited by hand\n")
    (other_course.root / "tests/wrong/ch05b_block_max.py").unlink()
    status, out, err = call("check --skeletons")
    assert (status, out) == (1, "")
    assert err.splitlines() == [
        "kernels/ch05b_block_max.cu isn't what solutions/ch05b_block_max.cu gives: change the solution, then run `lanewise build`.",
        "tests/wrong/ch05b_block_max.py is missing: name the wrong variants and their verdicts there.",
    ]
    assert call("build --skeletons")[1] == "wrote kernels/ch05b_block_max.cu\n"


def test_a_solution_with_a_bad_marker_is_one_sentence(call, other_course):
    call("new ch05b_block_max")
    solution = other_course.solutions_dir / "ch05b_block_max.cu"
    solution.write_text(solution.read_text().replace("//@end", "//@ende"))
    status, out, err = call("build --skeletons")
    assert (status, out) == (1, "") and err.count("\n") == 1
    assert err.startswith("solutions/ch05b_block_max.cu, line ") and "unknown marker //@ende" in err


def test_misuse_is_status_2_and_help_names_every_command(capsys):
    for line in ([], ["nonsense"], ["grade"]):
        with pytest.raises(SystemExit) as caught:
            main(line)
        assert caught.value.code == 2
    capsys.readouterr()
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    out = capsys.readouterr().out
    assert caught.value.code == 0
    for command in ("lab", "tour", "list", "start", "grade", "hint", "reset", "watch", "profile", "doctor", "new", "build", "check", "bench", "show"):
        assert f"\n    {command} " in out
