import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths


def data(heads, Nq, Nk):
    """Q: (heads, Nq, 64), K: (heads, Nk, 64), S: (heads, Nq, Nk), float32."""
    return lambda rng: {
        "Q": rng.standard_normal((heads, Nq, 64), dtype=np.float32),
        "K": rng.standard_normal((heads, Nk, 64), dtype=np.float32),
        "S": np.empty((heads, Nq, Nk), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
        "scale": np.float32(0.125),
    }


def launch(data):
    heads, Nq, Nk = data["S"].shape
    return Launch((ceil_div(Nk, 32), ceil_div(Nq, 8), heads), (32, 8), "Q K S Nq Nk scale")


exercise = Exercise(
    title="Scores, with each row fetched once a block",
    reference=lambda data: {"S": 0.125 * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).swapaxes(1, 2)},
    atol=1e-5,  # 64 products; the scaled sum is of size 1
    cases=(
        Case("full blocks, 2 heads", data(2, 16, 64), launch),
        Case("one query, one key", data(1, 1, 1), launch),
        Case("one short of a block", data(1, 7, 31), launch),
        Case("one more than a block", data(2, 9, 33), launch),
        Case("few queries, many keys", data(1, 3, 100), launch),
        Case("another shape", data(3, 11, 45), launch, visible=False),
    ),
    budget=Budget(
        "full blocks, 2 heads",
        "8 blocks; a block fetches 32 keys and 8 queries of 256 bytes, and reads 16 float4 of each in 8 warps: keys in 4 passes, the query in 2",
        global_load_sectors=8 * (32 + 8) * 8,
        shared_load_wavefronts=8 * 8 * 16 * (4 + 2),
    ),
    budget_share=1.0,
    variation=lambda rng: [Case(f"shape {s}", data(2, *s), launch) for s in lengths(rng, 8, 32)],
    hints=(
        "Number the block's 256 threads with t. Float4 k of a tile belongs to its row k / 16, column k % 16, and the tile's rows lie one behind another in K.",
        "`Ks[k / 16][k % 16] = K[k]` for k = t, t + 256 while that key exists; `Qs[t / 16][t % 16] = Q[t]` for t < 128 while that query exists; a barrier; "
        "then `a = Qs[y][c], b = Ks[x][c]`.",
    ),
)
