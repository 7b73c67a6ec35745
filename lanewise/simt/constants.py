"""Compile-time integers of a source: `constexpr int TILE = 32;`, `#define`, enumerators, and expressions of them."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable

_SIZES = {"char": 1, "bool": 1, "short": 2, "half": 2, "__half": 2, "__nv_bfloat16": 2, "int": 4, "unsigned": 4, "unsigned int": 4, "float": 4}
_SIZES |= {"double": 8, "long long": 8, "float2": 8, "float3": 12, "float4": 16, "int4": 16, "unsigned char": 1, "size_t": 8}

_OPERATORS: dict[type, Callable[..., int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


def constants(defines: dict[str, str], text: str) -> dict[str, int]:
    """Name → value of the integer constants that `defines` (macro → replacement) and `text` (blanked source) declare."""
    written = dict(defines)
    for found in re.finditer(r"\b(?:constexpr|const)\s+(?:static\s+)?(?:unsigned\s+|long\s+)*\w+\s+([^;(){}]*(?:\([^;{}]*\))?[^;{}]*);", text):
        for part in found[1].split(","):
            name, equals, value = part.partition("=")
            if equals and re.fullmatch(r"\s*\w+\s*", name):
                written[name.strip()] = value
    for found in re.finditer(r"\benum\b[^{;]*\{([^}]*)\}", text):
        for part in found[1].split(","):
            name, equals, value = part.partition("=")
            if equals:
                written[name.strip()] = value
    known: dict[str, int] = {}
    for _ in range(6):  # constants of constants: a few rounds settle any order
        before = len(known)
        for name, value in written.items():
            if name not in known and (number := evaluate(value, known)) is not None:
                known[name] = number
        if len(known) == before:
            break
    return known


def evaluate(text: str, known: dict[str, int]) -> int | None:
    """The value of an integer expression in C, or None if it holds anything unknown."""
    text = re.sub(r"\bsizeof\s*\(\s*([\w ]+?)\s*\)", lambda m: str(_SIZES.get(m[1], "unknown_size")), text)
    text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b", r"\1", text)
    text = re.sub(r"\(\s*(?:int|unsigned|size_t|long)\s*\)", "", text)
    try:
        return _value(ast.parse(text.strip(), mode="eval").body, known)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError):
        return None


def _value(node: ast.expr, known: dict[str, int]) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_value(node.operand, known))
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, known), _value(node.right, known)
        if isinstance(node.op, ast.Div | ast.Mod):  # C rounds towards zero
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return quotient if isinstance(node.op, ast.Div) else left - quotient * right
        if isinstance(node.op, ast.LShift | ast.RShift) and not 0 <= right < 64:
            raise ValueError
        if type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](left, right)
    raise ValueError
