"""`lanewise watch KEY`: a verdict at every save."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from lanewise.commands.grade import grade_file, next_step
from lanewise.names import Course, CourseError, Key

POLL_SECONDS = 0.25  # by polling: the same on every system and network disk, and one stat costs nothing


def watch(course: Course, key: Key, pause: Callable[[float], None] = time.sleep, rounds: int | None = None) -> int:
    """Grade the answer now and after each change of its time or size. Ctrl-C is the way out. `rounds` limits the polls (tests)."""
    path = course.answer(key)
    if not path.exists():
        raise CourseError(f"There is no answer to {key.short} yet: `lanewise start {key.short}` makes one.")
    seen = None
    print(f"Watching {course.show(path)}: save it and the verdict comes. Ctrl-C ends.", flush=True)
    try:
        while rounds is None or rounds > 0:
            now = _state(course, key)
            if now is not None and now != seen:
                seen = now
                print(f"\n{datetime.now():%H:%M:%S}  {_graded(course, key)}", flush=True)
            rounds = None if rounds is None else rounds - 1
            pause(POLL_SECONDS)
    except KeyboardInterrupt:
        print("\nStopped watching.")
    return 0


def _graded(course: Course, key: Key) -> str:
    try:
        verdict = grade_file(course, key, None)
    except CourseError as error:  # the file may be away for a moment while an editor saves it
        return str(error)
    return f"{verdict}\n\n{next_step(course, key, verdict)}"


def _state(course: Course, key: Key) -> tuple[int, int] | None:
    try:
        status = course.answer(key).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
