"""Chapters: size, structure, and notebooks that are rebuilt byte for byte."""

import json
import re

import nbformat
import pytest

from lanewise import notebook
from lanewise.names import Course, CourseError, Key, find_course

COURSE = find_course()
CHAPTERS = {str(key): key for key in COURSE.chapters()}

SOURCE = """\
---
kernelspec:
  display_name: Python 3
  name: python3
---

# A question?

Some *text*.

```{code-cell}
import sys
print("one")
print("warned", file=sys.stderr)
print("two")
6 * 7
```

```{code-cell}
:tags: [nbval-ignore-output]

import os, time
print(time.time(), os.getcwd())
```

```{code-cell}
%%solve ch01a
```
"""


TAGGED = "```{code-cell}\n:tags: [nbval-ignore-output]\n\nx = 1\n```\n\n"


@pytest.fixture
def course(tmp_path):
    """A course of one chapter and one exercise, whose notebook is the smallest."""
    course = Course(tmp_path)
    for folder in ("chapters", "kernels", "solutions"):
        (tmp_path / folder).mkdir()
    (course.chapters_dir / "ch01_first.md").write_text(SOURCE)
    (course.kernels_dir / "ch01a_twice.py").write_text("")
    (course.kernels_dir / "ch01a_twice.cu").write_text("// a skeleton\n")
    return course


FIRST = Key.parse("ch01_first")


def read_cells(course):
    book = notebook.read(course, FIRST)
    return book, book.cells


def test_a_solve_cell_is_filled_with_the_skeleton(course):
    _, cells = read_cells(course)
    notebook.fill_in(course, cells[-1])
    assert cells[-1].source == "%%solve ch01a\n// a skeleton"
    before = cells[1].source
    notebook.fill_in(course, cells[1])
    assert cells[1].source == before


@pytest.mark.slow
def test_the_same_bytes_come_out_twice_and_hold_nothing_of_the_machine(course):
    (course.chapters_dir / "ch01_first.md").write_text(SOURCE.replace("```{code-cell}\n%%solve ch01a\n```\n", ""))
    first, second = (notebook.build(course, FIRST) for _ in range(2))
    assert first == second
    book = json.loads(first)
    assert book["metadata"] == notebook.METADATA
    text, shown, hidden = book["cells"]
    assert re.fullmatch(r"00-[0-9a-f]{10}", text["id"])
    assert shown["metadata"] == {}
    streams = {output["name"]: output["text"] for output in shown["outputs"] if output["output_type"] == "stream"}
    assert streams == {"stdout": ["one\n", "two\n"], "stderr": ["warned\n"]}
    assert shown["outputs"][-1]["data"] == {"text/plain": ["42"]}
    assert hidden["outputs"] == [] and hidden["metadata"] == {"tags": ["nbval-ignore-output"]}


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("1 / 0", "cell 2 fails: ZeroDivisionError: division by zero"),
        ("import os; print(os.getcwd())", "cell 2 prints a path"),
        ("object()", "cell 2 prints an object's address"),
    ],
)
def test_a_cell_that_fails_or_differs_from_machine_to_machine_is_named(course, code, says):
    (course.chapters_dir / "ch01_first.md").write_text(f"# A question?\n\n```{{code-cell}}\n{code}\n```\n")
    with pytest.raises(CourseError) as caught:
        notebook.build(course, FIRST)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# A\n\n```{code-cell}\n" + "x = 1\n" * 16 + "```\n", "cell 2 ('x = 1') has 16 lines, 15 are the most"),
        ("\n\n+++\n\n".join(["text"] * 31), "has 31 cells, 30 are the most"),
        ("```{code-cell}\nx = 1\n```\n\n" * 13, "has 13 code cells, 12 are the most"),
        ("```{code-cell}\nx = 1\n```\n\n" * 12 + TAGGED * 2, "has 14 code cells, 12 are the most, and one tagged nbval-ignore-output"),
    ],
)
def test_a_chapter_beyond_its_limits_is_refused(course, text, says):
    (course.chapters_dir / "ch01_first.md").write_text(text)
    assert says in " ".join(notebook.limits(FIRST, notebook.read(course, FIRST)))


def test_a_cell_for_a_gpu_is_one_more(course):
    (course.chapters_dir / "ch01_first.md").write_text("```{code-cell}\nx = 1\n```\n\n" * 12 + TAGGED)
    assert notebook.limits(FIRST, notebook.read(course, FIRST)) == []


def test_a_stale_a_missing_and_a_stray_notebook_are_named(course, monkeypatch):
    monkeypatch.setattr(notebook, "build", lambda course, key: "built\n")
    assert notebook.stale_notebooks(course) == ["chapters/ch01_first.ipynb is missing: `lanewise build ch01` makes it."]
    assert notebook.write_notebooks(course, [FIRST]) == [course.notebook(FIRST)]
    assert notebook.stale_notebooks(course) == []
    assert notebook.write_notebooks(course, [FIRST]) == []
    course.notebook(FIRST).write_text("edited\n")
    (course.chapters_dir / "ch02_gone.ipynb").write_text("")
    assert notebook.stale_notebooks(course) == [
        "chapters/ch01_first.ipynb isn't what chapters/ch01_first.md gives: change the source, then run `lanewise build ch01`.",
        "chapters/ch02_gone.ipynb has no source: write chapters/ch02_gone.md.",
    ]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_keeps_the_pattern(name):
    key = CHAPTERS[name]
    text = COURSE.chapter_source(key).read_text(encoding="utf-8")
    book = notebook.read(COURSE, key)
    assert notebook.limits(key, book) == []
    assert re.search(r"^# ", book.cells[0].source) and "?" in book.cells[0].source, "the chapter begins with its question"
    solved = re.findall(r"%%solve (\S+)", text)
    assert sorted(str(COURSE.exercise(word)) for word in solved) == [str(other) for other in COURSE.exercises() if other.number == key.number]
    assert "__global__ void" not in text, "a kernel's text has one source: show(key)"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_notebook_is_what_its_source_gives(name):
    """Byte for byte, with the outputs that are stored: `--nbval`, in the same `make test`, runs every cell and compares those."""
    key = CHAPTERS[name]
    text = COURSE.notebook(key).read_text(encoding="utf-8")
    book, stored = notebook.read(COURSE, key), nbformat.reads(text, as_version=4)
    for cell, old in zip(book.cells, stored.cells, strict=True):
        notebook.fill_in(COURSE, cell)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = old.outputs, old.execution_count
    assert text == notebook.serialise(book)


@pytest.mark.parametrize("name", CHAPTERS)
def test_nbval_compares_all_that_a_notebook_holds(name):
    """It leaves out pictures made of pixels and the numbers of cells."""
    cells = [cell for cell in nbformat.reads(COURSE.notebook(CHAPTERS[name]).read_text(encoding="utf-8"), as_version=4).cells if cell.cell_type == "code"]
    hidden = [notebook.UNSTORED in cell.metadata.get("tags", []) for cell in cells]
    assert [cell.execution_count for cell in cells] == [None if unstored else number for number, unstored in enumerate(hidden, 1)]
    assert [cell.outputs for cell, unstored in zip(cells, hidden, strict=True) if unstored] == [[] for unstored in hidden if unstored]
    kinds = {kind for cell in cells for output in cell.outputs for kind in output.get("data", ())}
    assert kinds <= {"text/plain", "text/html", "text/markdown", "image/svg+xml"}
    assert not [cell.source for cell in cells if "nbval-skip" in cell.metadata.get("tags", [])]
