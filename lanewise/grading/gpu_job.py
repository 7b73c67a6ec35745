"""One case for a GPU as bytes: what goes to the child that launches it, and what comes back.

A job is a line of JSON, then for every launch the images of its arrays one behind the other. An image is a guard band, the array, a guard band: the child
copies images to the GPU and back and knows neither what is poison nor what is expected.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import IO, Any

import numpy as np

GUARD = 4096  # bytes in front of and behind each array; a multiple of every alignment a kernel may ask for
GUARD_BYTE = 0xC3


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array in device memory: dtype as NumPy writes it ("<f4"), shape."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    def array(self, image: np.ndarray) -> np.ndarray:
        """The array within an image (uint8), of NumPy or CuPy: a view."""
        return image[GUARD : GUARD + self.nbytes].view(self.dtype).reshape(self.shape)


@dataclass(frozen=True, slots=True)
class Mapped:
    """An argument that is a tensor map of a buffer: its number, the box in the array's order, the swizzle ("none", "32B", "64B", "128B")."""

    buffer: int
    box: tuple[int, ...]
    swizzle: str


@dataclass(frozen=True, slots=True)
class Job:
    """A text and how to launch it, `launches` times over. Each of `args` is the number of a buffer, a map of one, or (dtype, bytes in hex) of a value."""

    source: str
    kernel: str
    options: tuple[str, ...]
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int
    args: tuple[int | Mapped | tuple[str, str], ...]
    buffers: tuple[Buffer, ...]
    launches: int = 1

    @property
    def image_bytes(self) -> int:
        """The bytes of all images of all launches."""
        return self.launches * sum(2 * GUARD + buffer.nbytes for buffer in self.buffers)

    def write(self, file: IO[bytes], images: list[np.ndarray]) -> None:
        """The job's line, then the images of all launches."""
        file.write(json.dumps(asdict(self)).encode() + b"\n")
        for image in images:
            file.write(image.tobytes())

    def split(self, raw: bytes) -> list[list[np.ndarray]]:
        """For each launch its images, which may be written to. Raises ValueError for another number of bytes."""
        if len(raw) != self.image_bytes:
            raise ValueError(f"{len(raw)} bytes of arrays came where {self.image_bytes} are right")
        whole, at, found = np.frombuffer(bytearray(raw), np.uint8), 0, []
        for _ in range(self.launches):
            images = []
            for buffer in self.buffers:
                images.append(whole[at : at + 2 * GUARD + buffer.nbytes])
                at += 2 * GUARD + buffer.nbytes
            found.append(images)
        return found


def read_job(file: IO[bytes]) -> tuple[Job, list[list[np.ndarray]]]:
    """A job and the images of each of its launches, as `Job.write` left them."""
    whole: dict[str, Any] = json.loads(file.readline())
    buffers = tuple(Buffer(one["dtype"], tuple(one["shape"])) for one in whole.pop("buffers"))
    args = tuple(_argument(one) for one in whole.pop("args"))
    whole |= {name: tuple(whole[name]) for name in ("options", "grid", "block")}
    job = Job(**whole, args=args, buffers=buffers)
    return job, job.split(file.read())


def _argument(one: Any) -> int | Mapped | tuple[str, str]:
    if isinstance(one, dict):
        return Mapped(one["buffer"], tuple(one["box"]), one["swizzle"])
    return one if isinstance(one, int) else (one[0], one[1])


def image_of(content: bytes) -> np.ndarray:
    """An array's bytes between two guard bands, uint8."""
    band = bytes([GUARD_BYTE]) * GUARD
    return np.frombuffer(bytearray(band + content + band), np.uint8)


def guards_hold(image: np.ndarray) -> tuple[bool, bool]:
    """Whether the band in front, and the one behind, are as they were."""
    return bool((image[:GUARD] == GUARD_BYTE).all()), bool((image[len(image) - GUARD :] == GUARD_BYTE).all())


def value_of(arg: tuple[str, str]) -> np.generic:
    """An argument that is passed by value."""
    return np.frombuffer(bytes.fromhex(arg[1]), arg[0])[0]
