"""Registers and memory as ptxas reports them, and the blocks that fit on an SM."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.simt.errors import CompileError, KernelNotFound
from lanewise.simt.gpus import GPUS
from lanewise.simt.resources import occupancy, resources

SOURCE = """
extern "C" __global__ void small(float* x) { x[threadIdx.x] += 1.0f; }
extern "C" __global__ void tile(float* x) {
    __shared__ float s[32][33];
    s[threadIdx.y][threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.y] = s[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void __launch_bounds__(1024) many(const float* x, float* y) {
    float v[96];
    #pragma unroll
    for (int i = 0; i < 96; i++) v[i] = x[i * 1024 + threadIdx.x];
    __syncthreads();
    #pragma unroll
    for (int i = 0; i < 96; i++) y[i * 1024 + threadIdx.x] = v[95 - i] * v[(i * 7) % 96];
}
extern "C" __global__ void table(float* x, int i) {
    float v[300];
    for (int k = 0; k < 300; k++) v[k] = x[k];
    x[0] = v[i] + v[x[1] > 0 ? i / 2 : 0];
}
"""


def test_static_shared_memory_and_the_barrier() -> None:
    tile = resources(SOURCE, "tile")
    assert (tile.static_shared, tile.barriers, tile.spill_stores, tile.arch) == (32 * 33 * 4, 1, 0, "sm_90a")
    small = resources(SOURCE, "small", "sm_80")
    assert (small.static_shared, small.barriers, small.local, small.arch) == (0, 0, 0, "sm_80")
    assert 1 < small.registers < 20


def test_launch_bounds_make_the_compiler_spill() -> None:
    many = resources(SOURCE, "many")
    assert many.registers <= 64
    assert many.spill_stores > 0 and many.spill_loads > 0
    assert "bytes spilled" in str(many)


def test_an_indexed_local_array_lies_in_local_memory() -> None:
    assert resources(SOURCE, "table").local == 300 * 4


def test_a_register_cap_is_passed_on() -> None:
    free = resources(SOURCE, "table").registers
    assert resources(SOURCE, "table", options=("--maxrregcount=16",)).registers <= max(16, min(free, 24))


def test_an_instance_of_a_template_is_found_by_its_name_expression() -> None:
    source = "template <int N> __global__ void pad(float* x) { __shared__ float s[N]; s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[threadIdx.x ^ 1]; }"
    sizes = [resources(source, name, names=("pad<32>", "pad<64>")).static_shared for name in ("pad<32>", "pad<64>", "_Z3padILi32EEvPf")]
    assert sizes == [128, 256, 128]


def test_unknown_kernels_and_too_much_static_shared_memory() -> None:
    with pytest.raises(KernelNotFound, match='there is no kernel "tiles", did you mean "tile"'):
        resources(SOURCE, "tiles")
    big = 'extern "C" __global__ void k(float* x) { __shared__ float s[13000]; s[threadIdx.x] = x[0]; __syncthreads(); x[1] = s[3]; }'
    with pytest.raises(CompileError, match=r"too much shared data \(0xcb20 bytes, 0xc000 max\)\n.*48 KB"):
        resources(big, "k", "sm_80")


@pytest.mark.parametrize(
    ("registers", "shared", "threads", "gpu", "blocks", "limited_by"),
    [
        (32, 0, 256, "H200", 8, "threads"),
        (32, 0, 32, "H200", 32, "blocks"),
        (255, 0, 256, "H200", 1, "registers"),
        (255, 0, 288, "H200", 0, "registers"),
        (64, 48 * 1024, 128, "A100", 3, "shared memory"),
        (32, 16 * 1024, 128, "T4", 4, "shared memory"),
        (40, 0, 128, "RTX 4090", 12, "threads"),
        (128, 227 * 1024, 128, "H100", 1, "shared memory"),
    ],
)
def test_blocks_on_an_sm(registers: int, shared: int, threads: int, gpu: str, blocks: int, limited_by: str) -> None:
    found = occupancy(registers, shared, threads, gpu)
    assert (found.blocks, found.limited_by) == (blocks, limited_by)
    assert found.warps == blocks * -(-threads // 32)


@given(st.integers(1, 255), st.integers(0, 64 * 1024), st.integers(1, 1024), st.sampled_from(sorted(GPUS)))
def test_more_of_anything_never_lets_more_blocks_in(registers: int, shared: int, threads: int, gpu: str) -> None:
    base = occupancy(registers, shared, threads, gpu)
    assert occupancy(min(255, registers + 8), shared, threads, gpu).blocks <= base.blocks
    assert occupancy(registers, shared + 1024, threads, gpu).blocks <= base.blocks
    assert 0 <= base.ratio <= 1
    assert base.blocks == min(base.by_resource.values())


def test_an_unknown_gpu_is_told_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="unknown GPU 'GTX 480': take one of T4, A100"):
        occupancy(32, 0, 256, "GTX 480")
