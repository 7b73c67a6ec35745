"""A report as text for a terminal of 80 columns; what it shows of lines and counters, HTML shows, too (`render_html`)."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from .finding import Finding

if TYPE_CHECKING:
    from .report import LineCounters, Report

WIDTH = 80
GAP = 8  # untouched lines up to this many are shown between two touched ones; more become "…"
PRINTED_LINES = 20  # of the kernel's printf in the text report; the HTML scrolls instead


def fault_text(report: Report) -> str:
    """The explanation that KernelFault carries: the first error in one paragraph, its source line below."""
    finding = report.errors[0]
    more = len(report.errors) - 1
    text = f"{report.kernel}: {printable(finding.message)}"
    if finding.line is not None and (quoted := _quote(report, finding, WIDTH)):
        text += "\n" + quoted
    if more:
        text += f"\n({more} more {_plural('error', more)}: print the report.)"
    return text


def report_text(report: Report) -> str:
    """Findings first, then what the kernel printed, then the counters."""
    parts = [headline(report)]
    parts += [_finding_text(report, f) for f in report.findings]
    if report.gpu_values_equal is False:  # equality is not mentioned: a report reads the same with and without a GPU
        parts.append(report.gpu_message)
    if report.printed:
        parts.append(_printed_text(report.printed))
    parts.append(_counter_table(report))
    return "\n\n".join(parts)


def lines_text(report: Report) -> str:
    """The kernel's lines, each with its warp instructions, sectors a request, wavefronts a request and busy lanes."""
    head = f"{'line':>4} {'instr':>7} {'sect/req':>8} {'wave/req':>8} {'lanes':>5}  source"
    rows = [head]
    source = source_lines(report)
    for number in shown_lines(report):
        if number is None:
            rows.append(f"{'…':>4}")
            continue
        counters = report.by_line.get(number)
        cells = line_cells(counters) if counters else ("", "", "", "")
        text = f"{number:>4} {cells[0]:>7} {cells[1]:>8} {cells[2]:>8} {cells[3]:>5}  {source[number - 1]}"
        rows.append(_cut(text.rstrip(), WIDTH))
        for finding in report.findings:
            if finding.line == number:
                rows.append(_cut(f"{'':>4} ^ {finding.kind}: {printable(finding.message)}", WIDTH))
    return "\n".join(rows)


# ---------------------------------------------------------------------------------------------- text


def headline(report: Report) -> str:
    """The kernel, its launch, and how many errors and remarks there are."""
    errors, remarks = len(report.errors), len(report.remarks)
    verdict = "no findings"
    if errors or remarks:
        verdict = ", ".join(f"{n} {_plural(word, n)}" for n, word in ((errors, "error"), (remarks, "remark")) if n)
    return f"{report.kernel}  grid {_dims(report.grid)}  block {_dims(report.block)}: {verdict}"


def _finding_text(report: Report, finding: Finding) -> str:
    title = f"{finding.severity}: {finding.kind}" + (f", line {finding.line}" if finding.line is not None else "")
    body = textwrap.fill(printable(finding.message), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    quoted = _quote(report, finding, WIDTH)
    return "\n".join(part for part in (title, body, quoted) if part)


def _quote(report: Report, finding: Finding, width: int) -> str:
    """The finding's source line, and the other party's where there is one; `>` marks the finding's own."""
    source, numbers = source_lines(report), {finding.line, _other_line(finding)}
    rows = []
    for number in sorted(n for n in numbers if n is not None and 1 <= n <= len(source)):
        mark = ">" if number == finding.line else " "
        rows.append(_cut(f"  {mark} {number:>4} | {source[number - 1].strip()}", width))
    return "\n".join(rows)


def _printed_text(printed: str) -> str:
    lines = printable(printed).rstrip("\n").split("\n")
    shown = [_cut("  " + line, WIDTH) for line in lines[:PRINTED_LINES]]
    if len(lines) > PRINTED_LINES:
        left = len(lines) - PRINTED_LINES
        shown.append(f"  … {left} more {_plural('line', left)}")
    return "printed by the kernel\n" + "\n".join(shown)


def _counter_table(report: Report) -> str:
    """Memory traffic as requests, sectors or wavefronts, and their ratio; then the single numbers."""
    c = report.counters
    title = "counters" + (" (approximate: another compiler than the GPU's made this code)" if report.approximate else "")
    rows = [title, f"  {'':<16}{'requests':>12}{'sectors':>12}{'a request':>12}"]
    rows.append(_traffic("global loads", c.global_load_requests, c.global_load_sectors))
    rows.append(_traffic("global stores", c.global_store_requests, c.global_store_sectors))
    rows.append(f"  {'':<16}{'requests':>12}{'wavefronts':>12}{'a request':>12}")
    rows.append(_traffic("shared loads", c.shared_load_requests, c.shared_load_wavefronts))
    rows.append(_traffic("shared stores", c.shared_store_requests, c.shared_store_wavefronts))
    rows.append("")
    rows += [f"  {name:<38}{value:>14}" for name, value in single_counters(report)]
    return "\n".join(rows)


def single_counters(report: Report) -> list[tuple[str, str]]:
    """Names and values of the counters that are one number."""
    c = report.counters
    return [
        ("bytes asked of global memory", with_commas(c.global_bytes)),
        ("bytes read from DRAM at least", with_commas(c.dram_read_bytes)),
        ("bytes written to DRAM in the end", with_commas(c.dram_write_bytes)),
        ("barriers, summed over blocks", with_commas(c.barriers)),
        ("warp instructions (PTX)", with_commas(c.warp_instructions)),
        ("lanes active, on average of 32", _lanes(c.active_lane_ratio)),
        ("floating-point operations", with_commas(c.flops)),
        ("atomic operations", with_commas(c.atomics)),
    ]


def _traffic(name: str, requests: int | None, units: int | None) -> str:
    return f"  {name:<16}{with_commas(requests):>12}{with_commas(units):>12}{a_request(units, requests):>12}".rstrip()


# ---------------------------------------------------------------------------------------------- also for HTML


def source_lines(report: Report) -> list[str]:
    """Lines as the compiler counts them: by line feeds alone. A byte order mark and carriage returns are not shown."""
    return [printable(line).replace("\n", "").expandtabs(4) for line in report.source.lstrip("\ufeff").split("\n")]


def shown_lines(report: Report) -> list[int | None]:
    """Numbers of the lines to show, None for a gap: the touched lines, short gaps between them, and the head of their function."""
    count = len(source_lines(report))
    touched = {n for n in report.by_line if 1 <= n <= count} | {f.line for f in report.findings if f.line and 1 <= f.line <= count}
    source = source_lines(report)
    keep: set[int] = set()
    previous = None
    for number in sorted(touched):
        first = number
        if previous is not None and number - previous <= GAP:
            first = previous + 1
        else:  # back to the blank line (or brace) before the function
            while first > 1 and number - first < GAP and source[first - 2].strip() not in ("", "}"):
                first -= 1
        keep.update(range(first, number + 1))
        previous = number
    for number in sorted(touched):  # the closing brace
        if number < count and source[number].strip() == "}":
            keep.add(number + 1)
    shown: list[int | None] = []
    for number in sorted(keep):
        if shown and shown[-1] is not None and number != shown[-1] + 1:
            shown.append(None)
        shown.append(number)
    return shown


def line_cells(c: LineCounters) -> tuple[str, str, str, str]:
    """Instructions, sectors a request, wavefronts a request, lanes: "" where the line has none."""
    return (
        with_commas(c.warp_instructions) if c.warp_instructions else "",
        a_request(c.global_sectors, c.global_requests) if c.global_requests else "",
        a_request(c.shared_wavefronts, c.shared_requests) if c.shared_requests else "",
        _lanes(c.active_lane_ratio) if c.warp_instructions else "",
    )


def with_commas(value: int | float | None) -> str:
    """1234567 as 1,234,567."""
    return "unknown" if value is None else f"{value:,}"


def a_request(amount: int | None, requests: int | None) -> str:
    """The amount of one request, to two places at most; "" without requests."""
    if amount is None or not requests:
        return ""
    return f"{amount / requests:.2f}".rstrip("0").rstrip(".")


def _lanes(ratio: float | None) -> str:
    return "unknown" if ratio is None else f"{32 * ratio:.1f}"


def _dims(dims: tuple[int, ...]) -> str:
    """(4, 1, 1) as 4, (2, 64, 1) as 2×64."""
    kept = list(dims)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return "×".join(str(n) for n in kept)


def _plural(word: str, count: int) -> str:
    return word if count == 1 else word + "s"


def printable(text: str) -> str:
    """Without control characters (a kernel's printf may hold escape sequences); tabs and line feeds stay, CRLF becomes LF."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _other_line(finding: Finding) -> int | None:
    """Line of a race's second party, however `other` holds it."""
    return getattr(finding.other, "line", None)
