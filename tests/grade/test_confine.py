"""The judging process in bubblewrap: what it can't do there, and that grading is the same without it."""

import socket
import sys

import pytest
from test_sandbox import COURSE, KEY, SOLUTION, changed

from lanewise.grading import apart, confine, sandbox

pytestmark = pytest.mark.slow  # a child each

FAKE = """\
#!/bin/sh
echo "$@" >> LOG
while [ "$1" != -- ] && [ "$1" != /bin/sh ]; do shift; done
[ "$1" = -- ] && shift
cd /
exec "$@"
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Put a bubblewrap made of text in place of the system's; "" for none."""
    confine.bubblewrap.cache_clear()

    def put(text):
        path = tmp_path / "bwrap"
        if text:
            path.write_text(text.replace("LOG", str(tmp_path / "log")))
            path.chmod(0o755)
        monkeypatch.setattr(confine, "PLACES", (str(path),))
        confine.bubblewrap.cache_clear()
        return tmp_path / "log"

    yield put
    monkeypatch.undo()
    confine.bubblewrap.cache_clear()


def test_without_bubblewrap_the_verdict_is_the_same_and_the_report_says_so(place):
    with_system = sandbox.grade(KEY, SOLUTION, COURSE)
    place("")
    assert sandbox.grade(KEY, SOLUTION, COURSE) == with_system and with_system.kind is None
    assert not any("bubblewrap" in words for words in apart.protections())


def test_a_bubblewrap_that_fails_here_is_not_used(place):
    place("#!/bin/sh\nexit 1\n")
    assert confine.bubblewrap() == "" and sandbox.grade(KEY, SOLUTION, COURSE).kind is None


def test_a_bubblewrap_that_works_is_used_and_reported(place):
    log = place(FAKE)
    assert sandbox.grade(KEY, SOLUTION, COURSE).kind is None
    used = log.read_text().splitlines()[-1]
    for words in ("--unshare-net", "--unshare-pid", "--die-with-parent", "--ro-bind / /", f"--tmpfs {COURSE.solutions_dir}", f"-- {sys.executable} "):
        assert words in used
    assert any("bubblewrap" in words for words in apart.protections())


def test_a_machine_that_grades_on_a_gpu_goes_without(place, tmp_path, monkeypatch):
    """CUDA within bubblewrap hasn't been tried: a GPU that can't be opened there would be set aside for no fault of its own."""
    place(FAKE)
    (tmp_path / "nvidiactl").write_text("")
    monkeypatch.setattr(confine, "GPU", tmp_path / "nvidiactl")
    monkeypatch.setenv("LANEWISE_DEVICE", "gpu")
    assert confine.bubblewrap() == ""
    confine.bubblewrap.cache_clear()
    monkeypatch.setenv("LANEWISE_DEVICE", "simulator")
    assert confine.bubblewrap() != ""


ATTEMPTS = {
    "writes beside the course": "open({folder!r} + '/forged', 'w')",
    "writes to the home folder": "open(__import__('os').path.expanduser('~/forged-by-lanewise-test'), 'w')",
    "reads the solutions": "open({solution!r})",
    "reaches a server of this machine": "__import__('socket').create_connection(('127.0.0.1', {port}), 5)",
    "ends another process": "__import__('os').kill({process}, 0)",
}


@pytest.mark.skipif(sys.platform != "linux" or not confine.bubblewrap(), reason="bubblewrap isn't installed, or not allowed, here")
@pytest.mark.parametrize("name", ATTEMPTS)
def test_within_bubblewrap_even_the_judge_can_do_no_harm(tmp_path, name):
    """As if a text had taken over the process: a reference that misbehaves has the same rights. Each fails, which is infrastructure."""
    (tmp_path / "solutions").mkdir()
    solution = tmp_path / "solutions" / "x.cu"
    solution.write_text("secret")
    with socket.create_server(("127.0.0.1", 0)) as server:
        places = {"folder": str(tmp_path), "solution": str(solution), "port": server.getsockname()[1], "process": __import__("os").getpid()}
        verdict = sandbox.grade(KEY, SOLUTION, changed(tmp_path, f"reference=lambda data: {ATTEMPTS[name].format(**places)}"))
    assert verdict.kind == "infrastructure", verdict.message
    assert any(words in verdict.message for words in ("Read-only file system", "No such file", "ConnectionRefusedError", "ProcessLookupError")), verdict.message
    assert not (tmp_path / "forged").exists()
