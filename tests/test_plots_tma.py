import pytest

from lanewise import plots_tma

PLAIN = [(at // 8, at % 8) for at in range(64)]
SWIZZLED = [(at // 8, at % 8 ^ at // 8) for at in range(64)]


def test_a_tile_says_in_which_columns_a_chunk_lies():
    picture = plots_tma.tile_bytes([("none", PLAIN), ("128B", SWIZZLED)], marked=2, title="A tile")
    assert "none: chunk 2 of rows 0 to 7 lies in columns 2, 2, 2, 2, 2, 2, 2, 2" in picture.alt
    assert "128B: chunk 2 of rows 0 to 7 lies in columns 2, 3, 0, 1, 6, 7, 4, 5" in picture.alt
    assert picture.svg.count("class='warm'") == 16 and picture.svg.count("class='none'") == 112
    assert ">7.5</text>" in picture.svg


def test_tiles_have_64_chunks():
    with pytest.raises(ValueError, match="64 chunks"):
        plots_tma.tile_bytes([("none", PLAIN[:-1])])


def test_a_ring_shows_the_parity_of_each_round():
    picture = plots_tma.ring(3, 8)
    assert "stage 0: tile 0 at step 0 with parity 0, tile 3 at step 3 with parity 1, tile 6 at step 6 with parity 0" in picture.alt
    assert picture.svg.count("class='warm'") == 8  # each is read once
    assert picture.svg.count("class='soft'") == 0 + 1 + 6 * 2  # tiles 0 and 1 come before the first steps, the others take two
    assert ">tile 5 comes</text>" in picture.svg


@pytest.mark.parametrize(("stages", "tiles"), [(1, 3), (2, 0)])
def test_a_ring_has_stages_and_tiles(stages, tiles):
    with pytest.raises(ValueError, match="two stages"):
        plots_tma.ring(stages, tiles)
