"""cupy.cuda on the simulator: one device, where every call has finished when it returns; times are the host's clock."""

from __future__ import annotations

import time
from types import SimpleNamespace

from lanewise.twin.memory import Memory, MemoryPointer, MemoryPool, OutOfMemoryError, free_bytes, total_bytes

__all__ = ["Device", "Event", "MemoryPool", "MemoryPointer", "OutOfMemoryError", "Stream", "alloc_pinned_memory", "get_elapsed_time", "runtime"]

NAME = b"lanewise simulator (sm_90a)"
# Compute capability 9.0: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability". The number of
# multiprocessors is the H200's.
PROPERTIES = {
    "name": NAME, "major": 9, "minor": 0, "multiProcessorCount": 132, "warpSize": 32, "maxThreadsPerBlock": 1024,
    "maxThreadsDim": (1024, 1024, 64), "maxGridSize": (2147483647, 65535, 65535), "maxThreadsPerMultiProcessor": 2048,
    "maxBlocksPerMultiProcessor": 32, "sharedMemPerBlock": 49152, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472,
    "reservedSharedMemPerBlock": 1024, "regsPerBlock": 65536, "regsPerMultiprocessor": 65536, "totalConstMem": 65536, "l2CacheSize": 62914560,
    "cooperativeLaunch": 1, "concurrentKernels": 1, "unifiedAddressing": 1, "pciBusID": 0, "pciDeviceID": 0,
}  # fmt: skip


class CUDARuntimeError(RuntimeError):
    """An error of the CUDA runtime: a device that isn't there, an event nobody recorded."""


class Stream:
    """A queue of work; on the simulator everything in it has been done already. Use it as a context manager, as in CuPy."""

    null: Stream
    ptds: Stream

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: int | None = None):
        self.null_stream, self.non_blocking, self.priority = null, non_blocking, priority or 0
        self.ptr = 0 if null else id(self)
        self.device_id = 0

    def __enter__(self) -> Stream:
        _current.append(self)
        return self

    def __exit__(self, *exception) -> None:
        _current.pop()

    def use(self) -> Stream:
        """From here on the current stream."""
        _current[-1] = self
        return self

    @property
    def done(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Returns at once: nothing is waiting."""

    def record(self, event: Event | None = None) -> Event:
        """Records the event (a new one if None) and returns it."""
        event = event or Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Returns at once."""

    def add_callback(self, callback, arg) -> None:
        callback(self, 0, arg)

    def launch_host_func(self, callback, arg) -> None:
        callback(arg)

    def __repr__(self) -> str:
        return f"<Stream {self.ptr} (device {self.device_id})>"


Stream.null = Stream(null=True)
Stream.ptds = Stream(ptds=True)
_current = [Stream.null]


def get_current_stream(device_id: int | None = None) -> Stream:
    return _current[-1]


class Event:
    """A mark in a stream. On the simulator it holds the host's time when it was recorded."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False):
        self.disable_timing = disable_timing
        self.ptr = id(self)
        self._seconds: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        self._seconds = time.perf_counter()

    def synchronize(self) -> None:
        """Returns at once: whatever came before has finished."""

    @property
    def done(self) -> bool:
        return True


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    """Milliseconds between two recorded events. On the simulator this is the simulation's own time and says nothing about a GPU."""
    if start_event._seconds is None or end_event._seconds is None or start_event.disable_timing or end_event.disable_timing:
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle: both events must have been recorded, with timing on.")
    return (end_event._seconds - start_event._seconds) * 1e3


class Device:
    """Device 0, the simulator. `compute_capability` is "90"."""

    def __init__(self, device: int | Device | None = None):
        self.id = 0 if device is None else int(device)

    def _check(self) -> None:
        if self.id != 0:
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal; the simulator has device 0 alone.")

    def __int__(self) -> int:
        return self.id

    def __enter__(self) -> Device:
        self._check()
        return self

    def __exit__(self, *exception) -> None:
        pass

    def use(self) -> Device:
        self._check()
        return self

    def synchronize(self) -> None:
        """Returns at once: a launch on the simulator has finished when it returns."""
        self._check()

    @property
    def compute_capability(self) -> str:
        self._check()
        return f"{PROPERTIES['major']}{PROPERTIES['minor']}"

    @property
    def attributes(self) -> dict[str, int]:
        """Limits under the CUDA runtime's names of device attributes."""
        self._check()
        limits = {name[0].upper() + name[1:]: value for name, value in PROPERTIES.items() if isinstance(value, int) and name not in ("major", "minor")}
        block, grid = PROPERTIES["maxThreadsDim"], PROPERTIES["maxGridSize"]
        limits |= {f"MaxBlockDim{axis}": block[i] for i, axis in enumerate("XYZ")}  # type: ignore[index]
        limits |= {f"MaxGridDim{axis}": grid[i] for i, axis in enumerate("XYZ")}  # type: ignore[index]
        renamed = {
            "SharedMemPerBlock": "MaxSharedMemoryPerBlock", "SharedMemPerBlockOptin": "MaxSharedMemoryPerBlockOptin",
            "SharedMemPerMultiprocessor": "MaxSharedMemoryPerMultiprocessor", "RegsPerBlock": "MaxRegistersPerBlock",
            "RegsPerMultiprocessor": "MaxRegistersPerMultiprocessor", "TotalConstMem": "TotalConstantMemory",
            "MaxBlocksPerMultiProcessor": "MaxBlocksPerMultiprocessor", "ReservedSharedMemPerBlock": "ReservedSharedMemoryPerBlock",
            "PciBusID": "PciBusId", "PciDeviceID": "PciDeviceId",
        }  # fmt: skip
        return {renamed.get(name, name): value for name, value in limits.items()}

    @property
    def mem_info(self) -> tuple[int, int]:
        """Free and total bytes: of this computer, which holds the simulator's device memory."""
        self._check()
        return free_bytes(), total_bytes()

    @property
    def pci_bus_id(self) -> str:
        return "0000:00:00.0"

    def __eq__(self, other) -> bool:
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<CUDA Device {self.id}>"


def get_device_id() -> int:
    return 0


def is_available() -> bool:
    """True: there is a device to launch on, if only the simulator. `cp.backend` says which."""
    return True


def alloc(size: int) -> MemoryPointer:
    """`size` bytes of device memory, unset."""
    from lanewise.twin.creation import unset

    return unset(size, "u1").data


def alloc_pinned_memory(size: int) -> bytearray:
    """`size` bytes of host memory from which a GPU copies in the background; `np.frombuffer` makes an array of them. Here it is ordinary memory."""
    return bytearray(size)


def get_default_memory_pool() -> MemoryPool:
    return _pool


def get_default_pinned_memory_pool() -> MemoryPool:
    return _pool


_pool = MemoryPool()


def get_local_runtime_version() -> int:
    return 13000


def _properties(device: int) -> dict:
    Device(device)._check()
    return {**PROPERTIES, "totalGlobalMem": total_bytes()}


runtime = SimpleNamespace(
    getDeviceCount=lambda: 1,
    getDevice=lambda: 0,
    setDevice=lambda device: Device(device)._check(),
    deviceSynchronize=lambda: None,
    streamSynchronize=lambda stream: None,
    getDeviceProperties=_properties,
    memGetInfo=lambda: Device(0).mem_info,
    runtimeGetVersion=lambda: 13000,
    driverGetVersion=lambda: 13000,
    is_hip=False,
    CUDARuntimeError=CUDARuntimeError,
)
memory = SimpleNamespace(MemoryPointer=MemoryPointer, MemoryPool=MemoryPool, OutOfMemoryError=OutOfMemoryError, Memory=Memory)
