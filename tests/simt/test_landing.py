"""Global memory between threads and the copy engine: stores that are not finished, and what threads wrote without a proxy fence."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt

i32 = np.int32
HEAD = """#include <ptx_hopper.cuh>
#define AT(x) ptx::shared_address(&(x))
"""
STORED = (
    HEAD
    + """
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ __align__(128) int s[64];
  int t = threadIdx.x;
  for (int round = 0; round < 3; ++round) {
    s[t] = x[t] + round;
    ptx::fence_proxy_async();
    __syncthreads();
    if (t == 0) {
      STORE;
      ptx::bulk_commit();
      ptx::bulk_wait<0>();
    }
    __syncthreads();
    y[64 * (round + 1) + t] = y[t ^ 1];
    __syncthreads();
  }
}"""
)
PLAIN = "ptx::bulk_store(y, AT(s), 256)"
ADDED = 'asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 256;" ::"l"(y), "r"(AT(s)) : "memory")'
WAIT = "ptx::bulk_wait<0>();"


def stored(store: str, wait: str, schedule: int = 0) -> tuple[simt.Report, np.ndarray]:
    x, y = np.arange(64, dtype=i32), np.zeros(256, i32)
    source = STORED.replace("STORE", store).replace(WAIT, wait)
    return simt.compile(source).kernel("k").launch(1, 64, [x, y], schedule=schedule), y


@pytest.mark.parametrize("schedule", range(3))
@pytest.mark.parametrize("store", [PLAIN, ADDED], ids=["store", "reduction"])
def test_a_store_is_read_after_its_wait(store, schedule):
    report, y = stored(store, WAIT, schedule)
    assert report.ok, str(report)
    rounds = np.array([0, 1, 2]) if store == PLAIN else np.array([0, 1, 3])
    times = 1 if store == PLAIN else np.arange(1, 4)[:, None]
    assert (y.reshape(4, 64)[1:] == (np.arange(64) ^ 1) * times + rounds[:, None]).all()


@pytest.mark.parametrize("schedule", range(3))
@pytest.mark.parametrize("store", [PLAIN, ADDED], ids=["store", "reduction"])
def test_a_wait_for_reads_is_none_for_the_result(store, schedule):
    """.read ends when shared memory may be written again; the result may not be there yet."""
    report, _ = stored(store, "ptx::bulk_wait_read<0>();", schedule)
    (found,) = report.errors
    assert (found.kind, found.array, found.line, found.index) == ("async-copy", "y", 17, 1)
    assert "reads y[1] on line 17 while the bulk store on line 12 may still write it." in found.message
    assert "cp.async.bulk.wait_group.read waits only until the store has read shared memory" in found.message


def test_a_store_that_nobody_waits_for():
    report, _ = stored(PLAIN, "")
    found = next(f for f in report.errors if f.array == "y")
    assert "may still write it." in found.message and "cp.async.bulk.wait_group 0 behind the store, in its thread" in found.message


def test_a_store_of_the_group_that_may_stay_under_way():
    report, _ = stored(PLAIN, "ptx::bulk_wait<1>();")
    assert "async-copy" in {f.kind for f in report.errors if f.array == "y"}


def test_a_value_written_over_what_a_store_still_writes():
    source = STORED.replace("STORE", PLAIN).replace(WAIT, "ptx::bulk_wait_read<0>();").replace("y[64 * (round + 1) + t] = y[t ^ 1];", "y[t] = 0;")
    report = simt.compile(source).kernel("k").launch(1, 64, [np.arange(64, dtype=i32), np.zeros(256, i32)])
    assert ("async-copy", "y") in {(f.kind, f.array) for f in report.errors}
    assert any("writes y[0] on line 17 while the bulk store on line 12 may still write it" in f.message for f in report.errors)


WRITTEN = (
    HEAD
    + """
extern "C" __global__ void k(const int* x, int* y, int* flag) {
  __shared__ __align__(128) int s[64];
  __shared__ unsigned long long bar;
  int t = threadIdx.x;
  bool writes = blockIdx.x == 0, reads = blockIdx.x == gridDim.x - 1;
  if (t == 0) { ptx::mbarrier_init(AT(bar), 1); ptx::fence_mbarrier_init(); }
  if (writes) {
    y[t] = x[t];
    FENCE;  // the writers'
    __syncthreads();
    if (t == 0) asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
  }
  if (reads) {
    int seen = 0;
    __syncthreads();
    if (t == 0) {
      do { asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"); } while (!seen);
      FENCE;  // the reader's
      ptx::mbarrier_arrive_expect_tx(AT(bar), 256);
      ptx::bulk_load(AT(s), y, 256, AT(bar));
    }
    ptx::mbarrier_wait_parity(AT(bar), 0);
    y[64 + t] = s[t];
  }
}"""
)
ALL, GLOBAL, SHARED = (f'asm volatile("fence.proxy.async{space};" ::: "memory")' for space in ("", ".global", ".shared::cta"))


def written(writers: str, reader: str, blocks: int, schedule: int = 0) -> tuple[simt.Report, bool]:
    source = WRITTEN.replace("FENCE;  // the writers'", f"{writers};").replace("FENCE;  // the reader's", f"{reader};")
    x, y = np.arange(64, dtype=i32) + 1, np.zeros(128, i32)
    report = simt.compile(source).kernel("k").launch(blocks, 64, [x, y, np.zeros(1, i32)], schedule=schedule)
    return report, bool((y == np.tile(x, 2)).all())


@pytest.mark.parametrize("schedule", range(3))
@pytest.mark.parametrize("blocks", [1, 2], ids=["the same block", "another block"])
@pytest.mark.parametrize(("writers", "reader"), [(ALL, ""), ("", ALL), (GLOBAL, ""), (GLOBAL, GLOBAL)])
def test_a_copy_of_what_threads_wrote_behind_a_fence(writers, reader, blocks, schedule):
    report, right = written(writers, reader, blocks, schedule)
    assert report.ok and right, str(report)


@pytest.mark.parametrize("schedule", range(3))
@pytest.mark.parametrize("blocks", [1, 2], ids=["the same block", "another block"])
@pytest.mark.parametrize("fence", ["", SHARED], ids=["no fence", "a fence for shared memory"])
def test_a_copy_of_what_threads_wrote_without_one(fence, blocks, schedule):
    report, _ = written(fence, fence, blocks, schedule)
    (found,) = report.errors
    assert (found.kind, found.array, found.line) == ("async-copy", "y", 23), str(report)
    assert "the bulk copy on line 23 reads y[0], which thread (0,0,0) of block (0,0,0) writes on line 11" in found.message
    assert "missing fence.proxy.async (its form .shared::cta is for shared memory alone)" in found.message
