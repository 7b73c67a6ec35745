"""Launches that a GPU refuses, and those it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.simt import launch_limits
from lanewise.simt.launch_limits import limits


@pytest.mark.parametrize(
    ("grid", "block"),
    [(1, 1), ((1, 2, 3), (32, 32)), (np.int64(4), (np.int32(8), 4)), (2**31 - 1, 1024), ((1, 65535, 65535), (1, 1024, 1)), ([4], [16, 4, 16]), (1, (4, 4, 64))],
)
def test_what_a_gpu_takes(grid: Any, block: Any) -> None:
    assert limits(grid, block) == []


@pytest.mark.parametrize(
    ("kw", "says"),
    [
        (dict(block=1025), "a block may have 1024 threads, not 1025: use smaller blocks and more of them."),
        (dict(block=(33, 32)), "a block may have 1024 threads, not 1056 (33 x 32 x 1): use smaller blocks and more of them."),
        (dict(block=2048), "a block may have 1024 threads, not 2048: use smaller blocks and more of them."),
        (dict(block=0), "block.x is 0: a block needs at least one thread on each axis."),
        (dict(block=(8, -1)), "block.y is -1: a block needs at least one thread on each axis."),
        (dict(block=(1, 1, 65)), "block.z is 65, and may be 64 at most: put the long axis on x or y."),
        (dict(grid=0), "grid.x is 0: nothing would run; round up, (n + threads - 1) // threads, and skip the launch when there is nothing to do."),
        (dict(grid=(1, 65536)), "grid.y is 65536, and may be 65535 at most: put the long axis on x."),
        (dict(grid=(1, 1, 70000)), "grid.z is 70000, and may be 65535 at most: put the long axis on x."),
        (dict(grid=2**31), "grid.x is 2147483648, and may be 2147483647 at most: make each thread do more."),
        (dict(grid=1000 / 256), "grid must be whole numbers, not 3.90625: divide with // and round up, (n + threads - 1) // threads."),
        (dict(grid=(4.0, 1)), "grid must be whole numbers, not (4.0, 1): divide with // and round up, (n + threads - 1) // threads."),
        (dict(grid=(1, 2, 3, 4)), "grid must be an int or a tuple of 1 to 3 ints, not (1, 2, 3, 4)."),
        (dict(grid=()), "grid must be an int or a tuple of 1 to 3 ints, not ()."),
        (dict(block="32"), "block must be an int or a tuple of 1 to 3 ints, not 32."),
        (dict(block=None), "block must be an int or a tuple of 1 to 3 ints, not None."),
        (dict(block=True), "block must be an int or a tuple of 1 to 3 ints, not True."),
        (dict(dynamic_shared=1.5), "shared_bytes must be a whole number of bytes, not 1.5."),
        (dict(dynamic_shared=-4), "shared_bytes is -4, and can't be negative."),
        (
            dict(dynamic_shared=65536),
            "65536 bytes of dynamic shared memory in a block, more than the 49152 allowed so far: "
            "set kernel.max_dynamic_shared_size_bytes = 65536 before the launch.",
        ),
        (
            dict(static_shared=4096, dynamic_shared=46000),
            "50096 bytes of shared memory (4096 static, 46000 dynamic) in a block, more than the 49152 allowed so far: "
            "set kernel.max_dynamic_shared_size_bytes = 46000 before the launch.",
        ),
        (dict(dynamic_shared=300_000, max_dynamic=300_000), "300000 bytes of dynamic shared memory in a block, and sm_90a has 232448: use smaller tiles."),
        (
            dict(dynamic_shared=102400, max_dynamic=102400, arch="sm_89"),
            "102400 bytes of dynamic shared memory in a block, and sm_89 has 101376: use smaller tiles.",
        ),
        (
            dict(static_shared=60000),
            "60000 bytes of static shared memory, and 49152 are the most: declare the array extern __shared__ and pass its size at the launch.",
        ),
        (
            dict(block=512, registers=168),
            "512 threads of 168 registers each need more than the 65536 registers of an SM: "
            "use smaller blocks, or __launch_bounds__(512) so that the compiler takes fewer.",
        ),
        (
            dict(block=256, max_threads=128),
            "the kernel promises at most 128 threads in a block by __launch_bounds__, not 256: use smaller blocks or raise the bound.",
        ),
    ],
)
def test_what_a_gpu_refuses(kw: dict[str, Any], says: str) -> None:
    (finding,) = limits(**({"grid": 1, "block": 32} | kw))
    assert (finding.kind, finding.severity, finding.message) == ("launch-refused", "error", f"the kernel never started: {says}")


@pytest.mark.parametrize(("arch", "most"), [("sm_90a", 227), ("sm_90", 227), ("sm_80", 163), ("sm_86", 99), ("sm_89", 99), ("sm_75", 64)])
def test_the_most_shared_memory_of_each_architecture(arch: str, most: int) -> None:
    assert limits(1, 32, 0, most * 1024, most * 1024, arch) == []
    assert len(limits(1, 32, 0, most * 1024 + 1, most * 1024 + 1, arch)) == 1


def test_48_kb_are_free_and_raising_the_limit_opens_more() -> None:
    assert limits(1, 32, 1024, 47 * 1024) == []
    assert len(limits(1, 32, 1024, 47 * 1024 + 1)) == 1
    assert limits(1, 32, 1024, 64 * 1024, max_dynamic=64 * 1024) == []
    assert len(limits(1, 32, 0, 32 * 1024, max_dynamic=16 * 1024)) == 1


def test_registers_are_asked_for_only_where_they_could_be_too_many() -> None:
    assert not launch_limits.registers_matter(256, 1000)  # 256 threads of 255 registers fit
    assert not launch_limits.registers_matter(1024, 40)
    assert launch_limits.registers_matter(1024, 60)
    assert launch_limits.registers_matter(512, 200)


def test_several_reasons_are_all_told() -> None:
    assert [f.message.split(": ")[1][:8] for f in limits(0, 0)] == ["grid.x i", "block.x "]


@given(st.one_of(st.integers(-3, 2**33), st.lists(st.integers(-3, 70000), max_size=4), st.floats(), st.text(max_size=3), st.none()))
def test_any_shape_is_either_taken_or_refused_in_one_sentence(value: Any) -> None:
    for found in (limits(value, 32), limits(1, value)):
        assert all(finding.message.endswith(".") and "\n" not in finding.message for finding in found)
    if not limits(value, 1):
        assert all(size >= 1 for size in launch_limits.dim3(value))
