"""Copies to several blocks of a cluster, and the rings that two blocks share: what each block may know of the other."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt

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
