"""Basic blocks, liveness, joins, and where addresses come from."""

import random

import pytest

from lanewise.simt import blocks, nvrtc, ptx
from lanewise.simt.blocks import Graph

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"
PARAMS = ", ".join(f".param .u64 k_param_{i}" for i in range(4))


def compiled(source: str) -> Graph:
    module = ptx.parse(nvrtc.compile(source).ptx)
    function = module.functions["k"]
    return blocks.build(function, ptx.body(module, function))


def fragment(statements: str, module_scope: str = "") -> Graph:
    module = ptx.parse(f"{HEAD}{module_scope}\n.visible .entry k({PARAMS})\n{{\n{statements}\n}}\n")
    function = module.functions["k"]
    return blocks.build(function, ptx.body(module, function))


def block_of(graph: Graph, text: str) -> blocks.Block:
    """The one block with an instruction that starts so."""
    found = [block for block in graph.blocks if any(made.text.startswith(text) for made in block.instructions)]
    assert len(found) == 1, [block.index for block in found]
    return found[0]


def origins_of(graph: Graph, text: str) -> set[str | None]:
    return {name for index, name in graph.provenance.items() if graph.body[index].text.startswith(text)}


# ---- shape


def test_blocks_tile_the_body():
    graph = compiled(
        """extern "C" __global__ void k(const float* x, float* y, int n) {
        __shared__ float s[64];
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        float sum = 0;
        for (int i = 0; i < n; ++i) sum += s[i] * x[i];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        if (__any_sync(0xffffffff, sum > 3)) y[threadIdx.x] = sum; else printf("small");
    }"""
    )
    assert [block.start for block in graph.blocks[1:]] == [block.end for block in graph.blocks[:-1]]
    assert (graph.blocks[0].start, graph.blocks[-1].end) == (0, len(graph.body))
    assert all(block.instructions == graph.body[block.start : block.end] for block in graph.blocks)
    kinds = [(block.kind, block.instructions[0].opcode) for block in graph.blocks if block.kind != "plain"]
    assert kinds == [("barrier", "bar"), ("warp", "shfl"), ("warp", "vote"), ("call", "call")]
    assert all(block.end == block.start + 1 for block in graph.blocks if block.kind != "plain")
    for block in graph.blocks:  # nothing leaves from the middle
        assert all(made.opcode not in ("bra", "ret", "exit", "brx") for made in block.instructions[:-1])


@pytest.mark.parametrize(
    "statement, kind",
    [
        ("bar.sync 0;", "barrier"),
        ("bar.sync 1;", "warp"),
        ("bar.sync %r1;", "warp"),
        ("bar.sync 0, 64;", "warp"),
        ("barrier.sync 1, 64;", "barrier"),
        ("barrier.sync.aligned 1, 64;", "warp"),
        ("bar.arrive 0, 64;", "warp"),
        ("barrier.arrive 1, 64;", "barrier"),
        ("bar.red.popc.u32 %r1, 0, %p1;", "barrier"),
        ("bar.red.popc.u32 %r1, 0, 64, %p1;", "warp"),
        ("bar.red.popc.u32 %r1, 3, %p1;", "warp"),
        ("barrier.cluster.wait.acquire.aligned;", "warp"),
        ("barrier.cluster.wait.acquire;", "barrier"),
        ("bar.warp.sync -1;", "warp"),
        ("shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;", "warp"),
        ("vote.sync.ballot.b32 %r1, %p1, -1;", "warp"),
        ("match.any.sync.b32 %r1, %r2, -1;", "warp"),
        ("redux.sync.add.s32 %r1, %r2, -1;", "warp"),
        ("elect.sync %r1|%p1, -1;", "warp"),
        ("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%rd1];", "warp"),
        ("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%rd1], {%r1};", "warp"),
        ("movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;", "warp"),
        ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {%r1, %r2}, {%r1}, {%r1, %r2};", "warp"),
        ("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f1}, %r1;", "warp"),
        ("wgmma.fence.sync.aligned;", "warp"),
        ("call.uni f;", "call"),
    ],
)
def test_collectives_stand_alone(statement, kind):
    graph = fragment(
        f".reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .f32 %f<2>; .reg .pred %p<2>;\nmov.u32 %r3, 1;\n{statement}\nmov.u32 %r3, 2;\nret;",
        ".func f () { ret; }",
    )
    assert [(block.start, block.end, block.kind) for block in graph.blocks] == [(0, 1, "plain"), (1, 2, kind), (2, 4, "plain")]
    assert [block.successors for block in graph.blocks] == [(1,), (2,), ()]


@pytest.mark.parametrize("guard, statement", [("@%p1", "bar.sync 0;"), ("@!%p1", "shfl.sync.idx.b32 %r1, %r2, 1, 31, -1;"), ("@%p1", "call.uni f;")])
def test_lanes_jump_over_a_collective_whose_guard_they_lack(guard, statement):
    graph = fragment(f".reg .b32 %r<4>; .reg .pred %p<2>;\nmov.u32 %r3, 1;\n{guard} {statement}\nmov.u32 %r3, 2;\nret;", ".func f () { ret; }")
    assert [block.successors for block in graph.blocks] == [(2, 1), (2,), ()]
    jump = graph.blocks[0].instructions[-1]
    assert jump.opcode == "bra" and jump.predicate is not None and jump.predicate.negated == (guard == "@%p1")
    assert graph.blocks[1].instructions[0].predicate is None


@pytest.mark.parametrize(
    "statement", ["atom.global.add.u32 %r1, [%rd1], 1;", "membar.gl;", "ld.volatile.global.u32 %r1, [%rd1];", "mbarrier.init.b64 [%rd1], 1;"]
)
def test_memory_operations_stay_inline(statement):
    graph = fragment(f".reg .b32 %r<4>; .reg .b64 %rd<2>;\nmov.u32 %r3, 1;\n{statement}\nmov.u32 %r3, 2;\nret;")
    assert len(graph.blocks) == 1


def test_mbarrier_waits_stand_alone():
    graph = fragment(".reg .pred p; .reg .b32 r; W: mbarrier.try_wait.parity.shared::cta.b64 p, [r], 0; @!p bra W; ret;")
    assert [(block.start, block.end, block.kind, block.successors) for block in graph.blocks] == [
        (0, 1, "plain", (1,)),
        (1, 2, "plain", (0, 2)),
        (2, 3, "plain", ()),
    ]


def test_untargeted_labels_do_not_cut():
    graph = fragment(".reg .b32 r;\n$L__func_begin0: mov.u32 r, 1;\n$L__tmp0: mov.u32 r, 2;\n$L__tmp1: ret;\n$L__func_end0:")
    assert [(block.start, block.end) for block in graph.blocks] == [(0, 3)]


def test_successors():
    graph = fragment(
        """.reg .pred p; .reg .b32 r;
        T: .branchtargets A, B, A;
        @p bra B;
        brx.idx r, T;
        A: @p ret;
        mov.u32 r, 1;
        @p exit;
        trap;
        B: @!p bra A;
        bra.uni B;"""
    )
    targets = {graph.body[block.end - 1].text: block.successors for block in graph.blocks}
    a, b = block_of(graph, "@p ret").index, block_of(graph, "@!p bra").index
    assert targets == {
        "@p bra B": (b, 1),
        "brx.idx r, T": (a, b),
        "@p ret": (3,),
        "@p exit": (4,),
        "trap": (),
        "@!p bra A": (a, 6),
        "bra.uni B": (b,),
    }


# ---- liveness


def test_liveness_of_a_loop():
    graph = fragment(
        """.reg .b32 n, i, sum, x; .reg .pred p;
        mov.u32 n, 10; mov.u32 i, 0; mov.u32 sum, 0;
        LOOP: add.u32 sum, sum, i; add.u32 i, i, 1; mov.u32 x, i; setp.lt.u32 p, x, n; @p bra LOOP;
        st.global.u32 [k_param_0], sum; ret;"""
    )
    first, loop, last = graph.blocks
    assert (first.live_in, first.live_out) == (frozenset(), {"n", "i", "sum"})
    assert (loop.live_in, loop.live_out) == ({"n", "i", "sum"}, {"n", "i", "sum"})
    assert (last.live_in, last.live_out) == ({"sum"}, frozenset())
    assert loop.live_in_slots == tuple(sorted(graph.slots[name] for name in loop.live_in))
    assert sorted(graph.slots.values()) == list(range(5))


def test_a_predicated_write_keeps_the_old_value_alive():
    graph = fragment(
        ".reg .b32 a, b; .reg .pred p;\nmov.u32 a, 1;\nbar.sync 0;\n@p mov.u32 a, 2;\nmov.u32 b, 3;\nbar.sync 0;\nst.global.v2.u32 [k_param_0], {a, b};\nret;"
    )
    assert graph.blocks[1].live_in == {"a", "p"}
    assert graph.blocks[2].live_in == {"a", "p"}
    assert graph.blocks[3].live_in == {"a", "b"}


@pytest.mark.parametrize(
    "statement, written, read",
    [
        ("setp.eq.and.s32 p|q, a, b, !q;", ["p", "q"], ["a", "b", "q"]),
        ("st.global.v2.u32 [d], {a, b};", [], ["d", "a", "b"]),
        ("ld.global.v2.u32 {a, _}, [d+4];", ["a"], ["d"]),
        ("red.global.add.u32 [d], a;", [], ["d", "a"]),
        ("atom.global.cas.b32 a, [d], b, c;", ["a"], ["d", "b", "c"]),
        ("@p bra X;", [], ["p"]),
        ("bar.red.popc.u32 a, 0, p;", ["a"], ["p"]),
        ("bar.sync a, b;", [], ["a", "b"]),
        ("mbarrier.init.shared.b64 [a], b;", [], ["a", "b"]),
        ("mbarrier.arrive.shared.b64 d, [a];", ["d"], ["a"]),
        ("cp.async.ca.shared.global [a], [d], 4, b;", [], ["a", "d", "b"]),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [a], [d, {b, c}], [e];", [], ["a", "d", "b", "c", "e"]),
        ("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {a, b}, d, d, p, 1, 1, 0, 0;", ["a", "b"], ["a", "b", "d", "d", "p"]),
        ("wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {a, b}, [d], c;", ["a", "b"], ["d", "c"]),
        ("wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [d], {a, b}, c;", [], ["d", "a", "b", "c"]),
        ("add.cc.u32 a, b, c;", ["a", blocks.CARRY], ["b", "c"]),
        ("addc.u32 a, b, c;", ["a"], ["b", "c", blocks.CARRY]),
        ("setmaxnreg.dec.sync.aligned.u32 40;", [], []),
        ("nanosleep.u32 a;", [], ["a"]),
        ("call (r), d, (a, 3), proto;", [], ["d", "a"]),
    ],
)
def test_reads_and_writes(statement, written, read):
    graph = fragment(f".reg .b32 a, b, c, e; .reg .b64 d; .reg .pred p, q; .param .b32 r;\n{statement}\nX: ret;")
    assert blocks.writes(graph.body[0]) == written
    assert blocks.reads(graph.body[0]) == read


def test_liveness_against_paths_walked_one_by_one():
    """A register is live where some path reads it before it is written: on random programs, found by searching paths instead of solving equations."""
    choose = random.Random(7)
    for _ in range(30):
        count = choose.randrange(4, 14)
        lines = [".reg .b32 %r<5>; .reg .pred %p<3>;"]
        for i in range(count):
            guard = choose.choice(["", "", "@%p1 ", "@!%p2 "])
            statement = choose.choice(
                [
                    f"{guard}add.u32 %r{choose.randrange(5)}, %r{choose.randrange(5)}, %r{choose.randrange(5)};",
                    f"{guard}setp.eq.u32 %p{choose.randrange(1, 3)}, %r{choose.randrange(5)}, 0;",
                    f"{guard}bra L{choose.randrange(count)};",
                    "bar.sync 0;",
                ]
            )
            lines.append(f"L{i}: {statement}")
        graph = fragment("\n".join([*lines, "ret;"]))
        for block in graph.blocks:
            assert block.live_in == {name for name in graph.slots if _read_before_written(graph, block.start, name)}


def _read_before_written(graph: Graph, start: int, name: str) -> bool:
    seen, waiting = set(), [start]
    while waiting:
        index = waiting.pop()
        if index in seen:
            continue
        seen.add(index)
        made = graph.body[index]
        if name in blocks.reads(made):
            return True
        if name in blocks.writes(made) and made.predicate is None:
            continue
        if made.opcode == "bra":
            waiting.append(graph.function.labels[made.operands[0]])
        if made.opcode not in ("bra", "ret") or made.predicate is not None:
            waiting.append(index + 1)
    return False


def test_nothing_is_live_at_the_start_of_compiled_kernels():
    graph = compiled(
        """__global__ void unused() {}
    extern "C" __global__ void k(float* y, int n) {
        float best = -1; int at = 0;
        for (int i = 0; i < n; ++i) { float v = y[i]; if (v > best) { best = v; at = i; } if (v < 0) break; }
        y[at] = best;
    }"""
    )
    assert graph.blocks[0].live_in == frozenset()
    assert any(block.live_in for block in graph.blocks[1:])


# ---- joins


def test_joins():
    graph = fragment(
        """.reg .pred p, q; .reg .b32 r;
        @p bra ELSE;
        @q bra INNER;
        mov.u32 r, 1;
        INNER: mov.u32 r, 2;
        bra.uni END;
        ELSE: mov.u32 r, 3;
        END: mov.u32 r, 4;
        LOOP: add.u32 r, r, 1; @p bra LOOP;
        @q ret;
        @p bra A;
        mov.u32 r, 5; ret;
        A: mov.u32 r, 6; ret;"""
    )
    joins = {graph.body[block.end - 1].text: block.join for block in graph.blocks if block.join is not None}
    assert joins == {
        "@p bra ELSE": block_of(graph, "mov.u32 r, 4").index,
        "@q bra INNER": block_of(graph, "mov.u32 r, 2").index,
        "@p bra LOOP": block_of(graph, "@q ret").index,
    }


def test_joins_against_their_definition():
    """The immediate post-dominator: the first block that no path to the end can avoid, checked by taking blocks away."""
    choose = random.Random(3)
    for _ in range(30):
        count = choose.randrange(3, 10)
        lines = [f"L{i}: {choose.choice(['@p bra', '@p bra', 'bra', '@p ret; mov.u32 r, 1; @p bra'])} L{choose.randrange(count)};" for i in range(count)]
        graph = fragment("\n".join([".reg .pred p; .reg .b32 r;", *lines, "ret;"]))
        for block in graph.blocks:
            leaves = graph.body[block.end - 1].opcode == "ret"
            if len(block.successors) + leaves < 2 or not _reaches_end(graph, block.index, None):
                continue
            needed = {other.index for other in graph.blocks if other is not block and not _reaches_end(graph, block.index, other.index)}
            nearest = {one for one in needed if all(other == one or not _reaches_end(graph, one, other) for other in needed)}
            assert block.join == (nearest.pop() if nearest else None)


def _reaches_end(graph: Graph, start: int, without: int | None) -> bool:
    seen, waiting = {without}, [start]
    while waiting:
        index = waiting.pop()
        if index in seen:
            continue
        seen.add(index)
        if graph.body[graph.blocks[index].end - 1].opcode == "ret":
            return True
        waiting += graph.blocks[index].successors
    return False


# ---- provenance


def test_addresses_of_parameters_and_variables():
    graph = compiled(
        """#include <cuda_pipeline.h>
    __device__ int counter; __constant__ float table[64];
    extern "C" __global__ void k(const float* a, float* b, float4* c, char* bytes, size_t n, int* flag) {
        __shared__ float s[64]; __shared__ float4 staged[32]; extern __shared__ float dynamic[];
        float local[10];
        for (int i = 0; i < n % 10; ++i) local[i] = a[i * 3];
        s[threadIdx.x] = table[threadIdx.x ^ 1];
        dynamic[threadIdx.x] = local[n & 7];
        __pipeline_memcpy_async(&staged[threadIdx.x], c + threadIdx.x, 16);
        __pipeline_commit(); __pipeline_wait_prior(0);
        __syncthreads();
        unsigned where = (unsigned)__cvta_generic_to_shared(s) + threadIdx.x * 16 ^ 16, r0, r1;
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r0), "=r"(r1) : "r"(where));
        b[n - threadIdx.x] = s[63 - threadIdx.x] + dynamic[1] + staged[n & 3].y + r0 + r1;
        bytes[n * 2 + threadIdx.x] = 1;
        if (atomicAdd(flag, 1) == 3) atomicAdd(&counter, 1);
    }"""
    )
    assert origins_of(graph, "ld.global.f32") == {"k_param_0"}
    assert origins_of(graph, "st.global.f32") == {"k_param_1"}
    assert origins_of(graph, "st.global.u8") == {"k_param_3"}
    assert origins_of(graph, "ld.const") == {"table"}
    assert origins_of(graph, "st.shared") == {"_ZZ1kE1s", "dynamic"}
    assert origins_of(graph, "ldmatrix") == {"_ZZ1kE1s"}
    assert origins_of(graph, "ld.local") == origins_of(graph, "st.local") == {"__local_depot0"}
    copies = [names for index, names in graph.origins.items() if graph.body[index].text.startswith("cp.async")]
    assert copies == [("_ZZ1kE6staged", "k_param_2")]
    assert {name for index, name in graph.provenance.items() if graph.body[index].opcode in ("atom", "red")} == {"k_param_5", "counter"}
    assert graph.stored == {"k_param_1", "k_param_3", "k_param_5", "counter"}


def test_pointers_inside_a_struct_are_told_apart():
    graph = compiled(
        """struct Two { float* out; const float* in; int n; };
    extern "C" __global__ void k(Two two) { two.out[threadIdx.x] = two.in[threadIdx.x + two.n]; }"""
    )
    assert origins_of(graph, "ld.global") == {"k_param_0+8"}
    assert graph.stored == {"k_param_0+0"}


def test_one_of_two_pointers_is_no_single_origin():
    graph = compiled("""extern "C" __global__ void k(float* a, float* b, float* c, int n) { (n > 3 ? a : b)[threadIdx.x] = c[0]; }""")
    assert origins_of(graph, "ld.global") == {"k_param_2"}
    stores = [name for index, name in graph.provenance.items() if graph.body[index].opcode == "st"]
    assert stores == [None]
    assert graph.stored is None


def test_the_same_pointer_by_two_ways_is_one_origin():
    graph = compiled("""extern "C" __global__ void k(float* a, float* c, int n) { float* p = n > 3 ? a : a + 7; for (int i = 0; i < n; ++i) *p++ = c[i]; }""")
    assert graph.stored == {"k_param_0"}


def test_pointers_read_from_memory_are_unknown():
    graph = compiled("""extern "C" __global__ void k(float** rows, float* out) { rows[1][threadIdx.x] = out[0]; }""")
    assert origins_of(graph, "ld.global.u64") == {"k_param_0"}
    assert graph.stored is None


def test_an_index_read_from_memory_keeps_the_array():
    graph = compiled("""extern "C" __global__ void k(const long long* index, char* out) { out[index[threadIdx.x]] = 1; }""")
    assert graph.stored == {"k_param_1"}


@pytest.mark.parametrize("step", ["sub.s64 d, b, a", "sub.s64 d, a, b", "shl.b64 d, b, 1", "mul.lo.s64 d, a, 3"])
def test_pointers_moved_by_pointers_may_lead_elsewhere(step):
    graph = fragment(
        f""".reg .b64 a, b, d, p; .reg .b32 r;
        ld.param.u64 a, [k_param_0]; cvta.to.global.u64 a, a; ld.param.u64 b, [k_param_1]; cvta.to.global.u64 b, b;
        ld.global.u32 r, [a]; {step}; add.s64 p, a, d;
        st.global.u32 [p], r; ret;"""
    )
    assert origins_of(graph, "ld.global") == {"k_param_0"}
    assert origins_of(graph, "st.global") == {None}
    assert graph.stored is None


def test_stores_to_shared_memory_leave_the_arrays_alone():
    graph = fragment(".reg .b32 where, r; mov.u32 where, %tid.x;\nst.shared.u32 [where], r; st.local.u32 [where], r; ret;")
    assert origins_of(graph, "st.") == {None}
    assert graph.stored == set()


def test_calls_may_store_anywhere_except_printf():
    helper = "__device__ __noinline__ void helper(float* p) { p[3] = p[4]; }\n"
    assert compiled(helper + """extern "C" __global__ void k(float* a, int n) { helper(a + n); }""").stored is None
    assert compiled("""extern "C" __global__ void k(float* a, int n) { printf("%d", n); a[0] = n; }""").stored == {"k_param_0"}
