"""Solution → skeleton: one source for both.

A region of a solution that the learner is to write stands between markers, each on a line of its own:

    //@solution each thread doubles its element, if it has one
    if (i < n)
        out[i] = 2 * x[i];
    //@stub
    //@ out[i] = 0;
    //@end

In the skeleton the region becomes a TODO with the hint and the number of lines it took, then the stub without its `//@ `. The stub may be left out.
A solution compiles as it stands, and also without its `//@` lines (`solution_text`), which is how it is shown.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

from lanewise.names import Course, CourseError, Key, write_atomically

COLUMNS = 80
MARKER = re.compile(r"(?P<indent>\s*)//@(?P<word>\S*)(?: (?P<rest>.*))?")
BOUNDS = r"(?:__(?:launch_bounds|cluster_dims)__\s*\([^)]*\)\s*)*"  # what may stand before or behind a kernel's `void`


class DeriveError(CourseError):
    """A solution whose markers make no sense; the message names the file's line."""


@dataclass
class _Region:
    opened: int  # line of //@solution
    indent: str
    hint: str
    lines: list[str] = field(default_factory=list)
    stub: list[str] = field(default_factory=list)
    stub_opened: int = 0  # line of //@stub, 0: not yet


def skeleton(solution: str, name: str = "solution") -> str:
    """Derive the skeleton's text. Raises DeriveError (`name`, line) for nested, unclosed, empty or unknown markers."""
    out: list[str] = []
    region: _Region | None = None
    regions = 0
    for number, line in enumerate(solution.splitlines(), 1):
        marker = MARKER.fullmatch(line)
        where = f"{name}, line {number}"
        if marker is None:
            if "//@" in line:
                raise DeriveError(f"{where}: a marker stands alone on its line; move the code before //@ to a line of its own.")
            if region is None:
                out.append(line)
            elif region.stub_opened:
                raise DeriveError(f"{where}: a stub's lines are comments: begin this one with `//@ `, or close the region with //@end before it.")
            else:
                region.lines.append(line)
            continue
        word, rest = marker["word"], (marker["rest"] or "").strip()
        if word == "solution":
            if region is not None:
                raise DeriveError(f"{where}: //@solution inside the region opened on line {region.opened}; close that one with //@end first.")
            if not rest:
                raise DeriveError(f"{where}: //@solution needs a hint behind it, e.g. `//@solution guard the last block`.")
            region, regions = _Region(number, marker["indent"], rest), regions + 1
        elif word == "stub":
            if region is None:
                raise DeriveError(f"{where}: //@stub outside a region; open one with //@solution.")
            if region.stub_opened:
                raise DeriveError(f"{where}: a second //@stub in one region; line {region.stub_opened} has the first.")
            if rest:
                raise DeriveError(f"{where}: nothing may follow //@stub; put the stub's text on the next line, behind `//@ `.")
            region.stub_opened = number
        elif word == "end":
            if region is None:
                raise DeriveError(f"{where}: //@end without a //@solution before it.")
            if rest:
                raise DeriveError(f"{where}: nothing may follow //@end.")
            out += _todo(region, name)
            region = None
        elif word == "":
            if region is None or not region.stub_opened:
                raise DeriveError(f"{where}: a stub's line outside a stub; put //@stub before it.")
            text = marker["rest"] or ""
            region.stub.append((marker["indent"] + text).rstrip())
        else:
            raise DeriveError(f"{where}: unknown marker //@{word}; there are //@solution, //@stub, `//@ …` and //@end.")
    if region is not None:
        raise DeriveError(f"{name}, line {region.opened}: //@solution is never closed; put //@end behind its lines.")
    if not regions:
        raise DeriveError(f"{name}: no //@solution region, so there would be nothing to write; mark one.")
    return "\n".join(out) + "\n"


def solution_text(solution: str) -> str:
    """A solution without its `//@` lines."""
    return "".join(line for line in solution.splitlines(keepends=True) if not line.lstrip().startswith("//@"))


def exercise_kernel(text: str, name: str = "file") -> str:
    """The name of the first `__global__` function, whose body must open with the first `{` of the file.

    Both are counted as they stand, comments included, so that every reader of the file (and every program) finds the same place.
    Raises DeriveError where that doesn't hold.
    """
    start, brace = text.find("__global__"), text.find("{")
    if start < 0:
        raise DeriveError(f'{name}: no __global__ function; an exercise\'s kernel reads `extern "C" __global__ void slug(…)`.')
    match = re.compile(rf"__global__\s+{BOUNDS}void\s+{BOUNDS}(\w+)\s*\(").match(text, start)
    if match is None:
        raise DeriveError(f"{name}: the first `__global__` isn't followed by `void name(`; don't write the word before the kernel, not in a comment either.")
    if brace < match.end():
        line = text.count("\n", 0, max(brace, 0)) + 1
        raise DeriveError(f"{name}, line {line}: the first `{{` of the file must open the kernel's body; move what stands before the kernel behind it.")
    return match[1]


def derive_all(course: Course) -> dict[Path, str]:
    """Skeleton's path → text for every solution. Raises DeriveError."""
    return {course.kernel(key): derive(key, course) for key in course.exercises()}


def derive(key: Key, course: Course) -> str:
    """The skeleton of one exercise, from its solution. Raises DeriveError or CourseError."""
    path = course.solution(key)
    if not path.is_file():
        raise CourseError(f"solutions/{key}.cu is missing: write it, its skeleton is derived from it.")
    name = f"solutions/{key}.cu"
    solution = path.read_text(encoding="utf-8")
    kernel = exercise_kernel(solution, name)
    if kernel != key.slug:
        raise DeriveError(f"{name}: its kernel is called {kernel!r}; the key wants {key.slug!r}.")
    text = skeleton(solution, name)
    exercise_kernel(text, f"the skeleton of {name}")
    return text


def write_skeletons(course: Course) -> list[Path]:
    """Derive every skeleton and write those that changed; returns them."""
    changed = []
    for path, text in derive_all(course).items():
        if not path.is_file() or path.read_bytes() != text.encode():
            write_atomically(path, text)
            changed.append(path)
    return changed


def stale_skeletons(course: Course) -> list[str]:
    """One sentence for every skeleton whose bytes differ from what its solution gives, and for solutions without an exercise."""
    found = []
    for path, text in derive_all(course).items():
        if not path.is_file():
            found.append(f"kernels/{path.name} is missing: `lanewise build` writes it.")
        elif path.read_bytes() != text.encode():
            found.append(f"kernels/{path.name} isn't what solutions/{path.name} gives: change the solution, then run `lanewise build`.")
    known = {str(key) for key in course.exercises()}
    for path in sorted(course.solutions_dir.glob("*.cu")):
        if path.stem not in known:
            found.append(f"solutions/{path.name} has no kernels/{path.stem}.py: write it, or remove the solution.")
    return found


def _todo(region: _Region, name: str) -> list[str]:
    count = sum(1 for line in region.lines if line.strip() and not line.lstrip().startswith("//"))
    if not count:
        raise DeriveError(f"{name}, line {region.opened}: the region is empty; put the solution's lines behind //@solution.")
    if region.stub_opened and not any(region.stub):
        raise DeriveError(f"{name}, line {region.stub_opened}: the stub is empty; give it a line (`//@ …`) or leave //@stub out.")
    todo = f"TODO ({count} line{'s' if count > 1 else ''}): {region.hint}"
    prefix = f"{region.indent}// "
    wrapped = textwrap.wrap(todo, COLUMNS, initial_indent=prefix, subsequent_indent=prefix + "  ", break_long_words=False, break_on_hyphens=False)
    return wrapped + region.stub
