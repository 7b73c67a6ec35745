"""One key finds everything."""

import os
import stat

import pytest

from lanewise import names
from lanewise.names import Course, CourseError, Key, UnknownKey


@pytest.fixture
def course(tmp_path):
    kernels = "ch05_tree_sum.cu ch05_tree_sum.py ch05_warp_sum.cu ch05a_sum.py ch05b_block_max.cu ch05b_block_max.py ch12a_qk_tile.py reduce.cuh"
    for name in ("chapters/ch05_reductions.md", *(f"kernels/{name}" for name in kernels.split())):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    return Course(tmp_path)


def test_discovery_is_the_file_listing(course):
    assert [str(key) for key in course.exercises()] == ["ch05a_sum", "ch05b_block_max", "ch12a_qk_tile"]
    assert [str(key) for key in course.worked()] == ["ch05_tree_sum", "ch05_warp_sum"]
    assert [str(key) for key in course.chapters()] == ["ch05_reductions"]


@pytest.mark.parametrize("word", ["ch05b", "ch05b_block_max", "CH05B", "ch05b_block_max.cu", "work/ch05b_block_max.cu", "ch05b-block-max", " ch05b "])
def test_short_and_whole_keys_mean_the_same(course, word):
    assert str(course.exercise(word)) == "ch05b_block_max"


def test_one_key_gives_every_path(course):
    key = course.exercise("ch05b")
    assert (key.number, key.letter, key.slug, key.short) == (5, "b", "block_max", "ch05b")
    assert course.kernel(key) == course.root / "kernels/ch05b_block_max.cu"
    assert course.solution(key) == course.root / "solutions/ch05b_block_max.cu"
    assert course.wrong(key) == course.root / "tests/wrong/ch05b_block_max.py"
    assert course.answer(key) == course.work_dir / "ch05b_block_max.cu"


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("ch05d", "There is no exercise 'ch05d': did you mean ch05a_sum or ch05b_block_max?"),
        ("block_max", "There is no exercise 'block_max': did you mean ch05b_block_max?"),
        ("ch12a_qk_tiles", "did you mean ch12a_qk_tile?"),
        ("zzz", "There is no exercise 'zzz': `lanewise list` shows them all, ch05a is the first."),
        ("", "`lanewise list` shows them all"),
    ],
)
def test_an_unknown_key_offers_the_nearest(course, word, says):
    with pytest.raises(UnknownKey) as caught:
        course.exercise(word)
    assert says in str(caught.value)


def test_a_short_key_that_may_mean_two_files_says_so(course):
    with pytest.raises(UnknownKey, match="'ch05' may mean ch05_tree_sum or ch05_warp_sum: write one of them in full"):
        course.any_kernel("ch05")


@pytest.mark.parametrize("text", ["ch5_sum", "ch05", "ch05b", "ch05B_sum", "ch05_Sum", "ch05__sum", "ch05ab_sum", "x", "ch05_sum_", "ch05_9sum"])
def test_the_grammar_is_kept(text):
    with pytest.raises(CourseError, match="is no key"):
        Key.parse(text)


def test_a_key_of_25_characters_is_too_long():
    assert str(Key.parse("ch05b_" + "a" * 18)) == "ch05b_" + "a" * 18
    with pytest.raises(CourseError, match="25 characters; 24 is the most"):
        Key.parse("ch05b_" + "a" * 19)


def test_the_work_folder_is_beside_the_course_or_where_lanewise_work_says(course, monkeypatch, tmp_path):
    monkeypatch.delenv("LANEWISE_WORK", raising=False)
    assert course.work_dir == tmp_path / "work"
    monkeypatch.setenv("LANEWISE_WORK", str(tmp_path / "elsewhere"))
    assert course.work_dir == tmp_path / "elsewhere"


def test_this_checkout_is_found_from_anywhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert (names.find_course().root / "lanewise" / "names.py").is_file()


def test_a_file_is_written_whole_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "work" / "a.cu"
    names.write_atomically(path, "one\r\n")
    names.write_atomically(path, "zwei ß\n")
    assert path.read_bytes() == "zwei ß\n".encode()
    assert os.listdir(path.parent) == ["a.cu"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o600 == 0o600


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "work").write_text("a file where the folder should be")
    with pytest.raises(CourseError) as caught:
        names.write_atomically(tmp_path / "work" / "a.cu", "x")
    assert "Can't write" in str(caught.value) and "LANEWISE_WORK" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_path_is_shown_relative_to_where_the_reader_stands(course, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert course.show(tmp_path / "work" / "a.cu") == os.path.join("work", "a.cu")
    monkeypatch.chdir(tmp_path / "kernels")
    assert course.show(tmp_path / "kernels" / "a.cu") == "a.cu"
    assert course.show(tmp_path / "work" / "a.cu") == os.path.join("work", "a.cu")
