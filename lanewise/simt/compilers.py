"""Which compiler makes the PTX: NVRTC where its wheel exists, clang on macOS or on request."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .nvrtc import Compiled

NAMES = ("nvrtc", "clang")


def choose(compiler: str | None = None) -> str:
    """`compiler` if given, else the environment variable LANEWISE_COMPILER (for tests), else by platform. Raises ValueError."""
    name = compiler or os.environ.get("LANEWISE_COMPILER") or ("clang" if sys.platform == "darwin" else "nvrtc")
    if name not in NAMES:
        raise ValueError(f"unknown compiler {name!r}: take 'nvrtc' or 'clang'")
    return name


def compile(
    source: str,
    arch: str = "sm_90a",
    options: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    kernels: Path | str | None = None,
    compiler: str | None = None,
) -> Compiled:
    """CUDA C → PTX by the chosen compiler; arguments and errors as in `nvrtc.compile`."""
    if choose(compiler) == "clang":
        from . import clang

        return clang.compile(source, arch, options, names, kernels)
    from . import nvrtc

    return nvrtc.compile(source, arch, options, names, kernels)
