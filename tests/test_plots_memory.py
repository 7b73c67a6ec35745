"""The pictures of memory say what their data says, and stay inside their frame."""

import xml.etree.ElementTree as ET

import pytest

from lanewise import plots_memory

SVG = "{http://www.w3.org/2000/svg}"
CHUNKS = [[4 * lane + k for lane in range(8)] for k in range(4)]
NEIGHBOURS = [[8 * k + lane for lane in range(8)] for k in range(4)]


def test_chunks_fetch_every_sector_at_every_step():
    assert str(plots_memory.steps(CHUNKS, title="chunks")) == (
        "chunks: 8 lanes; step 0: 4 sectors; step 1: 4 sectors; step 2: 4 sectors; step 3: 4 sectors. Fetched in all: 16 sectors."
    )


def test_neighbours_fetch_a_sector_once():
    assert str(plots_memory.steps(NEIGHBOURS)) == "8 lanes; step 0: 1 sector; step 1: 1 sector; step 2: 1 sector; step 3: 1 sector. Fetched in all: 4 sectors."


def test_each_lane_stands_in_its_place():
    texts = [t for t in ET.fromstring(plots_memory.steps([[3, 0, 9]]).svg).iter(f"{SVG}text") if t.get("class") == "on small mid"]
    left = min(float(t.get("x")) for t in texts)
    assert [((float(t.get("x")) - left) / 18, t.text) for t in texts] == [(3, "0"), (0, "1"), (9, "2")]


def test_wide_elements_fill_more_of_a_sector():
    assert "step 0: 2 sectors" in str(plots_memory.steps([[0, 1, 2]], size=16))


def test_bars_are_as_long_as_their_numbers():
    picture = plots_memory.bars([("a", 10), ("b", 2.5), ("none", 0)], "cycles", "latency")
    widths = [float(r.get("width")) for r in ET.fromstring(picture.svg).iter(f"{SVG}rect") if r.get("class") == "soft"]
    assert widths == [380, 95, 1]
    assert str(picture) == "latency: a 10; b 2.5; none 0 cycles."


@pytest.mark.parametrize("picture", [plots_memory.steps(CHUNKS, title="x" * 90), plots_memory.bars([("long label" * 4, 1234567)], "GB/s")])
def test_everything_is_inside_the_frame(picture):
    root = ET.fromstring(picture.svg)
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width")) <= int(root.get("width"))
        assert float(box.get("y", 0)) + float(box.get("height")) <= int(root.get("height"))


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda: plots_memory.steps([]), "at least one step"),
        (lambda: plots_memory.steps([[64]]), "elements 0 .. 63"),
        (lambda: plots_memory.bars([]), "at least one row"),
        (lambda: plots_memory.bars([("a", -1)]), "no negative number"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, says):
    with pytest.raises(ValueError, match=says):
        draw()
