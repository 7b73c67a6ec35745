"""Who may import whom (docs/contribute.md): read from the syntax trees, so that lazy imports count too."""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "lanewise"

# Part of the package → the parts it may import. A part that isn't listed is a command or a page on top: it may import any of these.
MAY_IMPORT: dict[str, set[str]] = {
    "install": set(),
    "simt": set(),
    "names": set(),
    "derive": {"names"},
    "exercise": {"names", "derive"},
    "ledger": {"names"},
    "cp": {"simt", "twin"},
    "twin": {"simt", "cp"},
    "plots": {"simt"},
    "grading": {"names", "derive", "exercise", "cp", "twin", "simt"},
    "lab": {"install", "names", "cp"},
    "doctor": {"install", "names", "cp", "simt"},
}
# Third-party package → the only files that may import it.
AT_HOME = {
    "cupy": r"lanewise/cp\.py|lanewise/bench/.*|tests/gpu/.*",
    "jupytext": r"lanewise/notebook\.py",
    "torch": r"lanewise/bench/.*",
    "numba": r"lanewise/bench/.*",
    "jupyterlab": r"lanewise/lab\.py",
}
FILES = sorted(PACKAGE.rglob("*.py"))


@functools.cache
def imported(path: Path) -> tuple[str, ...]:
    """Whole dotted names of the modules that a file imports; relative names are made absolute."""
    return tuple(names_in(path))


def names_in(path: Path) -> Iterator[str]:
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            base += node.module.split(".") if node.module else []
            yield from (".".join([*base, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value)


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def test_the_reader_of_imports_sees_every_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "ROOT", tmp_path)
    file = tmp_path / "lanewise" / "simt" / "x.py"
    file.parent.mkdir(parents=True)
    file.write_text("import a.b\nfrom ..names import Key\nfrom . import ptx\ndef f():\n    from c import d\n    importlib.import_module('e')\n")
    assert sorted(imported(file)) == ["a.b", "c.d", "e", "lanewise.names.Key", "lanewise.simt.ptx"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_part_imports_only_what_it_may(path: Path) -> None:
    part = part_of(path)
    for name in imported(path):
        if not name.startswith("lanewise.") or part == "__init__":
            continue
        other = name.split(".")[1]
        if not (PACKAGE / other).is_dir() and not (PACKAGE / f"{other}.py").exists():
            continue  # a name of the package's page: `from lanewise import cp` where cp is no module of ours
        assert other == part or other in MAY_IMPORT.get(part, {other}), f"{path.name} ({part}) must not import lanewise.{other}"


@pytest.mark.parametrize("package", AT_HOME)
def test_a_heavy_package_is_imported_at_home_only(package: str) -> None:
    for path in [*FILES, *sorted((ROOT / "kernels").glob("*.py")), *sorted((ROOT / "tests").rglob("*.py"))]:
        place = path.relative_to(ROOT).as_posix()
        if not re.fullmatch(AT_HOME[package], place):
            assert package not in {name.split(".")[0] for name in imported(path)}, f"{place} imports {package}"


def test_kernels_see_the_exercise_module_and_numpy() -> None:
    for path in sorted((ROOT / "kernels").glob("*.py")):
        for name in imported(path):
            first = name.split(".")[0]
            assert first == "numpy" or name.startswith("lanewise.exercise"), f"{path.name} imports {name}"


def test_chapters_see_lanewise_and_numpy() -> None:
    for path in sorted((ROOT / "chapters").glob("*.md")):
        for first in re.findall(r"^(?:import|from)\s+(\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert first in {"lanewise", "numpy"} | sys.stdlib_module_names, f"{path.name} imports {first}"


def test_the_package_page_loads_lazily() -> None:
    code = "import sys, lanewise; print(sorted({'numpy', 'cupy', 'IPython', 'lanewise.simt'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_modules_are_named_after_their_subject() -> None:
    vague = re.compile(r"(utils?|helpers?|common|misc|tools|stuff)$")
    assert [path.name for path in PACKAGE.rglob("*") if vague.search(path.stem)] == []


def test_the_simulators_map_names_each_of_its_modules() -> None:
    """The page's table: names, two or more spaces, what they are for; further names behind a semicolon."""
    page = ast.get_docstring(ast.parse((PACKAGE / "simt" / "__init__.py").read_text(encoding="utf-8"))) or ""
    rows = [re.split(" {2,}", line.strip(), maxsplit=1) for line in page.splitlines() if re.search(r"\S {2,}", line)]
    named = [name for first, rest in rows for name in re.findall(r"\w+", f"{first} {rest.partition(';')[2]}")]
    modules = [path.stem for path in (PACKAGE / "simt").iterdir() if path.suffix == ".py" or path.is_dir()]
    assert sorted(named) == sorted(set(modules) - {"__init__", "__pycache__"})
