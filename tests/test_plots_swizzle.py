"""The pictures of tiles count passes as the simulator does, and name what a lane holds."""

import xml.etree.ElementTree as ET

import pytest

from lanewise import plots_swizzle

SVG = "{http://www.w3.org/2000/svg}"
PLAIN = [(row, chunk) for row in range(8) for chunk in range(8)]
SWIZZLED = [(row, place ^ row) for row in range(8) for place in range(8)]


def padded():
    """Rows of eight chunks and one unused."""
    return [place for row in range(8) for place in [*((row, chunk) for chunk in range(8)), None]]


@pytest.mark.parametrize(("places", "passes"), [(PLAIN, "8 passes, 4 banks"), (SWIZZLED, "1 pass, 32 banks"), (padded(), "1 pass, 32 banks")])
@pytest.mark.parametrize("chunk", [0, 5])
def test_chunks_below_each_other_take_a_pass_each(places, passes, chunk):
    picture = plots_swizzle.chunk_places(places, chunk, title="a tile")
    assert f"chunk {chunk} of 8 rows: {passes} in use." in picture.alt and picture.alt.startswith("a tile: ")
    boxes = [box.get("class") for box in ET.fromstring(picture.svg).iter(f"{SVG}rect")]
    assert boxes.count("soft") + boxes.count("warm") == 8
    assert boxes.count("warm") == int(passes[0]) - 1


def test_every_chunk_stands_where_it_lies():
    picture = plots_swizzle.chunk_places(SWIZZLED, 2)
    texts = {text.text: (float(text.get("x")), float(text.get("y"))) for text in ET.fromstring(picture.svg).iter(f"{SVG}text")}
    assert texts["row 3: 2"][0] == texts["row 0: 1"][0]  # 2 ^ 3 is place 1
    assert len({texts[f"row {row}: 2"][0] for row in range(8)}) == 8


def test_a_layout_without_the_chunk_is_refused():
    with pytest.raises(ValueError, match="chunk 8 of rows 0 to 7: pass a layout that holds all eight"):
        plots_swizzle.chunk_places(PLAIN, 8)


def test_a_lanes_elements_are_coloured_and_named():
    lanes = [[row * 4 + column // 2 for column in range(8)] for row in range(8)]
    picture = plots_swizzle.holders(lanes, lane=5, title="by rows")
    assert picture.alt == "by rows: which lane gets which element of an 8 x 8 matrix; lane 5: row 1 column 2, row 1 column 3."
    assert [box.get("class") for box in ET.fromstring(picture.svg).iter(f"{SVG}rect")].count("warm") == 2
    with pytest.raises(ValueError, match="8 rows of 8 lane numbers"):
        plots_swizzle.holders(lanes[:4])
