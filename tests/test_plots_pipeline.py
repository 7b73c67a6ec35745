"""The timetable of a pipeline: units never do two things at once, nothing begins before what it needs, and the orders of work differ as they should."""

import pytest

from lanewise.plots_pipeline import UNITS, Costs, Span, busy_share, timeline, timetable

COSTS = Costs(copy=256, scores=256, softmax=512, values=256)  # d = 64, 128 keys
ORDERS = {"alike": {"alike": True}, "apart": {}, "turns": {"turns": True}, "overlap": {"overlap": True}, "both": {"turns": True, "overlap": True}}


def length(**order) -> int:
    return max(span.end for span in timetable(COSTS, 8, **order))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("warpgroups", [1, 2, 3])
def test_every_step_is_done_once_and_no_unit_does_two_things_at_once(order, warpgroups):
    spans = timetable(COSTS, 5, warpgroups, **ORDERS[order])
    done: dict[tuple, int] = {}
    for span in spans:
        done[span.step, span.who, span.tile] = done.get((span.step, span.who, span.tile), 0) + span.end - span.start
    wanted = {("K", -1, n): 256 for n in range(5)} | {("V", -1, n): 256 for n in range(5)}
    wanted |= {(step, w, n): 512 if step == "P" else 256 for step in "SPO" for w in range(warpgroups) for n in range(5)}
    assert done == wanted
    for unit in UNITS:
        mine = sorted((span.start, span.end) for span in spans if span.unit == unit)
        assert all(first[1] <= second[0] for first, second in zip(mine, mine[1:], strict=False))


@pytest.mark.parametrize("order", ORDERS)
def test_nothing_begins_before_what_it_needs(order):
    spans = timetable(COSTS, 6, **ORDERS[order])
    begin, end = {}, {}
    for span in spans:
        key = span.step, span.who, span.tile
        begin[key] = min(begin.get(key, span.start), span.start)
        end[key] = span.end
    for n in range(6):
        for w in range(2):
            assert begin["S", w, n] >= end["K", -1, n] and begin["P", w, n] >= end["S", w, n]
            assert begin["O", w, n] >= max(end["P", w, n], end["V", -1, n])
            if n >= 2:
                assert begin["K", -1, n] >= end["S", w, n - 2] and begin["V", -1, n] >= end["O", w, n - 2]
            if n and order not in ("overlap", "both"):
                assert begin["S", w, n] >= end["O", w, n - 1]
            if n and order == "alike":
                assert begin["S", w, n] >= end["O", 1 - w, n - 1]


def test_each_idea_saves_time_where_the_softmax_costs_as_much_as_the_products():
    assert length(alike=True) > length() > length(overlap=True) > length(turns=True) == length(turns=True, overlap=True)
    assert length(warpgroups=1) > length(warpgroups=1, overlap=True)


def test_more_stages_save_nothing_once_the_copies_are_hidden():
    assert length(turns=True) == length(turns=True, stages=3) == length(turns=True, stages=4)


def test_a_timeline_says_what_it_shows():
    spans = [Span("copy engine", -1, "K", 0, 0, 50), Span("tensor cores", 0, "S", 0, 50, 100), Span("exp units", 1, "P", 0, 100, 200)]
    assert busy_share(spans) == 0.25
    picture = timeline([("one", spans)], "Who waits")
    assert picture.alt == "Who waits: one: 200 cycles, tensor cores busy 25%."
    assert picture.svg.count("class='warm'") == 1 + 1 and ">P0</text>" in picture.svg  # and the legend's


@pytest.mark.parametrize("wrong", [{"stages": 1}, {"tiles": 0}])
def test_refused(wrong):
    with pytest.raises(ValueError, match="two stages, a tile"):
        timetable(COSTS, **({"tiles": 3} | wrong))
    with pytest.raises(ValueError, match="at least one"):
        timeline([])
