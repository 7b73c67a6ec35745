"""One thing the simulator has to say about a launch."""

from __future__ import annotations

from dataclasses import dataclass

ERRORS = frozenset(
    "out-of-bounds misaligned uninitialised-read race barrier-divergence deadlock warp-mask async-copy "
    "step-limit argument-mismatch launch-refused unwritten-output trap register-count mbarrier tensor-map".split()
)
REMARKS = frozenset(
    "uncoalesced bank-conflict divergence local-memory same-value-write unread-shared aliased-shared index-wrapped setmaxnreg-ignored "
    "swizzle-alignment unawaited-arrival".split()
)


@dataclass(frozen=True, slots=True)
class Party:
    """The second access of a race, `Finding.other`. `access` is "read", "write" or "atomic"; `thread` and `block` are (x, y, z)."""

    line: int | None
    access: str
    thread: tuple[int, int, int]
    block: tuple[int, int, int]


@dataclass(slots=True)
class Finding:
    """A fault (`severity` "error") or a remark of one launch, in the learner's terms.

    `array` is the bare name in the source, also for a scalar parameter, a shared or a local array; `index` the element
    (an int, or a tuple for an array of several dimensions); `thread` and `block` are (x, y, z); `other` is the second
    party of a race. Findings of one kind, array and pair of lines are merged, `count` says how many there were.
    """

    kind: str
    severity: str
    message: str
    line: int | None = None
    array: str | None = None
    index: int | tuple[int, ...] | None = None
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    other: Party | None = None
    count: int = 1
