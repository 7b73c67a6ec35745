"""Any file whatever gets a verdict: JSON below 200 kB with max_score above 0, and nothing of another file in it."""

import json

import pytest

from lanewise.derive import solution_text
from lanewise.grading import sandbox
from lanewise.grading.verdict import LONGEST_MESSAGE, CaseResult, Verdict, clean, clean_text
from lanewise.names import Course, CourseError, find_course

pytestmark = pytest.mark.slow  # children, compilers and clocks: seconds each in sum

COURSE = find_course()
KEY = COURSE.exercise("ch01a")
SOLUTION = solution_text(COURSE.solution(KEY).read_text(encoding="utf-8")).encode()
HEAD = b'extern "C" __global__ void grid_stride(const float* x, float* y, int n) {'
BOMB = b"""\
template <int N> struct T { static constexpr int v = T<N - 1>::v + T<N - 2>::v * N; };
constexpr long long spin(long long n) { long long s = 0; for (long long i = 0; i < n; ++i) s += i * i; return s; }
template <int N, int M> struct U { U<N - 1, M * 2> a; U<N - 1, M * 2 + 1> b; };
template <int M> struct U<0, M> { int x[4]; };
extern "C" __global__ void grid_stride(const float* x, float* y, int n) { U<26, 0> u; y[0] = sizeof(u); }
"""

FILES = {
    "the solution": (SOLUTION, {None}),
    "the solution with CRLF and BOM": (b"\xef\xbb\xbf" + SOLUTION.replace(b"\n", b"\r\n"), {None}),
    "a comment in UTF-8": ("// größer als ∞\n".encode() + SOLUTION, {None}),
    "empty": (b"", {"kernel-not-found"}),
    "blank": (b"\n \n", {"kernel-not-found"}),
    "NUL": (b"\0" * 100, {"compile-error"}),
    "not UTF-8": (b"\xff\xfe\xfd", {"compile-error"}),
    "binary": (bytes(range(256)) * 50, {"compile-error"}),
    "prose": (b"I did not have the time, sorry.\n", {"compile-error"}),
    "a huge file": (b"// x\n" * 200_000, {"compile-error"}),
    "a long line": (HEAD + b"y[0] = 1" + b" + 1" * 20_000 + b";}", {"compile-error", "compile-limit", "race", "unwritten-output", "wrong-values"}),
    "deep nesting": (HEAD + b"(" * 100_000, {"compile-error", "compile-limit"}),
    "a flood of errors": (HEAD + b"a;" * 50_000 + b"}", {"compile-error"}),
    "another file": (b'#include "/etc/passwd"\n' + SOLUTION, {"compile-error"}),
    "another file, in disguise": (b'#/**/incl\\\nude "/etc/passwd"\n' + SOLUTION, {"compile-error"}),
    "an endless device": (b'#include "/dev/zero"\n' + SOLUTION, {"compile-error"}),
    "itself": (b'#include "kernel.cu"\n' + SOLUTION, {"compile-error"}),
    "ANSI and markup in names": (HEAD + b'\x1b[31m</testcase> =cmd|\x07; }', {"compile-error"}),
    "an endless loop": (HEAD + b"while (((const volatile float*)x)[0] != 12345.0f) ; }", {"step-limit"}),  # test_adversarial has one in which something happens
    "a trap": (HEAD + b"__trap(); }", None),
    "much shared memory": (HEAD + b"__shared__ float s[1 << 28]; s[n] = x[0]; y[0] = s[n]; }", None),
    "much local memory": (HEAD + b"float s[1 << 26]; for (int i = 0; i < n; ++i) s[i * 7919 % (1 << 26)] = x[i]; y[0] = s[n]; }", None),
    "a printf flood": (HEAD + b'for (int i = 0; i < 1000; ++i) printf("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa %d\\n", i); }', None),
    "recursion without an end": (b"__device__ int f(int n) { return n == -1 ? 0 : f(n + 2) + 1; }\n" + HEAD + b"y[0] = f(0); }", None),
}


@pytest.mark.parametrize("name", FILES)
def test_every_file_gets_a_verdict(name):
    raw, kinds = FILES[name]
    verdict = sandbox.grade(KEY, raw, COURSE)
    text = verdict.to_json()
    whole = json.loads(text)
    assert list(whole) == ["key", "score", "max_score", "kind", "message", "line", "cases", "counters", "source_sha256", "testset"]
    assert len(text) < 200_000 and whole["max_score"] == 1
    assert verdict.kind != "infrastructure", verdict.message
    assert kinds is None or verdict.kind in kinds, f"{verdict.kind}: {verdict.message}"
    assert verdict.score == (1 if verdict.kind is None else 0)
    assert (verdict.message == "") == (verdict.kind is None)
    assert "root:" not in text and "/root" not in text and str(COURSE.root) not in text and "\\u001b" not in text
    assert len(whole["cases"]) == len(FILES and json.loads(sandbox.grade(KEY, b"", COURSE).to_json())["cases"])


@pytest.mark.slow
def test_a_compile_bomb_is_a_compile_limit(monkeypatch):
    monkeypatch.setattr(sandbox, "COMPILE_SECONDS", 3)
    verdict = sandbox.grade(KEY, BOMB, COURSE)
    assert (verdict.kind, verdict.score, verdict.max_score) == ("compile-limit", 0, 1)
    assert verdict.message.startswith("The compiler was stopped (")


def changed(folder, change):
    """A course whose exercise differs by a replaced field."""
    course = Course(folder)
    course.kernels_dir.mkdir()
    spec = COURSE.spec(KEY).read_text(encoding="utf-8")
    (course.kernels_dir / f"{KEY}.py").write_text(f"{spec}\nimport time\nfrom dataclasses import replace\nexercise = replace(exercise, {change})\n")
    return course


def test_the_clock_is_infrastructure_and_never_the_kernels_fault(tmp_path):
    course = changed(tmp_path, "reference=lambda data: time.sleep(600)")
    verdict = sandbox.grade(KEY, SOLUTION, course, wall_seconds=1.5)
    assert (verdict.kind, verdict.score, verdict.max_score) == ("infrastructure", 0, 1)
    assert "after 1.5 seconds" in verdict.message and "through no fault of the kernel" in verdict.message


def test_a_broken_description_is_the_courses_fault(tmp_path):
    course = Course(tmp_path)
    for folder in ("kernels", "chapters"):
        (tmp_path / folder).mkdir()
    (course.kernels_dir / f"{KEY}.py").write_text("1 / 0\n")
    with pytest.raises(CourseError, match="doesn't load: division by zero"):
        sandbox.grade(KEY, SOLUTION, course)


def test_a_check_that_breaks_is_infrastructure(tmp_path):
    verdict = sandbox.grade(KEY, SOLUTION, changed(tmp_path, "reference=lambda data: 1 / 0"))
    assert verdict.kind == "infrastructure" and "ZeroDivisionError" in verdict.message
    assert verdict.max_score == 1 and verdict.score == 0


def test_texts_are_made_safe():
    assert clean_text("a\x1b[31m\tb\r\n\0\ud800\u202e", 100) == "a\ufffd[31m    b\n\ufffd\ufffd\ufffd"
    assert clean_text("x" * 500, 100) == "x" * 98 + " …"
    cases = tuple(CaseResult("n" * 9999, False, True, "m" * 9999) for _ in range(500))
    verdict = clean(Verdict("ch05b_sum", float("nan"), 1, "race", "w" * 10**6, 1, cases, ((1, "z" * 10**6),)))
    assert len(verdict.message) == LONGEST_MESSAGE and verdict.score == 0
    assert len(verdict.to_json()) < 200_000
