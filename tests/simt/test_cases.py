"""Every case of the corpus in cases/: the faulty program is explained, the repaired one is quiet and right, as cases/README.md says."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from cases.faults import CASES, FACTS, Case, Output, Version

from lanewise import simt
from lanewise.grading import compare
from lanewise.simt.counters import Counters
from lanewise.simt.finding import Finding

# What the message must say of the fault, beside the array: names and numbers that the case's `says` gives.
ESSENTIALS = {
    "grid-truncated": [r"y\[256\.\.299\]", r"256 threads", r"300 elements", r"\(n \+ 256 - 1\) // 256 = 2 blocks", r"rounds down"],
    "no-bounds-guard": [r"thread \(10,0,0\) of block \(0,0,0\) writes y\[10\]", r"line 3", r"10 elements", r"y\[10\.\.15\]", r"if \(i < n\)"],
    "block-too-large": [r"2048", r"1024"],
    "shared-over-48k": [r"65536|65,536", r"49152|49,152", r"max_dynamic_shared_size_bytes"],
    "tile-edge-unset": [r"[ab]\[[01]\]\[[01]\]", r"shared", r"line 10", r"0 where there is no data"],
    "tile-overwritten-early": [r"s\[\d+\]", r"line 5", r"line 7", r"__syncthreads\(\)", r"thread \(\d+,0,0\)"],
    "barrier-in-branch": [r"threads 0\.\.31", r"threads 32\.\.63", r"line 4", r"line 5", r"behind the if"],
    "plain-increment": [r"race on s ", r"line 5", r"atomicAdd"],
    "slice-as-contiguous": [r"\bx\b", r"ascontiguousarray"],
    "infinity-undefined": [r"math_constants\.h", r"CUDART_INF_F"],
    "threads-down-a-column": [r"\b32 sectors", r"\b4 would do", r"line 3", r"threadIdx\.x", r"fastest"],
    "listing-partial-load": [r"[qkv]_s\[[23]\]", r"shared", r"loop"],
}


LONG = {"shared-over-48k"}  # one thread adds 16,384 numbers: seconds


@dataclass
class Ran:
    """All launches of one version: its data afterwards, and what was reported."""

    data: dict[str, Any]
    findings: list[Finding] = field(default_factory=list)
    counters: list[Counters] = field(default_factory=list)
    compile_error: simt.CompileError | None = None

    @property
    def errors(self) -> list[Finding]:
        return [f for f in self.findings if f.severity == "error"]

    def array(self, name: str) -> np.ndarray:
        value = self.data[name]
        return value.array if isinstance(value, Output) else value


def run(version: Version, seed: int = 0, schedule: int = 0) -> Ran:
    ran = Ran(version.data(np.random.default_rng(seed)))
    try:
        module = simt.compile(version.source)
    except simt.CompileError as error:
        ran.compile_error = error
        return ran
    written: set[str] = set()
    for launch in version.launches:
        kernel, names = module.kernel(launch.kernel), launch.args.split()
        if launch.max_shared:
            kernel.max_dynamic_shared_size_bytes = launch.max_shared
        args = [_argument(ran.data[n], n in written) for n in names]
        report = kernel.launch(launch.grid, launch.block, args, launch.shared_bytes, schedule=schedule)
        ran.findings += report.findings
        ran.counters.append(report.counters)
        written.update(names)
    return ran


def _argument(value: Any, was_written: bool) -> Any:
    if not isinstance(value, Output):
        return value
    return value.array if was_written else simt.Output(value.array)


def wrong_outputs(case: Case, version: Version, ran: Ran, seed: int = 0) -> list[str]:
    """Names of the outputs that differ from the right values of untouched data, by the README's comparison."""
    untouched = {n: v.array.copy() if isinstance(v, Output) else v for n, v in version.data(np.random.default_rng(seed)).items()}
    names = []
    for name, right in case.want(untouched).items():
        got = ran.array(name)
        right = np.asarray(right).reshape(got.shape)
        bound = 0 if got.dtype.kind in "iub" else case.atol + case.rtol * np.abs(right)
        if not np.all(np.abs(got.astype("f8") - right) <= bound):
            names.append(name)
    return names


def names(cases):
    return [c.id for c in cases]


def marked(cases):
    return [pytest.param(c, id=c.id, marks=[pytest.mark.slow] if c.id in LONG else []) for c in cases]


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
def test_the_faulty_program_is_explained(case: Case):
    ran = run(case.faulty)
    kinds = {f.kind for f in ran.findings} | ({"CompileError"} if ran.compile_error else set())
    stray = [f.message for f in ran.errors if f.kind not in case.expect]
    assert not stray, f"errors that aren't true of the fault: {stray}"
    assert bool(kinds & case.expect) == bool(case.expect), f"expected one of {sorted(case.expect)}, got {sorted(kinds)}"
    if case.array:
        named = {f.array for f in ran.findings if f.kind in case.expect}
        assert named & set(case.array.split()), f"the finding should name {case.array}, it names {named}"
    if case.wrong_values:
        assert wrong_outputs(case, case.faulty, ran)
    for name, value in case.counters[0].items():
        assert getattr(ran.counters[0], name) == value


@pytest.mark.parametrize("case", [c for c in CASES if c.expect], ids=names(c for c in CASES if c.expect))
def test_the_message_says_what_happened(case: Case):
    ran = run(case.faulty)
    text = str(ran.compile_error) if ran.compile_error else next(f.message for f in ran.findings if f.kind in case.expect)
    lacking = [pattern for pattern in ESSENTIALS[case.id] if not re.search(pattern, text)]
    assert not lacking, f"{lacking} not in: {text}"
    assert text.rstrip().endswith(".")


@pytest.mark.parametrize("case", marked(CASES))
def test_the_repaired_program_is_quiet_and_right(case: Case):
    ran = run(case.fixed)
    assert ran.compile_error is None
    assert not ran.errors, [f.message for f in ran.errors]
    assert not [f.message for f in ran.findings if f.kind in case.expect]
    assert wrong_outputs(case, case.fixed, ran) == []
    for name, value in case.counters[1].items():
        assert getattr(ran.counters[0], name) == value


@pytest.mark.parametrize("schedule", [1, 2])
@pytest.mark.parametrize("case", marked(c for c in CASES if "CompileError" not in c.expect))
def test_verdicts_do_not_depend_on_the_order_of_warps(case: Case, schedule: int):
    faulty = run(case.faulty, schedule=schedule)
    assert bool({f.kind for f in faulty.findings} & case.expect) == bool(case.expect)
    assert not [f.message for f in faulty.errors if f.kind not in case.expect]
    fixed = run(case.fixed, schedule=schedule)
    assert not fixed.errors and wrong_outputs(case, case.fixed, fixed) == []


def test_a_write_out_of_bounds_leaves_the_neighbour_alone():
    case = next(c for c in CASES if c.id == "no-bounds-guard")
    ran = run(case.faulty)
    assert np.array_equal(ran.array("pool")[10:], np.full(6, 7, np.float32))


@pytest.mark.parametrize("case_id", ["block-too-large", "shared-over-48k", "slice-as-contiguous"])
def test_a_refused_launch_runs_nothing(case_id: str):
    case = next(c for c in CASES if c.id == case_id)
    ran = run(case.faulty)
    assert not ran.array("y").any()
    assert [f.kind for f in ran.findings] == list(case.expect)
    assert ran.counters[0].as_dict()["warp_instructions"] == 0


def test_every_kind_that_the_corpus_expects_has_its_essentials():
    assert {c.id for c in CASES if c.expect} == set(ESSENTIALS)


@pytest.mark.parametrize("fact", FACTS, ids=names(FACTS))
def test_a_learners_check_that_passes_is_refused_by_ours(fact):
    assert fact.check(fact.got, fact.right), "the learner's check passes: that is the fact"
    assert compare.mismatch("y", fact.got, fact.right, 1e-4, 1e-5, block=4).startswith("y[1] is nan, expected 1")
    assert compare.mismatch("y", fact.right.copy(), fact.right, 1e-4, 1e-5, block=4) == ""
