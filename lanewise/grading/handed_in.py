"""A class's folder: one folder or one .zip a student. Only the bytes of .cu and .ipynb files are taken, and nothing is unpacked to disk.

Whatever a student's folder or archive holds (links, `..`, __MACOSX, bombs, two files of one name) is left out or noted; it never ends the class.
"""

from __future__ import annotations

import os
import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lanewise.grading.notebook_answers import LARGEST_NOTEBOOK
from lanewise.grading.source import LARGEST
from lanewise.grading.verdict import clean_text
from lanewise.names import CourseError

TAKEN = {".cu": LARGEST + 1, ".ipynb": LARGEST_NOTEBOOK}  # suffix → bytes read at most; what is longer is noted
MOST_FILES = 500
MOST_BYTES = 320 << 20  # of one student, so that a class never fills the memory
LONGEST_DIRECTORY = 4 << 20  # bytes of a zip's list of members, about 50,000 of them
MOST_NOTES = 20
DEEPEST = 20  # folders within folders
LONGEST_NAME = 140  # characters
SHOWN = 3  # names in a sentence


@dataclass(frozen=True, slots=True)
class HandedIn:
    """One student's folder or archive, not yet read. `student` is the name without .zip, in NFC, printable."""

    student: str
    path: Path


@dataclass(frozen=True, slots=True)
class Submission:
    """What a student handed in: relative path → bytes, and what was left out and why. `unreadable` is a sentence where the archive can't be read."""

    student: str
    files: dict[str, bytes]
    notes: tuple[str, ...] = ()
    unreadable: str = ""


def find_submissions(folder: Path) -> list[HandedIn]:
    """The students of a class, sorted. Raises CourseError for a folder that can't be read, for what is no submission, and for a student who is there twice."""
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise CourseError(f"Can't read {folder} ({error.strerror or error}): give the folder that holds one folder or one .zip a student.") from error
    found: dict[str, HandedIn] = {}
    odd: list[str] = []
    for entry in sorted(entries, key=lambda entry: entry.name):
        if entry.name.startswith(".") or entry.name == "__MACOSX":
            continue
        zipped = entry.is_file(follow_symlinks=False) and entry.name.lower().endswith(".zip")
        name = _shown(entry.name[:-4] if zipped else entry.name).strip()
        if not (zipped or entry.is_dir(follow_symlinks=False)) or not name:
            odd.append(_shown(entry.name))
            continue
        one = HandedIn(name, Path(entry.path))
        twin = found.setdefault(name.casefold(), one)
        if twin is not one:
            raise CourseError(f"{name} is handed in twice ({_shown(twin.path.name)} and {_shown(entry.name)}): keep the one that counts.")
    if odd:
        more = f" and {len(odd) - SHOWN} more" if len(odd) > SHOWN else ""
        raise CourseError(f"{folder} holds {', '.join(odd[:SHOWN])}{more}: a student's answers are a folder or a .zip there, anything else must go elsewhere.")
    if not found:
        raise CourseError(f"{folder} holds no submissions: put one folder or one .zip a student there.")
    return sorted(found.values(), key=lambda one: one.student)


def read(handed: HandedIn) -> Submission:
    """The bytes of a student's .cu and .ipynb files. Never raises for what they hold."""
    notes: list[str] = []
    files: dict[str, bytes] = {}
    try:
        members = _of_zip(handed.path, notes) if handed.path.suffix.lower() == ".zip" and handed.path.is_file() else _of_folder(handed.path, notes)
        taken = 0
        for number, (name, content, limit) in enumerate(members, 1):
            taken += len(content)
            if number > MOST_FILES or taken > MOST_BYTES:
                notes.append(f"{name} and what follows it was left out: {MOST_FILES} files and {MOST_BYTES >> 20} MB are the most.")
                break
            if name in files:
                notes.append(f"{name} is there twice; the last one counts.")
            if len(content) > limit and name.lower().endswith(".ipynb"):
                notes.append(f"{name} has more than {limit >> 20} MB and was left out: clear its outputs and hand it in again.")
            else:
                files[name] = content[:limit]  # a .cu that is too long gets the grader's own sentence
    except (OSError, zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError, ValueError, struct.error) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else clean_text(str(error), 200) or type(error).__name__
        return Submission(handed.student, {}, _few(notes), f"{_shown(handed.path.name)} can't be read ({why}): ask for it again, or unpack it yourself.")
    for name in [name for name in files if any(str(parent) in files for parent in PurePosixPath(name).parents)]:
        del files[name]
        notes.append(f"{name} lies in what is a file and was left out.")
    return Submission(handed.student, _without_wrapping_folder(dict(sorted(files.items()))), _few(notes))


def _few(notes: list[str]) -> tuple[str, ...]:
    return tuple(notes) if len(notes) <= MOST_NOTES else (*notes[:MOST_NOTES], f"There are {len(notes) - MOST_NOTES} more notes.")


def _of_folder(folder: Path, notes: list[str]) -> Iterator[tuple[str, bytes, int]]:
    def refuse(error: OSError) -> None:
        raise error

    for here, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not _is_hidden(name) and not _is_link(Path(here, name), notes, folder))
        if folders and len(Path(here).relative_to(folder).parts) >= DEEPEST:
            notes.append(f"{_shown(folders[0])} lies more than {DEEPEST} folders deep and was left out.")
            folders.clear()
        for name in sorted(names):
            path = Path(here, name)
            shown = path.relative_to(folder).as_posix()
            limit = _limit(name)
            if limit is None or _is_link(path, notes, folder) or not _is_safe(shown, notes):
                continue
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    notes.append(f"{_shown(shown)} is no ordinary file and was left out.")
                    continue
                yield _shown(shown), file.read(limit + 1), limit


def _of_zip(path: Path, notes: list[str]) -> Iterator[tuple[str, bytes, int]]:
    with path.open("rb") as file:
        _check_directory(file.seek(0, os.SEEK_END), file)
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                name = member.filename.replace("\\", "/")
                limit = _limit(name)
                if member.is_dir() or limit is None or any(map(_is_hidden, name.split("/")[:-1])) or not _is_safe(name, notes):
                    continue
                if stat.S_ISLNK(member.external_attr >> 16):
                    notes.append(f"{_shown(name)} is a link and was left out.")
                    continue
                with archive.open(member) as content:
                    yield _shown(name), content.read(limit + 1), limit


def _check_directory(size: int, file) -> None:
    """Refuse a list of members so long that reading it alone would fill the memory. `size` is the file's, in bytes."""
    file.seek(max(0, size - (1 << 16) - 22))
    tail = file.read()
    end = tail.rfind(b"PK\5\6")
    if end >= 0 and len(tail) >= end + 16 and struct.unpack_from("<I", tail, end + 12)[0] > LONGEST_DIRECTORY:
        raise zipfile.BadZipFile("it has too many members")
    file.seek(0)


def _limit(name: str) -> int | None:
    """Bytes of a file to take, or None where it is no answer."""
    pure = PurePosixPath(name)
    return None if _is_hidden(pure.name) else TAKEN.get(pure.suffix.lower())


def _is_hidden(name: str) -> bool:
    return name == "__MACOSX" or (name.startswith(".") and name not in {".", ".."})


def _is_link(path: Path, notes: list[str], base: Path) -> bool:
    if path.is_symlink():
        notes.append(f"{_shown(path.relative_to(base).as_posix())} is a link and was left out.")
        return True
    return False


def _is_safe(name: str, notes: list[str]) -> bool:
    """Whether a relative path stays below its folder on every system."""
    parts = name.split("/")
    if any(part in {"", ".", ".."} or ":" in part or part != part.strip() for part in parts) or len(name) > LONGEST_NAME:
        notes.append(f"{_shown(name)} leads elsewhere, or is no name for a file, and was left out.")
        return False
    return True


def _without_wrapping_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """ann/ch01a.cu → ch01a.cu where everything lies in one folder."""
    while files and len({name.split("/")[0] for name in files}) == 1 and all("/" in name for name in files):
        files = {name.split("/", 1)[1]: content for name, content in files.items()}
    return files


def _shown(name: str) -> str:
    return unicodedata.normalize("NFC", clean_text(name, LONGEST_NAME)).replace("\n", "\ufffd")
