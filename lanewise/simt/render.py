"""A report as text for a terminal of 80 columns, and as HTML for a notebook."""

from __future__ import annotations

import textwrap
from html import escape
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
    text = f"{report.kernel}: {_clean(finding.message)}"
    if finding.line is not None and (quoted := _quote(report, finding, WIDTH)):
        text += "\n" + quoted
    if more:
        text += f"\n({more} more {_plural('error', more)}: print the report.)"
    return text


def report_text(report: Report) -> str:
    """Findings first, then what the kernel printed, then the counters."""
    parts = [_headline(report)]
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
    source = _source_lines(report)
    for number in _shown(report):
        if number is None:
            rows.append(f"{'…':>4}")
            continue
        counters = report.by_line.get(number)
        cells = _cells(counters) if counters else ("", "", "", "")
        text = f"{number:>4} {cells[0]:>7} {cells[1]:>8} {cells[2]:>8} {cells[3]:>5}  {source[number - 1]}"
        rows.append(_cut(text.rstrip(), WIDTH))
        for finding in report.findings:
            if finding.line == number:
                rows.append(_cut(f"{'':>4} ^ {finding.kind}: {_clean(finding.message)}", WIDTH))
    return "\n".join(rows)


# ---------------------------------------------------------------------------------------------- text


def _headline(report: Report) -> str:
    errors, remarks = len(report.errors), len(report.remarks)
    verdict = "no findings"
    if errors or remarks:
        verdict = ", ".join(f"{n} {_plural(word, n)}" for n, word in ((errors, "error"), (remarks, "remark")) if n)
    return f"{report.kernel}  grid {_dims(report.grid)}  block {_dims(report.block)}: {verdict}"


def _finding_text(report: Report, finding: Finding) -> str:
    title = f"{finding.severity}: {finding.kind}" + (f", line {finding.line}" if finding.line is not None else "")
    body = textwrap.fill(_clean(finding.message), WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    quoted = _quote(report, finding, WIDTH)
    return "\n".join(part for part in (title, body, quoted) if part)


def _quote(report: Report, finding: Finding, width: int) -> str:
    """The finding's source line, and the other party's where there is one; `>` marks the finding's own."""
    source, numbers = _source_lines(report), {finding.line, _other_line(finding)}
    rows = []
    for number in sorted(n for n in numbers if n is not None and 1 <= n <= len(source)):
        mark = ">" if number == finding.line else " "
        rows.append(_cut(f"  {mark} {number:>4} | {source[number - 1].strip()}", width))
    return "\n".join(rows)


def _printed_text(printed: str) -> str:
    lines = _clean(printed).rstrip("\n").split("\n")
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
    rows += [f"  {name:<38}{value:>14}" for name, value in _singles(report)]
    return "\n".join(rows)


def _singles(report: Report) -> list[tuple[str, str]]:
    c = report.counters
    return [
        ("bytes asked of global memory", _number(c.global_bytes)),
        ("bytes read from DRAM at least", _number(c.dram_read_bytes)),
        ("bytes written to DRAM in the end", _number(c.dram_write_bytes)),
        ("barriers, summed over blocks", _number(c.barriers)),
        ("warp instructions (PTX)", _number(c.warp_instructions)),
        ("lanes active, on average of 32", _lanes(c.active_lane_ratio)),
        ("floating-point operations", _number(c.flops)),
        ("atomic operations", _number(c.atomics)),
    ]


def _traffic(name: str, requests: int | None, units: int | None) -> str:
    return f"  {name:<16}{_number(requests):>12}{_number(units):>12}{_ratio(units, requests):>12}".rstrip()


# ---------------------------------------------------------------------------------------------- HTML

# JupyterLab's themes set the --jp variables; the fallbacks serve any other page, light or dark.
_STYLE = (
    "<style>"
    ".lw-report{color:var(--jp-content-font-color1,currentColor);font-size:13px;line-height:1.45;max-width:100%;overflow-x:auto}"
    ".lw-report table{border-collapse:collapse;margin:.5em 0;font-size:12px;border:none}"
    ".lw-report tr,.lw-report tbody tr:nth-child(odd),.lw-report tbody tr:hover{background:transparent}"
    ".lw-report th,.lw-report td{text-align:right;padding:0 .6em;border:none;white-space:nowrap;vertical-align:top;max-width:none;"
    "color:inherit;font-family:var(--jp-code-font-family,monospace);font-variant-numeric:tabular-nums}"
    ".lw-report th{font-weight:600;border-bottom:1px solid rgba(128,128,128,.5)}"
    ".lw-report th[scope=row]{font-weight:400;border:none}"
    ".lw-report td.lw-src,.lw-report th.lw-src,.lw-report th.lw-name{text-align:left;white-space:pre}"
    ".lw-report td.lw-no{opacity:.6}"
    ".lw-report .lw-find{text-align:left;white-space:normal;max-width:76ch;padding:.3em .6em;margin:.2em 0;"
    "font-family:var(--jp-content-font-family,sans-serif)}"
    ".lw-report .lw-error{border-left:4px solid rgba(211,47,47,.9);background:rgba(211,47,47,.14)}"
    ".lw-report .lw-remark{border-left:4px solid rgba(33,118,210,.9);background:rgba(33,118,210,.14)}"
    ".lw-report pre{max-height:16em;overflow:auto;color:inherit;background:rgba(128,128,128,.1);padding:.4em}"
    "</style>"
)


def report_html(report: Report) -> str:
    """The kernel's lines as a heat map of their counters, each finding below its line. The bytes depend on the report alone."""
    parts = [_STYLE, '<div class="lw-report">', f"<p><strong>{_html(_headline(report))}</strong></p>"]
    shown = _shown(report)
    parts += [_finding_html(f) for f in report.findings if f.line not in shown]
    if report.gpu_values_equal is False:
        parts.append(f"<p>{_html(report.gpu_message)}</p>")
    parts.append(_heat_map(report, shown))
    if report.printed:
        parts.append(f"<details open><summary>printed by the kernel</summary><pre>{_html(report.printed)}</pre></details>")
    parts.append(_counter_html(report))
    parts.append("</div>")
    return "".join(parts)


def _heat_map(report: Report, shown: list[int | None]) -> str:
    source = _source_lines(report)
    peaks = _peaks(report)
    rows = []
    for number in shown:
        if number is None:
            rows.append('<tr><td class="lw-no">…</td><td></td><td></td><td></td><td></td><td></td></tr>')
            continue
        counters = report.by_line.get(number)
        cells = "<td></td>" * 4
        if counters:
            amounts = (counters.warp_instructions, counters.global_sectors, counters.shared_wavefronts, 0)
            cells = "".join(f"<td{_heat(a, p)}>{_html(text)}</td>" for text, a, p in zip(_cells(counters), amounts, peaks, strict=True))
        rows.append(f'<tr><td class="lw-no">{number}</td>{cells}<td class="lw-src">{_html(source[number - 1])}</td></tr>')
        rows += [f'<tr><td></td><td colspan="5" style="text-align:left">{_finding_html(f)}</td></tr>' for f in report.findings if f.line == number]
    head = (
        '<tr><th scope="col">line</th><th scope="col" title="PTX instructions × warps that executed them">instructions</th>'
        '<th scope="col" title="32-byte sectors of global memory a request of a warp; the shade is the sum of sectors">sectors/request</th>'
        '<th scope="col" title="passes over the shared-memory banks a request of a warp; the shade is the sum of passes">wavefronts/request</th>'
        '<th scope="col" title="lanes that took part, of 32">lanes</th><th scope="col" class="lw-src">source</th></tr>'
    )
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _peaks(report: Report) -> tuple[int, int, int, int]:
    values = report.by_line.values()
    return (
        max((v.warp_instructions for v in values), default=0),
        max((v.global_sectors for v in values), default=0),
        max((v.shared_wavefronts for v in values), default=0),
        0,
    )


def _heat(amount: int, peak: int) -> str:
    """A translucent shade that both themes can carry; the number in the cell says the same without colour."""
    if not amount or not peak:
        return ""
    return f' style="background:rgba(245,124,0,{0.06 + 0.44 * amount / peak:.2f})"'


def _finding_html(finding: Finding) -> str:
    where = f", line {finding.line}" if finding.line is not None else ""
    title = f"<strong>{_html(finding.severity)}: {_html(finding.kind)}{where}</strong>"
    return f'<div class="lw-find lw-{"error" if finding.severity == "error" else "remark"}">{title}<br>{_html(finding.message)}</div>'


def _counter_html(report: Report) -> str:
    c = report.counters
    traffic = [
        ("global loads", c.global_load_requests, c.global_load_sectors, "sectors"),
        ("global stores", c.global_store_requests, c.global_store_sectors, "sectors"),
        ("shared loads", c.shared_load_requests, c.shared_load_wavefronts, "wavefronts"),
        ("shared stores", c.shared_store_requests, c.shared_store_wavefronts, "wavefronts"),
    ]
    rows = [
        f'<tr><th class="lw-name" scope="row">{name}</th><td>{_number(r)}</td><td>{_number(u)} {unit}</td><td>{_ratio(u, r)}</td></tr>'
        for name, r, u, unit in traffic
    ]
    rows += [f'<tr><th class="lw-name" scope="row">{name}</th><td></td><td>{value}</td><td></td></tr>' for name, value in _singles(report)]
    note = " (approximate: another compiler than the GPU's made this code)" if report.approximate else ""
    head = f'<tr><th class="lw-name" scope="col">counters{note}</th><th scope="col">requests</th><th scope="col">amount</th><th scope="col">a request</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _html(text: str) -> str:
    return escape(_clean(text), quote=True)


# ---------------------------------------------------------------------------------------------- what both share


def _source_lines(report: Report) -> list[str]:
    """Lines as the compiler counts them: by line feeds alone. A byte order mark and carriage returns are not shown."""
    return [_clean(line).replace("\n", "").expandtabs(4) for line in report.source.lstrip("\ufeff").split("\n")]


def _shown(report: Report) -> list[int | None]:
    """Numbers of the lines to show, None for a gap: the touched lines, short gaps between them, and the head of their function."""
    count = len(_source_lines(report))
    touched = {n for n in report.by_line if 1 <= n <= count} | {f.line for f in report.findings if f.line and 1 <= f.line <= count}
    source = _source_lines(report)
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


def _cells(c: LineCounters) -> tuple[str, str, str, str]:
    """Instructions, sectors a request, wavefronts a request, lanes: "" where the line has none."""
    return (
        _number(c.warp_instructions) if c.warp_instructions else "",
        _ratio(c.global_sectors, c.global_requests) if c.global_requests else "",
        _ratio(c.shared_wavefronts, c.shared_requests) if c.shared_requests else "",
        _lanes(c.active_lane_ratio) if c.warp_instructions else "",
    )


def _number(value: int | float | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _ratio(amount: int | None, requests: int | None) -> str:
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


def _clean(text: str) -> str:
    """Without control characters (a kernel's printf may hold escape sequences); tabs and line feeds stay, CRLF becomes LF."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _other_line(finding: Finding) -> int | None:
    """Line of a race's second party, however `other` holds it."""
    return getattr(finding.other, "line", None)
