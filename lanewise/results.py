"""Tables measured on hardware: results/<gpu>.json has one key a table, and each table says on what, with what and when it was measured."""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lanewise.names import CourseError, find_course, write_atomically

Row = dict[str, Any]
RATIOS = frozenset(("ratio", "low", "high"))  # one beside another, and the ends of its interval: shown with two decimals


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with equal keys, and where they come from. As text: the rows in columns, then one line about their origin."""

    name: str
    device: str
    driver: str
    date: str  # ISO: 2026-11-29
    command: str  # what measures it again
    versions: dict[str, str]
    rows: list[Row]

    def column(self, key: str) -> list[Any]:
        """One value of each row. Raises KeyError for a column that isn't there."""
        return [row[key] for row in self.rows]

    def only(self, key: str, values: Container) -> Table:
        """The same table with the rows whose `key` is among `values`."""
        return replace(self, rows=[row for row in self.rows if row[key] in values])

    def columns(self, *keys: str) -> Table:
        """The same table with these columns alone. Raises KeyError for one that isn't there."""
        return replace(self, rows=[{key: row[key] for key in keys} for row in self.rows])

    def __str__(self) -> str:
        heads = list(self.rows[0]) if self.rows else []
        cells = [[head.replace("gb_s", "GB/s").replace("_", " ") for head in heads], *([_show(row[head], head) for head in heads] for row in self.rows)]
        widths = [max(len(line[i]) for line in cells) for i in range(len(heads))]
        words = [bool(self.rows) and isinstance(self.rows[0][head], str) for head in heads]
        lines = ["  ".join(cell.ljust(w) if left else cell.rjust(w) for cell, w, left in zip(line, widths, words, strict=True)).rstrip() for line in cells]
        return "\n".join([*lines, self.origin])

    @property
    def origin(self) -> str:
        return f"measured on {self.device}, driver {self.driver}, {self.date}: {self.command}"


def read(name: str, gpu: str = "h200") -> Table | None:
    """The table `name` of results/<gpu>.json, or None where it hasn't been measured. Raises CourseError for a file that can't be read as such."""
    path = path_for(gpu)
    entry = _content(path).get(name)
    if entry is None:
        return None
    try:
        return Table(name, **entry)
    except TypeError as error:
        raise CourseError(f"The table {name!r} of results/{path.name} isn't whole ({error}): measure it again.") from None


def tables(gpu: str = "h200") -> dict[str, Any]:
    """Every table of results/<gpu>.json as it is stored, by its name; empty where nothing has been measured."""
    return {name: entry for name, entry in _content(path_for(gpu)).items() if isinstance(entry, dict)}


def write(table: Table, path: Path) -> None:
    """Put a table into a results file in the place of its former self; the other tables stay. The file itself names device and date of its latest run."""
    content = _content(path)
    entry = asdict(table)
    entry.pop("name")
    content |= {"device": table.device, "date": table.date, table.name: entry}
    write_atomically(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def path_for(gpu: str) -> Path:
    """results/h200.json for "h200" or "NVIDIA H200"."""
    return find_course().root / "results" / f"{gpu.lower().removeprefix('nvidia ').replace(' ', '_')}.json"


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise CourseError(f"results/{path.name} isn't JSON ({error}): take it from git again.") from None
    return content


def _show(value: Any, head: str = "") -> str:
    if isinstance(value, float):
        if head in RATIOS or head.startswith("of_"):
            return f"{value:.2f}"
        return f"{value:.1g}" if 0 < abs(value) < 0.05 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
