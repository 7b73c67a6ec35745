"""Reports: valid by their schemas, and nothing hidden in any that a student reads. The results here come from real grading with hidden cases."""

import json
import re
from html.parser import HTMLParser

import jsonschema
import numpy as np
import pytest
from schemas import RESULT, STUDENT

from lanewise.derive import solution_text
from lanewise.exercise import load_exercise
from lanewise.grading.assignment import read_assignment
from lanewise.grading.formats import FORMATS, render
from lanewise.grading.reports import NOT_YOURS, student_report, to_html, to_markdown
from lanewise.grading.submission import grade_submission
from lanewise.names import find_course

COURSE = find_course()
KEYS = [COURSE.exercise(word) for word in ("ch01a", "ch05b", "ch04a")]
SECRET = "a secret that nobody may read"
EDITS = {"ch01a": ("k < n", "k < n - (n == 1535)"), "ch05b": ("m[", "m[1000000 * (cols == 333) + ")}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """Three answers: one fails a hidden case alone by its values, one by an address, the third is broken text with a path and markup in it."""
    folder = tmp_path_factory.mktemp("week")
    (folder / "w.seed").write_text(SECRET)
    (folder / "w.toml").write_text('name = "Week"\nhidden = true\nseed_file = "w.seed"\n[exercises]\nch01a = 4\nch05b = 6\nch04a = 2\n')
    (folder / "ann").mkdir()
    for key in KEYS[:2]:
        find, put = EDITS[key.short]
        text = solution_text(COURSE.solution(key).read_text(encoding="utf-8"))
        assert find in text
        (folder / "ann" / f"{key}.cu").write_text(text.replace(find, put))
    (folder / "ann" / "ch04a.cu").write_text('#include "nothing_here.h"\n</pre><script>alert(1)</script> | # *x* &\n')
    (folder / "ann" / "ch04a =cmd|'.cu").write_text("x")
    return json.loads(json.dumps(grade_submission(folder / "ann", read_assignment(folder / "w.toml", COURSE), COURSE)))


def test_the_results_are_what_this_test_needs(result):
    assert [(v["kind"], all(case["passed"] for case in v["cases"] if case["visible"])) for v in result["verdicts"]] == [
        ("unwritten-output", True), ("out-of-bounds", True), ("compile-error", False)
    ]  # fmt: skip
    assert all(not case["visible"] for v in result["verdicts"][:2] for case in v["cases"] if case["message"])


def test_both_reports_fit_their_schemas(result):
    jsonschema.validate(result, RESULT, jsonschema.Draft202012Validator)
    jsonschema.validate(student_report(result), STUDENT, jsonschema.Draft202012Validator)


def hidden_things(result):
    """What no student may read: the secret, seeds, names and messages of hidden cases, their sizes and values, paths, lines of the solutions."""
    yield SECRET
    for key, verdict in zip(KEYS, result["verdicts"], strict=True):
        yield str(verdict["seed"])
        exercise = load_exercise(key, COURSE).with_hidden(verdict["seed"])
        for case in exercise.cases:
            if case.visible:
                continue
            yield case.name
            data = case.data(verdict["seed"])
            expected = exercise.reference(case.data(verdict["seed"]))
            for value in [*data.values(), *expected.values()]:
                if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                    yield from (f"{number:.7g}" for number in value.reshape(-1)[:50].tolist() if abs(number) > 1e-3 and len(f"{number:.7g}") > 6)
        yield from (case["message"] for case in verdict["cases"] if not case["visible"] and case["message"])
        yield from (line.strip() for line in COURSE.solution(key).read_text(encoding="utf-8").splitlines() if len(line.strip()) > 25)
    yield str(COURSE.root)
    yield "/kernels/"
    yield "Traceback"


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_hidden_is_in_a_format_that_students_read(result, name):
    text = render(name, result)
    assert "ch05b_block_max" in text.replace("\\", "")
    assert [thing for thing in hidden_things(result) if thing in text] == []
    assert "hidden 1" not in text and "another shape" not in text


def test_the_scan_finds_what_it_is_for(result):
    found = {thing for thing in hidden_things(result) if thing in json.dumps(result)}
    seeds = {str(v["seed"]) for v in result["verdicts"]}
    assert seeds <= found and any("out-of-bounds" not in thing and "m[" in thing for thing in found)


def test_a_new_field_of_the_result_stays_out_by_itself(result):
    more = json.loads(json.dumps(result)) | {"new": "UNSEEN"}
    for verdict in more["verdicts"]:
        verdict["new"] = "UNSEEN"
        for case in verdict["cases"]:
            case["new"] = "UNSEEN"
    assert all("UNSEEN" not in render(name, more) for name in FORMATS)


def test_a_hidden_failure_is_told_in_general_words(result):
    first, second, third = student_report(result)["exercises"]
    assert first["message"].startswith("A hidden case fails (unwritten-output). Try inputs of your own: length 1,")
    assert second["message"].startswith("A hidden case fails (out-of-bounds).") and second["line"] is None and result["verdicts"][1]["line"]
    assert 'cannot open source file "nothing_here.h"' in third["message"]
    assert first["hidden"]["of"] >= 2 > 0 and first["hidden"]["passed"] < first["hidden"]["of"]
    assert set(first["counters"]) == {case["name"] for case in first["cases"]}


def test_a_gpus_word_about_a_hidden_case_is_not_passed_on(result):
    more = json.loads(json.dumps(result))
    verdict = more["verdicts"][0] | {"kind": "wrong-values"}
    number = next(n for n, case in enumerate(verdict["cases"], 1) if not case["visible"])
    verdict["message"] = f"Case {number} (another length), on the GPU: y[3] is 0.12345, expected 0.5."
    more["verdicts"][0] = verdict
    assert "0.12345" not in json.dumps(student_report(more))


def test_infrastructure_is_no_fault_of_the_student(result):
    more = json.loads(json.dumps(result))
    more["verdicts"][0] |= {"kind": "infrastructure", "message": "Grading stopped at 'run' (OSError: /secret/path)"}
    assert student_report(more)["exercises"][0]["message"] == NOT_YOURS


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)


def test_hostile_text_stays_text_in_html(result):
    page = Tags()
    page.feed(to_html(student_report(result)))
    assert "script" not in page.tags and set(page.tags) <= set("html head meta title style body h1 h2 p b table tr th td pre ul li".split())


def test_hostile_text_stays_text_in_markdown(result):
    report = student_report(result)
    report["submission"] = "# a <b>\n| x | `y` [z](u)"
    first = to_markdown(report).splitlines()[0]
    assert first == r"# Week: \# a \<b\> \| x \| \`y\` \[z\](u)"
    for line in to_markdown(student_report(result)).splitlines():
        assert not re.search(r"(?<!\\)<", line) or line.startswith("    "), line


def test_the_teacher_reads_seeds_hidden_cases_and_protections(result):
    text = render("teacher", result).replace("\\", "")
    for verdict in result["verdicts"]:
        assert f"seed {verdict['seed']}" in text and verdict["testset"] in text
    assert "hidden 1" in text and "(hidden)" in text and "processor time" in text
