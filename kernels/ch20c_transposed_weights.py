import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, ceil_div


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


def blocks(X):
    """X as (rows of 16, upper or lower 8, row, columns of 16, left or right 8, column)."""
    return X.reshape(len(X) // 16, 2, 8, X.shape[1] // 16, 2, 8)


def exchanged(X):
    """Of every 16 x 16 numbers the upper right and the lower left 8 x 8 have changed places."""
    return blocks(X).transpose(0, 4, 2, 3, 1, 5).reshape(X.shape)


def turned(X):
    """Every 8 x 8 numbers transposed in its place."""
    return blocks(X).transpose(0, 1, 5, 3, 4, 2).reshape(X.shape)


def read(says, A_as=lambda A: A, B_as=lambda B: B):
    """A Slip: dV = A B with A = P^T (keys, queries) and B = dO as ldmatrix read them."""

    def gives(data):
        Nk = len(data["dV"])
        A = np.pad(data["P"].astype(np.float64).T, [(0, -Nk % 16), (0, 0)])
        return {"dV": (A_as(A) @ B_as(data["dO"].astype(np.float64)))[:Nk]}

    return Slip(says, gives)


def as_it_stands(A):
    """Every 16 x 16 numbers transposed: both matrices change places, and each is turned."""
    return turned(exchanged(A))


TRANS = "a register holds two queries of one key, and they lie in two rows: only .trans brings them together."

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
    slips=(
        read(f"That is dV with P and dO as they stand, neither turned: {TRANS}", as_it_stands, turned),
        read(f"dO is right, and P stands as it lies in memory, not transposed: {TRANS}", as_it_stands),
        read(f"dO is right, and the addresses for P are, too, but its matrices aren't turned: {TRANS}", turned),
        read(f"P is right, and dO's matrices aren't turned: {TRANS}", B_as=turned),
        read("P is turned, and its second and third matrix have changed places: a[1] is keys 8 .. 15, a[2] queries k + 8 and on.", exchanged),
        read("P's queries are the first 16, twice: they begin at k.", lambda A: np.tile(A[:, :16], 2)),
    ),
    variation=lambda rng: [Case(f"{8 * n} keys", data(8 * n, sharp), launch) for n, sharp in ((1, 30.0), (2 + int(rng.choice((-1, 1))), 1.0), (7, 8.0))],
    hints=(
        "A register of a fragment holds two neighbours along the summed direction, here two queries of one key. They lie in different rows of the tile: only "
        ".trans brings them together. And the lanes name rows of the tile, queries, in the order of a[0] to a[3].",
        "`ldmatrix_x4_trans` for both. For a: query `k + lane / 16 * 8 + lane % 8`, chunk `lane / 8 % 2`. For b the addresses are right.",
    ),
)
