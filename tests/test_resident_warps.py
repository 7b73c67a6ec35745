"""Chapter 8's exercise counts the resident warps as the occupancy calculator does."""

from lanewise.exercise import load_exercise
from lanewise.names import find_course
from lanewise.simt.resources import occupancy

COURSE = find_course()
EXERCISE = load_exercise(COURSE.exercise("ch08c"), COURSE)


def test_the_reference_agrees_with_the_occupancy_calculator():
    for case in EXERCISE.cases:
        data = case.data()
        want = [occupancy(int(regs), int(shared), int(block)).warps for regs, shared, block in zip(data["regs"], data["shared"], data["block"], strict=True)]
        assert EXERCISE.reference(data)["warps"].tolist() == want, case.name
