"""Rules of the house that a program can hold."""

import re

import pytest

from lanewise.derive import stale_skeletons
from lanewise.names import Key, find_course

COURSE = find_course()
SKELETONS = [COURSE.kernel(key) for key in COURSE.exercises()]
WORKED = [COURSE.kernel(key) for key in COURSE.worked()]


def test_every_kernel_has_a_key_and_a_description():
    for path in SKELETONS + WORKED:
        assert COURSE.spec(Key.parse(path.stem)).is_file(), path.name
    assert [path.name for path in COURSE.kernels_dir.glob("*.py") if not path.with_suffix(".cu").is_file()] == []


def test_skeletons_are_what_their_solutions_give():
    assert stale_skeletons(COURSE) == []


@pytest.mark.parametrize("path", SKELETONS + WORKED + sorted(COURSE.solutions_dir.glob("*.cu")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_kernel_file_keeps_the_form(path):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    head = next(number for number, line in enumerate(lines) if not line.startswith("//"))
    assert max(map(len, lines)) <= 80
    assert "\t" not in text and text.endswith("\n") and not any(line != line.rstrip() for line in lines)
    assert text.count('extern "C" __global__') == 1 == text.count("__global__")
    assert head >= 4, "the contract head: one sentence, grid and block, each argument"
    assert "grid" in "".join(lines[:head]) and "block" in "".join(lines[:head])
    assert "#define" not in text
    slug = Key.parse(path.stem).slug
    assert re.search(rf'extern "C" __global__ void ((__launch_bounds__|__cluster_dims__)\([\w, ]+\)\s+)*{slug}\(', text)
