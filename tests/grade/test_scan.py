"""Whatever goes wrong in a hidden case, in whatever form it is reported: no hidden input or expected value, name, line, seed, path or line of a solution."""

import csv
import io
import json
import re
from html import unescape

import numpy as np
import pytest
from test_adversarial import COURSE, HEAD, KEY, LOOP
from test_new_attacks import hidden_only

from lanewise.__main__ import main
from lanewise.exercise import load_exercise
from lanewise.grading.assignment import read_assignment
from lanewise.grading.formats import FORMATS, nbgrader, render
from lanewise.grading.reports import student_report
from lanewise.grading.submission import grade_submission

pytestmark = pytest.mark.slow

SECRET = "a secret of this scanning test"
EXERCISE = load_exercise(KEY, COURSE)
HIDDEN = hidden_only(EXERCISE)
WRONGS = {
    # what a kernel does in hidden cases alone → the kind
    "wrong values": ("if (H) y[k] += 1;", "wrong-values"),
    "the input as the output": ("if (H) y[k] = x[k];", "wrong-values"),
    "the input changed": ("if (H) ((float*)x)[k] = 3;", "wrong-values"),
    "out of bounds": ("if (H) y[n + 7] = x[k];", None),
    "a race": ("if (H && k > 0) y[0] = x[k];", "race"),
    "no end": ("while (H) ;", "step-limit"),
    "a trap": ("if (H) __trap();", "trap"),
    "an assertion with words": ('if (H) printf("%d %f", n, x[k]); assert(!(H) && "the hidden length");', "trap"),
    "a misaligned address": ("if (H) *(volatile int*)((char*)y + 1) = 1;", "misaligned"),
    "nothing written": ("if (H) continue;", "unwritten-output"),
}
BUILD = "#define H ({hidden})\n{head}{loop}{{ {before} y[k] = x[k] * x[k]; {body} }}\n}}\n"


def text_for(name):
    body = WRONGS[name][0]
    before, body = (body, "") if "continue" in body else ("", body)
    return BUILD.format(hidden=HIDDEN, head=HEAD, loop=LOOP, before=before, body=body)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A class in which each student does one thing wrong, one of them in a notebook."""
    folder = tmp_path_factory.mktemp("scan")
    (folder / "w.seed").write_text(SECRET)
    (folder / "w.toml").write_text('name = "Week"\nhidden = true\nseed_file = "w.seed"\n[exercises]\nch01a = 4\n')
    for name in WRONGS:
        place = folder / "class" / name
        place.mkdir(parents=True)
        if name == "wrong values":
            cell = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "outputs": [], "source": f"%%solve ch01a\n{text_for(name)}"}
            (place / "answers.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}))
        else:
            (place / "ch01a.cu").write_text(text_for(name))
    return folder


@pytest.fixture(scope="module")
def results(folder):
    """With a time that isn't a clock's: 7.274 seconds would hold the length of a hidden case."""
    assignment = read_assignment(folder / "w.toml", COURSE)
    return {name: json.loads(json.dumps(grade_submission(folder / "class" / name, assignment, COURSE) | {"seconds": 1.5})) for name in WRONGS}


def hidden_numbers(seed):
    """Inputs and expected values of every hidden case, sorted."""
    values = []
    for case in EXERCISE.with_hidden(seed).cases:
        if not case.visible:
            values += [case.data(seed)["x"].astype(np.float64), EXERCISE.reference(case.data(seed))["y"]]
    return np.sort(np.concatenate(values))


def leaks(text, result):
    """What of the hidden cases stands in a text."""
    text = unescape(text.replace("\\", ""))
    (verdict,) = result["verdicts"]
    exercise = EXERCISE.with_hidden(verdict["seed"])
    found = [word for word in (SECRET, str(verdict["seed"]), str(COURSE.root), "/kernels/", "Traceback", "(a hidden one") if word in text]
    found += [case.name for case in exercise.cases if not case.visible and case.name in text]
    found += [f"n = {case.data()['n']}" for case in exercise.cases if not case.visible and re.search(rf"\b{case.data()['n']}\b", text) and case.data()["n"] > 9]
    found += [line for line in COURSE.solution(KEY).read_text(encoding="utf-8").splitlines() if len(line.strip()) > 25 and line.strip() in text]
    known = hidden_numbers(verdict["seed"])
    for word in re.findall(r"-?\d+\.\d{4,}(?:e[+-]?\d+)?", text):
        near = np.clip(np.searchsorted(known, float(word)) + np.array([-1, 0]), 0, len(known) - 1)
        found += [word] if (np.abs(known[near] - float(word)) <= 2e-6 * abs(float(word))).any() else []
    return found


def test_each_fails_in_hidden_cases_alone_and_as_it_should(results):
    for name, result in results.items():
        (verdict,) = result["verdicts"]
        assert verdict["kind"] == WRONGS[name][1] or WRONGS[name][1] is None and verdict["kind"] not in (None, "infrastructure"), (name, verdict["message"])
        assert all(case["passed"] for case in verdict["cases"] if case["visible"]), (name, verdict["message"])
        assert not all(case["passed"] for case in verdict["cases"])


def test_the_scan_finds_what_it_is_for(results):
    (verdict,) = results["the input as the output"]["verdicts"]
    found = leaks(verdict["message"], results["the input as the output"])
    assert "(a hidden one" in found and any(re.fullmatch(r"-?\d+\.\d+", word) for word in found), verdict["message"]
    assert leaks(render("teacher", results["a trap"]), results["a trap"])


@pytest.mark.parametrize("name", WRONGS)
def test_nothing_of_a_hidden_case_is_in_any_form(results, name):
    for form in FORMATS:
        assert leaks(render(form, results[name]), results[name]) == [], form


def test_nothing_is_in_the_classs_table(results):
    table = nbgrader.table(results.values())
    assert len(list(csv.reader(io.StringIO(table)))) == len(WRONGS) + 1
    assert all(leaks(table, result) == [] for result in results.values())


def test_nothing_is_in_what_a_class_and_a_submission_hand_back(folder, results, capfd):
    assert main(["grade-class", str(folder / "class"), "--out", str(folder / "out"), "--assignment", str(folder / "w.toml"), "--workers", "2"]) == 0
    reports = sorted((folder / "out" / "reports").iterdir())
    assert len(reports) == len(WRONGS)
    some = next(iter(results.values()))
    assert [leak for path in reports for leak in leaks(path.read_text(encoding="utf-8"), some)] == []
    capfd.readouterr()
    command = ["grade-submission", str(folder / "class" / "a trap"), "--set", str(folder / "w.toml"), "--out", str(folder / "t.json")]
    assert main([*command, "--also", f"html={folder / 'r.html'}", "--also", f"junit={folder / 'r.xml'}"]) == 0
    said = capfd.readouterr()
    for text in (said.out, said.err, (folder / "r.html").read_text(encoding="utf-8"), (folder / "r.xml").read_text(encoding="utf-8")):
        assert leaks(text, some) == []


def test_a_line_that_only_hidden_cases_reach_is_not_told(results):
    """A kernel could have a line for each length."""
    assert all(verdict["line"] for name in ("a trap", "a misaligned address") for verdict in results[name]["verdicts"])
    assert all(exercise["line"] is None for result in results.values() for exercise in student_report(result)["exercises"])
