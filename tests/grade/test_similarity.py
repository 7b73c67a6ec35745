"""Look-alikes are found through new names and comments; what the skeleton gives, or the whole class writes, is no likeness."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lanewise.derive import solution_text
from lanewise.grading.similarity import similar_answers
from lanewise.names import find_course

COURSE = find_course()
KEY = COURSE.exercise("ch05b")
SKELETON = COURSE.kernel(KEY).read_text(encoding="utf-8")
SOLUTION = solution_text(COURSE.solution(KEY).read_text(encoding="utf-8"))
OTHER = """
extern "C" __global__ void block_max(const float* x, float* y, int n) {
    float best = -1e30f;
    if (threadIdx.x == 0) {
        int stop = n < 1024 ? n : 1024;
        do { best = x[--stop] > best ? x[stop] : best; } while (stop > 0);
        y[blockIdx.x] = best;
    }
    __syncthreads();
    while (false) { y[0] += 1; y[1] -= 2; y[2] *= 3; }
}
"""


def renamed(text):
    text = re.sub(r"//[^\n]*", "// in my own words", text)
    return re.sub(r"\b(tid|lane|warp|best|stride|offset|i|s)\b", r"my_\1", text)


def pairs(**answers):
    return [(pair.first, pair.second) for pair in similar_answers(str(KEY), {name: text.encode() for name, text in answers.items()}, SKELETON)]


def test_a_renamed_copy_is_found_with_its_lines():
    (pair,) = similar_answers(str(KEY), {"ann": SOLUTION.encode(), "bob": f"\n\n{renamed(SOLUTION)}".encode(), "cid": OTHER.encode()}, SKELETON)
    assert (pair.key, pair.first, pair.second) == (str(KEY), "ann", "bob") and pair.share > 0.95
    first, second = (int(lines.partition("-")[0]) for lines in (pair.first_lines, pair.second_lines))
    assert second == first + 2 and 1 < first <= SOLUTION.count("\n")


def test_two_unchanged_skeletons_are_no_pair():
    assert pairs(ann=SKELETON, bob=SKELETON) == []


def test_what_most_of_a_class_writes_is_no_likeness():
    class_of_nine = {f"s{n}": SOLUTION for n in range(9)}
    assert pairs(**class_of_nine) == []
    assert pairs(**class_of_nine, ann=OTHER, bob=renamed(OTHER)) == [("ann", "bob")]


def test_what_is_no_text_is_left_out():
    answers = {"ann": SOLUTION.encode(), "bob": b"\xff\xfe\0", "cid": b"", "dan": SOLUTION.encode()}
    assert [(pair.first, pair.second) for pair in similar_answers(str(KEY), answers, SKELETON)] == [("ann", "dan")]


@pytest.mark.slow
def test_the_report_is_the_same_in_every_process():
    compare = "print(t.pairs(ann=t.SOLUTION, bob=t.renamed(t.SOLUTION + t.OTHER), cid=t.OTHER))"
    program = f"import sys; sys.path.insert(0, sys.argv[1]); import test_similarity as t; {compare}"
    here = Path(__file__).resolve()
    said = {subprocess.run([sys.executable, "-c", program, str(here.parent)], cwd=here.parents[2], capture_output=True, text=True).stdout for _ in range(2)}
    assert len(said) == 1 and "ann" in said.pop()


@pytest.mark.slow
def test_hostile_texts_take_no_time():
    texts = ["((((" * 60_000, "/*" * 120_000, '"\\"' * 80_000, 'R"(' * 80_000, "\\\n" * 120_000, "#if 0\n" * 40_000, "a" * 250_000, "<" * 250_000]
    began = time.process_time()
    similar_answers(str(KEY), {str(n): text.encode() for n, text in enumerate(texts)}, SKELETON)
    assert time.process_time() - began < 10
