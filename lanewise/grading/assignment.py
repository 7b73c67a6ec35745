"""An assignment: which exercises count how much, fixed before anything is graded.

    name = "Week 5"
    due = 2026-12-04T18:00:00+01:00   # with its offset
    hidden = true                     # hidden cases as well, drawn from the secret in seed_file
    seed_file = "week5.seed"          # beside this file; students never get it
    visibility = "visible"            # when students see their report: visible, after_due_date, after_published, hidden

    [exercises]
    ch05a = 4                                          # points
    ch05b = { points = 6, budget_share = 0.25, hidden = false }
"""

from __future__ import annotations

import hashlib
import hmac
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lanewise.names import Course, CourseError, Key

VISIBILITIES = ("visible", "after_due_date", "after_published", "hidden")
SHORTEST_SECRET = 16  # characters
WORDS = {"name", "due", "hidden", "seed_file", "visibility", "budget_share", "exercises"}
ITEM_WORDS = {"points", "budget_share", "hidden"}


@dataclass(frozen=True, slots=True)
class Terms:
    """What an assignment sets for an exercise; None leaves the exercise's own."""

    points: float | None = None
    budget_share: float | None = None

    def changes(self) -> dict[str, float]:
        """The fields of the Exercise to replace."""
        return {name: value for name, value in (("points", self.points), ("budget_share", self.budget_share)) if value is not None}


@dataclass(frozen=True, slots=True)
class Item:
    """An exercise of an assignment."""

    key: Key
    terms: Terms
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """Exercises in their order, and what holds for all. `sha256` is the file's hash ("" for the whole course without a file)."""

    name: str
    items: tuple[Item, ...]
    due: datetime | None = None  # UTC
    visibility: str = "visible"
    sha256: str = ""
    seed_file: str = ""  # its name beside the assignment file
    secret_text: str = field(default="", repr=False)  # its content; never written anywhere

    def secret(self, item: Item) -> int | None:
        """The number an exercise's hidden cases are drawn from: another for each exercise, the same for each student; None without hidden cases."""
        if not item.hidden:
            return None
        digest = hmac.new(self.secret_text.encode(), str(item.key).encode(), hashlib.sha256).digest()
        return int.from_bytes(digest[:7], "big")  # 56 bits: exact in every reader of JSON, and beyond guessing

    def late(self, submitted: datetime | None) -> bool | None:
        """Whether a submission came after the due date; None where one of the two isn't known."""
        return None if self.due is None or submitted is None else submitted > self.due

    @property
    def max_score(self) -> float:
        """All points; raises CourseError where an exercise's points are left to the exercise (see `whole_course`)."""
        return math.fsum(item.terms.points or 0 for item in self.items)


def read_assignment(path: Path, course: Course) -> Assignment:
    """Read an assignment file. Raises CourseError with one sentence for whatever can't be meant."""
    try:
        raw = path.read_bytes()
        content = tomllib.loads(raw.decode("utf-8"))
    except OSError as error:
        raise CourseError(f"Can't read {path} ({error.strerror or error}): give the path of an assignment file.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CourseError(f"{path.name} is no TOML file ({error}): mend it there.") from error
    _only(content, WORDS, path.name)
    share = _share(content.get("budget_share"), path.name)
    hidden = _flag(content.get("hidden", False), "hidden", path.name)
    table = content.get("exercises")
    if not isinstance(table, dict) or not table:
        raise CourseError(f"{path.name} names no exercise: write a table [exercises] with lines such as `ch05b = 6`.")
    items = tuple(_item(word, value, share, hidden, course, path.name) for word, value in table.items())
    keys = [item.key for item in items]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice:
        raise CourseError(f"{path.name} names {twice} twice: leave one of them out.")
    visibility = content.get("visibility", "visible")
    if visibility not in VISIBILITIES:
        raise CourseError(f"{path.name}: visibility is {visibility!r}; it must be one of {', '.join(VISIBILITIES)}.")
    seed_file = content.get("seed_file") if any(item.hidden for item in items) else ""
    secret = "" if seed_file == "" else _secret(seed_file, path)
    name = content.get("name", path.stem)
    if not isinstance(name, str) or not name.strip():
        raise CourseError(f"{path.name}: name must be a text.")
    return Assignment(name, items, _due(content.get("due"), path.name), visibility, hashlib.sha256(raw).hexdigest(), seed_file or "", secret)


def whole_course(course: Course) -> Assignment:
    """Every exercise with its own points and without hidden cases: what is graded where no assignment is named."""
    from lanewise.exercise import load_exercise

    return Assignment("Lanewise", tuple(Item(key, Terms(points=load_exercise(key, course).points)) for key in course.exercises()))


def parse_time(text: str) -> datetime:
    """An ISO 8601 time with an offset, in UTC. Raises CourseError."""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise CourseError(f"{text!r} is no time: write it as 2026-12-04T18:00:00+01:00.") from None
    if when.tzinfo is None:
        raise CourseError(f"The time {text!r} has no offset: write it as 2026-12-04T18:00:00+01:00, or with Z for UTC.")
    return when.astimezone(UTC)


def _item(word: str, value: Any, share: float | None, hidden: bool, course: Course, name: str) -> Item:
    key = course.exercise(word)
    where = f"{name}, {word}"
    given = value if isinstance(value, dict) else {"points": value}
    _only(given, ITEM_WORDS, where)
    points = given.get("points")
    if isinstance(points, bool) or not isinstance(points, (int, float)) or not 0 < points < 1e6:
        raise CourseError(f"{where}: points must be a number above 0, as in `{word} = 6`.")
    own = _share(given.get("budget_share"), where)
    return Item(key, Terms(points, share if own is None else own), _flag(given.get("hidden", hidden), "hidden", where))


def _only(given: Mapping[str, Any], words: set[str], where: str) -> None:
    unknown = sorted(set(given) - words)
    if unknown:
        raise CourseError(f"{where}: {unknown[0]!r} means nothing here; what can be set is {', '.join(sorted(words))}.")


def _share(value: Any, where: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise CourseError(f"{where}: budget_share must be a number from 0 to 1, the part of the points that a kernel within its budget earns.")
    return float(value)


def _flag(value: Any, word: str, where: str) -> bool:
    if not isinstance(value, bool):
        raise CourseError(f"{where}: {word} must be true or false.")
    return value


def _due(value: Any, name: str) -> datetime | None:
    if value is None:
        return None
    if not isinstance(value, datetime) or value.tzinfo is None:
        raise CourseError(f"{name}: due must be a time with its offset, as in due = 2026-12-04T18:00:00+01:00.")
    return value.astimezone(UTC)


def _secret(value: Any, path: Path) -> str:
    make = f"make one with `python3 -c \"import secrets; print(secrets.token_hex())\" > {path.stem}.seed`"
    if not isinstance(value, str) or Path(value).name != value:
        raise CourseError(f'{path.name} wants hidden cases but names no seed_file beside it: {make} and add seed_file = "{path.stem}.seed".')
    try:
        text = (path.parent / value).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise CourseError(f"The seed file {value} of {path.name} can't be read: {make}, and keep it from students.") from None
    if len(text) < SHORTEST_SECRET:
        raise CourseError(f"The seed file {value} has fewer than {SHORTEST_SECRET} characters: {make}.")
    return text
