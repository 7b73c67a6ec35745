"""Pictures of softmax: the numbers they draw, and what they refuse."""

import math
import xml.etree.ElementTree as ET

import pytest

from lanewise import plots_softmax

EMPTY = (-math.inf, 0.0)


def words(picture):
    return [element.text for element in ET.fromstring(picture.svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_running_state_shows_m_l_and_how_much_the_pile_shrinks():
    picture = plots_softmax.running([0.0, 2.0, 1.0])
    assert picture.alt == "score 0: m 0, l 1.000; score 2: m 2, l 1.135; score 1: m 2, l 1.503."
    assert [text for text in words(picture) if text.startswith("×")] == ["× 0.000", "× 0.135", "× 1.000"]


@pytest.mark.parametrize("scores", [[], [0.0] * 10, [math.inf], [math.nan]])
def test_a_running_state_of_too_much_or_nothing_is_refused(scores):
    with pytest.raises(ValueError, match="1 to 9 finite scores"):
        plots_softmax.running(scores)


def test_joined_states_are_those_of_all_keys_above():
    picture = plots_softmax.joined([(0.0, 1.0), (2.0, 1.0), EMPTY, (1.0, 1.0)])
    assert picture.alt.endswith("(2, 1.135), (1, 1.000); (2, 1.503).")
    assert "m -inf" in words(picture)


def test_an_empty_part_changes_nothing_and_two_are_empty():
    assert plots_softmax.join(EMPTY, (3.0, 2.5)) == plots_softmax.join((3.0, 2.5), EMPTY) == (3.0, 2.5)
    assert plots_softmax.join(EMPTY, EMPTY) == EMPTY


def test_only_whole_trees_are_drawn():
    with pytest.raises(ValueError, match="2, 4 or 8 states, not 3"):
        plots_softmax.joined([EMPTY] * 3)


def test_round_trips_are_added_up():
    picture = plots_softmax.round_trips([("scores", [("Q", 1024), ("K", 1024)], [("S", 1 << 20)]), ("softmax", [("S", 1 << 20)], [("P", 1 << 20)])])
    assert picture.alt == "scores reads Q (1 KiB), K (1 KiB) and writes S (1 MiB); softmax reads S (1 MiB) and writes P (1 MiB). Together 3.002 MiB."
    with pytest.raises(ValueError, match="at least one kernel"):
        plots_softmax.round_trips([("idle", [], [])])
