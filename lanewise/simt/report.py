"""What a launch answers: the findings, the counters, and the counters of every source line."""

from __future__ import annotations

from dataclasses import dataclass, field

from .counters import Counters
from .errors import KernelFault
from .finding import Finding


@dataclass(slots=True)
class LineCounters:
    """Sums over one launch for one line of the learner's source, in the units of `Counters`."""

    global_load_requests: int = 0
    global_load_sectors: int = 0
    global_store_requests: int = 0
    global_store_sectors: int = 0
    shared_load_requests: int = 0
    shared_load_wavefronts: int = 0
    shared_store_requests: int = 0
    shared_store_wavefronts: int = 0
    warp_instructions: int = 0  # PTX instructions × warps that executed them
    active_lane_ratio: float = 0.0  # lanes that executed ÷ (32 × warp_instructions)
    flops: int = 0
    atomics: int = 0
    barriers: int = 0

    @property
    def global_requests(self) -> int:
        """Loads and stores together, as the heat map shows them."""
        return self.global_load_requests + self.global_store_requests

    @property
    def global_sectors(self) -> int:
        return self.global_load_sectors + self.global_store_sectors

    @property
    def shared_requests(self) -> int:
        return self.shared_load_requests + self.shared_store_requests

    @property
    def shared_wavefronts(self) -> int:
        return self.shared_load_wavefronts + self.shared_store_wavefronts


@dataclass
class Report:
    """The answer of `Kernel.launch`.

    `findings` are in the order in which they happened. `by_line` maps a line number of `source` (from 1) to its counters.
    `printed` is what the kernel's printf wrote. `approximate` is True where the counters come from clang's PTX.
    `dram_fetch_bytes`: `counters.dram_read_bytes` in pairs of sectors: an H200 fetches 64 bytes where one of the two is wanted.
    `steps` is the number of basic blocks that the busiest warp executed.
    `gpu_values_equal` says whether a real GPU gave the same values (None: none was asked), `gpu_message` says it in a sentence.
    """

    kernel: str
    source: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    findings: list[Finding] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)
    by_line: dict[int, LineCounters] = field(default_factory=dict)
    printed: str = ""
    approximate: bool = False
    steps: int = 0
    dram_fetch_bytes: int = 0
    gpu_values_equal: bool | None = None
    gpu_message: str = ""

    @property
    def ok(self) -> bool:
        """True when no finding is an error; remarks are allowed."""
        return not self.errors

    @property
    def errors(self) -> list[Finding]:
        """The findings of severity "error", in order."""
        return [f for f in self.findings if f.severity == "error"]

    @property
    def remarks(self) -> list[Finding]:
        """The findings of severity "remark", in order."""
        return [f for f in self.findings if f.severity == "remark"]

    def raise_if_faulty(self) -> None:
        """Raise KernelFault with the explanation of the first error, if there is one."""
        if self.errors:
            from .render import fault_text

            raise KernelFault(fault_text(self), self)

    def lines(self) -> str:
        """The kernel's lines with their counters, as text of 80 columns."""
        from .render import lines_text

        return lines_text(self)

    def __str__(self) -> str:
        from .render import report_text

        return report_text(self)

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        """A notebook's plain text is the report, not the dataclass."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        from .render_html import report_html

        return report_html(self)
