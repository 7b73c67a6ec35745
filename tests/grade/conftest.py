"""Small notebooks, assignments and submissions for the grading tests."""

import json

import pytest

SECRET = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"


@pytest.fixture
def assignment_file(tmp_path):
    """Write an assignment file and its seed; returns the function that does."""

    def write(text, secret=SECRET, name="week"):
        (tmp_path / f"{name}.seed").write_text(secret + "\n")
        path = tmp_path / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def notebook():
    """The bytes of a notebook in format 4.5 with these code cells."""

    def make(*sources, outputs=()):
        cells = [
            {"cell_type": "code", "id": f"c{n}", "metadata": {}, "execution_count": 1, "source": source.splitlines(keepends=True), "outputs": list(outputs)}
            for n, source in enumerate(sources)
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()

    return make
