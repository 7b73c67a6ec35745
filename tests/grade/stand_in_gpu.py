"""A GPU made of NumPy for gpu_child.py: it knows two kernels, the probe and `twice`, and does what a word in the text asks for.

The word stands in the text as `// stand-in: WORD`. "MARK" is replaced by a folder for what must be remembered beyond the process (a GPU that is lost).
"""

import os
import re
import signal
import time
from pathlib import Path

import numpy as np

from lanewise.grading.gpu_child import LaunchFailed, Unfit
from lanewise.grading.gpu_job import GUARD, value_of

MARK = Path("MARK")
launches = 0


def run(job, images):
    global launches
    launches += 1
    with (MARK / "seen").open("a") as file:
        file.write(f"{job.kernel} {os.getpid()}\n")
    lost = MARK / "lost"
    if lost.exists():
        lost_gpu(lost.read_text())
    values = [job.buffers[arg].array(images[arg]) if isinstance(arg, int) else value_of(arg) for arg in job.args]
    if job.kernel == "probe":
        values[1][:] = 3 * values[0] + 1
        return images
    x, out, n = values
    misbehave(re.search(r"// stand-in: (.*)", job.source)[1], x, out, n, images, lost)
    return images


def lost_gpu(how):
    if how == "hangs":
        time.sleep(600)
    if how == "lies":
        return
    raise RuntimeError("the device is lost")


def misbehave(word, x, out, n, images, lost):
    out[:] = 2 * x
    match word:
        case "right":
            pass
        case "hidden only wrong" if n == 70:
            out[3] += 1
        case "illegal address":
            raise LaunchFailed("out-of-bounds", "an address was accessed that belongs to no array")
        case "lost":
            lost.write_text("errors")
            raise LaunchFailed("trap", "the kernel was ended by a __trap()")
        case "lost and hangs":
            lost.write_text("hangs")
            raise LaunchFailed("trap", "the kernel was ended by a __trap()")
        case "unfit":
            raise Unfit("the text doesn't compile for this GPU")
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            time.sleep(600)
        case "printf flood":
            for _ in range(2000):
                os.write(1, b'{"ended": "done"}\n' * 100)
        case "garbage":
            os.closerange(0, 64)
            os._exit(0)
        case "memory error":
            raise MemoryError("out of memory")
        case "nothing":
            raise_poison(out, images)
        case "one element left":
            out[5:6].view(np.uint8)[:] = 0xFF if launches == 1 else 0x7B
        case "NaN where it wrote nothing":
            out[5] = np.nan
        case "in front":
            images[1][GUARD - 1] = 0
        case "behind":
            images[1][-GUARD] = 0
        case "input":
            x[7] = 0
        case "second launch":
            out[1] += launches - 1
        case "writes to the guard and sleeps":
            images[0][0] = 0


def raise_poison(out, images):
    out.view(np.uint8)[:] = 0xFF if launches == 1 else 0x7B
