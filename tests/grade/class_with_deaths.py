"""A class graded with the real grader while driver, workers and scheduler are killed at random moments, against an undisturbed run of the same class.

    python tests/grade/class_with_deaths.py [--submissions 60] [--kills 10] [--seed 1] [--exercises ch01a,ch05b]

Prints JSON: whether results.csv and results.json are the same bytes, how often a submission was graded, seconds a verdict, and the most memory
that driver, scheduler and workers held together. Ends with status 1 where a total differs or finished work was done again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from stand_in_class import ROOT, running_scheduler

from lanewise.derive import solution_text
from lanewise.grading.ledger import ClassLedger
from lanewise.names import find_course


def hand_in(folder: Path, submissions: int, exercises: list[str]) -> None:
    """Right, unfinished, wrong, broken and missing answers in turn."""
    course = find_course()
    (folder / "week.toml").write_text("[exercises]\n" + "".join(f"{word} = 2\n" for word in exercises), encoding="utf-8")
    for n in range(submissions):
        place = folder / "class" / f"student{n:03d}"
        place.mkdir(parents=True)
        for key in map(course.exercise, exercises):
            right = f"// {n}\n" + solution_text(course.solution(key).read_text(encoding="utf-8"))
            texts = [right, right, course.kernel(key).read_text(encoding="utf-8"), right.replace("+", "-", 1), right.replace(";", "", 1), None]
            if (text := texts[n % len(texts)]) is not None:
                (place / f"{key}.cu").write_text(text, encoding="utf-8")


def start(folder: Path, out: Path, scheduler: str | None) -> subprocess.Popen[bytes]:
    command = ["grade-class", str(folder / "class"), "--out", str(out), "--assignment", str(folder / "week.toml"), "--no-similarity"]
    where = ["--scheduler", scheduler] if scheduler else ["--workers", "2"]
    return subprocess.Popen([sys.executable, "-m", "lanewise", *command, *where], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def family(process: psutil.Process) -> list[psutil.Process]:
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def memory(processes: list[psutil.Process]) -> int:
    """Bytes held by the processes; pages that they share count once altogether, where the system tells (Linux)."""
    total = 0
    for process in processes:
        try:
            info = process.memory_full_info()
            total += getattr(info, "pss", info.uss)
        except psutil.Error:
            continue
    return total


def undisturbed(folder: Path, out: Path) -> tuple[float, int]:
    """(seconds, most bytes of driver, workers and graders together)."""
    began, most = time.monotonic(), 0
    with start(folder, out, None) as driver:
        while driver.poll() is None:
            most = max(most, memory(family(psutil.Process(driver.pid))))
            time.sleep(0.5)
    assert driver.returncode == 0, "the undisturbed class isn't complete"
    return time.monotonic() - began, most


def disturbed(folder: Path, out: Path, kills: int, draw: random.Random, seconds: float) -> list[str]:
    """Kill one of three kinds of process at a random moment, `kills` times, calling the command again whenever it has ended; returns what was killed."""
    killed: list[str] = []
    while True:
        with running_scheduler() as (address, started):
            time.sleep(1.5)
            driver, scheduler_lives = start(folder, out, address), True
            while driver.poll() is None or (len(killed) < kills and driver.returncode not in (0, 2)):
                if driver.poll() is not None:
                    driver = start(folder, out, address)
                if len(killed) >= kills or not scheduler_lives:
                    driver.wait()
                    break
                time.sleep(1.0 + draw.random() * seconds / kills)
                what = draw.choice(["driver", "worker", "scheduler"])
                if driver.poll() is not None:
                    break
                if what == "driver":
                    driver.kill()
                elif what == "scheduler":
                    started[0].kill()
                    scheduler_lives = False
                else:
                    children = [child for parent in started[1:] for child in psutil.Process(parent.pid).children() if "spawn_main" in " ".join(child.cmdline())]
                    if not children:
                        continue
                    draw.choice(children).kill()
                killed.append(what)
                if what == "driver":
                    driver.wait()
            if driver.wait() == 0:
                return killed


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--submissions", type=int, default=60)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--exercises", default="ch01a,ch05b")
    args = parser.parse_args()
    exercises = args.exercises.split(",")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hand_in(folder, args.submissions, exercises)
        seconds, most = undisturbed(folder, folder / "calm")
        killed = disturbed(folder, folder / "stormy", args.kills, random.Random(args.seed), seconds)
        same = all((folder / "calm" / file).read_bytes() == (folder / "stormy" / file).read_bytes() for file in ("results.csv", "results.json"))
        attempts = ClassLedger(folder / "stormy").attempts()
        graded = [entry["student"] for entry in attempts if entry["status"] == "graded"]
        again = len(graded) - len(set(graded))
    verdicts = args.submissions * len(exercises)
    said = {
        "submissions": args.submissions, "exercises": exercises, "killed": killed, "same bytes": same, "finished work done again": again,
        "attempts without a verdict": len(attempts) - len(graded), "core-seconds a verdict": round(seconds * min(2, os.cpu_count() or 1) / verdicts, 2),
        "most MB, undisturbed": most >> 20,
    }  # fmt: skip
    print(json.dumps(said, indent=1))
    return 0 if same and not again else 1


if __name__ == "__main__":
    sys.exit(main())
