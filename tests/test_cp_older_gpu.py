"""A GPU older than a kernel needs: it runs on the simulator, the values come back to the GPU, and one line says why. The GPU is a stand-in."""

from __future__ import annotations

import importlib
import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import stand_in_cupy

import lanewise
from lanewise import cp, profiling, rungs, simt, twin
from lanewise.exercise import Case, Exercise, Launch, load
from lanewise.grading import gpu_device
from lanewise.grading.gpu import Gpu, Quarantine, values_on_gpu
from lanewise.grading.gpu_child import Unfit
from lanewise.grading.gpu_job import Buffer, Job, image_of
from lanewise.names import Key, find_course
from lanewise.simt import nvrtc
from lanewise.twin import older_gpu, raw

pytestmark = pytest.mark.slow

PLAIN = 'extern "C" __global__ void twice(const float* x, float* y, int n) {\n    int i = blockIdx.x * 32 + threadIdx.x;\n    if (i < n) y[i] = 2 * x[i];\n}\n'


def with_body(body: str, head: str = "", before: str = "") -> str:
    return PLAIN.replace("    if (i", f"    {body}\n    if (i").replace("void", f"void {before}".rstrip()).replace("extern", f"{head}extern", 1)


# Every form in which a compiler says that the GPU is too old.
ASYNC = with_body('asm volatile("cp.async.wait_all;" ::: "memory");')
WGMMA = with_body('asm volatile("wgmma.fence.sync.aligned;" ::: "memory");')
TEXTS = {
    "a feature": (ASYNC, "8.0"),
    "an undefined name": (with_body("if (__reduce_add_sync(~0u, 1u) != 32) return;"), "8.0"),
    "an incomplete type": (
        with_body(
            "nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __nv_bfloat16, nvcuda::wmma::row_major> f;"
            " nvcuda::wmma::fill_fragment(f, __float2bfloat16(1.0f));", "#include <mma.h>\n#include <cuda_bf16.h>\n",
        ),
        "8.0",
    ),
    "clusters": (with_body("", before="__cluster_dims__(1)"), "9.0"),
    "wgmma": (WGMMA, "9.0"),
}  # fmt: skip


@pytest.fixture
def on(monkeypatch):
    """`on("75")`: from there on `cp` is CuPy on a GPU of compute capability 7.5; gives the stand-in."""
    before, own = {module: dict(vars(module)) for module in (cp, twin)}, set(runpy.run_path(cp.__file__))

    def put(capability: str):
        stand_in = stand_in_cupy.make(capability)
        for name in set(vars(cp)) - own:  # what cp has looked up and kept
            del vars(cp)[name]
        cp.real_cupy = lambda: stand_in
        cp.find_device = lambda: cp.FoundDevice("gpu", 1, (13, 0), "1 GPU found.")
        monkeypatch.setattr(older_gpu, "_said", set())
        monkeypatch.delitem(sys.modules, "lanewise.twin.checked", raising=False)
        importlib.import_module("lanewise.twin.checked")
        return stand_in

    yield put
    sys.modules.pop("lanewise.twin.checked", None)
    for module, names in before.items():
        vars(module).clear()
        vars(module).update(names)


def arrays(n=40):
    x = np.arange(n, dtype=np.float32) + 1
    return x, cp.asarray(x), cp.asarray(np.full(n, np.nan, np.float32))


@pytest.mark.parametrize("name", TEXTS)
def test_what_needs_a_newer_gpu_runs_on_the_simulator(on, capfd, name):
    code, need = TEXTS[name]
    gpu = on("75")
    x, x_gpu, y_gpu = arrays()
    kernel = cp.RawKernel(code, "twice")
    for again in (kernel, kernel, cp.RawKernel(code, "twice")):
        y_gpu[...] = cp.asarray(np.full(40, np.nan, np.float32))
        again((2,), (32,), (x_gpu, y_gpu, np.int32(40)))
        np.testing.assert_array_equal(y_gpu.get(), 2 * x)
    np.testing.assert_array_equal(x_gpu.get(), x)
    said = capfd.readouterr()
    assert said.err == f"twice needs compute capability {need} and this GPU has 7.5: it runs on the simulator.\n" and said.out == ""
    assert gpu.launches == [] and kernel.simulated_because and gpu.cuda.Device().synchronized == 3


@pytest.mark.parametrize(("capability", "words"), [
    ("80", "twice needs compute capability 9.0 and this GPU has 8.0"),
    ("120", "twice needs the instructions of compute capability 9.0 alone (sm_90a) and this GPU has 12.0"),
    ("90", ""),
])  # fmt: skip
def test_wgmma_is_hoppers_alone(on, capfd, capability, words):
    gpu = on(capability)
    x, x_gpu, y_gpu = arrays()
    kernel = cp.RawKernel(WGMMA, "twice")
    kernel((2,), (32,), (x_gpu, y_gpu, np.int32(40)))
    assert kernel.simulated_because == words
    assert capfd.readouterr().err == (f"{words}: it runs on the simulator.\n" if words else "")
    assert gpu.launches == ([] if words else ["twice"])
    assert np.array_equal(y_gpu.get(), 2 * x) is bool(words), "the stand-in runs nothing"


def test_a_kernel_for_any_gpu_runs_on_this_one(on, capfd):
    gpu = on("75")
    _, x, y = arrays()
    kernel = cp.RawKernel(PLAIN, "twice")
    kernel((2,), (32,), (x, y, np.int32(40)))
    assert gpu.launches == ["twice"] and kernel.simulated_because == "" and capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("code", "error", "words"), [
    (ASYNC.replace("2 * x", "2 * z"), simt.CompileError, 'identifier "z" is undefined'),
    (ASYNC.replace("cp.async.wait_all", "cp.async.wait_some"), simt.CompileError, "Unknown modifier '.wait_some'"),
    (PLAIN.replace("2 * x", "2 * z"), simt.CompileError, 'identifier "z" is undefined'),
    (ASYNC.replace("void twice", "void thrice"), simt.KernelNotFound, "twice"),
    (PLAIN.replace("void twice", "void thrice"), simt.KernelNotFound, "twice"),
])  # fmt: skip
def test_other_errors_stay_what_they_are(on, capfd, code, error, words):
    on("75")
    kernel = cp.RawKernel(code, "twice")
    for ask in (kernel.compile, lambda: kernel.num_regs, lambda: kernel((1,), (32,), ())):
        with pytest.raises(error, match=words):
            ask()
    assert capfd.readouterr().err == ""


def test_an_error_of_cupys_own_compiler_is_no_older_gpu(on, capfd, monkeypatch):
    gpu = on("75")

    def missing(kernel):
        raise gpu.cuda.compiler.CompileException('kernel.cu(1): catastrophic error: cannot open source file "mma.h"')

    monkeypatch.setattr(gpu.RawKernel, "kernel", property(missing))
    with pytest.raises(simt.CompileError, match="cannot open source file"):
        cp.RawKernel(PLAIN, "twice").compile()
    assert capfd.readouterr().err == ""


def test_an_architecture_in_the_options_has_no_say(on, capfd):
    """CuPy compiles for the GPU that is there, the simulator for an H200; the letter of another GPU's architecture would break CuPy's compile."""
    gpu = on("75")
    x, x_gpu, y_gpu = arrays()
    for options in (("-arch=sm_90a",), ("--gpu-architecture=sm_80", "-DN=1"), ("-arch", "sm_120a")):
        cp.RawKernel(PLAIN, "twice", options)((2,), (32,), (x_gpu, y_gpu, np.int32(40)))
    assert gpu.launches == 3 * ["twice"] and capfd.readouterr().err == ""
    for options in (("-arch=sm_75",), ("-arch=sm_90a",)):  # on the simulator, too
        cp.RawKernel(TEXTS["an undefined name"][0], "twice", options)((2,), (32,), (x_gpu, y_gpu, np.int32(40)))
        np.testing.assert_array_equal(y_gpu.get(), 2 * x)
        y_gpu[...] = cp.asarray(np.zeros(40, np.float32))
    assert capfd.readouterr().err == "twice needs compute capability 8.0 and this GPU has 7.5: it runs on the simulator.\n"
    gpu = on("90")
    _, x_gpu, y_gpu = arrays()
    for options in ((), ("-arch=sm_75",), ("-arch=sm_100a",), ("-arch=sm_90a",)):
        kernel = cp.RawKernel(WGMMA, "twice", options)
        kernel((2,), (32,), (x_gpu, y_gpu, np.int32(40)))
        assert kernel.options == options
    module = cp.RawModule(code=WGMMA, options=("-arch=sm_80",))
    module.get_function("twice")((2,), (32,), (x_gpu, y_gpu, np.int32(40)))
    assert gpu.launches == 5 * ["twice"] and capfd.readouterr().err == ""
    with pytest.raises(simt.CompileError, match="architecture"):
        cp.RawKernel(PLAIN, "twice", ("-arch=new",)).compile()
    with pytest.raises(simt.CompileError, match="architecture"):
        raw.RawKernel(PLAIN, "twice", ("-arch=new",)).compile()


def test_a_gpu_gets_its_own_instructions_where_they_are_asked_for(on):
    on("120")
    checked = importlib.import_module("lanewise.twin.checked")
    assert checked.as_simulated(("-arch=sm_120a", "-DN=1"))[:2] == ("-DN=1", "-arch=sm_120a")
    assert not any("arch" in option for option in checked.as_simulated(("-arch=sm_90a", "-DN=1")))


def test_another_error_of_the_driver_is_raised(on):
    gpu = on("75")
    gpu.RawKernel.kernel = property(lambda kernel: (_ for _ in ()).throw(gpu.cuda.driver.CUDADriverError("CUDA_ERROR_OUT_OF_MEMORY: out of memory")))
    with pytest.raises(gpu.cuda.driver.CUDADriverError, match="OUT_OF_MEMORY"):
        cp.RawKernel(PLAIN, "twice").compile()


def test_views_keep_their_places(on):
    on("75")
    whole = cp.asarray(np.arange(64, dtype=np.float32))
    kernel = cp.RawKernel(ASYNC, "twice")
    kernel((1,), (32,), (whole[:16], whole[32:48], np.int32(16)))
    kernel((1,), (32,), (whole[48:64], whole[50:64], np.array(2, np.int32)))  # they overlap; one element of NumPy's is passed by value
    expected = np.arange(64, dtype=np.float32)
    expected[32:48] = 2 * expected[:16]
    expected[50:52] = 2 * expected[48:50]
    np.testing.assert_array_equal(whole.get(), expected)
    kernel((1,), (32,), (cp.asarray(np.zeros(0, np.float32)), cp.asarray(np.zeros(0, np.float32)), np.int32(0)))


def test_findings_are_raised_and_what_was_written_stays(on):
    on("75")
    x, x_gpu, y_gpu = arrays(16)
    wrong = ASYNC.replace("i < n", "i < n + 1")
    with pytest.raises(simt.KernelFault) as ours:
        cp.RawKernel(wrong, "twice")((1,), (32,), (x_gpu, y_gpu, np.int32(16)))
    np.testing.assert_array_equal(y_gpu.get(), 2 * x)
    with pytest.raises(simt.KernelFault) as theirs:
        raw.RawKernel(wrong, "twice")((1,), (32,), (twin.asarray(x), twin.zeros(16, np.float32), np.int32(16)))
    assert "x[16]" in str(ours.value) and str(ours.value) == str(theirs.value)
    with pytest.raises(simt.KernelFault, match="3 arguments"):
        cp.RawKernel(ASYNC, "twice")((1,), (32,), (x_gpu, y_gpu))
    with pytest.raises(TypeError, match="lies in host memory"):
        cp.RawKernel(ASYNC, "twice")((1,), (32,), (x, y_gpu, np.int32(16)))


def test_printf_goes_to_standard_output(on, capfd):
    on("75")
    _, x, y = arrays(4)
    cp.RawKernel(with_body('asm volatile("cp.async.wait_all;"); if (i == 3) printf("thread %d\\n", i);'), "twice")((1,), (32,), (x, y, np.int32(4)))
    assert capfd.readouterr().out == "thread 3\n"


ROOM = with_body('extern __shared__ float s[]; asm volatile("cp.async.wait_all;"); s[12287 + (i & 1)] = 1;')


def test_attributes_are_the_simulators(on):
    on("75")
    kernel, alike = cp.RawKernel(ROOM, "twice"), raw.RawKernel(ROOM, "twice")
    assert kernel.attributes == alike.attributes and kernel.num_regs == alike.num_regs > 0
    assert kernel.max_dynamic_shared_size_bytes == 48 << 10
    x, x_gpu, y_gpu = arrays()
    with pytest.raises(simt.KernelFault, match="max_dynamic_shared_size_bytes"):
        kernel((2,), (32,), (x_gpu, y_gpu, np.int32(40)), shared_mem=100 << 10)
    kernel.max_dynamic_shared_size_bytes = 100 << 10
    kernel((2,), (32,), (x_gpu, y_gpu, np.int32(40)), shared_mem=100 << 10)
    np.testing.assert_array_equal(y_gpu.get(), 2 * x)
    assert kernel.max_dynamic_shared_size_bytes == 100 << 10 and kernel.name == "twice" and kernel.code == ROOM


def test_more_shared_memory_than_this_gpu_has(on, capfd):
    gpu = on("75")
    x, x_gpu, y_gpu = arrays()
    kernel = cp.RawKernel(PLAIN, "twice")
    kernel.max_dynamic_shared_size_bytes = 64 << 10
    kernel((2,), (32,), (x_gpu, y_gpu, np.int32(40)), shared_mem=64 << 10)
    assert gpu.launches == ["twice"] and capfd.readouterr().err == ""
    kernel.max_dynamic_shared_size_bytes = 96 << 10
    kernel((2,), (32,), (x_gpu, y_gpu, np.int32(40)), shared_mem=96 << 10)
    np.testing.assert_array_equal(y_gpu.get(), 2 * x)
    assert capfd.readouterr().err == "twice asks for 96 KB of shared memory a block and this GPU has 64: it runs on the simulator.\n"
    assert older_gpu.shared_shortfall("twice", 228 << 10, "75") == "", "no GPU has so much: CuPy says so"


TEMPLATE = """
__device__ int table[4];
template <typename T> __global__ void fill(T* y) { asm volatile("cp.async.wait_all;"); y[threadIdx.x] = T(threadIdx.x) / 2; }
"""


def test_modules(on, capfd):
    on("75")
    module = cp.RawModule(code=TEMPLATE, name_expressions=["fill<float>"])
    module.compile()
    y = cp.asarray(np.zeros(32, np.float32))
    kernel = module.get_function("fill<float>")
    kernel((1,), (32,), (y,))
    np.testing.assert_array_equal(y.get(), np.arange(32) / 2)
    assert capfd.readouterr().err == "fill<float> needs compute capability 8.0 and this GPU has 7.5: it runs on the simulator.\n"
    with pytest.raises(simt.KernelNotFound, match="fall"):
        module.get_function("fall")
    with pytest.raises(
        simt.Unsupported, match="the module needs compute capability 8.0 and this GPU has 7.5: table lies in the simulator, set LANEWISE_DEVICE="
    ):
        module.get_global("table")
    assert capfd.readouterr().err == ""
    with pytest.raises(KeyError, match="no __device__ or __constant__ variable 'row'"):
        cp.RawModule(code=PLAIN).get_global("row")
    with pytest.raises(simt.CompileError, match='identifier "z" is undefined'):
        cp.RawModule(code=ASYNC.replace("2 * x", "2 * z")).get_function("twice")


def test_profile_asks_no_gpu_that_is_too_old(on, capfd):
    gpu = on("75")
    x, x_gpu, y_gpu = arrays()
    report = lanewise.profile(cp.RawKernel(ASYNC, "twice"), (2,), (32,), (x_gpu, y_gpu, np.int32(40)), outputs=(1,))
    assert report.ok and report.gpu_values_equal is None and report.gpu_message == "" and gpu.launches == []
    assert capfd.readouterr().err == "twice needs compute capability 8.0 and this GPU has 7.5: it runs on the simulator.\n"
    assert np.isnan(y_gpu.get()).all(), "on copies"
    report = profiling.profile(cp.RawKernel(PLAIN, "twice"), (2,), (32,), (x_gpu, y_gpu, np.int32(40)))
    assert report.gpu_values_equal is False and gpu.launches == ["twice"], "where the GPU can run it, it does"


def test_fast_kernels_are_not_simulated(on, monkeypatch):
    """Tensors of a model's size would take the simulator days."""
    on("86")
    monkeypatch.setattr(rungs, "_float32_kernel", rungs._float32_kernel.__wrapped__)
    with pytest.raises(ValueError, match="flash_registers asks for 105 KB of shared memory a block and this GPU has 99: there is no fast kernel here"):
        rungs._float32_kernel(find_course().kernel("ch12_flash_registers").read_text(encoding="utf-8"))
    kernel = cp.RawKernel(PLAIN, "twice")
    assert rungs.fast(kernel) is kernel and rungs.fast(raw.RawKernel) is raw.RawKernel


@pytest.mark.parametrize("name", ["ch19_scores_values", "ch20_scores_swizzled", "ch21_rows_stages", "ch25_query_tile", "ch26_scores_tile"])
def test_kernels_of_the_course(on, capfd, name):
    """A launch through `cp` as a chapter's cell makes it, tensor maps included."""
    on("75")
    course = find_course()
    exercise = load(Key.parse(name), course)
    case = exercise.cases[0]
    data, expected = case.data(0), exercise.reference(case.data(0))
    launch = case.launch_for(data)
    device = {key: cp.asarray(value) if isinstance(value, np.ndarray) else value for key, value in data.items()}
    args = tuple(
        device[key] if box is None else cp.tensor_map(device[key], box.box, swizzle=box.swizzle) for key, box in zip(launch.names, launch.maps, strict=True)
    )
    kernel = cp.RawKernel(course.kernel(exercise.key).read_text(encoding="utf-8"), exercise.kernel, exercise.options)
    if launch.shared_bytes > 48 << 10:
        kernel.max_dynamic_shared_size_bytes = launch.shared_bytes
    grid, block = (dims if isinstance(dims, tuple) else (dims,) for dims in (launch.grid, launch.block))
    kernel(grid, block, args, shared_mem=launch.shared_bytes)
    rtol, atol = (getattr(exercise, limit) if getattr(case, limit) is None else getattr(case, limit) for limit in ("rtol", "atol"))
    for key, right in expected.items():
        np.testing.assert_allclose(device[key].get().astype(np.float64), np.asarray(right, np.float64), rtol=rtol, atol=atol)
    assert f"{exercise.kernel} needs compute capability" in capfd.readouterr().err


JOB = Job(ASYNC, "twice", (), (1,), (32,), 0, (0, 0, ("<i4", "20000000")), (Buffer("<f4", (32,)),))


def test_a_case_on_the_gpu_is_unfit_and_not_simulated(on):
    gpu = on("75")
    image = image_of(bytes(128))
    with pytest.raises(Unfit) as told:
        gpu_device.run(JOB, [image])
    assert str(told.value) == "twice needs compute capability 8.0 and this GPU has 7.5" and told.value.whole
    with pytest.raises(Unfit) as told:
        gpu_device.run(replace(JOB, source=PLAIN, shared_bytes=96 << 10), [image])
    assert str(told.value) == "twice asks for 96 KB of shared memory a block and this GPU has 64" and not told.value.whole
    assert gpu.launches == [] and gpu.cuda.Device().synchronized == 0


DEVICE = """
from lanewise.grading.gpu_child import Unfit

def run(job, images):
    if job.kernel == "probe":
        images[1][4096:-4096].view("<i4")[:] = 3 * images[0][4096:-4096].view("<i4") + 1
        return images
    with open(__file__ + ".seen", "a") as file:
        file.write(job.kernel)
    if WHOLE or job.grid == (2,):
        raise Unfit("twice needs compute capability 8.0 and this GPU has 7.5", whole=WHOLE)
    images[1][4096:-4096].view("<f4")[:] = 2 * images[0][4096:-4096].view("<f4")
    return images
"""


@pytest.mark.slow  # a process a case
@pytest.mark.parametrize("whole", [True, False])
def test_a_verdict_by_the_simulator_alone_says_so(tmp_path, capfd, whole):
    def data(n):
        return lambda rng: {"x": rng.standard_normal(n, dtype=np.float32), "y": np.empty(n, np.float32), "n": np.int32(n)}

    exercise = Exercise(
        title="Twice", reference=lambda data: {"y": 2.0 * data["x"].astype(np.float64)},
        cases=tuple(Case(str(n), data(n), Launch(-(-n // 32), 32, "x y n")) for n in (32, 64, 40)),
        hints=("", ""), kernel="twice", key=Key(19, "a", "twice"),
    )  # fmt: skip
    device = tmp_path / "device.py"
    device.write_text(DEVICE.replace("WHOLE", str(whole)))
    told: list[str] = []
    assert values_on_gpu(exercise, ASYNC, lambda case: 0, Gpu(str(device), 20.0, Quarantine(tmp_path / "set-aside")), told.append) is None
    which = "" if whole else "2 of 3 cases "
    assert told == [f"ch19a_twice: {which}judged by the simulator alone; twice needs compute capability 8.0 and this GPU has 7.5."]
    assert Path(f"{device}.seen").read_text() == ("twice" if whole else "twice" * 4), "one is enough; the case that fits is launched twice"
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_the_note_comes_out_of_the_judging_process(tmp_path, capfd):
    from lanewise.grading import sandbox

    course = find_course()
    key = course.exercise("ch05b")
    device = tmp_path / "device.py"
    device.write_text(DEVICE.replace("WHOLE", "True"))
    verdict = sandbox.grade(key, course.solution(key).read_bytes(), course, gpu=Gpu(str(device), 20.0, Quarantine(tmp_path / "set-aside")))
    said = capfd.readouterr()
    assert verdict.passed and said.out == ""
    assert said.err == f"{key}: judged by the simulator alone; twice needs compute capability 8.0 and this GPU has 7.5.\n"
    assert "simulator alone" not in str(verdict) + json.dumps(verdict.as_dict())


def test_the_harness_of_a_gpu(on, tmp_path, monkeypatch, capsys):
    """All but the values of what the GPU itself runs: the stand-in runs nothing."""
    gpu = on("90")
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent / "gpu"), *sys.path])
    monkeypatch.setenv("OUT", str(tmp_path))
    harness = runpy.run_path(str(Path(__file__).parent / "gpu" / "older_gpu.py"), run_name="older_gpu_harness")
    assert harness["main"]() == 1
    written = json.loads((tmp_path / "older_gpu.json").read_text())
    wrong = {name: said for name, said in written["cases"].items() if said}
    assert written["capability"] == "90" and len(written["cases"]) == 10
    assert wrong == {"run_by_this_gpu": "AssertionError: the values on the GPU are wrong"}
    assert gpu.launches == ["twice"] and gpu.cuda.compiler._get_arch() == older_gpu.capability() == "90"
    assert "WRONG run_by_this_gpu AssertionError" in capsys.readouterr().out
    monkeypatch.setattr(older_gpu, "shortfall", lambda *args: "")
    assert harness["outcome"](harness["a_feature"]).startswith("CompileError: ")


def test_nobody_asks_more_than_the_compiler_knows(monkeypatch):
    """Without the pinned compiler nothing is claimed."""

    def nothing(*args):
        raise simt.CompileError("NVRTC is not installed")

    older_gpu._lowest.cache_clear()
    monkeypatch.setattr(nvrtc, "cubin", nothing)
    monkeypatch.setattr(nvrtc, "supported_archs", lambda: (75,))
    assert older_gpu.shortfall("twice", ASYNC, (), (), "75") == ""
    older_gpu._lowest.cache_clear()
    assert older_gpu.shortfall("twice", ASYNC, ("-arch=new",), (), "75") == ""
