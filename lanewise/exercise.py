"""What an exercise is: a title, a NumPy reference, cases with their launches, a budget, hints, points.

Each `kernels/<key>.py` binds one of these: `exercise = Exercise(...)` beside a skeleton, `example = Example(...)` beside a worked
kernel. Those files import this module and NumPy, nothing else. A whole one:

    def data(n):
        return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "out": np.empty(n, np.float32), "n": np.int32(n)}

    exercise = Exercise(
        title="Double every element",
        reference=lambda data: {"out": 2.0 * data["x"].astype(np.float64)},
        cases=(
            Case("one block", data(256), Launch(grid=1, block=256, args="x out n")),
            Case("a ragged end", data(1000), lambda data: Launch(ceil_div(1000, 256), 256, "x out n")),
        ),
        budget=Budget("a ragged end", "each element is read once", global_load_sectors=125),
        hints=("Which index has no element?", "Guard the store with `if (i < n)`."),
        points=1,
    )
"""

from __future__ import annotations

import importlib.util
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from lanewise.names import Course, CourseError, Key

Data = dict[str, Any]  # name → array (device memory) or NumPy scalar (by value)
Dims = int | tuple[int, ...]


def lengths(rng: np.random.Generator, *tiles: int) -> list[tuple[int, ...]]:
    """Shapes at which kernels break, for `variation`: all 1, each side one beside its tile (drawn), each side more than a tile and ragged (drawn)."""
    return [
        tuple(1 for _ in tiles),
        tuple(max(2, tile + int(rng.choice((-1, 1)))) for tile in tiles),
        tuple(tile + int(rng.integers(2, max(3, tile))) for tile in tiles),
    ]


def hard_rows(rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """A function of standard normal numbers (…, rows, columns), for `variation`: in turn a row rises, falls, is all negative, lies more than 200 apart, is
    constant. Which comes first is drawn."""
    kinds = (
        lambda x: np.sort(x, axis=-1),
        lambda x: -np.sort(x, axis=-1),
        lambda x: -np.abs(x) - 50,
        lambda x: 80 * x,
        lambda x: np.full_like(x, 7),
    )
    first = int(rng.integers(len(kinds)))

    def shape(x: np.ndarray) -> np.ndarray:
        out = x.copy()
        for number, kind in enumerate(kinds):
            rows = slice((number + first) % len(kinds), None, len(kinds))
            out[..., rows, :] = kind(x[..., rows, :])
        return out

    return shape


def hard_scores(rng: np.random.Generator) -> Callable[[np.ndarray, np.ndarray], None]:
    """A function that edits Q (rows, d) and K (keys, d) in place, for `variation`: of the rows of Q K^T / sqrt(d) one rises, falls, is all negative, lies
    more than 200 apart, is constant, is as it was, in turn. Which comes first is drawn."""
    first = int(rng.integers(6))

    def shape(Q: np.ndarray, K: np.ndarray) -> None:
        K[:, 0] = np.linspace(-1, 1, len(K), dtype=K.dtype)
        K[:, 1] = 1
        one = np.sqrt(Q.shape[1], dtype=Q.dtype)  # of a column of Q: a score of 1 where K has 1
        for kind, (slope, level) in enumerate(((5, 0), (-5, 0), (3, -60), (110, 0), (0, 7))):
            rows = slice((kind + first) % 6, None, 6)
            Q[rows] = 0
            Q[rows, 0], Q[rows, 1] = slope * one, level * one

    return shape


def ceil_div(n: int, size: int) -> int:
    """How many pieces of `size` cover n elements."""
    return -(-n // size)


@dataclass(frozen=True, slots=True)
class TensorMap:
    """An argument for the copy engine: a map of the case's array `name`, cut in boxes. `box` counts elements as the array's shape does, outermost first;
    `swizzle`: "none", "32B", "64B" or "128B"."""

    name: str
    box: tuple[int, ...]
    swizzle: str = "none"


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch. `args` names entries of the case's data in the order of the kernel's parameters: "x out n". Where a parameter is a tensor map, `args`
    is a tuple: `(TensorMap("x", box=(64, 64)), "out", "n")`."""

    grid: Dims
    block: Dims
    args: str | tuple[str | TensorMap, ...]
    shared_bytes: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """For each argument the entry of the data, an array's too that is passed as a tensor map."""
        given = self.args.split() if isinstance(self.args, str) else self.args
        return tuple(one.name if isinstance(one, TensorMap) else one for one in given)

    @property
    def maps(self) -> tuple[TensorMap | None, ...]:
        """For each argument its tensor map, or None."""
        return tuple(one if isinstance(one, TensorMap) else None for one in (self.args.split() if isinstance(self.args, str) else self.args))


@dataclass(frozen=True, slots=True)
class Case:
    """One input a kernel must treat rightly.

    `make(rng)` returns the data: input arrays, output arrays (their content is poisoned before the launch) and NumPy scalars.
    `launch` is a Launch, or a function of the data that returns one. A case that isn't `visible` is checked too,
    and a learner reads only whether it passed and what was wrong, never its data.
    """

    name: str
    make: Callable[[np.random.Generator], Data]
    launch: Launch | Callable[[Data], Launch]
    visible: bool = True
    rtol: float | None = None  # None: the exercise's
    atol: float | None = None
    max_steps: int | None = None  # None: the simulator's default

    def data(self, seed: int = 0) -> Data:
        """The case's data, the same on every machine for one seed."""
        return self.make(np.random.default_rng([zlib.crc32(self.name.encode()), seed]))

    def launch_for(self, data: Data) -> Launch:
        return self.launch if isinstance(self.launch, Launch) else self.launch(data)


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A limit from below, for counters where more is better: `active_lane_ratio=AtLeast(0.9)`."""

    value: float


@dataclass(frozen=True, slots=True, init=False)
class Budget:
    """What one case may cost, in the names of `simt.Counters`: the same on every machine, so no clock is needed.

    A number is the most that is allowed, AtLeast the least. `why` ends the sentence "…: <why>." and should say where the number comes from.
    """

    case: str
    why: str
    limits: Mapping[str, int | float | AtLeast]

    def __init__(self, case: str, why: str, **limits: int | float | AtLeast):
        object.__setattr__(self, "case", case)
        object.__setattr__(self, "why", why)
        object.__setattr__(self, "limits", limits)


@dataclass(frozen=True, slots=True)
class Trace:
    """The running state that a kernel tells through a nullable parameter, for a verdict that has to explain wrong values.

    The kernel's parameter `name` is a null pointer in the cases (`np.uintp(0)`). Where a case's values are wrong it is launched once more with a float32
    array there, of the shape of `reference(data)`: leading axes as in `axes`, then one entry a `step` (a key, a key tile), then the `states`.
    """

    reference: Callable[[Data], np.ndarray]
    step: str = "key tile"
    axes: tuple[str, ...] = ("row",)
    states: tuple[str, ...] = ("m", "l")
    name: str = "trace"


@dataclass(frozen=True, slots=True)
class Slip:
    """A usual mistake and the outputs that it leaves: where a case's wrong outputs are these, the verdict adds `says`, a sentence that names the mistake.

    `gives(data)` returns name → array, in float64, for one or all of the outputs, as the reference would if it made the mistake.
    """

    says: str
    gives: Callable[[Data], dict[str, np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class Example:
    """A worked kernel: what it computes and on which cases the tests run it.

    `reference(data)` returns name → expected array, computed in float64. The arrays it names are the outputs: poisoned before the launch, every element
    must be written. Those also named in `updates` are read and written in place (not poisoned: the kernel starts from the case's content).
    An element is right when `abs(got - expected) <= atol + rtol * abs(expected)`, in float64 (equal infinities and NaN where NaN is expected are right, too);
    integers must be equal.
    """

    title: str
    reference: Callable[[Data], dict[str, np.ndarray]]
    cases: tuple[Case, ...]
    updates: tuple[str, ...] = ()
    budget: Budget | tuple[Budget, ...] = ()
    trace: Trace | None = None
    slips: tuple[Slip, ...] = ()
    rtol: float = 1e-5
    atol: float = 1e-6
    arch: str = "sm_90a"
    options: tuple[str, ...] = ()
    shows: str = ""  # a Finding.kind: this kernel is there to show that fault, and the tests want it as the verdict
    kernel: str = ""  # the entry point; filled from the key's slug
    key: Key = field(default=Key(0, "", ""))  # filled from the file's name

    @property
    def budgets(self) -> tuple[Budget, ...]:
        return (self.budget,) if isinstance(self.budget, Budget) else self.budget

    def problems(self) -> list[str]:
        """What is wrong with the description itself, one sentence each (the tests and `lanewise check` want none)."""
        found = []
        names = [case.name for case in self.cases]
        if not names:
            found.append("it has no case")
        found += [f"two cases are called {name!r}" for name in dict.fromkeys(names) if names.count(name) > 1]
        found += [f"a budget speaks of the case {budget.case!r}, which isn't there" for budget in self.budgets if budget.case not in names]
        found += [f"the budget of {budget.case!r} doesn't say why" for budget in self.budgets if not budget.why.strip()]
        return found


@dataclass(frozen=True, kw_only=True)
class Exercise(Example):
    """A kernel for the learner to write or repair. `hints` come one at a time, the second nearly gives it away.

    `budget_share` is the part of the points that only a kernel within its budget earns; 1.0 where the skeleton's values are right already.
    `variation(rng)` gives cases of other shapes and data, for a class that is graded from a secret seed: `lengths` and `hard_rows` draw them.
    """

    hints: tuple[str, ...]
    points: float = 1
    budget_share: float = 0.5
    variation: Callable[[np.random.Generator], Sequence[Case]] | None = None

    def with_hidden(self, secret: int) -> Exercise:
        """This exercise with hidden cases drawn from a secret seed behind its own: the variation's, else its first case with other numbers.

        None of them is visible; their names begin with "hidden" and the number.
        """
        rng = np.random.default_rng([zlib.crc32(str(self.key).encode()), secret])
        drawn = self.variation(rng) if self.variation else [replace(self.cases[0], name="other numbers")]
        hidden = tuple(replace(case, name=f"hidden {number}: {case.name}", visible=False) for number, case in enumerate(drawn, 1))
        return replace(self, cases=self.cases + hidden)

    def problems(self) -> list[str]:
        found = super().problems()
        if len(self.hints) != 2:
            found.append(f"it has {len(self.hints)} hints, two are wanted")
        if self.points < 1:
            found.append("its points are below 1")
        if not any(case.visible for case in self.cases):
            found.append("no case is visible")
        return found


@dataclass(frozen=True, slots=True)
class Wrong:
    """A faulty variant of a solution and the verdict it must get; tests/wrong/<key>.py binds WRONG to a list of them.

    Each `find` of `edits` occurs exactly once in the solution. `line` is the verdict's line as a number of the edited text, or a piece of text that
    stands on that line alone; None leaves it open. `says` is part of the verdict's message.
    """

    name: str
    edits: list[tuple[str, str]]
    kind: str  # a Finding.kind, or wrong-values, over-budget, compile-error, kernel-not-found, unsupported
    line: int | str | None = None
    says: str = ""

    def apply(self, solution: str) -> str:
        """The solution, edited. Raises CourseError where a find text occurs never or more than once."""
        text = solution
        for find, substitute in self.edits:
            if solution.count(find) != 1:
                raise CourseError(f"Wrong variant {self.name!r}: {find!r} occurs {solution.count(find)} times in the solution; it must occur once.")
            text = text.replace(find, substitute)
        return text


def load(key: Key, course: Course) -> Exercise | Example:
    """Read kernels/<key>.py. Raises CourseError where the file is missing or binds neither `exercise` nor `example`."""
    wanted, kind = ("exercise", Exercise) if key.is_exercise else ("example", Example)
    path = course.spec(key)
    if not path.is_file():
        raise CourseError(f"kernels/{key}.py is missing: write it, with `{wanted} = {kind.__name__}(…)`.")
    described = getattr(_run(path, "lanewise_kernels"), wanted, None)
    if not isinstance(described, kind):
        raise CourseError(f"kernels/{key}.py must bind `{wanted}` to an {kind.__name__}.")
    return replace(described, key=key, kernel=described.kernel or key.slug)


def load_exercise(key: Key, course: Course) -> Exercise:
    """`load`, for the key of an exercise."""
    described = load(key, course)
    if not isinstance(described, Exercise):
        raise CourseError(f"{key} is a worked kernel, no exercise: `lanewise list` shows the exercises.")
    return described


def load_wrong(key: Key, course: Course) -> list[Wrong]:
    """The faulty variants of an exercise. Raises CourseError where tests/wrong/<key>.py is missing or binds no WRONG."""
    path = course.wrong(key)
    if not path.is_file():
        raise CourseError(f"tests/wrong/{key}.py is missing: write it, with `WRONG = [Wrong(…), …]`.")
    variants = getattr(_run(path, "lanewise_wrong"), "WRONG", None)
    if not variants or not all(isinstance(variant, Wrong) for variant in variants):
        raise CourseError(f"tests/wrong/{key}.py must bind WRONG to a list of Wrong(…).")
    return list(variants)


def _run(path: Path, package: str) -> ModuleType:
    """Execute a description as a module of its own name, leaving no bytecode beside it."""
    spec = importlib.util.spec_from_file_location(f"{package}.{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes_bytecode
    return module
