"""CUDA C → PTX with clang, where NVRTC has no wheel (macOS). No CUDA SDK: `clang_include/` holds the built-ins, in our own words.

The clang is the one inside the `ziglang` wheel (`python -m ziglang clang`), which knows the PTX target on every platform. Results
are right, but the PTX is not NVRTC's: memory counters may differ from those of a GPU, and `Compiled.approximate` says so.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .compile_errors import explain
from .errors import CompileError
from .nvrtc import FILE_NAME, KERNELS, Compiled, check_includes, plain_source, split_arch

VERSION = "0.17.1"
INCLUDE = Path(__file__).resolve().parent / "clang_include"
TIMEOUT = 60  # seconds; templates can keep any compiler busy for ever

_FLAGS = (
    *("-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "-nostdinc", "-nostdinc++", "-Wno-unknown-cuda-version", "-Wno-c++17-extensions"),
    *("-O2", "-S", "-gline-tables-only", "-fno-exceptions", "-fno-rtti", "-fomit-frame-pointer"),
    # As NVRTC does it under CuPy: -ftz=true, and fused multiply-add wherever the source allows it.
    *("-fgpu-flush-denormals-to-zero", "-ffp-contract=fast"),
    # NVRTC never joins neighbouring scalars into vectors in its PTX.
    *("-fno-slp-vectorize", "-fno-vectorize"),
    # Short loops over a thread's own array must be unrolled whole, or the array moves from registers to local memory.
    *("-mllvm", "-unroll-threshold=1500"),
    # The same for arrays that a function or a lambda gets by reference; accumulators of a wgmma under way would be copied, too.
    *("-mllvm", "-inline-threshold=100000"),
)
# Options of NVRTC without a meaning here: they change how machine code is made, not what the kernel says.
_IGNORED = re.compile(
    r"-lineinfo|--generate-line-info|-G|--device-debug|--?maxrregcount.*|--?ptxas-options.*|-Xptxas.*|-ftz=.*|-w|-?-restrict"
    r"|--?device-as-default-execution-space|-default-device|--?relocatable-device-code.*|-rdc=.*"
)


def compile(source: str, arch: str = "sm_90a", options: tuple[str, ...] = (), names: tuple[str, ...] = (), kernels: Path | str | None = None) -> Compiled:
    """As `nvrtc.compile`, by clang: the same arguments, errors and line numbers, and `approximate=True`."""
    if isinstance(options, str) or not all(isinstance(option, str) for option in options):
        raise TypeError("options must be a tuple of strings, such as ('-DN=4', '--use_fast_math')")
    return _compile(source, arch, tuple(options), tuple(names), str(kernels or KERNELS))


@functools.lru_cache(maxsize=128)
def _compile(source: str, arch: str, options: tuple[str, ...], names: tuple[str, ...], kernels: str) -> Compiled:
    digits, options = split_arch(arch, options)
    source = plain_source(source)
    check_includes(source, options)
    wanted = "".join(f"\n__device__ auto* lanewise_name_{at} = &{name};" for at, name in enumerate(names))
    flags = [*_FLAGS, f"--cuda-gpu-arch=sm_{digits}", *_options(options), "-include", "lanewise_builtins.h", f"-I{INCLUDE}"]
    if Path(kernels).is_dir():
        flags.append(f"-I{kernels}")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / FILE_NAME).write_text(source + wanted, encoding="utf-8", errors="replace", newline="\n")
        try:
            done = subprocess.run([_program(), "clang", *flags, "-o", "kernel.ptx", FILE_NAME], cwd=folder, capture_output=True, text=True,
                                  encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL, timeout=TIMEOUT)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise CompileError(f"clang did not finish within {TIMEOUT} s: look for templates that call themselves without end.") from None
        log = _without_paths(done.stderr, folder, kernels)
        if done.returncode:
            raise CompileError(explain(log or "clang failed without a word.", source), log)
        ptx = (Path(folder) / "kernel.ptx").read_text(encoding="utf-8")
    ptx = _with_clusters(_lines_of_source(_without_paths(ptx, folder, kernels)), source)
    return Compiled(_without_names(ptx), log, _lowered(ptx, names, log), approximate=True)


def _with_clusters(ptx: str, source: str) -> str:
    """The directive that NVRTC writes for `__cluster_dims__(x, y, z)` in front of a kernel's name, behind that kernel's parameters."""
    for sizes, name in re.findall(r"__cluster_dims__\s*\(([\d\s,]+)\)[^;{}]*?\b(\w+)\s*\((?=[^()]*(?:\([^()]*\)[^()]*)*\)\s*\{)", source):
        x, y, z = (*(int(size) for size in sizes.split(",")), 1, 1)[:3]
        entry = re.compile(rf"(\.entry\s+(?:{name}|_Z{len(name)}{name}\w*)\s*\([^)]*\))")
        ptx = entry.sub(rf"\1\n.explicitcluster\n.reqnctapercluster {x}, {y}, {z}", ptx)
    return ptx


def available() -> bool:
    """Whether the ziglang wheel is installed."""
    return importlib.util.find_spec("ziglang") is not None


@functools.lru_cache(maxsize=1)
def _program() -> str:
    spec = importlib.util.find_spec("ziglang")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        program = Path(place) / ("zig.exe" if sys.platform == "win32" else "zig")
        if program.exists():
            return str(program)
    raise CompileError(f"clang is not installed: pip install ziglang=={VERSION}")


def _options(options: tuple[str, ...]) -> list[str]:
    """NVRTC's options in clang's words."""
    taken = []
    pending = ""
    for option in options:
        option, pending = pending + option.strip(), ""
        if option in ("-D", "-U"):  # its text is the next one
            pending = option
            continue
        if re.match(r"(-D|-U)\w", option):
            taken.append(option)
        elif re.match(r"--(define|undefine)-macro=", option):
            taken.append(("-D" if "--d" in option else "-U") + option.split("=", 1)[1])
        elif found := re.fullmatch(r"--?std=(c\+\+\d\d)", option):
            taken.append(f"-std={found[1]}")
        elif option in ("--use_fast_math", "-use_fast_math"):
            taken += ["-DLANEWISE_FAST_MATH", "-fgpu-approx-transcendentals"]
        elif found := re.fullmatch(r"--?fmad=(true|false)", option):
            taken.append(f"-ffp-contract={'fast' if found[1] == 'true' else 'off'}")
        elif not _IGNORED.fullmatch(option):
            raise CompileError(f"option {option} is not known to the clang front end, which takes -D, -U, -std, --use_fast_math and -arch.")
    return taken if any(option.startswith("-std") for option in taken) else [*taken, "-std=c++17"]


def _lines_of_source(ptx: str) -> str:
    """Instructions inlined from our headers count for the line of the learner's that called them.

    clang writes the chain of calls behind each `.loc` as a comment, innermost first: `// math.h:8:3 @[ kernel.cu:5:7 ]`.
    """
    files = dict(re.findall(r'^\s*\.file\s+(\d+) "([^"]*)"', ptx, re.MULTILINE))
    numbers = {name: number for number, name in files.items()}
    ours = {number for number, name in files.items() if (INCLUDE / name).is_file()}

    def outer(found: re.Match[str]) -> str:
        if found[1] not in ours:
            return found[0]
        for name, line, column in re.findall(r"@\[ ([^:\s]+):(\d+):(\d+)", found[2]):
            if numbers.get(name) not in ours and name in numbers:
                return f"\t.loc\t{numbers[name]} {line} {column}"
        return ""

    ptx = re.sub(r"^\s*\.loc\s+\d+ 0 \d+[^\n]*\n", "", ptx, flags=re.MULTILINE)  # line 0: the compiler knows none; the one before stays
    return re.sub(r"^\s*\.loc\s+(\d+) \d+ \d+\s*//([^\n]*)", outer, ptx, flags=re.MULTILINE)


def _lowered(ptx: str, names: tuple[str, ...], log: str) -> dict[str, str]:
    found = {}
    for at, name in enumerate(names):
        value = re.search(rf"lanewise_name_{at} = (\w+);", ptx)
        if not value:
            raise CompileError(f"there is no kernel {name!r} in the source: check its name and template arguments.", log)
        found[name] = value[1]
    return found


def _without_names(ptx: str) -> str:
    return re.sub(r"^.*\blanewise_name_\d+ = .*\n", "", ptx, flags=re.MULTILINE)


def _without_paths(text: str, folder: str, kernels: str) -> str:
    for place in (str(Path(folder).resolve()), folder, str(INCLUDE), kernels):
        text = text.replace(f"{place}/", "").replace(f"{place}\\", "")
    return re.sub(r"\./(?=kernel\.cu)", "", text)
