"""The words of faults with bulk copies, wgmma and proxies: what is said of an element of shared memory that they touch too early or too late."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..finding import Finding
from ..values import ndarray
from ..words import THIRD_PERSON, Dim3, at_line, element, index_value, times, tuple_text, who
from . import mbarrier

if TYPE_CHECKING:
    from ..group import Group
    from .async_copy import Bulk, Watched
    from .proxy import Read


def _add(check: Watched, iid: int, offset: int, text: str, thread: Dim3, block: Dim3, count: int = 1) -> None:
    faults = check.check.machine.faults
    name, index, _, _, dims = faults.shared_at(iid, offset)
    at = index_value(index, dims)
    faults.add(Finding("async-copy", "error", text, line=faults.line(iid), array=name, index=at, thread=thread, block=block, count=count))


def _element(check: Watched, iid: int, offset: int) -> str:
    name, index, _, _, dims = check.check.machine.faults.shared_at(iid, offset)
    return f"{element(name, index, dims)} (shared)"


def _first_block(check: Watched) -> Dim3:
    return check.check.machine.faults.block(int(check.batch.ids[0]))


def too_early(check: Watched, g: Group, iid: int, bulk: Bulk, lanes: ndarray, offset: int, how: str) -> None:
    """A thread touches what a bulk copy brings before it has seen the copy's phase."""
    batch, faults = check.batch, check.check.machine.faults
    line = faults.line(iid)
    seen = faults.seen("async-copy", faults.shared_at(iid, offset)[0], line)
    if seen is not None:
        seen.count += len(lanes)
        return
    thread, block = faults.lane(g, int(lanes[0]))
    barrier, b = mbarrier.name_at(batch, bulk.offset), batch.mbarriers.at.get(bulk.offset)
    text = f"async copy: {who(thread, block)} {THIRD_PERSON[how]} {_element(check, iid, offset)}{at_line(line)} before it has seen the copy"
    text += f"{mbarrier.on_line(batch, bulk.iid)} into it complete: that is phase {bulk.phase} of the mbarrier {barrier}"
    row = int((np.repeat(g.rows, batch.B) if g.cols is None else g.rows)[lanes[0]])
    mine = int(batch.happened.seen(np.array([row]), bulk.slot)[0]) if batch.happened is not None else 0
    text += f", and this thread has seen {mine or 'none'} of its phases." + times(len(lanes))
    if b is not None and int(b.phase.max()) > bulk.phase:
        text += f" Let every thread that reads wait for {barrier}, parity {bulk.phase & 1}, or meet one that did at a __syncthreads()."
    else:
        text += f" Wait for {barrier} with parity {bulk.phase & 1} first, and count the phases of each barrier from 0."
    _add(check, iid, offset, text, thread, block, len(lanes))


def copied_over(check: Watched, row: int, iid: int, bulk: Bulk, word: int) -> None:
    """Thread `row` issues a copy into words that an earlier copy may still be writing."""
    thread, block = check.check.machine.faults.thread(row), _first_block(check)
    offset = word * check.check.grain
    text = f"async copy: {who(thread, block)} issues a copy into {_element(check, iid, offset)}{mbarrier.on_line(check.batch, iid)} while the copy"
    text += f"{mbarrier.on_line(check.batch, bulk.iid)} into it may still be under way: nothing tells this thread that phase {bulk.phase} of the mbarrier "
    text += f"{mbarrier.name_at(check.batch, bulk.offset)} is complete. Wait for the stage to be empty first: its readers wait for the data, then arrive on a "
    text += "second mbarrier, for which this thread waits."
    _add(check, iid, offset, text, thread, block)


def still_read(check: Watched, g: Group, iid: int, read: Read, word: int, how: str, row: int | None) -> None:
    """A thread, or a copy of thread `row`, writes what the asynchronous proxy still reads."""
    faults = check.check.machine.faults
    thread, block = (faults.thread(row), _first_block(check)) if row is not None else faults.lane(g, 0)
    site = check.check.machine.program.sites[read.iid]
    wgmma = site.instruction.opcode == "wgmma"
    offset = word * check.check.grain
    text = f"async copy: {who(thread, block)} {'copies into' if row is not None else THIRD_PERSON[how]} {_element(check, iid, offset)}"
    text += f"{mbarrier.on_line(check.batch, iid)} while the {'wgmma' if wgmma else 'bulk store'}{at_line(site.line)} may still read it. "
    text += f"Put {'wgmma.wait_group' if wgmma else 'cp.async.bulk.wait_group.read'} before the write, in the thread{'s' if wgmma else ''} that issued it."
    _add(check, iid, offset, text, thread, block)


def unfenced(check: Watched, g: Group, iid: int, offset: int, writer: int, site: int, known: bool) -> None:
    """The asynchronous proxy reads what thread `writer` wrote at `site`; `known`: in order, but without a fence."""
    faults, sites = check.check.machine.faults, check.check.machine.program.sites
    line = sites[site].line if site < len(sites) else None
    thread, block = faults.lane(g, 0)
    does = "wgmma" if sites[iid].instruction.opcode == "wgmma" else "the bulk copy"
    text = f"async copy: {does}{mbarrier.on_line(check.batch, iid)} reads {_element(check, iid, offset)}, which thread {tuple_text(faults.thread(writer))} "
    text += f"of block {tuple_text(block)} writes{at_line(line)}, and "
    if known:
        text += "no proxy fence stands between: missing fence.proxy.async.shared::cta. Put it behind the writes, in every thread that writes, "
        text += "before the barrier."
    else:
        text += "nothing orders the two. Put fence.proxy.async.shared::cta and then __syncthreads() behind the writes."
    _add(check, iid, offset, text, thread, block)


def store_left(check: Watched, read: Read) -> None:
    """A block has ended while a bulk store may still read its shared memory."""
    thread, block = check.check.machine.faults.thread(int(read.rows[0])), _first_block(check)
    offset = int(read.words[0]) * check.check.grain
    text = f"async copy: {who(thread, block)} ends while its bulk store{mbarrier.on_line(check.batch, read.iid)} may still read "
    text += f"{_element(check, read.iid, offset)}, which the next block may get. Put cp.async.bulk.commit_group and cp.async.bulk.wait_group.read 0 behind the "
    text += "store, in the same thread."
    _add(check, read.iid, offset, text, thread, block)


def copy_left(check: Watched, bulk: Bulk, offset: int) -> None:
    """A block has ended while a copy may still write its shared memory."""
    thread, block = check.check.machine.faults.thread(bulk.row), _first_block(check)
    text = f"async copy: {who(thread, block)} issues a copy into {_element(check, bulk.iid, offset)}{mbarrier.on_line(check.batch, bulk.iid)}, and the block ends "
    text += f"while it may be under way: nobody waits for phase {bulk.phase} of the mbarrier {mbarrier.name_at(check.batch, bulk.offset)}. "
    text += "Wait for every copy, or don't issue it."
    _add(check, bulk.iid, offset, text, thread, block)
