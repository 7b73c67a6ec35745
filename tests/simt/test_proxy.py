"""The two proxies: what threads write and copies read, and the other way round; bulk copies of bytes. Values: families/bulk.py."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt

f32, i32, u8 = np.float32, np.int32, np.uint8
HEAD = """#include <ptx_hopper.cuh>
#define AT(x) ptx::shared_address(&x)
"""
STORE = (
    HEAD
    + """
extern "C" __global__ void k(int* y, int n) {
  __shared__ __align__(128) int s[2][128];
  int t = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    int st = i & 1;
    if (t == 0) ptx::bulk_wait_read<1>();
    __syncthreads();
    s[st][t] = 1000 * i + t;
    ptx::fence_proxy_async();
    __syncthreads();
    if (t == 0) {
      ptx::bulk_store(y + (blockIdx.x * n + i) * 128, AT(s[st]), 512);
      ptx::bulk_commit();
    }
  }
  if (t == 0) ptx::bulk_wait<0>();
}"""
)


def line_of(source, text):
    return 1 + next(number for number, line in enumerate(source.splitlines()) if text in line)


def changed(source, *pairs):
    for find, replace in pairs:
        assert source.count(find) == 1, find
        source = source.replace(find, replace)
    return source


def stores(*pairs, grid=3, n=5, **options):
    y = np.zeros((grid, n, 128), i32)
    report = simt.compile(changed(STORE, *pairs)).kernel("k").launch(grid, 128, [simt.Output(y), i32(n)], **options)
    want = 1000 * np.arange(n)[:, None] + np.arange(128)
    return report, bool((y == want).all())


def only(report, kind):
    assert [f.kind for f in report.errors] == [kind], str(report)
    return report.errors[0]


@pytest.mark.parametrize("schedule", range(4))
def test_stores_in_two_buffers(schedule):
    report, right = stores(schedule=schedule)
    assert report.ok and right, str(report)
    assert (report.counters.tma_store_bytes, report.counters.tma_requests) == (3 * 5 * 512, 15)


@pytest.mark.parametrize("schedule", range(4))
def test_a_missing_fence(schedule):
    source = changed(STORE, ("    ptx::fence_proxy_async();\n", ""))
    found = only(stores(("    ptx::fence_proxy_async();\n", ""), schedule=schedule)[0], "async-copy")
    assert "missing fence.proxy.async.shared::cta. Put it behind the writes, in every thread that writes" in found.message
    assert (found.array, found.line) == ("s", line_of(source, "bulk_store")) and f"writes on line {line_of(source, '= 1000')}" in found.message


def test_a_fence_for_global_memory_is_none_for_shared():
    report, _ = stores(("    ptx::fence_proxy_async();\n", '    asm volatile("fence.proxy.async.global;" ::: "memory");\n'))
    assert "missing fence.proxy.async.shared::cta" in only(report, "async-copy").message


def test_the_reader_may_fence_behind_the_barrier():
    """A fence anywhere on the way from the write to the copy is enough; before the barrier, in one thread alone, it isn't."""
    behind = (("    ptx::fence_proxy_async();\n", ""), ("    if (t == 0) {\n", "    if (t == 0) {\n      ptx::fence_proxy_async();\n"))
    report, right = stores(*behind)
    assert report.ok and right, str(report)
    report, _ = stores(("    ptx::fence_proxy_async();\n", "    if (t == 0) ptx::fence_proxy_async();\n"))
    assert "thread (1,0,0) of block (0,0,0) writes" in only(report, "async-copy").message


def test_a_writer_that_runs_ahead_has_fenced_all_the_same():
    """Behind the barrier the other warps write and fence the next buffer before thread 0 issues its copy."""
    for schedule in range(4):
        report, right = stores(
            ("    if (t == 0) {\n      ptx::bulk_store", "    if (t == 0) {\n      __nanosleep(100);\n      ptx::bulk_store"), schedule=schedule
        )
        assert report.ok and right, str(report)


def test_a_fence_without_a_barrier():
    source = (("    ptx::fence_proxy_async();\n    __syncthreads();\n", "    ptx::fence_proxy_async();\n"),)
    assert "nothing orders the two" in stores(*source)[0].errors[0].message


@pytest.mark.parametrize("schedule", range(4))
def test_a_buffer_written_while_a_store_reads_it(schedule):
    """One group may be left pending: with two buffers that is right, with none waited for it isn't."""
    report, _ = stores(("    if (t == 0) ptx::bulk_wait_read<1>();\n", ""), schedule=schedule)
    found = only(report, "async-copy")
    assert "while the bulk store on line 14 may still read it. Put cp.async.bulk.wait_group.read before the write" in found.message
    report, _ = stores(("bulk_wait_read<1>", "bulk_wait_read<2>"), schedule=schedule)
    assert "may still read it" in only(report, "async-copy").message


def test_another_thread_does_not_know_of_the_wait():
    """Thread 0 waits for its store, and no barrier tells the others."""
    report, _ = stores(("    __syncthreads();\n    s[st][t]", "    s[st][t]"))
    assert {f.kind for f in report.errors} <= {"race", "async-copy"} and report.errors[0].array == "s"


def test_the_wait_belongs_to_the_thread_that_issued():
    report, _ = stores(("    if (t == 0) ptx::bulk_wait_read<1>();\n", "    if (t == 1) ptx::bulk_wait_read<1>();\n"))
    assert "may still read it" in report.errors[0].message


def test_a_block_that_ends_before_its_store():
    report, _ = stores(("  if (t == 0) ptx::bulk_wait<0>();\n", ""))
    found = only(report, "async-copy")
    assert "ends while its bulk store on line 15 may still read" in found.message and "in the same thread" in found.message


LOAD = (
    HEAD
    + """
extern "C" __global__ void k(const float* x, float* y) {
  __shared__ __align__(128) float s[256];
  __shared__ unsigned long long bar;
  int t = threadIdx.x;
  if (t == 0) { ptx::mbarrier_init(AT(bar), 1); ptx::fence_mbarrier_init(); }
  __syncthreads();
  if (t == 0) {
    ptx::mbarrier_arrive_expect_tx(AT(bar), 1024);
    ptx::bulk_load(AT(s), x + 256 * blockIdx.x, 1024, AT(bar));
  }
  ptx::mbarrier_wait_parity(AT(bar), 0);
  y[256 * blockIdx.x + t] = s[255 - t];
}"""
)


def load(*pairs, n=512, **options):
    x, y = np.random.default_rng(1).standard_normal(n).astype(f32), np.zeros(512, f32)
    report = simt.compile(changed(LOAD, *pairs)).kernel("k").launch(2, 256, [x, y], **options)
    return report, np.array_equal(y.reshape(2, 256), x[:512].reshape(2, 256)[:, ::-1]) if n >= 512 else None


def test_a_run_of_bytes():
    report, right = load()
    assert report.ok and right and report.counters.tma_load_bytes == 2048, str(report)


@pytest.mark.parametrize(
    "pairs, n, kind, says",
    [
        ((), 500, "out-of-bounds", "x[256..511] on line 12, but x has 500 elements. Copy only the bytes that are there, or use a tensor map"),
        ((("x + 256 * blockIdx.x", "x + 256 * blockIdx.x + 1"),), 600, "misaligned", "reads from x, 4 bytes behind a multiple of 16"),
        ((("AT(s), x", "AT(s[3]), x"), ("s[256]", "s[512]")), 512, "misaligned", "writes to s, 12 bytes behind a multiple of 16"),
        ((("blockIdx.x, 1024", "blockIdx.x, 1020"), ("AT(bar), 1024", "AT(bar), 1020")), 512, "misaligned", "moves 1020 bytes, which is no multiple of 16"),
        ((("s[256]", "s[200]"),), 512, "out-of-bounds", "The copy moves 1024 bytes from there: make s as large as that"),
    ],
)  # fmt: skip
def test_runs_that_do_not_fit(pairs, n, kind, says):
    report, _ = load(*pairs, n=n)
    found = report.errors[0]
    assert found.kind == kind and says in found.message, str(report)


def test_a_source_nobody_set():
    y = np.zeros(512, f32)
    report = simt.compile(LOAD).kernel("k").launch(2, 256, [simt.Output(np.zeros(512, f32)), y])
    assert ("uninitialised-read", 12) in [(f.kind, f.line) for f in report.errors]


def test_global_memory_that_another_block_writes():
    """A copy takes part in races of global memory."""
    source = changed(LOAD, ("const float* x", "float* x"), ("  int t = threadIdx.x;\n", "  int t = threadIdx.x;\n  x[256 * (1 - blockIdx.x) + t] = 1;\n"))
    x, y = np.zeros(512, f32), np.zeros(512, f32)
    report = simt.compile(source).kernel("k").launch(2, 256, [x, y])
    assert [f.array for f in report.errors if f.kind == "race"] == ["x"], str(report)


def test_two_blocks_that_store_to_one_place():
    report, _ = stores(("(blockIdx.x * n + i)", "(i)"))
    assert ("race", "y") in [(f.kind, f.array) for f in report.errors]


def test_a_reduction_is_atomic():
    """Many blocks add to one place, which is no race; a plain store there is one."""
    add = 'asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;"'
    add += ' :: "l"(y + i * 128), "r"(AT(s[st])), "r"(512) : "memory");'
    pair = ("      ptx::bulk_store(y + (blockIdx.x * n + i) * 128, AT(s[st]), 512);\n", f"      {add}\n")
    y = np.ones((5, 128), i32)
    report = simt.compile(changed(STORE, pair)).kernel("k").launch(3, 128, [y, i32(5)])
    assert report.ok, str(report)
    assert np.array_equal(y, 1 + 3 * (1000 * np.arange(5)[:, None] + np.arange(128)))
