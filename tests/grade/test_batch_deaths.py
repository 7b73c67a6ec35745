"""Driver, workers and scheduler are killed at random moments; the same command goes on, and the totals are those of an undisturbed class."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from stand_in_class import ROOT, Class, running_scheduler

from lanewise.grading import pump
from lanewise.grading.ledger import ClassLedger

WORDS = {f"student{n:02d}": "right" if n % 3 else "wrong" for n in range(12)}
DRIVER = """\
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {root!r}]
from stand_in_class import Class
if __name__ == "__main__":
    Class(Path({folder!r}), {{}}).grade(workers=2, scheduler={scheduler!r})
"""


def undisturbed():
    """What the stand-in grader must end with, from the words alone."""
    points = {"right": (4, 2), "wrong": (0, 0)}
    return {student: points[word] for student, word in WORDS.items()}


def scores(outcome):
    return {student: tuple(verdict["score"] for verdict in result["verdicts"]) for student, result in outcome.results.items()}


def driver(folder, scheduler=None):
    program = folder / "driver.py"
    program.write_text(DRIVER.format(tests=str(ROOT / "tests" / "grade"), root=str(ROOT), folder=str(folder), scheduler=scheduler))
    return subprocess.Popen([sys.executable, str(program)], env=os.environ | {"PACE": "0.05"}, stderr=subprocess.DEVNULL)


def wait_for(condition, seconds=30.0):
    """Wait until the condition holds; a moment drawn afterwards is the test's own."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


def finished_once(a_class, outcome):
    """Every verdict is there with the undisturbed totals, and no finished submission was graded again."""
    assert outcome.gaps == [] and scores(outcome) == undisturbed()
    graded = [entry["student"] for entry in ClassLedger(a_class.out).attempts() if entry["status"] == "graded"]
    assert len(graded) == len(set(graded)) + sum(graded.count(student) - 1 for student in outcome.redone)


@pytest.mark.slow
def test_a_killed_driver_costs_only_what_was_in_flight(tmp_path):
    a_class, draw = Class(tmp_path, WORDS), random.Random(1)
    enough, kills = draw.randrange(1, 5), 0
    for _ in range(2):
        before = a_class.graded
        with driver(tmp_path) as process:
            wait_for(lambda before=before: a_class.graded >= before + enough or process.poll() is not None)
            time.sleep(draw.random() * 0.2)
            kills += process.poll() is None
            process.send_signal(signal.SIGKILL)
    outcome = a_class.grade(workers=2)
    finished_once(a_class, outcome)
    assert kills > 0 and a_class.graded <= len(WORDS) + 2 * 2  # two in flight, killed twice


@pytest.mark.slow
def test_killed_workers_are_replaced_and_their_submissions_graded(tmp_path, monkeypatch):
    monkeypatch.setenv("PACE", "0.05")
    with running_scheduler(PACE="0.05") as (address, _):
        a_class, draw = Class(tmp_path, WORDS), random.Random(5)

        def kill_one(done, total, failed):
            if done in (2, 5):
                os.kill(draw.choice(worker_processes(address)), signal.SIGKILL)

        finished_once(a_class, a_class.grade(scheduler=address, progress=kill_one))


def worker_processes(address):
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return list(client.run(os.getpid).values())


@pytest.mark.slow
def test_a_submission_that_kills_its_workers_is_a_gap_and_the_others_are_graded(tmp_path):
    with running_scheduler() as (address, _):
        outcome = Class(tmp_path, {"ann": "right", "bob": "killworker", "cid": "right"}).grade(scheduler=address)
    assert [gap.student for gap in outcome.gaps] == ["bob"] and "The worker failed (KilledWorker" in outcome.gaps[0].why
    assert scores(outcome) == {"ann": (4, 2), "cid": (4, 2)}


@pytest.mark.slow
def test_a_killed_scheduler_is_said_and_the_class_goes_on_with_another(tmp_path):
    a_class = Class(tmp_path, WORDS)
    with running_scheduler(PACE="0.05") as (address, processes):
        first = a_class.grade(scheduler=address, progress=lambda done, total, failed: done == 3 and processes[0].kill())
    assert 3 <= len(first.results) < 12 and "The dask scheduler went away" in first.gaps[0].why
    assert len(first.gaps) == 1 + 12 - len(first.results)
    second = a_class.grade(workers=2)
    assert sorted(second.redone) == sorted(set(WORDS) - set(first.results))
    finished_once(a_class, second)


def test_no_worker_left_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(pump, "SECONDS_WITHOUT_WORKERS", 0.5)
    with running_scheduler(workers=0) as (address, _):
        outcome = Class(tmp_path, {"ann": "right"}).grade(scheduler=address)
    assert [str(gap).partition(":")[0] for gap in outcome.gaps] == ["the class", "ann"] and "No worker is left: start workers" in outcome.gaps[0].why
