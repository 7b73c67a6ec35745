"""A report as HTML for a notebook: the kernel's lines as a heat map, findings below their lines. Its bytes depend on the report alone."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .finding import Finding
from .render import a_request, headline, line_cells, printable, shown_lines, single_counters, source_lines, with_commas

if TYPE_CHECKING:
    from .report import Report

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
    parts = [_STYLE, '<div class="lw-report">', f"<p><strong>{_html(headline(report))}</strong></p>"]
    shown = shown_lines(report)
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
    source = source_lines(report)
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
            cells = "".join(f"<td{_heat(a, p)}>{_html(text)}</td>" for text, a, p in zip(line_cells(counters), amounts, peaks, strict=True))
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
        f'<tr><th class="lw-name" scope="row">{name}</th><td>{with_commas(r)}</td><td>{with_commas(u)} {unit}</td><td>{a_request(u, r)}</td></tr>'
        for name, r, u, unit in traffic
    ]
    rows += [f'<tr><th class="lw-name" scope="row">{name}</th><td></td><td>{value}</td><td></td></tr>' for name, value in single_counters(report)]
    note = " (approximate: another compiler than the GPU's made this code)" if report.approximate else ""
    head = f'<tr><th class="lw-name" scope="col">counters{note}</th><th scope="col">requests</th><th scope="col">amount</th><th scope="col">a request</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _html(text: str) -> str:
    return escape(printable(text), quote=True)
