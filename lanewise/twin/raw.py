"""RawKernel and RawModule on the simulator: CuPy's interface over `lanewise.simt`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from lanewise import simt
from lanewise.simt import nvrtc
from lanewise.simt.gpus import blocks_by_registers
from lanewise.simt.launch_limits import DEFAULT_SHARED
from lanewise.twin.arguments import check_constructor, check_form
from lanewise.twin.array import ndarray
from lanewise.twin.memory import Memory, MemoryPointer

ATTRIBUTES = (
    "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes", "num_regs", "ptx_version", "binary_version",
    "cache_mode_ca", "max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout",
)  # fmt: skip


@functools.lru_cache(maxsize=64)
def compiled(code: str, options: tuple[str, ...], names: tuple[str, ...]) -> simt.Module:
    """The module of this text; equal texts share one, and with it their `__device__` variables, as in CuPy.

    An `-arch` among the options has no say: CuPy, too, compiles for the GPU that is there.
    """
    return simt.compile(code, options=nvrtc.split_arch("sm_90a", options)[1], names=names)


class RawKernel:
    """A CUDA C kernel, compiled at its first launch.

    Args:
        code: the source. name: of the kernel (`extern "C"`). options: compiler options, such as `("-DN=4",)`. The code is made for
            the GPU there is, here an H200 with its own instructions (sm_90a): an `-arch` has no say. `simt.compile` takes one.

    Launching a faulty kernel raises `simt.KernelFault` with the explanation; a source that doesn't compile `simt.CompileError`.
    """

    def __init__(
        self, code: str, name: str, options: tuple[str, ...] = (), backend: str = "nvrtc", *,
        translate_cucomplex: bool = False, enable_cooperative_groups: bool = False, jitify: bool = False,
    ):  # fmt: skip
        check_constructor(code=(code, str), name=(name, str), options=(options, tuple), backend=(backend, str))
        _check_backend(backend)
        self.code, self.name, self.options, self.backend = code, name, options, backend
        self.enable_cooperative_groups = enable_cooperative_groups
        self.__name__ = name
        self.name_expressions: tuple[str, ...] = ()
        self._simulated: simt.Kernel | None = None

    @property
    def kernel(self) -> simt.Kernel:
        """The simulator's kernel; compiles when first asked for."""
        if self._simulated is None:
            self._simulated = compiled(self.code, self.options, self.name_expressions).kernel(self.name)
        return self._simulated

    def compile(self, log_stream=None) -> None:
        """Compiles now; raises simt.CompileError or simt.KernelNotFound. The compiler's warnings go to `log_stream`."""
        self._simulated = None
        kernel = self.kernel
        if log_stream is not None:
            log_stream.write(getattr(getattr(kernel, "module", None), "log", "") or "")

    def __call__(self, grid: tuple, block: tuple, args: Sequence, *, shared_mem: int = 0, stream=None) -> None:
        """Launches and waits. grid, block: tuples of 1 to 3 ints. args: device arrays and NumPy scalars. shared_mem: bytes."""
        check_form(grid, block, args)
        report = run(self.kernel, grid, block, args, shared_mem)
        if report.printed:
            print(report.printed, end="", flush=True)
        report.raise_if_faulty()

    # --- what the compiler made of it

    @property
    def attributes(self) -> dict[str, int]:
        """Registers, shared and local memory … as a dict, names as CuPy's."""
        return {name: getattr(self, name) for name in ATTRIBUTES}

    @property
    def _resources(self):
        return self.kernel.resources()

    @property
    def num_regs(self) -> int:
        """Registers of a thread, by ptxas."""
        return self._resources.registers

    @property
    def shared_size_bytes(self) -> int:
        """Static shared memory of a block."""
        return self._resources.static_shared

    @property
    def local_size_bytes(self) -> int:
        """Local memory of a thread: stack and spilled registers."""
        return self._resources.local

    @property
    def const_size_bytes(self) -> int:
        """`__constant__` memory of the module."""
        return sum(variable.size for variable in self.kernel.module.parsed.variables.values() if variable.space == "const")

    @property
    def max_threads_per_block(self) -> int:
        """Threads a block can have: 1024, or less by `__launch_bounds__` or registers."""
        bounds = self.kernel.program.entry.directives.get("maxntid")
        most = int(np.prod(bounds)) if bounds else 1024
        return next(threads for threads in range(most, 0, -32) if blocks_by_registers(self.num_regs, threads))

    @property
    def binary_version(self) -> int:
        return 90

    @property
    def ptx_version(self) -> int:
        return 90

    cache_mode_ca = 0
    preferred_shared_memory_carveout = -1

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        """Dynamic shared memory a launch may ask for; set it to go above 48 KB."""
        opted = self.kernel.max_dynamic_shared_size_bytes
        return DEFAULT_SHARED - self.kernel.program.static_shared if opted is None else opted

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        self.kernel.max_dynamic_shared_size_bytes = size


def run(kernel: simt.Kernel, grid: tuple, block: tuple, args: Sequence, shared_mem: int = 0) -> simt.Report:
    """Launches on the device arrays' own memory and keeps account of what is still unset afterwards."""
    host_args: list[Any] = []
    unset: list[tuple[ndarray, simt.Unset]] = []
    for arg in args:
        if isinstance(arg, np.ndarray):
            arg = arg.reshape(())[()]  # one element, by value
        array = arg.passed if isinstance(arg, simt.TensorMap) else arg
        if isinstance(array, ndarray):
            flags = array._memory.unset_bytes(array._host) if array.flags.c_contiguous else None
            if flags is not None:
                unset.append((array, arg := simt.Unset(arg if array is not arg else array._host, flags)))
            elif array is arg:
                arg = arg._host
        host_args.append(arg)
    report = kernel.launch(grid, block, tuple(host_args), shared_bytes=shared_mem)
    for array, argument in unset:
        if argument.mask is None:
            array._memory.mark(array._host)
        else:
            array._memory.mark_bytes(array._host, argument.mask.view(bool))
    return report


class RawModule:
    """CUDA C with several kernels, compiled when the first of them is asked for.

    Args:
        code: the source. options: compiler options. name_expressions: templates to instantiate, such as `["scale<float>"]`.
    """

    def __init__(
        self, *, code: str | None = None, path: str | None = None, options: tuple[str, ...] = (), backend: str = "nvrtc",
        translate_cucomplex: bool = False, enable_cooperative_groups: bool = False,
        name_expressions: Sequence[str] | None = None, jitify: bool = False,
    ):  # fmt: skip
        if (code is None) == (path is None):
            raise TypeError("Exactly one of `code` and `path` keyword arguments must be given.")
        if path is not None:
            raise simt.Unsupported("The simulator runs CUDA C, not cubin or PTX files: pass the source as code=.")
        check_constructor(code=(code, str), options=(options, tuple), backend=(backend, str))
        _check_backend(backend)
        self.code, self.options, self.backend = code, options, backend
        self.enable_cooperative_groups = enable_cooperative_groups
        self.name_expressions = tuple(name_expressions or ())

    @property
    def module(self) -> simt.Module:
        """The simulator's module; compiles when first asked for."""
        assert self.code is not None
        return compiled(self.code, self.options, self.name_expressions)

    def compile(self, log_stream=None) -> None:
        """Compiles now; raises simt.CompileError. The compiler's warnings go to `log_stream`."""
        module = self.module
        if log_stream is not None:
            log_stream.write(getattr(module, "log", "") or "")

    def get_function(self, name: str) -> RawKernel:
        """The kernel of this name, or of this entry of `name_expressions`; simt.KernelNotFound lists those there are."""
        assert self.code is not None
        kernel = RawKernel(self.code, name, self.options, self.backend, enable_cooperative_groups=self.enable_cooperative_groups)
        kernel.name_expressions = self.name_expressions
        kernel.kernel  # noqa: B018  compiles, and finds out whether there is such a kernel
        return kernel

    def get_global(self, name: str) -> MemoryPointer:
        """Where a `__device__` or `__constant__` variable lies.

        `cp.ndarray(shape, dtype, module.get_global("table"))` is an array over it: assign to it or read it before and after launches.
        """
        return MemoryPointer(_variable_memory(self.module, name))


@functools.lru_cache(maxsize=256)
def _variable_memory(module: simt.Module, name: str) -> Memory:
    return Memory(module.variable(name).data)


def _check_backend(backend: str) -> None:
    if backend != "nvrtc":
        raise ValueError(f"backend must be 'nvrtc', which needs no CUDA toolkit, not {backend!r}.")
