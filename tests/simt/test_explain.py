"""The words of the findings: whole sentences, numbers that agree with their nouns, indices as the source writes them."""

from __future__ import annotations

import inspect

import pytest

from lanewise.simt import explain, explain_async, explain_cluster, explain_flow, explain_mbarrier, explain_tensor
from lanewise.simt.finding import ERRORS, REMARKS, Party
from lanewise.simt.words import element, plural, thread_ranges, unravel

WHO = dict(thread=(1, 0, 0), block=(0, 0, 0))
RACE = dict(
    array="s", index=33, space="shared", line=9, access="read", **WHO, other_line=8, other_access="write", other_thread=(33, 0, 0), other_block=(0, 0, 0)
)


@pytest.mark.parametrize(
    "index, dims, text",
    [
        (33, None, "s[33]"),
        (33, (64,), "s[33]"),
        (33, (8, 9), "s[3][6]"),
        (72, (8, 9), "s[8][0]"),  # the first element behind the end
        (-1, (8, 9), "s[-1]"),
        (5, (2, 2, 2), "s[1][0][1]"),
        (0, (), "s"),
        (1, (), "s[1]"),  # behind a variable that is no array
    ],
)
def test_an_element_is_written_as_in_the_source(index, dims, text):
    assert element("s", index, dims) == text


def test_unravel_inverts_the_flat_index():
    assert [unravel(i, (2, 3)) for i in range(6)] == [(r, c) for r in range(2) for c in range(3)]
    assert unravel(7, (2, 3)) == (2, 1) and unravel(4, (5,)) == (4,)


def test_plurals():
    assert [plural(1, "element"), plural(2, "element"), plural(0, "byte"), plural(3, "pass")] == ["1 element", "2 elements", "0 bytes", "3 passes"]


def test_thread_ranges():
    assert thread_ranges([5]) == "thread 5"
    assert thread_ranges([3, 1, 2, 0]) == "threads 0..3"
    assert thread_ranges([*range(16), *range(32, 48), 50]) == "threads 0..15, 32..47, 50"
    assert thread_ranges([*range(0, 64, 2)]) == "threads 0, 2, 4, 6 and 28 more groups"


def test_the_race_of_the_contract_word_for_word():
    assert explain.race(**RACE).message == (
        "race on s[33] (shared, line 9): thread (1,0,0) reads it while thread (33,0,0) writes it on line 8, "
        "and no __syncthreads() stands between. Put one after line 8."
    )


@pytest.mark.parametrize(
    "change, ending",
    [
        (dict(same_warp=True), "and no __syncwarp() stands between. Put one after line 8."),
        (dict(line=5), "Put one after line 8, before the loop comes back to line 5."),
        (dict(line=8), "on the same line, and no __syncthreads() stands between. Read into a variable first, then __syncthreads(), and write after it."),
        (dict(line=8, access="write", read_and_written=True), "use atomicAdd (or another atomic)."),
        (dict(line=8, access="write"), "Let one thread write it, or use an atomic."),
        (dict(other_line=None), "writes it, and no __syncthreads() stands between. Put a __syncthreads() between the two accesses."),
        (dict(count=5), "stands between. 5 such pairs. Put one after line 8."),
    ],
)
def test_the_next_step_of_a_race_fits_the_pair(change, ending):
    assert explain.race(**RACE | change).message.endswith(ending)


def test_a_race_between_blocks_names_both_blocks_and_speaks_of_no_barrier():
    between = RACE | dict(array="y", space="global", other_block=(2, 0, 0))
    plain = explain.race(**between)
    assert plain.message == (
        "race on y[33] (global, line 9): thread (1,0,0) of block (0,0,0) reads it while thread (33,0,0) of block (2,0,0) writes it on line 8, "
        "and nothing orders two blocks of one launch. Give each block its own elements, use an atomic, or read in a second launch."
    )
    assert plain.other == Party(8, "write", (33, 0, 0), (2, 0, 0))
    assert "__threadfence()" in explain.race(**between, uses_atomics=True).message
    assert explain.race(**between | dict(other_access="atomic")).message.endswith("Make the plain read atomic too, or move it into a later launch.")


def test_a_shared_race_names_its_block_once_unless_it_is_the_first():
    message = explain.race(**RACE | dict(block=(3, 0, 0), other_block=(3, 0, 0))).message
    assert message.count("block (3,0,0)") == 1 and "block" not in explain.race(**RACE).message


def test_out_of_bounds_says_how_many_and_where():
    facts = dict(array="y", index=10, size=10, access="write", thread=(10, 0, 0), block=(0, 0, 0), line=3)
    one = "out of bounds: thread (10,0,0) of block (0,0,0) writes y[10] on line 3, but y has 10 elements."
    assert explain.out_of_bounds(**facts).message == one + " Guard the write, for example with if (i < n)."
    many = explain.out_of_bounds(**facts, count=6, first_index=10, last_index=15)
    assert many.message == one + " 6 writes fall outside: y[10..15]. Guard the write, for example with if (i < n)."
    assert many.count == 6 and many.index == 10 and many.severity == "error"
    assert "y has 1 element." in explain.out_of_bounds(**facts | dict(size=1)).message
    assert "y has no elements." in explain.out_of_bounds(**facts | dict(size=0)).message
    assert "y has 10 elements (shape (2, 5))" in explain.out_of_bounds(**facts, shape=(2, 5)).message
    assert "line" not in explain.out_of_bounds(**facts | dict(line=None)).message


def test_an_index_of_several_dimensions_is_a_tuple():
    facts = dict(array="s", index=13, space="shared", line=4, dims=(4, 8), **WHO)
    finding = explain.uninitialised_read(**facts)
    assert finding.index == (1, 5) and "reads s[1][5] (shared) on line 4" in finding.message


def test_unwritten_outputs_explain_the_division_only_where_threads_are_too_few():
    facts = dict(array="y", first=256, last=299, count=44, size=300, block=(256, 1, 1))
    few = explain.unwritten_output(**facts, grid=(1, 1, 1)).message
    assert few == (
        "unwritten output: y[256..299] are written by nobody. The grid has 256 threads (1 block of 256) for 300 elements. "
        "If each thread writes one, it takes (n + 256 - 1) // 256 = 2 blocks: n // 256 rounds down."
    )
    enough = explain.unwritten_output(**facts, grid=(2, 1, 1)).message
    assert "rounds down" not in enough and enough.endswith("which thread should write them?")
    one = explain.unwritten_output(**facts | dict(first=7, last=7, count=1), grid=(2, 1, 1), shape=(60, 5)).message
    assert one.startswith("unwritten output: y[7] (that is y[1, 2]) is written by nobody.") and one.endswith("write it?")


def test_threads_that_ended_before_a_barrier():
    facts = dict(lines=[6], threads=[[0, 1]], block=(0, 0, 0))
    many = explain.barrier_divergence(**facts, left=[2, 3]).message
    assert "threads 0..1 wait at the barrier on line 6, threads 2..3 have ended without reaching it." in many
    assert "thread 2 has ended" in explain.barrier_divergence(**facts, left=[2]).message
    assert "thread 2 is on line 9 without" in explain.barrier_divergence(**facts, left=[2], left_line=9).message


def test_the_mask_of_a_warp_names_the_lanes_that_lack():
    facts = dict(line=5, **WHO, operation="__ballot_sync", mask=0xFFFFFFFF)
    assert "lanes 16..31 of the warp do not come along" in explain.warp_mask(**facts, active=0xFFFF).message
    assert "lane 3 of the warp does not come along" in explain.warp_mask(**facts, active=0xFFFFFFF7).message


# Every builder with the least it needs: names are those of its parameters.
LEAST = dict(
    array="s", index=1, size=4, access="read", thread=(1, 0, 0), block=(0, 0, 0), line=3, space="shared", access_bytes=16, offset=4, address=64,
    first=1, last=2, count=2, grid=(1, 1, 1), other_line=2, other_access="write", other_thread=(2, 0, 0), other_block=(0, 0, 0), lines=[3],
    threads=[[0, 1]], waits_for="nobody", next_step="Go on.", steps=9, operation="__shfl_sync", mask=3, active=1, lane=7, used_line=4, copy_line=2,
    sectors=64, requests=2, ideal=4.0, wavefronts=64, ratio=0.5, bytes=64, elements=2, arrays=("a", "b"), barrier=1, expected=64, arrived=32,
    product_line=2, number=3, committed=True, waited=False, shape=False, operand="B", form="no swizzle", dims=None, span=128, late=256, base=0,
    written=64, read=128, held=168, more=True, wanted=240, warpgroup=1, free=64, owner=(1, 0, 0), rank=2, missing=[0, 1],
    missing_block=(1, 0, 0), missing_line=5, waits=True, mbarrier="full[1]", copy_at=" on line 2", at=" on line 3", phase=1, seen=0, complete=True,
    wgmma=True, ordered=True, where="other", unit=16, swizzle=128, coordinates=2, axes=3, does="waits for", arrivals=2, pending=1, tx=0, announced=0,
    unseen=0, rows=[0, 1], barrier_block=(0, 0, 0), receiver=(1, 0, 0), arrives=True, other_count=96, first_index=1, last_index=2,
    itemsize=2, stores=False, parity=2, mine=1, others=2, arrived_line=2, met_line=2, met=[0, 1], came=128,
)  # fmt: skip
# their `threads` are numbers, not lists of them
FLAT = ("deadlock", "named_barrier_deadlock", "too_many_at_a_barrier", "incomplete_warpgroup", "no_registers", "cluster_deadlock")
BUILDERS = list(
    {
        f: None
        for module in (explain, explain_flow, explain_tensor, explain_cluster, explain_async, explain_mbarrier)
        for name, f in vars(module).items()
        if inspect.isfunction(f) and inspect.signature(f).return_annotation == "Finding" and not name.startswith("_")
    }
)


@pytest.mark.parametrize("builder", BUILDERS, ids=lambda f: f.__name__)
def test_every_message_is_whole_sentences_with_a_next_step(builder):
    needed = {name: LEAST[name] for name, p in inspect.signature(builder).parameters.items() if p.default is inspect.Parameter.empty}
    if builder.__name__ in FLAT:
        needed["threads"] = [0, 1]
    if builder.__name__ == "no_registers":
        needed["held"] = [40, 168]
    if builder.__name__ == "setmaxnreg_ignored":
        needed["threads"] = 384
    if builder.__name__ == "refused_start":
        needed["coordinates"] = (4, 0)
    if builder.__name__ == "unwritten_output":
        needed["block"] = (32, 1, 1)
    finding = builder(**needed)
    message = finding.message
    assert message.endswith((".", "?")) and "  " not in message and ".." not in message.replace("[1..2]", "").replace("0..1", "").replace("s 0..", "")
    assert message.count(". ") + message.count(": ") >= 1, "what happened, then what to do"
    assert finding.severity == ("error" if finding.kind in ERRORS else "remark") and finding.kind in ERRORS | REMARKS
    assert "None" not in message and "1 elements" not in message and "1 bytes" not in message
    assert builder.__doc__


def test_every_kind_of_a_running_kernel_has_a_builder():
    kinds = set()
    for builder in BUILDERS:
        source = inspect.getsource(builder)
        kinds |= {kind for kind in ERRORS | REMARKS if f'"{kind}"' in source}
    assert kinds == (ERRORS | REMARKS) - {"argument-mismatch", "launch-refused"}  # those two come before anything runs
