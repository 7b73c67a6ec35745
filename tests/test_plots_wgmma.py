import pytest

from lanewise import plots_wgmma

PLACES = [(at // 8, at % 8 ^ at // 8) for at in range(64)]
I = range(32)  # noqa: E741  registers
ROWS = [16 + 1 + i // 2 % 2 * 8 for i in I]  # thread 37: warp 1, lane 5
COLUMNS = [i // 4 * 8 + 2 + i % 2 for i in I]


def test_an_operand_marks_a_step_and_one_line_of_it():
    step = {(row, chunk) for row in range(8) for chunk in (2, 3)}
    picture = plots_wgmma.operand(PLACES, step, {(1, 2), (1, 3)}, title="K")
    assert "16 of 64 chunks of 16 bytes are read by the step" in picture.alt
    assert "row 1 from column 24, row 1 from column 16" in picture.alt  # in the order of the addresses: 2 ^ 1 = 3 comes first
    assert (picture.svg.count("class='warm'"), picture.svg.count("class='soft'"), picture.svg.count("class='none'")) == (2 + 1, 14 + 1, 48)


def test_an_operand_needs_whole_lines_and_one_within_the_step():
    with pytest.raises(ValueError, match="8 chunks"):
        plots_wgmma.operand(PLACES[:-1], set(), set())
    with pytest.raises(ValueError, match="within"):
        plots_wgmma.operand(PLACES, set(), {(0, 0)})


def test_accumulators_show_every_register_of_a_thread():
    picture = plots_wgmma.accumulators(ROWS, COLUMNS, 37)
    assert "thread 37, warp 1, lane 5, holds in register 0: (17, 2); 1: (17, 3); 2: (25, 2); 3: (25, 3); 4: (17, 10)" in picture.alt
    assert picture.svg.count("class='warm'") == 32
    assert ">31</text>" in picture.svg and ">warp 3: 48 to 63</text>" in picture.svg


def test_accumulators_lie_in_the_threads_own_warp():
    with pytest.raises(ValueError, match="among its warp's 16"):
        plots_wgmma.accumulators(ROWS, COLUMNS, 5)
