"""`python -m lanewise.claims [--measure [TABLE …]]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version

from lanewise import results
from lanewise.claims import measure, write_page
from lanewise.names import CourseError, find_course

COMMAND = "python -m lanewise.claims --measure"


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 0, or 1 with one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="python -m lanewise.claims", description="Write docs/claims.md from results/.")
    parser.add_argument("--measure", nargs="*", metavar="TABLE", help="first measure these tables on the simulator (none named: all of them)")
    args = parser.parse_args(argv)
    try:
        if args.measure is not None:
            take(args.measure or list(measure.TABLES))
        for path in write_page(find_course()):
            print(f"wrote {path.name}")
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def take(names: Sequence[str]) -> None:
    """Measure these tables and put them into results/claims.json. Raises CourseError for a name that isn't one."""
    unknown = [name for name in names if name not in measure.TABLES]
    if unknown:
        raise CourseError(f"There is no table {unknown[0]!r}: take some of {', '.join(measure.TABLES)}.")
    versions = {"numpy": version("numpy"), "nvrtc": version("nvidia-cuda-nvrtc")}
    for name in names:
        device, used = ("NumPy", {"numpy": versions["numpy"]}) if name in measure.IN_NUMPY else ("simulator", versions)
        rows = measure.TABLES[name]()
        results.write(results.Table(name, device, "", date.today().isoformat(), COMMAND, used, rows), results.path_for("claims"))
        print(f"{name}: {len(rows)} rows")


if __name__ == "__main__":
    sys.exit(main())
