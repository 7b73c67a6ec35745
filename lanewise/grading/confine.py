"""bubblewrap around the judging process, where it is installed and allowed: files that can't be written, no network, no other process in sight.

Nothing depends on it: without it (macOS, a container that forbids namespaces) the limits of apart.py are what there is, and `protections` says so.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")  # not by PATH: that may be a submission's
GPU = Path("/dev/nvidiactl")
ALONE = ("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--die-with-parent")
FILES = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp")


@functools.cache
def bubblewrap() -> str:
    """Where bubblewrap is that works here; "" where there is none, and on a machine that grades on a GPU: CUDA within it hasn't been tried."""
    if sys.platform != "linux" or (GPU.exists() and os.environ.get("LANEWISE_DEVICE") != "simulator"):
        return ""
    for place in PLACES:
        try:
            tried = subprocess.run([place, *ALONE, *FILES, "/bin/sh", "-c", ":"], stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if tried.returncode == 0:
            return place
    return ""


def confined(command: Sequence[str], folder: str, readable: Sequence[Path] = (), writable: Sequence[Path] = (), hidden: Sequence[Path] = ()) -> list[str]:
    """The command within bubblewrap, or as it stands where there is none. It starts in `folder`, which it may write to.

    `readable` and `writable` folders are there even if they lie in /tmp, which is empty otherwise; `hidden` ones are empty.
    """
    place = bubblewrap()
    if not place:
        return list(command)
    words = [place, *ALONE, *FILES]
    for path in {Path(sys.prefix), Path(sys.base_prefix), *readable}:
        words += ["--ro-bind", str(path), str(path)]
    for path in hidden:
        words += ["--tmpfs", str(path)] if path.is_dir() else []
    for path in (Path(folder), *writable):
        words += ["--bind", str(path), str(path)]
    return [*words, "--chdir", folder, "--", *command]
