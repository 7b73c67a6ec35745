"""`lanewise bench`: the simulator timed; with --gpu, this machine's GPU: memory, waiting, all rungs of attention, and the ladders beside PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanewise import results
    from lanewise.plots import Picture

LADDERS = (
    "memory_levels", "waiting", "every_rung", "fp32_ladder", "attention_ladder", "matmul_ladder", "flash2_switches", "flash3_switches", "backward_ladder",
    "tile_sweep", "mma_beside", "tile_copies", "streamed",
)  # fmt: skip
NEEDS_TORCH = ("fp32_ladder", "attention_ladder", "matmul_ladder", "flash2_switches", "flash3_switches", "backward_ladder")


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status 0 when the measurement was made and written."""
    given = list(argv or ())
    if "--gpu" in given:
        return _gpu()
    from lanewise.bench import simulator

    return simulator.main(given)


def _gpu() -> int:
    """Every table of results/<gpu>.json, one module after the other, then the picture; 1 if one of them couldn't be measured."""
    from importlib import import_module, util

    from lanewise import results
    from lanewise.cp import find_device, real_cupy

    device = find_device()
    if device.backend != "gpu":
        print(f"The ladders need a CUDA GPU: {device.why}")
        return 1
    gpu = real_cupy().cuda.runtime.getDeviceProperties(0)["name"].decode()
    before, missed = results.tables(gpu), []
    for name in LADDERS:
        if name in NEEDS_TORCH and util.find_spec("torch") is None:
            print(f"{name}: left out, it needs PyTorch to stand beside: pip install torch")
            missed.append(name)
            continue
        print(f"{name} ...", flush=True)
        try:
            failed = import_module(f"lanewise.bench.{name}").main([])
        except Exception as error:  # noqa: BLE001 - a GPU without room for one bench still has it for the others
            failed = 1
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        if failed:
            missed.append(name)
    after = results.tables(gpu)
    written = ", ".join(name for name in after if after[name] != before.get(name)) or "nothing"
    print(f"written to results/{results.path_for(gpu).name}: {written}; not measured: {', '.join(missed) or 'none'}")
    drawn = draw_ladder(gpu)
    print(f"the attention ladder is drawn in results/{drawn.name}" if drawn else "no picture: the attention ladder wasn't measured")
    return 1 if missed else 0


def draw_ladder(gpu: str) -> Path | None:
    """Write results/<gpu>_ladder.svg from that GPU's tables; None where attention_ladder isn't among them."""
    from lanewise import results
    from lanewise.names import write_atomically

    table = results.read("attention_ladder", gpu)
    if table is None:
        return None
    path = results.path_for(gpu)
    path = path.with_name(f"{path.stem}_ladder.svg")
    write_atomically(path, ladder_picture(table, gpu, f"Attention forward, fp16, 16,384 tokens, {table.device}").svg + "\n")
    return path


def ladder_picture(ladder: results.Table, gpu: str = "h200", title: str = "") -> Picture:
    """The table attention_ladder drawn, with what else of results/<gpu>.json belongs to it: attention_references and every_rung, where they are measured."""
    from lanewise import results
    from lanewise.plots_ladder import attention_ladder

    references, steps = results.read("attention_references", gpu), results.read("every_rung", gpu)
    origin = ladder.origin + (f"\nbars: {steps.origin}" if steps else "")
    return attention_ladder(ladder.rows, origin, title, references.rows if references else (), steps.rows if steps else ())
