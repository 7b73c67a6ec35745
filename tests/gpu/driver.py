"""Launch every counted kernel once, in order. This is what Nsight Compute looks at.

python tests/gpu/driver.py LAUNCHED [ONLY]     writes the names of the launches that were made, one a line, in order. ONLY: of the kernels whose name
                                               this regular expression finds
"""

from __future__ import annotations

import re
import sys

import paths  # noqa: F401  (first: it makes the next imports possible)
from all_cases import counted_cases


def main(launched: str, only: str = "") -> None:
    import device  # after the tables: importing CuPy starts the driver

    with open(launched, "w", encoding="utf-8") as file:
        for case in (case for case in counted_cases() if re.search(only, case.name)):
            try:
                device.kernel(case.source, case.entry, case.options).compile()
            except Exception as error:
                print(f"{case.name}: doesn't compile: {str(error)[:200]}", file=sys.stderr)
                continue
            try:
                device.start(case)
            except Exception as error:  # the context is lost: what was read so far still counts
                print(f"{case.name}: doesn't compile or run: {str(error)[:200]}", file=sys.stderr)
                break
            print(case.name, file=file, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
