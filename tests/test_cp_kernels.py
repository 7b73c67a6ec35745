"""RawKernel and RawModule: values, arguments, attributes and errors; on a machine with a GPU, the same of CuPy behind its check."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest

from lanewise import cp, simt, twin

IMPLEMENTATIONS = ["twin", "cupy"] if cp.find_device().backend == "gpu" else ["twin"]

SOURCE = r"""
struct Pair { float a; int b; };
__constant__ float table[4];
__device__ int launches;

extern "C" __global__ void scale(const float* x, float* y, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * factor;
}
extern "C" __global__ void add_table(float* x) {
    x[threadIdx.x] += table[threadIdx.x % 4];
    if (threadIdx.x == 0) launches += 1;
}
extern "C" __global__ void add_pair(float* x, Pair p) { x[threadIdx.x] += p.a * p.b; }
extern "C" __global__ void shared_sum(const float* x, float* sum) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) s[threadIdx.x] += s[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) *sum = s[0];
}
extern "C" __global__ void first_half(float* y, int n) { if (threadIdx.x < n / 2) y[threadIdx.x] = 1.0f; }
extern "C" __global__ void second_half(float* y, int n) { if (threadIdx.x >= n / 2 && threadIdx.x < n) y[threadIdx.x] = 2.0f; }
extern "C" __global__ void past_the_end(float* y) { y[threadIdx.x + 1] = 0.0f; }
"""
TEMPLATE = "template<class T, int K> __global__ void times(T* x) { x[threadIdx.x] *= K; }"


@pytest.fixture(params=IMPLEMENTATIONS)
def xp(request):
    return twin if request.param == "twin" else cp


def test_launch_writes_device_memory(xp):
    scale = xp.RawKernel(SOURCE, "scale")
    x = np.arange(1000, dtype=np.float32)
    y = xp.zeros(1000, xp.float32)
    scale((8,), (128,), (xp.asarray(x), y, xp.float32(2.5), xp.int32(1000)))
    np.testing.assert_array_equal(y.get(), x * np.float32(2.5))


def test_views_reach_the_kernel(xp):
    y = xp.zeros((4, 8), xp.float32)
    xp.RawKernel(SOURCE, "scale")((1,), (8,), (xp.ones(8, xp.float32), y[2], xp.float32(3), xp.int32(8)))
    assert y.get().sum(axis=1).tolist() == [0, 0, 24, 0]


def test_dynamic_shared_memory_and_streams(xp):
    x, total = xp.arange(256, dtype=xp.float32), xp.zeros((), xp.float32)
    stream = xp.cuda.Stream()
    with stream:
        xp.RawKernel(SOURCE, "shared_sum")((1,), (256,), (x, total), shared_mem=1024)
    stream.synchronize()
    assert float(total) == 255 * 128
    xp.RawKernel(SOURCE, "shared_sum")((1,), (256,), (x + 1, total), shared_mem=1024, stream=stream)
    stream.synchronize()
    assert float(total) == 255 * 128 + 256


def test_more_shared_memory_than_48_kb_must_be_asked_for(xp):
    kernel = xp.RawKernel(SOURCE, "shared_sum")
    args = (xp.ones(256, xp.float32), xp.zeros((), xp.float32))
    with pytest.raises(simt.KernelFault, match="set kernel.max_dynamic_shared_size_bytes = 60000"):
        kernel((1,), (256,), args, shared_mem=60000)
    kernel.max_dynamic_shared_size_bytes = 60000
    assert kernel.max_dynamic_shared_size_bytes == 60000
    kernel((1,), (256,), args, shared_mem=60000)
    assert float(args[1]) == 256


def test_struct_by_value(xp):
    x, pair = xp.zeros(4, xp.float32), np.array((1.5, 2), [("a", "f4"), ("b", "i4")])
    kernel = xp.RawKernel(SOURCE, "add_pair")
    kernel((1,), (4,), (x, pair))
    kernel((1,), (4,), (x, pair[()]))
    assert x.get().tolist() == [6.0] * 4


def test_module_functions_and_globals(xp):
    module = xp.RawModule(code=SOURCE + "// this test's own\n")
    table = xp.ndarray((4,), xp.float32, module.get_global("table"))
    table[...] = xp.asarray([10, 20, 30, 40], xp.float32)
    x, kernel = xp.zeros(8, xp.float32), module.get_function("add_table")
    kernel((1,), (8,), (x,))
    kernel((1,), (8,), (x,))
    assert x.get().tolist() == [20, 40, 60, 80, 20, 40, 60, 80]
    assert int(xp.ndarray((), xp.int32, module.get_global("launches"))) == 2
    with pytest.raises(KeyError, match="the source has no __device__ or __constant__ variable 'tabel'"):
        module.get_global("tabel")


def test_name_expressions(xp):
    module = xp.RawModule(code=TEMPLATE, name_expressions=["times<float, 3>", "times<int, 5>"])
    x, i = xp.ones(4, xp.float32), xp.ones(4, xp.int32)
    module.get_function("times<float, 3>")((1,), (4,), (x,))
    module.get_function("times<int, 5>")((1,), (4,), (i,))
    assert x.get().tolist() == [3.0] * 4 and i.get().tolist() == [5] * 4


def test_options_reach_the_compiler(xp):
    code = 'extern "C" __global__ void k(int* x) { *x = N; }'
    x = xp.zeros((), xp.int32)
    xp.RawKernel(code, "k", ("-DN=42",))((1,), (1,), (x,))
    assert int(x) == 42


def test_attributes(xp):
    kernel = xp.RawKernel(SOURCE, "scale")
    attributes = kernel.attributes
    assert attributes["num_regs"] > 0 and attributes["max_threads_per_block"] == 1024 and attributes["local_size_bytes"] == 0
    assert attributes["shared_size_bytes"] == 0 and attributes["max_dynamic_shared_size_bytes"] == 49152
    assert attributes["const_size_bytes"] == 16
    assert set(attributes) == set(twin.raw.ATTRIBUTES)
    static = xp.RawKernel('extern "C" __global__ void k(float* x) { __shared__ float s[64]; s[threadIdx.x] = *x; __syncthreads(); *x = s[0]; }', "k")
    assert static.shared_size_bytes == 256
    bounded = xp.RawKernel('extern "C" __global__ void __launch_bounds__(128) k(float* x) { *x = 1; }', "k")
    assert bounded.max_threads_per_block == 128
    assert (kernel.name, kernel.code, kernel.options, kernel.backend) == ("scale", SOURCE, (), "nvrtc")


def test_it_compiles_at_the_first_launch_and_not_before(xp):
    kernel = xp.RawKernel("no CUDA C at all", "k")
    with pytest.raises(simt.CompileError):
        kernel((1,), (1,), ())
    log = io.StringIO()
    xp.RawKernel(SOURCE, "scale").compile(log_stream=log)


def test_compile_error_has_the_learners_line(xp):
    code = 'extern "C" __global__ void k(float* x)\n{\n    x[0] = undefined_name;\n}\n'
    with pytest.raises(simt.CompileError, match="undefined_name") as caught:
        xp.RawKernel(code, "k").compile()
    assert "line 3" in str(caught.value) or "(3)" in str(caught.value)


def test_unknown_kernel_names_those_there_are(xp):
    with pytest.raises(simt.KernelNotFound, match="scale"):
        xp.RawKernel(SOURCE, "scal")((1,), (1,), ())
    with pytest.raises(simt.KernelNotFound, match="scale"):
        xp.RawModule(code=SOURCE).get_function("scal")


ARGUMENTS = {
    "python_float": (lambda a: a | {"factor": 0.125}, "factor"),
    "too_few": (lambda a: {key: a[key] for key in ("x", "y", "factor")}, "n"),
    "float64_array": (lambda a: a | {"x": a["x"].astype(np.float64)}, "x"),
    "strided": (lambda a: a | {"x": a["x"].reshape(4, 2).T}, "x"),
    "none": (lambda a: a | {"y": None}, "y"),
    "array_for_value": (lambda a: a | {"n": a["x"]}, "n"),
    "pointer": (lambda a: a | {"x": a["x"].data}, "x"),
    "float_for_int": (lambda a: a | {"n": np.float32(8)}, "n"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_wrong_arguments_are_explained_before_the_launch(xp, name):
    change, parameter = ARGUMENTS[name]
    args = {"x": xp.ones(8, xp.float32), "y": xp.zeros(8, xp.float32), "factor": xp.float32(2), "n": xp.int32(8)}
    with pytest.raises(simt.KernelFault) as caught:
        xp.RawKernel(SOURCE, "scale")((1,), (8,), tuple(change(args).values()))
    finding = caught.value.report.findings[0]
    assert (finding.kind, finding.severity, finding.array) == ("argument-mismatch", "error", parameter)
    assert not args["y"].any()


LIMITS = {"grid_0": ((0,), (8,)), "threads_1025": ((1,), (1025,)), "block_0": ((1,), (0,)), "grid_float": ((1.5,), (8,))}


@pytest.mark.parametrize("name", LIMITS)
def test_launches_a_gpu_refuses_are_explained(xp, name):
    grid, block = LIMITS[name]
    with pytest.raises(simt.KernelFault) as caught:
        xp.RawKernel(SOURCE, "scale")(grid, block, (xp.ones(8, xp.float32), xp.zeros(8, xp.float32), xp.float32(2), xp.int32(8)))
    assert caught.value.report.findings[0].kind == "launch-refused"


CALLS = {
    "int_grid": (lambda k, x, y: k(1, (8,), (x, y, np.float32(2), np.int32(8))), r"grid must be a tuple of one to three ints, not int: write \(1,\)\."),
    "list_block": (lambda k, x, y: k((1,), [8], (x, y, np.float32(2), np.int32(8))), "block must be a tuple"),
    "bare_array": (lambda k, x, y: k((1,), (8,), x), r"args must be a tuple, not ndarray: write \(x,\)"),
    "numpy_array": (
        lambda k, x, y: k((1,), (8,), (np.ones(8, np.float32), y, np.float32(2), np.int32(8))),
        r"You are trying to pass a numpy.ndarray of shape \(8,\) as a kernel parameter.*cp.asarray",
    ),
    "text": (lambda k, x, y: k((1,), (8,), ("x", y, np.float32(2), np.int32(8))), "Unsupported type <class 'str'>"),
    "options_list": (lambda k, x, y: type(k)(SOURCE, "scale", ["-DN=1"]), r"Argument 'options' has incorrect type \(expected tuple, got list\)"),
    "code_int": (lambda k, x, y: type(k)(1, "scale"), r"Argument 'code' has incorrect type \(expected str, got int\)"),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_the_wrong_form(xp, name):
    call, message = CALLS[name]
    with pytest.raises(TypeError, match=message):
        call(xp.RawKernel(SOURCE, "scale"), xp.ones(8, xp.float32), xp.zeros(8, xp.float32))


def test_module_takes_code_or_path(xp):
    with pytest.raises(TypeError, match="Exactly one of `code` and `path` keyword arguments must be given."):
        xp.RawModule()


def test_faulty_kernel_raises_the_explanation_on_the_simulator():
    with pytest.raises(simt.KernelFault, match="y") as caught:
        twin.RawKernel(SOURCE, "past_the_end")((1,), (8,), (twin.zeros(8, np.float32),))
    assert caught.value.report.findings[0].kind == "out-of-bounds"


def test_unset_elements_are_followed_from_launch_to_launch():
    y, other = twin.empty(8, np.float32), twin.zeros(8, np.float32)
    twin.RawKernel(SOURCE, "first_half")((1,), (8,), (y, np.int32(8)))
    assert y._memory.mask(y._host).tolist() == [False] * 4 + [True] * 4
    with pytest.raises(simt.KernelFault) as caught:
        twin.RawKernel(SOURCE, "scale")((1,), (8,), (y, other, np.float32(2), np.int32(8)))
    assert (caught.value.report.findings[0].kind, caught.value.report.findings[0].array) == ("uninitialised-read", "x")
    twin.RawKernel(SOURCE, "second_half")((1,), (8,), (y, np.int32(8)))
    assert y._memory.mask(y._host) is None
    twin.RawKernel(SOURCE, "scale")((1,), (8,), (y, other, np.float32(2), np.int32(8)))
    assert other.get().tolist() == [2, 2, 2, 2, 4, 4, 4, 4]


def test_what_is_written_through_one_view_is_set_for_the_others():
    code = """extern "C" __global__ void k(float* a, const float* b, float* out) {
        a[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = b[threadIdx.x]; }"""
    x, out = twin.empty(16, np.float32), twin.empty(8, np.float32)
    twin.RawKernel(code, "k")((1,), (8,), (x[:8], x[:12], out))
    assert out.get().tolist() == list(range(8)) and out._memory.unset is None
    assert x._memory.mask(x._host).tolist() == [False] * 8 + [True] * 8
    with pytest.raises(simt.KernelFault) as caught:
        twin.RawKernel(code, "k")((1,), (8,), (x[:8], x[4:], out))
    assert [(finding.kind, finding.array, finding.index) for finding in caught.value.report.findings] == [("uninitialised-read", "b", 4)]
    report = simt.compile(code).kernel("k").launch(1, 8, (y := np.zeros(8, np.float32), simt.Output(y), np.zeros(8, np.float32)))
    assert report.ok


def test_printf_is_printed(capfd):
    twin.RawKernel('extern "C" __global__ void k() { printf("n = %d\\n", 7); }', "k")((1,), (1,), ())
    assert capfd.readouterr().out == "n = 7\n"


def test_simulator_takes_source_only():
    with pytest.raises(simt.Unsupported, match="pass the source as code="):
        twin.RawModule(path="kernel.cubin")
    with pytest.raises(ValueError, match="backend must be 'nvrtc'"):
        twin.RawKernel(SOURCE, "scale", backend="nvcc")
    with pytest.raises(TypeError, match="move it to the device with cp.asarray first"):
        twin.tensor_map(np.zeros((8, 8), np.float32), (8, 8))


def test_unset_is_given_back_what_the_launch_left(monkeypatch):
    """The account of unset elements, apart from the simulator: a launch that leaves elements 1 and 5 unset."""
    seen = []

    def launch(grid, block, args, shared_bytes=0):
        seen.extend(args)
        args[0].mask = np.repeat(np.isin(np.arange(8), [1, 5]), 4)
        return simt.Report("k", "", (1, 1, 1), (1, 1, 1))

    y = twin.empty(8, np.float32)
    twin.raw.run(SimpleNamespace(launch=launch), (1,), (1,), (y, np.int32(3)))
    assert isinstance(seen[0], simt.Unset) and seen[0].array is y.device_array and seen[1] == np.int32(3)
    assert np.flatnonzero(y._memory.mask(y._host)).tolist() == [1, 5]
