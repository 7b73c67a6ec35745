"""What is wrong with an output, and where it clusters."""

import numpy as np
import pytest

from lanewise.grading.compare import cluster, mismatch, wrong_elements


def f32(*values):
    return np.array(values, np.float32)


def test_equal_values_are_right():
    assert mismatch("out", f32(1, 2, 3), np.array([1.0, 2.0, 3.0]), 0, 0, 256) == ""


def test_the_tolerance_is_absolute_plus_relative_and_its_edge_is_right():
    expected = np.array([100.0])
    assert not wrong_elements(np.array([101.5]), expected, rtol=0.01, atol=0.5).any()
    assert wrong_elements(np.array([101.51]), expected, rtol=0.01, atol=0.5).all()


@pytest.mark.parametrize(
    ("got", "expected", "wrong"),
    [
        (np.nan, 1.0, True),
        (1.0, np.nan, True),
        (np.nan, np.nan, False),
        (np.inf, np.inf, False),
        (np.inf, -np.inf, True),
        (1e30, np.inf, True),
        (np.inf, 1e30, True),
        (-0.0, 0.0, False),
    ],
)
def test_nan_and_infinity_are_right_only_where_they_are_expected(got, expected, wrong):
    assert wrong_elements(f32(got), np.array([expected]), rtol=1e-3, atol=1e-3).tolist() == [wrong]


def test_integers_must_be_equal_even_beyond_what_a_float_holds():
    big = 2**63
    assert wrong_elements(np.array([big + 1], np.uint64), np.array([big], np.uint64), 1, 1).tolist() == [True]
    assert wrong_elements(np.array([-1], np.int64), np.array([2**64 - 1], np.uint64), 1, 1).tolist() == [True]
    assert wrong_elements(np.array([7], np.int32), np.array([7], np.int64), 0, 0).tolist() == [False]


def test_a_reference_of_another_shape_is_a_fault_of_the_course():
    with pytest.raises(ValueError, match=r"the reference gives out the shape \(3,\), the case \(2,\)"):
        mismatch("out", f32(1, 2), np.zeros(3), 0, 0, 256)


def test_index_got_and_expected_come_first():
    got, expected = np.zeros((4, 5), np.float32), np.zeros((4, 5))
    expected[2, 3] = 1.5
    assert mismatch("out", got, expected, 1e-5, 0, 256) == "out[2, 3] is 0.0, expected 1.5; the other 19 elements are right."
    assert mismatch("total", np.array(3, np.int32), np.array(4), 0, 0, 256) == "total is 3, expected 4."


@pytest.mark.parametrize(
    ("shape", "where", "says"),
    [
        (1000, np.s_[768:], "all in the last block of 256 (from 768 on)"),
        (1024, np.s_[768:], "all in the last block of 256 (from 768 on)"),
        (1000, np.s_[256:], "all behind the first block of 256 (from 256 on)"),
        (1000, np.s_[::256], "all at multiples of 256"),
        (1000, np.s_[255::256], "all one before multiples of 256"),
        (1000, np.s_[::32], "all at multiples of 32"),
        (1000, np.s_[1::2], "all at odd indices"),
        (1000, np.s_[400:480], "all from 400 to 479"),
        ((70, 50), np.s_[0, :], "all in row 0"),
        ((70, 50), np.s_[-1, :], "all in the last row"),
        ((70, 50), np.s_[:, -1], "all in the last column"),
        ((70, 50), np.s_[1::2, :], "all in odd rows"),
        ((70, 50), np.s_[64:, :], "all in the last, partial tile of 32 rows (from row 64 on)"),
        ((70, 50), np.s_[:, 32:], "all in the last, partial tile of 32 columns (from column 32 on)"),
        ((4, 8, 8), np.s_[1::2], "all in odd planes"),
    ],
)
def test_wrong_elements_are_placed(shape, where, says):
    expected = np.ones(shape)
    got = np.ones(shape, np.float32)
    got[where] = 7
    assert cluster(wrong_elements(got, expected, 0, 0), 256) == ", " + says
    assert says in mismatch("out", got, expected, 0, 0, 256)


def test_where_one_block_runs_no_advice_is_about_others():
    got = np.zeros(1000, np.float32)
    got[256:] = 7
    assert mismatch("out", got, np.zeros(1000), 0, 0, 256).endswith("Look at how blockIdx enters the index.")
    assert mismatch("out", got, np.zeros(1000), 0, 0, 256, blocks=1).endswith("all behind the first block of 256 (from 256 on).")


def test_what_lies_behind_the_first_tile_is_no_matter_of_blocks():
    got = np.zeros((4, 192), np.float32)
    got[:, 64:] = 7
    says = mismatch("s", got, np.zeros((4, 192)), 0, 0, 48, blocks=2)
    assert says.endswith("all behind the first tile of 64 (from column 64 on). Look at what changes from one tile to the next.")
    assert mismatch("s", got, np.zeros((4, 192)), 0, 0, 48, blocks=1) == says


def test_an_output_of_zeros_is_called_that_though_some_zeros_are_right():
    expected = np.arange(12.0).reshape(3, 4)
    assert mismatch("s", np.zeros((3, 4), np.float32), expected, 0, 0, 32) == "s[0, 1] is 0.0, expected 1.0; 11 of 12 elements are wrong. It is 0 throughout."
    half = np.where(np.arange(12) < 6, 0.0, 1.0).reshape(3, 4)
    assert "throughout" not in mismatch("s", np.zeros((3, 4), np.float32), half, 0, 0, 32)


def test_of_two_elements_the_other_one_is_right():
    assert mismatch("s", np.float32([1, 3]), np.array([1.0, 2.0]), 0, 0, 32) == "s[1] is 3.0, expected 2.0; the other element is right."


def test_most_of_a_place_is_enough_and_a_stray_element_elsewhere_is_not():
    wrong = np.zeros(1000, bool)
    wrong[768:] = True
    wrong[800:820] = False
    assert "last block of 256" in cluster(wrong, 256)
    wrong[3] = True
    assert "last block" not in cluster(wrong, 256)


def test_scattered_elements_are_not_placed():
    wrong = np.zeros(1000, bool)
    wrong[[3, 700, 10, 411]] = True
    assert cluster(wrong, 256) == ""


def test_off_the_diagonal_hints_at_swapped_indices():
    square = np.arange(16.0).reshape(4, 4)
    assert mismatch("out", square.T.astype(np.float32), square, 0, 0, 256).endswith("all off the diagonal. Look at which of the two indices is the row.")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda x: x * 2.5, "every element is wrong. It is 2.5 times what it should be."),
        (lambda x: x + 3, "every element is wrong. It is what it should be + 3."),
        (lambda x: x * 0, "every element is wrong. It is 0 throughout."),
        (lambda x: x * np.nan, "every element is wrong. It is NaN throughout"),
        (lambda x: x * 0 + 9, "every element is wrong. It is the same number throughout."),
    ],
)
def test_a_pattern_of_the_whole_output_is_named(change, says):
    expected = np.linspace(1, 2, 50)
    assert says in mismatch("out", change(expected).astype(np.float32), expected, 1e-5, 0, 256)
