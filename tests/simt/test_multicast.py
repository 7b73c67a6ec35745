"""Copies to several blocks of a cluster, and the rings that two blocks share: what each block may know of the other."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt

pytestmark = pytest.mark.slow

f32, i32 = np.float32, np.int32
PAIR = """#include <ptx_hopper.cuh>
#define AT(x) ptx::shared_address(&x)
#define ALL ptx::cluster_arrive(); ptx::cluster_wait()
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const __grid_constant__ ptx::TensorMap map, float* y, int n) {
  __shared__ __align__(1024) float tile[2][64][32];
  __shared__ unsigned long long full[2], empty[2];
  int t = threadIdx.x, rank = ptx::cluster_rank();
  if (t == 0) {
    for (int i = 0; i < 2; ++i) { ptx::mbarrier_init(AT(full[i]), 1); ptx::mbarrier_init(AT(empty[i]), 2 * 64); }
    ptx::fence_mbarrier_init();
  }
  ALL;  // begin
  if (t == 64) {
    for (int i = 0; i < n; ++i) {
      int st = i & 1;
      ptx::mbarrier_wait_parity(AT(empty[st]), i / 2 & 1 ^ 1);
      ptx::mbarrier_arrive_expect_tx(AT(full[st]), 8192);
      ptx::tma_load_2d_multicast(AT(tile[st][32 * rank]), &map, AT(full[st]), 0, 64 * i + 32 * rank, 3);
    }
  } else if (t < 64) {
    float sum = 0;
    for (int i = 0; i < n; ++i) {
      int st = i & 1;
      ptx::mbarrier_wait_parity(AT(full[st]), i / 2 & 1);
      for (int c = 0; c < 32; ++c) sum += tile[st][t][c + t & 31];
      for (int r = 0; r < 2; ++r) ptx::mbarrier_arrive_cluster(ptx::map_to_rank(AT(empty[st]), r));
    }
    y[blockIdx.x * 64 + t] = sum;
  }
  __syncwarp();
  ALL;  // end
}"""
TELL = "for (int r = 0; r < 2; ++r) ptx::mbarrier_arrive_cluster(ptx::map_to_rank(AT(empty[st]), r));"


def pair(*edits, grid=4, **options):
    source = PAIR
    for find, replace in edits:
        assert source.count(find) == 1, find
        source = source.replace(find, replace)
    x, y = np.random.default_rng(0).integers(-9, 9, (512, 32)).astype(f32), np.zeros((grid, 64), f32)
    report = simt.compile(source).kernel("k").launch(grid, 96, [simt.tensor_map(x, (32, 32)), y, i32(8)], **options)
    return report, bool((y == x.reshape(8, 64, 32).sum(axis=(0, 2))).all())


@pytest.mark.parametrize("schedule", range(4))
def test_two_blocks_that_load_for_each_other(schedule):
    """Each block loads half of every tile for both; a stage is empty when both have read it."""
    report, right = pair(schedule=schedule)
    assert report.ok and right, str(report)
    assert report.counters.tma_load_bytes == 4 * 8 * 32 * 32 * 4  # read once for two blocks


@pytest.mark.parametrize("schedule", range(4))
@pytest.mark.parametrize(
    "edits, kind, says",
    [
        ([("      ptx::mbarrier_wait_parity(AT(empty[st]), i / 2 & 1 ^ 1);\n", "")], "async-copy", "Wait for the stage to be empty first"),
        ([(TELL, "ptx::mbarrier_arrive(AT(empty[st]));"), ("2 * 64", "64")], "async-copy", "Wait for the stage to be empty first"),
        ([("  ALL;  // end\n", "")], "mbarrier", "may have ended by then: nothing tells it of this arrival. Put barrier.cluster.arrive"),
        ([("  ALL;  // begin\n", "  __syncthreads();\n")], "mbarrier", "initialised it on line 9. Put a barrier of the cluster"),
        ([(", 3);", ", 1);")], "deadlock", "of the mbarrier full[0]"),
    ],
)  # fmt: skip
def test_what_one_block_must_know_of_the_other(edits, kind, says, schedule):
    report, _ = pair(*edits, schedule=schedule)
    found = [f for f in report.errors if f.kind == kind]
    assert found and says in found[0].message, str(report)


@pytest.mark.parametrize("schedule", range(4))
def test_a_multicast_to_a_block_that_is_not_there(schedule):
    report, _ = pair((", 3);", ", 7);"), schedule=schedule)
    found = report.errors[0]
    assert found.kind == "out-of-bounds" and "asks for the shared memory of block 2 of its cluster on line 18" in found.message, found.message


OTHER = """#include <ptx_hopper.cuh>
#define AT(x) ptx::shared_address(&x)
#define ALL ptx::cluster_arrive(); ptx::cluster_wait()
extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const int* x, int* y) {
  __shared__ __align__(128) int s[64], d[64];
  __shared__ unsigned long long bar;
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  unsigned other = ptx::cluster_rank() ^ 1;
  if (t == 0) { ptx::mbarrier_init(AT(bar), 1); ptx::fence_mbarrier_init(); ptx::mbarrier_arrive_expect_tx(AT(bar), 256); }
  s[t] = x[i];
  ptx::fence_proxy_async();
  ALL;  // begin
  SEND
  ptx::mbarrier_wait_parity(AT(bar), 0);
  y[i] = d[63 - t];
  ALL;  // end
}"""
TO, BAR = "ptx::map_to_rank(AT(d[t]), other)", "ptx::map_to_rank(AT(bar), other)"
STORED = f'asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0], %1, [%2];" :: "r"({TO}), "r"(x[i]), "r"({BAR}) : "memory");'
COPIED = 'if (t == 0) asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"'
COPIED += f' :: "r"({TO}), "r"(AT(s)), "r"({BAR}) : "memory");'


def other(send, *edits, schedule=0):
    source = OTHER.replace("SEND", send)
    for find, replace in edits:
        assert source.count(find) == 1, find
        source = source.replace(find, replace)
    x, y = np.arange(256, dtype=i32).reshape(4, 64), np.zeros((4, 64), i32)
    report = simt.compile(source).kernel("k").launch(4, 64, [x, y], schedule=schedule)
    return report, bool((y == x[[1, 0, 3, 2], ::-1]).all())


@pytest.mark.parametrize("schedule", range(4))
@pytest.mark.parametrize("send", [STORED, COPIED], ids=["st.async", "cp.async.bulk"])
def test_data_for_the_other_block(send, schedule):
    report, right = other(send, schedule=schedule)
    assert report.ok and right, str(report)
    report, _ = other(send, (BAR, "ptx::map_to_rank(AT(bar), other ^ 1)"), schedule=schedule)
    found = next(f for f in report.errors if f.kind == "mbarrier")
    assert found.line == 13 and "but names bar of block" in found.message and "Map both addresses to the same rank" in found.message
    report, _ = other(send, ("  ALL;  // begin\n", "  __syncthreads();\n"), schedule=schedule)
    found = next(f for f in report.errors if f.kind == "mbarrier")
    assert found.line == 13 and "names bar of another block" in found.message, str(report)


@pytest.mark.parametrize("schedule", range(4))
def test_a_block_that_ends_while_a_copy_reads_it(schedule):
    """Who gets data waits for it; who gives it must be told. A stored register needs no telling."""
    report, _ = other(COPIED, ("  ALL;  // end\n", ""), schedule=schedule)
    found = next(f for f in report.errors if f.kind == "async-copy")
    assert (found.array, found.line) == ("s", 13) and "may end while the copy on line 13 (thread (0,0,0)) still reads s" in found.message
    report, right = other(STORED, ("  ALL;  // end\n", ""), schedule=schedule)
    assert report.ok and right, str(report)


PASSED_ON = """
#include <ptx_hopper.cuh>
#define AT(x) ptx::shared_address(&(x))
#define ALL ptx::cluster_arrive(); ptx::cluster_wait()
extern "C" __global__ void __cluster_dims__(4) k(const int* x, int* y, int n) {
  __shared__ int s[3][64], sum[3];
  __shared__ unsigned long long full[3], empty[3];
  int t = threadIdx.x, i = blockIdx.x * 64 + t, v = x[i];
  unsigned next = (ptx::cluster_rank() + 1) % 4, before = (ptx::cluster_rank() + 3) % 4;
  if (t < 3) { ptx::mbarrier_init(AT(full[t]), 1); ptx::mbarrier_init(AT(empty[t]), 64); ptx::fence_mbarrier_init(); sum[t] = 0; }
  ALL;
  for (int k = 0; k < n; ++k) {
    int stage = k % 3, phase = k / 3 & 1;
    ptx::mbarrier_wait_parity(AT(empty[stage]), phase ^ 1);  // room
    if (t == 0) ptx::mbarrier_arrive_expect_tx(AT(full[stage]), 512);
    unsigned bar = ptx::map_to_rank(AT(full[stage]), next);
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"  // store
                 ::"r"(ptx::map_to_rank(AT(s[stage][t]), next)), "r"(v), "r"(bar) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%0], %1, [%2];"  // add
                 ::"r"(ptx::map_to_rank(AT(sum[stage]), next)), "r"(v), "r"(bar) : "memory");
    ptx::mbarrier_wait_parity(AT(full[stage]), phase);  // data
    v = s[stage][t ^ 1] + sum[stage];  // read
    ptx::mbarrier_arrive_cluster(ptx::map_to_rank(AT(empty[stage]), before));
  }
  y[i] = v;
  ALL;
}"""


def passed_on(*edits, n=8, schedule=0):
    """Blocks of a cluster hand numbers round in rings of three stages, by st.async and red.async."""
    source = PASSED_ON
    for find, replace in edits:
        assert source.count(find) == 1, find
        source = source.replace(find, replace)
    x, y = np.arange(512, dtype=i32), np.zeros(512, i32)
    report = simt.compile(source).kernel("k").launch(8, 64, [x, y, i32(n)], schedule=schedule)
    v, sums = x.reshape(2, 4, 64).astype(np.int64), np.zeros((2, 4, 3), np.int64)
    for k in range(n):
        v = np.roll(v, 1, axis=1)
        sums[:, :, k % 3] += v.sum(axis=2)
        v = v.reshape(2, 4, 32, 2)[..., ::-1].reshape(2, 4, 64) + sums[:, :, k % 3, None]
    return report, bool((y == v.astype(i32).ravel()).all())


@pytest.mark.parametrize("schedule", range(3))
def test_numbers_handed_round_a_cluster(schedule):
    report, right = passed_on(n=40, schedule=schedule)
    assert report.ok and right, str(report)


ROOM, DATA = "    ptx::mbarrier_wait_parity(AT(empty[stage]), phase ^ 1);  // room\n", "    ptx::mbarrier_wait_parity(AT(full[stage]), phase);  // data\n"
READ = "    v = s[stage][t ^ 1] + sum[stage];  // read\n"
FREE = "    ptx::mbarrier_arrive_cluster(ptx::map_to_rank(AT(empty[stage]), before));\n"


@pytest.mark.parametrize("schedule", range(3))
@pytest.mark.parametrize(
    ("edits", "kind", "says"),
    [
        ([(ROOM, "\n")], "async-copy", "issues a copy into s[0][0] (shared) on line 18 while the copy on line 18 into it may still be under way"),
        ([(DATA, "")], "async-copy", "before it has seen the copy on line 18 into it complete: that is phase 0 of the mbarrier full[0]"),
        ([(DATA, ""), ("s[stage][t ^ 1] + sum[stage]", "sum[stage]")], "async-copy", "before it has seen the copy on line 20 into it complete"),
        ([(READ, ""), (FREE, FREE + READ)], "race", "writes it while thread ("),
        ([("AT(s[stage][t]), next", "AT(s[stage][t / 2]), next")], "async-copy", "while the copy on line 18 into it may still be under way"),
    ],
    ids=["a stage that is not free", "no wait", "a sum read too early", "freed before it is read", "two stores to one word"],
)
def test_numbers_handed_round_too_early(edits, kind, says, schedule):
    report, _ = passed_on(*edits, schedule=schedule)
    assert kind in [f.kind for f in report.errors]
    assert any(says in f.message for f in report.errors if f.kind == kind), str(report)


def test_a_store_into_what_another_block_reads_names_both_blocks():
    report, _ = passed_on((READ, ""), (FREE, FREE + READ))
    found = next(f for f in report.errors if f.kind == "race" and f.array == "s")
    assert found.block != found.other.block and found.line == 18 and "nor an arrival at an mbarrier" in found.message
