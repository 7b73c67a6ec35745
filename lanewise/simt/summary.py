"""After a launch: counters, counters by line, and the remarks that follow from them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from . import explain, remarks
from .checks import Faults
from .checks.named_barriers import unawaited
from .code import Site
from .codegen import width_of
from .counters import Counters
from .machine import Machine
from .ptx import Instruction
from .report import LineCounters, Report


def flops_of(i: Instruction) -> int:
    """Floating-point operations of one lane."""
    if not i.modifiers or i.modifiers[-1] not in ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2"):
        return 0
    base = {"fma": 2, "mad": 2, "add": 1, "sub": 1, "mul": 1}.get(i.opcode, 0)
    return base * (2 if i.modifiers[-1].endswith("x2") else 1)


def summarise(report: Report, machine: Machine, stopped: bool) -> None:
    c = report.counters
    by_line = report.by_line

    def at(line: int | None) -> LineCounters:
        return by_line.setdefault(line or 0, LineCounters())

    lanes_of_line: dict[int, int] = {}
    instructions = total_lanes = flops = tensor = products = wavefronts = overlapped = 0
    for code in machine.program.codes.values():
        if code.number not in machine.executed:
            continue
        warps, lanes = machine.executed[code.number]
        during = code.products_registers.during if code.products_registers else ()
        for block, w, n in zip(code.blocks, warps, lanes, strict=True):
            if not w:
                continue
            for i in block.instructions:
                line = at(i.line)
                line.warp_instructions += w
                lanes_of_line[i.line or 0] = lanes_of_line.get(i.line or 0, 0) + n
                of_tensor_cores = machine.extra_flops(i) * w
                tensor += of_tensor_cores
                work = flops_of(i) * n + of_tensor_cores
                line.flops += work
                if i.opcode == "wgmma" and i.modifiers[0] == "mma_async":
                    products += w
                    wavefronts += machine.wgmma_wavefronts(i) * w
                flops += work
            overlapped += w * sum(index in during for index in range(block.start, block.start + len(block.instructions))) if during else 0
            instructions += w * len(block.instructions)
            total_lanes += n * len(block.instructions)
    c.warp_instructions, c.flops, c.tensor_operations = instructions, flops, tensor
    c.wgmma_instructions, c.wgmma_shared_wavefronts, c.wgmma_overlapped = products // 4, wavefronts // 4, overlapped
    if instructions:
        c.active_lane_ratio = total_lanes / (32 * instructions)
    for number, line in by_line.items():
        if line.warp_instructions:
            line.active_lane_ratio = lanes_of_line[number] / (32 * line.warp_instructions)
    _memory(c, machine, at)
    c.barriers, c.atomics = machine.barriers, machine.atomics
    for (number, pc), times in machine.barrier_sites.items():
        code = next(x for x in machine.program.codes.values() if x.number == number)
        at(code.blocks[pc].instructions[0].line).barriers += times
    c.tma_load_bytes, c.tma_store_bytes, c.tma_requests = machine.tma_load_bytes, machine.tma_store_bytes, machine.tma_requests
    c.tma_load_sectors, c.tma_store_sectors = machine.tma_load_sectors, machine.tma_store_sectors
    loaded = (c.global_load_sectors or 0) - machine.fetched_again
    c.global_bytes = 32 * (loaded + (c.global_store_sectors or 0) + machine.atomic_sectors + machine.tma_sectors)
    reads = writes = pairs = 0
    for a in machine.memory.ranges.values():
        if a.space == "global":
            if a.read_sectors is not None:
                reads += int(a.read_sectors.sum())
                odd = a.base >> 5 & 1  # pairs begin at multiples of 64 bytes
                touched = np.concatenate([np.zeros(odd, bool), a.read_sectors, np.zeros((len(a.read_sectors) + odd) % 2, bool)])
                pairs += int(touched.reshape(-1, 2).any(axis=1).sum())
            writes += int(a.write_sectors.sum()) if a.write_sectors is not None else 0
    c.dram_read_bytes, c.dram_write_bytes = 32 * reads, 32 * writes
    report.dram_fetch_bytes = 64 * pairs
    by_line.pop(0, None)
    report.printed = "".join(machine.printed)
    if machine.check and not stopped:
        _unwritten(machine)
    report.findings += _without_consequences(list(machine.faults.found.values()))
    if machine.check and not any(f.severity == "error" for f in report.findings):
        _remarks(report, machine)
    report.steps = machine.steps


def _accesses(machine: Machine) -> Iterator[tuple[Site, str, str, int, int]]:
    """(instruction, kind, space, requests, sectors or wavefronts) of what went to memory."""
    sites = machine.program.sites
    for site, (requests, units) in zip(sites, machine.counts, strict=False):
        if requests:
            kind, _, space = site.kind.partition(".")
            yield site, kind, space, requests, units
    for iid, (requests, units) in machine.generic_shared.items():
        yield sites[iid], sites[iid].kind.partition(".")[0], "shared", requests, units


def _memory(c: Counters, machine: Machine, at) -> None:
    for site, kind, space, requests, units in _accesses(machine):
        line = at(site.line)
        if kind in ("ldmatrix", "stmatrix"):  # Nsight Compute counts their wavefronts, but not the instructions
            kind, requests = kind[:2], 0
        if space == "global" or (space == "generic" and kind in ("ld", "st")):
            names = ("global_load_requests", "global_load_sectors") if kind == "ld" else ("global_store_requests", "global_store_sectors")
        elif space == "shared":
            names = ("shared_load_requests", "shared_load_wavefronts") if kind == "ld" else ("shared_store_requests", "shared_store_wavefronts")
        else:
            continue
        if kind not in ("ld", "st"):
            continue
        for name, value in zip(names, (requests, units), strict=True):
            setattr(c, name, getattr(c, name) + value)
            setattr(line, name, getattr(line, name) + value)


def _unwritten(machine: Machine) -> None:
    for a in machine.memory.ranges.values():
        if not a.must_write or a.unset is None or not a.unset.any():
            continue
        size = len(a.data) // a.element
        left = a.unset.reshape(-1)[: size * a.element].reshape(size, a.element).any(axis=1)
        index = np.flatnonzero(left)
        machine.faults.add(
            explain.unwritten_output(
                array=a.name, first=int(index[0]), last=int(index[-1]), count=len(index), size=size, grid=machine.grid, block=machine.block, shape=a.shape
            )
        )


def _without_consequences(findings: list) -> list:
    """A read that came too early because of a race is unset, and stores of a race are equal, only by chance of the order: the race is the cause.

    Of what touches a copy's words before the copy is finished, only that is told.
    """
    if any(f.kind == "deadlock" for f in findings):  # who waits for ever writes nothing
        findings = [f for f in findings if f.kind != "unwritten-output"]
    early = {(f.array, f.line) for f in findings if f.kind == "async-copy"}
    findings = [f for f in findings if f.kind != "race" or early.isdisjoint((f.array, line) for line in (f.line, f.other.line if f.other else None))]
    raced = {(f.array, line) for f in findings if f.kind == "race" for line in (f.line, f.other.line if f.other else None)}
    return [f for f in findings if f.kind not in ("uninitialised-read", "same-value-write") or (f.array, f.line) not in raced]


def _access_bytes(i: Instruction) -> int:
    if i.opcode == "cp":
        return i.operands[2].value  # type: ignore[union-attr]
    if i.opcode == "wmma":
        return 4
    if i.opcode in ("ldmatrix", "stmatrix"):  # a row of 16 bytes for each of 8 lanes a matrix
        return 4 * next(int(m[1:]) for m in i.modifiers if m in ("x1", "x2", "x4"))
    vector = next((int(m[1:]) for m in i.modifiers if m in ("v2", "v4")), 1)
    return width_of(i.modifiers[-1]) // 8 * vector


def _remarks(report: Report, machine: Machine) -> None:
    """What is right but slow, from the counters of each memory instruction."""
    found = Faults(machine)
    tiles = set(machine.tiles.values())
    for site, kind, space, requests, units in _accesses(machine):
        size = _access_bytes(site.instruction)
        kind = {"ldmatrix": "ld", "stmatrix": "st"}.get(kind, kind)
        access = "read" if kind == "ld" else "write"
        if space in ("global", "generic") and kind in ("ld", "st"):
            ideal = size * min(32, machine.T) / 32
            if units > 2 * requests * max(ideal, 1) and units >= requests + 4:
                found.add(
                    remarks.uncoalesced(
                        line=site.line, array=machine.array_name(site), sectors=units, requests=requests, ideal=max(ideal, 1), access=access,
                        access_bytes=size,
                    )
                )  # fmt: skip
        elif space == "shared" and kind in ("ld", "st"):
            ideal = max((site.joined.bytes if site.joined else size) / 4, 1)  # loads that ptxas joins are one wide request
            if units > 1.5 * requests * ideal:
                name = machine.array_name(site)
                found.add(
                    remarks.bank_conflict(
                        line=site.line, array=name, wavefronts=units, requests=requests, ideal=ideal, access=access, copied=name in tiles
                    )
                )  # fmt: skip
        elif space == "local" and kind == "st":
            found.add(remarks.local_memory(line=site.line, bytes=machine.program.main.local_size, array=machine.local_name(site)))
    _divergence(report, machine, found)
    _shared_remarks(machine, found)
    unawaited(machine, found)
    report.findings += found.found.values()


def _divergence(report: Report, machine: Machine, found: Faults) -> None:
    """Branches that split warps and have work on both sides, where idle lanes cost the launch something."""
    ratio = report.counters.active_lane_ratio
    if ratio is None or ratio > 0.9 or machine.T < 32:
        return
    for number, pc in machine.divergent:
        code = next(x for x in machine.program.codes.values() if x.number == number)
        block = code.blocks[pc]
        warps, _ = machine.executed[number]
        sides = [s for s in block.successors if s != block.join and code.blocks[s].instructions[0].opcode not in ("ret", "exit")]
        if len(sides) < 2 or not all(warps[s] for s in sides):
            continue
        lanes = min(machine.executed[number][1][s] / (32 * warps[s]) for s in sides)
        line = next((i.line for i in reversed(block.instructions) if i.line), None)
        found.add(remarks.divergence(line=line, ratio=lanes))


def _shared_remarks(machine: Machine, found: Faults) -> None:
    """Dynamic arrays that are one and the same memory; what is stored and never read."""
    program = machine.program
    names = [v.name for v in program.dynamic if any(v.name in i.text for i in program.main.graph.body)]
    if len(names) > 1:
        plain = tuple(machine.faults.variable(n)[0] for n in names)
        lines = [k for k, text in enumerate(machine.source.splitlines(), 1) if "extern" in text and "__shared__" in text]
        found.add(remarks.aliased_shared(arrays=plain, line=lines[1] if len(lines) > 1 else None))
    if machine.known_shared is None:
        return
    grain = program.grains["shared"]
    unread = machine.known_shared & ~machine.used_shared
    for v in machine.shared_variables():
        part = np.flatnonzero(unread[v.offset // grain : (v.offset + v.size + grain - 1) // grain])
        if not len(part):
            continue
        name, element, dims = machine.faults.variable(v.name)
        elements = np.unique(part * grain // element)
        site = int(machine.stored_shared[v.offset // grain + part[0]])
        line = program.sites[site].line if 0 <= site < len(program.sites) else None
        found.add(remarks.unused_shared(array=name, index=int(elements[0]), elements=len(elements), line=line, dims=None if dims and 0 in dims else dims))
