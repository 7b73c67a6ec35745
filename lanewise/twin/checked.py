"""RawKernel and RawModule on a GPU: CuPy's own, with the simulator's argument check in front and its words for compile errors."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from lanewise import simt
from lanewise.cp import real_cupy
from lanewise.twin import raw
from lanewise.twin.arguments import check_constructor, check_form, stand_in

cupy = real_cupy()


class RawKernel:
    """cupy.RawKernel; a launch with wrong arguments raises simt.KernelFault before it reaches the GPU, a source that doesn't
    compile raises simt.CompileError from CuPy's own error."""

    def __init__(
        self, code: str, name: str, options: tuple[str, ...] = (), backend: str = "nvrtc", *,
        translate_cucomplex: bool = False, enable_cooperative_groups: bool = False, jitify: bool = False, _ready: Any = None,
    ):  # fmt: skip
        check_constructor(code=(code, str), name=(name, str), options=(options, tuple), backend=(backend, str))
        self.name_expressions: tuple[str, ...] = ()
        self._code = code  # without the folder of kernels/*.cuh that CuPy's options get
        self._gpu = _ready or cupy.RawKernel(
            code, name, with_kernels_folder(options), backend, translate_cucomplex=translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups, jitify=jitify,
        )  # fmt: skip
        self.options = options
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        with explained(self._code, self.options, self.name_expressions):
            return getattr(self._gpu, name)

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        with explained(self._code, self.options, self.name_expressions):
            return self._gpu.max_dynamic_shared_size_bytes

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        with explained(self._code, self.options, self.name_expressions):
            self._gpu.max_dynamic_shared_size_bytes = size
        if self.simulated is not None:
            self.simulated.max_dynamic_shared_size_bytes = size

    @functools.cached_property
    def simulated(self) -> simt.Kernel | None:
        """The same kernel on the simulator, for its check; None where that can't compile or run it."""
        try:
            return raw.compiled(self._code, self.options, self.name_expressions).kernel(self._gpu.name)
        except (simt.CompileError, simt.KernelNotFound, simt.Unsupported):
            return None

    def compile(self, log_stream=None) -> None:
        with explained(self._code, self.options, self.name_expressions):
            self._gpu.compile(log_stream)

    def __call__(self, grid: tuple, block: tuple, args: Sequence, *, shared_mem: int = 0, **kwargs) -> None:
        """Checks, then launches on the GPU as CuPy does."""
        check_form(grid, block, args)
        with explained(self._code, self.options, self.name_expressions):
            self._gpu.kernel  # noqa: B018  compiles before anything is said about the arguments
        if self.simulated is not None:
            stand_ins = tuple(stand_in(arg.shape, arg.dtype, arg.strides) if isinstance(arg, cupy.ndarray) else arg for arg in args)
            self.simulated.check_launch(grid, block, stand_ins, shared_mem).raise_if_faulty()
        self._gpu(grid, block, tuple(args), shared_mem=shared_mem, **kwargs)


class RawModule:
    """cupy.RawModule, whose kernels are the checked RawKernel above."""

    def __init__(self, *, code: str | None = None, options: tuple[str, ...] = (), name_expressions: Sequence[str] | None = None, **kwargs):
        self.code, self.options, self.name_expressions = code, options, tuple(name_expressions or ())
        self._gpu = cupy.RawModule(code=code, options=with_kernels_folder(options), name_expressions=name_expressions, **kwargs)

    def compile(self, log_stream=None) -> None:
        with explained(self.code, self.options, self.name_expressions):
            self._gpu.compile(log_stream)

    def get_function(self, name: str) -> RawKernel:
        with explained(self.code, self.options, self.name_expressions):
            self._gpu.compile()
        try:
            ready = self._gpu.get_function(name)
        except Exception as error:
            if self.code is not None:
                try:
                    raw.compiled(self.code, self.options, self.name_expressions).kernel(name)
                except simt.KernelNotFound as explanation:
                    raise explanation from error
            raise
        kernel = RawKernel(self.code or "", name, self.options, _ready=ready)
        kernel.name_expressions = self.name_expressions
        return kernel

    def get_global(self, name: str) -> Any:
        with explained(self.code, self.options, self.name_expressions):
            return self._gpu.get_global(name)


class explained:
    """CuPy's CompileException becomes simt.CompileError with the simulator's explanation, raised from it."""

    def __init__(self, code: str | None, options: tuple[str, ...], names: tuple[str, ...]):
        self.source = (code, options, names)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, error, trace) -> None:
        if not isinstance(error, cupy.cuda.compiler.CompileException) or self.source[0] is None:
            return
        try:
            raw.compiled(*self.source)  # type: ignore[arg-type]
        except simt.CompileError as explanation:
            raise explanation from error
        raise simt.CompileError(str(error).splitlines()[0], str(error)) from error


def with_kernels_folder(options: tuple[str, ...]) -> tuple[str, ...]:
    """The options with the folder of `kernels/*.cuh` on the include path, as on the simulator."""
    from lanewise.simt.nvrtc import KERNELS

    return (*options, f"-I{KERNELS}") if KERNELS.is_dir() else options
