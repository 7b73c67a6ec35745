"""Gradients of attention: the references against finite differences, the kernels against the references, both in float64."""

from functools import cache

import numpy as np
import pytest

from lanewise import simt
from lanewise.exercise import load
from lanewise.names import find_course

pytestmark = pytest.mark.slow  # seconds for all of them together

COURSE = find_course()
# Example or exercise → the arrays of its data that a finite difference may nudge, with the gradient its reference gives.
REFERENCES = {
    "ch16_flash_backward": {"Q": "dQ", "K": "dK", "V": "dV"},
    "ch16b_query_pass": {"Q": "dQ"},
    "ch16c_masked_rows": {"K": "dK", "V": "dV"},
    "ch16d_add_to_dq": {"Q": "dQ"},
}
ARGUMENTS = "Q K V dO LSE delta dQ dK dV Nq Nk heads kv_heads scale causal cu_q cu_k".split()
# batch, heads, key heads, Nq, Nk, causal, d, tile
SHAPES = [
    (1, 1, 1, 1, 1, 0, 64, 32),
    (2, 2, 2, 33, 31, 0, 64, 32),
    (1, 4, 2, 40, 65, 1, 64, 32),
    (1, 3, 1, 70, 33, 1, 64, 32),
    (1, 2, 2, 20, 3, 1, 64, 32),
    (1, 2, 1, 33, 40, 1, 32, 32),
    (1, 2, 2, 17, 33, 1, 128, 16),
]


@cache
def described(name):
    return load(COURSE.any_kernel(name), COURSE)


def compiled(name, *edits):
    """The worked kernel, or the exercise's solution, with constants replaced."""
    key = COURSE.any_kernel(name)
    text = (COURSE.solution(key) if key.is_exercise else COURSE.kernel(key)).read_text(encoding="utf-8")
    for find, substitute in edits:
        assert text.count(find) == 1, find
        text = text.replace(find, substitute)
    return simt.compile(text).kernel(key.slug)


def forward(Q, K, V, scale, causal):
    """O and LSE of (…, N, d) arrays, query by query, in the dtype of the inputs; heads that lie together share a key head."""
    heads, Nq, Nk = Q.shape[-3], Q.shape[-2], K.shape[-2]
    O, LSE = np.zeros(Q.shape[:-1] + V.shape[-1:]), np.full(Q.shape[:-1], -np.inf)  # noqa: E741
    for at in np.ndindex(Q.shape[:-1]):
        *outer, head, i = at
        kv = (*outer, head * K.shape[-3] // heads)
        seen = slice(0, min(Nk, i + Nk - Nq + 1) if causal else Nk)
        if seen.stop <= 0:
            continue
        s = scale * K[kv][seen] @ Q[at]
        LSE[at] = np.logaddexp.reduce(s)
        O[at] = np.exp(s - LSE[at]) @ V[kv][seen]
    return O, LSE


def is_causal(name, data):
    return {"ch16c_masked_rows": True, "ch16d_add_to_dq": False}.get(name, bool(data.get("causal", 0)))


def sequences(data):
    """Where the rows of each sequence lie in arrays of queries and of keys; one place for all where nothing is packed."""
    if not getattr(data.get("cu_q"), "ndim", 0):
        return [(..., ...)]
    starts = zip(data["cu_q"][:-1], data["cu_q"][1:], data["cu_k"][:-1], data["cu_k"][1:], strict=True)
    return [((slice(None), slice(q, q_end)), (slice(None), slice(k, k_end))) for q, q_end, k, k_end in starts]


CASES = [(name, case.name) for name in REFERENCES for case in described(name).cases]


@pytest.mark.parametrize(("name", "title"), CASES)
def test_a_reference_is_what_finite_differences_say(name, title):
    (case,) = [case for case in described(name).cases if case.name == title]
    data = case.data(seed=5)
    gradients = described(name).reference(data)
    arrays = {one: data[one].astype(np.float64) for one in ("Q", "K", "V")}
    dO, scale = data["dO"].astype(np.float64), float(data["scale"])
    rng = np.random.default_rng(16)

    def loss(moved):
        Q, K, V = (arrays | moved).values()
        return sum((dO[q] * forward(Q[q], K[k], V[k], scale, is_causal(name, data))[0]).sum() for q, k in sequences(data))

    checked = {one: gradient for one, gradient in REFERENCES[name].items() if gradient in gradients}
    assert checked
    for one, gradient in checked.items():
        for _ in range(2):
            way = rng.standard_normal(arrays[one].shape)
            h = 1e-5 / np.linalg.norm(way)
            slope = (loss({one: arrays[one] + h * way}) - loss({one: arrays[one] - h * way})) / (2 * h)
            size = np.linalg.norm(gradients[gradient]) * np.linalg.norm(way)
            assert abs(slope - (gradients[gradient] * way).sum()) <= 1e-7 * size + 1e-8


def test_the_softmax_examples_agree_with_finite_differences():
    rng = np.random.default_rng(15)
    S, dP = rng.standard_normal((2, 3, 7))

    def softmax(S):
        return np.exp(S) / np.exp(S).sum(axis=1, keepdims=True)

    want = np.empty_like(S)
    for at in np.ndindex(S.shape):
        step = np.zeros_like(S)
        step[at] = 1e-5
        want[at] = (dP * (softmax(S + step) - softmax(S - step))).sum() / 2e-5
    for name in ("ch15_jacobian", "ch15_softmax_backward"):
        assert abs(described(name).reference({"P": softmax(S), "dP": dP})["dS"] - want).max() < 1e-9


def inputs(shape):
    """A case of ch16_flash_backward for any head size: float32 inputs, 0 for dQ."""
    batch, heads, kv_heads, Nq, Nk, causal, d, _ = shape
    rng = np.random.default_rng([16, *shape])
    Q, g = rng.standard_normal((2, batch, heads, Nq, d)).astype(np.float32)
    K, V = rng.standard_normal((2, batch, kv_heads, Nk, d)).astype(np.float32)
    scale = np.float32(d**-0.5)
    O, LSE = forward(*(a.astype(np.float64) for a in (Q, K, V)), float(scale), causal)  # noqa: E741
    return {
        "Q": Q,
        "K": K,
        "V": V,
        "O": O.astype(np.float32),
        "dO": g,
        "LSE": LSE.astype(np.float32),
        "delta": (O * g).sum(axis=-1).astype(np.float32),
        "dQ": np.zeros_like(Q),
        "dK": np.empty_like(K),
        "dV": np.empty_like(V),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "heads": np.int32(heads),
        "kv_heads": np.int32(kv_heads),
        "scale": scale,
        "causal": np.int32(causal),
        "cu_q": np.uintp(0),
        "cu_k": np.uintp(0),
    }


def relative(got, want, dO):
    """The norm of the difference in float64, relative to that of dO, in which gradients are linear. (With one key dQ is 0, a difference of like numbers.)"""
    assert np.isfinite(got).all()
    return np.linalg.norm(got - want) / np.linalg.norm(dO.astype(np.float64))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_backward_kernel_in_every_shape(shape):
    d, tile = shape[-2:]
    data = inputs(shape)
    edits = [("d = 64;", f"d = {d};"), ("T = 32;", f"T = {tile};")]
    kernel = compiled("ch16_flash_backward", *edits)
    args = [simt.Output(data[name]) if name in ("dK", "dV") else data[name] for name in ARGUMENTS]
    grid = (-(-shape[4] // tile), shape[2], shape[0])
    report = kernel.launch(grid, 4 * tile, args)
    assert report.ok, report
    want = described("ch16_flash_backward").reference(data)
    for name in ("dQ", "dK", "dV"):
        assert relative(data[name], want[name], data["dO"]) < 5e-7, name


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[-2] == 64], ids=str)
def test_the_query_pass_in_every_shape(shape):
    data = inputs(shape)
    names = "Q K V O dO LSE delta dQ Nq Nk kv_heads scale causal".split()
    args = [simt.Output(data[name]) if name in ("delta", "dQ") else data[name] for name in names]
    report = compiled("ch16b").launch((-(-shape[3] // 16), shape[1], shape[0]), (16, 16), args)
    assert report.ok, report
    want = described("ch16_flash_backward").reference(data)
    assert relative(data["dQ"], want["dQ"], data["dO"]) < 5e-7


@pytest.mark.parametrize("shape", [(1, 2, 2, 40, 33, 0, 64, 32), (1, 1, 1, 70, 64, 0, 64, 32), (1, 1, 1, 96, 32, 0, 64, 16)], ids=str)
def test_the_bytes_follow_their_formula(shape):
    _, heads, _, Nq, Nk, _, d, tile = shape
    data = inputs(shape) | {"dQ": np.uintp(0)}
    kernel = compiled("ch16_flash_backward", ("T = 32;", f"T = {tile};"))
    counters = kernel.launch((-(-Nk // tile), heads, 1), 4 * tile, [data[name] for name in ARGUMENTS]).counters
    rows = 32 * -(-Nq // 8)  # LSE and delta come in sectors of 8 rows
    assert counters.global_bytes == heads * (4 * 4 * Nk * d + -(-Nk // tile) * (2 * 4 * Nq * d + 2 * rows))
    assert counters.atomics == 0


def test_masked_queries_give_nothing_and_get_nothing():
    shape = (1, 1, 1, 40, 8, 1, 64, 32)  # queries 0 .. 31, a whole tile, see no key
    data = inputs(shape)
    assert np.isneginf(data["LSE"][0, 0, :32]).all()
    kernel = compiled("ch16_flash_backward")
    kernel.launch((1, 1, 1), 128, [data[name] for name in ARGUMENTS]).raise_if_faulty()
    first = {name: data[name].copy() for name in ("dK", "dV")}
    assert not data["dQ"][0, 0, :32].any()
    data["dO"][0, 0, :32] = 1e30
    kernel.launch((1, 1, 1), 128, [data[name] for name in ARGUMENTS]).raise_if_faulty()
    assert all(np.array_equal(first[name], data[name]) for name in first)
