"""GPUs as tables: what a block may use, what an SM has, and in which portions it is given out.

Sources: CUDA C++ Programming Guide, "Compute Capabilities", and the toolkit's occupancy calculator (`cuda_occupancy.h`) for the
portions: registers 256 to a warp, shared memory 128 bytes (256 before Ampere), and 1 KB of it for the system in each block
from Ampere on.
"""

from __future__ import annotations

from dataclasses import dataclass

KB = 1024
REGISTER_FILE = 65536
REGISTERS_PER_PORTION = 256
PARTS_OF_SM = 4
MAX_REGISTERS = 255


@dataclass(frozen=True)
class Limits:
    """One compute capability; shared memory in bytes."""

    threads_per_sm: int
    blocks_per_sm: int
    shared_per_sm: int
    shared_per_block: int  # with max_dynamic_shared_size_bytes raised
    shared_reserved: int = KB  # by the system, in each block
    shared_portion: int = 128


LIMITS: dict[int, Limits] = {
    75: Limits(1024, 16, 64 * KB, 64 * KB, 0, 256),
    80: Limits(2048, 32, 164 * KB, 163 * KB),
    86: Limits(1536, 16, 100 * KB, 99 * KB),
    87: Limits(1536, 16, 164 * KB, 163 * KB),
    89: Limits(1536, 24, 100 * KB, 99 * KB),
    90: Limits(2048, 32, 228 * KB, 227 * KB),
    100: Limits(2048, 32, 228 * KB, 227 * KB),
    103: Limits(2048, 32, 228 * KB, 227 * KB),
    120: Limits(1536, 24, 100 * KB, 99 * KB),
}


@dataclass(frozen=True)
class GPU:
    """A product: compute capability and number of SMs."""

    name: str
    capability: int
    sms: int

    @property
    def arch(self) -> str:
        """What to compile for: on Hopper with the instructions that are its alone."""
        return f"sm_{self.capability}{'a' if self.capability == 90 else ''}"

    @property
    def limits(self) -> Limits:
        return LIMITS[self.capability]


GPUS: dict[str, GPU] = {
    gpu.name: gpu
    for gpu in (
        GPU("T4", 75, 40),
        GPU("A100", 80, 108),
        GPU("RTX 3090", 86, 82),
        GPU("RTX 4090", 89, 128),
        GPU("L4", 89, 58),
        GPU("H100", 90, 132),
        GPU("H200", 90, 132),
    )
}


def blocks_by_registers(registers: int, threads: int) -> int:
    """How many blocks of `threads` threads the register file of an SM holds, at `registers` a thread.

    A quarter of the file belongs to each of the four parts of an SM; whether one block fits at all is judged by the
    hardware with the block's warps rounded up to a multiple of four.
    """
    warps = -(-threads // 32)
    by_warp = -(-registers * 32 // REGISTERS_PER_PORTION) * REGISTERS_PER_PORTION
    if by_warp * -(-warps // PARTS_OF_SM) * PARTS_OF_SM > REGISTER_FILE or registers > MAX_REGISTERS:
        return 0
    if by_warp == 0:
        return REGISTER_FILE
    return REGISTER_FILE // PARTS_OF_SM // by_warp * PARTS_OF_SM // warps
