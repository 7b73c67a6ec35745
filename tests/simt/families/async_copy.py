"""cp.async: copies of 4, 8 and 16 bytes, zero fill, groups, and the pipelines built on them."""

from __future__ import annotations

import numpy as np

from .case import Case


def values(seed, n):
    return np.random.default_rng(seed).integers(-(2**31), 2**31, n).astype(np.int32)


ADDRESS = "__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }\n"


def copy(entry, words, instruction, size_operand=False):
    """Every thread copies `words` words; with `size_operand` only the first 4·(t mod (words+1)) bytes are read, zeros fill the rest."""
    extra = f', "r"(4 * (t % {words + 1}))' if size_operand else ""
    operands = f"[%0], [%1], {4 * words}" + (", %2" if size_operand else "")

    def expect(x, y):
        rows = x.reshape(64, words).copy()
        if size_operand:
            for t in range(64):
                rows[t, t % (words + 1) :] = 0
        return [rows[::-1].reshape(-1)]

    return Case(
        name=f"async_copy.{entry}",
        source=f"""{ADDRESS}
extern "C" __global__ void {entry}(const int* x, int* y) {{
    __shared__ __align__(16) int s[{64 * words}];
    int t = threadIdx.x;
    asm volatile("{instruction} {operands};" :: "r"(address(s + {words} * t)), "l"(x + {words} * t){extra} : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < {words}; ++k) y[{words} * t + k] = s[{words} * (63 - t) + k];
}}
""",
        entry=entry,
        args=lambda: [values(words, 64 * words), np.zeros(64 * words, np.int32)],
        outputs=(1,),
        expect=expect,
        block=64,
    )


CASES: list[Case] = [
    copy("bytes_4", 1, "cp.async.ca.shared.global"),
    copy("bytes_8", 2, "cp.async.ca.shared.global"),
    copy("bytes_16_ca", 4, "cp.async.ca.shared.global"),
    copy("bytes_16_cg", 4, "cp.async.cg.shared.global"),
    copy("prefetching", 4, "cp.async.cg.shared.global.L2::128B"),
    copy("zero_fill", 4, "cp.async.cg.shared.global", size_operand=True),
    copy("zero_fill_4", 1, "cp.async.ca.shared.global", size_operand=True),
    Case(
        name="async_copy.groups",
        source=ADDRESS
        + """
__device__ void fetch(int* to, const int* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(address(to)), "l"(from) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
}
extern "C" __global__ void groups(const int* x, int* y) {
    __shared__ int s[3][32];
    int t = threadIdx.x;
    fetch(&s[0][t], x + t);
    fetch(&s[1][t], x + 32 + t);
    fetch(&s[2][t], x + 64 + t);
    asm volatile("cp.async.wait_group 2;" ::: "memory");
    y[t] = s[0][t];
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    y[32 + t] = s[1][t] + s[0][t];
    asm volatile("cp.async.wait_all;" ::: "memory");
    y[64 + t] = s[2][t];
}""",
        entry="groups",
        args=lambda: [values(7, 96) // 4, np.zeros(96, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [np.concatenate([x[:32], x[32:64] + x[:32], x[64:]])],
        block=32,
    ),
    Case(
        name="async_copy.double_buffer",
        source=ADDRESS
        + """
__device__ void fetch(float4* to, const float4* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(address(to)), "l"(from) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
}
extern "C" __global__ void double_buffer(const float4* x, float* y, int tiles) {
    __shared__ float4 s[2][64];
    int t = threadIdx.x;
    float sum = 0.0f;
    fetch(&s[0][t], x + t);
    for (int k = 0; k < tiles; ++k) {
        if (k + 1 < tiles) {
            fetch(&s[(k + 1) & 1][t], x + (k + 1) * 64 + t);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        float4 v = s[k & 1][63 - t];
        sum += v.x + v.y * 2.0f + v.z * 3.0f + v.w * 4.0f;
        __syncthreads();
    }
    y[t] = sum;
}""",
        entry="double_buffer",
        args=lambda: [np.random.default_rng(8).integers(-9, 10, 5 * 256).astype(np.float32), np.zeros(64, np.float32), np.int32(5)],
        outputs=(1,),
        expect=lambda x, y, n: [(x.reshape(5, 64, 4)[:, ::-1] @ np.array([1, 2, 3, 4], np.float32)).sum(0).astype(np.float32)],
        block=64,
    ),
    Case(
        name="async_copy.pipeline_header",
        source="""
#include <cuda_pipeline.h>
extern "C" __global__ void pipeline_header(const int4* x, int4* y) {
    __shared__ int4 s[2][32];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], x + t, 16);
    __pipeline_commit();
    __pipeline_memcpy_async(&s[1][t], x + 32 + t, 16, 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    y[t] = s[0][31 - t];
    __pipeline_wait_prior(0);
    __syncthreads();
    y[32 + t] = s[1][31 - t];
}""",
        entry="pipeline_header",
        args=lambda: [values(9, 256), np.zeros(256, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [pipelined(x)],
        block=32,
    ),
    Case(
        name="async_copy.group_header",
        source="""
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void group_header(const int* x, int* y) {
    __shared__ __align__(16) int s[256];
    cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, s, x, sizeof(int) * 256);
    cg::wait(block);
    y[threadIdx.x] = s[255 - threadIdx.x];
}""",
        entry="group_header",
        args=lambda: [values(10, 256), np.zeros(256, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [x[::-1].copy()],
        block=256,
        slow=True,
    ),
]


def pipelined(x):
    rows = x.reshape(2, 32, 4)[:, ::-1].copy()
    rows[1, :, 3] = 0  # the last 4 of 16 bytes are zeros
    return rows.reshape(-1)
