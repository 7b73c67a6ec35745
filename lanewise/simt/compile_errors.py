"""A compiler's log → a few lines: the first error, the line it speaks of, and what to write instead."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from .compile_hints import BUILT_INS, HEADERS, IDENTIFIERS, NAMESPACES, TEXTS

FILE = "kernel.cu"


@dataclass(frozen=True)
class Diagnostic:
    """One error of a log. `line` is None where the compiler names none; `column` counts from 0."""

    file: str
    line: int | None
    text: str
    column: int | None


def explain(log: str, source: str) -> str:
    """The first error of `log` with its line of `source`, a hint where one is known, and how many errors follow."""
    found = errors(log)
    if not found:
        return log.strip().splitlines()[0] if log.strip() else "the compiler gave no reason."
    first = found[0]
    lines = source.splitlines()
    number = first.line if first.file == FILE else _including_line(first.file, lines)
    told = [f"line {number}: {first.text}" if number else first.text]
    if first.file != FILE:
        told = [f"line {number}: {first.file} does not compile: {first.text}" if number else f"{first.file}: {first.text}"]
    if number and 0 < number <= len(lines):
        told += _quote(lines[number - 1], first.column if first.file == FILE else None)
    hint = _hint(first, lines, number)
    if hint:
        told.append(f"hint: {hint}")
    if len(found) > 1:
        told.append(f"{len(found) - 1} more error{'s' if len(found) > 2 else ''}: start with this one, the others may follow from it.")
    return "\n".join(told)


def errors(log: str) -> list[Diagnostic]:
    """The errors of NVRTC's, ptxas' or clang's text, in order; warnings and notes are left out."""
    found = []
    lines = log.splitlines()
    for at, line in enumerate(lines):
        edg = re.match(r"(?:(?P<file>[^\s(][^(]*)\((?P<line>\d+)\)|At end of source): (?:catastrophic )?error(?: #[\w-]+)?: (?P<text>.*)", line)
        clang = re.match(r"(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<text>.*)", line)
        other = _ASSEMBLY.match(line) or re.match(r"\s*(?:ptxas|nvrtc)\s*:?\s*(?:error|fatal)\s*:(?!\s*Ptx assembly aborted)\s*(?P<text>.*)", line)
        if edg:
            caret = next((below for below in lines[at + 1 : at + 12] if re.fullmatch(r"\s*\^\s*", below)), None)
            column = caret.index("^") - 2 if caret else None
            number = int(edg["line"]) if edg["line"] else None
            opened = re.match(rf'{re.escape(FILE)}\((\d+)\): note .*: to match this "{{"', "\n".join(lines[at + 1 : at + 2]))
            if number is None and opened:
                number = int(opened[1])
            found.append(Diagnostic(edg["file"] or FILE, number, edg["text"].strip(), column))
        elif clang:
            found.append(Diagnostic(clang["file"], int(clang["line"]), clang["text"].strip(), int(clang["column"]) - 1))
        elif other:
            found.append(Diagnostic(FILE, None, other["text"].strip(), None))
    return found


_ASSEMBLY = re.compile(r"\s*ptxas application ptx input, line (?P<line>\d+); (?:error|fatal)\s*: *(?P<text>.*)")


def assembly(log: str, ptx: str) -> str:
    """What ptxas refuses, by the line of the source that its first error comes from; empty where the log has none of its kind."""
    first = next((found for found in map(_ASSEMBLY.match, log.splitlines()) if found), None)
    lines = ptx.splitlines()
    if first is None or not 0 < int(first["line"]) <= len(lines):
        return ""
    own = re.search(rf'\.file\s+(\d+)\s+"{re.escape(FILE)}"', ptx)
    before = (re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", line) for line in reversed(lines[: int(first["line"])]))
    place = next((found for found in before if found), None)
    where = f"line {place[2]}: " if place and own and place[1] == own[1] else ""
    return f"{where}the assembler refuses `{' '.join(lines[int(first['line']) - 1].split())}`: {first['text'].strip()}."


def not_found(name: str, entries: list[str], source: str = "") -> str:
    """Why there is no entry point `name`, and which there are. `entries`: the entry points as they stand in the PTX."""
    if not entries:
        return f'there is no kernel "{name}": the source has no __global__ function.'
    plain = {entry: _unmangled(entry) for entry in entries}
    there = ", ".join(f'"{label}"' if label == entry else f'"{label}" (a C++ name)' for entry, label in plain.items())
    mangled = next((entry for entry, label in plain.items() if label == name and entry != name), None)
    if mangled and re.match(rf"_Z\d+{re.escape(name)}I", mangled):
        return f'"{name}" is a template: ask for an instance by its name expression, such as "{name}<float>".'
    if mangled:
        return f'"{name}" is compiled under its C++ name "{mangled}": write extern "C" before its __global__.'
    if re.search(rf"\b{re.escape(name)}\s*\(", source):
        return f'"{name}" is not a kernel: write extern "C" __global__ void before it. The kernels there are: {there}.'
    close = difflib.get_close_matches(name, plain.values(), 1)
    return f'there is no kernel "{name}"' + (f', did you mean "{close[0]}"? The' if close else ": the") + f" source has {there}."


def _unmangled(entry: str) -> str:
    found = re.match(r"_Z(?:L)?(\d+)", entry)
    return entry[found.end() : found.end() + int(found[1])] if found else entry


def _quote(line: str, column: int | None) -> list[str]:
    shown = "    " + line.expandtabs(1).rstrip()
    if len(shown) > 110:
        return [shown[:107] + "..."]
    return [shown] + (["    " + " " * column + "^"] if column is not None and 0 <= column <= len(line) else [])


def _including_line(header: str, lines: list[str]) -> int | None:
    """The line of the `#include` that led to `header`: its own, or the only one that isn't a plain CUDA header's."""
    includes = [(number, found[1]) for number, line in enumerate(lines, 1) if (found := re.match(r'\s*#\s*include\s*["<]([^">]+)', line))]
    for number, name in includes:
        if name == header:
            return number
    folder = header.split("/")[0]
    for number, name in includes:
        if name.split("/")[0] == folder or (folder == "thrust" and name.startswith("cub/")):
            return number
    return includes[-1][0] if includes else None


def _hint(error: Diagnostic, lines: list[str], number: int | None) -> str | None:
    text = error.text
    quoted = lines[number - 1] if number and number <= len(lines) else ""
    if error.file != FILE:
        if re.fullmatch(r"\w+\.cuh", error.file):  # one of kernels/
            return None
        name = re.search(r'[<"]([^>"]+)', quoted)
        return HEADERS.get(name[1]) if name and name[1] in HEADERS else "this header does not compile under NVRTC: leave it out."
    header = re.search(r'cannot open source file "([^"]+)"|\'([^\']+)\' file not found', text)
    if header:
        return _header_hint(header[1] or header[2])
    if re.search(r'expected (?:a )?[";\']*;', text):
        return _semicolon_hint(error, lines)
    unknown = re.search(r'identifier "([^"]+)" is undefined|use of undeclared identifier \'([^\']+)\'|unknown type name \'([^\']+)\'', text)
    if unknown:
        return _identifier_hint(next(name for name in unknown.groups() if name), quoted, lines)
    member = re.search(r'namespace "std" has no member "(\w+)"|no member named \'(\w+)\' in namespace \'std\'', text)
    if member:
        return _std_hint(member[1] or member[2])
    if 'name followed by "::"' in text or re.search(r"undeclared identifier '\w+'", text):
        name = re.match(r"\w+", quoted[error.column or 0 :])
        return NAMESPACES.get(name[0]) if name else None
    return next((hint for pattern, hint in TEXTS if re.search(pattern, text)), None)


def _header_hint(header: str) -> str:
    if header in HEADERS:
        return HEADERS[header]
    if re.match(r"(mma|cooperative_groups|cuda_\w+)\.h$|(cub|cuda|cooperative_groups)/", header):
        return "this header comes with NVIDIA's compiler and is not part of the clang front end: use a machine with Linux or Windows."
    if re.fullmatch(r"[a-z_]+", header):
        return f"<{header}> is of the C++ library of the host, which a kernel can't use: leave it out."
    return "only the toolkit's headers and the files kernels/*.cuh can be included."


def _semicolon_hint(error: Diagnostic, lines: list[str]) -> str | None:
    """Compilers point at what follows a missing `;`: often the first word of the next line."""
    if error.line is None or error.line > len(lines):
        return None
    code = re.sub(r"//.*", "", lines[error.line - 1])
    if code[: error.column or 0].strip():  # clang points behind the end of the statement itself
        return None if code[error.column or 0 :].strip() else f"the ; is missing at the end of line {error.line}."
    for number in range(error.line - 1, 0, -1):
        if re.sub(r"//.*", "", lines[number - 1]).strip():
            return f"the ; is missing at the end of line {number}."
    return None


def _identifier_hint(name: str, quoted: str, lines: list[str]) -> str | None:
    if name in IDENTIFIERS:
        return IDENTIFIERS[name]
    if re.fullmatch(rf".*\b{re.escape(name)}\s*::.*", quoted) and name in NAMESPACES:
        return NAMESPACES[name]
    if name.startswith("CUDART_"):
        return f"write #include <math_constants.h> at the top: it defines {name}, if that is spelled right."
    if re.match(r"__(?:shfl|any|all|ballot)", name) and not name.endswith("_sync"):
        return f"since Volta it is {name}_sync(0xffffffff, ...): the first argument is the mask of lanes that take part."
    if re.match(r"cuda[A-Z]", name):
        return f"{name} is a function of the host: a source for NVRTC holds kernels alone, memory and launches are made in Python."
    if re.match(r"(__)?(half|float2half|half2float)", name) or re.match(r"__?h[a-z]+2?$", name):
        return f"write #include <cuda_fp16.h> at the top, which defines {name}, if that is spelled right."
    known = {word for line in lines for word in re.findall(r"[A-Za-z_]\w*", re.sub(r"//.*", "", line))} - {name}
    lower = {word.lower(): word for word in [*known, *BUILT_INS]}
    if name.lower() in lower:
        return f"did you mean {lower[name.lower()]}? Upper and lower case differ."
    close = difflib.get_close_matches(name, [*BUILT_INS, *sorted(known)], 1, 0.75)
    return f"did you mean {close[0]}?" if close else f"declare {name} before this line, or correct its name."


def _std_hint(name: str) -> str:
    if name in ("cout", "cerr", "endl"):
        return 'a kernel prints with printf("%d\\n", i), which needs no header.'
    if name in ("max", "min", "fabs", "abs", "sqrt", "exp", "log", "pow", "sin", "cos", "tanh", "floor", "ceil", "round", "fma", "fmax", "fmin"):
        single = {"max": "max or fmaxf", "min": "min or fminf", "abs": "abs or fabsf"}.get(name, name.removesuffix("f") + "f")
        return f"leave std:: out: a kernel calls {single} without any header."
    return f"std:: does not exist in a kernel: where the toolkit has it, it is cuda::std::{name} with its header <cuda/std/...>."
