"""The simulator against this machine's GPU: the same kernels, the same values, the same counters.

    make gpu                     in the project's environment
    make gpu PYTHON=python3      with any interpreter that has CuPy and NumPy
    make gpu ARGS="--only atomics"
    make gpu ARGS="--counters ^products --keep"

Values are compared with the simulator's, stored in data/ by store.py. With Nsight Compute (`ncu`) on the PATH the counters are
read too. The summary goes to results/gpu/, or to the folder that the variable OUT names. Exit status 1 on any mismatch.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from datetime import date
from pathlib import Path

import paths
from families.case import Case
from known import parted


def gpu_or_reason() -> dict | str:
    """What GPU there is, or one sentence why there is none."""
    try:
        import cupy
    except ImportError:
        return f"{sys.executable} has no CuPy: `make gpu` installs it where there is an NVIDIA GPU, `make gpu PYTHON=…` takes another interpreter."
    try:
        cupy.zeros(1).sum().get()
    except Exception as error:
        return f"CuPy finds no GPU it can use: {str(error).splitlines()[0]}"
    import device

    return device.description()


def values_run(cases: list[Case]) -> tuple[dict, list[str]]:
    import values

    began = time.monotonic()
    outcomes = values.run(cases)
    tally = Counter(outcome.status for outcome in outcomes)
    wrong = [outcome.message for outcome in outcomes if outcome.status in ("differs", "failed")]
    summary = {"kernels": len(cases), **{status: tally.get(status, 0) for status in ("ok", "differs", "failed", "unsupported")}}
    summary |= {"seconds": round(time.monotonic() - began, 1), "messages": [outcome.message for outcome in outcomes if outcome.message]}
    return summary, wrong


def counters_run(machine: dict, out: Path, keep: bool, only: str) -> tuple[dict, list[str]]:
    import counters
    from stored import DATA, DIGESTS

    began = time.monotonic()
    readings, problems = counters.read(only)
    slug = re.sub(r"[^a-z0-9]+", "_", machine["device"].lower().replace("nvidia", "")).strip("_")
    content: dict = {**machine, "date": date.today().isoformat(), "nsight_compute": counters.version()}
    content["metrics"] = {name: str(metric) for name, metric in counters.METRICS.items()}
    content["kernels"] = {reading.name: {**reading.counters, "aside": reading.aside, "date": content["date"]} for reading in readings}
    (out / f"ncu_{slug}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if keep:
        counters.keep(DATA / f"ncu_{slug}.json", content, bool(only))
    stored = json.loads(DIGESTS.read_text(encoding="utf-8"))
    lines, allowed, equal = [], [], 0
    for reading in readings:
        ours = stored["counters"].get(reading.name, {})
        found = counters.differences(reading.counters, ours, stored["code_bytes"].get(reading.name, 0), ours.get("dram_fetch_bytes"))
        equal += not found
        expected, others = parted(reading.name, found)
        allowed += [f"{reading.name}: {'; '.join(expected)}"] if expected else []
        lines += [f"{reading.name}: {'; '.join(others)}"] if others else []
    summary = {"kernels": len(readings), "equal": equal, "seconds": round(time.monotonic() - began, 1), "messages": [*problems, *lines], "known": allowed}
    return summary, [*problems, *lines]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="values of the kernels whose name this regular expression finds; no counters")
    parser.add_argument("--counters", default="", help="counters of the kernels whose name this regular expression finds; no values")
    parser.add_argument("--no-counters", action="store_true", help="leave Nsight Compute out")
    parser.add_argument("--no-values", action="store_true", help="counters only")
    parser.add_argument("--keep", action="store_true", help="keep the readings in tests/gpu/data, where the tests compare against them")
    options = parser.parse_args()
    machine = gpu_or_reason()
    if isinstance(machine, str):
        print(machine)
        return 1
    out = Path(os.environ.get("OUT") or paths.ROOT / "results" / "gpu")
    out.mkdir(parents=True, exist_ok=True)
    print(f"{machine['device']}, driver {machine['driver']}, CuPy {machine['cupy']}, NVRTC {machine['nvrtc']}", flush=True)
    summary: dict = {**machine, "date": date.today().isoformat()}
    wrong: list[str] = []
    if not options.no_values and not options.counters:
        from all_cases import CASES

        chosen = [case for case in CASES if re.search(options.only, case.name)]
        if not chosen:
            print(f"{options.only!r} is found in no kernel's name.")
            return 1
        summary["values"], lines = values_run(chosen)
        wrong += lines
        report("values", summary["values"], lines)
    if not options.no_counters and not options.only:
        import counters

        if counters.available():
            summary["counters"], lines = counters_run(machine, out, options.keep, options.counters)
            wrong += lines
            report("counters", summary["counters"], lines)
        else:
            print("counters: not compared, since Nsight Compute (ncu) isn't on the PATH")
    (out / "gpu_summary.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"written to {out}")
    return bool(wrong)


def report(what: str, summary: dict, lines: list[str]) -> None:
    shown = {**summary, "known": len(summary.get("known", ()))}
    figures = ", ".join(f"{number} {name}" for name, number in shown.items() if name != "messages" and (number or name in ("kernels", "ok", "equal")))
    print("\n".join([*(f"  {line}" for line in lines), f"{what}: {figures}"]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
