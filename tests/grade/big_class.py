"""A large class graded by `lanewise grade-class` with two workers: `python tests/grade/big_class.py --students 300 --exercises 6`.

The submissions are solutions, wrong variants, skeletons, hostile texts and missing files, drawn from a seed; what each must earn is known beforehand and
compared with results.json. Prints JSON: wall clock, core-seconds a verdict, the most memory of driver and workers (and with the
graders they started), and every total that is otherwise than it must be. Exit status 1 if there is one, or a gap.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from class_with_deaths import family, memory
from core_seconds import metered
from stand_in_class import ROOT

from lanewise.derive import solution_text
from lanewise.exercise import Exercise, load_exercise, load_wrong
from lanewise.names import Course, Key, find_course

POINTS = 4
ONE_OF_EACH = ("ch01a", "ch04a", "ch05b", "ch07b", "ch09b", "ch12d", "ch13c", "ch02c", "ch06d", "ch08a", "ch10b", "ch15c", "ch16c", "ch14d")
KINDS = ("solution", "solution", "solution", "wrong", "wrong", "skeleton", "hostile", "missing")
HOSTILE = (
    "while (true) ;",
    'for (int k = 0; k < 100000; ++k) printf("%d aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", k);',
    "*(float*)0x7f0000000000ull = 1;",
    '#include "/etc/passwd"\n',
    "__shared__ float s[1 << 26]; s[0] = 1;",
    "__trap();",
    "}\n\\x1b[31m</testcase> =cmd|\n{",
    "if (threadIdx.x < 16) __syncthreads();",
)


@dataclass(frozen=True)
class Answer:
    """A text (None: missing), and the score it must get."""

    text: bytes | None
    score: float


def answer(kind: str, key: Key, exercise: Exercise, course: Course, draw: random.Random, student: str) -> Answer:
    solution = course.solution(key).read_text(encoding="utf-8")
    if kind == "solution":
        return Answer(f"// {student}\n{solution_text(solution)}".encode(), POINTS)
    if kind == "skeleton":
        return Answer(course.kernel(key).read_bytes(), 0)
    if kind == "wrong":
        variant = draw.choice(load_wrong(key, course))
        return Answer(variant.apply(solution).encode(), POINTS * (1 - exercise.budget_share) if variant.kind == "over-budget" else 0)
    if kind == "hostile":
        start = solution_text(solution).index("{", solution_text(solution).index("__global__")) + 1
        return Answer(f"{solution_text(solution)[:start]}\n{draw.choice(HOSTILE)}\n}}\n".encode(), 0)
    return Answer(None, 0)


def hand_in(folder: Path, students: int, words: tuple[str, ...], seed: int) -> dict[str, dict[str, float]]:
    """Write the class; returns student → exercise → the score that it must get."""
    course, draw = find_course(), random.Random(seed)
    (folder / "week.seed").write_text("a secret of a large class, long enough", encoding="utf-8")
    listed = "".join(f"{word} = {POINTS}\n" for word in words)
    (folder / "week.toml").write_text(f'name = "Large"\nhidden = true\nseed_file = "week.seed"\n[exercises]\n{listed}', encoding="utf-8")
    exercises = {key: load_exercise(key, course) for key in map(course.exercise, words)}
    wanted: dict[str, dict[str, float]] = {}
    for number in range(students):
        student = f"student{number:03d}"
        (folder / "class" / student).mkdir(parents=True)
        wanted[student] = {}
        for key, exercise in exercises.items():
            given = answer(draw.choice(KINDS), key, exercise, course, draw, student)
            wanted[student][str(key)] = given.score
            if given.text is not None:
                (folder / "class" / student / f"{key}.cu").write_bytes(given.text)
    return wanted


def grade(folder: Path, workers: int) -> dict[str, Any]:
    """Run the command; what it took."""
    command = ["grade-class", str(folder / "class"), "--out", str(folder / "results"), "--assignment", str(folder / "week.toml"), "--workers", str(workers)]
    began, most, with_graders = time.monotonic(), 0, 0
    with (
        metered() as meter,
        subprocess.Popen(
            [sys.executable, "-m", "lanewise", *command], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=meter.enter
        ) as driver,
    ):
        while driver.poll() is None:
            everyone = family(psutil.Process(driver.pid))
            standing = [process for process in everyone if not _grades(process)]
            most, with_graders = max(most, memory(standing)), max(with_graders, memory(everyone))
            time.sleep(0.5)
        seconds, used = time.monotonic() - began, meter.seconds()
    return {
        "exit status": driver.returncode, "wall seconds": round(seconds), "core-seconds": round(used, 1), "core-seconds of": meter.of,
        "most MB of driver and workers": most >> 20, "most MB with their graders": with_graders >> 20,
    }  # fmt: skip


def _grades(process: psutil.Process) -> bool:
    """Whether a process grades a submission, rather than being driver, scheduler or worker."""
    try:
        words = " ".join(process.cmdline())
    except psutil.Error:
        return True
    return "grade-submission" in words or "lanewise.grading.worker" in words


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--exercises", type=int, default=6)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    words = ONE_OF_EACH[: args.exercises]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wanted = hand_in(folder, args.students, words, args.seed)
        took = grade(folder, args.workers)
        whole = json.loads((folder / "results" / "results.json").read_text(encoding="utf-8"))
        got = {one["student"]: {key: exercise["score"] for key, exercise in one["exercises"].items()} for one in whole["students"]}
        otherwise = [
            f"{student}, {key}: {got.get(student, {}).get(key)} instead of {score}"
            for student, scores in wanted.items() for key, score in scores.items() if got.get(student, {}).get(key) != score
        ]  # fmt: skip
    verdicts = args.students * len(words)
    said = {
        "students": args.students, "exercises": words, "verdicts": verdicts, "cores": os.cpu_count(), **took,
        "core-seconds a verdict": round(took["core-seconds"] / verdicts, 2), "gaps": whole["gaps"], "other than expected": otherwise,
    }  # fmt: skip
    print(json.dumps(said, indent=1))
    return 1 if otherwise or whole["gaps"] or took["exit status"] else 0


if __name__ == "__main__":
    sys.exit(main())
