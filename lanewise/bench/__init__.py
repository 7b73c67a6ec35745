"""`lanewise bench`: the simulator timed; with --gpu, the GPU ladders."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 0 when the measurement was made and written."""
    given = list(argv or ())
    if "--gpu" in given:
        print("There is no GPU ladder yet: `lanewise bench` times the simulator, `make gpu` compares it with this machine's GPU.")
        return 1
    from lanewise.bench import simulator

    return simulator.main(given)
