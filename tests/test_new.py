"""`lanewise new`: templates that pass the checks they will be held to."""

import pytest

from lanewise import notebook
from lanewise.derive import stale_skeletons
from lanewise.exercise import load, load_exercise, load_wrong
from lanewise.grading.check import check
from lanewise.names import Course, CourseError
from lanewise.new import make


@pytest.fixture
def course(tmp_path):
    for folder in ("chapters", "kernels", "solutions"):
        (tmp_path / folder).mkdir()
    return Course(tmp_path)


def test_an_exercise_has_every_file_and_passes(course):
    paths = make(course, "ch05b_block_max")
    assert [str(path.relative_to(course.root)) for path in paths] == [
        "solutions/ch05b_block_max.cu",
        "kernels/ch05b_block_max.py",
        "tests/wrong/ch05b_block_max.py",
        "kernels/ch05b_block_max.cu",
    ]
    key = course.exercise("ch05b")
    exercise = load_exercise(key, course)
    solution = course.solution(key).read_text()
    assert stale_skeletons(course) == [] and exercise.problems() == []
    assert check(exercise, solution).kind is None
    assert check(exercise, course.kernel(key).read_text()).score == 0
    for variant in load_wrong(key, course):
        verdict = check(exercise, variant.apply(solution))
        assert (verdict.kind, variant.says in verdict.message) == (variant.kind, True), verdict.message


@pytest.mark.parametrize(("word", "slug"), [("ch05", "reductions"), ("ch05_reductions", None), ("ch05", "Reductions")])
def test_a_chapter_has_a_worked_kernel_and_a_source(course, word, slug):
    paths = make(course, word, slug)
    assert [path.name for path in paths] == ["ch05_reductions.md", "ch05_reductions.cu", "ch05_reductions.py"]
    key = course.chapter("ch05")
    assert notebook.limits(key, notebook.read(course, key)) == []
    assert check(load(key, course), course.kernel(key).read_text()).kind is None


def test_nothing_is_overwritten_and_no_number_taken_twice(course):
    make(course, "ch05b_block_max")
    with pytest.raises(CourseError, match="exists already"):
        make(course, "ch05b_block_max")
    with pytest.raises(CourseError, match="ch05b is taken by ch05b_block_max"):
        make(course, "ch05b_other")
    make(course, "ch05", "reductions")
    with pytest.raises(CourseError, match="ch05 is taken by ch05_reductions"):
        make(course, "ch05", "sums")
