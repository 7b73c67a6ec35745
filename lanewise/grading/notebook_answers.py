"""Answers out of a notebook's `%%solve` cells. The notebook is read as text through nbformat and never executed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from lanewise.grading.verdict import clean_text
from lanewise.names import Course, CourseError, Key

LARGEST_NOTEBOOK = 256 << 20  # bytes; outputs are dropped while it is read, so that a large one costs time alone
_MAGIC = re.compile(r"\s*%%solve(?P<key>|[ \t][^\n]*)(?:\n|$)")
_MERGE = re.compile(rb"^(?:<{7}|={7}|>{7})(?: |\r?$)", re.MULTILINE)


@dataclass
class Answers:
    """What a notebook holds: exercise → text, and a sentence for everything a reader should know."""

    texts: dict[Key, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def answers_in(raw: bytes, name: str, course: Course) -> Answers:
    """The `%%solve` cells of a notebook's bytes. Never raises for what they hold; where nothing can be read, a note says why.

    A cell that stands twice with different texts: the last one counts, as it would in a notebook run from top to bottom.
    """
    found = Answers()
    shown = clean_text(name, 80)
    try:
        cells = _code_cells(raw)
    except NotReadable as error:
        found.notes.append(f"{shown} {error}")
        return found
    for source in cells:
        text = source.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
        magic = _MAGIC.match(text)
        if magic is None:
            continue
        try:
            key = course.exercise(magic["key"])  # the whole line, as the magic itself takes it
        except CourseError:
            found.notes.append(f"{shown}: the cell `%%solve {clean_text(magic['key'].strip(), 40)}` names no exercise and was left out.")
            continue
        answer = text[magic.end() :]
        if key in found.texts and found.texts[key] != answer:
            found.notes.append(f"{shown} has two cells for {key.short}; the last one counts.")
        found.texts[key] = answer
    return found


class NotReadable(Exception):
    """The file is no notebook that can be read: the end of a sentence that begins with its name."""


def _code_cells(raw: bytes) -> list[str]:
    """The code cells' sources, in their order."""
    import nbformat

    if len(raw) > LARGEST_NOTEBOOK:
        raise NotReadable(f"has more than {LARGEST_NOTEBOOK >> 20} MB: clear its outputs and hand it in again.")
    try:
        content = json.loads(raw.decode("utf-8-sig"), object_pairs_hook=_without_outputs)
    except (ValueError, RecursionError):
        if _MERGE.search(raw):
            raise NotReadable("holds merge markers (<<<<<<<, >>>>>>>): resolve the merge and save it anew.") from None
        raise NotReadable("is no notebook (its JSON can't be read): save it anew from JupyterLab.") from None
    if not isinstance(content, dict) or type(content.get("nbformat")) is not int:
        raise NotReadable("is no notebook (it says no format): save it anew from JupyterLab.")
    try:
        if content["nbformat"] == 4:
            notebook = nbformat.from_dict(content)
        else:  # 3 and older have worksheets; nbformat knows how to bring them up
            notebook = nbformat.convert(nbformat.versions[content["nbformat"]].reads_json(json.dumps(content)), 4)
        return [_text(cell.get("source", "")) for cell in notebook.cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    except Exception as error:  # whatever a damaged notebook makes the library raise
        raise NotReadable(f"is no notebook that can be read ({type(error).__name__}): save it anew from JupyterLab.") from None


def _without_outputs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return {name: [] if name == "outputs" else value for name, value in pairs}


def _text(source: object) -> str:
    """A cell's source: a text, or a list of lines."""
    if isinstance(source, list):
        return "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""
