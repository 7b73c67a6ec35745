import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, TensorMap, ceil_div, lengths


def data(Nq, Nk, shape=lambda x: x):
    """Q: (Nq, 64), K: (Nk, 64), V: (Nk, 128), fp16, O: (Nq, 128), float32. Scores are of size 1. `shape` makes other rows of V."""
    return lambda rng: {
        "Q": (rng.standard_normal((Nq, 64), dtype=np.float32) / 8).astype(np.float16),
        "K": rng.standard_normal((Nk, 64), dtype=np.float32).astype(np.float16),
        "V": shape(rng.standard_normal((Nk, 128), dtype=np.float32)).astype(np.float16),
        "O": np.empty((Nq, 128), np.float32),
        "Nq": np.int32(Nq),
    }


def launch(data):
    maps = (TensorMap(name, (64, 64), "128B") for name in "QKV")
    return Launch(ceil_div(len(data["Q"]), 64), 128, (*maps, "O", "Nq"))


def reference(data):
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    return {"O": np.exp2(Q @ K.T) @ V}


PANEL = 64 * 128  # bytes of 64 rows of 64 columns


def made(says, index=lambda step, i, half: 8 * step + 2 * i + half, start=lambda step: 2048 * step, panel=PANEL, group=1024, power=np.exp2, steps=range(4)):
    """A Slip: O if p[step][i] is packed from s[index(step, i, half)], and V is read from byte start(step) on, panels `panel` and groups of 8 keys `group`
    bytes apart. The swizzle is the same function of an address for the copy and for wgmma, so that the bytes can be counted as if there were none."""
    row, column = np.arange(16)[:, None], np.arange(128)

    def gives(data):
        Q, K, V = (data[name].astype(np.float64) for name in "QKV")
        Q, K, V = (np.pad(x, [(0, -len(x) % 64), (0, 0)]) for x in (Q, K, V))
        memory = np.concatenate([V[:, :64].ravel(), V[:, 64:].ravel()])  # as it lies in shared memory
        P = power(Q @ K.T)
        O = np.zeros((len(Q), 128))  # noqa: E741
        lane, i, half = np.ogrid[:32, :4, :2]
        for step in steps:
            A = np.empty((len(Q) // 16, 16, 16))
            s = index(step, i, half)
            A[:, lane // 4 + i % 2 * 8, lane % 4 * 2 + i // 2 * 8 + half] = P.reshape(-1, 16, 64)[
                :, lane // 4 + s // 2 % 2 * 8, s // 4 * 8 + lane % 4 * 2 + s % 2
            ]
            B = memory[(start(step) + column // 64 * panel + row // 8 * group + row % 8 * 128) // 2 + column % 64]
            O += A.reshape(len(Q), 16) @ B  # noqa: E741
        return {"O": O[: len(data["Q"])]}

    return Slip(says, gives)


ORDER = "A's registers are row lane / 4, row lane / 4 + 8, then both again 8 columns on, in pairs: the order of s itself."

exercise = Exercise(
    title="Weights that stay in registers",
    reference=reference,
    rtol=2.0**-11,  # each weight is rounded to 11 bits ..
    atol=2e-2,  # .. and values of both signs cancel: 64 errors of about 1e-3, of either sign
    cases=(
        Case("64 queries, 64 keys", data(64, 64), launch),
        Case("one of each", data(1, 1), launch),
        Case("ragged", data(65, 63), launch),
        Case("few keys", data(20, 9), launch),
        Case("other numbers", data(63, 40), launch, visible=False),
    ),
    slips=(
        made(
            f"Registers 1 and 2 of the weights have changed places. {ORDER}",
            index=lambda step, i, half: 8 * step + i // 2 * 2 + i % 2 * 4 + half,
        ),
        made("The halves of the pairs have changed places: pack2's first argument is the low half.", index=lambda step, i, half: 8 * step + 2 * i + 1 - half),
        made("The weights of the first 16 keys come four times: a step has 8 registers of s.", index=lambda step, i, half: 2 * i + half + 0 * step),
        made(
            "V's steps move along its rows, by 16 columns: the sum runs over keys, which are rows of V, so a step is 16 rows of 128 bytes.",
            start=lambda step: 32 * step,
        ),
        made("V's first 64 columns come twice: its two panels lie `panel` bytes apart.", panel=0),
        made(
            "The two distances have changed places: V's panels of 64 columns lie `panel` bytes apart, its groups of 8 keys 8 * 128.",
            panel=1024,
            group=PANEL,
        ),
        made("That is the last step alone: from the second step on the product is added to o.", steps=(3,)),
        made("The weights are powers of e: the contract says 2^score.", power=np.exp),
    ),
    budget=Budget(
        "64 queries, 64 keys",
        "four instructions for each product; the weights never see shared memory",
        wgmma_instructions=8,
        shared_store_requests=0,
        shared_load_requests=0,
    ),
    variation=lambda rng: [
        Case(f"{n} queries, {min(m, 64)} keys", data(n, min(m, 64), lambda V: np.sort(V, axis=-1)), launch) for n, m in lengths(rng, 64, 64)
    ],
    hints=(
        "D's registers 8 j .. 8 j + 7 are columns 16 j .. 16 j + 15, in pairs: row lane / 4, row lane / 4 + 8, then both 8 columns on. That is the order of "
        "A's registers. V has keys for rows: a step of 16 keys is 16 rows of 128 bytes, and its two panels lie `panel` bytes apart.",
        "`p[step][i] = pack2(s[8 * step + 2 * i], s[8 * step + 2 * i + 1], __half())` and `wgmma_tile(v + step * 16 * 128, panel, 8 * 128)`.",
    ),
)
