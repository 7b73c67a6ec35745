"""docs/claims.md: what two articles about FlashAttention claim, beside what was measured. Made from results/*.json, so that no number is typed.

`python -m lanewise.claims` writes the page; `python -m lanewise.claims --measure` first takes the simulator's tables anew.
"""

from __future__ import annotations

from pathlib import Path

from lanewise import results
from lanewise.claims.figures import OF, Tables, figures
from lanewise.claims.lines import CLAIMS, Claim
from lanewise.names import Course, CourseError, write_atomically
from lanewise.results import Table

HEAD = """\
# Claims, measured

The course was asked for by way of two articles, one on CUDA and FlashAttention, one on its fusion and tiling. Here is what they claim, one line each in
our words; what we expected; what was measured; and what follows. *Listing A* is the second article's pseudocode of attention in tiles, *listing B* its
CUDA kernel. *Documented* means that we can't measure it and name the source instead. *Not measured yet* means what it says.

This page is made by `lanewise build` from [results](../results/): each number under “measured” comes from a table named beside it, and
[below](#tables) each table says on what, when and by which command it was measured. The simulator's counters are those of Nsight Compute; it has no clock.

"""


def page(tables: Tables) -> str:
    """The whole page as text."""
    known = figures(tables)
    lines = ["| | chapter | the article says | we expect | measured | verdict |", "|---|---|---|---|---|---|", *(row(claim, known) for claim in CLAIMS)]
    counts = [f"{sum(shown_verdict(claim, known) == verdict for claim in CLAIMS)} {verdict}" for verdict in dict.fromkeys(c.verdict for c in CLAIMS)]
    used = [name for name in OF if name in tables]
    parts = [HEAD + "\n".join(lines), f"{len(CLAIMS)} lines: {', '.join(counts)}.", "## Tables", *(section(tables[name]) for name in used)]
    return "\n\n".join(parts) + "\n"


def row(claim: Claim, known: dict[str, dict[str, str]]) -> str:
    """One line of the table. A claim one of whose tables is missing is not measured yet, whatever its verdict will be."""
    verdict = shown_verdict(claim, known)
    measured = "–"
    if claim.measured and verdict_is_known(claim, known):
        values = {name: value for table in claim.tables for name, value in known[table].items()}
        places = ", ".join(f"[{name}](#{name})" for name in claim.tables)
        measured = f"{claim.measured.format_map(values)} ({places})"
    elif claim.source:
        measured = f"source: {claim.source}"
    ending = f"**{verdict}**" + (f". {claim.why}" if claim.why and verdict == claim.verdict else "")
    return f"| {claim.number} | {claim.chapter} | {claim.says} | {claim.expected} | {measured} | {ending} |"


def verdict_is_known(claim: Claim, known: dict[str, dict[str, str]]) -> bool:
    return all(name in known for name in claim.tables)


def shown_verdict(claim: Claim, known: dict[str, dict[str, str]]) -> str:
    return claim.verdict if verdict_is_known(claim, known) else "not measured yet"


def section(table: Table) -> str:
    """A table of results with its origin. The ends of intervals, two for each ratio, are left to results/."""
    heads = [head for head in table.rows[0] if not head.endswith((" low", " high"))]
    versions = ", ".join(f"{name} {version}" for name, version in table.versions.items())
    driver = f", driver {table.driver}" if table.driver else ""
    lines = ["| " + " | ".join(head.replace("gb_s", "GB/s").replace("_", " ") for head in heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(shown(entry[head]) for head in heads) + " |" for entry in table.rows]
    return f"### {table.name}\n\n{table.device}{driver}, {table.date}: `{table.command}` ({versions})\n\n" + "\n".join(lines)


def shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def stored() -> dict[str, Table]:
    """Every table that the page can use, from results/claims.json and results/h200.json."""
    found = {name: results.read(name, "claims") or results.read(name) for name in OF}
    return {name: table for name, table in found.items() if table is not None}


def path(course: Course) -> Path:
    return course.root / "docs" / "claims.md"


def write_page(course: Course) -> list[Path]:
    """Write docs/claims.md where it differs; the files that changed."""
    if not stale_page(course):
        return []
    write_atomically(path(course), page(stored()))
    return [path(course)]


def stale_page(course: Course) -> list[str]:
    """A sentence where docs/claims.md isn't what results/ give, else none."""
    try:
        text = path(course).read_text(encoding="utf-8")
    except OSError:
        text = ""
    try:
        return [] if text == page(stored()) else ["docs/claims.md isn't what results/*.json give: run `lanewise build --docs`."]
    except (KeyError, StopIteration) as error:
        raise CourseError(f"A table in results/ lacks a row or column that docs/claims.md quotes ({error!r}): measure it again.") from None
