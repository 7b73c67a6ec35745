"""`show(KEY)`: a kernel's text with line numbers, read from its file, so that no chapter holds a copy that could drift."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from pathlib import Path

from lanewise.names import Course, CourseError, find_course

Region = str | tuple[int, int] | None
_WORDS = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>\"(?:\\.|[^\"\\])*\")"
    r"|(?P<cuda>\b(?:__\w+|threadIdx|blockIdx|blockDim|gridDim|warpSize)\b)"
    r"|(?P<type>\b(?:void|bool|char|short|int|long|unsigned|signed|float|double|half|float2|float4|const|constexpr|extern|static|struct|template|typename)\b)"
    r"|(?P<flow>\b(?:if|else|for|while|do|return|break|continue|switch|case|default)\b)"
)
# Middle tones: readable on white and on black.
_STYLES = {"comment": "color:#7a8a7a;font-style:italic", "string": "color:#b3773a", "cuda": "color:#a55fc9", "type": "color:#3a8fb7", "flow": "color:#c2557a"}


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines of a kernel: `first` is the number of the first one."""

    name: str
    first: int
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(f"{number:4}  {line}".rstrip() for number, line in enumerate(self.lines, self.first))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        coloured = _coloured("\n".join(self.lines)).split("\n")
        rows = "\n".join(f"<span style='opacity:.5'>{number:4}</span>  {line}" for number, line in enumerate(coloured, self.first))
        style = "font-family:var(--jp-code-font-family,monospace);white-space:pre;line-height:1.3;background:rgba(128,128,128,.1);padding:.6em;overflow-x:auto"
        return f"<pre style='{style}' title='{html.escape(self.name)}'>{rows}</pre>"


def show(key: str, region: Region = None) -> Listing:
    """A worked kernel (or an exercise's skeleton, or a file kernels/*.cuh by its name) with line numbers; as the last expression of a cell it is drawn
    with colours.

    `region`: (first, last) lines, "10-20", or a piece of text that stands on one line alone: that line and those below it, up to an empty line.
    Raises CourseError for an unknown key or region.
    """
    return listing(key, region)


def source(key: str) -> str:
    """The whole text of a worked kernel (or an exercise's skeleton), as `cp.RawKernel` takes it. Raises CourseError for an unknown key."""
    course = find_course()
    return course.kernel(course.any_kernel(key)).read_text(encoding="utf-8")


def listing(word: str, region: Region = None) -> Listing:
    """`show`, under the name the commands use."""
    course = find_course()
    path = _header(course, word) or course.kernel(course.any_kernel(word))
    lines = path.read_text(encoding="utf-8").splitlines()
    first, last = _bounds(lines, region, path.name.removesuffix(".cu"))
    return Listing(path.name, first, tuple(lines[first - 1 : last]))


def _header(course: Course, word: str) -> Path | None:
    """kernels/<word> for the name of a header that is there: "flash2.cuh". None for another word."""
    headers = {path.name: path for path in (course.root / "kernels").glob("*.cuh")}
    if word.endswith(".cuh") and word not in headers:
        raise CourseError(f"There is no kernels/{word}: take one of {', '.join(sorted(headers))}.")
    return headers.get(word)


def _bounds(lines: list[str], region: Region, name: str) -> tuple[int, int]:
    """First and last line (from 1) of a region."""
    if region is None or region == "":
        return 1, len(lines)
    if isinstance(region, str):
        numbers = re.fullmatch(r"\s*(\d+)\s*-\s*(\d+)\s*", region)
        if numbers is None:
            found = [number for number, line in enumerate(lines, 1) if region in line]
            if len(found) != 1:
                raise CourseError(f"{region!r} stands on {len(found)} lines of {name}; name a piece of exactly one line, or lines as 10-20.")
            below = (number for number in range(found[0] + 1, len(lines) + 1) if not lines[number - 1].strip())
            return found[0], next(below, len(lines) + 1) - 1
        region = (int(numbers[1]), int(numbers[2]))
    first, last = region
    if not 1 <= first <= last <= len(lines):
        raise CourseError(f"{name} has lines 1 to {len(lines)}, so there are no lines {first} to {last}.")
    return first, last


def _coloured(text: str) -> str:
    """HTML of the text, each coloured piece closed before the end of its line."""
    out, at = [], 0
    for match in _WORDS.finditer(text):
        out.append(html.escape(text[at : match.start()]))
        style = _STYLES[match.lastgroup or "type"]
        out.append("\n".join(f"<span style='{style}'>{html.escape(piece)}</span>" for piece in match[0].split("\n")))
        at = match.end()
    return "".join(out) + html.escape(text[at:])
