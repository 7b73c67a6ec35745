"""Parameter lists and array declarations, as people write them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.simt import nvrtc, signature
from lanewise.simt.constants import constants, evaluate
from lanewise.simt.signature import Parameter


def one(parameters: str, before: str = "") -> list[Parameter]:
    return signature.parse(f'{before}\nextern "C" __global__ void k({parameters}) {{ }}')["k"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("const float* __restrict__ x", Parameter("x", "const float*", True, True, "float")),
        ("float const *x", Parameter("x", "const float*", True, True, "float")),
        ("float * const x", Parameter("x", "float*", True, False, "float")),
        ("float*x", Parameter("x", "float*", True, False, "float")),
        ("float x[]", Parameter("x", "float*", True, False, "float")),
        ("const int n", Parameter("n", "int", False, False, "int")),
        ("unsigned n", Parameter("n", "unsigned int", False, False, "unsigned int")),
        ("unsigned", Parameter("", "unsigned int", False, False, "unsigned int")),
        ("float*", Parameter("", "float*", True, False, "float")),
        ("long long int n", Parameter("n", "long long", False, False, "long long")),
        ("unsigned long long* n", Parameter("n", "unsigned long long*", True, False, "unsigned long long")),
        ("float** rows", Parameter("rows", "float**", True, False, "float*")),
        ("volatile int* flag", Parameter("flag", "int*", True, False, "int")),
        ("const __grid_constant__ CUtensorMap map", Parameter("map", "CUtensorMap", False, False, "CUtensorMap")),
        ("struct Point p", Parameter("p", "Point", False, False, "Point")),
        ("cuda::std::int64_t n", Parameter("n", "cuda::std::int64_t", False, False, "cuda::std::int64_t")),
        ("__nv_bfloat16 *__restrict__ y", Parameter("y", "__nv_bfloat16*", True, False, "__nv_bfloat16")),
        ("const half2* h /* pairs, */", Parameter("h", "const half2*", True, True, "half2")),
    ],
)
def test_one_parameter(text: str, expected: Parameter) -> None:
    assert one(text) == [expected]


def test_aliases_are_resolved_for_the_element_but_shown_as_written() -> None:
    assert one("real* x", "typedef float real;")[0] == Parameter("x", "real*", True, False, "float")
    assert one("T x", "using T = unsigned int;")[0].element == "unsigned int"
    assert one("DTYPE* x", "#define DTYPE __half")[0].element == "__half"
    assert one("ptr x", "typedef const float* ptr;")[0] == Parameter("x", "ptr", True, True, "float")


def test_launch_bounds_comments_and_strings_do_not_confuse() -> None:
    source = """
    // __global__ void ghost(int a)
    /* __global__ void spectre(int b) */
    __device__ const char* text = "__global__ void phantom(int c)";
    extern "C" __global__ __launch_bounds__(256, 2) void
    real_one(float* out,   // the result, (rows, cols)
             int rows,     /* how many, */ int cols)
    { out[0] = rows * cols; }
    extern "C" __global__ void __launch_bounds__(128) other() {}
    """
    found = signature.parse(source)
    assert {name: [p.name for p in parameters] for name, parameters in found.items()} == {"real_one": ["out", "rows", "cols"], "other": []}


def test_macros_and_overloads_are_left_out_rather_than_guessed() -> None:
    assert signature.parse('#define KERNEL(n) extern "C" __global__ void n(float* x) { x[0] = 1; }\nKERNEL(a)\n') == {}
    assert signature.parse("__global__ void k(int a) {}\n__global__ void k(float a) {}") == {}
    assert signature.parse("__global__ void k(void (*f)(int)) {}") == {}


def test_a_declaration_and_its_definition_are_one_kernel() -> None:
    source = 'extern "C" __global__ void k(float* x);\nextern "C" __global__ void k(float* x) { x[0] = 1; }'
    assert [p.name for p in signature.parse(source)["k"]] == ["x"]


def test_template_instances_fill_in_their_arguments() -> None:
    source = "template <typename T, int N = 4>\n__global__ void scale(T* x, const T factor, int n) { x[n] *= factor; }"
    assert signature.instance(source, "scale<float, 8>") == [
        Parameter("x", "float*", True, False, "float"),
        Parameter("factor", "float", False, False, "float"),
        Parameter("n", "int", False, False, "int"),
    ]
    assert signature.instance(source, "nothing<float>") is None


def test_shared_arrays_have_type_and_dimensions() -> None:
    source = """
    #define ROWS 8
    constexpr int TILE = 32, PAD = 1;
    __constant__ float weights[TILE / 2] = {1, 2};
    __device__ int ticket;
    __device__ void helper() { __shared__ int votes[TILE]; votes[0] = 1; }
    extern "C" __global__ void other() { __shared__ double s[5]; s[0] = 1; }
    extern "C" __global__ void k(float* x) {
        constexpr int D = TILE * 2;
        __shared__ float s[TILE][TILE + PAD], t[ROWS << 1];
        __shared__ __align__(16) unsigned char raw[sizeof(float) * D];
        __shared__ int total;
        extern __shared__ float dynamic[];
        s[0][0] = t[0] + raw[0] + total + dynamic[0];
    }
    """
    assert signature.shared_arrays(source, "k") == {
        "s": ("float", (32, 33)),
        "t": ("float", (16,)),
        "raw": ("unsigned char", (256,)),
        "total": ("int", ()),
        "dynamic": ("float", (0,)),
        "votes": ("int", (32,)),
    }
    assert signature.shared_arrays(source, "other")["s"] == ("double", (5,))
    assert signature.constant_arrays(source) == {"weights": ("float", (16,)), "ticket": ("int", ())}


def test_a_dimension_that_is_not_known_gives_none_and_an_option_makes_it_known() -> None:
    source = 'extern "C" __global__ void k() { __shared__ float s[BLOCK]; s[0] = 1; }'
    assert signature.shared_arrays(source, "k") == {"s": ("float", None)}
    defines = signature.option_defines(("-DBLOCK=64", "--use_fast_math"))
    assert signature.shared_arrays(source, "k", defines) == {"s": ("float", (64,))}
    assert signature.option_defines(("-D", "N=3", "--define-macro=M=4", "-DFLAG", "-std=c++17")) == {"N": "3", "M": "4", "FLAG": "1"}


def test_local_arrays() -> None:
    source = 'extern "C" __global__ void k(float* x) { float acc[4][2]; unsigned int bits[3]; x[0] = acc[0][0] + bits[0]; return; }'
    assert signature.local_arrays(source, "k") == {"acc": ("float", (4, 2)), "bits": ("unsigned int", (3,))}


def test_carriage_returns_and_byte_order_mark_change_nothing() -> None:
    source = "\ufeffconstexpr int N = 4; // Größe\r\n__global__ void k(float* x,\r\n  int n) {\r\n __shared__ int s[N]; }\r\n"
    assert [p.name for p in signature.parse(source)["k"]] == ["x", "n"]
    assert signature.shared_arrays(source, "k") == {"s": ("int", (4,))}


pieces = st.lists(
    st.sampled_from(["//", "/*", "*/", '"', "'", "\\", "\n", "\r\n", "#define N 1", "__global__ void k(int n)", "{", "}", "(", ";", 'R"(', ')"', "x"])
)


@given(pieces.map("".join))
def test_whatever_the_text_lines_stay_and_nothing_is_raised(text: str) -> None:
    assert signature.blank(text).count("\n") == text.count("\n")
    signature.parse(text)
    signature.shared_arrays(text, "k")
    signature.constant_arrays(text)


names = st.from_regex(r"[a-z_][a-z0-9_]{0,6}", fullmatch=True).map(lambda name: f"p_{name}")
elements = st.sampled_from(["float", "int", "unsigned int", "double", "__half", "float4", "unsigned char", "long long", "bool"])
spaces = st.sampled_from([" ", "  ", "\n", "\t", " /* , */ ", " // ) {\n"])


@given(st.lists(st.tuples(elements, st.booleans(), st.booleans(), names, spaces), max_size=6, unique_by=lambda item: item[3]))
def test_any_list_is_read_back(items: list[tuple[str, bool, bool, str, str]]) -> None:
    text = ",".join(
        f"{space}{'const ' if const else ''}{element}{space}{'* __restrict__ ' if pointer else ''}{name}{space}"
        for element, pointer, const, name, space in items
    )
    expected = [(element, pointer, const and pointer, name) for element, pointer, const, name, _ in items]
    assert [(p.element, p.pointer, p.const, p.name) for p in one(text)] == expected


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})")


@given(st.recursive(st.integers(0, 1000).map(str), _joined, max_leaves=6))
def test_expressions_have_their_value(text: str) -> None:
    assert evaluate(text, {}) == eval(text)


def test_integer_division_is_that_of_c() -> None:
    assert [evaluate(text, {"N": -7}) for text in ("N / 2", "N % 2", "7 / 2", "1 / 0", "n", "64u * 2UL", "0x10u")] == [-3, -1, 3, None, None, 128, 16]
    assert constants({}, "enum { A = 3, B = 5 }; const int C = A * B;") == {"A": 3, "B": 5, "C": 15}


def test_sizes_agree_with_the_compiler() -> None:
    source = """constexpr int D = 3;
    extern "C" __global__ void k(float* x) {
        __shared__ float s[D + 1][D * 2];
        s[threadIdx.x][0] = x[0];
        __syncthreads();
        x[1] = s[0][threadIdx.x];
    }"""
    size = int(re.findall(r"\.shared[^;]*\[(\d+)\]", nvrtc.compile(source).ptx)[0])
    ctype, dims = signature.shared_arrays(source, "k")["s"]
    assert (ctype, dims, size) == ("float", (4, 6), 4 * 4 * 6)
