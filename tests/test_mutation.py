"""Every barrier of every solution and worked kernel is needed, and the simulator says so when one is missing.

Lockstep hides such faults: the values mostly stay right. So the verdict must be a finding, not wrong values.
"""

import re

import pytest

from lanewise.derive import solution_text
from lanewise.exercise import load
from lanewise.grading.check import check
from lanewise.grading.source import without_comments
from lanewise.names import find_course
from lanewise.simt.finding import ERRORS

COURSE = find_course()
BARRIER = re.compile(r"__syncthreads\s*\(\s*\)\s*;|__syncwarp\s*\([^;]*?\)\s*;|\b\w+\.sync\s*\(\s*\)\s*;")


def kernels():
    """(key, text, described) of every solution and of every worked kernel that isn't there to show a fault."""
    for key in COURSE.exercises():
        yield key, solution_text(COURSE.solution(key).read_text(encoding="utf-8"))
    for key in COURSE.worked():
        if not load(key, COURSE).shows:
            yield key, COURSE.kernel(key).read_text(encoding="utf-8")


def without_each_barrier(text):
    """(line, text without the barrier that stood there), for each barrier outside comments."""
    for match in BARRIER.finditer(without_comments(text, literals=True)):
        yield text.count("\n", 0, match.start()) + 1, text[: match.start()] + ";" + text[match.end() :]


SLOW_FROM = 4  # the first chapters stand for all of them in `make fast`
MUTANTS = [
    pytest.param(key, text, id=f"{key}-line-{line}", marks=[pytest.mark.slow] if key.number >= SLOW_FROM else [])
    for key, whole in kernels()
    for line, text in without_each_barrier(whole)
]


def test_barriers_are_found_outside_comments_alone():
    text = "__syncthreads();  // every s[] is filled; __syncthreads();\nif (a) __syncwarp(0xffu);\n/* __syncthreads(); */ tile.sync();\n"
    assert list(without_each_barrier(text)) == [
        (1, text.replace("__syncthreads();", ";", 1)),
        (2, text.replace("__syncwarp(0xffu);", ";")),
        (3, text.replace("tile.sync();", ";")),
    ]


def test_there_are_barriers_to_drop():
    assert len(MUTANTS) >= 5


@pytest.mark.parametrize(("key", "text"), MUTANTS)
def test_a_dropped_barrier_is_reported(key, text):
    verdict = check(load(key, COURSE), text, to_the_end=False)
    assert verdict.kind in ERRORS, f"verdict {verdict.kind}: {verdict.message}"
