"""Clusters: barriers of several blocks, and shared memory of other blocks read, written and updated (PTX ISA 9.7.13.3, 9.7.9.23)."""

from __future__ import annotations

import numpy as np

from .case import Case

PREAMBLE = """
__device__ __forceinline__ unsigned rank() { unsigned r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ __forceinline__ unsigned blocks() { unsigned r; asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(r)); return r; }
__device__ __forceinline__ void sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ unsigned map(unsigned where, unsigned r) {
    unsigned there; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(where), "r"(r)); return there;
}
__device__ __forceinline__ int load(unsigned where) { int x; asm volatile("ld.shared::cluster.s32 %0, [%1];" : "=r"(x) : "r"(where) : "memory"); return x; }
__device__ __forceinline__ void store(unsigned where, int x) { asm volatile("st.shared::cluster.s32 [%0], %1;" ::"r"(where), "r"(x) : "memory"); }
"""


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(1 << 20), 1 << 20, shape).astype(np.int32)


def cluster(name, body, expect, dims=(2, 1, 1), grid=8, threads=64, outputs=None, seed=1) -> Case:
    """`body` sees x (int32, threads a block), y (the same), t = threadIdx.x and b = the block's linear number."""
    total = int(np.prod(grid))
    source = f"""{PREAMBLE}
extern "C" __global__ void __cluster_dims__({", ".join(map(str, dims))}) {name}(const int* x, int* y) {{
    int t = threadIdx.x, b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    {body}
}}"""
    return Case(
        name=f"clusters.{name}", source=source, entry=name, args=lambda: [drawn(seed, total, threads), np.zeros((total, outputs or threads), np.int32)],
        outputs=(1,), expect=lambda x, y: [np.ascontiguousarray(expect(x)).astype(np.int32)], grid=grid, block=threads,
    )  # fmt: skip


def pairs(x: np.ndarray, size: int) -> np.ndarray:
    return x.reshape(-1, size, x.shape[1])


SHARED = "__shared__ int s[64]; s[t] = x[b * 64 + t];"
READS = {
    "neighbour": ("(rank() + 1) % blocks()", lambda c: np.roll(c, -1, axis=1)),
    "before": ("(rank() + blocks() - 1) % blocks()", lambda c: np.roll(c, 1, axis=1)),
    "first": ("0", lambda c: np.repeat(c[:, :1], c.shape[1], axis=1)),
    "last": ("blocks() - 1", lambda c: np.repeat(c[:, -1:], c.shape[1], axis=1)),
    "mirror": ("blocks() - 1 - rank()", lambda c: c[:, ::-1]),
}


def reads(kind: str, size: int) -> Case:
    peer, moved = READS[kind]
    return cluster(
        f"cluster_reads_{kind}_{size}",
        f"{SHARED} sync(); y[b * 64 + t] = load(map(at(s + t), {peer})); sync();",
        lambda x: moved(pairs(x, size)).reshape(x.shape), (size, 1, 1), grid=2 * size, seed=size,
    )  # fmt: skip


CASES: list[Case] = [reads(kind, size) for kind in READS for size in (2, 4, 8)]
CASES += [
    cluster(
        "cluster_pushes",
        "__shared__ int s[64]; store(map(at(s + 63 - t), (rank() + 1) % blocks()), x[b * 64 + t]); sync(); y[b * 64 + t] = s[t];",
        lambda x: np.roll(pairs(x, 4), 1, axis=1)[:, :, ::-1].reshape(x.shape), (4, 1, 1),
    ),
    cluster(
        "cluster_generic_pointer",
        f"""{SHARED} sync();
    unsigned long long p, mine = (unsigned long long)s;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(p) : "l"(mine), "r"(rank() ^ 1));
    y[b * 64 + t] = ((volatile int*)p)[63 - t];
    sync();""",
        lambda x: pairs(x, 2)[:, ::-1, ::-1].reshape(x.shape),
    ),
    cluster(
        "cluster_adds_to_all",
        """__shared__ int s[64]; s[t] = 0; sync();
    for (unsigned r = 0; r < blocks(); ++r) asm volatile("red.shared::cluster.add.s32 [%0], %1;" ::"r"(map(at(s + t), r)), "r"(x[b * 64 + t]) : "memory");
    sync(); y[b * 64 + t] = s[t];""",
        lambda x: np.repeat(pairs(x, 4).sum(axis=1, keepdims=True), 4, axis=1).reshape(x.shape), (4, 1, 1),
    ),
    cluster(
        "cluster_one_block_collects",
        f"""{SHARED} sync();
    if (rank() == 0) {{ int total = 0; for (unsigned r = 0; r < blocks(); ++r) total += load(map(at(s + t), r)); y[b * 64 + t] = total; }}
    sync();""",
        lambda x: np.where(np.arange(4)[None, :, None] == 0, pairs(x, 4).sum(axis=1, keepdims=True), 0).reshape(x.shape), (4, 1, 1),
    ),
    cluster(
        "cluster_barriers_inside",
        f"""{SHARED} __syncthreads();
    if (rank() == 1) {{ int z = s[63 - t]; __syncthreads(); s[t] = z; }}
    sync(); y[b * 64 + t] = load(map(at(s + t), rank() ^ 1)); sync();""",
        lambda x: np.stack([pairs(x, 2)[:, 1, ::-1], pairs(x, 2)[:, 0]], axis=1).reshape(x.shape),
    ),
    cluster(
        "cluster_arrive_then_wait",
        f"""{SHARED}
    asm volatile("barrier.cluster.arrive.release;" ::: "memory");
    int mine = s[t] * 3;
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
    y[b * 64 + t] = mine + load(map(at(s + t), rank() ^ 1)); sync();""",
        lambda x: (pairs(x, 2) * 3 + pairs(x, 2)[:, ::-1]).reshape(x.shape),
    ),
    cluster(
        "cluster_of_two_axes",
        f"""{SHARED} sync();
    unsigned cx, cy, kx, ky; asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(cx)); asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(cy));
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(kx)); asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(ky));
    y[b * 64 + t] = load(map(at(s + t), 3 - rank())) + (int)(1000 * cx + 100 * cy + 10 * kx + ky); sync();""",
        lambda x: two_axes(x), (2, 2, 1), grid=(4, 4),
    ),
    cluster(
        "cluster_global_after_barrier",
        "y[b * 128 + t] = x[b * 64 + t]; sync(); y[b * 128 + 64 + t] = ((volatile int*)y)[(b ^ 1) * 128 + t];",
        lambda x: np.concatenate([x, pairs(x, 2)[:, ::-1].reshape(x.shape)], axis=1), outputs=128,
    ),
    cluster(
        "cluster_each_its_own_count",
        f"""{SHARED} unsigned k; asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(k)); sync();
    for (unsigned i = 0; i < k % 3; ++i) {{ int z = load(map(at(s + t), (rank() + 1) % blocks())); sync(); s[t] = z; sync(); }}
    y[b * 64 + t] = s[t];""",
        lambda x: np.concatenate([np.roll(c, -(k % 3), axis=0) for k, c in enumerate(pairs(x, 4))]), (4, 1, 1), grid=20,
    ),
    cluster(
        "cluster_roles",
        f"""{SHARED} sync(); int z = 0;
    if (rank() < 2) {{ if (t < 32) z = load(map(at(s + t), 3 - rank())); else z = s[t] * 2; __syncthreads(); z += 1; }}
    else if (t % 2) z = load(map(at(s + t), rank() - 2)) + load(map(at(s + 63 - t), 0));
    sync(); y[b * 64 + t] = z;""",
        lambda x: roles(x), (4, 1, 1), grid=12,
    ),
    cluster(
        "cluster_rank_of_address",
        """__shared__ int s[64]; unsigned r; asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(r) : "r"(map(at(s + t), t % blocks())));
    y[b * 64 + t] = (int)r + (s == 0);""",
        lambda x: np.broadcast_to(np.arange(64) % 4, x.shape), (4, 1, 1),
    ),
]  # fmt: skip


def roles(x: np.ndarray) -> np.ndarray:
    """Blocks 0 and 1: half of the threads read across, half their own; blocks 2 and 3: odd threads read two others."""
    c, t = pairs(x, 4).astype(np.int64), np.arange(64)
    out = np.zeros_like(c)
    for r in range(2):
        out[:, r] = np.where(t < 32, c[:, 3 - r], 2 * c[:, r]) + 1
        out[:, r + 2] = np.where(t % 2 == 1, c[:, r] + c[:, 0, ::-1], 0)
    return out.reshape(x.shape)


def two_axes(x: np.ndarray) -> np.ndarray:
    """Grid 4 × 4, clusters 2 × 2: the opposite corner's row, and who it is."""
    out = np.empty_like(x)
    for b in range(16):
        bx, by = b % 4, b // 4
        other = (by // 2 * 2 + 1 - by % 2) * 4 + bx // 2 * 2 + 1 - bx % 2
        out[b] = x[other] + 1000 * (bx % 2) + 100 * (by % 2) + 10 * (bx // 2) + by // 2
    return out


BARRIER = """__shared__ __align__(8) unsigned long long bar;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], {count};" ::"r"(at(&bar)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");"""
UNTIL = """for (unsigned done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(at(&bar)) : "memory");"""
NEXT = "unsigned next = (rank() + 1) % blocks();"


def moved_on(x: np.ndarray, size: int) -> np.ndarray:
    """What the block before brings."""
    return np.roll(pairs(x, size), 1, axis=1).reshape(x.shape)


def arrivals(size: int) -> Case:
    return cluster(
        f"cluster_remote_arrive_{size}",
        f"""__shared__ int s[64]; {BARRIER.format(count=64)} {NEXT} sync();
    store(map(at(s + t), next), x[b * 64 + t]);
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(map(at(&bar), next)) : "memory");
    {UNTIL}
    y[b * 64 + t] = s[63 - t]; sync();""",
        lambda x: moved_on(x, size)[:, ::-1], (size, 1, 1), grid=2 * size, seed=20 + size,
    )  # fmt: skip


def stores(size: int, items: int, signs: str) -> Case:
    """st.async of one, two or four numbers a lane."""
    vector = "" if items == 1 else f".v{items}"
    numbers = [f"%{j + 1}" for j in range(items)]
    given = ", ".join(f'"r"(x[b * 64 + t] {signs} {j})' for j in range(items))
    value = numbers[0] if items == 1 else "{" + ", ".join(numbers) + "}"
    return cluster(
        f"cluster_st_async_{size}_v{items}",
        f"""__shared__ __align__(16) int s[64 * {items}]; {BARRIER.format(count=1)} {NEXT} sync();
    if (t == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], {256 * items};" ::"r"(at(&bar)) : "memory");
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{vector}.s32 [%0], {value}, [%{items + 1}];"
                 ::"r"(map(at(s + t * {items}), next)), {given}, "r"(map(at(&bar), next)) : "memory");
    {UNTIL}
    int z = 0; for (int j = 0; j < {items}; ++j) z = 3 * z + s[(63 - t) * {items} + j];
    y[b * 64 + t] = z; sync();""",
        lambda x: weighted(moved_on(x, size)[:, ::-1].astype(np.int64), items, 1 if signs == "+" else -1), (size, 1, 1), grid=2 * size, seed=30 + size,
    )  # fmt: skip


def weighted(x: np.ndarray, items: int, sign: int) -> np.ndarray:
    z = np.zeros_like(x)
    for j in range(items):
        z = 3 * z + x + sign * j
    return z


REDUCTIONS = {"add": np.add.reduce, "min": np.minimum.reduce, "max": np.maximum.reduce, "and": np.bitwise_and.reduce, "or": np.bitwise_or.reduce,
              "xor": np.bitwise_xor.reduce}  # fmt: skip


def reductions(name: str, size: int) -> Case:
    """red.async: four lanes of the block before on each of 16 numbers, which begin as the block's own."""
    type = "b32" if name in ("and", "or", "xor") else "s32"
    return cluster(
        f"cluster_red_async_{name}_{size}",
        f"""__shared__ int s[64]; s[t] = x[b * 64 + t]; {BARRIER.format(count=1)} {NEXT} sync();
    if (t == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(at(&bar)) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{name}.{type} [%0], %1, [%2];"
                 ::"r"(map(at(s + t % 16), next)), "r"(x[b * 64 + t]), "r"(map(at(&bar), next)) : "memory");
    {UNTIL}
    y[b * 64 + t] = s[t]; sync();""",
        lambda x: reduced(x, size, REDUCTIONS[name]), (size, 1, 1), grid=2 * size, seed=40 + size,
    )  # fmt: skip


def reduced(x: np.ndarray, size: int, how) -> np.ndarray:
    out = x.copy()
    brought = moved_on(x, size).reshape(len(x), 4, 16)
    out[:, :16] = how(np.concatenate([x[:, None, :16], brought], axis=1), axis=1)
    return out


CASES += [arrivals(size) for size in (2, 4, 8)]
CASES += [stores(size, items, signs) for size, items, signs in ((2, 1, "+"), (4, 2, "-"), (8, 4, "+"), (2, 4, "-"), (4, 1, "-"), (8, 2, "+"))]
CASES += [reductions(name, size) for name, size in zip(REDUCTIONS, (2, 4, 8, 2, 4, 8), strict=True)]

ELECTED = """
extern "C" __global__ void elect_one(const unsigned* masks, unsigned* y) {
    unsigned mask = masks[threadIdx.x / 32], lane = 99, mine = 0;
    if (mask >> (threadIdx.x % 32) & 1)
        asm volatile("{ .reg .pred p; elect.sync %0|p, %2; selp.u32 %1, 1, 0, p; }" : "=r"(lane), "=r"(mine) : "r"(mask));
    y[threadIdx.x] = lane * 2 + mine;
}"""


def elected(masks: np.ndarray) -> np.ndarray:
    lane = np.arange(32)
    first = np.array([int(m) & -int(m) for m in masks]).astype(np.uint64)
    leader = np.log2(first.astype(np.float64)).astype(np.int64)[:, None]
    member = (masks[:, None] >> lane.astype(np.uint32) & 1) != 0
    return np.where(member, leader * 2 + (leader == lane), 198).astype(np.uint32).ravel()


CASES += [
    Case(
        name=f"clusters.elect_{seed}", source=ELECTED, entry="elect_one", outputs=(1,), block=256,
        args=lambda seed=seed: [np.random.default_rng(seed).integers(1, 1 << 32, 8, dtype=np.uint64).astype(np.uint32), np.zeros(256, np.uint32)],
        expect=lambda masks, y: [elected(masks)],
    )
    for seed in range(16)
]  # fmt: skip


def registers(less: int, more: int, groups: int) -> Case:
    """Warpgroup 0 gives registers back, the others take them; the result shows that everybody came through."""
    threads = 128 * groups
    name = f"setmaxnreg_{less}_{more}_{groups}"
    source = f"""
extern "C" __global__ void __launch_bounds__({threads}, 1) {name}(const int* x, int* y) {{
    if (threadIdx.x < 128) {{
        asm volatile("setmaxnreg.dec.sync.aligned.u32 {less};");
        y[threadIdx.x] = x[threadIdx.x] + 1;
    }} else {{
        asm volatile("setmaxnreg.inc.sync.aligned.u32 {more};");
        y[threadIdx.x] = x[threadIdx.x] * 2;
    }}
}}"""
    return Case(
        name=f"clusters.{name}", source=source, entry=name, args=lambda: [drawn(7, threads), np.zeros(threads, np.int32)], outputs=(1,), block=threads, grid=1,
        expect=lambda x, y: [np.where(np.arange(threads) < 128, x + 1, x * 2).astype(np.int32)],
    )  # fmt: skip


CASES += [registers(24, 240, 3), registers(40, 232, 3), registers(24, 160, 4), registers(32, 160, 4), registers(56, 224, 3)]
