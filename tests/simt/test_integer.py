"""Integer instructions that no function of the tables in families/ is made into."""

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
