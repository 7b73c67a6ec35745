"""A class on a real dask scheduler with real workers, all on loopback: what becomes of each submission."""

import json
import os
import time
import zipfile
from dataclasses import replace

import psutil
import pytest
from stand_in_class import Class, running_scheduler, totals

from lanewise.grading import batch, pump
from lanewise.grading.batch import grade_class
from lanewise.grading.ledger import ClassLedger
from lanewise.names import CourseError


@pytest.fixture(scope="module")
def scheduler():
    with running_scheduler() as (address, _):
        yield address


def test_a_class_is_graded_once_and_then_only_what_changed(tmp_path, scheduler):
    a_class = Class(tmp_path, {"ann": "right", "bob": "wrong", "Jörg Ærø": "right"})
    (a_class.folder / "nothing").mkdir()
    heard = []
    first = a_class.grade(scheduler=scheduler, progress=lambda *state: heard.append(state))
    assert first.gaps == [] and a_class.graded == 4 and heard[-1] == (4, 4, 0)
    scores = {student: [verdict["score"] for verdict in result["verdicts"]] for student, result in first.results.items()}
    assert scores == {"ann": [4, 2], "bob": [0, 0], "Jörg Ærø": [4, 2], "nothing": [0, 0]}
    assert totals(a_class.grade(scheduler=scheduler)) == totals(first) and a_class.graded == 4
    a_class.hand_in("bob", "right")
    third = a_class.grade(scheduler=scheduler)
    assert third.redone == ["bob"] and a_class.graded == 5 and third.results["bob"]["verdicts"][0]["score"] == 4
    assert len(ClassLedger(a_class.out).attempts()) == 5


@pytest.mark.parametrize(
    "word, says",
    [
        ("crash", "The grader ended with status -11."),
        ("babble", "The grader left no result."),
        ("deep", "The grader left no result."),
        ("silent", "The grader left no result."),
        ("broken", "The grader ended with status 1: The course is broken."),
        ("forged", "ch01a_x has 0 of 100 points, where 4 is the most."),
    ],
)
def test_what_the_grader_cant_answer_is_a_gap_and_never_a_0(tmp_path, scheduler, word, says):
    outcome = Class(tmp_path, {"ann": "right", "bob": word}).grade(scheduler=scheduler)
    assert sorted(outcome.results) == ["ann"]
    (gap,) = outcome.gaps
    assert gap.student == "bob" and says in gap.why


def test_a_grader_that_hangs_is_stopped(tmp_path, scheduler, monkeypatch):
    monkeypatch.setattr(batch, "SECONDS_A_SUBMISSION", 0.0)
    monkeypatch.setattr(batch, "SECONDS_AN_EXERCISE", 0.2)
    (gap,) = Class(tmp_path, {"bob": "slow"}).grade(scheduler=scheduler).gaps
    assert "The grader was stopped after 0.4 seconds" in gap.why


def test_an_infrastructure_verdict_is_redone_and_its_status_is_its_own(tmp_path, scheduler):
    a_class = Class(tmp_path, {"ann": "right", "bob": "down"})
    first = a_class.grade(scheduler=scheduler)
    assert [(gap.student, gap.key) for gap in first.gaps] == [("bob", "ch01a_x"), ("bob", "ch01b_y")]
    a_class.grader.with_name("graded").write_text("xxx")  # the trouble is over
    second = a_class.grade(scheduler=scheduler)
    assert second.redone == ["bob"] and second.gaps == [] and second.results["bob"]["verdicts"][0]["score"] == 4


def test_an_archive_that_cant_be_read_is_a_gap_and_the_others_are_graded(tmp_path, scheduler):
    a_class = Class(tmp_path, {"ann": "right"})
    (a_class.folder / "bob.zip").write_bytes(b"no zip")
    outcome = a_class.grade(scheduler=scheduler)
    assert list(outcome.results) == ["ann"] and a_class.graded == 1
    assert "bob.zip can't be read (File is not a zip file)" in outcome.gaps[0].why


def test_an_archive_that_cant_be_read_is_no_empty_one(tmp_path, scheduler):
    a_class = Class(tmp_path, {"ann": "right"})
    with zipfile.ZipFile(a_class.folder / "bob.zip", "w"):
        pass
    assert a_class.grade(scheduler=scheduler).results["bob"]["score"] == 0
    (a_class.folder / "bob.zip").write_bytes(b"no zip")
    outcome = a_class.grade(scheduler=scheduler)
    assert list(outcome.results) == ["ann"] and [gap.student for gap in outcome.gaps] == ["bob"]


def test_what_was_left_out_is_in_the_result(tmp_path, scheduler):
    a_class = Class(tmp_path, {"ann": "right"})
    (a_class.folder / "ann" / "ch02a.cu").symlink_to("ch01a.cu")
    assert a_class.grade(scheduler=scheduler).results["ann"]["notes"] == ["ch02a.cu is a link and was left out."]


def test_a_text_that_changes_under_way_is_not_graded_as_the_old_one(tmp_path, scheduler, monkeypatch):
    a_class = Class(tmp_path, {"ann": "right"})
    monkeypatch.setattr(batch, "_task", None)  # nothing may be sent
    stock = batch._take_stock
    monkeypatch.setattr(batch, "_take_stock", lambda *given: [stock(*given), a_class.hand_in("ann", "wrong")][0])
    (gap,) = a_class.grade(scheduler=scheduler).gaps
    assert "changed while the class was graded" in gap.why


def test_the_clock_decides_nothing(tmp_path, scheduler, monkeypatch):
    a_class = Class(tmp_path, {"ann": "right", "bob": "wrong"})
    first = a_class.grade(scheduler=scheduler)
    for path in sorted(a_class.folder.rglob("*")):
        os.utime(path, (4e9, 4e9))
    for path in sorted(a_class.out.rglob("*")):
        os.utime(path, (0, 0))
    monkeypatch.setattr(time, "time", lambda: 1.0)
    again = a_class.grade(scheduler=scheduler)
    assert again.redone == [] and totals(again) == totals(first)


def test_a_full_disk_stops_the_class_and_the_rest_goes_on_later(tmp_path, scheduler, monkeypatch):
    a_class = Class(tmp_path, {f"s{n}": "right" for n in range(6)})
    kept = []

    def keep(self, *given, whole=ClassLedger.keep):
        if len(kept) == 2:
            raise CourseError("Can't write verdicts (No space left on device): make room.")
        kept.append(given[0])
        whole(self, *given)

    monkeypatch.setattr(ClassLedger, "keep", keep)
    with pytest.raises(CourseError, match="No space left"):
        a_class.grade(scheduler=scheduler)
    monkeypatch.undo()
    outcome = a_class.grade(scheduler=scheduler)
    assert sorted(outcome.redone) == sorted({f"s{n}" for n in range(6)} - set(kept)) and outcome.gaps == []


def test_two_drivers_at_once_are_one(tmp_path):
    a_class = Class(tmp_path, {"ann": "right"})
    with ClassLedger(a_class.out).locked(), pytest.raises(CourseError, match="Another grade-class is writing to"):
        a_class.grade(workers=1)
    assert a_class.graded == 0


def test_results_among_the_submissions_are_refused(tmp_path):
    a_class = Class(tmp_path, {"ann": "right"})
    a_class.out = a_class.folder / "results"
    with pytest.raises(CourseError, match="would be taken for a student: give an --out elsewhere"):
        a_class.grade(workers=1)


def test_another_assignment_is_other_work(tmp_path, scheduler):
    a_class = Class(tmp_path, {"ann": "right"})
    a_class.grade(scheduler=scheduler)
    for changed in (replace(a_class.work, files={"w.toml": "x = 1", "w.seed": "1"}), replace(a_class.work, files={"w.toml": "x = 1", "w.seed": "2"})):
        assert grade_class(a_class.folder, a_class.out, changed, scheduler=scheduler).redone == ["ann"]
    assert len({entry["work"] for entry in ClassLedger(a_class.out).attempts()}) == 3


def test_no_scheduler_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(pump, "CONNECT", "300ms")
    with pytest.raises(CourseError, match="No dask scheduler answers at tcp://127.0.0.1:9 .*: start one with `dask scheduler`"):
        Class(tmp_path, {"ann": "right"}).grade(scheduler="tcp://127.0.0.1:9")


def test_a_heavy_notebook_travels_without_its_outputs():
    cell = {"cell_type": "code", "source": ["%%solve ch01a\n", "text"], "outputs": [{"data": "x" * 3_000_000}]}
    light = batch._light("a.ipynb", json.dumps({"nbformat": 4, "cells": [cell]}).encode())
    assert json.loads(light) == {"nbformat": 4, "cells": [cell | {"outputs": []}]}
    assert batch._light("a.ipynb", b"[" * 3_000_000) == b"[" * (1 << 20)
    assert batch._light("a.cu", b"x" * 3_000_000) == b"x" * 3_000_000


@pytest.mark.slow
def test_memory_is_flat(tmp_path, scheduler):
    held = {}
    a_class = Class(tmp_path, {f"s{n:03d}": "right" for n in range(100)})
    a_class.grade(scheduler=scheduler, progress=lambda done, total, failed: held.update({done: psutil.Process().memory_info().rss}))
    assert held[100] - held[20] < 10 << 20
