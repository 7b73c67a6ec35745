"""JUnit XML: a test suite an exercise, a test case a visible case, points as properties. Written by junitparser."""

from __future__ import annotations

from typing import Any


def xml(report: dict[str, Any]) -> str:
    """A student's report as JUnit XML; `score` and `max_score` are properties of each suite."""
    from junitparser import Failure, JUnitXml, TestCase, TestSuite

    whole = JUnitXml(_allowed(report["assignment"]))
    for e in report["exercises"]:
        suite = TestSuite(_allowed(e["key"]))
        suite.add_property("score", f"{e['score']:g}")
        suite.add_property("max_score", f"{e['max_score']:g}")
        first = True
        for case in e["cases"] or [{"name": "answer", "passed": e["kind"] is None}]:
            one = TestCase(_allowed(case["name"]), _allowed(e["key"]), 0.0)
            if not case["passed"]:
                # The message tells the first cause; it stands at the first case that fails.
                one.result = [Failure(_allowed(e["message"]) if first else "see the first failure", _allowed(e["kind"] or ""))]
                first = False
            suite.add_testcase(one)
        if e["hidden"]["of"]:
            one = TestCase("hidden cases", _allowed(e["key"]), 0.0)
            if e["hidden"]["passed"] < e["hidden"]["of"]:
                one.result = [Failure(f"{e['hidden']['passed']} of {e['hidden']['of']} pass", _allowed(e["kind"] or ""))]
            suite.add_testcase(one)
        whole.add_testsuite(suite)
    return whole.tostring().decode("utf-8") + "\n"


def _allowed(text: str) -> str:
    """The characters that XML 1.0 can hold; markup is escaped by the writer."""
    return "".join(c if c in "\t\n" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c >= "\U00010000" else "\ufffd" for c in text)
