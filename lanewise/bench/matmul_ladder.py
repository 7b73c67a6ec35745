"""The course's matrix products, rung by rung, beside cuBLAS (through PyTorch); results/<gpu>.json, table tensor_ladder.

One run for all: C = A B with M = N = K, random numbers, each kernel timed alternately with torch.matmul of the same type (A B B A, after 2 s of both), the
median of the ratios with its 95 % interval, the GPU's clock and power right after. The float32 rungs stand beside cuBLAS without TF32, the bf16 rungs beside
cuBLAS in bf16. Outputs start poisoned and are compared with float64, here on 64 rows, and on small ragged shapes in whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lanewise import results
from lanewise.bench.duel import PAIRS, clocks, duel, milliseconds
from lanewise.bench.record import options, record, rounded
from lanewise.names import find_course

COMMAND = "python -m lanewise.bench.matmul_ladder"
BUDGET_MS = 2500.0  # a slow rung is timed as often as fits into so much time, and at least 5 times
RAGGED = ((1, 8, 8), (130, 264, 72), (300, 520, 328))
TOLERANCE = {"float32": 1e-5, "bf16": 3e-3}  # relative, of a norm; by the type of C: half a unit of bf16 is 2e-3


@dataclass(frozen=True, slots=True)
class Rung:
    """A kernel of the course that multiplies (M, K) by (K, N), and its launch: a block has `tile` elements of C."""

    key: str
    tile: tuple[int, int]  # rows, columns
    block: tuple[int, ...]
    inputs: str  # float32 or bf16
    output: str
    line: bool = False  # the grid is 1-D
    shared: int = 0  # bytes, dynamic
    ragged: bool = True  # takes any M, and N and K that are multiples of 8
    boxes: tuple[tuple[int, int], ...] = ()  # of the tensor maps of A, B and C, where it takes maps
    persistent: bool = False  # one block an SM for all tiles

    @property
    def entry(self) -> str:
        return self.key.split("_", 1)[1]

    def text(self) -> str:
        """The kernel's source; one that takes either 16-bit type gets bf16."""
        source = (find_course().root / "kernels" / f"{self.key}.cu").read_text(encoding="utf-8")
        return source.replace("using T = __half;", "using T = __nv_bfloat16;") if self.inputs == "bf16" else source

    def grid(self, M: int, N: int) -> tuple[int, ...]:
        down, right = -(-M // self.tile[0]), -(-N // self.tile[1])
        return (down * right,) if self.line else (right, down)


RUNGS = (
    Rung("ch07_matmul_naive", (8, 32), (32, 8), "float32", "float32"),
    Rung("ch07_matmul_tiled", (32, 32), (32, 32), "float32", "float32", ragged=False),
    Rung("ch08_register_tile", (128, 128), (256,), "float32", "float32", ragged=False),
    Rung("ch19_matmul_mma", (128, 128), (256,), "bf16", "float32"),
    Rung("ch20_matmul_swizzled", (128, 128), (256,), "bf16", "bf16"),
    Rung("ch21_matmul_stages", (128, 256), (256,), "bf16", "bf16", line=True, shared=3 * (128 + 256) * 64 * 2),
)
STAGE = (128 + 256) * 64 * 2  # bytes of a stage of Hopper's rungs


def hopper(key: str, threads: int, shared: int, *, persistent: bool = False) -> Rung:
    return Rung(key, (128, 256), (threads,), "bf16", "bf16", line=True, shared=shared, boxes=((128, 64), (64, 64), (64, 64)), persistent=persistent)


HOPPER = (
    hopper("ch26_matmul_wgmma", 256, 4 * STAGE),
    hopper("ch27_matmul_mma", 384, 3 * STAGE + 128 * 256 * 2, persistent=True),
    hopper("ch27_matmul_specialised", 384, 4 * STAGE + 2 * 16384, persistent=True),
)


def launcher(cp: Any, rung: Rung) -> Any:
    """A function of CuPy arrays (A, B, C), uint16 for bf16, that launches the rung."""
    kernel = cp.RawKernel(rung.text(), rung.entry, options=("--std=c++17", f"-I{find_course().root / 'kernels'}"))
    if rung.shared > 48 * 1024:
        kernel.max_dynamic_shared_size_bytes = rung.shared

    def call(a: Any, b: Any, c: Any) -> None:
        (m, n), k = c.shape, a.shape[1]
        sizes = (m, n, k)  # matmul_naive, matmul_tiled and register_tile call them rows, cols, inner
        kernel(rung.grid(m, n), rung.block, (a, b, c, *map(np.int32, sizes)), shared_mem=rung.shared)

    return call


def hopper_launcher(cp: Any, rung: Rung) -> Any:
    """`launcher` for a rung that takes tensor maps."""
    from lanewise.twin.tensor_map import descriptor, tensor_map

    kernel = cp.RawKernel(rung.text(), rung.entry, options=("-arch=sm_90a", "--std=c++17", f"-I{find_course().root / 'kernels'}"))
    kernel.max_dynamic_shared_size_bytes = rung.shared
    made: dict[tuple[int, ...], Any] = {}  # pointer and shape → descriptor: a launch that is timed shouldn't make it
    processors = cp.cuda.runtime.getDeviceProperties(0)["multiProcessorCount"]

    def call(a: Any, b: Any, c: Any) -> None:
        (m, n), k = c.shape, a.shape[1]
        maps = []
        for x, box in zip((a, b, c), rung.boxes, strict=True):
            key = (x.data.ptr, *x.shape, *box)
            if key not in made:
                made[key] = descriptor(tensor_map(x, box, "128B", dtype="bfloat16", l2="256B"))
            maps.append(made[key])
        (tiles,) = rung.grid(m, n)
        kernel((min(processors, tiles) if rung.persistent else tiles,), rung.block, (*maps, *map(np.int32, (m, n, k))), shared_mem=rung.shared)

    return call


def error(cp: Any, call: Any, inputs: str, output: str, shape: tuple[int, int, int], rows: int = 0) -> float:
    """Relative error (norm) against float64 on a poisoned output; NaN if anything isn't a number. Of `rows` drawn rows, or of all."""
    import torch

    m, n, k = shape
    a, b, c = random(m, k, inputs), random(k, n, inputs), poisoned(m, n, output)
    call(*(shared(cp, x) for x in (a, b, c)))
    chosen = torch.randint(0, m, (rows,), device="cuda") if rows else torch.arange(m, device="cuda")
    right = a[chosen].double() @ b.double()
    return float((c[chosen].double() - right).norm() / right.norm())


def random(rows: int, cols: int, type: str) -> Any:
    import torch

    return torch.randn(rows, cols, device="cuda").to(torch.bfloat16 if type == "bf16" else torch.float32)


def poisoned(rows: int, cols: int, type: str) -> Any:
    import torch

    return torch.full((rows, cols), float("nan"), device="cuda").to(torch.bfloat16 if type == "bf16" else torch.float32)


def shared(cp: Any, tensor: Any) -> Any:
    """The same memory as a CuPy array, uint16 for bf16."""
    import torch

    return cp.from_dlpack(tensor.view(torch.int16)).view(np.uint16) if tensor.dtype == torch.bfloat16 else cp.from_dlpack(tensor)


def compared(cp: Any, key: str, inputs: str, output: str, ragged: bool, call: Any, n: int) -> results.Row:
    """One row: checked, then timed in turns with cuBLAS."""
    import torch

    limit = TOLERANCE[output]
    for shape in RAGGED if ragged else ():
        if not (worst := error(cp, call, inputs, output, shape)) <= limit:
            raise AssertionError(f"{key} is wrong for M, N, K = {shape}: {worst}")
    if not (worst := error(cp, call, inputs, output, (n, n, n), rows=64)) <= limit:
        raise AssertionError(f"{key} is wrong for {n} x {n} x {n}: {worst}")
    a, b, c = random(n, n, inputs), random(n, n, inputs), poisoned(n, n, output)
    theirs = torch.empty(n, n, device="cuda", dtype=a.dtype)
    arrays = [shared(cp, x) for x in (a, b, c)]

    def mine() -> None:
        call(*arrays)

    def library() -> None:
        torch.matmul(a, b, out=theirs)

    once = milliseconds(cp, mine) + milliseconds(cp, library)
    pairs = max(5, min(PAIRS, int(BUDGET_MS / once)))
    fought, work = duel(cp, mine, library, pairs), 2 * n**3 / 1e9
    print(f"{key}: {work / fought.ms:.1f} TFLOP/s, {fought.ratio:.3f} of cuBLAS", flush=True)
    return {
        "kernel": key, "N": n, "type": inputs, "ms": fought.ms, "TFLOPs": work / fought.ms, "cuBLAS": work / fought.other_ms,
        "ratio": fought.ratio, "low": fought.low, "high": fought.high, "pairs": pairs, **clocks(),
    }  # fmt: skip


def measure(n: int) -> list[results.Row]:
    import torch

    from lanewise.cp import real_cupy

    cp = real_cupy()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = []
    for r in (*RUNGS, *(HOPPER if cp.cuda.Device().compute_capability == "90" else ())):
        rows.append(compared(cp, r.key, r.inputs, r.output, r.ragged, (hopper_launcher if r.boxes else launcher)(cp, r), n))
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    parser = options(COMMAND, __doc__)
    parser.add_argument("--size", type=int, default=8192, help="M = N = K, a multiple of 128")
    asked = parser.parse_args(argv)
    import torch

    from lanewise.cp import real_cupy

    cp = real_cupy()
    rows = rounded(measure(asked.size))
    table = record(cp, "tensor_ladder", COMMAND, rows, asked.out, torch=torch.__version__)
    print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
