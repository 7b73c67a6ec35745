"""Processes that the grader starts in a group of their own: ended with all that they started, and how they ended in words."""

from __future__ import annotations

import os
import signal
import subprocess


def end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child and whatever it started, unless it has ended; the group must be its own (`start_new_session`)."""
    if child.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()
        child.wait()


def how_it_ended(status: int) -> str:
    """Of a return code as `subprocess` gives it: "exit status 3", "signal SIGKILL"."""
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
