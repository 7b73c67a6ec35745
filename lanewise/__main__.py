"""The command line. Every command's module is imported when it is called: `lanewise grade` must answer fast."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from lanewise.names import CourseError

# Commands with a parser of their own: `main(argv)` of that module.
OWN = {
    "lab": ("lanewise.lab", "open the chapters in JupyterLab"),
    "tour": ("lanewise.tour", "twenty seconds: two attention kernels, measured"),
    "doctor": ("lanewise.doctor", "what this machine has, what it lacks, what to do"),
    "bench": ("lanewise.bench", "time the simulator (--gpu: the GPU ladders)"),
}


def parser() -> argparse.ArgumentParser:
    """The whole grammar of the command line."""
    whole = argparse.ArgumentParser(prog="lanewise", description="From a first CUDA kernel to FlashAttention, with or without a GPU.")
    commands = whole.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, function: str, words: str) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=words, description=words[0].upper() + words[1:] + ".")
        one.set_defaults(function=function)
        return one

    def key(one: argparse.ArgumentParser) -> None:
        one.add_argument("key", metavar="KEY", help="an exercise: ch05b or ch05b_block_max")

    for name in ("lab", "tour"):
        commands.add_parser(name, help=OWN[name][1], add_help=False)
    command("list", "learn.list_exercises", "the exercises and what is solved")
    key(command("start", "learn.start", "copy an exercise's skeleton to work/"))
    one = command("grade", "grade.grade", "grade your answer")
    key(one)
    one.add_argument("--file", metavar="F.cu", help="grade this file (or a notebook's %%%%solve cell) instead of work/KEY.cu")
    one.add_argument("--json", metavar="OUT", help="write the verdict as JSON to this file; - prints JSON alone")
    one = command("grade-submission", "submission.grade_submission", "grade all exercises of an assignment: a folder or a .zip of one student")
    one.add_argument("submission", metavar="DIR", help="a folder with .cu files or notebooks, or a .zip of one")
    one.add_argument("--set", metavar="A.toml", help="the assignment file (else every exercise of the course)")
    one.add_argument("--out", metavar="RESULT.json", required=True, help="the teacher's result; - prints it")
    one.add_argument("--also", metavar="FORMAT=FILE", action="append", default=[], help="a student's report: json, markdown, html, gradescope, classroom50, …")
    one.add_argument("--submitted", metavar="TIME", help="when it was handed in, as 2026-12-04T18:00:00+01:00")
    one = command("grade-class", "classes.grade_class", "grade a class: a folder with one folder or one .zip a student; call it again and it goes on")
    one.add_argument("submissions", metavar="SUBMISSIONS", help="the folder of the class")
    one.add_argument("--out", metavar="RESULTS", required=True, help="the folder of the results, the teacher's own")
    one.add_argument("--assignment", metavar="A.toml", help="the assignment file (else every exercise of the course)")
    one.add_argument("--submitted", metavar="TIMES.csv", help="lines `student,time`, so that reports can say what was late")
    where = one.add_mutually_exclusive_group()
    where.add_argument("--scheduler", metavar="tcp://…", help="a dask scheduler with workers of its own (else workers on this machine)")
    where.add_argument("--workers", metavar="N", type=int, help="workers on this machine (else one a core)")
    one.add_argument("--no-similarity", action="store_true", help="leave out similarity.csv")
    one = command("export", "classes.export", "a class's results in another form")
    one.add_argument("results", metavar="RESULTS", help="the folder that grade-class wrote")
    forms = ("csv", "json", "nbgrader", "markdown", "html", "report", "gradescope", "classroom50", "prairielearn", "junit")
    one.add_argument("--format", choices=forms, default="csv", help="csv, json, nbgrader: a table; any other: a student's report each")
    one.add_argument("--out", metavar="OUT", help="the file, or the folder of the students' reports (else a table is printed)")
    one = command("autograder-zip", "submission.autograder_zip", "an autograder.zip for Gradescope")
    one.add_argument("set", metavar="A.toml", help="the assignment file")
    one.add_argument("--out", metavar="FILE.zip", required=True)
    key(command("hint", "learn.hint", "the next hint"))
    key(command("reset", "learn.reset", "bring the skeleton back; your answer is kept in work/backups/"))
    key(command("watch", "grade.watch", "grade whenever you save"))
    one = command("profile", "grade.profile", "what the instrument sees: findings, counters, the kernel's lines")
    key(one)
    one.add_argument("--file", metavar="F.cu", help="look at this file instead of work/KEY.cu")
    one.add_argument("--case", metavar="CASE", help="the number or name of a case (else the first)")
    one = command("show", "learn.show", "a kernel's text with line numbers")
    one.add_argument("key", metavar="KEY", help="a worked kernel or an exercise")
    one.add_argument("region", nargs="?", metavar="REGION", help="lines as 10-20, or a piece of the region's first line")
    commands.add_parser("doctor", help=OWN["doctor"][1], add_help=False)
    one = command("new", "author.new", "the files of a new chapter or exercise")
    one.add_argument("key", metavar="KEY", help="ch05 with a SLUG behind it, or a whole key: ch05_reductions, ch05b_block_max")
    one.add_argument("slug", nargs="?", metavar="SLUG")
    one = command("build", "author.build", "skeletons, notebooks and docs/claims.md from their sources")
    one.add_argument("keys", nargs="*", metavar="CHAPTER", help="these chapters alone")
    one.add_argument("--skeletons", action="store_true", help="skeletons alone")
    one.add_argument("--notebooks", action="store_true", help="notebooks alone")
    one.add_argument("--docs", action="store_true", help="docs/claims.md alone")
    one = command("check", "author.check", "skeletons, notebooks and docs/claims.md equal their sources")
    one.add_argument("--skeletons", action="store_true", help="leave notebooks and docs out")
    commands.add_parser("bench", help=OWN["bench"][1], add_help=False)
    return whole


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 done, 1 refused (one sentence on standard error), 2 misuse, 130 Ctrl-C."""
    given = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without ✓ shows ? instead of a traceback
    try:
        if given and given[0] in OWN:
            return int(importlib.import_module(OWN[given[0]][0]).main(given[1:]) or 0)
        args = parser().parse_args(given)
        module, function = args.function.split(".")
        return int(getattr(importlib.import_module(f"lanewise.commands.{module}"), function)(args))
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped; nothing was lost.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


if __name__ == "__main__":
    sys.exit(main())
