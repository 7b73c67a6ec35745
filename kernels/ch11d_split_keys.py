import numpy as np

from lanewise.exercise import Budget, Case, Exercise, Launch, hard_rows, lengths


def data(rows, keys, shape=lambda x: x):
    """S: (rows, keys), V: (keys, 32), O: (rows, 32), LSE: (rows), float32. `shape` turns standard normal numbers into the scores."""
    return lambda rng: {
        "S": shape(rng.standard_normal((rows, keys), dtype=np.float32)).astype(np.float32),
        "V": rng.standard_normal((keys, 32), dtype=np.float32),
        "O": np.empty((rows, 32), np.float32),
        "LSE": np.empty(rows, np.float32),
        "keys": np.int32(keys),
    }


def launch(data):
    return Launch(data["LSE"].size, 128, "S V O LSE keys")


def reference(data):
    S = data["S"].astype(np.float64)
    m = S.max(axis=1, keepdims=True)
    p = np.exp(S - m)
    total = p.sum(axis=1, keepdims=True)
    return {"O": p @ data["V"].astype(np.float64) / total, "LSE": (m + np.log(total))[:, 0]}


exercise = Exercise(
    title="Four warps share the keys of a row",
    reference=reference,
    rtol=2e-5,
    atol=4e-6,  # scores up to 100, off by 6e-8 of that, pass through exp
    cases=(
        Case("2 rows of 128", data(2, 128), launch),
        Case("one key: three warps have none", data(1, 1), launch),
        Case("five keys: one warp has none", data(2, 5), launch),
        Case("one more than four tiles", data(2, 129), launch),
        Case("the largest comes last", data(2, 150, lambda x: np.sort(x, axis=1)), launch),
        Case("all far below zero", data(2, 100, lambda x: x - 300.0), launch),
        Case("scores far apart", data(2, 100, lambda x: 30.0 * x), launch),
        Case("hundreds higher from quarter to quarter", data(2, 100, lambda x: 200.0 * np.sort(x, axis=1)), launch),
        Case("another shape", data(3, 77), launch, visible=False),
    ),
    budget=Budget(
        "2 rows of 128",
        "a row's scores are 16 sectors, its values 128 times 4; one barrier a row is enough",
        global_load_sectors=2 * (16 + 128 * 4),
        barriers=2,
    ),
    variation=lambda rng: [Case(f"n = {n}", data(5, n, hard_rows(rng)), launch) for (n,) in lengths(rng, 128)],
    hints=(
        "Each warp's l and acc are measured against its own m. Once all four m are known, one factor a warp brings both to the same measure.",
        "Store m, l and acc (not acc / l), then a barrier. m is the largest of the four; l and acc are the sums of ls[w] * fade and accs[w][lane] * fade with "
        "fade = expf(ms[w] - m).",
    ),
)
