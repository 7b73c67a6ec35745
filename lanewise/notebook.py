"""chapters/<key>.md (MyST) → chapters/<key>.ipynb, one way, the same bytes on every rebuild.

The notebook is executed on the simulator with an empty work folder. Cell ids come from position and source, no timing is stored, keys are sorted.
A cell tagged `nbval-ignore-output` is stored without its output. A `%%solve KEY` cell without a text gets the exercise's skeleton.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lanewise.commands.learn import skeleton_of
from lanewise.names import Course, CourseError, Key, write_atomically

MOST_CELLS = 30
MOST_CODE_CELLS = 12  # and one tagged UNSTORED, which does nothing without a GPU
MOST_LINES = 15  # of a cell; blank lines of prose don't count, nor does a skeleton that was put in
MOST_BYTES = 150 * 1024
CELL_SECONDS = 120
UNSTORED = "nbval-ignore-output"
KEPT_TAGS = ("nbval-ignore-output", "nbval-skip", "nbval-raises-exception", "raises-exception", "hide-input", "hide-output")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}


def write_notebooks(course: Course, keys: list[Key]) -> list[Path]:
    """Build the notebooks of these chapters and write those whose bytes changed; returns them. Raises CourseError."""
    changed = []
    for key in keys:
        path, text = course.notebook(key), build(course, key)
        if not path.is_file() or path.read_bytes() != text.encode():
            write_atomically(path, text)
            changed.append(path)
    return changed


def stale_notebooks(course: Course) -> list[str]:
    """One sentence for each notebook that isn't what its source gives, and for those without a source."""
    found = []
    for key in course.chapters():
        try:
            text = build(course, key)
        except CourseError as error:
            found.append(str(error))
            continue
        path = course.notebook(key)
        if not path.is_file():
            found.append(f"chapters/{path.name} is missing: `lanewise build {key.short}` makes it.")
        elif path.read_bytes() != text.encode():
            found.append(f"chapters/{path.name} isn't what chapters/{key}.md gives: change the source, then run `lanewise build {key.short}`.")
    sources = {str(key) for key in course.chapters()}
    stray = [path for path in sorted(course.chapters_dir.glob("*.ipynb")) if path.stem not in sources]
    return found + [f"chapters/{path.name} has no source: write chapters/{path.stem}.md." for path in stray]


def build(course: Course, key: Key) -> str:
    """The text of a chapter's notebook. Raises CourseError (chapter, cell) for one that breaks a rule or doesn't run."""
    notebook = read(course, key)
    problems = limits(key, notebook)
    if problems:
        raise CourseError(" ".join(problems))
    for cell in notebook.cells:
        fill_in(course, cell)
    execute(course, key, notebook)
    text = serialise(notebook)
    if len(text.encode()) > MOST_BYTES:
        raise CourseError(f"chapters/{key}.ipynb would have {len(text.encode()) // 1024} KB, {MOST_BYTES // 1024} are the most: show less.")
    return text


def read(course: Course, key: Key) -> Any:
    """The chapter's source as a notebook without outputs."""
    import jupytext

    return jupytext.reads(course.chapter_source(key).read_text(encoding="utf-8"), fmt="md:myst")


def limits(key: Key, notebook: Any) -> list[str]:
    """One sentence for each rule about a chapter's size that this one breaks."""
    found = []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    clocks = [cell for cell in code if UNSTORED in cell.metadata.get("tags", [])]
    if len(notebook.cells) > MOST_CELLS:
        found.append(f"chapters/{key}.md has {len(notebook.cells)} cells, {MOST_CELLS} are the most.")
    if len(code) - min(len(clocks), 1) > MOST_CODE_CELLS:
        found.append(f"chapters/{key}.md has {len(code)} code cells, {MOST_CODE_CELLS} are the most, and one tagged {UNSTORED}.")
    for number, cell in enumerate(notebook.cells, 1):
        lines = [line for line in cell.source.splitlines() if line.strip() or cell.cell_type == "code"]
        if len(lines) > MOST_LINES:
            first = cell.source.strip().splitlines()[0][:40]
            found.append(f"chapters/{key}.md: cell {number} ({first!r}) has {len(lines)} lines, {MOST_LINES} are the most: split it.")
    return found


def fill_in(course: Course, cell: Any) -> None:
    """Put the skeleton into a `%%solve KEY` cell that has no text of its own: a kernel's text has one source."""
    match = re.fullmatch(r"%%solve\s+(\S+)\s*", cell.source) if cell.cell_type == "code" else None
    if match:
        cell.source = f"%%solve {match[1]}\n{skeleton_of(course, course.exercise(match[1])).rstrip()}"


def execute(course: Course, key: Key, notebook: Any) -> None:
    """Run the cells on the simulator in chapters/, with an empty temporary work folder. Raises CourseError for a cell that fails."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "nbval-raises-exception" in tags:
            cell.metadata["tags"] = [*tags, "raises-exception"]
    where = {"metadata": {"path": str(course.chapters_dir)}}
    client = NotebookClient(notebook, timeout=CELL_SECONDS, kernel_name="python3", resources=where, extra_arguments=["--log-level=ERROR"])
    with tempfile.TemporaryDirectory(prefix="lanewise-") as temporary:
        folders = {"LANEWISE_WORK": f"{temporary}/work", "IPYTHONDIR": f"{temporary}/ipython"}
        path = os.pathsep.join([str(course.root), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {**os.environ, **folders, "LANEWISE_DEVICE": "simulator", "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
        try:
            client.execute(env=env)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            number = next((n for n, cell in enumerate(notebook.cells, 1) if any(o.output_type == "error" for o in cell.get("outputs", []))), 0)
            last = [line for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines() if line.strip()][-1]
            raise CourseError(f"chapters/{key}.md: cell {number or '?'} fails: {last.strip()}") from error
    problems = [f"chapters/{key}.md: {words}" for words in _not_the_same_everywhere(course, notebook, temporary)]
    if problems:
        raise CourseError(" ".join(problems))


def serialise(notebook: Any) -> str:
    """The notebook as text: sorted keys, ids from position and source, nothing that depends on the machine or the moment."""
    cells = [_cell(position, cell) for position, cell in enumerate(notebook.cells)]
    whole = {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _cell(position: int, cell: Any) -> dict[str, Any]:
    tags = [tag for tag in cell.metadata.get("tags", []) if tag in KEPT_TAGS]
    digest = hashlib.sha256(cell.source.encode()).hexdigest()[:10]
    stored: dict[str, Any] = {
        "cell_type": cell.cell_type,
        "id": f"{position:02d}-{digest}",
        "metadata": {"tags": tags} if tags else {},
        "source": cell.source.splitlines(keepends=True),
    }
    if cell.cell_type == "code":
        unstored = UNSTORED in tags
        stored["execution_count"] = None if unstored else cell.get("execution_count")
        stored["outputs"] = [] if unstored else list(_outputs(cell))
    return stored


def _outputs(cell: Any) -> Iterator[dict[str, Any]]:
    """Outputs with neighbouring pieces of one stream joined (how they were cut depends on timing) and without metadata."""
    pieces: list[dict[str, Any]] = []
    for output in cell.outputs:
        kind = output.output_type
        if kind == "stream":
            if pieces and pieces[-1]["output_type"] == "stream" and pieces[-1]["name"] == output.name:
                pieces[-1]["text"] += output.text
            else:
                pieces.append({"output_type": kind, "name": output.name, "text": output.text})
        elif kind == "error":
            pieces.append({"output_type": kind, "ename": output.ename, "evalue": output.evalue, "traceback": [f"{output.ename}: {output.evalue}"]})
        else:
            data = {mime: value.splitlines(keepends=True) if isinstance(value, str) else value for mime, value in output.data.items()}
            piece = {"output_type": kind, "data": data, "metadata": {}}
            pieces.append(piece | ({"execution_count": output.execution_count} if kind == "execute_result" else {}))
    for piece in pieces:
        if piece["output_type"] == "stream":
            piece["text"] = piece["text"].splitlines(keepends=True)
        yield piece


def _not_the_same_everywhere(course: Course, notebook: Any, temporary: str) -> Iterator[str]:
    """Outputs that would differ on another machine: paths, addresses of objects, a verdict that didn't come about."""
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != "code" or UNSTORED in cell.metadata.get("tags", []):
            continue
        text = json.dumps([output for output in _outputs(cell) if output["output_type"] != "error"], ensure_ascii=False)
        for what, pattern in (("a path", re.escape(str(course.root)) + "|" + re.escape(temporary)), ("an object's address", r" at 0x[0-9a-f]{6,}>")):
            if re.search(pattern, text):
                yield f"cell {number} prints {what}, which differs from machine to machine: leave it out or tag the cell {UNSTORED}."
        if re.search(r"\w: infrastructure\. ", text):
            yield f"cell {number} has a verdict that says nothing about the kernel (infrastructure): build again."
        if "doesn't load" in text:
            yield f"cell {number} says that an exercise's description doesn't load: mend it, then build again."
