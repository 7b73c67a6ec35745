"""CuPy on a GPU of any compute capability, made of NumPy: kernels are compiled for that GPU by the real compiler, and none is ever run.

What CuPy raises comes from the compiler's own log, so that it has the words that a real GPU of this kind would get.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np

from lanewise.simt import CompileError, nvrtc

CHUNK = 512  # bytes: CuPy's pool gives out multiples


class CompileException(Exception):
    pass


class CUDADriverError(RuntimeError):
    pass


class Memory:
    def __init__(self, size: int):
        self.bytes = np.zeros(-(-size // CHUNK) * CHUNK, np.uint8)
        self.ptr, self.size = self.bytes.ctypes.data, len(self.bytes)


class MemoryPointer:
    def __init__(self, mem: Memory, offset: int):
        self.mem, self.ptr = mem, mem.ptr + offset

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)


class ndarray:
    """Bytes of a Memory; NumPy may not see them unless it asks with `get`."""

    __array_priority__ = 100

    def __init__(self, shape: Any, dtype: Any = float, memptr: MemoryPointer | None = None, strides: Any = None):
        plain = np.empty(shape, dtype)
        self.data = memptr or MemoryPointer(Memory(plain.nbytes), 0)
        self._view = np.ndarray(shape, dtype, self.data.mem.bytes, self.data.ptr - self.data.mem.ptr, strides)
        for name in ("shape", "dtype", "strides", "size", "ndim", "itemsize", "nbytes", "flags", "__array_interface__"):
            setattr(self, name.replace("__array", "__cuda_array"), getattr(self._view, name))

    def get(self) -> np.ndarray:
        return self._view.copy()

    def copy(self) -> ndarray:
        return asarray(self.get())

    def __getitem__(self, key: Any) -> ndarray:
        return self._part(self._view[key])

    def view(self, dtype: Any) -> ndarray:
        return self._part(self._view.view(dtype))

    def reshape(self, *shape: Any) -> ndarray:
        return self._part(self._view.reshape(*shape))

    def _part(self, part: np.ndarray) -> ndarray:
        return ndarray(part.shape, part.dtype, MemoryPointer(self.data.mem, part.ctypes.data - self.data.mem.ptr), part.strides)

    def __setitem__(self, key: Any, value: ndarray) -> None:
        self._view[key] = value._view

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")


def asarray(value: Any) -> ndarray:
    host = np.asarray(value)
    made = ndarray(host.shape, host.dtype)
    made._view[...] = host
    return made


class Device:
    """`capability` "75" as a string, as CuPy has it."""

    def __init__(self, capability: str):
        self.compute_capability, self.synchronized = capability, 0

    def synchronize(self) -> None:
        self.synchronized += 1


def make(capability: str) -> Any:
    """The module. `launches` of it are the names of the kernels that reached the GPU."""
    device, launches = Device(capability), []

    def compiled(code: str, options: tuple[str, ...], names: tuple[str, ...] = ()) -> None:
        """CuPy puts the GPU's own architecture last, and NVRTC takes its number, with a letter that stood anywhere before."""
        kept = tuple(option for option in options if not option.startswith("-I"))
        letters = {asked[-1] for asked in re.findall(r"\b(?:sm|compute)_(\w+)", " ".join(kept))} & {"a", "f"}
        number = cuda.compiler._get_arch()
        if letters - {"a"} or (letters and int(number) < 90):
            raise CompileException("Command-line error: invalid or no value specified with --nv_arch flag")
        arch = f"sm_{number}{''.join(letters)}"
        try:
            nvrtc.cubin(code, arch, nvrtc.split_arch(arch, kept)[1], names)
        except CompileError as error:
            raise CompileException(error.log or str(error)) from None
        if number != capability:
            raise CUDADriverError("CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available for execution on the device")

    class RawKernel:
        def __init__(self, code: str, name: str, options: tuple[str, ...] = (), backend: str = "nvrtc", **kwargs: Any):
            self.code, self.name, self.options = code, name, options
            self.max_dynamic_shared_size_bytes, self.shared_size_bytes, self.num_regs, self.max_threads_per_block = 48 << 10, 0, 16, 1024

        @property
        def kernel(self) -> str:
            compiled(self.code, self.options)
            if self.name not in self.code:
                raise CUDADriverError("CUDA_ERROR_NOT_FOUND: named symbol not found")
            return self.name

        def compile(self, log_stream: Any = None) -> None:
            self.kernel  # noqa: B018

        def __call__(self, grid: tuple, block: tuple, args: tuple, *, shared_mem: int = 0) -> None:
            launches.append(self.name)

    class RawModule:
        def __init__(self, code: str, options: tuple[str, ...] = (), name_expressions: Any = None, **kwargs: Any):
            self.code, self.options, self.names = code, options, tuple(name_expressions or ())

        def compile(self, log_stream: Any = None) -> None:
            compiled(self.code, self.options, self.names)

        def get_function(self, name: str) -> RawKernel:
            self.compile()
            if name not in self.code and name not in self.names:
                raise CUDADriverError("CUDA_ERROR_NOT_FOUND: named symbol not found")
            return RawKernel(self.code, name, self.options)

        def get_global(self, name: str) -> MemoryPointer:
            self.compile()
            raise CUDADriverError("CUDA_ERROR_NOT_FOUND: named symbol not found")

    cuda = SimpleNamespace(
        Device=lambda: device, MemoryPointer=MemoryPointer, runtime=SimpleNamespace(deviceSynchronize=device.synchronize),
        compiler=SimpleNamespace(CompileException=CompileException, _get_arch=lambda: capability), driver=SimpleNamespace(CUDADriverError=CUDADriverError),
    )  # fmt: skip
    return SimpleNamespace(
        ndarray=ndarray, asarray=asarray, array=asarray, asnumpy=lambda a: a.get(), RawKernel=RawKernel, RawModule=RawModule, cuda=cuda,
        zeros=lambda n, dtype: asarray(np.zeros(n, dtype)), arange=lambda n, dtype: asarray(np.arange(n, dtype=dtype)),
        launches=launches, float32=np.float32, int32=np.int32,
    )  # fmt: skip
