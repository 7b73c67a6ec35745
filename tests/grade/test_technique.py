"""Values that are right by another way than the exercise's: one thread that does all, a library, the course's own finished kernels."""

import pytest
from one_thread import ONE_THREAD
from test_adversarial import COURSE, HEAD, LOOP, RIGHT, SUM, verdict

from lanewise.derive import solution_text
from lanewise.exercise import load_exercise
from lanewise.grading.source import NotGradable, check_includes, headers_in

pytestmark = pytest.mark.slow

CUB = """\
#include <{header}>
extern "C" __global__ void block_max(const float* x, float* m, float* l, int cols) {{
    using Reduce = cub::BlockReduce<float, 256>;
    __shared__ typename Reduce::TempStorage s;
    __shared__ float top;
    x += (size_t)blockIdx.x * cols;
    float a = -1e30f;
    for (int j = threadIdx.x; j < cols; j += 256) a = fmaxf(a, x[j]);
    a = Reduce(s).Reduce(a, cuda::maximum<>{{}});
    if (threadIdx.x == 0) top = a;
    __syncthreads();
    float e = 0;
    for (int j = threadIdx.x; j < cols; j += 256) e += expf(x[j] - top);
    e = Reduce(s).Sum(e);
    if (threadIdx.x == 0) m[blockIdx.x] = top, l[blockIdx.x] = e;
}}
"""


@pytest.mark.parametrize("word", ONE_THREAD)
def test_one_thread_that_does_all_keeps_the_points_for_its_values_alone(word):
    key = COURSE.exercise(word)
    found = verdict(ONE_THREAD[word], key)
    share = load_exercise(key, COURSE).budget_share
    assert (found.kind, found.score) == ("over-budget", 10 * (1 - share)), found.message


@pytest.mark.parametrize("header", ["cub/block/block_reduce.cuh", "cccl/cub/block/block_reduce.cuh", "./cub/./block/block_reduce.cuh"])
def test_a_library_that_does_the_exercise_is_no_answer(header):
    found = verdict(CUB.format(header=header), SUM)
    assert (found.kind, found.score) == ("compile-error", 0) and "isn't among this exercise's headers" in found.message


@pytest.mark.parametrize("name", ["thrust/reduce.h", "cooperative_groups/reduce.h", "cooperative_groups/scan.h", "flash2.cuh", "tiles.cuh", "a/../tiles.cuh"])
def test_ready_made_kernels_are_not_included(name):
    with pytest.raises(NotGradable):
        check_includes(f"#include <{name}>\n", own={"reduce.cuh"})


def test_what_wraps_single_instructions_is_free_and_so_is_what_the_exercise_begins_with():
    check_includes("#include <ptx.cuh>\n#include <ptx_hopper.cuh>\n#include <math_constants.h>\n#include \"tiles.cuh\"\n", own={"tiles.cuh"})
    check_includes("#include <tiles.cuh>\n")
    assert verdict("#include <ptx.cuh>\n" + RIGHT).kind is None
    assert headers_in('#include <a/b.h> // x\n  #  include "c.cuh"\n// #include <d.h>\n#define X 1\n') == {"b.h", "c.cuh"}


def test_every_solution_includes_what_it_may():
    for key in COURSE.exercises():
        own = headers_in(COURSE.kernel(key).read_text(encoding="utf-8"))
        check_includes(solution_text(COURSE.solution(key).read_text(encoding="utf-8")), own)


def test_a_kernel_of_ones_own_beside_the_asked_one_is_not_launched():
    """The launch is the exercise's: work put in a second kernel is never done."""
    text = f'extern "C" __global__ void helper(const float* x, float* y, int n) {{ {LOOP}y[k] = x[k] * x[k]; }}\n{HEAD}}}\n'
    assert verdict(text).kind == "unwritten-output"
