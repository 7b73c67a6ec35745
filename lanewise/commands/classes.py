"""grade-class, export: a class of submissions graded, and its results in other forms."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any

from lanewise.names import Course, CourseError, find_course

GRADED, TROUBLE = 0, 2
SHOWN = 20  # gaps on the screen; all of them are in results.json


def grade_class(args: Namespace) -> int:
    """Grade what is missing, reconcile, write totals, students' reports and similarities. Exit status 0: every verdict is there; 2: some aren't, or no disk."""
    from lanewise.grading import batch

    try:
        course, out = find_course(), Path(args.out)
        submissions, assignment = Path(args.submissions), Path(args.assignment) if args.assignment else None
        if args.workers is not None and args.workers < 1:
            raise CourseError(f"--workers {args.workers}: at least one must work.")
        work = batch.read_work(assignment, course)
        if args.submitted:
            work = replace(work, times=batch.read_times(Path(args.submitted)))
        outcome = batch.grade_class(submissions, out, work, scheduler=args.scheduler, workers=args.workers, progress=Progress())
        print(f"{len(outcome.redone)} graded now, {outcome.before} before.", file=sys.stderr)
        for student, notes in outcome.notes.items():
            print(f"{student}: {' '.join(notes)}", file=sys.stderr)
        written = write_results(out, outcome.plan, outcome.results, outcome.gaps)
        if not args.no_similarity:
            written.append(_write_similarity(submissions, out, assignment, course))
        print(f"{out}: {', '.join(written)}")
        return _report_gaps(outcome.gaps, len(outcome.plan.work) * len(outcome.plan.exercises))
    except CourseError as error:
        print(error, file=sys.stderr)
        return TROUBLE


def export(args: Namespace) -> int:
    """The results of a class in a form, to a file or (a form for one student) to a folder with a file a student. Exit status as of grade-class."""
    from lanewise.grading import formats, totals
    from lanewise.grading.assignment import parse_time
    from lanewise.grading.formats import nbgrader
    from lanewise.grading.ledger import ClassLedger, write_durably

    ledger = ClassLedger(Path(args.results))
    plan = ledger.read_plan()
    results, gaps = ledger.reconcile(plan)
    waiting = {gap.student for gap in gaps}
    graded = {student: result for student, result in results.items() if student not in waiting}
    if args.format in ("csv", "json", "nbgrader"):
        whole = totals.totals(plan, results, gaps)
        due = parse_time(plan.due) if plan.due else None
        made = {"csv": totals.to_csv, "json": totals.to_json, "nbgrader": lambda whole: nbgrader.table(graded.values(), due)}
        text = made[args.format](whole)
        if args.out:
            write_durably(Path(args.out), text)
        else:
            sys.stdout.write(text)
    elif not args.out:
        raise CourseError(f"{args.format} is a file a student: give the folder for them as --out.")
    else:
        for student, result in graded.items():
            write_durably(
                Path(args.out) / f"{ledger.verdict_path(student).stem}{SUFFIXES[args.format]}",
                formats.render("json" if args.format == "report" else args.format, result),
            )
    return _report_gaps(gaps, len(plan.work) * len(plan.exercises))


SUFFIXES = {
    "markdown": ".md", "html": ".html", "report": ".json", "gradescope": ".json", "classroom50": ".json", "prairielearn": ".json", "junit": ".xml"
}  # fmt: skip


def write_results(out: Path, plan: Any, results: dict[str, Any], gaps: list[Any]) -> list[str]:
    """results.csv, results.json and a student's report each. Returns the names for a person to read."""
    from lanewise.grading import formats, totals
    from lanewise.grading.ledger import ClassLedger, write_durably

    whole = totals.totals(plan, results, gaps)
    write_durably(out / "results.json", totals.to_json(whole))
    write_durably(out / "results.csv", totals.to_csv(whole))
    waiting = {gap.student for gap in gaps}
    for student, result in results.items():
        path = out / "reports" / f"{ClassLedger(out).verdict_path(student).stem}.md"
        if student in waiting:
            path.unlink(missing_ok=True)
            continue
        text = formats.render("markdown", result)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            write_durably(path, text)
    return ["results.csv", "results.json", "reports/"]


def _write_similarity(submissions: Path, out: Path, assignment: Path | None, course: Course) -> str:
    from lanewise.grading.assignment import read_assignment, whole_course
    from lanewise.grading.batch import answers_of_class
    from lanewise.grading.ledger import write_durably
    from lanewise.grading.similarity import similar_answers
    from lanewise.grading.totals import pairs_to_csv

    chosen = read_assignment(assignment, course) if assignment else whole_course(course)
    answers = answers_of_class(submissions, chosen, course)
    pairs = [pair for key, texts in answers.items() for pair in similar_answers(str(key), texts, course.kernel(key).read_text(encoding="utf-8"))]
    write_durably(out / "similarity.csv", pairs_to_csv(pairs))
    return f"similarity.csv ({len(pairs)} pair{'' if len(pairs) == 1 else 's'})"


def _report_gaps(gaps: list[Any], expected: int) -> int:
    if not gaps:
        print(f"All {expected} expected verdicts are there.", file=sys.stderr)
        return GRADED
    print(f"NOT COMPLETE: of {expected} expected verdicts some are missing, which count as nothing, not as 0:", file=sys.stderr)
    for gap in gaps[:SHOWN]:
        print(f"  {gap}", file=sys.stderr)
    if len(gaps) > SHOWN:
        print(f"  and {len(gaps) - SHOWN} more, in results.json.", file=sys.stderr)
    return TROUBLE


class Progress:
    """Done, failed, time left: one line that is written over on a terminal, else a line at every tenth."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.tenth = 0

    def __call__(self, done: int, total: int, failed: int) -> None:
        left = (time.monotonic() - self.began) / done * (total - done)
        bar = "#" * (20 * done // total)
        words = f"[{bar:20}] {done} of {total}, {f'{failed} failed, ' if failed else ''}{int(left) // 60}:{int(left) % 60:02} left"
        if sys.stderr.isatty():
            print(f"\r{words:60}", end="\n" if done == total else "", file=sys.stderr, flush=True)
        elif 10 * done // total > self.tenth or done == total:
            self.tenth = 10 * done // total
            print(words, file=sys.stderr, flush=True)
