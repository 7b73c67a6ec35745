"""mma.m8n8k4 on f16: four products of 8 × 8 × 4 at once, each by eight lanes (PTX ISA 9.7.14.5.1 "Matrix Fragments for mma.m8n8k4 with .f16").

Lanes 4 q to 4 q + 3 and 16 + 4 q to 16 + 4 q + 3 make product q. A fragment of the warp is its four matrices, one below the other.
"""

from __future__ import annotations

import functools

import numpy as np

from ..codegen import Emitter, vector
from ..ptx import Instruction
from ..values import f16, f32, f64, ndarray, u16, u32
from .fragments import LANE, Layout, gather, register_of, remember, scatter

PRODUCTS = 4


@functools.cache
def quad_layout(use: str, turned: bool, type: str) -> Layout:
    """The fragment of operand `use` (a, b; c for c and d). `turned`: A by columns, B by rows."""
    rows, cols = {"a": (8, 4), "b": (4, 8)}.get(use, (8, 8))
    element = np.arange(8 if use == "c" else 4)
    lane, upper = (LANE & 3)[:, None], 4 * (LANE >> 4)[:, None]
    if use == "c" and type == "f32":
        row = (lane & 1) + (element & 2) + upper
        col = (element & 4) + (lane & 2) + (element & 1)
    else:
        line, along = (lane, element + upper) if turned else (lane + upper, element)
        row, col = (along, line) if turned != (use == "b") else (line, along)
    product = (LANE >> 2 & 3)[:, None]
    place = ((product * rows + row) * cols + col).ravel()
    source = np.empty(PRODUCTS * rows * cols, np.int64)
    source[place] = np.arange(len(place))
    return Layout(PRODUCTS * rows, cols, type, place, source)


def multiply_quads(g, a: tuple, b: tuple, c: tuple, layouts: tuple[Layout, Layout, Layout, Layout]) -> tuple:
    """The registers of D."""
    of_a, of_b, of_c, of_d = layouts
    left, right, addend = (_matrices(gather(g, x, of)) for x, of in ((a, of_a), (b, of_b), (c, of_c)))
    result = (left @ right + addend).astype(f16 if of_d.type == "f16" else f32)
    whole = result.reshape(*result.shape[:2], of_d.rows, of_d.cols)
    registers = scatter(g, whole.view(u16 if of_d.type == "f16" else u32).reshape(*whole.shape[:2], -1), of_d)
    if of_d is of_c:
        remember(g, registers, of_d, whole.astype(f64) if of_d.type == "f16" else whole)
    return registers


def _matrices(x: ndarray) -> ndarray:
    return x.reshape(*x.shape[:2], PRODUCTS, x.shape[2] // PRODUCTS, x.shape[3])


def emit_quads(e: Emitter, i: Instruction, d_type: str, c_type: str) -> None:
    """A and B may lie in rows or in columns, each."""
    turned = [m for m in i.modifiers if m in ("row", "col")]
    if len(turned) != 2 or d_type not in ("f16", "f32") or c_type not in ("f16", "f32") or (d_type, c_type) == ("f16", "f32"):
        raise e.unsupported("this shape with these element types")
    d, a, b, c = map(vector, i.operands[:4])
    of_d, of_c = (quad_layout("c", False, t) for t in (d_type, c_type))
    layouts = quad_layout("a", turned[0] == "col", "f16"), quad_layout("b", turned[1] == "row", "f16"), of_c, of_d
    parts = [",".join(e.use(x, register_of(t)) for x in registers) for registers, t in ((a, "f16"), (b, "f16"), (c, c_type))]
    t = e.temporary()
    e.line(f"{t}=MMAQUADS(g,({parts[0]},),({parts[1]},),({parts[2]},),{e.constant(layouts)})")
    for j, register in enumerate(d):
        e.define(register, register_of(d_type), f"{t}[{j}]")
