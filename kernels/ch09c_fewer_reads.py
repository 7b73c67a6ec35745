import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(heads, Nq, Nk):
    """P: (heads, Nq, Nk), rows that sum to 1; V: (heads, Nk, 64), O: (heads, Nq, 64), float32."""

    def make(rng):
        P = rng.random((heads, Nq, Nk))
        return {
            "P": (P / P.sum(axis=-1, keepdims=True)).astype(np.float32),
            "V": rng.standard_normal((heads, Nk, 64), dtype=np.float32),
            "O": np.empty((heads, Nq, 64), np.float32),
            "Nq": np.int32(Nq),
            "Nk": np.int32(Nk),
        }

    return make


def launch(data):
    heads, Nq, _ = data["O"].shape
    return Launch((ceil_div(Nq, 4), heads), 64, "P V O Nq Nk")


exercise = Exercise(
    title="The same multiplications, fewer bytes",
    reference=lambda data: {"O": data["P"].astype(np.float64) @ data["V"].astype(np.float64)},
    cases=(
        Case("8 queries, 64 keys, 2 heads", data(2, 8, 64), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("one query short of four", data(1, 3, 20), launch),
        Case("one more than four", data(2, 5, 33), launch),
        Case("another shape", data(2, 6, 45), launch, visible=False),
    ),
    budget=Budget(
        "8 queries, 64 keys, 2 heads",
        "4 blocks of 2 warps; for each of 64 keys a warp asks for 4 sectors of V and for 1 of P in each of 4 rows; one fma for each key, row and column",
        global_load_sectors=4 * 2 * 64 * (4 + 4),
        flops=2 * 2 * 8 * 64 * 64,
    ),
    budget_share=1.0,
    variation=lambda rng: [Case(f"shape {s}", data(2, *s), launch) for s in lengths(rng, 4, 32)],
    hints=(
        "Each of the four rows goes through all of V. Which loop has to be outside, so that a value of V stays in a register while all four rows need it?",
        "Keys outside, rows inside: `const float v = V[(size_t)j * d];` once for each j, then `acc[r] += P[(size_t)r * Nk + j] * v` for the rows below `left`.",
    ),
)
