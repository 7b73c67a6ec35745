"""The exercise loop in a notebook: %%solve, grade, hint, show. Grading itself is replaced by a stand-in here."""

import pytest

from lanewise import magics
from lanewise.grading.verdict import CaseResult, Verdict
from lanewise.listing import show, source
from lanewise.names import CourseError, find_course

COURSE = find_course()
KEY = COURSE.exercise("ch01a")
SKELETON = COURSE.kernel(KEY).read_text(encoding="utf-8")
MINE = SKELETON.replace("// TODO", "// my own")


@pytest.fixture(autouse=True)
def work(tmp_path, monkeypatch):
    folder = tmp_path / "work"
    monkeypatch.setenv("LANEWISE_WORK", str(folder))
    monkeypatch.setattr(magics, "_saved", {})
    return folder


@pytest.fixture
def graded(monkeypatch):
    """The texts that were graded."""
    texts = []

    def stand_in(key, raw, course):
        texts.append(raw.decode())
        return Verdict(str(key), 0, 1, "race", "race on s[1]")

    monkeypatch.setattr("lanewise.grading.sandbox.grade", stand_in)
    return texts


def answer(work):
    return (work / f"{KEY}.cu").read_text()


def test_a_changed_cell_is_saved_and_graded_in_one_step(work, graded, capsys):
    verdict = magics.solve("ch01a", MINE)
    assert (answer(work), graded, verdict.kind) == (MINE, [MINE], "race")
    magics.solve("ch01a", MINE + "// more\n")
    assert answer(work) == MINE + "// more\n"
    assert capsys.readouterr().out == ""
    assert not (work / "backups").exists()


@pytest.mark.parametrize("cell", ["", "\n", SKELETON, SKELETON.rstrip() + "  \n\n"])
def test_an_untouched_cell_starts_the_exercise(work, graded, cell):
    magics.solve("ch01a", cell)
    assert answer(work) == SKELETON and graded == [SKELETON]


@pytest.mark.parametrize("cell", ["", SKELETON])
def test_an_untouched_cell_never_replaces_an_answer(work, graded, capsys, cell):
    magics.solve("ch01a", MINE)
    magics.solve("ch01a", cell)
    assert answer(work) == MINE and graded == [MINE, MINE]
    assert capsys.readouterr().out == "This cell still holds the skeleton; your saved answer to ch01a stays as it is, and the verdict is on that one.\n"


def test_an_answer_made_elsewhere_is_kept_before_it_is_replaced(work, graded, capsys):
    work.mkdir()
    (work / f"{KEY}.cu").write_text("typed in an editor\n")
    magics.solve("ch01a", MINE)
    assert answer(work) == MINE
    assert [path.read_text() for path in (work / "backups").iterdir()] == ["typed in an editor\n"]
    assert capsys.readouterr().out == "Another answer to ch01a was saved; it is kept in the folder backups.\n"


def test_a_cell_that_cannot_be_saved_is_graded_all_the_same(graded, monkeypatch, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LANEWISE_WORK", str(tmp_path / "file" / "work"))
    assert magics.solve("ch01a", MINE).kind == "race"
    assert graded == [MINE]
    assert capsys.readouterr().out.startswith("Your text wasn't saved, the verdict is on the cell. Can't write ")


@pytest.mark.parametrize(("line", "says"), [("", "%%solve needs an exercise"), ("ch99z", "There is no exercise 'ch99z'")])
def test_a_wrong_key_is_one_sentence(graded, capsys, line, says):
    assert magics.solve(line, MINE) is None
    out = capsys.readouterr().out
    assert says in out and out.count("\n") == 1 and graded == []


def test_grade_and_hint_speak_in_sentences(capsys):
    assert magics.grade("ch01a") is None
    assert capsys.readouterr().out == "There is no answer to ch01a yet: `lanewise start ch01a` makes one.\n"
    magics.hint("ch01a")
    assert capsys.readouterr().out.startswith("hint 1 of 2: ")


def test_import_in_a_notebook_brings_the_magic():
    from IPython.core.interactiveshell import InteractiveShell

    import lanewise

    shell = InteractiveShell.instance()
    try:
        lanewise.load_ipython_extension(shell)
        assert "solve" in shell.magics_manager.magics["cell"]
    finally:
        InteractiveShell.clear_instance()


def test_a_verdict_is_shown_as_text_and_html():
    cases = (CaseResult("one <block>", True), CaseResult("n = 1000", False, True, "wrong"))
    message = "race on s[33] (shared, line 9): put a barrier after line 8. " * 3
    verdict = Verdict("ch05b_sum", 0.5, 2, "race", message, 9, cases, ((8, "s[t] = 0;"), (9, "x = s[t + 1] < 3;")))
    text = str(verdict)
    assert repr(verdict) == text
    assert text.splitlines()[0] == "ch05b_sum: race. 0.5 of 2 points."
    assert max(map(len, text.splitlines())) <= 80
    assert ">   9 | x = s[t + 1] < 3;" in text and "    8 | s[t] = 0;" in text
    assert text.endswith("  ✓ one <block>\n  ✗ n = 1000")
    html = verdict._repr_html_()
    assert "one &lt;block&gt;" in html and "s[t + 1] &lt; 3" in html and "<block>" not in html
    assert "color:#fff" not in html and "color:#000" not in html
    assert str(Verdict("ch05b_sum", 1, 1, None, "", None, cases[:1])) == "ch05b_sum: solved. 1 of 1 cases pass, 1 of 1 point."


def test_show_reads_the_kernels_file():
    text = COURSE.kernel(COURSE.any_kernel("ch01_vector_add")).read_text()
    whole = show("ch01_vector_add")
    assert "\n".join(whole.lines) + "\n" == text == source("ch01_vector_add")
    assert str(whole).splitlines()[0] == f"   1  {text.splitlines()[0]}"
    start = next(number for number, line in enumerate(text.splitlines(), 1) if "const int i" in line)
    piece = show("ch01_vector_add", "const int i")
    assert piece.first == start and piece.lines[0] == text.splitlines()[start - 1] and "" not in piece.lines
    assert show("ch01_vector_add", (2, 3)).lines == tuple(text.splitlines()[1:3]) == show("ch01_vector_add", "2-3").lines
    with pytest.raises(CourseError, match="stands on 0 lines of ch01_vector_add"):
        show("ch01_vector_add", "no such text")


def test_a_listing_in_html_keeps_the_text():
    import html
    import re

    listing = show("ch04_transpose_shared")
    plain = html.unescape(re.sub(r"<[^>]+>", "", listing._repr_html_()))
    assert [line[6:] for line in plain.split("\n")] == list(listing.lines)
