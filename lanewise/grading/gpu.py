"""The values of a kernel on the GPU, once the simulator has nothing against it: each case in a process of its own, judged by this one.

A CUDA error ends the context that it happened in, a loop without an end keeps it: so a context serves one case. This process never opens the GPU. After a
case that didn't end well a kernel known to be good is run: if that fails, too, the GPU is set aside until the machine starts anew, and what was being graded
has no verdict. A clock decides nothing about a kernel: one that passed the simulator by its steps and doesn't end here is a matter for the teacher.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from lanewise.exercise import Case, Example
from lanewise.grading.compare import mismatch
from lanewise.grading.gpu_child import Unfit
from lanewise.grading.gpu_job import Buffer, Job, Mapped, guards_hold, image_of
from lanewise.grading.verdict import clean_text

DEVICE = "lanewise.grading.gpu_device"
CASE_SECONDS = 30.0  # CUDA's start, the compiler, two launches of milliseconds
UNKILLABLE_SECONDS = 10.0  # a process that is still there so long after it was killed waits for a driver that is lost
POISONS = (0xFF, 0x7B)  # NaN, and a large number: no element is right with both
LONGEST_LINE = 64 << 10
LONGEST_NOTE = 400  # characters
PROBE_SOURCE = """\
extern "C" __global__ void probe(const int* x, int* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 3 * x[i] + 1;
}
"""


class GpuTrouble(Exception):
    """There is no verdict, through no fault of the kernel that anybody can prove: a sentence. `lost`: why the GPU was set aside, "" where it works."""

    def __init__(self, message: str, lost: str = ""):
        super().__init__(message)
        self.lost = lost


@dataclass(frozen=True, slots=True)
class GpuFailure:
    """What a case did wrong on the GPU: a kind, a sentence, and which case (from 0)."""

    kind: str
    message: str
    case: int = 0


@dataclass(frozen=True, slots=True)
class Quarantine:
    """A note that the GPU can't be trusted. It holds until the machine starts anew, or somebody removes the file."""

    path: Path = field(default_factory=lambda: Path.home() / ".cache" / "lanewise" / "gpu-set-aside")

    def why(self) -> str:
        """Why the GPU was set aside, or ""."""
        try:
            noted = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return ""
        return str(noted.get("why", "")) if isinstance(noted, dict) and noted.get("boot") == _boot() else ""

    def note(self, why: str) -> None:
        """Set the GPU aside. Where the note can't be written, each verdict probes for itself."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps({"boot": _boot(), "why": why}), encoding="utf-8")
        except OSError:
            return


@dataclass(frozen=True, slots=True)
class Gpu:
    """How to reach the GPU: the module that launches (or the path of one), how long a case may take, where it is noted that it is out of order."""

    device: str = DEVICE
    seconds: float = CASE_SECONDS
    quarantine: Quarantine = field(default_factory=Quarantine)


def to_stderr(sentence: str) -> None:
    """Away from standard output, where a verdict reads the same on every machine."""
    print(sentence, file=sys.stderr)


def values_on_gpu(
    exercise: Example, text: str, seed_of: Callable[[Case], int], gpu: Gpu | None = None, note: Callable[[str], None] = to_stderr
) -> GpuFailure | None:
    """Run every case on the GPU and compare its outputs with the reference, as the simulator's were. Returns the first that is wrong.

    Called only for a kernel that passed on the simulator, whose verdict stands where this GPU can't run the kernel or a case of it: `note` is told so, once.
    Raises GpuTrouble where the GPU, or a process at it, gave no answer.
    """
    gpu = gpu or Gpu()
    unfit: list[Unfit] = []
    if why := gpu.quarantine.why():
        raise GpuTrouble(f"the GPU was set aside: {why}")
    with tempfile.TemporaryDirectory(prefix="lanewise-gpu-") as folder:
        _require_a_sound_gpu(gpu, folder)
        for number, case in enumerate(exercise.cases):
            try:
                failure = _case_on_gpu(exercise, case, text, seed_of(case), gpu, folder)
            except Unfit as error:
                unfit.append(error)
                if error.whole:
                    break
                continue
            if failure is not None:
                return replace(failure, message=f"on the GPU: {failure.message} On the simulator nothing is wrong.", case=number)
    if unfit:
        which = "" if unfit[-1].whole else f"{len(unfit)} of {len(exercise.cases)} cases "
        note(clean_text(f"{exercise.key}: {which}judged by the simulator alone; {unfit[-1]}.", LONGEST_NOTE))
    return None


def _case_on_gpu(exercise: Example, case: Case, text: str, seed: int, gpu: Gpu, folder: str) -> GpuFailure | None:
    """What is wrong with one case. Raises Unfit where this GPU can't run it."""
    data, untouched = case.data(seed), case.data(seed)
    expected = exercise.reference(case.data(seed))
    launch = case.launch_for(data)
    names = list(dict.fromkeys(name for name in launch.names if isinstance(data[name], np.ndarray)))
    buffers = tuple(Buffer(data[name].dtype.str, data[name].shape) for name in names)
    args = tuple(
        Mapped(names.index(name), box.box, box.swizzle) if box is not None else names.index(name) if name in names else _value(data[name])
        for name, box in zip(launch.names, launch.maps, strict=True)
    )
    job = Job(
        text, exercise.kernel, exercise.options, _dims(launch.grid), _dims(launch.block), launch.shared_bytes, args, buffers, len(POISONS)
    )  # fmt: skip
    written = expected.keys() - set(exercise.updates)
    contents = [bytes([poison]) * data[name].nbytes if name in written else untouched[name].tobytes() for poison in POISONS for name in names]
    answer, raw = _ask(job, [image_of(content) for content in contents], gpu, folder)
    if answer["ended"] == "unfit":
        raise Unfit(str(answer["why"]), bool(answer["whole"]))
    if answer["ended"] == "failed":
        _require_a_sound_gpu(gpu, folder)  # a kernel is blamed on a GPU that works alone
        return GpuFailure(str(answer["kind"]), f"{answer['why']}.")
    rtol, atol = (getattr(exercise, name) if getattr(case, name) is None else getattr(case, name) for name in ("rtol", "atol"))
    after = [dict(zip(names, images, strict=True)) for images in job.split(raw)]
    before = {name: untouched[name].tobytes() for name in names}
    threads = int(np.prod(job.block))
    return next(_faults(after, dict(zip(names, buffers, strict=True)), before, expected, written, rtol, atol, threads), None)


def _faults(
    after: list[dict[str, np.ndarray]], buffers: dict[str, Buffer], before: dict[str, bytes], expected: dict[str, np.ndarray], written: Any,
    rtol: float, atol: float, threads: int,
) -> Iterator[GpuFailure]:  # fmt: skip
    """What is wrong with the arrays after the launches, the first cause first."""
    for images in after:
        for name, image in images.items():
            for holds, where in zip(guards_hold(image), ("in front of", "behind"), strict=True):
                if not holds:
                    yield GpuFailure("out-of-bounds", f"memory {where} {name} was written.")
            if name not in expected and buffers[name].array(image).tobytes() != before[name]:
                yield GpuFailure("wrong-values", f"{name} is an input, but was changed: write to the outputs alone.")
    for name in expected:
        if name in written and (index := _unwritten([buffers[name].array(images[name]) for images in after])) is not None:
            yield GpuFailure("unwritten-output", f"{name}[{', '.join(map(str, index))}] was never written.")
    for images in after:
        for name, right in expected.items():
            if words := mismatch(name, buffers[name].array(images[name]), right, rtol, atol, threads):
                yield GpuFailure("wrong-values", words)


def _unwritten(arrays: list[np.ndarray]) -> tuple[int, ...] | None:
    """The first element that is poison after every launch: each launch's own."""
    left = np.ones(arrays[0].size, bool)
    for array, poison in zip(arrays, POISONS, strict=True):
        left &= (np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(array.size, -1) == poison).all(axis=1)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(left)), arrays[0].shape)) if left.any() else None


def _require_a_sound_gpu(gpu: Gpu, folder: str) -> None:
    """Run the kernel that is known to be good; raises GpuTrouble, and sets the GPU aside, where that fails."""
    x = np.arange(256, dtype=np.int32)
    buffer = Buffer(x.dtype.str, x.shape)
    job = Job(PROBE_SOURCE, "probe", (), (2,), (128,), 0, (0, 1), (buffer, buffer))
    try:
        answer, raw = _ask(job, [image_of(x.tobytes()), image_of(bytes(x.nbytes))], gpu, folder)
        if answer["ended"] == "done" and np.array_equal(buffer.array(job.split(raw)[0][1]), 3 * x + 1):
            return
        why = "a kernel known to be good gave other values" if answer["ended"] == "done" else f"a kernel known to be good ended with {answer['why']}"
    except GpuTrouble as error:
        why = f"a kernel known to be good didn't run ({error})"
    gpu.quarantine.note(why)
    again = f"it is tried again after a restart, or when ~/.cache/lanewise/{gpu.quarantine.path.name} is removed"
    raise GpuTrouble(f"the GPU was set aside, for {why}; {again}", why)


def _ask(job: Job, images: list[np.ndarray], gpu: Gpu, folder: str) -> tuple[dict[str, Any], bytes]:
    """A child's answer to a job, with the bytes of all images where it is "done". Raises GpuTrouble where there is none, or it is no answer."""
    from lanewise.grading.sandbox import environment

    package = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.insert(0, {package!r}); from lanewise.grading.gpu_child import main; main({gpu.device!r}, {int(gpu.seconds) + 30})"
    # Files, not pipes: neither side can wait for the other one.
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as said:
        job.write(question, images)
        question.seek(0)
        child = subprocess.Popen(
            [sys.executable, "-P", "-E", "-c", program], stdin=question, stdout=said, stderr=subprocess.DEVNULL, cwd=folder,
            env=environment() | {"CUPY_CACHE_DIR": folder},
        )  # fmt: skip
        try:
            status = child.wait(timeout=gpu.seconds)
        except subprocess.TimeoutExpired:
            raise GpuTrouble(f"a process at the GPU was ended after {gpu.seconds:g} seconds") from None
        finally:
            _end(child)
        if status != 0:
            raise GpuTrouble(f"a process at the GPU ended with {f'signal {-status}' if status < 0 else f'status {status}'}")
        size = said.seek(0, os.SEEK_END)
        if size > LONGEST_LINE + job.image_bytes:
            raise GpuTrouble("a process at the GPU answered with too many bytes")
        said.seek(0)
        line = said.readline(LONGEST_LINE)
        raw = said.read()
    try:
        answer = json.loads(line)
        if answer["ended"] not in ("done", "failed", "unfit", "broke") or (answer["ended"] == "done" and len(raw) != job.image_bytes):
            raise ValueError("it isn't one of ours")
        if answer["ended"] == "broke":
            raise GpuTrouble(f"a process at the GPU failed ({answer['why']})")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise GpuTrouble("what a process at the GPU answered can't be read") from error
    return answer, raw


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child, and don't wait for ever for one that can't be ended."""
    if child.poll() is not None:
        return
    child.kill()
    try:
        child.wait(timeout=UNKILLABLE_SECONDS)
    except subprocess.TimeoutExpired:
        return


def _value(value: Any) -> tuple[str, str]:
    """A NumPy scalar as bytes. Raises GpuTrouble for what can't be passed by value."""
    scalar = np.asarray(value)
    if scalar.ndim or scalar.dtype.hasobject:
        raise GpuTrouble(f"an argument of type {type(value).__name__} can't be passed to a GPU")
    return scalar.dtype.str, scalar.tobytes().hex()


def _dims(dims: int | tuple[int, ...]) -> tuple[int, ...]:
    return (dims,) if isinstance(dims, int) else tuple(dims)


def _boot() -> str:
    """What changes when the machine starts anew; "" where the system doesn't say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
