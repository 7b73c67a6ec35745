"""How many bytes of machine code a kernel has: a launch reads them from DRAM, too."""

from __future__ import annotations

import struct
from functools import cache

from lanewise.simt import nvrtc

HEADER, SECTION = "<QIHHHHHH", "<IIQQQQIIQQ"  # ELF64: from e_shoff on; one section


@cache
def code_bytes(source: str, options: tuple[str, ...]) -> int:
    """The size of all `.text` sections that ptxas makes of `source` for sm_90a."""
    elf, _ = nvrtc.cubin(source, "sm_90a", options)
    offset, _, _, _, _, size, count, names = struct.unpack_from(HEADER, elf, 0x28)
    sections = [struct.unpack_from(SECTION, elf, offset + k * size) for k in range(count)]
    texts = sections[names][4]
    return sum(section[5] for section in sections if elf[texts + section[0] :].startswith(b".text"))
