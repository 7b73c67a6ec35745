"""The running state in a verdict: which state is wrong first, and which mistake it looks like."""

from dataclasses import replace

import numpy as np
import pytest

from lanewise.derive import solution_text
from lanewise.exercise import Case, Exercise, Launch, Trace, load
from lanewise.grading.check import check
from lanewise.grading.trace import explain, room
from lanewise.names import Key, find_course

COURSE = find_course()
SPECS = [(key, COURSE.spec(key)) for key in [*COURSE.worked(), *COURSE.exercises()]]
TRACED = [key for key, path in SPECS if path.is_file() and "Trace(" in path.read_text(encoding="utf-8")]
PAIRS = Trace(reference=lambda data: states(data["S"]))  # key tiles of one key each

KERNEL = """\
#include <math_constants.h>
extern "C" __global__ void lse(const float* S, float* LSE, int n, float* trace) {
    float m = -CUDART_INF_F, l = 0.0f;
    S += threadIdx.x * n;
    for (int j = 0; j < n; ++j) {
        float m_new = fmaxf(m, S[j]);
        l = l * expf(m - m_new) + expf(S[j] - m_new);
        m = m_new;
        if (trace != nullptr) {
            trace[(threadIdx.x * n + j) * 2] = m;
            trace[(threadIdx.x * n + j) * 2 + 1] = l;
        }
    }
    LSE[threadIdx.x] = m + logf(l);
}
"""


def states(S):
    """(m, l) of each row after each entry."""
    S = S.astype(np.float64)
    m = np.maximum.accumulate(S, axis=1)
    return np.stack([m, np.stack([np.exp(S[:, : j + 1] - m[:, j, None]).sum(axis=1) for j in range(S.shape[1])], axis=1)], axis=-1)


def case(*rows, name="scores"):
    S = np.array(rows, np.float32)

    def make(rng):
        return {"S": S.copy(), "LSE": np.empty(len(S), np.float32), "n": np.int32(S.shape[1]), "trace": np.uintp(0)}

    return Case(name, make, Launch(1, len(S), "S LSE n trace"))


EXERCISE = Exercise(
    title="Log-sum-exp",
    reference=lambda data: {"LSE": np.log(np.exp(data["S"].astype(np.float64)).sum(axis=1))},
    cases=(case([0, 2, 1]),),
    trace=PAIRS,
    hints=("one", "two"),
    kernel="lse",
    key=Key(10, "x", "lse"),
)


def said(find, put, *cases):
    verdict = check(replace(EXERCISE, cases=cases or EXERCISE.cases), KERNEL.replace(find, put, 1))
    assert verdict.kind == "wrong-values", verdict.message
    return verdict.message


def test_a_right_kernel_is_not_asked_for_its_state():
    assert check(EXERCISE, KERNEL).kind is None


def test_the_first_wrong_state_is_told_with_both_numbers():
    message = said("l * expf(m - m_new)", "l")
    assert message.startswith("Case 1 (scores): LSE[0] is 2.861995, expected 2.407606. ")
    assert "In row 0, after key tile 2: m expected 2, yours 2; l expected 1.135, yours 2." in message


@pytest.mark.parametrize(
    ("find", "put", "says"),
    [
        ("l * expf(m - m_new)", "l", "the old sum not rescaled: when m grows, the old l must shrink by exp(m_old - m_new)."),
        ("l * expf(m - m_new)", "l * (j ? expf(m_new - m) : 0.0f)", "the old sum multiplied by exp(m_new - m_old): the other way round."),
        ("l * expf(m - m_new)", "l * expf(m_new - m)", "after key tile 1: m expected 0, yours 0; l expected 1, yours nan. A NaN: look for inf - inf"),
        ("l * expf(m - m_new) +", "", "after key tile 2: m expected 2, yours 2; l expected 1.135, yours 1. That is the newest part alone"),
        (" + expf(S[j] - m_new)", " + (j == 1 ? 0.0f : expf(S[j] - m_new))", "l expected 1.135, yours 0.1353. That is the old l alone"),
        ("m = m_new;", "m = S[j];", "after key tile 3: m expected 2, yours 1; l expected 1.503, yours 1.503. m fell"),
        ("m = m_new;", "m = fmaxf(m_new, 1.0f);", "m expected 0, yours 1; l expected 1, yours 1. m is the largest score of the keys so far, and starts"),
        ("m + logf(l)", "logf(l)", "The state (m, l) is right after every key tile: look at what else is carried along, and at what comes after the"),
    ],
)
def test_the_usual_mistakes_are_recognised(find, put, says):
    assert says in said(find, put)


def test_a_state_with_its_accumulator_leaves_only_the_end():
    right = np.ones((2, 3, 3))
    assert explain(Trace(lambda data: right, states=("m", "l", "acc")), right.astype(np.float32), right) == (
        "The state (m, l, acc) is right after every key tile: look at what comes after the last one."
    )


def test_an_accumulator_divided_too_early_is_recognised():
    right = np.array([[[0.0, 2.0, 3.0], [0.0, 4.0, 5.0]]])
    yours = right.astype(np.float32)
    yours[0, :, 2] /= yours[0, :, 1]
    words = explain(Trace(lambda data: right, states=("m", "l", "acc")), yours, right)
    assert "after key tile 1" in words and "That is acc divided by l: acc is a sum as l is, and is divided after the last step alone." in words


def test_a_tile_may_be_left_out_where_it_changes_nothing_and_nowhere_else():
    off = -np.inf
    right = np.array([[[off, 0.0], [2.0, 1.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 2.0], [3.0, 1.5]]])
    trace = Trace(lambda data: right)
    _, told = room(trace, {})
    told[0, 1], told[1] = right[0, 1], right[1]
    assert explain(trace, told, right).startswith("The state (m, l) is right after every key tile that the kernel works on: look at")
    _, told = room(trace, {})
    told[0, 1], told[1, :2] = right[0, 1], right[1, :2]
    assert explain(trace, told, right) == "In row 1, key tile 3 is left out, though it has keys that count."


def test_rows_are_told_apart_by_when_their_maximum_comes():
    message = said("l * expf(m - m_new)", "l", case([5, 1, 2], [0, 2, 1]))
    assert "LSE[1] is" in message and "In row 1, after key tile 2" in message
    assert message.endswith("Only rows in which a later key tile has the larger score are wrong.")


def test_a_row_without_keys_is_named():
    off = -np.inf
    masked = replace(EXERCISE, reference=lambda data: {"LSE": np.array([np.log(2.0), off])}, cases=(case([0, 0], [off, off]),))
    masked = replace(masked, trace=Trace(lambda data: np.array([[[0, 1], [0, 2]], [[off, 0], [off, 0]]])))
    message = check(masked, KERNEL).message
    assert "In row 1, after key tile 1: m expected -inf, yours -inf; l expected 0, yours nan. No key is allowed so far" in message
    assert message.endswith("Only fully masked rows are wrong.")


def test_a_kernel_that_tells_nothing_is_judged_by_its_values_alone():
    silent = KERNEL.replace("if (trace != nullptr)", "if (false)")
    verdict = check(EXERCISE, silent.replace("m + logf", "logf"))
    assert verdict.kind == "wrong-values" and "key tile" not in verdict.message and "state" not in verdict.message


def test_a_fault_in_the_traced_launch_leaves_the_message_as_it_was():
    astray = KERNEL.replace("trace[(threadIdx.x * n + j) * 2]", "trace[-1]").replace("m + logf", "logf")
    verdict = check(EXERCISE, astray)
    assert verdict.kind == "wrong-values" and "key tile" not in verdict.message


@pytest.mark.slow
@pytest.mark.parametrize("key", TRACED, ids=str)
def test_the_course_kernels_tell_the_states_of_their_references(key):
    """The states that a learner's kernel is held against are those of the solution and of the worked kernel."""
    from lanewise import simt

    described = load(key, COURSE)
    path = COURSE.solution(key) if key.is_exercise else COURSE.kernel(key)
    kernel = simt.compile(solution_text(path.read_text(encoding="utf-8"))).kernel(described.kernel)
    for given in described.cases:
        data = given.data()
        expected, told = room(described.trace, data)
        launch = given.launch_for(data)
        kernel.launch(launch.grid, launch.block, [told if name == described.trace.name else data[name] for name in launch.names], launch.shared_bytes)
        words = explain(described.trace, told, expected, described.rtol if given.rtol is None else given.rtol)
        assert f"is right after every {described.trace.step}" in words, (given.name, words)
