"""The NVRTC front end: what it compiles, with which options, and what it refuses."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from lanewise.simt import nvrtc
from lanewise.simt.errors import CompileError

ADD = 'extern "C" __global__ void add(const float* x, float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] + 1.0f; }'


def test_ptx_is_of_the_pinned_compiler_for_hopper() -> None:
    ptx = nvrtc.compile(ADD).ptx
    assert f"V{nvrtc.VERSION}" in ptx
    assert ".target sm_90a" in ptx and ".visible .entry add(" in ptx
    assert nvrtc.version() == nvrtc.VERSION


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "compute_80"])
def test_the_architecture_is_chosen_by_argument_or_option_and_the_option_wins(arch: str) -> None:
    target = f".target {arch.replace('compute', 'sm')}\n"
    assert target in nvrtc.compile(ADD, arch).ptx
    for options in ((f"-arch={arch}",), (f"--gpu-architecture={arch}",), ("-arch", arch)):
        assert target in nvrtc.compile(ADD, "sm_120", options).ptx


@pytest.mark.parametrize("arch", ["sm_20", "hopper", "90", "sm_999", ""])
def test_unknown_architectures(arch: str) -> None:
    with pytest.raises(CompileError, match=r"unknown architecture|does not know sm_\d+: it knows sm_75, sm_80"):
        nvrtc.compile(ADD, arch)


def test_options_are_passed_through() -> None:
    source = 'extern "C" __global__ void k(float* x) { x[threadIdx.x] = N / x[0]; }'
    assert "div.approx.ftz.f32" in nvrtc.compile(source, options=("-DN=4", "--use_fast_math")).ptx
    assert "div.rn.ftz.f32" in nvrtc.compile(source, options=("-DN=4",)).ptx
    with pytest.raises(CompileError, match='identifier "N" is undefined'):
        nvrtc.compile(source)
    with pytest.raises(CompileError, match="unrecognized option"):
        nvrtc.compile(source, options=("-fno-such-option",))
    with pytest.raises(TypeError, match="tuple of strings"):
        nvrtc.compile(source, options="-DN=4")  # type: ignore[arg-type]


def test_the_dialect_is_17_unless_the_caller_names_one() -> None:
    source = 'extern "C" __global__ void k(long* x) { x[0] = __cplusplus; }'
    assert "201703" in nvrtc.compile(source).ptx
    assert "202002" in nvrtc.compile(source, options=("-std=c++20",)).ptx


def test_helpers_need_no_device_annotation_as_under_cupy() -> None:
    nvrtc.compile('float twice(float x) { return 2 * x; }\nextern "C" __global__ void k(float* x) { x[0] = twice(x[0]); }')


def test_lines_are_those_of_the_source_whatever_its_line_ends() -> None:
    lines = ["\ufeff// Größe 日本", 'extern "C" __global__ void k(float* x) {', "", "  x[threadIdx.x] = 2.0f;", "}", ""]
    for ends in ("\n", "\r\n"):
        ptx = nvrtc.compile(ends.join(lines)).ptx
        assert re.findall(r"\.loc\t1 (\d+)", ptx) == ["2", "4", "5"]
        assert re.findall(r'\.file\t1 "(.*)"', ptx) == ["kernel.cu"]


def test_a_macro_continued_over_carriage_returns() -> None:
    nvrtc.compile('#define BODY \\\r\n  x[0] = 1;\r\nextern "C" __global__ void k(float* x) {\r\n BODY\r\n}\r\n')


def test_templates_are_instantiated_by_name_expression() -> None:
    source = "template <typename T, int N> __global__ void scale(T* x) { x[threadIdx.x] *= N; }"
    compiled = nvrtc.compile(source, names=("scale<float, 3>", "scale<int,2>"))
    assert compiled.names == {"scale<float, 3>": "_Z5scaleIfLi3EEvPT_", "scale<int,2>": "_Z5scaleIiLi2EEvPT_"}
    assert all(f".entry {name}(" in compiled.ptx for name in compiled.names.values())
    with pytest.raises(CompileError, match="nothing"):
        nvrtc.compile(source, names=("nothing<float>",))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("header", "use"),
    [
        ("cuda_fp16.h", "half2 h = __float2half2_rn(x[0]); x[1] = __low2float(h);"),
        ("cuda_bf16.h", "x[0] = __nv_bfloat16(x[1]);"),
        ("mma.h", "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> f; nvcuda::wmma::fill_fragment(f, x[0]); x[1] = f.x[0];"),
        ("cuda_pipeline.h", "__pipeline_commit(); __pipeline_wait_prior(0);"),
        ("cooperative_groups.h", "cooperative_groups::this_thread_block().sync();"),
        ("cub/block/block_reduce.cuh", "__shared__ cub::BlockReduce<float, 32>::TempStorage t; x[0] = cub::BlockReduce<float, 32>(t).Sum(x[1]);"),
    ],
)
def test_the_toolkits_headers_are_there(header: str, use: str) -> None:
    nvrtc.compile(f'#include <{header}>\nextern "C" __global__ void k(float* x) {{ {use} }}')


def test_kernels_folder_is_on_the_include_path_and_the_working_folder_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = '#include "tile.cuh"\nextern "C" __global__ void k(int* x) { x[0] = TILE; }'
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "tile.cuh").write_text("#define TILE 32\n")
    monkeypatch.chdir(tmp_path / "own")
    with pytest.raises(CompileError, match="only the toolkit's headers and the files kernels/"):
        nvrtc.compile(source)
    compiled = nvrtc.compile(source, kernels=tmp_path / "own")
    assert "st.global.u32" in compiled.ptx or "st.global.b32" in compiled.ptx
    assert str(tmp_path) not in compiled.ptx


@pytest.mark.parametrize("line", ['#include "/etc/hostname"', '#include "../secret.h"', "  #  include <C:\\secret.h>"])
def test_files_elsewhere_are_not_read(line: str) -> None:
    with pytest.raises(CompileError, match=r"^line 2: .*can be included, by their bare names\."):
        nvrtc.compile(f"// first\n{line}\n")
    with pytest.raises(CompileError, match=r"option -I… is not taken"):
        nvrtc.compile(ADD, options=("-I/usr/include",))


def test_no_folder_of_the_machine_is_in_log_or_ptx(tmp_path: Path) -> None:
    source = '#include <cuda_fp16.h>\nextern "C" __global__ void k(float* x) { x[0] = __float2half("a") + oops; }'
    with pytest.raises(CompileError) as caught:
        nvrtc.compile(source)
    assert "site-packages" not in caught.value.log + str(caught.value)
    assert "no-such-folder" not in caught.value.log
    (tmp_path / "half.cuh").write_text("__device__ float halved(float x) { return x * 0.5f; }\n")
    ptx = nvrtc.compile('#include "half.cuh"\nextern "C" __global__ void k(float* x) { x[0] = halved(x[1]); }', kernels=tmp_path).ptx
    assert re.findall(r'\.file\t\d (".*")', ptx) == ['"kernel.cu"', '"half.cuh"']


def test_equal_calls_are_answered_from_memory() -> None:
    assert nvrtc.compile(ADD) is nvrtc.compile(ADD)
    assert nvrtc.compile(ADD) is not nvrtc.compile(ADD, options=("-DN=1",))


def test_threads_may_compile_at_the_same_time() -> None:
    found: dict[int, str] = {}

    def work(number: int) -> None:
        found[number] = nvrtc.compile(f'extern "C" __global__ void k{number}(int* x) {{ x[0] = {number}; }}').ptx

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(f".entry k{number}(" in found[number] for number in range(8))


def test_cubin_is_machine_code_of_that_architecture() -> None:
    blob, _ = nvrtc.cubin(ADD, "sm_80")
    assert blob[:4] == b"\x7fELF"
    assert blob != nvrtc.cubin(ADD, "sm_90a")[0]


def test_an_empty_source_and_a_zero_byte() -> None:
    assert ".entry" not in nvrtc.compile("").ptx
    with pytest.raises(CompileError, match="NUL"):
        nvrtc.compile("int x;\0")


def test_another_version_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "VERSION", "13.0.1")
    with pytest.warns(UserWarning, match=r"NVRTC 13\.0\.88 was found, the course is made for 13\.0\.1"):
        nvrtc._compile.__wrapped__(ADD, "sm_90a", (), (), str(nvrtc.KERNELS))


def test_a_missing_wheel_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_library", None)
    monkeypatch.setattr(nvrtc, "_library_file", lambda root: None)
    nvrtc._wheel_root.cache_clear()
    try:
        with pytest.raises(CompileError, match=r"NVRTC is not installed: pip install nvidia-cuda-nvrtc==13\.0\.88"):
            nvrtc._compile.__wrapped__(ADD, "sm_90a", (), (), str(nvrtc.KERNELS))
    finally:
        nvrtc._wheel_root.cache_clear()
