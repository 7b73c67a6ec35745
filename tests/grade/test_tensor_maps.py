"""Arguments that are tensor maps, on their way to the simulator and to a GPU."""

import io

import numpy as np

from lanewise import simt
from lanewise.exercise import Launch, TensorMap
from lanewise.grading.check import arguments
from lanewise.grading.gpu_job import Buffer, Job, Mapped, image_of, read_job

LAUNCH = Launch(1, 32, (TensorMap("x", (8, 64), "128B"), TensorMap("out", (8, 16)), "x", "n"))


def test_names_and_maps_stand_in_the_order_of_the_parameters():
    assert LAUNCH.names == ("x", "out", "x", "n")
    assert LAUNCH.maps == (TensorMap("x", (8, 64), "128B"), TensorMap("out", (8, 16)), None, None)
    assert (Launch(1, 32, "x n").names, Launch(1, 32, "x n").maps) == (("x", "n"), (None, None))


def test_arguments_map_the_cases_own_arrays():
    data = {"x": np.zeros((8, 64), np.float16), "out": np.zeros((8, 16), np.float16), "n": np.int32(8)}
    x, out, plain, n = arguments(LAUNCH, data, {"out"})
    assert isinstance(x, simt.TensorMap) and x.array is data["x"] and not x.output
    assert (x.box, x.swizzle) == ((8, 64), 128)
    assert out.array is data["out"] and out.output and out.swizzle == 0
    assert plain is data["x"] and n == 8


def test_a_job_keeps_its_maps():
    buffers = (Buffer("<f2", (8, 64)), Buffer("<f2", (8, 16)))
    args = (Mapped(0, (8, 64), "128B"), Mapped(1, (8, 16), "none"), 0, ("<i4", np.int32(8).tobytes().hex()))
    job, file = Job("text", "k", (), (1,), (32,), 0, args, buffers), io.BytesIO()
    job.write(file, [image_of(bytes(buffer.nbytes)) for buffer in buffers])
    file.seek(0)
    assert read_job(file)[0] == job
