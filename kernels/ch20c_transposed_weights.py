import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div


def data(Nk, sharp=1.0):
    """P: (32, Nk), rows with sum 1, dO: (32, 64), fp16, dV: (Nk, 64), float32. The larger `sharp`, the fewer keys have weight."""

    def make(rng):
        S = sharp * rng.standard_normal((32, Nk))
        P = np.exp(S - S.max(axis=1, keepdims=True))
        return {
            "P": (P / P.sum(axis=1, keepdims=True)).astype(np.float16),
            "dO": rng.standard_normal((32, 64), dtype=np.float32).astype(np.float16),
            "dV": np.empty((Nk, 64), np.float32),
            "Nk": np.int32(Nk),
        }

    return make


def launch(data):
    return Launch(ceil_div(len(data["dV"]), 16), 32, "P dO dV Nk")


exercise = Exercise(
    title="Transposed on the way",
    reference=lambda data: {"dV": data["P"].astype(np.float64).T @ data["dO"].astype(np.float64)},
    atol=1e-5,  # 32 exact products with weights below 1: a sum of 10 at most, rounded or cut off twice
    cases=(
        Case("16 keys", data(16), launch),
        Case("40 keys", data(40), launch),
        Case("8 keys, one has all the weight", data(8, 30.0), launch),
        Case("other numbers", data(24), launch, visible=False),
    ),
    budget=Budget("16 keys", "5 ldmatrix a step, 2 steps, 4 passes each", shared_load_wavefronts=40),
    variation=lambda rng: [Case(f"{8 * n} keys", data(8 * n, sharp), launch) for n, sharp in ((1, 30.0), (2 + int(rng.choice((-1, 1))), 1.0), (7, 8.0))],
    hints=(
        "A register of a fragment holds two neighbours along the summed direction, here two queries of one key. They lie in different rows of the tile: only "
        ".trans brings them together. And the lanes name rows of the tile, queries, in the order of a[0] to a[3].",
        "`ldmatrix_x4_trans` for both. For a: query `k + lane / 16 * 8 + lane % 8`, chunk `lane / 8 % 2`. For b the addresses are right.",
    ),
)
