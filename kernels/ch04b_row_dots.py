import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(rows):
    """x: (rows, 64), w: (64), dot: (rows), float32."""
    return lambda rng: {
        "x": rng.standard_normal((rows, 64), dtype=np.float32),
        "w": rng.standard_normal(64, dtype=np.float32),
        "dot": np.empty(rows, np.float32),
        "rows": np.int32(rows),
    }


def launch(data):
    return Launch(ceil_div(data["dot"].size, 192), 192, "x w dot rows")


exercise = Exercise(
    title="Rows of float4 without conflicts, and without a byte to spare",
    reference=lambda data: {"dot": data["x"].astype(np.float64) @ data["w"].astype(np.float64)},
    atol=2e-5,  # 64 products of size 1 or so: the sum so far reaches 20 or 30, and float32 keeps 6e-8 of it
    cases=(
        Case("384 rows: 2 full blocks", data(384), launch),
        Case("one row", data(1), launch),
        Case("one short of a block", data(191), launch),
        Case("one more than a block", data(193), launch),
        Case("another length", data(500), launch, visible=False),
    ),
    budget=Budget(
        "384 rows: 2 full blocks",
        "192 requests each way, of 32 lanes x 16 bytes = 4 passes of 128 bytes",
        shared_load_wavefronts=192 * 4,
        shared_store_wavefronts=192 * 4,
    ),
    budget_share=1.0,
    variation=lambda rng: [Case(f"n = {n}", data(n), launch) for (n,) in lengths(rng, 192)],
    hints=(
        "Eight lanes are served together, in eight different rows. Each needs its float4 in another group of four banks: let the slot depend on the row.",
        "`q ^ (row % 8)` differs for 8 neighbouring rows, and stays within 0 .. 15. Use it where the copy writes, and with t for row where the sum reads.",
    ),
)
