"""`lanewise doctor`: each lack has its advice, 80 columns, and an exit status that says whether one can learn."""

import sys
from pathlib import Path

import pytest

from lanewise import doctor, install
from lanewise.simt import nvrtc


def without(monkeypatch: pytest.MonkeyPatch, *packages: str, **versions: str) -> None:
    """A machine where these packages are missing, and these have another version."""
    real = doctor.version_of
    names = {name.replace("_", "-"): version for name, version in versions.items()}
    monkeypatch.setattr(doctor, "version_of", lambda name: None if name in packages else names.get(name) or real(name))


def with_driver(monkeypatch: pytest.MonkeyPatch, driver: tuple[int, int] | None) -> None:
    monkeypatch.setattr(install, "cuda_driver", lambda: driver)
    monkeypatch.setattr(doctor, "gpu_names", lambda: "NVIDIA H200")


def test_this_machine_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main() == 0
    text = capsys.readouterr().out
    assert all(len(line) <= 80 for line in text.splitlines())
    assert f"NVRTC       {nvrtc.VERSION}, the pinned version" in text
    assert "!!" not in text and "Ready: kernels run on" in text


def test_without_a_gpu_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, None)
    assert doctor.gpu().state == doctor.cupy().state == "note"
    assert doctor.summary([doctor.gpu(), doctor.cupy()]).startswith("Ready: kernels run on the simulator")


def test_a_gpu_with_its_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, (13, 0))
    without(monkeypatch, "cupy-cuda12x", "cupy", cupy_cuda13x="14.2.0")
    assert doctor.gpu().text == "NVIDIA H200, driver for CUDA 13.0"
    assert doctor.cupy() == doctor.Found("CuPy", "ok", "14.2.0 (cupy-cuda13x)")
    assert "on the GPU, checked by the simulator first" in doctor.summary([doctor.cupy()])


@pytest.mark.parametrize("driver, extra", [((13, 1), "gpu"), ((12, 4), "gpu12")])
def test_a_gpu_without_cupy(driver: tuple[int, int], extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, driver)
    without(monkeypatch, "cupy-cuda12x", "cupy-cuda13x", "cupy")
    found = doctor.cupy()
    assert found.state == "lack" and f'-m pip install -e ".[{extra}]"' in found.advice


def test_a_cupy_for_another_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, (12, 4))
    without(monkeypatch, "cupy-cuda12x", "cupy", cupy_cuda13x="14.2.0")
    found = doctor.cupy()
    assert found.text == "cupy-cuda13x here, cupy-cuda12x fits this driver" and "pip uninstall cupy-cuda13x" in found.advice


def test_two_cupys(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, (13, 0))
    without(monkeypatch, "cupy", cupy_cuda13x="14.2.0", cupy_cuda12x="14.2.0")
    assert doctor.cupy().state == "lack" and "pip uninstall cupy-cuda12x cupy-cuda13x" in doctor.cupy().advice


def test_a_driver_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, (11, 8))
    assert doctor.gpu().state == "lack" and "a driver for CUDA 12 or newer" in doctor.gpu().advice


def test_no_numpy_is_fatal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    without(monkeypatch, "numpy")
    assert doctor.main() == 1
    assert "Not ready: NumPy first" in capsys.readouterr().out


def test_another_numpy_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, numpy="2.3.0")
    monkeypatch.setattr(doctor, "pinned", lambda name: "2.4.6")
    assert doctor.numpy() == doctor.Found("NumPy", "note", "2.3.0; the chapters were made with 2.4.6, last digits may differ")


def test_no_nvrtc_is_fatal_only_without_clang(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> str:
        raise nvrtc.CompileError("NVRTC was not found.")

    monkeypatch.setattr(nvrtc, "version", broken)
    for clang in (True, False):
        monkeypatch.setattr(doctor, "has_clang", lambda answer=clang: answer)
        found = doctor.front_end()
        assert found.state == "lack" and found.advice == nvrtc.INSTALL and found.fatal is not clang


def test_another_nvrtc_changes_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "version", lambda: "12.9.86")
    assert doctor.front_end().text == f"12.9.86, but counters in the chapters are of {nvrtc.VERSION}"


def test_on_macos_clang_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.sys, "platform", "darwin")
    assert doctor.front_end().state == "note" and "approximate" in doctor.front_end().text
    without(monkeypatch, "ziglang")
    assert doctor.clang().fatal


def test_no_jupyter_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "jupyterlab")
    found = doctor.jupyter()
    assert found.state == "lack" and not found.fatal
    assert doctor.summary([found]) == "Ready: kernels run on the simulator. Next: `lanewise start ch01a`."


def test_a_work_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "file"
    place.touch()
    monkeypatch.setenv("LANEWISE_WORK", str(place))
    found = doctor.work()
    assert found.state == "lack" and "can't write in" in found.text and "LANEWISE_WORK" in found.advice
    monkeypatch.setenv("LANEWISE_WORK", str(tmp_path / "not" / "yet"))
    assert doctor.work().state == "ok" and not (tmp_path / "not").exists()


def test_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "memory_gigabytes", lambda: 1.0)
    assert doctor.machine().state == "lack"


def test_a_check_that_breaks_is_reported_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> doctor.Found:
        raise RuntimeError("boom")

    monkeypatch.setattr(doctor, "machine", broken)
    found = doctor.examine()
    assert [line.text for line in found if line.name == "broken"] == ["the check itself failed: RuntimeError: boom"]
    assert len(found) == 10


def test_every_line_fits_with_long_words(monkeypatch: pytest.MonkeyPatch) -> None:
    with_driver(monkeypatch, (12, 4))
    without(monkeypatch, "numpy", "jupyterlab", "cupy-cuda12x", "cupy")
    monkeypatch.setattr(sys, "executable", "/opt/python")
    for found in doctor.examine():
        assert all(len(line) <= 80 for line in str(found).splitlines()), str(found)


def test_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.main(["--fix"]) == 2
    assert capsys.readouterr().err == "`lanewise doctor` takes no arguments ('--fix' was given).\n"
