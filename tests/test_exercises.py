"""Every exercise through the one check: its solution, its skeleton, its wrong variants. `--work DIR` adds the answers in a folder."""

from functools import cache
from pathlib import Path

import pytest

from lanewise.derive import solution_text
from lanewise.exercise import load, load_exercise, load_wrong
from lanewise.grading import sandbox
from lanewise.grading.check import SCHEDULES, check
from lanewise.grading.source import LARGEST
from lanewise.names import find_course

COURSE = find_course()
EXERCISES = {str(key): key for key in COURSE.exercises()}
WORKED = {str(key): key for key in COURSE.worked()}
SLOW_FROM = 4  # the first chapters stand for all of them in `make fast`


def marks(key):
    return [pytest.mark.slow] if key.number >= SLOW_FROM else []


MARKED = [pytest.param(name, marks=marks(key)) for name, key in EXERCISES.items()]
VARIANTS = [
    pytest.param(name, variant.name, id=f"{name}-{variant.name}", marks=marks(key))
    for name, key in EXERCISES.items()
    for variant in load_wrong(key, COURSE)
]


@cache
def exercise(name):
    return load_exercise(EXERCISES[name], COURSE)


@cache
def solution(name):
    return COURSE.solution(EXERCISES[name]).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXERCISES)
def test_the_description_is_whole(name):
    assert exercise(name).problems() == []


@pytest.mark.parametrize("name", MARKED)
@pytest.mark.parametrize(
    ("text", "seed", "schedules"),
    [(solution, 0, SCHEDULES), (lambda name: solution_text(solution(name)), 1, (2,))],
    ids=["as it stands", "without its markers, on other data, in a third order of warps"],
)
def test_the_solution_passes_every_case(name, text, seed, schedules):
    secret = 20261204 if seed else None  # with one: hidden cases
    verdict = check(exercise(name), text(name), seed=seed, secret=lambda: secret, schedules=schedules)
    assert (verdict.kind, verdict.message) == (None, "")
    assert verdict.score == verdict.max_score == exercise(name).points
    assert all(case.passed for case in verdict.cases)
    assert len(verdict.cases) > len(exercise(name).cases) if seed else len(verdict.cases) == len(exercise(name).cases)


@pytest.mark.parametrize("name", MARKED)
def test_the_skeleton_compiles_and_earns_nothing(name):
    verdict = check(exercise(name), COURSE.kernel(EXERCISES[name]).read_text(encoding="utf-8"), to_the_end=False)
    assert verdict.kind not in (None, "compile-error", "kernel-not-found", "unsupported", "argument-mismatch", "launch-refused")
    assert verdict.score == 0
    assert verdict.message


@pytest.mark.parametrize(("name", "title"), VARIANTS)
def test_a_wrong_variant_gets_its_verdict(name, title):
    (variant,) = [variant for variant in load_wrong(EXERCISES[name], COURSE) if variant.name == title]
    text = variant.apply(solution(name))
    verdict = check(exercise(name), text, to_the_end=False)
    assert verdict.kind == variant.kind, verdict.message
    assert variant.says in verdict.message
    if variant.line is not None:
        assert verdict.line == line_number(text, variant.line), verdict.message
    assert verdict.score < verdict.max_score


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(key)) for name, key in WORKED.items()])
def test_a_worked_kernel_is_right_or_shows_its_fault(name):
    example = load(WORKED[name], COURSE)
    assert example.problems() == []
    verdict = check(example, COURSE.kernel(WORKED[name]).read_text(encoding="utf-8"))
    assert verdict.kind == (example.shows or None), verdict.message


def line_number(text: str, wanted: int | str) -> int:
    """A line given by its number, or by a piece of text that stands on it alone."""
    if isinstance(wanted, int):
        return wanted
    (number,) = [number for number, line in enumerate(text.splitlines(), 1) if wanted in line]
    return number


# -- a folder of answers, graded as `lanewise grade` does: `pytest tests/test_exercises.py --work DIR` ---------------------------------


def pytest_generate_tests(metafunc):
    """One test an exercise that has an answer and a visible case, one more for its points. What is there is fixed before any of them is graded."""
    if "answer" not in metafunc.fixturenames:
        return
    folder = metafunc.config.getoption("--work")
    found = sorted({str(key): path for path in sorted(Path(folder).iterdir()) if (key := key_of(path))}.items()) if folder else []
    if "case" in metafunc.fixturenames:
        pairs = [(name, path, case.name) for name, path in found for case in exercise(name).cases if case.visible]
        metafunc.parametrize(("answer", "case"), [((name, path), case) for name, path, case in pairs], ids=[f"{name}-{case}" for name, _, case in pairs])
    else:
        metafunc.parametrize("answer", found, ids=[name for name, _ in found])


def key_of(path):
    """The exercise that a file answers, by its name: ch05b.cu, ch05b_block_max.cu."""
    stem = path.stem.lower()
    ours = path.suffix.lower() == ".cu" and path.is_file() and not path.is_symlink()
    return next((name for name, key in EXERCISES.items() if ours and stem in (name, key.short)), None)


@cache
def graded(name, path):
    """One verdict an answer, from the child with limits: its text is hostile until proven otherwise."""
    return sandbox.grade(EXERCISES[name], path.read_bytes()[: LARGEST + 1], COURSE)


def test_an_answer_passes_a_case(answer, case):
    (result,) = [result for result in graded(*answer).cases if result.name == case]
    assert result.passed, f"{graded(*answer).message} {result.message}"


def test_an_answer_is_solved(answer, record_property):
    verdict = graded(*answer)
    for name, value in (("exercise", verdict.key), ("score", verdict.score), ("max_score", verdict.max_score), ("kind", verdict.kind or "")):
        record_property(name, value)
    record_property("source_sha256", verdict.source_sha256)
    assert verdict.kind is None, str(verdict)
