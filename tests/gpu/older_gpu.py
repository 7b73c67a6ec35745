"""Kernels that need another GPU than this one: `python tests/gpu/older_gpu.py`; the summary goes to results/gpu/ or the folder that OUT names.

An option makes any GPU the wrong one: `-arch=sm_75` has CuPy's compiler refuse what came after Turing, an architecture newer than the GPU has the driver refuse
the machine code. Such kernels must run on the simulator, with their values in CuPy's arrays and one line on standard error. Exit status 1 where that fails.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import paths  # noqa: F401  (it makes the next imports possible)

from lanewise import cp, profile, simt

PLAIN = 'extern "C" __global__ void twice(const float* x, float* y, int n) {\n    int i = threadIdx.x;\n    if (i < n) y[i] = 2 * x[i];\n}\n'
ASYNC = PLAIN.replace("    if", '    asm volatile("cp.async.wait_all;" ::: "memory");\n    if')
NAME = PLAIN.replace("    if", "    if (__reduce_add_sync(~0u, 1u) != 32) return;\n    if")
TEMPLATE = 'template <typename T> __global__ void fill(T* y) { asm volatile("cp.async.wait_all;"); y[threadIdx.x] = T(threadIdx.x) / 2; }'
OLD, NEW = "-arch=sm_75", "-arch=sm_120"
HERE = cp.cuda.Device().compute_capability


def twice(code: str, *options: str) -> cp.RawKernel:
    """Launches on a view in the middle of an allocation; raises AssertionError unless the values are right and all around is as it was."""
    whole = np.arange(96, dtype=np.float32)
    x, y = cp.asarray(whole[:32]), cp.asarray(whole)
    kernel = cp.RawKernel(code, "twice", options=options)
    kernel((1,), (32,), (x, y[32:64], np.int32(32)))
    whole[32:64] = 2 * whole[:32]
    assert np.array_equal(y.get(), whole), "the values on the GPU are wrong"
    return kernel


def refused_by_the_compiler() -> str:
    assert twice(ASYNC, OLD).simulated_because
    return "twice needs compute capability 8.0 and -arch=sm_75 asks for 7.5: it runs on the simulator."


def an_error_on_the_simulator_too() -> str:
    """The simulator takes the option as the GPU does: the header hides the name from both."""
    try:
        twice(NAME, OLD)
    except simt.CompileError as error:
        assert "__reduce_add_sync" in str(error), error
        return ""
    raise AssertionError("it compiled")


def refused_by_the_driver() -> str:
    assert twice(PLAIN, NEW).simulated_because
    return f"twice needs compute capability 12.0 and this GPU has {HERE[:-1]}.{HERE[-1]}: it runs on the simulator."


def run_by_this_gpu() -> str:
    assert twice(PLAIN, OLD if HERE == "75" else "-DN=1").simulated_because == ""
    return ""


def a_fault() -> str:
    x, y = cp.zeros(32, cp.float32), cp.zeros(32, cp.float32)
    try:
        cp.RawKernel(ASYNC, "twice", options=(OLD,))((2,), (32,), (x, y[:31], np.int32(32)))
    except simt.KernelFault as error:
        assert "y[31]" in str(error), error
        return refused_by_the_compiler()
    raise AssertionError("nothing was found")


def a_module() -> str:
    y = cp.zeros(32, cp.float32)
    cp.RawModule(code=TEMPLATE, options=(OLD,), name_expressions=["fill<float>"]).get_function("fill<float>")((1,), (32,), (y,))
    assert np.array_equal(y.get(), np.arange(32) / 2), "the values on the GPU are wrong"
    return "fill<float> needs compute capability 8.0 and -arch=sm_75 asks for 7.5: it runs on the simulator."


def a_profile() -> str:
    x, y = cp.arange(32, dtype=cp.float32), cp.zeros(32, cp.float32)
    report = profile(cp.RawKernel(ASYNC, "twice", options=(OLD,)), (1,), (32,), (x, y, np.int32(32)))
    assert report.ok and report.gpu_values_equal is None and not y.any()
    return refused_by_the_compiler()


CASES: tuple[Callable[[], str], ...] = (
    refused_by_the_compiler, an_error_on_the_simulator_too, refused_by_the_driver, run_by_this_gpu, a_fault, a_module, a_profile,
)  # fmt: skip


def outcome(case: Callable[[], str]) -> str:
    """What is wrong with a case, "" if nothing."""
    from lanewise.twin import older_gpu

    older_gpu._said.clear()  # each case is the first one
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            expected = case()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:500]}"
    return "" if said.getvalue() == (f"{expected}\n" if expected else "") else f"it said {said.getvalue()!r}"


def main() -> int:
    outcomes = {case.__name__: outcome(case) for case in CASES}
    for name, wrong in outcomes.items():
        print(f"{'WRONG' if wrong else 'ok   '} {name} {wrong}")
    out = Path(os.environ.get("OUT") or "results/gpu")
    out.mkdir(parents=True, exist_ok=True)
    (out / "older_gpu.json").write_text(json.dumps({"capability": HERE, "cases": outcomes}, indent=1) + "\n", encoding="utf-8")
    return any(outcomes.values())


if __name__ == "__main__":
    sys.exit(main())
