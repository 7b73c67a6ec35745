"""Answers that look alike, for a teacher to read side by side: a hint where to look, never a verdict, and never part of a score.

copydetect compares k-grams of tokens (names become V, comments vanish), so that renamed variables and moved functions change nothing. What the skeleton
gives, and what half the class writes, says nothing about two of them and is left out first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from lanewise.grading.source import NotGradable, decode, without_comments
from lanewise.names import CourseError

TOKENS = 25  # characters of the tokenised text that must agree to count, copydetect's own default
SHARE = 0.6  # of one of the two texts
LEAST = 80  # characters of the tokenised text that must be shared: below, everybody writes the same
LONGEST = 64 << 10  # characters compared of a text


@dataclass(frozen=True, slots=True)
class Pair:
    """Two students' answers to an exercise. `share`: of the one that is covered most, 0 to 1. `first_lines`, `second_lines`: as "3-9, 14-20"."""

    key: str
    first: str
    second: str
    share: float
    first_lines: str
    second_lines: str


def similar_answers(key: str, answers: Mapping[str, bytes], skeleton: str) -> list[Pair]:
    """The pairs of students whose answers to an exercise look alike, the likest first. Raises CourseError where copydetect isn't installed."""
    try:
        import copydetect
    except ImportError as error:
        raise CourseError("The similarity report needs copydetect: install it with `pip install lanewise[grade]`.") from error
    given = _fingerprint(copydetect, skeleton).hashes
    prints = {student: _fingerprint(copydetect, text) for student, text in _texts(answers)}
    seen = Counter(value for one in prints.values() for value in one.hashes)
    common = given | {value for value, count in seen.items() if count > max(4, len(prints) // 2)}
    for one in prints.values():
        _leave_out(one, common)
    pairs = []
    for first, second in combinations(sorted(prints), 2):
        one, other = prints[first], prints[second]
        if len(one.hashes & other.hashes) < min(len(one.hashes), len(other.hashes)) * SHARE / 2:
            continue
        shared, shares, slices = copydetect.compare_files(one, other)
        if shared >= LEAST and max(shares) >= SHARE:
            pairs.append(Pair(key, first, second, round(float(max(shares)), 3), _lines(one.raw_code, slices[0]), _lines(other.raw_code, slices[1])))
    return sorted(pairs, key=lambda pair: (-pair.share, pair.first, pair.second))


def _texts(answers: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    for student, raw in answers.items():
        try:
            yield student, decode(raw)
        except NotGradable:
            continue


def _fingerprint(copydetect: Any, text: str) -> Any:
    """copydetect's fingerprint of a text. Every k-gram is kept (a window of 1): which ones a wider window keeps depends on Python's hash seed."""
    import io

    plain = without_comments(text[:LONGEST], literals=True)  # linear in the text, which the lexer's own patterns aren't
    return copydetect.CodeFingerprint("kernel.cu", TOKENS, 1, language="cuda", fp=io.StringIO(plain))


def _leave_out(fingerprint: Any, common: set[int]) -> None:
    from copydetect.utils import get_token_coverage

    fingerprint.hashes -= common
    fingerprint.hash_idx = {value: places for value, places in fingerprint.hash_idx.items() if value not in common}
    fingerprint.token_coverage = max(1, get_token_coverage(fingerprint.hash_idx, TOKENS, len(fingerprint.filtered_code)))


def _lines(text: str, slices: Iterable[Iterable[int]]) -> str:
    """Character ranges as lines, those that touch joined."""
    ranges: list[list[int]] = []
    for start, end in zip(*slices, strict=True):
        first, last = (text.count("\n", 0, max(0, int(place))) + 1 for place in (start, end - 1))
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1][1] = max(last, ranges[-1][1])
        else:
            ranges.append([first, last])
    return ", ".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges)
