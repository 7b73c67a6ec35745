"""The repository speaks of the project alone, works on any machine, and says where each number was measured."""

import json
import re
import subprocess
from datetime import date
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PICTURES = {".png", ".jpg", ".gif", ".npz", ".npy", ".bin"}

# What must not stand in a file, and why.
FORBIDDEN = {
    "a folder of one machine": r"(?<![\w.~}*-])/(?:work|tmp|home|root|Users)/\w",
    "a registry's host": r"\b(?:pypi\.org|pythonhosted\.org|registry\.npmjs|deb\.debian\.org|proxy\.golang)",
    "a word about how the text came about": r"(?i)\b(?:chatgpt|claude|anthropic|openai|copilot|sub-?agents?|ai agents?|as an ai"
    r"|(?:an? (?:earlier|other|previous)|another|my) session)\b",
    "a merge marker": r"(?m)^(?:<{7} |>{7} )",
}


def tracked() -> list[Path]:
    """Every tracked text file but this one, which must name what it forbids."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    paths = [ROOT / name for name in listing.split("\0") if name]
    return [path for path in paths if path.is_file() and path.suffix not in PICTURES and path != Path(__file__).resolve()]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_tracked_file_holds(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what])
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8", errors="replace") for path in tracked()}
    found = [f"{name}: {match[0]}" for name, text in texts.items() if (match := pattern.search(text))]
    assert found == [], f"{what}: {found}"


@pytest.mark.parametrize(
    "what, text",
    [
        ("a folder of one machine", "see /home/ann/x"),
        ("a folder of one machine", '"/tmp/x.cu"'),
        ("a registry's host", "https://pypi.org/simple"),
        ("a word about how the text came about", "as seen in another session"),
    ],
)
def test_the_patterns_find_what_they_are_for(what: str, text: str) -> None:
    assert re.search(FORBIDDEN[what], text)


def test_the_patterns_leave_ordinary_text_alone() -> None:
    for text in ("lanewise/work/ch01a.cu", "work/ch01a.cu", "test session starts", "~/tmp/x", "kernels/home/x", "$HOME/work/x"):
        assert [what for what, pattern in FORBIDDEN.items() if re.search(pattern, text)] == []


def test_every_results_file_says_where_and_when() -> None:
    for path in sorted((ROOT / "results").rglob("*.json")):
        content = json.loads(path.read_text(encoding="utf-8"))
        assert isinstance(content, dict), f"{path.name} is a bare list: wrap it with device and date"
        assert content.get("device"), f"{path.name} names no device"
        assert date.fromisoformat(str(content.get("date", "none"))[:10]) >= date(2024, 1, 1), f"{path.name} has no date"


def test_no_file_is_large_and_every_text_ends_with_a_newline() -> None:
    for path in tracked():
        assert path.stat().st_size < 2_000_000, f"{path.name} is larger than 2 MB"
        if path.suffix in {".py", ".md", ".toml", ".yml", ".cff", ".cu", ".cuh", ".h"}:
            content = path.read_bytes()
            assert b"\r" not in content or "crlf" in path.name.lower(), f"{path.name} has carriage returns"
            assert not content or content.endswith(b"\n"), f"{path.name} lacks the last newline"
