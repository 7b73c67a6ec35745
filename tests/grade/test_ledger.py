"""Results on disk: whole or not at all, once and for good, and nothing expected is missed."""

import errno
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lanewise.grading import ledger as ledgers
from lanewise.grading.expected import Expected, NotAResult, checked
from lanewise.grading.ledger import ClassLedger, Plan, work_hash, write_durably
from lanewise.names import CourseError

ROOT = Path(__file__).resolve().parents[2]
EXERCISES = {"ch01a_x": Expected(2, "1-aa"), "ch01b_y": Expected(1, "1-bb")}


def verdict(of="ch01a_x", **changes):
    most, testset = EXERCISES[of].points, EXERCISES[of].testset
    return {"key": of, "score": most, "max_score": most, "kind": None, "message": "", "line": None, "cases": [], "counters": {}, "testset": testset} | changes


def result(head=(), **changes):
    verdicts = [verdict("ch01a_x", **changes), verdict("ch01b_y")]
    score = sum(one["score"] for one in verdicts if isinstance(one["score"], int))
    whole = {"assignment": "Week 5", "submission": "ann", "submitted": None, "late": None, "status": "graded", "visibility": "visible", "notes": []}
    return whole | {"score": score, "max_score": 3, "verdicts": verdicts} | dict(head)


@pytest.fixture
def ledger(tmp_path):
    ledger = ClassLedger(tmp_path / "results")
    with ledger.locked():
        yield ledger


def test_a_result_comes_back_for_its_own_work_alone(ledger):
    ledger.keep("ann", "w1", result(), 1.5)
    assert ledger.result("ann", "w1", EXERCISES) == result()
    assert ledger.result("ann", "w2", EXERCISES) is None and ledger.result("bob", "w1", EXERCISES) is None
    assert ledger.result("ann", "w1", EXERCISES | {"ch01a_x": Expected(2, "2-aa")}) is None
    assert ledger.is_graded("ann", "w1", EXERCISES) and not ledger.is_graded("ann", "w2", EXERCISES)


def test_every_attempt_stays(ledger):
    ledger.attempt("ann", "w1", "infrastructure", why="no power")
    ledger.keep("ann", "w1", result(), 1.5)
    ledger.keep("ann", "w2", result(kind="race", message="r", score=0), 1.5)
    attempts = ledger.attempts()
    assert [(entry["work"], entry["status"]) for entry in attempts] == [("w1", "infrastructure"), ("w1", "graded"), ("w2", "graded")]
    assert attempts[2]["kinds"] == {"ch01a_x": "race", "ch01b_y": None} and attempts[0]["time"].endswith("+00:00")


def test_a_line_that_was_cut_off_costs_that_line_alone(ledger):
    ledger.attempt("ann", "w1", "graded")
    with ledger.attempts_path.open("ab") as file:
        file.write(b'{"student": "bob", "wor')
    ledger.attempt("cid", "w3", "graded")
    assert [entry["student"] for entry in ledger.attempts()] == ["ann", "cid"]


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"null", b"[]", b'{"student": "ann", "work": "w1"}', b"\xff\xfe", b'{"student": "ann", "work": "w1", "result": []}']
)
def test_a_damaged_verdict_is_a_missing_one(ledger, damage):
    ledger.keep("ann", "w1", result(), 1.5)
    ledger.verdict_path("ann").write_bytes(damage)
    assert not ledger.is_graded("ann", "w1", EXERCISES)


def test_names_that_look_alike_have_files_of_their_own(ledger):
    names = ["ann", "Ann", "ann/../bob", "Jörg", "Jorg", "\ud800", "x" * 250, "x" * 251, "..", "CON", "a\nb", "=1+1"]
    paths = {ledger.verdict_path(name) for name in names}
    assert len({str(path).casefold() for path in paths}) == len(names)
    assert all(path.parent == ledger.folder / "verdicts" and path.name.isascii() and len(path.name) < 90 for path in paths)


def test_reconciliation_names_each_expected_verdict_once(ledger):
    plan = Plan("Week 5", EXERCISES, {"ann": "w1", "bob": "w2", "cid": "w3", "dan": "w4"})
    ledger.plan(plan)
    ledger.keep("ann", "w1", result(), 1.0)
    ledger.keep("bob", "w2", result(kind="infrastructure", message="The clock.", score=0), 1.0)
    ledger.attempt("cid", "w3", "infrastructure", why="The worker failed.")
    assert ledger.read_plan() == plan
    results, gaps = ledger.reconcile(plan)
    assert sorted(results) == ["ann", "bob"]
    assert [str(gap) for gap in gaps] == ["bob, ch01a_x: The clock.", "cid: The worker failed.", "dan: not graded yet."]


@pytest.mark.parametrize(
    "change, says",
    [
        ({"score": True}, "has no score"),
        ({"score": "2"}, "has no score"),
        ({"score": float("nan")}, "has no score"),
        ({"score": 3}, "has 3 of 2 points"),
        ({"score": -1}, "has -1 of 2 points"),
        ({"max_score": 100, "score": 100}, "has 100 of 100 points, where 2 is the most"),
        ({"score": 1}, "is passed with 1 of 2"),
        ({"kind": "infrastructure"}, "is infrastructure with 2 of 2"),
        ({"kind": ""}, "has no kind"),
        ({"kind": 5}, "has no kind"),
        ({"message": None}, "no message"),
        ({"testset": "2-aa"}, "graded with other tests"),
        ({"key": "ch09z_q"}, "ch09z_q is no exercise of the assignment"),
        ({"key": "ch01b_y", "max_score": 1, "score": 1, "testset": "1-bb"}, "ch01b_y is there twice"),
        ({"key": None}, "has no key"),
        ({"line": "7"}, "has no counters or no line"),
        ({"counters": {"case": {"flops": float("inf")}}}, "it can't be written as JSON"),
        ({"head": {"notes": [1]}}, "its notes are no sentences"),
        ({"counters": []}, "has no counters or no line"),
        ({"cases": None}, "has no list of cases"),
        ({"cases": [{"name": "n", "passed": 1, "visible": True}]}, "has no list of cases"),
        ({"head": {"score": 2}}, "its score isn't the sum"),
        ({"head": {"max_score": 4}}, "its max_score isn't the sum"),
        ({"head": {"score": "3"}}, "its score is missing or no int"),
        ({"head": {"notes": None}}, "its notes is missing or no list"),
        ({"head": {"submission": 5}}, "its submission is missing or no str"),
    ],
)
def test_what_is_no_result_is_refused(change, says):
    with pytest.raises(NotAResult, match=says):
        checked(result(**change), EXERCISES)


@pytest.mark.parametrize("whole", [None, [], "x", {}, {"verdicts": {}}, {"verdicts": []}, {"verdicts": [None]}, {"verdicts": [verdict()]}])
def test_a_result_with_holes_is_refused(whole):
    with pytest.raises(NotAResult):
        checked(whole, EXERCISES)


def test_a_verdict_without_a_line_is_refused():
    whole = result()
    del whole["verdicts"][0]["line"]
    with pytest.raises(NotAResult, match="has no counters or no line"):
        checked(whole, EXERCISES)


def test_the_hash_of_the_work_tells_what_was_graded():
    one = work_hash({"a.cu": b"x", "b.cu": b"y"}, "set", "seed")
    assert one == work_hash({"b.cu": b"y", "a.cu": b"x"}, "set", "seed")
    others = [
        ({"a.cu": b"x"}, "set", "seed"),
        ({"a.cu": b"y", "b.cu": b"x"}, "set", "seed"),
        ({"a.cu": b"x", "b.cu": b"y"}, "set", "other"),
        ({}, "set", "seed"),
    ]
    assert len({one, *(work_hash(*other) for other in others)}) == 5


# -- the disk ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error, call", [(errno.ENOSPC, "fsync"), (errno.EDQUOT, "fsync"), (errno.EROFS, "open"), (errno.EACCES, "open"), (errno.EIO, "fsync")])
def test_a_disk_that_takes_nothing_keeps_what_was_there_and_is_said(ledger, monkeypatch, error, call):
    ledger.keep("ann", "w1", result(), 1.0)

    def refuse(*given, **more):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(ledgers.os, call, refuse)
    with pytest.raises(CourseError, match=f"Can't write .*{os.strerror(error)}.*: make room .*no verdict is lost"):
        write_durably(ledger.verdict_path("ann"), "new")
    with pytest.raises(CourseError, match=os.strerror(error)):
        ledger.attempt("bob", "w2", "graded")
    monkeypatch.undo()
    assert ledger.result("ann", "w1", EXERCISES) == result()
    assert [path.name for path in (ledger.folder / "verdicts").iterdir()] == [ledger.verdict_path("ann").name]


def test_a_file_that_may_not_grow_is_never_half_a_verdict(ledger):
    ledger.keep("ann", "w1", result(), 1.0)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
        with pytest.raises(CourseError, match="Can't write"):
            write_durably(ledger.verdict_path("ann"), "x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert ledger.result("ann", "w1", EXERCISES) == result()


def test_a_folder_that_cant_be_written_is_one_sentence(tmp_path):
    (tmp_path / "results").write_text("a file")
    with pytest.raises(CourseError, match="Can't write .*results.*: make room or give yourself write permission"), ClassLedger(tmp_path / "results").locked():
        pass


def test_leftovers_of_a_killed_driver_are_tidied_away(ledger):
    ledger.keep("ann", "w1", result(), 1.0)
    (ledger.folder / "verdicts" / ".abc.part").write_text("{")
    ledger.tidy()
    assert len(list((ledger.folder / "verdicts").iterdir())) == 1


# -- two drivers ---------------------------------------------------------------------------------------------------------


def _try_to_lock(folder, answers):
    try:
        with ClassLedger(folder).locked():
            answers.put("held")
    except CourseError as error:
        answers.put(str(error))


def _ask(folder):
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    child = context.Process(target=_try_to_lock, args=(folder, answers))
    child.start()
    child.join()
    return answers.get()


def test_a_second_driver_is_refused_until_the_first_has_ended(tmp_path):
    with ClassLedger(tmp_path).locked():
        assert _ask(tmp_path) == f"Another grade-class is writing to {tmp_path}: wait until it has ended, or give another --out."
    assert _ask(tmp_path) == "held"


def test_a_killed_driver_holds_nothing(tmp_path):
    lock = f"from pathlib import Path; from lanewise.grading.ledger import ClassLedger\nwith ClassLedger(Path({str(tmp_path)!r})).locked():"
    program = f"{lock} print(1, flush=True); import time; time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"1\n"
        assert _ask(tmp_path).startswith("Another grade-class")
        child.kill()
    assert _ask(tmp_path) == "held"


def test_results_that_are_none_are_said_so(tmp_path):
    (tmp_path / "class.json").write_text(json.dumps({"assignment": "x"}))
    with pytest.raises(CourseError, match="holds no results of a class"):
        ClassLedger(tmp_path).read_plan()
