"""The report as text of 80 columns and as HTML, from hand-made findings and counters."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from lanewise.simt import explain
from lanewise.simt.counters import Counters
from lanewise.simt.errors import KernelFault
from lanewise.simt.report import LineCounters, Report

SOURCE = """// mirrors a block
extern "C" __global__ void mirror(const float* x, float* y) {
  __shared__ float s[64];
  int t = threadIdx.x;
  s[t] = x[t] < 1.0f && x[t] > 0.0f ? x[t] : 0.0f;
  y[t] = s[63 - t];
}
"""


def race(**more):
    facts = dict(
        array="s", index=33, space="shared", line=6, access="read", thread=(30, 0, 0), block=(0, 0, 0), other_line=5, other_access="write",
        other_thread=(33, 0, 0), other_block=(0, 0, 0),
    )  # fmt: skip
    return explain.race(**(facts | more))


def remark():
    return explain.uncoalesced(line=6, array="y", sectors=64, requests=2, ideal=4, access="write")


def report(*findings, **more):
    loads = dict(global_load_requests=2, global_load_sectors=8, shared_store_requests=2, shared_store_wavefronts=2)
    stores = dict(global_store_requests=2, global_store_sectors=64, shared_load_requests=2, shared_load_wavefronts=3)
    by_line = {
        4: LineCounters(warp_instructions=4, active_lane_ratio=1.0),
        5: LineCounters(warp_instructions=12, active_lane_ratio=1.0, **loads),
        6: LineCounters(warp_instructions=6, active_lane_ratio=0.5, **stores),
    }
    sums = dict(global_load_requests=2, global_load_sectors=8, global_store_requests=2, global_store_sectors=64, global_bytes=2304)
    counters = Counters(warp_instructions=22, active_lane_ratio=0.86, **sums)
    facts = dict(kernel="mirror", source=SOURCE, grid=(1, 1, 1), block=(64, 1, 1), findings=list(findings), counters=counters, by_line=by_line, steps=3)
    return Report(**(facts | more))


def test_a_remark_is_ok_and_an_error_is_not():
    assert report().ok and report(remark()).ok
    faulty = report(remark(), race())
    assert not faulty.ok
    assert [f.kind for f in faulty.errors] == ["race"] and [f.kind for f in faulty.remarks] == ["uncoalesced"]


def test_raise_if_faulty_carries_the_explanation_of_the_first_error_and_the_report():
    report(remark()).raise_if_faulty()
    faulty = report(remark(), race(), race(array="t"))
    with pytest.raises(KernelFault) as caught:
        faulty.raise_if_faulty()
    text = str(caught.value)
    assert text.startswith("mirror: race on s[33] (shared, line 6): thread (30,0,0) reads it while thread (33,0,0) writes it on line 5")
    assert "    5 | s[t] = " in text and ">    6 | y[t] = s[63 - t];" in text
    assert "(1 more error: print the report.)" in text
    assert caught.value.report is faulty


def test_text_has_findings_first_then_counters_in_80_columns():
    text = str(report(race(), remark()))
    assert max(map(len, text.split("\n"))) <= 80
    assert text.split("\n")[0] == "mirror  grid 1  block 64: 1 error, 1 remark"
    assert text.index("error: race, line 6") < text.index("remark: uncoalesced, line 6") < text.index("counters")
    assert re.search(r"global stores +2 +64 +32\n", text)
    assert re.search(r"global loads +2 +8 +4\n", text)
    assert re.search(r"bytes asked of global memory +2,304\n", text)


def test_text_of_a_clean_launch_says_so():
    assert str(report()).startswith("mirror  grid 1  block 64: no findings\n\ncounters\n")
    assert "grid 2×64  block 32×1×2" in str(report(grid=(2, 64, 1), block=(32, 1, 2)))


def test_unknown_counters_are_unknown_not_zero():
    text = str(report(counters=Counters(global_load_requests=None, flops=None), approximate=True))
    assert re.search(r"global loads +unknown +0", text) and re.search(r"floating-point operations +unknown", text)
    assert "approximate" in text and "approximate" not in str(report())


def test_printed_lines_appear_and_a_flood_is_cut():
    assert "printed by the kernel\n  hello" in str(report(printed="hello\n"))
    flood = str(report(printed="".join(f"line {i}\n" for i in range(100))))
    assert "  line 19\n  … 80 more lines" in flood and "line 20" not in flood


def test_control_characters_reach_neither_terminal_nor_notebook():
    nasty = report(printed="\x1b[31mred\x00\x07 \u202e", source=SOURCE.replace("mirrors", "\x1bmirrors"))
    for text in (str(nasty), nasty.lines(), nasty._repr_html_()):
        assert not set(text) & set("\x1b\x00\x07\u202e")
    assert "[31mred" in str(nasty)


def test_lines_show_the_whole_kernel_with_counters_and_findings():
    text = report(race()).lines()
    assert max(map(len, text.split("\n"))) <= 80
    rows = {int(m[1]): m[0] for m in re.finditer(r"^ +(\d+) .*$", text, re.M)}
    assert sorted(rows) == [1, 2, 3, 4, 5, 6, 7]
    assert re.search(r"^ +5 +12 +4 +1 +32.0 +s\[t\] = x", text, re.M)
    assert re.search(r"^ +6 +6 +32 +1.5 +16.0 +y\[t\] = s\[63 - t\];\n +\^ race: race on s\[33\]", text, re.M)


def test_lines_leave_out_what_lies_between_two_functions():
    source = "__device__ int f() { return 1; }\n" + "\n" * 30 + SOURCE
    shifted = {n + 31: c for n, c in report().by_line.items()}
    text = report(source=source, by_line={1: LineCounters(warp_instructions=1, active_lane_ratio=1.0), **shifted}).lines()
    assert "__device__ int f()" in text and "\n   …\n" in text and len(text.split("\n")) == 10


def test_crlf_and_byte_order_mark_change_no_line():
    plain, windows = report(race()), report(race(), source="\ufeff" + SOURCE.replace("\n", "\r\n"))
    assert plain.lines() == windows.lines() and str(plain) == str(windows) and plain._repr_html_() == windows._repr_html_()


class Balance(HTMLParser):
    """Every tag that opens closes, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_html_is_balanced_escaped_and_the_same_every_time():
    html = report(race(), remark(), printed="<script>alert(1)</script>")._repr_html_()
    assert html == report(race(), remark(), printed="<script>alert(1)</script>")._repr_html_()
    parser = Balance()
    parser.feed(html)
    assert parser.open == []
    assert "<script" not in html and "x[t] &lt; 1.0f &amp;&amp; x[t] &gt; 0.0f" in html
    assert "x[t] < 1.0f && x[t] > 0.0f" in "".join(parser.text)


def test_html_puts_a_finding_below_its_line_and_one_without_line_above_the_kernel():
    unwritten = explain.unwritten_output(array="y", first=3, last=3, count=1, size=64, grid=(1, 1, 1), block=(64, 1, 1))
    html = report(race(), unwritten)._repr_html_()
    assert html.index("unwritten output: y[3]") < html.index("<table>")
    assert html.index("y[t] = s[63 - t];") < html.index("race on s[33]")
    assert html.count("race on s[33]") == html.count("unwritten output: y[3]") == 1


def test_html_shades_the_hottest_line_most_and_names_theme_colours():
    html = report()._repr_html_()
    row = {n: re.search(rf'<tr><td class="lw-no">{n}</td>.*?</tr>', html)[0] for n in (4, 5, 6)}
    assert "rgba(245,124,0,0.50)" in row[6] and "rgba(245,124,0,0.50)" in row[5]  # most sectors; most instructions
    assert "rgba(245,124,0,0.21)" in row[4]  # 4 of 12 instructions: 0.06 + 0.44 / 3
    assert "var(--jp-content-font-color1,currentColor)" in html and "#" not in re.sub(r"&#x?\w+;", "", html)


def test_a_report_names_no_path():
    for text in (str(report(race())), report(race())._repr_html_()):
        assert "kernel.cu" not in text and not re.search(r"(?<![<\w])/\w+/", text)


def test_a_finding_outside_the_source_breaks_nothing():
    odd = report(race(line=900, other_line=None), source="")
    assert "error: race, line 900" in str(odd) and "race on s[33]" in odd._repr_html_() and odd.lines()
