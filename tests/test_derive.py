"""Solution → skeleton."""

import pytest

from lanewise.derive import DeriveError, derive, exercise_kernel, skeleton, solution_text, stale_skeletons, write_skeletons
from lanewise.names import Course, CourseError, Key

SOLUTION = """\
// Doubles x into out.
extern "C" __global__ void double_it(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    //@solution guard the last block, then store twice the element that you have read
    // the guard excludes threads past the end
    if (i < n) {

        out[i] = 2.0f * x[i];
    }
    //@stub
    //@ out[i] = 0.0f;
    //@
    //@ // and so on
    //@end
}
"""

SKELETON = """\
// Doubles x into out.
extern "C" __global__ void double_it(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // TODO (3 lines): guard the last block, then store twice the element that
    //   you have read
    out[i] = 0.0f;

    // and so on
}
"""


def test_a_region_becomes_a_todo_with_its_lines_counted_and_the_stub():
    assert skeleton(SOLUTION) == SKELETON


def test_one_line_is_counted_as_one_line_and_a_stub_may_be_left_out():
    assert skeleton("//@solution add the barrier\n__syncthreads();\n//@end\n") == "// TODO (1 line): add the barrier\n"


def test_a_solution_without_its_markers_is_the_plain_kernel():
    text = solution_text(SOLUTION)
    assert "//@" not in text
    assert text.splitlines()[4:9] == ["    // the guard excludes threads past the end", "    if (i < n) {", "", "        out[i] = 2.0f * x[i];", "    }"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("//@solution a\nx;\n//@solution b\ny;\n//@end\n", 3, "inside the region opened on line 1"),
        ("x;\n//@solution a\ny;\n", 2, "never closed"),
        ("//@solution a\n//@end\n", 1, "empty"),
        ("//@solution a\n// only a comment\n\n//@stub\n//@ x;\n//@end\n", 1, "empty"),
        ("//@solution a\nx;\n//@stub\n//@end\n", 3, "stub is empty"),
        ("//@solution a\nx;\n//@stub\n//@\n//@end\n", 3, "stub is empty"),
        ("//@solution\nx;\n//@end\n", 1, "needs a hint"),
        ("//@solve a\nx;\n//@end\n", 1, "unknown marker //@solve"),
        ("//@stub\n", 1, "outside a region"),
        ("//@end\n", 1, "without a //@solution"),
        ("//@solution a\nx;\n//@stub\n//@ y;\n//@stub\n//@end\n", 5, "second //@stub"),
        ("//@solution a\nx;\n//@ y;\n//@end\n", 3, "outside a stub"),
        ("//@solution a\nx;\n//@stub\ny;\n//@end\n", 4, "a stub's lines are comments"),
        ("//@solution a\nx;\n//@stub y;\n//@end\n", 3, "nothing may follow //@stub"),
        ("//@solution a\nx;\n//@end here\n", 3, "nothing may follow //@end"),
        ("//@solution a\nx;  //@stub\n//@end\n", 2, "alone on its line"),
    ],
)
def test_markers_that_make_no_sense_are_errors_with_their_line(text, line, says):
    with pytest.raises(DeriveError) as caught:
        skeleton(text, "solutions/ch05b_sum.cu")
    assert str(caught.value).startswith(f"solutions/ch05b_sum.cu, line {line}: ")
    assert says in str(caught.value)


def test_a_solution_without_a_region_is_an_error():
    with pytest.raises(DeriveError, match="no //@solution region"):
        skeleton("int x;\n")


def test_the_first_global_and_the_first_brace_are_the_kernel():
    assert exercise_kernel(SOLUTION) == "double_it"
    assert exercise_kernel('extern "C" __global__ void __launch_bounds__(128) f(int n)\n{}\n') == "f"
    assert exercise_kernel('extern "C" __global__ __launch_bounds__(128) void f(int n)\n{}\n') == "f"
    assert exercise_kernel('extern "C" __global__ void __cluster_dims__(2) __launch_bounds__(128) f(int n)\n{}\n') == "f"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("void f() {}\n", "no __global__ function"),
        ("// a __global__ comes\n__global__ void f() {}\n", "isn't followed by"),
        ("struct S { int x; };\n__global__ void f() {}\n", "line 1: the first `{`"),
        ("// {\n__global__ void f() {}\n", "line 1: the first `{`"),
    ],
)
def test_whatever_stands_before_the_kernel_is_an_error(text, says):
    with pytest.raises(DeriveError) as caught:
        exercise_kernel(text)
    assert says in str(caught.value)


@pytest.fixture
def course(tmp_path):
    course = Course(tmp_path)
    key = Key.parse("ch05b_double_it")
    for folder in (course.kernels_dir, course.solutions_dir, course.chapters_dir):
        folder.mkdir()
    course.spec(key).write_text("")
    course.solution(key).write_text(SOLUTION)
    return course


def test_build_writes_a_skeleton_once_and_check_compares_bytes(course):
    path = course.kernels_dir / "ch05b_double_it.cu"
    assert stale_skeletons(course) == ["kernels/ch05b_double_it.cu is missing: `lanewise build` writes it."]
    assert write_skeletons(course) == [path]
    assert path.read_text() == SKELETON
    assert write_skeletons(course) == []
    assert stale_skeletons(course) == []
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (sentence,) = stale_skeletons(course)
    assert sentence == "kernels/ch05b_double_it.cu isn't what solutions/ch05b_double_it.cu gives: change the solution, then run `lanewise build`."


def test_a_kernel_must_be_called_as_its_key(course):
    key = Key.parse("ch05b_double_it")
    course.solution(key).write_text(SOLUTION.replace("double_it", "doubled"))
    with pytest.raises(DeriveError, match="its kernel is called 'doubled'; the key wants 'double_it'"):
        derive(key, course)


def test_a_missing_solution_and_a_solution_without_an_exercise_are_named(course):
    (course.solutions_dir / "ch05b_double_it.cu").rename(course.solutions_dir / "ch05c_other.cu")
    with pytest.raises(CourseError, match="solutions/ch05b_double_it.cu is missing"):
        stale_skeletons(course)
    (course.solutions_dir / "ch05b_double_it.cu").write_text(SOLUTION)
    assert "solutions/ch05c_other.cu has no kernels/ch05c_other.py: write it, or remove the solution." in stale_skeletons(course)
