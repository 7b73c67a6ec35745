"""One function of a kernel, translated block by block to Python, and where its variables lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import ptx
from .blocks import Block, Graph
from .checks import wgmma_registers
from .codegen import Emitter, vector, width_of
from .joined import Joined
from .ptx import Address, Function, Instruction, Symbol

if TYPE_CHECKING:
    from .program import Program


@dataclass(slots=True)
class Site:
    """One memory instruction. `origin`: the variable or parameter its address comes from, as far as the PTX shows."""

    number: int
    kind: str  # "ld.global", "st.shared", "atom.global" …
    instruction: Instruction
    origin: str | None
    function: str
    joined: Joined | None = None

    @property
    def line(self) -> int | None:
        return self.instruction.line or None


@dataclass(slots=True)
class Placed:
    """A shared or local variable and where it lies."""

    name: str
    offset: int
    size: int
    extern: bool = False


@dataclass(eq=False)
class Code:
    """One function, compiled block by block as execution reaches it."""

    program: Program
    function: Function
    graph: Graph
    slot_types: list[str]
    entry_params: frozenset[str]
    locals: dict[str, Placed]
    local_size: int
    number: int
    runs: list[Callable | None] = field(default_factory=list)
    masks: list[Any] = field(default_factory=list)
    costs: list[tuple[int, int]] = field(default_factory=list)  # see progress.cost
    texts: dict[int, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    params: dict[tuple[str, int], int] = field(default_factory=dict)
    tainted_runs: dict[int, Callable] = field(default_factory=dict)
    products: dict[int, str | None] = field(default_factory=dict)  # see checks.wrapping
    guesses: frozenset[int] = frozenset()  # see guesses.guessing_loads
    joined: dict[int, Joined] = field(default_factory=dict)  # see joined.joined_accesses
    left_out: frozenset[int] = frozenset()  # see repeated.left_out
    operations: dict[int, Any] = field(default_factory=dict)  # see apart.operation
    guards: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)  # branch → barriers on one side of it: see checks.gone_past
    meetings: dict[tuple[int, int], bool] = field(default_factory=dict)  # pair of blocks → see apart.may_meet

    @property
    def blocks(self) -> list[Block]:
        return self.graph.blocks

    @cached_property
    def unset(self) -> frozenset[int]:
        """Slots of registers that may be read before they are written (assembly can do that): they begin as 0, where a GPU has anything."""
        return frozenset(self.graph.blocks[0].live_in_slots)

    @cached_property
    def products_registers(self) -> wgmma_registers.Registers | None:
        """Where registers of unfinished wgmmas may be used; None where there is no wgmma."""
        return wgmma_registers.analyse(self.graph)

    def param_slot(self, name: str, offset: int) -> int:
        return self.params[name, offset]

    def address_of(self, name: str) -> tuple[str, int] | None:
        """(space, address) of a variable or function."""
        if name in self.locals:
            return "local", self.locals[name].offset
        return self.program.address_of(name)

    def run(self, pc: int) -> Callable:
        """The Python function of block `pc`."""
        got = self.runs[pc]
        if got is None:
            got = self.runs[pc] = self._made(pc, False)
        return got

    def tainted(self, pc: int) -> Callable:
        """The version of block `pc` that follows values from absent lanes."""
        got = self.tainted_runs.get(pc)
        if got is None:
            got = self.tainted_runs[pc] = self._made(pc, True)
        return got

    def translate(self) -> None:
        """Write the Python text of every block; it is compiled when first reached. Raises Unsupported."""
        for pc in range(len(self.blocks)):
            if pc not in self.texts:
                self.texts[pc] = Emitter(self, self.blocks[pc]).text()

    def _made(self, pc: int, marked: bool) -> Callable:
        text, constants = self.texts[pc] if not marked and pc in self.texts else Emitter(self, self.blocks[pc]).text(marked)
        scope = {**self.program.scope, **constants}
        exec(compile(text, f"<{self.function.name} block {pc}>", "exec"), scope)
        return scope[f"block_{pc}"]

    def mask(self, pc: int):
        """What the member mask of a warp-wide block is: an int, or a function of the group."""
        got = self.masks[pc]
        if got is None:
            from .instructions.warp import mask_operand

            instruction = self.blocks[pc].instructions[0]
            operand = mask_operand(instruction)
            if operand is None:
                got = 0xFFFFFFFF
            elif isinstance(operand, ptx.Imm):
                got = operand.value & 0xFFFFFFFF
            elif operand.name == "WARP_SZ":
                got = 32
            else:
                slot = self.graph.slots[operand.name]
                got = lambda g: 0 if g.regs[slot] is None else g.regs[slot]  # noqa: E731
            self.masks[pc] = got
        return got


def plain_type(type: str) -> str:
    """The declared type as one of pred, f32, f64, b16, b32, b64."""
    if type in ("pred", "f32", "f64"):
        return type
    return f"b{max(width_of(type), 16)}"


def number_params(code: Code, body: list[Instruction]) -> None:
    """A slot for every (parameter, offset) that calls and device functions pass values through."""
    for i in body:
        if i.opcode not in ("ld", "st") or not any(m.startswith("param") for m in i.modifiers):
            continue
        address = i.operands[1] if i.opcode == "ld" else i.operands[0]
        if not isinstance(address, Address) or not isinstance(address.base, Symbol) or address.base.name in code.entry_params:
            continue
        type = i.modifiers[-1]
        width = width_of(type)
        for j in range(len(vector(i.operands[0] if i.opcode == "ld" else i.operands[1]))):
            key = (address.base.name, address.base.offset + address.offset + j * width // 8)
            if key not in code.params:
                code.params[key] = len(code.slot_types)
                code.slot_types.append(plain_type(type if type in ("f32", "f64") else f"b{max(width, 16)}"))
