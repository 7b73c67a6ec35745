"""A faulty kernel, its clean twin, and what must be said of the first: the shape of every test of a finding."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lanewise import simt
from lanewise.simt.finding import ERRORS, Finding
from lanewise.simt.report import Report

f32, i32, u32 = np.float32, np.int32, np.uint32


@dataclass(frozen=True, kw_only=True)
class Pair:
    """`faulty` is the source (its kernel is `k`); `edits` turn it into the clean twin, each old text occurring once.

    `args` makes the arguments anew for each launch; `clean_args` those of the twin, if they differ. `fields` are the attributes that the
    first finding of `kind` must have; `says` are patterns of its message. `values` are the right values of the last array after the clean launch.
    """

    id: str
    kind: str
    faulty: str
    args: Callable[[], list[Any]]
    edits: tuple[tuple[str, str], ...] = ()
    clean_args: Callable[[], list[Any]] | None = None
    grid: Any = 1
    block: Any = 32
    clean_grid: Any = None
    clean_block: Any = None
    shared_bytes: int = 0
    fields: dict[str, Any] = field(default_factory=dict)
    says: tuple[str, ...] = ()
    values: Any = None
    also: frozenset[str] = frozenset()  # kinds of error that are true as well

    @property
    def clean(self) -> str:
        text = self.faulty
        for old, new in self.edits:
            assert text.count(old) == 1, f"{self.id}: {old!r} occurs {text.count(old)} times"
            text = text.replace(old, new)
        return text


def launch(source: str, args: list[Any], grid: Any = 1, block: Any = 32, shared_bytes: int = 0, **options: Any) -> Report:
    return simt.compile(source.strip("\n")).kernel("k").launch(grid, block, args, shared_bytes, **options)


def messages(findings: list[Finding]) -> list[str]:
    return [f.message for f in findings]


def check_faulty(pair: Pair) -> None:
    """The kind is reported once its way, with the right facts, and no other error."""
    report = launch(pair.faulty, pair.args(), pair.grid, pair.block, pair.shared_bytes)
    found = [f for f in report.findings if f.kind == pair.kind]
    assert found, f"no {pair.kind}; findings: {messages(report.findings)}"
    assert {f.kind for f in report.errors} <= {pair.kind} | pair.also, messages(report.errors)
    first = found[0]
    assert first.severity == ("error" if pair.kind in ERRORS else "remark")
    wrong = {name: (getattr(first, name), want) for name, want in pair.fields.items() if getattr(first, name) != want}
    assert not wrong, f"(got, expected): {wrong}; {first.message}"
    for pattern in pair.says:
        assert re.search(pattern, first.message), f"{pattern!r} is not in: {first.message}"


def check_clean(pair: Pair) -> None:
    """No error at all, nothing of the kind, and the right values."""
    args = (pair.clean_args or pair.args)()
    report = launch(pair.clean, args, pair.clean_grid or pair.grid, pair.clean_block or pair.block, pair.shared_bytes)
    assert report.ok, messages(report.errors)
    assert not [f.message for f in report.findings if f.kind == pair.kind]
    if pair.values is not None:
        last = [a.array if isinstance(a, simt.Output) else a for a in args if isinstance(a, (np.ndarray, simt.Output))][-1]
        assert np.array_equal(last, np.asarray(pair.values).reshape(last.shape)), last
