"""Which device is chosen, and cp.cuda, cp.random and device memory on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from lanewise import cp, twin
from lanewise.twin import memory

IMPLEMENTATIONS = ["twin", "cupy"] if cp.find_device().backend == "gpu" else ["twin"]


@pytest.fixture(params=IMPLEMENTATIONS)
def xp(request):
    return twin if request.param == "twin" else cp


def python(code: str, **environment: str) -> subprocess.CompletedProcess:
    clean = {name: value for name, value in os.environ.items() if name != "LANEWISE_DEVICE"}
    return subprocess.run([sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, text=True, timeout=60)


def test_backend_is_named():
    assert cp.backend in ("gpu", "simulator") and cp.backend == cp.find_device().backend
    assert cp.find_device().why.endswith(".")


def test_simulator_can_be_forced():
    answer = python("from lanewise import cp; print(cp.backend, type(cp.zeros(1)).__module__)", LANEWISE_DEVICE="simulator")
    assert answer.stdout.split() == ["simulator", "lanewise.twin.array"], answer.stderr


def test_gpu_that_is_not_there_is_one_sentence():
    answer = python("from lanewise import cp\nimport lanewise.cp as m\nm._ask_driver = lambda: (0, None)\ncp.zeros(1)", LANEWISE_DEVICE="gpu")
    assert answer.stderr.splitlines()[-1] == (
        "RuntimeError: LANEWISE_DEVICE=gpu asks for a GPU, but no NVIDIA driver was found; unset it to use the simulator."
    )


def test_unknown_device_is_one_sentence():
    answer = python("from lanewise import cp; cp.zeros(1)", LANEWISE_DEVICE="tpu")
    assert answer.stderr.splitlines()[-1] == "ValueError: LANEWISE_DEVICE is 'tpu': set it to simulator or gpu, or unset it."


def test_first_array_comes_within_a_tenth_of_a_second():
    """Of processor time: a busy machine makes nobody import more."""
    code = "import numpy, sys, time; t = time.process_time(); from lanewise import cp; cp.zeros(4).sum();print(time.process_time() - t, 'cupy' in sys.modules)"
    runs = [python(code, LANEWISE_DEVICE="simulator").stdout.split() for _ in range(3)]
    assert min(float(seconds) for seconds, _ in runs) < 0.1
    assert all(cupy == "False" for _, cupy in runs)


DRIVERS = {
    "none": ((0, None), "No NVIDIA driver was found."),
    "no_gpu": ((0, (13, 0)), "The NVIDIA driver reports no GPU."),
    "old": ((1, (11, 4)), "The NVIDIA driver speaks CUDA 11.4 and CuPy needs 12.0 or later: update the driver."),
    "no_cupy": ((1, (13, 0)), "CuPy is not installed (pip install cupy-cuda13x)."),
    "no_cupy_12": ((2, (12, 6)), "CuPy is not installed (pip install cupy-cuda12x)."),
}


@pytest.mark.parametrize("name", DRIVERS)
def test_why_there_is_no_gpu(monkeypatch, name):
    answer, why = DRIVERS[name]
    monkeypatch.setattr(cp, "_ask_driver", lambda: answer)
    monkeypatch.setattr(cp.importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("LANEWISE_DEVICE", raising=False)
    found = cp.find_device.__wrapped__()
    assert (found.backend, found.gpus, found.driver, found.why) == ("simulator", *answer, why)


def test_a_gpu_with_cupy_is_taken(monkeypatch):
    monkeypatch.setattr(cp, "_ask_driver", lambda: (2, (13, 0)))
    monkeypatch.setattr(cp.importlib.util, "find_spec", lambda name: "a spec")
    monkeypatch.delenv("LANEWISE_DEVICE", raising=False)
    assert cp.find_device.__wrapped__() == cp.FoundDevice("gpu", 2, (13, 0), "2 GPUs found.")


def test_broken_cupy_says_what_to_do(monkeypatch):
    def broken(name):
        raise ImportError("libcublas.so.13: cannot open shared object file\nand more")

    monkeypatch.setattr(cp.importlib, "import_module", broken)
    with pytest.raises(
        ImportError, match=r"can't be loaded \(libcublas.so.13: cannot open shared object file\): install it anew, or set LANEWISE_DEVICE=simulator"
    ):
        cp.real_cupy()


def test_unknown_names_say_what_to_do():
    with pytest.raises(AttributeError, match="The simulator's cp has no 'fft'"):
        twin.fft  # noqa: B018
    assert "zeros" in dir(cp) and "RawKernel" in dir(cp)


def test_streams_and_events(xp):
    stream = xp.cuda.Stream(non_blocking=True)
    start, end = xp.cuda.Event(), xp.cuda.Event()
    with stream:
        assert xp.cuda.get_current_stream() == stream
        start.record()
        time.sleep(0.01)
        end.record(stream)
    end.synchronize()
    stream.synchronize()
    assert xp.cuda.get_current_stream() == xp.cuda.Stream.null
    assert end.done and xp.cuda.get_elapsed_time(start, end) >= 0.0


def test_elapsed_time_is_milliseconds():
    start = twin.cuda.Stream.null.record()
    time.sleep(0.02)
    end = twin.cuda.Stream.null.record()
    assert 20 <= twin.cuda.get_elapsed_time(start, end) < 2000


def test_elapsed_time_needs_recorded_events(xp):
    with pytest.raises(RuntimeError, match="cudaErrorInvalidResourceHandle"):
        xp.cuda.get_elapsed_time(xp.cuda.Event(), xp.cuda.Event())


def test_devices(xp):
    assert xp.cuda.runtime.getDeviceCount() >= 1
    with xp.cuda.Device(0) as device:
        assert device.id == 0 and device == xp.cuda.Device(0)
        device.synchronize()
    free, total = xp.cuda.Device().mem_info
    assert 0 < free <= total
    attributes = xp.cuda.Device(0).attributes
    assert attributes["MaxThreadsPerBlock"] == 1024 and attributes["WarpSize"] == 32 and attributes["MaxSharedMemoryPerBlock"] == 49152
    properties = xp.cuda.runtime.getDeviceProperties(0)
    assert isinstance(properties["name"], bytes) and properties["warpSize"] == 32 and properties["maxThreadsPerBlock"] == 1024
    assert xp.cuda.Device(0).compute_capability == f"{properties['major']}{properties['minor']}"
    xp.cuda.runtime.deviceSynchronize()
    xp.get_default_memory_pool().free_all_blocks()
    assert xp.cuda.is_available()


def test_device_that_is_not_there(xp):
    with pytest.raises(RuntimeError, match="cudaErrorInvalidDevice"):
        xp.cuda.Device(99).use()


def test_simulated_device_is_a_hopper():
    assert twin.cuda.Device(0).compute_capability == "90"
    assert twin.cuda.runtime.getDeviceCount() == 1


if cp.backend == "gpu" and cp.cuda.Device(0).compute_capability == "90":

    def test_simulated_limits_are_those_of_the_real_gpu():
        real, simulated = cp.cuda.runtime.getDeviceProperties(0), twin.cuda.runtime.getDeviceProperties(0)
        for name in set(simulated) - {"name", "totalGlobalMem", "pciBusID", "pciDeviceID", "multiProcessorCount", "l2CacheSize"}:
            assert tuple(np.atleast_1d(real[name])) == tuple(np.atleast_1d(simulated[name])), name


RANDOM = {
    "random": ((), {}, np.float64, 0.5),
    "standard_normal": ((), {}, np.float64, 0.0),
    "uniform": ((-1, 3), {}, np.float64, 1.0),
    "integers": ((0, 11), {}, np.int64, 5.0),
    "standard_exponential": ((), {}, np.float64, 1.0),
    "random_f32": ((), {"dtype": np.float32}, np.float32, 0.5),
    "standard_normal_f32": ((), {"dtype": np.float32}, np.float32, 0.0),
    "uniform_f32": ((2, 4), {"dtype": np.float32}, np.float32, 3.0),
    "integers_i32": ((0, 11), {"dtype": np.int32}, np.int32, 5.0),
}


@pytest.mark.parametrize("name", RANDOM)
def test_generator(xp, name):
    args, kwargs, dtype, mean = RANDOM[name]
    method = name.removesuffix("_f32").removesuffix("_i32")
    a = getattr(xp.random.default_rng(3), method)(*args, size=(200, 50), **kwargs)
    b = getattr(xp.random.default_rng(3), method)(*args, size=(200, 50), **kwargs)
    assert isinstance(a, xp.ndarray) and a.dtype == dtype and a.shape == (200, 50)
    np.testing.assert_array_equal(a.get(), b.get())
    spread = float(a.astype(np.float64).std())
    assert spread > 0 and abs(float(a.mean(dtype=np.float64)) - mean) < 5 * spread / 100
    assert getattr(xp.random.default_rng(3), method)(*args, **kwargs).shape == ()


def test_generator_fills_out(xp):
    out = xp.empty((3, 4), np.float32)
    xp.random.default_rng(1).standard_normal(dtype=np.float32, out=out)
    assert np.isfinite(out.get()).all()
    with pytest.raises(TypeError, match="Supplied output array has the wrong type. Expected float64, got float32"):
        xp.random.default_rng(1).random(out=out)


def test_module_level_random(xp):
    for call in (lambda: xp.random.rand(3, 2), lambda: xp.random.randn(4), lambda: xp.random.randint(0, 9, size=5), lambda: xp.random.normal(size=(2, 2))):
        xp.random.seed(5)
        first = call()
        xp.random.seed(5)
        np.testing.assert_array_equal(call().get(), first.get())
    assert xp.random.randn(3, dtype=np.float32).dtype == np.float32 and xp.random.rand(2, 3).dtype == np.float64


def test_addresses_and_offsets():
    a, b = twin.zeros(3, np.float32), twin.zeros(3, np.float32)
    assert a.data.ptr % 256 == 0 and abs(a.data.ptr - b.data.ptr) >= 256
    assert a[2:].data.ptr - a.data.ptr == 8 and int(a.data + 4) == a.data.ptr + 4


def test_memory_pointers(xp):
    a = xp.zeros(8, np.float32)
    view = xp.ndarray((2, 2), np.float32, a.data + 8)
    view[...] = xp.asarray(np.float32([[1, 2], [3, 4]]))
    np.testing.assert_array_equal(a.get(), [0, 0, 1, 2, 3, 4, 0, 0])
    source, target = np.float32([7, 8]), np.zeros(2, np.float32)
    a.data.copy_from_host(source.ctypes.data, 8)
    (a.data + 12).copy_to_host(target.ctypes.data, 8)
    assert a.get()[:2].tolist() == [7, 8] and target.tolist() == [2, 3]
    a.data.memset(0, 32)
    assert not a.any()


def test_pointer_beyond_its_allocation_is_refused():
    with pytest.raises(ValueError, match="16 bytes from byte 0 on don't fit an allocation of 8 bytes"):
        twin.ndarray(4, np.float32, twin.zeros(2, np.float32).data)


def test_pinned_memory_is_host_memory_for_arrays():
    host = np.frombuffer(twin.cuda.alloc_pinned_memory(24), np.float32, 5)
    host[:] = range(5)
    a = twin.empty(5, np.float32)
    a.set(host)
    assert a.get().tolist() == [0, 1, 2, 3, 4]


def test_empty_memory_is_poisoned_and_known_as_unset():
    a = twin.empty((2, 3), np.float32)
    assert np.isnan(a.get()).all() and a._memory.mask(a._host).all()
    assert twin.empty_like(twin.zeros(2, np.int32)).get().tolist() == [np.int32(-0x32323233)] * 2
    assert twin.zeros(3)._memory.mask(twin.zeros(3)._host) is None
    a[0] = 1
    assert a._memory.mask(a._host).tolist() == [[False] * 3, [True] * 3]
    assert a[0]._memory.mask(a[0]._host) is None
    assert a.T._memory.mask(a.T._host).tolist() == [[False, True]] * 3
    a[1].fill(2)
    assert a._memory.unset is None


@pytest.mark.parametrize("write", [lambda a: a.fill(1), lambda a: a.set(np.ones(4)), lambda a: twin.add(a * 0, 1, out=a), lambda a: twin.copyto(a, 1)])
def test_every_way_to_write_sets(write):
    a = twin.empty(4)
    write(a)
    assert a._memory.mask(a._host) is None


def test_too_large_an_array_is_one_sentence(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 10**9)
    with pytest.raises(MemoryError, match=r"An array of 2.1 GB was asked for, but .* 1.0 GB are free: take smaller sizes."):
        twin.empty((1 << 29,), np.float32)
    with pytest.raises(twin.cuda.OutOfMemoryError):
        twin.zeros((1 << 29,), np.float32)


def test_free_memory_is_a_part_of_the_total():
    assert 0 < memory.free_bytes() <= memory.total_bytes()
