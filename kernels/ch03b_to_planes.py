import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(n):
    """particle: (n, 4), plane: (4, n), float32."""
    return lambda rng: {"particle": rng.standard_normal((n, 4), dtype=np.float32), "plane": np.empty((4, n), np.float32), "n": np.int32(n)}


def launch(data):
    return Launch(ceil_div(int(data["n"]), 128), 128, "particle plane n")


exercise = Exercise(
    title="From an array of structs to planes",
    reference=lambda data: {"plane": data["particle"].T.astype(np.float64)},
    rtol=0.0,
    atol=0.0,
    cases=(
        Case("512 particles", data(512), launch),
        Case("one particle", data(1), launch),
        Case("one short of a block", data(127), launch),
        Case("one more than a block", data(129), launch),
        Case("another number", data(300), launch, visible=False),
    ),
    budget=Budget(
        "512 particles",
        "16 warps; one load of 32 float4 (16 sectors) and four stores of 32 floats (4 sectors) each",
        global_load_requests=16,
        global_load_sectors=16 * 16,
        global_store_sectors=16 * 16,
    ),
    variation=lambda rng: [Case(f"n = {n}", data(n), launch) for (n,) in lengths(rng, 128)],
    hints=(
        "A particle is 16 bytes, aligned to 16 bytes: one load can fetch all of it. In which plane, and where in it, goes its y?",
        "`const float4 p = ((const float4*)particle)[i];` then `plane[0 * n + i] = p.x;` and so on, for y, z and w.",
    ),
)
