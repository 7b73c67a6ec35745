"""Pictures of fragments: they show what the simulator's tensor core takes from each lane, and refuse what isn't so."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from lanewise import simt
from lanewise.listing import source
from lanewise.plots_fragments import product, reused
from lanewise.simt.instructions.fragments import layout


@pytest.fixture(scope="module")
def maps():
    """A, B and C of ch19_fragment_map, as the kernel writes them."""
    A, B, C = np.empty((16, 16), np.int32), np.empty((16, 8), np.int32), np.empty((16, 8), np.int32)
    simt.compile(source("ch19_fragment_map")).kernel("fragment_map").launch(1, 32, (A, B, C)).raise_if_faulty()
    return A, B, C


def simulated(use, rows, columns, type, count):
    """lane + 32 * register of every element, from the table that the simulator multiplies with."""
    element = layout(use, rows, columns, type, count).source
    a_register = 2 if type == "f16" else 1
    return (element // count + 32 * (element % count // a_register)).reshape(rows, columns)


def texts(picture):
    return [node.text for node in ElementTree.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_maps_are_what_the_tensor_core_takes(maps):
    A, B, C = maps
    assert (A == simulated("a", 16, 16, "f16", 8)).all()
    assert (B == simulated("b", 16, 8, "f16", 4)).all()
    assert (C == simulated("c", 16, 8, "f32", 4)).all()


def test_a_product_names_what_a_lane_holds(maps):
    picture = product(*maps, lane=5)
    assert "a0 row 1, columns 2 and 3, a2 row 1, columns 10 and 11, a1 row 9, columns 2 and 3, a3 row 9, columns 10 and 11" in picture.alt
    assert "b0 rows 2 and 3, column 1, b1 rows 10 and 11, column 1; c0 1 row 1, columns 2 and 3, c2 3 row 9, columns 2 and 3." in picture.alt
    words = texts(picture)
    assert [words.count(register) for register in ("a0", "a1", "a2", "a3", "b0", "b1", "c0 1", "c2 3")] == [1] * 8
    assert words.count("31") == 4 + 2 + 2 and words.count("5") == 0  # pairs of another lane in A, B and C; the chosen one shows registers
    boxes = [node.get("class") for node in ElementTree.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}rect")]
    assert boxes.count("warm") == 8 and boxes.count("soft") == 3 * 8 and boxes.count("none") == 3


def test_two_fragments_of_c_are_one_of_a(maps):
    A, _, C = maps
    picture = reused(C, A, lane=5)
    assert "C0, columns 0 to 7: c0.0 1 row 1, columns 2 and 3, c0.2 3 row 9, columns 2 and 3" in picture.alt
    assert "C1, columns 8 to 15: c1.0 1 row 1, columns 10 and 11" in picture.alt
    assert texts(picture).count("c1.2 3") == 1 and texts(picture).count("a3") == 1


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda A, B, C: product(A, A, C), "m x k, k x n and m x n"),
        (lambda A, B, C: product(A, B, C, lane=32), "Lane 32 holds nothing"),
        (lambda A, B, C: product(A, B, [[0, 1], [2]]), "rows of equal length"),
        (lambda A, B, C: product(A, B, -1 - C), "without negative numbers"),
        (lambda A, B, C: reused(B, A), "would have to send elements"),
        (lambda A, B, C: reused(C[:8], A), "A has as many rows"),
    ],
)
def test_what_cannot_be_drawn_is_refused(maps, draw, says):
    with pytest.raises(ValueError, match=says):
        draw(*maps)


def test_everything_is_inside_the_frame(maps):
    for picture in (product(*maps), reused(maps[2], maps[0])):
        root = ElementTree.fromstring(picture.svg)
        width, height = int(root.get("width")), int(root.get("height"))
        for box in root.iter("{http://www.w3.org/2000/svg}rect"):
            assert float(box.get("x", 0)) + float(box.get("width")) <= width and float(box.get("y", 0)) + float(box.get("height")) <= height
