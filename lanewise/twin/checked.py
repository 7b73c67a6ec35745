"""RawKernel and RawModule on a GPU: CuPy's own, with the simulator's argument check in front and its words for compile errors.

What needs a newer GPU than this one runs on the simulator, on copies of its arrays, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lanewise import simt
from lanewise.cp import real_cupy
from lanewise.simt import arguments, launch_limits, nvrtc, signature
from lanewise.twin import older_gpu, raw
from lanewise.twin.arguments import check_constructor, check_form
from lanewise.twin.host import host_copies, write_back
from lanewise.twin.tensor_map import descriptor

cupy = real_cupy()


class RawKernel:
    """cupy.RawKernel; a launch with wrong arguments raises simt.KernelFault before it reaches the GPU, a source that doesn't
    compile raises simt.CompileError from CuPy's own error. A kernel that needs a newer GPU runs on the simulator, and raises what it finds.

    The code is made for the GPU there is, with its own instructions on Hopper (sm_90a): an `-arch` among the options has no say but for a GPU's own letter."""

    def __init__(
        self, code: str, name: str, options: tuple[str, ...] = (), backend: str = "nvrtc", *,
        translate_cucomplex: bool = False, enable_cooperative_groups: bool = False, jitify: bool = False, _ready: Any = None,
    ):  # fmt: skip
        check_constructor(code=(code, str), name=(name, str), options=(options, tuple), backend=(backend, str))
        self.name_expressions: tuple[str, ...] = ()
        self._code = code  # without the folder of kernels/*.cuh that CuPy's options get
        self._gpu = _ready or cupy.RawKernel(
            code, name, as_simulated(options), backend, translate_cucomplex=translate_cucomplex,
            enable_cooperative_groups=enable_cooperative_groups, **({"jitify": True} if jitify else {}),  # deprecated in CuPy
        )  # fmt: skip
        self.options = options
        self.__name__ = name
        self._passed: set[tuple] = set()
        self._compiled = False
        self._simulated: raw.RawKernel | None = None
        self._because = ""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in raw.ATTRIBUTES or name in ("attributes", "kernel"):
            return getattr(self._home(), name)
        with self._explained():
            return getattr(self._gpu, name)

    @property
    def simulated_because(self) -> str:
        """Why this GPU can't run the kernel, as half a sentence: it runs on the simulator then. "" where the GPU runs it."""
        self._home()
        return self._because

    @property
    def max_dynamic_shared_size_bytes(self) -> int:
        return self._home().max_dynamic_shared_size_bytes

    @max_dynamic_shared_size_bytes.setter
    def max_dynamic_shared_size_bytes(self, size: int) -> None:
        home = self._home()
        if home is self._gpu:
            if why := older_gpu.shared_shortfall(self.__name__, home.shared_size_bytes + size, older_gpu.capability()):
                home = self._simulate(why)
        with self._explained():
            home.max_dynamic_shared_size_bytes = size
        self._passed.clear()

    def _explained(self) -> explained:
        return explained(self._code, self.options, self.name_expressions, self.__name__)

    def _home(self) -> Any:
        """CuPy's kernel, compiled; the simulator's where it needs a newer GPU than this. Raises simt.CompileError, simt.KernelNotFound."""
        if self._simulated is not None:
            return self._simulated
        if not self._compiled:
            try:
                self._gpu.kernel  # noqa: B018  compiles
            except cupy.cuda.compiler.CompileException:
                if why := older_gpu.shortfall(self.__name__, self._code, self.options, self.name_expressions, older_gpu.capability()):
                    return self._simulate(why)
                with self._explained():
                    raise
            except cupy.cuda.driver.CUDADriverError:
                with self._explained():
                    raise
            self._compiled = True
        return self._gpu

    def _simulate(self, why: str) -> raw.RawKernel:
        """From now on the simulator runs the kernel. Raises simt.KernelNotFound, or simt.Unsupported."""
        simulated = raw.RawKernel(self._code, self.__name__, self.options)
        simulated.name_expressions = self.name_expressions
        simulated.kernel  # noqa: B018  compiles, and finds out whether there is such a kernel
        older_gpu.say_once(why)
        self._simulated, self._because = simulated, why
        return simulated

    def compile(self, log_stream=None) -> None:
        self._home()
        if self._simulated is not None:
            self._simulated.compile(log_stream)
        else:
            self._gpu.compile(log_stream)

    def __call__(self, grid: tuple, block: tuple, args: Sequence, *, shared_mem: int = 0, **kwargs) -> None:
        """Checks, then launches on the GPU as CuPy does; on the simulator where the GPU is too old, and then returns when all is done."""
        check_form(grid, block, args)
        self._home()  # compiles before anything is said about the arguments
        if self._simulated is not None:
            self._launch_simulated(self._simulated.kernel, grid, block, args, shared_mem)
            return
        form = (grid, block, shared_mem, *(_form(arg) for arg in args))
        if form not in self._passed:
            self._check(grid, block, args, shared_mem)
            self._passed.add(form)
        self._gpu(grid, block, tuple(descriptor(a) if isinstance(a, simt.TensorMap) else a for a in args), shared_mem=shared_mem, **kwargs)

    def _launch_simulated(self, kernel: simt.Kernel, grid: tuple, block: tuple, args: Sequence, shared_mem: int) -> None:
        """On copies in host memory, whose values go back to the GPU, a faulty kernel's too. Raises simt.KernelFault."""
        cupy.cuda.Device().synchronize()  # of every stream: one of them may still write to the arrays
        values = tuple(arg.reshape(())[()] if isinstance(arg, np.ndarray) else arg for arg in args)  # CuPy passes one element by value
        copies = host_copies(values)
        report = kernel.launch(grid, block, tuple(copies), shared_bytes=shared_mem)
        write_back(values, copies)
        if report.printed:
            print(report.printed, end="", flush=True)
        report.raise_if_faulty()

    def _check(self, grid: tuple, block: tuple, args: Sequence, shared_mem: int) -> None:
        """Raises simt.KernelFault when an argument doesn't fit its parameter or the GPU would refuse the launch."""
        gpu = self._gpu
        parameters = signature.instance(self._code, self.__name__, _defines(self.options))
        values = [arg.reshape(())[()] if isinstance(arg, np.ndarray) else arg for arg in args]  # CuPy passes one element by value
        found, _ = arguments.check(self.__name__, None, parameters, values, device_arrays=True)
        if not any(finding.severity == "error" for finding in found):
            arch = f"sm_{older_gpu.capability()}"
            static, allowed = gpu.shared_size_bytes, gpu.max_dynamic_shared_size_bytes
            opted = allowed if static + allowed > launch_limits.DEFAULT_SHARED else None
            found = found + launch_limits.limits(
                grid, block, static, shared_mem, opted, arch, gpu.num_regs, gpu.max_threads_per_block
            )  # fmt: skip
        simt.Report(self.__name__, self._code, grid, block, found).raise_if_faulty()


def _form(arg: Any) -> Any:
    """What the check depends on: a launch whose arguments have the same form as one that passed isn't checked again."""
    if isinstance(arg, cupy.ndarray):
        return arg.dtype, arg.flags.c_contiguous
    return type(arg), arg if isinstance(arg, (int, float, np.number, np.bool_)) else None


def _defines(options: tuple[str, ...]) -> dict[str, str]:
    """Macros of the -D options: name → text."""
    found = (re.fullmatch(r"(?:-D|--define-macro=)\s*(\w+)(?:=(.*))?", option.strip()) for option in options)
    return {macro[1]: macro[2] or "1" for macro in found if macro}


class RawModule:
    """cupy.RawModule, whose kernels are the checked RawKernel above."""

    def __init__(self, *, code: str | None = None, options: tuple[str, ...] = (), name_expressions: Sequence[str] | None = None, **kwargs):
        self.code, self.options, self.name_expressions = code, options, tuple(name_expressions or ())
        self._gpu = cupy.RawModule(code=code, options=as_simulated(options), name_expressions=name_expressions, **kwargs)

    def compile(self, log_stream=None) -> None:
        self._on_gpu(lambda: self._gpu.compile(log_stream), lambda why: None)

    def get_function(self, name: str) -> RawKernel:
        def kernel(ready: Any = None) -> RawKernel:
            made = RawKernel(self.code or "", name, self.options, _ready=ready)
            made.name_expressions = self.name_expressions
            return made

        def simulated(why: str) -> RawKernel:
            made = kernel()
            made._simulate(why)
            return made

        return self._on_gpu(lambda: kernel(self._gpu.get_function(name)), simulated, name)

    def get_global(self, name: str) -> Any:
        def found() -> Any:
            try:
                return self._gpu.get_global(name)
            except cupy.cuda.driver.CUDADriverError as error:
                if "NOT_FOUND" not in str(error):
                    raise
                raise KeyError(f"the source has no __device__ or __constant__ variable {name!r}") from error

        def simulated(why: str) -> Any:
            raise simt.Unsupported(f"{why}: {name} lies in the simulator, set LANEWISE_DEVICE=simulator to reach it.")

        return self._on_gpu(found, simulated)

    def _on_gpu(self, ask: Callable[[], Any], simulated: Callable[[str], Any], kernel: str = "") -> Any:
        """What CuPy answers; where the module, or this kernel of it, needs a newer GPU, what `simulated` makes of the reason."""
        with explained(self.code, self.options, self.name_expressions, kernel):
            try:
                return ask()
            except cupy.cuda.compiler.CompileException:
                if self.code is None:
                    raise
                why = older_gpu.shortfall(kernel or "the module", self.code, self.options, self.name_expressions, older_gpu.capability())
                if not why:
                    raise
        return simulated(why)


class explained:
    """CuPy's CompileException becomes simt.CompileError with the simulator's explanation, an unknown kernel simt.KernelNotFound."""

    def __init__(self, code: str | None, options: tuple[str, ...], names: tuple[str, ...], name: str = ""):
        self.source, self.name = (code, options, names), name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, error, trace) -> None:
        if self.source[0] is None:
            return
        missing = isinstance(error, cupy.cuda.driver.CUDADriverError) and "NOT_FOUND" in str(error)
        failed = isinstance(error, cupy.cuda.compiler.CompileException)
        if failed or (missing and self.name):
            try:
                module = raw.compiled(*self.source)  # type: ignore[arg-type]
                if missing:
                    module.kernel(self.name)
            except simt.KernelNotFound as explanation:
                raise explanation from error
            except simt.CompileError as explanation:
                if explanation.log:  # else the simulator's own compiler is missing, and CuPy's words must do
                    raise explanation from error
        if failed:
            text = re.sub(r"\S*[/\\]\w+(?:\.cubin)?\.cu\(", "kernel.cu(", str(error))
            raise simt.CompileError(text.splitlines()[0], text) from error


def as_simulated(options: tuple[str, ...]) -> tuple[str, ...]:
    """The options as on the simulator: the folder of `kernels/*.cuh` on the include path, and on Hopper the architecture that has its own instructions.

    CuPy puts the GPU's architecture behind the caller's options, and NVRTC takes the last number with any letter before it: of the caller's -arch=sm_90a
    it makes sm_90a on Hopper and on an A100 sm_80a, which doesn't exist. So the caller's is left out, unless it names this very GPU.
    """
    here = older_gpu.capability()
    try:
        asked, options = nvrtc.split_arch(f"sm_{here}", options)
        if here == "90" or asked == f"{here}a":
            options = (*options, f"-arch=sm_{here}a")
    except simt.CompileError:  # no architecture at all: CuPy's compiler says so
        pass
    return (*options, f"-I{nvrtc.KERNELS}") if nvrtc.KERNELS.is_dir() else options
