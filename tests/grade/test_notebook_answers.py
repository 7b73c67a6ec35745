"""Answers out of notebooks, whole and broken: never executed, and a sentence for each that can't be read."""

import json

import pytest

from lanewise.grading.notebook_answers import answers_in
from lanewise.names import find_course

COURSE = find_course()
A, B = COURSE.exercise("ch01a"), COURSE.exercise("ch05b")


def test_solve_cells_are_taken_and_others_left(notebook):
    raw = notebook("import os\nos.abort()", "%%solve ch01a\nint a;\n", "%%solve ch05b_block_max\nint b;\n", "grade('ch01a')")
    found = answers_in(raw, "n.ipynb", COURSE)
    assert found.texts == {A: "int a;\n", B: "int b;\n"} and found.notes == []


def test_the_last_of_two_cells_counts_and_is_noted(notebook):
    found = answers_in(notebook("%%solve ch01a\nint a;", "%%solve ch01a\nint b;"), "n.ipynb", COURSE)
    assert found.texts == {A: "int b;"} and found.notes == ["n.ipynb has two cells for ch01a; the last one counts."]
    assert answers_in(notebook("%%solve ch01a\nint a;", "%%solve ch01a\nint a;"), "n.ipynb", COURSE).notes == []


@pytest.mark.parametrize("line", ["ch99z", "ch01a --file x", "", "../../ch99z"])
def test_a_cell_for_no_exercise_is_noted(notebook, line):
    found = answers_in(notebook(f"%%solve {line}\nint a;"), "n.ipynb", COURSE)
    assert found.texts == {} and found.notes == [f"n.ipynb: the cell `%%solve {line}` names no exercise and was left out."]


def test_crlf_bom_and_cleared_metadata_change_nothing(notebook):
    whole = json.loads(notebook("%%solve ch01a\nint a;\nint b;\n"))
    for cell in whole["cells"]:
        del cell["metadata"], cell["outputs"], cell["execution_count"], cell["id"]
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")
    raw = b"\xef\xbb\xbf" + json.dumps(whole).encode().replace(b", ", b",\r\n")
    assert answers_in(raw, "n.ipynb", COURSE).texts == {A: "int a;\nint b;\n"}


def test_format_3_is_read():
    raw = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [{"metadata": {}, "cells": [
        {"cell_type": "code", "language": "python", "metadata": {}, "collapsed": False, "input": ["%%solve ch01a\n", "int a;"], "outputs": []}]}]}  # fmt: skip
    assert answers_in(json.dumps(raw).encode(), "n.ipynb", COURSE).texts == {A: "int a;"}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "is no notebook (its JSON can't be read)"),
        (b"print('hi')", "is no notebook (its JSON can't be read)"),
        (b"\xff\xfe{}", "is no notebook (its JSON can't be read)"),
        (b"[" * 100_000, "is no notebook (its JSON can't be read)"),
        (b'{\n<<<<<<< HEAD\n"cells": []\n=======\n"cells": [1]\n>>>>>>> theirs\n}', "holds merge markers"),
        (b"[]", "it says no format"),
        (b'{"cells": []}', "it says no format"),
        (b'{"nbformat": true, "cells": []}', "it says no format"),
        (b'{"nbformat": 4}', "is no notebook that can be read"),
        (b'{"nbformat": 4, "cells": 7}', "is no notebook that can be read"),
        (b'{"nbformat": 99, "cells": []}', "is no notebook that can be read"),
        (b'{"nbformat": 3, "worksheets": 1}', "is no notebook that can be read"),
    ],
    ids=["empty", "no JSON", "no UTF-8", "deep", "merge markers", "a list", "no format", "true", "lost cells", "odd cells", "from the future", "bad format 3"],
)
def test_a_broken_notebook_is_one_sentence(raw, says):
    found = answers_in(raw, "n.ipynb", COURSE)
    assert found.texts == {} and len(found.notes) == 1 and found.notes[0].startswith("n.ipynb ") and says in found.notes[0]


def test_damaged_cells_are_left_out_and_the_others_read(notebook):
    whole = json.loads(notebook("%%solve ch01a\nint a;"))
    whole["cells"] += [7, {"cell_type": "code"}, {"cell_type": "code", "source": 8}, {"cell_type": "markdown", "source": "%%solve ch05b\nno"}]
    assert answers_in(json.dumps(whole).encode(), "n.ipynb", COURSE).texts == {A: "int a;"}


@pytest.mark.slow
def test_outputs_of_200_mb_are_dropped(notebook):
    raw = notebook("%%solve ch01a\nint a;", outputs=[{"output_type": "stream", "name": "stdout", "text": "x" * 200_000_000}])
    assert answers_in(raw, "n.ipynb", COURSE).texts == {A: "int a;"}
