"""cupy.linalg on the simulator."""

from __future__ import annotations

import numpy as np

from lanewise.twin.functions import LINALG
from lanewise.twin.wrap import device_function


def __getattr__(name: str):
    if name not in LINALG:
        raise AttributeError(f"The simulator's cp.linalg has no {name!r}: use numpy.linalg on cp.asnumpy(array).")
    value = globals()[name] = device_function(getattr(np.linalg, name), name)
    return value


def __dir__() -> list[str]:
    return sorted(LINALG)
