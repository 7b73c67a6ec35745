"""A basic block → one Python function of NumPy statements over all lanes of a group.

`emit` of each family in `instructions/` writes the statements of one opcode through an `Emitter`; the names they call are the families' `NAMES`.
Registers alive at the start come from the group's list, those alive at the end go back.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .blocks import writes
from .errors import Unsupported
from .ptx import Address, Imm, Instruction, Operand, Reg, Special, Symbol, Vector
from .values import MASK

if TYPE_CHECKING:
    from .blocks import Block
    from .code import Code

_WIDTH = re.compile(r"[a-z]+(\d+)(x2)?")


def width_of(type: str) -> int:
    """Bits of a PTX type: s32 → 32, f16x2 → 32, pred → 1."""
    if type == "pred":
        return 1
    found = _WIDTH.fullmatch(type)
    if type in ("tf32", "e4m3", "e5m2") or found is None:
        return {"tf32": 32}.get(type, 8)
    return int(found[1]) * (2 if found[2] else 1)


def class_of(type: str) -> str:
    """How a register of this type is held: pred, int, f32 or f64."""
    return type if type in ("pred", "f32", "f64") else "int"


class Emitter:
    """Writes the Python text of one block."""

    def __init__(self, code: Code, block: Block):
        self.code, self.block = code, block
        self.lines: list[str] = []
        self.loaded: set[int] = set()  # slots whose local variable is current
        self.written: set[int] = set()
        self.constants: dict[str, Any] = {}
        self.temporaries = 0
        self.instruction: Instruction | None = None
        self.index = block.start
        self.marked = False  # see text

    # ------------------------------------------------------------------ reading operands

    def slot(self, name: str) -> int:
        return self.code.graph.slots[name]

    def variable(self, name: str) -> str:
        """The local variable of a register, read from the group on first use."""
        slot = self.slot(name)
        if slot not in self.loaded:
            self.loaded.add(slot)
            self.lines.append(f"r{slot}=R[{slot}]")
            if slot in self.code.unset:
                self.lines.append(f"if r{slot} is None: r{slot}={self.zero(self.code.slot_types[slot])}")
        return f"r{slot}"

    def constant(self, value: Any) -> str:
        """A name for a Python object in the function's globals."""
        name = f"K{len(self.constants)}_{self.block.index}"
        self.constants[name] = value
        return name

    def temporary(self) -> str:
        self.temporaries += 1
        return f"t{self.temporaries}"

    def use(self, operand: Operand, type: str) -> str:
        """An expression for `operand` as a value of `type`; what is held differs is reinterpreted."""
        wanted = class_of(type)
        if isinstance(operand, Reg):
            name = self.variable(operand.name)
            held = class_of(operand.type)
            if operand.negated:
                return f"NOT({name})"
            if held == wanted:
                return name
            if wanted == "f32":
                return f"F32({name})"
            if wanted == "f64":
                return f"F64({name})"
            if held == "f32":
                return f"B32({name})"
            if held == "f64":
                return f"B64({name})"
            raise self.unsupported("a predicate where a number is expected")
        if isinstance(operand, Imm):
            if wanted in ("f32", "f64"):
                return self.constant((np.float32 if wanted == "f32" else np.float64)(_number(operand)))
            if wanted == "pred":
                return "True" if operand.value else "False"
            return str(operand.value & MASK[max(width_of(type), 8)])
        if isinstance(operand, Special):
            return f"({self.special(operand.name)}!=0)" if wanted == "pred" else self.special(operand.name)
        if isinstance(operand, Symbol):
            return self.symbol(operand)
        raise self.unsupported(f"operand {operand}")

    def special(self, name: str) -> str:
        """A special register: %tid.x, %clock …"""
        name = name.lstrip("%")
        if name == "WARP_SZ":
            return "32"
        if name in ("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi"):
            return f"CLOCK(g,{name!r})"
        return f"g.special({name!r})"

    def symbol(self, symbol: Symbol) -> str:
        """The address of a variable."""
        where = self.code.address_of(symbol.name)
        if where is None:
            raise self.unsupported(f"the address of {symbol.name}")
        space, offset = where
        offset += symbol.offset
        return f"(g.stack+{offset})" if space == "local" else str(offset & MASK[64])

    # ------------------------------------------------------------------ writing results

    def define(self, operand: Operand, type: str, expression: str) -> None:
        """Assign a value of `type` to a register; under the instruction's predicate only where that holds."""
        if operand is None:
            return
        if not isinstance(operand, Reg):
            raise self.unsupported(f"result {operand}")
        made, held = class_of(type), class_of(operand.type)
        if made != held:
            if held == "f32":
                expression = f"F32({expression})"
            elif held == "f64":
                expression = f"F64({expression})"
            elif made == "f32":
                expression = f"B32({expression})"
            elif made == "f64":
                expression = f"B64({expression})"
        assert self.instruction is not None
        predicate = self.instruction.predicate
        slot = self.slot(operand.name)
        if predicate is not None:
            p = self.use(predicate, "pred")
            if slot in self.loaded or slot in self.written or operand.name in self.block.live_in:
                old = self.variable(operand.name)
            else:
                old = self.zero(operand.type)
            if held == "int":
                expression = f"SELI({p},{expression},{old},{width_of(operand.type)})"
            else:
                expression = f"SEL({p},{expression},{old})"
        self.loaded.add(slot)
        self.written.add(slot)
        self.lines.append(f"r{slot}={expression}")

    def define_param(self, address: Address, type: str, sources: tuple) -> None:
        """Store to a parameter of a call: it lives in a slot, like a register."""
        assert isinstance(address.base, Symbol)
        for j, source in enumerate(sources):
            slot = self.code.param_slot(address.base.name, address.base.offset + address.offset + j * width_of(type) // 8)
            held = self.code.slot_types[slot]
            value = self.use(source, type if width_of(type) >= 16 else "b16")
            if class_of(type) != class_of(held):
                value = {"f32": f"F32({value})", "f64": f"F64({value})"}.get(held) or f"B{width_of(held)}({value})"
            self.loaded.add(slot)
            self.written.add(slot)
            self.lines.append(f"r{slot}={value}")

    def taint_result(self, operand, source, mode: str, b: str, c: str) -> None:
        """After a shuffle: the machine marks the result where it came from an absent lane; earlier marks move with their values."""
        if operand is None:
            return
        slot = self.slot(operand.name)
        if self.marked and hasattr(source, "name"):
            self.lines.append(f"TSHFL(g,{slot},{self.slot(source.name)},{mode!r},{b},{c})")
        self.lines.append(f"if g.batch.machine.fresh_taint is not None: TAINT(g,{slot})")

    def zero(self, type: str) -> str:
        return {"pred": "False", "f32": "ZERO32", "f64": "ZERO64"}.get(type, "0")

    def line(self, text: str) -> None:
        self.lines.append(text)

    # ------------------------------------------------------------------ the block

    def unsupported(self, what: str = "") -> Unsupported:
        i = self.instruction
        assert i is not None
        name = ".".join((i.opcode, *i.modifiers))
        at = f" (source line {i.line})" if i.line else ""
        return Unsupported(f"the simulator can't run the PTX instruction {name}{at}{': ' + what if what else ''}")

    def single_product(self, operand: Operand, user: Instruction) -> tuple | None:
        """The factors of `operand` if it is a `mul` of this block without a rounding modifier whose only use is `user`."""
        if not isinstance(operand, Reg) or self.code.graph.uses.get(operand.name) != 1:
            return None
        before = self.block.instructions[: self.index - self.block.start]
        for k in range(len(before) - 1, -1, -1):
            made = before[k]
            if operand.name not in writes(made):
                continue
            if made.opcode != "mul" or made.predicate is not None or made.modifiers != tuple(m for m in user.modifiers):
                return None
            changed = {name for later in before[k + 1 :] for name in writes(later)}
            factors = made.operands[1:3]
            return None if any(isinstance(f, Reg) and f.name in changed for f in factors) else factors
        return None

    def site(self, kind: str, part: int = 0) -> int:
        """A number for this memory instruction (for one of its addresses): counters and findings speak of it."""
        return self.code.program.add_site(self.code, self.index, kind, part)

    def masked(self) -> tuple[str, str]:
        """For instructions with effects: (group expression, index expression) of the lanes for which the predicate holds; the group may be None."""
        assert self.instruction is not None
        predicate = self.instruction.predicate
        if predicate is None:
            return "g", "None"
        p = self.use(predicate, "pred")
        gp, ix = self.temporary(), self.temporary()
        self.lines.append(f"{gp},{ix}=SUB(g,{p})")
        return gp, ix

    def text(self, marked: bool = False) -> tuple[str, dict[str, Any]]:
        """Python source of the block's function and the constants it needs. `marked`: the version that follows values from absent lanes."""
        from .checks import taint
        from .instructions import EMIT

        unfinished = self.code.products_registers
        ended = False
        for offset, instruction in enumerate(self.block.instructions):
            self.instruction, self.index = instruction, self.block.start + offset
            emit = EMIT.get(instruction.opcode)
            if emit is None:
                raise self.unsupported()
            self.marked = marked
            if marked:
                taint.before(self, instruction)
            for uses in (unfinished.used, unfinished.changed) if unfinished is not None else ():
                if self.index in uses:
                    from .instructions.wgmma import emit_use

                    emit_use(self, instruction, uses[self.index])
            try:
                ended = bool(emit(self, instruction))
            except (LookupError, ValueError, TypeError, AttributeError, AssertionError, StopIteration) as error:  # assembly that no compiler has read before us
                raise self.unsupported("an operand or a modifier of it is none that it takes") from error
            if marked and not ended:
                taint.after(self, instruction)
        tail: list[str] = []
        if ended:
            tail.append(self.lines.pop())
        live_out = set(self.block.live_out_slots)
        self.lines += [f"R[{slot}]=r{slot}" for slot in sorted(self.written) if slot in live_out]
        if marked:
            self.lines.append(f"TEND(g,{self.constant(frozenset(live_out))})")
        if not ended:
            tail.append(f"return {self.block.index + 1}")
        body = "\n ".join([*self.lines, *tail])
        return f"def block_{self.block.index}(g):\n R=g.regs\n {body}\n", self.constants


def _number(immediate: Imm) -> Any:
    """The number that a literal of any kind stands for."""
    if immediate.kind == "f32":
        return np.uint32(immediate.value & MASK[32]).view(np.float32)
    if immediate.kind == "f64":
        return np.uint64(immediate.value & MASK[64]).view(np.float64)
    return immediate.value


def vector(operand: Operand) -> tuple:
    """The items of a vector operand, or the operand alone."""
    return operand.items if isinstance(operand, Vector) else (operand,)
