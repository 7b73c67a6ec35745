"""The bench of all rungs at few tokens, on the simulator: every rung is right, and a wrong one has no time. Its clock is another matter."""

import re

import numpy as np
import pytest

from lanewise import cp, simt
from lanewise.bench import every_rung as bench
from lanewise.bench import layer
from lanewise.listing import source
from lanewise.simt.resources import occupancy

FUSED = {step.name: step for step in bench.STEPS}


@pytest.mark.slow
@pytest.mark.parametrize("step", bench.STEPS, ids=lambda step: step.name)
def test_each_rung_is_right(step):
    bench.check(cp, step, ((1, 1), (65, 70)))


def test_a_table_goes_from_the_first_rung_up(monkeypatch):
    monkeypatch.setattr(layer, "TOKENS", 128)
    monkeypatch.setattr(layer, "WIDTH", 64)
    monkeypatch.setattr(bench, "TURN_MS", 0.0)
    steps = [FUSED["ch09, three kernels"], FUSED["ch22_split_queries"]]
    monkeypatch.setattr(bench, "check", lambda cp, step: None)
    first, second = bench.measure(cp, steps, n=64, rounds=1)
    assert (first["rung"], first["type"], second["type"], first["N"], first["heads"], first["times"]) == ("ch09, three kernels", "float32", "float16", 64, 2, 1)
    assert second["times"] == pytest.approx(first["ms"] / second["ms"])
    assert second["TFLOPs"] == pytest.approx(4 * 2 * 64 * 64 * 64 / second["ms"] / 1e9)


@pytest.mark.parametrize("wrong", ["zeros", "nothing written"])
def test_a_wrong_rung_has_no_time(wrong):
    def prepare(q, k, v, o, lse):
        return lambda: o.fill(0) if wrong == "zeros" else None

    with pytest.raises(AssertionError, match=r"^x is wrong for Nq = 3, Nk = 4: (1\.0|nan)$"):
        bench.check(cp, bench.Step("x", "", "float16", prepare), ((3, 4),))


def test_a_gpu_climbs_as_far_as_it_can():
    def names(capability):
        return [step.name for step in bench.STEPS if step.runs(capability)]

    assert names(75) == [step.name for step in bench.STEPS if step.dtype == "float32"]
    assert names(80) == names(120) and names(80)[-1] == "flash2"
    assert names(90) == list(FUSED) and len(names(90)) == 10


@pytest.mark.parametrize(("name", "threads", "blocks"), [("ch27_flash_equal", 256, 2), ("ch27_flash_specialised", 384, 1)])
def test_an_sm_holds_as_many_blocks_as_the_idea_says(name, threads, blocks):
    taken = simt.compile(source(name)).kernel(name.split("_", 1)[1]).resources("sm_90a")
    assert occupancy(taken.registers, 65536 + taken.static_shared, threads).blocks == blocks
    assert ("one block an SM", "two blocks an SM")[blocks - 1] in FUSED[name].idea


def test_shared_memory_is_what_the_heads_say():
    for key, stated in (("ch22_split_keys", "45,312"), ("ch22_split_queries", "24,576"), ("ch27_flash_equal", "65536"), ("ch27_flash_specialised", "65536")):
        assert re.search(rf"shared: dynamic, {stated} bytes", source(key))
        q = cp.zeros((1, 128, 64), dtype=np.float16)
        asked = []

        def launch(*_, shared_mem, into=asked):
            into.append(shared_mem)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bench, "kernel", lambda key, shared, launch=launch: launch)
            FUSED[key].prepare(q, q, q, q, q)()
        assert asked == [int(stated.replace(",", ""))]
