import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, ceil_div, lengths

d, Br, Bc = 32, 16, 32


def data(heads, N, blocks):
    """Q, K, V, O: (heads, N, 32), LSE: (heads, N), float32, visited: (heads * tiles) int32; `blocks` isn't the kernel's business."""
    return lambda rng: {
        "Q": rng.standard_normal((heads, N, d), dtype=np.float32),
        "K": rng.standard_normal((heads, N, d), dtype=np.float32),
        "V": rng.standard_normal((heads, N, d), dtype=np.float32),
        "O": np.empty((heads, N, d), np.float32),
        "LSE": np.empty((heads, N), np.float32),
        "visited": np.empty(heads * ceil_div(N, Br), np.int32),
        "heads": np.int32(heads),
        "N": np.int32(N),
        "scale": np.float32(d**-0.5),
        "blocks": np.int32(blocks),
    }


def launch(data):
    return Launch(int(data["blocks"]), 64, "Q K V O LSE visited heads N scale")


def reference(data):
    Q, K, V = (data[name].astype(np.float64) for name in "QKV")
    N = Q.shape[1]
    S = np.where(np.tri(N, dtype=bool), float(data["scale"]) * Q @ K.swapaxes(1, 2), -np.inf)
    m = S.max(axis=-1, keepdims=True)
    P = np.exp(S - m)
    total = P.sum(axis=-1, keepdims=True)
    work = [ceil_div(min(first + Br, N), Bc) for first in range(0, N, Br)]
    return {"O": P @ V / total, "LSE": (m + np.log(total))[..., 0], "visited": np.array(sorted(work * len(Q), reverse=True))}


exercise = Exercise(
    title="Any number of blocks, the longest work first",
    reference=reference,
    rtol=2e-5,
    atol=2e-5,  # scores of size 1 or more, off by 6e-8 of that, pass through exp
    cases=(
        Case("2 heads of 40, 3 blocks", data(2, 40, 3), launch),
        Case("one head, one query", data(1, 1, 1), launch),
        Case("2 heads of 9, one block", data(2, 9, 1), launch),
        Case("more blocks than items", data(1, 35, 5), launch),
        Case("another shape", data(1, 33, 2), launch, visible=False),
    ),
    budget=Budget(
        "2 heads of 40, 3 blocks",
        "Q, O and LSE once; of K and V each of a head's 3 items asks for 32, 32 and 40 rows; 6 numbers in a sector each",
        global_bytes=4 * 2 * (2 * 40 * d + 2 * (32 + 32 + 40) * d + 40) + 6 * 32,
    ),
    variation=lambda rng: [
        Case(f"{heads} heads of {N}, {blocks} blocks", data(heads, N, blocks), launch)
        for (N,), heads, blocks in zip((*lengths(rng, Bc), (Br + 1,)), map(int, rng.permutation((1, 2, 1, 2))), map(int, rng.permutation(4) + 1), strict=True)
    ],
    hints=(
        "There are tiles * heads items. The last tile of every head is the longest: all heads' last tiles come first, then all heads' second last.",
        "item / heads counts tiles from the end: `first = (tiles - 1 - item / heads) * Br`, and `head = item % heads`.",
    ),
)
