"""`lanewise new`: the files of a chapter, a worked kernel or an exercise, from templates that pass `lanewise check`.

`new ch05 reductions` or `new ch05_reductions` makes a chapter with a worked kernel, `new ch05b_block_max` an exercise. Nothing is overwritten.
"""

from __future__ import annotations

from pathlib import Path

from lanewise.derive import derive
from lanewise.names import Course, CourseError, Key, write_atomically

CHAPTER = """\
---
kernelspec:
  display_name: Python 3
  name: python3
---

# {title}: the question, in one sentence?

What you can do at the end, in one sentence.

## What we want, in NumPy

```{{code-cell}}
import numpy as np

from lanewise import cp, profile, show, source

x = cp.arange(1000, dtype=np.float32)
want = 2 * cp.asnumpy(x)
```

## The kernel

```{{code-cell}}
show("{key}")
```

Predict: how many sectors are loaded? Then run.

```{{code-cell}}
kernel = cp.RawKernel(source("{key}"), "{slug}")
out = cp.empty_like(x)
report = profile(kernel, 4, 256, (x, out, np.int32(1000)))
report.counters.global_load_sectors
```
"""

KERNEL = """\
// out[i] = 2 * x[i] for every i below n.
//
// grid:  ceil(n / 256) blocks      block: 256 threads
// x:     float32 (n), read
// out:   float32 (n), written
// n:     number of elements, any n >= 1
extern "C" __global__ void {slug}(const float* x, float* out, int n) {{
    // My element: 0 .. gridDim.x * 256 - 1.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

{body}}}
"""

GUARDED = """\
    // Excluded: threads past the end.
    if (i < n) {
        out[i] = 2.0f * x[i];
    }
"""

REGION = f"""\
    //@solution double your element, if you have one
{GUARDED}    //@stub
    //@ out[i] = 0.0f;
    //@end
"""

DATA = '''\
import numpy as np

from lanewise.exercise import {names}


def data(n):
    """x, out: n float32."""
    return lambda rng: {{"x": rng.standard_normal(n, dtype=np.float32), "out": np.empty(n, np.float32), "n": np.int32(n)}}


def launch(data):
    return Launch(ceil_div(data["x"].size, 256), 256, "x out n")


'''

EXAMPLE = """\
example = Example(
    title="Double every element",
    reference=lambda data: {"out": 2.0 * data["x"].astype(np.float64)},
    cases=(Case("n = 1000", data(1000), launch), Case("one element", data(1), launch)),
)
"""

EXERCISE = """\
exercise = Exercise(
    title="Double every element",
    reference=lambda data: {"out": 2.0 * data["x"].astype(np.float64)},
    cases=(
        Case("4 full blocks", data(1024), launch),
        Case("n = 1000", data(1000), launch),
        Case("one element", data(1), launch),
        Case("another length", data(770), launch, visible=False),
    ),
    budget=Budget("4 full blocks", "each of 1024 floats is loaded once, 8 to a sector", global_load_sectors=128),
    hints=(
        "Which threads of the last block have no element?",
        "Guard the store: `if (i < n) out[i] = 2.0f * x[i];`",
    ),
)
"""

WRONG = """\
from lanewise.exercise import Wrong

WRONG = [
    Wrong("one too far", [("if (i < n)", "if (i <= n)")], kind="out-of-bounds", line="out[i] = 2.0f * x[i];", says="x"),
    Wrong("three times", [("2.0f * x[i]", "3.0f * x[i]")], kind="wrong-values", says="1.5 times"),
]
"""


def make(course: Course, word: str, slug: str | None = None) -> list[Path]:
    """Write the files that a new key needs; returns their paths. Raises CourseError where one of them exists or the key is none."""
    key = Key.parse(f"{word}_{slug.strip().lower().replace(' ', '_').replace('-', '_')}" if slug else word)
    files = _exercise(course, key) if key.is_exercise else _chapter(course, key)
    there = [path for path in files if path.exists()]
    if there:
        raise CourseError(f"{course.show(there[0])} exists already: choose another slug, or edit that file.")
    others = [other for other in course.exercises() + course.chapters() if other.short == key.short]
    if others:
        raise CourseError(f"{key.short} is taken by {others[0]}: choose another letter or number.")
    for path, text in files.items():
        write_atomically(path, text)
    if key.is_exercise:
        write_atomically(course.kernel(key), derive(key, course))
        return [*files, course.kernel(key)]
    return list(files)


def _chapter(course: Course, key: Key) -> dict[Path, str]:
    return {
        course.chapter_source(key): CHAPTER.format(title=key.slug.replace("_", " ").capitalize(), key=key, slug=key.slug),
        course.kernel(key): KERNEL.format(slug=key.slug, body=GUARDED),
        course.spec(key): DATA.format(names="Case, Example, Launch, ceil_div") + EXAMPLE,
    }


def _exercise(course: Course, key: Key) -> dict[Path, str]:
    return {
        course.solution(key): KERNEL.format(slug=key.slug, body=REGION),
        course.spec(key): DATA.format(names="Budget, Case, Exercise, Launch, ceil_div") + EXERCISE,
        course.wrong(key): WRONG,
    }
