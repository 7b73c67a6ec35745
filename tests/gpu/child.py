"""Run named cases on the GPU, one JSON line each, in a process of its own: after a CUDA error nothing runs in it any more.

python tests/gpu/child.py RESULTS < names
"""

from __future__ import annotations

import json
import sys
import traceback

import paths  # noqa: F401  (first: it makes the next imports possible)
from all_cases import CASES
from families.case import Case, difference
from stored import Stored


def judged(case: Case, known: Stored) -> tuple[str, str]:
    """("ok" | "differs" | "unsupported" | "failed", what happened)."""
    import device  # after the tables: importing CuPy starts the driver

    try:
        device.kernel(case.source, case.entry, case.options).compile()
    except Exception as error:
        lines = [line for line in str(error).splitlines() if "error" in line.lower()] or [type(error).__name__]
        return ("failed" if device.capability() >= 90 else "unsupported"), f"{case.name}: doesn't compile: {lines[0][:200]}"
    arguments, printed = device.start_and_read_output(case)
    if case.faulty:
        return "differs", f"{case.name}: ran to its end; an error was expected"
    outputs = device.outputs(case, arguments)
    found = [known.difference(case, outputs)]
    if case.expect:
        expected = case.expect(*case.args())
        found += [f"NumPy: {line}" for k, a, e in zip(case.outputs, outputs, expected, strict=True) if (line := difference(case, k, a, e))]
    if case.prints is not None and printed != case.prints:
        found.append(f"{case.name}: printed {printed!r}")
    messages = [line for line in found if line]
    return ("differs", "; ".join(messages)) if messages else ("ok", "")


def main(results: str) -> int:
    """Exit status 3 after a CUDA error that ended the context."""
    named = {case.name: case for case in CASES}
    known = Stored()
    with open(results, "a", encoding="utf-8") as file:
        for name in [line.rstrip("\n") for line in sys.stdin]:
            case, ended = named[name], False
            print(json.dumps({"name": name, "status": "started"}), file=file, flush=True)
            try:
                status, message = judged(case, known)
            except Exception as error:
                status, message = "failed", f"{name}: {type(error).__name__}: {str(error)[:300]}"
                if not str(type(error).__module__).startswith("cupy"):
                    message += "\n" + traceback.format_exc(limit=-3)
                ended = context_ended()
                if case.faulty and ended:
                    status, message = "ok", ""
            print(json.dumps({"name": name, "status": status, "message": message}), file=file, flush=True)
            if ended:
                return 3
    return 0


def context_ended() -> bool:
    import cupy

    try:
        cupy.cuda.runtime.deviceSynchronize()
        cupy.zeros(4).sum().get()
    except Exception:
        return True
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
