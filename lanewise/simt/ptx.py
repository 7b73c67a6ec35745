"""PTX text → dataclasses. Functions are split lazily: only what a launch reaches is parsed in full.

`parse` finds functions, variables, files; `body` reads one function's instructions, on its first call. Source: PTX ISA 9.0, chapters 4, 5, 7, 11.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reg:
    """A register operand. `name` is unique in its function (inner `{ .reg }` scopes are renamed); `type` as declared: pred, b16, b32, f32, b64, f64, b128 …"""

    name: str
    type: str
    negated: bool = False  # `!%p`


@dataclass(frozen=True, slots=True)
class Imm:
    """An immediate: an int (as written, may be negative) or the bits of a float (`0f3F800000`, `0d…`)."""

    value: int
    kind: str = "int"  # int, f32, f64


@dataclass(frozen=True, slots=True)
class Symbol:
    """The address of a variable (or function) plus an offset."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Special:
    """`%tid.x`, `%laneid`, `%clock64`, `WARP_SZ` …"""

    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """`[base + offset]`; base is a Reg, a Symbol's name as Symbol(name, 0), or None for an absolute address. Extra operands of tensor copies in `coords`."""

    base: Reg | Symbol | None
    offset: int = 0
    coords: tuple = ()


@dataclass(frozen=True, slots=True)
class Vector:
    """`{%f1, %f2, …}` and the pair `%r1|%p1`; `_` is None."""

    items: tuple


Operand = Reg | Imm | Symbol | Special | Address | Vector | str | None  # str: a label, a function's name, a table; None: `_`


@dataclass(slots=True)
class Instruction:
    opcode: str  # first part of the mnemonic: "ld", "add", "bar", "wgmma" …
    modifiers: tuple[str, ...]  # the rest, in order: ("global", "v4", "f32"); "::" stays inside a part ("shared::cta")
    operands: tuple[Operand, ...]  # in order of writing; `%r1|%p1` gives two operands in a Vector
    predicate: Reg | None = None  # `@%p1` / `@!%p1`
    line: int = 0  # source line of the learner's file (0: none)
    inlined: tuple[tuple[str, int], ...] = ()  # inline chain, innermost first: (demangled function name, line of the call)
    file: int = 1  # `.file` number of the line
    text: str = ""  # the statement as in the PTX, for error messages
    args: tuple = ()  # `call` only: parameter names; operands = (return names Vector | None, callee, …)


@dataclass(slots=True)
class Variable:
    """A `.global`, `.const`, `.shared`, `.local` or `.param` declaration. size in bytes (0 for `extern … []`)."""

    name: str
    space: str
    type: str  # b8, u32, u64, f32 …
    size: int
    align: int
    init: bytes | None = None
    relocations: dict[int, str] = field(default_factory=dict)  # byte offset → symbol whose address is added to the 8 bytes there


@dataclass(slots=True)
class Function:
    name: str
    entry: bool
    params: list[Variable]
    returns: list[Variable]
    registers: dict[str, str]  # name → type, filled by `body`
    variables: list[Variable]  # .shared, .local declared inside
    labels: dict[str, int]  # label → index into `body`
    branch_targets: dict[str, list[str]]  # `.branchtargets` tables for brx.idx
    directives: dict[str, tuple[int, ...]]  # maxntid, minnctapersm, reqntid, maxnreg …
    span: tuple[int, int] | None = None  # where the body stands in the module's text; None: declared, not defined (vprintf …)
    instructions: list[Instruction] | None = None  # what `body` read

    @property
    def defined(self) -> bool:
        return self.span is not None


@dataclass(slots=True)
class Module:
    version: str
    target: str
    functions: dict[str, Function]
    variables: dict[str, Variable]  # module scope: .global, .const, .shared (extern included)
    files: dict[int, str]
    text: str = field(default="", repr=False)
    learner_file: int = 1  # `.file` number of the learner's source
    strings: dict[str, str] = field(default_factory=dict, repr=False)  # `$L__info_string0` → function name, readable


def parse(text: str, source: str = "kernel.cu") -> Module:
    """Functions, variables and files of a PTX module. `source` is the name under which the learner's file was compiled."""
    from . import ptx_module

    return ptx_module.read(text, source)


def body(module: Module, function: Function) -> list[Instruction]:
    """The instructions of a function, with registers, labels and variables filled in; read once. Raises Unsupported for a statement it can't read."""
    if function.instructions is None:
        from . import ptx_body

        function.instructions = ptx_body.read(module, function)
    return function.instructions
