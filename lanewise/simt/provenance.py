"""Which variable or kernel parameter an address comes from.

Every register gets the set of roots its value may be derived from, over all its definitions (PTX from a compiler is nearly in single-assignment
form, so the order of the instructions adds little). A root is a variable's name, a parameter's name (`k_param_0`; `k_param_0+8` for a pointer
inside a struct), or one of two unknowns: a 64-bit value read from memory, which may be an index, and a value computed from pointers in a way
that can move to another array (a difference, a multiple).
"""

from __future__ import annotations

from collections.abc import Callable

from .ptx import Address, Function, Instruction, Operand, Reg, Symbol, Vector

_Roots = frozenset[str]
_NONE: _Roots = frozenset()
_LOADED: _Roots = frozenset({"?"})
_MIXED: _Roots = frozenset({"!"})
_MEMORY = {"ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix", "cp", "wmma", "multimem", "prefetch", "prefetchu", "discard", "mbarrier", "tensormap"}
_STORES = {"st", "atom", "red", "stmatrix", "cp", "multimem", "discard", "tensormap"}
_PASS = {"mov", "cvt", "cvta", "shfl", "mapa", "redux"}
_JOIN = {"selp", "min", "max", "slct"}
_SUM = {"add", "or", "xor", "and", "lop3"}
_QUIET_CALLS = {"vprintf", "__assertfail", "malloc", "free"}  # they write to no array of the kernel's


class _Roots_of:
    def __init__(self, function: Function):
        self.function = function
        self.params = {param.name: param for param in function.params}
        self.known: dict[str, _Roots] = {}
        self.proven: set[str] = {variable.name for variable in function.variables}

    def of(self, operand: Operand) -> _Roots:
        if isinstance(operand, Reg):
            return self.known.get(operand.name, _NONE)
        if isinstance(operand, Symbol):
            return frozenset({operand.name})
        if isinstance(operand, Vector):
            return frozenset().union(*(self.of(item) for item in operand.items))
        return _NONE

    def pointers(self, roots: _Roots) -> _Roots:
        """Drop what is only an index beside a proven pointer."""
        if len(roots) > 1 and "!" not in roots:
            return roots & self.proven or roots
        return roots

    def is_pointer(self, roots: _Roots) -> bool:
        return "!" in roots or not roots.isdisjoint(self.proven)

    def result(self, made: Instruction) -> _Roots:
        opcode, operands = made.opcode, made.operands
        if opcode == "ld" or opcode == "ldu":
            return self.loaded(made)
        if opcode in _PASS:
            return self.of(operands[1])
        if opcode in _JOIN:
            return self.of(operands[1]) | self.of(operands[2])
        if opcode in _SUM:
            both = frozenset().union(*(self.of(operand) for operand in operands[1:]))
            return self.pointers(both)
        if opcode == "sub":
            return _MIXED if self.is_pointer(self.of(operands[2])) else self.of(operands[1])
        if opcode in ("mad", "fma"):
            if self.is_pointer(self.of(operands[1]) | self.of(operands[2])):
                return _MIXED
            return self.of(operands[3])
        if opcode == "atom":
            return _LOADED if made.modifiers[-1].endswith("64") else _NONE
        return _MIXED if any(self.is_pointer(self.of(operand)) for operand in operands[1:]) else _NONE

    def loaded(self, made: Instruction) -> _Roots:
        if not made.modifiers[-1].endswith("64") or made.modifiers[-1] == "f64":
            return _NONE
        address = made.operands[1]
        if "param" in made.modifiers and isinstance(address, Address) and isinstance(address.base, Symbol):
            param = self.params.get(address.base.name)
            if param is not None:
                return frozenset({param.name if param.size <= 8 else f"{param.name}+{address.offset}"})
        return _LOADED


def _is_candidate(made: Instruction) -> bool:
    """Whether an instruction can make an address: its first operand is an integer register, or registers."""
    first = made.operands[0] if made.operands else None
    if isinstance(first, Vector):
        return made.opcode in ("mov", "ld", "shfl") and any(isinstance(item, Reg) for item in first.items)
    return isinstance(first, Reg) and first.type not in ("pred", "f32", "f64", "b16", "f16") and made.opcode not in ("call", "bar", "barrier", "setp", "vote")


def _each(made: Instruction) -> list[str]:
    first = made.operands[0]
    items = first.items if isinstance(first, Vector) else (first,)
    return [item.name for item in items if isinstance(item, Reg)]


def _settle(candidates: list[tuple[Instruction, list[str]]], state: _Roots_of, result: Callable[[Instruction], _Roots]) -> None:
    state.known = {}
    changed = True
    while changed:
        changed = False
        for made, names in candidates:
            roots = result(made)
            if roots:
                for name in names:
                    old = state.known.get(name, _NONE)
                    if not roots <= old:
                        state.known[name] = old | roots
                        changed = True


def origins(function: Function, body: list[Instruction]) -> dict[int, tuple[str | None, ...]]:
    """Instruction index → for each of its address operands the one root, or None where it is unknown or there are several."""
    state = _Roots_of(function)
    candidates = [(made, _each(made)) for made in body if _is_candidate(made)]
    # first what certainly is a pointer: variables, and parameters that are converted to an address space or used as an address as they are
    for made in body:
        if "param" in made.modifiers:
            continue
        for operand in made.operands:
            if isinstance(operand, Symbol):
                state.proven.add(operand.name)
            elif isinstance(operand, Address) and isinstance(operand.base, Symbol):
                state.proven.add(operand.base.name)
    _settle(candidates, state, state.result)
    for made in body:
        if made.opcode == "cvta":
            state.proven |= state.of(made.operands[1]) - {"?", "!"} if len(state.of(made.operands[1])) == 1 else set()
        elif made.opcode in _MEMORY:
            for operand in made.operands:
                if isinstance(operand, Address) and isinstance(operand.base, Reg) and len(state.of(operand.base)) == 1:
                    state.proven |= state.of(operand.base) - {"?", "!"}
    _settle(candidates, state, state.result)
    found: dict[int, tuple[str | None, ...]] = {}
    for index, made in enumerate(body):
        if made.opcode in _MEMORY:
            names = tuple(_name(state, operand) for operand in made.operands if isinstance(operand, Address))
            if names:
                found[index] = names
    return found


def _name(state: _Roots_of, address: Address) -> str | None:
    if address.base is None:
        return None
    roots = state.pointers(state.of(address.base))
    name = next(iter(roots)) if len(roots) == 1 else None
    return None if name in ("?", "!") else name


def _writes_global(made: Instruction) -> bool:
    if made.opcode == "wmma":
        space = next((part for part in made.modifiers if part.startswith(("shared", "global"))), "")
        return "store" in made.modifiers and not space.startswith("shared")
    if made.opcode == "multimem":
        return made.modifiers[0] != "ld_reduce"
    if made.opcode == "cp":
        space = next((part for part in made.modifiers if part.startswith(("shared", "global"))), "")
        return space == "global"
    return made.opcode in _STORES and not any(part.startswith(("shared", "local", "param")) for part in made.modifiers) and made.opcode != "stmatrix"


def stored(body: list[Instruction], found: dict[int, tuple[str | None, ...]]) -> set[str] | None:
    """Roots that may be written, in global memory or through generic addresses; None where a write's target is unknown, or a called function may write."""
    names: set[str] = set()
    for index, made in enumerate(body):
        if made.opcode == "call" and made.operands[1] not in _QUIET_CALLS:
            return None
        if index in found and _writes_global(made):
            name = found[index][0]
            if name is None:
                return None
            names.add(name)
    return names
