"""Pictures of tiled attention: they say what they show, and count right."""

import numpy as np
import pytest

from lanewise import plots_attention as plots


def test_the_walk_tells_each_state():
    picture = plots.flash_walk([(1.0, 2.0), (1.5, 3.25)], 3, 1, "a walk")
    assert picture.alt.startswith("a walk: 3 x 2 tiles of scores. Block 1 keeps its queries")
    assert "after tile 2: m 1.500, l 3.250" in picture.alt
    assert picture.svg.count(">step ") == 2 and ">1.500<" in picture.svg
    with pytest.raises(ValueError, match="a block below 3"):
        plots.flash_walk([(1.0, 2.0)], 3, 3)


def test_bytes_beside_their_formula():
    assert plots.bytes_by_tile([("Br 8", 4096, 4096), ("Br 16", 2048, 2048)]).alt == "Br 8: 4,096; Br 16: 2,048 bytes; each bar ends at the formula's mark."
    assert plots.bytes_by_tile([("Br 8", 4096, 4000)], "T").alt == "T: Br 8: 4,096 bytes; 1 of 1 differ from the formula."
    with pytest.raises(ValueError, match="needs a row"):
        plots.bytes_by_tile([])


@pytest.mark.parametrize(("Nq", "Nk", "Br", "Bc"), [(64, 64, 16, 16), (40, 70, 16, 32), (70, 40, 16, 8), (1, 9, 4, 4), (33, 33, 32, 32)])
def test_tiles_are_what_the_mask_makes_of_them(Nq, Nk, Br, Bc):
    seen = np.arange(Nk) <= np.arange(Nq)[:, None] + Nk - Nq
    count = dict.fromkeys(plots.KINDS, 0)
    for i in range(0, Nq, Br):
        for j in range(0, Nk, Bc):
            tile = seen[i : i + Br, j : j + Bc]
            kind = "whole" if tile.all() else "masked" if tile.any() else "skipped"
            assert plots.causal_tile(i, min(i + Br, Nq) - 1, j, min(j + Bc, Nk) - 1, Nk - Nq) == kind
            count[kind] += 1
    words = f"{count['whole']} tiles need no mask (blue), {count['masked']} are cut by it (orange), {count['skipped']} are skipped (grey)."
    assert plots.tile_map(Nq, Nk, Br, Bc).alt.endswith(words)


def test_a_size_of_nothing_is_refused():
    with pytest.raises(ValueError, match="positive numbers"):
        plots.tile_map(4, 4, 0, 4)


def test_shifts_say_how_busy_the_multiprocessors_are():
    assert plots.shifts([[("a", 3), ("b", 1)], [("c", 2)]]).alt == "2 multiprocessors, done after 4, busy 75 % of the time (orange: idle)."
    with pytest.raises(ValueError, match="needs a multiprocessor"):
        plots.shifts([])
