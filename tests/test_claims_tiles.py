"""Figures of chapter 24's sweep on a table small enough to work out by hand."""

from lanewise.claims.tiles import tile_sweep
from lanewise.results import Table


def test_shares_are_of_the_fastest_tile_of_a_shape() -> None:
    times = {  # d, causal, N: ms of 64 × 64, 64 × 32 and 128 × 64
        (64, False, 512): (2.0, 4.0, 2.5),
        (64, True, 512): (3.0, 5.0, 2.7),
        (128, False, 512): (8.0, 10.0, 4.0),
    }
    rows = [
        {"d": d, "causal": causal, "N": n, "Br": br, "Bc": bc, "warps": 4, "ms": ms}
        for (d, causal, n), row in times.items()
        for (br, bc), ms in zip(((64, 64), (64, 32), (128, 64)), row, strict=True)
    ]
    assert tile_sweep(Table("tile_sweep", "", "", "", "", {}, rows)) == {
        "sweep_tiles": "6",
        "sweep_shapes": "3",
        "sweep_winners": "128 × 64 (2), 64 × 64 (1)",
        "square_first": "N = 512, d = 64",
        "square_share": "50 to 100",
        "smallest_share": "40 to 54",
        "fixed": "64 × 64 with 4 warps for d = 64 and 128 × 64 with 4 warps for d = 128",
        "fixed_share": "90 and 100",
    }
