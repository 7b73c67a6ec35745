"""The simulator's exceptions: the four that callers see, and `Stop`, which stays inside."""

from __future__ import annotations


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
