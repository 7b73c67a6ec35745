"""TMA: tensor maps and what they refuse, copies that come or go too early, rings, counters. Values of every rank and swizzle: families/tma.py."""

from __future__ import annotations

import time

import numpy as np
import pytest

from lanewise import simt

pytestmark = pytest.mark.slow

f16, f32, i32, u8 = np.float16, np.float32, np.int32, np.uint8
HEAD = """#include <ptx_hopper.cuh>
#define AT(x) ptx::shared_address(&x)
#define WAIT(bar, parity) ptx::mbarrier_wait_parity(AT(bar), parity)
"""
DOUBLE = (
    HEAD
    + """
extern "C" __global__ void k(const __grid_constant__ ptx::TensorMap map, const __grid_constant__ ptx::TensorMap out) {
  __shared__ __align__(1024) float tile[32][32];
  __shared__ unsigned long long bar;
  int t = threadIdx.x;
  if (t == 0) { ptx::mbarrier_init(AT(bar), 1); ptx::fence_mbarrier_init(); }
  __syncthreads();
  if (t == 0) {
    ptx::mbarrier_arrive_expect_tx(AT(bar), 4096);
    ptx::tma_load_2d(AT(tile), &map, AT(bar), 32 * blockIdx.x - 4, 32 * blockIdx.y - 1);
  }
  WAIT(bar, 0);
  for (int r = t / 32; r < 32; r += 4) tile[r][t % 32] *= 2;
  ptx::fence_proxy_async();
  __syncthreads();
  if (t == 0) {
    ptx::tma_store_2d(&out, AT(tile), 32 * blockIdx.x, 32 * blockIdx.y);
    ptx::bulk_commit();
    ptx::bulk_wait_read<0>();
  }
}"""
)
RING = (
    HEAD
    + """
extern "C" __global__ void k(const __grid_constant__ ptx::TensorMap map, float* y, int n) {
  __shared__ __align__(1024) short tile[2][128][64];
  __shared__ unsigned long long full[2], empty[2];
  int t = threadIdx.x;
  if (t == 0) {
    for (int i = 0; i < 2; ++i) { ptx::mbarrier_init(AT(full[i]), 1); ptx::mbarrier_init(AT(empty[i]), 128); }
    ptx::fence_mbarrier_init();
  }
  __syncthreads();
  if (t == 128) {
    for (int i = 0; i < n; ++i) {
      int st = i & 1;
      WAIT(empty[st], i / 2 & 1 ^ 1);
      ptx::mbarrier_arrive_expect_tx(AT(full[st]), 16384);
      ptx::tma_load_2d(AT(tile[st]), &map, AT(full[st]), 0, 128 * i);
    }
  } else if (t < 128) {
    float sum = 0;
    for (int i = 0; i < n; ++i) {
      int st = i & 1;
      WAIT(full[st], i / 2 & 1);
      for (int c = 0; c < 64; c += 8) {
        int4 v = *(int4*)&tile[st][t][c ^ t % 8 * 8];
        short* p = (short*)&v;
        for (int j = 0; j < 8; ++j) sum += p[j] * (c + j);
      }
      ptx::mbarrier_arrive(AT(empty[st]));
    }
    y[t] = sum;
  }
}"""
)
X = np.random.default_rng(0).integers(0, 99, (70, 72)).astype(f32)


def line_of(source, text):
    return 1 + next(number for number, line in enumerate(source.splitlines()) if text in line)


def changed(source, *pairs):
    for find, replace in pairs:
        assert source.count(find) == 1, find
        source = source.replace(find, replace)
    return source


def double(source=DOUBLE, box=(32, 32), swizzle="none", **options):
    y = np.zeros((96, 96), f32)
    maps = [simt.tensor_map(X.copy(), box, swizzle), simt.tensor_map(simt.Output(y), (32, 32), swizzle)]
    report = simt.compile(source).kernel("k").launch((3, 3), 128, maps, **options)
    want = np.zeros((96, 96), f32)
    want[1:71, 4:76] = 2 * X
    return report, np.array_equal(y, want)


def ring(*pairs, **options):
    rng = np.random.default_rng(0)
    x, y = rng.integers(-9, 9, (1024, 64)).astype(np.int16), np.zeros(128, f32)
    report = simt.compile(changed(RING, *pairs)).kernel("k").launch(1, 160, [simt.tensor_map(x, (128, 64), "128B"), y, i32(8)], **options)
    return report, np.array_equal(y, (x.astype(np.int64) * np.arange(64)).sum(axis=1).reshape(8, 128).sum(axis=0))


def first(report, kind):
    assert report.errors and report.errors[0].kind == kind, str(report)
    return report.errors[0]


# ------------------------------------------------------------------------------------------------ right kernels


@pytest.mark.parametrize("schedule", range(4))
def test_a_box_there_and_back(schedule):
    """Blocks at the edges: what lies outside arrives as zeros and is not written."""
    report, right = double(schedule=schedule)
    assert report.ok and right, str(report)


@pytest.mark.parametrize("swizzle", ["128B"])
def test_a_swizzle_there_and_back(swizzle):
    report, right = double(swizzle=swizzle)
    assert report.ok and right, str(report)


@pytest.mark.parametrize("schedule", range(4))
def test_a_ring_is_quiet_in_every_schedule(schedule):
    report, right = ring(schedule=schedule)
    assert report.ok and right, str(report)


def test_a_ring_costs_milliseconds():
    ring()
    started = time.process_time()
    assert ring()[1]
    assert time.process_time() - started < 0.5


def test_counters():
    """Bytes inside of the array, the copies issued, sectors among the requested bytes; no counter of plain loads and stores."""
    c = double()[0].counters
    assert (c.tma_load_bytes, c.tma_store_bytes, c.tma_requests) == (X.nbytes, 96 * 96 * 4, 18)
    assert c.global_load_requests == c.global_store_requests == 0
    assert c.dram_read_bytes == X.nbytes and c.dram_write_bytes == 96 * 96 * 4
    assert c.global_bytes >= c.tma_load_bytes + c.tma_store_bytes  # boxes that begin 3 elements early share sectors
    assert c.as_dict()["tma_requests"] == 18


def test_maps_in_global_memory():
    """Two maps as bytes in an array; their arrays are no arguments of the launch."""
    source = changed(DOUBLE, ("const __grid_constant__ ptx::TensorMap map, const __grid_constant__ ptx::TensorMap out", "const ptx::TensorMap* maps"),
                     ("&map,", "maps,"), ("&out,", "maps + 1,"))  # fmt: skip
    y = np.zeros((96, 96), f32)
    maps = [simt.tensor_map(X, (32, 32)), simt.tensor_map(y, (32, 32))]
    report = simt.compile(source).kernel("k").launch((3, 3), 128, [np.frombuffer(b"".join(map(bytes, maps)), u8)])
    assert report.ok, str(report)
    assert np.array_equal(y[1:71, 4:76], 2 * X)


def test_a_view_and_the_array_it_belongs_to():
    """The map of some columns of a larger array."""
    whole = np.arange(64 * 64, dtype=f32).reshape(64, 64)
    y = np.zeros((32, 32), f32)
    maps = [simt.tensor_map(whole[8:40, 16:48], (32, 32)), simt.tensor_map(y, (32, 32))]
    report = simt.compile(DOUBLE.replace("- 4", "").replace("- 1)", ")")).kernel("k").launch(1, 128, maps)
    assert report.ok and np.array_equal(y, 2 * whole[8:40, 16:48]), str(report)


def test_a_map_of_another_array():
    made = simt.tensor_map(X, (32, 32), "128B", fill="nan")
    other = made.of(np.zeros((8, 64), f32))
    assert (other.box, other.swizzle, other.fill, other.passed.shape) == ((32, 32), 128, "nan", (8, 64)) and bytes(other) != bytes(made)
    with pytest.raises(ValueError, match="multiples of 16"):
        made.of(np.zeros((8, 5), f32))


# ------------------------------------------------------------------------------------------------ too early, too late


def test_read_before_the_phase():
    source = changed(DOUBLE, ("  WAIT(bar, 0);\n", ""))
    found = first(double(source)[0], "async-copy")
    assert (found.array, found.line) == ("tile", line_of(source, "*= 2"))
    line = line_of(source, "tma_load")
    assert f"the copy on line {line} into it complete: that is phase 0 of the mbarrier bar, and this thread has seen none" in found.message


def test_one_thread_waits_for_all():
    """Enough with a barrier behind it; too little without."""
    report, right = double(changed(DOUBLE, ("  WAIT(bar, 0);\n", "  if (t == 0) WAIT(bar, 0);\n  __syncthreads();\n")))
    assert report.ok and right, str(report)
    report, _ = double(changed(DOUBLE, ("  WAIT(bar, 0);\n", "  if (t == 0) WAIT(bar, 0);\n")))
    found = first(report, "async-copy")
    assert found.count >= 127 and "Let every thread that reads wait for bar, parity 0, or meet one that did" in found.message


def test_the_wrong_parity():
    """Before the phase is over it lets threads pass, behind it nobody: found both ways."""
    wrong = ("WAIT(bar, 0)", "WAIT(bar, 1)")
    found = first(double(changed(DOUBLE, wrong))[0], "deadlock")
    assert "for phase 1 of the mbarrier bar, " in found.message and "Phase 0 is complete, and these threads have not waited for it" in found.message
    issue = "  __syncthreads();\n  if (t == 0) {\n    ptx::mbarrier_arrive"
    early = changed(DOUBLE, ("  WAIT(bar, 0);\n", ""), (issue, issue.replace("  if", "  WAIT(bar, 1);\n  if")))
    assert "this thread has seen none of its phases" in first(double(early)[0], "async-copy").message


@pytest.mark.parametrize("schedule", range(4))
@pytest.mark.parametrize(
    "find, replace, kind, says",
    [
        ("      WAIT(full[st], i / 2 & 1);\n", "", "async-copy", "before it has seen the copy"),
        ("      WAIT(empty[st], i / 2 & 1 ^ 1);\n", "", "async-copy", "Wait for the stage to be empty first"),
        ("WAIT(full[st], i / 2 & 1);\n", "WAIT(full[st], i / 2 & 1); ptx::mbarrier_arrive(AT(empty[st]));\n", "race", "an mbarrier afterwards"),
    ],
)  # fmt: skip
def test_a_broken_ring_is_found_in_every_schedule(find, replace, kind, says, schedule):
    pairs = [(find, replace)]
    if kind == "race":
        pairs.append(("      }\n      ptx::mbarrier_arrive(AT(empty[st]));\n", "      }\n"))
    report, _ = ring(*pairs, schedule=schedule)
    found = [f for f in report.errors if f.kind == kind and f.array == "tile"]
    assert found and says in found[0].message, str(report)


@pytest.mark.parametrize(
    "bytes_, says", [(8192, "announced 8192 bytes, but 16384 arrived"), (32768, "announced 32768 bytes, 16384 arrived. Announce exactly the bytes")]
)
def test_bytes_that_do_not_fit(bytes_, says):
    report, _ = ring(("16384", str(bytes_)))
    found = first(report, "deadlock")
    assert says in found.message and "the mbarrier full[0]" in found.message and found.array == "full"


def test_the_copy_nobody_waits_for():
    """One tile too many: the block ends while it is under way."""
    loop = "for (int i = 0; i < n; ++i) {\n      int st = i & 1;\n      WAIT(empty"
    report, _ = ring((loop, loop.replace("i < n", "i < n + 1")))
    assert "nobody waits for phase 4 of the mbarrier full[0]" in first(report, "async-copy").message


def test_a_barrier_that_copies_cannot_see():
    found = first(double(changed(DOUBLE, (" ptx::fence_mbarrier_init();", "")))[0], "mbarrier")
    assert "no fence stands between its mbarrier.init" in found.message and found.array == "bar"


# ------------------------------------------------------------------------------------------------ places


@pytest.mark.parametrize(
    "pairs, kind, says",
    [
        ([("float tile[32][32]", "float tile[31][32]")], "out-of-bounds", "The copy moves 4096 bytes from there: make tile as large as that"),
        ([("AT(tile), &map", "AT(tile) + 64, &map")], "misaligned", "and a tensor copy needs a multiple of 128"),
        ([("const __grid_constant__ ptx::TensorMap map", "ptx::TensorMap map")], "tensor-map", "declare the parameter const __grid_constant__"),
        ([("&map, ", "(ptx::TensorMap*)tile, ")], "tensor-map", "where no array and no parameter lies"),
        ([("tma_load_2d", "tma_load_3d"), ("32 * blockIdx.y - 1)", "0, 0)")], "tensor-map", "copies with 3 coordinates on line 13, but the map's array has 2"),
    ],
)  # fmt: skip
def test_places_that_are_wrong(pairs, kind, says):
    report, _ = double(changed(DOUBLE, *pairs))
    assert says in first(report, kind).message, str(report)


def test_a_swizzle_that_begins_amid_its_pattern():
    """Right, but its places depend on where the array lies."""
    source = changed(DOUBLE, ("float tile[32][32]", "float tiles[36][32]")).replace("AT(tile)", "AT(tiles[4])").replace("tile[r]", "tiles[4 + r]")
    report, right = double(source, swizzle="128B")
    found = next(f for f in report.remarks if f.kind == "swizzle-alignment")
    assert right and "repeats every 1024 bytes of the shared address, and the box begins 512 bytes behind such a multiple" in found.message


def test_columns_of_a_tile_want_a_swizzle():
    """The remark on bank conflicts doesn't advise to pad what a copy fills."""
    source = changed(DOUBLE, ("tile[r][t % 32] *= 2", "tile[t % 32][r] *= 2"))
    report, right = double(source)
    found = next(f for f in report.remarks if f.kind == "bank-conflict")
    assert right and "A tensor copy can't pad rows: give its map a swizzle" in found.message


def test_a_map_chosen_among_parameters():
    """Right, on an H200 too."""
    source = changed(DOUBLE, ("ptx::TensorMap out)", "ptx::TensorMap out, const __grid_constant__ ptx::TensorMap last)"))
    source = changed(source, ("    ptx::tma_load_2d(AT(tile), &map,", "    ptx::tma_load_2d(AT(tile), blockIdx.x == 2 ? &last : &map,"))
    y = np.zeros((96, 96), f32)
    maps = [simt.tensor_map(X.copy(), (32, 32)), simt.tensor_map(y, (32, 32)), simt.tensor_map(10 * X, (32, 32))]
    report = simt.compile(source).kernel("k").launch((3, 3), 128, maps)
    assert report.ok and np.array_equal(y[1:71, 4:64], 2 * X[:, :60]) and np.array_equal(y[1:71, 64:76], 20 * X[:, 60:]), str(report)


@pytest.mark.parametrize(
    "pairs, kind, says",
    [
        ([("blockIdx.x - 4", "blockIdx.x - 3")], "misaligned",
         "the tensor copy of thread (0,0,0) of block (0,0,0) begins at coordinates {-3, -1} of map on line 13, and element -3 of a row lies 4 bytes behind a "
         "multiple of 16: a GPU stops with an illegal instruction. Let the first coordinate be a multiple of 4 (4 elements of 4 bytes)."),
        ([("AT(tile), 32 * blockIdx.x,", "AT(tile), 32 * blockIdx.x + 2 * blockIdx.y,")], "misaligned",
         "block (0,1,0) begins at coordinates {2, 32} of out on line 20, and element 2 of a row lies 8 bytes behind a multiple of 16"),
        ([("AT(tile), 32 * blockIdx.x,", "AT(tile), 32 * blockIdx.x - 8,")], "out-of-bounds",
         "the tensor store of thread (0,0,0) of block (0,0,0) begins at coordinates {-8, 0} of out on line 20, before the array: a GPU stops"),
        ([("32 * blockIdx.x, 32 * blockIdx.y);", "32 * blockIdx.x, 32 * blockIdx.y - 1);")], "out-of-bounds",
         "begins at coordinates {0, -1} of out on line 20, before the array"),
    ],
)  # fmt: skip
def test_coordinates_that_a_gpu_refuses(pairs, kind, says):
    """Each of them stops an H200 with an illegal instruction."""
    report, _ = double(changed(DOUBLE, *pairs))
    assert says in first(report, kind).message, str(report)
    assert {finding.kind for finding in report.errors} <= {kind, "unwritten-output"}, str(report)  # no waiting for bytes that never come


def test_what_is_no_map():
    y = np.zeros((96, 96), f32)
    report = simt.compile(DOUBLE).kernel("k").launch((3, 3), 128, [np.zeros((), "V128")[()], simt.tensor_map(y, (32, 32))])
    assert "these 128 bytes are no tensor map: pass tensor_map(array, box) for map" in first(report, "tensor-map").message


@pytest.mark.parametrize(
    "parameter, says",
    [
        ("const float* map", "passed by value: declare the parameter const __grid_constant__"),
        ("const __grid_constant__ Loose map", "the parameter is aligned to 1 bytes"),
        ("int map", "passed by value: declare the parameter"),
    ],
)
def test_a_map_for_another_parameter(parameter, says):
    source = f'struct Loose {{ char bytes[128]; }};\nextern "C" __global__ void k({parameter}) {{ }}'
    found = first(simt.compile(source).kernel("k").launch(1, 1, [simt.tensor_map(X, (32, 32))]), "argument-mismatch")
    assert found.array == "map" and says in found.message


# ------------------------------------------------------------------------------------------------ what a map refuses


@pytest.mark.parametrize(
    "array, box, options, says",
    [
        (X, (32,), {}, "one entry for each of the array's 2 axes"),
        (X, (32, 257), {}, r"box\[1\] is 257: a box has 1 to 256 elements"),
        (X, (0, 32), {}, r"box\[0\] is 0"),
        (X, (32, 3), {}, "a row of the box has 3 elements, 12 bytes: it must be a multiple of 16 bytes"),
        (X, (32, 64), {"swizzle": "128B"}, "has 256 bytes, and the swizzle 128B allows 128: take at most 32 elements"),
        (X, (32, 32), {"swizzle": "256B"}, "take one of none, 32B, 64B, 128B"),
        (X[:, :70], (32, 32), {}, None),
        (np.zeros((8, 70), f32), (8, 32), {}, "a stride of 280 bytes, and a tensor map needs multiples of 16: pad the last axis to a multiple of 4"),
        (X.T, (32, 32), {}, "the last axis of the array isn't contiguous"),
        (X, (32, 32), {"element_strides": (1, 2)}, "element_strides of the last axis must be 1"),
        (X, (32, 32), {"element_strides": (9, 1)}, "steps are 1 to 8"),
        (X.astype(i32), (32, 32), {"fill": "nan"}, "fill='nan' is for floating-point elements"),
        (X, (32, 32), {"fill": "ones"}, "take 'zero' or 'nan'"),
        (X, (32, 32), {"interleave": "16B"}, "only 'none' is supported"),
        (X, (32, 32), {"l2": "512B"}, "take 'none', '64B', '128B' or '256B'"),
        (X, (32, 32), {"dtype": "bfloat16"}, "only 'bfloat16' can be said, for elements of 2 bytes"),
        (X.astype(np.complex64), (32, 32), {}, "not complex64"),
        (np.zeros((0, 8), f32), (1, 8), {}, "has no elements"),
        (np.zeros((1,) * 6, f32), (1,) * 6, {}, "6 axes: a tensor map takes 1 to 5"),
        (3, (1,), {}, "made of an array, not of int"),
    ],
)  # fmt: skip
def test_what_the_driver_would_refuse(array, box, options, says):
    if says is None:
        simt.tensor_map(array, box, **options)  # a slice of columns is fine
        return
    with pytest.raises(ValueError, match=says):
        simt.tensor_map(array, box, **options)


def test_other_modes_are_refused():
    body = 'asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2}], [%3], {%4};"'
    body += '::"r"(0), "l"(&map), "r"(0), "r"(0), "h"((short)0) : "memory");'
    source = f'{HEAD}\nextern "C" __global__ void k(const __grid_constant__ ptx::TensorMap map) {{ {body} }}'
    with pytest.raises(simt.Unsupported, match="tensor copies in tile mode only"):
        simt.compile(source).kernel("k")


# ------------------------------------------------------------------------------------------------ nothing a kernel does is an exception

ODD = """
extern "C" __global__ void k(const __grid_constant__ ptx::TensorMap map, float* x) {
  __shared__ __align__(1024) float s[256];
  __shared__ unsigned long long bar;
  int t = threadIdx.x;
  if (t == 0) { ptx::mbarrier_init(AT(bar), 1); ptx::fence_mbarrier_init(); }
  __syncthreads();
  BODY
}"""


@pytest.mark.parametrize("options", [{}, {"check": False}, {"schedule": 2}], ids=["checked", "unchecked", "schedule 2"])
@pytest.mark.parametrize(
    "body",
    [
        "if (t == 0) ptx::bulk_load(AT(s), x, 0xfffffff0u, AT(bar));",
        "if (t < 5) ptx::bulk_load(t * 16 + AT(s), x, 16 * t, AT(bar));",
        "if (t == 0) { ptx::bulk_store((float*)s, (9u << 24) + 16, 16 * blockIdx.x); ptx::bulk_commit(); }",
        "if (t < 5) { ptx::bulk_store(x, AT(s), 16 * t); ptx::bulk_commit(); }",
        "if (t == 0) ptx::mbarrier_arrive_cluster(0xfffffff0u);",
        "if (ptx::mbarrier_try_wait_parity(0x7fffffffu, 7)) s[0] = 1;",
        'asm volatile("mbarrier.arrive.b64 _, [%0];" :: "l"((void*)0) : "memory");',
        'asm volatile("mbarrier.inval.shared::cta.b64 [%0];" :: "r"(AT(s) + 4096) : "memory");',
        "if (t == 0) ptx::tma_load_2d(AT(s) - 2048, (ptx::TensorMap*)0xfffffffffffff000ull, AT(bar), -(1 << 31), 1 << 30);",
        "if (t == 0) ptx::tma_store_2d((ptx::TensorMap*)x, 0x7fffffffu, t, -5);",
        "if (t % 2 == blockIdx.x % 2) ptx::mbarrier_wait_parity(AT(bar), t); ptx::mbarrier_init(AT(bar), -1);",
    ],
)
def test_addresses_and_sizes_beyond_all_bounds(body, options):
    kernel = simt.compile(HEAD + ODD.replace("BODY", body)).kernel("k")
    report = kernel.launch(4, 32, [simt.tensor_map(np.zeros((32, 32), f32), (8, 32)), np.zeros(4096, f32)], **options)
    assert options.get("check") is False or not report.ok
    assert all("None" not in f.message for f in report.findings)


def test_an_array_for_a_map():
    report = simt.compile(DOUBLE).kernel("k").launch((3, 3), 128, [X, simt.tensor_map(np.zeros((96, 96), f32), (32, 32))])
    assert "an array came for a tensor map: pass tensor_map(array, box)" in first(report, "argument-mismatch").message


@pytest.mark.parametrize("schedule", range(4))
def test_a_reader_that_comes_before_the_copy_is_issued(schedule):
    """In an order where the copy's thread comes last nothing has been set: the words say to wait for the copy."""
    report, _ = ring(("      WAIT(full[st], i / 2 & 1);\n", ""), schedule=schedule)
    found = report.errors[0]
    assert found.kind in ("async-copy", "uninitialised-read") and found.array == "tile", str(report)
    assert found.kind == "async-copy" or "no copy into it has been issued. " in found.message and "If a copy brings tile, wait for" in found.message


def test_names_of_barriers_of_a_named_type():
    """The size of an element comes from the array's, where its type is the source's own."""
    source = changed(
        RING,
        ("  __shared__ unsigned long long full", "  __shared__ word full"),
        ("      ptx::mbarrier_arrive(AT(empty[st]));\n", "      if (st == 0) ptx::mbarrier_arrive(AT(empty[st]));\n"),
    )
    source = source.replace('extern "C"', 'typedef unsigned long long word;\nextern "C"')
    report = simt.compile(source).kernel("k").launch(1, 160, [simt.tensor_map(np.zeros((1024, 64), np.int16), (128, 64), "128B"), np.zeros(128, f32), i32(8)])
    assert "of the mbarrier empty[1], " in first(report, "deadlock").message
