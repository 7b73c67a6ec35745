"""Whatever a kernel or its arguments do, a launch answers soon, in words, and leaves everything usable."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

from lanewise import simt

f32, i32 = np.float32, np.int32
SECONDS = 8  # any launch here, on the CI machine


def source(body: str, parameters: str = "float* x, int n", before: str = "") -> str:
    return f"""{before}
extern "C" __global__ void k({parameters}) {{
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  {body}
}}
"""


def launch(text: str, grid=1, block=32, args=None, shared_bytes: int = 0, **more):
    args = [np.zeros(64, f32), i32(64)] if args is None else args
    return simt.compile(text).kernel("k").launch(grid, block, args, shared_bytes, **more)


def first_error(report):
    errors = [f for f in report.findings if f.severity == "error"]
    assert errors, "nothing was reported"
    return errors[0]


# ------------------------------------------------------------------------------------------------ arguments and launches

CALLS = {
    "too few": (dict(args=[np.zeros(64, f32)]), "argument-mismatch", "takes 2 arguments"),
    "too many": (dict(args=[np.zeros(64, f32), i32(1), i32(2)]), "argument-mismatch", "leave out number 3"),
    "an array alone": (dict(args=np.zeros(64, f32)), "argument-mismatch", "takes 2 arguments (x, n), but 1 came"),
    "no array at all": (dict(args=5), "argument-mismatch", "takes 2 arguments (x, n), but 1 came"),
    "wrong dtype": (dict(args=[np.zeros(64), i32(1)]), "argument-mismatch", "float64"),
    "not contiguous": (dict(args=[np.zeros(64, f32)[::2], i32(1)]), "argument-mismatch", "contiguous"),
    "None": (dict(args=[None, i32(1)]), "argument-mismatch", "None came"),
    "a list": (dict(args=[[1.0, 2.0], i32(1)]), "argument-mismatch", "list"),
    "foreign bytes": (dict(args=[np.zeros(64, ">f4"), i32(1)]), "argument-mismatch", "foreign order"),
    "objects": (dict(args=[np.zeros(64, object), i32(1)]), "argument-mismatch", "numeric dtype"),
    "grid of 0": (dict(grid=0), "launch-refused", "grid.x is 0"),
    "block of 0": (dict(block=0), "launch-refused", "block.x is 0"),
    "1025 threads": (dict(block=1025), "launch-refused", "1024 threads, not 1025"),
    "grid of a word": (dict(grid="a"), "launch-refused", "must be an int or a tuple"),
    "four axes": (dict(grid=(1, 1, 1, 1)), "launch-refused", "1 to 3 ints"),
    "shared memory": (dict(shared_bytes=300_000), "launch-refused", "300000 bytes"),
    "null": (dict(args=[np.uintp(0), i32(1)]), "out-of-bounds", "null pointer x"),
    "empty array": (dict(args=[np.zeros(0, f32), i32(0)]), "out-of-bounds", "x has no elements"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    more, kind, says = CALLS[name]
    finding = first_error(launch(source("x[i] = 1;"), **more))
    assert finding.kind == kind and says in finding.message


def test_a_read_only_array_is_for_reading():
    a = np.arange(32, dtype=f32)
    a.flags.writeable = False
    text = source("y[i] = x[i];", "const float* x, float* y")
    y = np.zeros(32, f32)
    assert launch(text, args=[a, y]).ok and (y == a).all()
    assert "read-only" in first_error(launch(text, args=[y, a])).message
    assert a.tolist() == list(range(32))


def test_nothing_runs_after_a_refusal():
    x = np.full(64, 7, f32)
    launch(source("x[i] = 1;"), block=1025, args=[x, i32(1)])
    launch(source("x[i] = 1;"), args=[x])
    assert (x == 7).all()


FINE = {
    "CRLF, BOM, UTF-8": ("\ufeff" + source("x[i] = 1;  // grüße").replace("\n", "\r\n"), {}),
    "no threads beyond n": (source("if (i < n) x[i] = 1;"), dict(args=[np.zeros(0, f32), i32(0)])),
    "0-d array": (source("if (i == 0) x[0] = 1;"), dict(args=[np.zeros((), f32), i32(0)])),
    "no parameters": (source("", ""), dict(args=[])),
    "unused parameters": (source("", "float* a, int b, double c"), dict(args=[np.zeros(4, f32), i32(1), np.float64(2)])),
    "division by 0": (source("int z = n - 64; x[i] = n / z; x[i] = t % z; x[i] = 1.0f / z; x[i] = (long long)n / (long long)z;"), {}),
    "infinities": (source("x[i] = x[i] * 2;"), dict(args=[np.array([np.inf, np.nan] * 16, f32), i32(1)])),
    "exit": (source('if (t < 5) asm volatile("exit;"); x[i] = 2;'), {}),
    "1023 threads": (source("if (i < n) x[i] = 1;"), dict(block=1023)),
    "printf of a string": (source('printf("%s %d %5.3lld|%c|%%|%*d\\n", "abc", 1, 3LL, 65, 5, 7);'), {}),
    "printf without arguments": (source('printf("%n %q");'), {}),
    "negative schedule": (source("x[i] = 1;"), dict(schedule=-1)),
    "2 GB": (source("x[i] = 1;"), dict(args=[np.zeros(1 << 29, f32), i32(1)])),
}  # fmt: skip


@pytest.mark.parametrize("name", FINE)
def test_no_faults(name):
    text, more = FINE[name]
    report = launch(text, **more)
    assert report.ok, [f.message for f in report.findings]


def test_printf_with_stars():
    report = launch(source('printf("%*d|%.*f|%-*d|\\n", 5, 7, 2, 1.25, 4, 3);'), block=1)
    assert report.printed == "    7|1.25|3   |\n"


@pytest.mark.parametrize(("block", "grid"), [((5, 7, 3), (2, 3, 2)), ((33, 1, 1), (3, 1, 1)), ((1, 1, 1), (2, 2, 5))])
def test_odd_shapes(block, grid):
    text = source(
        "int T = blockDim.x * blockDim.y * blockDim.z, g = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);"
        "x[g * T + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)] = threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z + 1000 * g;"
    )
    n = int(np.prod(block) * np.prod(grid))
    x = np.zeros(n, f32)
    assert launch(text, grid, block, [simt.Output(x), i32(n)]).ok
    z, y, x_ = np.meshgrid(*(np.arange(k) for k in block[::-1]), indexing="ij")
    one = (x_ + 10 * y + 100 * z).ravel()
    assert (x == np.concatenate([one + 1000 * g for g in range(int(np.prod(grid)))])).all()


# ------------------------------------------------------------------------------------------------ out of bounds

BEYOND = {
    "global": ("x[i + 64] = 1;", "x[64]"),
    "negative": ("x[i - 5] = 1;", "x[-5]"),
    "far away": ("x[(long long)i * 100000000000LL] = 1;", "x[100000000000]"),
    "float4": ("((float4*)x)[i] = make_float4(1, 2, 3, 4);", "x[64..67]"),
    "atomic": ("atomicAdd(&x[i + 50], 1.f);", "x[64]"),
    "shared": ("__shared__ float s[32]; s[t + 1] = 1; __syncthreads(); x[i] = s[31];", "s[32]"),
    "shared, negative": ("__shared__ float s[32]; s[t - 1] = 1; __syncthreads(); x[i] = s[0];", "s[-1]"),
    "shared, atomic": ("__shared__ int s[32]; s[t] = 0; __syncthreads(); atomicAdd(&s[t + n], 1); __syncthreads(); x[i] = s[t];", "s[64]"),
    "dynamic shared without bytes": ("extern __shared__ float s[]; s[t] = 1; x[i] = s[t];", "s has no elements"),
    "local": ("float a[4]; for (int q = 0; q < n; q++) a[q] = q; x[i] = a[n & 3];", "a[4]"),
    "local, negative": ("float a[4] = {1, 2, 3, 4}; x[i] = a[-n];", "a[-64]"),
    "constant": ("x[i] = c[n + t];", "c[64]"),
    "generic": ("__shared__ float s[32]; float* p = n > 5 ? s : x; p[t + 40] = 1;", "s[40]"),
    "wild": ("*(float*)(x[t] >= 0 ? 0x123456789abcULL : 8ULL) = 1;", "0x123456789abc"),
    "function pointer": ("typedef int (*F)(int); F f = (F)(unsigned long long)n; x[i] = f(3);", "no function is there"),
}  # fmt: skip


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", BEYOND)
def test_out_of_bounds(name, check):
    body, says = BEYOND[name]
    memory = np.zeros(64 + 128, f32)
    x = memory[64:128]
    report = launch(source(body, before="__constant__ float c[16];"), args=[x, i32(64)], check=check)
    finding = first_error(report)
    assert finding.kind == "out-of-bounds" and says in finding.message
    assert not memory[:64].any() and not memory[128:].any(), "a neighbour was written"


# ------------------------------------------------------------------------------------------------ endless loops

ENDLESS = {
    "empty": "while (1);",
    "a flag": "while (((volatile int*)x)[0] == 0); y[i] = 1;",
    "a flag, hoisted": "while (x[0] == 0); y[i] = 1;",
    "one thread": "if (i == 0) while (atomicAdd(x, 0) == 0); y[i] = 1;",
    "one thread before a barrier": "if (t == 0) while (atomicAdd(x, 0) == 0); __syncthreads(); y[i] = 1;",
    "with barriers": "while (1) __syncthreads();",
    "with barriers and shared memory": "__shared__ int s; if (t == 0) s = 0; __syncthreads(); while (s == 0) __syncthreads();",
    "with printf": 'while (1) printf("%d\\n", t);',
    "nested": "for (int a = 0; a < n; a = a * 2) for (int b = 0; b < 10; b++) y[i] += b;",
    "unsigned": "for (unsigned q = n; q >= 0; q--) y[i] += q;",
    "going round": "volatile int c = 0; while (c >= 0) c = (c + 1) & 1023;",
    "two locks": "if (t % 32 == 0) { int a = t / 32 % 2; while (atomicCAS(&x[a], 0, 1) != 0); for (int q = 0; q < 4; q++) y[i] += 1;"
    " while (atomicCAS(&x[1 - a], 0, 1) != 0); atomicExch(&x[a], 0); atomicExch(&x[1 - a], 0); }",
    "beside a working warp": "if (t < 32) while (((volatile int*)x)[0] == 0); else for (int q = 0; q < 1000; q++) y[i] += q;",
    "counting tries": "int c = 0; while (atomicCAS(x + 1, 1, 2) != 1) c++; y[i] = c;",
    "ever growing": "float f = y[i]; while (f < 1e9f) f = f + 1e-3f; y[i] = f;",
    "the clock": "long long s = clock64(); while (clock64() - s >= 0) { }",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("grid", "block"), [(1, 64), (256, 256)])
@pytest.mark.parametrize("name", ENDLESS)
def test_endless_loops_end(name, grid, block):
    text = source(ENDLESS[name], "int* x, float* y, int n")
    started = time.process_time()
    report = launch(text, grid, block, [np.zeros(64, i32), np.zeros(grid * block, f32), i32(5)])
    assert time.process_time() - started < SECONDS
    kinds = {f.kind for f in report.findings if f.severity == "error"}
    assert "step-limit" in kinds, report.findings


def test_a_loop_in_which_nothing_changes_is_told_at_once():
    text = source(ENDLESS["a flag"], "int* x, float* y, int n")
    steps = [launch(text, 4, 64, [np.zeros(64, i32), np.zeros(256, f32), i32(5)]) for _ in range(2)]
    messages = [first_error(r).message for r in steps]
    assert messages[0] == messages[1] and "nothing that its loop looks at changes any more" in messages[0]


def test_recursion_without_end():
    before = "__device__ __noinline__ int f(int n) { int a[8]; a[n & 7] = n; return n == 12345 ? 0 : f(n + 1) + a[(n + 1) & 7] + 1; }"
    finding = first_error(launch(source("x[i] = f(n);", before=before)))
    assert finding.kind == "step-limit" and "recursion" in finding.message


LONG = {
    "one thread": ("if (i == 0) { unsigned v = 1; for (int q = 0; q < 100000; q++) v = v * 1664525u + 1013904223u; y[0] = v >> 8; }", None),
    "a while loop": ("if (i == 0) { float f = 0; while (f < 100000.f) f += 1.f; y[0] = f; }", 100000),
    "waits for another block": (
        "if (blockIdx.x == 0) { while (((volatile int*)x)[0] == 0); y[i] = 1; } else { y[i] = 1; __threadfence(); atomicExch(x, 1); }",
        1,
    ),
    "waits for the last block": ("if (blockIdx.x == 0) { while (((volatile int*)x)[0] < gridDim.x - 1); y[i] = 1; } else if (t == 0) atomicAdd(x, 1);", 1),
    "a lock": ("if (t == 0) { while (atomicCAS(x, 0, 1) != 0); __threadfence(); y[0] += 1; __threadfence(); atomicExch(x, 0); }", 96),
    "a lock with a count of tries": (
        "int c = 0; if (t == 0) { while (atomicCAS(x, 0, 1) != 0) c++; __threadfence(); y[0] += 1; __threadfence(); atomicExch(x, 0);"
        " y[32 + blockIdx.x] = c; }",
        96,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_loops_that_end_are_left_alone(name):
    body, want = LONG[name]
    y = np.zeros(96 * 32, f32)
    report = launch(source(body, "int* x, float* y, int n"), 96, 32, [np.zeros(64, i32), y, i32(5)])
    assert report.ok, [f.message for f in report.findings]
    if want is None:
        v = 1
        for _ in range(100_000):
            v = (v * 1664525 + 1013904223) & 0xFFFFFFFF
        want = f32(v >> 8)
    assert y[0] == want


def test_spinning_does_not_change_the_counters_of_others():
    """A long divergent loop isn't interrupted: the lanes that wait where the paths join run once, together."""
    text = source("int s = 0; if (t == 0) for (int q = 0; q < n; q++) s += x[(s + q) & 31]; x[32 + t] = s;")
    few, many = (launch(text, args=[np.zeros(64, f32), i32(n)]).counters for n in (10, 3000))
    assert few.global_store_requests == many.global_store_requests == 1


def test_max_steps_counts_steps():
    text = source("for (int q = 0; q < n; q++) x[i] += x[q];")
    assert first_error(launch(text, block=1, max_steps=3)).kind == "step-limit"
    assert launch(text, block=1, max_steps=1000).ok


def test_many_blocks():
    n = 300_000 * 32
    x = np.zeros(n, np.uint8)
    started = time.process_time()
    assert launch(source("x[i] = 1;", "unsigned char* x, int n"), 300_000, 32, [x, i32(n)]).ok
    assert time.process_time() - started < SECONDS and x.all()


def test_too_many_blocks():
    finding = first_error(launch(source("if (i < n) x[i] = 1;"), 2**31 - 1))
    assert finding.kind == "step-limit" and "of 2147483647 blocks" in finding.message


# ------------------------------------------------------------------------------------------------ stops


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("if (t == 3) __trap(); x[i] = 2;", "trap"),
        ("assert(t < 3); x[i] = 2;", "trap"),
        ("if (t < 16) __syncthreads(); x[i] = 1;", "barrier-divergence"),
        ('if (t < 32) asm volatile("bar.sync 1, 96;"); x[i] = 1;', "deadlock"),
        ("float a[60000]; a[(t * n) % 60000] = 3; x[i] = a[n * 5 + 60000];", "out-of-bounds"),
    ],
)
def test_stops(body, kind):
    assert first_error(launch(source(body))).kind == kind


def test_malloc_is_not_there():
    text = source("float* p = (float*)malloc(100); p[t] = 1; x[i] = p[t]; free(p);")
    with pytest.raises(simt.Unsupported, match=r"malloc\(\) is not there"):
        simt.compile(text).kernel("k")


def test_lanes_of_several_blocks_are_several_warps():
    """Lanes 0 … 31 of which each block has eight: four warps store, whoever runs together."""
    text = source("__shared__ float s[32]; if ((t & 3) == blockIdx.x) { s[t] = t; x[i & 63] = s[t]; }")
    counters = launch(text, 4, args=[np.zeros(64, f32), i32(0)], check=False).counters
    assert (counters.shared_store_requests, counters.shared_store_wavefronts) == (4, 4)


@pytest.mark.parametrize("schedule", range(4))
def test_blocks_at_different_barriers(schedule):
    """Blocks of different trip counts, none of which is complete any more: each barrier and its reduction are its own block's."""
    text = """extern "C" __global__ void k(int* x, const int* n) {
      int t = threadIdx.x, b = blockIdx.x;
      if ((t * 7 + b * 13) % 40 == 39) return;
      for (int i = 0; i < n[b]; i++) { x[b * 40 + t] += i; __syncthreads(); }
      x[b * 40 + t] += 100 * __syncthreads_count(t % 2);
    }"""
    n, t = np.array([0, 2, 1, 3, 5], i32), np.arange(40)
    x = np.zeros(200, i32)
    report = launch(text, 5, 40, [x, n], schedule=schedule)
    assert report.ok, [f.message for f in report.findings]
    assert report.counters.barriers == 5 + n.sum()
    for b, row in enumerate(x.reshape(5, 40)):
        alive = (t * 7 + b * 13) % 40 != 39
        assert (row == np.where(alive, sum(range(n[b])) + 100 * (t[alive] % 2).sum(), 0)).all()


def test_an_early_return_is_no_skipped_barrier():
    """Even if it stores something first: the compiler puts that behind the barrier."""
    text = source("__shared__ float s[32]; if (t < 7) { y[i] = 1; return; } s[t] = t; __syncthreads(); x[i] = s[31 - t % 20];", "float* x, float* y")
    report = launch(text, args=[np.zeros(32, f32), np.zeros(32, f32)])
    assert report.ok, [f.message for f in report.findings]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_an_interrupt_leaves_everything_usable():
    text = source("float f = x[i]; for (int q = 0; q < n; q++) f = f * 0.5f + q * 1e-38f; x[i] = f;")
    kernel = simt.compile(text, options=("-ftz=true",)).kernel("k")
    x = np.zeros(65536, f32)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            kernel.launch(256, 256, [x, i32(2_000_000)])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert f32(1e-39) * f32(1) != 0, "subnormal numbers still count as zero"
    assert kernel.launch(256, 256, [x, i32(20)]).ok and np.isfinite(x).all()
