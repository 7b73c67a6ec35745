"""A kernel ready to run: its functions as blocks of Python, its variables laid out, its memory instructions numbered. Made once, launched often."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from . import ptx
from .blocks import build
from .checks.wrapping import watched_products
from .code import Code, Placed, Site, number_params, plain_type
from .codegen import width_of
from .guesses import guessing_loads
from .joined import joined_accesses
from .memory import GUARD, SHARED_BASE
from .progress import cost
from .ptx import Function, Module
from .repeated import left_out

MOST_PATTERNS = 50_000
_FUNCTIONS = 0x6100 << 40  # addresses of device functions


_ARITHMETIC = frozenset("add sub mul fma mad div rcp sqrt rsqrt ex2 lg2 sin cos min max abs neg setp set".split())


def function_address(module: Module, name: str) -> int:
    """A device function's address, for pointers to functions."""
    return _FUNCTIONS + 16 * (list(module.functions).index(name) + 1)


@dataclass(slots=True)
class Patterns:
    """What launches with one number of threads have found out about addresses; the next launch starts with it.

    See global_access, shared_access and checks.shared.
    """

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
        from .control_flow import RUNTIME
        from .instructions import NAMES

        self.module, self.entry = module, entry
        self.addresses = addresses  # .global and .const variables of the module
        self.sites: list[Site] = []
        self._patterns: dict[int, Patterns] = {}
        self._site_at: dict[tuple[int, int, int], int] = {}
        self.codes: dict[str, Code] = {}
        self.joint: dict[tuple, Code] = {}  # see apart
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

    @cached_property
    def warpgroups(self) -> bool:
        """Whether warps work in fours somewhere: they then run side by side in every schedule."""
        return any(i.opcode in ("wgmma", "setmaxnreg") for function in self.reached() for i in ptx.body(self.module, function))

    @cached_property
    def brings_by_mbarrier(self) -> bool:
        """Whether copies bring data that an mbarrier tells of: who reads it must have waited there."""
        found = (i for function in self.reached() for i in ptx.body(self.module, function))
        return any("mbarrier::complete_tx::bytes" in i.modifiers for i in found if i.opcode in ("cp", "st"))

    @cached_property
    def remote_arrivals(self) -> bool:
        """Whether blocks of a cluster may wait for each other by mbarriers: by arrivals at another block's, or stores that count their bytes there."""
        found = (i for function in self.reached() for i in ptx.body(self.module, function))
        own = {"shared", "shared::cta"}
        return any(
            "async" in i.modifiers if i.opcode in ("st", "red") else i.opcode == "mbarrier" and "arrive" in i.modifiers and own.isdisjoint(i.modifiers)
            for i in found
        )

    @cached_property
    def has_flags(self) -> bool:
        """Whether threads may order what they do by atomics, or by loads and stores that acquire and release."""
        found = (i for function in self.reached() for i in ptx.body(self.module, function))
        strong = {"relaxed", "acquire", "release"}
        return any(i.opcode in ("atom", "red") or i.opcode in ("ld", "st") and not strong.isdisjoint(i.modifiers) for i in found)

    @cached_property
    def fences_global(self) -> bool:
        """Whether a proxy fence for global memory occurs."""
        found = (i for function in self.reached() for i in ptx.body(self.module, function) if i.opcode == "fence")
        return any("async" in i.modifiers and not any(m.startswith("shared") for m in i.modifiers) for i in found)

    @cached_property
    def asynchronous(self) -> bool:
        """Whether mbarriers, bulk copies, wgmma or bar.arrive occur: what each thread knows of the others is then followed (checks.happened)."""
        found = (i for function in self.reached() for i in ptx.body(self.module, function))
        parts = {"cp": "bulk", "bar": "arrive", "barrier": "arrive"}
        return any(i.opcode in ("mbarrier", "wgmma") or parts.get(i.opcode) in i.modifiers for i in found)

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
        ptx.body(self.module, self.entry)  # finds the variables that the entry declares
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
        types = [plain_type(t) for t in types]
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
        number_params(code, body)
        code.runs = [None] * len(graph.blocks)
        code.masks = [None] * len(graph.blocks)
        code.costs = [cost(b.instructions) for b in graph.blocks]
        code.guesses = guessing_loads(body)
        code.products = watched_products(graph)
        code.joined = joined_accesses(graph, [v for v in (*function.variables, *self.module.variables.values()) if v.space == "shared"])
        code.left_out = left_out(graph)
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
