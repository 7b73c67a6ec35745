"""Which of the rows at which a softmax breaks are among each exercise's hidden cases: rising, falling, all negative, more than 200 apart, constant, masked.

`LACKING` lists what isn't there, so that neither an exercise loses a kind of row nor gains one unnoticed.
"""

import numpy as np
import pytest

from lanewise.exercise import load_exercise
from lanewise.names import find_course

COURSE = find_course()
SECRETS = (1, 20261204)
KINDS = {
    "rises": lambda S: (np.diff(S, axis=-1) > 0).all(axis=-1),
    "falls": lambda S: (np.diff(S, axis=-1) < 0).all(axis=-1),
    "is negative": lambda S: (S < 0).all(axis=-1),
    "lies apart": lambda S: S.max(axis=-1) - S.min(axis=-1) > 200,
    "is constant": lambda S: np.ptp(S, axis=-1) < 1e-3,
}
KEYS_FIRST = ("ch10a", "ch10c")  # S: (keys, rows)
SOFTMAX = [key for key in COURSE.exercises() if 9 <= key.number <= 14 and key.short not in ("ch09a", "ch09c", "ch10d", "ch11a")]
MASKED = ("ch13c", "ch13d", "ch14a", "ch14b", "ch14c", "ch16b", "ch16c")
ALL = set(KINDS)
LACKING = {
    "ch12f": ALL,  # its subject is bytes
    "ch14a": ALL, "ch14b": ALL, "ch14c": ALL, "ch14d": ALL,  # their subject is where heads and sequences lie; rows are chapter 13's
}  # fmt: skip


def hidden_data(key):
    for secret in SECRETS:
        exercise = load_exercise(key, COURSE).with_hidden(secret)
        for case in exercise.cases:
            if case.name.startswith("hidden"):
                yield exercise, case.data(secret)


def scores(key, data):
    """(…, rows, keys) with more than two keys, or None."""
    if "S" in data:
        S = data["S"].T if key.short in KEYS_FIRST else data["S"]
    elif data["Q"].ndim == 2:
        S = data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T * float(data.get("scale", data["Q"].shape[1] ** -0.5))
    else:
        return None
    return S if S.shape[-1] > 2 else None


@pytest.mark.parametrize("key", SOFTMAX, ids=lambda key: key.short)
def test_every_kind_of_row_is_hidden_somewhere(key):
    found = set()
    for _, data in hidden_data(key):
        if (S := scores(key, data)) is not None:
            found |= {kind for kind, holds in KINDS.items() if holds(S).any()}
    assert set(KINDS) - found == LACKING.get(key.short, set())


@pytest.mark.parametrize("short", MASKED)
def test_a_row_that_sees_no_key_is_hidden_where_there_are_masks(short):
    found = False
    for exercise, data in hidden_data(COURSE.exercise(short)):
        LSE = exercise.reference(data).get("LSE", data["LSE"])
        found |= bool(np.isneginf(LSE).any())
    assert found


@pytest.mark.parametrize("key", [key for key in COURSE.exercises() if key.number <= 16], ids=lambda key: key.short)
def test_hidden_cases_come_in_several_shapes_and_differ_by_the_secret(key):
    exercise = load_exercise(key, COURSE)
    assert exercise.variation is not None
    names = [[case.name for case in exercise.with_hidden(secret).cases if case.name.startswith("hidden")] for secret in range(6)]
    assert all(names), "no secret is without hidden cases"
    first = [case.data(5) for case in exercise.with_hidden(0).cases if case.name.startswith("hidden")]
    other = [case.data(6) for case in exercise.with_hidden(0).cases if case.name.startswith("hidden")]
    assert any(not np.array_equal(a[name], b[name]) for a, b in zip(first, other, strict=True) for name in a if isinstance(a[name], np.ndarray))
