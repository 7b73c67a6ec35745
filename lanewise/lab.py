"""`lanewise lab`: copies of the chapters in work/, and JupyterLab open on the first of them.

The copies belong to the learner. A ledger holds, for each copy, a hash of the chapter it was made from and one of its cells' sources:
while those sources are as they were, a chapter that changed replaces the copy; once they differ, the copy is never written again.
Outputs don't count: JupyterLab changes them, and the metadata, as soon as a notebook is opened or run.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from lanewise.cp import find_device
from lanewise.names import Course, CourseError, find_course, write_atomically

LEDGER = ".chapters.json"


@dataclass(slots=True)
class Copies:
    """What happened to the chapters' copies, by file name."""

    new: list[str] = field(default_factory=list)
    refreshed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # edited by the learner while the chapter changed

    def __str__(self) -> str:
        parts = [f"{len(names)} {word}" for word, names in (("new", self.new), ("refreshed", self.refreshed), ("as they were", self.same)) if names]
        lines = ["chapters: " + (", ".join(parts) or "none yet")]
        lines += [f"  {name} has a newer version; your copy is kept. To get the new one, rename yours and call `lanewise lab` again." for name in self.kept]
        return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
    """Copy the chapters, start JupyterLab. A key may come first (`lanewise lab ch04`); all else goes to JupyterLab. Returns an exit status."""
    arguments = list(argv)
    try:
        course = find_course()
        first = course.chapter(arguments.pop(0)) if arguments and not arguments[0].startswith("-") else next(iter(course.chapters()), None)
        print(copy_chapters(course), flush=True)
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    try:
        from jupyterlab.labapp import LabApp
    except ImportError:
        print('JupyterLab is missing: call `make lab`, or `pip install -e ".[lab]"` in this environment.', file=sys.stderr)
        return 1
    page = course.notebook(first).name if first and course.notebook(first).exists() else ""
    server = LabApp.initialize_server(argv=jupyter_arguments(course.work_dir, page) + arguments)
    device = find_device()
    print(f"device:   {device.backend}. {device.why}")
    lines = address(server.port, server.ip, server.base_url, server.identity_provider.token, page)
    # Jupyter opens its socket in the loop's first callback; printed in the next one, the address can be clicked at once.
    server.io_loop.add_callback(print, *lines, sep="\n", flush=True)
    server.start()
    return 0


def copy_chapters(course: Course) -> Copies:
    """Bring work/ up to the built chapters, without touching a copy that its owner edited. Raises CourseError if work/ can't be written."""
    work = course.work_dir
    ledger = _read_ledger(work / LEDGER)
    copies = Copies()
    for key in course.chapters():
        source = course.notebook(key)
        if not source.exists():
            continue
        name, text, copy = source.name, source.read_text(encoding="utf-8"), work / source.name
        made_from, sources = ledger.get(name, ("", ""))
        if not copy.exists():
            copies.new.append(name)
        elif made_from == _hash(text):
            copies.same.append(name)
            continue
        elif _sources(copy.read_text(encoding="utf-8", errors="replace")) in (sources, _sources(text)):
            copies.refreshed.append(name)
        else:
            copies.kept.append(name)
            continue
        write_atomically(copy, text)
        _trust(copy)
        ledger[name] = (_hash(text), _sources(text))
    write_atomically(work / LEDGER, json.dumps(ledger, indent=1))
    return copies


def _read_ledger(path: Path) -> dict[str, tuple[str, str]]:
    """File name → hash of the chapter a copy was made from, hash of its sources. Empty where it is lost: then every copy counts as edited."""
    try:
        return {name: (made_from, sources) for name, (made_from, sources) in json.loads(path.read_text(encoding="utf-8")).items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _sources(text: str) -> str:
    """Hash of what a learner writes in a notebook: the cells' kinds, sources and attachments. A file that is no notebook is its own text."""
    try:
        cells = [[cell["cell_type"], "".join(cell["source"]), cell.get("attachments")] for cell in json.loads(text)["cells"]]
    except (ValueError, KeyError, TypeError):
        return _hash("no notebook: " + text)
    return _hash(json.dumps(cells, sort_keys=True))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _trust(copy: Path) -> None:
    """Sign a copy, so that JupyterLab shows the reports stored in it; unsigned, it strips their colours."""
    try:
        import nbformat
        from nbformat.sign import NotebookNotary

        NotebookNotary().sign(nbformat.read(copy, as_version=4))
    except Exception as error:  # any failure of the signature store leaves a readable notebook
        print(f"{copy.name} could not be signed ({error}): run its cells to see their reports in colour.", file=sys.stderr)


def jupyter_arguments(work: Path, page: str) -> list[str]:
    """JupyterLab's arguments before the learner's own, which win: serve work/, open `page`, stay quiet and off the network."""
    arguments = [
        f"--ServerApp.root_dir={work}",
        "--LabApp.default_url=" + ("/lab/tree/" + quote(page) if page else "/lab"),
        "--LabApp.news_url=None",
        "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly",
        "--Application.log_level=ERROR",
        # A token of our own: Jupyter then prints no second address, and a click on ours needs no password.
        f"--IdentityProvider.token={secrets.token_hex(16)}",
        "--JupyterApp.answer_yes=True",
        # Other users of this computer can't read along, and the kernel doesn't warn that they could.
        "--KernelManager.transport_encryption=auto",
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")
    if not has_display():
        arguments.append("--no-browser")
    return arguments


def has_display() -> bool:
    """Whether a browser opened here would be seen: not over ssh, nor on a Linux without a display."""
    if os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"):
        return False
    return not sys.platform.startswith("linux") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def address(port: int, ip: str, base_url: str, token: str, page: str) -> list[str]:
    """The lines that say where the course is: one address to click and, over ssh, how to reach it from there."""
    host = ip if ip not in ("", "*", "0.0.0.0", "::", "127.0.0.1", "::1") else "localhost"
    path = base_url.rstrip("/") + ("/lab/tree/" + quote(page) if page else "/lab")
    lines = ["", f"http://{host}:{port}{path}" + (f"?token={token}" if token else ""), ""]
    if os.environ.get("SSH_CONNECTION"):
        lines.append(f"Over ssh: on your own computer, `ssh -L {port}:localhost:{port} THIS_MACHINE`, then open the address there.")
    lines.append("Ctrl-C here stops it; your files stay in work/.")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
