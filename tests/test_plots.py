"""Pictures say in words and shapes what the data says, and their bytes depend on nothing else."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from urllib.parse import unquote

import pytest

from lanewise import plots

EXAMPLES = {
    "cover": lambda: plots.cover(1000, 256, 3),
    "lanes": lambda: plots.lanes([("if", range(32)), ("  odd", range(1, 32, 2))], "a branch"),
    "sectors": lambda: plots.sectors([4 * lane for lane in range(32)], 4, "a row"),
    "banks": lambda: plots.banks([32 * lane for lane in range(32)], 1, "a column"),
    "through_tile": lambda: plots.through_tile(),
    "heat": lambda: plots.heat('// head\n__global__ void f(float* a) {\n    a[0] = 1 < 2;\n}\n', {3: 8}, "sectors", "f & g"),
}


@pytest.fixture(params=EXAMPLES, ids=list(EXAMPLES))
def picture(request):
    return EXAMPLES[request.param]()


def test_is_xml_with_its_words_as_title(picture):
    root = ET.fromstring(picture.svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.find("{http://www.w3.org/2000/svg}title").text == picture.alt
    assert root.get("role") == "img"


def test_everything_is_inside_the_frame(picture):
    root = ET.fromstring(picture.svg)
    width, height = int(root.get("width")), int(root.get("height"))
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y = float(box.get("x", 0)), float(box.get("y", 0))
        assert x >= 0 and y >= 0
        assert x + float(box.get("width")) <= width and y + float(box.get("height")) <= height


def test_in_a_notebook_it_is_an_image_with_a_description(picture):
    html = picture._repr_html_()
    match = re.fullmatch(r'<img alt="([^"]*)" src="data:image/svg\+xml,([^"]*)" style="max-width:100%">', html)
    assert match and unquote(match[2]) == picture.svg
    assert "#" not in match[2] and "<" not in match[2], "a browser would cut the address there"


def test_follows_light_and_dark_on_its_own_background(picture):
    assert "prefers-color-scheme:dark" in picture.svg and "class='bg'" in picture.svg


def test_in_a_terminal_it_is_its_words(picture):
    assert str(picture) == repr(picture) == picture.alt


def test_bytes_are_equal_in_another_process():
    code = "from lanewise import plots; print(plots.banks([33 * i for i in range(32)]).svg)"
    others = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}).stdout for seed in "12"}
    assert others == {plots.banks([33 * i for i in range(32)]).svg + "\n"}


@pytest.mark.parametrize(
    ("n", "blocks", "words"),
    [
        (1000, 3, "232 elements without a thread: 768 .. 999"),
        (1000, 4, "24 threads without an element: 1000 .. 1023"),
        (1024, 4, "as many threads as elements"),
        (100, 2, "412 threads without an element: 100 .. 511"),
    ],
)
def test_cover_counts_who_is_left_over(n, blocks, words):
    assert words in plots.cover(n, 256, blocks).alt


def test_cover_wants_positive_numbers():
    with pytest.raises(ValueError, match="positive numbers"):
        plots.cover(0, 256, 1)


def test_lanes_counts_the_busy_share():
    picture = plots.lanes([("a", range(32)), ("b", range(16)), ("c", [])])
    assert "b: 16 of 32 lanes" in picture.alt and "Busy: 50 %" in picture.alt


def test_lanes_refuses_a_lane_that_is_not_there():
    with pytest.raises(ValueError, match="0 .. 31"):
        plots.lanes([("a", [32])])


@pytest.mark.parametrize(
    ("addresses", "size", "words"),
    [
        ([4 * lane for lane in range(32)], 4, "4 sectors = 128 bytes moved, 128 wanted"),
        ([4 * lane + 4 for lane in range(32)], 4, "5 sectors = 160 bytes moved, 128 wanted"),
        ([4 * lane + 16 for lane in range(32)], 4, "5 sectors = 160 bytes moved, 128 wanted"),
        ([4096 * lane for lane in range(32)], 4, "32 sectors = 1024 bytes moved, 128 wanted"),
        ([16 * lane for lane in range(32)], 16, "16 sectors = 512 bytes moved, 512 wanted"),
        ([64] * 32, 4, "1 sector = 32 bytes moved, 4 wanted"),
    ],
)
def test_sectors_are_32_bytes_and_aligned(addresses, size, words):
    assert plots.sectors(addresses, size).alt == f"one request of 32 lanes: {words}."


@pytest.mark.parametrize(
    ("words", "wide", "passes", "used"),
    [
        (list(range(32)), 1, "1 pass", 32),
        ([7] * 32, 1, "1 pass", 1),
        ([32 * lane for lane in range(32)], 1, "32 passes", 1),
        ([33 * lane for lane in range(32)], 1, "1 pass", 32),
        ([2 * lane for lane in range(32)], 1, "2 passes", 16),
        ([64 * lane for lane in range(32)], 4, "8 passes", 4),
        ([68 * lane for lane in range(32)], 4, "1 pass", 32),
        ([64 * lane + 4 * (lane % 8) for lane in range(32)], 4, "1 pass", 32),
    ],
)
def test_banks_pile_up_different_words_of_one_bank(words, wide, passes, used):
    picture = plots.banks(words, wide)
    assert f"shared memory: {passes}" in picture.alt and f"{used} bank{'s' if used > 1 else ''} in use" in picture.alt


@pytest.mark.parametrize(("function", "arguments"), [(plots.banks, ([], 1)), (plots.banks, ([1], 3)), (plots.banks, ([0] * 33, 1)), (plots.sectors, ([], 4))])
def test_one_request_of_a_warp_is_all_that_is_drawn(function, arguments):
    with pytest.raises(ValueError, match="one request of a warp"):
        function(*arguments)


def test_through_tile_marks_a_row_of_in_and_a_column_of_the_tile():
    picture = plots.through_tile(1, 3, size=4)
    boxes = [tuple(map(int, box)) for box in re.findall(r"<rect class='(?:soft|warm)' x='(\d+)' y='(\d+)' width='(\d+)' height='(\d+)'", picture.svg)]
    assert [(w, h) for _, _, w, h in boxes] == [(80, 20), (80, 20), (80, 20), (20, 80)]
    assert [y for _, y, _, _ in boxes] == [64, 64, 104, 44]
    assert "row 1 of in" in picture.alt and "column 3 of the tile" in picture.alt and "row 3 of out" in picture.alt
    with pytest.raises(ValueError, match="below that"):
        plots.through_tile(4, 0, size=4)


def test_heat_names_the_hottest_line_and_shows_source_and_numbers():
    source = "// contract\n__global__ void f(float* a) {\n    a[0] = 1;\n    a[1] = 2;\n}\n"
    picture = plots.heat(source, {3: 4, 4: 1200}, "sectors", "f")
    assert picture.alt == "f: sectors by source line, most on line 4: 1,200."
    assert ">1,200<" in picture.svg and "a[1] = 2;" in picture.svg and "contract" not in picture.svg


def test_heat_of_nothing_says_so():
    assert plots.heat("__global__ void f() {}", {}, "sectors").alt == "sectors by source line, 0 on every line."
