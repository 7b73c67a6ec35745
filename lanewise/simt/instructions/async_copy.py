"""cp.async: copies from global to shared memory that a thread waits for later (PTX ISA 9.7.9.25, "Data Movement and Conversion: Asynchronous copy").

The data is read when the copy is issued and shows in shared memory only when its thread waits, as late as a GPU may do it: a kernel that reads
too early sees what was there before. Each thread counts its commits; a copy belongs to the group of the count at its issue.
"""

from __future__ import annotations

import numpy as np

from .. import global_access
from ..codegen import Emitter
from ..patterns import fetches_per_warp
from ..ptx import Imm, Instruction
from ..values import Split, full, i64, ndarray, u32
from .copies import copies
from .memory import address_text, pick, put_back, sub

COUNTED_AS = "ld.global"  # which counters the reading side goes to
SIZES = (4, 8, 16)


def issue(g, read_iid: int, write_iid: int, to, source, size: int, amount, bypass: bool) -> None:
    """Copy `size` bytes a lane; only the first `amount` come from memory (None: all), the rest are zeros. `bypass`: past the L1 (.cg)."""
    machine = g.batch.machine
    counts = machine.counts[read_iid]
    before = counts[1]
    words = _read(g, read_iid, source, size, amount)
    if bypass and counts[1] > before:
        more = before + _fetches(g, to, source, amount) - counts[1]
        counts[1] += more
        machine.fetched_again += more
    copies(g.batch).issue(g, write_iid, to, words)


def _fetches(g, to, source, amount) -> int:
    """What a copy past the L1 asks of the L2, in sectors, summed over warps."""
    amount = full(amount)
    if source.__class__ is Split and g.cols is None and all(x.__class__ is not ndarray or x.shape[1] == 1 for x in (to, amount)):
        start = int(source.t[0, 0])
        lanes = source.t[:, 0] - start
        phases, times = np.unique(source.b[0] + start & 127, return_counts=True)
        return sum(_pattern(g, to, lanes + phase, amount) * int(n) for phase, n in zip(phases, times, strict=True))
    sources, targets, on = (np.broadcast_to(full(x), g.shape).ravel() for x in (source, to, True if amount is None else np.asarray(amount) != 0))
    warps = np.broadcast_to(g.warp_columns, g.shape).ravel()
    return fetches_per_warp(sources[on].astype(i64), targets[on].astype(i64), warps[on])


def _pattern(g, to, lanes: ndarray, amount) -> int:
    """The same for one block, remembered: a loop copies the same pattern again and again."""
    patterns = g.batch.machine.sector_patterns
    targets, some = (x.tobytes() if x.__class__ is ndarray else x for x in (to, amount))
    key = ("cg", g.row_key, lanes.tobytes(), targets, some)
    got = patterns.get(key)
    if got is None:
        on = np.ones(g.n, bool) if amount is None else np.broadcast_to(np.asarray(amount) != 0, (g.n, 1))[:, 0]
        places = np.broadcast_to(np.asarray(to), (g.n, 1))[:, 0].astype(i64)
        got = patterns[key] = fetches_per_warp(lanes[on], places[on], (g.rows >> 5)[on]) if on.any() else 0
    return got


def _read(g, iid: int, source, size: int, amount) -> tuple:
    amount = full(amount)
    if amount is None or amount.__class__ is int:
        return _words(g, iid, source, size, size if amount is None else min(amount, size))
    out: tuple = (0,) * (size // 4)
    for bytes_ in np.unique(amount):
        some, index = sub(g, amount == bytes_)
        words = _words(some, iid, pick(g, some, source, index), size, min(int(bytes_), size))
        out = tuple(_put(g, some, x, index, old) for x, old in zip(words, out, strict=True))
    return out


def _put(g, some, x, index, old):
    return put_back(g, some, np.full((1, 1), x, u32) if x.__class__ is int else x, index, old)


def _words(g, iid: int, source, size: int, amount: int) -> tuple:
    """The first `amount` bytes, filled up with zeros, as words. Nothing is read for 0."""
    count = size // 4
    if amount == 0:
        return (0,) * count
    if amount == size:
        got = global_access.load_global(g, iid, source, u32, 4, count)
        return (got,) if count == 1 else tuple(got)
    got = global_access.load_global(g, iid, source, np.uint8, 1, amount)
    parts = [got] if amount == 1 else got
    words: list = [0] * count
    for j, x in enumerate(parts):
        wide = x << 8 * (j % 4) if x.__class__ is int else x.astype(u32) << u32(8 * (j % 4))
        words[j // 4] = words[j // 4] | wide
    return tuple(words)


def commit(g) -> None:
    copies(g.batch).committed[g.rows if g.cols is None else (g.rows, g.cols)] += 1


def wait(g, left: int) -> None:
    copies(g.batch).wait(g, left)


def wait_all(g) -> None:
    """Copies that were never committed count too."""
    commit(g)
    copies(g.batch).wait(g, 0)


def arrive(g, iid: int, address, counted: bool) -> None:
    """`counted` (.noinc): the arrival is one of those that the phase waits for; otherwise it adds one to them first, so that the sum stays."""
    from ..mbarriers import barriers, parts, publish
    from . import mbarrier

    batch = g.batch
    for offset, part, index in parts(g, address):
        b = mbarrier.known(g, part, iid, offset, "arrives at")
        if b is not None:
            copies(batch).land_with(part, b)
            if counted:
                mbarrier.arrive(part, iid, offset)
            elif batch.happened is not None:
                publish(g, part, index, b, iid)
            barriers(batch).settle(b)


def ignoring(size: int, ignored):
    """The bytes to read where a predicate says whether the source is to be ignored."""
    if ignored.__class__ is not ndarray:
        return 0 if ignored else size
    return np.where(ignored, u32(0), u32(size))


NAMES = {"CPASYNC": issue, "CPCOMMIT": commit, "CPWAIT": wait, "CPWAITALL": wait_all, "CPIGNORE": ignoring}


def emit_cp(e: Emitter, i: Instruction) -> None:
    kind = i.modifiers[1:2]
    if "bulk" in i.modifiers:
        from . import bulk_copy

        e.code.program.names(bulk_copy.NAMES)
        bulk_copy.emit_bulk(e, i)
        return
    if i.modifiers[:1] != ("async",):
        raise e.unsupported()
    gp, ix = e.masked()
    if kind == ("mbarrier",):
        _arrive(e, i, gp, ix)
        return
    if kind == ("commit_group",):
        call = f"CPCOMMIT({gp})"
    elif kind == ("wait_all",):
        call = f"CPWAITALL({gp})"
    elif kind == ("wait_group",):
        call = f"CPWAIT({gp},{e.use(i.operands[0], 'u32')})"
    else:
        call = _copy(e, i, gp, ix)
    e.line(call if ix == "None" else f"if {gp} is not None: {call}")


def _arrive(e: Emitter, i: Instruction, gp: str, ix: str) -> None:
    """cp.async.mbarrier.arrive: an arrival when all earlier copies of the thread are there."""
    from . import mbarrier

    e.code.program.names(mbarrier.NAMES | {"CPARRIVE": arrive})
    address = mbarrier.barrier_text(e, i, i.operands[0])  # type: ignore[arg-type]
    where = address if ix == "None" else f"PICK(g,{gp},{address},{ix})"
    call = f"CPARRIVE({gp},{e.site('mbarrier.arrive')},{where},{'noinc' in i.modifiers})"
    e.line(call if ix == "None" else f"if {gp} is not None: {call}")


def _copy(e: Emitter, i: Instruction, gp: str, ix: str) -> str:
    to, source, size, *rest = i.operands
    if not isinstance(size, Imm) or size.value not in SIZES:
        raise e.unsupported("copies of 4, 8 or 16 bytes only")
    amount = "None"
    extra = rest[0] if rest else None
    if extra is not None and getattr(extra, "type", "") == "pred":
        amount = f"CPIGNORE({size.value},{e.use(extra, 'pred')})"
    elif extra is not None and width_is_32(extra):
        amount = e.use(extra, "u32")
    places = [address_text(e, to), address_text(e, source)]  # type: ignore[arg-type]
    if ix != "None":
        places = [f"PICK(g,{gp},{x},{ix})" for x in places]
        amount = amount if amount == "None" else f"PICK(g,{gp},{amount},{ix})"
    write = e.site("cp.shared")
    read = e.site(COUNTED_AS, 1)
    return f"CPASYNC({gp},{read},{write},{places[0]},{places[1]},{size.value},{amount},{'cg' in i.modifiers})"


def width_is_32(operand) -> bool:
    """A size, not a 64-bit cache policy."""
    return isinstance(operand, Imm) or operand.type.endswith("32")


EMIT = {"cp": emit_cp}
