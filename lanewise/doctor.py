"""`lanewise doctor`: what is here, what is missing, and what to do about each lack. Lines fit 80 columns."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanewise import install

WIDTH = 80
MARKS = {"ok": "ok ", "note": " · ", "lack": "!! "}


@dataclass(frozen=True, slots=True)
class Found:
    """One line of the report. `state`: ok, note (not needed here) or lack; `advice` is what to do; `fatal`: no learning without it."""

    name: str
    state: str
    text: str
    advice: str = ""
    fatal: bool = False

    def __str__(self) -> str:
        indent = " " * 16
        lines = textwrap.wrap(self.text, WIDTH - len(indent)) or [""]
        if self.advice:
            lines += textwrap.wrap("→ " + self.advice, WIDTH - len(indent), subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        return "\n".join([f"{MARKS[self.state]} {self.name:<11} {lines[0]}", *(indent + line for line in lines[1:])])


def main(argv: Sequence[str] = ()) -> int:
    """Print the report. Returns 1 only where learning is impossible."""
    if argv:
        print(f"`lanewise doctor` takes no arguments ({argv[0]!r} was given).", file=sys.stderr)
        return 2
    found = examine()
    print(*found, "", *textwrap.wrap(summary(found), WIDTH), sep="\n")
    return 1 if any(line.fatal and line.state == "lack" for line in found) else 0


def examine() -> list[Found]:
    """Every check, in the order a reader wants: what runs kernels, what shows them, where answers go."""
    checks: list[Callable[[], Found]] = [python, numpy, front_end, clang, gpu, cupy, jupyter, machine, course, work]
    return [_safely(check) for check in checks]


def summary(found: Sequence[Found]) -> str:
    """The last sentence: can one learn here, and on what?"""
    fatal = [line for line in found if line.fatal and line.state == "lack"]
    if fatal:
        return f"Not ready: {fatal[0].name} first ({fatal[0].advice or fatal[0].text})"
    runs_on = "the GPU, checked by the simulator first" if any(line.name == "CuPy" and line.state == "ok" for line in found) else "the simulator"
    first = "lanewise start ch01a" if any(line.name == "JupyterLab" and line.state == "lack" for line in found) else "lanewise lab"
    return f"Ready: kernels run on {runs_on}. Next: `{first}`."


def _safely(check: Callable[[], Found]) -> Found:
    try:
        return check()
    except Exception as error:  # a broken installation may raise anything; the doctor must still speak
        return Found(check.__name__, "lack", f"the check itself failed: {type(error).__name__}: {error}", _reinstall())


def version_of(package: str) -> str | None:
    """Installed version of a distribution, or None. Imports nothing."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def pinned(package: str) -> str | None:
    """The version that this package's metadata pins, or None."""
    try:
        lines = importlib.metadata.requires("lanewise") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    return next((line.split("==")[1].split(";")[0].strip() for line in lines if line.split("==")[0].strip() == package), None)


def _reinstall() -> str:
    return "`make lab` installs what is missing" if install.VENV.exists() else f'`"{sys.executable}" -m pip install -e ".[lab]"`'


def python() -> Found:
    """The interpreter."""
    text = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info < install.OLDEST:
        return Found("Python", "lack", text, "install Python 3.11 or newer", fatal=True)
    return Found("Python", "ok", text)


def numpy() -> Found:
    """NumPy, and whether it is the pinned one."""
    here, wanted = version_of("numpy"), pinned("numpy")
    if here is None:
        return Found("NumPy", "lack", "missing", _reinstall(), fatal=True)
    if wanted and here != wanted:
        return Found("NumPy", "note", f"{here}; the chapters were made with {wanted}, last digits may differ")
    return Found("NumPy", "ok", here)


def front_end() -> Found:
    """NVRTC, the compiler from CUDA C to PTX; on macOS there is none."""
    if sys.platform == "darwin":
        return Found("NVRTC", "note", "not made for macOS: clang takes its place, counters are approximate")
    from lanewise.simt import nvrtc

    try:
        here = nvrtc.version()
    except Exception as error:
        return Found("NVRTC", "lack", str(error).splitlines()[0] if str(error) else type(error).__name__, nvrtc.INSTALL, fatal=not has_clang())
    if here != nvrtc.VERSION:
        return Found("NVRTC", "lack", f"{here}, but counters in the chapters are of {nvrtc.VERSION}", nvrtc.INSTALL)
    return Found("NVRTC", "ok", f"{here}, the pinned version")


def has_clang() -> bool:
    """Whether the second front end is installed."""
    return importlib.util.find_spec("ziglang") is not None


def clang() -> Found:
    """clang, from the ziglang wheel: the front end of macOS."""
    here = version_of("ziglang")
    if here:
        return Found("clang", "ok", f"in ziglang {here}" + ("" if sys.platform == "darwin" else ", for its tests; NVRTC comes first"))
    if sys.platform == "darwin":
        return Found("clang", "lack", "missing", _reinstall(), fatal=True)
    return Found("clang", "note", "not installed, not needed: NVRTC compiles here")


def gpu() -> Found:
    """The GPU, by its driver alone."""
    driver = install.cuda_driver()
    if driver is None:
        return Found("GPU", "note", "no CUDA GPU, none needed: kernels run on the simulator")
    text = f"{gpu_names() or 'a CUDA GPU'}, driver for CUDA {driver[0]}.{driver[1]}"
    if install.gpu_extra(driver) is None:
        return Found("GPU", "lack", text, "CuPy needs a driver for CUDA 12 or newer; until then the simulator is used")
    return Found("GPU", "ok", text)


def gpu_names() -> str:
    """What nvidia-smi calls the GPUs, or ''."""
    try:
        answer = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ", ".join(dict.fromkeys(answer.stdout.strip().splitlines())) if answer.returncode == 0 else ""


def cupy() -> Found:
    """CuPy, and whether it fits the driver."""
    driver = install.cuda_driver()
    extra = install.gpu_extra(driver)
    here = {name: version for name in ("cupy-cuda12x", "cupy-cuda13x", "cupy") if (version := version_of(name))}
    if extra is None:
        return Found("CuPy", "note", "not needed without a GPU" + (f" ({', '.join(here)} is installed)" if here else ""))
    advice = f'`"{sys.executable}" -m pip install -e ".[{extra}]"`'
    if not here:
        return Found("CuPy", "lack", "missing: kernels run on the simulator alone", advice)
    fitting = "cupy-cuda12x" if extra == "gpu12" else "cupy-cuda13x"
    if len(here) > 1 or (fitting not in here and "cupy" not in here):
        return Found("CuPy", "lack", f"{' and '.join(here)} here, {fitting} fits this driver", f"pip uninstall {' '.join(here)}, then {advice}")
    name, version = next(iter(here.items()))
    return Found("CuPy", "ok", f"{version} ({name})")


def jupyter() -> Found:
    """JupyterLab and the kernel of this interpreter."""
    here = version_of("jupyterlab")
    if here is None or version_of("ipykernel") is None:
        return Found("JupyterLab", "lack", "missing: chapters can be read, not run; grade and tour work", _reinstall())
    return Found("JupyterLab", "ok", here)


def machine() -> Found:
    """Cores this process may use, and memory."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = memory_gigabytes()
    text = f"{count} core{'s' if count > 1 else ''}" + (f", {memory:.0f} GB of memory" if memory else "")
    if memory and memory < 2:
        return Found("Machine", "lack", text, "a chapter may need 1 GB; close other programs")
    return Found("Machine", "ok", text)


def memory_gigabytes() -> float | None:
    """Physical memory in 10⁹ bytes, or None where the system doesn't say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (AttributeError, ValueError, OSError):
        return None


def course() -> Found:
    """The clone around the package."""
    from lanewise.names import CourseError, find_course

    try:
        found = find_course()
    except CourseError as error:
        return Found("Course", "lack", str(error), "git clone the course and work inside it", fatal=True)
    chapters, exercises = len(found.chapters()), len(found.exercises())
    if not exercises:
        return Found("Course", "lack", "no exercise found", "clone the course again: kernels/ is empty", fatal=True)
    return Found("Course", "ok", f"{chapters} chapter{'s' if chapters != 1 else ''}, {exercises} exercises")


def work() -> Found:
    """Whether answers can be saved."""
    from lanewise.names import CourseError, find_course

    try:
        folder = find_course().work_dir
    except CourseError:
        return Found("work/", "note", "comes with the course")
    if (problem := unwritable(folder)) is None:
        return Found("work/", "ok", "your answers can be saved")
    return Found("work/", "lack", problem, "give yourself permission there, or set LANEWISE_WORK to a folder of your own")


def unwritable(folder: Path) -> str | None:
    """Why a file can't be made in `folder` (or, before it exists, in the nearest folder above), or None."""
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            return None
    except OSError as error:
        return f"can't write in {folder}: {error.strerror}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
