"""The ladder's launches: every rung that takes any shape is right on ragged ones, in the type it is timed in, and a row says what was compared."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt, source
from lanewise.bench.matmul_ladder import HOPPER, RUNGS, TOLERANCE
from lanewise.names import Key, find_course

COURSE = find_course()


def wide(bits: np.ndarray) -> np.ndarray:
    """bf16 bits as float64."""
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("rung", [*RUNGS, *HOPPER], ids=lambda rung: rung.key)
@pytest.mark.parametrize(("M", "N", "K"), [(1, 8, 8), (130, 264, 72), (128, 128, 64)])
def test_a_rung_launched_as_on_the_gpu_is_right(rung, M, N, K):
    if not rung.ragged:
        M, N, K = (-(-n // 128) * 128 for n in (M, N, K))
    rng = np.random.default_rng(M + N + K)
    A, B = rng.standard_normal((M, K), np.float32), rng.standard_normal((K, N), np.float32)
    if rung.inputs == "bf16":
        A, B = ((x.view(np.uint32) >> 16).astype(np.uint16) for x in (A, B))
    exact = [wide(x) if rung.inputs == "bf16" else x.astype(np.float64) for x in (A, B)]
    C = np.empty((M, N), np.uint16 if rung.output == "bf16" else np.float32)
    kernel = simt.compile(rung.text()).kernel(rung.entry)
    kernel.max_dynamic_shared_size_bytes = max(rung.shared, 48 * 1024)
    arrays = [A, B, simt.Output(C)]
    if rung.boxes:
        arrays = [simt.tensor_map(x, box, "128B", dtype="bfloat16", l2="256B") for x, box in zip(arrays, rung.boxes, strict=True)]
    grid = (min(3, *rung.grid(M, N)),) if rung.persistent else rung.grid(M, N)  # fewer blocks than tiles, if there are four
    report = kernel.launch(grid, rung.block, [*arrays, np.int32(M), np.int32(N), np.int32(K)], rung.shared)
    assert report.ok, str(report)
    got, right = wide(C) if rung.output == "bf16" else C.astype(np.float64), exact[0] @ exact[1]
    assert not np.linalg.norm(got - right) > TOLERANCE[rung.output] * np.linalg.norm(right)


@pytest.mark.slow
@pytest.mark.parametrize(("BM", "BN", "BK", "stages"), [(128, 256, 64, 2), (256, 128, 64, 4), (128, 128, 32, 3)])
def test_the_staged_product_takes_other_tiles(BM, BN, BK, stages):
    text = source("ch21_matmul_stages").replace("BM = 128, BN = 256, BK = 64, stages = 3;", f"BM = {BM}, BN = {BN}, BK = {BK}, stages = {stages};")
    assert f"stages = {stages};" in text
    M, N, K = BM + 2, BN + 8, 3 * BK + 8
    rng = np.random.default_rng(BM + BK)
    A, B = rng.standard_normal((M, K)).astype(np.float16), rng.standard_normal((K, N)).astype(np.float16)
    C, shared = np.empty((M, N), np.float16), max(stages * (BM + BN) * BK * 2, BM * BN * 2)
    kernel = simt.compile(text).kernel("matmul_stages")
    kernel.max_dynamic_shared_size_bytes = shared
    args = [A, B, simt.Output(C), np.int32(M), np.int32(N), np.int32(K)]
    report = kernel.launch(4, BM // 64 * BN // 64 * 32, args, shared)
    assert report.ok, str(report)
    right = A.astype(np.float64) @ B.astype(np.float64)
    assert not np.linalg.norm(C - right) > 3e-4 * np.linalg.norm(right)


def test_every_16_bit_rung_of_the_ladder_multiplies_bf16():
    for rung in (*RUNGS, *HOPPER):
        assert COURSE.kernel(Key.parse(rung.key)).is_file()
        assert ("__nv_bfloat16" in rung.text()) == (rung.inputs == "bf16"), rung.key
        assert "using T = __half;" not in rung.text()


def test_hoppers_rungs_come_last_and_none_stands_twice():
    keys = [rung.key for rung in (*RUNGS, *HOPPER)]
    assert keys == sorted(keys) and len(set(keys)) == len(keys)
