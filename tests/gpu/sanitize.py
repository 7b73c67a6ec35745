"""compute-sanitizer over the course's kernels: every solution and worked kernel, on each of its cases, under each of its four tools.

python tests/gpu/sanitize.py [--only REGEX]      in any interpreter with CuPy and NumPy, with compute-sanitizer on the PATH

A report a tool goes to results/gpu/, or to the folder that the variable OUT names. Exit status 1 where a tool names an error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paths

TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
PARTS = max(1, min(4, (os.cpu_count() or 1) // len(TOOLS)))  # processes a tool
LIMIT_S = 280
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")


def run_here(names: list[str]) -> int:
    """The child: launches the named cases one after the other; says which, so that a report's lines can be told apart."""
    import cupy
    import device
    from all_cases import CASES

    cupy.cuda.set_allocator(None)  # every array an allocation of its own, whose ends memcheck sees
    named = {case.name: case for case in CASES}
    done = 0
    for name in names:
        print(f"now {name}", flush=True)
        device.start_and_read_output(named[name])
        done += 1
    print(f"launched {done}", flush=True)
    return 0


def sanitized(tool: str, names: list[str], log: Path) -> tuple[int, int, str]:
    """(errors, cases launched, the report) of one process under one tool."""
    command = ["compute-sanitizer", "--tool", tool, "--print-limit", "50", sys.executable, str(Path(__file__).resolve()), "--child"]
    try:
        ran = subprocess.run(command, input="\n".join(names), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)
        said = ran.stdout
    except subprocess.TimeoutExpired as late:
        said = (late.stdout or b"").decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout or ""
    log.write_text(said, encoding="utf-8")
    summaries = [int(a or b) for a, b in SUMMARY.findall(said)]
    launched = re.search(r"^launched (\d+)$", said, re.MULTILINE)
    return sum(summaries) if summaries else -1, int(launched[1]) if launched else 0, said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=r"^course\.", help="kernels whose name this regular expression finds")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return run_here([line for line in sys.stdin.read().splitlines() if line])
    if shutil.which("compute-sanitizer") is None:
        print("compute-sanitizer isn't on the PATH: it comes with the CUDA toolkit.")
        return 1
    from all_cases import CASES

    names = [case.name for case in CASES if not case.faulty and re.search(options.only, case.name)]
    out = Path(os.environ.get("OUT") or paths.ROOT / "results" / "gpu")
    out.mkdir(parents=True, exist_ok=True)
    jobs = [(tool, part, names[part::PARTS]) for tool in TOOLS for part in range(PARTS) if names[part::PARTS]]
    with ThreadPoolExecutor(len(jobs)) as pool:
        found = list(pool.map(lambda job: sanitized(job[0], job[2], out / f"sanitizer_{job[0]}_{job[1]}.txt"), jobs))
    bad = 0
    for tool in TOOLS:
        mine = [(errors, launched, len(part)) for (name, _, part), (errors, launched, _) in zip(jobs, found, strict=True) if name == tool]
        errors, launched, wanted = sum(max(e, 0) for e, _, _ in mine), sum(n for _, n, _ in mine), sum(n for _, _, n in mine)
        whole = launched == wanted and all(e >= 0 for e, _, _ in mine)
        print(f"{tool}: {errors} errors in {launched} of {wanted} launches{'' if whole else ': not finished, see the reports'}")
        bad += errors > 0 or not whole
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
