"""wgmma's rules: each fault is told by name and line, and the same kernel without it is quiet in every schedule."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt

pytestmark = pytest.mark.slow

SOURCE = """\
__device__ __forceinline__ unsigned long long tile(const void* p, int leading, int stride, unsigned long long mode) {
    unsigned at = (unsigned)__cvta_generic_to_shared(p);
    return (at & 0x3ffff) >> 4 | (unsigned long long)(leading >> 4) << 16 | (unsigned long long)(stride >> 4) << 32 | mode << 62;
}
__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
__device__ __forceinline__ void proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ __forceinline__ void mma(float (&d)[4], unsigned long long a, unsigned long long b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
__device__ __forceinline__ void keep(float (&d)[4]) { for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(d[i])::"memory"); }
extern "C" __global__ void __launch_bounds__(256) product(const unsigned short* a, const unsigned short* b, float* out) {
    __shared__ __align__(1024) unsigned short A[64 * 64], B[8 * 64], C[8 * 64];
    for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) A[i] = a[i];
    for (int i = threadIdx.x; i < 8 * 64; i += blockDim.x) B[i] = C[i] = b[i];
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    BODY
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}
"""
FIRST = SOURCE[: SOURCE.index("    BODY")].count("\n") + 1  # the line of BODY
MMA = 11  # the line of the instruction
READY = "proxy(); __syncthreads();"
GOOD = f"""{READY}
fence();
for (int k = 0; k < 4; ++k) mma(d, tile(A + 16 * k, 16, 1024, 1), tile(B + 16 * k, 16, 1024, 1));
commit();
wait<0>();
keep(d);"""


def launch(body: str, threads: int = 128, **options) -> simt.Report:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(n).astype(np.float16).view(np.uint16) for n in (64 * 64, 8 * 64))
    return simt.compile(SOURCE.replace("BODY", body)).kernel("product").launch(1, threads, [a, b, np.zeros(threads * 4, np.float32)], **options)


def only(body: str, threads: int = 128) -> simt.Finding:
    """The one error of a launch."""
    errors = [f for f in launch(body, threads).findings if f.severity == "error"]
    assert len(errors) == 1, "\n".join(f.message for f in errors)
    return errors[0]


@pytest.mark.parametrize("schedule", range(4))
@pytest.mark.parametrize("threads", [128, 256])
def test_a_right_kernel_is_quiet(schedule: int, threads: int) -> None:
    report = launch(GOOD, threads, schedule=schedule)
    assert report.ok, str(report)
    assert report.counters.wgmma_instructions == 4 * threads // 128
    assert report.counters.flops == 4 * 2 * 64 * 8 * 16 * threads // 128


def test_what_runs_under_a_product_is_counted() -> None:
    """A barrier between the product and its wait is one more instruction of each of the four warps; behind the wait, none."""
    work = 'asm volatile("bar.sync 0;");'
    under, behind = (launch(GOOD.replace("wait<0>();", text)).counters.wgmma_overlapped for text in (f"{work} wait<0>();", f"wait<0>(); {work}"))
    plain = launch(GOOD).counters.wgmma_overlapped
    assert plain is not None and (under, behind) == (plain + 4, plain)
    assert launch(READY).counters.wgmma_overlapped == 0


def test_registers_read_between_two_groups_without_a_fence() -> None:
    """PTX ISA 9.7.15.7.1: any access orders, not only a write: the second product may overwrite what is still being stored."""
    again = "out[threadIdx.x * 4] = d[0]; {}mma(d, tile(A, 16, 1024, 1), tile(B, 16, 1024, 1)); commit(); wait<0>(); keep(d);"
    found = only(f"{GOOD}\n{again.format('')}")
    assert (found.kind, found.line) == ("async-copy", MMA) and "registers were used since the last wgmma.fence" in found.message
    assert launch(f"{GOOD}\n{again.format('fence(); ')}").ok


def test_the_accumulators_used_before_the_wait() -> None:
    found = only(GOOD.replace("wait<0>();", "d[0] += 1.0f; wait<0>();"))
    assert (found.kind, found.line) == ("async-copy", FIRST + 4)
    assert "uses accumulator 0 on" in found.message and "Put wgmma.wait_group before the use." in found.message


def test_no_wait_at_all() -> None:
    found = only(GOOD.replace("wait<0>();\nkeep(d);", ""))
    assert found.kind == "async-copy" and found.line == FIRST + 5  # the store to out


def test_no_commit() -> None:
    assert "It was never committed" in only(GOOD.replace("commit();\n", "")).message


def test_a_wait_that_leaves_the_group_pending() -> None:
    assert "wait for one group less" in only(GOOD.replace("wait<0>()", "wait<1>()")).message


def test_a_group_before_the_last_may_be_used_after_wait_1() -> None:
    body = f"""{READY} float e[4] = {{}};
    fence(); mma(d, tile(A, 16, 1024, 1), tile(B, 16, 1024, 1)); commit();
    mma(e, tile(A + 16, 16, 1024, 1), tile(B + 16, 16, 1024, 1)); commit();
    wait<1>(); keep(d); d[0] *= 2.0f; d[1] *= 3.0f;
    wait<0>(); keep(e); for (int i = 0; i < 4; ++i) d[i] += e[i];"""
    assert launch(body).ok, str(launch(body))
    assert only(body.replace("d[0] *= 2.0f;", "keep(e); d[0] += e[0];")).kind == "async-copy"


def test_a_product_of_another_shape_must_wait() -> None:
    wide = """float w[8] = {};
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(w[0]), "+f"(w[1]), "+f"(w[2]), "+f"(w[3])
                 : "l"(tile(A, 16, 1024, 1)), "l"(tile(A, 16, 1024, 1)));
    """
    found = only(GOOD.replace("commit();", wide + "commit();"))
    assert found.kind == "async-copy" and "adds to accumulator" in found.message
    assert launch(GOOD.replace("commit();", "commit(); wait<0>(); fence();" + wide + "commit();")).ok


def test_accumulators_as_another_products_a() -> None:
    from_registers = """unsigned p[4]; for (int i = 0; i < 4; ++i) p[i] = __float_as_uint(d[i]);
    float w[4] = {};
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : "+f"(w[0]), "+f"(w[1]), "+f"(w[2]), "+f"(w[3]) : "r"(p[0]), "r"(p[1]), "r"(p[2]), "r"(p[3]), "l"(tile(B, 16, 1024, 1)));
    """
    found = only(GOOD.replace("commit();", from_registers + "commit();"))
    assert found.kind == "async-copy" and "a copy of an accumulator" in found.message


def test_a_loop_with_products_under_way_is_quiet() -> None:
    body = f"""{READY} float e[4] = {{}};
    fence(); mma(e, tile(A, 16, 1024, 1), tile(B, 16, 1024, 1)); commit(); wait<0>(); keep(e);
    #pragma unroll 1
    for (int k = 1; k < (int)blockDim.x / 32; ++k) {{
        float s[4] = {{}};
        keep(s); fence();
        mma(s, tile(A + 16 * k, 16, 1024, 1), tile(B + 16 * k, 16, 1024, 1)); commit();
        for (int i = 0; i < 4; ++i) d[i] += e[i] * 2.0f;
        wait<0>(); keep(s);
        for (int i = 0; i < 4; ++i) e[i] = s[i];
    }}
    for (int i = 0; i < 4; ++i) d[i] += e[i];"""
    assert launch(body).ok, str(launch(body))


def test_no_fence_before_the_first_product() -> None:
    found = only(GOOD.replace("fence();\n", "\n"))
    assert (found.kind, found.line) == ("async-copy", MMA)
    assert "no wgmma.fence has come yet" in found.message


def test_registers_written_between_two_groups_without_a_fence() -> None:
    again = GOOD.split("fence();\n")[1]
    assert launch(f"{GOOD}\nfence();\n{again}").ok
    assert launch(f"{GOOD}\n{again}").ok, "nothing was written in between"
    found = only(f"{GOOD}\nd[0] *= 2.0f;\n{again}")
    assert found.kind == "async-copy" and "its registers were used since" in found.message


def test_accumulators_that_nobody_set() -> None:
    unset = GOOD.replace(READY, READY + " float o[4]; keep(o);").replace("mma(d,", "mma(o,")
    unset = unset.replace("keep(d);", "keep(o); for (int i = 0; i < 4; ++i) d[i] = o[i];")
    found = only(unset)
    assert (found.kind, found.line) == ("uninitialised-read", MMA) and "adds to accumulators that nobody has set" in found.message
    assert launch(unset.replace("float o[4];", "float o[4] = {};")).ok
    assert launch(unset.replace("keep(o);", "if (threadIdx.x >= 0) for (int i = 0; i < 4; ++i) o[i] = a[i]; keep(o);", 1)).ok


def test_no_proxy_fence() -> None:
    found = [f for f in launch(GOOD.replace("proxy(); ", "")).findings if f.severity == "error"]
    assert found and {f.kind for f in found} == {"async-copy"} and "fence.proxy.async" in found[0].message


@pytest.mark.parametrize("schedule", range(4))
def test_a_proxy_fence_stands_on_the_way_of_every_warp(schedule: int) -> None:
    """One thread's fence is enough if the others meet it afterwards; one behind the barrier, in one warp alone, isn't."""
    met = "__syncthreads();"
    for fences in (f"{met} proxy();", f"{met} if (threadIdx.x == 5) proxy(); {met}", f"{met} if (threadIdx.x % 32 == 0) proxy();"):
        assert launch(GOOD.replace(READY, fences), schedule=schedule).ok, fences
    for fences in (f"{met} if (threadIdx.x == 0) proxy();", f"if (threadIdx.x < 64) proxy(); {met}", f"{met} if (threadIdx.x > 40) proxy();"):
        found = launch(GOOD.replace(READY, fences), schedule=schedule).errors
        assert found and found[0].kind == "async-copy" and "missing fence.proxy.async" in found[0].message, fences


def test_the_tile_overwritten_before_the_wait() -> None:
    found = [f for f in launch(GOOD.replace("wait<0>();", "B[threadIdx.x] = 0; wait<0>();")).findings if f.severity == "error"]
    assert found and found[0].array == "B" and found[0].line == FIRST + 4
    assert launch(GOOD.replace("keep(d);", "keep(d); __syncthreads(); B[threadIdx.x] = 0;")).ok


def test_only_some_warps_come() -> None:
    found = only(f"{READY} if (threadIdx.x < 64) {{ {GOOD.partition(READY)[2]} }}")
    assert found.kind == "barrier-divergence" and "only threads 0..63 come to it" in found.message


@pytest.mark.parametrize("schedule", range(4))
def test_warps_that_have_left(schedule: int) -> None:
    found = [f for f in launch(GOOD.replace(READY, READY + " if (threadIdx.x >= 224) return;"), 256, schedule=schedule).findings if f.severity == "error"]
    assert found[0].kind == "barrier-divergence" and "only threads 128..223 come to it: the others have ended. Let" in found[0].message


def test_a_warpgroup_that_the_block_cuts_off() -> None:
    found = [f for f in launch(GOOD, 96).findings if f.severity == "error"]
    assert found[0].kind == "barrier-divergence" and "Launch a multiple of 128 threads." in found[0].message


def test_a_matrix_that_reaches_beyond_its_array() -> None:
    found = only(GOOD.replace("B + 16 * k, 16, 1024, 1)", "B + 16 * k, 16, 1024, 1) + 64"))
    assert found.kind == "out-of-bounds" and found.array == "B" and "the matrix B of the wgmma" in found.message
    found = only(GOOD.replace("tile(A + 16 * k, 16, 1024, 1)", "tile(A + 16 * k, 16, 2048, 1)"))
    assert found.kind == "out-of-bounds" and found.array == "A" and "stride offset 2048" in found.message


def test_a_descriptor_that_points_at_nothing() -> None:
    found = only(GOOD.replace("tile(A + 16 * k, 16, 1024, 1)", "(tile(A + 16 * k, 16, 1024, 1) & ~0x3fffull)"))
    assert found.kind == "out-of-bounds" and "points at no shared array" in found.message


def test_a_tile_that_begins_inside_the_swizzle_pattern() -> None:
    found = [f for f in launch(GOOD.replace("B + 16 * k, 16, 1024, 1)", "C - 64 + 16 * k, 16, 1024, 1)")).findings if f.kind == "misaligned"]
    assert not found  # out of bounds comes first
    body = GOOD.replace("A + 16 * k, 16, 1024, 1)", "A + 64 + 16 * k, 16, 896, 1)")
    found = [f for f in launch(body).findings if f.kind == "swizzle-alignment"]
    assert found and "128 bytes behind a multiple of 1024" in found[0].message and found[0].index == 64 and found[0].severity == "remark"
    assert launch(body.replace("A + 64 + 16 * k, 16, 896, 1)", "A + 64 + 16 * k, 16, 896, 1) + (1ull << 49)")).ok, "the base offset says so"
    found = [f for f in launch(body.replace("A + 64 + 16 * k, 16, 896, 1)", "A + 64 + 16 * k, 16, 896, 1) + (2ull << 49)")).findings if f.kind == "misaligned"]
    assert found and "the descriptor's base offset is 2" in found[0].message and found[0].severity == "error"


def test_a_base_offset_for_a_tile_that_begins_with_the_pattern() -> None:
    """It shifts the pattern: the product is another one."""
    found = only(GOOD.replace("tile(A + 16 * k, 16, 1024, 1)", "tile(A + 16 * k, 16, 1024, 1) + (1ull << 49)"))
    assert found.kind == "misaligned" and "the descriptor's base offset is 1 " in found.message and found.message.endswith("Let it be 0.")


FRAGMENT = """unsigned f[4];
auto take = [&](int k) { for (int j = 0; j < 4; ++j) f[j] = *(const unsigned*)(a + 16 * k + threadIdx.x / 4 * 64 % 4096 + threadIdx.x % 4 * 2 + 2 * j); };
auto times = [&](int k) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(f[0]), "r"(f[1]), "r"(f[2]), "r"(f[3]), "l"(tile(B + 16 * k, 16, 1024, 1)));
};
"""


@pytest.mark.parametrize(
    ("loop", "says"),
    [
        ("take(k); fence(); times(k); commit(); wait<0>();", ""),
        ("take(k); fence(); times(k); commit();", "Put wgmma.wait_group before the change."),
        ("take(k); fence(); times(k); commit(); wait<1>();", "wait for one group less"),
        ("take(k); fence(); times(k);", "It was never committed"),
    ],
    ids=["waits", "no wait", "one group pending", "no commit"],
)
def test_registers_of_a_that_change_under_a_product(loop: str, says: str) -> None:
    """ptxas keeps them in the same registers and adds no wait: the loads of the next round land in what the product still reads."""
    body = f"{READY}{FRAGMENT}\n#pragma unroll 1\nfor (int k = 0; k < 4; ++k) {{ {loop} }}\ncommit(); wait<0>(); keep(d);"
    if not says:
        assert launch(body).ok
        return
    found = only(body)
    assert found.kind == "async-copy" and "changes register 0 of A on line" in found.message and says in found.message
    assert "may still read it." in found.message


def test_descriptors_that_differ_between_lanes() -> None:
    found = only(GOOD.replace("B + 16 * k, 16, 1024, 1)", "threadIdx.x < 5 ? B : C, 16, 1024, 1)"))
    assert found.kind == "warp-mask" and "not the same in all 128 threads" in found.message
    found = only(GOOD.replace("B + 16 * k, 16, 1024, 1)", "threadIdx.x < 32 ? B : C, 16, 1024, 1)"))
    assert found.kind == "warp-mask"


def test_unset_shared_memory() -> None:
    found = [f for f in launch(GOOD.replace("proxy();", "__shared__ __align__(1024) unsigned short U[8 * 64]; proxy();").replace("tile(B", "tile(U")).findings]
    assert any(f.kind == "uninitialised-read" and f.array == "U" for f in found)


@pytest.mark.parametrize("what", ["m64n12k16.f32.f16.f16", "m64n8k8.f32.f16.f16", "m64n8k16.f32.f16.bf16"])
def test_shapes_that_do_not_exist(what: str) -> None:
    with pytest.raises((simt.Unsupported, simt.CompileError)):
        simt.compile(SOURCE.replace("BODY", GOOD).replace("m64n8k16.f32.f16.f16", what)).kernel("product")


TMA = """\
struct __align__(64) Map { unsigned long long opaque[16]; };
__device__ __forceinline__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void copied(const __grid_constant__ Map map, float* out) {
    __shared__ __align__(1024) unsigned short A[64 * 64];
    __shared__ __align__(8) unsigned long long bar;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(&bar)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 8192;" ::"r"(at(&bar)) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %3}], [%2];"
                     ::"r"(at(A)), "l"(&map), "r"(at(&bar)), "r"(0) : "memory");
    }
    WAIT
    float d[4];
    unsigned long long tile = (at(A) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | MODEull << 62;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 0, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(tile));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}
"""
WAIT = """for (unsigned done = 0; !done;)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(&bar)) : "memory");"""


def copied(mode: int, swizzle: str = "128B", wait: str = WAIT, dtype: type = np.float16, box: tuple[int, int] = (64, 64)) -> simt.Report:
    tile = np.ones(box, dtype)
    source = TMA.replace("WAIT", wait).replace("MODE", str(mode))
    return simt.compile(source).kernel("copied").launch(1, 128, [simt.tensor_map(tile, box, swizzle=swizzle), np.zeros(512, np.float32)])


def test_a_tile_of_other_numbers() -> None:
    found = [f for f in copied(1, dtype=np.float32, box=(64, 32)).findings if f.severity == "error"]
    assert found[0].kind == "tensor-map" and "came from an array of float32, but A of the wgmma on line 22 is f16" in found[0].message
    assert copied(1, dtype=np.uint32, box=(64, 32)).ok and copied(1, dtype=np.uint16).ok, "integers hold any bits"


def test_a_tile_that_tma_brings() -> None:
    assert copied(1).ok, str(copied(1))


def test_a_tile_written_under_another_swizzle() -> None:
    for mode, says in ((0, "says no swizzle"), (2, "says the 64-byte swizzle"), (3, "says the 32-byte swizzle")):
        found = [f for f in copied(mode).findings if f.severity == "error"]
        assert found and found[0].array == "A" and "was written with the 128-byte swizzle" in found[0].message and says in found[0].message
    found = [f for f in copied(1, "none").findings if f.severity == "error"]
    assert "was written with no swizzle" in found[0].message and "says the 128-byte swizzle" in found[0].message


def test_a_tile_read_before_its_phase() -> None:
    found = [f for f in copied(1, wait="").findings if f.severity == "error"]
    assert found and found[0].kind == "async-copy" and found[0].array == "A"
