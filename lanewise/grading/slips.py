"""Wrong outputs against those that the usual mistakes of an exercise leave: which mistake looks like that."""

from __future__ import annotations

import numpy as np

from lanewise.exercise import Case, Data, Example
from lanewise.grading.compare import wrong_elements


def named_slip(exercise: Example, case: Case, inputs: Data, got: Data, expected: dict[str, np.ndarray]) -> str:
    """The sentence of the first slip whose outputs are the wrong ones of a case, or "".

    `inputs`: the case's data as they were before the launch. `got`: as the kernel left them. All outputs that a slip gives must be the kernel's,
    within the case's tolerance, and one of them must be wrong: a slip that changes nothing in this case explains nothing.
    """
    rtol = exercise.rtol if case.rtol is None else case.rtol
    atol = exercise.atol if case.atol is None else case.atol
    for slip in exercise.slips:
        with np.errstate(all="ignore"):
            given = slip.gives(inputs)
        fits = all(not wrong_elements(got[name], values, rtol, atol * _growth(values, expected[name])).any() for name, values in given.items())
        if fits and any(wrong_elements(got[name], expected[name], rtol, atol).any() for name in given):
            return slip.says
    return ""


def _growth(values: np.ndarray, expected: np.ndarray) -> float:
    """How many times larger the slip's numbers are than the right ones, 1 or more: rounding errors grow with them."""
    largest = [float(np.max(np.abs(a), where=np.isfinite(a), initial=0.0)) for a in (values, np.asarray(expected))]
    return max(1.0, largest[0] / largest[1]) if largest[1] else 1.0
