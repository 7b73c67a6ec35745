"""One case on the GPU, through CuPy as a user calls it."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

import cupy
import numpy as np
from families.case import Case
from families.launch import placed
from paths import ROOT

from lanewise.twin.tensor_map import descriptor


@cache
def capability() -> int:
    """90 for compute capability 9.0."""
    return int(cupy.cuda.Device().compute_capability)


def architecture() -> str:
    """The options every kernel is compiled with: the GPU's own instructions too where it has some (sm_90a)."""
    number = capability()
    return f"-arch=sm_{number}{'a' if number >= 90 else ''}"


@cache
def toolkit() -> tuple[str, ...]:
    """Where a toolkit on this machine keeps its headers: CuPy's own wheels lack a few (crt/mma.h)."""
    compiler = shutil.which("nvcc")
    homes = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), str(Path(compiler).resolve().parents[1]) if compiler else None, "/usr/local/cuda"]
    found = [Path(home) / "include" for home in homes if home and (Path(home) / "include" / "crt" / "mma.h").is_file()]
    return (f"-I{found[0]}",) if found else ()


@cache
def kernel(source: str, entry: str, options: tuple[str, ...]) -> cupy.RawKernel:
    headers = (*(toolkit() if "<mma.h>" in source else ()), f"-I{ROOT / 'kernels'}")
    return cupy.RawKernel(source, entry, options=(*options, architecture(), "-lineinfo", *headers), backend="nvrtc")


def start(case: Case) -> list:
    """Launch and wait. Returns the device's arguments."""
    compiled = kernel(case.source, case.entry, case.options)
    if case.shared_bytes > 48 * 1024:
        compiled.max_dynamic_shared_size_bytes = case.shared_bytes
    arguments = placed(case.args(), cupy.asarray)
    grid, block = (tuple(d) if isinstance(d, tuple) else (d,) for d in (case.grid, case.block))
    compiled(grid, block, tuple(descriptor(a) if hasattr(a, "passed") else a for a in arguments), shared_mem=case.shared_bytes)
    cupy.cuda.runtime.deviceSynchronize()
    return arguments


def outputs(case: Case, arguments: list) -> list[np.ndarray]:
    return [cupy.asnumpy(getattr(arguments[k], "passed", arguments[k])) for k in case.outputs]


def start_and_read_output(case: Case) -> tuple[list, str]:
    """`start`, and what the kernel's printf wrote: the driver writes to the process's standard output."""
    sys.stdout.flush()
    saved = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            arguments = start(case)
            sys.stdout.flush()
        finally:
            os.dup2(saved, 1)
            os.close(saved)
        file.seek(0)
        return arguments, file.read().decode(errors="replace")


def description() -> dict:
    """The GPU and the versions a reading belongs to."""
    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(0)
    return {
        "device": properties["name"].decode(),
        "capability": capability(),
        "multiprocessors": properties["multiProcessorCount"],
        "driver": driver_version(),
        "cuda_driver": runtime.driverGetVersion(),
        "cuda_runtime": runtime.runtimeGetVersion(),
        "nvrtc": compiler_version(),
        "cupy": cupy.__version__,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
    }


def compiler_version() -> str:
    """The exact version of CuPy's NVRTC, "13.0.88": it stands in the head of what it makes. Another one than the simulator's may make other loads."""
    nvrtc = cupy.cuda.nvrtc
    program = nvrtc.createProgram("", "version.cu", (), ())
    try:
        nvrtc.compileProgram(program, ())
        found = re.search(rb"\bV([\d.]+)", nvrtc.getPTX(program))
    finally:
        nvrtc.destroyProgram(program)
    return found[1].decode() if found else ".".join(str(part) for part in nvrtc.getVersion())


def driver_version() -> str:
    """The kernel driver's own number, "unknown" where the system doesn't show it."""
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            words = file.readline().split()
        return next((word for word in words if word[0].isdigit() and "." in word), "unknown")
    except OSError:
        return "unknown"
