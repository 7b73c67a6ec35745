"""Where the simulator's counters differ from a GPU's, and why; by the first part of the kernel's name. A line goes when its kernels are equal."""

from __future__ import annotations

REMAINDER = "ptxas makes one 128-bit load of the three loads after a loop unrolled by four, across the branches between them"
UNROLLED = "ptxas unrolls a loop of eight steps that the PTX still has, and joins loads of neighbouring steps"
ASKED_TWICE = "16-byte cp.async whose targets share banks asks for some sectors twice"
LOADED_ONCE = "the GPU loads less often than the PTX says: ptxas keeps a value; read off the counts, not off the machine code"
NOISE = "a few of many thousands, in one of two readings: the counter isn't exact to the last"
KNOWN_BY_NAME = {
    "tensor.tensor_matmul": ASKED_TWICE,
    "tensor.cp_async_rows_cg": ASKED_TWICE,
    "tensor.wmma_tiles": "wmma's loads from shared memory become ldmatrix, which the request counter leaves out",
    "attention.flash": NOISE,
    "course.ch04c_all_distances": REMAINDER,
    "course.ch06d_tolerance": NOISE,
    "course.ch08b_edge_block": UNROLLED,
    "course.ch10_unstored_scores": LOADED_ONCE,
    "course.ch12_flash_registers": ASKED_TWICE,
    "course.ch12e_partial_load": LOADED_ONCE,
    "course.ch14_flash_varlen": LOADED_ONCE,
    "course.ch14c_packed_lengths": LOADED_ONCE,
    "course.ch16_flash_backward": LOADED_ONCE,
    "course.ch16d_add_to_dq": LOADED_ONCE,
}


def known(name: str) -> str | None:
    """Why this kernel's counters may differ, or None where they must be equal."""
    return next((reason for start, reason in KNOWN_BY_NAME.items() if name.startswith(start)), None)
