"""grade, watch, profile: an answer judged, and looked into."""

from __future__ import annotations

import stat
import sys
from argparse import Namespace
from pathlib import Path

from lanewise.grading.notebook_answers import LARGEST_NOTEBOOK, answers_in
from lanewise.grading.source import LARGEST
from lanewise.grading.verdict import Verdict, clean
from lanewise.ledger import Ledger
from lanewise.names import Course, CourseError, Key, find_course, write_atomically


def grade(args: Namespace) -> int:
    """Grade work/<key>.cu or another file. Exit status 0 means graded, whatever the score."""
    course = find_course()
    key = course.exercise(args.key)
    try:
        verdict = grade_file(course, key, Path(args.file) if args.file else None)
    except CourseError as error:
        if args.json:
            _write_json(clean(Verdict(str(key), 0, 1, "infrastructure", str(error))), args.json)
        raise
    if args.json:
        _write_json(verdict, args.json)
    if args.json != "-":
        print(verdict)
        print(f"\n{next_step(course, key, verdict)}")
    return 0


def grade_file(course: Course, key: Key, path: Path | None) -> Verdict:
    """Grade a file's bytes in a child process; an attempt on the learner's own file is noted in the ledger."""
    from lanewise.grading import sandbox

    own = path is None
    raw = read_answer(course, key, path)
    verdict = sandbox.grade(key, raw, course)
    if own and verdict.kind != "infrastructure":
        try:
            Ledger(course).attempt(key, raw, verdict.score, verdict.max_score, verdict.kind)
        except CourseError as error:
            print(f"The verdict wasn't noted. {error}", file=sys.stderr)
    return verdict


def read_answer(course: Course, key: Key, path: Path | None) -> bytes:
    """The bytes to grade (at most one more than is accepted). Raises CourseError with what to do where there is no such file."""
    if path is None and not course.answer(key).exists():
        raise CourseError(f"There is no answer to {key.short} yet: `lanewise start {key.short}` makes one.")
    source = path or course.answer(key)
    notebook = source.suffix.lower() == ".ipynb"
    try:
        if not stat.S_ISREG(source.stat().st_mode):
            raise CourseError(f"{source} is no ordinary file: give the path of a .cu file.")
        with source.open("rb") as file:
            raw = file.read((LARGEST_NOTEBOOK if notebook else LARGEST) + 1)
        return _solve_cell(raw, source, course, key) if notebook else raw
    except OSError as error:
        raise CourseError(f"Can't read {source} ({error.strerror or error}): give the path of a .cu file.") from error


def _solve_cell(raw: bytes, source: Path, course: Course, key: Key) -> bytes:
    answers = answers_in(raw, source.name, course)
    if key not in answers.texts:
        why = next(iter(answers.notes), f"{source.name} has no cell that begins with %%solve {key.short}: write one, or give another file.")
        raise CourseError(why)
    return answers.texts[key].encode("utf-8", "replace")


def next_step(course: Course, key: Key, verdict: Verdict) -> str:
    """What to type now."""
    if not verdict.passed:
        return f"next: lanewise hint {key.short}   ·   lanewise profile {key.short}"
    solved = Ledger(course).solved() | {str(key)}
    exercises = course.exercises()
    later = exercises[exercises.index(key) + 1 :] + exercises
    following = next((other for other in later if str(other) not in solved), None)
    return f"next: lanewise start {following.short}" if following else "That was the last one: every exercise is solved."


def profile(args: Namespace) -> int:
    """The simulator's report on one case of an exercise or a worked kernel: findings, counters, the kernel's lines."""
    course = find_course()
    key = course.any_kernel(args.key)
    print(profile_text(course, key, Path(args.file) if args.file else None, args.case))
    return 0


def profile_text(course: Course, key: Key, path: Path | None = None, wanted: str | None = None) -> str:
    """Run one case (by number or name; else the first) and return the report as text."""
    from lanewise import simt
    from lanewise.exercise import load
    from lanewise.grading.check import arguments, start
    from lanewise.grading.source import NotGradable, check_includes, decode

    described = load(key, course)
    case = _case(described.cases, wanted)
    try:
        worked = course.kernel(key) if path is None and not key.is_exercise else path
        text = decode(read_answer(course, key, worked))
        check_includes(text)
        data = case.data()
        launch = case.launch_for(data)
        outputs = described.reference(case.data()).keys() - set(described.updates)
        kernel = simt.compile(text, arch=described.arch, options=described.options).kernel(described.kernel)
        report = start(kernel, case, launch, arguments(launch, data, outputs))
    except (NotGradable, simt.CompileError, simt.KernelNotFound, simt.Unsupported) as error:
        raise CourseError(str(error)) from error
    return f"case: {case.name}\n\n{report}\n\n{report.lines()}"


def _case(cases, wanted: str | None):
    if wanted is None:
        return cases[0]
    visible = [case for case in cases if case.visible]
    if wanted.isdigit() and 1 <= int(wanted) <= len(visible):
        return visible[int(wanted) - 1]
    found = [case for case in visible if wanted.lower() in case.name.lower()]
    if len(found) != 1:
        offered = ", ".join(f"{n} ({case.name})" for n, case in enumerate(visible, 1))
        raise CourseError(f"No single case is meant by {wanted!r}: give a number, {offered}.")
    return found[0]


def watch(args: Namespace) -> int:
    """Grade again whenever the answer is saved, until Ctrl-C."""
    from lanewise.watch import watch as keep_watching

    course = find_course()
    return keep_watching(course, course.exercise(args.key))


def _write_json(verdict: Verdict, where: str) -> None:
    if where == "-":
        print(verdict.to_json())
    else:
        write_atomically(Path(where), verdict.to_json() + "\n")
