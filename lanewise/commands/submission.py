"""grade-submission, autograder-zip: all exercises of an assignment, one submission, one JSON file; and the archive in which Gradescope does that."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from pathlib import Path

from lanewise.names import CourseError, find_course, write_atomically

GRADED, TROUBLE = 0, 2


def grade_submission(args: Namespace) -> int:
    """Exit status 0: graded, whatever the score. 2: no verdict, through no fault of the submission; no student's report is written then."""
    from lanewise.grading import assignment as assignments
    from lanewise.grading import formats, submission

    try:
        course = find_course()
        path = Path(os.path.abspath(args.submission))
        submission.refuse_missing(path)
        assignment = assignments.read_assignment(Path(args.set), course) if args.set else assignments.whole_course(course)
        submitted = assignments.parse_time(args.submitted) if args.submitted else None
        wanted = [_format_and_file(word) for word in args.also]
        result = submission.grade_submission(path, assignment, course, submitted)
        _write(json.dumps(result, indent=1, allow_nan=False, ensure_ascii=True) + "\n", args.out)
        if result["status"] == "graded":
            for name, where in wanted:
                _write(formats.render(name, result), where)
    except CourseError as error:
        print(error, file=sys.stderr)
        return TROUBLE
    except Exception as error:  # a fault of ours is no student's 0
        print(f"Grading broke ({type(error).__name__}: {error}): report it; nothing was graded.", file=sys.stderr)
        return TROUBLE
    print(f"{result['submission']}: {result['score']:g} of {result['max_score']:g} points ({result['status']})", file=sys.stderr)
    return GRADED if result["status"] == "graded" else TROUBLE


def autograder_zip(args: Namespace) -> int:
    """Write the archive; it holds the seed, so it is the teacher's alone."""
    from lanewise.grading.assignment import read_assignment
    from lanewise.grading.formats.gradescope import autograder_zip as make

    course = find_course()
    path = Path(args.set)
    content = make(path, read_assignment(path, course), course)
    try:
        Path(args.out).write_bytes(content)
    except OSError as error:
        raise CourseError(f"Can't write {args.out} ({error.strerror or error}): give another --out.") from error
    print(f"{args.out}: {len(content) // 1024} kB. Upload it under Configure Autograder; it holds the seed, so keep it from students.")
    return 0


def _format_and_file(word: str) -> tuple[str, str]:
    from lanewise.grading.formats import FOR_TEACHERS, FORMATS

    name, equals, where = word.partition("=")
    if not equals or not where or name not in FORMATS | FOR_TEACHERS:
        raise CourseError(f"--also {word}: write FORMAT=FILE with one of {', '.join(FORMATS | FOR_TEACHERS)}.")
    return name, where


def _write(text: str, where: str) -> None:
    if where == "-":
        sys.stdout.write(text)
    else:
        write_atomically(Path(where), text)
