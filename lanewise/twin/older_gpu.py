"""Whether a kernel that this GPU can't take needs a newer one: asked of the compiler, since its complaints have many forms.

Besides "Feature '.m16n8k16' requires .target sm_80 or higher" there are names that a header declares for newer GPUs alone ("identifier "__reduce_add_sync" is
undefined") and machine code that the driver won't load. So the text is compiled for newer and newer GPUs, to machine code, by the pinned compiler.
"""

from __future__ import annotations

import functools
import re
import sys

from lanewise.simt import CompileError, nvrtc
from lanewise.simt.gpus import KB, LIMITS

ARCHS = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_90a")  # each has instructions that those before it lack
MOST_SHARED = LIMITS[90].shared_per_block
_said: set[str] = set()


def shortfall(what: str, code: str, options: tuple[str, ...], names: tuple[str, ...], capability: str, loaded: bool) -> str:
    """Why a GPU of `capability` ("75") can't run a text that another GPU can, as half a sentence; "" if that isn't why it failed.

    `what`: the kernel's name, or other words for it. `loaded`: it compiled, and the driver refused the result.
    """
    try:
        asked, others = nvrtc.split_arch(f"sm_{capability}{'a' if capability == '90' else ''}", options)
    except CompileError:  # no architecture at all
        return ""
    chosen = len(others) < len(options)
    if loaded:
        need = asked if chosen and not _runs(asked, capability) else ""
    else:
        need = _lowest(code, others, names, asked)
    if not need:
        return ""
    has = f"-arch=sm_{asked} asks for {_number(asked)}" if chosen and not loaded else f"this GPU has {_number(capability)}"
    if _digits(need) <= _digits(capability if loaded else asked):  # wgmma: Hopper has it, no GPU before or after
        return f"{what} needs the instructions of compute capability {_number(need)} alone (sm_{need}) and {has}"
    return f"{what} needs compute capability {_number(need)} and {has}"


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


def _runs(arch: str, capability: str) -> bool:
    """Whether machine code for `arch` ("90a") runs there: of the same major number, not of a later minor one; with a letter, of exactly this one."""
    ours, theirs = _digits(capability), _digits(arch)
    return ours == theirs if arch[-1] == "a" else ours // 10 == theirs // 10 and ours >= theirs


def _digits(arch: str) -> int:
    return int(re.sub(r"\D", "", arch))


def _number(arch: str) -> str:
    """ "90a" as 9.0."""
    return f"{_digits(arch) // 10}.{_digits(arch) % 10}"
