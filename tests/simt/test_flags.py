"""Flags: what a release publishes and an acquire learns, in global and shared memory and across a cluster (PTX ISA 8, "Memory Consistency Model").

Each right kernel is quiet in every schedule, and the same with one thing less is a race on the data, not on the flag.
"""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt

i32 = np.int32
SHARED = "(unsigned)__cvta_generic_to_shared(&flag)"
SYNC_CLUSTER = 'asm volatile("barrier.cluster.arrive; barrier.cluster.wait;" ::: "memory");'


def kernel(where: str, publish: str, see: str, before: str, after: str) -> str:
    """A writer's threads store, meet (`before`), and thread 0 publishes; thread 0 of the reader sees it, they meet (`after`), and read."""
    if where == "cluster":
        head = f"""__shared__ int flag, data[64];
  unsigned far; asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(far) : "r"({SHARED}));
  int* there; asm volatile("mapa.u64 %0, %1, 1;" : "=l"(there) : "l"(data));
  if (t == 0) flag = 0;
  {SYNC_CLUSTER}
  int* given = there; int* got = data; bool writes = blockIdx.x == 0;"""
    elif where == "shared":
        head = """__shared__ int flag, data[64];
  if (t == 0) flag = 0;
  __syncthreads();
  bool writes = t < 64; t %= 64;
  int *given = data, *got = data;"""
    else:
        head = "bool writes = blockIdx.x == 0; int *given = y + 64, *got = y + 64, *flag = y + 128;"
    return f"""
extern "C" __global__ void {"__cluster_dims__(2, 1, 1)" if where == "cluster" else ""} k(const int* x, int* y) {{
  int t = threadIdx.x, seen = 0;
  {head}
  if (writes) {{
    given[t] = x[t];
    {before}
    if (t == 0) {{ {publish} }}
  }} else {{
    if (t == 0) {{ do {{ {see} }} while (!seen); }}
    {after}
    y[t] = got[t ^ 1];
  }}
  {SYNC_CLUSTER if where == "cluster" else "__syncthreads();"}
}}"""


def launch(where: str, *parts: str, schedule: int = 0) -> tuple[simt.Report, bool]:
    x, y = np.arange(64, dtype=i32) + 7, np.zeros(129, i32)
    grid, block = (1, 128) if where == "shared" else (2, 64)
    report = simt.compile(kernel(where, *parts)).kernel("k").launch(grid, block, [x, y], schedule=schedule)
    return report, bool((y[:64] == x.reshape(-1, 2)[:, ::-1].ravel()).all())


STORE = {
    "global": 'asm volatile("st.{}.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");',
    "shared": f'asm volatile("st.{{}}.cta.shared.u32 [%0], 1;" ::"r"({SHARED}) : "memory");',
    "cluster": 'asm volatile("st.{}.cluster.shared::cluster.u32 [%0], 1;" ::"r"(far) : "memory");',
}
ADD = {place: text.replace("st.{}", "red.{}").replace(".u32", ".add.u32") for place, text in STORE.items()}
LOAD = {
    "global": 'asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");',
    "shared": f'asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"({SHARED}) : "memory");',
    "cluster": f'asm volatile("ld.acquire.cluster.shared::cta.u32 %0, [%1];" : "=r"(seen) : "r"({SHARED}) : "memory");',
}
MEET = 'asm volatile("bar.sync 1, 64;" ::: "memory");'
MEET_AGAIN = MEET.replace("1, 64", "2, 64")
PLACES = ("global", "shared", "cluster")


@pytest.mark.parametrize("schedule", range(3))
@pytest.mark.parametrize("publish", [STORE, ADD], ids=["store", "red"])
@pytest.mark.parametrize("where", PLACES)
def test_a_flag_hands_over_what_its_thread_and_those_it_met_have_written(where, publish, schedule):
    report, right = launch(where, publish[where].format("release"), LOAD[where], MEET, MEET_AGAIN, schedule=schedule)
    assert report.ok and right, str(report)


@pytest.mark.parametrize("schedule", range(3))
@pytest.mark.parametrize(
    ("order", "before", "after"),
    [("relaxed", MEET, MEET_AGAIN), ("release", "", MEET_AGAIN), ("release", MEET, "")],
    ids=["no release", "the writers don't meet", "the readers don't meet"],
)
@pytest.mark.parametrize("where", PLACES)
def test_with_one_thing_less_the_data_race(where, order, before, after, schedule):
    report, _ = launch(where, STORE[where].format(order), LOAD[where], before, after, schedule=schedule)
    assert {(f.kind, f.array) for f in report.errors} == {("race", "y" if where == "global" else "data")}, str(report)


@pytest.mark.parametrize("where", ["shared", "cluster"])
def test_a_plain_flag_in_shared_memory_is_a_race_itself(where):
    plain = STORE[where].replace(".{}.cta", "").replace(".{}.cluster", ""), LOAD[where].replace(".acquire.cta", "").replace(".acquire.cluster", "")
    report, _ = launch(where, *plain, MEET, MEET_AGAIN)
    assert {"flag", "data"} <= {f.array for f in report.errors if f.kind == "race"}


@pytest.mark.parametrize("schedule", range(3))
@pytest.mark.parametrize("mask", ["0xffffffff", "0xffff"])
@pytest.mark.parametrize(("before", "after", "races"), [(True, True, False), (False, True, True), (True, False, True)])
def test_lanes_that_meet_at_syncwarp(mask, before, after, races, schedule):
    lanes = bin(int(mask, 16)).count("1")
    source = f"""
extern "C" __global__ void k(const int* x, int* y) {{
  int t = threadIdx.x, seen = 0, *flag = y + 128;
  if (t >= {lanes}) return;
  if (blockIdx.x == 0) {{
    y[64 + t] = x[t];
    {f"__syncwarp({mask});" if before else ""}
    if (t == 0) {{ {STORE["global"].format("release")} }}
  }} else {{
    if (t == 0) {{ do {{ {LOAD["global"]} }} while (!seen); }}
    {f"__syncwarp({mask});" if after else ""}
    y[t] = y[64 + (t ^ 1)];
  }}
}}"""
    report = simt.compile(source).kernel("k").launch(2, 32, [np.arange(64, dtype=i32), np.zeros(129, i32)], schedule=schedule)
    assert [(f.kind, f.array) for f in report.errors] == ([("race", "y")] if races else []), str(report)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", range(2))
def test_atomic_ref_of_the_cuda_headers(schedule):
    """In shared memory, too: the writer stores with release, the reader loads with acquire."""
    source = """
#include <cuda/atomic>
extern "C" __global__ void k(const int* x, int* y) {
  __shared__ int flag, data[32];
  int t = threadIdx.x;
  if (t == 0) flag = 0;
  __syncthreads();
  cuda::atomic_ref<int, cuda::thread_scope_block> f(flag);
  if (t < 32) {
    data[t] = x[t];
    __syncwarp();
    if (t == 0) f.store(1, cuda::memory_order_release);
  } else {
    while (f.load(cuda::memory_order_acquire) == 0) {}
    y[t - 32] = data[t ^ 33];
  }
}"""
    x, y = np.arange(32, dtype=i32), np.zeros(32, i32)
    report = simt.compile(source).kernel("k").launch(1, 64, [x, y], schedule=schedule)
    assert report.ok and (y == x ^ 1).all(), str(report)
