"""One key grammar, the paths that follow from a key, discovery by listing the folders.

`chNN_slug` is a chapter or a worked kernel, `chNNx_slug` (x = a, b, c …) an exercise; `ch05b` and `ch05b_block_max` mean the same.
No registry: a key exists because its file does.
"""

from __future__ import annotations

import difflib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

GRAMMAR = re.compile(r"ch(?P<number>\d\d)(?P<letter>[a-z]?)(?:_(?P<slug>[a-z][a-z0-9]*(?:_[a-z0-9]+)*))?")
LONGEST_KEY = 24


class CourseError(Exception):
    """Something the reader can put right: the message is one sentence that says what to do. Commands print it alone."""


class UnknownKey(CourseError):
    """No file answers to this key; the message offers the nearest ones."""


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """A whole key, taken apart. `str(key)` is the file stem: ch05b_block_max."""

    number: int
    letter: str
    slug: str

    @classmethod
    def parse(cls, text: str) -> Key:
        """Read a whole key. Raises CourseError where the grammar isn't kept."""
        match = GRAMMAR.fullmatch(text)
        if match is None or not match["slug"]:
            raise CourseError(f"{text!r} is no key: write chNN_slug for a chapter or chNNx_slug for an exercise, in lower case, e.g. ch05b_block_max.")
        if len(text) > LONGEST_KEY:
            raise CourseError(f"The key {text!r} has {len(text)} characters; {LONGEST_KEY} is the most: shorten its slug.")
        return cls(int(match["number"]), match["letter"], match["slug"])

    @property
    def short(self) -> str:
        return f"ch{self.number:02d}{self.letter}"

    @property
    def is_exercise(self) -> bool:
        return bool(self.letter)

    def __str__(self) -> str:
        return f"{self.short}_{self.slug}"


@dataclass(frozen=True, slots=True)
class Course:
    """A checkout of the course: where its files are and which keys they make."""

    root: Path

    # -- folders and files ---------------------------------------------------------------------------------------------

    @property
    def chapters_dir(self) -> Path:
        return self.root / "chapters"

    @property
    def kernels_dir(self) -> Path:
        return self.root / "kernels"

    @property
    def solutions_dir(self) -> Path:
        return self.root / "solutions"

    @property
    def wrong_dir(self) -> Path:
        return self.root / "tests" / "wrong"

    @property
    def work_dir(self) -> Path:
        """The learner's folder. LANEWISE_WORK may place it elsewhere (build and tests use an empty temporary one)."""
        elsewhere = os.environ.get("LANEWISE_WORK")
        return Path(elsewhere) if elsewhere else self.root / "work"

    def chapter_source(self, key: Key) -> Path:
        return self.chapters_dir / f"{key}.md"

    def notebook(self, key: Key) -> Path:
        return self.chapters_dir / f"{key}.ipynb"

    def kernel(self, key: Key) -> Path:
        """The worked kernel, or the skeleton of an exercise."""
        return self.kernels_dir / f"{key}.cu"

    def spec(self, key: Key) -> Path:
        """The Python file beside a kernel: reference, cases, launch, budget, hints."""
        return self.kernels_dir / f"{key}.py"

    def solution(self, key: Key) -> Path:
        return self.solutions_dir / f"{key}.cu"

    def answer(self, key: Key) -> Path:
        """The learner's file."""
        return self.work_dir / f"{key}.cu"

    def wrong(self, key: Key) -> Path:
        return self.wrong_dir / f"{key}.py"

    def show(self, path: Path) -> str:
        """A path as a reader should see it: relative to where they stand, or to the course, never longer than needed."""
        for base in (Path.cwd(), self.root):
            if path.resolve().is_relative_to(base.resolve()):
                return str(path.resolve().relative_to(base.resolve()))
        return str(path)

    # -- discovery -----------------------------------------------------------------------------------------------------

    def chapters(self) -> list[Key]:
        return _listed(self.chapters_dir, ".md", exercise=False)

    def exercises(self) -> list[Key]:
        """Every exercise: a chNNx_*.py in kernels/."""
        return _listed(self.kernels_dir, ".py", exercise=True)

    def worked(self) -> list[Key]:
        """Every worked kernel: a chNN_*.cu in kernels/."""
        return _listed(self.kernels_dir, ".cu", exercise=False)

    def exercise(self, word: str) -> Key:
        """The exercise a short or whole key (or a path to its file) means. Raises UnknownKey."""
        return self._resolve(word, self.exercises(), "exercise")

    def chapter(self, word: str) -> Key:
        """The chapter a short or whole key means. Raises UnknownKey."""
        return self._resolve(word, self.chapters(), "chapter")

    def any_kernel(self, word: str) -> Key:
        """The exercise or worked kernel a key means. Raises UnknownKey."""
        return self._resolve(word, self.exercises() + self.worked(), "kernel")

    def _resolve(self, word: str, keys: list[Key], what: str) -> Key:
        wanted = Path(word.strip()).name.removesuffix(".cu").removesuffix(".py").lower().replace("-", "_")
        whole = [key for key in keys if str(key) == wanted]
        if whole:
            return whole[0]
        short = [key for key in keys if key.short == wanted]
        if len(short) == 1:
            return short[0]
        if short:
            raise UnknownKey(f"{word!r} may mean {_either([str(key) for key in short])}: write one of them in full.")
        raise UnknownKey(self._unknown(word, wanted, keys, what))

    def _unknown(self, word: str, wanted: str, keys: list[Key], what: str) -> str:
        if not keys:
            return f"There is no {what} {word!r}: the course at {self.root} has no {what}s yet."
        match = re.match(r"ch\d\d", wanted)
        near = [key for key in keys if match and key.short.startswith(match[0])]
        by_name = {name: key for key in keys for name in (str(key), key.slug, key.short)}
        near += [by_name[name] for name in difflib.get_close_matches(wanted, list(by_name), n=3, cutoff=0.6)]
        offered = list(dict.fromkeys(str(key) for key in near))[:4]
        if offered:
            return f"There is no {what} {word!r}: did you mean {_either(offered)}?"
        return f"There is no {what} {word!r}: `lanewise list` shows them all, {keys[0].short} is the first."


def find_course() -> Course:
    """The checkout this package lies in, else the first one above the current folder. Raises CourseError."""
    here = Path(__file__).resolve().parent.parent
    for folder in (here, Path.cwd(), *Path.cwd().parents):
        if (folder / "kernels").is_dir() and (folder / "chapters").is_dir():
            return Course(folder)
    raise CourseError("No course is here: call lanewise inside a clone of the repository (a folder with chapters/ and kernels/).")


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all (temporary file, then rename); make its folder first.

    Raises CourseError with one sentence where the folder can't be written.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        _discard(temporary)
        raise CourseError(not_writable(path, error)) from error
    except BaseException:
        _discard(temporary)
        raise


def not_writable(path: Path, error: OSError) -> str:
    """The sentence for a file that can't be written."""
    return f"Can't write {path} ({error.strerror or error}): give yourself write permission there, or set LANEWISE_WORK to a folder of your own."


def _discard(temporary: str) -> None:
    if temporary:
        Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _listed(folder: Path, suffix: str, exercise: bool) -> list[Key]:
    stems = sorted(path.stem for path in folder.glob(f"ch[0-9][0-9]*{suffix}"))
    return [key for key in map(Key.parse, stems) if key.is_exercise == exercise]


def _either(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]
