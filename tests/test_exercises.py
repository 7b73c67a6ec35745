"""Every exercise through the one check: its solution, its skeleton, its wrong variants. `--work DIR` adds the answers in a folder."""

from functools import cache
from pathlib import Path

import pytest

from lanewise.derive import solution_text
from lanewise.exercise import load, load_exercise, load_wrong
from lanewise.grading.check import check
from lanewise.names import find_course

COURSE = find_course()
EXERCISES = {str(key): key for key in COURSE.exercises()}
WORKED = {str(key): key for key in COURSE.worked()}
VARIANTS = [(name, variant.name) for name, key in EXERCISES.items() for variant in load_wrong(key, COURSE)]


@cache
def exercise(name):
    return load_exercise(EXERCISES[name], COURSE)


@cache
def solution(name):
    return COURSE.solution(EXERCISES[name]).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXERCISES)
def test_the_description_is_whole(name):
    assert exercise(name).problems() == []


@pytest.mark.parametrize("name", EXERCISES)
@pytest.mark.parametrize("text", [solution, lambda name: solution_text(solution(name))], ids=["as it stands", "without its markers"])
def test_the_solution_passes_every_case(name, text):
    verdict = check(exercise(name), text(name))
    assert (verdict.kind, verdict.message) == (None, "")
    assert verdict.score == verdict.max_score == exercise(name).points
    assert [case.passed for case in verdict.cases] == [True] * len(exercise(name).cases)


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_passes_with_data_of_another_seed(name):
    assert check(exercise(name), solution(name), seed=1).kind is None


@pytest.mark.parametrize("name", EXERCISES)
def test_the_skeleton_compiles_and_earns_nothing(name):
    verdict = check(exercise(name), COURSE.kernel(EXERCISES[name]).read_text(encoding="utf-8"))
    assert verdict.kind not in (None, "compile-error", "kernel-not-found", "unsupported", "argument-mismatch", "launch-refused")
    assert verdict.score == 0
    assert verdict.message


@pytest.mark.parametrize(("name", "title"), VARIANTS)
def test_a_wrong_variant_gets_its_verdict(name, title):
    (variant,) = [variant for variant in load_wrong(EXERCISES[name], COURSE) if variant.name == title]
    text = variant.apply(solution(name))
    verdict = check(exercise(name), text)
    assert verdict.kind == variant.kind, verdict.message
    assert variant.says in verdict.message
    if variant.line is not None:
        assert verdict.line == line_number(text, variant.line), verdict.message
    assert verdict.score < verdict.max_score


# The attention kernels take seconds each.
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if key.number >= 9 else []) for name, key in WORKED.items()])
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


def pytest_generate_tests(metafunc):
    if "answer" in metafunc.fixturenames:
        folder = metafunc.config.getoption("--work")
        paths = [path for path in sorted(Path(folder).glob("ch*.cu")) if path.stem in EXERCISES] if folder else []
        metafunc.parametrize("answer", paths, ids=[path.stem for path in paths])


def test_an_answer_in_the_work_folder_is_solved(answer):
    verdict = check(exercise(answer.stem), answer.read_text(encoding="utf-8"))
    assert verdict.kind is None, str(verdict)
