"""Kernels that need another GPU than this one: `python tests/gpu/older_gpu.py`; the summary goes to results/gpu/ or the folder that OUT names.

CuPy's compiler and lanewise are made to believe in a Turing GPU (7.5), which refuses what came after it, and in one after Hopper (12.0), which has no wgmma.
Such kernels must run on the simulator, with their values in CuPy's arrays and one line on standard error. Exit status 1 where that fails.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import paths  # noqa: F401  (it makes the next imports possible)

from lanewise import cp, profile, simt
from lanewise.twin import older_gpu

PLAIN = 'extern "C" __global__ void twice(const float* x, float* y, int n) {\n    int i = threadIdx.x;\n    if (i < n) y[i] = 2 * x[i];\n}\n'
ASYNC = PLAIN.replace("    if", '    asm volatile("cp.async.wait_all;" ::: "memory");\n    if')
NAME = PLAIN.replace("    if", "    if (__reduce_add_sync(~0u, 1u) != 32) return;\n    if")
WGMMA = PLAIN.replace("    if", '    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");\n    if')
TEMPLATE = 'template <typename T> __global__ void fill(T* y) { asm volatile("cp.async.wait_all;"); y[threadIdx.x] = T(threadIdx.x) / 2; }'
TURING, BLACKWELL = "75", "120"
HERE = older_gpu.capability()
TOO_OLD = "twice needs compute capability 8.0 and this GPU has 7.5: it runs on the simulator."


@contextlib.contextmanager
def believed(capability: str, compiled_for: str = "") -> Iterator[None]:
    """In here this GPU is one of `capability`, CuPy compiles for `compiled_for` or for it. A GPU loads no machine code of another kind, and CuPy keeps what
    it has compiled: for another kind this is for texts alone that don't compile."""
    compiler = cp.real_cupy().cuda.compiler
    saved = compiler._get_arch, older_gpu.capability
    compiler._get_arch, older_gpu.capability = lambda: compiled_for or capability, lambda: capability
    try:
        yield
    finally:
        compiler._get_arch, older_gpu.capability = saved


def twice(code: str, *options: str, shared: int = 0) -> cp.RawKernel:
    """Launches on a view in the middle of an allocation; raises AssertionError unless the values are right and all around is as it was."""
    whole = np.arange(96, dtype=np.float32)
    x, y = cp.asarray(whole[:32]), cp.asarray(whole)
    kernel = cp.RawKernel(code, "twice", options=options)
    if shared:
        kernel.max_dynamic_shared_size_bytes = shared
    kernel((1,), (32,), (x, y[32:64], np.int32(32)), shared_mem=shared)
    whole[32:64] = 2 * whole[:32]
    assert np.array_equal(y.get(), whole), "the values on the GPU are wrong"
    return kernel


def a_feature() -> str:
    with believed(TURING):
        assert twice(ASYNC).simulated_because
    return TOO_OLD


def a_name() -> str:
    """The header hides it."""
    with believed(TURING):
        assert twice(NAME).simulated_because
    return TOO_OLD


def an_architecture_in_the_options() -> str:
    """It has no say, though CuPy's compiler would stop at the letter."""
    with believed(TURING):
        assert twice(ASYNC, "-arch=sm_90a").simulated_because
    return TOO_OLD


def hoppers_alone() -> str:
    with believed(BLACKWELL):
        assert twice(WGMMA).simulated_because
    return "twice needs the instructions of compute capability 9.0 alone (sm_90a) and this GPU has 12.0: it runs on the simulator."


def shared_memory() -> str:
    with believed(TURING, compiled_for=HERE):
        assert twice(PLAIN, shared=96 << 10).simulated_because
    return "twice asks for 96 KB of shared memory a block and this GPU has 64: it runs on the simulator."


def run_by_this_gpu() -> str:
    """What any GPU can run, whatever architecture the options name; and what this one can."""
    for options in ((), ("-arch=sm_75",), ("-arch=sm_120",), ("-arch=sm_90a",)):
        assert twice(PLAIN, *options).simulated_because == ""
    assert twice(f"// here\n{ASYNC if int(HERE) >= 80 else PLAIN}", "-arch=sm_75").simulated_because == ""
    return ""


def a_fault() -> str:
    x, y = cp.zeros(32, cp.float32), cp.zeros(32, cp.float32)
    with believed(TURING):
        try:
            cp.RawKernel(ASYNC, "twice")((2,), (32,), (x, y[:31], np.int32(32)))
        except simt.KernelFault as error:
            assert "y[31]" in str(error), error
            return TOO_OLD
    raise AssertionError("nothing was found")


def another_error() -> str:
    """It stays what it is."""
    with believed(TURING):
        try:
            twice(ASYNC.replace("2 * x", "2 * z"))
        except simt.CompileError as error:
            assert 'identifier "z" is undefined' in str(error), error
            return ""
    raise AssertionError("it compiled")


def a_module() -> str:
    y = cp.zeros(32, cp.float32)
    with believed(TURING):
        cp.RawModule(code=TEMPLATE, name_expressions=["fill<float>"]).get_function("fill<float>")((1,), (32,), (y,))
    assert np.array_equal(y.get(), np.arange(32) / 2), "the values on the GPU are wrong"
    return TOO_OLD.replace("twice", "fill<float>")


def a_profile() -> str:
    x, y = cp.arange(32, dtype=cp.float32), cp.zeros(32, cp.float32)
    with believed(TURING):
        report = profile(cp.RawKernel(ASYNC, "twice"), (1,), (32,), (x, y, np.int32(32)))
    assert report.ok and report.gpu_values_equal is None and not y.get().any()
    return TOO_OLD


CASES: tuple[Callable[[], str], ...] = (
    a_feature, a_name, an_architecture_in_the_options, hoppers_alone, shared_memory, run_by_this_gpu, a_fault, another_error, a_module, a_profile,
)  # fmt: skip


def outcome(case: Callable[[], str]) -> str:
    """What is wrong with a case, "" if nothing."""
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
