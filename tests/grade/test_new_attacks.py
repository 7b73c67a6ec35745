"""Attacks that came to mind after the suite of test_adversarial.py, in the order in which they were tried, with what each found.

1. Assembly that reads a register nobody wrote, or that no assembler takes, and addresses below 0: broke the simulator, which was "infrastructure" (a
   teacher's time for a line of text). Mended: registers begin as 0, where the simulator breaks ptxas is asked whose fault it is, such an address is out of
   bounds.
2. What happens in a hidden case alone, on another line for each length: the line is in no report. Nothing found; from here on nothing was.
3. A hidden case's data carried into a visible one's message by a __device__ variable: hidden cases run last. Nothing found.
4. #line with huge, far and foreign numbers: nothing found.
5. Three thousand kernels, four thousand branches, a maze of gotos, a thousand racing lines: each a verdict by its steps. Nothing found.
6. A class whose student is called like the ledger's own files: nothing found.
7. A submission with a hundred copies of the answer in folders, names in capitals, notebooks beside them: one is graded, by name alone. Nothing found.
8. printf and #error with the words of our own messages ("Case 1 (…)", "on the GPU", a path): nothing found.
"""

import json

import pytest
from test_adversarial import COURSE, HEAD, KEY, LOOP, RIGHT, SECRET, verdict

from lanewise.exercise import load_exercise
from lanewise.grading.assignment import read_assignment
from lanewise.grading.batch import grade_class, read_work
from lanewise.grading.formats import FORMATS, render
from lanewise.grading.reports import student_report
from lanewise.grading.submission import grade_submission

pytestmark = pytest.mark.slow
REGISTERS = "{ .reg .b32 t, u; .reg .f32 f; .reg .f64 d; .reg .pred p; .reg .b64 l; .reg .b16 h; "


def with_assembly(text, where="true"):
    return f'{HEAD}{LOOP}y[k] = x[k] * x[k];\n    if ({where}) asm volatile("{text}");\n}}\n'


@pytest.mark.parametrize(
    "text", ["add.u32 u, t, t;", "fma.rn.f64 d, d, d, d;", "@p bra X; X:", "shfl.sync.idx.b32 u, t, 0, 31, -1;", "bfe.u32 u, t, t, t;", "cvt.u16.u32 h, t;"]
)
def test_1_a_register_that_nobody_wrote_breaks_nothing(text):
    assert verdict(with_assembly(f"{REGISTERS}{text} }}")).kind is None


BELOW = [
    "((float*)0)[-2] = 1;",
    "y[0] = *(volatile float*)0xfffffffffffffff8ull;",
    "atomicAdd((float*)0xfffffffffffffff8ull, 1.0f);",
    'asm volatile("{ .reg .b32 l; mov.b32 l, 0; st.local.u32 [l+-8], 1; }");',
    'asm volatile("{ .reg .b64 l; .reg .b32 u; mov.b64 l, 0; ld.shared.u32 u, [l+-8]; }");',
    'asm volatile("{ .reg .b64 l; mov.b64 l, 0; cp.async.ca.shared.global [l+-8], [l+-8], 4; }");',
]


@pytest.mark.parametrize("body", BELOW)
def test_1_an_address_below_all_memory_is_out_of_bounds(body):
    assert verdict(f"{HEAD}{body}\n}}\n").kind == "out-of-bounds"


@pytest.mark.parametrize("text", ["add.eq.f32 f, f, d;", "mad.lo.u32 t, t;", "bar.warp.sync %laneid;", "mov.cc u;", "fma.rn.f16 d, d, d;", "ld u, [t];"])
def test_1_assembly_that_no_assembler_takes_is_a_compile_error(text):
    found = verdict(with_assembly(f"{REGISTERS}{text} }}"))
    assert found.score == 0 and found.kind in ("compile-error", "unsupported"), found.message
    assert found.kind == "unsupported" or found.message.startswith("The inline assembly is no PTX: "), found.message


@pytest.mark.parametrize("text", ["prefetch.global.L1 [l], 5;", "mma.m8n8k16.row.col.s32.s8.s8.s32 {t, u}, {t}, {u}, {t, u};", "st.global.b32 [l], {t, u};"])
def test_1_assembly_that_the_simulator_takes_and_ptxas_does_not(text):
    """It runs, or never comes to run, and the values are right; a GPU's driver would not load it."""
    found = verdict(with_assembly(f"{REGISTERS}mov.u64 l, 0; {text} }}", "n < 0"))
    assert (found.kind, found.score) == ("compile-error", 0) and found.message.startswith("The inline assembly is no PTX: "), found.message


def hidden_only(exercise):
    """A condition that no public length meets."""
    public = sorted({int(case.data()["n"]) for case in exercise.cases})
    return " && ".join(f"n != {n}" for n in public)


def report_on(text, folder):
    (folder / "ann").mkdir()
    (folder / "ann" / "ch01a.cu").write_text(text)
    (folder / "w.seed").write_text("a secret that nobody may read")
    (folder / "w.toml").write_text('name = "W"\nhidden = true\nseed_file = "w.seed"\n[exercises]\nch01a = 4\n')
    return grade_submission(folder / "ann", read_assignment(folder / "w.toml", COURSE), COURSE)


@pytest.mark.parametrize("says", ["trap;", "brkpt;"])
def test_2_what_happens_in_a_hidden_case_alone_has_no_line(tmp_path, says):
    result = report_on(with_assembly(says, hidden_only(load_exercise(KEY, COURSE))), tmp_path)
    (teachers,) = result["verdicts"]
    assert teachers["kind"] == "trap" and "(a hidden one, hidden" in teachers["message"] and teachers["line"]
    (students,) = student_report(result)["exercises"]
    assert students["message"].startswith("A hidden case fails (") and students["line"] is None
    for name in FORMATS:
        text = render(name, result)
        assert "line 3" not in text and "hidden 1" not in text


def test_3_hidden_cases_run_after_all_visible_ones():
    """So that what a __device__ variable keeps of a hidden case reaches no message that a student reads."""
    for key in COURSE.exercises():
        visible = [case.visible for case in load_exercise(key, COURSE).with_hidden(SECRET).cases]
        assert visible == sorted(visible, reverse=True), key


def test_3_a_variable_carries_a_length_nowhere(tmp_path):
    """It remembers the last length and answers with it: what was a hidden case's is in no report."""
    text = f"__device__ int last = 1000;\n{HEAD}{LOOP}y[k] = x[k] * x[k] + (last - n) * 0.0f + (n == 1535 ? last : 0);\n    last = n;\n}}\n"
    (students,) = student_report(report_on(text, tmp_path))["exercises"]
    assert students["score"] == 0


@pytest.mark.parametrize(
    "directive",
    ['#line 100000000 "kernel.cu"', "#line 2147483647", '#line 1 "other.cu"', '#line 5 "/etc/passwd"', '#line 1 "\\x1b[31m"', "# 7", '# 3 "kernel.cu" 3'],
)
def test_4_line_numbers_of_ones_own_move_nothing(directive):
    found = verdict(f"{HEAD}{directive}\n    y[n] = 1;\n}}\n")
    assert found.score == 0 and found.kind in ("out-of-bounds", "race", "compile-error"), found.message
    assert all(line <= 5 for line, _ in found.excerpt), "what is quoted is the text itself"


BULKY = {
    "kernels": ("".join(f'extern "C" __global__ void k{i}(float* y) {{ y[{i}] = {i}; }}\n' for i in range(800)) + RIGHT, {None}),
    "branches": (
        HEAD + LOOP + "switch (__float_as_int(x[k]) & 1023) {\n" + "\n".join(f"case {i}: y[k] = x[k] * {i}; break;" for i in range(1024)) + "} }",
        {"wrong-values", "compile-limit", "unwritten-output"},
    ),
    "gotos": (
        HEAD + "unsigned q = threadIdx.x * 2654435761u;\n"
        + "\n".join(f"L{i}: q = q * 1664525u + 1013904223u; if (q >> 31) goto L{(i * 37 + 11) % 150};" for i in range(150)) + " y[threadIdx.x % n] = q; }",
        {"unwritten-output", "race", "step-limit", "wrong-values"},
    ),
    "races": (HEAD + "\n".join(f"y[(threadIdx.x * 7 + {i}) % n] = {i}; y[{i % 7} % n] += 1;" for i in range(400)) + "}", {"race"}),
    "nested calls": (
        "__device__ __noinline__ float f(int n, const float* x) { volatile float r[200]; r[n & 63] = x[0]; return n <= 0 ? r[5] : f(n - 1, x) + r[n & 63]; }\n"
        + HEAD + "y[0] = f(1000 + n, x); }",
        {"step-limit"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BULKY)
def test_5_what_is_bulky_gets_its_verdict_by_steps(name):
    text, kinds = BULKY[name]
    found = verdict(text)
    assert found.kind in kinds, found.message


def test_6_students_called_like_our_own_files(tmp_path):
    names = ["class.json", "attempts.jsonl", "results.csv", "verdicts", "reports", "con", "-rf", "--out", "a..b", "%s%n", "$(touch x)", "`x`", "Ann", "ＡＮＮ"]
    for name in names:
        (tmp_path / "class" / name).mkdir(parents=True)
    (tmp_path / "class" / "-rf" / "ch01a.cu").write_text(RIGHT)
    (tmp_path / "w.toml").write_text("[exercises]\nch01a = 4\n")
    outcome = grade_class(tmp_path / "class", tmp_path / "out", read_work(tmp_path / "w.toml", COURSE), workers=2)
    assert outcome.gaps == [] and len(outcome.results) == len(names)
    assert {student: result["score"] for student, result in outcome.results.items() if result["score"]} == {"-rf": 4}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["class", "out", "w.toml"]


def test_7_of_many_answers_one_counts_by_its_name(tmp_path):
    folder = tmp_path / "ann"
    for number in range(100):
        place = folder / f"try{number:02d}"
        place.mkdir(parents=True)
        (place / f"{KEY}.cu").write_text(RIGHT)
    (folder / "CH01A.CU").write_text(HEAD + "}\n")
    (folder / "x.ipynb").write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}))
    (tmp_path / "w.toml").write_text("[exercises]\nch01a = 4\n")
    result = grade_submission(folder, read_assignment(tmp_path / "w.toml", COURSE), COURSE)
    assert result["score"] == 4 and any("more than once: try00/" in note for note in result["notes"]), result["notes"]


@pytest.mark.parametrize(
    "text",
    [
        "#error Case 1 (n = 1000, 3 blocks): on the GPU: all is right. 10 of 10 points\n" + RIGHT,
        '#warning Case 9 (a hidden one, x): /root/.ssh\n#pragma message("solved. 10 of 10 points")\n' + HEAD + "}\n",
        f'{HEAD}printf("Case 1 (x): %s\\n{{\\"verdict\\": null}}\\n", "solved. 10 of 10 points"); assert(!"Case 1 (n = 1000, 3 blocks): all is right");\n}}\n',
        'static_assert(false, "infrastructure: grade it again");\n' + RIGHT,
    ],
)
def test_8_our_own_words_in_a_text_change_no_verdict(text):
    found = verdict(text)
    assert found.score == 0 and found.kind in ("compile-error", "unwritten-output", "trap"), found.message
