"""The body of one PTX function → instructions: scopes, registers, labels, operands, source lines."""

from __future__ import annotations

import re
import struct

from .errors import Unsupported
from .ptx import Address, Function, Imm, Instruction, Module, Operand, Reg, Special, Symbol, Vector
from .ptx_lines import Lines
from .ptx_module import immediate_of, variables

_STATEMENT = re.compile(
    r"\s*(?:"
    r"(?P<loc>\.loc\b[^\n]*)"
    r"|(?P<open>\{)"
    r"|(?P<close>\})"
    r"|(?P<label>[\w$%.]+)\s*:(?!:)"
    r'|\.pragma\s*"[^"]*"\s*;'
    r"|\.(?:file|section)[^\n]*"
    r"|(?P<statement>[^;]+);"
    r"|(?P<empty>;)"
    r"|(?P<rest>\S[\s\S]*)"
    r")"
)
_COMMENT = re.compile(r"(\.loc\b[^\n]*)|//[^\n]*|/\*[\s\S]*?\*/")  # clang's comments behind .loc tell the inline chain: they stay
_INSTRUCTION = re.compile(r"(?:@(!?)\s*([\w$%.]+)\s+)?([a-z][a-z0-9_]*)((?:\.[\w:]+)*)(?:\s+([\s\S]+))?$")
_ITEM = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s{\[][^,]*")
_BASE = re.compile(r"\s*([\w$%.]+)?\s*((?:[+-]\s*-?\s*(?:0[xX])?[0-9a-fA-F]+U?\s*)*)$")
_OFFSET = re.compile(r"([+-])\s*(-?)\s*((?:0[xX])?[0-9a-fA-F]+)")
_WORD = re.compile(r"\.\w+(?:::\w+)?")
_REGISTERS = re.compile(r"\.reg\s*\.(?!v)(\w+)\s+(.+)", re.S)
_REGISTER = re.compile(r"([\w$%.]+)\s*(?:<\s*(\d+)\s*>)?\s*(?:,|$)")
_CALL = re.compile(r"(?:\(([^()]*)\)\s*,\s*)?([\w$%.]+)\s*(?:,\s*\(([^()]*)\)\s*)?(?:,\s*([\w$.]+)\s*)?$")
# PTX ISA 9.0, chapter 10; anything else with a `%` is a register nobody declared
_SPECIAL = re.compile(
    r"WARP_SZ$|%(?:(?:n?tid|n?ctaid|n?clusterid|cluster_n?ctaid)(?:\.[xyzw])?|laneid|n?warpid|n?smid|gridid|is_explicit_cluster|cluster_n?ctarank"
    r"|lanemask_(?:eq|le|lt|ge|gt)|clock(?:64|_hi)?|globaltimer(?:_lo|_hi)?|pm\d(?:_64)?|envreg\d+|current_graph_exec"
    r"|(?:total|aggr|dynamic)_smem_size|reserved_smem_offset_\w+)$"
)
# instructions at which lanes wait for each other, as far as they may be guarded
_MEETINGS = frozenset("bar barrier shfl vote match redux elect ldmatrix stmatrix movmatrix mma wmma call".split())


class _Scope:
    """A brace pair. Registers, variables and labels declared inside shadow those outside."""

    __slots__ = ("outer", "names", "labels", "cache")

    def __init__(self, outer: _Scope | None):
        self.outer = outer
        self.names: dict[str, Reg | str] = {}  # str: a variable's unique name
        self.labels: dict[str, str] = {}
        self.cache: dict[str, Operand] = outer.cache if outer else {}

    def declare(self, name: str, what: Reg | str) -> None:
        if self.outer is not None and self.cache is self.outer.cache:
            self.cache = {}
        self.names[name] = what

    def find(self, name: str) -> Reg | str | None:
        scope: _Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.outer
        return None

    def label(self, name: str) -> str:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.outer
        return name


class _Reader:
    def __init__(self, module: Module, function: Function):
        self.module = module
        self.function = function
        self.lines = Lines(module)
        self.scope = _Scope(None)
        self.out: list[Instruction] = []
        self.taken: set[str] = set()
        self.jumps: list[tuple[Instruction, _Scope]] = []
        self.tables: list[tuple[str, list[str], _Scope]] = []
        self.mnemonics: dict[str, tuple[str, ...]] = {}
        for variable in (*function.params, *function.returns):
            self.scope.names[variable.name] = variable.name
            self.taken.add(variable.name)

    def unique(self, name: str) -> str:
        made, count = name, 1
        while made in self.taken:
            made, count = f"{name}'{count}", count + 1
        self.taken.add(made)
        return made

    def refuse(self, text: str) -> Unsupported:
        where = f"line {self.lines.line}: " if self.lines.line else ""
        return Unsupported(f"{where}the simulator can't read the PTX statement `{' '.join(text.split())[:200]}`; write it in another form.")

    def read(self, text: str) -> list[Instruction]:
        pending: str | None = None  # a label that may turn out to name a table or a prototype
        for found in _STATEMENT.finditer(_COMMENT.sub(r"\1", text)):
            kind = found.lastgroup
            if kind == "statement":
                statement = found["statement"]
                if statement[0] == ".":
                    self.directive(statement, pending)
                else:
                    self.instruction(statement)
                pending = None
            elif kind == "loc":
                self.lines.read(found["loc"])
            elif kind == "label":
                pending = found["label"]
                name = self.unique(pending)
                self.scope.labels[pending] = name
                self.function.labels[name] = len(self.out)
            elif kind == "open":
                self.scope = _Scope(self.scope)
            elif kind == "close":
                if self.scope.outer is None:
                    raise self.refuse("}")
                self.scope = self.scope.outer
            elif kind == "rest" and found["rest"].strip():
                raise self.refuse(found["rest"])
        self.resolve()
        return self.out

    def resolve(self) -> None:
        """Labels may be used before they are defined, so their scopes are looked up at the end."""
        reached: set[str] = set()
        for name, targets, scope in self.tables:
            self.function.branch_targets[name] = [scope.label(target) for target in targets]
            reached.update(self.function.branch_targets[name])
        for instruction, scope in self.jumps:
            *before, label = instruction.operands
            name = scope.label(str(label))
            if name not in (self.function.labels if instruction.opcode == "bra" else self.function.branch_targets):
                raise self.refuse(instruction.text)
            instruction.operands = (*before, name)
            reached.add(name)
        last = self.out[-1] if self.out else None
        falls_off = last is None or last.predicate is not None or last.opcode not in ("ret", "exit", "trap", "bra", "brx")
        if falls_off or any(self.function.labels.get(name) == len(self.out) for name in reached):  # the end of a body is a return
            self.out.append(Instruction("ret", (), (), None, self.lines.line, self.lines.inlined, self.lines.file, "ret"))

    def directive(self, statement: str, label: str | None) -> None:
        word = _WORD.match(statement)[0]  # type: ignore[index]
        if word == ".reg":
            self.registers(statement)
        elif word == ".branchtargets" and label:
            name = self.scope.labels[label]
            self.function.labels.pop(name)
            targets = [target.strip() for target in statement[len(word) :].split(",")]
            self.tables.append((name, targets, self.scope))
        elif word in (".callprototype", ".calltargets") and label:
            self.function.labels.pop(self.scope.labels[label])
        elif word in (".param", ".local", ".shared", ".global", ".const", ".shared::cta"):
            for variable in variables(statement):
                written, variable.name = variable.name, self.unique(variable.name)
                self.scope.declare(written, variable.name)
                self.function.variables.append(variable)
        else:
            raise self.refuse(statement)

    def registers(self, statement: str) -> None:
        found = _REGISTERS.match(statement)
        if found is None:
            raise self.refuse(statement)
        kind, names = found.groups()
        for base, count in _REGISTER.findall(names):
            for name in [f"{base}{i}" for i in range(int(count))] if count else [base]:
                made = self.unique(name) if self.scope.outer or name in self.taken else name
                self.taken.add(made)
                self.function.registers[made] = kind
                self.scope.declare(name, Reg(made, kind))

    def instruction(self, statement: str) -> None:
        found = _INSTRUCTION.match(statement)
        if found is None:
            raise self.refuse(statement)
        negated, guard, opcode, rest, operands = found.groups()
        modifiers = self.mnemonics.get(rest)
        if modifiers is None:
            modifiers = tuple(rest.split(".")[1:])
            if modifiers[-1:] == ("relu",):  # max.s32.relu is max.relu.s32: the type is the last part everywhere else
                modifiers = (*modifiers[:-2], "relu", modifiers[-2])
            self.mnemonics[rest] = modifiers
        predicate = None
        if guard:
            register = self.scope.find(guard)
            if not isinstance(register, Reg):
                raise self.refuse(statement)
            predicate = Reg(register.name, register.type, True) if negated else register
        lines = self.lines
        made = Instruction(opcode, modifiers, (), predicate, lines.line, lines.inlined, lines.file, " ".join(statement.split()))
        if operands:
            operands = operands.rstrip()
            if opcode == "call":
                self.call(made, operands)
            elif opcode == "bra":
                made.operands = (operands,)
                self.jumps.append((made, self.scope))
            elif opcode == "brx":
                index, table = operands.split(",")
                made.operands = (self.operand(index.strip(), made), table.strip())
                self.jumps.append((made, self.scope))
            else:
                parts = _ITEM.findall(operands) if "{" in operands or "[" in operands else operands.split(",")
                cache = self.scope.cache
                values = []
                for part in parts:
                    part = part.strip()
                    value = cache.get(part)
                    values.append(value if value is not None else self.operand(part, made))
                made.operands = tuple(values)
        if predicate is not None and opcode in _MEETINGS:
            self.around(made, predicate)
        else:
            self.out.append(made)

    def around(self, made: Instruction, predicate: Reg) -> None:
        """A guarded instruction at which lanes wait for each other: those without the predicate jump over it, so that they are not awaited there."""
        label = self.unique("$over")
        turned = Reg(predicate.name, predicate.type, not predicate.negated)
        self.out.append(Instruction("bra", (), (label,), turned, made.line, made.inlined, made.file, made.text))
        made.predicate = None
        self.out.append(made)
        self.function.labels[label] = len(self.out)

    def call(self, made: Instruction, text: str) -> None:
        found = _CALL.match(text)
        if found is None:
            raise self.refuse(made.text)
        returns, callee, arguments, prototype = found.groups()
        target = self.scope.find(callee)
        names = tuple(self.parameter(name, made) for name in returns.split(",")) if returns else ()
        made.args = tuple(self.parameter(name, made) for name in arguments.split(",") if name.strip()) if arguments else ()
        made.operands = (Vector(names) if names else None, target if isinstance(target, Reg) else callee, *((prototype,) if prototype else ()))

    def parameter(self, text: str, made: Instruction) -> str | Operand:
        """A `.param` variable's unique name; registers and numbers, which hand-written PTX may pass, stay operands."""
        found = self.scope.find(text.strip())
        return found if isinstance(found, str) else self.operand(text.strip(), made)

    def operand(self, text: str, made: Instruction) -> Operand:
        try:
            value = self.parse(text, made)
        except ValueError:
            raise self.refuse(made.text) from None
        if value is not None and not (isinstance(value, Imm) and value.kind != "int"):  # a float literal depends on the instruction's type
            self.scope.cache[text] = value
        return value

    def parse(self, text: str, made: Instruction) -> Operand:
        first = text[:1]
        if first == "[":
            return self.address(text[1:-1], made)
        if first == "{":
            return Vector(tuple(self.operand(part.strip(), made) for part in text[1:-1].split(",")))
        if "|" in text:
            return Vector(tuple(self.operand(part.strip(), made) for part in text.split("|")))
        if first == "!":
            register = self.scope.find(text[1:].strip())
            if isinstance(register, Reg):
                return Reg(register.name, register.type, True)
            raise ValueError
        found = self.scope.find(text)
        if isinstance(found, Reg):
            return found
        if found is not None:
            return Symbol(found)
        if text == "_":
            return None
        if first.isdigit() or first in "-+.":
            return self.literal(text.replace(" ", ""), made)
        if _SPECIAL.match(text):
            return Special(text)
        base, offset = self.split(text)
        if isinstance(base, Symbol):
            return Symbol(base.name, offset)
        raise ValueError

    def literal(self, text: str, made: Instruction) -> Imm:
        immediate = immediate_of(text)
        if immediate.kind == "f64" and "f32" in made.modifiers and "f64" not in made.modifiers:  # `add.f32 x, x, 1.5` is written in doubles
            number = struct.unpack("<d", immediate.value.to_bytes(8, "little"))[0]
            return Imm(int.from_bytes(struct.pack("<f", number), "little"), "f32")
        return immediate

    def split(self, text: str) -> tuple[Reg | Symbol | None, int]:
        """`base + 4 + -8` → base, -4."""
        found = _BASE.match(text)
        if found is None:
            raise ValueError
        offset = 0
        for sign, minus, digits in _OFFSET.findall(found[2]):
            value = immediate_of(digits).value
            offset += -value if (sign == "-") != (minus == "-") else value
        name = found[1]
        if name is None or name[0].isdigit():
            return None, offset + (immediate_of(name).value if name else 0)
        base = self.scope.find(name)
        if isinstance(base, Reg):
            return base, offset
        if base is None and name[0] == "%":
            raise ValueError
        return Symbol(base or name), offset

    def address(self, text: str, made: Instruction) -> Address:
        where, comma, extra = text.partition(",")
        base, offset = self.split(where)
        coords: list[Operand] = []
        if comma:
            for part in _ITEM.findall(extra):
                value = self.operand(part.strip(), made)
                coords += value.items if isinstance(value, Vector) else (value,)
        return Address(base, offset, tuple(coords))


def read(module: Module, function: Function) -> list[Instruction]:
    """The instructions of `function`; fills its registers, variables, labels and branch_targets. [] for a function that is only declared."""
    if function.span is None:
        return []
    return _Reader(module, function).read(module.text[slice(*function.span)])
