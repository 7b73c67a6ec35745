"""A class's folder, whatever lies in it: answers are taken as bytes, nothing leads out of it, nothing is lost without a word."""

import os
import stat
import time
import unicodedata
import zipfile

import pytest

from lanewise.grading import handed_in
from lanewise.grading.handed_in import find_submissions, read
from lanewise.grading.source import LARGEST
from lanewise.names import CourseError


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            file.writestr(name, content)
    return path


def only(folder):
    (one,) = find_submissions(folder)
    return read(one)


def test_folders_and_archives_are_students_in_the_order_of_their_names(tmp_path):
    (tmp_path / "zoe").mkdir()
    (tmp_path / "zoe" / "ch01a.cu").write_bytes(b"z")
    archive(tmp_path / "Jörg Ærø.zip", [("ch01a.cu", b"j")])
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / ".DS_Store").write_bytes(b"x")
    assert [(one.student, read(one).files) for one in find_submissions(tmp_path)] == [("Jörg Ærø", {"ch01a.cu": b"j"}), ("zoe", {"ch01a.cu": b"z"})]


def test_a_decomposed_name_is_the_same_name(tmp_path):
    (tmp_path / unicodedata.normalize("NFD", "Zoé")).mkdir()
    assert find_submissions(tmp_path)[0].student == unicodedata.normalize("NFC", "Zoé")


@pytest.mark.parametrize("first, second", [("ann", "ann.zip"), ("Ann", "ann"), (unicodedata.normalize("NFD", "Zoé"), unicodedata.normalize("NFC", "Zoé"))])
def test_the_same_student_twice_is_refused_before_anything_runs(tmp_path, first, second):
    for name in (first, second):
        archive(tmp_path / name, []) if name.endswith(".zip") else (tmp_path / name).mkdir()
    with pytest.raises(CourseError, match="is handed in twice .*: keep the one that counts"):
        find_submissions(tmp_path)


def test_what_is_no_submission_is_named(tmp_path):
    (tmp_path / "ann").mkdir()
    for name in ("bob.cu", "c.rar", "d.7z", "e.txt"):
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(CourseError, match="holds bob.cu, c.rar, d.7z and 1 more: a student's answers are a folder or a .zip"):
        find_submissions(tmp_path)


def test_a_link_to_another_student_is_no_submission(tmp_path):
    (tmp_path / "ann").mkdir()
    (tmp_path / "bob").symlink_to(tmp_path / "ann")
    with pytest.raises(CourseError, match="holds bob: "):
        find_submissions(tmp_path)


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()])
def test_no_class_is_said(tmp_path, make):
    make(tmp_path / "class")
    with pytest.raises(CourseError, match="one folder or one .zip a student"):
        find_submissions(tmp_path / "class")


def test_an_empty_folder_and_an_empty_archive_are_submissions_of_nothing(tmp_path):
    (tmp_path / "ann").mkdir()
    archive(tmp_path / "bob.zip", [])
    assert [(read(one).files, read(one).unreadable) for one in find_submissions(tmp_path)] == [({}, ""), ({}, "")]


def test_an_archive_gives_its_answers_alone(tmp_path):
    archive(
        tmp_path / "ann.zip",
        [
            ("Ann Übung 5/ch01a.cu", b"a"),
            ("Ann Übung 5/more/ch02a.ipynb", b"{}"),
            ("Ann Übung 5\\ch03a.cu", b"c"),
            ("__MACOSX/Ann Übung 5/._ch01a.cu", b"junk"),
            ("Ann Übung 5/.ipynb_checkpoints/ch01a.cu", b"old"),
            ("Ann Übung 5/numpy.py", b"evil"),
            ("Ann Übung 5/conftest.py", b"evil"),
            ("Ann Übung 5/result.json", b'{"score": 100}'),
        ],
    )
    assert only(tmp_path).files == {"ch01a.cu": b"a", "ch03a.cu": b"c", "more/ch02a.ipynb": b"{}"}


@pytest.mark.parametrize("name", ["../ch01a.cu", "a/../../ch01a.cu", "/etc/ch01a.cu", "C:/ch01a.cu", "..\\ch01a.cu", "a//ch01a.cu", "x" * 300 + ".cu"])
def test_a_member_that_leads_elsewhere_is_left_out_with_a_note(tmp_path, name):
    archive(tmp_path / "ann.zip", [(name, b"evil"), ("ch02a.cu", b"good")])
    submission = only(tmp_path)
    assert submission.files == {"ch02a.cu": b"good"}
    assert len(submission.notes) == 1 and "leads elsewhere" in submission.notes[0] and len(submission.notes[0]) < 300


def test_links_are_left_out_with_a_note(tmp_path):
    (tmp_path / "secret.cu").write_bytes(b"secret")
    os.makedirs(tmp_path / "class" / "ann")
    (tmp_path / "class" / "ann" / "ch01a.cu").symlink_to(tmp_path / "secret.cu")
    (tmp_path / "class" / "ann" / "all").symlink_to(tmp_path)
    link = zipfile.ZipInfo("ch01a.cu")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive(tmp_path / "class" / "bob.zip", [(link, "../../secret.cu")])
    for one in find_submissions(tmp_path / "class"):
        submission = read(one)
        assert submission.files == {} and "ch01a.cu is a link and was left out." in submission.notes


def test_a_pipe_is_no_answer_and_doesnt_block(tmp_path):
    (tmp_path / "ann").mkdir()
    os.mkfifo(tmp_path / "ann" / "ch01a.cu")
    assert only(tmp_path).notes == ("ch01a.cu is no ordinary file and was left out.",)


def test_a_bomb_is_cut(tmp_path, monkeypatch):
    monkeypatch.setitem(handed_in.TAKEN, ".ipynb", 32 << 20)
    archive(tmp_path / "ann.zip", [("ch01a.cu", b"\0" * (64 << 20)), ("ch02a.ipynb", b" " * (40 << 20))])
    submission = only(tmp_path)
    assert len(submission.files["ch01a.cu"]) == LARGEST + 1  # too long, as the grader then says
    assert list(submission.files) == ["ch01a.cu"] and "ch02a.ipynb has more than 32 MB" in submission.notes[0]


def test_many_files_are_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(handed_in, "MOST_FILES", 3)
    archive(tmp_path / "ann.zip", [(f"{n}.cu", b"x") for n in range(9)])
    submission = only(tmp_path)
    assert list(submission.files) == ["0.cu", "1.cu", "2.cu"] and submission.notes[0].startswith("3.cu and what follows it was left out")


def test_a_name_twice_in_an_archive_is_noted(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive(tmp_path / "ann.zip", [("ch01a.cu", b"1"), ("ch01a.cu", b"2")])
    submission = only(tmp_path)
    assert (submission.files, submission.notes) == ({"ch01a.cu": b"2"}, ("ch01a.cu is there twice; the last one counts.",))


def test_a_thousand_bombs_of_one_name_cost_no_more_than_the_limit(tmp_path, monkeypatch):
    monkeypatch.setitem(handed_in.TAKEN, ".ipynb", 1 << 20)
    monkeypatch.setattr(handed_in, "MOST_BYTES", 10 << 20)
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive(tmp_path / "ann.zip", [("a.ipynb", b" " * (3 << 20))] * 60)
    began = time.process_time()
    submission = only(tmp_path)
    assert submission.files == {} and submission.notes[-1].startswith("a.ipynb and what follows it was left out: 500 files and 10 MB are the most.")
    assert time.process_time() - began < 1


def test_notes_are_few(tmp_path):
    archive(tmp_path / "ann.zip", [(f"../{n}.cu", b"x") for n in range(300)])
    notes = only(tmp_path).notes
    assert len(notes) == 21 and notes[-1] == "There are 280 more notes."


def test_a_file_in_a_file_is_left_out(tmp_path):
    archive(tmp_path / "ann.zip", [("a/ch01a.cu", b"x"), ("a/ch01a.cu/b/ch02a.cu", b"y"), ("b.cu", b"z")])
    submission = only(tmp_path)
    assert submission.files == {"a/ch01a.cu": b"x", "b.cu": b"z"}
    assert submission.notes == ("a/ch01a.cu/b/ch02a.cu lies in what is a file and was left out.",)


def test_folders_a_thousand_deep_end_nothing(tmp_path, monkeypatch):
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / "ch01a.cu").write_bytes(b"x")
    monkeypatch.chdir(tmp_path / "ann")
    for _ in range(1500):
        os.mkdir("d")
        os.chdir("d")
    submission = only(tmp_path)
    for _ in range(1500):
        os.chdir("..")
        os.rmdir("d")
    assert (submission.files, submission.notes) == ({"ch01a.cu": b"x"}, ("d lies more than 20 folders deep and was left out.",))


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31mred", "\u202ecod", "=1+1", "\udcff", "-rf", "%s{0}", "x" * 250, "…", "a b", "'; DROP TABLE"])
def test_any_name_of_a_student_is_printable(tmp_path, name):
    (tmp_path / name).mkdir()
    (tmp_path / name / "ch01a.cu").write_bytes(b"x")
    (one,) = find_submissions(tmp_path)
    assert one.student.isprintable() and len(one.student) <= 140 and read(one).files == {"ch01a.cu": b"x"}


def encrypted(path):
    raw = bytearray(archive(path, [("ch01a.cu", b"x")]).read_bytes())
    raw[6] |= 1
    raw[raw.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(raw)


def torn(path):
    archive(path, [("ch01a.cu", os.urandom(9999))])
    raw = bytearray(path.read_bytes())
    raw[100:200] = bytes(100)
    path.write_bytes(raw)


def endless_directory(path):
    raw = bytearray(archive(path, [("ch01a.cu", b"x")]).read_bytes())
    end = raw.rindex(b"PK\5\6")
    raw[end + 12 : end + 16] = b"\xff\xff\xff\xff"
    path.write_bytes(raw)


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b""), lambda path: path.write_bytes(b"PK\3\4 no zip"), encrypted, torn, endless_directory])
def test_an_archive_that_cant_be_read_is_one_sentence(tmp_path, make):
    make(tmp_path / "ann.zip")
    submission = only(tmp_path)
    assert submission.files == {}
    assert submission.unreadable.startswith("ann.zip can't be read (") and submission.unreadable.endswith("ask for it again, or unpack it yourself.")
