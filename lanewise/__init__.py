"""From a first CUDA kernel to FlashAttention, with or without a GPU.

In a notebook: `from lanewise import cp, grade, hint, profile, show, source`, and the cell magic `%%solve ch05b` is there, too.
Everything is loaded when it is first asked for.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

__version__ = "0.1.0"

# Name → where it lives; an empty attribute means the module itself.
_HOMES = {
    "attention": ("lanewise.forward", "attention"),
    "cp": ("lanewise.cp", ""),
    "simt": ("lanewise.simt", ""),
    "plots": ("lanewise.plots", ""),
    "grade": ("lanewise.magics", "grade"),
    "hint": ("lanewise.magics", "hint"),
    "show": ("lanewise.listing", "show"),
    "source": ("lanewise.listing", "source"),
    "profile": ("lanewise.profiling", "profile"),
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lanewise' has no attribute {name!r}; it has {', '.join(__all__)}")
    module, attribute = _HOMES[name]
    found = importlib.import_module(module)
    value = getattr(found, attribute) if attribute else found
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext lanewise`; `import lanewise` in a notebook does the same."""

    def solve(line: str, cell: str) -> Any:
        from lanewise.magics import solve as answer

        return answer(line, cell)

    shell.register_magic_function(solve, magic_kind="cell", magic_name="solve")


if "IPython" in sys.modules and (_shell := sys.modules["IPython"].get_ipython()) is not None:
    load_ipython_extension(_shell)
