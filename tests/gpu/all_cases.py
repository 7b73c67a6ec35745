"""Every kernel of the value run: the instruction families, the counted kernels, the course's own."""

from __future__ import annotations

from counted.everything import CASES as COUNTED
from course_cases import course_cases
from families.case import Case
from families.everything import CASES as FAMILIES

COURSE = course_cases()
CASES: list[Case] = [*FAMILIES, *COUNTED, *COURSE]


def counted_cases() -> list[Case]:
    """What Nsight Compute looks at."""
    return [*COUNTED, *COURSE]
