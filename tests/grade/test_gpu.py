"""A case at the GPU is a process of its own: what it does to itself, to the GPU or to what it says has the right answer. The GPU is a stand-in."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_check import KERNEL, TWICE

from lanewise.grading import gpu as judged
from lanewise.grading import sandbox
from lanewise.grading.check import check
from lanewise.grading.gpu import Gpu, GpuTrouble, Quarantine, values_on_gpu
from lanewise.grading.gpu_job import GUARD, Buffer, Job, read_job
from lanewise.names import find_course

pytestmark = pytest.mark.slow  # a process a case: a second each in sum

STAND_IN = Path(__file__).with_name("stand_in_gpu.py")


@pytest.fixture
def gpu(tmp_path):
    device = tmp_path / "stand_in_gpu.py"
    device.write_text(STAND_IN.read_text(encoding="utf-8").replace('"MARK"', repr(str(tmp_path))), encoding="utf-8")
    return Gpu(str(device), 20.0, Quarantine(tmp_path / "set-aside"))


def run(gpu, word, **changes):
    return values_on_gpu(replace(TWICE, **changes), f"// stand-in: {word}\n{KERNEL}", lambda case: 0, gpu)


def seen(gpu):
    """(kernel, process) of every launch."""
    return [tuple(line.split()) for line in Path(gpu.device).with_name("seen").read_text().splitlines()]


def test_each_case_and_the_probe_have_a_process_each_and_two_launches(gpu):
    assert run(gpu, "right") is None
    launches = seen(gpu)
    assert [kernel for kernel, _ in launches] == ["probe"] + ["twice"] * 6
    assert len({process for _, process in launches}) == 4 and launches[1] == launches[2]


KERNELS_OWN = {
    "illegal address": ("out-of-bounds", "an address was accessed that belongs to no array."),
    "nothing": ("unwritten-output", "out[0] was never written."),
    "one element left": ("unwritten-output", "out[5] was never written."),
    "NaN where it wrote nothing": ("wrong-values", "out[5] is nan"),
    "in front": ("out-of-bounds", "memory in front of out was written."),
    "behind": ("out-of-bounds", "memory behind out was written."),
    "writes to the guard and sleeps": ("out-of-bounds", "memory in front of x was written."),
    "input": ("wrong-values", "x is an input, but was changed"),
    "second launch": ("wrong-values", "out[1] is "),
}


@pytest.mark.parametrize("word", KERNELS_OWN)
def test_what_the_kernel_did_is_the_kernels(gpu, word):
    kind, says = KERNELS_OWN[word]
    failure = run(gpu, word)
    assert (failure.kind, failure.case) == (kind, 0) and failure.message.startswith(f"on the GPU: {says}"), failure
    assert gpu.quarantine.why() == ""


@pytest.mark.parametrize(("word", "says"), [
    ("crash", "ended with signal 11"), ("garbage", "can't be read"), ("memory error", "failed (MemoryError: out of memory)"),
])  # fmt: skip
def test_a_process_that_gives_no_answer_is_no_fault_of_the_kernel(gpu, word, says):
    with pytest.raises(GpuTrouble) as told:
        run(gpu, word)
    assert says in str(told.value)
    assert gpu.quarantine.why() == ""


def test_a_hang_is_ended_by_its_clock(gpu):
    """The stand-in would hang for longer than a test may take."""
    with pytest.raises(GpuTrouble, match="a process at the GPU was ended after 2 seconds"):
        run(replace(gpu, seconds=2.0), "hang")


def test_a_flood_of_printf_reaches_nobody(gpu):
    assert run(gpu, "printf flood") is None


def test_an_older_gpu_leaves_the_verdict_to_the_simulator(gpu):
    assert run(gpu, "unfit") is None


@pytest.mark.parametrize("word", ["lost", "lost and hangs"])
def test_a_gpu_that_is_lost_is_set_aside_and_no_kernel_is_blamed(gpu, word):
    gpu = replace(gpu, seconds=2.0)
    with pytest.raises(GpuTrouble, match="the GPU was set aside, for a kernel known to be good didn't run"):
        run(gpu, word)
    before = len(seen(gpu))
    with pytest.raises(GpuTrouble, match="the GPU was set aside: a kernel known to be good"):
        run(gpu, "right")
    assert len(seen(gpu)) == before, "nothing more is launched"
    noted = json.loads(gpu.quarantine.path.read_text())
    gpu.quarantine.path.write_text(json.dumps(noted | {"boot": "another"}))
    assert gpu.quarantine.why() == "", "a restart lifts it"


def test_a_gpu_that_calculates_wrongly_is_set_aside(gpu, monkeypatch):
    monkeypatch.setattr(judged, "PROBE_SOURCE", "// another")
    text = Path(gpu.device).read_text().replace("3 * values[0] + 1", "3 * values[0]")
    Path(gpu.device).write_text(text)
    with pytest.raises(GpuTrouble, match="gave other values"):
        run(gpu, "right")


def test_a_note_that_says_nothing_sets_nothing_aside(tmp_path):
    for text in ("", "[]", "{}", '{"boot": 1, "why": "x"}', "\0"):
        (tmp_path / "note").write_text(text)
        assert Quarantine(tmp_path / "note").why() == ""


def test_hidden_cases_have_the_secrets_data_and_the_failed_case_is_named(gpu):
    verdict = check(TWICE, f"// stand-in: hidden only wrong\n{KERNEL}", gpu=gpu, secret=lambda: 99)
    assert (verdict.kind, verdict.score) == ("wrong-values", 0)
    x = TWICE.cases[2].data(99)["x"]
    assert verdict.message.startswith(f"Case 3 (a hidden one, secret length): on the GPU: out[3] is {2 * x[3] + 1:.7g}, expected {2 * x[3]:.7g}; ")
    assert [case.passed for case in verdict.cases] == [True, True, False, True]


def test_a_kernel_that_fails_on_the_simulator_never_reaches_the_gpu(gpu):
    assert check(TWICE, KERNEL.replace("if (i < n)", "if (true)"), gpu=gpu).kind == "out-of-bounds"
    assert not Path(gpu.device).with_name("seen").exists()


@pytest.mark.parametrize(("word", "kind", "score"), [("right", None, 1), ("illegal address", "out-of-bounds", 0), ("crash", "infrastructure", 0)])
def test_the_sandbox_passes_on_what_the_gpu_says(gpu, tmp_path, word, kind, score):
    """The whole way, with the course's own exercise: its stand-in computes 2 x where x * x is right, so x is 0 or 2."""
    course = find_course()
    key = course.exercise("ch01a")
    root = tmp_path / "course"
    (root / "kernels").mkdir(parents=True)
    spec = course.spec(key).read_text(encoding="utf-8").replace("rng.standard_normal(n, dtype=np.float32)", "2 * rng.integers(0, 2, n).astype(np.float32)")
    (root / "kernels" / f"{key}.py").write_text(spec)
    text = f"// stand-in: {word}\n" + course.solution(key).read_text(encoding="utf-8")
    verdict = sandbox.grade(key, text.encode(), type(course)(root), gpu=gpu)
    assert (verdict.kind, verdict.score) == (kind, score), verdict.message
    assert "Traceback" not in verdict.message and str(tmp_path) not in verdict.message


def test_a_job_is_read_as_it_was_written(tmp_path):
    buffers = (Buffer("<f4", (2, 3)), Buffer("<u2", ()), Buffer("<i4", (0,)))
    job = Job("text", "k", ("-DA=1",), (1, 2, 3), (4,), 5, (0, 1, 2, ("<f8", np.float64(0.1).tobytes().hex())), buffers, 2)
    images = [np.arange(2 * GUARD + buffer.nbytes, dtype=np.uint32).astype(np.uint8) for _ in range(2) for buffer in buffers]
    with (tmp_path / "job").open("wb") as file:
        job.write(file, images)
    with (tmp_path / "job").open("rb") as file:
        again, launches = read_job(file)
    assert again == job and all(np.array_equal(a, b) for a, b in zip([image for one in launches for image in one], images, strict=True))
    with pytest.raises(ValueError, match="bytes of arrays came where"):
        job.split(b"")
