"""list, start, hint, reset, show: finding an exercise and getting on with it."""

from __future__ import annotations

from argparse import Namespace
from datetime import datetime
from pathlib import Path

from lanewise.ledger import Ledger
from lanewise.names import Course, CourseError, Key, find_course, write_atomically

WIDTH = 80


def list_exercises(args: Namespace) -> int:
    """Chapters, their exercises and which are solved, in 80 columns."""
    course = find_course()
    exercises, solved, attempts = course.exercises(), Ledger(course).solved(), Ledger(course).attempts()
    chapters = {key.number: chapter_title(course, key) for key in course.chapters()}
    for number in sorted(chapters.keys() | {key.number for key in exercises}):
        print(_cut(f"ch{number:02d}  {chapters.get(number, '(its chapter is still to come)')}"))
        for key in exercises:
            if key.number == number:
                mark = "✓" if str(key) in solved else "·" if str(key) in attempts or course.answer(key).exists() else " "
                print(_cut(f"  {mark} {key.short}  {exercise_title(course, key)}"))
    done = sum(str(key) in solved for key in exercises)
    print(f"\n{done} of {len(exercises)} solved (✓), · begun.")
    following = next((key for key in exercises if str(key) not in solved), None)
    if following is not None:
        print(f"next: lanewise start {following.short}")
    return 0


def start(args: Namespace) -> int:
    """Copy the skeleton to work/, unless an answer is there already."""
    course = find_course()
    key = course.exercise(args.key)
    path = course.answer(key)
    if path.exists():
        print(f"{course.show(path)} is there already and stays as it is (`lanewise reset {key.short}` brings the skeleton back).")
    else:
        write_atomically(path, skeleton_of(course, key))
        title = exercise_title(course, key)
        print(f"{course.show(path)}: {title}{'' if title.endswith('?') else '.'}")
    print(f"next: write the TODO in that file, then `lanewise grade {key.short}`\n      (`lanewise watch {key.short}` grades whenever you save).")
    return 0


def hint(args: Namespace) -> int:
    """The next hint; once all are shown, all of them."""
    from lanewise.exercise import load_exercise

    course = find_course()
    key = course.exercise(args.key)
    print(next_hint(course, key, load_exercise(key, course).hints))
    return 0


def next_hint(course: Course, key: Key, hints: tuple[str, ...]) -> str:
    """The text of the next hint, which is noted as shown."""
    number = Ledger(course).hints(key) + 1
    if number > len(hints):
        return "\n".join(["All the hints again:", *(f"  {n}. {text}" for n, text in enumerate(hints, 1))])
    text = f"hint {number} of {len(hints)}: {hints[number - 1]}"
    try:
        Ledger(course).hint(key, number)
    except CourseError as error:
        return f"{text}\n({error})"
    return text


def reset(args: Namespace) -> int:
    """Put the skeleton back; the answer so far moves to work/backups/."""
    course = find_course()
    key = course.exercise(args.key)
    path, fresh = course.answer(key), skeleton_of(course, key)
    if not path.exists():
        raise CourseError(f"There is no answer to {key.short} yet: `lanewise start {key.short}` makes one.")
    if path.read_bytes() == fresh.encode():
        print(f"{course.show(path)} is the skeleton already.")
        return 0
    backup = keep_backup(course, key)
    write_atomically(path, fresh)
    print(f"{course.show(path)} is the skeleton again; your answer is kept in {course.show(backup)}.")
    return 0


def keep_backup(course: Course, key: Key) -> Path:
    """Copy the answer to a new file in work/backups/ and return its path."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = course.work_dir / "backups"
    names = (f"{key}-{stamp}{tail}.cu" for tail in ("", *(f"-{n}" for n in range(2, 1000))))
    backup = next(folder / name for name in names if not (folder / name).exists())
    write_atomically(backup, course.answer(key).read_bytes().decode("utf-8", "surrogateescape"))
    return backup


def show(args: Namespace) -> int:
    """A kernel's text with line numbers."""
    from lanewise.listing import listing

    print(listing(args.key, args.region))
    return 0


def skeleton_of(course: Course, key: Key) -> str:
    """The text of kernels/<key>.cu. Raises CourseError where it wasn't built."""
    path = course.kernel(key)
    if not path.is_file():
        raise CourseError(f"kernels/{key}.cu is missing: `lanewise build` derives it from the solution.")
    return path.read_text(encoding="utf-8")


def exercise_title(course: Course, key: Key) -> str:
    """The exercise's title, or what keeps it from being read."""
    from lanewise.exercise import load_exercise

    try:
        return load_exercise(key, course).title
    except Exception as error:  # a broken description mustn't hide the others
        return f"(kernels/{key}.py doesn't load: {error})"


def chapter_title(course: Course, key: Key) -> str:
    """The first heading of the chapter without its number, or its slug."""
    for line in course.chapter_source(key).read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            return line[2:].strip().removeprefix(f"{key.number} · ")
    return key.slug.replace("_", " ")


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"
