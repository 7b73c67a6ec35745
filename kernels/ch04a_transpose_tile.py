import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(height, width):
    """in: (height, width), out: (width, height), float32."""
    return lambda rng: {
        "in": rng.standard_normal((height, width), dtype=np.float32),
        "out": np.empty((width, height), np.float32),
        "height": np.int32(height),
        "width": np.int32(width),
    }


def launch(data):
    height, width = data["in"].shape
    return Launch((ceil_div(width, 32), ceil_div(height, 32)), (32, 8), "in out height width")


exercise = Exercise(
    title="Transpose any matrix through a tile",
    reference=lambda data: {"out": data["in"].T.astype(np.float64)},
    rtol=0.0,
    atol=0.0,
    cases=(
        Case("96 rows of 128: 12 full tiles", data(96, 128), launch),
        Case("a tile", data(32, 32), launch),
        Case("one element", data(1, 1), launch),
        Case("31 rows of 33", data(31, 33), launch),
        Case("one long row", data(1, 70), launch),
        Case("one long column", data(70, 1), launch),
        Case("another shape", data(45, 100), launch, visible=False),
    ),
    budget=Budget(
        "96 rows of 128: 12 full tiles",
        "12 tiles of 32 rows; each row is 4 sectors, and each of its two requests to shared memory can be served in one pass",
        global_load_sectors=12 * 32 * 4,
        global_store_sectors=12 * 32 * 4,
        shared_load_wavefronts=12 * 32,
        shared_store_wavefronts=12 * 32,
    ),
    variation=lambda rng: [Case(f"shape {s}", data(*s), launch) for s in lengths(rng, 32, 32)],
    hints=(
        "8 warps, 32 rows: let a thread loop over r = y, y + 8, y + 16, y + 24. The lanes (x) must run along a row both of `in` and of `out`.",
        "Write `out[(left + r) * height + top + x] = tile[x][r]` where left + r < width and top + x < height; give the tile rows of 33 floats.",
    ),
)
