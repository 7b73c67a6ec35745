"""The pictures of chapters 6 to 8 draw the numbers they are given."""

import re
import xml.etree.ElementTree as ET

import pytest

from lanewise.plots_matmul import tile_walk, uses
from lanewise.plots_roofline import outer_product, roofline
from lanewise.plots_timing import timeline

SVG = "{http://www.w3.org/2000/svg}"
EXAMPLES = {
    "tile_walk": lambda: tile_walk(128, 160, 160, 32, block=(3, 1), step=2),
    "uses": lambda: uses(4),
    "roofline": lambda: roofline([("slow", 0.25, None), ("fast", 8, 200.0)], slope=128, peak=256, title="roofs"),
    "outer_product": lambda: outer_product(4),
    "timeline": lambda: timeline([("host", [("launch", 0, 1, "soft")]), ("GPU", [("kernel", 1, 4, "warm")])], [("watch", 0, 1)], "a launch"),
}


@pytest.fixture(params=EXAMPLES, ids=list(EXAMPLES))
def picture(request):
    return EXAMPLES[request.param]()


def test_is_xml_with_its_words_as_title_and_stays_in_its_frame(picture):
    root = ET.fromstring(picture.svg)
    assert root.find(f"{SVG}title").text == picture.alt
    width, height = int(root.get("width")), int(root.get("height"))
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width")) <= width
        assert float(box.get("y", 0)) + float(box.get("height")) <= height
    for circle in root.iter(f"{SVG}circle"):
        assert 0 <= float(circle.get("cx")) <= width and 0 <= float(circle.get("cy")) <= height


def test_a_tile_walk_marks_the_steps_done_and_the_one_at_work():
    root = ET.fromstring(tile_walk(128, 160, 160, 32, block=(3, 1), step=2).svg)
    kinds = [box.get("class") for box in root.iter(f"{SVG}rect")]
    assert kinds.count("soft") == 2 * 2, "steps 0 and 1, of A and of B"
    assert kinds.count("warm") == 3, "this step's two tiles, and C's"


@pytest.mark.parametrize(("block", "step"), [((5, 0), 0), ((0, 4), 0), ((0, 0), 5), ((-1, 0), 0)])
def test_a_tile_walk_without_that_block_or_step_is_refused(block, step):
    with pytest.raises(ValueError, match="5 x 4 blocks and 5 steps"):
        tile_walk(128, 160, 160, 32, block, step)


def test_a_roofline_says_the_bound_and_the_share_of_each_point():
    picture = roofline([("slow", 0.25, None), ("fast", 8, 200.0)], slope=128, peak=256)
    assert "slow: 0.25 flops a byte, at most 32 flops a clock (12 % of the peak)" in picture.alt
    assert "fast: 8 flops a byte, 200 flops a clock (78 % of the peak)" in picture.alt


def test_a_roofline_puts_bounds_on_the_roof_and_readings_below():
    root = ET.fromstring(roofline([("left", 0.5, None), ("right", 8, None), ("reading", 8, 128.0)], slope=128, peak=256).svg)
    (roof,) = [path.get("d") for path in root.iter(f"{SVG}path") if "stroke-width:2" in path.get("style", "")]
    (x0, y0), (x1, y1), (_, y2) = [tuple(map(float, pair.split())) for pair in re.split("[ML]", roof)[1:]]
    left, right, reading = [(float(c.get("cx")), float(c.get("cy"))) for c in root.iter(f"{SVG}circle")]
    assert left[1] == pytest.approx(y0 + (y1 - y0) * (left[0] - x0) / (x1 - x0), abs=0.2)
    assert right[1] == y1 == y2
    assert reading[0] == right[0] and reading[1] > right[1]


@pytest.mark.parametrize("bad", [0, -1.0])
def test_a_roofline_needs_positive_numbers(bad):
    for arguments in (([("p", bad, None)], 1, 1), ([("p", 1, bad)], 1, 1), ([("p", 1, None)], bad, 1), ([("p", 1, None)], 1, bad)):
        with pytest.raises(ValueError, match="above 0"):
            roofline(*arguments)


@pytest.mark.parametrize("tile", [1, 4, 8])
def test_an_outer_product_counts_floats_and_products(tile):
    picture = outer_product(tile)
    assert f"{2 * tile} floats read, {tile * tile} multiply-adds" in picture.alt
    assert [box.get("class") for box in ET.fromstring(picture.svg).iter(f"{SVG}rect")].count("warm") == tile * tile


@pytest.mark.parametrize(("draw", "size"), [(outer_product, 0), (outer_product, 9), (uses, 1), (uses, 9)])
def test_a_size_that_cannot_be_drawn_is_refused(draw, size):
    with pytest.raises(ValueError, match="pass a"):
        draw(size)


def test_a_timeline_is_to_scale():
    root = ET.fromstring(EXAMPLES["timeline"]().svg)
    widths = [float(box.get("width")) for box in root.iter(f"{SVG}rect") if box.get("class") in ("soft", "warm")]
    assert widths == [140, 420, 140], "launch, kernel, watch: 1, 3 and 1 of 4 units of 140"


def test_a_timeline_refuses_what_ends_before_it_starts():
    for rows, marks in (([], []), ([("host", [("a", 2, 1, "soft")])], []), ([("host", [("a", 0, 1, "soft")])], [("watch", 1, 0)])):
        with pytest.raises(ValueError, match="end after they start"):
            timeline(rows, marks)
