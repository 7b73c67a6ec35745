"""What the simulator gave, kept for machines where it isn't run: digests of exact outputs, the values of the others.

python tests/gpu/store.py     writes data/simulator_values.json and data/simulator_values.npz anew
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from families.case import Case, difference, digest

DATA = Path(__file__).resolve().parent / "data"
DIGESTS, VALUES = DATA / "simulator_values.json", DATA / "simulator_values.npz"
SMALL = 256  # bytes up to which an exact output is kept whole


class Stored:
    """The stored outputs, by case and position."""

    def __init__(self) -> None:
        self.digests: dict[str, list[str]] = json.loads(DIGESTS.read_text(encoding="utf-8"))["digests"]
        with np.load(VALUES) as archive:
            self.values = {name: archive[name] for name in archive.files}

    def difference(self, case: Case, outputs: list[np.ndarray]) -> str | None:
        """None where `outputs` equal what was stored, within the case's tolerance; else what differs."""
        digests = self.digests.get(case.name)
        if digests is None:
            return f"{case.name}: no stored value; run `python tests/gpu/store.py`"
        for position, actual, known in zip(case.outputs, outputs, digests, strict=True):
            whole = self.values.get(key(case, position))
            if whole is not None:
                found = difference(case, position, actual, whole)
                if found:
                    return found
            elif digest(actual) != known:
                return f"{case.name}: argument {position} isn't bit for bit what the simulator gave"
        return None


def key(case: Case, position: int) -> str:
    return f"{case.name}/{position}"


def write(results: list[tuple[Case, list[np.ndarray]]], made_with: dict) -> None:
    """Replace what is stored."""
    digests = {case.name: [digest(array) for array in outputs] for case, outputs in results}
    values = {
        key(case, position): array
        for case, outputs in results
        for position, array in zip(case.outputs, outputs, strict=True)
        if not case.exact or array.nbytes <= SMALL
    }
    DATA.mkdir(exist_ok=True)
    DIGESTS.write_text(json.dumps({**made_with, "digests": digests}, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    np.savez_compressed(VALUES, **values)
