"""Pictures of splits, ladders, units and orders: they say what they show, and count right."""

import pytest

from lanewise import plots_tuning as plots


def test_a_split_says_who_touches_what():
    queries, keys = plots.warp_split("queries", title="now"), plots.warp_split("keys")
    assert queries.alt.startswith("now: a tile of scores split by queries among 4 warps") and "all of K and V pass by" in queries.alt
    assert "every warp adds to all of O" in keys.alt
    for name in ("Q", "K", "S, P", "V", "O"):
        assert f">{name}<" in queries.svg and f">{name}<" in keys.svg
    # orange: K and V whole, and a quarter of Q, S and O; or Q and O whole, and a quarter of K, S and V
    assert queries.svg.count("<rect class='warm'") == keys.svg.count("<rect class='warm'") == 5
    with pytest.raises(ValueError, match='by "queries" or "keys"'):
        plots.warp_split("heads")


def test_a_ladder_has_its_bars_and_its_mark():
    picture = plots.ladder([("a", 10.0), ("b", 40.0)], "TFLOP/s", ("theirs", 35.5), "L")
    assert picture.alt == "L: a: 10; b: 40 in TFLOP/s; orange: theirs, 35.5."
    assert "width='95'" in picture.svg and "width='380'" in picture.svg  # 10 of 40, and 40 of 40
    assert plots.ladder([("a", 10.0)], "ms").alt == "a: 10 in ms."
    with pytest.raises(ValueError, match="values from 0 up"):
        plots.ladder([("a", -1.0)], "ms")
    with pytest.raises(ValueError, match="needs rows"):
        plots.ladder([], "ms")


def test_units_name_the_busiest():
    picture = plots.unit_clocks([("x", {"a": 3.0, "b": 9.0}, 10.0), ("y", {"a": 5.0, "b": 4.0}, 5.0)])
    assert picture.alt == "the busiest unit of each tile and the whole: x: b 9, in all 10; y: a 5, in all 5."
    assert picture.svg.count("<rect class='warm'") == 2
    with pytest.raises(ValueError, match="same units"):
        plots.unit_clocks([("x", {"a": 3.0}, 3.0), ("y", {"b": 4.0}, 4.0)])


def test_orders_count_what_changes_places():
    same = plots.orders([("x", 1, 10), ("y", 2, 20), ("z", 3, 30)], ("guess", "fact"))
    assert same.alt == "guess: x, y, z; fact: x, y, z; 0 of 3 pairs change places."
    turned = plots.orders([("x", 1, 30), ("y", 2, 20), ("z", 3, 10)], ("guess", "fact"))
    assert "3 of 3 pairs change places" in turned.alt and "fact: z, y, x" in turned.alt
    tied = plots.orders([("x", 1, 2), ("y", 1, 1)], ("guess", "fact"))
    assert tied.alt == "guess: y, x; fact: y, x; 0 of 1 pairs change places, 1 are equal in one of the two."
    part = plots.orders([("x", 1, 2), ("y", 1, 1), ("z", 2, 0)], ("guess", "fact"))
    assert "2 of 3 pairs change places, 1 are equal" in part.alt  # z passes both; x and y are equal on the left
    with pytest.raises(ValueError, match="at least two"):
        plots.orders([("x", 1, 2)], ("guess", "fact"))
