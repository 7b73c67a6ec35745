// One PTX instruction a function, named as in the PTX ISA. For any RawKernel:
// #include <ptx.cuh>. The section of the ISA (9.0) stands behind each name.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace ptx {

// The 32-bit address of something in shared memory. (9.7.9.21 cvta)
__device__ __forceinline__ unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

// Four 8x8 matrices of 16-bit elements. Lane 8 m + i names row i of matrix m;
// lane l gets elements 2 (l % 4), 2 (l % 4) + 1 of row l / 4 of each. (9.7.14.5.15 ldmatrix)
__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}

// The same, each matrix transposed on the way.
__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&r)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
}

// Four 8x8 matrices to shared memory: what ldmatrix_x4 would load back. (9.7.14.5.16 stmatrix, sm_90)
__device__ __forceinline__ void stmatrix_x4(unsigned at, unsigned r0, unsigned r1, unsigned r2, unsigned r3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(r0), "r"(r1), "r"(r2), "r"(r3) : "memory");
}

// C += A B: A 16x16, B 16x8, C 16x8 in float32. (9.7.14.5.8 mma.m16n8k16)
__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __half) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1, __nv_bfloat16) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// C += A B in half steps, as sm_75 has them: A 16x8, B 8x8. (9.7.14.5.7 mma.m16n8k8)
__device__ __forceinline__ void mma_m16n8k8(float (&c)[4], unsigned a0, unsigned a1, unsigned b0, __half) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a0), "r"(a1), "r"(b0));
}

// C += A B on tf32: A 16x8, B 8x8, of each float32 the upper 19 bits. (9.7.14.5.7 mma.m16n8k8)
__device__ __forceinline__ void mma_m16n8k8_tf32(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// A float32 rounded to tf32: to nearest, ties away from zero. (9.7.9.22 cvt)
__device__ __forceinline__ unsigned tf32(float x) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return r;
}

// 16 bytes from global to shared memory in the background; past the first
// `bytes` of them (0 or 16 here) zeros. (9.7.9.25.3.1 cp.async)
__device__ __forceinline__ void cp_async_16(unsigned to, const void* from, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}
// What was issued so far becomes a group. (9.7.9.25.3.2)
__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Wait until at most N of my groups are under way. (9.7.9.25.3.3)
template <int N>
__device__ __forceinline__ void cp_async_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

// Add four float32 to four in global memory, 16-byte aligned: one instruction
// on sm_90, four before. (9.7.13.7 red)
__device__ __forceinline__ void red_add(float4* at, const float (&x)[4]) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(at), "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]) : "memory");
#else
    for (int k = 0; k < 4; ++k) atomicAdd(reinterpret_cast<float*>(at) + k, x[k]);
#endif
}

// 2^x, the hardware's approximation. (9.7.3.21 ex2.approx)
__device__ __forceinline__ float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// Two float32 as a pair of 16-bit numbers, the first one in the low half. (9.7.9.22 cvt)
__device__ __forceinline__ unsigned pack2(float low, float high, __half) {
    unsigned r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}
__device__ __forceinline__ unsigned pack2(float low, float high, __nv_bfloat16) {
    unsigned r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

}  // namespace ptx
