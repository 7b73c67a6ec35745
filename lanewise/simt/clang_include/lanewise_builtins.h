// What CUDA C adds to C++, for clang without a CUDA SDK: keywords, special registers, barriers, warp functions, atomics.
// Included in front of every source (-include). Names and meanings: CUDA C++ Programming Guide, "C++ Language Extensions".
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __grid_constant__ __attribute__((grid_constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...)  // clang.py reads it from the source: this clang writes no directive for it
#define __align__(n) __attribute__((aligned(n)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __CUDACC__ 1
#define LW static __inline__ __attribute__((always_inline, device))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
#define NULL 0

extern "C" __device__ int printf(const char*, ...);
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __func__, 1))

#include "lanewise_vectors.h"

// threadIdx and its kin: every use of a field reads the special register.
#define LW_REGISTERS(NAME, TYPE, REG)                                                                   \
    struct lw_##NAME {                                                                                  \
        __declspec(property(get = lw_x)) unsigned x;                                                    \
        __declspec(property(get = lw_y)) unsigned y;                                                    \
        __declspec(property(get = lw_z)) unsigned z;                                                    \
        LW unsigned lw_x() { return __nvvm_read_ptx_sreg_##REG##_x(); }                                 \
        LW unsigned lw_y() { return __nvvm_read_ptx_sreg_##REG##_y(); }                                 \
        LW unsigned lw_z() { return __nvvm_read_ptx_sreg_##REG##_z(); }                                 \
        __device__ __forceinline__ operator TYPE() const { return {lw_x(), lw_y(), lw_z()}; }           \
    };                                                                                                  \
    extern const __device__ __attribute__((weak)) lw_##NAME NAME;
LW_REGISTERS(threadIdx, uint3, tid)
LW_REGISTERS(blockIdx, uint3, ctaid)
LW_REGISTERS(blockDim, dim3, ntid)
LW_REGISTERS(gridDim, dim3, nctaid)
#undef LW_REGISTERS
#define warpSize 32

// Barriers and fences. __syncthreads() is known to clang.
LW void __syncwarp(unsigned mask = 0xffffffffu) { asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory"); }
LW void __threadfence_block() { asm volatile("membar.cta;" ::: "memory"); }
LW void __threadfence() { asm volatile("membar.gl;" ::: "memory"); }
LW void __threadfence_system() { asm volatile("membar.sys;" ::: "memory"); }
LW int __syncthreads_count(int p) {
    int n;
    asm volatile("{\n .reg .pred p;\n setp.ne.s32 p, %1, 0;\n bar.red.popc.u32 %0, 0, p;\n}" : "=r"(n) : "r"(p) : "memory");
    return n;
}
#define LW_VOTE_ALL(NAME, OP)                                                                                             \
    LW int NAME(int p) {                                                                                                  \
        int r;                                                                                                            \
        asm volatile("{\n .reg .pred p, q;\n setp.ne.s32 p, %1, 0;\n bar.red." OP ".pred q, 0, p;\n selp.s32 %0, 1, 0, q;\n}" \
                     : "=r"(r) : "r"(p) : "memory");                                                                      \
        return r;                                                                                                         \
    }
LW_VOTE_ALL(__syncthreads_and, "and")
LW_VOTE_ALL(__syncthreads_or, "or")
#undef LW_VOTE_ALL

// Votes and matches.
#define LW_VOTE(NAME, OP)                                                                                                      \
    LW int NAME(unsigned mask, int p) {                                                                                        \
        int r;                                                                                                                 \
        asm volatile("{\n .reg .pred p, q;\n setp.ne.s32 p, %1, 0;\n vote.sync." OP ".pred q, p, %2;\n selp.s32 %0, 1, 0, q;\n}" \
                     : "=r"(r) : "r"(p), "r"(mask));                                                                           \
        return r;                                                                                                              \
    }
LW_VOTE(__any_sync, "any")
LW_VOTE(__all_sync, "all")
LW_VOTE(__uni_sync, "uni")
#undef LW_VOTE
LW unsigned __ballot_sync(unsigned mask, int p) {
    unsigned r;
    asm volatile("{\n .reg .pred p;\n setp.ne.s32 p, %1, 0;\n vote.sync.ballot.b32 %0, p, %2;\n}" : "=r"(r) : "r"(p), "r"(mask));
    return r;
}
LW unsigned __activemask() {
    unsigned r;
    asm volatile("activemask.b32 %0;" : "=r"(r));
    return r;
}
template <typename T> LW unsigned __match_any_sync(unsigned mask, T value) {
    unsigned r;
    if constexpr (sizeof(T) == 8) asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(r) : "l"(__builtin_bit_cast(unsigned long long, value)), "r"(mask));
    else asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(r) : "r"(__builtin_bit_cast(unsigned, value)), "r"(mask));
    return r;
}

// Shuffles: 32 bits at a time, as PTX has them.
#define LW_SHUFFLE(NAME, OP, LANE, CLAMP)                                                                                   \
    LW unsigned NAME##_word(unsigned mask, unsigned v, LANE lane, int width) {                                               \
        unsigned r;                                                                                                          \
        asm volatile("shfl.sync." OP ".b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(v), "r"(lane), "r"(((32 - width) << 8) | CLAMP), "r"(mask)); \
        return r;                                                                                                            \
    }                                                                                                                        \
    template <typename T> LW T NAME(unsigned mask, T v, LANE lane, int width = 32) {                                          \
        if constexpr (sizeof(T) == 8) {                                                                                      \
            unsigned long long w = __builtin_bit_cast(unsigned long long, v);                                                \
            unsigned low = NAME##_word(mask, (unsigned)w, lane, width), high = NAME##_word(mask, (unsigned)(w >> 32), lane, width); \
            return __builtin_bit_cast(T, ((unsigned long long)high << 32) | low);                                            \
        } else if constexpr (sizeof(T) == 2) {                                                                               \
            return __builtin_bit_cast(T, (unsigned short)NAME##_word(mask, __builtin_bit_cast(unsigned short, v), lane, width)); \
        } else {                                                                                                             \
            return __builtin_bit_cast(T, NAME##_word(mask, __builtin_bit_cast(unsigned, v), lane, width));                   \
        }                                                                                                                    \
    }
LW_SHUFFLE(__shfl_sync, "idx", int, 0x1f)
LW_SHUFFLE(__shfl_up_sync, "up", unsigned, 0)
LW_SHUFFLE(__shfl_down_sync, "down", unsigned, 0x1f)
LW_SHUFFLE(__shfl_xor_sync, "bfly", int, 0x1f)
#undef LW_SHUFFLE

#define LW_REDUCE(NAME, OP, T)                                                                       \
    LW T NAME(unsigned mask, T v) {                                                                  \
        T r;                                                                                         \
        asm volatile("redux.sync." OP " %0, %1, %2;" : "=r"(r) : "r"(v), "r"(mask));                 \
        return r;                                                                                    \
    }
LW_REDUCE(__reduce_add_sync, "add.s32", int)
LW_REDUCE(__reduce_add_sync, "add.u32", unsigned)
LW_REDUCE(__reduce_min_sync, "min.s32", int)
LW_REDUCE(__reduce_min_sync, "min.u32", unsigned)
LW_REDUCE(__reduce_max_sync, "max.s32", int)
LW_REDUCE(__reduce_max_sync, "max.u32", unsigned)
LW_REDUCE(__reduce_and_sync, "and.b32", unsigned)
LW_REDUCE(__reduce_or_sync, "or.b32", unsigned)
LW_REDUCE(__reduce_xor_sync, "xor.b32", unsigned)
#undef LW_REDUCE

// Atomics: relaxed, of the device's scope (…_block, …_system: of theirs).
#define LW_ATOMIC(NAME, OP, T)                                                                                                       \
    LW T NAME(T* p, T v) { return __scoped_atomic_fetch_##OP(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); }                       \
    LW T NAME##_block(T* p, T v) { return __scoped_atomic_fetch_##OP(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP); }               \
    LW T NAME##_system(T* p, T v) { return __scoped_atomic_fetch_##OP(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM); }
#define LW_ATOMIC_INTEGERS(NAME, OP) LW_ATOMIC(NAME, OP, int) LW_ATOMIC(NAME, OP, unsigned) LW_ATOMIC(NAME, OP, unsigned long long)
LW_ATOMIC_INTEGERS(atomicAdd, add)
LW_ATOMIC(atomicAdd, add, float)
LW_ATOMIC(atomicAdd, add, double)
LW_ATOMIC(atomicSub, sub, int)
LW_ATOMIC(atomicSub, sub, unsigned)
LW_ATOMIC_INTEGERS(atomicMin, min)
LW_ATOMIC(atomicMin, min, long long)
LW_ATOMIC_INTEGERS(atomicMax, max)
LW_ATOMIC(atomicMax, max, long long)
LW_ATOMIC_INTEGERS(atomicAnd, and)
LW_ATOMIC_INTEGERS(atomicOr, or)
LW_ATOMIC_INTEGERS(atomicXor, xor)
#undef LW_ATOMIC
#undef LW_ATOMIC_INTEGERS
#define LW_ATOMIC_SWAP(T)                                                                                                        \
    LW T atomicExch(T* p, T v) { return __scoped_atomic_exchange_n(p, v, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); }             \
    LW T atomicCAS(T* p, T was, T v) {                                                                                           \
        __scoped_atomic_compare_exchange_n(p, &was, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);        \
        return was;                                                                                                              \
    }
LW_ATOMIC_SWAP(int)
LW_ATOMIC_SWAP(unsigned)
LW_ATOMIC_SWAP(unsigned long long)
#undef LW_ATOMIC_SWAP
LW float atomicExch(float* p, float v) { return __builtin_bit_cast(float, atomicExch((unsigned*)p, __builtin_bit_cast(unsigned, v))); }
LW unsigned atomicInc(unsigned* p, unsigned last) {
    unsigned r;
    asm volatile("atom.inc.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(last) : "memory");
    return r;
}
LW unsigned atomicDec(unsigned* p, unsigned last) {
    unsigned r;
    asm volatile("atom.dec.u32 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(last) : "memory");
    return r;
}

// Loads and stores with cache hints: the hint changes no value and no counter here.
template <typename T> LW T __ldg(const T* p) { return *p; }
template <typename T> LW T __ldca(const T* p) { return *p; }
template <typename T> LW T __ldcg(const T* p) { return *p; }
template <typename T> LW T __ldcs(const T* p) { return *p; }
template <typename T> LW void __stcg(T* p, T v) { *p = v; }
template <typename T> LW void __stcs(T* p, T v) { *p = v; }
template <typename T> LW void __stwt(T* p, T v) { *p = v; }
LW size_t __cvta_generic_to_shared(const void* p) { return (size_t)(__attribute__((address_space(3))) const void*)p; }
LW size_t __cvta_generic_to_global(const void* p) { return (size_t)(__attribute__((address_space(1))) const void*)p; }

LW long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
LW int clock() { return __nvvm_read_ptx_sreg_clock(); }
LW void __nanosleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }
LW void __trap() { asm volatile("trap;"); }
LW void __brkpt() { asm volatile("brkpt;"); }
#define memcpy __builtin_memcpy
#define memset __builtin_memset

#include "lanewise_math.h"

namespace std {}  // known to be empty: an error names the member that isn't there

// NVRTC is told to take functions without a mark for device functions; this does the same for all that follows.
#pragma clang force_cuda_host_device begin
