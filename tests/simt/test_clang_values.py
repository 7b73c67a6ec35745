"""Kernels by way of clang give the right values and the same findings as by way of NVRTC."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases.faults import CASES
from test_cases import marked, run, wrong_outputs

from lanewise import simt
from lanewise.exercise import load
from lanewise.grading.check import arguments
from lanewise.grading.compare import wrong_elements
from lanewise.names import find_course

pytestmark = pytest.mark.slow

COURSE = find_course()
KEYS = {str(key): key for key in [*COURSE.worked(), *COURSE.exercises()]}
HEADERS_OF_NVIDIA = ("mma.h", "cuda_pipeline.h", "cooperative_groups.h", "cuda/", "cub/")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if key.number >= 9 else []) for name, key in KEYS.items()])
def test_the_projects_kernels_are_right(name: str) -> None:
    key = KEYS[name]
    described = load(key, COURSE)
    source = (COURSE.solution(key) if key.is_exercise else COURSE.kernel(key)).read_text(encoding="utf-8")
    if any(f"#include <{header}" in source for header in HEADERS_OF_NVIDIA):
        with pytest.raises(simt.CompileError, match="not part of the clang front end"):
            simt.compile(source, compiler="clang")
        return
    kernel = simt.compile(source, described.arch, described.options, compiler="clang").kernel(described.kernel)
    for case in described.cases:
        data, untouched = case.data(), case.data()
        launch = case.launch_for(data)
        if launch.shared_bytes > 48 * 1024:
            kernel.max_dynamic_shared_size_bytes = launch.shared_bytes
        report = kernel.launch(launch.grid, launch.block, arguments(launch, data, ()), launch.shared_bytes)
        assert report.approximate
        assert {f.kind for f in report.findings if f.severity == "error"} == ({described.shows} if getattr(described, "shows", "") and not report.ok else set())
        if report.ok:
            rtol, atol = case.rtol or described.rtol, case.atol or described.atol
            for output, expected in described.reference(untouched).items():
                assert not wrong_elements(data[output], np.asarray(expected), rtol, atol).any(), (case.name, output)


@pytest.mark.parametrize("case", marked(CASES))
def test_the_corpus_is_explained_and_its_repairs_are_quiet(case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANEWISE_COMPILER", "clang")
    faulty = run(case.faulty)
    kinds = {f.kind for f in faulty.findings} | ({"CompileError"} if faulty.compile_error else set())
    assert not [f.message for f in faulty.errors if f.kind not in case.expect]
    assert bool(kinds & case.expect) == bool(case.expect)
    if case.wrong_values:
        assert wrong_outputs(case, case.faulty, faulty)
    fixed = run(case.fixed)
    assert not [f.message for f in fixed.findings if f.severity == "error" or f.kind in case.expect]
    assert wrong_outputs(case, case.fixed, fixed) == []


def _run(expression: str, x: np.ndarray, y: np.ndarray, kind: str) -> np.ndarray:
    source = f"""extern "C" __global__ void k(const {kind}* x, const {kind}* y, {kind}* z, int n) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) z[i] = {expression};
    }}"""
    z = np.zeros_like(x)
    report = simt.compile(source, compiler="clang").kernel("k").launch(-(-len(x) // 256), 256, [x, y, z, np.int32(len(x))])
    report.raise_if_faulty()
    return z


def _units(got: np.ndarray, exact: np.ndarray) -> float:
    """The largest distance in units of the last place; results below the smallest normal number count as zero (-ftz)."""
    rounded = exact.astype(got.dtype)
    finite = np.isfinite(rounded)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    assert same[~finite].all(), (got[~finite], rounded[~finite])
    unit = np.maximum(np.spacing(np.abs(rounded[finite])), np.finfo(got.dtype).tiny)
    return float((np.abs(got[finite].astype("f8") - exact[finite]) / unit).max())


RNG = np.random.default_rng(7)
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 88.7, 89.5, -87.0, -110.0, 1e-30, 1e30]
WIDE = np.concatenate([RNG.uniform(-90, 90, 1000), RNG.normal(size=1000), EDGES])
POSITIVE = np.concatenate([np.exp(RNG.uniform(-80, 80, 1000)), RNG.uniform(0.5, 2, 1000), [0.0, np.inf, 1.0, np.nan, -1.0, 8.0]])
ANGLES = np.concatenate([RNG.uniform(-1000, 1000, 1000), RNG.uniform(-4, 4, 1000)])
SMALL = RNG.uniform(-30, 30, 1000)


@pytest.mark.parametrize(
    ("expression", "x", "exact"),
    [
        ("expf(x[i])", WIDE, np.exp),
        ("exp10f(x[i])", SMALL, lambda x: 10.0**x),
        ("expm1f(x[i])", WIDE, np.expm1),
        ("logf(x[i])", POSITIVE, np.log),
        ("log2f(x[i])", POSITIVE, np.log2),
        ("log10f(x[i])", POSITIVE, np.log10),
        ("log1pf(x[i])", POSITIVE, np.log1p),
        ("tanhf(x[i])", WIDE, np.tanh),
        ("sinhf(x[i])", SMALL, np.sinh),
        ("coshf(x[i])", SMALL, np.cosh),
        ("sinf(x[i])", ANGLES, np.sin),
        ("cosf(x[i])", ANGLES, np.cos),
        ("erff(x[i])", WIDE, np.vectorize(math.erf)),
        ("sqrtf(x[i])", POSITIVE, np.sqrt),
        ("rsqrtf(x[i])", POSITIVE, lambda x: 1 / np.sqrt(x)),
    ],
)
def test_mathematical_functions_are_good_to_four_units_in_the_last_place(expression: str, x: np.ndarray, exact) -> None:
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        assert _units(_run(expression, x, x, "float"), exact(x.astype(np.float64))) <= 4


def test_powers() -> None:
    x, y = np.exp(RNG.uniform(-20, 20, 1000)).astype(np.float32), RNG.uniform(-4, 4, 1000).astype(np.float32)
    assert _units(_run("powf(x[i], y[i])", x, y, "float"), x.astype("f8") ** y.astype("f8")) <= 1
    x, y = RNG.uniform(-3, 3, 1000).astype(np.float32), np.round(RNG.uniform(-8, 8, 1000)).astype(np.float32)
    assert _units(_run("powf(x[i], y[i])", x, y, "float"), x.astype("f8") ** y.astype("f8")) <= 1


def test_powers_of_two_scale_without_a_rounding() -> None:
    x, n = np.tile(WIDE, 3).astype(np.float32), np.repeat([-300, 5, 300], len(WIDE)).astype(np.float32)
    n[: len(WIDE)] = RNG.integers(-120, 120, len(WIDE))
    with np.errstate(all="ignore"):
        exact = np.ldexp(x.astype("f8"), n.astype(int)).astype(np.float32)
    exact[np.abs(exact) < np.finfo(np.float32).tiny] *= 0
    for function in ("ldexpf", "scalbnf"):
        np.testing.assert_array_equal(_run(f"{function}(x[i], (int)y[i])", x, n, "float"), exact)


def test_doubles() -> None:
    x = RNG.uniform(-700, 700, 1000)
    assert _units(_run("exp(x[i])", x, x, "double"), np.exp(x)) <= 4
    x = np.exp(x)
    assert _units(_run("log(x[i])", x, x, "double"), np.log(x)) <= 4


def test_a_whole_float4_is_one_access_as_by_nvrtc() -> None:
    source = 'extern "C" __global__ void k(const float4* x, float4* y) { y[threadIdx.x] = x[threadIdx.x]; }'
    counts = []
    for compiler in ("nvrtc", "clang"):
        x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
        counters = simt.compile(source, compiler=compiler).kernel("k").launch(1, 32, [x, y]).counters
        assert (x == y).all()
        counts.append((counters.global_load_requests, counters.global_store_requests, counters.global_load_sectors))
    assert counts == [(1, 1, 16)] * 2
