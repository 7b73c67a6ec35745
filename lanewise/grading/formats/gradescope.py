"""Gradescope: results.json, and the autograder.zip that writes it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from lanewise.grading.assignment import Assignment
from lanewise.names import Course, CourseError

LONGEST_OUTPUT = 20_000  # characters
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same archive from the same files
COURSE_PARTS = ("lanewise", "kernels", "chapters", "pyproject.toml", "README.md", "LICENSE")  # what grading needs; solutions stay at home

SETUP = """\
#!/usr/bin/env bash
# Runs once, when Gradescope builds the image. Choose a base image with Python 3.11 or newer.
set -euo pipefail
apt-get update -qq && apt-get install -y -qq python3 python3-venv
python3 -m venv /opt/lanewise
/opt/lanewise/bin/pip install --quiet --editable "/autograder/source/course[grade]"
chmod -R go-rwx /autograder/source
"""

RUN = """\
#!/usr/bin/env bash
# Runs for each submission. Whatever the submission holds, Python starts isolated (-I) and without its environment.
set -euo pipefail
mkdir -p /autograder/results
cd /autograder/source/course
exec env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root LANG=C.UTF-8 LANEWISE_DEVICE=simulator /opt/lanewise/bin/python -I -m lanewise grade-submission \\
    /autograder/submission --set /autograder/source/assignment/ASSIGNMENT --out /autograder/source/teacher.json \\
    --also gradescope=/autograder/results/results.json
"""


def results(report: dict[str, Any], visibility: str = "visible", seconds: float | None = None) -> dict[str, Any]:
    """A student's report as Gradescope's results.json: one test an exercise. No top-level score, so that the tests' sum is the score."""
    return {
        "execution_time": round(seconds or 0.0, 3),
        "output": "\n".join(report["notes"])[:LONGEST_OUTPUT],
        "output_format": "text",
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "extra_data": {"schema": report["schema"], "assignment": report["assignment"]},
        "tests": [_test(number, e, visibility) for number, e in enumerate(report["exercises"], 1)],
        "leaderboard": [],
    }


def _test(number: int, e: dict[str, Any], visibility: str) -> dict[str, Any]:
    cases = [f"{'pass' if case['passed'] else 'FAIL'}  {case['name']}" for case in e["cases"]]
    if e["hidden"]["of"]:
        cases.append(f"hidden cases: {e['hidden']['passed']} of {e['hidden']['of']} pass")
    return {
        "score": e["score"],
        "max_score": e["max_score"],
        "name": e["key"],
        "number": str(number),
        "output": "\n".join(filter(None, [e["message"], *cases]))[:LONGEST_OUTPUT],
        "output_format": "text",
        "status": "passed" if e["kind"] is None else "failed",
        "tags": [e["kind"] or "solved"],
        "visibility": visibility,
        "extra_data": {"line": e["line"]},
    }


def autograder_zip(path: Path, assignment: Assignment, course: Course) -> bytes:
    """The bytes of an autograder.zip for the assignment file `path`: setup.sh, run_autograder, the course without its solutions, the assignment, its seed.

    Raises CourseError where a file can't be read.
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _add(archive, "setup.sh", SETUP.encode(), 0o755)
        _add(archive, "run_autograder", RUN.replace("ASSIGNMENT", "assignment.toml").encode(), 0o755)
        _add(archive, "assignment/assignment.toml", path.read_bytes())
        if assignment.seed_file:
            _add(archive, f"assignment/{assignment.seed_file}", (path.parent / assignment.seed_file).read_bytes())
        for name, content in _course_files(course):
            _add(archive, f"course/{name}", content)
    return buffer.getvalue()


def _course_files(course: Course) -> list[tuple[str, bytes]]:
    found = []
    for part in COURSE_PARTS:
        top = course.root / part
        if not top.exists():
            raise CourseError(f"{part} is missing in the course at {course.root}: make the archive in a whole clone.")
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            ours = path.is_file() and not path.is_symlink() and path.suffix in {".py", ".cu", ".cuh", ".h", ".toml", ".md", ""}
            if ours and "__pycache__" not in path.parts and not (part == "chapters" and path.suffix != ".md"):
                found.append((path.relative_to(course.root).as_posix(), path.read_bytes()))
    return found


def _add(archive: zipfile.ZipFile, name: str, content: bytes, mode: int = 0o644) -> None:
    info = zipfile.ZipInfo(name, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100000 | mode) << 16
    archive.writestr(info, content)
