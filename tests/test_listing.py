"""`show` of a header: the same lines and regions as of a kernel, by the file's name."""

import pytest

from lanewise.listing import show
from lanewise.names import CourseError, find_course


def test_a_header_is_shown_by_its_name():
    lines = (find_course().root / "kernels" / "ptx.cuh").read_text(encoding="utf-8").splitlines()
    whole = show("ptx.cuh")
    assert (whole.name, whole.first, list(whole.lines)) == ("ptx.cuh", 1, lines)
    part = show("ptx.cuh", "shared_address(const void* p)")
    assert "shared_address" in part.lines[0] and part.first == lines.index(part.lines[0]) + 1 and part.lines[-1].strip()
    with pytest.raises(CourseError, match="stands on 0 lines of ptx.cuh"):
        show("ptx.cuh", "no such line")


def test_a_header_that_isnt_there_is_named():
    with pytest.raises(CourseError, match=r"There is no kernels/flash9.cuh: take one of .*flash2.cuh"):
        show("flash9.cuh")
