"""build, check, new: for those who write chapters."""

from __future__ import annotations

import sys
from argparse import Namespace

from lanewise.derive import stale_skeletons, write_skeletons
from lanewise.names import CourseError, find_course


def build(args: Namespace) -> int:
    """Skeletons from solutions, notebooks from chapters, docs/claims.md from results; says which files changed."""
    from lanewise.claims import write_page
    from lanewise.notebook import write_notebooks

    course = find_course()
    parts = {part for part in ("skeletons", "notebooks", "docs") if getattr(args, part)} or {"skeletons", "notebooks", "docs"}
    changed = write_skeletons(course) if "skeletons" in parts else []
    if "notebooks" in parts:
        changed += write_notebooks(course, [course.chapter(word) for word in args.keys] or course.chapters())
    if "docs" in parts and not args.keys:
        changed += write_page(course)
    for path in changed:
        print(f"wrote {path.relative_to(course.root)}")
    if not changed:
        print("everything is as its source says.")
    return 0


def check(args: Namespace) -> int:
    """Skeletons, notebooks and docs/claims.md equal what their sources give; every description is whole. Exit status 1 where not."""
    from lanewise.claims import stale_page
    from lanewise.exercise import load
    from lanewise.notebook import stale_notebooks

    course = find_course()
    found = stale_skeletons(course)
    for key in course.exercises() + course.worked():
        try:
            found += [f"kernels/{key}.py: {problem}." for problem in load(key, course).problems()]
        except CourseError as error:
            found.append(str(error))
        if key.is_exercise and not course.wrong(key).is_file():
            found.append(f"tests/wrong/{key}.py is missing: name the wrong variants and their verdicts there.")
    if not args.skeletons:
        found += stale_notebooks(course) + stale_page(course)
    for sentence in found:
        print(sentence, file=sys.stderr)
    if not found:
        print("skeletons, descriptions and notebooks are as their sources say.")
    return 1 if found else 0


def new(args: Namespace) -> int:
    """The files of a new chapter, worked kernel or exercise."""
    from lanewise.new import make

    course = find_course()
    for path in make(course, args.key, args.slug):
        print(f"wrote {path.relative_to(course.root)}")
    print("next: fill them in, then `lanewise build` and `lanewise check`.")
    return 0
