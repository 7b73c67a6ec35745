"""The value run: all cases in child processes, a new one after each that a CUDA error or a hang ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from families.case import Case

HERE = Path(__file__).resolve().parent
AT_A_TIME = max(1, min(12, (os.cpu_count() or 1) * 3 // 4))  # processes: most of the time goes into compiling
SILENCE_S = 60  # a child that finishes no case for so long is ended


@dataclass(frozen=True)
class Outcome:
    """How one case went: ok, differs, unsupported, failed."""

    name: str
    status: str
    message: str


def run(cases: list[Case]) -> list[Outcome]:
    """Every case once. A case that ends its process is `failed` (or ok, where that is its purpose), and the others still run."""
    right = [case.name for case in cases if not case.faulty]
    groups = [right[k::AT_A_TIME] for k in range(AT_A_TIME)] + [[case.name] for case in cases if case.faulty]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return [outcome for outcomes in pool.map(_group, groups) for outcome in outcomes]


def _group(names: list[str]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    left = list(names)
    with tempfile.TemporaryDirectory() as folder:
        for attempt in range(len(names) + 1):
            if not left:
                break
            results = Path(folder) / f"{attempt}.jsonl"
            code, errors = _child(left, results)
            last = ""
            for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else []:
                record = json.loads(line)
                last = record["name"]
                if record["status"] != "started":
                    outcomes.append(Outcome(record["name"], record["status"], record["message"]))
            done = {outcome.name for outcome in outcomes}
            if last and last not in done:
                outcomes.append(Outcome(last, "failed", f"{last}: the process ended ({code}) while it ran"))
                done.add(last)
            if not last:  # it didn't get as far as a case: nothing will
                outcomes += [Outcome(name, "failed", f"{name}: not run; the process ended ({code}): {errors[-600:]}") for name in left]
                break
            left = [name for name in left if name not in done]
    return outcomes


def _child(names: list[str], results: Path) -> tuple[int, str]:
    """Run names in one process; ended when it is silent for too long."""
    with tempfile.TemporaryFile() as log, tempfile.TemporaryFile("w+", encoding="utf-8") as listing:
        listing.write("".join(f"{name}\n" for name in names))
        listing.seek(0)
        process = subprocess.Popen([sys.executable, str(HERE / "child.py"), str(results)], stdin=listing, stdout=log, stderr=log)
        size, since = -1, time.monotonic()
        while process.poll() is None:
            time.sleep(0.2)
            now = results.stat().st_size if results.exists() else -1
            if now != size:
                size, since = now, time.monotonic()
            elif time.monotonic() - since > SILENCE_S:
                process.kill()
                process.wait()
        log.seek(0)
        return process.returncode, log.read().decode(errors="replace")
