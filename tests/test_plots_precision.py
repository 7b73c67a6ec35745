"""Pictures of number formats: what they say, and what they refuse."""

import xml.etree.ElementTree as ElementTree

import pytest

from lanewise.plots_precision import errors, formats


def nodes(picture, kind):
    """Elements of an SVG, which must be well-formed."""
    return list(ElementTree.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}" + kind))


def test_a_format_shows_its_bits_and_its_ends():
    picture = formats([("fp16", 5, 10), ("bf16", 8, 7)])
    texts = [node.text for node in nodes(picture, "text")]
    assert "5 exponent" in texts and "10 fraction" in texts and "7 fraction" in texts
    assert "largest number 65,504, relative error of a rounding up to 2^-11" in texts
    assert "bf16: 1 bit of sign, 8 of exponent, 7 of fraction; largest number 3.4e38, relative error of a rounding up to 2^-8" in picture.alt
    widths = [float(box.get("width")) for box in nodes(picture, "rect") if box.get("class") in ("warm", "soft")]
    assert [width / 15 for width in widths] == [5, 10, 8, 7]


def test_errors_lie_where_their_logarithm_is():
    picture = errors([16, 64, 256], [("short", [2**-8, 2**-6, 2**-4]), ("long", [2**-12] * 3)])
    points = [(float(b.get("x")) + 2.5, float(b.get("y")) + 2.5) for b in nodes(picture, "rect") if b.get("class") == "warm"]
    assert [x for x, _ in points] == [60, 260, 460] * 2
    assert [y for _, y in points] == [171, 108.5, 46, 296, 296, 296]  # 2^-4 on top, 2^-12 at the bottom
    assert "short: 2^-8 at 16, 2^-4 at 256; long: 2^-12 at 16, 2^-12 at 256" in picture.alt


def test_names_of_lines_that_end_together_keep_clear():
    picture = errors([2, 4], [("a", [0.5, 0.25]), ("b", [0.125, 0.25]), ("c", [0.5, 0.25])])
    heights = sorted(float(node.get("y")) for node in nodes(picture, "text") if node.text in ("a", "b", "c"))
    assert [b - a for a, b in zip(heights[:-1], heights[1:], strict=True)] == [14, 14]


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: formats([]), "at most 32 bits"),
        (lambda: formats([("fp64", 11, 52)]), "at most 32 bits"),
        (lambda: errors([1], [("a", [1.0])]), "at least two lengths"),
        (lambda: errors([1, 2], [("a", [1.0])]), "one for each"),
        (lambda: errors([1, 2], [("a", [1.0, 0.0])]), "positive errors"),
        (lambda: errors([1, 2], [("a", [1.0, float("inf")])]), "positive errors"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, says):
    with pytest.raises(ValueError, match=says):
        draw()
