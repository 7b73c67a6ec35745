"""Wrappers of kernels/ptx*.cuh that no kernel of the course calls: ptxas takes them, and the simulator knows what they do."""

from __future__ import annotations

from lanewise import simt

SOURCE = """#include <ptx_hopper.cuh>
extern "C" __global__ void __cluster_dims__(2) uncalled(const __grid_constant__ ptx::TensorMap map) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long bar;
    const unsigned at = ptx::shared_address(memory), done = ptx::shared_address(&bar);
    ptx::prefetch_tensormap(&map);
    ptx::mbarrier_init(done, 1);
    ptx::tma_load_3d_multicast(at, &map, done, 0, 0, 0, 3);
    ptx::tma_add_3d(&map, at, 0, 0, 0);
    ptx::bulk_commit();
}
"""


def test_wrappers_that_no_kernel_calls_assemble_and_translate() -> None:
    kernel = simt.compile(SOURCE).kernel("uncalled")  # raises simt.Unsupported for an instruction it doesn't know
    assert 0 < kernel.resources("sm_90a").registers <= 255
