"""Rules of the house that a program can hold."""

import ast
import re

import pytest

from lanewise.derive import stale_skeletons
from lanewise.names import Key, find_course

COURSE = find_course()
PACKAGE = COURSE.root / "lanewise"
SKELETONS = [COURSE.kernel(key) for key in COURSE.exercises()]
WORKED = [COURSE.kernel(key) for key in COURSE.worked()]
STANDARD_AND_NUMPY = {"numpy"}

# Module (or folder) → the parts of lanewise it may import. Whatever isn't named here may import anything.
MAY_SEE = {
    "simt": {"simt"},
    "names": set(),
    "derive": {"names"},
    "exercise": {"names", "derive"},
    "ledger": {"names"},
    "grading": {"names", "derive", "exercise", "cp", "simt", "grading"},
    "twin": {"simt", "twin", "cp"},
    "cp": {"simt", "twin"},
    "plots": set(),
}


def imports(path):
    """The absolute names of the modules a file imports, wherever in the file it does."""
    package = path.relative_to(COURSE.root).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level]) if node.level else ""
            module = ".".join(filter(None, [base, node.module]))
            yield from (f"{module}.{alias.name}" for alias in node.names) if module == "lanewise" else [module]


def python_files(part):
    path = PACKAGE / part
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


@pytest.mark.parametrize("part", [part for part in MAY_SEE if (PACKAGE / part).is_dir() or (PACKAGE / f"{part}.py").is_file()])
def test_a_module_imports_only_what_it_may_see(part):
    seen = {(path.name, name.split(".")[1]) for path in python_files(part) for name in imports(path) if name.startswith("lanewise.")}
    assert {(file, other) for file, other in seen if other not in MAY_SEE[part]} == set()


@pytest.mark.parametrize(("library", "home"), [("cupy", {"cp.py"}), ("jupytext", {"notebook.py"}), ("torch", {"bench"}), ("numba", {"bench"})])
def test_a_large_library_is_imported_in_one_place(library, home):
    users = {path.relative_to(PACKAGE).parts[0] for path in PACKAGE.rglob("*.py") for name in imports(path) if name.split(".")[0] == library}
    assert users <= home


@pytest.mark.parametrize("path", sorted(COURSE.kernels_dir.glob("*.py")), ids=lambda path: path.stem)
def test_a_description_sees_numpy_and_the_dataclasses_alone(path):
    assert set(imports(path)) <= {"numpy", "lanewise.exercise"}


def test_no_module_is_a_drawer_for_odds_and_ends():
    assert [path for path in PACKAGE.rglob("*.py") if re.fullmatch(r"utils?|helpers?|common|misc", path.stem)] == []


def test_every_kernel_has_a_key_and_a_description():
    for path in SKELETONS + WORKED:
        assert COURSE.spec(Key.parse(path.stem)).is_file(), path.name
    assert [path.name for path in COURSE.kernels_dir.glob("*.py") if not path.with_suffix(".cu").is_file()] == []


def test_skeletons_are_what_their_solutions_give():
    assert stale_skeletons(COURSE) == []


@pytest.mark.parametrize("path", SKELETONS + WORKED + sorted(COURSE.solutions_dir.glob("*.cu")), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_kernel_file_keeps_the_form(path):
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    head = next(number for number, line in enumerate(lines) if not line.startswith("//"))
    assert max(map(len, lines)) <= 80
    assert "\t" not in text and text.endswith("\n") and not any(line != line.rstrip() for line in lines)
    assert text.count('extern "C" __global__') == 1 == text.count("__global__")
    assert head >= 4, "the contract head: one sentence, grid and block, each argument"
    assert "grid" in "".join(lines[:head]) and "block" in "".join(lines[:head])
    assert "#define" not in text
    slug = Key.parse(path.stem).slug
    assert re.search(rf'extern "C" __global__ void (__launch_bounds__\([\w, ]+\)\s+)?{slug}\(', text)
