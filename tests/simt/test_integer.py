"""Integer instructions and conversions that no function of the tables in families/ is made into."""

from __future__ import annotations

import numpy as np
import pytest

from lanewise import simt


@pytest.mark.parametrize("name, of", [("min", np.minimum), ("max", np.maximum)])
def test_relu_makes_a_negative_extreme_zero(name, of):
    source = f"""
extern "C" __global__ void k(const int* a, const int* b, int* y) {{
  int t = threadIdx.x, r, uniform;
  asm("{name}.relu.s32 %0, %1, %2;" : "=r"(r) : "r"(a[t]), "r"(b[t]));
  asm("{name}.relu.s32 %0, %1, %2;" : "=r"(uniform) : "r"(a[1]), "r"(b[1]));
  y[t] = r;
  y[t + blockDim.x] = uniform;
}}
"""
    a = np.array([5, -7, -(2**31), 0, -1, 2**31 - 1], np.int32)
    b = np.array([9, 3, 4, -2, -3, -5], np.int32)
    y = np.zeros(12, np.int32)
    simt.compile(source).kernel("k").launch(1, 6, [a, b, y]).raise_if_faulty()
    expected = np.maximum(of(a, b), 0)
    assert y.tolist() == expected.tolist() + [expected[1]] * 6


@pytest.mark.parametrize("part", ["lo", "hi"])
@pytest.mark.parametrize("kind", ["s32", "u32"])
def test_products_of_24_bits(part, kind):
    source = f"""
extern "C" __global__ void k(const int* a, const int* b, int* y) {{
  int t = threadIdx.x, r;
  asm("mul24.{part}.{kind} %0, %1, %2;" : "=r"(r) : "r"(a[t]), "r"(b[t]));
  y[t] = r;
  asm("mad24.{part}.{kind} %0, %1, %2, %3;" : "=r"(r) : "r"(a[t]), "r"(b[t]), "r"(7 * t));
  y[t + blockDim.x] = r;
  asm("mul24.{part}.{kind} %0, %1, %2;" : "=r"(r) : "r"(a[4]), "r"(b[5]));
  y[t + 2 * blockDim.x] = r;
}}
"""
    a = np.array([3, -5, 0x123456, 0x7FFFFF, -0x800000, 0x12345678, -1, 0xFFFFFF], np.int32)
    b = np.array([7, 9, 0x7654, 0x7FFFFF, -0x800000, 0x0FEDCBA9, 0x01000001, 0xFFFFFF], np.int32)
    y = np.zeros(24, np.int32)
    simt.compile(source).kernel("k").launch(1, 8, [a, b, y]).raise_if_faulty()
    low = [[int(v) & 0xFFFFFF for v in x] for x in (a, b)]
    if kind == "s32":
        low = [[v - (1 << 24) if v >> 23 else v for v in x] for x in low]
    product = [p * q >> (16 if part == "hi" else 0) for p, q in zip(*low, strict=True)]
    mixed = low[0][4] * low[1][5] >> (16 if part == "hi" else 0)
    expected = product + [p + 7 * t for t, p in enumerate(product)] + [mixed] * 8
    assert (y == np.array([v & 0xFFFFFFFF for v in expected], np.uint32).view(np.int32)).all()


def test_conversions_to_a_float_that_saturate():
    source = """
extern "C" __global__ void k(const int* a, const unsigned short* b, float* y) {
  int t = threadIdx.x;
  double d;
  asm("cvt.rn.sat.f32.s32 %0, %1;" : "=f"(y[t]) : "r"(a[t]));
  asm("cvt.rn.sat.f64.s32 %0, %1;" : "=d"(d) : "r"(a[t]));
  asm("cvt.sat.f32.bf16 %0, %1;" : "=f"(y[t + 8]) : "h"(b[t]));
  y[t + 4] = (float)d;
}
"""
    a = np.array([-3, 0, 1, 7], np.int32)
    b = (np.array([-0.5, 0.25, 2.5, np.nan], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    y = np.zeros(12, np.float32)
    simt.compile(source).kernel("k").launch(1, 4, [a, b, y]).raise_if_faulty()
    assert y.tolist() == [0, 0, 1, 1] * 2 + [0, 0.25, 1, 0]


def test_what_would_come_out_otherwise_is_refused():
    source = 'extern "C" __global__ void k(unsigned* y, float x) { asm("cvt.rn.relu.tf32.f32 %0, %1;" : "=r"(*y) : "f"(x)); }'
    with pytest.raises(simt.Unsupported, match="cvt.rn.relu.tf32.f32"):
        simt.compile(source).kernel("k")
