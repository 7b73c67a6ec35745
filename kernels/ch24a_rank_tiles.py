import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Slip

# Six tiles of flash2 for heads of 128 columns: Br, Bc, warps, registers, bytes of shared memory; clocks of the tensor cores, of issue, of
# shared memory and of powers, and of the longest chain, as lanewise.cost_model has them (tests/test_tuning.py compares).
SIX = (
    (128, 64, 4, 255, 65536, 1558, 875, 1536, 544, 520),
    (128, 32, 8, 127, 49152, 779, 792, 1408, 288, 456),
    (64, 32, 4, 132, 32768, 390, 404, 768, 144, 456),
    (128, 128, 4, 255, 98304, 3117, 1657, 3840, 1056, 649),
    (64, 64, 4, 161, 49152, 779, 587, 1408, 272, 520),
    (128, 64, 8, 162, 65536, 1558, 1126, 2560, 544, 520),
)


def table(rows):
    """The kernel's arrays, of rows like SIX."""
    Br, Bc, warps, registers, shared, *units, wait = np.array(rows).T
    return {
        "registers": registers.astype(np.int32),
        "shared": shared.astype(np.int32),
        "warps": warps.astype(np.int32),
        "pairs": (Br * Bc).astype(np.int32),
        "units": np.array(units, np.float32),
        "wait": wait.astype(np.float32),
        "blocks": np.empty(len(rows), np.int32),
        "cost": np.empty(len(rows), np.float32),
        "rank": np.empty(len(rows), np.int32),
        "n": np.int32(len(rows)),
    }


def drawn(n, twins=False, too_large=False):
    """n candidates of any size; `twins`: each stands twice; `too_large`: every third wants more shared memory than an SM has."""

    def make(rng):
        rows = [
            (rng.choice((16, 64, 128)), rng.choice((32, 64, 128)), rng.choice((4, 8, 16)), rng.integers(20, 256), rng.integers(1024, 120_000), *clocks)
            for clocks in rng.integers(100, 4000, (n, 5))
        ]
        if twins:
            rows = [rows[k // 2] for k in range(n)]
        data = table(rows)
        if too_large:
            data["shared"][::3] = 240_000
        return data

    return make


def reference(data):
    warps, fours = data["warps"].astype(np.int64), 65536 // 4
    by_warp = -(-data["registers"].astype(np.int64) * 32 // 256) * 256
    taken = -(-(data["shared"].astype(np.int64) + 1024) // 128) * 128
    blocks = np.minimum.reduce([64 // warps, fours // by_warp * 4 // warps, np.full(len(warps), 32), 233472 // taken])
    units = data["units"].astype(np.float64)
    with np.errstate(divide="ignore"):
        schedulers, memory, powers = units[0] + units[1], units[2], units[3]
        alone = np.maximum(schedulers, memory + powers) + data["wait"]
        tile = np.maximum.reduce([schedulers, memory, powers, alone / blocks])
    cost = np.where(blocks > 0, tile / data["pairs"], np.inf)
    rank = np.empty(len(cost), np.int32)
    rank[np.argsort(cost, kind="stable")] = np.arange(len(cost))
    return {"blocks": blocks.astype(np.int32), "cost": cost, "rank": rank}


def costed(
    says,
    schedulers=np.add,  # of the tensor cores' clocks and those of issue
    beside=np.add,  # of shared memory's clocks and those of powers, where one block is alone
    waits=1,
    tile=lambda highest, alone, blocks, warps: np.maximum(highest, alone / blocks),
    each=lambda tile, pairs, resident: tile / pairs,
):
    """A Slip: the costs with one step of the model done in another way."""

    def gives(data):
        blocks, units = reference(data)["blocks"].astype(np.float64), data["units"].astype(np.float64)
        first = schedulers(units[0], units[1])
        highest = np.maximum.reduce([first, units[2], units[3]])
        alone = np.maximum(first, beside(units[2], units[3])) + waits * data["wait"]
        with np.errstate(all="ignore"):
            clocks = tile(highest, alone, blocks, data["warps"])
            return {"cost": np.where(blocks > 0, each(clocks, data["pairs"], blocks * data["warps"]), np.inf)}

    return Slip(says, gives)


def ranked(says, before):
    """A Slip: rank i counts the j for which before(cost j, cost i, j, i)."""

    def gives(data):
        cost = reference(data)["cost"]
        j, i = np.indices((len(cost), len(cost)))
        return {"rank": before(cost[j], cost[i], j, i).sum(axis=0)}

    return Slip(says, gives)


launch = Launch(1, 64, "registers shared warps pairs units wait blocks cost rank n")

exercise = Exercise(
    title="Rank tiles by what they should cost",
    reference=reference,
    rtol=1e-5,
    atol=0.0,
    cases=(
        Case("six tiles of flash2", lambda rng: table(SIX), launch),
        Case("one candidate", drawn(1), launch),
        Case("64 candidates", drawn(64), launch),
        Case("pairs of equal ones", drawn(20, twins=True), launch),
        Case("some don't fit", drawn(33, too_large=True), launch),
        Case("other candidates", drawn(50), launch, visible=False),
    ),
    slips=(
        costed("That is a cost by resident warps: they only fill each other's waits, what a tile takes of the units is in none.", each=lambda t, p, r: 1 / r),
        costed(
            "That is the highest roof alone, or with warps that fill each other's waits: a block's warps multiply together, so only blocks do, alone / fit.",
            tile=lambda h, a, b, w: h,
        ),
        costed("That is alone / fit, however many blocks there are: a tile never takes less than its highest roof.", tile=lambda h, a, b, w: a / b),
        costed("That is the cost as if each block were alone on its SM: `fit` of them fill each other's waits.", tile=lambda h, a, b, w: np.maximum(h, a)),
        costed("There tensor cores and issue run beside each other: the schedulers start both, so their clocks add.", schedulers=np.maximum),
        costed("There powers run beside the loads of the same block: all its warps do the one, then the other, so alone they add.", beside=np.maximum),
        costed("The waits are missing: alone, a tile takes its longest chain, wait, as well.", waits=0),
        costed("That is the cost of a tile, whatever its size: divide by its pairs.", each=lambda t, p, r: t),
        ranked("The costs are right, and the dearest comes first.", lambda other, mine, j, i: (other > mine) | (other == mine) & (j < i)),
        ranked("The costs are right, and equal ones share a rank: of two equal ones the earlier comes first.", lambda other, mine, j, i: other < mine),
        ranked("The costs are right, and a candidate counts itself, or all that are equal: it isn't before itself.", lambda other, mine, j, i: other <= mine),
    ),
    variation=lambda rng: [
        Case(f"{n} candidates", drawn(int(n), bool(twins), bool(large)), launch)
        for n, twins, large in ((1, 0, 0), (rng.integers(2, 33), 1, 1), (rng.integers(33, 65), 0, 1))
    ],
    hints=(
        "Resident blocks only fill each other's waits. With enough of them, which roof decides? Two of the four units add. And a large tile does more pairs.",
        "tile = fmaxf(highest of (tensor + issue), memory, powers; alone / fit), alone = fmaxf(tensor + issue, memory + powers) + wait; cost is tile / pairs.",
    ),
)
