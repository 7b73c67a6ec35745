"""A class whose grader is a stand-in that answers from the first word of a text, and a dask scheduler with workers as processes of their own."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from lanewise.grading.batch import Work, grade_class
from lanewise.grading.expected import Expected

ROOT = Path(__file__).resolve().parents[2]
EXERCISES = {"ch01a_x": Expected(4, "1-aa"), "ch01b_y": Expected(2, "1-bb")}
GRADER = """\
import hashlib, json, os, signal, sys, time
from pathlib import Path
folder, out = Path(sys.argv[1]), Path(sys.argv[sys.argv.index("--out") + 1])
seen = Path(sys.argv[0]).with_name("graded")
with seen.open("a") as file:
    file.write("x")
verdicts = []
for key, most, testset in (("ch01a_x", 4, "1-aa"), ("ch01b_y", 2, "1-bb")):
    path = folder / f"{key[:5]}.cu"
    text = path.read_text() if path.exists() else ""
    word = text.split()[1] if text else "missing"
    if word == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if word == "killworker":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(5)
    if word == "babble":
        out.write_text("100 points!")
        sys.exit()
    if word == "deep":
        out.write_text("[" * 200_000)
        sys.exit()
    if word == "silent":
        sys.exit()
    if word == "broken":
        sys.exit("The course is broken.")
    if word == "forged":
        most = 100
    if word == "slow":
        time.sleep(30)
    time.sleep(float(os.environ.get("PACE", "0")))
    kind = {"right": None, "down": "infrastructure"}.get(word, "wrong-values")
    if word == "down" and seen.stat().st_size > 3:
        kind = None
    verdicts.append(dict(key=key, score=0 if kind else most, max_score=most, kind=kind, message=word if kind else "", testset=testset,
                         line=None, cases=[], counters={}, source_sha256=hashlib.sha256(text.encode()).hexdigest()))
score, most = (sum(verdict[name] for verdict in verdicts) for name in ("score", "max_score"))
out.write_text(json.dumps(dict(assignment="Week 5", submission="x", submitted=None, late=None, status="graded", visibility="visible", notes=[], score=score,
                               max_score=most, verdicts=verdicts)))
"""


class Class:
    """A class in a folder, and a way to grade it."""

    def __init__(self, folder, words):
        self.folder, self.out = folder / "class", folder / "results"
        self.grader = folder / "grader.py"
        self.grader.write_text(GRADER)
        for student, word in words.items():
            self.hand_in(student, word)

    def hand_in(self, student, word):
        place = self.folder / student
        place.mkdir(parents=True, exist_ok=True)
        for name in ("ch01a.cu", "ch01b.cu"):
            (place / name).write_text(f"// {word} {student} {name}\n")

    @property
    def work(self):
        return Work("Week 5", EXERCISES, grader=(sys.executable, str(self.grader)))

    def grade(self, **options):
        return grade_class(self.folder, self.out, self.work, **options)

    @property
    def graded(self):
        """How many submissions the grader was called for."""
        seen = self.grader.with_name("graded")
        return seen.stat().st_size if seen.exists() else 0


def totals(outcome):
    return {
        student: {verdict["key"]: (verdict["score"], verdict["kind"], verdict["source_sha256"]) for verdict in result["verdicts"]}
        for student, result in outcome.results.items()
    }


@contextlib.contextmanager
def running_scheduler(workers=2, nanny=True, **environment):
    """A scheduler and workers as processes of their own; yields (address, the processes)."""
    with contextlib.ExitStack() as stack:
        started, quiet = [], ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")  # its port is opened all the same

        def start(*words):
            process = subprocess.Popen(
                [sys.executable, "-m", "distributed.cli." + words[0], *words[1:]],
                cwd=ROOT, env=os.environ | environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
            )  # fmt: skip
            stack.callback(end, process)
            started.append(process)
            return process

        first = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0", *quiet)
        address = next(line.split()[-1] for line in first.stderr if "Scheduler at:" in line)
        for _ in range(workers):
            start("dask_worker", address, "--host", "127.0.0.1", "--nthreads", "1", *quiet, "--nanny" if nanny else "--no-nanny", "--memory-limit", "0")
        yield address, started


def end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stderr.close()
