"""A learner's text before the compiler sees it: from bytes to text, and what may be included."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection

LARGEST = 256 * 1024  # bytes; the largest kernel of the course is below 20 kB

# Every alternative succeeds once it has begun (an unclosed comment or literal runs to the end of text or line), so a scan is linear whatever the text.
# Numbers and names are tokens, too: the ' in 1'000 opens no literal, and the R of myR"(" no raw string.
_TOKENS = re.compile(
    r"""(?P<comment>//[^\n]*+|/\*(?:.*?\*/|.*))
      | (?P<literal>(?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\((?:.*?\)(?P=delimiter)"|.*) | "(?:\\.|[^"\\\n])*+"? | '(?:\\.|[^'\\\n])*+'?)
      | (?P<other>\.?[0-9](?:'?[\w.]|(?<=[eEpP])[+-])*+ | [^\W\d]\w*+)""",
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(r"^[ \t\f\v]*(?:\#|%:|\?\?=)[ \t\f\v]*(?P<word>\w+)(?P<rest>[^\n]*)", re.MULTILINE)
_HEADER = re.compile(r"\s*(?:<(?P<angle>[^<>\n]+)>|\"(?P<quoted>[^\"\n]+)\")\s*")
_LIBRARIES = re.compile(r"(?:^|/)(?:cub|thrust)/|(?:^|/)cooperative_groups/(?:reduce|scan)\.h$")  # what they do is what the exercises are about
_NAMES_A_FILE = re.compile(r"[\"/\\:]|\.\s*\.")
_CLOCK = re.compile(r"\b__(?:TIME|DATE|TIMESTAMP)__\b")
# What the name of a clock could be pasted together from: its first piece has to stand somewhere. `__location__` is a header's macro that pastes both ends on.
_CLOCK_PIECE = re.compile(r"\b(?:__(?:(?:T|TI|TIM|TIME|D|DA|DAT|DATE)_?)?|__location__)(?!\w)")
_PASTES = re.compile(r"##|%:%:|\?\?=\?\?=|^[ \t]*(?:#|%:)[ \t]*include", re.MULTILINE)
_READS_FILES = re.compile(r"__has_include(?:_next)?|__has_embed")


class NotGradable(Exception):
    """The text can't go to the compiler: `kind`, the sentence, the line."""

    def __init__(self, kind: str, message: str, line: int | None = None):
        super().__init__(message)
        self.kind = kind
        self.line = line


def decode(raw: bytes) -> str:
    """A file's bytes as text with `\\n` line ends and no byte order mark. Raises NotGradable for what is no UTF-8 text."""
    if len(raw) > LARGEST:
        raise NotGradable("compile-error", f"The file has more than {LARGEST // 1024} kB: hand in one kernel file.")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NotGradable("compile-error", "The file is UTF-16: save it as UTF-8.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise NotGradable("compile-error", f"Line {line} holds a byte that is no UTF-8 (0x{raw[error.start]:02x}): save the file as UTF-8.", line) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise NotGradable("compile-error", f"Line {line} holds a NUL byte: this is no text file; save your kernel as UTF-8 text.", line)
    if not text.strip():
        raise NotGradable("kernel-not-found", "The file is empty: `lanewise reset` brings the skeleton back.")
    return text


def without_comments(text: str, literals: bool = False) -> str:
    """The text with comments (and, if asked, literals) blanked out: every other character keeps its place."""

    def blank(match: re.Match[str]) -> str:
        if match["other"] is not None or (match["literal"] is not None and not literals):
            return match[0]
        return re.sub(r"[^\n]", " ", match[0])

    return _TOKENS.sub(blank, text)


def headers_in(text: str) -> set[str]:
    """The names of the headers that a text includes, without folders."""
    directives = _DIRECTIVE.finditer(without_comments(_join_lines(text)))
    headers = [_HEADER.fullmatch(match["rest"]) for match in directives if match["word"] == "include"]
    return {posixpath.basename((header["angle"] or header["quoted"]).strip()) for header in headers if header}


def check_includes(text: str, own: Collection[str] | None = None) -> None:
    """Only headers by a relative name may be included: a compiler's error message would print any other file's text.

    No library that has the exercises' subjects ready made, and of the course's own headers (kernels/*.cuh) only `own`, and those that wrap single
    instructions (ptx….cuh); None: all. Sees through comments, joined lines, digraphs and trigraphs; refuses names made by macros. Raises NotGradable.
    """
    joined = _join_lines(text)
    code = without_comments(joined)
    _check_conditions(code)
    for match in _DIRECTIVE.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        if match["word"] in ("include", "include_next", "import", "embed"):
            header = _HEADER.fullmatch(match["rest"])
            name = (header["angle"] or header["quoted"]).strip() if header else ""
            if match["word"] != "include" or not name or re.match(r"[/\\~]|\w:", name) or ".." in re.split(r"[/\\]", name):
                raise NotGradable("compile-error", f"Line {line}: only the toolkit's headers and kernels/*.cuh can be included, by their names.", line)
            plain = posixpath.normpath(name.replace("\\", "/"))
            whole = own is not None and plain.endswith(".cuh") and "/" not in plain and plain not in own and not plain.startswith("ptx")
            if _LIBRARIES.search(plain) or whole:
                raise NotGradable("compile-error", f"Line {line}: <{plain}> isn't among this exercise's headers: write what you need of it yourself.", line)
        if _READS_FILES.search(match["rest"]) or re.search(r"##|%:%:|\?\?=\?\?=", match["rest"]) and "include" in match["rest"]:
            raise NotGradable("compile-error", f"Line {line}: __has_include isn't graded; include the header, or leave it out.", line)
    names = without_comments(joined, literals=True)
    if clock := _CLOCK.search(names):
        line = code.count("\n", 0, clock.start()) + 1
        raise NotGradable("compile-error", f"Line {line}: {clock[0]} is another text each time, and a verdict mustn't depend on it: leave it out.", line)
    if piece := _CLOCK_PIECE.search(names) or (_PASTES.search(code) and re.search(r"\b_\b", names)):
        line = code.count("\n", 0, piece.start()) + 1
        raise NotGradable("compile-error", f"Line {line}: {piece[0]} could be pasted to a name such as __TIME__, which isn't graded: take another name.", line)
    if re.search(r"\.\s*incbin", code):
        line = code.count("\n", 0, code.index("incbin")) + 1
        raise NotGradable("compile-error", f"Line {line}: .incbin reads a file, and a kernel mustn't.", line)


def _check_conditions(code: str) -> None:
    """An #if could ask whether a file exists: `__has_include`, its name pasted together, perhaps by a header's macro. So no condition may hold a file's name.

    Looks through the text's own macros, without expanding them: what a condition names, and what that names, and so on. Raises NotGradable.
    """
    directives = list(_DIRECTIVE.finditer(code))
    macros: dict[str, set[str]] = {}
    for match in directives:
        if match["word"] == "define" and (defined := re.match(r"\s*(\w+)(.*)", match["rest"])):
            macros.setdefault(defined[1], set()).add(defined[2])
    for match in directives:
        if match["word"] not in ("if", "elif"):
            continue
        texts, seen = [match["rest"]], set()
        while texts:
            piece = texts.pop()
            if _NAMES_A_FILE.search(piece):
                line = code.count("\n", 0, match.start()) + 1
                raise NotGradable("compile-error", f"Line {line}: this #if could look for a file, which isn't graded: compare numbers alone, without /.", line)
            for word in re.findall(r"\w+", piece):
                if word in macros and word not in seen:
                    seen.add(word)
                    texts += macros[word]


def _join_lines(text: str) -> str:
    """The text with lines joined where one ends in a backslash (or its trigraph); empty lines behind them keep every other line's number."""
    out: list[str] = []
    pieces: list[str] = []
    for line in text.split("\n"):
        bare = line.rstrip(" \t")
        mark = next((mark for mark in ("??/", "\\") if bare.endswith(mark)), "")
        pieces.append(bare.removesuffix(mark) if mark else line)
        if not mark:
            out += ["".join(pieces)] + [""] * (len(pieces) - 1)
            pieces = []
    return "\n".join(out + pieces)
