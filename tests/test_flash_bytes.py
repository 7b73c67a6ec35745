"""The bytes that a flash kernel asks of global memory are the formula's, for each loop order, as tiles and sizes vary; and none of them is a score's."""

import re

import numpy as np
import pytest

from lanewise import simt
from lanewise.exercise import ceil_div
from lanewise.listing import source

pytestmark = pytest.mark.slow  # seconds for all of them together

SECTOR = 32


def with_sizes(key, **sizes):
    """A kernel's text with other values of its `constexpr int` constants."""
    text = source(key)
    for name, value in sizes.items():
        text, count = re.subn(rf"constexpr int {name} = \d+;", f"constexpr int {name} = {value};", text)
        assert count == 1, name
    return text


def arrays(*shapes):
    rng = np.random.default_rng(12)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def right(Q, K, V):
    """(O, LSE) in float64."""
    S = Q.shape[-1] ** -0.5 * Q.astype(np.float64) @ K.astype(np.float64).swapaxes(-1, -2)
    m = S.max(axis=-1, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=-1, keepdims=True)
    return P @ V / total, (m + np.log(total))[..., 0]


def close(got, want):
    return not np.abs(got - want).max() > 1e-5 and np.isfinite(got).all()


def written(Nq, d):
    """Sectors of O and LSE. Nq * d is a multiple of 8 here."""
    return Nq * d * 4 // SECTOR + ceil_div(Nq * 4, SECTOR)


Q_OUTER = [
    # Br, Bc, Nq, Nk, d
    (32, 32, 64, 64, 32),
    (8, 32, 64, 64, 32),
    (16, 32, 64, 64, 32),
    (64, 32, 64, 64, 32),
    (32, 8, 64, 64, 32),
    (32, 16, 64, 64, 32),
    (32, 64, 64, 64, 32),
    (32, 32, 64, 128, 32),
    (32, 32, 128, 64, 32),
    (32, 32, 64, 64, 64),
    (16, 16, 24, 40, 96),
    (32, 32, 40, 72, 32),
]


@pytest.mark.parametrize(("Br", "Bc", "Nq", "Nk", "d"), Q_OUTER)
def test_queries_outer(Br, Bc, Nq, Nk, d):
    kernel = simt.compile(with_sizes("ch12_flash_tiles", Br=Br, Bc=Bc, d=d)).kernel("flash_tiles")
    Q, K, V = arrays((Nq, d), (Nk, d), (Nk, d))
    O, LSE = np.empty((Nq, d), np.float32), np.empty(Nq, np.float32)  # noqa: E741
    arguments = (Q, K, V, simt.Output(O), simt.Output(LSE), np.int32(Nq), np.int32(Nk), np.float32(d**-0.5), np.uintp(0))
    report = kernel.launch(ceil_div(Nq, Br), 4 * Br, arguments)
    assert report.ok
    assert report.counters.global_bytes == 4 * (2 * Nq * d + 2 * ceil_div(Nq, Br) * Nk * d + Nq)
    assert report.counters.global_store_sectors == written(Nq, d)  # O and LSE: 0 bytes of N x N
    assert report.counters.dram_write_bytes == written(Nq, d) * SECTOR
    want = right(Q, K, V)
    assert close(O, want[0]) and close(LSE, want[1])


KEYS_OUTER = [
    # Br, Bc, N, d
    (32, 32, 64, 32),
    (8, 32, 64, 32),
    (64, 32, 64, 32),
    (32, 8, 32, 32),
    (32, 16, 64, 32),
    (32, 64, 64, 32),
    (32, 32, 96, 32),
    (16, 32, 64, 64),
    (16, 16, 40, 32),
]


@pytest.mark.parametrize(("Br", "Bc", "N", "d"), KEYS_OUTER)
def test_keys_outer(Br, Bc, N, d):
    kernel = simt.compile(with_sizes("ch12_flash_kv_outer", Br=Br, Bc=Bc, d=d)).kernel("flash_kv_outer")
    Q, K, V = arrays((N, d), (N, d), (N, d))
    O, m, l = np.zeros((N, d), np.float32), np.full(N, -np.inf, np.float32), np.zeros(N, np.float32)  # noqa: E741
    report = kernel.launch(1, 4 * Br, (Q, K, V, O, m, l, np.int32(N), np.float32(d**-0.5)))
    assert report.ok
    tiles = ceil_div(N, Bc)
    assert report.counters.global_bytes == 4 * (2 * N * d + tiles * (3 * N * d + 4 * N))
    assert report.counters.global_store_sectors * SECTOR == tiles * 4 * (N * d + 2 * N)
    assert report.counters.dram_write_bytes == 4 * (N * d + 2 * N)  # O, m and l again and again: 0 bytes of N x N
    want = right(Q, K, V)
    assert close(O, want[0]) and close(m + np.log(l), want[1])


@pytest.mark.parametrize(("heads", "Nq", "Nk"), [(1, 32, 32), (2, 64, 96), (3, 32, 160), (2, 40, 24)])
def test_the_worked_kernel_with_heads(heads, Nq, Nk):
    kernel = simt.compile(source("ch12_flash_forward")).kernel("flash_forward")
    Q, K, V = arrays((heads, Nq, 64), (heads, Nk, 64), (heads, Nk, 64))
    O, LSE = np.empty((heads, Nq, 64), np.float32), np.empty((heads, Nq), np.float32)  # noqa: E741
    arguments = (Q, K, V, simt.Output(O), simt.Output(LSE), np.int32(Nq), np.int32(Nk), np.float32(0.125), np.uintp(0))
    report = kernel.launch((ceil_div(Nq, 32), heads), 128, arguments)
    assert report.ok
    assert report.counters.global_bytes == 4 * heads * (2 * Nq * 64 + 2 * ceil_div(Nq, 32) * Nk * 64 + Nq)
    assert report.counters.global_store_sectors == heads * written(Nq, 64)
    want = right(Q, K, V)
    assert close(O, want[0]) and close(LSE, want[1])


@pytest.mark.parametrize(("Nq", "Nk"), [(33, 65), (31, 31), (1, 1)])
def test_ragged_sizes_add_only_the_unused_part_of_a_sector(Nq, Nk):
    kernel = simt.compile(source("ch12_flash_tiles")).kernel("flash_tiles")
    Q, K, V = arrays((Nq, 32), (Nk, 32), (Nk, 32))
    O, LSE = np.empty((Nq, 32), np.float32), np.empty(Nq, np.float32)  # noqa: E741
    arguments = (Q, K, V, simt.Output(O), simt.Output(LSE), np.int32(Nq), np.int32(Nk), np.float32(32**-0.5), np.uintp(0))
    report = kernel.launch(ceil_div(Nq, 32), 128, arguments)
    assert report.counters.global_bytes == 4 * (2 * Nq * 32 + 2 * ceil_div(Nq, 32) * Nk * 32) + SECTOR * ceil_div(4 * Nq, SECTOR)
    assert report.counters.global_store_sectors == written(Nq, 32)
