"""What grading answers, as data, text, HTML and JSON."""

from __future__ import annotations

import html
import json
import math
import textwrap
from dataclasses import asdict, dataclass, field, replace
from typing import Any

WIDTH = 80
LONGEST_MESSAGE = 2000  # characters; whatever a kernel does, the JSON stays far below 200 kB
LONGEST_LINE = 160
MOST_CASES = 100
# Verdicts that no simulator finding gives. A `kind` is None (passed), one of these, or a Finding.kind.
KINDS = ("compile-error", "kernel-not-found", "unsupported", "wrong-values", "over-budget", "compile-limit", "infrastructure")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One case: `message` is empty where it passed."""

    name: str
    passed: bool
    visible: bool = True
    message: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome for one text. `kind` is None exactly when it passed; `message` tells the first cause only, with one next step.

    `line` is a line of the graded text. `counters`: case → counter → value, of the cases that ran. `source_sha256` is the hash of the graded text (after
    decoding, so that CRLF changes nothing), `testset` names the cases and the checker. `excerpt` holds the lines around `line`, for display alone.
    """

    key: str
    score: float
    max_score: float
    kind: str | None = None
    message: str = ""
    line: int | None = None
    cases: tuple[CaseResult, ...] = ()
    excerpt: tuple[tuple[int, str], ...] = field(default=(), compare=False)
    counters: dict[str, dict[str, int | float | None]] = field(default_factory=dict)
    source_sha256: str = ""
    testset: str = ""

    @property
    def passed(self) -> bool:
        return self.kind is None

    def as_dict(self) -> dict[str, Any]:
        """The keys of the JSON form: key, score, max_score, kind, message, line, cases, counters, source_sha256, testset."""
        whole = asdict(self)
        del whole["excerpt"]
        return whole

    def to_json(self) -> str:
        """Strict JSON (no NaN), one document, below 200 kB."""
        return json.dumps(self.as_dict(), indent=1, allow_nan=False, ensure_ascii=True)

    def __str__(self) -> str:
        """80 columns of plain text: no path and no device in it, so that it is the same everywhere."""
        parts = [f"{self.key}: {self._headline()}"]
        if not self.passed:
            parts.append("\n".join(_wrap(self.message)))
            if self.excerpt:
                parts.append("\n".join(f"{'>' if number == self.line else ' '}{number:4} | {text}"[:WIDTH].rstrip() for number, text in self.excerpt))
            if self.cases and any(case.passed for case in self.cases):
                parts.append("\n".join(line for case in self.cases for line in _case_lines(case)))
        return "\n\n".join(parts)

    __repr__ = __str__  # a notebook's plain text

    def _headline(self) -> str:
        points = f"{show_number(self.score)} of {show_number(self.max_score)} point{'' if self.max_score == 1 else 's'}"
        if self.passed:
            return f"solved. {len(self.cases)} of {len(self.cases)} cases pass, {points}."
        return f"{self.kind}. {points}."

    def _repr_html_(self) -> str:
        """Colours come from the page's own text colour, so that it reads in light and dark."""
        mark, edge = ("✓", "#2e9e5b") if self.passed else ("✗", "#d9534f")
        rows = [f"<div><b>{mark} {html.escape(self.key)}</b>: {html.escape(self._headline())}</div>"]
        if not self.passed:
            rows.append(f"<div style='margin:.5em 0;white-space:pre-wrap'>{html.escape(self.message)}</div>")
            if self.excerpt:
                lines = "\n".join(_marked(number, text, number == self.line) for number, text in self.excerpt)
                rows.append(f"<pre style='margin:.5em 0;white-space:pre;overflow-x:auto;background:rgba(128,128,128,.12);padding:.5em'>{lines}</pre>")
            if self.cases:
                items = "".join(f"<li>{'✓' if case.passed else '✗'} {html.escape(case.name)}</li>" for case in self.cases)
                rows.append(f"<ul style='list-style:none;margin:0;padding:0'>{items}</ul>")
        return f"<div style='border-left:4px solid {edge};padding:.3em .8em'>{''.join(rows)}</div>"


def clean(verdict: Verdict) -> Verdict:
    """The verdict with every text made safe to print and store: no control characters, no lone surrogates, bounded lengths, a bounded number of cases."""
    cases = tuple(replace(case, name=clean_text(case.name, 200), message=clean_text(case.message, 500)) for case in verdict.cases[:MOST_CASES])
    excerpt = tuple((number, clean_text(text, LONGEST_LINE)) for number, text in verdict.excerpt)
    score = verdict.score if math.isfinite(verdict.score) else 0
    known = {case.name for case in cases}
    counters = {clean_text(name, 200): _finite(counts) for name, counts in verdict.counters.items() if clean_text(name, 200) in known}
    return replace(verdict, score=score, message=clean_text(verdict.message, LONGEST_MESSAGE), cases=cases, counters=counters, excerpt=excerpt)


def clean_text(text: str, longest: int) -> str:
    """Printable characters and newlines alone (a tab becomes four blanks), cut at `longest` characters."""
    text = text.replace("\r\n", "\n").replace("\t", "    ")
    text = "".join(c if c == "\n" or c.isprintable() else "\ufffd" for c in text)
    return text if len(text) <= longest else text[: longest - 2] + " …"


def excerpt(text: str, line: int | None, around: int = 2) -> tuple[tuple[int, str], ...]:
    """The lines around `line` of a text, numbered from 1; nothing where there is no such line."""
    lines = text.splitlines()
    if line is None or not 1 <= line <= len(lines):
        return ()
    first, last = max(1, line - around), min(len(lines), line + around)
    return tuple((number, lines[number - 1]) for number in range(first, last + 1))


def show_number(value: float) -> str:
    """5.0 as 5, 0.5 as 0.5."""
    return str(int(value)) if float(value).is_integer() else f"{value:g}"


def _finite(counts: dict[str, int | float | None]) -> dict[str, int | float | None]:
    return {name: value if value is not None and math.isfinite(value) else None for name, value in counts.items()}


def _marked(number: int, text: str, here: bool) -> str:
    style, mark = ("font-weight:bold", ">") if here else ("opacity:.65", " ")
    return f"<span style='{style}'>{html.escape(mark)}{number:4}  {html.escape(text)}</span>"


def _case_lines(case: CaseResult) -> list[str]:
    name = f"{'✓' if case.passed else '✗'} {case.name}"
    return textwrap.wrap(name, WIDTH, initial_indent="  ", subsequent_indent="    ")


def _wrap(text: str) -> list[str]:
    """Prose is wrapped at 80 columns; indented lines (quoted source, compiler output) are cut."""
    out = []
    for line in text.splitlines():
        out += [line[:WIDTH]] if line.startswith((" ", "\t")) else textwrap.wrap(line, WIDTH, break_on_hyphens=False) or [""]
    return out
