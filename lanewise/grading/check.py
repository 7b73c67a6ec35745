"""The one check: a text against an exercise → Verdict.

Four callers: the learner's text, the solution (must pass every case), the skeleton (must compile and fail), each wrong variant (must get its named verdict).
For each case, on private data: launch under two schedules, findings first, then inputs unmodified, then values, then the budget.
Where there is a GPU, a kernel that passed on the simulator runs on it, too, and its values are compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lanewise import simt
from lanewise.exercise import AtLeast, Budget, Case, Data, Example, Exercise, Launch
from lanewise.grading.compare import mismatch
from lanewise.grading.slips import named_slip
from lanewise.grading.source import NotGradable, check_includes
from lanewise.grading.trace import explain, room
from lanewise.grading.verdict import CaseResult, Verdict, clean, excerpt, show_number

if TYPE_CHECKING:
    from lanewise.grading.gpu import Gpu, GpuFailure

SCHEDULES = (0, 1)
DEFAULT_SHARED = 48 * 1024  # bytes of dynamic shared memory a launch may ask for until the kernel's attribute is raised
HOPELESS = frozenset({"step-limit", "deadlock"})  # every further case would take its seconds to say the same


@dataclass(frozen=True, slots=True)
class Failure:
    """The first thing that went wrong in a case."""

    kind: str
    message: str
    line: int | None = None


@dataclass(slots=True)
class Outcome:
    """A case that ran: its failure or None, and the report of schedule 0."""

    case: Case
    failure: Failure | None
    report: Any = None


Secret = Callable[[], int | None]
Launcher = Callable[[Case, Launch, list[Any], int], Any]  # (case, launch, arguments, schedule) → Report


def check(
    exercise: Example,
    text: str,
    *,
    seed: int = 0,
    secret: Secret = lambda: None,
    compile: Callable[[str, str, tuple[str, ...]], Any] = simt.compile,
    schedules: tuple[int, ...] = SCHEDULES,
    progress: Callable[[str], None] = lambda stage: None,
    gpu: Gpu | None = None,
    headers: Collection[str] | None = None,
    note: Callable[[str], None] | None = None,
    to_the_end: bool = True,
) -> Verdict:
    """Grade one text. Never raises for a fault of the text.

    `seed` makes other data of the same cases. `secret` is called once the text is compiled; a number adds hidden cases drawn from it, and makes the data of
    every case that isn't visible. `compile` takes (text, arch, options). `progress` is told "gpu" as the check comes to one. `gpu`: how to reach it; None: as
    `cp` finds one. `headers`: which of kernels/*.cuh may be included; None: all. `note` is told where a GPU can't
    run the kernel, so that its verdict is the simulator's alone; None: standard error is. `to_the_end`: run cases that come after one that is wrong, too;
    kind, message and score don't depend on it. Raises GpuTrouble where a GPU gives no answer.
    """
    try:
        check_includes(text, headers)
        module = compile(text, exercise.arch, exercise.options)
        kernel = module.kernel(exercise.kernel)
    except NotGradable as error:
        return _verdict(exercise, text, [], Failure(error.kind, str(error), error.line))
    except simt.CompileError as error:
        return _verdict(exercise, text, [], compile_failure(error, text))
    except simt.KernelNotFound as error:
        return _verdict(exercise, text, [], Failure("kernel-not-found", str(error)))
    except simt.Unsupported as error:
        return _verdict(exercise, text, [], Failure("unsupported", str(error), named_line(str(error))))
    hidden = secret()
    if hidden is not None and isinstance(exercise, Exercise):
        exercise = exercise.with_hidden(hidden)

    def launcher(case: Case, launch: Launch, args: list[Any], schedule: int) -> Any:
        return start(kernel, case, launch, args, schedule)

    def seed_of(case: Case) -> int:
        return seed if hidden is None or case.visible else hidden

    outcomes = list(_run_cases(exercise, launcher, seed_of, schedules, to_the_end))
    failures = [outcome.failure for outcome in outcomes if outcome.failure is not None]
    # What is wrong comes before what is dear, in whichever case.
    failure = next((failure for failure in failures if failure.kind != "over-budget"), next(iter(failures), None))
    if failure is None or failure.kind == "over-budget":
        progress("gpu")  # before cp is imported: it may open the GPU
        on_gpu = _on_gpu(exercise, text, seed_of, gpu, note)
        if on_gpu is not None:
            failure = Failure(on_gpu.kind, on_gpu.message)
            outcomes[on_gpu.case].failure = failure
    return _verdict(exercise, text, outcomes, failure)


def refused(exercise: Example, text: str, message: str) -> Verdict:
    """The verdict on a text that no compiler takes, whatever happened on the way to knowing that."""
    return _verdict(exercise, text, [], Failure("compile-error", message))


def start(kernel: Any, case: Case, launch: Launch, args: list[Any], schedule: int = 0) -> Any:
    """Launch a simt.Kernel for a case; returns its report. Allows the dynamic shared memory that the case asks for, as host code would."""
    if launch.shared_bytes > DEFAULT_SHARED:
        kernel.max_dynamic_shared_size_bytes = launch.shared_bytes
    return kernel.launch(launch.grid, launch.block, args, launch.shared_bytes, schedule=schedule, max_steps=case.max_steps)


def arguments(launch: Launch, data: Data, outputs: Collection[str]) -> list[Any]:
    """The launch's arguments from the case's data, outputs as simt.Output. Raises ValueError for a name without data."""
    missing = [name for name in launch.names if name not in data]
    if missing:
        raise ValueError(f"a launch names {missing[0]!r}, which the case's data doesn't have; it has {', '.join(data)}")
    marked = {name: simt.Output(data[name]) if name in outputs else data[name] for name in launch.names}
    return [
        simt.tensor_map(marked[name], box.box, swizzle=box.swizzle) if box is not None else marked[name]
        for name, box in zip(launch.names, launch.maps, strict=True)
    ]


def run_case(exercise: Example, case: Case, launcher: Launcher, seed: int = 0, schedules: tuple[int, ...] = SCHEDULES) -> Outcome:
    """One case under every schedule, until something is wrong. Each launch gets data of its own, made anew from the seed."""
    expected = exercise.reference(case.data(seed))
    outputs = expected.keys() - set(exercise.updates)
    untouched = case.data(seed)
    first = None
    for schedule in schedules:
        data = case.data(seed)
        launch = case.launch_for(data)
        try:
            report = launcher(case, launch, arguments(launch, data, outputs), schedule)
        except simt.Unsupported as error:  # in a part that is read only when it runs: which case comes there is told of visible ones alone
            return Outcome(case, Failure("unsupported", str(error), named_line(str(error))), first)
        first = first or report
        failure = _finding(report) or _modified(data, untouched, expected)
        if failure is None and (failure := _wrong(exercise, case, untouched, data, expected, launch)) is not None:
            failure = _with_state(exercise, case, launcher, seed, outputs, failure)
        if failure is not None:
            return Outcome(case, failure, first)
    for budget in exercise.budgets:
        if budget.case == case.name and (failure := over_budget(budget, first)) is not None:
            return Outcome(case, failure, first)
    return Outcome(case, None, first)


def over_budget(budget: Budget, report: Any) -> Failure | None:
    """The first counter beyond its limit, with the source line that has most of it. A counter that isn't exact here (None) isn't held against anybody."""
    for name, limit in budget.limits.items():
        value = getattr(report.counters, name)
        if value is None:
            continue
        least = isinstance(limit, AtLeast)
        bound = limit.value if isinstance(limit, AtLeast) else limit
        if (value < bound) if least else (value > bound):
            line = _costliest(report, name, least)
            most = f" Most of it is on line {line}." if line is not None and not least else ""
            words = f"{name} is {_show(value)}, {'at least' if least else 'at most'} {_show(bound)} is the budget: {budget.why.strip().rstrip('.')}.{most}"
            return Failure("over-budget", words, line)
    return None


def compile_failure(error: simt.CompileError, text: str) -> Failure:
    """The compiler's first complaint about the learner's own lines; what it says about any other file stays out."""
    message = str(error)
    if re.search(r"\bout of memory\b", message):
        return Failure("compile-limit", "The compiler ran out of memory: look at templates, constexpr loops, #pragma unroll and very large arrays.")
    line = named_line(message)
    if line is None:
        match = re.search(r"^kernel\.cu\((\d+)\): (?:catastrophic )?error", error.log, re.MULTILINE)
        line = int(match[1]) if match else None
    if line is not None and line > text.count("\n") + 1:
        line = None
    return Failure("compile-error", message, line)


def named_line(message: str) -> int | None:
    """The first "line N" or "kernel.cu(N)" of a message."""
    match = re.search(r"\bline (\d+)|kernel\.cu\((\d+)\)", message)
    return int(match[1] or match[2]) if match else None


def _run_cases(
    exercise: Example, launcher: Launcher, seed_of: Callable[[Case], int], schedules: tuple[int, ...], to_the_end: bool
) -> Iterator[Outcome]:
    stopped = ""
    for case in exercise.cases:
        if stopped:
            yield Outcome(case, Failure("", f"not run: the case before {stopped}"))
            continue
        outcome = run_case(exercise, case, launcher, seed_of(case), schedules)
        found = [finding.kind for finding in outcome.report.findings] if outcome.report is not None else []
        if outcome.failure is not None and not HOPELESS.isdisjoint((outcome.failure.kind, *found)):
            stopped = "never ended"
        elif not to_the_end and outcome.failure is not None and outcome.failure.kind != "over-budget":
            stopped = "is wrong"
        yield outcome


def _finding(report: Any) -> Failure | None:
    error = next((finding for finding in report.findings if finding.severity == "error"), None)
    return Failure(error.kind, error.message, error.line) if error is not None else None


def _modified(data: Data, untouched: Data, expected: dict[str, np.ndarray]) -> Failure | None:
    for name, value in data.items():
        if name in expected or not isinstance(value, np.ndarray):
            continue
        before = untouched[name]
        if value.tobytes() == before.tobytes():
            continue
        raw, was = (np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(a.size, -1) for a in (value, before))
        index = np.unravel_index(int(np.argmax((raw != was).any(axis=1))), value.shape)
        where = f"[{', '.join(str(int(i)) for i in index)}]" if value.ndim else ""
        words = f"{name} is an input, but {name}{where} was changed from {before[index]} to {value[index]}: write to the outputs alone."
        return Failure("wrong-values", words)
    return None


def _wrong(exercise: Example, case: Case, inputs: Data, data: Data, expected: dict[str, np.ndarray], launch: Launch) -> Failure | None:
    rtol = exercise.rtol if case.rtol is None else case.rtol
    atol = exercise.atol if case.atol is None else case.atol
    blocks, threads = int(np.prod(launch.grid)), int(np.prod(launch.block))
    for name, right in expected.items():
        words = mismatch(name, data[name], right, rtol, atol, threads, blocks)
        if words and (slip := named_slip(exercise, case, inputs, data, expected)):
            words = f"{mismatch(name, data[name], right, rtol, atol, threads, blocks, advise=False)} {slip}"
        if words:
            return Failure("wrong-values", words)
    return None


def _with_state(exercise: Example, case: Case, launcher: Launcher, seed: int, outputs: Collection[str], failure: Failure) -> Failure:
    """Wrong values, and where the kernel can tell its running state, the first state that is wrong: one more launch, with an array for the trace."""
    if exercise.trace is None:
        return failure
    data = case.data(seed)
    expected, told = room(exercise.trace, data)
    launch = case.launch_for(data)
    if exercise.trace.name not in launch.names or isinstance(data[exercise.trace.name], np.ndarray):  # the case compares its trace itself
        return failure
    data[exercise.trace.name] = told
    report = launcher(case, launch, arguments(launch, data, outputs), 0)
    words = "" if _finding(report) else explain(exercise.trace, told, expected, exercise.rtol if case.rtol is None else case.rtol)
    return replace(failure, message=f"{failure.message} {words}".rstrip())


def _on_gpu(exercise: Example, text: str, seed_of: Callable[[Case], int], gpu: Gpu | None, note: Callable[[str], None] | None) -> GpuFailure | None:
    from lanewise import cp
    from lanewise.grading.gpu import to_stderr, values_on_gpu

    return values_on_gpu(exercise, text, seed_of, gpu, note or to_stderr) if gpu is not None or cp.backend == "gpu" else None


def _verdict(exercise: Example, text: str, outcomes: list[Outcome], failure: Failure | None) -> Verdict:
    points = exercise.points if isinstance(exercise, Exercise) else 1
    share = exercise.budget_share if isinstance(exercise, Exercise) else 1.0
    ran = {outcome.case.name: outcome for outcome in outcomes}
    counters = {name: outcome.report.counters.as_dict() for name, outcome in ran.items() if outcome.report is not None}
    cases = tuple(_case_result(case, ran.get(case.name)) for case in exercise.cases)
    if failure is None:
        return clean(Verdict(str(exercise.key), points, points, None, "", None, cases, (), counters))
    only_budget = bool(outcomes) and failure.kind == "over-budget" and all(o.failure is None or o.failure.kind == "over-budget" for o in outcomes)
    score = points * (1 - share) if only_budget else 0.0
    failed = next((outcome for outcome in outcomes if outcome.failure is failure), None)
    message = failure.message
    lines = () if "\n" in message else excerpt(text, failure.line)  # a message of several lines quotes the source itself
    if failed is not None:
        message = f"{_case_words(failed.case, exercise)}: {message}"
    return clean(Verdict(str(exercise.key), score, points, failure.kind, message, failure.line, cases, lines, counters))


def _case_result(case: Case, outcome: Outcome | None) -> CaseResult:
    if outcome is None:
        return CaseResult(case.name, False, case.visible, "not run")
    return CaseResult(case.name, outcome.failure is None, case.visible, outcome.failure.message if outcome.failure else "")


def _case_words(case: Case, exercise: Example) -> str:
    return f"Case {exercise.cases.index(case) + 1} ({case.name})" if case.visible else f"Case {exercise.cases.index(case) + 1} (a hidden one, {case.name})"


def _costliest(report: Any, counter: str, least: bool) -> int | None:
    """The line with most of a counter; for a ratio the line with the lowest."""
    lines = {line: getattr(counters, counter, None) for line, counters in report.by_line.items() if line}
    known = {line: value for line, value in lines.items() if value is not None}
    if least:
        known = {line: value for line, value in known.items() if report.by_line[line].warp_instructions}
    if not known or not any(known.values()):
        return None
    return min(known, key=lambda line: (known[line], line)) if least else max(known, key=lambda line: (known[line], -line))


def _show(value: float) -> str:
    return show_number(value) if isinstance(value, int) or float(value).is_integer() else f"{value:.3g}"
