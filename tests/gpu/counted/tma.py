"""Tensor copies: what is left for the load and store units to count, and what they ask of DRAM."""

from __future__ import annotations

import numpy as np
from families.case import Case
from families.tma import HEAD

EDGE = 64  # of a tile
WAIT = """
__device__ void until(unsigned bar, unsigned parity) {
    asm volatile("{ .reg .pred p;\\nagain: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n@p bra over;\\nbra again;\\nover: }"
                 :: "r"(bar), "r"(parity) : "memory");
}
"""


def tiles(swizzle: str, n: int = 512) -> Case:
    """Every block brings a tile of 64 × 32 float32, reads it column by column, and stores it transposed by a copy."""
    entry = f"tma_transpose_{swizzle.lower()}"
    place = "c ^ (r % 8) * 4" if swizzle == "128B" else "c"

    def args() -> list:
        from lanewise import simt

        x = np.arange(n * n, dtype=np.float32).reshape(n, n)
        return [simt.tensor_map(x, (EDGE, 32), swizzle), simt.tensor_map(np.zeros((n, n), np.float32), (32, EDGE))]

    return Case(
        name=f"tma.{entry}",
        source=f"""{HEAD}{WAIT}
extern "C" __global__ void {entry}(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to) {{
    __shared__ __align__(1024) float tile[{EDGE}][32];
    __shared__ __align__(128) float turned[32][{EDGE}];
    __shared__ __align__(8) unsigned long long bar;
    int t = threadIdx.x;
    if (t == 0) {{
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&bar)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }}
    __syncthreads();
    if (t == 0) {{
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], {EDGE * 128};" ::"r"(address(&bar)) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {{%3, %4}}], [%2];"
                     ::"r"(address(tile)), "l"(&from), "r"(address(&bar)), "r"(32 * blockIdx.x), "r"({EDGE} * blockIdx.y) : "memory");
    }}
    until(address(&bar), 0);
    for (int i = t; i < 32 * {EDGE}; i += 256) {{
        int r = i % {EDGE}, c = i / {EDGE};
        turned[c][r] = tile[r][{place}];
    }}
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {{
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {{%2, %3}}], [%1];"
                     ::"l"(&to), "r"(address(turned)), "r"({EDGE} * blockIdx.y), "r"(32 * blockIdx.x) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }}
}}""",
        entry=entry, args=args, outputs=(1,), expect=lambda x, y: [x.passed.T.copy()], grid=(n // 32, n // EDGE), block=256,
    )  # fmt: skip


CASES: list[Case] = [tiles("none"), tiles("128B")]
