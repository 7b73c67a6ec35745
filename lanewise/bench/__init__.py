"""`lanewise bench`: the simulator timed; with --gpu, this machine's GPU: memory, waiting, and the ladders beside PyTorch: attention, matrix products."""

from __future__ import annotations

from collections.abc import Sequence

LADDERS = (
    "memory_levels", "waiting", "fp32_ladder", "fp16_ladder", "flash2_switches", "tile_sweep", "backward_ladder", "matmul_ladder", "streamed",
    "tile_copies",
)  # fmt: skip
NEEDS_TORCH = ("fp32_ladder", "fp16_ladder", "flash2_switches", "backward_ladder", "matmul_ladder")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 0 when the measurement was made and written."""
    given = list(argv or ())
    if "--gpu" in given:
        return _gpu()
    from lanewise.bench import simulator

    return simulator.main(given)


def _gpu() -> int:
    """Every table of results/<gpu>.json, one module after the other; 1 if one of them couldn't be measured."""
    from importlib import import_module, util

    from lanewise.cp import find_device

    device = find_device()
    if device.backend != "gpu":
        print(f"The ladders need a CUDA GPU: {device.why}")
        return 1
    missed = []
    for name in LADDERS:
        if name in NEEDS_TORCH and util.find_spec("torch") is None:
            print(f"{name}: left out, it needs PyTorch to stand beside: pip install torch")
            missed.append(name)
            continue
        print(f"{name} ...", flush=True)
        if import_module(f"lanewise.bench.{name}").main([]):
            missed.append(name)
    return 1 if missed else 0
