"""The module scope of PTX: functions (their bodies unread), variables with their initial values, files. Source: PTX ISA 9.0, chapters 4, 5, 11."""

from __future__ import annotations

import re
import struct

from .errors import Unsupported
from .ptx import Function, Imm, Module, Variable

_SIZES = {"pred": 1, "b128": 16, "texref": 8, "samplerref": 8, "surfref": 8, "f16x2": 4, "bf16x2": 4, "bf16": 2, "tf32": 4}
_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.S)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_BRACE = re.compile(r"[{}]|//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"", re.S)
_HEAD = re.compile(r"[^;{]*")
_DEBUG_STRING = re.compile(r"([\w$]+):\s*((?:\.b8[^\n]*\s*)+)")
_FILE = re.compile(r"^\s*\.file\s+(\d+)\s+\"([^\"]*)\"", re.M)
_FUNCTION = re.compile(r"\.(entry|func)\b(?:\s*\.noreturn)?\s*(?:\((.*?)\)\s*)?([\w$.]+)\s*(?:\((.*?)\))?([^()]*)$", re.S)
_DIRECTIVE = re.compile(r"\.(\w+)([\s\d,]*)")
_ATTRIBUTE = re.compile(r"\.attribute\s*\([^()]*\)")
_DECLARATION = re.compile(
    r"(?P<lead>(?:\.(?:visible|extern|weak|common)\s+)*)\.(?P<space>global|const|shared|local|param|reg|tex)(?:::\w+)?\s*(?:\.align\s+(?P<align>\d+)\s+)?"
    r"(?:\.v(?P<lanes>\d)\s+)?\.(?P<type>\w+)\s+(?P<pointer>\.ptr\b(?:\s*\.(?:global|shared|local|const))?(?:\s*\.align\s+\d+)?\s*)?(?P<names>.*)$",
    re.S,
)
_DECLARATOR = re.compile(r"([\w$%.]+)\s*((?:\[\s*\d*\s*\]\s*)*)(?:=\s*(\{.*\}|[^,]+))?\s*(?:,|$)", re.S)
_INITIAL = re.compile(
    r"\"([^\"]*)\""  # a string
    r"|0[fFdD][0-9a-fA-F]+"
    r"|(?:0[xX](F+0*)\s*\(\s*)?(generic\s*\(\s*)?([A-Za-z_$%][\w$.]*)\s*\)?\s*([+-]\s*\d+)?\s*\)?"  # sym, generic(sym)+4, 0xFF00(generic(sym)+4)
    r"|[-+]?[\w.]+"
)


def size_of(kind: str) -> int:
    """Bytes of a PTX type: `f32` → 4. A predicate counts 1."""
    return _SIZES[kind] if kind in _SIZES else int(kind.lstrip("busfe")) // 8


def read(text: str, source: str) -> Module:
    """Find functions, variables and files of a PTX module. `source` is the name under which the learner's file was compiled."""
    module = Module("", "", {}, {}, {}, text)
    for number, name in _FILE.findall(text):
        module.files[int(number)] = name
    names = {number: name.replace("\\", "/").rsplit("/", 1)[-1] for number, name in module.files.items()}
    module.learner_file = next((number for number, name in names.items() if name == source.rsplit("/", 1)[-1]), 1)
    at = _BLANK.match(text, 0).end()  # type: ignore[union-attr]
    while at < len(text):
        at = _BLANK.match(text, _statement(module, at)).end()  # type: ignore[union-attr]
    return module


def _statement(module: Module, at: int) -> int:
    """Read one statement of module scope; returns where it ends."""
    text = module.text
    line_end = text.find("\n", at)
    line_end = len(text) if line_end < 0 else line_end
    word = re.compile(r"\.?[\w$]+|[@;{}\x00]").match(text, at)
    match word[0] if word else "":
        case ".version":
            module.version = text[at:line_end].split("//")[0].split()[1]
            return line_end
        case ".target":
            module.target = text[at:line_end].split("//")[0].split()[1].rstrip(",")
            return line_end
        case ".address_size" | ".file" | ".loc":
            return line_end
        case ".section":
            brace = text.index("{", at)
            end = _closing(text, brace)
            if ".debug_str" in text[at:brace]:
                _debug_strings(module, text[brace:end])
            return end
        case ".pragma":
            return text.index(";", at) + 1
        case ".alias":
            end = text.index(";", at) + 1
            alias, target = (name.strip() for name in text[at + 6 : end - 1].split(","))
            module.functions[alias] = module.functions[target]
            return end
        case ";" | "\x00":
            return at + 1
    head_end = _HEAD.match(text, at).end()  # type: ignore[union-attr]
    head = text[at:head_end]
    if "//" in head or "/*" in head:
        head = _COMMENT.sub("", head)
    if re.search(r"\.(?:entry|func)\b", head):
        return _function(module, head, head_end)
    end = text.find(";", at)
    if end < 0 or not word:
        raise Unsupported(f"the simulator can't read the PTX statement `{text[at:line_end].strip()}` at module scope; leave it out of the inline assembly.")
    statement = text[at:end]
    if '"' in statement:  # a string may hold a semicolon
        end = re.compile(r'(?:"[^"]*"|[^;"])*').match(text, at).end()  # type: ignore[union-attr]
        statement = text[at:end]
    for variable in variables(_COMMENT.sub("", statement) if "//" in statement else statement):
        module.variables[variable.name] = variable
    return end + 1


def _closing(text: str, brace: int) -> int:
    """Just past the brace that closes the one at `brace`."""
    depth = 0
    for found in _BRACE.finditer(text, brace):
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
            if depth == 0:
                return found.end()
    return len(text)


def _function(module: Module, head: str, head_end: int) -> int:
    found = _FUNCTION.search(head)
    if found is None:
        raise Unsupported(f"the simulator can't read the PTX function `{' '.join(head.split())}`; write its body in CUDA C.")
    kind, returns, name, params, rest = found.groups()
    defined = module.text[head_end] == "{"
    end = _closing(module.text, head_end) if defined else head_end + 1
    if not defined and name in module.functions:
        return end
    directives = {word: tuple(int(n) for n in re.findall(r"\d+", numbers)) for word, numbers in _DIRECTIVE.findall(rest)}
    span = (head_end + 1, end - 1) if defined else None
    module.functions[name] = Function(name, kind == "entry", _params(params), _params(returns), {}, [], {}, {}, directives, span)
    return end


def _params(text: str | None) -> list[Variable]:
    return [variable for part in (text or "").split(",") if part.strip() for variable in variables(part)]


def variables(statement: str) -> list[Variable]:
    """The variables one declaration declares, without its semicolon; raises Unsupported where it isn't one."""
    found = _DECLARATION.match(_ATTRIBUTE.sub("", statement).strip())
    if found is None:
        raise Unsupported(f"the simulator can't read the PTX declaration `{' '.join(statement.split())[:200]}`; write it in CUDA C.")
    kind, lanes = found["type"], int(found["lanes"] or 1)
    unit = size_of(kind) * lanes
    made = []
    for name, dimensions, initial in _DECLARATOR.findall(found["names"]):
        counts = [int(n) if n.strip() else 0 for n in re.findall(r"\[\s*(\d*)\s*\]", dimensions)]
        size = unit
        for count in counts:
            size *= count
        variable = Variable(name, found["space"], kind, size, int(found["align"] or unit))
        if initial:
            _initialise(variable, initial)
        made.append(variable)
    return made


def _initialise(variable: Variable, text: str) -> None:
    width = size_of(variable.type)
    data = bytearray()
    inner = text.strip().strip("{}").replace("{", "").replace("}", "")
    if width == 1 and re.fullmatch(r"[\d\s,]*", inner):  # the common case, and the only long one
        data += bytes(int(part) for part in inner.split(",") if part.strip())
    else:
        for found in _INITIAL.finditer(inner):
            string, mask, _, symbol, offset = found.groups()
            if string is not None:
                data += string.encode("latin-1").decode("unicode_escape").encode("latin-1") + b"\0"
            elif symbol is not None:
                addend = int((offset or "0").replace(" ", ""))
                # clang cuts pointers inside structs into bytes: 0xFF(generic(x)), 0xFF00(generic(x)) …
                first = 0 if mask is None else len(mask) // 2 - 1
                if first == 0:
                    variable.relocations[len(data)] = symbol
                data += (addend.to_bytes(8, "little", signed=True))[first : first + width] if mask else addend.to_bytes(width, "little", signed=True)
            elif found[0]:
                data += _number(found[0], variable.type, width)
    variable.init = bytes(data) + bytes(max(0, variable.size - len(data)))
    variable.size = len(variable.init)


def _number(text: str, kind: str, width: int) -> bytes:
    immediate = immediate_of(text)
    value = immediate.value
    if kind in ("f32", "f64") and immediate.kind != kind:  # 1.0 and 0f… in a double
        if immediate.kind == "int":
            number = float(value)
        else:
            number = struct.unpack("<f" if immediate.kind == "f32" else "<d", value.to_bytes(size_of(immediate.kind), "little"))[0]
        return struct.pack("<f" if kind == "f32" else "<d", number)
    return (value & ((1 << (8 * width)) - 1)).to_bytes(width, "little")


def immediate_of(text: str) -> Imm:
    """A literal: `-1`, `0x1FU`, `017`, `0f3F800000`, `0d…`, `1.5`. Raises ValueError for anything else."""
    kind = text[1:2]
    if text[0] == "0" and kind and kind in "fFdD":
        return Imm(int(text[2:], 16), "f32" if kind in "fF" else "f64")
    digits = text.rstrip("uU")
    if re.fullmatch(r"[-+]?0[0-7]+", digits):
        return Imm(int(digits, 8))
    try:
        return Imm(int(digits, 0))
    except ValueError:
        pass
    return Imm(int.from_bytes(struct.pack("<d", float(text)), "little"), "f64")


def _debug_strings(module: Module, section: str) -> None:
    from .demangle import demangle

    for label, lines in _DEBUG_STRING.findall(section):
        raw = bytes(int(part) for part in lines.replace(".b8", ",").split(",") if part.strip())
        module.strings[label] = demangle(raw.split(b"\0")[0].decode("utf-8", "replace"))
