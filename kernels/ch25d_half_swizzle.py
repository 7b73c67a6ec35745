import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, TensorMap, ceil_div, hard_rows, lengths


def data(Nk, shape=lambda x: x):
    """K: (Nk, 32), fp16, q: (32), S: (Nk), float32. `shape` makes other rows of K."""
    return lambda rng: {
        "K": shape(rng.standard_normal((Nk, 32), dtype=np.float32)).astype(np.float16),
        "q": rng.standard_normal(32, dtype=np.float32),
        "S": np.empty(Nk, np.float32),
        "Nk": np.int32(Nk),
    }


def launch(data):
    return Launch(ceil_div(len(data["K"]), 64), 64, (TensorMap("K", (64, 32), "64B"), "q", "S", "Nk"))


def read_at(says, place):
    """A Slip: S if chunk c of row t is read from place(c, t); there lies chunk place ^ (t / 2 % 4)."""

    def gives(data):
        K, q = data["K"].astype(np.float64).reshape(-1, 4, 8), data["q"].astype(np.float64).reshape(4, 8)
        t, c = np.indices((len(K), 4))
        return {"S": (K[t, place(c, t) ^ t // 2 % 4] * q).sum(axis=(1, 2))}

    return Slip(says, gives)


exercise = Exercise(
    title="Rows of 64 bytes, swizzled",
    reference=lambda data: {"S": data["K"].astype(np.float64) @ data["q"].astype(np.float64)},
    atol=1e-5,  # 32 products of size 1, each sum rounded
    cases=(
        Case("64 keys", data(64), launch),
        Case("one key", data(1), launch),
        Case("65 keys", data(65), launch),
        Case("other numbers", data(127), launch, visible=False),
    ),
    budget=Budget("64 keys", "2 warps read 4 chunks a lane in 4 passes each, and 32 numbers of q in at most one each", shared_load_wavefronts=2 * (4 * 4 + 32)),
    slips=(
        read_at("The chunks are read from their plain places, and the copy engine has swizzled them.", lambda c, t: c),
        read_at(
            "The chunks are swizzled by the row: two rows of 64 bytes fill the banks, so it is the pair of rows, t / 2, that decides.", lambda c, t: c ^ t % 4
        ),
    ),
    variation=lambda rng: [Case(f"{n} keys", data(n, hard_rows(rng)), launch, atol=2e-3) for (n,) in lengths(rng, 64)],  # elements up to 300
    hints=(
        "The swizzle XORs address bits. With rows of 128 bytes, bits 7 and up are the row. What are bits 7 and 8 of the address of a row of 64 bytes?",
        "Bits 4 and 5, the chunk, are XORed with bits 7 and 8, which are `t / 2 % 4` for row t: chunk c lies at `t * 64 + (c ^ t / 2 % 4) * 16`.",
    ),
)
