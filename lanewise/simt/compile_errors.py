"""A compiler's log → a few lines that say what to change."""

from __future__ import annotations


def explain(log: str, source: str) -> str:
    """The first error of `log` with its line of `source`, and a hint where one is known."""
    return log
