"""The simulator's exceptions: the four that callers see, and `Stop`, which stays inside; and what becomes of all others."""

from __future__ import annotations

from typing import Any


class CompileError(Exception):
    """The compiler refused the source. `log` is the compiler's own text, lines numbered as in the source."""

    def __init__(self, message: str, log: str = ""):
        super().__init__(message)
        self.log = log


class KernelNotFound(Exception):
    """The module has no such entry point; the message names those it has."""


class Unsupported(Exception):
    """An instruction the simulator can't run; the message names it and the source line."""


class KernelFault(Exception):
    """A launch had a finding of severity error; the message is the explanation. `report` holds the rest."""

    def __init__(self, message: str, report=None):
        super().__init__(message)
        self.report = report


class Stop(Exception):
    """Within a launch: it ends here, by a trap, a limit or a deadlock between blocks; the findings say why."""


def grief(module: Any, kernel: str, error: Exception) -> Exception:
    """What to raise where the simulator has come to grief over a kernel of a `launch.Module`.

    Inline assembly that no assembler has read may hold anything: where ptxas refuses it, that is why. Where the module was compiled elsewhere, the
    compiler isn't asked again here, and the error stays what it is.
    """
    if not module.compiled_here:
        return error
    if not module.approximate:
        from . import nvrtc
        from .compile_errors import assembly

        try:
            nvrtc.cubin(module.source, module.arch, module.options, tuple(module.names))
        except CompileError as refused:
            return CompileError(assembly(refused.log, module.ptx) or str(refused), refused.log)
    what = f"{type(error).__name__}: {error}"
    return Unsupported(f"the simulator can't run {kernel} to its end ({what}). That is a fault of its own: please report it, with the kernel.")
