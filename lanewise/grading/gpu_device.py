"""The GPU as gpu_child.py sees it: one job's launch through CuPy. Its numbers of CUDA errors are those of driver_types.h and cuda.h, which agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from lanewise import cp, simt
from lanewise.grading.gpu_child import LaunchFailed, Unfit
from lanewise.grading.gpu_job import Job, Mapped, value_of
from lanewise.simt.nvrtc import FILE_NAME
from lanewise.twin import older_gpu

DEFAULT_SHARED = 48 * 1024
# What a kernel can bring about; every other error is the machine's.
KERNELS_FAULT = {
    700: ("out-of-bounds", "an address was accessed that belongs to no array"),
    714: ("trap", "the kernel's stack overflowed or was damaged"),
    715: ("trap", "the kernel came to an instruction that isn't one: a __trap(), or a jump to nowhere"),
    716: ("misaligned", "an address was accessed that isn't a multiple of the access's size"),
    717: ("out-of-bounds", "an address was used in a memory space that it doesn't belong to"),
    718: ("trap", "the kernel jumped to nowhere"),
    710: ("trap", "an assertion of the kernel failed"),
    719: ("trap", "the kernel was ended by a __trap() or by an access that the GPU can't make"),
}
REFUSED = {1: "an argument is invalid", 9: "grid or block is too large", 701: "a block needs more registers or shared memory than there is"}
HOPPER = "90"


def run(job: Job, images: list[np.ndarray]) -> list[np.ndarray]:
    """Copy the images to the GPU, launch once, wait, and copy them back. Raises LaunchFailed, Unfit, or whatever else went wrong."""
    hopper = older_gpu.capability() == HOPPER
    try:
        # The simulator's file name, as on Hopper its architecture (cp.RawKernel sees to that): no macro tells one from the other.
        kernel = cp.RawKernel(f'#line 1 "{FILE_NAME}"\n{job.source}', job.kernel, options=job.options)
        kernel.compile()
        if kernel.simulated_because:
            raise Unfit(kernel.simulated_because)
        on_device = [cp.asarray(image) for image in images]
        args = tuple(_argument(job, arg, on_device) for arg in job.args)
        if job.shared_bytes > DEFAULT_SHARED:
            kernel.max_dynamic_shared_size_bytes = job.shared_bytes
            if kernel.simulated_because:
                raise Unfit(kernel.simulated_because, whole=False)
        kernel(job.grid, job.block, args, shared_mem=job.shared_bytes)
        cp.cuda.runtime.deviceSynchronize()  # of every stream
        return [cp.asnumpy(image) for image in on_device]
    except Unfit:
        raise
    except (simt.CompileError, simt.KernelNotFound) as error:
        if not hopper:
            raise Unfit(f"the text doesn't compile for this GPU ({str(error).splitlines()[0]})") from error
        raise
    except simt.KernelFault as error:
        if not hopper:
            raise Unfit(f"the launch doesn't fit this GPU ({str(error).splitlines()[0]})", whole=False) from error
        raise LaunchFailed("launch-refused", f"the launch was refused: {str(error).splitlines()[0]}") from error
    except Exception as error:
        raise _named(error, hopper) from error


def _argument(job: Job, arg: int | Mapped | tuple[str, str], on_device: list[Any]) -> Any:
    if isinstance(arg, Mapped):
        return cp.tensor_map(job.buffers[arg.buffer].array(on_device[arg.buffer]), arg.box, swizzle=arg.swizzle)
    return job.buffers[arg].array(on_device[arg]) if isinstance(arg, int) else value_of(arg)


def _named(error: Exception, hopper: bool) -> Exception:
    status: Any = getattr(error, "status", None)
    if status in KERNELS_FAULT:
        return LaunchFailed(*KERNELS_FAULT[status])
    if status in REFUSED:
        return LaunchFailed("launch-refused", f"the launch was refused: {REFUSED[status]}") if hopper else Unfit(REFUSED[status], whole=False)
    return error
