"""Every way an argument can miss its parameter, told with the name in the source and one next step."""

from __future__ import annotations

import re
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lanewise.simt import nvrtc, signature
from lanewise.simt.arguments import check
from lanewise.simt.finding import Finding
from lanewise.simt.launch_types import Output

f32 = np.zeros((4, 6), np.float32)


def findings(parameters: str, *args: Any, device_arrays: bool = False, layouts: Any = None) -> list[Finding]:
    source = f'struct Point {{ float x, y; }};\nextern "C" __global__ void k({parameters}) {{ }}'
    return check("k", layouts, signature.parse(source)["k"], args, device_arrays)[0]


def one(parameters: str, *args: Any, **kw: Any) -> Finding:
    (finding,) = findings(parameters, *args, **kw)
    assert finding.kind == "argument-mismatch"
    return finding


@pytest.mark.parametrize(
    ("parameter", "arg"),
    [
        ("float* x", f32),
        ("float* x", Output(f32)),
        ("const float4* x", f32),
        ("float2* x", f32),
        ("float2* x", np.zeros(3, np.complex64)),
        ("double2* x", np.zeros(3, np.complex128)),
        ("int* x", np.zeros(3, np.uint32)),
        ("unsigned* x", np.zeros(3, np.int32)),
        ("unsigned long long* x", np.zeros(3, np.uint64)),
        ("cuda::std::int64_t* x", np.zeros(3, np.int64)),
        ("__half* x", np.zeros(3, np.float16)),
        ("half2* x", np.zeros(4, np.float16)),
        ("half2* x", np.zeros(4, np.uint32)),
        ("__nv_bfloat16* x", np.zeros(3, np.uint16)),
        ("__nv_bfloat16* x", np.zeros(3, np.float16)),
        ("uint4* x", np.zeros(8, np.float16)),
        ("void* x", np.zeros(3, np.float64)),
        ("unsigned char* x", np.zeros(3, np.float64)),
        ("char* x", np.zeros(3, np.int8)),
        ("bool* x", np.zeros(3, np.bool_)),
        ("Point* x", np.zeros(3, [("x", np.float32), ("y", np.float32)])),
        ("float** x", np.zeros(3, np.uint64)),
        ("float* x", np.zeros((), np.float32)),
        ("float* x", np.zeros((0, 4), np.float32)),
        ("float* x", np.uintp(0)),
        ("float* x", f32[1:3]),
        ("float x", np.float32(np.nan)),
        ("double x", np.float64(1)),
        ("int n", np.int32(-5)),
        ("int n", np.uint32(5)),
        ("unsigned n", np.uint32(2**32 - 1)),
        ("size_t n", np.uint64(2**63)),
        ("bool b", np.bool_(True)),
        ("unsigned char c", np.uint8(200)),
        ("half h", np.float16(1)),
        ("float2 v", np.complex64(1 + 2j)),
        ("float4 v", np.zeros((), [("x", np.float32, 4)])[()]),
        ("Point p", np.zeros((), [("x", np.float32), ("y", np.float32)])[()]),
        ("Point p", np.zeros(1, [("x", np.float32), ("y", np.float32)])),
    ],
)
def test_what_fits_is_quiet(parameter: str, arg: Any) -> None:
    size = 8 if "Point p" in parameter else None
    assert findings(parameter, arg, layouts=[SimpleNamespace(type="b8", size=size)] if size else None) == []


@pytest.mark.parametrize(
    ("parameter", "arg", "says"),
    [
        ("float* x", np.zeros(3), "x (float*): a float64 array came, whose bytes a float* misreads: pass it as .astype(np.float32)."),
        ("int* x", np.zeros(3, np.int64), "x (int*): an int64 array came, whose bytes an int* misreads: pass it as .astype(np.int32)."),
        ("int* x", np.zeros(3, np.float32), "x (int*): a float32 array came, whose bytes an int* misreads: pass it as .astype(np.int32)."),
        ("const float4* x", np.zeros(4), "x (const float4*): a float64 array came, whose bytes a float4* misreads: pass it as .astype(np.float32)."),
        ("half* x", np.zeros(3, np.float32), "x (half*): a float32 array came, whose bytes a half* misreads: pass it as .astype(np.float16)."),
        ("float* x", np.array(["a"]), "x (float*): an array of <U1 came, which no kernel can read: convert it to a numeric dtype."),
        ("float* x", np.zeros(3, ">f4"), "x (float*): the array's bytes are in foreign order (>f4): pass it as .astype(np.float32)."),
        (
            "const float* x",
            f32.T,
            "x (const float*): the array is a view with strides of (4, 24) bytes, but a kernel gets the address alone and takes the elements "
            "as contiguous: pass np.ascontiguousarray(...).",
        ),
        (
            "float* x",
            f32[:, ::2],
            "x (float*): the array is a view with strides of (24, 8) bytes, but a kernel gets the address alone and takes the elements "
            "as contiguous: pass np.ascontiguousarray(...), and copy the result back if the kernel writes it.",
        ),
        ("float* x", np.float32(1), "x (float*): np.float32(1.0) came for a pointer: pass an array, such as np.array([1.0], np.float32)."),
        ("float* x", np.uint64(64), "x (float*): the number 64 came for a pointer: pass the array itself."),
        ("float* x", None, "x (float*): None came: pass np.uintp(0) for a null pointer."),
        ("float* x", 7, "x (float*): the number 7 came for a pointer: pass an array."),
        ("float* x", 1.5, "x (float*): the Python float 1.5 came for a pointer: pass an array."),
        ("float* x", [1.0], "x (float*): an object of type list came: pass an array."),
        ("float* x", Output([1.0]), "x (float*): simt.Output holds an object of type list: it must hold an array."),
        ("int n", f32, "n (int): an array came for a value: pass np.int32(...)."),
        ("int n", None, "n (int): None came: pass np.int32(...)."),
        ("int n", "5", "n (int): an object of type str came: pass np.int32(...)."),
        ("float x", 1 / 8, "x (float): the Python float 0.125 is passed as 8 bytes and would arrive as 0: pass np.float32(0.125)."),
        ("float x", np.float64(1 / 8), "x (float): np.float64(0.125) would arrive as 0: pass np.float32(0.125)."),
        ("double x", 1.5, "x (double): a Python float came: say which size you mean, np.float64(1.5)."),
        ("float x", np.int32(5), "x (float): np.int32(5) would arrive as 7.00649e-45: pass np.float32(5)."),
        ("float x", 5, "x (float): the Python int 5 would arrive as 7.00649e-45: pass np.float32(5)."),
        ("int n", np.float32(1), "n (int): np.float32(1.0) would arrive as 1065353216: pass np.int32(1)."),
        ("double x", np.float32(1), "x (double): np.float32(1.0) has 4 bytes and 8 are read: pass np.float64(1)."),
        ("long long n", np.int32(1), "n (long long): np.int32(1) has 4 bytes and 8 are read: pass np.int64(1)."),
        ("int n", True, "n (int): True is passed as a single byte: pass np.int32(1)."),
        ("bool b", 1, "b (bool): the Python int 1 came: pass np.bool_(True)."),
        ("float x", 1j, "x (float): the Python complex 1j came: pass np.complex64(1j)."),
        (
            "int n",
            3_000_000_000,
            "n (int): the Python int 3000000000 does not fit and would arrive as -1294967296: the parameter holds -2**31 to 2**31 - 1; "
            "pass a smaller value or make it long long.",
        ),
        (
            "int n",
            np.int64(2**33),
            "n (int): np.int64(8589934592) does not fit and would arrive as 0: the parameter holds -2**31 to 2**31 - 1; "
            "pass a smaller value or make it long long.",
        ),
        ("float4 v", np.float32(1), "v (float4): np.float32(1.0) came for a vector: pass a structured scalar (np.void) of 16 bytes."),
    ],
)
def test_what_misses_is_told(parameter: str, arg: Any, says: str) -> None:
    finding = one(parameter, arg)
    assert (finding.severity, finding.message, finding.array) == ("error", says, parameter.split()[-1])


@pytest.mark.parametrize(
    ("parameter", "arg", "says"),
    [
        ("int n", 5, "n (int): a Python int came, which is passed as 8 bytes: write np.int32(5)."),
        ("long long n", 5, "n (long long): a Python int came, which is passed as 8 bytes: write np.int64(5)."),
        ("unsigned n", 5, "n (unsigned int): a Python int came, which is passed as 8 bytes: write np.uint32(5)."),
        ("int n", np.int64(5), "n (int): np.int64(5) has 8 bytes and only its low 4 are read: write np.int32(5)."),
        ("float* x", 0, "x (float*): the Python int 0 came for a pointer: write np.uintp(0)."),
        ("bool b", True, "b (bool): a Python bool came: write np.bool_(True)."),
    ],
)
def test_what_works_by_luck_is_a_remark(parameter: str, arg: Any, says: str) -> None:
    finding = one(parameter, arg)
    assert (finding.severity, finding.message) == ("remark", says)


def test_the_value_a_float_becomes_is_that_of_a_gpu() -> None:
    assert "would arrive as 0:" in one("float scale", 1 / np.sqrt(64.0)).message
    (low_half,) = struct.unpack("<f", struct.pack("<d", 32**-0.5)[:4])
    assert 2.9e23 < low_half < 3.1e23
    assert f"would arrive as {low_half:.6g}:" in one("float scale", 32**-0.5).message


def test_structs_must_have_the_size_of_the_parameter() -> None:
    big = np.zeros((), [("x", np.float64, 3)])[()]
    finding = one("Point p", big, layouts=[SimpleNamespace(type="b8", size=8)])
    assert finding.message == "p (Point): a struct of 24 bytes came for one of 8: make the dtype's fields those of the struct, with align=True."


def test_the_count_names_what_is_missing_or_too_much() -> None:
    x, n = np.zeros(3, np.float32), np.int32(3)
    assert one("const float* x, float* out, int n", x, n).message == "k takes 3 arguments (x, out, n), but 2 came: pass out too."
    assert one("const float* x, float* out, int n", x, x).message == "k takes 3 arguments (x, out, n), but 2 came: pass n too."
    assert one("float* x, int n", x, n, n).message == "k takes 2 arguments (x, n), but 3 came: leave out number 3."
    assert one("float* x, int n", x, x, n).message == "k takes 2 arguments (x, n), but 3 came: leave out number 2."
    assert one("float* x").message == "k takes 1 argument (x), but 0 came: pass x too."
    assert one("", x).message == "k takes 0 arguments (none), but 1 came: leave out number 1."


def test_several_faults_are_all_told_in_order() -> None:
    assert [f.array for f in findings("float* x, int n, float s", np.zeros(3), 5, 0.5)] == ["x", "n", "s"]


def test_read_only_arrays_fit_const_parameters_alone() -> None:
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    assert findings("const float* x", frozen) == []
    assert one("float* x", frozen).message == "x (float*): the array is read-only and the parameter is not const: pass a copy, or declare the parameter const."


class TwinArray:
    """Stands for the device array of the twin: no NumPy array, but one lies behind it."""

    def __init__(self, array: np.ndarray):
        self.device_array = array
        self.dtype, self.shape, self.strides, self.flags = array.dtype, array.shape, array.strides, array.flags


def test_a_device_array_is_taken_by_its_buffer_and_spoken_of_as_cp() -> None:
    assert findings("float* x", TwinArray(f32), device_arrays=True) == []
    _, bound = check("k", None, signature.parse("__global__ void k(float* x) {}")["k"], [Output(TwinArray(f32))], True)
    assert bound[0].array is f32 and bound[0].poison
    assert one("float* x", TwinArray(np.zeros(3)), device_arrays=True).message.endswith("pass it as .astype(cp.float32).")
    assert one("float* x", f32, device_arrays=True).message == "x (float*): a NumPy array came, which lies in the host's memory: pass cp.asarray(x)."


def test_without_the_source_the_layout_of_ptx_is_enough() -> None:
    layouts = [SimpleNamespace(type="u64", size=8), SimpleNamespace(type="u32", size=4), SimpleNamespace(type="f32", size=4)]
    found, bound = check("k", layouts, None, [f32, np.int32(-2), np.float32(0.5)])
    assert found == [] and [b.name for b in bound] == ["argument 1", "argument 2", "argument 3"]
    assert bound[1].data == np.int32(-2).tobytes() and bound[0].array is f32
    (finding,) = check("k", layouts, None, [f32, np.int32(1), 0.5])[0]
    assert finding.message == "argument 3 (float): the Python float 0.5 is passed as 8 bytes and would arrive as 0: pass np.float32(0.5)."
    (finding,) = check("k", layouts, None, [f32, np.int64(1), np.float32(1)])[0]
    assert finding.message == "argument 2 (4 bytes): np.int64(1) has 8 bytes, the parameter 4: pass a scalar of its size."


def test_a_misread_source_gives_way_to_ptx() -> None:
    layouts = [SimpleNamespace(type="u64", size=8)]
    assert check("k", layouts, signature.parse("__global__ void k(float* a, int b) {}")["k"], [f32])[0] == []


def test_real_kernels_layouts_agree_with_their_signatures() -> None:
    source = """
    #include <cuda_fp16.h>
    struct Box { double a; int b; };
    extern "C" __global__ void k(const float* x, int n, double d, bool flag, half h, short s, float4 v, Box box, unsigned long long u, float2* p) {}
    """
    sizes = {"u64": 8, "u32": 4, "f64": 8, "f32": 4, "u16": 2, "u8": 1}
    declared = re.findall(r"\.param (?:\.align \d+ )?\.(\w+) k_param_\d+(?:\[(\d+)\])?", nvrtc.compile(source).ptx)
    layouts = [SimpleNamespace(type=kind, size=int(count) if count else sizes[kind]) for kind, count in declared]
    args = [f32, np.int32(1), np.float64(2), np.bool_(True), np.float16(1), np.int16(3)]
    args += [np.zeros((), [("v", np.float32, 4)])[()], np.zeros((), np.dtype([("a", "f8"), ("b", "i4")], align=True))[()], np.uint64(2), f32]
    found, bound = check("k", layouts, signature.parse(source)["k"], args)
    assert found == []
    assert [len(b.data) for b in bound] == [0, 4, 8, 1, 2, 2, 16, 16, 8, 0]


@given(st.integers(-(2**70), 2**70), st.sampled_from([("int", np.int32), ("unsigned int", np.uint32), ("long long", np.int64), ("short", np.int16)]))
def test_python_ints_are_judged_by_what_the_kernel_would_read(value: int, pair: tuple[str, type]) -> None:
    name, numpy_type = pair
    parameters = signature.parse(f"__global__ void k({name} n) {{}}")["k"]
    found, bound = check("k", None, parameters, [value])
    limits = np.iinfo(numpy_type)
    fits = limits.min <= value <= limits.max
    assert [f.severity for f in found] == ["remark" if fits else "error"]
    if fits:
        assert bound[0].data == numpy_type(value).tobytes()


anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.text(max_size=3), st.binary(max_size=3), st.lists(st.integers(), max_size=2),
    st.sampled_from([np.float16(1), np.int8(1), np.uint64(3), np.complex64(1), np.bool_(0), np.str_("a"), np.datetime64("2020"), np.void(b"1234")]),
    st.sampled_from([np.zeros((2, 3))[:, ::2], np.zeros(0, np.int8), np.array(None), np.zeros((), np.float32), np.array(["x"]), np.float64, object()]),
)  # fmt: skip


@given(st.sampled_from(["float* x", "int n", "float f", "double d", "bool b", "half h", "float4 v", "Thing t", "void* p", "long long l"]), anything)
@example("float* x", np.float64)
def test_whatever_comes_gets_a_sentence_or_is_bound(parameter: str, arg: Any) -> None:
    found, bound = check("k", None, signature.parse(f"__global__ void k({parameter}) {{}}")["k"], [arg])
    assert all(f.message.startswith(parameter.split()[-1] + " (") and f.message.endswith(".") for f in found)
    assert bool(bound) == all(f.severity == "remark" for f in found)
