import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip

d = 16


def scores(data):
    """(16, Nk), float64."""
    return float(data["scale"]) * data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T


def data(Nk, size=1.0):
    """Q: (16, 16), K, V: (Nk, 16), fp16; LSE: (16), O: (16, 16), float32. Q is `size` times a normal number; V is positive."""

    def make(rng):
        Q, K = (size * rng.standard_normal((16, d))).astype(np.float16), rng.standard_normal((Nk, d)).astype(np.float16)
        made = {"Q": Q, "K": K, "V": (1 + rng.random((Nk, d))).astype(np.float16), "scale": np.float32(d**-0.5), "Nk": np.int32(Nk)}
        S = scores(made)
        m = S.max(axis=1)
        lse = m + np.log(np.exp(S - m[:, None]).sum(axis=1))
        return {**made, "LSE": lse.astype(np.float32), "O": np.empty((16, d), np.float32)}

    return make


def reference(data):
    """O in float64, from the LSE that was given."""
    return {"O": np.exp(scores(data) - data["LSE"][:, None].astype(np.float64)) @ data["V"].astype(np.float64)}


launch = Launch(1, 32, "Q K V LSE O Nk scale")


def packed(says, registers, cut=lambda P: P.astype(np.float16)):
    """A Slip: O if A's registers 0 to 3 are packed from these elements of s, low and high: "00 01" is s[0][0] and s[0][1]. `cut`: the weights in 16 bits."""
    chosen = [[(int(word[0]), int(word[1])) for word in register.split()] for register in registers]

    def gives(data):
        P = cut(np.exp(scores(data) - data["LSE"][:, None].astype(np.float64))).astype(np.float64)
        group, pair = np.arange(32) // 4, np.arange(32) % 4 * 2
        O = np.zeros((16, d))  # noqa: E741
        for start in range(0, P.shape[1], 16):
            A = np.empty((16, 16))
            for r, register in enumerate(chosen):
                for half, (j, e) in enumerate(register):
                    A[group + r % 2 * 8, pair + r // 2 * 8 + half] = P[group + e // 2 * 8, start + 8 * j + pair + e % 2]
            O += A @ data["V"][start : start + 16].astype(np.float64)  # noqa: E741
        return {"O": O}

    return Slip(says, gives)


def as_bf16(P):
    """The bits of bf16, read as fp16."""
    bits = P.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16).view(np.float16)


exercise = Exercise(
    title="From C to A without a detour",
    reference=reference,
    atol=1e-5,  # weights below fp16's normal numbers
    rtol=1e-3,  # each weight is rounded to fp16: 2**-11 of itself, and V is positive
    cases=(
        Case("16 keys", data(16), launch),
        Case("48 keys", data(48), launch),
        Case("scores far apart", data(32, 12.0), launch),
        Case("other numbers", data(32), launch, visible=False),
    ),
    budget=Budget("48 keys", "a lane already holds what it needs", shared_store_requests=0, shared_load_requests=0),
    budget_share=1.0,
    slips=(
        packed(
            "A's registers 1 and 2 have changed places: register 1 is row group + 8, register 2 is 8 keys further on.", ("00 01", "10 11", "02 03", "12 13")
        ),
        packed(
            "The halves of the pairs have changed places: pack2's first argument is the low half, the pair's first key.", ("01 00", "03 02", "11 10", "13 12")
        ),
        packed("The pairs are of two rows: s[j][0] and s[j][1] lie in row group, s[j][2] and s[j][3] in row group + 8.", ("00 02", "01 03", "10 12", "11 13")),
        packed("The first 8 keys come twice: registers 2 and 3 are s[1].", ("00 01", "02 03", "00 01", "02 03")),
        packed("The two fragments of 8 keys have changed places: registers 0 and 1 are s[0].", ("10 11", "12 13", "00 01", "02 03")),
        packed("The weights are packed as bf16, and V is fp16: mma reads both as fp16.", ("00 01", "02 03", "10 11", "12 13"), as_bf16),
    ),
    variation=lambda rng: [Case(f"{tiles} tiles", data(16 * tiles, float(rng.integers(1, 9))), launch) for tiles in (1, int(rng.integers(2, 5)))],
    hints=(
        "Lay the picture of C (two of them, side by side) on that of A: which elements does your lane hold in the one, and which must it hold in the other?",
        "Register 0 of A holds row `group`, columns `pair` and `pair + 1`: these are `s[0][0]` and `s[0][1]`. "
        "`ptx::pack2(low, high, __half())` packs two floats. "
        "Row `group + 8` is `s[0][2]`, `s[0][3]`; 8 columns further is `s[1]`.",
    ),
)
