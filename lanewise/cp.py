"""One name for the device: real CuPy where there is a GPU, its twin on the simulator where there is none.

`from lanewise import cp` and write CuPy. `cp.backend` is "gpu" or "simulator"; LANEWISE_DEVICE=simulator|gpu forces one.
With a GPU every name is CuPy's own but for RawKernel and RawModule, which check a launch's arguments as the simulator does.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FoundDevice:
    """What was found. `gpus` counts GPUs; `driver` is the CUDA version the driver speaks, (13, 0), or None; `why` says in a
    sentence why `backend` is what it is."""

    backend: str
    gpus: int
    driver: tuple[int, int] | None
    why: str


@functools.lru_cache(maxsize=1)
def find_device() -> FoundDevice:
    """Looks for a GPU with the driver alone (CuPy is imported only if there is one), then at LANEWISE_DEVICE.

    Raises RuntimeError when LANEWISE_DEVICE=gpu can't be had, ValueError when it is another word.
    """
    wish = os.environ.get("LANEWISE_DEVICE", "").strip().lower()
    if wish not in ("", "gpu", "simulator"):
        raise ValueError(f"LANEWISE_DEVICE is {wish!r}: set it to simulator or gpu, or unset it.")
    if wish == "simulator":
        return FoundDevice("simulator", 0, None, "LANEWISE_DEVICE=simulator asks for the simulator.")
    gpus, driver = _ask_driver()
    missing = ""
    if driver is None:
        missing = "no NVIDIA driver was found"
    elif gpus == 0:
        missing = "the NVIDIA driver reports no GPU"
    elif driver[0] < 12:
        missing = f"the NVIDIA driver speaks CUDA {driver[0]}.{driver[1]} and CuPy needs 12.0 or later: update the driver"
    elif importlib.util.find_spec("cupy") is None:
        missing = f"CuPy is not installed (pip install cupy-cuda{13 if driver[0] >= 13 else 12}x)"
    if missing and wish == "gpu":
        raise RuntimeError(f"LANEWISE_DEVICE=gpu asks for a GPU, but {missing}; unset it to use the simulator.")
    if missing:
        return FoundDevice("simulator", gpus, driver, f"{missing[0].upper()}{missing[1:]}.")
    return FoundDevice("gpu", gpus, driver, f"{gpus} GPU{'s' if gpus > 1 else ''} found.")


def _ask_driver() -> tuple[int, tuple[int, int] | None]:
    """(number of GPUs, CUDA version of the driver); (0, None) without a driver."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return 0, None
    version, count = ctypes.c_int(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        count.value = 0
    return count.value, (version.value // 1000, version.value % 1000 // 10)


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__version__":
        raise AttributeError(name)
    if name == "backend":
        value: Any = find_device().backend
    elif find_device().backend == "simulator":
        value = getattr(importlib.import_module("lanewise.twin"), name)
    elif name in ("RawKernel", "RawModule"):
        value = getattr(importlib.import_module("lanewise.twin.checked"), name)
    elif name == "tensor_map":
        value = importlib.import_module("lanewise.twin.tensor_map").tensor_map
    else:
        value = getattr(real_cupy(), name)
    globals()[name] = value
    return value


def real_cupy() -> Any:
    """The module CuPy itself; only for a machine with a GPU. Raises ImportError, with what to do, if it is installed but broken."""
    try:
        return importlib.import_module("cupy")
    except ImportError as error:
        raise ImportError(
            f"CuPy is installed but can't be loaded ({str(error).strip().splitlines()[0]}): install it anew, or set LANEWISE_DEVICE=simulator."
        ) from error


def __dir__() -> list[str]:
    home = "lanewise.twin" if find_device().backend == "simulator" else "cupy"
    return sorted({*dir(importlib.import_module(home)), "backend", "find_device"})
