"""The picture of the attention ladder: its lines lie where the numbers are, its names keep apart, and the stored one is that of the stored table."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from lanewise import bench, results
from lanewise.plots_ladder import _apart, attention_ladder

ROWS = [
    {"d": d, "N": n, "causal": causal, "flash2": d * n / 1024, "flash3": 2 * d * n / 1024, "cuDNN": 100.0}
    for d in (64, 128) for n in (512, 1024, 2048) for causal in (False, True)
]  # fmt: skip


def nodes(picture, kind):
    """Elements of an SVG, which must be well-formed."""
    return list(ElementTree.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}" + kind))


def lines(picture, kind):
    """The points of every line of a class."""
    paths = [node.get("d") for node in nodes(picture, "path") if node.get("class") == kind]
    return [[tuple(map(float, point.split())) for point in path.removeprefix("M").split("L")] for path in paths]


def test_lines_lie_where_the_numbers_are():
    picture = attention_ladder(ROWS)
    ours, theirs = lines(picture, "ours"), lines(picture, "theirs")
    assert len(ours) == 8 and len(theirs) == 4
    fast, slow = ours[0], ours[1]  # d = 64, full: flash3 goes 64, 128, 256 and flash2 half of it; the axis ends at 600, 190 pixels up, 62 from the top
    assert [x for x, _ in fast] == [44, 164, 284]
    assert [y for _, y in fast] == pytest.approx([252 - 190 * v / 600 for v in (64, 128, 256)], abs=0.06)
    assert [y for _, y in slow] == pytest.approx([252 - 190 * v / 600 for v in (32, 64, 128)], abs=0.06)
    assert len({y for _, y in theirs[0]}) == 1


def test_it_says_in_words_what_it_shows():
    picture = attention_ladder(ROWS, "measured on X", "T")
    assert picture.alt.startswith("T, TFLOP/s. d = 64, full: flash3 64 at 512, 256 at 2,048; flash2 32 at 512, 128 at 2,048; cuDNN 100 at 512, 100 at 2,048.")
    assert "d = 128, causal: flash3 128 at 512" in picture.alt
    texts = [node.text for node in nodes(picture, "text")]
    assert texts[0] == "T" and "measured on X" in texts and texts.count("flash3 512") == 2 and texts.count("2,048") == 4


REFERENCES = [
    {"library": name, "d": 64, "N": n, "causal": False, "TFLOPs": speed}
    for name, n, speed in [("PyTorch math", 512, 8.0), ("PyTorch math", 1024, 9.0), ("FlexAttention", 1024, 80.0), ("FlexAttention", 4096, 90.0)]
]  # fmt: skip


def test_references_are_drawn_at_the_lengths_they_have():
    picture = attention_ladder(ROWS, references=REFERENCES)
    flex, math = lines(picture, "others")
    assert [x for x, _ in flex] == [164] and [x for x, _ in math] == [44, 164]  # nothing stands beside them at 4096
    assert [y for _, y in flex + math] == pytest.approx([252 - 190 * v / 600 for v in (80, 8, 9)], abs=0.06)
    texts = [node.text for node in nodes(picture, "text")]
    assert texts.count("FlexAttention 80 at 1,024") == texts.count("PyTorch math 9 at 1,024") == 1
    assert "cuDNN 100 at 512, 100 at 2,048; FlexAttention 80 at 1,024; PyTorch math 8 at 512, 9 at 1,024. d = 64, causal" in picture.alt


STEPS = [
    {"rung": "naive", "idea": "as it comes", "type": "float32", "N": 2048, "ms": 91.6, "TFLOPs": 3.0},
    {"rung": "flash3", "idea": "all at once", "type": "float16", "N": 2048, "ms": 0.611, "TFLOPs": 450.0},
]


def test_every_rung_has_a_bar_below_the_panels():
    bare, picture = attention_ladder(ROWS), attention_ladder(ROWS, "measured on X", steps=STEPS)
    bars = [node for node in nodes(picture, "rect") if node.get("class") in ("soft", "warm")]
    assert [(bar.get("class"), float(bar.get("width"))) for bar in bars] == [("soft", 2.0), ("warm", 300.0)]
    assert all(float(bar.get("y")) > float(nodes(bare, "svg")[0].get("height")) - 12 for bar in bars)
    texts = [node.text for node in nodes(picture, "text")]
    assert {"naive", "3, 91.6 ms: as it comes", "450, 0.611 ms: all at once"} <= set(texts) and texts[-1] == "measured on X"
    assert picture.alt.endswith("d = 64, full, N = 2,048, from the first kernels up: naive 3, 91.6 ms; flash3 450, 0.611 ms.")


def test_a_library_that_was_not_there_is_left_out():
    picture = attention_ladder([{key: row[key] for key in ("d", "N", "causal", "flash2")} for row in ROWS if not row["causal"] and row["d"] == 64])
    assert len(lines(picture, "ours")) == 1 and not lines(picture, "theirs") and "cuDNN" not in picture.svg


def test_names_that_would_meet_are_moved_apart_no_more_than_needed():
    assert _apart([10, 100], 15) == [10, 100]
    assert _apart([50, 50, 50], 15) == [35, 50, 65]
    assert _apart([40, 50, 51, 200], 10) == [37, 47, 57, 200]


@pytest.mark.parametrize("rows", [[], [{"d": 64, "N": 512, "causal": True, "cuDNN": 1.0}], [{"d": 64, "N": 0, "causal": True, "flash2": 1.0}]])
def test_what_cannot_be_drawn_is_refused(rows):
    with pytest.raises(ValueError, match="each needs d, N, causal and TFLOP/s of flash2 or flash3"):
        attention_ladder(rows)


def test_the_stored_picture_is_that_of_the_stored_table(tmp_path, monkeypatch):
    stored = results.path_for("h200").with_name("h200_ladder.svg").read_text(encoding="utf-8")
    table = results.path_for("h200").read_text(encoding="utf-8")
    monkeypatch.setattr(results, "path_for", lambda gpu: tmp_path / "h200.json")
    (tmp_path / "h200.json").write_text(table, encoding="utf-8")
    drawn = bench.draw_ladder("h200")
    assert drawn == tmp_path / "h200_ladder.svg"
    assert drawn.read_text(encoding="utf-8") == stored, "run `python tests/test_readme.py`"
    assert re.search(r"NVIDIA H200, driver [\d.]+, \d{4}-\d\d-\d\d: python -m lanewise\.bench\.attention_ladder", stored)


def test_without_a_table_there_is_no_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "path_for", lambda gpu: tmp_path / "none.json")
    assert bench.draw_ladder("none") is None and not list(tmp_path.iterdir())
