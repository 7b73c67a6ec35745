"""Make .venv, install what a make target needs, and (for `lab --`) open the course.

    python3 -I lanewise/install.py {lab,dev,bench}                            installs, no more
    python3 -I lanewise/install.py lab -- [arguments of `lanewise lab`]       and opens the course

Run by the Makefile with the machine's own Python, before anything is installed: so this file uses the standard library
alone, and syntax that an old Python can read far enough to be told that it is too old.
"""

import ctypes
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "lanewise-installed.json"
LOG = VENV / "install.log"
OLDEST = (3, 11)
# What each make target installs, by extras of pyproject.toml.
EXTRAS = {"lab": ["lab"], "dev": ["lab", "grade", "dev"], "bench": ["lab", "grade", "dev", "bench"]}
# Measured with `du` on Linux x86-64 after a fresh install, and the sum of the downloads beside it.
SIZES = {"lab": "165 MB to download, 560 MB on disk", "dev": "290 MB to download, 1.1 GB on disk", "bench": "350 MB to download, 1.3 GB on disk"}


def main(argv):
    """Install for `argv[0]` (a key of EXTRAS); then, if "--" follows, replace this process by JupyterLab. Returns an exit status."""
    target, rest = argv[0], argv[1:]
    try:
        check_python()
        install(target)
    except KeyboardInterrupt:
        print("\nStopped. The next call goes on from here.")
        return 130
    if rest[:1] != ["--"]:
        return 0
    command = [str(venv_python()), "-m", "lanewise.lab"] + rest[1:]
    sys.stdout.flush()
    if os.name == "nt":
        return subprocess.call(command)
    os.execv(command[0], command)


def check_python():
    """Exit with one sentence where this Python can't make the environment."""
    if sys.version_info < OLDEST:
        better = [name for name in ("python3.14", "python3.13", "python3.12", "python3.11") if shutil.which(name)]
        advice = "use the one you have: make lab PYTHON=" + better[0] if better else "install a newer one, then: make lab PYTHON=python3.12"
        sys.exit("Lanewise needs Python 3.11 or newer and %s is %d.%d; %s" % (sys.executable, sys.version_info[0], sys.version_info[1], advice))
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        name = "python%d.%d-venv" % sys.version_info[:2]
        sys.exit("This Python has no venv module; install it (Debian and Ubuntu: apt install python3-venv or %s) and call make again." % name)


def venv_python():
    """The interpreter of .venv."""
    return VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def cuda_driver():
    """Version of the CUDA driver as (major, minor), or None where there is no usable CUDA GPU. Needs nothing but ctypes."""
    names = ["nvcuda.dll"] if os.name == "nt" else ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"]
    for name in names:
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        version, devices = ctypes.c_int(), ctypes.c_int()
        if driver.cuInit(0) or driver.cuDriverGetVersion(ctypes.byref(version)) or driver.cuDeviceGetCount(ctypes.byref(devices)):
            return None
        return (version.value // 1000, version.value % 1000 // 10) if devices.value else None
    return None


def gpu_extra(driver):
    """The extra of pyproject.toml with the CuPy that fits a driver, or None where none does."""
    if driver is None or driver < (12, 0):
        return None
    return "gpu12" if driver < (13, 0) else "gpu"


def wanted(target, stamp):
    """What an installation for `target` must hold: compared with the stamp, so that a second call needs no pip."""
    extras = sorted(set(EXTRAS[target]) | set(stamp.get("extras", [])))
    source = (ROOT / "pyproject.toml").read_bytes()
    return {"root": str(ROOT), "pyproject": hashlib.sha256(source).hexdigest(), "extras": extras, "gpu": gpu_extra(cuda_driver())}


def install(target):
    """Bring .venv up to what `target` needs; silent and without network where nothing is missing."""
    stamp = read_stamp()
    goal = wanted(target, stamp)
    if stamp == goal:
        return
    began = time.time()
    if not works() or stamp.get("root", str(ROOT)) != str(ROOT):  # a clone that was moved: paths in .venv are absolute
        say("1/3  making .venv with Python %d.%d" % sys.version_info[:2])
        run([sys.executable, "-m", "venv", "--clear", str(VENV)], "making .venv")
        goal = wanted(target, {})
    else:
        say("1/3  .venv is there")
    say("2/3  installing [%s]: about %s; a minute or two" % (", ".join(goal["extras"]), SIZES[target]))
    pip(goal["extras"])
    if goal["gpu"]:
        say("     a CUDA GPU is here: installing CuPy for it, [%s]" % goal["gpu"])
        try:
            pip([*goal["extras"], goal["gpu"]])
        except SystemExit as error:
            say("     no CuPy (%s): the course runs on the simulator; `lanewise doctor` says how to try again" % error)
    quiet_jupyter()
    say("3/3  installed in %d s" % (time.time() - began))
    STAMP.write_text(json.dumps(goal))


def read_stamp():
    """The last complete installation, or {}."""
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return stamp if works() else {}


def works():
    """Whether .venv has a Python that runs: not after half an installation, nor after its base Python was removed."""
    python = venv_python()
    return python.exists() and (VENV / "pyvenv.cfg").exists() and bool(list(VENV.glob("lib*/python*/site-packages/pip")) or os.name == "nt")


def pip(extras):
    """Install the package with `extras` into .venv and show one line a download. Raises SystemExit with pip's reason if it fails."""
    command = [str(venv_python()), "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--retries", "3"]
    run([*command, "--editable", "%s[%s]" % (ROOT, ",".join(extras))], "pip", show=download_line)


def download_line(line):
    """What a learner wants to know of a line that pip prints, or None."""
    found = re.match(r"\s*Downloading (\S+?)-(\d[^-]*)-\S+ \(([\d.]+) (\wB)\)", line)
    if found and (found.group(4) == "MB"):
        return "%s %s, %s MB" % (found.group(1).split("/")[-1].replace("_", "-"), found.group(2), found.group(3))
    if "Retrying" in line:
        return "the network does not answer, trying again"
    if line.startswith("Installing collected packages"):
        return "all here, unpacking %d packages" % (line.count(",") + 1)
    return None


def run(command, what, show=None):
    """Run a command with its output kept back, `show`n line by line and, every ten silent seconds, a sign of life."""
    began = last = time.time()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, universal_newlines=True)
    lines = []
    reader = threading.Thread(target=keep, args=(process.stdout, lines), daemon=True)
    reader.start()
    seen = 0
    while reader.is_alive() or seen < len(lines):
        reader.join(0.2)
        while seen < len(lines):
            text = show(lines[seen]) if show else None
            seen += 1
            if text:
                say("     %s" % text)
                last = time.time()
        if time.time() - last > 10:
            last = time.time()
            say("     … %d s" % (last - began))
    status = process.wait()
    if VENV.exists():
        LOG.write_text("\n".join(lines) + "\n")
    if status:
        raise SystemExit("%s failed: %s" % (what, explain(lines)))


def keep(stream, lines):
    """Append each line of a stream to `lines` as it comes."""
    for line in stream:
        lines.append(line.rstrip())


def explain(lines):
    """One sentence for a failed pip: the usual causes by name, else pip's last error."""
    text = "\n".join(lines)
    if re.search(r"NameResolution|Temporary failure|ConnectionError|Network is unreachable|ReadTimeout|NewConnection", text):
        return "the network does not answer; the first installation needs it, later calls do not."
    if "No space left" in text:
        return "the disk is full; free 1 GB and call make again."
    if "Permission denied" in text:
        return "no permission to write in %s; clone the course into a folder of your own." % ROOT
    errors = [line.strip() for line in lines if re.match(r"\s*(ERROR|error|\w*Error)\b", line)] or ["no word of why"]
    return "%s (all of it: %s)" % (errors[-1], LOG)


def quiet_jupyter():
    """JupyterLab must not ask for news nor look for updates: it works without network."""
    folder = VENV / "share" / "jupyter" / "lab" / "settings"
    if folder.parent.exists():
        folder.mkdir(exist_ok=True)
        news = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
        (folder / "overrides.json").write_text(json.dumps(news))


def say(text):
    """Print at once, also into a pipe."""
    print(text, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
