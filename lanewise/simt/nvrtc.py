"""CUDA C → PTX (and cubin) with NVIDIA's own runtime compiler, taken from its wheel: no toolkit, no GPU, no driver.

The version is pinned: the PTX, and with it every counter in a notebook, is then the same on every machine.
Source of the calls: NVRTC documentation, "User Interface".
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import re
import sys
import threading
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from .errors import CompileError

VERSION = "13.0.88"
INSTALL = f"pip install nvidia-cuda-nvrtc=={VERSION}"
FILE_NAME = "kernel.cu"
# NVRTC looks for `#include "x.h"` beside the source, and beside a bare name means the working folder. CuPy compiles in an empty
# temporary folder; a folder that doesn't exist does the same. A #line directive gives the file its plain name back.
_PRETENDED = f"/no-such-folder/{FILE_NAME}"
KERNELS = Path(__file__).resolve().parents[2] / "kernels"

# What CuPy 14.2 hands to NVRTC for a RawKernel (cupy/cuda/compiler.py): the caller's options, `-ftz=true`, the architecture of the
# device (`-arch=sm_90`, straight to a cubin) and `--device-as-default-execution-space`, which makes an unannotated helper function a
# device function. `--std=c++17` unless the caller names a dialect (cupy/_core/core.pyx). Ours differ in two points: the
# virtual architecture, since PTX is what we run, and `-lineinfo`, which changes no instruction.
_LIKE_CUPY = ("-ftz=true", "--device-as-default-execution-space")


@dataclass(frozen=True)
class Compiled:
    """PTX text, the compiler's log (warnings) and, for each name expression asked for, its mangled name.

    `approximate`: made by another compiler than NVRTC, so memory counters may differ from those on a GPU.
    """

    ptx: str
    log: str
    names: dict[str, str] = field(default_factory=dict)
    approximate: bool = False


def compile(source: str, arch: str = "sm_90a", options: tuple[str, ...] = (), names: tuple[str, ...] = (), kernels: Path | str | None = None) -> Compiled:
    """Compile CUDA C for `compute_XX` of `arch`; an `-arch=sm_XX` among `options` wins over `arch`.

    `names`: name expressions (`"scale<float>"`) of templates to instantiate. `kernels`: folder of the `.cuh` files
    on the include path (the project's own if None). Equal calls are answered from memory.
    Raises CompileError, whose `log` is NVRTC's text with the line numbers of `source`.
    """
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise TypeError("options must be a tuple of strings, such as ('-DN=4', '--use_fast_math')")
    return _compile(source, arch, tuple(options), tuple(names), str(kernels or KERNELS))


def cubin(
    source: str, arch: str = "sm_90a", options: tuple[str, ...] = (), names: tuple[str, ...] = (), kernels: Path | str | None = None
) -> tuple[bytes, str]:
    """The machine code ptxas makes of `source` for `arch`, as ELF bytes, and the log."""
    return _cubin(source, arch, tuple(options), tuple(names), str(kernels or KERNELS))[:2]


def lowered_names(source: str, arch: str = "sm_90a", options: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> dict[str, str]:
    """Name expression → mangled name, as in the machine code that `cubin` gives for the same arguments."""
    return _cubin(source, arch, tuple(options), tuple(names), str(KERNELS))[2]


@functools.lru_cache(maxsize=128)
def _compile(source: str, arch: str, options: tuple[str, ...], names: tuple[str, ...], kernels: str) -> Compiled:
    digits, options = split_arch(arch, options)
    blob, log, lowered = _run(source, f"compute_{digits}", options, names, kernels, "PTX")
    ptx = _without_paths(blob.rstrip(b"\0").decode("utf-8", "replace"), kernels)
    _check_version(ptx)
    return Compiled(ptx, log, lowered)


@functools.lru_cache(maxsize=32)
def _cubin(source: str, arch: str, options: tuple[str, ...], names: tuple[str, ...], kernels: str) -> tuple[bytes, str, dict[str, str]]:
    digits, options = split_arch(arch, options)
    return _run(source, f"sm_{digits}", options, names, kernels, "CUBIN")


def split_arch(arch: str, options: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """("90a", the other options); the last `-arch` / `--gpu-architecture` in `options` wins over `arch`."""
    rest: list[str] = []
    pending = False
    for option in options:
        found = re.fullmatch(r"(?:-arch|--gpu-architecture)(?:=(.*))?", option.strip())
        if pending:
            arch, pending = option.strip(), False
        elif found and found[1] is None:
            pending = True
        elif found:
            arch = found[1]
        else:
            rest.append(option)
    digits = re.fullmatch(r"(?:sm|compute)_(\d+[af]?)", arch)
    if not digits or pending:
        raise CompileError(f"unknown architecture {arch!r}: write it as 'sm_90a' or 'sm_80'.")
    return digits[1], tuple(rest)


def plain_source(source: str) -> str:
    """The text as compilers want it: no byte order mark, line ends `\\n`; line numbers stay."""
    if "\0" in source:
        raise CompileError("the source contains a NUL character: save the file as UTF-8 text.")
    return source.removeprefix("\ufeff").replace("\r\n", "\n")


def check_includes(source: str, options: tuple[str, ...]) -> None:
    """Only the toolkit's headers and `kernels/*.cuh` may be included: a kernel must mean the same on every machine."""
    for option in options:
        if re.match(r"-I|--include-path|--pre-include|-include", option.strip()):
            raise CompileError(f"option {option.split('=')[0][:2]}… is not taken: only the toolkit's headers and kernels/*.cuh can be included.")
    for number, line in enumerate(source.splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*["<]([^">]*)', line)
        if found and (re.match(r"[/\\]|[A-Za-z]:", found[1]) or ".." in re.split(r"[/\\]", found[1])):
            raise CompileError(f"line {number}: {line.strip()}: only the toolkit's headers and kernels/*.cuh can be included, by their bare names.")


def _run(source: str, target: str, options: tuple[str, ...], names: tuple[str, ...], kernels: str, result: str) -> tuple[bytes, str, dict[str, str]]:
    source = plain_source(source)
    check_includes(source, options)
    library = _load()
    _check_arch(library, target)
    root = _wheel_root()
    includes = [f"-I{root / 'include'}", f"-I{root / 'include' / 'cccl'}"] + ([f"-I{kernels}"] if Path(kernels).is_dir() else [])
    dialect = () if any("-std" in option for option in options) else ("--std=c++17",)
    flags = [*options, *dialect, *_LIKE_CUPY, "-lineinfo", f"--gpu-architecture={target}", *includes]
    program = ctypes.c_void_p()
    text = f'#line 1 "{FILE_NAME}"\n{source}'.encode("utf-8", "replace")
    _check(library, library.nvrtcCreateProgram(ctypes.byref(program), text, _PRETENDED.encode(), 0, None, None))
    try:
        for name in names:
            _check(library, library.nvrtcAddNameExpression(program, name.encode()))
        status = library.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags)))
        log = _without_paths(_fetch(library, program, "ProgramLog").replace(b"\0", b"").decode("utf-8", "replace"), kernels)
        if status:
            from .compile_errors import explain  # here, so that a good compile doesn't load it

            raise CompileError(explain(log or library.nvrtcGetErrorString(status).decode(), source), log)
        lowered = {}
        for name in names:
            pointer = ctypes.c_char_p()
            if library.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(pointer)) or pointer.value is None:
                raise CompileError(f"there is no kernel {name!r} in the source: check its name and template arguments.", log)
            lowered[name] = pointer.value.decode()
        return _fetch(library, program, result), log, lowered
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _fetch(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(library, getattr(library, f"nvrtcGet{what}")(program, buffer))
    return buffer.raw


def _check(library: ctypes.CDLL, status: int) -> None:
    if status:
        raise CompileError(f"NVRTC failed: {library.nvrtcGetErrorString(status).decode()}.")


def _check_arch(library: ctypes.CDLL, target: str) -> None:
    have = supported_archs()
    if int(re.sub(r"\D", "", target)) not in have:
        raise CompileError(f"NVRTC {VERSION} does not know {target.replace('compute', 'sm')}: it knows {', '.join(f'sm_{number}' for number in have)}.")


@functools.lru_cache(maxsize=1)
def supported_archs() -> tuple[int, ...]:
    """Compute capabilities the library compiles for: (75, 80, 86, …)."""
    library = _load()
    count = ctypes.c_int()
    _check(library, library.nvrtcGetNumSupportedArchs(ctypes.byref(count)))
    numbers = (ctypes.c_int * count.value)()
    _check(library, library.nvrtcGetSupportedArchs(numbers))
    return tuple(numbers)


@functools.lru_cache(maxsize=1)
def _wheel_root() -> Path:
    """The folder of the CUDA 13 wheels (`…/site-packages/nvidia/cu13`) that holds the library."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        root = Path(place) / "cu13"
        if _library_file(root):
            return root
    if sys.platform == "darwin":
        raise CompileError("NVRTC does not exist for macOS: kernels run there by way of clang, but ptxas' figures need Linux or Windows.")
    raise CompileError(f"NVRTC is not installed: {INSTALL}")


def _library_file(root: Path) -> Path | None:
    if sys.platform == "win32":
        return next((path for path in sorted(root.glob("bin/**/nvrtc64_13*.dll")) if ".alt." not in path.name), None)
    path = root / "lib" / "libnvrtc.so.13"
    return path if path.exists() else None


_lock = threading.Lock()
_library: ctypes.CDLL | None = None


def _load() -> ctypes.CDLL:
    global _library
    with _lock:
        if _library is None:
            file = _library_file(_wheel_root())
            assert file is not None
            try:
                # NVRTC asks for its built-ins by bare name: load the wheel's first, or one of another toolkit might answer.
                for builtins in sorted(file.parent.glob("nvrtc-builtins*.dll" if sys.platform == "win32" else "libnvrtc-builtins.so.*")):
                    if ".alt." not in builtins.name:
                        ctypes.CDLL(str(builtins))
                library = ctypes.CDLL(str(file))
            except OSError:
                raise CompileError(f"NVRTC could not be loaded from its wheel: install it anew, {INSTALL} --force-reinstall") from None
            library.nvrtcGetErrorString.restype = ctypes.c_char_p
            major, minor = ctypes.c_int(), ctypes.c_int()
            _check(library, library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
            if not VERSION.startswith(f"{major.value}.{minor.value}."):
                raise CompileError(f"NVRTC {VERSION} is needed, but {major.value}.{minor.value} was found: {INSTALL}")
            _library = library
        return _library


def _check_version(ptx: str) -> None:
    """The library's version call knows major and minor only; the exact one stands in the head of every PTX."""
    found = re.search(r"^// Cuda compilation tools, release [\d.]+, V([\d.]+)", ptx, re.MULTILINE)
    if found and found[1] != VERSION:
        warnings.warn(f"NVRTC {found[1]} was found, the course is made for {VERSION}; counters may differ: {INSTALL}", stacklevel=4)


def _without_paths(text: str, kernels: str) -> str:
    """No folder of this machine in what people read or tests compare: headers by the names they are included by."""
    for folder in (_wheel_root() / "include" / "cccl", _wheel_root() / "include", Path(kernels)):
        text = text.replace(f"{folder}/", "").replace(f"{folder}\\", "")
    return re.sub(rf'"[^"\n]*[/\\]{re.escape(FILE_NAME)}"', f'"{FILE_NAME}"', text)


def version() -> str:
    """The exact version of the library, as it says itself; raises CompileError when it can't be loaded."""
    found = re.search(r"V([\d.]+)", compile("").ptx)
    return found[1] if found else "unknown"
