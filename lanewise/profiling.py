"""`lanewise.profile`: what a launch does, line by line. The simulator first, on copies; a GPU, if there is one, for the values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from lanewise import cp, simt
from lanewise.twin import raw
from lanewise.twin.host import array_of, chunk, host_copies, whole

# Relative to the largest value of the array: float sums differ by the order of additions, exp and sin by the GPU's approximation.
TOLERANCE = {2: 2e-2, 4: 1e-4, 8: 1e-10}  # by bytes of a real number


def profile(kernel: Any, grid: Any, block: Any, args: Sequence, shared_mem: int = 0, outputs: Iterable = ()) -> simt.Report:
    """Launches a kernel on copies of its arguments and returns the simulator's report; a notebook shows it line by line.

    Args:
        kernel: a `cp.RawKernel` or a `simt.Kernel`.
        grid, block: ints or tuples of 1 to 3 ints.
        args: as for the launch; NumPy arrays are welcome too. Nothing in them is changed.
        shared_mem: bytes of dynamic shared memory.
        outputs: arguments every element of which must be written: their positions from 0, or the arrays themselves.

    A faulty kernel raises nothing: see `report.ok` and `report.findings`. A kernel that is fine here then runs on the GPU,
    if there is one that can run it, on copies again: `report.gpu_values_equal` is True or False then, and `report.gpu_message` says more.
    Raises simt.CompileError, simt.KernelNotFound or simt.Unsupported when the simulator can't run the kernel at all.
    """
    simulated = _simulated(kernel)
    args = tuple(args)
    places = {_position(output, args) for output in outputs}
    copies = host_copies(args)
    marked = []
    for position, (arg, copy) in enumerate(zip(args, copies, strict=True)):
        array = array_of(arg)
        flags = array._memory.unset_bytes(array._host) if hasattr(array, "_memory") and array.flags.c_contiguous else None
        marked.append(simt.Output(copy) if position in places else copy if flags is None else simt.Unset(copy, flags))
    report = simulated.launch(grid, block, tuple(marked), shared_bytes=shared_mem)
    if report.ok and cp.backend == "gpu" and not isinstance(kernel, simt.Kernel) and not getattr(kernel, "simulated_because", ""):
        report.gpu_values_equal, report.gpu_message = _run_on_gpu(kernel, report, args, copies, shared_mem)
    return report


def _simulated(kernel: Any) -> simt.Kernel:
    """The simulator's kernel behind what was passed."""
    if isinstance(kernel, simt.Kernel):
        return kernel
    if isinstance(kernel, raw.RawKernel):
        return kernel.kernel
    if not all(hasattr(kernel, name) for name in ("code", "name", "options")):
        raise TypeError(f"profile takes a cp.RawKernel or a simt.Kernel, not {type(kernel).__name__}.")
    names = tuple(getattr(kernel, "name_expressions", None) or ())
    simulated = raw.compiled(kernel.code, tuple(kernel.options), names).kernel(kernel.name)
    simulated.max_dynamic_shared_size_bytes = kernel.max_dynamic_shared_size_bytes
    return simulated


def _position(output: Any, args: tuple) -> int:
    if isinstance(output, (int, np.integer)) and not isinstance(output, bool):
        if not 0 <= output < len(args):
            raise ValueError(f"outputs names argument {output}, but there are {len(args)}: count from 0.")
        return int(output)
    for position, arg in enumerate(args):
        if arg is output or array_of(arg) is output:
            return position
    raise ValueError("outputs must be positions from 0, or arrays that stand in args.")


def _run_on_gpu(kernel: Any, report: simt.Report, args: tuple, simulated: list, shared_mem: int) -> tuple[bool, str]:
    """Runs the kernel on copies on the GPU and compares every array with the simulator's. (equal, one sentence)"""
    blocks: dict[int, Any] = {}
    copies: list[Any] = []
    for arg in map(array_of, args):
        if hasattr(arg, "__cuda_array_interface__") and whole(arg):
            if arg.data.mem.ptr not in blocks:
                blocks[arg.data.mem.ptr] = chunk(arg).copy()
            offset = arg.data.ptr - arg.data.mem.ptr
            copies.append(cp.ndarray(arg.shape, arg.dtype, blocks[arg.data.mem.ptr].data + offset, arg.strides))
        else:
            copies.append(cp.array(arg) if hasattr(arg, "__cuda_array_interface__") or isinstance(arg, np.ndarray) else arg)
    passed = [arg.of(copy) if isinstance(arg, simt.TensorMap) else copy for arg, copy in zip(args, copies, strict=True)]
    kernel(report.grid, report.block, tuple(passed), shared_mem=shared_mem)
    cp.cuda.Device().synchronize()
    for position, (gpu, host) in enumerate(zip(copies, map(array_of, simulated), strict=True), 1):
        if isinstance(host, np.ndarray):
            difference = compare(gpu.get(), host)
            if difference:
                return False, f"On the GPU argument {position} comes out otherwise: {difference}."
    return True, "The GPU gives the same values."


def compare(gpu: np.ndarray, simulated: np.ndarray) -> str:
    """Where the values differ, or an empty text when they agree: integers exactly, floats within TOLERANCE of the largest value."""
    if gpu.size == 0:
        return ""
    if gpu.dtype.kind not in "fc":
        wrong = gpu != simulated
    else:
        wide = np.complex128 if gpu.dtype.kind == "c" else np.float64
        a, b = gpu.astype(wide), simulated.astype(wide)
        finite = np.isfinite(b)
        scale = np.abs(b[finite]).max(initial=0.0)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(all="ignore"):
            wrong = ~(same | (np.abs(a - b) <= TOLERANCE[gpu.dtype.itemsize // (2 if gpu.dtype.kind == "c" else 1)] * scale))
    if not wrong.any():
        return ""
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = f"[{', '.join(map(str, index))}]"
    return f"element {place} is {gpu[index]} instead of {simulated[index]}, {int(wrong.sum())} of {gpu.size} differ"
