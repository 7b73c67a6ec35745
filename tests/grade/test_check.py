"""The one check: which verdict for which fault, with its line, its words and its points."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from lanewise.exercise import AtLeast, Budget, Case, Exercise, Launch, ceil_div
from lanewise.grading.check import check, over_budget
from lanewise.names import Key

KERNEL = """\
extern "C" __global__ void twice(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = 2.0f * x[i];
    }
}
"""


def data(n):
    return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "out": np.empty(n, np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(data["x"].size, 64), 64, "x out n")


TWICE = Exercise(
    title="Twice",
    reference=lambda data: {"out": 2.0 * data["x"].astype(np.float64)},
    cases=(Case("full", data(128), launch), Case("ragged", data(100), launch), Case("secret length", data(70), launch, visible=False)),
    budget=Budget("full", "128 floats are 16 sectors", global_load_sectors=16),
    hints=("one", "two"),
    points=4,
    kernel="twice",
    key=Key(5, "b", "twice"),
)


def test_a_right_kernel_earns_all():
    verdict = check(TWICE, KERNEL)
    assert (verdict.key, verdict.kind, verdict.message, verdict.line, verdict.score, verdict.max_score) == ("ch05b_twice", None, "", None, 4, 4)
    assert [(case.name, case.passed, case.visible, case.message) for case in verdict.cases] == [
        ("full", True, True, ""),
        ("ragged", True, True, ""),
        ("secret length", True, False, ""),
    ]


@pytest.mark.parametrize(
    ("find", "put", "kind", "line", "says"),
    [
        ("2.0f * x[i];", "2.0f * x[i]", "compile-error", 5, ";"),
        ("twice", "thrice", "kernel-not-found", None, "thrice"),
        ('extern "C" ', "", "kernel-not-found", None, 'extern "C"'),
        ("if (i < n)", "if (true)", "out-of-bounds", 4, "x[100]"),
        ("if (i < n)", "if (i < n - 1)", "unwritten-output", None, "out[127]"),
        ("2.0f * x[i]", "3.0f * x[i]", "wrong-values", None, "1.5 times what it should be"),
        ("const float* x, float* out, int n", "const double* x, float* out, int n", "argument-mismatch", None, "x"),
        ("out[i] = 2.0f", "((float*)x)[i] = 1.0f; out[i] = 2.0f", "wrong-values", None, "x is an input, but x[0] was changed from "),
        ("{\n        out", "{\n        while (x[i] == x[i]) ;\n        out", "step-limit", None, ""),
    ],
)
def test_the_first_cause_is_named(find, put, kind, line, says):
    text = KERNEL.replace(find, put, 1)
    verdict = check(TWICE, text)
    assert verdict.kind == kind, verdict.message
    assert says in verdict.message
    assert line is None or verdict.line == line
    assert verdict.score == 0 and verdict.max_score == 4
    if line is not None:
        assert text.splitlines()[line - 1].strip() in str(verdict)


def test_wrong_values_are_index_got_expected_and_where_they_cluster():
    verdict = check(TWICE, KERNEL.replace("2.0f", "(i < 64 ? 2.0f : 1.0f)"))
    x = TWICE.cases[0].data()["x"]
    assert verdict.message == (
        f"Case 1 (full): out[64] is {x[64]:.7g}, expected {2 * x[64]:.7g}; "
        "64 of 128 elements are wrong, all in the last block of 64 (from 64 on). Look at what the last block's threads do."
    )


def test_nan_is_wrong():
    assert check(TWICE, KERNEL.replace("2.0f * x[i]", "2.0f * x[i] + 0.0f / (x[i] - x[i])")).kind == "wrong-values"


def test_a_race_is_found_although_the_values_are_right():
    shared = KERNEL.replace("    if (i < n) {\n        out[i] = 2.0f * x[i];", "    __shared__ float s[64];\n    s[threadIdx.x] = i < n ? x[i] : 0.0f;\n"
                            "    float y = s[63 - threadIdx.x];\n    y = s[threadIdx.x] + 0.0f * y;\n    if (i < n) {\n        out[i] = 2.0f * y;")
    verdict = check(TWICE, shared)
    assert verdict.kind == "race" and "s[" in verdict.message and verdict.score == 0


def test_only_the_budget_is_missed_so_half_the_points_remain():
    wasteful = KERNEL.replace("x[i];", "x[i] + 0.0f * (x[(i + 8) % n] + x[(i + 16) % n]);")
    verdict = check(TWICE, wasteful)
    assert verdict.kind == "over-budget"
    assert verdict.message.startswith("Case 1 (full): global_load_sectors is ")
    assert "at most 16 is the budget: 128 floats are 16 sectors." in verdict.message and "Most of it is on line 4." in verdict.message
    assert (verdict.score, verdict.line) == (2.0, 4)
    assert check(replace(TWICE, budget_share=1.0), wasteful).score == 0
    assert [case.passed for case in verdict.cases] == [False, True, True]


def test_wrong_values_come_before_the_budget():
    assert check(TWICE, KERNEL.replace("2.0f * x[i]", "x[i] + x[(i + 8) % n]")).kind == "wrong-values"


def test_later_cases_are_run_unless_the_kernel_never_ends():
    ragged = check(TWICE, KERNEL.replace("if (i < n)", "if (true)"))
    assert [case.passed for case in ragged.cases] == [True, False, False]
    endless = check(TWICE, KERNEL.replace("out[i] =", "while (((const volatile float*)x)[0] < 99) ;\n        out[i] ="))
    assert [case.message for case in endless.cases][1:] == ["not run: the case before never ended"] * 2


def test_the_first_case_that_is_wrong_may_be_the_last_that_is_run():
    ragged = KERNEL.replace("if (i < n)", "if (n != 64)")
    whole, short = check(TWICE, ragged), check(TWICE, ragged, to_the_end=False)
    assert (short.kind, short.message, short.line, short.score) == (whole.kind, whole.message, whole.line, whole.score)
    assert "is wrong" not in "".join(case.message for case in whole.cases)
    first = [case.passed for case in whole.cases].index(False)
    assert [case.message for case in short.cases][first + 1 :] == ["not run: the case before is wrong"] * (len(whole.cases) - first - 1)
    dear = KERNEL.replace("x[i];", "x[i] + 0.0f * (x[(i + 8) % n] + x[(i + 16) % n]);")  # over budget: what is wrong comes before, in whichever case
    assert check(TWICE, dear, to_the_end=False).cases == check(TWICE, dear).cases


def test_a_hidden_case_says_that_it_is_one():
    verdict = check(TWICE, KERNEL.replace("if (i < n)", "if (i < n && n != 70)"))
    assert verdict.kind == "unwritten-output" and verdict.message.startswith("Case 3 (a hidden one, secret length): ")


def test_updates_start_from_the_cases_content():
    kernel = 'extern "C" __global__ void twice(float* y, int n) {\n    int i = threadIdx.x;\n    if (i < n) y[i] += 1.0f;\n}\n'
    case = Case("in place", lambda rng: {"y": rng.standard_normal(40, dtype=np.float32), "n": np.int32(40)}, Launch(1, 64, "y n"))
    plus = replace(TWICE, reference=lambda data: {"y": data["y"].astype(np.float64) + 1}, cases=(case,), updates=("y",), budget=())
    assert check(plus, kernel).kind is None
    assert check(plus, kernel.replace("+=", "=")).kind == "wrong-values"
    assert check(replace(plus, updates=()), kernel).kind == "uninitialised-read"


def test_a_case_may_ask_for_more_shared_memory_than_the_default():
    text = KERNEL.replace("2.0f * x", "s[threadIdx.x + 12288] * x")
    text = text.replace("    if (", "    extern __shared__ float s[];\n    s[threadIdx.x + 12288] = 2.0f;\n    if (")
    case = Case("49,408 bytes", data(64), Launch(1, 64, "x out n", shared_bytes=4 * (12288 + 64)))
    assert check(replace(TWICE, cases=(case,), budget=()), text).kind is None


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({"barriers": 3}, "barriers is 4, at most 3 is the budget: two rounds. Most of it is on line 7."),
        ({"active_lane_ratio": AtLeast(0.9)}, "active_lane_ratio is 0.5, at least 0.9 is the budget: two rounds."),
        ({"barriers": 4, "active_lane_ratio": AtLeast(0.5), "flops": 0}, None),
    ],
)
def test_a_budget_is_a_bound_on_exact_counters_alone(limits, says):
    line = SimpleNamespace(barriers=4, active_lane_ratio=0.5, warp_instructions=9)
    other = SimpleNamespace(barriers=0, active_lane_ratio=1.0, warp_instructions=9)
    report = SimpleNamespace(counters=SimpleNamespace(barriers=4, active_lane_ratio=0.5, flops=None), by_line={3: other, 7: line})
    failure = over_budget(Budget("full", "two rounds", **limits), report)
    assert (failure.message if failure else None) == says
    assert failure is None or (failure.kind, failure.line) == ("over-budget", 7)


def test_a_launch_that_names_no_data_is_a_fault_of_the_course():
    case = Case("typo", data(8), Launch(1, 8, "x oout n"))
    with pytest.raises(ValueError, match="a launch names 'oout', which the case's data doesn't have; it has x, out, n"):
        check(replace(TWICE, cases=(case,), budget=()), KERNEL)


def test_data_is_the_same_for_one_seed_and_another_for_another():
    case = TWICE.cases[0]
    assert np.array_equal(case.data(7)["x"], case.data(7)["x"])
    assert not np.array_equal(case.data(7)["x"], case.data(8)["x"])
    assert not np.array_equal(case.data(7)["x"][:100], TWICE.cases[1].data(7)["x"])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cases": ()}, "it has no case"),
        ({"cases": TWICE.cases[:1] * 2}, "two cases are called 'full'"),
        ({"budget": Budget("ful", "why", flops=1)}, "a budget speaks of the case 'ful', which isn't there"),
        ({"budget": Budget("full", " ", flops=1)}, "the budget of 'full' doesn't say why"),
        ({"hints": ("one",)}, "it has 1 hints, two are wanted"),
        ({"points": 0}, "its points are below 1"),
        ({"cases": TWICE.cases[2:]}, "no case is visible"),
    ],
)
def test_a_description_that_makes_no_sense_says_so(change, says):
    assert says in replace(TWICE, **change).problems()
    assert TWICE.problems() == []
