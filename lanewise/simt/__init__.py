"""Run CUDA C kernels without a GPU: NVRTC → PTX → NumPy over all lanes, with Nsight Compute's counters and an explanation of every fault.

    module = simt.compile(source)
    report = module.kernel("vector_add").launch(grid, block, args)

Needs nothing else of lanewise.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import CompileError, KernelFault, KernelNotFound, Unsupported
from .launch_types import Output, Unset

if TYPE_CHECKING:
    from .counters import Counters
    from .finding import Finding
    from .launch import Kernel, Module, compile
    from .report import LineCounters, Report
    from .tensor_maps import TensorMap, tensor_map

_WHERE = {
    "compile": "launch", "Module": "launch", "Kernel": "launch", "tensor_map": "tensor_maps", "TensorMap": "tensor_maps",
    "Finding": "finding", "Counters": "counters",
    "Report": "report", "LineCounters": "report",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(import_module(f".{_WHERE[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'lanewise.simt' has no attribute {name!r}")


__all__ = [
    "CompileError", "Counters", "Finding", "Kernel", "KernelFault", "KernelNotFound", "LineCounters", "Module", "Output", "Report", "TensorMap",
    "Unset", "Unsupported", "compile", "tensor_map",
]  # fmt: skip
