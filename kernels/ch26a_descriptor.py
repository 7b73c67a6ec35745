import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, Slip, TensorMap, ceil_div, hard_rows, lengths


def data(Nq, Nk, shape=lambda x: x):
    """Q: (Nq, 128), K: (Nk, 128), fp16, S: (Nq, Nk), float32. `shape` makes other rows of Q."""
    return lambda rng: {
        "Q": shape(rng.standard_normal((Nq, 128), dtype=np.float32)).astype(np.float16),
        "K": rng.standard_normal((Nk, 128), dtype=np.float32).astype(np.float16),
        "S": np.empty((Nq, Nk), np.float32),
        "Nq": np.int32(Nq),
        "Nk": np.int32(Nk),
    }


def launch(data):
    Nq, Nk = data["S"].shape
    return Launch((ceil_div(Nk, 64), ceil_div(Nq, 64)), 128, (TensorMap("Q", (64, 64), "128B"), TensorMap("K", (64, 64), "128B"), "S", "Nq", "Nk"))


def read_as(says, start, group=8 * 128):
    """A Slip: S from what the eight wgmma read where step `step` begins at start(step) and 8 rows lie `group` bytes from the next 8. The swizzle is the
    same function of an address for the copy and for wgmma, so that the bytes can be counted as if there were none."""

    def panels(X, tile):
        rows = np.zeros((64, 128))
        part = X[64 * tile : 64 * tile + 64]
        rows[: len(part)] = part
        return np.concatenate([rows[:, :64].ravel(), rows[:, 64:].ravel()])  # as they lie in shared memory

    def operand(memory, step):
        row, column = np.indices((64, 16))
        return memory[(start(step) + row // 8 * group + row % 8 * 128) // 2 + column]

    def gives(data):
        Q, K = (data[name].astype(np.float64) for name in "QK")
        tiles = [[(panels(Q, y), panels(K, x)) for x in range(ceil_div(len(K), 64))] for y in range(ceil_div(len(Q), 64))]
        S = np.block([[sum(operand(q, step) @ operand(k, step).T for step in range(8)) for q, k in line] for line in tiles])
        return {"S": S[: len(Q), : len(K)]}

    return Slip(says, gives)


PANELS = "A panel has 64 columns, 128 bytes a row: steps 0 to 3 lie in the first panel, steps 4 to 7 in the second, `panel` bytes on."
right = lambda step: step // 4 * 64 * 128 + step % 4 * 32  # noqa: E731

exercise = Exercise(
    title="What wgmma is told of a tile",
    reference=lambda data: {"S": data["Q"].astype(np.float64) @ data["K"].astype(np.float64).T},
    atol=2e-4,  # 128 exact products of size 1: a sum of 30 or so, cut off at each of 8 steps
    cases=(
        Case("64 queries, 64 keys", data(64, 64), launch),
        Case("one of each", data(1, 1), launch),
        Case("ragged", data(65, 63), launch),
        Case("other numbers", data(30, 70), launch, visible=False),
    ),
    slips=(
        read_as(f"That is S if steps 4 to 7 take the first 64 columns of the next row. {PANELS}", lambda step: 32 * step),
        read_as(f"That is S of the first 64 columns, twice. {PANELS}", lambda step: step % 4 * 32),
        read_as(f"That is S of the first 16 columns of each panel, four times. {PANELS}", lambda step: step // 4 * 64 * 128),
        read_as("That is S if a step begins 16 bytes after the one before: 16 columns of fp16 are 32 bytes.", lambda step: right(step) // 2 + step // 4 * 4096),
        read_as("That is S if rows 8 to 15 are rows 1 to 8: 8 rows lie 8 * 128 bytes from the next 8, not 128.", right, group=128),
        read_as("That is S if rows 8 to 15 are rows 4 to 11: a row of a panel has 64 columns of 2 bytes, so 8 rows have 8 * 128 bytes.", right, group=512),
        read_as("That is S if every group of 8 rows is the first one: bits 32 to 45 say that 8 rows lie 8 * 128 bytes from the next 8.", right, group=0),
    ),
    budget=Budget("64 queries, 64 keys", "128 columns are 8 steps of 16", wgmma_instructions=8),
    variation=lambda rng: [
        Case(f"{n} queries, {m} keys", data(n, m, hard_rows(rng)), launch, atol=2e-2)  # elements up to 300, their products cancel
        for n, m in lengths(rng, 64, 64)
    ],
    hints=(
        "A row of a panel has 128 bytes, so 8 rows have 1024: that is the distance of the groups. A step of 16 columns is 32 bytes, and after four steps the "
        "panel is used up.",
        "`(at >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62`, and a step begins at `step / 4 * panel + step % 4 * 32`.",
    ),
)
