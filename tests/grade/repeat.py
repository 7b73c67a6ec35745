"""The same text and the same seed get the same verdict, every time: `python tests/grade/repeat.py [--times 20] [--only ch05,ch12d] [--workers 2]`.

For each exercise: the solution, the skeleton and each wrong variant, graded in fresh processes with hidden cases. Prints each verdict's first 12 digits of
SHA-256 and one for all of them: two machines that print the same have given the same verdicts. Exit status 1 where one text got two.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from lanewise.derive import solution_text
from lanewise.exercise import load_wrong
from lanewise.grading import sandbox
from lanewise.names import Key, find_course

SECRET = 20261204


def texts(words: list[str]) -> Iterator[tuple[Key, str, bytes]]:
    """(exercise, what it is, the text)."""
    course = find_course()
    for key in course.exercises():
        if words and not any(str(key).startswith(word) for word in words):
            continue
        solution = course.solution(key).read_text(encoding="utf-8")
        yield key, "solution", solution_text(solution).encode()
        yield key, "skeleton", course.kernel(key).read_bytes()
        for variant in load_wrong(key, course):
            yield key, variant.name, variant.apply(solution).encode()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    course, differ, whole, began, graded = find_course(), [], hashlib.sha256(), time.monotonic(), 0

    def digest(key: Key, text: bytes) -> str:
        return hashlib.sha256(sandbox.grade(key, text, course, secret=SECRET).to_json().encode()).hexdigest()[:12]

    with ThreadPoolExecutor(args.workers) as pool:
        for key, what, text in texts([word for word in args.only.split(",") if word]):
            found = set(pool.map(lambda _, key=key, text=text: digest(key, text), range(args.times)))
            graded += args.times
            whole.update("".join(sorted(found)).encode())
            differ += [f"{key}, {what}"] if len(found) > 1 else []
            print(f"{' '.join(sorted(found))}  {key}, {what}", flush=True)
    print(f"{graded} verdicts in {time.monotonic() - began:.0f} s; all of them: {whole.hexdigest()[:12]}; texts with more than one verdict: {differ or 'none'}")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
