"""This GPU's compute capability, and whether a kernel that it can't take needs a newer one: asked of the compiler, whose complaints have many forms.

Besides "Feature '.m16n8k16' requires .target sm_80 or higher" there are names that a header declares for newer GPUs alone ("identifier "__reduce_add_sync" is
undefined"). So the text is compiled for newer and newer GPUs, to machine code, by the pinned compiler. An `-arch` among the options has no say in it, as it
has none in CuPy, which compiles for the GPU that is there.
"""

from __future__ import annotations

import functools
import re
import sys

from lanewise import cp
from lanewise.simt import CompileError, nvrtc
from lanewise.simt.gpus import KB, LIMITS

ARCHS = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_90a")  # each has instructions that those before it lack
MOST_SHARED = LIMITS[90].shared_per_block
_said: set[str] = set()


def capability() -> str:
    """This GPU's compute capability as CuPy has it: "90" for 9.0. All of lanewise.twin asks here."""
    return cp.real_cupy().cuda.Device().compute_capability


def shortfall(what: str, code: str, options: tuple[str, ...], names: tuple[str, ...], capability: str) -> str:
    """Why a GPU of `capability` ("75") can't compile a text that another GPU can, as half a sentence; "" if that isn't why it failed.

    `what`: the kernel's name, or other words for it.
    """
    try:
        need = _lowest(code, nvrtc.split_arch("sm_90a", options)[1], names, f"{capability}a" if capability == "90" else capability)
    except CompileError:  # an option that is no architecture
        return ""
    if not need:
        return ""
    if _digits(need) <= int(capability):  # wgmma: Hopper has it, no GPU before or after
        return f"{what} needs the instructions of compute capability {_number(need)} alone (sm_{need}) and this GPU has {_number(capability)}"
    return f"{what} needs compute capability {_number(need)} and this GPU has {_number(capability)}"


def shared_shortfall(what: str, shared: int, capability: str) -> str:
    """The same for `shared` bytes of shared memory a block."""
    limits = LIMITS.get(int(capability))
    if limits is None or not limits.shared_per_block < shared <= MOST_SHARED:
        return ""
    return f"{what} asks for {shared / KB:g} KB of shared memory a block and this GPU has {limits.shared_per_block / KB:g}"


def say_once(why: str) -> None:
    """One line a kernel, to standard error: what a notebook prints stays the same on every GPU."""
    if why not in _said:
        _said.add(why)
        print(f"{why}: it runs on the simulator.", file=sys.stderr)


@functools.lru_cache(maxsize=64)
def _lowest(code: str, options: tuple[str, ...], names: tuple[str, ...], asked: str) -> str:
    """The first of ARCHS that the text compiles for ("90a"), "" if it doesn't even compile for the last, or if it does for `asked`."""
    if _digits(asked) in nvrtc.supported_archs() and _compiles(code, f"sm_{asked}", options, names):
        return ""
    if not _compiles(code, ARCHS[-1], options, names):  # what is wrong there is wrong everywhere
        return ""
    newer = (arch for arch in ARCHS if _digits(arch) > _digits(asked) or (arch.endswith("a") and arch != f"sm_{asked}"))
    return next((arch.removeprefix("sm_") for arch in newer if _compiles(code, arch, options, names)), "")


def _compiles(code: str, arch: str, options: tuple[str, ...], names: tuple[str, ...]) -> bool:
    try:
        nvrtc.cubin(code, arch, options, names)
    except CompileError:
        return False
    return True


def _digits(arch: str) -> int:
    return int(re.sub(r"\D", "", arch))


def _number(arch: str) -> str:
    """ "90a" as 9.0."""
    return f"{_digits(arch) // 10}.{_digits(arch) % 10}"
