"""Attacks on one verdict, each answered as it must be, and the three controls: the reference earns all, the skeleton nothing, a slow right kernel its values.

Beside it: test_sandbox.py (any bytes), test_source.py (includes in disguise), test_notebook_answers.py, test_formats.py and test_reports.py (hostile text,
leaks), test_pytest_front.py (files that pytest would run).
"""

import json
import os
import subprocess
import sys

import pytest

from lanewise.derive import solution_text
from lanewise.grading import sandbox
from lanewise.grading.assignment import Terms, read_assignment
from lanewise.grading.submission import grade_submission
from lanewise.names import find_course

pytestmark = pytest.mark.slow  # children, compilers and clocks: seconds each in sum

COURSE = find_course()
KEY = COURSE.exercise("ch01a")
SUM = COURSE.exercise("ch05b")
SECRET = 0x1234567890AB
RIGHT = solution_text(COURSE.solution(KEY).read_text(encoding="utf-8"))
HEAD = 'extern "C" __global__ void grid_stride(const float* x, float* y, int n) {\n'
LOOP = "    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) "
TEN = Terms(points=10)


def verdict(text, key=KEY, secret=SECRET):
    found = sandbox.grade(key, text if isinstance(text, bytes) else text.encode(), COURSE, terms=TEN, secret=secret)
    whole = found.to_json()
    assert len(whole) < 200_000 and json.loads(whole)["max_score"] == 10
    return found


# -- controls ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [KEY, SUM])
def test_the_reference_earns_all(key):
    found = verdict(solution_text(COURSE.solution(key).read_text(encoding="utf-8")), key)
    assert (found.score, found.kind) == (10, None) and all(case.passed for case in found.cases)


@pytest.mark.parametrize("key", [KEY, SUM])
def test_the_skeleton_earns_nothing(key):
    assert verdict(COURSE.kernel(key).read_bytes(), key).score == 0


def test_a_slow_kernel_that_is_right_keeps_the_points_for_its_values():
    slow = HEAD + "    if (blockIdx.x || threadIdx.x) return;\n    for (int k = 0; k < n; ++k) y[k] = x[k] * x[k];\n}\n"
    found = verdict(slow)
    assert (found.score, found.kind) == (10, None)


# -- verdicts that must be 0 -------------------------------------------------------------------------------------------

BODIES = {
    # name: (body, kinds that answer it)
    "a verdict printed": (r'if (!threadIdx.x) printf("{\"verdict\": {\"score\": 10, \"kind\": null}}\n\nPASSED 10/10\n");', {"unwritten-output"}),
    "nothing written": ("", {"unwritten-output"}),
    "old memory returned": (LOOP + "y[k] = ((volatile float*)y)[k];", {"uninitialised-read"}),
    "out of bounds by one": (LOOP + "y[k] = x[k + 1 - 1] * x[k]; if (!threadIdx.x) y[n] = 0;", {"out-of-bounds", "race"}),
    "reads out of bounds by one": (LOOP + "y[k] = x[k] * x[k] + 0 * x[k + 1];", {"out-of-bounds"}),
    "a wild address": ("*(float*)0x7f0000000000ull = 1;", {"out-of-bounds", "invalid-address", "null-pointer", "wild-pointer"}),
    "a null pointer": ("*(float*)0 = 1;", None),
    "a trap": ("__trap();", None),
    "an assertion": ("assert(n < 0);", None),
    "the input written": (LOOP + "{ y[k] = x[k] * x[k]; ((float*)x)[k] = 0; }", {"wrong-values"}),
    "the input written and put back": (LOOP + "{ y[k] = x[k] * x[k]; ((float*)x)[k] += 1; ((float*)x)[k] = 7; }", {"wrong-values"}),
    "NaN": (LOOP + "y[k] = __int_as_float(0x7fffffff);", {"wrong-values"}),
    "infinity": (LOOP + "y[k] = __int_as_float(0x7f800000);", {"wrong-values"}),
    "zeros": (LOOP + "y[k] = 0;", {"wrong-values"}),
    "whole numbers in a float's place": (LOOP + "((int*)y)[k] = (int)(x[k] * x[k]);", {"wrong-values"}),
    "doubles in a float's place": (LOOP + "((double*)y)[k] = (double)x[k] * x[k];", {"out-of-bounds", "misaligned-access", "wrong-values", "race"}),
    "one element for all": ("if (!threadIdx.x && !blockIdx.x) y[0] = x[0] * x[0];", {"unwritten-output"}),
    "the public lengths alone": (
        LOOP + "if (n == 1000 || n == 1 || n == 256 || n == 257 || n == 5000 || n == 100) y[k] = x[k] * x[k]; else y[k] = 0;", {"wrong-values"}
    ),
    "a race that passes": (
        "__shared__ float s[256];\n" + LOOP + "{ s[255 - threadIdx.x] = x[k]; float v = s[threadIdx.x]; y[k] = x[k] * x[k] + 0 * v; }",
        {"race", "uninitialised-read"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_an_attack_by_a_body_earns_nothing(name):
    body, kinds = BODIES[name]
    found = verdict(f"{HEAD}{body}\n}}\n")
    assert found.score == 0 and found.kind not in (None, "infrastructure", "compile-error"), found.message
    assert kinds is None or found.kind in kinds, f"{found.kind}: {found.message}"


def test_a_printf_of_two_thousand_million_characters_costs_nothing():
    body = 'printf("%*d %2000000000s %.99999999999999999999f", 2000000000, 1, "a", 1.0);'
    found = verdict(f"{HEAD}{LOOP}y[k] = x[k] * x[k];\n{body}\n}}\n")
    assert (found.kind, found.score) == (None, 10), found.message


ENDLESS = {
    "an endless loop": "while (n >= 0) y[0] = x[0];",
    "a barrier that half the block waits at": "if (threadIdx.x < 128) __syncthreads(); else while (true) __nanosleep(1);",
    "a spin on a flag that nobody sets": "__shared__ volatile int flag; flag = 0; while (!flag) ;",
    "a spin on memory": "while (atomicAdd((int*)y, 0) != 12345) ;",
}


def test_a_race_that_never_ends_costs_one_case():
    """Each step of a loop that races is looked at; the cases after the first would take as long to say the same."""
    body = 'for (int t = 0; t < 32; ++t) if (t == threadIdx.x % 32) while (y[t] != 3.25f) { printf("%d %f\\n", t, x[0]); y[t] = t; }'
    found = verdict(f"{HEAD}{body}\n}}\n")
    assert (found.kind, found.score) == ("race", 0)
    assert {case.message for case in found.cases[1:]} == {"not run: the case before never ended"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_is_ended_by_steps(name):
    found = verdict(f"{HEAD}{ENDLESS[name]}\n}}\n")
    assert found.score == 0 and found.kind not in (None, "infrastructure", "compile-error", "compile-limit"), found.message


HEAVY = {
    "shared memory over the limit": "__shared__ float s[1 << 26]; s[n] = x[0]; y[0] = s[n];",
    "local memory": "float s[1 << 24]; for (int k = 0; k < n; ++k) s[k * 97] = x[k]; y[0] = s[n];",
    "a printf flood": 'for (int k = 0; k < 100000; ++k) printf("%s", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");',
    "malloc in the kernel": "char* p = (char*)malloc(1ull << 40); if (p) p[0] = 1;",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HEAVY)
def test_what_is_heavy_is_bounded(name):
    found = verdict(f"{HEAD}{HEAVY[name]}\n}}\n")
    assert found.score == 0 and found.kind not in (None, "infrastructure"), found.message


def test_a_device_variable_remembers_nothing_useful():
    """Launches of the same kernel share its variables: an answer stored in one case must not pass for another's."""
    text = "__device__ float kept[8192]; __device__ int full;\n" + HEAD + LOOP + (
        "{ if (!full) kept[k] = x[k] * x[k]; y[k] = kept[k]; }\n    __syncthreads();\n    if (!threadIdx.x) full = 1;\n}\n"
    )
    assert verdict(text).score == 0


def test_nothing_tells_the_kernel_that_it_is_simulated():
    """No macro of ours; the ones that are set are those of a GPU's compile, which tests/gpu/grading.py asks for there, too."""
    names = "LANEWISE __LANEWISE__ SIMT SIMULATOR LANEWISE_DEVICE __SIMULATOR__ __NVCC__ __CUDACC_DEBUG__ __CUDACC_RDC__ __clang__ __GNUC__ NDEBUG CUPY"
    ours = " || ".join(f"defined({name})" for name in names.split())
    gpus = " && ".join(f"defined({name})" for name in ("__CUDACC_RTC__", "__CUDACC__", "__CUDA_ARCH__", "__CUDA_ARCH_FEAT_SM90_ALL", "__EDG__"))
    text = f"#if {ours} || !({gpus}) || __CUDA_ARCH__ != 900 || __CUDACC_VER_MAJOR__ != 13\n#error told\n#endif\n" + RIGHT
    assert verdict(text).kind is None


CLOCKS = {
    "its name": "#define T __TIME__",
    "pasted": "#define C(a, b) a##b\n#define T C(__TI, ME__)",
    "pasted in three": "#define C(a, b) a##b\n#define D(a, b) C(a, b)\n#define T D(C(_, _), TIME__)",
    "the date, by digraph": "#define C(a, b) a%:%:b\n#define T C(__DA, TE__)",
    "by a header's macro": "#undef __annotate__\n#define __annotate__(a) a\n#define T __location__(TIME)",
    "over two lines": "#define T __TI\\\nME__",
}


@pytest.mark.parametrize("name", CLOCKS)
def test_no_verdict_depends_on_the_clock(name):
    found = verdict(f"{CLOCKS[name]}\n{HEAD}{LOOP}y[k] = x[k] * x[k] * (T[7] % 2 ? 1.0f : 2.0f);\n}}\n")
    assert (found.kind, found.score) == ("compile-error", 0)
    assert "a verdict mustn't depend on it" in found.message or "could be pasted to a name such as __TIME__" in found.message


def test_hidden_lengths_catch_what_public_ones_let_pass():
    body = LOOP + "if (n == 1000 || n == 1 || n == 256 || n == 257 || n == 5000 || n == 100 || n == 1535) y[k] = x[k] * x[k]; else y[k] = 0;"
    text = f"{HEAD}{body}\n}}\n"
    assert verdict(text, secret=None).score == 10, "every length of the public file"
    assert verdict(text).score == 0, "a length drawn from the secret"


# -- the compiler ------------------------------------------------------------------------------------------------------

ASSEMBLY = {
    "an entry of its own": "} .visible .entry evil() { ret;",
    "a variable of a terabyte": "}\\n.global .align 4 .b8 big[1099511627776];\\n.func dummy() {",
    "shared memory of a terabyte": ".shared .align 4 .b8 big[1099511627776];",
    "local memory of a terabyte": ".local .align 4 .b8 big[1099511627776];",
    "no assembly at all": "@@@ ~~ {{{ ;;",
    "a comment that never ends": "/* ",
    "a branch to nowhere": "bra nowhere;",
    "a register that isn't there": "mov.u32 %r999999, 1;",
    "another line's number": ".loc 1 99999999 1;",
    "another version": ".version 99.9\\n.target sm_10",
    "Python": "{ .reg .u32 a; mov.u32 a, 1 + __import__('os').getpid(); }",
    "a quoted label": "$L__x\\'\\\"\\n: ",
    "two thousand million registers": ".reg .f32 r<2000000000>;",
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] if "million" in name else []) for name in ASSEMBLY])
def test_assembly_that_breaks_out_is_the_kernels_fault_or_harmless(name, monkeypatch):
    """It reaches the judging process as PTX text: what can't be read is refused, what is too much ends at a limit; nothing is infrastructure."""
    monkeypatch.setattr(sandbox, "COMPILE_SECONDS", 3)
    found = verdict(f'{HEAD}asm volatile("{ASSEMBLY[name]}");\n{LOOP}y[k] = x[k] * x[k] + 1;\n}}\n')
    assert found.score == 0 and found.kind not in (None, "infrastructure"), found.message


CANARY = "canary_7f3a"
READERS = {
    "by its path": '#include "{path}"',
    "in angle brackets": "#include <{path}>",
    "from the folder above": '#include "../../../../../../../../../..{path}"',
    "through a macro": '#define P "{path}"\n#include P',
    "by digraph": '%:include "{path}"',
    "by trigraph": '??=include "{path}"',
    "over two lines": '#incl\\\nude "{path}"',
    "behind a comment": '/**/ # /**/ include /**/ "{path}"',
    "include_next": '#include_next "{path}"',
    "import": '#import "{path}"',
    "embed": 'const unsigned char d[] = {{\n#embed "{path}"\n}};',
    "asked for": '#if __has_include("{path}")\n#error yes, there\n#endif',
    "asked for by macro": '#define Q __has_include\n#if Q("{path}")\n#error yes, there\n#endif',
    "asked for in a pasted word": '#define PASTE(a, b) a##b\n#if PASTE(__has_, include)("{path}")\n#error yes, there\n#endif',
    "asked for, put together out of sight": '#define C(a, b) a##b\n#define D(a, b) C(a, b)\n#define A (__has_inc, lude)\n#define T ("{path}")\n'
    "#define R D A T\n#if R\n#error yes, there\n#endif",
    "asked for, its name made of words": '#define C(a, b) a##b\n#define S(x) #x\n#if C(__has_inc, lude)(<{path}>)\n#error yes, there\n#endif',
    "by line": '#line 1 "{path}"\nint broken = ;',
    "incbin": 'asm(".incbin \\"{path}\\"");',
    "incbin in the kernel": '__device__ void f() {{ asm volatile(".incbin \\"{path}\\""); }}',
    "incbin, put together": '__device__ void f() {{ asm volatile(".inc" "bin \\"{path}\\""); }}',
    "include in assembly": '__device__ void f() {{ asm volatile(".include \\"{path}\\""); }}',
    "a pragma": '#pragma include_alias("math.h", "{path}")\n#include "math.h"',
    "as a module": 'import "{path}";',
    "through /proc": '#include "/proc/self/root{path}"',
}


@pytest.mark.parametrize("name", READERS)
def test_no_file_is_read_through_the_compiler(name, tmp_path):
    path = tmp_path / "canary.h"
    path.write_text(f"#error {CANARY}\nint {CANARY} = ;\n")
    found = verdict(READERS[name].format(path=path) + "\n" + RIGHT)
    whole = found.to_json()
    assert CANARY not in whole and "yes, there" not in whole
    assert found.kind != "infrastructure" and (found.kind is None or found.score == 0), found.message


BOMBS = {
    "templates": "template <int N> struct T {{ static const int v = T<N - 1>::v + T<N - 2>::v; }};\n"
    "template <int N, int M> struct U {{ U<N - 1, 2 * M> a; U<N - 1, 2 * M + 1> b; }}; template <int M> struct U<0, M> {{ int v; }};\n"
    "__device__ U<30, 0> u;",
    "constexpr": "constexpr long f(long n) {{ long s = 0; for (long a = 0; a < n; ++a) for (long b = 0; b < n; ++b) s += a ^ b; return s; }}\n"
    "constexpr long big = f(1000000000);",
    "macros": "#define A x + x + x + x + x + x + x + x + x + x\n" + "".join(
        f"#define {chr(66 + i)} {' + '.join([chr(65 + i)] * 10)}\n" for i in range(9)
    ) + "__device__ int g(int x) {{ return J; }}",
    "unrolling": "__device__ float h(float v) {{\n#pragma unroll\nfor (int a = 0; a < 4096; ++a)\n#pragma unroll\nfor (int b = 0; b < 4096; ++b) "
    "v = v * 1.0001f + a * b;\nreturn v; }}\n__device__ float (*keep)(float) = h;",
    "an array": "__device__ char bytes[1ull << 40];",
    "an initialised array": "__device__ int many[1 << 28] = {{1}};",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_for_the_compiler_is_ended(name, monkeypatch):
    monkeypatch.setattr(sandbox, "COMPILE_SECONDS", 3)
    found = verdict(BOMBS[name].format() + "\n" + RIGHT)
    assert found.kind != "infrastructure", found.message
    assert found.kind in (None, "compile-limit", "compile-error", "memory-limit", "unsupported"), found.message


# -- the environment ---------------------------------------------------------------------------------------------------


def test_what_lies_in_the_submission_is_never_run(tmp_path):
    folder = tmp_path / "ann"
    folder.mkdir()
    mark = tmp_path / "was_here"
    python = f"open({str(mark)!r}, 'w')\n"
    for name in ("numpy.py", "json.py", "conftest.py", "sitecustomize.py", "usercustomize.py", "lanewise.py", "nbformat.py", "setup.py", "__init__.py"):
        (folder / name).write_text(python)
    for name in ("nvcc", "gcc", "cc", "zig", "python", "python3", "nvidia-smi"):
        (folder / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (folder / name).chmod(0o755)
    for name in ("RESULT.json", "results.json", "verdict.json", "ch05b_block_max.json", "attempts.jsonl"):
        (folder / name).write_text('{"score": 10, "max_score": 10, "kind": null, "status": "graded"}')
    (folder / "ch01a.cu").write_text(COURSE.kernel(KEY).read_text(encoding="utf-8"))
    os.symlink(COURSE.solution(SUM), folder / "ch05b_block_max.cu")
    (tmp_path / "a.toml").write_text("[exercises]\nch01a = 10\nch05b = 10\n")
    poisoned = os.environ | {
        "PYTHONPATH": str(folder), "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONSTARTUP": str(folder / "json.py"), "PYTHONHOME": str(folder),
        "CUPY_CACHE_DIR": str(folder), "LD_PRELOAD": str(folder / "none.so"), "PYTHONINSPECT": "1", "CUDA_PATH": str(folder),
    }  # fmt: skip
    command = [sys.executable, "-I", "-m", "lanewise", "grade-submission", ".", "--set", str(tmp_path / "a.toml"), "--out", str(tmp_path / "out.json")]
    done = subprocess.run(command, cwd=folder, env=poisoned, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["score"] == 0 and [v["kind"] is None for v in result["verdicts"]] == [False, False]
    assert "ch05b_block_max.cu is a link and was left out." in result["notes"]
    assert not mark.exists()


def test_a_child_inherits_nothing_that_tells_it_to_run_something_else(monkeypatch):
    for name in ("PYTHONPATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PYTHONSTARTUP", "GITHUB_TOKEN", "CUPY_CACHE_DIR", "BASH_ENV"):
        monkeypatch.setenv(name, "x")
    inherited = sandbox.environment()
    assert "PATH" in inherited and not {"PYTHONPATH", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PYTHONSTARTUP", "GITHUB_TOKEN", "CUPY_CACHE_DIR"} & set(inherited)


def test_the_compiler_has_ended_before_the_secret_is_sent():
    """The judging process asks for the secret with "run"; up to then, it and the compiler that it forked have never had it."""
    program = "import sys; from lanewise.grading.worker import main; main()"
    child = subprocess.Popen([sys.executable, "-c", program], cwd=COURSE.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    request = {"root": str(COURSE.root), "key": str(KEY), "text": RIGHT, "changes": {}, "describe": False, "cpu": 20, "headers": None, "gpu": None}
    child.stdin.write(json.dumps(request) + "\n")
    child.stdin.flush()
    stages = []
    while "run" not in stages:
        stages.append(json.loads(child.stdout.readline())["stage"])
    out, _ = child.communicate(json.dumps(SECRET) + "\n", timeout=60)
    assert stages == ["load", "compile", "run"]
    said = [json.loads(line) for line in out.splitlines()]
    assert said[-1]["verdict"]["kind"] is None and any(case["name"].startswith("hidden 1") for case in said[-1]["verdict"]["cases"])


def test_hostile_names_and_text_come_out_as_json(tmp_path):
    folder = tmp_path / "=cmd|' <b>né\u202e"
    folder.mkdir()
    (folder / "ch01a.cu").write_bytes(HEAD.encode() + b'printf("\x1b[31m</testcase>\\0%s", "\xf0\x9f\x92\xa3"); y[0] = </testcase>;}\n')
    (folder / "ch05b \x1b[31m.cu").write_bytes(b"\0")
    (tmp_path / "a.toml").write_text("[exercises]\nch01a = 10\nch05b = 10\n")
    text = json.dumps(grade_submission(folder, read_assignment(tmp_path / "a.toml", COURSE), COURSE), allow_nan=False)
    assert "\\u001b" not in text and "\\u202e" not in text and json.loads(text)["score"] == 0


@pytest.mark.slow
def test_one_text_and_one_seed_give_one_verdict_twenty_times():
    text = f"{HEAD}{LOOP}y[k] = x[k] * x[k] * (n == 1 ? 1.0f : 1.01f);\n}}\n"
    assert len({verdict(text).to_json() for _ in range(20)}) == 1
