"""`%%solve KEY`, `grade(KEY)` and `hint(KEY)`: the exercise loop inside a notebook.

What they show is the same text on every machine: no path and no device in it.
"""

from __future__ import annotations

from lanewise.commands.grade import grade_file, read_answer
from lanewise.commands.learn import keep_backup, next_hint, skeleton_of
from lanewise.grading.verdict import Verdict
from lanewise.names import Course, CourseError, Key, find_course, write_atomically

_saved: dict[str, str] = {}  # key → the text that %%solve saved last in this session


def solve(line: str, cell: str) -> Verdict | None:
    """The cell magic: save the cell's text as the answer to an exercise and grade it.

    A cell that still holds the skeleton never replaces an answer. An answer that was made elsewhere is kept in work/backups/ before it is replaced.
    """
    try:
        course = find_course()
        key = course.exercise(line) if line.strip() else _no_key()
        return _solve(course, key, cell)
    except CourseError as error:
        print(error)
    except KeyboardInterrupt:
        print("Stopped; nothing was lost.")
    return None


def grade(word: str) -> Verdict | None:
    """The verdict on the saved answer to an exercise; shown richly as the last expression of a cell."""
    try:
        course = find_course()
        return grade_file(course, course.exercise(word), None)
    except CourseError as error:
        print(error)
    except KeyboardInterrupt:
        print("Stopped; nothing was lost.")
    return None


def hint(word: str) -> None:
    """Print the next hint to an exercise."""
    from lanewise.exercise import load_exercise

    try:
        course = find_course()
        key = course.exercise(word)
        print(next_hint(course, key, load_exercise(key, course).hints))
    except CourseError as error:
        print(error)


def _solve(course: Course, key: Key, cell: str) -> Verdict:
    skeleton, text = skeleton_of(course, key), cell if cell.endswith("\n") else cell + "\n"
    path = course.answer(key)
    saved = read_answer(course, key, None).decode("utf-8", "replace") if path.exists() else None
    untouched = not text.strip() or _same(text, skeleton)
    if untouched and saved is not None:
        if not _same(saved, skeleton):
            print(f"This cell still holds the skeleton; your saved answer to {key.short} stays as it is, and the verdict is on that one.")
        return grade_file(course, key, None)
    text = skeleton if untouched else text
    try:
        if saved is not None and not _same(saved, skeleton) and not _same(saved, text) and _saved.get(str(key)) != saved:
            keep_backup(course, key)
            print(f"Another answer to {key.short} was saved; it is kept in the folder backups.")
        write_atomically(path, text)
    except CourseError as error:
        print(f"Your text wasn't saved, the verdict is on the cell. {error}")
        return _grade_text(course, key, text)
    _saved[str(key)] = text
    return grade_file(course, key, None)


def _grade_text(course: Course, key: Key, text: str) -> Verdict:
    from lanewise.grading import sandbox

    return sandbox.grade(key, text.encode(), course)


def _same(text: str, other: str) -> bool:
    """Equal but for blanks at line ends and empty lines at the end."""
    return [line.rstrip() for line in text.rstrip().splitlines()] == [line.rstrip() for line in other.rstrip().splitlines()]


def _no_key() -> Key:
    raise CourseError("%%solve needs an exercise: write `%%solve ch01a` on the first line of the cell.")
