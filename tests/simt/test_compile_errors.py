"""Compile errors told in a few lines, with what to write instead; each suggestion is compiled."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lanewise import simt
from lanewise.simt import compile_errors, nvrtc
from lanewise.simt.compile_hints import HEADERS, IDENTIFIERS
from lanewise.simt.errors import CompileError


def kernel(line: str, head: str = "") -> str:
    return f'{head}extern "C" __global__ void k(float* x) {{\n  int i = threadIdx.x;\n  {line}\n}}\n'


def message(source: str) -> str:
    with pytest.raises(CompileError) as caught:
        nvrtc.compile(source)
    assert caught.value.log
    return str(caught.value)


def test_the_whole_message() -> None:
    assert message(kernel("x[i] = -INFINITY;")).splitlines() == [
        'line 3: identifier "INFINITY" is undefined',
        "      x[i] = -INFINITY;",
        "              ^",
        "hint: write #include <math_constants.h> at the top and CUDART_INF_F here: NVRTC has no INFINITY.",
    ]


@pytest.mark.parametrize(
    ("source", "line", "hint"),
    [
        (kernel("x[i] = FLT_MAX;"), 3, "CUDART_MAX_NORMAL_F"),
        (kernel("x[i] = M_PI;"), 3, "CUDART_PI_F"),
        (kernel("int64_t j = 0;"), 3, "#include <cuda/std/cstdint>"),
        (kernel("half h;"), 3, "#include <cuda_fp16.h>"),
        (kernel("__nv_bfloat16 h;"), 3, "#include <cuda_bf16.h>"),
        (kernel("", "#include <stdint.h>\n"), 1, "#include <cuda/std/cstdint>"),
        (kernel("", "#include <cstdio>\n"), 1, "a kernel has printf without any header"),
        (kernel("", "#include <stdio.h>\n"), 1, "a kernel has printf without any header"),
        (kernel("", "#include <math.h>\n"), 1, "a kernel has expf"),
        (kernel("", "\n#include <cuda.h>\n"), 2, "the driver's functions are called from Python"),
        (kernel("", "#include <iostream>\n"), 1, "a kernel prints with printf"),
        (kernel("", "#include <cub/cub.cuh>\n"), 1, "<cub/block/block_reduce.cuh>"),
        (kernel("", "#include <vector>\n"), 1, "<vector> is of the C++ library of the host"),
        (kernel("", '#include "mine.cuh"\n'), 1, "kernels/*.cuh"),
        (kernel("x[i] = std::max(x[0], 1.0f);"), 3, "leave std:: out: a kernel calls max or fmaxf"),
        (kernel("std::cout << x[i];"), 3, "a kernel prints with printf"),
        (kernel("std::vector<int> v;"), 3, "std:: does not exist in a kernel"),
        (kernel("") + "int main() { k<<<1, 32>>>(0); }", 5, "leave <<<...>>> and main out"),
        (kernel("") + "int main() { float* d; cudaMalloc(&d, 4); }", 5, "cudaMalloc is a function of the host"),
        ("__host__ void f() {}\n", 1, "leave the __host__ function out"),
        (kernel("float a = x[i]\n  x[i] = a;"), 4, "the ; is missing at the end of line 3."),
        (kernel("float a = x[i]  // no end\n\n  // nothing\n  x[i] = a;"), 6, "the ; is missing at the end of line 3."),
        (kernel("if (i < 3) {"), 1, "a { is never closed"),
        (kernel("}"), 4, "a } too many"),
        (kernel("x[threadidx.x] = 1;"), 3, "did you mean threadIdx? Upper and lower case differ."),
        (kernel("__syncthread();"), 3, "did you mean __syncthreads?"),
        (kernel("float total = 0; x[i] = totl;"), 3, "did you mean total?"),
        (kernel("x[i] = unheard_of;"), 3, "declare unheard_of before this line"),
        (kernel("x[i] = __shfl_down(x[i], 1);"), 3, "__shfl_down_sync(0xffffffff, ...)"),
        (kernel("auto g = cooperative_groups::this_thread_block();"), 3, "#include <cooperative_groups.h>"),
        (kernel("cg::thread_block g;"), 3, "namespace cg = cooperative_groups;"),
        (kernel("nvcuda::wmma::fragment<int> f;"), 3, "#include <mma.h>"),
        (kernel("__shared__ float s[i];"), 3, "must be known to the compiler"),
        (kernel("__shared__ float s[4] = {0};"), 3, "can't be initialised"),
        (kernel("int j = x;"), 3, "write its element"),
        (kernel("int j = blockDim;"), 3, "write .x, .y or .z"),
        (kernel("x[i] = min(1, 2.0f);"), 3, "make them equal"),
        (kernel("int i = 3;"), 3, "the name is taken"),
        (kernel('char* s = "abc;'), 3, "never closed on this line"),
        (kernel("x[i] = expf(1.0f, 2);"), 3, "compare the call with the function's parameters"),
        (kernel("x[i] = (1 + ;"), 3, "look for a missing"),
        ('extern "C" __global__ int k() { return 1; }', 1, "a kernel returns nothing"),
        ('extern "C" __global__ void k(const float* x) { x[0] = 1; }', 1, "drop the const"),
        (kernel("bool b = True;"), 3, "C++ writes true."),
        (kernel('print("%d", i);'), 3, "printf"),
    ],
)
def test_hints(source: str, line: int, hint: str) -> None:
    told = message(source)
    assert told.startswith(f"line {line}: ")
    assert hint in re.findall(r"^hint: (.*)$", told, re.MULTILINE)[0]
    assert len(told.splitlines()) <= 5


def test_a_suggested_header_makes_each_identifier_known() -> None:
    wanted: dict[str, list[str]] = {}
    for name, hint in IDENTIFIERS.items():
        header = re.search(r"#include (<[^>]+>)", hint)
        constant = re.search(r"and (\S+) here", hint)
        if header:
            wanted.setdefault(header[1], []).append(constant[1] if constant else name)
    assert sum(map(len, wanted.values())) > 40
    for header, names in wanted.items():
        uses = "\n".join(f'extern "C" __global__ void k{number}() {{ {name}; }}' for number, name in enumerate(names))
        try:
            nvrtc.compile(f"#include {header}\n{uses}")
        except CompileError as error:  # a type or a function alone is no statement, but it is known
            assert "is undefined" not in error.log, header


@pytest.mark.slow
def test_a_suggested_header_exists() -> None:
    suggested = {found for hint in HEADERS.values() for found in re.findall(r"#include (<[^>]+>)", hint)}
    assert "<cuda/std/cstdint>" in suggested
    for header in suggested:
        nvrtc.compile(f"#include {header}\n")


@pytest.mark.slow
def test_headers_that_are_said_to_be_missing_are_missing() -> None:
    for header in HEADERS:
        with pytest.raises(CompileError) as caught:
            nvrtc.compile(f"#include <{header}>\n")
        assert HEADERS[header] in str(caught.value)


def test_an_error_in_a_file_of_kernels_names_the_file(tmp_path) -> None:
    (tmp_path / "tile.cuh").write_text("\n\nint broken = nothing;\n")
    with pytest.raises(CompileError) as caught:
        nvrtc.compile('// one\n#include "tile.cuh"\n', kernels=tmp_path)
    assert str(caught.value).splitlines()[0] == 'line 2: tile.cuh does not compile: identifier "nothing" is undefined'
    assert caught.value.log.startswith("tile.cuh(3): error:")


def test_several_errors_are_counted() -> None:
    assert message(kernel("x[i] = a1; x[i] = b1; x[i] = c1;")).endswith("2 more errors: start with this one, the others may follow from it.")


def test_a_long_line_is_cut_and_tabs_keep_the_caret_in_place() -> None:
    told = message(kernel("x[i] = nope + " + "x[i] + " * 40 + "0;")).splitlines()
    assert len(told[1]) == 110 and told[1].endswith("...")
    quoted, caret = message(kernel("\t\tx[i] = nope;")).splitlines()[1:3]
    assert quoted[caret.index("^") :].startswith("nope")


@pytest.mark.parametrize(
    ("name", "entries", "source", "says"),
    [
        ("block_sum", [], "", 'there is no kernel "block_sum": the source has no __global__ function.'),
        ("block_sun", ["block_sum", "scan"], "", 'there is no kernel "block_sun", did you mean "block_sum"? The source has "block_sum", "scan".'),
        ("other", ["block_sum"], "", 'there is no kernel "other": the source has "block_sum".'),
        ("add", ["_Z3addPfi"], "", '"add" is compiled under its C++ name "_Z3addPfi": write extern "C" before its __global__.'),
        ("scale", ["_Z5scaleIfEvPT_"], "", '"scale" is a template: ask for an instance by its name expression, such as "scale<float>".'),
        (
            "twice",
            ["k"],
            "float twice(float x) { return 2 * x; }",
            '"twice" is not a kernel: write extern "C" __global__ void before it. The kernels there are: "k".',
        ),
        ("zzz", ["_Z3addPfi"], "", 'there is no kernel "zzz": the source has "add" (a C++ name).'),
    ],
)
def test_kernels_that_are_not_found(name: str, entries: list[str], source: str, says: str) -> None:
    assert compile_errors.not_found(name, entries, source) == says


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("mbarrier.init.shared.b64 [%0], 1, 5;", "line 5: the assembler refuses `mbarrier.init.shared.b64 [%r1], 1, 5;`: Arguments mismatch for instruction"),
        ("mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%0], 0, 5;", "line 5: the assembler refuses `mbarrier.complete_tx."),
    ],
)
def test_assembly_that_ptxas_refuses_is_told_by_its_words(code, says):
    """The simulator, which reads PTX less strictly, comes to grief over it in the launch: the reason is the assembler's."""
    source = f"""extern "C" __global__ void k(int* y) {{
  __shared__ unsigned long long bar;
  unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
  y[threadIdx.x] = 1;
  asm volatile("{code}" ::"r"(at));
}}"""
    with pytest.raises(simt.CompileError) as raised:
        simt.compile(source).kernel("k").launch(1, 32, [np.zeros(32, np.int32)])
    assert str(raised.value).startswith(says) and "ptxas" in raised.value.log


def test_assembly_in_a_header_is_told_without_a_line_of_the_source():
    from lanewise.simt.compile_errors import assembly

    ptx = '.loc 2 7 0\nmma.sync 5;\n.file 1 "kernel.cu"\n.file 2 "ptx.cuh"\n'
    log = "ptxas application ptx input, line 2; error   : Arguments mismatch for instruction 'mma'\nptxas fatal   : Ptx assembly aborted due to errors\n"
    assert assembly(log, ptx) == "the assembler refuses `mma.sync 5;`: Arguments mismatch for instruction 'mma'."
    assert assembly("ptxas fatal   : Ptx assembly aborted due to errors", ptx) == ""
