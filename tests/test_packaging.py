"""The two commands before anything is installed: pins, the Makefile, the installer, the wheel."""

import ast
import ctypes
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from lanewise import install

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def make(*arguments: str) -> str:
    """What make would run, without running it, and without what an outer make hands down."""
    environment = {name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "ARGS", "PYTHON"}}
    return subprocess.run(["make", "-n", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


# -- pins --------------------------------------------------------------------------------------------------------------


def test_every_dependency_is_pinned_to_one_version() -> None:
    for line in PROJECT["dependencies"] + [line for extra in EXTRAS.values() for line in extra]:
        assert re.fullmatch(r"[\w.-]+(\[[\w,]+\])?==[\d.]+(; sys_platform [!=]= 'darwin')?", line), line


def test_environment_yml_is_pyproject_for_conda() -> None:
    text = (ROOT / "environment.yml").read_text()
    conda = {line.strip() for line in re.findall(r"^ {6}- (.*)$", text, re.MULTILINE)}
    lines = set(PROJECT["dependencies"] + EXTRAS["lab"] + EXTRAS["grade"] + EXTRAS["dev"])
    lines.discard("ziglang==0.17.1; sys_platform == 'darwin'")  # [dev] has it everywhere
    assert conda == lines | {"-e ."}
    assert f"python{PROJECT['requires-python']}" in text


def test_the_pins_are_the_versions_that_the_code_and_this_environment_have() -> None:
    from lanewise.simt import nvrtc

    assert f"nvidia-cuda-nvrtc=={nvrtc.VERSION}; sys_platform != 'darwin'" in PROJECT["dependencies"]
    for line in EXTRAS["lab"] + EXTRAS["grade"] + EXTRAS["dev"] + PROJECT["dependencies"][:1]:
        name, version = line.split("==")
        assert importlib.metadata.version(name) == version


def test_numba_takes_the_pinned_numpy_by_its_own_word() -> None:
    """numba 0.68.1 declares numpy<2.6,>=1.22; `make bench` installs both, and pip refuses a pair that doesn't fit."""
    numpy = tuple(map(int, PROJECT["dependencies"][0].split("==")[1].split(".")))
    assert EXTRAS["bench"] == ["numba==0.68.1"] and (1, 22) <= numpy < (2, 6)


def test_all_places_name_one_version() -> None:
    import lanewise

    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation and PROJECT["version"] == lanewise.__version__ == citation[1]


# -- Makefile and CI -----------------------------------------------------------------------------------------------------


def test_help_names_every_target() -> None:
    text = (ROOT / "Makefile").read_text()
    listed = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert listed is not None
    targets = set(listed[1].split())
    assert targets == set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    assert targets - {"help"} == set(re.findall(r"make ([a-z-]+)  ", text))


def test_nothing_in_the_makefile_is_newer_than_make_3_81() -> None:
    text = (ROOT / "Makefile").read_text()
    for newer in (".ONESHELL", "$(file ", "!=", "::=", ".RECIPEPREFIX", "$(intcmp", "$(let "):
        assert newer not in text


def test_make_lab_passes_arguments_on() -> None:
    assert "lanewise/install.py lab -- --no-browser --port 8890" in make("lab", "ARGS=--no-browser --port 8890")


def test_make_test_installs_first_and_includes_the_notebooks() -> None:
    lines = make("test").splitlines()
    assert "lanewise/install.py dev" in lines[0]
    assert re.search(r"-m pytest .*--nbval(-lax)? .*tests chapters", lines[1])


def test_make_gpu_with_an_interpreter_touches_no_environment() -> None:
    assert ".venv" not in make("gpu", "PYTHON=python3") and "install" not in make("gpu", "PYTHON=python3")
    assert make("gpu", "PYTHON=python3").splitlines()[-1].startswith("python3 ")
    assert ".venv/bin/python" in make("gpu")


def test_ci_calls_the_command_that_the_readme_gives() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert script.read_text().rstrip().splitlines()[-1] == "make test"
    assert re.search(r"^\s*make test$", (ROOT / "README.md").read_text(), re.MULTILINE)


# -- installer -----------------------------------------------------------------------------------------------------------


def test_the_installer_reads_under_old_pythons_and_needs_the_standard_library_alone() -> None:
    source = Path(install.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 6))
    names = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    assert names <= sys.stdlib_module_names


def test_an_old_python_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install.sys, "version_info", (3, 9, 6))
    monkeypatch.setattr(install.shutil, "which", lambda name: "found" if name == "python3.12" else None)
    with pytest.raises(SystemExit, match=r"needs Python 3.11 or newer and .* is 3.9; use the one you have: make lab PYTHON=python3.12$"):
        install.check_python()


@pytest.mark.parametrize(("arguments", "opened"), [(["lab"], []), (["lab", "--"], [[]]), (["lab", "--", "--no-browser"], [["--no-browser"]]), (["dev"], [])])
def test_the_course_opens_where_two_dashes_follow(arguments: list[str], opened: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    """`make doctor` installs what `make lab` does, and must come back."""
    started: list[list[str]] = []
    monkeypatch.setattr(install, "install", lambda target: None)
    monkeypatch.setattr(install.os, "execv", lambda path, command: started.append(command[3:]))
    install.main(arguments)
    assert started == opened
    lines = make("doctor").splitlines()
    assert lines[0].endswith("lanewise/install.py lab") and lines[1].endswith("-m lanewise.doctor")


def test_a_python_without_venv_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit, match="no venv module; install it .*apt install python3-venv"):
        install.check_python()


class Environment:
    """A .venv that isn't one: the installer runs against it, and its pip calls are written down."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.pips, self.made = folder, [], 0
        (folder / "pyproject.toml").write_text("[project]\n")
        for name, value in (("ROOT", folder), ("VENV", folder / ".venv"), ("STAMP", folder / ".venv" / "stamp.json"), ("LOG", folder / ".venv" / "log")):
            monkeypatch.setattr(install, name, value)
        monkeypatch.setattr(install, "cuda_driver", lambda: self.driver)
        monkeypatch.setattr(install, "run", self.run)
        self.driver: tuple[int, int] | None = None
        self.broken_gpu = False

    pips: list[str]

    def run(self, command: list[str], what: str, show: object = None) -> None:
        if "venv" in command:
            self.made += 1
            for name in ("bin/python", "pyvenv.cfg", "lib/python3.11/site-packages/pip/x"):
                file = self.folder / ".venv" / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.touch()
        else:
            self.pips.append(command[-1].replace(str(self.folder), ""))
            if self.broken_gpu and "gpu" in command[-1]:
                raise SystemExit("pip failed: no such wheel")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    return Environment(tmp_path, monkeypatch)


def test_a_second_call_needs_no_pip(environment: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    install.install("lab")
    assert environment.pips == ["[lab]"] and environment.made == 1
    assert [line[:3] for line in capsys.readouterr().out.splitlines()] == ["1/3", "2/3", "3/3"]
    install.install("lab")
    assert environment.pips == ["[lab]"] and capsys.readouterr().out == ""


def test_tests_after_lab_add_to_it_and_lab_after_tests_needs_nothing(environment: Environment) -> None:
    install.install("lab")
    install.install("dev")
    install.install("lab")
    assert environment.pips == ["[lab]", "[dev,grade,lab]"] and environment.made == 1


def test_changed_pins_are_installed(environment: Environment) -> None:
    install.install("lab")
    (environment.folder / "pyproject.toml").write_text("[project]\nname='new'\n")
    install.install("lab")
    assert environment.pips == ["[lab]", "[lab]"] and environment.made == 1


def test_a_moved_clone_gets_a_new_environment(environment: Environment) -> None:
    install.install("lab")
    stamp = install.STAMP.read_text()
    install.STAMP.write_text(stamp.replace(str(environment.folder), "elsewhere"))
    install.install("lab")
    assert environment.made == 2


def test_half_an_installation_goes_on(environment: Environment) -> None:
    install.install("lab")
    install.STAMP.unlink()  # pip was interrupted
    install.install("lab")
    assert environment.made == 1 and len(environment.pips) == 2
    (environment.folder / ".venv" / "bin" / "python").unlink()  # its base Python was removed
    install.install("lab")
    assert environment.made == 2


@pytest.mark.parametrize("driver, extra", [((13, 0), "gpu"), ((13, 2), "gpu"), ((12, 4), "gpu12"), ((11, 8), None), (None, None)])
def test_cupy_follows_the_driver(driver: tuple[int, int] | None, extra: str | None, environment: Environment) -> None:
    environment.driver = driver
    install.install("lab")
    assert environment.pips == (["[lab]", f"[lab,{extra}]"] if extra else ["[lab]"])
    if extra:
        assert EXTRAS[extra][0].startswith(f"cupy-cuda{driver[0]}x==")  # type: ignore[index]


def test_without_cupy_the_course_still_opens(environment: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    environment.driver, environment.broken_gpu = (13, 0), True
    install.install("lab")
    assert "no CuPy (pip failed: no such wheel): the course runs on the simulator" in capsys.readouterr().out
    assert install.STAMP.exists()


class Driver:
    """libcuda with so many devices."""

    def __init__(self, version: int, devices: int, broken: bool = False) -> None:
        self.version, self.devices, self.broken = version, devices, broken

    def cuInit(self, flags: int) -> int:
        return 100 if self.broken else 0

    def cuDriverGetVersion(self, pointer: object) -> int:
        pointer._obj.value = self.version  # type: ignore[attr-defined]
        return 0

    def cuDeviceGetCount(self, pointer: object) -> int:
        pointer._obj.value = self.devices  # type: ignore[attr-defined]
        return 0


@pytest.mark.parametrize(
    "driver, found", [(Driver(13000, 1), (13, 0)), (Driver(12080, 2), (12, 8)), (Driver(13000, 0), None), (Driver(13000, 1, broken=True), None), (None, None)]
)
def test_the_driver_is_asked_without_cupy(driver: Driver | None, found: tuple[int, int] | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> Driver:
        if driver is None:
            raise OSError(name)
        return driver

    monkeypatch.setattr(ctypes, "CDLL", load)
    assert install.cuda_driver() == found


@pytest.mark.parametrize(
    "line, shown",
    [
        ("  Downloading numpy-2.4.6-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl (16.9 MB)", "numpy 2.4.6, 16.9 MB"),
        ("Downloading nvidia_cuda_nvrtc-13.0.88-py3-none-manylinux2010_x86_64.whl (90.2 MB)", "nvidia-cuda-nvrtc 13.0.88, 90.2 MB"),
        ("  Downloading six-1.17.0-py2.py3-none-any.whl (11 kB)", None),
        ("Installing collected packages: a, b, c", "all here, unpacking 3 packages"),
        ("Requirement already satisfied: numpy", None),
        ("WARNING: Retrying (Retry(total=2, connect=None)) after connection broken by ...", "the network does not answer, trying again"),
    ],
)
def test_progress_is_one_line_a_download(line: str, shown: str | None) -> None:
    assert install.download_line(line) == shown


@pytest.mark.parametrize(
    "words, reason",
    [
        ("WARNING: Retrying ... NewConnectionError('Temporary failure in name resolution')", "the network does not answer; the first installation needs it"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "the disk is full"),
        ("  error: subprocess-exited-with-error\nnote: not pip", "error: subprocess-exited-with-error"),
    ],
)
def test_a_failed_pip_gives_its_reason(words: str, reason: str) -> None:
    assert install.explain(words.splitlines()).startswith(reason)


def test_a_failing_command_ends_with_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "VENV", tmp_path)
    monkeypatch.setattr(install, "LOG", tmp_path / "install.log")
    with pytest.raises(SystemExit, match="pip failed: ERROR: no such thing"):
        install.run([sys.executable, "-c", "print('ERROR: no such thing'); raise SystemExit(1)"], "pip")
    assert (tmp_path / "install.log").read_text() == "ERROR: no such thing\n"


def test_lines_appear_while_the_command_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "VENV", tmp_path / "none")
    install.run([sys.executable, "-c", "print('one'); print('two')"], "it", show=lambda line: line.upper())
    assert capsys.readouterr().out == "     ONE\n     TWO\n"


# -- wheel -----------------------------------------------------------------------------------------------------------------


def test_the_wheel_holds_the_package_with_its_headers(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "flit_core.wheel", "--outdir", str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    names = set(zipfile.ZipFile(next(tmp_path.glob("lanewise-*.whl"))).namelist())
    listing = subprocess.run(["git", "ls-files", "lanewise"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert set(listing) <= names
    assert any(name.endswith("entry_points.txt") for name in names)
