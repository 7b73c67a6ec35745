"""cp.async.bulk and cp.reduce.async.bulk without tensors: runs of bytes between global and shared memory
(PTX ISA 9.7.9.25.4 and .5, "Asynchronous copy: bulk copy").

A copy's data is read when it is issued. What goes to shared memory shows there when a thread first sees the phase of its mbarrier complete, as late as
a GPU may do it; what goes to global memory shows at once. Its bytes count for the mbarrier at once: who needs them waits in any case.
"""

from __future__ import annotations

import numpy as np

from ..checks import bulk as check
from ..checks import proxy
from ..codegen import Emitter
from ..mbarriers import barriers
from ..memory import RANGE, Allocation
from ..ptx import Address, Instruction
from ..values import ndarray, u8, u32
from . import copy_sectors
from .bulk_groups import commit, groups, wait_group
from .bulk_lanes import Lane, arriving, deliver, lanes, local, one_block, receivers
from .mbarrier import offset_of
from .memory import address_text
from .reductions import reduced

UNIT = 16  # bytes: sizes and addresses are multiples of it


# ------------------------------------------------------------------------------------------------ to shared memory


def load(g, iids: tuple[int, int, int], to, source, size, barrier, mask=None) -> None:
    """Global → shared memory; of the blocks of the cluster that `mask` names, if there is one."""
    m = g.batch.machine
    write, read, at = iids
    for lane in lanes(g, (to, size, barrier) if mask is None else (to, size, barrier, mask), (source,)):
        size_ = lane.fixed[1]
        to_, columns = local(lane, lane.fixed[0])
        blocks = receivers(lane, write, columns, None if mask is None else lane.fixed[3])
        b = arriving(lane, at, lane.fixed[2], blocks, mask is not None)
        m.tma_requests += len(lane.columns)
        place = check.shared_place(lane.g, write, to_, size_, UNIT, "write")
        if not place:
            if b is not None:
                for there in blocks:
                    barriers(g.batch).bytes(b, -size_, there)
            continue
        cut = np.full((size_ // 4, len(lane.columns)), 0, u32)
        for k, address in enumerate(lane.free[0].tolist()):
            run = _global_run(lane, k, read, address, size_, "read")
            if run is None:
                continue
            a, offset = run
            cut[:, k] = np.frombuffer(a.data[offset : offset + size_].tobytes(), u32)
            check.read_global(one_block(lane, k), read, a, np.array([offset]), size_)
            m.tma_load_bytes += size_
            m.tma_load_sectors += copy_sectors.got(a, np.array([offset]), size_, np.array([to_]), len(blocks), mask is not None)
        for there in blocks:
            deliver(lane, write, b, np.arange(to_ >> 2, to_ + size_ >> 2), cut, size_, there)


def _global_run(lane: Lane, k: int, iid: int, address: int, size: int, access: str) -> tuple[Allocation, int] | None:
    """Where a run of global memory lies; None, with a finding, where it doesn't."""
    m = lane.g.batch.machine
    a = m.memory.ranges.get(address >> RANGE)
    g, at = one_block(lane, k), np.array([address])
    if a is None or a.space == "param":
        m.faults.no_allocation(g, iid, np.array([0]), at, access, size)
        return None
    if address % UNIT or size % UNIT:
        check.bulk_misaligned(g, iid, a.name, address - a.base, size, access)
        return None
    if address < a.base or address + size > a.end:
        check.global_outside(g, iid, a, address, size, access)
        return None
    return a, address - a.base


def between(g, iids: tuple[int, int, int], to, source, size, barrier, operation: str = "", type: str = "") -> None:
    """Shared → shared memory of the cluster; with an operation, combined with what is there. Nsight Compute counts no request of this kind."""
    batch = g.batch
    write, read, at = iids
    for lane in lanes(g, (to, source, size, barrier), ()):
        source_, size_ = lane.fixed[1:3]
        to_, columns = local(lane, lane.fixed[0])
        b = arriving(lane, at, lane.fixed[3], [columns], False)
        places = check.shared_place(lane.g, write, to_, size_, UNIT, "write"), check.shared_place(lane.g, read, source_, size_, UNIT, "read")
        if not all(places):
            continue
        words = np.arange(source_ >> 2, source_ + size_ >> 2)
        if batch.machine.check:
            proxy.end_read(batch, proxy.begin_read(lane.g, read, words))
        data = batch.shared.words[words][:, lane.columns]
        there = np.arange(to_ >> 2, to_ + size_ >> 2)
        if operation:
            data = _reduced_words(operation, type, batch.shared.words[there][:, columns], data)
        if b is not None and (columns != lane.columns).any():
            b.sent[int(columns[0]) % batch.machine.cluster, int(lane.columns[0]) % batch.machine.cluster] = int(b.phase[columns].max()), lane.row, read
        deliver(lane, write, b, there, data, size_, columns)


def _reduced_words(operation: str, type: str, old: ndarray, new: ndarray) -> ndarray:
    """A reduction of 32-bit words × blocks: elements of any width run along the words."""
    a, b = (np.ascontiguousarray(x.T) for x in (old, new))
    return np.ascontiguousarray(reduced(operation, type, a, b).T)


# ------------------------------------------------------------------------------------------------ to global memory


def store(g, iids: tuple[int, int], to, source, size, operation: str = "", type: str = "", mask=None) -> None:
    """Shared → global memory; with an operation, combined with what is there. `mask`: which bytes of each 16 are written (None: all)."""
    batch = g.batch
    m = batch.machine
    write, read = iids
    for lane in lanes(g, (source, size), (to,) if mask is None else (to, mask)):
        source_, size_ = lane.fixed
        m.tma_requests += len(lane.columns)
        if not check.shared_place(lane.g, read, source_, size_, UNIT, "read"):
            continue
        words = np.arange(source_ >> 2, source_ + size_ >> 2)
        groups(batch).issue(lane, read, words)
        data = batch.shared.words[words]
        for k, address in enumerate(lane.free[0].tolist()):
            run = _global_run(lane, k, write, address, size_, "write")
            if run is None:
                continue
            a, offset = run
            bytes_ = np.ascontiguousarray(data[:, lane.columns[k]]).view(u8)
            there = a.data[offset : offset + size_]
            check.write_global(one_block(lane, k), write, a, np.array([offset]), size_, bool(operation))
            if operation:
                there[:] = reduced(operation, type, there.copy(), bytes_)
            elif mask is None:
                there[:] = bytes_
            else:
                keep = np.tile((int(lane.free[1][k]) >> np.arange(16) & 1).astype(bool), size_ // 16)
                there[keep] = bytes_[keep]
            m.tma_store_bytes += size_
            m.tma_store_sectors += copy_sectors.moved(a, np.array([offset]), size_, np.array([source_]))
            m.stores += 1


NAMES = {"BULKLOAD": load, "BULKBETWEEN": between, "BULKSTORE": store, "BULKCOMMIT": commit, "BULKWAIT": wait_group, "MBOFFSET": offset_of}
_REDUCTIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")


def emit_bulk(e: Emitter, i: Instruction) -> None:
    """cp.async.bulk… and cp.reduce.async.bulk…"""
    from . import tensor_copy

    if "tensor" in i.modifiers:
        e.code.program.names(tensor_copy.NAMES)
        tensor_copy.emit_tensor(e, i)
        return
    gp, ix = e.masked()
    if "commit_group" in i.modifiers:
        line(e, gp, ix, f"BULKCOMMIT({gp})")
    elif "wait_group" in i.modifiers:
        line(e, gp, ix, f"BULKWAIT({gp},{e.use(i.operands[0], 'u32')},{'read' in i.modifiers})")
    elif "prefetch" not in i.modifiers:
        _copy(e, i, gp, ix)


def line(e: Emitter, gp: str, ix: str, call: str) -> None:
    e.line(call if ix == "None" else f"if {gp} is not None: {call}")


def picked(gp: str, ix: str, text: str) -> str:
    return text if ix == "None" else f"PICK(g,{gp},{text},{ix})"


def _copy(e: Emitter, i: Instruction, gp: str, ix: str) -> None:
    spaces = [m.split("::")[0] for m in i.modifiers if m.startswith("shared") or m == "global"]
    to, source, size, *rest = i.operands
    assert isinstance(to, Address) and isinstance(source, Address)
    sites = [e.site(f"bulk.{spaces[0]}"), e.site(f"bulk.{spaces[1]}", 1)]
    values = [address_text(e, to), address_text(e, source), e.use(size, "u32")]
    operation = next((m for m in i.modifiers if m in _REDUCTIONS), "") if "reduce" in i.modifiers else ""
    extra = f",{operation!r},{i.modifiers[-1]!r}" if operation else ""
    if spaces[0] == "shared":
        barrier = rest[0]
        assert isinstance(barrier, Address)
        sites.append(e.site("mbarrier.complete_tx", 2))
        values.append(address_text(e, barrier))
        if "multicast::cluster" in i.modifiers:
            values.append(e.use(rest[1], "u16"))
    texts = ",".join(picked(gp, ix, v) for v in values)
    name = "BULKSTORE" if spaces[0] == "global" else "BULKLOAD" if spaces[1] == "global" else "BULKBETWEEN"
    if "cp_mask" in i.modifiers:
        extra += f",mask={picked(gp, ix, e.use(rest[-1], 'u16'))}"
    line(e, gp, ix, f"{name}({gp},{tuple(sites)!r},{texts}{extra})")
