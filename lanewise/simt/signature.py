"""What PTX forgets: names and types of a kernel's parameters and of its shared and constant arrays, read from the CUDA C source.

No C++ parser: declarations as people write them, after comments, strings and preprocessor lines are blanked out. What
can't be read (kernels made by macros, exotic declarators) is left out, and callers then speak of "argument 2".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .constants import constants, evaluate

_TYPE_WORDS = frozenset(["void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "auto"])
_QUALIFIERS = r"\b(?:__restrict__|__restrict|restrict|__grid_constant__|volatile|struct|typename|class|register)\b"
_ATTRIBUTES = r"__launch_bounds__|__maxnreg__|__cluster_dims__|__block_size__|__attribute__|__align__|alignas|__declspec"
_STORAGE = "__shared__|__constant__|__device__|__managed__|extern|static|volatile|const|constexpr|inline|struct|typename"


@dataclass(frozen=True)
class Parameter:
    """One parameter: `ctype` as written (`const float*`), `element` the type pointed to or passed, aliases resolved.

    `const` says whether what a pointer points to is read only. `name` is "" for an unnamed one.
    """

    name: str
    ctype: str
    pointer: bool
    const: bool
    element: str


def parse(source: str, defines: dict[str, str] | None = None) -> dict[str, list[Parameter]]:
    """The parameters of every `__global__` function of `source` that can be read; template parameters stay as they are.

    `defines`: macros given by `-D` options, name → text. Kernels defined twice with different lists are left out.
    """
    text = blank(source)
    aliases = _aliases(source, text) | (defines or {})
    found: dict[str, list[Parameter]] = {}
    ambiguous = set()
    for kernel in _functions(text, "__global__"):
        parameters = _parameters(kernel.parameters, aliases)
        if parameters is None or (kernel.name in found and found[kernel.name] != parameters):
            ambiguous.add(kernel.name)
        else:
            found[kernel.name] = parameters
    return {name: parameters for name, parameters in found.items() if name not in ambiguous}


def instance(source: str, expression: str, defines: dict[str, str] | None = None) -> list[Parameter] | None:
    """The parameters of a template's instance such as `scale<float, 4>`; None if they can't be read."""
    head = re.fullmatch(r"\s*&?\s*(?:\w+\s*::\s*)*(\w+)\s*(?:<(.*)>)?\s*", expression, re.DOTALL)
    if not head:
        return None
    parameters = parse(source, defines).get(head[1])
    text = blank(source)
    kernel = next((kernel for kernel in _functions(text, "__global__") if kernel.name == head[1]), None)
    if parameters is None or kernel is None or head[2] is None:
        return parameters
    values = dict(zip(kernel.template, (part.strip() for part in split(head[2])), strict=False))

    def filled(text: str) -> str:
        return re.sub(r"\b[A-Za-z_]\w*\b", lambda word: values.get(word[0], word[0]), text)

    return [Parameter(p.name, filled(p.ctype), p.pointer or filled(p.element).endswith("*"), p.const, filled(p.element).rstrip("* ")) for p in parameters]


def shared_arrays(source: str, kernel: str, defines: dict[str, str] | None = None) -> dict[str, tuple[str, tuple[int, ...] | None]]:
    """The `__shared__` arrays that `kernel` can reach: name → (element type, dimensions).

    Dimensions are () for a single value, 0 stands for an open one (`extern __shared__ float s[]`), and None means that
    they could not be worked out. Arrays of device functions are included; those of the kernel itself come first.
    """
    text = blank(source)
    defined = _defines(source) | (defines or {})
    found: dict[str, tuple[str, tuple[int, ...] | None]] = {}
    outside = text
    own = ""
    for function in _functions(text, "__global__"):
        outside = outside.replace(function.body, "{}") if function.body else outside
        if function.name == kernel:
            own = function.body
    for part in (own, outside):
        known = constants(defined, outside + part)  # the body's own constants win
        for name, declared in _arrays(part, "__shared__", known).items():
            found.setdefault(name, declared)
    return found


def constant_arrays(source: str, defines: dict[str, str] | None = None) -> dict[str, tuple[str, tuple[int, ...] | None]]:
    """The `__constant__` and `__device__` variables of `source`: name → (element type, dimensions) as in `shared_arrays`."""
    text = blank(source)
    known = constants(_defines(source) | (defines or {}), text)
    return _arrays(text, "__constant__", known) | _arrays(text, "__device__", known)


def local_arrays(source: str, kernel: str, defines: dict[str, str] | None = None) -> dict[str, tuple[str, tuple[int, ...] | None]]:
    """Arrays that the kernel's body declares without a memory space (registers or local memory), as in `shared_arrays`."""
    text = blank(source)
    body = next((function.body for function in _functions(text, "__global__") if function.name == kernel), "")
    known = constants(_defines(source) | (defines or {}), text)
    found: dict[str, tuple[str, tuple[int, ...] | None]] = {}
    for statement in re.split(r"[;{}]", body):
        declared = re.match(r"\s*(?:const |volatile )?((?:unsigned |signed |long )*\w+)\s+(\w+)\s*((?:\[[^\]]*\])+)", statement)
        if declared and "__shared__" not in statement and declared[1] not in ("return", "else"):
            found[declared[2]] = (_plain(declared[1]), _dimensions(declared[3], known))
    return found


def option_defines(options: tuple[str, ...]) -> dict[str, str]:
    """The macros that `-DNAME=text` options define."""
    found = {}
    for before, option in zip(("", *options), options, strict=False):
        whole = "-D" + option if before.strip() == "-D" else option
        define = re.fullmatch(r"(?:-D|--define-macro=)\s*(\w+)(?:=(.*))?", whole.strip())
        if define:
            found[define[1]] = define[2] or "1"
    return found


def blank(source: str) -> str:
    """`source` with comments, the contents of strings and preprocessor lines replaced by blanks; line numbers stay."""

    def keep_lines(text: str) -> str:
        return re.sub(r"[^\n]", " ", text)

    pattern = r'//(?:\\\n|[^\n])*|/\*.*?(?:\*/|$(?![\s\S]))|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\''
    source = source.replace("\r\n", "\n").removeprefix("\ufeff")
    text = re.sub(pattern, lambda m: '""' + keep_lines(m[0][2:]) if m[0][0] in "R\"'" else keep_lines(m[0]), source, flags=re.DOTALL)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda m: keep_lines(m[0]), text, flags=re.MULTILINE)


def split(text: str) -> list[str]:
    """`text` at its outermost commas."""
    parts, depth, angles, start = [], 0, 0, 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if depth == 0:  # inside brackets < and > compare or shift
            angles += (char == "<") - (char == ">")
        if char == "," and depth == 0 and angles == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


@dataclass(frozen=True)
class _Function:
    name: str
    parameters: str
    body: str
    template: tuple[str, ...]


def _functions(text: str, mark: str) -> list[_Function]:
    found: list[_Function] = []
    for start in re.finditer(rf"\b{mark}\b", text):
        at = start.end()
        while True:
            head = re.compile(r"[^({;]*?([A-Za-z_]\w*)\s*\(").match(text, at)
            if not head:
                break
            close = _closing(text, head.end() - 1)
            if close is None:
                break
            if not re.fullmatch(_ATTRIBUTES, head[1]):
                opened = re.compile(r"\s*\{").match(text, close + 1)
                end = _closing(text, opened.end() - 1) if opened else None
                body = text[opened.end() - 1 : end + 1] if opened and end else ""
                if not any(f.name == head[1] and f.body and not body for f in found):  # a declaration after the definition
                    found.append(_Function(head[1], text[head.end() : close], body, _template(text, start.start())))
                break
            at = close + 1
    return found


def _template(text: str, at: int) -> tuple[str, ...]:
    """The names of the template parameters declared right before position `at`."""
    head = text[:at]
    begin = max(head.rfind(";"), head.rfind("}"), head.rfind("{")) + 1
    found = re.search(r"\btemplate\s*<(.*)>[^>]*$", head[begin:], re.DOTALL)
    if not found:
        return ()
    names = [re.search(r"(\w+)\s*(?:=.*)?$", part.strip(), re.DOTALL) for part in split(found[1])]
    return tuple(name[1] for name in names if name)


def _closing(text: str, start: int) -> int | None:
    """Where the bracket opened at `start` is closed."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    depth = 0
    for found in re.finditer(rf"[{re.escape(text[start] + pairs[text[start]])}]", text[start:]):
        depth += 1 if found[0] == text[start] else -1
        if depth == 0:
            return start + found.start()
    return None


def _parameters(text: str, aliases: dict[str, str]) -> list[Parameter] | None:
    if text.strip() in ("", "void"):
        return []
    parameters = [_parameter(part, aliases) for part in split(text)]
    return None if None in parameters else [parameter for parameter in parameters if parameter]


def _parameter(text: str, aliases: dict[str, str]) -> Parameter | None:
    text = re.sub(rf"(?:{_ATTRIBUTES})\s*\((?:[^()]|\([^()]*\))*\)", " ", text)
    text = re.sub(r"\[\[.*?\]\]", " ", text)
    text = re.sub(_QUALIFIERS, " ", text.split("=")[0]).strip()
    if not text or re.search(r"\(|\.\.\.|&", text):
        return None
    array = re.search(r"(\[[^\]]*\]\s*)+$", text)
    if array:
        text = text[: array.start()].rstrip()
    named = re.fullmatch(r"(.*[\s*>])([A-Za-z_]\w*)", text, re.DOTALL)
    name = ""
    if named and named[2] not in _TYPE_WORDS | {"const"} and re.search(r"\w", re.sub(r"\bconst\b", "", named[1])):
        text, name = named[1].strip(), named[2]
    stars = text.count("*") + (1 if array else 0)
    base = text.split("*")[0]
    const = bool(re.search(r"\bconst\b", base))
    element = _plain(re.sub(r"\bconst\b", " ", base))
    if not element:
        return None
    written = ("const " if const and stars else "") + element + "*" * stars
    resolved = _resolve(element, aliases)
    const = const or bool(re.search(r"\bconst\b", resolved))
    resolved = re.sub(r"\bconst\b", " ", resolved)
    stars += resolved.count("*")
    element = _plain(resolved.replace("*", " "))
    return Parameter(name, written, stars > 0, const and stars > 0, element + "*" * max(0, stars - 1))


def _plain(ctype: str) -> str:
    """`unsigned`, `long long int`, … spelled one way."""
    words = ctype.replace("::", " :: ").split()
    if not words:
        return ""
    if set(words) <= _TYPE_WORDS and set(words) & {"unsigned", "signed", "short", "long"}:
        size = "long long" if words.count("long") == 2 else next((w for w in ("char", "short", "long", "double") if w in words), "int")
        size = "long double" if {"long", "double"} <= set(words) else size
        return ("unsigned " if "unsigned" in words else "signed " if "signed" in words and size == "char" else "") + size
    return re.sub(r"\s*(::|<|>|,)\s*", lambda m: ", " if m[1] == "," else m[1], " ".join(words))


def _resolve(element: str, aliases: dict[str, str]) -> str:
    for _ in range(10):
        if element not in aliases or not aliases[element].strip():
            break
        element = _plain(aliases[element]) if "*" not in aliases[element] else aliases[element]
    return element


def _defines(source: str) -> dict[str, str]:
    """Object-like macros of the source: name → replacement."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source.replace("\r\n", "\n"), flags=re.DOTALL)
    return {m[1]: m[2].strip() for m in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]*)$", text, re.MULTILINE)}


def _aliases(source: str, text: str) -> dict[str, str]:
    found = _defines(source)
    found |= {m[2]: m[1] for m in re.finditer(r"\btypedef\s+([^;{}()]*?[\s*])(\w+)\s*;", text)}
    return found | {m[1]: m[2] for m in re.finditer(r"\busing\s+(\w+)\s*=\s*([^;]*);", text)}


def _arrays(text: str, mark: str, known: dict[str, int]) -> dict[str, tuple[str, tuple[int, ...] | None]]:
    found = {}
    for at in re.finditer(rf"\b{mark}\b", text):
        start = max(text.rfind(char, 0, at.start()) for char in ";{}") + 1
        end = text.find(";", at.end())
        statement = text[start : end if end >= 0 else len(text)]
        statement = re.sub(rf"(?:{_ATTRIBUTES})\s*\((?:[^()]|\([^()]*\))*\)", " ", statement)
        statement = re.sub(rf'\b(?:{_STORAGE})\b|""', " ", statement)
        parts = [re.split(r"=|\{", part)[0].strip() for part in split(statement)]
        if not parts or "(" in re.sub(r"\[[^\]]*\]", "", parts[0]):  # a function
            continue
        first = re.fullmatch(r"(.*?)([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)", parts[0], re.DOTALL)
        if not first or not first[1].strip():
            continue
        ctype = _plain(first[1])
        for part in [first[2] + first[3], *parts[1:]]:
            declared = re.fullmatch(r"([A-Za-z_]\w*)\s*((?:\[[^\]]*\]\s*)*)", part)
            if declared:
                found[declared[1]] = (ctype, _dimensions(declared[2], known))
    return found


def _dimensions(brackets: str, known: dict[str, int]) -> tuple[int, ...] | None:
    sizes = [evaluate(size, known) if size.strip() else 0 for size in re.findall(r"\[([^\]]*)\]", brackets)]
    return None if None in sizes else tuple(size for size in sizes if size is not None)
