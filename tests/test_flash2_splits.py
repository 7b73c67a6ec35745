"""The two splits of flash2's warps: every barrier of their headers is needed, whatever ideas are on, and each idea alone, none and all are right."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lanewise import simt
from lanewise.exercise import load
from lanewise.grading.check import check
from lanewise.grading.source import without_comments
from lanewise.names import find_course
from lanewise.simt.finding import ERRORS

pytestmark = pytest.mark.slow

COURSE = find_course()
BARRIER = re.compile(r"__syncthreads\(\);")
MIXES = (0, 1, 2, 4, 8, 15)  # none, each alone, all


def texts(split: str) -> tuple[str, str]:
    """The header, and the worked kernel that includes it."""
    folder = COURSE.root / "kernels"
    return tuple((folder / name).read_text(encoding="utf-8") for name in (f"flash2_by_{split}.cuh", f"ch22_split_{split}.cu"))


MUTANTS = [
    pytest.param(split, match.start(), id=f"{split}-line-{texts(split)[0].count(chr(10), 0, match.start()) + 1}")
    for split in ("queries", "keys")
    for match in BARRIER.finditer(without_comments(texts(split)[0], literals=True))
]


@pytest.mark.parametrize(("split", "at"), MUTANTS)
def test_a_dropped_barrier_is_reported(split: str, at: int) -> None:
    header, kernel = texts(split)
    broken = header[:at] + BARRIER.sub(";", header[at:], count=1)
    text = kernel.replace(f"#include <flash2_by_{split}.cuh>", broken.replace("#pragma once", ""))
    verdict = check(load(COURSE.any_kernel(f"ch22_split_{split}"), COURSE), text, to_the_end=False)
    assert verdict.kind in ERRORS, f"verdict {verdict.kind}: {verdict.message}"


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("split", ["queries", "keys"])
def test_each_idea_is_right(split: str, causal: bool) -> None:
    rng, d, Br, Bc = np.random.default_rng(22), 64, 64, 64
    q, k, v = (rng.standard_normal((1, n, d)).astype(np.float16) for n in (130, 70, 70))
    s = q[0].astype(float) @ k[0].T.astype(float) * d**-0.5
    s = np.where(np.arange(70) <= np.arange(130)[:, None] - 60, s, -np.inf) if causal else s
    top = s.max(axis=1, keepdims=True)
    p = np.exp(s - np.where(np.isinf(top), 0, top))
    total = p.sum(axis=1, keepdims=True)
    right = p @ v[0] / np.where(total > 0, total, 1)
    shared = 2 * d * (Br + 2 * Bc) + (256 * (d + 8) + 36 * Br if split == "keys" else 0)
    names = tuple(f"by_{split}<{d}, {'true' if causal else 'false'}, {ideas}, {Br}, {Bc}>" for ideas in MIXES)
    module = simt.compile(f"#include <flash2_by_{split}.cuh>\n", names=names)
    for ideas, name in zip(MIXES, names, strict=True):
        kernel = module.kernel(name)
        kernel.max_dynamic_shared_size_bytes = shared
        o, lse = np.empty_like(q), np.empty((1, 130), np.float32)
        args = (q, k, v, simt.Output(o), simt.Output(lse), np.int32(130), np.int32(70), np.float32(d**-0.5))
        report = kernel.launch(3 if ideas & 4 else 1, 128, args, shared)
        assert report.ok, f"{name}: {report}"
        assert not np.linalg.norm(o[0] - right) > 1e-3 * np.linalg.norm(right), name
        assert (np.isneginf(lse[0]) == ~(total[:, 0] > 0)).all(), name
