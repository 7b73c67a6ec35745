"""The README's first success is what a newcomer gets: its commands are run and their output compared, letter by letter.

`python tests/test_readme.py` writes the outputs and the chapter table anew; read the difference before you commit it.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"<!-- (?P<kind>replayed|answer)(?:: (?P<what>[^>]*))? -->\n```\w+\n(?P<body>.*?)```\n", re.DOTALL)
ROW = re.compile(r"^\| \[?(?P<key>ch\d\d_\w+)\]?(?:\(\S+\))? \| (?P<question>.*) \|(?: planned)? \|$", re.MULTILINE)
# A skeleton's TODO: from its line to the brace that closes the stub.
TODO = re.compile(r"^    // TODO .*?^    }\n", re.DOTALL | re.MULTILINE)


def replayed(text: str, folder: Path) -> str:
    """The README with the output of every marked command as it is now. `folder` stands in for the clone: answers go to its work/."""

    def replay(match: re.Match[str]) -> str:
        if match["kind"] == "answer":
            answer = folder / "work" / f"{match['what'].strip()}.cu"
            solved, count = TODO.subn(lambda _: match["body"], answer.read_text(encoding="utf-8"))
            assert count == 1, f"{answer.name} has {count} places that look like the README's TODO"
            answer.write_text(solved, encoding="utf-8")
            return match[0]
        commands = [line for line in match["body"].splitlines() if line.startswith("$ ")]
        body = "".join(f"{command}\n{output(command[2:], folder)}" for command in commands)
        return match[0].replace(match["body"], body)

    return BLOCK.sub(replay, text)


def output(command: str, folder: Path) -> str:
    """What a command prints to a terminal of 80 columns without colours."""
    if command.startswith("source "):
        return ""
    program, *arguments = command.split()
    assert program == "lanewise", f"the README runs {program}, which is not replayed"
    environment = os.environ | {"LANEWISE_WORK": str(folder / "work"), "LANEWISE_DEVICE": "simulator", "COLUMNS": "80", "NO_COLOR": "1"}
    run = subprocess.run([sys.executable, "-m", "lanewise", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout


def test_the_pasted_output_is_what_the_commands_print(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    assert len(BLOCK.findall(text)) == 4
    assert replayed(text, tmp_path) == text


def with_chapters(text: str) -> str:
    """The README with its chapter table as chapters/ is: a link where the notebook is built, else "planned"."""

    def row(match: re.Match[str]) -> str:
        key, question = match["key"], match["question"]
        built = (ROOT / "chapters" / f"{key}.ipynb").exists()
        return f"| [{key}](chapters/{key}.ipynb) | {question} | |" if built else f"| {key} | {question} | planned |"

    return ROW.sub(row, text)


def test_the_chapter_table_links_what_exists() -> None:
    text = README.read_text(encoding="utf-8")
    keys = [match["key"] for match in ROW.finditer(text)]
    assert [key[:4] for key in keys] == [f"ch{number:02d}" for number in range(1, 37)]
    assert {path.stem for path in (ROOT / "chapters").glob("*.ipynb")} <= set(keys)
    assert with_chapters(text) == text, "run `python tests/test_readme.py`"


@pytest.mark.parametrize("path", sorted([README, *(ROOT / "docs").glob("*.md")]), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)\)", path.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_readme_names_no_command_that_does_not_exist() -> None:
    text = README.read_text(encoding="utf-8")
    usage = subprocess.run([sys.executable, "-m", "lanewise", "--help"], capture_output=True, text=True, check=True).stdout
    for command in set(re.findall(r"lanewise (?!&&)([a-z]+)", re.sub(r"conda activate lanewise|> lanewise", "", text))):
        assert re.search(rf"^    {command} ", usage, re.MULTILINE), command
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z-]+)", text)) - {"and"}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        README.write_text(with_chapters(replayed(README.read_text(encoding="utf-8"), Path(folder))), encoding="utf-8")
