"""Itanium-mangled names → the names a CUDA learner wrote: `_ZN5flash3fooILi3EfEET0_PS1_` → `flash::foo<3, float>`."""

from __future__ import annotations

import re
from functools import lru_cache

_BUILTIN = {
    "v": "void", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short", "t": "unsigned short", "i": "int", "j": "unsigned int",
    "l": "long", "m": "unsigned long", "x": "long long", "y": "unsigned long long", "f": "float", "d": "double", "w": "wchar_t", "z": "...",
}  # fmt: skip
_OPERATORS = {
    "pl": "+", "mi": "-", "ml": "*", "dv": "/", "rm": "%", "cl": "()", "ix": "[]", "aS": "=", "pL": "+=", "mI": "-=", "mL": "*=", "eq": "==", "ne": "!=",
    "lt": "<", "gt": ">", "le": "<=", "ge": ">=", "pp": "++", "mm": "--", "ng": "-", "nt": "!", "de": "*", "pt": "->", "ls": "<<", "rs": ">>", "an": "&",
    "or": "|", "eo": "^", "co": "~", "aa": "&&", "oo": "||", "dV": "/=", "cm": ",", "ad": "&", "ps": "+",
}  # fmt: skip
_STANDARD = {"t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string"}
_NUMBER = re.compile(r"\d+")
# The anonymous namespace, the compiler's namespace of a file, and the version namespaces of the toolkit's libraries: nobody writes them.
_HIDDEN = re.compile(r"_GLOBAL__N_|_INTERNAL_|__\d+$|__v\d+$|CUB_\d+")


class _Unknown(Exception):
    """A production outside the subset; the caller falls back to the mangled name."""


class _Reader:
    """Recursive descent over the productions of names; argument types of functions are not read."""

    def __init__(self, text: str):
        self.text = text
        self.at = 0
        self.substitutions: list[str] = []
        self.arguments: list[str] = []

    def take(self, prefix: str) -> bool:
        if self.text.startswith(prefix, self.at):
            self.at += len(prefix)
            return True
        return False

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def encoding(self) -> str:
        if self.take("N"):
            return self.nested()
        if self.take("Z"):
            inner = self.encoding()
            while self.peek() and not self.take("E"):
                self.type()
            if self.take("s"):
                return inner
            local = self.nested() if self.take("N") else self.unqualified()
            # a lambda's call operator is the lambda to whoever reads the source
            return f"{inner}::{local.removesuffix('::operator()') if local.startswith('lambda') else local}"
        if self.peek() == "S" and not self.text.startswith("St", self.at):
            name = self.substitution()
        else:
            name = self.unqualified()
            if self.peek() == "I":
                self.substitutions.append(name)
        if self.peek() == "I":
            name += self.template_arguments(outermost=True)
        return name

    def nested(self) -> str:
        while self.peek() and self.peek() in "rVKRO":
            self.at += 1
        name = ""
        while not self.take("E"):
            if not self.peek():
                raise _Unknown
            if self.peek() == "S" and not self.text.startswith("St", self.at):
                name = self.substitution()
                continue
            if self.peek() == "T":
                name = self.template_parameter()
            elif self.peek() == "I":
                name += self.template_arguments(outermost=True)
            else:
                part = self.unqualified(name)
                name = f"{name}::{part}" if name and part else name or part
            if not self.text.startswith("E", self.at):
                self.substitutions.append(name)
        return name

    def unqualified(self, scope: str = "") -> str:
        if self.take("St"):
            return f"std::{self.unqualified()}"
        self.take("L")
        number = _NUMBER.match(self.text, self.at)
        if number:
            self.at = number.end() + int(number[0])
            if self.at > len(self.text):
                raise _Unknown
            name = self.text[number.end() : self.at]
            return "" if _HIDDEN.match(name) else name
        for letter in ("C1", "C2", "D0", "D1", "D2"):
            if self.take(letter):
                owner = re.sub(r"<.*", "", scope).rsplit("::", 1)[-1]
                return owner if letter[0] == "C" else f"~{owner}"
        if self.take("Ul"):
            while not self.take("E"):
                self.type()
            digits = _NUMBER.match(self.text, self.at)
            self.at = digits.end() if digits else self.at
            if not self.take("_"):
                raise _Unknown
            return "lambda"
        if self.take("cv"):
            return f"operator {self.type()}"
        operator = _OPERATORS.get(self.text[self.at : self.at + 2])
        if operator is None:
            raise _Unknown
        self.at += 2
        return f"operator{operator}"

    def sequence(self) -> int:
        """`_` → 0, `0_` → 1, `A_` → 11 …: base 36."""
        end = self.text.find("_", self.at)
        digits = self.text[self.at : end]
        if end < 0 or not re.fullmatch(r"[0-9A-Z]*", digits):
            raise _Unknown
        self.at = end + 1
        return int(digits, 36) + 1 if digits else 0

    def substitution(self) -> str:
        self.at += 1
        if self.peek() in _STANDARD:
            self.at += 1
            return _STANDARD[self.text[self.at - 1]]
        index = self.sequence()
        if index >= len(self.substitutions):
            raise _Unknown
        return self.substitutions[index]

    def template_parameter(self) -> str:
        self.at += 1
        index = self.sequence()
        return self.arguments[index] if index < len(self.arguments) else "T"

    def template_arguments(self, outermost: bool = False) -> str:
        self.at += 1
        items: list[str] = []
        while not self.take("E"):
            if not self.peek():
                raise _Unknown
            items += self.template_argument()
        if outermost:
            self.arguments = items
        return f"<{', '.join(items)}>"

    def template_argument(self) -> list[str]:
        if self.take("J"):
            items: list[str] = []
            while not self.take("E"):
                items += self.template_argument()
            return items
        if self.take("XadL_Z"):  # the address of a function
            name = self.encoding()
            while not self.take("E"):
                self.type()
            if not self.take("E"):
                raise _Unknown
            return [f"&{name}"]
        if not self.take("L"):
            return [self.type()]
        if self.take("_Z"):
            name = self.encoding()
            while not self.take("E"):
                self.type()
            return [name]
        kind = self.type()
        value = re.compile(r"n?\w*?(?=E)").match(self.text, self.at)
        if value is None:
            raise _Unknown
        self.at = value.end() + 1
        text = value[0].replace("n", "-", 1) if value[0].startswith("n") else value[0]
        return [{"0": "false", "1": "true"}.get(text, text) if kind == "bool" else text]

    def type(self) -> str:
        letter = self.peek()
        if letter in _BUILTIN:
            self.at += 1
            return _BUILTIN[letter]
        for prefix, form in (("P", "{}*"), ("R", "{}&"), ("O", "{}&&"), ("K", "const {}"), ("V", "volatile {}"), ("r", "{}")):
            if self.take(prefix):
                name = form.format(self.type())
                self.substitutions.append(name)
                return name
        if letter == "T":
            name = self.template_parameter()
            self.substitutions.append(name)
            if self.peek() == "I":
                name += self.template_arguments()
            return name
        if letter == "A":
            number = re.compile(r"A(\d*)_").match(self.text, self.at)
            if number is None:
                raise _Unknown
            self.at = number.end()
            name = f"{self.type()}[{number[1]}]"
            self.substitutions.append(name)
            return name
        if self.take("F"):
            parts = []
            while not self.take("E"):
                parts.append(self.type())
            name = f"{parts[0]}({', '.join(p for p in parts[1:] if p != 'void')})"
            self.substitutions.append(name)
            return name
        if self.take("Dp"):
            return f"{self.type()}..."
        if letter == "S" and not self.text.startswith("St", self.at):
            name = self.substitution()
            if self.peek() == "I":
                name += self.template_arguments()
                self.substitutions.append(name)
            return name
        outer = self.arguments
        if self.take("N"):
            name = self.nested()
        elif letter == "Z":
            name = self.encoding()
        elif letter.isdigit() or letter == "S":
            name = self.unqualified()
            if self.peek() == "I":
                self.substitutions.append(name)
                name += self.template_arguments()
        else:
            raise _Unknown
        self.arguments = outer
        self.substitutions.append(name)
        return name


@lru_cache(maxsize=4096)
def demangle(name: str) -> str:
    """The qualified name with its template arguments, without the parameter list; `name` itself where it isn't mangled or not understood.

    >>> demangle("_Z6helperfPi"), demangle("k")
    ('helper', 'k')
    """
    if not name.startswith("_Z"):
        return name
    try:
        return _Reader(name[2:]).encoding() or name
    except (_Unknown, IndexError, RecursionError):
        return name
