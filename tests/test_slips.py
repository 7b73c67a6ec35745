"""The usual mistakes that exercises describe: each leaves values of its own, and a wrong variant is told each."""

import numpy as np
import pytest

from lanewise.exercise import Case, Exercise, Launch, Slip, load_exercise, load_wrong
from lanewise.grading.check import check
from lanewise.grading.compare import wrong_elements
from lanewise.grading.slips import named_slip
from lanewise.names import find_course

COURSE = find_course()
DESCRIBED = {str(key): load_exercise(key, COURSE) for key in COURSE.exercises()}
SLIPS = [pytest.param(name, number, id=f"{name}-{number}") for name, exercise in DESCRIBED.items() for number in range(len(exercise.slips))]

KERNEL = """extern "C" __global__ void twice(const float* x, float* y, float* z) {
    y[threadIdx.x] = 3.0f * x[threadIdx.x];
    z[threadIdx.x] = x[threadIdx.x];
}"""


def data(rng):
    return {"x": rng.standard_normal(32, dtype=np.float32), "y": np.empty(32, np.float32), "z": np.empty(32, np.float32)}


def exercise(*slips, atol=1e-6):
    case = Case("32 numbers", data, Launch(1, 32, "x y z"))
    return Exercise(
        title="twice",
        reference=lambda data: {"y": 2.0 * data["x"].astype(np.float64), "z": data["x"].astype(np.float64)},
        cases=(case,),
        slips=slips,
        hints=("?", "!"),
        kernel="twice",
        atol=atol,
    )


def times(factor, says):
    return Slip(says, lambda data: {"y": factor * data["x"].astype(np.float64)})


def test_the_first_slip_that_fits_is_named_after_the_values():
    slips = (times(4, "Four times."), times(3, "Three times."), times(3.0, "Never said."))
    message = check(exercise(*slips), KERNEL).message
    assert message.startswith("Case 1 (32 numbers): y[0] is ")
    assert message.endswith("Three times.")
    assert "Never said." not in message and "Four times." not in message


def test_a_slip_that_does_not_fit_or_leaves_right_values_says_nothing():
    assert "Four times." not in check(exercise(times(4, "Four times.")), KERNEL).message
    same = Slip("z is x.", lambda data: {"z": data["x"].astype(np.float64)})
    assert "z is x." not in check(exercise(same), KERNEL).message, "z is right, so it isn't what is wrong"
    both = Slip("y thrice, z once.", lambda data: {"y": 3.0 * data["x"].astype(np.float64), "z": data["x"].astype(np.float64)})
    assert check(exercise(both), KERNEL).message.endswith("y thrice, z once.")
    other = Slip("y thrice, z twice.", lambda data: {"y": 3.0 * data["x"].astype(np.float64), "z": 2.0 * data["x"].astype(np.float64)})
    assert "z twice" not in check(exercise(other), KERNEL).message


def test_the_advice_that_follows_from_the_place_gives_way_to_a_slip():
    one = exercise(Slip("That is the slip.", lambda data: {"y": np.where(np.arange(64) < 32, data["y"], 0.0)}))
    inputs, got, expected = {"y": np.ones(64)}, {"y": np.where(np.arange(64) < 32, 1.0, 0.0)}, {"y": np.ones(64)}
    assert named_slip(one, one.cases[0], inputs, got, expected) == "That is the slip."


def test_rounding_grows_with_the_numbers_of_a_slip():
    large = Slip("Large.", lambda data: {"y": np.full(4, 1000.0)})
    one = exercise(large, atol=1e-3)
    expected = {"y": np.ones(4)}
    assert named_slip(one, one.cases[0], {}, {"y": np.full(4, 1000.5)}, expected) == "Large."
    assert named_slip(one, one.cases[0], {}, {"y": np.full(4, 1002.0)}, expected) == ""


@pytest.mark.parametrize(("name", "number"), SLIPS)
def test_a_slip_gives_outputs_of_its_own(name, number):
    """Of the right shapes in every case, hidden ones too; in one visible case at least they are none of the right ones, and no other slip's."""
    described = DESCRIBED[name]
    slip, told = described.slips[number], False
    for case in described.with_hidden(20261204).cases:
        rtol, atol = (described.rtol if case.rtol is None else case.rtol), (described.atol if case.atol is None else case.atol)
        inputs = case.data()
        expected = described.reference(case.data())
        before = {key: np.asarray(value).tobytes() for key, value in inputs.items()}
        with np.errstate(all="ignore"):
            given = slip.gives(inputs)
        assert {key: np.asarray(value).tobytes() for key, value in inputs.items()} == before
        assert given and given.keys() <= expected.keys()
        assert {key: values.shape for key, values in given.items()} == {key: np.shape(expected[key]) for key in given}
        got = {key: np.asarray(values, dtype=inputs[key].dtype) for key, values in {**expected, **given}.items()} if case.visible else {}
        told |= (
            case.visible
            and any(wrong_elements(got[key], expected[key], rtol, atol).any() for key in given)
            and (named_slip(described, case, inputs, got, expected) == slip.says)
        )
    assert told, "in every visible case it leaves right values, or another slip's"


@pytest.mark.parametrize(("name", "number"), SLIPS)
def test_a_wrong_variant_makes_the_slip(name, number):
    """tests/test_exercises.py holds that the variant's message is the one it names; here, that it is this slip's alone."""
    says = [slip.says for slip in DESCRIBED[name].slips]
    named = [variant.says for variant in load_wrong(next(key for key in COURSE.exercises() if str(key) == name), COURSE) if variant.says in says[number]]
    assert any(text and sum(text in other for other in says) == 1 for text in named), f"no variant in tests/wrong/{name}.py is told: {says[number]}"
