"""What tensor cores are asked for: one instruction of every type and shape by mma.sync, two by wgmma, from the families' own kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from families import tensor, wgmma
from families.case import Case, Tolerance

DOUBLE = """
extern "C" __global__ void mma_f64_k{k}(const double* A, const double* B, double* D) {{
    int lane = threadIdx.x, g = lane >> 2, t = lane & 3;
    double d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {{%0, %1, %2, %3}}, {{%4, %5}}, {{%6}}, {{%0, %1, %2, %3}};"
                 : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3) : "d"(A[g * 4 + t]), "d"(A[(g + 8) * 4 + t]), "d"(B[g * 4 + t]));
    D[g * 8 + 2 * t] = d0; D[g * 8 + 2 * t + 1] = d1;
    D[(g + 8) * 8 + 2 * t] = d2; D[(g + 8) * 8 + 2 * t + 1] = d3;
}}"""


def octets(type: str, k: int) -> Case:
    """An 8-bit float product of whole numbers, exact."""

    def bits(seed: int, *shape: int) -> np.ndarray:
        return wgmma.draw(np.random.default_rng(seed), type, shape, True)[0]

    def wide(array: np.ndarray) -> np.ndarray:
        return wgmma.e4m3_values()[array] if type == "e4m3" else (array.astype(np.uint16) << 8).view(np.float16).astype(np.float64)

    instruction = f"{tensor.MMA}.m16n8k{k}.row.col.f32.{type}.{type}.f32"
    return tensor.mma(f"mma_{type}_k{k}", k, "unsigned char", "float", instruction, type, True, bits, wide, Tolerance(), 4)


def double(k: int = 4) -> Case:
    return Case(
        name="tensor.mma_f64_wide", source=DOUBLE.format(k=k), entry=f"mma_f64_k{k}",
        args=lambda: [tensor.small(1, 16, 4).astype(np.float64), tensor.small(2, 8, 4).astype(np.float64), np.zeros((16, 8))], outputs=(2,),
        expect=lambda a, b, d: [a @ b.T], block=32,
    )  # fmt: skip


WGMMA = (
    "wgmma_f16_n8_s0", "wgmma_f16_mn_n64_s128", "wgmma_f16_b_mn_n64_s128", "wgmma_bf16_mn_n64_s64", "wgmma_bf16_n24_s0", "wgmma_f16_half_result",
    "wgmma_f16_two_groups", "wgmma_f16_mn_n256", "wgmma_tf32_n64_s64", "wgmma_tf32_registers", "wgmma_e4m3_n24_s128", "wgmma_e4m3_e5m2",
    "wgmma_e5m2_e4m3_half", "wgmma_s8_n64_s64", "wgmma_u8_s8", "wgmma_b1_n24_s128",
)  # fmt: skip
_CASES = {case.entry: case for case in (*tensor.CASES, *wgmma.CASES)}
_CHOSEN = [case for case in tensor.CASES if case.entry.startswith(("mma_", "wmma_"))]
_CHOSEN += [octets("e4m3", 32), octets("e5m2", 32), octets("e4m3", 16), double()]
_CHOSEN += [_CASES[entry] for entry in WGMMA]
CASES: list[Case] = [replace(case, name=f"products.{case.entry}") for case in _CHOSEN]
