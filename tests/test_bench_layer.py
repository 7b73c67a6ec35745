"""What the attention ladders share: the right answer in float64, and turns whose order hides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import pytest

from lanewise.bench import duel, layer


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("Nq", "Nk"), [(1, 1), (5, 9), (9, 5)])
def test_the_right_answer_is_each_rows_own_mean(Nq: int, Nk: int, causal: bool) -> None:
    q, k, v = layer.random(np, (4, Nq, 8), 1), layer.random(np, (2, Nk, 8), 2), layer.random(np, (2, Nk, 8), 3)
    assert q.dtype == np.float16
    o, lse = layer.exact(np, q, k, v, causal)
    for head in range(4):
        for row in range(Nq):
            seen = min(Nk, row + Nk - Nq + 1) if causal else Nk  # keys of this row
            if seen <= 0:
                assert not o[head, row].any() and lse[head, row] == -np.inf
                continue
            weights = np.exp(k[head // 2, :seen].astype(float) @ q[head, row].astype(float) / np.sqrt(8))
            np.testing.assert_allclose(o[head, row], weights @ v[head // 2, :seen].astype(float) / weights.sum(), rtol=1e-12)
            np.testing.assert_allclose(lse[head, row], np.log(weights.sum()), rtol=1e-12, atol=1e-14)


def test_an_error_that_is_not_a_number_is_above_every_limit() -> None:
    right = np.ones((1, 2, 3))
    assert layer.relative(np, right, right) == 0 and layer.relative(np, 1.5 * right, right) == 0.5
    o, lse = layer.poisoned(np, right.astype(np.float16))
    assert np.isnan(o).all() and np.isnan(lse).all() and (lse.shape, lse.dtype) == ((1, 2), np.float32)
    assert not layer.relative(np, o, right) <= 1e9


def test_flops_count_the_pairs_that_are_not_masked() -> None:
    assert layer.heads(512, 64) == 1024 and layer.heads(16384, 128) == 16
    assert layer.flops(2, 3, 64, False) == 4 * 2 * 9 * 64 and layer.flops(2, 3, 64, True) == 4 * 2 * 6 * 64


def test_an_interval_lies_around_the_median_and_inside_the_readings() -> None:
    assert duel.interval([float(x) for x in range(101)]) == (40.0, 60.0)
    assert duel.interval([3.0, 1.0, 2.0]) == (1.0, 3.0)


def test_every_second_round_goes_backwards() -> None:
    order: list[str] = []

    def reading(name: str) -> float:
        order.append(name)
        return float(len(order))

    assert duel.in_turns([lambda: reading("a"), lambda: reading("b")], 3) == [[1.0, 4.0, 5.0], [2.0, 3.0, 6.0]]
    assert "".join(order) == "abbaab"


def clock(now: list[float]) -> SimpleNamespace:
    """CuPy whose events read `now[0]`."""

    class Event:
        def record(self) -> None:
            self.at = now[0]

        def synchronize(self) -> None:
            pass

    return SimpleNamespace(cuda=SimpleNamespace(Event=Event, get_elapsed_time=lambda start, stop: stop.at - start.at))


@pytest.fixture
def launches() -> Iterator[tuple[SimpleNamespace, list]]:
    """CuPy and two launches, of 0.25 and 0.5 milliseconds."""
    now = [0.0]

    def launch(ms: float) -> None:
        now[0] += ms

    yield clock(now), [lambda: launch(0.25), lambda: launch(0.5)]


def test_a_duel_tells_how_many_times_faster(launches: tuple[SimpleNamespace, list]) -> None:
    cp, (mine, other) = launches
    assert duel.duel(cp, mine, other, pairs=4, warm_up_s=0) == duel.Duel(0.25, 0.5, 2.0, 2.0, 2.0)


def test_single_launches_are_timed_as_often_as_asked(launches: tuple[SimpleNamespace, list]) -> None:
    cp, both = launches
    assert duel.launch_times(cp, both, 4) == [[0.25] * 4, [0.5] * 4]
