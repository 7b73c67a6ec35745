"""cp.async: what is copied, when it shows, and what is said where a kernel reads, writes or leaves it too early."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt

f16, f32, i32, u8, u32 = np.float16, np.float32, np.int32, np.uint8, np.uint32
RNG = np.random.default_rng(2)
HEAD = """
__device__ unsigned to(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
#define COPY(dst, src, bytes) asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(to(dst)), "l"(src), "n"(bytes) : "memory")
#define FILL(dst, src, bytes, n) asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"(to(dst)), "l"(src), "n"(bytes), "r"(n) : "memory")
#define COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT(n) asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory")
#define ALL asm volatile("cp.async.wait_all;" ::: "memory")
"""
HEAD_LINES = HEAD.count("\n")


def launch(body, arguments, block=32, grid=1, head=HEAD, **options):
    return simt.compile(head + body).kernel("k").launch(grid, block, arguments, **options)


def errors(report):
    return [f for f in report.findings if f.severity == "error"]


def line_of(body, text):
    """Source line of the first line of the kernel that holds `text`."""
    return HEAD_LINES + 1 + next(number for number, line in enumerate(body.splitlines()) if text in line)


def words(n):
    return RNG.integers(-(2**31), 2**31, n).astype(i32)


# ------------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize("schedule", [0, 4])
@pytest.mark.parametrize("bytes_", [4, 8, 16])
def test_only_the_first_bytes_are_read(bytes_, schedule):
    """Every amount from 0 to the whole, in lanes of one warp; what lies behind the amount need not exist."""
    body = f"""extern "C" __global__ void k(const unsigned char* x, unsigned char* y, int n) {{
  __shared__ __align__(16) unsigned char s[96 * {bytes_}];
  int t = threadIdx.x, at = blockIdx.x * 96 + t;
  int left = n - at * {bytes_};
  left = left < 0 ? 0 : left;
  FILL(s + t * {bytes_}, x + at * {bytes_}, {bytes_}, min(left, t % ({bytes_} + 1)));
  COMMIT; WAIT(0);
  for (int j = 0; j < {bytes_}; ++j) y[at * {bytes_} + j] = s[t * {bytes_} + j];
}}"""
    n = 96 * 3 * bytes_ - 37
    x = RNG.integers(1, 256, n).astype(u8)
    y = np.full((3 * 96, bytes_), 9, u8)
    report = launch(body, [x, y, i32(n)], block=96, grid=3, schedule=schedule)
    assert report.ok, str(report)
    want = np.zeros(3 * 96 * bytes_, u8)
    want[:n] = x
    want = want.reshape(3 * 96, bytes_)
    for at in range(3 * 96):
        want[at, at % 96 % (bytes_ + 1) :] = 0
    assert np.array_equal(y, want)


def test_a_predicate_ignores_the_source():
    body = """extern "C" __global__ void k(const int* x, int* y, int n) {
  __shared__ int s[64];
  int t = threadIdx.x;
  asm volatile("{ .reg .pred p; setp.ge.s32 p, %2, %3; cp.async.ca.shared.global [%0], [%1], 4, p; }" :: "r"(to(s + t)), "l"(x + t), "r"(t), "r"(n) : "memory");
  ALL;
  y[t] = s[t];
}"""
    x, y = words(40), np.ones(64, i32)
    report = launch(body, [x, y, i32(40)], block=64)
    assert report.ok, str(report)
    assert np.array_equal(y, np.r_[x, np.zeros(24, i32)])
    assert report.counters.global_load_requests == 2 and report.counters.global_load_sectors == 5


def test_copies_under_a_branch_of_lanes_and_of_blocks():
    """Copies of parts of a warp and of some blocks, waited for together."""
    body = """extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[64];
  int t = threadIdx.x, b = blockIdx.x;
  s[t] = -1;
  if (t % 3 == b % 3) COPY(s + t, x + b * 64 + t, 4);
  if (b > 2 && t < 40) { if (t % 3 != b % 3) COPY(s + t, x + b * 64 + t, 4); }
  COMMIT; WAIT(0);
  y[b * 64 + t] = s[t];
}"""
    x, y = words(5 * 64), np.zeros(5 * 64, i32)
    for schedule in (0, 9):
        report = launch(body, [x, y], block=64, grid=5, schedule=schedule)
        assert report.ok, str(report)
        t, b = np.arange(64)[None, :], np.arange(5)[:, None]
        assert np.array_equal(y.reshape(5, 64), np.where((t % 3 == b % 3) | ((b > 2) & (t < 40)), x.reshape(5, 64), -1))


def test_blocks_that_run_on_alone_keep_their_copies():
    """Loops of different length part the batch while copies are under way."""
    body = """extern "C" __global__ void k(const int* x, int* y, const int* n) {
  __shared__ int s[2][32];
  int t = threadIdx.x, sum = 0, rounds = n[blockIdx.x];
  COPY(&s[0][t], x + t, 4); COMMIT;
  for (int i = 0; i < rounds; ++i) {
    if (i + 1 < rounds) COPY(&s[(i + 1) & 1][t], x + (i + 1) * 32 + t, 4);
    COMMIT; WAIT(1);
    __syncthreads();
    sum += s[i & 1][31 - t];
    __syncthreads();
  }
  y[blockIdx.x * 32 + t] = sum;
}"""
    x, rounds = words(7 * 32) // 8, np.array([3, 1, 7, 2, 7, 5], i32)
    y = np.zeros(6 * 32, i32)
    report = launch(body, [x, y, rounds], grid=6)
    assert report.ok, str(report)
    assert np.array_equal(y.reshape(6, 32), np.array([x.reshape(7, 32)[:n, ::-1].sum(axis=0, dtype=i32) for n in rounds]))


def test_what_is_read_at_the_issue_is_what_arrives():
    body = """extern "C" __global__ void k(int* x, int* y) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = 5;
  COPY(s + t, x + t, 4);
  ALL;
  x[t] = 0;
  y[t] = s[t];
}"""
    x, y = words(32), np.zeros(32, i32)
    before = x.copy()
    assert launch(body, [x, y]).ok
    assert np.array_equal(y, before) and not x.any()


def test_wait_all_waits_for_what_was_never_committed_and_wait_group_does_not():
    body = """extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = 7;
  COPY(s + t, x + t, 4);
  WAIT(0);
  y[t] = s[t];
}"""
    x, y = words(32), np.zeros(32, i32)
    report = launch(body, [x, y])
    assert [f.kind for f in errors(report)] == ["async-copy"]
    assert (y == 7).all()
    assert launch(body.replace("WAIT(0)", "ALL"), [x, y]).ok
    assert np.array_equal(y, x)


def test_copies_that_nobody_waits_for_are_no_fault():
    body = """extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  COPY(s + t, x + t, 4); COMMIT;
  COPY(s + 32 + t, x + t, 4); COMMIT;
  WAIT(1);
  y[t] = s[t];
}"""
    x, y = words(32), np.zeros(32, i32)
    assert launch(body, [x, y]).ok and np.array_equal(x, y)


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.slow
def test_cuda_pipeline_of_a_thread(check):
    body = """
#include <cuda/pipeline>
extern "C" __global__ void k(const int4* x, int4* y, int n) {
  __shared__ int4 s[2][32];
  int t = threadIdx.x;
  auto pipe = cuda::make_pipeline();
  for (int i = 0; i <= n; ++i) {
    if (i < n) {
      pipe.producer_acquire();
      cuda::memcpy_async(&s[i & 1][t], x + 32 * i + t, sizeof(int4), pipe);
      pipe.producer_commit();
    }
    if (i == 0) continue;
    if (i < n) cuda::pipeline_consumer_wait_prior<1>(pipe); else cuda::pipeline_consumer_wait_prior<0>(pipe);
    y[32 * (i - 1) + t] = s[(i - 1) & 1][t];
    pipe.consumer_release();
  }
}"""
    x, y = words(5 * 128), np.zeros(5 * 128, i32)
    report = launch(body, [x, y, i32(5)], head="", check=check)
    assert report.ok, str(report)
    assert np.array_equal(x, y)


@pytest.mark.slow
def test_cooperative_memcpy_with_a_ragged_end():
    body = """
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(const char* x, char* y, int n) {
  __shared__ __align__(16) char s[1000];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, x, n);
  cg::wait(block);
  for (int i = threadIdx.x; i < n; i += 64) y[i] = s[n - 1 - i];
}"""
    x, y = RNG.integers(-128, 128, 1000).astype(np.int8), np.zeros(1000, np.int8)
    report = launch(body, [x, y, i32(999)], block=64, head="")
    assert report.ok, str(report)
    assert np.array_equal(y[:999], x[998::-1])


# ------------------------------------------------------------------------------------------------ counters


def test_a_copy_counts_as_a_global_load_and_no_shared_store():
    body = """extern "C" __global__ void k(const float4* x, float4* y) {
  __shared__ float4 s[64];
  int t = threadIdx.x;
  COPY(s + t, x + t, 16);
  ALL;
  y[t] = s[t];
}"""
    x, y = np.zeros(256, f32), np.ones(256, f32)
    report = launch(body, [x, y], block=64)
    c = report.counters
    assert (c.global_load_requests, c.global_load_sectors) == (2, 32)
    assert (c.shared_store_requests, c.shared_store_wavefronts, c.shared_load_requests) == (0, 0, 2)
    assert not [f for f in report.findings if f.kind == "uncoalesced"]
    strided = launch(body.replace("x + t", "x + 4 * t"), [np.zeros(1024, f32), y], block=64)
    assert [f.line for f in strided.findings if f.kind == "uncoalesced"] == []  # sixteen bytes of each lane's own sector
    narrow = body.replace("COPY(s + t, x + t, 16)", "COPY(s + t, x + 4 * t, 4)").replace("float4", "float")
    found = launch(narrow, [np.zeros(1024, f32), np.ones(64, f32)], block=64)
    assert [(f.line, f.array) for f in found.findings if f.kind == "uncoalesced"] == [(line_of(narrow, "COPY"), "x")]


# ------------------------------------------------------------------------------------------------ findings

PAIR = """extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[2][64];
  int t = threadIdx.x;
  COPY(&s[0][t], x + t, 4); COMMIT;
  COPY(&s[1][t], x + 64 + t, 4); COMMIT;
  WAIT(1);
  __syncthreads();
  y[t] = s[0][63 - t];
  WAIT(0);
  __syncthreads();
  y[t] += s[1][63 - t];
}"""


def pair(source):
    x, y = np.arange(128, dtype=i32), np.zeros(64, i32)
    return launch(source, [x, y], block=64, grid=1), y


def test_the_pair_is_clean():
    report, y = pair(PAIR)
    assert report.ok, str(report)
    assert np.array_equal(y, np.arange(64)[::-1] + np.arange(64, 128)[::-1])


def test_a_read_while_the_copy_is_under_way():
    source = PAIR.replace("  WAIT(1);\n", "")
    found = errors(pair(source)[0])
    assert [(f.kind, f.line, f.array, f.index, f.thread, f.count) for f in found] == [("async-copy", line_of(source, "y[t] = s"), "s", (0, 63), (0, 0, 0), 64)]
    assert f"line {line_of(source, 'COPY')}" in found[0].message and "Wait for the copy first" in found[0].message


def test_a_wait_that_leaves_the_group_pending():
    source = PAIR.replace("WAIT(1)", "WAIT(2)")
    found = errors(pair(source)[0])
    assert [(f.kind, f.line) for f in found] == [("async-copy", line_of(source, "y[t] = s"))]
    assert "one group less" in found[0].message
    later = PAIR.replace("WAIT(0)", "WAIT(1)")
    found = errors(pair(later)[0])
    assert [(f.kind, f.line, f.index) for f in found] == [("async-copy", line_of(later, "y[t] += s"), (1, 63))]


def test_a_wait_does_not_speak_for_other_threads():
    """After the wait, before the barrier, only the thread's own copies may be read."""
    source = PAIR.replace("  WAIT(1);\n  __syncthreads();\n", "  WAIT(1);\n")
    found = errors(pair(source)[0])
    assert [(f.kind, f.array, f.line) for f in found] == [("race", "s", line_of(source, "y[t] = s"))]
    assert found[0].other.line == line_of(source, "COPY") and found[0].other.thread == (63, 0, 0)
    step = f"Put it behind the wait, before line {found[0].line}."
    assert "no __syncthreads() stands between that thread's wait for its copy and this." in found[0].message and found[0].message.endswith(step)
    own = source.replace("s[0][63 - t]", "s[0][t]")
    assert pair(own)[0].ok


def test_a_write_while_the_copy_is_under_way():
    source = PAIR.replace("  WAIT(1);\n", "  s[0][t] = 3;\n  WAIT(1);\n")
    found = errors(pair(source)[0])
    assert [(f.kind, f.line) for f in found] == [("async-copy", line_of(source, "s[0][t] = 3"))]
    assert "writes s[0][0]" in found[0].message


RING = """extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  COPY(&s[0][t], x + t, 4); COMMIT;
  for (int i = 0; i < 4; ++i) {
    if (i < 3) COPY(&s[(i + 1) & 1][t], x + 64 * (i + 1) + t, 4);
    COMMIT; WAIT(1);
    __syncthreads();
    sum += s[i & 1][63 - t];
    __syncthreads();
  }
  y[t] = sum;
}"""


def test_a_copy_into_a_buffer_that_others_still_read():
    """The last barrier of the loop keeps the next copy off the buffer."""
    x = words(256) // 4
    assert launch(RING, [x, np.zeros(64, i32)], block=64).ok
    source = RING.replace("t];\n    __syncthreads();\n", "t];\n")
    assert source != RING
    found = errors(launch(source, [x, np.zeros(64, i32)], block=64))
    assert [(f.kind, f.array) for f in found] == [("race", "s")]
    assert {found[0].line, found[0].other.line} == {line_of(source, "if (i < 3)"), line_of(source, "sum +=")}


def test_two_copies_to_one_place():
    source = PAIR.replace("&s[1][t], x + 64", "&s[0][t], x + 64").replace("s[1]", "s[0]")
    found = errors(pair(source)[0])
    assert found[0].kind == "async-copy" and found[0].line == line_of(source, "x + 64")


ONE = """extern "C" __global__ void k(const int* x, int* y) {
  __shared__ __align__(16) int s[128];
  int t = threadIdx.x;
  COPY(s + 4 * t, x + 4 * t, 16);
  ALL;
  y[t] = s[4 * t];
}"""


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        ("x + 4 * t", "x + 4 * t + 4", ("out-of-bounds", "x", 128, (31, 0, 0))),
        ("COPY(s + 4 * t", "COPY(s + 4 * t + (t == 31 ? 4 : 0)", ("out-of-bounds", "s", 128, (31, 0, 0))),
        ("x + 4 * t", "x + 4 * t + (t == 7)", ("misaligned", "x", 29, (7, 0, 0))),
        ("COPY(s + 4 * t", "COPY(s + 4 * t + (t == 7 ? 2 : 0)", ("misaligned", "s", 30, (7, 0, 0))),
    ],
)
def test_addresses(old, new, want):
    source = ONE.replace(old, new, 1)
    report = launch(source, [np.arange(128, dtype=i32), np.zeros(32, i32)])
    found = next(f for f in errors(report) if f.kind == want[0])
    assert (found.kind, found.array, found.index, found.thread) == want
    assert found.line == line_of(source, "COPY")


def test_an_unset_source():
    y = np.zeros(32, i32)
    report = launch(ONE, [simt.Output(np.zeros(128, i32)), y])
    assert ("uninitialised-read", line_of(ONE, "COPY")) in [(f.kind, f.line) for f in errors(report)]


# ------------------------------------------------------------------------------------------------ together with the tensor cores

MATMUL = """
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#define TILE 64
#define DEPTH 32
extern "C" __global__ void k(const half* A, const half* B, float* C, int n) {
  __shared__ __align__(16) half sa[2][TILE][DEPTH + 8], sb[2][DEPTH][TILE + 8];
  int t = threadIdx.x, w = t >> 5, l = t & 31, wm = (w >> 1) * 32, wn = (w & 1) * 32, bm = blockIdx.y * TILE, bn = blockIdx.x * TILE;
  float acc[2][4][4] = {};
  auto fetch = [&](int k, int s) {
    for (int i = 0; i < 2; ++i) {
      int c = t + 128 * i;
      __pipeline_memcpy_async(&sa[s][c >> 2][(c & 3) * 8], A + (bm + (c >> 2)) * n + k + (c & 3) * 8, 16);
      __pipeline_memcpy_async(&sb[s][c >> 3][(c & 7) * 8], B + (k + (c >> 3)) * n + bn + (c & 7) * 8, 16);
    }
    __pipeline_commit();
  };
  fetch(0, 0);
  for (int k = 0, s = 0; k < n; k += DEPTH, s ^= 1) {
    if (k + DEPTH < n) { fetch(k + DEPTH, s ^ 1); __pipeline_wait_prior(1); } else __pipeline_wait_prior(0);
    __syncthreads();
    for (int kk = 0; kk < DEPTH; kk += 16) {
      unsigned a[2][4], b[4][2];
      for (int i = 0; i < 2; ++i)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(a[i][0]), "=r"(a[i][1]), "=r"(a[i][2]), "=r"(a[i][3])
                     : "r"((unsigned)__cvta_generic_to_shared(&sa[s][wm + 16 * i + (l & 15)][kk + (l >> 4) * 8])));
      for (int j = 0; j < 4; j += 2)
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(b[j][0]), "=r"(b[j][1]), "=r"(b[j + 1][0]), "=r"(b[j + 1][1])
                     : "r"((unsigned)__cvta_generic_to_shared(&sb[s][kk + (l & 15)][wn + 8 * j + (l >> 4) * 8])));
      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
          asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                       : "+f"(acc[i][j][0]), "+f"(acc[i][j][1]), "+f"(acc[i][j][2]), "+f"(acc[i][j][3])
                       : "r"(a[i][0]), "r"(a[i][1]), "r"(a[i][2]), "r"(a[i][3]), "r"(b[j][0]), "r"(b[j][1]));
    }
    __syncthreads(); // free
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j)
      for (int h = 0; h < 2; ++h)
        *(float2*)&C[(bm + wm + 16 * i + (l >> 2) + 8 * h) * n + bn + wn + 8 * j + (l & 3) * 2] = make_float2(acc[i][j][2 * h], acc[i][j][2 * h + 1]);
}
"""


def matmul(source, n=128, **options):
    rng = np.random.default_rng(11)
    a, b = rng.standard_normal((n, n)).astype(f16), rng.standard_normal((n, n)).astype(f16)
    c = np.zeros((n, n), f32)
    report = launch(source, [a, b, c, i32(n)], block=128, grid=(n // 64, n // 64), head="", **options)
    return report, c, a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("schedule", [0, 2])
def test_a_pipelined_matmul(schedule):
    report, c, want = matmul(MATMUL, schedule=schedule)
    assert report.ok, str(report)
    assert abs(c - want).max() < 2.0**-14  # eight sums of sixteen products, each rounded to float32 below 64
    n = report.counters
    assert n.flops == 2 * 128**3
    # blocks · warps · steps · (2 of A, 8 rows of 64 bytes each; 2 of B, 4 rows of 128): padding puts every second row half a sector further
    assert (n.global_load_requests, n.global_load_sectors) == (4 * 4 * 4 * 4, 4 * 4 * 4 * 2 * (4 * (2 + 3) + 2 * (4 + 5)))
    assert n.global_bytes == 4 * 4 * 4 * 4 * 16 * 32 + 128 * 128 * 4, "bytes that are wanted, not what is asked for twice"
    assert n.shared_load_wavefronts == 4 * 4 * 4 * 4 * 2 * 4  # blocks · warps · steps · ldmatrix.x4 a step · halves · passes: the padding keeps rows apart


@pytest.mark.parametrize(
    ("old", "kinds"),
    [
        ("    __syncthreads();\n    for (int kk", {"race"}),
        ("    __syncthreads(); // free\n", {"race"}),
        ("__pipeline_wait_prior(1);", {"async-copy"}),
    ],
)
def test_a_pipelined_matmul_with_something_missing(old, kinds):
    assert old in MATMUL
    report, _, _ = matmul(MATMUL.replace(old, "    for (int kk" if "kk" in old else ""))
    assert {f.kind for f in errors(report)} == kinds, str(report)
