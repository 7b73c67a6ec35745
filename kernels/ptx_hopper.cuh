// Hopper's own instructions (sm_90, sm_90a), one PTX instruction a function, as
// in ptx.cuh: #include <ptx_hopper.cuh>. Addresses of shared memory are the
// 32-bit numbers that ptx::shared_address gives. Sections are the PTX ISA's (9.0).
#pragma once
#include <ptx.cuh>
#include <ptx_wgmma.cuh>

namespace ptx {

// What a tensor map is to a kernel: 128 bytes that only the copy engine reads.
// A parameter `const __grid_constant__ ptx::TensorMap map`; cp.tensor_map makes
// the argument. (5.5.8 tensor-map)
struct __align__(64) TensorMap {
    unsigned long long opaque[16];
};

// ---- mbarrier: counts arrivals and bytes of a phase (9.7.13.15)

// A new barrier: its phase ends after `arrivals` arrivals. (9.7.13.15.9)
__device__ __forceinline__ void mbarrier_init(unsigned bar, unsigned arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(arrivals) : "memory");
}
// New barriers become visible to the copy engine and to other blocks. (9.7.13.4)
__device__ __forceinline__ void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
// One arrival. (9.7.13.15.13)
__device__ __forceinline__ void mbarrier_arrive(unsigned bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
// One arrival at the barrier of another block of the cluster. (9.7.13.15.13)
__device__ __forceinline__ void mbarrier_arrive_cluster(unsigned bar) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
}
// One arrival that announces `bytes` more: the phase ends when they are here too.
__device__ __forceinline__ void mbarrier_arrive_expect_tx(unsigned bar, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(bytes) : "memory");
}
// Has the phase of this parity ended? May sleep a while first. (9.7.13.15.16)
__device__ __forceinline__ bool mbarrier_try_wait_parity(unsigned bar, unsigned parity) {
    unsigned done;
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    return done;
}
// Until it has.
__device__ __forceinline__ void mbarrier_wait_parity(unsigned bar, unsigned parity) {
    while (!mbarrier_try_wait_parity(bar, parity)) {
    }
}

// ---- Proxies: what threads wrote, seen by the copy engine and the tensor cores

// My writes to shared memory, before what the async proxy reads next. (9.7.13.4)
__device__ __forceinline__ void fence_proxy_async() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- TMA: a box of a tensor, by one thread (9.7.9.25.5)

// Coordinates count elements, innermost first, and the first is a multiple of
// 16 bytes (an H200 stops otherwise); what lies outside arrives as zeros. The
// bytes count at `bar`. (9.7.9.25.5.2 cp.async.bulk.tensor)
__device__ __forceinline__ void tma_load_2d(unsigned to, const TensorMap* map, unsigned bar, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];"
                 ::"r"(to), "l"(map), "r"(bar), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ void tma_load_3d(unsigned to, const TensorMap* map, unsigned bar, int x, int y, int z) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];"
                 ::"r"(to), "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z) : "memory");
}
// The same box for every block of the cluster whose bit is set in `blocks`.
__device__ __forceinline__ void tma_load_2d_multicast(unsigned to, const TensorMap* map, unsigned bar, int x, int y, unsigned short blocks) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;"
                 ::"r"(to), "l"(map), "r"(bar), "r"(x), "r"(y), "h"(blocks) : "memory");
}
__device__ __forceinline__ void tma_load_3d_multicast(unsigned to, const TensorMap* map, unsigned bar, int x, int y, int z, unsigned short blocks) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;"
                 ::"r"(to), "l"(map), "r"(bar), "r"(x), "r"(y), "r"(z), "h"(blocks) : "memory");
}
// A box from shared memory; what lies behind the end is not written. No
// coordinate may be negative.
__device__ __forceinline__ void tma_store_2d(const TensorMap* map, unsigned from, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
                 ::"l"(map), "r"(from), "r"(x), "r"(y) : "memory");
}
__device__ __forceinline__ void tma_store_3d(const TensorMap* map, unsigned from, int x, int y, int z) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(from), "r"(x), "r"(y), "r"(z) : "memory");
}
// Adds a box of float32 to global memory. (9.7.9.25.5.3 cp.reduce.async.bulk.tensor)
__device__ __forceinline__ void tma_add_3d(const TensorMap* map, unsigned from, int x, int y, int z) {
    asm volatile("cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%0, {%2, %3, %4}], [%1];"
                 ::"l"(map), "r"(from), "r"(x), "r"(y), "r"(z) : "memory");
}
// Fetches the map itself ahead of its first use. (9.7.9.16 prefetch)
__device__ __forceinline__ void prefetch_tensormap(const TensorMap* map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
// `bytes` (a multiple of 16) in one piece, both ends 16-byte aligned. (9.7.9.25.4.1 cp.async.bulk)
__device__ __forceinline__ void bulk_load(unsigned to, const void* from, unsigned bytes, unsigned bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(bar) : "memory");
}
__device__ __forceinline__ void bulk_store(void* to, unsigned from, unsigned bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes) : "memory");
}
// My stores so far become a group. (9.7.9.25.4.4)
__device__ __forceinline__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// Until at most N of my groups still read shared memory. (9.7.9.25.4.5)
template <int N>
__device__ __forceinline__ void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory"); }
// Until at most N of my groups are not yet written.
template <int N>
__device__ __forceinline__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }

// ---- Warps with different jobs

// Barrier `id` (1 to 15; 0 is __syncthreads) for `threads` threads. (9.7.13.1 bar)
__device__ __forceinline__ void named_barrier_sync(int id, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
// Counts at it without waiting.
__device__ __forceinline__ void named_barrier_arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
// My warpgroup gives registers back, or waits for more. (9.7.20.5 setmaxnreg)
template <int registers>
__device__ __forceinline__ void fewer_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(registers)); }
template <int registers>
__device__ __forceinline__ void more_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(registers)); }
// True in one lane of the warp. (9.7.13.14 elect.sync)
__device__ __forceinline__ bool elect() {
    unsigned mine;
    asm volatile(
        "{\n.reg .pred p;\n"
        "elect.sync _|p, 0xffffffff;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(mine));
    return mine;
}

// ---- Clusters: blocks that see each other's shared memory

// Which block of its cluster am I? (9.7.9.24 %cluster_ctarank)
__device__ __forceinline__ unsigned cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}
// Where my shared address lies in block `rank` of the cluster. (9.7.9.23 mapa)
__device__ __forceinline__ unsigned map_to_rank(unsigned at, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(rank));
    return there;
}
// A float in the shared memory of whichever block `there` names. (9.7.9.8 ld)
__device__ __forceinline__ float load_cluster(unsigned there) {
    float x;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(there) : "memory");
    return x;
}
// A barrier of all threads of the cluster's blocks. (9.7.13.3 barrier.cluster)
__device__ __forceinline__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

}  // namespace ptx
