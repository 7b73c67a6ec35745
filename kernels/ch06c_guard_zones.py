import numpy as np

from lanewise.exercise import Case, Exercise, Launch, ceil_div, lengths

POISON = 0x7FA5A5A5


def data(n, unwritten=(), strayed=(), values=()):
    """buffer: 32 + n + 32 float32; counts: (2) int32.

    `unwritten` are elements of the output, `strayed` (word of the buffer, bits), `values` (element, float).
    """

    def make(rng):
        words = np.full(64 + n, POISON, dtype=np.uint32)
        output = rng.standard_normal(n, dtype=np.float32)
        for element, value in values:
            output[element] = value
        words[32 : 32 + n] = output.view(np.uint32)
        words[[32 + element for element in unwritten]] = POISON
        for word, bits in strayed:
            words[word] = bits
        return {"buffer": words.view(np.float32), "poison": np.uint32(POISON), "counts": np.zeros(2, np.int32), "n": np.int32(n)}

    return make


def launch(data):
    return Launch(ceil_div(data["buffer"].size, 128), 128, "buffer poison counts n")


def reference(data):
    poisoned = data["buffer"].view(np.uint32) == data["poison"]
    inside = poisoned[32:-32]
    return {"counts": np.array([inside.sum(), (~poisoned).sum() - (~inside).sum()], dtype=np.int32)}


def drawn(rng, n):
    """For a hidden case: unwritten elements and strayed words in drawn places, the zones' outermost and innermost words among them."""
    words = [0, 31, 32 + n, 63 + n, *(int(word) for word in rng.choice([*range(1, 31), *range(33 + n, 63 + n)], 5, replace=False))]
    strayed = [(word, int(rng.integers(1 << 30))) for word in words if rng.random() < 0.7]
    return [int(i) for i in rng.permutation(n)[: int(rng.integers(0, n // 2 + 1))]], strayed


exercise = Exercise(
    title="Who wrote nothing, and who wrote too far?",
    reference=reference,
    updates=("counts",),
    cases=(
        Case("1000 elements, all is well", data(1000), launch),
        Case("nobody wrote the last 5", data(64, range(59, 64)), launch),
        Case("nobody wrote anything", data(100, range(100)), launch),
        Case("three words beyond the end", data(96, (), [(128, 0), (129, 0x3F800000), (159, 0)]), launch),
        Case("one word before the start", data(10, (), [(31, 0x7FC00000)]), launch),
        Case("an output that is NaN, and written", data(10, (2,), (), [(5, np.nan)]), launch),
        Case("others", data(200, (0, 199), [(0, 0), (31, 1), (232, 2), (263, 3)]), launch, visible=False),
    ),
    variation=lambda rng: [Case(f"n = {n}", data(n, *drawn(rng, n)), launch) for (n,) in lengths(rng, 128)],
    hints=(
        (
            "Poison is a NaN, and no comparison of floats finds one: NaN == NaN is false. Compare the bits. And "
            "what is wrong about a guard zone's word: to be poison, or not to be?"
        ),
        "`__float_as_uint(buffer[i]) == poison`. Then counts[0] where output && poisoned, counts[1] where !output && !poisoned, each by atomicAdd.",
    ),
)
