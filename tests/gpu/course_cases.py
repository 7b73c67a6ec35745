"""The course's own kernels (worked ones and solutions) over their own cases, as cases of this harness."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from families.case import Case, Tolerance

from lanewise import simt
from lanewise.exercise import Case as Input
from lanewise.exercise import Example, load
from lanewise.names import Course

COURSE = Course(Path(__file__).resolve().parents[2])


def converted(described: Example, text: str, given: Input) -> Case:
    """One input of a course kernel. Written arrays start as zeros, those it updates as they are."""
    data = given.data()
    launch = given.launch_for(data)
    expected = described.reference(data)
    written = [name for name in dict.fromkeys(launch.names) if name in expected]
    half = any(data[name].dtype == np.float16 for name in written)  # what is expected is rounded to 16 bits, too: another half of a unit

    def args() -> list:
        fresh = given.data()
        blank = {name: np.zeros_like(fresh[name]) for name in written if name not in described.updates}
        whole = {name: np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value for name, value in {**fresh, **blank}.items()}
        values = [whole[name] for name in launch.names]  # a name that stands twice is one array
        return [value if box is None else simt.tensor_map(value, box.box, swizzle=box.swizzle) for value, box in zip(values, launch.maps, strict=True)]

    def expect(*_) -> list[np.ndarray]:
        return [np.asarray(expected[name]).astype(data[name].dtype) for name in written]

    return Case(
        name=f"course.{described.key}: {given.name}",
        source=text,
        entry=described.kernel,
        args=args,
        outputs=tuple(launch.names.index(name) for name in written),
        expect=expect,
        grid=launch.grid,
        block=launch.block,
        shared_bytes=launch.shared_bytes,
        options=described.options,
        tolerances=(Tolerance(given.rtol or described.rtol, given.atol or described.atol, ulp=0.5 if half else 0.0),),
    )


def course_cases() -> list[Case]:
    """Worked kernels that are right, and every solution. A kernel that is there to show a fault stays off the GPU."""
    cases = []
    for key in [*COURSE.worked(), *COURSE.exercises()]:
        source = COURSE.solution(key) if key.is_exercise else COURSE.kernel(key)
        if not source.is_file() or not COURSE.spec(key).is_file():
            continue
        described = load(key, COURSE)
        if described.shows:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cases += [converted(described, source.read_text(encoding="utf-8"), given) for given in described.cases]
    return cases
