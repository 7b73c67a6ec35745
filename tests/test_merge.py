"""Joining parts of a softmax is exact: associative, commutative, and an empty part changes nothing. Properties of chapter 11's kernels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lanewise import simt
from lanewise.derive import solution_text
from lanewise.names import find_course

COURSE = find_course()
ROWS = 16


def kernel(word, slug):
    key = COURSE.any_kernel(word)
    path = COURSE.solution(key) if key.is_exercise else COURSE.kernel(key)
    return simt.compile(solution_text(path.read_text(encoding="utf-8"))).kernel(slug)


@pytest.fixture(scope="module")
def join():
    """(a, b) → their joined state by the solution of ch11a; a state is m (rows), l (rows), o (rows, 32)."""
    pair = kernel("ch11a", "merge_pair")

    def run(a, b):
        out = (np.empty(ROWS, np.float32), np.empty(ROWS, np.float32), np.empty((ROWS, 32), np.float32))
        report = pair.launch(ROWS, 32, [*a, *b, *map(simt.Output, out)])
        assert report.ok, report.findings
        return out

    return run


@st.composite
def states(draw, count):
    """`count` states of ROWS rows with maxima up to `spread` apart; some rows of some states are empty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread, share = draw(st.sampled_from([0.0, 1.0, 30.0, 300.0])), draw(st.sampled_from([0.0, 0.3, 1.0]))
    made = []
    for _ in range(count):
        m = (spread * rng.standard_normal(ROWS)).astype(np.float32)
        l, o = rng.uniform(1, 100, ROWS).astype(np.float32), rng.standard_normal((ROWS, 32), dtype=np.float32)  # noqa: E741
        empty = rng.random(ROWS) < share
        m[empty], l[empty], o[empty] = -np.inf, 0, 0
        made.append((m, l, o))
    return made


def assert_near(a, b):
    assert np.array_equal(a[0], b[0])  # a maximum isn't rounded
    assert np.allclose(a[1], b[1], rtol=2e-6, atol=0)
    assert np.allclose(a[2], b[2], rtol=2e-6, atol=4e-6)


@settings(deadline=None, max_examples=12)
@given(states(3))
def test_the_order_of_joining_makes_no_difference(join, abc):
    a, b, c = abc
    assert_near(join(join(a, b), c), join(a, join(b, c)))
    assert_near(join(a, b), join(b, a))


@settings(deadline=None, max_examples=12)
@given(states(1))
def test_an_empty_part_changes_nothing(join, only):
    (a,) = only
    empty = (np.full(ROWS, -np.inf, np.float32), np.zeros(ROWS, np.float32), np.zeros((ROWS, 32), np.float32))
    for joined in (join(a, empty), join(empty, a)):
        assert np.array_equal(joined[0], a[0]) and np.array_equal(joined[1], a[1])
        assert_near(joined, a)


@settings(deadline=None, max_examples=12)
@given(st.integers(1, 100), st.integers(1, 60), st.integers(0, 2**32 - 1), st.sampled_from([1.0, 30.0]))
def test_cutting_the_keys_anywhere_gives_the_whole_softmax(keys, size, seed, spread):
    rng = np.random.default_rng(seed)
    S = (spread * rng.standard_normal((2, keys))).astype(np.float32)
    V = rng.standard_normal((keys, 32), dtype=np.float32)
    parts = -(-keys // size) + 1  # the last one is empty
    m, l, o = np.empty((2, parts), np.float32), np.empty((2, parts), np.float32), np.empty((2, parts, 32), np.float32)  # noqa: E741
    O, LSE = np.empty((2, 32), np.float32), np.empty(2, np.float32)  # noqa: E741
    kernel("ch11_part", "part").launch((2, parts), 32, [S, V, m, l, o, np.int32(keys), np.int32(size)]).raise_if_faulty()
    kernel("ch11_merge", "merge").launch(2, 32, [m, l, o, O, LSE, np.int32(parts), np.uintp(0)]).raise_if_faulty()
    exact = S.astype(np.float64)
    p = np.exp(exact - exact.max(axis=1, keepdims=True))
    assert np.allclose(O, p @ V / p.sum(axis=1, keepdims=True), rtol=2e-5, atol=2e-5)
    assert np.allclose(LSE, exact.max(axis=1) + np.log(p.sum(axis=1)), rtol=2e-6, atol=4e-6)
