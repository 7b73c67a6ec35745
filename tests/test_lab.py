"""Copies of the chapters, and JupyterLab as it starts."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from lanewise import lab
from lanewise.names import Course, CourseError

NOTEBOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
EDITED = '{"cells": [{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "mine"}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
NEWER = '{"cells": [], "metadata": {"v": 2}, "nbformat": 4, "nbformat_minor": 5}'
NAME = "ch01_first_kernel.ipynb"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    """A course of one chapter, and Jupyter's own files kept out of the home folder."""
    for folder in ("chapters", "kernels"):
        (tmp_path / folder).mkdir()
    (tmp_path / "chapters" / "ch01_first_kernel.md").write_text("# One\n")
    (tmp_path / "chapters" / NAME).write_text(NOTEBOOK)
    monkeypatch.setenv("LANEWISE_WORK", str(tmp_path / "work"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    return Course(tmp_path)


def copy_of(course: Course) -> Path:
    return course.work_dir / NAME


def test_a_new_chapter_is_copied_once(course: Course) -> None:
    assert lab.copy_chapters(course).new == [NAME]
    assert copy_of(course).read_text() == NOTEBOOK
    assert lab.copy_chapters(course).same == [NAME]


def test_a_changed_chapter_replaces_an_untouched_copy(course: Course) -> None:
    lab.copy_chapters(course)
    (course.chapters_dir / NAME).write_text(NEWER)
    assert lab.copy_chapters(course).refreshed == [NAME]
    assert copy_of(course).read_text() == NEWER


def test_an_edited_copy_is_never_written_again(course: Course) -> None:
    lab.copy_chapters(course)
    copy_of(course).write_text(EDITED)
    assert lab.copy_chapters(course).same == [NAME]
    (course.chapters_dir / NAME).write_text(NEWER)
    for _ in range(2):
        copies = lab.copy_chapters(course)
        assert copies.kept == [NAME] and copies.refreshed == []
        assert copy_of(course).read_text() == EDITED
    assert f"{NAME} has a newer version; your copy is kept." in str(copies)


def test_a_copy_that_was_only_run_is_refreshed(course: Course) -> None:
    """JupyterLab writes outputs, counts and metadata, and splits sources into lines, without an edit of the learner's."""
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "1 +\\\n1", "outputs": [], "execution_count": None}
    chapter = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (course.chapters_dir / NAME).write_text(json.dumps(chapter))
    lab.copy_chapters(course)
    run = dict(cell, source=["1 +\\\n", "1"], execution_count=1, outputs=[{"output_type": "stream", "name": "stdout", "text": "2"}])
    copy_of(course).write_text(json.dumps(chapter | {"cells": [run], "metadata": {"language_info": {"name": "python"}}}))
    assert lab.copy_chapters(course).same == [NAME]
    (course.chapters_dir / NAME).write_text(NEWER)
    assert lab.copy_chapters(course).refreshed == [NAME]
    assert copy_of(course).read_text() == NEWER


def test_new_outputs_of_the_same_cells_are_a_newer_chapter(course: Course) -> None:
    lab.copy_chapters(course)
    (course.chapters_dir / NAME).write_text(NEWER)
    assert lab.copy_chapters(course).refreshed == [NAME]


@pytest.mark.parametrize("text", ["", "not json", "[]", '{"cells": 1}', "<<<<<<< mine"])
def test_a_copy_that_is_no_notebook_any_more_is_kept(text: str, course: Course) -> None:
    lab.copy_chapters(course)
    copy_of(course).write_text(text)
    (course.chapters_dir / NAME).write_text(NEWER)
    assert lab.copy_chapters(course).kept == [NAME] and copy_of(course).read_text() == text


def test_a_copy_that_no_ledger_knows_belongs_to_the_learner(course: Course) -> None:
    lab.copy_chapters(course)
    (course.work_dir / lab.LEDGER).unlink()
    copy_of(course).write_text(EDITED)
    lab.copy_chapters(course)
    assert copy_of(course).read_text() == EDITED
    (course.work_dir / lab.LEDGER).write_text("{ broken")
    lab.copy_chapters(course)
    assert copy_of(course).read_text() == EDITED


def test_a_deleted_copy_comes_back(course: Course) -> None:
    lab.copy_chapters(course)
    copy_of(course).unlink()
    assert lab.copy_chapters(course).new == [NAME]


def test_a_chapter_without_a_notebook_is_left_out(course: Course) -> None:
    (course.chapters_dir / "ch02_simt.md").write_text("# Two\n")
    assert lab.copy_chapters(course).new == [NAME]


def test_the_copy_is_trusted_so_that_stored_reports_keep_their_colours(course: Course) -> None:
    import nbformat
    from nbformat.sign import NotebookNotary

    lab.copy_chapters(course)
    assert NotebookNotary().check_signature(nbformat.read(copy_of(course), as_version=4))


def test_a_work_folder_that_cannot_be_written_is_one_sentence(course: Course) -> None:
    course.work_dir.write_text("a file in its place")
    with pytest.raises(CourseError, match=r"^Can't write .*: give yourself write permission there"):
        lab.copy_chapters(course)


@pytest.mark.parametrize(
    "platform, variables, seen",
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "a b c d"}, False),
        ("darwin", {}, True),
        ("darwin", {"SSH_CONNECTION": "a b c d"}, False),
        ("win32", {}, True),
    ],
)
def test_a_browser_opens_where_it_would_be_seen(platform: str, variables: dict[str, str], seen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION", "SSH_TTY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(lab.sys, "platform", platform)
    assert lab.has_display() is seen
    assert ("--no-browser" in lab.jupyter_arguments(Path("work"), NAME)) is not seen


@pytest.mark.parametrize("uid, allowed", [(0, True), (1000, False)])
def test_root_may_start_it(uid: int, allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab.os, "geteuid", lambda: uid, raising=False)
    assert ("--allow-root" in lab.jupyter_arguments(Path("work"), NAME)) is allowed


@pytest.mark.parametrize("ip, host", [("localhost", "localhost"), ("0.0.0.0", "localhost"), ("127.0.0.1", "localhost"), ("10.0.0.7", "10.0.0.7")])
def test_the_address_can_be_clicked(ip: str, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    lines = lab.address(8890, ip, "/", "abc", NAME)
    assert lines[1] == f"http://{host}:8890/lab/tree/{NAME}?token=abc"
    assert not any("ssh -L" in line for line in lines)
    monkeypatch.setenv("SSH_CONNECTION", "a b c d")
    assert any("ssh -L 8890:localhost:8890" in line for line in lab.address(8890, ip, "/", "abc", NAME))


def test_an_unknown_chapter_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.main(["ch77"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("There is no chapter 'ch77'") and error.count("\n") == 1


@pytest.mark.slow
def test_jupyterlab_answers_at_the_address_that_is_printed(tmp_path: Path) -> None:
    folders = {name: str(tmp_path / name.lower()) for name in ("LANEWISE_WORK", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")}
    with socket.create_server(("localhost", 0)) as taken:  # a port in use: JupyterLab takes another one, which must be the one printed
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "lanewise.lab", "--no-browser", "--port", port]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | folders)
        assert process.stdout is not None
        url = next(line for line in process.stdout if line.startswith("http://localhost:")).strip()
    try:
        assert f":{port}/" not in url
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert answer.status == 200 and b"JupyterLab" in answer.read()
        server, token = url.split("/lab")[0], url.split("token=")[1]
        listing = json.load(urllib.request.urlopen(f"{server}/api/contents?token={token}", timeout=30))
        assert {entry["name"] for entry in listing["content"]} == set(os.listdir(folders["LANEWISE_WORK"])) - {lab.LEDGER}
        assert re.fullmatch(r"/lab/tree/ch01_\w+\.ipynb\?token=\w+", url.removeprefix(server))
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{server}/api/contents", timeout=30)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)
