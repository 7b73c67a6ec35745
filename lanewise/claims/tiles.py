"""Figures of chapter 24's tables: what tiles take, by the compiler, and how fast they are."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lanewise.results import Row, Table


def tile_costs(table: Table) -> dict[str, str]:
    square = [row for row in table.rows if row["Br"] == row["Bc"] == 64 and row["warps"] == 4]
    largest = [row for row in table.rows if row["Br"] == row["Bc"] == 128 and row["warps"] == 4]

    def listed(rows: list[Row], column: str) -> str:
        return " and ".join(f"{row[column]:,}" for row in sorted(rows, key=lambda row: row["d"]))

    columns = {"registers": "registers", "spilled": "spilled_bytes", "shared": "shared_bytes", "blocks": "blocks_an_SM"}
    found = {"cost_ds": listed(square, "d")}
    for name, rows in (("square", square), ("large", largest)):
        found |= {f"{name}_{what}": listed(rows, column) for what, column in columns.items()}
    return found


def tile_sweep(table: Table) -> dict[str, str]:
    """Shares are of the fastest tile's speed for the same shape. `fixed`: of each d the tile whose worst share is best."""
    best: dict[tuple[Any, ...], Row] = {}
    for row in table.rows:
        if row["ms"] < best.setdefault(_shape(row), row)["ms"]:
            best[_shape(row)] = row
    share = [(row, 100 * best[_shape(row)]["ms"] / row["ms"]) for row in table.rows]
    won = Counter(f"{row['Br']} × {row['Bc']}" for row in best.values())
    square = [(row, part) for row, part in share if (row["Br"], row["Bc"], row["warps"]) == (64, 64, 4)]
    first = [f"{'causal, ' if row['causal'] else ''}N = {row['N']:,}, d = {row['d']}" for row, part in square if part == 100]
    smallest = [part for row, part in share if (row["Br"], row["Bc"], row["warps"]) == (64, 32, 4)]
    worst: dict[tuple[Any, ...], float] = {}
    for row, part in share:
        worst[_tile(row)] = min(part, worst.get(_tile(row), part))
    heads = sorted({row["d"] for row in table.rows})
    fixed = [max((part, tile) for tile, part in worst.items() if tile[0] == d) for d in heads]
    return {
        "sweep_tiles": str(len(worst)),
        "sweep_shapes": str(len(best)),
        "sweep_winners": ", ".join(f"{tile} ({times})" for tile, times in won.most_common()),
        "square_first": " and ".join(first) or "none",
        "square_share": f"{min(part for _, part in square):.0f} to {max(part for _, part in square):.0f}",
        "smallest_share": f"{min(smallest):.0f} to {max(smallest):.0f}",
        "fixed": " and ".join(f"{Br} × {Bc} with {warps} warps for d = {d}" for _, (d, Br, Bc, warps) in fixed),
        "fixed_share": " and ".join(f"{part:.0f}" for part, _ in fixed),
    }


def _shape(row: Row) -> tuple[Any, ...]:
    return row["d"], row["causal"], row["N"]


def _tile(row: Row) -> tuple[Any, ...]:
    return row["d"], row["Br"], row["Bc"], row["warps"]
