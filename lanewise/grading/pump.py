"""dask.distributed as a stateless pump: a task is JSON in and JSON out, runs one child command, and is never retried by dask."""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lanewise.grading.children import end
from lanewise.grading.ledger import LONGEST_RESULT
from lanewise.grading.verdict import clean_text
from lanewise.names import CourseError

SECONDS_WITHOUT_WORKERS = 60
CONNECT = "10s"
TICK = 0.5  # seconds between looks at the scheduler

Settle = Callable[[str, str | None, str], None]  # (name, answer or None, why there is none)


class PumpStopped(Exception):
    """The scheduler or all workers went away: a sentence. What was settled before stays."""


def pump(client: Any, tasks: Iterable[tuple[str, str]], settle: Settle) -> None:
    """Have each task (name, JSON) run, and settle it as soon as it ends, in any order. Raises PumpStopped where scheduler or workers are gone.

    As many are in flight as the workers have threads, so that a worker that dies takes no waiting ones along. Futures are let go once they are settled:
    memory doesn't grow with the class.
    """
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    flying: dict[Any, str] = {}
    source = iter(tasks)
    looked, threads, exhausted = float("-inf"), 0, False
    alone_since = time.monotonic()
    while True:
        now = time.monotonic()
        if now - looked > TICK:
            threads, looked = _threads(client), now
            alone_since = now if threads else alone_since
            if now - alone_since > SECONDS_WITHOUT_WORKERS:
                raise PumpStopped("No worker is left: start workers, then call grade-class again; it goes on where it stopped.")
        while not exhausted and len(flying) < max(1, threads):
            following = next(source, None)
            if following is None:
                exhausted = True
                break
            try:
                future = client.submit(run_task, following[1], pure=False, retries=0)
            except Exception as error:  # dask raises several kinds for a connection that is gone
                raise PumpStopped(_gone(error)) from error
            flying[future] = following[0]
            future.add_done_callback(ended.put)
        if not flying:
            return
        try:
            future = ended.get(timeout=TICK)
        except queue.Empty:
            if client.status != "running":
                raise PumpStopped(_gone(client.status)) from None
            continue
        student = flying.pop(future)
        if future.status == "cancelled" or client.status != "running":
            raise PumpStopped(_gone(future.status))
        _settle_future(future, student, settle)
        future.release()


def run_task(task: str) -> str:
    """On a worker: one submission → JSON of {result, why}. Keeps nothing, raises nothing for what a submission holds."""
    from distributed import get_worker

    given = json.loads(task)
    # In the worker's own folder: dask removes it when it next starts a worker there, should this one be killed with the seed in it.
    with tempfile.TemporaryDirectory(prefix="lanewise-class-", dir=get_worker().local_directory) as folder:
        submission, assignment, out = Path(folder, "submission"), Path(folder, "assignment"), Path(folder, "result.json")
        for place, files in ((submission, given["files"]), (assignment, given["assignment"])):
            place.mkdir()
            for name, content in files.items():
                path = place / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(base64.b64decode(content))
        command = [*_python(given["grader"]), str(submission), "--out", str(out)]
        if given["assignment"]:
            command += ["--set", str(assignment / next(iter(given["assignment"])))]
        if given["submitted"]:
            command += ["--submitted", given["submitted"]]
        why = _run(command, Path(folder), given["seconds"])
        try:
            if out.stat().st_size > LONGEST_RESULT:
                return json.dumps({"result": None, "why": "The grader's result is too large."})
            return json.dumps({"result": json.loads(out.read_text(encoding="utf-8")), "why": ""})
        except (OSError, ValueError, RecursionError):
            return json.dumps({"result": None, "why": why or "The grader left no result."})


def _run(command: Sequence[str], folder: Path, seconds: float) -> str:
    """Run the child in a group of its own; returns "" or why it left nothing to trust."""
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
        try:
            status = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"The grader was stopped after {seconds:g} seconds: call grade-class again."
        finally:
            end(child)
        if status == 0:
            return ""
        said.seek(max(0, said.seek(0, os.SEEK_END) - 2000))
        last = clean_text(said.read().decode("utf-8", "replace").strip().rpartition("\n")[2], 300)
        return f"The grader ended with status {status}{f': {last}' if last else '.'}"


def _python(grader: Sequence[str]) -> list[str]:
    """The worker's own Python and course for `lanewise …`; any other command as it stands."""
    if grader[0] != "lanewise":
        return list(grader)
    package = str(Path(__file__).resolve().parents[2])
    program = f"import sys; sys.path.insert(0, {package!r}); from lanewise.__main__ import main; sys.exit(main())"
    return [sys.executable, "-P", "-c", program, *grader[1:]]


def _settle_future(future: Any, student: str, settle: Settle) -> None:
    if future.status == "finished":
        try:
            settle(student, future.result(timeout=30), "")
            return
        except CourseError:
            raise
        except Exception as error:  # the worker died with the answer still in its memory
            why = error
    else:
        why = future.exception(timeout=30)
    settle(student, None, f"The worker failed ({clean_text(f'{type(why).__name__}: {why}', 300)}): call grade-class again.")


def connect(scheduler: str | None, workers: int) -> Any:
    """A dask client as a context manager: of the given scheduler, or of workers started here that end with this process."""
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise CourseError("Grading a class needs dask.distributed: install it with `pip install lanewise[grade]`.") from error
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what goes wrong is said in a sentence of ours
    dask.config.set({"distributed.scheduler.worker-saturation": 1.0, "distributed.comm.timeouts.connect": CONNECT})
    try:
        if scheduler:
            return _Owning(None, Client(scheduler, timeout=CONNECT, set_as_default=False))
        cluster = LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", memory_limit=0, silence_logs=50, processes=True
        )
        return _Owning(cluster, Client(cluster, set_as_default=False))
    except (OSError, TimeoutError, ValueError) as error:
        raise CourseError(
            f"No dask scheduler answers at {scheduler or 'loopback'} ({clean_text(str(error), 200)}): start one with `dask scheduler`."
        ) from error


@dataclass
class _Owning:
    """A client together with the cluster, if it is ours, that ends with it."""

    cluster: Any
    client: Any

    def __enter__(self) -> Any:
        return self.client

    def __exit__(self, *about: object) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # what doesn't close any more has settled nothing
            self.client.close()
        if self.cluster is not None:
            with contextlib.suppress(OSError, RuntimeError):
                self.cluster.close(timeout=10)


def _threads(client: Any) -> int:
    try:
        return sum(worker["nthreads"] for worker in client.scheduler_info(n_workers=-1)["workers"].values())
    except Exception:  # asked while the connection goes down
        return 0


def _gone(why: object) -> str:
    return f"The dask scheduler went away ({clean_text(str(why), 200) or type(why).__name__}): call grade-class again; it goes on where it stopped."
