"""pytest's option `--work`, for tests/test_exercises.py.

A plugin of its own, loaded by pyproject.toml: before an option is known, pytest takes the folder behind it for a place with tests, and imports its conftest.py.
"""

from __future__ import annotations

from typing import Any


def pytest_addoption(parser: Any) -> None:
    """`--work=DIR` grades the answers in DIR and does nothing else in that file."""
    parser.addoption("--work", metavar="DIR", default=None, help="grade the answers in this folder (tests/test_exercises.py)")
