// wgmma (sm_90a): four warps multiply a 64-row tile, one PTX instruction a
// function. Included by ptx_hopper.cuh. Sections are the PTX ISA's (9.0).
#pragma once
#include <ptx.cuh>

namespace ptx {

// Where a tile lies in shared memory, in the 64 bits that wgmma reads: rows (or
// columns) of 128 bytes under the 128-byte swizzle, groups of 8 of them
// `stride` bytes apart, panels of 64 elements `leading` bytes apart (only the
// layout with the other dimension contiguous has several). (9.7.15.5.1.2.2)
__device__ __forceinline__ unsigned long long wgmma_tile(unsigned at, unsigned leading = 16, unsigned stride = 1024) {
    return (unsigned long long)((at & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |
           (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}

// My registers are written: wgmma may read them now. (9.7.15.7.1)
__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
// What was issued so far becomes a group. (9.7.15.7.2)
__device__ __forceinline__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most N of my groups are under way. (9.7.15.7.3)
template <int N>
__device__ __forceinline__ void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
// The compiler may not move reads of these registers up past here.
template <int n>
__device__ __forceinline__ void keep(float (&r)[n]) {
#pragma unroll
    for (int i = 0; i < n; ++i) asm volatile("" : "+f"(r[i])::"memory");
}
template <int n>
__device__ __forceinline__ void keep(unsigned (&r)[n]) {
#pragma unroll
    for (int i = 0; i < n; ++i) asm volatile("" : "+r"(r[i])::"memory");
}

// The register lists of the accumulators: 4 floats a thread for 8 columns.
#define PTX_ACC8(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
#define PTX_ACC32(d, i) PTX_ACC8(d, i), PTX_ACC8(d, i + 8), PTX_ACC8(d, i + 16), PTX_ACC8(d, i + 24)
#define PTX_R8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define PTX_R16 PTX_R8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define PTX_R24 PTX_R16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define PTX_R32 PTX_R24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define PTX_R40 PTX_R32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define PTX_R48 PTX_R40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define PTX_R56 PTX_R48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define PTX_R64 PTX_R56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define PTX_R72 PTX_R64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define PTX_R80 PTX_R72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define PTX_R88 PTX_R80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define PTX_R96 PTX_R88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define PTX_R104 PTX_R96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define PTX_R112 PTX_R104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define PTX_R120 PTX_R112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define PTX_R128 PTX_R120 ", %120, %121, %122, %123, %124, %125, %126, %127"

// D (64 x N, float32) = A B, or D + A B where add is 1: A 64 x 16 and B 16 x N
// of T, from tiles in shared memory, the 16 contiguous; or A from registers, as
// a warp's m16n8k16 fragments, and B with its N contiguous (trans). (9.7.15.5.2)
template <int N, typename T>
struct Wgmma;

#define PTX_WGMMA(N, TYPE, NAME, REGS, ACC, O0, O1, O2, O3, O4, O5, O6)                                     \
    template <>                                                                                             \
    struct Wgmma<N, TYPE> {                                                                                 \
        template <int trans = 0>                                                                            \
        static __device__ __forceinline__ void tiles(float (&d)[N / 2], unsigned long long a, unsigned long long b, int add) { \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " O2 ", 0;\n"                                    \
                         "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." NAME "." NAME                    \
                         " {" REGS "}, " O0 ", " O1 ", p, 1, 1, 0, " O3 ";\n}"                              \
                         : ACC : "l"(a), "l"(b), "r"(add), "n"(trans));                                     \
        }                                                                                                   \
        template <int trans = 1>                                                                            \
        static __device__ __forceinline__ void registers(float (&d)[N / 2], const unsigned (&a)[4], unsigned long long b, int add) { \
            asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " O5 ", 0;\n"                                    \
                         "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." NAME "." NAME                    \
                         " {" REGS "}, {" O0 ", " O1 ", " O2 ", " O3 "}, " O4 ", p, 1, 1, " O6 ";\n}"       \
                         : ACC : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(trans)); \
        }                                                                                                   \
    };
#define PTX_ACCS_32 PTX_ACC32(d, 0)
PTX_WGMMA(64, __half, "f16", PTX_R32, PTX_ACCS_32, "%32", "%33", "%34", "%35", "%36", "%37", "%38")
PTX_WGMMA(64, __nv_bfloat16, "bf16", PTX_R32, PTX_ACCS_32, "%32", "%33", "%34", "%35", "%36", "%37", "%38")
#define PTX_ACCS_40 PTX_ACC32(d, 0), PTX_ACC8(d, 32)
PTX_WGMMA(80, __half, "f16", PTX_R40, PTX_ACCS_40, "%40", "%41", "%42", "%43", "%44", "%45", "%46")
PTX_WGMMA(80, __nv_bfloat16, "bf16", PTX_R40, PTX_ACCS_40, "%40", "%41", "%42", "%43", "%44", "%45", "%46")
#define PTX_ACCS_48 PTX_ACC32(d, 0), PTX_ACC8(d, 32), PTX_ACC8(d, 40)
PTX_WGMMA(96, __half, "f16", PTX_R48, PTX_ACCS_48, "%48", "%49", "%50", "%51", "%52", "%53", "%54")
PTX_WGMMA(96, __nv_bfloat16, "bf16", PTX_R48, PTX_ACCS_48, "%48", "%49", "%50", "%51", "%52", "%53", "%54")
#define PTX_ACCS_56 PTX_ACC32(d, 0), PTX_ACC8(d, 32), PTX_ACC8(d, 40), PTX_ACC8(d, 48)
PTX_WGMMA(112, __half, "f16", PTX_R56, PTX_ACCS_56, "%56", "%57", "%58", "%59", "%60", "%61", "%62")
PTX_WGMMA(112, __nv_bfloat16, "bf16", PTX_R56, PTX_ACCS_56, "%56", "%57", "%58", "%59", "%60", "%61", "%62")
#define PTX_ACCS_64 PTX_ACC32(d, 0), PTX_ACC32(d, 32)
PTX_WGMMA(128, __half, "f16", PTX_R64, PTX_ACCS_64, "%64", "%65", "%66", "%67", "%68", "%69", "%70")
PTX_WGMMA(128, __nv_bfloat16, "bf16", PTX_R64, PTX_ACCS_64, "%64", "%65", "%66", "%67", "%68", "%69", "%70")
#define PTX_ACCS_72 PTX_ACC32(d, 0), PTX_ACC32(d, 32), PTX_ACC8(d, 64)
PTX_WGMMA(144, __half, "f16", PTX_R72, PTX_ACCS_72, "%72", "%73", "%74", "%75", "%76", "%77", "%78")
PTX_WGMMA(144, __nv_bfloat16, "bf16", PTX_R72, PTX_ACCS_72, "%72", "%73", "%74", "%75", "%76", "%77", "%78")
#define PTX_ACCS_80 PTX_ACC32(d, 0), PTX_ACC32(d, 32), PTX_ACC8(d, 64), PTX_ACC8(d, 72)
PTX_WGMMA(160, __half, "f16", PTX_R80, PTX_ACCS_80, "%80", "%81", "%82", "%83", "%84", "%85", "%86")
PTX_WGMMA(160, __nv_bfloat16, "bf16", PTX_R80, PTX_ACCS_80, "%80", "%81", "%82", "%83", "%84", "%85", "%86")
#define PTX_ACCS_88 PTX_ACC32(d, 0), PTX_ACC32(d, 32), PTX_ACC8(d, 64), PTX_ACC8(d, 72), PTX_ACC8(d, 80)
PTX_WGMMA(176, __half, "f16", PTX_R88, PTX_ACCS_88, "%88", "%89", "%90", "%91", "%92", "%93", "%94")
PTX_WGMMA(176, __nv_bfloat16, "bf16", PTX_R88, PTX_ACCS_88, "%88", "%89", "%90", "%91", "%92", "%93", "%94")
#define PTX_ACCS_96 PTX_ACC32(d, 0), PTX_ACC32(d, 32), PTX_ACC32(d, 64)
PTX_WGMMA(192, __half, "f16", PTX_R96, PTX_ACCS_96, "%96", "%97", "%98", "%99", "%100", "%101", "%102")
PTX_WGMMA(192, __nv_bfloat16, "bf16", PTX_R96, PTX_ACCS_96, "%96", "%97", "%98", "%99", "%100", "%101", "%102")
#define PTX_ACCS_128 PTX_ACC32(d, 0), PTX_ACC32(d, 32), PTX_ACC32(d, 64), PTX_ACC32(d, 96)
PTX_WGMMA(256, __half, "f16", PTX_R128, PTX_ACCS_128, "%128", "%129", "%130", "%131", "%132", "%133", "%134")
PTX_WGMMA(256, __nv_bfloat16, "bf16", PTX_R128, PTX_ACCS_128, "%128", "%129", "%130", "%131", "%132", "%133", "%134")

}  // namespace ptx
