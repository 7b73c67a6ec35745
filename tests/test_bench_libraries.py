"""The libraries beside the ladder, and the benches that time kernels beside them, on stand-ins for PyTorch and CuPy: what is launched, told and refused."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import stand_in_torch

from lanewise.bench import attention_ladder, duel, flash2_switches, flash3_switches, fp32_ladder, layer, libraries
from lanewise.rungs import FLASH2, FLASH3, Rung

NAMES = ["PyTorch efficient", "FlexAttention", "PyTorch math"]


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    return stand_in_torch.install(monkeypatch)


def drawn(n: int, d: int = 64, heads: int = 2) -> tuple[Any, Any, Any]:
    q, k, v = (layer.random(np, (heads, n, d), n + i) for i in range(3))
    return q, k, v


def right(q: Any, k: Any, v: Any, causal: bool) -> Any:
    return layer.exact(np, q, k, v, causal)[0].astype(q.dtype)


def prepare(q: Any, k: Any, v: Any, o: Any, lse: Any, causal: bool, scale: float) -> Callable[[], None]:
    """A rung made of NumPy."""

    def launch() -> None:
        o[...], lse[...] = layer.exact(np, q, k, v, causal)

    return launch


def ladder() -> list[Rung]:
    return [Rung(rung.name, "", 80, True, ("float16",), (64, 128), prepare) for rung in (FLASH2, FLASH3)]


@pytest.mark.parametrize("causal", [False, True])
def test_each_library_computes_the_attention_it_is_asked_for(both: tuple[Any, Any], causal: bool) -> None:
    cp, pytorch = both
    q, k, v = drawn(9)
    launches = libraries.started(libraries.rivals(q, k, v, causal), "", set()) | {r.name: r.prepare(q, k, v, causal) for r in libraries.REFERENCES}
    assert list(launches) == ["FlashAttention-2", "cuDNN", *NAMES]
    for name, launch in launches.items():
        np.testing.assert_array_equal(libraries.first(cp, launch), right(q, k, v, causal), err_msg=name)
    asked = dict(pytorch.asked)
    assert list(asked) == ["flash", "cudnn", "efficient", "flex", "MATH"]  # flash-attn-4 isn't installed
    assert all(each["causal"] == causal and each.get("lse", True) and each.get("scale", 0.125) == 0.125 for each in asked.values())
    assert asked["flex"]["compiled"] == {"fullgraph": True, "dynamic": False} and pytorch.resets == 1  # compiled in whole, or not at all


def test_the_package_of_flashattention_4_has_heads_behind_rows(both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def flash_attn_func(q: Any, k: Any, v: Any, softmax_scale: float, causal: bool, return_lse: bool) -> Any:
        assert (softmax_scale, return_lse) == (0.125, True)
        o, lse = stand_in_torch.attention(*(x.transpose(1, 2) for x in (q, k, v)), causal)
        return o.transpose(1, 2), lse

    cute = ModuleType("flash_attn.cute")
    cute.flash_attn_func = flash_attn_func  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "flash_attn", ModuleType("flash_attn"))
    monkeypatch.setitem(sys.modules, "flash_attn.cute", cute)
    q, k, v = drawn(9)
    fourth = libraries.rivals(q, k, v, True)["FlashAttention-4"]
    np.testing.assert_array_equal(libraries.first(both[0], fourth), right(q, k, v, True))


def yielded(cp: Any, n: int, gone: set[str], causal: bool = True) -> list[str]:
    q, k, v = drawn(n)
    return [reference.name for reference, _ in libraries.running(cp, q, k, v, right(q, k, v, causal), causal, gone)]


def test_some_references_stand_at_some_lengths_only(both: tuple[Any, Any]) -> None:
    gone: set[str] = set()
    assert yielded(both[0], 8, gone) == ["PyTorch efficient", "PyTorch math"]
    assert {r.name: r.lengths for r in libraries.REFERENCES if r.lengths} == {"FlexAttention": (2048, 8192)} and not gone


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (RuntimeError("\n  no C compiler\nline 2"), "RuntimeError: no C compiler"),
        (ValueError(), "ValueError"),
        (math.nan, "ValueError: its output is nan away from the right one"),
        (0.0, "ValueError: its output is "),
    ],
)
def test_a_reference_that_fails_is_one_line_and_not_asked_again(
    failure: Exception | float, words: str, both: tuple[Any, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    cp, pytorch = both
    pytorch.failing["efficient"] = failure
    gone: set[str] = set()
    assert yielded(cp, 8, gone) == ["PyTorch math"] and gone == {"PyTorch efficient"}
    said = capsys.readouterr().out
    assert said.startswith(f"PyTorch efficient: not available for d = 64, N = 8, causal = True: {words}") and said.count("\n") == 1
    assert yielded(cp, 9, gone) == ["PyTorch math"] and capsys.readouterr().out == ""


def test_what_lacks_memory_is_asked_again_where_it_needs_less(both: tuple[Any, Any], capsys: pytest.CaptureFixture[str]) -> None:
    cp, pytorch = both
    pytorch.failing["MATH"] = stand_in_torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 64.00 GiB.")
    gone: set[str] = set()
    assert yielded(cp, 9, gone) == ["PyTorch efficient"] and not gone
    assert "PyTorch math: not available for d = 64, N = 9, causal = True: OutOfMemoryError: CUDA out of memory." in capsys.readouterr().out
    del pytorch.failing["MATH"]
    assert yielded(cp, 8, gone) == ["PyTorch efficient", "PyTorch math"] and pytorch.emptied == 4


def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few turns; nobody asks nvidia-smi."""
    monkeypatch.setattr(attention_ladder, "clocks", lambda: {"MHz": 1.0})
    duels = duel.duel
    for module in (attention_ladder, flash3_switches):
        monkeypatch.setattr(module, "duel", lambda cp, mine, other, *_, **__: duels(cp, mine, other, 2, 0.0, 0.0))


def test_a_row_of_the_ladder_has_every_rung_rival_and_reference(both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    short(monkeypatch)
    monkeypatch.setattr(libraries, "REFERENCES", tuple(libraries.Reference(r.name, r.prepare, r.pairs) for r in libraries.REFERENCES))
    row, others = attention_ladder.measure_point(both[0], ladder(), 64, 32, True, 0.0, set())
    shape = {"d": 64, "N": 32, "heads": 8, "causal": True}
    assert {key: row.pop(key) for key in shape} == shape and row.pop("MHz") == 1.0
    speed = pytest.approx(4 * 8 * (32 * 33 // 2) * 64 / 1e9)  # TFLOP/s of what takes a millisecond
    names = ["flash2", "flash3", "FlashAttention-2", "cuDNN"]
    assert {name: row.pop(name) for name in names} == dict.fromkeys(names, speed)
    pairs = [f"{rung} / {name}" for rung in ("flash2", "flash3") for name in ("FlashAttention-2", "cuDNN")]
    assert set(row) == {f"{pair}{end}" for pair in pairs for end in ("", " low", " high")} and set(row.values()) == {1.0}
    beside = {"ms": 1.0, "TFLOPs": speed, "rung": "flash3", "ratio": 1.0, "low": 1.0, "high": 1.0}
    assert others == [{"library": r.name, **shape, **beside, "pairs": r.pairs} for r in libraries.REFERENCES]


def test_a_rival_that_is_not_there_is_one_line(both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    short(monkeypatch)
    both[1].failing["cudnn"] = RuntimeError("no cuDNN\nin this PyTorch")
    gone: set[str] = set()
    rows = [attention_ladder.measure_point(both[0], ladder(), 64, n, False, 0.0, gone)[0] for n in (16, 32)]
    assert gone >= {"cuDNN", "FlashAttention-4"} and all("flash3 / FlashAttention-2" in row and "cuDNN" not in row for row in rows)
    said = capsys.readouterr().out
    assert said.count("cuDNN: not available for d = 64, N = 16, causal = False: RuntimeError: no cuDNN\n") == said.count("cuDNN:") == 1
    assert said.count("FlashAttention-4: not available for d = 64, N = 16, causal = False: ModuleNotFoundError: ") == said.count("FlashAttention-4:") == 1
    assert attention_ladder.summary(rows) == ["flash2 / PyTorch's FlashAttention-2: lowest 1.000, geometric mean 1.000 of 2 points"]
    both[1].failing.clear()
    rows.append(attention_ladder.measure_point(both[0], ladder(), 64, 32, False, 0.0, set())[0] | {"N": 2048})
    assert attention_ladder.summary(rows)[1:] == ["flash3 / the better of cuDNN, N >= 2048: lowest 1.000, geometric mean 1.000 of 1 points"]


def test_a_rung_that_differs_from_a_rival_stops_the_ladder(both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    short(monkeypatch)
    both[1].failing["cudnn"] = math.nan
    with pytest.raises(AssertionError, match="^flash2 and cuDNN differ by nan for d = 64, N = 32, causal = False$"):
        attention_ladder.measure_point(both[0], ladder(), 64, 32, False, 0.0, set())


@pytest.mark.filterwarnings("ignore:invalid value encountered in subtract")  # -inf from -inf, which a mask then drops
def test_the_ladder_is_checked_before_it_is_timed(both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    short(monkeypatch)
    monkeypatch.setattr(attention_ladder, "RAGGED", ((1, 1), (5, 3)))
    monkeypatch.setattr(attention_ladder, "rungs", lambda capability: ladder() if capability == 90 else [])
    monkeypatch.setattr(attention_ladder.compare_errors, "__defaults__", (64,))
    assert attention_ladder.main(["--sizes", "32", "--warm-up", "0", "--out", str(tmp_path / "x1.json")]) == 0
    tables = json.loads((tmp_path / "x1.json").read_text(encoding="utf-8"))
    table, others = tables["attention_ladder"], tables["attention_references"]["rows"]
    assert [(row["d"], row["causal"]) for row in table["rows"]] == [(64, False), (64, True), (128, False), (128, True)]
    assert table["versions"]["cudnn"] == "91000" and [row["library"] for row in others] == ["PyTorch efficient", "PyTorch math"] * 4

    def late(q: Any, k: Any, v: Any, o: Any, lse: Any, causal: bool, scale: float) -> Callable[[], None]:
        launch = prepare(q, k, v, o, lse, causal, scale)
        return lambda: (launch(), lse.fill(0)) and None

    wrong = Rung("late", "", 80, True, ("float16",), (64,), late)
    with pytest.raises(AssertionError, match="^late is wrong for d = 64, Nq = 1, Nk = 1, causal = False"):
        attention_ladder.check(both[0], wrong)


@pytest.mark.slow
def test_every_switch_of_flash2_is_timed_beside_pytorch(both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(flash2_switches, "N", 32)
    monkeypatch.setattr(flash2_switches, "HEADS", (1, 3))
    monkeypatch.setattr(flash2_switches, "PAIRS", 6)
    monkeypatch.setattr(flash2_switches, "RAGGED", ((1, 1), (5, 3)))
    monkeypatch.setattr(flash2_switches, "FLASH2", ladder()[0])
    ideas: set[frozenset[str]] = set()

    def attend(q: Any, k: Any, v: Any, o: Any, lse: Any, causal: bool, chosen: frozenset[str]) -> None:
        ideas.add(chosen)
        prepare(q, k, v, o, lse, causal, 0.0)()

    monkeypatch.setattr(flash2_switches, "attend", attend)
    assert flash2_switches.main(["--out", str(tmp_path / "x1.json")]) == 0
    tables = json.loads((tmp_path / "x1.json").read_text(encoding="utf-8"))
    rows = tables["flash2_switches"]["rows"]
    assert len(rows) == 2 * sum(len(flash2_switches.variants(causal)) + 1 for causal in (False, True))
    assert ideas == {variant.ideas for causal in (False, True) for variant in flash2_switches.variants(causal)}
    assert {row["ratio"] for row in rows} == {1.0} and [row["idea"] for row in rows].count("flash2.cuh") == 4
    assert [(row["kernel"], row["heads"]) for row in tables["short_launches"]["rows"]] == [(x, n) for n in (1, 3) for x in ("flash2.cuh", "PyTorch")]
    assert {name for name, _ in both[1].asked} == {"FLASH_ATTENTION"}
    monkeypatch.setattr(flash2_switches, "attend", lambda q, k, v, o, *_: o.fill(0))
    with pytest.raises(AssertionError, match=r"^\[\] is wrong for d = 64, Nq = 1, Nk = 1, causal = False: 1.0$"):
        flash2_switches.switches(both[0])


@pytest.mark.filterwarnings("ignore:invalid value encountered in subtract")
def test_every_variant_of_flash3_is_timed_beside_cudnn(both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    short(monkeypatch)
    flash3_switches.check.cache_clear()
    monkeypatch.setattr(flash3_switches, "_flash3", lambda q, k, v, o, lse, causal, scale, tile: prepare(q, k, v, o, lse, causal, scale))
    monkeypatch.setattr(flash3_switches, "RAGGED", ((1, 1), (5, 3)))
    assert flash3_switches.main(["--sizes", "32", "--out", str(tmp_path / "x1.json")]) == 0
    rows = json.loads((tmp_path / "x1.json").read_text(encoding="utf-8"))["flash3_switches"]["rows"]
    expected = [(d, causal, name) for d in (64, 128) for causal in (False, True) for _, name, _ in flash3_switches.variants(d, causal, 32)]
    assert [(row["d"], row["causal"], row["variant"]) for row in rows] == expected and {row["ratio"] for row in rows} == {1.0}
    assert {name for name, _ in both[1].asked} == {"cudnn"}
    flash3_switches.check.cache_clear()
    monkeypatch.setattr(flash3_switches, "_flash3", lambda q, k, v, o, *_: lambda: o.fill(0))
    with pytest.raises(AssertionError, match=r"^Tile3\(.*\) is wrong for d = 64, Nq = 1, Nk = 1, causal = False: 1.0"):
        flash3_switches.measure(both[0], [32])
    flash3_switches.check.cache_clear()


def test_the_float32_ladder_stands_beside_two_backends(both: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Rung:
        def __init__(self, key: str, takes_causal: bool):
            self.key, self.takes_causal = key, takes_causal

        def __call__(self, q: Any, k: Any, v: Any, o: Any, lse: Any, causal: bool) -> None:
            prepare(q, k, v, o, lse, causal, 0.0)()

    monkeypatch.setattr(fp32_ladder, "rungs", lambda: [Rung("ch12_a", False), Rung("ch12_b", True)])
    monkeypatch.setattr(fp32_ladder, "PAIRS", 2)
    monkeypatch.setattr(fp32_ladder, "RAGGED", ((1, 1), (5, 3)))
    rows = fp32_ladder.measure([32])
    full = ["PyTorch math", "ch12_a", "ch12_b", "PyTorch efficient"]
    assert [(row["kernel"], row["causal"]) for row in rows] == [(x, False) for x in full] + [(x, True) for x in full if x != "ch12_a"]
    assert {name for name, _ in both[1].asked} == {"MATH", "EFFICIENT_ATTENTION"} and {row["of_efficient"] for row in rows} == {1.0}
