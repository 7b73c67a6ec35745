"""printf, clocks, special registers, and kernels that stop themselves."""

from __future__ import annotations

import numpy as np

from .case import Case

CASES: list[Case] = [
    Case(
        name="output.printf",
        source=r"""
extern "C" __global__ void printf_formats(const int* x, int* y) {
    int i = threadIdx.x;
    y[i] = x[i];
    if (i == 0) {
        printf("plain\n");
        printf("%d %i %u %5d|%-5d|%05d %+d\n", x[0], -3, 4000000000u, 42, 42, 42, 7);
        printf("%x %X %o %#x %c %s %%\n", 255, 255, 8, 255, 'A', "text");
        printf("%lld %llu %ld\n", -5000000000ll, 18446744073709551615ull, 1234567890123l);
        printf("%f %.3f %8.2f %e %g %g\n", 1.5f, 3.14159, -2.5, 12345.678, 0.0001, 1e20);
        // The value of printf is the number of arguments behind the format (in C it is the number of characters).
        printf("%s %d\n", x[0] > 0 ? "positive" : "negative", printf("x"));
    }
}""",
        entry="printf_formats",
        args=lambda: [np.array([17, 2, 3, 4], np.int32), np.zeros(4, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [x],
        block=4,
        prints="plain\n17 -3 4000000000    42|42   |00042 +7\nff FF 10 0xff A text %\n-5000000000 18446744073709551615 1234567890123\n"
        "1.500000 3.142    -2.50 1.234568e+04 0.0001 1e+20\nxpositive 0\n",
    ),
    Case(
        name="output.clock",
        source="""
extern "C" __global__ void clocks(int* y) {
    long long start = clock64();
    unsigned before = clock();
    unsigned long long wall;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(wall));
    __nanosleep(20);
    y[threadIdx.x] = (clock64() >= start) + 2 * ((unsigned)clock() - before < 1000000000u) + 4 * (wall > 0);
}""",
        entry="clocks",
        args=lambda: [np.zeros(32, np.int32)],
        outputs=(0,),
        expect=lambda y: [np.full(32, 7, np.int32)],
        block=32,
    ),
    Case(
        name="output.special_registers",
        source="""
__device__ unsigned reg(int k) {
    unsigned r = 0;
    switch (k) {
        case 0: asm("mov.u32 %0, %%tid.x;" : "=r"(r)); break;
        case 1: asm("mov.u32 %0, %%ntid.y;" : "=r"(r)); break;
        case 2: asm("mov.u32 %0, %%ctaid.z;" : "=r"(r)); break;
        case 3: asm("mov.u32 %0, %%nctaid.x;" : "=r"(r)); break;
        case 4: asm("mov.u32 %0, %%laneid;" : "=r"(r)); break;
        case 5: asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(r)); break;
        case 6: asm("mov.u32 %0, %%total_smem_size;" : "=r"(r)); break;
        case 7: asm("mov.u32 %0, WARP_SZ;" : "=r"(r)); break;
    }
    return r;
}
extern "C" __global__ void special_registers(unsigned* y) {
    int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    for (int k = 0; k < 8; ++k) if (k != 6) y[(block * 64 + thread) * 8 + k] = reg(k);
    y[(block * 64 + thread) * 8 + 6] = reg(6) >= 128 ? warpSize : 0;
}""",
        entry="special_registers",
        args=lambda: [np.zeros(12 * 64 * 8, np.uint32)],
        outputs=(0,),
        expect=lambda y: [registers().reshape(-1)],
        grid=(3, 2, 2),
        block=(8, 4, 2),
        shared_bytes=128,
    ),
    Case(
        name="output.assert",
        source="""
extern "C" __global__ void asserts(const int* x, int* y) {
    int i = threadIdx.x;
    assert(x[i] < 100);
    y[i] = x[i];
}""",
        entry="asserts",
        args=lambda: [np.array([1, 2, 300, 4], np.int32), np.zeros(4, np.int32)],
        outputs=(),
        expect=None,
        block=4,
        faulty=True,
    ),
    Case(
        name="output.assert_holds",
        source="""
extern "C" __global__ void assert_holds(const int* x, int* y) {
    int i = threadIdx.x;
    assert(x[i] < 100 && "small numbers only");
    y[i] = x[i] + 1;
}""",
        entry="assert_holds",
        args=lambda: [np.array([1, 2, 30, 4], np.int32), np.zeros(4, np.int32)],
        outputs=(1,),
        expect=lambda x, y: [x + 1],
        block=4,
    ),
    Case(
        name="output.trap",
        source="""
extern "C" __global__ void traps(const int* x, int* y) {
    int i = threadIdx.x;
    if (x[i] == 3) __trap();
    y[i] = x[i];
}""",
        entry="traps",
        args=lambda: [np.array([1, 2, 3, 4], np.int32), np.zeros(4, np.int32)],
        outputs=(),
        expect=None,
        block=4,
        faulty=True,
    ),
]


def registers():
    out = np.zeros((12, 64, 8), np.uint32)
    thread = np.arange(64)
    for block in range(12):
        out[block] = np.stack(
            [thread % 8, np.full(64, 4), np.full(64, block // 6), np.full(64, 3), thread % 32, np.full(64, 128), np.full(64, 32), np.full(64, 32)], 1
        )
    return out
