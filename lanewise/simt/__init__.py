"""Run CUDA C kernels without a GPU: NVRTC → PTX → NumPy over all lanes, with Nsight Compute's counters and an explanation of every fault.

    module = simt.compile(source)
    report = module.kernel("vector_add").launch(grid, block, args)

Needs nothing else of lanewise. Where to read, in the order in which a launch passes through:

    launch                                      the public face; launch_types, launch_limits, errors
    nvrtc, clang                                CUDA C → PTX; clang_include, compile_errors, compile_hints
    signature, arguments                        what a kernel takes, and whether it got that; slots, scalar_arguments, c_types, constants, demangle, tensor_maps
    ptx, ptx_module, ptx_body, ptx_lines        PTX → dataclasses
    blocks, codegen                             → basic blocks → Python; program, code, post_dominators, provenance, joined, repeated, guesses
    instructions                                one module per instruction family: the Python that is written, and what it calls
    machine, batch, group                       who runs next; branches, calls, control_flow, runtime, specials, progress, fpmode
    barriers, meeting, mbarriers, clusters      who waits for whom; apart, arrivals, mbarrier_waits
    values, arithmetic, shapes                  a register's value in all lanes
    memory, access                              where data lies; global_access, shared_access, local_access, patterns
    checks                                      one file per diagnosis
    explain, remarks, finding, words            their words; explain_async, explain_cluster, explain_flow, explain_mbarrier, explain_races, explain_tensor
    report, counters, summary                   the answer; render, render_html
    resources, gpus                             registers and occupancy
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
