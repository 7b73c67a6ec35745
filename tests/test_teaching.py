"""The instructor's page and the glossary speak of the course as it is: chapters, exercises, faults and terms that exist."""

import re
from pathlib import Path

import pytest

from lanewise.exercise import load_wrong
from lanewise.names import find_course

COURSE = find_course()
ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TEACHING = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")


def rows(text: str, columns: int) -> list[list[str]]:
    """The cells of every table row with that many columns, heads left out."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == columns and not set(cells[0]) <= set("-"):
            found.append(cells)
    return found


TERMS = rows(GLOSSARY, 3)[1:]
CHAPTERS = {f"ch{key.number:02d}": key for key in COURSE.chapters()}


def test_each_term_stands_once_with_one_sentence() -> None:
    words = [word for term, _, _ in TERMS for word in term.split(", ")]
    assert len(TERMS) > 60 and len(set(words)) == len(words)
    for term, meaning, _ in TERMS:
        assert meaning and not meaning.endswith("."), term
    assert [chapter for _, _, chapter in TERMS] == sorted(chapter for _, _, chapter in TERMS), "terms stand in the order of the course"


@pytest.mark.parametrize(("term", "chapter"), [(term, chapter) for term, _, chapter in TERMS], ids=[term for term, _, _ in TERMS])
def test_a_term_is_explained_where_the_glossary_says(term: str, chapter: str) -> None:
    text = COURSE.chapter_source(CHAPTERS[chapter]).read_text(encoding="utf-8").lower()
    assert any(word.strip("`").lower() in text for word in term.split(", ")), f"{COURSE.chapter_source(CHAPTERS[chapter]).name} doesn't speak of {term}"


def test_a_meaning_is_one_short_sentence() -> None:
    for term, meaning, _ in TERMS:
        assert len(meaning) <= 140, f"{term}: one sentence"


def test_every_chapter_has_its_row_for_instructors() -> None:
    described = [cells[0] for cells in rows(TEACHING, 5)[1:]]
    chosen = [cells[0] for cells in rows(TEACHING, 4)[1:]]
    assert described == chosen == sorted(described)
    assert set(CHAPTERS) - set(described) == set(), "chapters without a row in docs/teaching.md"


def test_assumed_chapters_come_earlier() -> None:
    for chapter, assumes, _, minutes, _ in rows(TEACHING, 5)[1:]:
        assert all(earlier < chapter for earlier in re.findall(r"ch\d\d", assumes)), chapter
        reading, exercises = map(int, minutes.split(" + "))
        count = sum(key.short.startswith(chapter) for key in COURSE.exercises())
        assert 45 <= reading <= 60 and 10 * count <= exercises <= 15 * count, f"{chapter}: {count} exercises"


def test_typical_faults_are_variants_with_a_verdict() -> None:
    named = re.findall(r"(ch\d\d[a-z]) “([^”]+)”", TEACHING)
    assert len(named) >= 3 * len(rows(TEACHING, 5)[1:])
    for short, fault in named:
        assert fault in {variant.name for variant in load_wrong(COURSE.exercise(short), COURSE)}, f"{short} has no variant “{fault}”"


def test_every_exercise_that_is_set_exists_and_every_chapter_sets_one_for_credit() -> None:
    exist = {key.short for key in COURSE.exercises()}
    for chapter, day, fortnight, term in rows(TEACHING, 4)[1:]:
        for cell in (day, fortnight, term):
            assert set(re.findall(r"ch\d\d[a-z]", cell)) <= exist, f"{chapter}: {cell}"
            assert all(short.startswith(chapter) for short in re.findall(r"ch\d\d[a-z]", cell))
        assert re.fullmatch(r"\d+: ch.*", term), chapter


def test_the_plans_fit_their_hours() -> None:
    reading = {chapter: int(minutes.split(" + ")[0]) for chapter, _, _, minutes, _ in rows(TEACHING, 5)[1:]}

    def minutes(chapter: str, cell: str) -> int:
        count = len(re.findall(r"ch\d\d[a-z]", cell))
        return 20 if cell == "shown" else reading[chapter] + 15 * count if count else 0

    plans = {chapter: (day, fortnight) for chapter, day, fortnight, _ in rows(TEACHING, 4)[1:]}
    assert 300 <= sum(minutes(chapter, day) for chapter, (day, _) in plans.items()) <= 360
    for afternoon in ((1, 2), (3, 4), (5, 6), (7,), (8, 9), (10,), (11,), (12,), (13, 14), (15, 16)):
        assert 0 < sum(minutes(f"ch{number:02d}", plans[f"ch{number:02d}"][1]) for number in afternoon) <= 180, afternoon
