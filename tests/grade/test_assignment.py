"""An assignment file: what it fixes, and one sentence for whatever can't be meant."""

from datetime import UTC, datetime

import pytest

from lanewise.grading.assignment import Item, Terms, parse_time, read_assignment, whole_course
from lanewise.names import CourseError, find_course

COURSE = find_course()
A, B = COURSE.exercise("ch01a"), COURSE.exercise("ch05b")


def test_a_whole_file(assignment_file):
    path = assignment_file(
        'name = "Week 5"\ndue = 2026-12-04T18:00:00+01:00\nhidden = true\nseed_file = "week.seed"\nvisibility = "after_due_date"\nbudget_share = 0.3\n'
        "[exercises]\nch05b = { points = 6, budget_share = 0.25, hidden = false }\nch01a = 4\n"
    )
    read = read_assignment(path, COURSE)
    assert (read.name, read.visibility, read.max_score) == ("Week 5", "after_due_date", 10)
    assert read.due == datetime(2026, 12, 4, 17, tzinfo=UTC)
    assert read.items == (Item(B, Terms(6, 0.25), False), Item(A, Terms(4, 0.3), True))
    assert read.secret(read.items[0]) is None and isinstance(read.secret(read.items[1]), int)
    assert len(read.sha256) == 64


def test_the_secret_differs_by_exercise_and_by_seed_file_alone(assignment_file):
    text = 'hidden = true\nseed_file = "%s.seed"\n[exercises]\nch01a = 1\nch05b = 1\n'
    one = read_assignment(assignment_file(text % "week"), COURSE)
    other = read_assignment(assignment_file(text % "other", secret="another secret, long enough", name="other"), COURSE)
    again = read_assignment(assignment_file(text % "week" + "# a comment\n"), COURSE)
    numbers = [a.secret(item) for a in (one, other) for item in a.items]
    assert len(set(numbers)) == 4 and all(number < 2**53 * 8 for number in numbers)
    assert [again.secret(item) for item in again.items] == numbers[:2]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "names no exercise: write a table [exercises]"),
        ("[exercises]\n", "names no exercise"),
        ("[exercises\n", "is no TOML file"),
        ("[exercises]\nch99z = 1\n", "There is no exercise 'ch99z'"),
        ("[exercises]\nch01a = 0\n", "ch01a: points must be a number above 0"),
        ("[exercises]\nch01a = nan\n", "points must be a number above 0"),
        ("[exercises]\nch01a = true\n", "points must be a number above 0"),
        ('[exercises]\nch01a = "4"\n', "points must be a number above 0"),
        ("[exercises]\nch01a = { point = 4 }\n", "'point' means nothing here; what can be set is budget_share, hidden, points."),
        ("[exercises]\nch01a = { points = 4, budget_share = 2 }\n", "budget_share must be a number from 0 to 1"),
        ("[exercises]\nch01a = 1\nch01a_grid_stride = 2\n", "names ch01a_grid_stride twice"),
        ("deadline = 3\n[exercises]\nch01a = 1\n", "'deadline' means nothing here"),
        ("due = 2026-12-04T18:00:00\n[exercises]\nch01a = 1\n", "due must be a time with its offset"),
        ('visibility = "never"\n[exercises]\nch01a = 1\n', "it must be one of visible, after_due_date, after_published, hidden."),
        ("hidden = 1\n[exercises]\nch01a = 1\n", "hidden must be true or false"),
        ("hidden = true\n[exercises]\nch01a = 1\n", "wants hidden cases but names no seed_file beside it: make one with `python3 -c"),
        ('hidden = true\nseed_file = "../week.seed"\n[exercises]\nch01a = 1\n', "names no seed_file beside it"),
        ('hidden = true\nseed_file = "none.seed"\n[exercises]\nch01a = 1\n', "The seed file none.seed of week.toml can't be read: make one"),
    ],
)
def test_what_cannot_be_meant_is_refused(assignment_file, text, says):
    with pytest.raises(CourseError) as caught:
        read_assignment(assignment_file(text), COURSE)
    assert says in str(caught.value)


def test_a_short_secret_is_refused(assignment_file):
    with pytest.raises(CourseError, match="has fewer than 16 characters"):
        read_assignment(assignment_file('hidden = true\nseed_file = "week.seed"\n[exercises]\nch01a = 1\n', secret="123"), COURSE)


def test_a_missing_file_is_one_sentence(tmp_path):
    with pytest.raises(CourseError, match=r"Can't read .*none.toml .*: give the path of an assignment file"):
        read_assignment(tmp_path / "none.toml", COURSE)


def test_late_is_known_only_where_both_times_are(assignment_file):
    read = read_assignment(assignment_file("due = 2026-12-04T18:00:00+01:00\n[exercises]\nch01a = 1\n"), COURSE)
    assert read.late(None) is None
    assert read.late(parse_time("2026-12-04T17:00:00Z")) is False
    assert read.late(parse_time("2026-12-04T18:00:01+01:00")) is True
    assert read_assignment(assignment_file("[exercises]\nch01a = 1\n"), COURSE).late(parse_time("2026-12-04T17:00:00Z")) is None


@pytest.mark.parametrize("text", ["yesterday", "2026-12-04T17:00:00"])
def test_a_time_without_an_offset_is_refused(text):
    with pytest.raises(CourseError, match="write it as 2026-12-04T18:00:00"):
        parse_time(text)


def test_without_a_file_every_exercise_counts_its_own_points():
    whole = whole_course(COURSE)
    assert [item.key for item in whole.items] == COURSE.exercises() and whole.max_score >= len(whole.items)
