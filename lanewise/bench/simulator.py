"""How fast the simulator is: against numba's CUDA simulator, on FlashAttention, from a cold start; results/simulator.json.

    make bench                     everything
    make bench ARGS=--without-numba

Every time is wall clock, the median of five repetitions unless a table says otherwise, on the machine as it is: run it on an idle one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from lanewise import simt
from lanewise.names import find_course, write_atomically

REPEATS = 5
VECTOR_ADD = """
extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
TILED_MATMUL = """
constexpr int TILE = 16;
extern "C" __global__ void tiled_matmul(const float* A, const float* B, float* C, int n) {
    __shared__ float a[TILE][TILE], b[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, col = blockIdx.x * TILE + tx;
    float total = 0.0f;
    for (int k0 = 0; k0 < n; k0 += TILE) {
        a[ty][tx] = A[row * n + k0 + tx];
        b[ty][tx] = B[(k0 + ty) * n + col];
        __syncthreads();
        for (int k = 0; k < TILE; ++k) total += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    C[row * n + col] = total;
}
"""
COLD = f"""
import numpy as np
from lanewise import simt
a = np.arange(1024, dtype=np.float32)
c = np.zeros_like(a)
simt.compile('''{VECTOR_ADD}''').kernel("vector_add").launch(4, 256, [a, a, c, np.int32(1024)]).raise_if_faulty()
print(c[1023])
"""
# A child prints what it took at most, in MiB. Linux's ru_maxrss would count the parent's memory, too, so its VmHWM is read.
PEAK = """
import resource, sys
from pathlib import Path
if sys.platform == "darwin":
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
else:
    print(next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")) / 2**10)
"""


def seconds(action: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Median wall time of `action`, after one call that isn't counted."""
    action()
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def vector_add(n: int = 65536) -> Callable[[], Any]:
    """A launch of 64K additions with every diagnosis on; it checks its own result once."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, n), dtype=np.float32)
    c = np.zeros(n, np.float32)
    kernel = simt.compile(VECTOR_ADD).kernel("vector_add")
    kernel.launch(n // 256, 256, [a, b, c, np.int32(n)]).raise_if_faulty()
    assert np.array_equal(c, a + b)
    return lambda: kernel.launch(n // 256, 256, [a, b, c, np.int32(n)])


def tiled_matmul(n: int = 64) -> Callable[[], Any]:
    """A launch of the 64 × 64 product with every diagnosis on."""
    rng = np.random.default_rng(2)
    A, B = rng.standard_normal((2, n, n), dtype=np.float32)
    C = np.zeros((n, n), np.float32)
    kernel = simt.compile(TILED_MATMUL).kernel("tiled_matmul")
    kernel.launch((n // 16, n // 16), (16, 16), [A, B, C, np.int32(n)]).raise_if_faulty()
    assert np.allclose(C, A @ B, atol=1e-4)
    return lambda: kernel.launch((n // 16, n // 16), (16, 16), [A, B, C, np.int32(n)])


def flash(check: bool, heads: int = 4, N: int = 512, d: int = 64) -> Callable[[], Any]:
    """A launch of the course's FlashAttention kernel, float32."""
    source = (find_course().kernels_dir / "ch12_flash_forward.cu").read_text(encoding="utf-8")
    rng = np.random.default_rng(3)
    Q, K, V = rng.standard_normal((3, heads, N, d), dtype=np.float32)
    out, LSE = np.zeros_like(Q), np.zeros((heads, N), np.float32)
    arguments = [Q, K, V, out, LSE, np.int32(N), np.int32(N), np.float32(d**-0.5), np.uintp(0)]
    kernel = simt.compile(source).kernel("flash_forward")
    kernel.launch((N // 32, heads), 128, arguments).raise_if_faulty()
    S = Q.astype(np.float64) @ K.swapaxes(1, 2) * d**-0.5
    P = np.exp(S - S.max(-1, keepdims=True))
    assert np.allclose(out, P @ V / P.sum(-1, keepdims=True), atol=2e-5)
    return lambda: kernel.launch((N // 32, heads), 128, arguments, check=check)


def numba_seconds(name: str) -> float:
    """One launch on numba's simulator. Raises RuntimeError where numba isn't installed."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([sys.executable, "-m", "lanewise.bench.numba_kernels", name], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"numba's simulator didn't run ({done.stderr.strip().splitlines()[-1]}): `make bench` installs it, --without-numba leaves it out.")
    return float(done.stdout)


def against_numba() -> dict:
    """Both simulators in one run: ours before and after numba's, the slower of the two medians counts."""
    rows = {}
    for name, prepare in (("vector_add", vector_add), ("tiled_matmul", tiled_matmul)):
        launch = prepare()
        before = seconds(launch)
        theirs = numba_seconds(name)
        ours = max(before, seconds(launch))
        rows[name] = {"simulator_ms": round(1e3 * ours, 3), "numba_ms": round(1e3 * theirs, 1), "ratio": round(theirs / ours)}
    return rows


def child(code: str) -> str:
    """The last line a Python child prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=find_course().root)
    if done.returncode:
        raise RuntimeError(f"a measured process failed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout.strip().splitlines()[-1]


def cold_start() -> dict:
    """From `python -c` to the first result of a small kernel."""
    return {"python_c_to_result_s": round(seconds(lambda: child(COLD)), 3)}


def tour() -> dict:
    """The whole tour, once."""
    began = time.perf_counter()
    peak = float(child("import lanewise.tour\nassert not lanewise.tour.main([])\n" + PEAK))
    return {"seconds": round(time.perf_counter() - began, 2), "peak_mib": round(peak)}


def memory() -> dict:
    """Peak memory of a process that runs one of the large launches."""
    run = "from lanewise.bench.simulator import flash\nflash(True)()\n"
    return {"flash_peak_mib": round(float(child(run + PEAK))), "cold_start_peak_mib": round(float(child(COLD + PEAK)))}


def attention() -> dict:
    """FlashAttention with the diagnoses and without."""
    return {"shape": "N=512 d=64, 4 heads, float32", "check_s": round(seconds(flash(True)), 3), "no_check_s": round(seconds(flash(False)), 3)}


def machine() -> dict:
    """Where and with what it was measured."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = next((line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")), model)
    load = round(os.getloadavg()[0], 2)
    versions = {name: metadata.version(name) for name in ("numpy", "nvidia-cuda-nvrtc")}
    return {"device": model, "cores": os.cpu_count(), "load_before": load, "date": date.today().isoformat(), "python": platform.python_version(), **versions}


def main(argv: Sequence[str] = ()) -> int:
    """Measure, print, write results/simulator.json."""
    parser = argparse.ArgumentParser(prog="lanewise bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without-numba", action="store_true", help="leave numba's simulator out (the rest takes seconds)")
    options = parser.parse_args(list(argv))
    results: dict[str, Any] = machine()
    tables: dict[str, Callable[[], dict]] = {"cold_start": cold_start, "flash": attention, "tour": tour, "memory": memory}
    if not options.without_numba:
        results["numba"] = metadata.version("numba")
        tables = {"against_numba": against_numba, **tables}
    for name, measure in tables.items():
        results[name] = measure()
        print(f"{name}: {json.dumps(results[name])}", flush=True)
    path = find_course().root / "results" / "simulator.json"
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    print("written to results/simulator.json")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
