"""A kernel ready to run: its functions as blocks of Python, its variables laid out, its memory instructions numbered. Made once, launched often."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import ptx
from .blocks import Block, Graph, build
from .checks.wrapping import watched_products
from .codegen import Emitter, class_of, width_of
from .guesses import guessing_loads
from .joined import Joined, joined_accesses
from .memory import GUARD, SHARED_BASE
from .progress import cost
from .ptx import Address, Function, Instruction, Module, Symbol

MOST_PATTERNS = 50_000
_FUNCTIONS = 0x6100 << 40  # addresses of device functions


_ARITHMETIC = frozenset("add sub mul fma mad div rcp sqrt rsqrt ex2 lg2 sin cos min max abs neg setp set".split())


def function_address(module: Module, name: str) -> int:
    """A device function's address, for pointers to functions."""
    return _FUNCTIONS + 16 * (list(module.functions).index(name) + 1)


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

    @property
    def blocks(self) -> list[Block]:
        return self.graph.blocks

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
                self.texts[pc] = ParamEmitter(self, self.blocks[pc]).text()

    def _made(self, pc: int, marked: bool) -> Callable:
        text, constants = self.texts[pc] if not marked and pc in self.texts else ParamEmitter(self, self.blocks[pc]).text(marked)
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
            else:
                slot = self.graph.slots[operand.name]
                got = lambda g: g.regs[slot]  # noqa: E731
            self.masks[pc] = got
        return got


class ParamEmitter(Emitter):
    """Parameters of calls live in slots, like registers."""

    def define_param(self, address: Address, type: str, sources: tuple) -> None:
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


@dataclass(slots=True)
class Patterns:
    """What launches with one number of threads have found out about addresses; the next launch starts with it. See global_access, shared_access and checks.shared."""

    rows: dict[bytes, int] = field(default_factory=dict)
    sectors: dict = field(default_factory=dict)
    shared: dict = field(default_factory=dict)
    states: dict = field(default_factory=dict)

    @property
    def full(self) -> bool:
        return max(len(self.sectors), len(self.shared), len(self.states)) > MOST_PATTERNS


class Program:
    """An entry point of a PTX module with everything it can reach."""

    def __init__(self, module: Module, entry: Function, addresses: dict[str, tuple[str, int]]):
        from .instructions import NAMES
        from .machine import RUNTIME

        self.module, self.entry = module, entry
        self.addresses = addresses  # .global and .const variables of the module
        self.sites: list[Site] = []
        self._patterns: dict[int, Patterns] = {}
        self._site_at: dict[tuple[int, int, int], int] = {}
        self.codes: dict[str, Code] = {}
        self.scope: dict[str, Any] = {**NAMES, **RUNTIME, "__builtins__": __builtins__}
        self.shared: dict[str, Placed] = {}
        self.static_shared = 0
        self._lay_out_shared()
        self.flush = self._flushing()
        self.main = self.code(entry.name)
        self.grains = _grains(self)

    def reached(self) -> list[Function]:
        """The entry and every function it may call."""
        found, queue = [], [self.entry]
        while queue:
            function = queue.pop()
            if function in found or not function.defined:
                continue
            found.append(function)
            for i in ptx.body(self.module, function):
                if i.opcode == "call":
                    callee = i.operands[1] if len(i.operands) > 1 else i.operands[0]
                    names = [callee] if isinstance(callee, str) else list(self.module.functions)
                    queue += [self.module.functions[n] for n in names if n in self.module.functions]
        return found

    def _flushing(self) -> str:
        """How `.ftz` is done: by the processor ("cpu") where every float32 operation wants it, "explicit" where only some do, "" where none does."""
        with_flush = without = False
        for function in self.reached():
            for i in ptx.body(self.module, function):
                if i.opcode == "cvt" and "ftz" in i.modifiers:
                    with_flush = True
                if i.opcode not in _ARITHMETIC or not i.modifiers or i.modifiers[-1] not in ("f32", "f64"):
                    continue
                if "ftz" in i.modifiers:
                    with_flush = True
                else:
                    without = True
        return "" if not with_flush else "explicit" if without else "cpu"

    def known_patterns(self, threads: int) -> Patterns:
        """The patterns of earlier launches of `threads` threads a block; forgotten when they are too many."""
        known = self._patterns.get(threads)
        if known is None or known.full:
            known = self._patterns[threads] = Patterns()
        return known

    def names(self, more: dict[str, Any]) -> None:
        self.scope.update(more)

    # ------------------------------------------------------------------ layout

    def _lay_out_shared(self) -> None:
        """Static shared variables one after the other with guard zones between them, the dynamic ones (all at one address) last."""
        self.main_body = ptx.body(self.module, self.entry)
        used = [v for v in (*self.entry.variables, *self.module.variables.values()) if v.space == "shared"]
        for function in self.module.functions.values():
            if function is not self.entry and function.instructions is not None:
                used += [v for v in function.variables if v.space == "shared"]
        self.offset = SHARED_BASE
        for variable in used:
            if variable.size:
                self._place_shared(variable)
        self.dynamic = [v for v in used if not v.size]

    def _place_shared(self, variable) -> None:
        if variable.name in self.shared:
            return
        align = max(variable.align, 16)
        self.offset = (self.offset + align - 1) // align * align
        self.shared[variable.name] = Placed(variable.name, self.offset, variable.size)
        self.static_shared = (self.static_shared + variable.align - 1) // variable.align * variable.align + variable.size
        self.offset += variable.size + GUARD

    @property
    def dynamic_offset(self) -> int:
        """Where dynamic shared memory starts: 1 KB aligned, as swizzled tiles want it."""
        return (self.offset + 1023) // 1024 * 1024

    def address_of(self, name: str) -> tuple[str, int] | None:
        if name in self.shared:
            return "shared", self.shared[name].offset
        if any(v.name == name for v in self.dynamic):
            return "shared", self.dynamic_offset
        if name in self.addresses:
            return self.addresses[name]
        if name in self.module.functions:
            return "function", self.function_address(name)
        return None

    def function_address(self, name: str) -> int:
        return function_address(self.module, name)

    def function_at(self, address: int) -> str | None:
        index, rest = divmod(address - _FUNCTIONS, 16)
        names = list(self.module.functions)
        return names[index - 1] if 0 < index <= len(names) and not rest else None

    # ------------------------------------------------------------------ functions

    def code(self, name: str) -> Code:
        got = self.codes.get(name)
        if got is None:
            got = self.codes[name] = self._compile(self.module.functions[name])
        return got

    def _compile(self, function: Function) -> Code:
        body = ptx.body(self.module, function)
        for variable in function.variables:
            if variable.space == "shared" and variable.name not in self.shared and variable.size:
                self._place_shared(variable)
        graph = build(function, body)
        types = ["b32"] * len(graph.slots)
        for name, slot in graph.slots.items():
            types[slot] = "pred" if name == "%cc" else function.registers.get(name, "b32")
        types = [_plain_type(t) for t in types]
        locals_: dict[str, Placed] = {}
        size = 0
        for variable in function.variables:
            if variable.space == "local":
                align = max(variable.align, 16)
                size = (size + align - 1) // align * align
                locals_[variable.name] = Placed(variable.name, size, variable.size)
                size += variable.size
        entry_params = frozenset(p.name for p in function.params) if function.entry else frozenset()
        code = Code(self, function, graph, types, entry_params, locals_, (size + 15) // 16 * 16, len(self.codes))
        _number_params(code, body)
        code.runs = [None] * len(graph.blocks)
        code.masks = [None] * len(graph.blocks)
        code.costs = [cost(b.instructions) for b in graph.blocks]
        code.guesses = guessing_loads(body)
        code.products = watched_products(graph)
        code.joined = joined_accesses(graph, [v for v in (*function.variables, *self.module.variables.values()) if v.space == "shared"])
        if code.params:
            extra = tuple(code.params.values())
            for block in graph.blocks:
                block.live_in_slots = (*block.live_in_slots, *extra)
                block.live_out_slots = (*block.live_out_slots, *extra)
        return code

    def add_site(self, code: Code, index: int, kind: str, part: int = 0) -> int:
        """`part`: which of its addresses, for an instruction with several."""
        key = (code.number, index, part)
        got = self._site_at.get(key)
        if got is None:
            got = self._site_at[key] = len(self.sites)
            origin = code.graph.origins[index][part] if index in code.graph.origins else None
            self.sites.append(Site(got, kind, code.graph.body[index], origin, code.function.name, code.joined.get(index)))
        return got

    def special(self, e: Emitter, name: str, type: str) -> str:
        """An expression for a special register."""
        name = name.lstrip("%")
        if name == "WARP_SZ":
            return "32"
        if name in ("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi"):
            return f"CLOCK(g,{name!r})"
        return f"g.special({name!r})"


def _plain_type(type: str) -> str:
    """The declared type as one of pred, f32, f64, b16, b32, b64."""
    if type in ("pred", "f32", "f64"):
        return type
    return f"b{max(width_of(type), 16)}"


def _number_params(code: Code, body: list[Instruction]) -> None:
    """A slot for every (parameter, offset) that calls and device functions pass values through."""
    for i in body:
        if i.opcode not in ("ld", "st") or not any(m.startswith("param") for m in i.modifiers):
            continue
        address = i.operands[1] if i.opcode == "ld" else i.operands[0]
        if not isinstance(address, Address) or not isinstance(address.base, Symbol) or address.base.name in code.entry_params:
            continue
        type = i.modifiers[-1]
        width = width_of(type)
        count = len(i.operands[0].items) if i.opcode == "ld" and isinstance(i.operands[0], ptx.Vector) else len(i.operands[1].items) if i.opcode == "st" and isinstance(i.operands[1], ptx.Vector) else 1
        for j in range(count):
            key = (address.base.name, address.base.offset + address.offset + j * width // 8)
            if key not in code.params:
                code.params[key] = len(code.slot_types)
                code.slot_types.append(_plain_type(type if type in ("f32", "f64") else f"b{max(width, 16)}"))


def _grains(program: Program) -> dict[str, int]:
    """Smallest access in bytes to global and to shared memory: what the race check counts in words of."""
    sizes = {"global": 4, "shared": 4}
    for function in program.module.functions.values():
        if function.instructions is None:
            continue
        for i in function.instructions:
            if i.opcode not in ("ld", "st", "atom", "red", "cp"):  # rows of ldmatrix and lines of wmma are wider
                continue
            width = min(max(width_of(i.modifiers[-1]) // 8, 1), 4) if i.modifiers[-1][-1:].isdigit() else 4
            if any(m.startswith("shared") for m in i.modifiers):
                sizes["shared"] = min(sizes["shared"], width)
            elif not any(m.startswith(("local", "param", "const")) for m in i.modifiers):
                sizes["global"] = min(sizes["global"], width)
                if "global" not in i.modifiers:
                    sizes["shared"] = min(sizes["shared"], width)
    return sizes


__all__ = ["Code", "Placed", "Program", "Site", "np"]
