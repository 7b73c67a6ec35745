"""The README's first success is what a newcomer gets: its commands are run and their output compared, letter by letter; its figures are those of results/.

`python tests/test_readme.py` writes the outputs, the chapter table, the figures and the ladder's picture anew; read the difference before you commit it.
"""

import doctest
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lanewise import bench, results
from lanewise.bench.attention_ladder import geometric_mean

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"<!-- (?P<kind>replayed|answer)(?:: (?P<what>[^>]*))? -->\n```\w+\n(?P<body>.*?)```\n", re.DOTALL)
ROW = re.compile(r"^\| \[?(?P<key>ch\d\d_\w+)\]?(?:\(\S+\))? \| (?P<question>.*) \|(?: (?P<gpu>[^|]+))? \|$", re.MULTILINE)
REFERENCES = {
    "FlexAttention": "PyTorch's FlexAttention (Triton)", "PyTorch efficient": "its memory-efficient backend", "PyTorch math": "its math backend",
}  # fmt: skip
FIGURES = re.compile(r"(?<=<!-- measured: tests/test_readme.py writes this from results/h200.json -->\n).*(?=<!-- end -->\n)", re.DOTALL)
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
    """The README with its chapter table as chapters/ is: a link where the notebook is built, else "planned". What GPU a chapter needs is written by hand."""

    def row(match: re.Match[str]) -> str:
        key, question = match["key"], match["question"]
        built = (ROOT / "chapters" / f"{key}.ipynb").exists()
        gpu = "" if match["gpu"] in (None, "planned") else f" {match['gpu']}"
        return f"| [{key}](chapters/{key}.ipynb) | {question} |{gpu} |" if built else f"| {key} | {question} | planned |"

    return ROW.sub(row, text)


def test_the_chapter_table_links_what_exists() -> None:
    text = README.read_text(encoding="utf-8")
    keys = [match["key"] for match in ROW.finditer(text)]
    assert [key[:4] for key in keys] == [f"ch{number:02d}" for number in range(1, 37)]
    assert {path.stem for path in (ROOT / "chapters").glob("*.ipynb")} <= set(keys)
    assert with_chapters(text) == text, "run `python tests/test_readme.py`"


def spread(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f} × (geometric mean {geometric_mean(values):.2f})"


def limited(ladder: results.Table) -> list[str]:
    """A sentence where the power limit held the clock down at every point (NVML's clocks event reason 4), else nothing."""
    if any(int(row.get("throttle", "0"), 16) != 4 for row in ladder.rows):
        return []
    clocks, watts = (f"{min(ladder.column(name)):,.0f} to {max(ladder.column(name)):,.0f} {name}" for name in ("MHz", "W"))
    return [f"All of attention's points ran at the GPU's power limit ({watts}), the clock at {clocks}.", ""]


def every_rung() -> list[str]:
    """A table of all rungs, where they have been measured."""
    steps = results.read("every_rung")
    if steps is None:
        return []
    shape = f"d = 64, N = {steps.rows[0]['N']:,}, {steps.rows[0]['heads']} heads, full ({steps.device}, {steps.date})"
    lines = [f"From the first kernels up, {shape}:", "", "| rung | its idea | type | ms | TFLOP/s | times the first |", "|---|---|---|--:|--:|--:|"]
    names = [name if " " in name else f"`{name}`" for name in steps.column("rung")]
    lines += [
        f"| {name} | {r['idea']} | {r['type']} | {r['ms']:.3g} | {r['TFLOPs']:.3g} | {r['times']:.3g} |" for name, r in zip(names, steps.rows, strict=True)
    ]
    return [*lines, ""]


def figures() -> str:
    """What the README says was measured, from results/h200.json."""
    ladder, products = results.read("attention_ladder"), results.read("tensor_ladder")
    assert ladder is not None and products is not None
    lengths = sorted(set(ladder.column("N")))
    libraries = [name for name in ("cuDNN", "FlashAttention-4") if f"flash3 / {name}" in ladder.rows[0]]
    beside = [(row["N"], min(row[f"flash3 / {name}"] for name in libraries)) for row in ladder.rows]
    top = max(ladder.rows, key=lambda row: row["flash3"])
    product = max(products.rows, key=lambda row: row["ratio"])
    (warps,) = products.only("kernel", ["ch27_matmul_mma"]).rows
    lines = [
        f"On an {ladder.device}, {ladder.date}, fp16, {len(ladder.rows)} points (d = 64 and 128, N = {lengths[0]:,} to {lengths[-1]:,}, full and causal), each",
        "beside the libraries in the same run, errors compared with float64:",
        "",
        f"* `flash2` (chapter 22, mma.sync and cp.async): {spread(ladder.column('flash2 / FlashAttention-2'))} PyTorch's FlashAttention-2.",
        f"* `flash3` (chapter 28, TMA and wgmma): from N = 2,048 on {spread([x for n, x in beside if n >= 2048])} the better of {' and '.join(libraries)};",
        f"  for shorter ones {spread([x for n, x in beside if n < 2048])}. Its best is {top['flash3']:.0f} TFLOP/s, d = {top['d']}, N = {top['N']:,}.",
    ]
    references = results.read("attention_references")
    if references is not None:
        beside = [(what, references.only("library", [name]).column("ratio")) for name, what in REFERENCES.items()]
        lines += ["* in turns with each, `flash3` is", ",\n".join(f"  {spread(ratios)} {what}" for what, ratios in beside if ratios) + "."]
    backward = results.read("backward_ladder")
    if backward is not None:
        cudnn = [row["TFLOPs"] / row["cuDNN"] for row in backward.rows]
        lines.append(f"* the backward pass (chapter 23, mma.sync): {spread(backward.column('ratio'))} PyTorch's FlashAttention-2,")
        lines.append(f"  {min(cudnn):.2f} to {max(cudnn):.2f} × cuDNN's; a backward pass on wgmma isn't part of the course.")
    lines += [
        f"* a product of matrices, {product['N']:,}³, {product['type']} (`{product['kernel']}`): {product['ratio']:.2f} × cuBLAS,",
        f"  {product['TFLOPs']:.0f} TFLOP/s; by mma.sync alone (`{warps['kernel']}`): {warps['ratio']:.2f} ×, {warps['TFLOPs']:.0f} TFLOP/s.",
        "",
        *limited(ladder),
        *every_rung(),
        f"![{bench.ladder_picture(ladder).alt}](results/h200_ladder.svg)",
    ]
    return "\n".join(lines) + "\n"


def test_the_figures_are_those_of_the_results() -> None:
    text = README.read_text(encoding="utf-8")
    assert FIGURES.search(text), "the README has lost the place of its figures"
    assert FIGURES.sub(lambda _: figures(), text) == text, "run `python tests/test_readme.py`"


def test_the_example_of_attention_is_what_it_says() -> None:
    (example,) = re.findall(r"```pycon\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    parsed = doctest.DocTestParser().get_doctest(example, {}, "README.md", "README.md", 0)
    assert len(parsed.examples) == 7
    assert doctest.DocTestRunner().run(parsed).failed == 0


@pytest.mark.parametrize("path", sorted([README, *(ROOT / "docs").glob("*.md")]), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)\)", path.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), f"{path.name} links to {target}"


def test_the_readme_names_no_command_that_does_not_exist() -> None:
    text = README.read_text(encoding="utf-8")
    usage = subprocess.run([sys.executable, "-m", "lanewise", "--help"], capture_output=True, text=True, check=True).stdout
    for command in set(re.findall(r"lanewise (?!&&)([a-z]+)", re.sub(r"conda activate lanewise|> lanewise|from lanewise import", "", text))):
        assert re.search(rf"^    {command} ", usage, re.MULTILINE), command
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"\bmake ([a-z-]+)", text)) - {"and"}:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        text = with_chapters(replayed(README.read_text(encoding="utf-8"), Path(folder)))
    README.write_text(FIGURES.sub(lambda _: figures(), text), encoding="utf-8")
    bench.draw_ladder("h200")
