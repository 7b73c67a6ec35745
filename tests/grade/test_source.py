"""From a file's bytes to a text the compiler may see."""

import time

import pytest

from lanewise.grading.source import LARGEST, NotGradable, check_includes, decode, without_comments


def test_crlf_bom_and_utf8_comments_are_the_same_text():
    assert decode(b"\xef\xbb\xbfint a; // \xc3\xa4\r\nint b;\r\n") == "int a; // ä\nint b;\n"


@pytest.mark.parametrize(
    ("raw", "kind", "line", "says"),
    [
        (b"", "kernel-not-found", None, "The file is empty"),
        (b" \n\t\n", "kernel-not-found", None, "The file is empty"),
        (b"int a;\nint\0b;\n", "compile-error", 2, "Line 2 holds a NUL byte"),
        (b"int a;\n\n// \xff\n", "compile-error", 3, "Line 3 holds a byte that is no UTF-8 (0xff)"),
        ("int a;".encode("utf-16"), "compile-error", None, "The file is UTF-16"),
        (b"/" * (LARGEST + 1), "compile-error", None, "more than 256 kB"),
    ],
)
def test_what_is_no_text_is_one_sentence(raw, kind, line, says):
    with pytest.raises(NotGradable) as caught:
        decode(raw)
    assert (caught.value.kind, caught.value.line) == (kind, line)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "((((" * 60_000,
        'R"(' * 80_000,
        '"\\"' * 80_000,
        "'\\'" * 80_000,
        "/*" * 120_000,
        "\\\n" * 120_000,
        "# " * 120_000,
        "a" * 250_000,
        "1'" * 120_000,
        " " * 250_000 + "#",
        "%:" * 120_000,
    ],
)
def test_no_text_takes_long(text):
    start = time.process_time()
    check_includes(text)
    assert time.process_time() - start < 1.0


def test_comments_are_blanked_in_place_and_strings_are_not_comments():
    text = 'int a; // x\nchar* s = "// no"; /* y\n z */ int b; char c = \'"\'; // "\n'
    plain = without_comments(text)
    assert len(plain) == len(text)
    assert plain.split("\n")[0].rstrip() == "int a;"
    assert '"// no"' in plain and "int b;" in plain and "z" not in plain and plain.count("\n") == text.count("\n")
    assert "no" not in without_comments(text, literals=True)


@pytest.mark.parametrize(
    "text",
    ["#include <cuda_fp16.h>\n", '#include "reduce.cuh"\n', "# include  <cuda/std/cstdint>  // why\n", "#define A 1\n", '// #include "/etc/passwd"\n'],
)
def test_headers_by_name_are_welcome(text):
    check_includes(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('#include "/etc/passwd"\n', 1),
        ("int a;\n  #  include </dev/zero>\n", 2),
        ('#include "../secret.txt"\n', 1),
        ('#include "a/../../b"\n', 1),
        ('#/**/include "/etc/passwd"\n', 1),
        ('/* x */ #include "/etc/passwd"\n', 1),
        ('#inc\\\nlude "/etc/passwd"\n', 1),
        ('int a;\n#include \\\n"/etc/passwd"\n', 2),
        ('%:include "/etc/passwd"\n', 1),
        ('??=include "/etc/passwd"\n', 1),
        ('#define F "/etc/passwd"\n#include F\n', 2),
        ("#include_next <x.h>\n", 1),
        ('#if __has_include("/etc/passwd")\n#endif\n', 1),
        ('#include "~/x"\n', 1),
        ('#include "C:/x"\n', 1),
        ('asm(".incbin \\"/etc/passwd\\"");\n', 1),
        ("int a = 1'2'3'4; char* s = \"' /*\";\n#include \"/etc/passwd\"\n// */\n", 2),
        ('int fR"(";\n#include "/etc/passwd"\n//)"\n', 2),
        ('char c = \'"\'; /* " */\n#include "/etc/passwd"\n', 2),
        ('const char* s = R"(\n// )";\n#include "/etc/passwd"\n', 3),
    ],
)
def test_other_files_are_refused_with_their_line_however_they_are_written(text, line):
    with pytest.raises(NotGradable) as caught:
        check_includes(text)
    assert (caught.value.kind, caught.value.line) == ("compile-error", line)
    assert "passwd" not in str(caught.value)


@pytest.mark.parametrize("condition", ["N > 4", "N > 4 && defined(FAST)", "defined FAST || __CUDA_ARCH__ >= 900", "(N * 2) % 3 == 1", "WIDE(2) < 5 && 3 > 2"])
def test_a_condition_on_numbers_is_fine(condition):
    check_includes(f'#define N 5\n#define WIDE(x) (x + 1)\n#define PATH "a/b"\n#if {condition}\nint a = 1 / 2;\n#elif N\n#endif\n')


@pytest.mark.parametrize("condition", ['P(__has_, include)("a")', "P(__has_, include)(<a/b>)", "R", "N / 2", "ONE"])
def test_a_condition_that_could_look_for_a_file_is_refused(condition):
    text = f'#define N 5\n#define P(a, b) a##b\n#define T ("a")\n#define R P(__has_, include) T\n#define ONE TWO\n#define TWO ONE R\n#if {condition}\n#endif\n'
    with pytest.raises(NotGradable, match="Line 7: this #if could look for a file, which isn't graded: compare numbers alone, without /."):
        check_includes(text)


@pytest.mark.parametrize("word", ["__TIME__", "__DATE__", "__TIMESTAMP__"])
def test_the_time_of_day_is_refused(word):
    with pytest.raises(NotGradable, match=f"Line 2: {word} is another text each time"):
        check_includes(f"// {word}\nconst char* t = {word};\n")
    check_includes(f'const char* t = "{word}"; // {word}\nint my{word};\n')
