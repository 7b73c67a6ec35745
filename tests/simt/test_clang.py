"""The clang front end of macOS, tried on every platform: the same kernels, the same errors and lines as NVRTC's."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from lanewise import simt
from lanewise.simt import clang, nvrtc, ptx
from lanewise.simt.errors import CompileError

pytestmark = pytest.mark.slow

KERNELS = sorted((Path(__file__).parents[2] / "kernels").glob("*.cu"))
ADD = 'extern "C" __global__ void add(const float* x, float* y, int n) {\n  int i = threadIdx.x;\n  if (i < n)\n    y[i] = x[i] + 1.0f;\n}\n'


def refused(source: str, **kw) -> CompileError:
    with pytest.raises(CompileError) as caught:
        clang.compile(source, **kw)
    return caught.value


def test_the_ptx_is_for_the_same_target_and_marked_approximate() -> None:
    compiled = clang.compile(ADD)
    assert ".target sm_90a" in compiled.ptx and ".entry add(" in compiled.ptx
    assert compiled.approximate and not nvrtc.compile(ADD).approximate
    assert ".target sm_80" in clang.compile(ADD, "sm_80").ptx
    assert ".target sm_80" in clang.compile(ADD, "sm_90a", ("-arch=sm_80",)).ptx


@pytest.mark.parametrize(
    "file", [pytest.param(file, id=file.stem, marks=[pytest.mark.slow] if int(file.stem[2:4]) >= 9 else []) for file in KERNELS]
)
def test_every_kernel_of_the_project_compiles_and_is_read(file: Path) -> None:
    if any(header in file.read_text() for header in ("<mma.h", "<cooperative_groups.h", "<cuda_pipeline.h")):
        assert "not part of the clang front end" in str(refused(file.read_text()))
        return
    ours = ptx.parse(clang.compile(file.read_text()).ptx)
    theirs = ptx.parse(nvrtc.compile(file.read_text()).ptx)
    entries = [name for name, function in theirs.functions.items() if function.entry]
    assert [name for name, function in ours.functions.items() if function.entry] == entries
    for name in entries:
        assert [v.size for v in ours.functions[name].params] == [v.size for v in theirs.functions[name].params]
        lines = {instruction.line for instruction in ptx.body(ours, ours.functions[name])}
        assert max(lines) <= len(file.read_text().splitlines())


def test_lines_are_those_of_the_source_whatever_its_line_ends() -> None:
    for source in (ADD, ADD.replace("\n", "\r\n"), "\ufeff" + ADD):
        module = ptx.parse(clang.compile(source).ptx)
        stores = [i for i in ptx.body(module, module.functions["add"]) if i.opcode == "st"]
        assert [i.line for i in stores] == [4]


def test_instructions_of_our_headers_count_for_the_line_that_called_them() -> None:
    body = "  float v = x[threadIdx.x];\n  v +=\n    __shfl_down_sync(0xffffffff, v, 16);\n  x[threadIdx.x] = expf(v);\n}\n"
    source = 'extern "C" __global__ void k(float* x) {\n' + body
    module = ptx.parse(clang.compile(source).ptx)
    lines = {i.opcode: i.line for i in ptx.body(module, module.functions["k"])}
    assert (lines["shfl"], lines["ex2"]) == (4, 5)


def test_errors_have_the_same_line_and_hint_as_nvrtcs() -> None:
    for line in (
        "x[i] = INFINITY;",
        "int64_t j = 0;",
        "x[threadidx.x] = 1;",
        "__syncthread();",
        "__shared__ float s[i];",
        "std::max(x[0], 1.0f);",
        "int j = blockDim;",
        "int j = x;",
    ):
        source = f'extern "C" __global__ void k(float* x) {{\n  int i = threadIdx.x;\n  {line}\n}}\n'
        with pytest.raises(CompileError) as theirs:
            nvrtc.compile(source)
        ours = str(refused(source))
        assert ours.startswith("line 3: ")
        assert re.findall("hint: .*", ours) == re.findall("hint: .*", str(theirs.value))


def test_a_missing_semicolon_a_missing_brace_and_a_wrong_header() -> None:
    head = 'extern "C" __global__ void k(float* x) {\n'
    assert "the ; is missing at the end of line 2." in str(refused(head + "  float a = x[0]\n  x[1] = a;\n}\n"))
    assert "a { is never closed" in str(refused(head + "  if (x[0] > 1) {\n}\n"))
    assert "a kernel has printf without any header" in str(refused("#include <stdio.h>\n"))
    assert "leave <<<...>>> and main out" in str(refused(head + "}\nint main() { k<<<1, 2>>>(0); }\n"))


def test_no_folder_of_the_machine_is_in_messages_or_ptx() -> None:
    error = refused(ADD + "int broken = nothing;\n")
    compiled = clang.compile(ADD)
    for text in (error.log, str(error), compiled.ptx, compiled.log):
        assert "site-packages" not in text and "/tmp" not in text and str(Path.cwd()) not in text
    assert re.findall(r'\.file\s+1 "(.*)"', compiled.ptx) == ["kernel.cu"]


def test_options_and_defines() -> None:
    source = 'extern "C" __global__ void k(float* x) { x[0] = expf(x[1]) + N; }'
    fast = clang.compile(source, options=("-DN=4", "--use_fast_math", "--maxrregcount=32", "-lineinfo", "-std=c++20")).ptx
    exact = clang.compile(source, options=("-DN=4",)).ptx
    assert fast.count("fma.rn") < exact.count("fma.rn")
    product = 'extern "C" __global__ void k(float* x) { x[0] = x[1] * x[2] + x[N]; }'
    assert "fma.rn" in clang.compile(product, options=("-D", "N=3")).ptx
    assert "fma.rn" not in clang.compile(product, options=("-DN=3", "--fmad=false")).ptx
    assert "option -Ofast is not known to the clang front end" in str(refused(source, options=("-Ofast",)))
    assert "can be included" in str(refused(source, options=("-I/usr/include",)))
    with pytest.raises(TypeError, match="tuple of strings"):
        clang.compile(source, options="-DN=4")  # type: ignore[arg-type]


def test_templates_are_instantiated_by_name_expression() -> None:
    source = "template <typename T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; }"
    compiled = clang.compile(source, names=("scale<float, 3>", "scale<int,2>"))
    assert compiled.names == nvrtc.compile(source, names=("scale<float, 3>", "scale<int,2>")).names
    assert "lanewise_name" not in compiled.ptx
    assert all(name in ptx.parse(compiled.ptx).functions for name in compiled.names.values())
    assert "nothing" in str(refused(source, names=("nothing<float>",)))


@pytest.mark.parametrize(
    ("use", "instruction"),
    [
        ("__syncthreads();", "bar.sync"),
        ("__syncwarp();", "bar.warp.sync"),
        ("x[0] = __shfl_xor_sync(~0u, x[1], 4);", "shfl.sync.bfly.b32"),
        ("n[0] = __ballot_sync(~0u, n[1] > 0);", "vote.sync.ballot.b32"),
        ("n[0] = __syncthreads_count(n[1]);", "bar.red.popc.u32"),
        ("n[0] = __reduce_add_sync(~0u, n[1]);", "redux.sync.add.s32"),
        ("n[0] = __match_any_sync(~0u, n[1]);", "match.any.sync.b32"),
        ("atomicAdd(x, 1.0f);", "atom.global.add.f32"),
        ("atomicMax(n, 3);", "atom.global.max.s32"),
        ("n[1] = atomicCAS(n, 1, 2);", "cas.b32"),
        ("__threadfence();", "membar.gl"),
        ("x[0] = rsqrtf(x[1]);", "rsqrt.approx.ftz.f32"),
        ("x[0] = x[1] / x[2];", "div.rn.ftz.f32"),
        ("x[0] = fmaxf(x[1], x[2]);", "max.ftz.f32"),
        ("x[0] = __expf(x[1]);", "ex2.approx.ftz.f32"),
        ("v[1] = v[0];", "ld.global.v4.b32"),
        ("__shared__ float4 s[32]; s[threadIdx.x] = v[0]; __syncthreads(); v[threadIdx.x] = s[31 - threadIdx.x];", "st.shared.v4.b32"),
        ("h[0] = __hfma2(h[1], h[2], h[3]);", "fma.rn.f16x2"),
        ('printf("%d", n[0]);', "vprintf"),
        ("assert(n[0] > 3);", "__assertfail"),
    ],
)
def test_built_ins_become_their_instruction(use: str, instruction: str) -> None:
    source = f'#include <cuda_fp16.h>\nextern "C" __global__ void k(float* x, int* n, float4* v, half2* h) {{ {use} }}'
    assert instruction in clang.compile(source).ptx
    nvrtc.compile(source)


def test_helpers_need_no_device_annotation() -> None:
    clang.compile('float twice(float x) { return 2 * x; }\nextern "C" __global__ void k(float* x) { x[0] = twice(x[0]); }')


def test_kernels_folder_is_on_the_include_path_and_the_working_folder_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = '#include "tile.cuh"\nextern "C" __global__ void k(int* x) { x[0] = TILE; }'
    (tmp_path / "tile.cuh").write_text("#define TILE 32\n")
    monkeypatch.chdir(tmp_path)
    assert "'tile.cuh' file not found" in str(refused(source))
    assert str(tmp_path) not in clang.compile(source, kernels=tmp_path).ptx


def test_a_compiler_that_does_not_finish_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clang, "TIMEOUT", 0.001)
    assert "look for templates that call themselves without end" in str(refused(ADD + "// slow\n"))


def test_a_missing_wheel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clang.importlib.util, "find_spec", lambda name: None)
    clang._program.cache_clear()
    try:
        assert str(refused(ADD + "// missing\n")) == f"clang is not installed: pip install ziglang=={clang.VERSION}"
    finally:
        clang._program.cache_clear()


def test_the_compiler_is_chosen_by_argument_environment_and_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANEWISE_COMPILER", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert (simt.compile(ADD).approximate, simt.compile(ADD, compiler="clang").approximate) == (False, True)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert (simt.compile(ADD).approximate, simt.compile(ADD, compiler="nvrtc").approximate) == (True, False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("LANEWISE_COMPILER", "clang")
    assert simt.compile(ADD).approximate
