"""One file per diagnosis. `Faults` turns what they see into findings."""

from __future__ import annotations

from .faults import Faults
from .happened import Happened
from .initialised import Initialised
from .named_barriers import some_warps_meet
from .order import Order
from .races import GlobalRaces
from .shared import SharedCheck
from .taint import TAINT_NAMES, tainted_run
from .waiting import warp_operation
from .wrapping import watch, watched_products

__all__ = [
    "Faults", "GlobalRaces", "Happened", "Initialised", "Order", "SharedCheck", "TAINT_NAMES", "some_warps_meet", "tainted_run", "warp_operation", "watch",
    "watched_products",
]  # fmt: skip
