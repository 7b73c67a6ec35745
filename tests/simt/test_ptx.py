"""The PTX reader: what NVRTC and clang emit, and what learners write in inline assembly."""

import struct

import pytest

from lanewise.simt import nvrtc, ptx
from lanewise.simt.demangle import demangle
from lanewise.simt.errors import Unsupported
from lanewise.simt.ptx import Address, Imm, Reg, Special, Symbol, Vector

HEAD = ".version 9.0\n.target sm_90a\n.address_size 64\n"


def read(source: str, name: str = "k"):
    """Compile CUDA C with NVRTC → module, function, body."""
    module = ptx.parse(nvrtc.compile(source).ptx)
    function = module.functions[name]
    return module, function, ptx.body(module, function)


def fragment(statements: str, module_scope: str = ""):
    """A kernel `k` around hand-written statements → function, body."""
    text = f"{HEAD}{module_scope}\n.visible .entry k(.param .u64 k_param_0)\n{{\n{statements}\n}}\n"
    module = ptx.parse(text)
    function = module.functions["k"]
    return function, ptx.body(module, function)


def find(body, text: str):
    """The one instruction whose text starts so."""
    found = [made for made in body if made.text.startswith(text)]
    assert len(found) == 1, [made.text for made in body]
    return found[0]


# ---- module scope


def test_header_params_and_directives():
    source = """struct Big { float a[10]; int b; };
    extern "C" __global__ void __launch_bounds__(128, 2) k(const float* x, Big big, short s, bool flag, double d) {
        if (flag) ((float*)x)[0] = big.a[s] + big.b + d;
    }"""
    module, function, _ = read(source)
    assert (module.version, module.target) == ("9.0", "sm_90a")
    assert function.entry and function.defined
    assert [(p.name, p.type, p.size, p.align) for p in function.params] == [
        ("k_param_0", "u64", 8, 8),
        ("k_param_1", "b8", 44, 4),
        ("k_param_2", "u16", 2, 2),
        ("k_param_3", "u8", 1, 1),
        ("k_param_4", "f64", 8, 8),
    ]
    assert function.directives == {"maxntid": (128, 1, 1), "minnctapersm": (2,)}


def test_initialisers():
    source = """__constant__ float c[4] = {1, -2};
    __device__ double d = 1.5; __device__ unsigned long long u[2] = {1ull << 63, 7}; __device__ short h = -2; __device__ float zero[3];
    __device__ float table[8]; __device__ float* inside = table + 3; __device__ const char* words = "hé";
    typedef float (*F)(float); __device__ float f1(float x) { return x + 1; } __device__ float f2(float x) { return x * 2; }
    __device__ F choose[2] = {f1, f2};
    extern "C" __global__ void k(float* y, int n) { y[n] = choose[n & 1](c[n]) + d + u[n] + h + zero[n] + inside[n] + words[n]; }"""
    module, _, _ = read(source)
    variables = module.variables
    assert (variables["c"].space, variables["c"].size, variables["c"].init) == ("const", 16, struct.pack("<4f", 1, -2, 0, 0))
    assert variables["d"].init == struct.pack("<d", 1.5)
    assert variables["u"].init == struct.pack("<2Q", 1 << 63, 7)
    assert variables["h"].init == struct.pack("<h", -2)
    assert (variables["zero"].init, variables["zero"].size) == (None, 12)
    assert variables["inside"].relocations == {0: "table"} and variables["inside"].init == struct.pack("<q", 12)
    assert variables["choose"].relocations == {0: "_Z2f1f", 8: "_Z2f2f"} and variables["choose"].init == bytes(16)
    string = variables[variables["words"].relocations[0]]
    assert string.init == "hé".encode() + b"\0"


def test_clang_initialisers():
    module = ptx.parse(
        HEAD
        + """.visible .global .align 8 .u64 n1[3] = {1, generic(n2), 1075838976};
.global .align 1 .b8 text[4] = "a;b";
.visible .global .align 8 .b8 packed[10] = {1, 0, 0xFF(generic(n1)+16), 0xFF00(generic(n1)+16), 0xFF0000(generic(n1)+16),
    0xFF000000(generic(n1)+16), 0xFF00000000(generic(n1)+16), 0xFF0000000000(generic(n1)+16), 0xFF000000000000(generic(n1)+16),
    0xFF00000000000000(generic(n1)+16)};
.visible .global .align 4 .f32 f = 0f40200000;
.global .align 4 .b32 grid[2][3] = {{1, 2, 3}, {0xFFFFFFFF, -5, 017}};
.extern .shared .align 16 .b8 dynamic[];
.common .global .align 4 .u32 shared_by_files;
"""
    )
    variables = module.variables
    assert variables["n1"].relocations == {8: "n2"} and variables["n1"].init == struct.pack("<3Q", 1, 0, 1075838976)
    assert variables["text"].init == b"a;b\0"
    assert variables["packed"].relocations == {2: "n1"} and variables["packed"].init == bytes([1, 0, 16]) + bytes(7)
    assert variables["f"].init == struct.pack("<f", 2.5)
    assert variables["grid"].init == struct.pack("<6i", 1, 2, 3, -1, -5, 15)
    assert (variables["dynamic"].space, variables["dynamic"].size, variables["dynamic"].align) == ("shared", 0, 16)
    assert variables["shared_by_files"].size == 4


def test_declared_and_aliased_functions():
    module = ptx.parse(
        HEAD
        + """.extern .func (.param .b32 func_retval0) vprintf (.param .b64 vprintf_param_0, .param .b64 vprintf_param_1);
.weak .func (.param .b32 func_retval0) f (.param .b32 f_param_0)
{
    .reg .b32 %r<2>;
    ld.param.b32 %r1, [f_param_0];
    st.param.b32 [func_retval0], %r1;
    ret;
}
.func (.param .b32 func_retval0) f (.param .b32 f_param_0);
.alias g, f;
"""
    )
    vprintf, f = module.functions["vprintf"], module.functions["f"]
    assert not vprintf.defined and not vprintf.entry and ptx.body(module, vprintf) == []
    assert f.defined and [p.name for p in f.returns] == ["func_retval0"]
    assert module.functions["g"] is f
    assert [made.opcode for made in ptx.body(module, f)] == ["ld", "st", "ret"]


def test_body_is_read_once_and_only_when_asked():
    module = ptx.parse(f"{HEAD}.func never() {{ .strange thing; }}\n.visible .entry k() {{ ret; }}\n")
    function = module.functions["k"]
    assert function.instructions is None
    assert ptx.body(module, function) is ptx.body(module, function)
    with pytest.raises(Unsupported, match=r"can't read the PTX statement `\.strange thing`"):
        ptx.body(module, module.functions["never"])


# ---- operands


def test_operands_of_a_compiled_kernel():
    source = """extern "C" __global__ void k(const float4* x, float4* y, int n) {
        __shared__ float s[32][33];
        extern __shared__ float buffer[];
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        float4 v = x[i + 1];
        s[threadIdx.y][threadIdx.x] = v.x;
        buffer[1] = v.y;
        __syncthreads();
        y[i] = make_float4(v.w, s[threadIdx.x][threadIdx.y], buffer[1], __shfl_down_sync(0xffffffff, v.x, 16));
    }"""
    module, function, body = read(source)
    assert [(v.name, v.space, v.size) for v in function.variables] == [("_ZZ1kE1s", "shared", 4224)]
    assert module.variables["buffer"].size == 0
    load = find(body, "ld.global.v4.f32")
    assert load.modifiers == ("global", "v4", "f32")
    assert isinstance(load.operands[0], Vector) and [item.type for item in load.operands[0].items] == ["f32"] * 4
    assert isinstance(load.operands[1], Address) and load.operands[1].offset == 16
    first = next(made for made in body if made.text.startswith("ld.param.u64"))
    assert first.operands[1] == Address(Symbol("k_param_0"), 0)
    assert any(made.operands[1:] == (Special("%ctaid.x"),) for made in body)
    assert any(made.operands[1:] == (Symbol("_ZZ1kE1s"),) for made in body)
    shuffle = find(body, "shfl")
    assert shuffle.modifiers == ("sync", "down", "b32")
    assert [item.type for item in shuffle.operands[0].items] == ["b32", "pred"]
    assert find(body, "bar.sync").operands == (Imm(0),)
    assert all(name in function.registers for made in body for name in [op.name for op in made.operands if isinstance(op, Reg)])


@pytest.mark.parametrize(
    "statement, operands",
    [
        ("mov.u32 %r1, 0x1FU;", (Imm(31),)),
        ("mov.u32 %r1, -4;", (Imm(-4),)),
        ("mov.u32 %r1, 010;", (Imm(8),)),
        ("mov.u32 %r1, WARP_SZ;", (Special("WARP_SZ"),)),
        ("mov.u64 %rd1, k_param_0+4;", (Symbol("k_param_0", 4),)),
        ("mov.f32 %f1, 0f3F800000;", (Imm(0x3F800000, "f32"),)),
        ("mov.f32 %f1, 1.5;", (Imm(0x3FC00000, "f32"),)),
        ("mov.f64 %fd1, 0d3FF0000000000000;", (Imm(0x3FF0000000000000, "f64"),)),
        ("mov.f64 %fd1, -1.5;", (Imm(0xBFF8000000000000, "f64"),)),
        ("ld.global.u32 %r1, [%rd1+-8];", (Address(Reg("%rd1", "b64"), -8),)),
        ("ld.global.u32 %r1, [ %rd1 + 4 ];", (Address(Reg("%rd1", "b64"), 4),)),
        ("ld.global.u32 %r1, [k_param_0+4];", (Address(Symbol("k_param_0"), 4),)),
        ("ld.global.u32 %r1, [16];", (Address(None, 16),)),
        ("mov.b64 {%r1, _}, %rd1;", (Reg("%rd1", "b64"),)),
        ("selp.u32 %r1, 1, 0, !%p1;", (Imm(1), Imm(0), Reg("%p1", "pred", True))),
    ],
)
def test_single_operands(statement, operands):
    registers = ".reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<2>; .reg .f64 %fd<2>; .reg .pred %p<3>;"
    _, body = fragment(f"{registers}\n{statement}\nret;")
    assert body[0].operands[1:] == operands


def test_a_float_written_in_doubles_takes_the_type_of_its_instruction():
    _, body = fragment(".reg .f32 %f<2>; .reg .f64 %d<2>;\nmov.f64 %d1, 1.5;\nadd.f32 %f1, %f1, 1.5;\nadd.f64 %d1, %d1, 1.5;\nret;")
    assert [made.operands[-1] for made in body[:3]] == [Imm(0x3FF8 << 48, "f64"), Imm(0x3FC00000, "f32"), Imm(0x3FF8 << 48, "f64")]


def test_predicates_pairs_and_sinks():
    _, body = fragment(
        """.reg .pred p, q; .reg .b32 r<3>; .reg .b64 a;
        setp.lt.s32 p|q, r0, r1;
        @!p add.s32 r2, r0, r1;
        @q bra DONE;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [a], r1;
        elect.sync _|q, -1;
        DONE: ret;"""
    )
    assert body[0].operands[0] == Vector((Reg("p", "pred"), Reg("q", "pred")))
    assert body[1].predicate == Reg("p", "pred", True)
    assert body[2].predicate == Reg("q", "pred") and body[2].operands == ("DONE",)
    assert body[3].operands[0] is None and body[3].modifiers == ("arrive", "expect_tx", "shared::cta", "b64")
    assert body[4].operands[0] == Vector((None, Reg("q", "pred")))


def test_tensor_copy_coordinates():
    _, body = fragment(
        """.reg .b32 r<5>; .reg .b64 m;
        cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [r0], [m, {r1, r2}], [r3];
        ret;"""
    )
    m, r1, r2 = Reg("m", "b64"), Reg("r1", "b32"), Reg("r2", "b32")
    assert body[0].operands == (Address(Reg("r0", "b32")), Address(m, 0, (r1, r2)), Address(Reg("r3", "b32")))
    assert body[0].modifiers[-1] == "mbarrier::complete_tx::bytes"


# ---- scopes, labels, jumps


def test_inline_assembly_scopes_get_names_of_their_own():
    source = """extern "C" __global__ void k(float* y, int n) {
        float v = y[n];
        asm volatile("{ .reg .pred p; .reg .b32 r; mov.b32 r, %1;\\n L1: setp.eq.s32 p, r, 0; // a comment; { with a brace\\n"
                     "@!p add.f32 %0, %0, %0; @p bra L1; }" : "+f"(v) : "r"(n));
        asm volatile("{ .reg .pred p; .reg .b32 r; mov.b32 r, %1;\\n L1: setp.ne.s32 p, r, 0; /* another; } */ @!p mul.f32 %0, %0, %0; @p bra L1; }"
                     : "+f"(v) : "r"(n));
        y[n] = v;
    }"""
    _, function, body = read(source)
    first, second = find(body, "setp.eq.s32"), find(body, "setp.ne.s32")
    assert first.operands[0].name != second.operands[0].name and {first.operands[0].type, second.operands[0].type} == {"pred"}
    jumps = [made for made in body if made.opcode == "bra"]
    assert [body[function.labels[made.operands[0]]] for made in jumps] == [first, second]
    assert find(body, "@!p add.f32").predicate.name == jumps[0].predicate.name == first.operands[0].name
    assert find(body, "@!p mul.f32").predicate.name == jumps[1].predicate.name == second.operands[0].name


def test_inner_declarations_shadow_and_end_with_their_brace():
    _, body = fragment(
        """.reg .b32 x; mov.u32 x, 1;
        { .reg .b64 x; mov.u64 x, 2; { mov.u64 x, 3; } }
        mov.u32 x, 4; ret;"""
    )
    outer, inner, innermost, again = (made.operands[0] for made in body[:4])
    assert outer == again == Reg("x", "b32")
    assert inner == innermost and inner.type == "b64" and inner.name != "x"


def test_calls():
    source = """__device__ __noinline__ float helper(float a, int* q) { return a * 2 + *q; }
    typedef float (*F)(float); __device__ float f1(float x) { return x + 1; } __device__ float f2(float x) { return x * 2; }
    __device__ F choose[2] = {f1, f2};
    extern "C" __global__ void k(float* y, int* n) {
        y[0] = helper(y[1], n) + helper(y[2], n + 1) + choose[n[0] & 1](y[3]);
        printf("%f", y[0]);
    }"""
    module, function, body = read(source)
    calls = [made for made in body if made.opcode == "call"]
    assert [made.operands[1] for made in calls if isinstance(made.operands[1], str)] == ["_Z6helperfPi", "_Z6helperfPi", "vprintf"]
    indirect = next(made for made in calls if isinstance(made.operands[1], Reg))
    assert indirect.operands[1].type == "b64" and indirect.operands[2].startswith("prototype_")
    parameters = {variable.name: variable for variable in function.variables if variable.space == "param"}
    named = [name for made in calls for name in (*made.args, *made.operands[0].items)]
    assert len(named) == len(set(named)) == len(parameters) == 11
    # the value stored before a call and loaded after it go through the call's own variables
    for made in calls[:2]:
        index = body.index(made)
        assert body[index - 1].operands[0] == Address(Symbol(made.args[-1]), 0)
        assert body[index + 1].operands[1] == Address(Symbol(made.operands[0].items[0]), 0)
    assert [parameters[name].size for name in calls[0].args] == [p.size for p in module.functions["_Z6helperfPi"].params]


def test_call_forms():
    function, body = fragment(
        """.reg .b32 %r<3>; .reg .b64 %rd<2>;
        call.uni f;
        call f, (%r1, 4);
        { .param .b32 p0; .param .align 4 .b8 p1[44]; .param .b32 out;
          proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 4 .b8 _[44]);
          call (out), %rd1, (p0, p1), proto; }
        ret;""",
        ".func f () { ret; }",
    )
    assert body[0].operands == (None, "f") and body[0].args == ()
    assert body[1].args == (Reg("%r1", "b32"), Imm(4))
    assert body[2].operands == (Vector(("out",)), Reg("%rd1", "b64"), "proto") and body[2].args == ("p0", "p1")
    assert [(v.name, v.size) for v in function.variables] == [("p0", 4), ("p1", 44), ("out", 4)]
    assert "proto" not in function.labels


def test_branch_tables():
    function, body = fragment(
        """.reg .b32 %r<2>;
        $L_brx_0: .branchtargets
            $A,
            $B, $A;
        brx.idx %r1, $L_brx_0;
        $A: mov.u32 %r1, 1; ret;
        $B: mov.u32 %r1, 2;"""
    )
    assert function.branch_targets == {"$L_brx_0": ["$A", "$B", "$A"]}
    assert body[0].operands == (Reg("%r1", "b32"), "$L_brx_0")
    assert function.labels == {"$A": 1, "$B": 3}
    assert body[-1].opcode == "ret"  # the end of a body is a return


def test_a_label_at_the_end_is_a_return():
    function, body = fragment(".reg .pred p;\n@p bra END;\nret;\nEND:")
    assert function.labels["END"] == 2 and [made.opcode for made in body] == ["bra", "ret", "ret"]


# ---- lines


def line_of(source: str, mark: str) -> int:
    return next(number for number, line in enumerate(source.splitlines(), 1) if mark in line)


def test_lines_of_the_learners_file():
    source = """
namespace mine { template <typename T> struct Acc { T v;
    __device__ T add(T x) { v = v * x; return v; }       // in add
}; }
__device__ float helper(float x) {
    mine::Acc<float> a{x};
    return a.add(3.0f) + x;                              // call add
}
extern "C" __global__ void k(float* y) {
    float v = y[threadIdx.x];                            // load
    v = helper(v);                                       // call helper
    y[threadIdx.x] = v;                                  // store
}"""
    _, _, body = read(source)
    load, store = find(body, "ld.global.f32"), find(body, "st.global.f32")
    assert (load.line, load.inlined) == (line_of(source, "// load"), ())
    assert (store.line, store.inlined) == (line_of(source, "// store"), ())
    fused = find(body, "fma.rn.ftz.f32")  # v * x + x, at home in helper
    assert (fused.line, fused.inlined) == (line_of(source, "// call add"), (("helper", line_of(source, "// call helper")),))


def test_the_chain_of_nested_helpers_and_lambdas():
    source = """
template <int N, typename T> __device__ T pick(const T* p) {
    return p[N];                                         // in pick
}
template <typename F> __device__ void twice(F f) {
    f(0);                                                // call f
}
extern "C" __global__ void k(float* y) {
    twice([&](int i) { y[i + 8] = pick<3>(y + i); });    // lambda
}"""
    _, _, body = read(source)
    inside, lambda_line, call = line_of(source, "// in pick"), line_of(source, "// lambda"), line_of(source, "// call f")
    load = find(body, "ld.global.f32")
    assert load.line == inside
    assert load.inlined == (("pick<3, float>", lambda_line), ("k::lambda", call), ("twice<k::lambda>", lambda_line))


def test_a_header_s_instruction_counts_for_the_line_that_called_it():
    source = """#include <cuda_fp16.h>
__device__ __half half_of(int n) {
    return __half(n);                                    // in half_of
}
extern "C" __global__ void k(__half* y, int n) {
    y[0] = half_of(n);                                   // call
}"""
    module, _, body = read(source)
    converted = find(body, "cvt.rn.f16.s32")
    assert (converted.line, converted.inlined) == (line_of(source, "// in half_of"), (("half_of", line_of(source, "// call")),))
    assert converted.file != module.learner_file and module.files[converted.file].endswith("cuda_fp16.h")
    assert module.files[module.learner_file].endswith("kernel.cu")


def test_line_zero_keeps_the_line_before():
    _, body = fragment(".reg .b32 r;\n.loc 1 7 3\nmov.u32 r, 1;\n.loc 1 0 3\nmov.u32 r, 2;\nret;")
    assert [made.line for made in body] == [7, 7, 7]


def test_a_template_that_calls_itself_keeps_its_depth():
    source = """
template <int N> __device__ float sum(const float* p) {
    return p[N] * sum<N - 1>(p);                         // in sum
}
template <> __device__ float sum<0>(const float* p) { return p[0]; }
extern "C" __global__ void k(float* y) {
    y[99] = sum<3>(y);                                   // call
}"""
    _, _, body = read(source)
    depths = {made.operands[1].offset // 4: made.inlined for made in body if made.text.startswith("ld.global.f32")}
    inside, call = line_of(source, "// in sum"), line_of(source, "// call")
    assert depths[3] == (("sum<3>", call),)
    assert depths[1] == (("sum<1>", inside), ("sum<2>", inside), ("sum<3>", call))


def test_clang_writes_the_chain_into_comments():
    text = f"""{HEAD}
.visible .entry k(
	.param .u64 .ptr .align 1 k_param_0
)                                       // @k
{{
	.reg .b32 	%r<3>;
$L__func_begin0:
	.loc	1 14 0                          // a.cu:14:0
// %bb.0:
	ld.param.b32 	%r1, [k_param_0];
$L__tmp0:
	.loc	1 6 35                          // a.cu:6:35 @[ a.cu:9:16 @[ a.cu:17:16 ] ]
	add.f32 	%r2, %r1, 0f3F800000;
	.loc	1 20 1                          // a.cu:20:1
	ret;
$L__func_end0:
                                        // -- End function
}}
	.section	.debug_macinfo	{{	}}
	.file	1 "/somewhere/a.cu"
"""
    module = ptx.parse(text, "a.cu")
    function = module.functions["k"]
    body = ptx.body(module, function)
    assert [(made.line, made.inlined) for made in body] == [(14, ()), (6, (("", 9), ("", 17))), (20, ())]
    assert function.params[0].size == 8 and body[1].operands[2] == Imm(0x3F800000, "f32")


# ---- refusals


@pytest.mark.parametrize("statement", [".frobnicate 3", "mov.u32 %r1, 1 + $", "@%q bra X", "bra NOWHERE", "mov.u32 %r9, 1", ".reg .v4 .f32 %v<3>"])
def test_unknown_statements_are_refused_with_their_line(statement):
    with pytest.raises(Unsupported) as caught:
        fragment(f".reg .b32 %r<2>;\n.loc 1 12 0\n{statement};\nret;")
    assert str(caught.value) == f"line 12: the simulator can't read the PTX statement `{statement}`; write it in another form."


def test_unknown_module_statements_are_refused():
    with pytest.raises(Unsupported, match="can't read the PTX declaration `.nonsense here`"):
        ptx.parse(HEAD + ".nonsense here;\n")


# ---- names


@pytest.mark.parametrize(
    "mangled, name",
    [
        ("k", "k"),
        ("_Z6helperfPi", "helper"),
        ("_ZL4statf", "stat"),
        ("_ZN5flash3fooILi3EfEET0_PS1_", "flash::foo<3, float>"),
        ("_ZN5flash3AccIfE3addEf", "flash::Acc<float>::add"),
        ("_ZNK4TileILi32ELi8EE2atEii", "Tile<32, 8>::at"),
        ("_Z5applyILb1ELin3EEvv", "apply<true, -3>"),
        ("_Z3addI6float4ET_S1_S1_", "add<float4>"),
        ("_Z7reduceWI3AddIfEET_S2_T0_", "reduceW<Add<float>>"),
        ("_Z1gIJifdEEvDpT_", "g<int, float, double>"),
        ("_Z3mapIfXadL_Z4saxpfEEEvPT_", "map<float, &saxp>"),
        ("_Zpl6float2S_", "operator+"),
        ("_ZN1VIfEC2Ef", "V<float>::V"),
        ("_ZN1VIfEixEi", "V<float>::operator[]"),
        ("_ZN4cuda3std3__45arrayIfLm4EEixEm", "cuda::std::array<float, 4>::operator[]"),
        ("_ZN12_GLOBAL__N_13barEi", "bar"),
        ("_ZZ1kENKUliE_clEi", "k::lambda"),
        ("_Z4eachIZ1kEUliE_EviT_", "each<k::lambda>"),
        ("_ZZ1kE4tile", "k::tile"),
        ("_ZZ4tileILi16EEvPfE1s", "tile<16>::s"),
        ("_Z", "_Z"),
        ("_Z12toolittle", "_Z12toolittle"),
        ("_Zqq", "_Zqq"),
    ],
)
def test_demangle(mangled, name):
    assert demangle(mangled) == name


def test_a_local_declaration_is_no_line_directive():
    body = "\t.local .align 16 .b8 \t__local_depot0[64];\n\t.loc\t1 2 0\n\tret;\n"
    module = ptx.parse(f".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n{body}}}\n")
    function = module.functions["k"]
    ptx.body(module, function)
    assert [(v.name, v.space, v.size) for v in function.variables] == [("__local_depot0", "local", 64)]
