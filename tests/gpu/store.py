"""Run every kernel on the simulator and store what it gave, for the comparison on a GPU.

python tests/gpu/store.py            all
python tests/gpu/store.py --check    say which stored values are out of date, write nothing
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import paths  # noqa: F401  (first: it makes the next imports possible)
from all_cases import CASES, counted_cases
from code_size import code_bytes
from counters import METRICS
from families.launch import launch
from stored import Stored, write

from lanewise.simt import nvrtc

COUNTED = {case.name for case in counted_cases()}


def main() -> int:
    """Exit status 1 where a kernel doesn't run, or with --check where a value has changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    results, failures, counters, sizes = [], [], {}, {}
    old = Stored() if check else None
    for case in CASES:
        if case.faulty:
            continue
        try:
            run = launch(case, check=False)
        except Exception as error:  # one kernel that doesn't run must not stop the others
            failures.append(f"{case.name}: {type(error).__name__}: {str(error).splitlines()[0][:200]}")
            continue
        results.append((case, list(run.outputs)))
        if case.name in COUNTED:
            counters[case.name] = {name: getattr(run.report.counters, name) for name in METRICS} | {"dram_fetch_bytes": run.report.dram_fetch_bytes}
            sizes[case.name] = code_bytes(case.source, case.options)
        changed = old.difference(case, list(run.outputs)) if old else None
        if changed:
            failures.append(changed)
    if not check:
        write(results, {"nvrtc": nvrtc.version(), "numpy": np.__version__, "counters": counters, "code_bytes": sizes})
    print("\n".join(failures))
    print(f"{len(results)} kernels {'compared' if check else 'stored'}, {len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
