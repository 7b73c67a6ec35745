"""A result for people: the student's report, which takes named fields and no others, and the teacher's, which has all. Markdown and HTML; JSON is the dict."""

from __future__ import annotations

import html
import re
from typing import Any

from lanewise.grading.verdict import show_number

SCHEMA = "lanewise/student-report/v1"
ABOUT_THE_TEXT = ("compile-error", "compile-limit", "kernel-not-found", "unsupported")  # said before any case ran; unsupported also on the way
NOT_YOURS = "Grading was interrupted, through no fault of yours: your teacher sees it and grades again."
HIDDEN = (
    "A hidden case fails ({kind}). Try inputs of your own: length 1, one less and one more than a tile, more than one tile, unequal sides; "
    "scores that rise, fall, are all equal, all negative, or lie far apart; a row that is masked throughout."
)
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
    "table{border-collapse:collapse}td,th{padding:.2em .8em;text-align:left}pre{white-space:pre-wrap;padding:.6em;background:rgba(128,128,128,.12)}"
)


def student_report(result: dict[str, Any]) -> dict[str, Any]:
    """What a student may read of a teacher's result: built up field by field, so that nothing new there gets here by itself.

    Hidden cases are two numbers. A message is taken over where it speaks of the student's text or of a visible case, else it is a general one.
    """
    return {
        "schema": SCHEMA,
        "assignment": result["assignment"],
        "submission": result["submission"],
        "submitted": result["submitted"],
        "late": result["late"],
        "status": result["status"],
        "score": result["score"],
        "max_score": result["max_score"],
        "notes": list(result["notes"]),
        "exercises": [_student_verdict(verdict) for verdict in result["verdicts"]],
    }


def _student_verdict(verdict: dict[str, Any]) -> dict[str, Any]:
    visible = [case for case in verdict["cases"] if case["visible"]]
    hidden = [case for case in verdict["cases"] if not case["visible"]]
    about_hidden = _is_about_hidden(verdict)
    return {
        "key": verdict["key"],
        "score": verdict["score"],
        "max_score": verdict["max_score"],
        "kind": verdict["kind"],
        "message": HIDDEN.format(kind=verdict["kind"]) if about_hidden else _student_message(verdict),
        "line": None if about_hidden else verdict["line"],
        "cases": [{"name": case["name"], "passed": case["passed"]} for case in visible],
        "hidden": {"passed": sum(case["passed"] for case in hidden), "of": len(hidden)},
        "counters": {case["name"]: verdict["counters"][case["name"]] for case in visible if case["name"] in verdict["counters"]},
    }


def _is_about_hidden(verdict: dict[str, Any]) -> bool:
    """Whether the verdict speaks of a hidden case, or of no case that is known. The line stays out then, too: a kernel could tell its input by it."""
    told = re.match(r"Case (\d+) \(", verdict["message"])
    if verdict["kind"] in (None, "infrastructure") or (verdict["kind"] in ABOUT_THE_TEXT and not told):
        return False
    number = int(told[1]) if told else 0
    return not (1 <= number <= len(verdict["cases"]) and verdict["cases"][number - 1]["visible"])


def _student_message(verdict: dict[str, Any]) -> str:
    return NOT_YOURS if verdict["kind"] == "infrastructure" else verdict["message"]


def to_markdown(report: dict[str, Any]) -> str:
    """A student's report as Markdown; whatever the report holds stays text."""
    lines = [f"# {_plain(report['assignment'])}: {_plain(report['submission'])}", "", f"**{_points(report)} points**{_when(report)}", ""]
    lines += ["| exercise | points | verdict |", "|---|---|---|"]
    lines += [f"| {_plain(e['key'])} | {_points(e)} | {_plain(_word(e))} |" for e in report["exercises"]]
    for e in report["exercises"]:
        if e["message"]:
            lines += ["", f"## {_plain(e['key'])}", "", *_quoted(e["message"]), ""]
            lines += [f"* {'✓' if case['passed'] else '✗'} {_plain(case['name'])}" for case in e["cases"]]
            lines += [f"* hidden cases: {e['hidden']['passed']} of {e['hidden']['of']} pass"] if e["hidden"]["of"] else []
    if report["notes"]:
        lines += ["", "## Notes", "", *(f"* {_plain(note)}" for note in report["notes"])]
    return "\n".join(lines) + "\n"


def to_html(report: dict[str, Any]) -> str:
    """A student's report as one HTML page without scripts."""
    rows = "".join(f"<tr><td>{_html(e['key'])}</td><td>{_points(e)}</td><td>{_html(_word(e))}</td></tr>" for e in report["exercises"])
    parts = []
    for e in report["exercises"]:
        if e["message"]:
            cases = "".join(f"<li>{'✓' if case['passed'] else '✗'} {_html(case['name'])}</li>" for case in e["cases"])
            hidden = f"<li>hidden cases: {e['hidden']['passed']} of {e['hidden']['of']} pass</li>" if e["hidden"]["of"] else ""
            parts.append(f"<h2>{_html(e['key'])}</h2><pre>{_html(e['message'])}</pre><ul>{cases}{hidden}</ul>")
    notes = "".join(f"<li>{_html(note)}</li>" for note in report["notes"])
    title = f"{_html(report['assignment'])}: {_html(report['submission'])}"
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'unsafe-inline'\"><title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>"
        f"<p><b>{_points(report)} points</b>{_html(_when(report))}</p><table><tr><th>exercise<th>points<th>verdict</tr>{rows}</table>"
        f"{''.join(parts)}{f'<h2>Notes</h2><ul>{notes}</ul>' if notes else ''}</body></html>\n"
    )


def teacher_markdown(result: dict[str, Any]) -> str:
    """All of a result as Markdown: hidden cases by name, their messages, seeds, test sets."""
    lines = [f"# {_plain(result['assignment'])}: {_plain(result['submission'])} (for the teacher)", ""]
    lines += [f"**{_points(result)} points**{_when(result)}, {_plain(result['status'])}. Protections: {_plain(', '.join(result['protections']))}."]
    for verdict in result["verdicts"]:
        seed = "none" if verdict["seed"] is None else verdict["seed"]
        lines += ["", f"## {_plain(verdict['key'])}: {_points(verdict)}, {_plain(_word(verdict))}", ""]
        lines += [f"Test set {_plain(verdict['testset'])}, seed {seed}, text {verdict['source_sha256'][:16] or 'none'}.", ""]
        lines += [*_quoted(verdict["message"]), ""] if verdict["message"] else []
        for case in verdict["cases"]:
            words = f": {_plain(case['message'])}" if case["message"] else ""
            lines.append(f"* {'✓' if case['passed'] else '✗'} {_plain(case['name'])}{'' if case['visible'] else ' (hidden)'}{words}")
    if result["notes"]:
        lines += ["", "## Notes", "", *(f"* {_plain(note)}" for note in result["notes"])]
    return "\n".join(lines) + "\n"


def _points(whole: dict[str, Any]) -> str:
    return f"{show_number(whole['score'])} of {show_number(whole['max_score'])}"


def _when(whole: dict[str, Any]) -> str:
    return {None: "", True: ", late", False: ", in time"}[whole["late"]]


def _word(verdict: dict[str, Any]) -> str:
    line = f", line {verdict['line']}" if verdict["line"] else ""
    return f"{verdict['kind']}{line}" if verdict["kind"] else "solved"


def _plain(text: str) -> str:
    """Text inside a line of Markdown: no markup, no HTML, no line break of its own."""
    return re.sub(r"([\\`*_{}\[\]<>#|~!&$])", r"\\\1", " ".join(str(text).split()))


def _quoted(text: str) -> list[str]:
    """A block of Markdown code that the text can't leave."""
    return [f"    {line}".rstrip() for line in text.splitlines()]


def _html(text: str) -> str:
    return html.escape(str(text))
