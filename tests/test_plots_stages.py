"""The timeline of stages: every tile in its row, and the tiles that travel while another one is used are counted."""

import xml.etree.ElementTree as ET

import pytest

from lanewise import plots_stages

SVG = "{http://www.w3.org/2000/svg}"
ONE_BY_ONE = [(0, 10, 20), (20, 30, 40), (40, 50, 60)]
TWO = [(0, 10, 20), (10, 20, 30), (20, 30, 40)]


def boxes(picture, kind):
    """(x, y, width) of the boxes of a kind, without the legend."""
    found = [box for box in ET.fromstring(picture.svg).iter(f"{SVG}rect") if box.get("class") == kind]
    return [tuple(float(box.get(name)) for name in ("x", "y", "width")) for box in found if box.get("height") == "24"]


def test_one_stage_hides_nothing():
    picture = plots_stages.stage_timeline(ONE_BY_ONE, 1, title="waiting")
    assert picture.alt == "waiting: 1 stage, 60 steps; 0 of 3 tiles on the way while another one is used."
    assert len({y for _, y, _ in boxes(picture, "warm")}) == 1


def test_two_stages_hide_all_but_the_first_copy():
    picture = plots_stages.stage_timeline(TWO, 2, unit="cycles")
    assert picture.alt == "2 stages, 40 cycles; 2 of 3 tiles on the way while another one is used."
    assert [x for x, _, _ in boxes(picture, "warm")] == [224, 524, 374]  # by stage: tiles 0 and 2, then tile 1
    assert [width for _, _, width in boxes(picture, "soft")] == [150, 150, 150]


@pytest.mark.parametrize(("events", "stages"), [([], 1), ([(0, 2, 1)], 1), (TWO, 0)])
def test_times_that_do_not_rise_are_refused(events, stages):
    with pytest.raises(ValueError, match="in this order of time: pass at least one"):
        plots_stages.stage_timeline(events, stages)
