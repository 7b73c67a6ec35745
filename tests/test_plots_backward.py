"""Pictures of the backward pass: the numbers they show, and what they refuse."""

import xml.etree.ElementTree as ElementTree

import pytest

from lanewise.plots_backward import jacobian, passes


def words(picture):
    """The texts of an SVG, which must be well-formed."""
    return [node.text for node in ElementTree.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_jacobian_shows_its_table_and_the_product():
    texts = words(jacobian([0.5, 0.3, 0.2], [1.0, 0.0, -1.0]))
    assert [text for text in texts if text in ("0.25", "0.21", "0.16")] == ["0.25", "0.21", "0.16"]
    assert texts.count("−0.15") == 2 and texts.count("−0.06") == 2
    assert texts[-6:-3] == ["0.35", "−0.09", "−0.26"]  # 0.5 (1 - 0.3), 0.3 (0 - 0.3), 0.2 (-1 - 0.3)
    assert "dS = 0.35, −0.09, −0.26" in jacobian([0.5, 0.3, 0.2], [1.0, 0.0, -1.0]).alt
    assert "dS" not in words(jacobian([0.5, 0.5]))


def test_a_walk_skips_what_nobody_sees():
    causal, full = passes(4, 4, 0), passes(4, 4)
    assert "visits 2 tiles of queries, 2 to 3" in causal.alt and "visits 3 tiles of keys" in causal.alt
    assert "visits 4 tiles of queries, 0 to 3" in full.alt and "visits 4 tiles of keys" in full.alt
    assert words(causal).count("1") == 2 and words(causal).count("3") == 0
    assert words(full).count("3") == 2


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: jacobian([1.0]), "2 to 8 weights"),
        (lambda: jacobian([0.5, 0.5], [1.0]), "as long as they are"),
        (lambda: passes(1, 4), "2 to 10 tiles"),
        (lambda: passes(4, 11), "2 to 10 tiles"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, says):
    with pytest.raises(ValueError, match=says):
        draw()
