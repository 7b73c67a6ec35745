"""What a caller may wrap around an argument of a launch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Output:
    """Marks an array that the launch must write completely.

    It is poisoned before the launch: reading, or atomically adding to, an element that nobody set is
    `uninitialised-read`, and an element that is never written is `unwritten-output`.
    """

    array: np.ndarray


@dataclass(eq=False)
class Unset:
    """Marks an array of which elements may be unset (`cp.empty`): reading one is `uninitialised-read`, none has to be written.

    `mask`: True for bytes nobody has set (all of them if None is given before a launch); after it, what is still unset, or None when everything is set.
    """

    array: np.ndarray
    mask: np.ndarray | None = None
