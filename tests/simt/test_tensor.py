"""Tensor cores against NumPy: every shape and type, with fragments dealt out here by the formulas of the PTX ISA (9.7.14, "Matrix Fragments for …")."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt

pytestmark = pytest.mark.slow

f16, f32, f64, i32, u16, u32 = np.float16, np.float32, np.float64, np.int32, np.uint16, np.uint32
WARPS, BLOCKS = 2, 3


def bfloat(x):
    """float32 cut to bfloat16, as its bits."""
    return (np.asarray(x, f32).view(u32) >> 16).astype(u16)


def e4m3(bits):
    """The values of FP8 bit patterns, by OCP's definition of E4M3: bias 7, no infinities."""
    bits = bits.astype(int)
    exponent, fraction = bits >> 3 & 15, bits & 7
    value = np.where(exponent > 0, (8 + fraction) * 2.0 ** (exponent - 10), fraction * 2.0**-9)
    return np.where(bits >> 7, -value, value)


def e5m2(bits):
    return (bits.astype(u16) << 8).view(f16).astype(f64)


def finite8(rng, shape, largest):
    """FP8 patterns of moderate size: exponents that neither overflow nor hold NaN."""
    return (rng.integers(0, 2, shape) << 7 | rng.integers(0, largest, shape)).astype(np.uint8)


# name → (bits, draw(rng, shape) → stored elements, value of stored elements)
TYPES = {
    "f16": (16, lambda r, s: r.standard_normal(s).astype(f16), lambda x: x.astype(f64)),
    "bf16": (16, lambda r, s: bfloat(r.standard_normal(s)), lambda x: (x.astype(u32) << 16).view(f32).astype(f64)),
    "tf32": (32, lambda r, s: r.standard_normal(s).astype(f32), lambda x: (x.view(u32) & u32(0xFFFFE000)).view(f32).astype(f64)),
    "s8": (8, lambda r, s: r.integers(-128, 128, s).astype(np.int8), lambda x: x.astype(f64)),
    "u8": (8, lambda r, s: r.integers(0, 256, s).astype(np.uint8), lambda x: x.astype(f64)),
    "e4m3": (8, lambda r, s: finite8(r, s, 0x50), e4m3),
    "e5m2": (8, lambda r, s: finite8(r, s, 0x48), e5m2),
    "f64": (64, lambda r, s: r.standard_normal(s), lambda x: x),
    "f32": (32, lambda r, s: r.standard_normal(s).astype(f32), lambda x: x.astype(f64)),
    "s32": (32, lambda r, s: r.integers(-1000, 1000, s).astype(i32), lambda x: x.astype(f64)),
    "s4": (4, lambda r, s: r.integers(0, 16, s).astype(np.uint8), lambda x: np.where(x < 8, x, x.astype(f64) - 16)),
    "u4": (4, lambda r, s: r.integers(0, 16, s).astype(np.uint8), lambda x: x.astype(f64)),
    "b1": (1, lambda r, s: r.integers(0, 2, s).astype(np.uint8), lambda x: x.astype(f64)),
}
EIGHT = {"s8", "u8", "e4m3", "e5m2"}
SMALL = {"s4": 8, "u4": 8, "b1": 32}  # elements of a register


def place_a(shape, type, g, t, i):
    """(row, column) of A's element i in the lane of group g, thread t."""
    m, _, k = shape
    if type in SMALL:
        run = SMALL[type]
        return (g if m == 8 or i // run % 2 == 0 else g + 8), run * t + i % run + (4 * run if i >= 2 * run else 0)
    if type in EIGHT:
        if m == 8:
            return g, 4 * t + i
        row = g if i % 8 < 4 else g + 8
        return row, 4 * t + (i & 3) + (16 if i >= 8 else 0)
    if type in ("f16", "bf16"):
        row = g if i < 2 or 4 <= i < 6 else g + 8
        return row, 2 * t + (i & 1) + (8 if i >= 4 else 0)
    if m == 8:
        return g, t
    return (g if i % 2 == 0 else g + 8), t + 4 * (i // 2)


def place_b(shape, type, g, t, i):
    if type in SMALL:
        run = SMALL[type]
        return run * t + i % run + (4 * run if i >= run else 0), g
    if type in EIGHT:
        return 4 * t + (i & 3) + (16 if i >= 4 else 0), g
    if type in ("f16", "bf16"):
        return 2 * t + (i & 1) + (8 if i >= 2 else 0), g
    return t + 4 * i, g


def place_c(shape, g, t, i):
    return (g if i < 2 else g + 8), 2 * t + (i & 1)


def dealt(matrix, place, count):
    """A matrix as (32 lanes, count elements)."""
    return np.array([[matrix[place(lane >> 2, lane & 3, i)] for i in range(count)] for lane in range(32)], matrix.dtype)


def collected(lanes, place, rows, cols):
    out = np.zeros((rows, cols), lanes.dtype)
    for lane in range(32):
        for i in range(lanes.shape[1]):
            out[place(lane >> 2, lane & 3, i)] = lanes[lane, i]
    return out


def kernel(name, shape, a, b, c, d, extra="", around="{}", tail=""):
    """A kernel whose lanes load their fragments, already dealt out, multiply, and store."""
    m, n, k = shape
    count = {x: rows * cols // 32 for x, rows, cols in (("a", m, k), ("b", k, n), ("c", m, n))}
    types = dict(zip("abcd", (a, b, c, d), strict=True))
    held = {x: {"f64": ("double", "d"), "f32": ("float", "f")}.get(type, ("unsigned", "r")) for x, type in types.items()}
    regs = {x: count["c" if x == "d" else x] * TYPES[type][0] // (64 if type == "f64" else 32) for x, type in types.items()}
    number = iter(range(99))
    lists = {x: "{" + ", ".join(f"%{next(number)}" for _ in range(regs[x])) + "}" for x in "dabc"}
    outs = ", ".join(f'"={held["d"][1]}"(d[{j}])' for j in range(regs["d"]))
    ins = ", ".join(f'"{held[x][1]}"({x}[{j}])' for x in "abc" for j in range(regs[x]))
    operands = ", ".join(lists[x] for x in "dabc")
    code = f'asm volatile("mma.sync.aligned.m{m}n{n}k{k}.row.col{extra}.{d}.{a}.{b}.{c}{tail} {operands};" : {outs} : {ins});'
    copied = "for (int j = 0; j < {1}; ++j) {0}[j] = {2}[at * {1} + j];"
    loads = "\n".join(f"  {held[x][0]} {x}[{regs[x]}]; " + copied.format(x, regs[x], x.upper()) for x in "abc")
    return f"""
extern "C" __global__ void {name}(const {held["a"][0]}* A, const {held["b"][0]}* B, const {held["c"][0]}* C, {held["d"][0]}* D) {{
  int at = blockIdx.x * blockDim.x + threadIdx.x;
{loads}
  {held["d"][0]} d[{regs["d"]}] = {{}};
  {around.replace("{}", code)}
  for (int j = 0; j < {regs["d"]}; ++j) D[at * {regs["d"]} + j] = d[j];
}}"""


def words(x, type):
    """Stored elements as the registers' type."""
    if type == "b1":
        x = np.packbits(x, axis=-1, bitorder="little")
    elif type in SMALL:
        x = x[..., 0::2] | x[..., 1::2] << 4
    return np.ascontiguousarray(x).view(f64 if type == "f64" else f32 if type == "f32" else u32).reshape(-1)


STORED = {"f16": f16, "f32": f32, "f64": f64, "s32": i32}
MMA = [
    *(((16, 8, k), x, x, c, d) for x in ("f16",) for k in (8, 16) for c, d in (("f32", "f32"), ("f16", "f16"))),
    *(((16, 8, k), "bf16", "bf16", "f32", "f32") for k in (8, 16)),
    *(((16, 8, k), "tf32", "tf32", "f32", "f32") for k in (4, 8)),
    *(((16, 8, k), a, b, "s32", "s32") for k in (16, 32) for a, b in (("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8"))),
    ((8, 8, 16), "s8", "s8", "s32", "s32"),
    *(((16, 8, 32), a, b, "f32", "f32") for a, b in (("e4m3", "e4m3"), ("e5m2", "e5m2"), ("e4m3", "e5m2"))),
    ((16, 8, 32), "e4m3", "e4m3", "f16", "f16"),
    ((8, 8, 32), "s4", "s4", "s32", "s32"),
    *(((16, 8, k), a, b, "s32", "s32") for k in (32, 64) for a, b in (("s4", "s4"), ("u4", "u4"), ("s4", "u4"), ("u4", "s4"))),
    *((shape, "f64", "f64", "f64", "f64") for shape in ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16))),
]
LABELS = [f"m{s[0]}n{s[1]}k{s[2]}-{a}-{b}-{d}" for s, a, b, c, d in MMA]


def run(shape, a, b, c, d, matrices, extra="", around="{}", tail="", **options):
    """Launch with one set of matrices (lists of A, B, C) a warp; the list of D."""
    m, n, k = shape
    name = "product"
    dealt_a = np.concatenate([dealt(x, lambda g, t, i: place_a(shape, a, g, t, i), m * k // 32) for x in matrices[0]])
    dealt_b = np.concatenate([dealt(x, lambda g, t, i: place_b(shape, b, g, t, i), k * n // 32) for x in matrices[1]])
    dealt_c = np.concatenate([dealt(x, lambda g, t, i: place_c(shape, g, t, i), m * n // 32) for x in matrices[2]])
    out = np.zeros((len(dealt_c), m * n // 32), STORED[d])
    result = words(out, d)
    module = simt.compile(kernel(name, shape, a, b, c, d, extra, around, tail))
    report = module.kernel(name).launch(BLOCKS, 32 * WARPS, [words(dealt_a, a), words(dealt_b, b), words(dealt_c, c), result], **options)
    assert report.ok, str(report)
    lanes = result.view(STORED[d]).reshape(-1, 32, m * n // 32)
    return [collected(x, lambda g, t, i: place_c(shape, g, t, i), m, n) for x in lanes], report


def draw(shape, a, b, c, seed=0):
    m, n, k = shape
    rng = np.random.default_rng(seed)
    count = WARPS * BLOCKS
    return [[TYPES[t][1](rng, s) for _ in range(count)] for t, s in ((a, (m, k)), (b, (k, n)), (c, (m, n)))]


def expected(a, b, c, d, matrices):
    """D to twice the precision, then rounded once."""
    return [TYPES[a][2](x) @ TYPES[b][2](y) + TYPES[c][2](z) for x, y, z in zip(*matrices, strict=True)]


def close(got, want, d):
    """Equal to the exact result rounded once; float64 within the rounding of its sum."""
    if d == "f64":
        return np.allclose(got, want, rtol=0, atol=2.0**-46)
    return np.array_equal(got, want.astype(STORED[d]))


@pytest.mark.parametrize(("shape", "a", "b", "c", "d"), MMA, ids=LABELS)
def test_mma(shape, a, b, c, d):
    matrices = draw(shape, a, b, c)
    got, report = run(shape, a, b, c, d, matrices)
    want = expected(a, b, c, d, matrices)
    assert all(close(x, y, d) for x, y in zip(got, want, strict=True))
    m, n, k = shape
    assert report.counters.flops == 2 * m * n * k * WARPS * BLOCKS


@pytest.mark.parametrize(("shape", "a", "b", "c", "d"), MMA, ids=LABELS)
def test_the_identity_times_b_is_b(shape, a, b, c, d):
    """A layout that put one element in the wrong place would show here alone."""
    m, n, k = shape
    one = {"s8": 1, "u8": 1, "e4m3": 0x38, "e5m2": 0x3C, "bf16": bfloat(1)}.get(a, 1)
    matrices = draw(shape, a, b, c, seed=1)
    matrices[0] = [(np.eye(m, k) != 0).astype(x.dtype) * x.dtype.type(one) for x in matrices[0]]
    matrices[2] = [np.zeros_like(x) for x in matrices[2]]
    got, _ = run(shape, a, b, c, d, matrices)
    for x, y in zip(got, matrices[1], strict=True):
        value = np.zeros((m, n))
        value[: min(m, k)] = TYPES[b][2](y)[: min(m, k)]
        assert np.array_equal(x.astype(f64), value)


@pytest.mark.parametrize(
    ("around", "takes"),
    [
        ("if (threadIdx.x / 32 == blockIdx.x % 2) { {} }", lambda warp, block: warp == block % 2),
        ("if (blockIdx.x == 1) { {} }", lambda warp, block: block == 1),
        ("if (at / 32 % 4 == 1) { {} } else if (at / 32 % 4 == 2) { {} }", lambda warp, block: (2 * block + warp) % 4 in (1, 2)),
    ],
    ids=["one warp a block", "one block", "two places"],
)
@pytest.mark.parametrize("schedule", [0, 5])
def test_some_warps_multiply(around, takes, schedule):
    shape, types = (16, 8, 16), ("f16", "f16", "f32", "f32")
    matrices = draw(shape, *types[:3], seed=2)
    got, _ = run(shape, *types, matrices, around=around, schedule=schedule)
    for number, (x, y) in enumerate(zip(got, expected(*types, matrices), strict=True)):
        assert np.array_equal(x, y.astype(f32) if takes(number % WARPS, number // WARPS) else np.zeros((16, 8), f32))


def test_s32_wraps_unless_it_saturates():
    shape, types = (16, 8, 16), ("u8", "u8", "s32", "s32")
    matrices = draw(shape, *types[:3], seed=3)
    matrices[2] = [np.full((16, 8), 2**31 - 100000, i32) for _ in matrices[2]]
    exact = [x.astype(int) @ y.astype(int) + z.astype(int) for x, y, z in zip(*matrices, strict=True)]
    assert max(x.max() for x in exact) >= 2**31
    wrapped, _ = run(shape, *types, matrices)
    assert all(np.array_equal(x, y.astype(i32)) for x, y in zip(wrapped, exact, strict=True))
    saturated, _ = run(shape, *types, matrices, extra=".satfinite")
    assert all(np.array_equal(x, np.minimum(y, 2**31 - 1)) for x, y in zip(saturated, exact, strict=True))


def test_infinities_and_overflow():
    shape, types = (16, 8, 16), ("f16", "f16", "f16", "f16")
    matrices = [[np.full((16, 16), 200, f16)] * 6, [np.full((16, 8), 200, f16)] * 6, [np.zeros((16, 8), f16)] * 6]
    got, _ = run(shape, *types, matrices)
    assert np.isposinf(got[0]).all()
    matrices[0] = [np.full((16, 16), np.inf, f16)] * 6
    matrices[1] = [np.zeros((16, 8), f16)] * 6
    got, _ = run(shape, *types, matrices)
    assert np.isnan(got[0]).all()


@pytest.mark.parametrize("shape", [(8, 8, 128), (16, 8, 128), (16, 8, 256)], ids=["m8n8k128", "m16n8k128", "m16n8k256"])
@pytest.mark.parametrize("operation", ["xor", "and"])
def test_single_bits(shape, operation):
    """Bits that differ, or that are both set, are counted."""
    matrices = draw(shape, "b1", "b1", "s32", seed=4)
    got, report = run(shape, "b1", "b1", "s32", "s32", matrices, tail=f".{operation}.popc")
    for x, a, b, c in zip(got, *matrices, strict=True):
        pairs = a[:, :, None] ^ b[None] if operation == "xor" else a[:, :, None] & b[None]
        assert np.array_equal(x, pairs.sum(axis=1) + c)
    assert report.counters.flops == 2 * np.prod(shape) * WARPS * BLOCKS


def place_quad(use, turned, lane, i, type):
    """(row, column) of element i of `lane` in its product of m8n8k4, by the formulas of 9.7.14.5.1."""
    upper = 0 if lane < 16 else 4
    if use == "c":
        if type == "f32":
            return (lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)
        return lane % 4 + upper, i
    if use == "a":
        return (i % 4 + upper, lane % 4) if turned else (lane % 4 + upper, i)
    return (lane % 4, i + upper) if turned else (i, lane % 4 + upper)


@pytest.mark.parametrize(("d", "c"), [("f16", "f16"), ("f32", "f32"), ("f32", "f16")])
@pytest.mark.parametrize("a_layout", ["row", "col"])
@pytest.mark.parametrize("b_layout", ["row", "col"])
def test_four_products_of_eight_lanes_each(a_layout, b_layout, c, d):
    rng = np.random.default_rng(5)
    matrices = [TYPES[t][1](rng, (4, *s)) for t, s in (("f16", (8, 4)), ("f16", (4, 8)), (c, (8, 8)))]
    ways = (("a", a_layout == "col", "f16", 4), ("b", b_layout == "row", "f16", 4), ("c", False, c, 8))
    lanes = [
        np.array([[x[(lane >> 2 & 3, *place_quad(use, turned, lane, i, type))] for i in range(count)] for lane in range(32)], x.dtype)
        for x, (use, turned, type, count) in zip(matrices, ways, strict=True)
    ]
    count = {"f16": 4, "f32": 8}
    held = {"f16": ("unsigned", "r"), "f32": ("float", "f")}
    lists = [", ".join(f"%{k}" for k in range(first, first + n)) for first, n in ((0, count[d]), (count[d], 2), (count[d] + 2, 2), (count[d] + 4, count[c]))]
    outs = ", ".join(f'"={held[d][1]}"(d[{j}])' for j in range(count[d]))
    ins = ", ".join(f'"{held[t][1]}"({x}[t * {n} + {j}])' for x, t, n in (("A", "f16", 2), ("B", "f16", 2), ("C", c, count[c])) for j in range(n))
    code = f"mma.sync.aligned.m8n8k4.{a_layout}.{b_layout}.{d}.f16.f16.{c} " + ", ".join(f"{{{x}}}" for x in lists)
    source = f"""extern "C" __global__ void k(const unsigned* A, const unsigned* B, const {held[c][0]}* C, {held[d][0]}* D) {{
  int t = threadIdx.x;
  {held[d][0]} d[{count[d]}];
  asm volatile("{code};" : {outs} : {ins});
  for (int j = 0; j < {count[d]}; ++j) D[t * {count[d]} + j] = d[j];
}}"""
    out = np.zeros(32 * count[d], u32 if d == "f16" else f32)
    report = simt.compile(source).kernel("k").launch(1, 32, [words(x, t) for x, t in zip(lanes, ("f16", "f16", c), strict=True)] + [out])
    assert report.ok and report.counters.flops == 2 * 4 * 8 * 8 * 4
    want = (matrices[0].astype(f64) @ matrices[1].astype(f64) + matrices[2].astype(f64)).astype(STORED[d])
    got = out.view(STORED[d]).reshape(32, 8)
    for lane in range(32):
        for i in range(8):
            assert got[lane, i] == want[(lane >> 2 & 3, *place_quad("c", False, lane, i, d))]


@pytest.mark.parametrize(
    "code",
    [
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %0, %0, %0}, {%1, %1}, {%1, %1}, {%0, %0, %0, %0}, %1, 4;",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%0, %0, %0, %0}, {%1, %1, %1, %1}, {%1, %1}, {%1, %1};",
        "mma.sync.aligned.m16n8k16.row.col.s32.s8.u4.s32 {%1, %1, %1, %1}, {%1, %1}, {%1}, {%1, %1, %1, %1};",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32 {%0, %0, %0, %0}, {%1, %1, %1, %1}, {%1, %1}, {%0, %0, %0, %0};",
    ],
    ids=["a selector beyond four lanes", "C of another type than D", "types that don't mix", "bf16 times f16"],
)
def test_products_of_another_kind_are_refused_by_name(code):
    source = f"""
extern "C" __global__ void k(float* y) {{
  float d = 0.0f;
  asm volatile("{code}" : "+f"(d) : "r"(1));
  y[threadIdx.x] = d;
}}"""
    with pytest.raises(simt.Unsupported, match=rf"the PTX instruction {code.split(' ')[0]} \(source line 4\)"):
        simt.compile(source).kernel("k").launch(1, 32, [np.zeros(32, f32)])


# ------------------------------------------------------------------------------------------------ ldmatrix, stmatrix, movmatrix


def matrix_kernel(body, setup="", element="unsigned short"):
    return f"""
extern "C" __global__ void k(const {element}* x, unsigned* y) {{
  __shared__ __align__(16) unsigned short s[1024];
  int t = threadIdx.x, lane = t & 31;
  for (int i = t; i < 1024; i += blockDim.x) s[i] = x[i];
  __syncthreads();
  {setup}
  {body}
}}"""


def address(text):
    return f"unsigned at = (unsigned)__cvta_generic_to_shared({text});"


LOAD4 = (
    'unsigned r[4]; asm volatile("ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{%0, %1, %2, %3}}, [%4];"'
    ' : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");'
)
LOAD1 = 'unsigned r; asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(at) : "memory");'
X = np.random.default_rng(4).integers(0, 65536, 1024).astype(u16)


def launch(source, arguments, block=32, grid=1, **options):
    return simt.compile(source).kernel("k").launch(grid, block, arguments, **options)


@pytest.mark.parametrize(("pitch", "wavefronts"), [(8, 4), (64, 32), (72, 4), (24, 4), (16, 8), (32, 16)])
def test_ldmatrix_wavefronts(pitch, wavefronts):
    """Eight rows of 16 bytes are one pass where they fall into different banks; conflicting rows follow one another. Nsight Compute counts no request."""
    y = np.zeros(128, u32)
    rows = f"s + (lane & 7) * {pitch} + (lane >> 3) * 8"
    report = launch(matrix_kernel(LOAD4.format("") + " for (int j = 0; j < 4; ++j) y[4 * lane + j] = r[j];", address(rows)), [X, y])
    assert report.ok
    loads = report.counters
    assert (loads.shared_load_requests, loads.shared_load_wavefronts) == (0, wavefronts)
    got = np.ascontiguousarray(y.reshape(32, 4).T).view(u16).reshape(4, 8, 8)
    want = np.array([[X[r * pitch + 8 * j :][:8] for r in range(8)] for j in range(4)])
    assert np.array_equal(got, want)


def test_addresses_of_other_lanes_are_ignored():
    y = np.zeros(32, u32)
    report = launch(matrix_kernel(LOAD1 + " y[lane] = r;", address("s + (lane < 8 ? 8 * lane : 1000003 * lane + 1)")), [X, y])
    assert report.ok, str(report)
    assert np.array_equal(y.view(u16), X[:64])
    assert report.counters.shared_load_wavefronts == 1


@pytest.mark.parametrize("schedule", [0, 3])
def test_matrices_of_some_warps_of_some_blocks(schedule):
    """Lanes of different blocks and warps, in one group and in several."""
    body = LOAD4.format(".trans") + " for (int j = 0; j < 4; ++j) y[(blockIdx.x * 96 + t) * 4 + j] = r[j];"
    source = matrix_kernel(f"if ((t / 32 + blockIdx.x) % 3) {{ {body} }}", address("s + ((lane + blockIdx.x * 8) & 31) * 8"))
    y = np.zeros(5 * 96 * 4, u32)
    assert launch(source, [X, y], block=96, grid=5, schedule=schedule).ok
    got = y.reshape(5, 3, 32, 4)
    for b in range(5):
        for w in range(3):
            lanes = np.ascontiguousarray(got[b, w].T).view(u16).reshape(4, 8, 8)
            want = np.roll(X[:256].reshape(4, 8, 8), -b, axis=0).transpose(0, 2, 1) if (w + b) % 3 else np.zeros((4, 8, 8), u16)
            assert np.array_equal(lanes, want)


def test_stmatrix_then_movmatrix_turn_a_matrix_over_twice():
    source = """
extern "C" __global__ void k(const unsigned* x, unsigned* y) {
  __shared__ __align__(16) unsigned short s[64];
  int t = threadIdx.x;
  unsigned r = x[t], m;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m) : "r"(r));
  unsigned at = (unsigned)__cvta_generic_to_shared(s + 8 * (t & 7));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" :: "r"(at), "r"(m) : "memory");
  __syncwarp();
  y[t] = ((unsigned*)s)[t];
  y[32 + t] = m;
}"""
    x = X[:64].copy().view(u32)
    y = np.zeros(64, u32)
    report = launch(source, [x, y])
    assert report.ok, str(report)
    assert np.array_equal(y[:32], x)
    assert np.array_equal(y[32:].view(u16).reshape(8, 8), X[:64].reshape(8, 8).T)
    assert (report.counters.shared_store_requests, report.counters.shared_store_wavefronts) == (0, 1)


def kinds(report):
    return [(f.kind, f.array, f.index, f.line, f.thread) for f in report.findings if f.severity == "error"]


def test_a_row_that_is_not_aligned():
    report = launch(matrix_kernel(LOAD1 + " y[lane] = r;", address("s + 8 * lane + (lane == 5)")), [X, np.zeros(32, u32)])
    assert kinds(report) == [("misaligned", "s", 41, 8, (5, 0, 0))]
    assert "16" in report.findings[0].message


def test_a_row_beyond_the_array():
    report = launch(matrix_kernel(LOAD1 + " y[lane] = r;", address("s + 8 * lane + (lane == 7 ? 968 : 0)")), [X, np.zeros(32, u32)])
    assert kinds(report) == [("out-of-bounds", "s", 1024, 8, (7, 0, 0))]


def test_a_row_nobody_set():
    source = matrix_kernel(LOAD1 + " y[lane] = r;", address("s + 8 * lane")).replace("i < 1024", "i < 48")
    report = launch(source, [X, np.zeros(32, u32)])
    assert kinds(report) == [("uninitialised-read", "s", 48, 8, (6, 0, 0))]


def test_a_row_belongs_to_the_lane_that_names_it():
    """Without the barrier lane r reads what another warp's lane wrote; the row of its own is no race."""
    source = matrix_kernel(LOAD1 + " y[t] = r;", address("s + 8 * lane")).replace("  __syncthreads();\n", "")
    report = launch(source, [X, np.zeros(64, u32)], block=64)
    assert [f.kind for f in report.findings if f.severity == "error"] == ["race"]
    race = report.findings[0]
    assert race.array == "s" and race.thread[0] % 32 < 8
    own = matrix_kernel(LOAD1 + " y[t] = r;", address("s + 8 * lane"))
    filled = "for (int i = t; i < 1024; i += blockDim.x) s[i] = x[i];\n  __syncthreads();"
    assert filled in own
    assert launch(own.replace(filled, "for (int i = 0; i < 8; ++i) s[8 * t + i] = x[i];"), [X, np.zeros(32, u32)]).ok


def test_conflicting_rows_are_worth_a_remark():
    rows = "s + (lane & 7) * 64 + (lane >> 3) * 8"
    report = launch(matrix_kernel(LOAD4.format("") + " y[lane] = r[0] + r[1] + r[2] + r[3];", address(rows)), [X, np.zeros(32, u32)])
    assert report.ok
    assert [(f.kind, f.line) for f in report.findings if f.severity != "error" and "bank" in f.kind] == [("bank-conflict", 8)]


# ------------------------------------------------------------------------------------------------ wmma.h

CPP = {"f16": "half", "bf16": "__nv_bfloat16", "tf32": "float", "s8": "signed char", "u8": "unsigned char", "f64": "double", "f32": "float", "s32": "int"}
FRAGMENT = {**CPP, "tf32": "wmma::precision::tf32"}
PAIRS = (("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("s8", "s32"), ("u8", "s32"))
WMMA = [
    *((shape, x, c) for shape in ((16, 16, 16), (32, 8, 16), (8, 32, 16)) for x, c in PAIRS),
    ((16, 16, 8), "tf32", "f32"),
    ((8, 8, 4), "f64", "f64"),
]


def wmma_source(shape, x, c, a_layout, b_layout, d_layout, pads, shared):
    m, n, k = shape
    lda, ldb, ldd = pads
    size_a, size_b = (m if a_layout == "row" else k) * lda, (k if b_layout == "row" else n) * ldb
    load = f"""
  __shared__ __align__(32) {CPP[x]} sa[{size_a}], sb[{size_b}];
  for (int i = threadIdx.x; i < {size_a}; i += 32) sa[i] = A[i];
  for (int i = threadIdx.x; i < {size_b}; i += 32) sb[i] = B[i];
  __syncthreads();
  wmma::load_matrix_sync(a, sa, {lda}); wmma::load_matrix_sync(b, sb, {ldb});"""
    plain = f"  wmma::load_matrix_sync(a, A, {lda}); wmma::load_matrix_sync(b, B, {ldb});"
    return f"""
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;
extern "C" __global__ void k(const {CPP[x]}* A, const {CPP[x]}* B, const {CPP[c]}* C, {CPP[c]}* D) {{
  A += blockIdx.x * {size_a}; B += blockIdx.x * {size_b};
  wmma::fragment<wmma::matrix_a, {m}, {n}, {k}, {FRAGMENT[x]}, wmma::{a_layout}_major> a;
  wmma::fragment<wmma::matrix_b, {m}, {n}, {k}, {FRAGMENT[x]}, wmma::{b_layout}_major> b;
  wmma::fragment<wmma::accumulator, {m}, {n}, {k}, {CPP[c]}> acc;
  wmma::load_matrix_sync(acc, C, {ldd}, wmma::mem_{d_layout}_major);
{load if shared else plain}
  for (int i = 0; i < a.num_elements; ++i) a.x[i] = a.x[i] + a.x[i];
  wmma::mma_sync(acc, a, b, acc);
  wmma::store_matrix_sync(D + blockIdx.x * {(m if d_layout == "row" else n) * ldd}, acc, {ldd}, wmma::mem_{d_layout}_major);
}}"""


def stored(matrix, layout, pitch):
    """A matrix in memory, rows or columns `pitch` elements apart."""
    lines = matrix if layout == "row" else matrix.T
    out = np.zeros((len(lines), pitch), matrix.dtype)
    out[:, : lines.shape[1]] = lines
    return out


@pytest.mark.parametrize("layouts", ["row row row", "col col col", "row col row", "col row col"])
@pytest.mark.parametrize(("shape", "x", "c"), WMMA, ids=[f"m{s[0]}n{s[1]}k{s[2]}-{x}-{c}" for s, x, c in WMMA])
def test_wmma(shape, x, c, layouts):
    m, n, k = shape
    la, lb, ld = layouts.split()
    rng = np.random.default_rng(6)
    quiet = {"s8": lambda s: rng.integers(-60, 60, s).astype(np.int8), "u8": lambda s: rng.integers(0, 120, s).astype(np.uint8)}
    take = quiet.get(x, lambda s: TYPES[x][1](rng, s))
    pad = 16 if x in EIGHT else 8
    pads = [(k if la == "row" else m) + pad, (n if lb == "row" else k) + pad, (n if ld == "row" else m) + 8]
    a, b = [take((m, k)) for _ in range(3)], [take((k, n)) for _ in range(3)]
    start = TYPES[c][1](rng, (m, n))
    out = np.zeros((3, (m if ld == "row" else n), pads[2]), STORED[c])
    arguments = [np.stack([stored(p, la, pads[0]) for p in a]), np.stack([stored(p, lb, pads[1]) for p in b]), stored(start, ld, pads[2]), out]
    report = launch(wmma_source(shape, x, c, la, lb, ld, pads, shared=la == "row"), arguments, grid=3)
    assert report.ok, str(report)
    for block in range(3):
        twice = a[block] + a[block] if x in EIGHT else 2 * TYPES[x][2](a[block])
        want = (TYPES[x][2](twice) if x in EIGHT else twice) @ TYPES[x][2](b[block]) + TYPES[c][2](start)
        got = out[block][:, : (n if ld == "row" else m)]
        assert close(got if ld == "row" else got.T, want, c)
        assert not out[block][:, (n if ld == "row" else m) :].any()
    assert report.counters.flops >= 2 * m * n * k * 3


def test_wmma_beyond_the_matrix():
    source = wmma_source((16, 16, 16), "f16", "f32", "row", "row", "row", (16, 16, 16), False)
    x = np.ones((47, 16), f16)  # the third block's A lacks its last row
    out = np.zeros((48, 16), f32)
    report = launch(source, [x, np.ones((48, 16), f16), np.zeros((16, 16), f32), out], grid=3)
    assert {(f.kind, f.array, f.line, f.block) for f in report.findings if f.severity == "error"} == {("out-of-bounds", "A", 12, (2, 0, 0))}
    assert (out[:47] == 32).all()


@pytest.mark.parametrize("code", ["ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];", "stmatrix.sync.aligned.m8n8.x1.b16 [%1], {%0};"])
def test_a_shared_address_for_a_generic_one(code):
    """Without .shared the address is a generic one, and a number of 32 bits none of shared memory."""
    source = """
extern "C" __global__ void k(unsigned* y) {
  __shared__ __align__(16) unsigned s[256];
  for (int i = threadIdx.x; i < 256; i += 32) s[i] = i;
  __syncthreads();
  unsigned v = 0;
  ADDRESS
  y[threadIdx.x] = v;
}"""
    wrong = f'asm volatile("{code}" : "+r"(v) : "r"((unsigned)__cvta_generic_to_shared(s + threadIdx.x % 8 * 4)) : "memory");'
    right = wrong.replace('"r"((unsigned)__cvta_generic_to_shared(s + threadIdx.x % 8 * 4))', '"l"(s + threadIdx.x % 8 * 4)')
    assert simt.compile(source.replace("ADDRESS", right)).kernel("k").launch(1, 32, [np.zeros(32, u32)]).ok
    report = simt.compile(source.replace("ADDRESS", wrong)).kernel("k").launch(1, 32, [np.zeros(32, u32)])
    assert ["out-of-bounds"] == [f.kind for f in report.errors] and "That is no address of shared memory." in report.errors[0].message
