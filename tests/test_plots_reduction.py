"""The picture of a reduction shows the numbers that the levels really give."""

import re
import xml.etree.ElementTree as ET

import pytest

from lanewise import plots_reduction

SVG = "{http://www.w3.org/2000/svg}"


def rows(picture):
    """The numbers of each level, from the picture's own text."""
    texts = [(float(t.get("y")), t.text) for t in ET.fromstring(picture.svg).iter(f"{SVG}text") if t.get("class") in ("on mid", "dim mid")]
    return [[float(text) for y, text in texts if y == level] for level in sorted({y for y, _ in texts})]


def test_a_tree_keeps_its_upper_half():
    assert rows(plots_reduction.halving([3, 1, 7, 0])) == [[3, 1, 7, 0], [10, 1, 7, 0], [11, 1, 7, 0]]


def test_a_shuffle_doubles_where_no_lane_is_further_on():
    assert rows(plots_reduction.halving([3, 1, 7, 0], shuffled=True)) == [[3, 1, 7, 0], [10, 1, 14, 0], [11, 15, 14, 0]]


def test_words_name_the_sum_of_each_level():
    picture = plots_reduction.halving([1, 2, 3, 4], title="four")
    assert str(picture) == "four: 4 numbers, 2 levels, 10 is wanted; after half 2: 4, 6; after half 1: 10."


def test_one_line_joins_each_pair():
    for count in (2, 8, 16):
        assert len(re.findall("<path", plots_reduction.halving(range(count)).svg)) == count - 1


def test_another_count_is_refused():
    with pytest.raises(ValueError, match="not 5: pass a power of two"):
        plots_reduction.halving(range(5))
