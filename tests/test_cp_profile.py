"""lanewise.profile: a report on copies, never an exception for a faulty kernel; with a GPU its values are compared."""

from __future__ import annotations

import numpy as np
import pytest

import lanewise
from lanewise import cp, profiling, simt, twin

SOURCE = r"""
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void shift(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }
extern "C" __global__ void fill(float4* x) { x[threadIdx.x] = make_float4(1, 2, 3, 4); }
"""


@pytest.fixture
def arrays():
    a = np.arange(256, dtype=np.float32)
    return cp.asarray(a), cp.asarray(a[::-1].copy()), cp.zeros(256, cp.float32)


def test_profile_reports_and_changes_nothing(arrays):
    report = lanewise.profile(cp.RawKernel(SOURCE, "add"), (2,), (128,), (*arrays, cp.int32(256)), outputs=(2,))
    assert report.ok and report.kernel == "add" and report.grid == (2, 1, 1)
    assert report.counters.global_load_requests == 16 and report.counters.global_store_sectors == 32
    assert not arrays[2].any()
    assert report.gpu_values_equal is (True if cp.backend == "gpu" else None)


def test_faulty_kernel_is_reported_not_raised(arrays):
    report = profiling.profile(cp.RawKernel(SOURCE, "add"), (3,), (128,), (*arrays, cp.int32(300)))
    assert not report.ok and report.gpu_values_equal is None
    assert {(finding.kind, finding.array, finding.index) for finding in report.errors} == {("out-of-bounds", name, 256) for name in "abc"}


def test_wrong_arguments_and_limits_are_reported(arrays):
    kernel = cp.RawKernel(SOURCE, "add")
    assert profiling.profile(kernel, (2,), (128,), arrays).errors[0].kind == "argument-mismatch"
    assert profiling.profile(kernel, (2,), (2048,), (*arrays, cp.int32(256))).errors[0].kind == "launch-refused"


def test_outputs_must_be_written(arrays):
    kernel, args = cp.RawKernel(SOURCE, "add"), (*arrays, cp.int32(200))
    for outputs in ((2,), [arrays[2]]):
        report = profiling.profile(kernel, 2, 128, args, outputs=outputs)
        assert [(finding.kind, finding.array) for finding in report.errors] == [("unwritten-output", "c")]
    assert profiling.profile(kernel, 2, 128, args).ok
    with pytest.raises(ValueError, match="outputs names argument 7, but there are 4: count from 0."):
        profiling.profile(kernel, 2, 128, args, outputs=(7,))
    with pytest.raises(ValueError, match="outputs must be positions from 0"):
        profiling.profile(kernel, 2, 128, args, outputs=(cp.zeros(1),))


def test_numpy_arrays_and_simt_kernels_are_welcome():
    kernel = simt.compile(SOURCE).kernel("add")
    a, c = np.ones(64, np.float32), np.zeros(64, np.float32)
    assert profiling.profile(kernel, 1, 64, (a, a, c, np.int32(64))).ok and not c.any()
    with pytest.raises(TypeError, match="profile takes a cp.RawKernel or a simt.Kernel, not str."):
        profiling.profile("add", 1, 64, ())


def test_copies_overlap_as_the_arrays_do():
    """y is x moved by one element, so each thread writes what its neighbour reads: a race that separate copies would hide."""
    x = cp.arange(65, dtype=cp.float32)
    report = profiling.profile(cp.RawKernel(SOURCE, "shift"), (1,), (64,), (x[:64], x[1:]))
    assert report.errors[0].kind == "race"
    assert x.get().tolist() == list(range(65))


def test_copies_are_aligned_as_the_arrays_are():
    x = cp.zeros(68, cp.float32)
    kernel = cp.RawKernel(SOURCE, "fill")
    assert profiling.profile(kernel, (1,), (16,), (x[4:],)).ok
    assert profiling.profile(kernel, (1,), (16,), (x[1:65],)).errors[0].kind == "misaligned"


def test_host_copies_are_independent_and_alike():
    base = np.arange(24, dtype=np.float32)
    device = twin.asarray(base)
    args = (device[4:12], device[8:], base[::2], base.reshape(4, 6).T, np.int32(3), twin.zeros((0, 3)))
    copies = profiling.host_copies(args)
    for arg, copy in zip(args, copies, strict=True):
        np.testing.assert_array_equal(copy, arg.get() if isinstance(arg, twin.ndarray) else arg)
    assert copies[2].strides == (8,) and copies[3].strides == (4, 24)
    copies[0][4] = -1
    assert copies[1][0] == -1 and device.get()[8] == 8 and base[8] == 8


COMPARISONS = {
    "equal": (np.float32([1, 2]), np.float32([1, 2]), ""),
    "rounding": (np.float32([1000, 1e-3]), np.float32([1000, 1.01e-3]), ""),
    "float": (np.float32([1, 2.01]), np.float32([1, 2]), "element [1] is 2.0"),
    "nan_alike": (np.float32([np.nan, np.inf]), np.float32([np.nan, np.inf]), ""),
    "nan": (np.float32([1, np.nan]), np.float32([1, 2]), "element [1] is nan instead of 2.0, 1 of 2 differ"),
    "int": (np.int32([[1, 2], [3, 5]]), np.int32([[1, 2], [3, 4]]), "element [1, 1] is 5 instead of 4, 1 of 4 differ"),
    "half": (np.float16([1.0]), np.float16([1.01]), ""),
    "empty": (np.float32([]), np.float32([]), ""),
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_values_are_compared_by_type(name):
    gpu, simulated, message = COMPARISONS[name]
    found = profiling.compare(gpu, simulated)
    assert found == "" if message == "" else found.startswith(message)


def test_a_gpu_that_disagrees_is_in_the_report():
    report = simt.Report("k", SOURCE, (1, 1, 1), (1, 1, 1))
    plain = str(report)
    report.gpu_values_equal, report.gpu_message = True, "The GPU gives the same values."
    assert str(report) == plain
    report.gpu_values_equal, report.gpu_message = False, "On the GPU argument 1 comes out otherwise: element [0] is 1 instead of 2."
    assert report.gpu_message in str(report) and report.gpu_message in report._repr_html_()
