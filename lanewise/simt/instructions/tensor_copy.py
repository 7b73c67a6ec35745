"""cp.async.bulk.tensor: boxes of an array of 1 to 5 axes, by a tensor map (PTX ISA 9.7.9.27, "Tensor copy"; 5.5, "Tensors").

The box lies in shared memory row by row. A swizzle changes the place of 16-byte pieces by the bits of the shared address itself: bits 4 to 6 are
xored with bits 7 to 9 for a span of 128 bytes, 4 and 5 with 7 and 8 for 64, 4 with 7 for 32.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .. import tensor_maps
from ..checks import bulk as check
from ..checks import tensor_map as map_check
from ..codegen import Emitter
from ..group import Group
from ..mbarriers import barriers
from ..memory import RANGE, Allocation, Region
from ..ptx import Address, Instruction
from ..tensor_maps import BYTES, TensorMap
from ..values import full, i32, i64, ndarray, u8, u16, u32, u64
from . import copy_sectors
from .bulk_copy import line, picked
from .bulk_groups import groups
from .bulk_lanes import Lane, arriving, deliver, lanes, local, one_block, receivers
from .memory import address_text
from .reductions import reduced

ALIGNMENT = 128  # of a box in shared memory
_UNSIGNED = {1: u8, 2: u16, 4: u32, 8: u64}
_NAN = {"f16": 0x7FF7, "bf16": 0x7FF7, "f32": 0x7FF77FF7, "f64": 0x7FF77FF77FF77FF7}  # as an H200 fills, by halves of 32 bits


@lru_cache(maxsize=512)
def places(phase: int, rows: int, inner: int, span: int) -> ndarray:
    """32-bit words of a box, row by row, as numbers from the first word of the 1024 bytes in which it begins, `phase` bytes behind their start."""
    pitch = span or inner
    at = phase + (np.arange(rows)[:, None] * pitch + np.arange(0, inner, 4)).ravel()
    if span:
        at ^= (at >> 7 & (span // 16 - 1)) << 4
    return at >> 2


def words_of(tm: TensorMap, offset: int) -> ndarray:
    """The 32-bit words of shared memory that a box at `offset` takes, in the order of its elements."""
    return places(offset & 1023, tm.rows, tm.inner_bytes, tm.swizzle) + ((offset & ~1023) >> 2)


def cut(tm: TensorMap, coordinates: tuple[int, ...]) -> tuple[tuple, tuple] | None:
    """(slices of the array, slices of the box) of the part of a box that lies inside of the array; None if none does. Coordinates as in PTX."""
    inside, part = [], []
    for n, count, step, start in zip(tm.passed.shape, tm.counts, tm.steps, reversed(coordinates), strict=True):
        first = max(0, -(start // step))
        last = min(count, -((start - n) // step))
        if first >= last:
            return None
        begin = start + first * step
        inside.append(slice(begin, begin + (last - first - 1) * step + 1, step))
        part.append(slice(first, last))
    return tuple(inside), tuple(part)


def runs(tm: TensorMap, a: Allocation, inside: tuple) -> tuple[ndarray, int]:
    """The rows of a part of the array as byte offsets in its memory, and the bytes of a row."""
    array = tm.array
    assert array is not None
    begin = array.__array_interface__["data"][0] - a.data.__array_interface__["data"][0]
    starts = np.array([begin], i64)
    for axis, (stride, s) in enumerate(zip(array.strides, inside, strict=True)):
        if axis == array.ndim - 1:
            return starts + s.start * stride, (s.stop - s.start) * array.itemsize
        starts = (starts[:, None] + np.arange(s.start, s.stop, s.step) * stride).ravel()
    raise AssertionError


def memory_of(machine, tm: TensorMap) -> Allocation:
    """The allocation that holds the map's array: an argument's, else one of its own."""
    from ..arguments import whole

    a = machine.tensor_maps.get(tm.number)
    if a is None:
        assert tm.array is not None
        begin = tm.array.__array_interface__["data"][0]
        for other in machine.memory.ranges.values():
            start = other.data.__array_interface__["data"][0] if len(other.data) else 0
            if other.space == "global" and start <= begin < start + len(other.data):
                a = other
        if a is None:
            root = whole(tm.array)
            data = root.reshape(-1).view(u8)
            a = Allocation("the array of a tensor map", machine.memory.next_base(), data, element=root.itemsize, shape=root.shape)
            a.region = Region(len(data))
            machine.memory.add(a)
        machine.tensor_maps[tm.number] = a
    return a


def map_at(g: Group, iid: int, address: int) -> TensorMap | None:
    """The tensor map at a generic address; None, with a finding, where none is."""
    m = g.batch.machine
    a = m.memory.ranges.get(address >> RANGE)
    raw = bytes(a.data[address - a.base : address - a.base + BYTES]) if a is not None and a.base <= address else b""
    tm = tensor_maps.of_bytes(raw)
    if tm is None or address % 64:
        map_check.not_a_map(g, iid, address, a, tm is not None)
        return None
    return tm


def _boxes(g, iid: int, tensor, fixed: tuple, coordinates: tuple, rank: int):
    """For every lane: its map, and its coordinates in each block."""
    for lane in lanes(g, (tensor, *fixed), coordinates):
        tm = map_at(lane.g, iid, lane.fixed[0] & (1 << 64) - 1)
        if tm is not None and len(tm.box) != rank:
            map_check.wrong_rank(lane.g, iid, tm, rank)
            tm = None
        yield lane, tm, np.stack([np.asarray(c).astype(u32).view(i32).astype(i64) for c in lane.free], axis=1)


def _check_start(lane: Lane, iid: int, tm: TensorMap, where: ndarray, stores: bool) -> None:
    """A finding where the copy engine doesn't take the coordinates in some block; the copy is then done all the same.

    An H200 stops with an illegal instruction where the first coordinate is no multiple of 16 bytes, and where a store or a reduction has a negative one.
    """
    amiss = where[:, 0] * tm.itemsize % 16 != 0
    if stores:
        amiss |= (where < 0).any(axis=1)
    if amiss.any():
        k = int(amiss.argmax())
        memory_of(lane.g.batch.machine, tm)  # its array has a name then
        map_check.refused_start(one_block(lane, k), iid, tm, tuple(where[k].tolist()), stores)


def load(g, iids: tuple[int, int, int], to, tensor, barrier, coordinates: tuple, mask=None) -> None:
    """A box of the array → shared memory; of the blocks of the cluster that `mask` names, if there is one."""
    batch = g.batch
    m = batch.machine
    write, read, at = iids
    for lane, tm, where in _boxes(g, read, tensor, (to, barrier) if mask is None else (to, barrier, mask), coordinates, len(coordinates)):
        if tm is None:
            continue
        to_, columns = local(lane, lane.fixed[1])
        blocks = receivers(lane, write, columns, None if mask is None else lane.fixed[3])
        b = arriving(lane, at, lane.fixed[2], blocks, mask is not None)
        m.tma_requests += len(lane.columns)
        _check_start(lane, read, tm, where, stores=False)
        if not check.shared_place(lane.g, write, to_, tm.rows * tm.pitch, ALIGNMENT, "write"):
            if b is not None:
                for there in blocks:
                    barriers(batch).bytes(b, -tm.nbytes, there)
            continue
        if m.check:
            map_check.aligned_to_pattern(lane.g, write, tm, to_)
            if write not in m.tiles:
                m.tiles[write] = m.faults.shared_at(write, to_)[0]
        data = [_box(lane, k, read, tm, tuple(c), len(blocks), mask is not None) for k, c in enumerate(where.tolist())]
        same = all(x is data[0] for x in data)
        table = data[0][:, None] if same else np.stack(data, axis=1)
        for there in blocks:
            deliver(lane, write, b, words_of(tm, to_), table, tm.nbytes, there, tm.swizzle, tm.element)


def _box(lane: Lane, k: int, iid: int, tm: TensorMap, coordinates: tuple[int, ...], receivers: int, multicast: bool) -> ndarray:
    """A box as 32-bit words, what lies outside of the array filled up. `receivers`: how many blocks get it."""
    m = lane.g.batch.machine
    a = memory_of(m, tm)
    dtype = _UNSIGNED[tm.itemsize]
    fill = _NAN[tm.element] if tm.fill == "nan" else 0
    found = cut(tm, coordinates)
    if found is None:
        m.tma_load_sectors += copy_sectors.filled(tm, None, receivers, multicast)
        return np.full(tm.counts, fill, dtype).reshape(-1).view(u32)
    inside, part = found
    starts, size = runs(tm, a, inside)
    m.tma_load_sectors += copy_sectors.got(a, starts, size, copy_sectors.places_of_rows(tm, part), receivers, multicast)
    m.tma_load_sectors += copy_sectors.filled(tm, part, receivers, multicast)
    check.read_global(one_block(lane, k), iid, a, starts, size)
    m.tma_load_bytes += len(starts) * size
    assert tm.array is not None
    source = tm.array.view(dtype)[inside]
    if source.shape == tm.counts:
        return np.ascontiguousarray(source).reshape(-1).view(u32)
    out = np.full(tm.counts, fill, dtype)
    out[part] = source
    return out.reshape(-1).view(u32)


def store(g, iids: tuple[int, int], tensor, source, coordinates: tuple, operation: str = "") -> None:
    """Shared memory → a box of the array; what lies outside of the array is left out. With an operation, combined with what is there."""
    batch = g.batch
    m = batch.machine
    write, read = iids
    for lane, tm, where in _boxes(g, write, tensor, (source,), coordinates, len(coordinates)):
        if tm is None:
            continue
        source_ = lane.fixed[1]
        m.tma_requests += len(lane.columns)
        _check_start(lane, write, tm, where, stores=True)
        if not check.shared_place(lane.g, read, source_, tm.rows * tm.pitch, ALIGNMENT, "read"):
            continue
        words = words_of(tm, source_)
        groups(batch).issue(lane, read, words)
        a = memory_of(m, tm)
        data = batch.shared.words[words]
        dtype = _UNSIGNED[tm.itemsize]
        assert tm.array is not None
        target = tm.array.view(dtype)
        for k, coordinate in enumerate(where.tolist()):
            found = cut(tm, tuple(coordinate))
            if found is None:
                continue
            inside, part = found
            starts, size = runs(tm, a, inside)
            check.write_global(one_block(lane, k), write, a, starts, size, bool(operation))
            box = np.ascontiguousarray(data[:, lane.columns[k]]).view(dtype).reshape(tm.counts)[part]
            if operation:
                box = reduced(operation, _type_for(operation, tm), np.ascontiguousarray(target[inside]), np.ascontiguousarray(box))
            target[inside] = box
            m.tma_store_bytes += len(starts) * size
            m.tma_store_sectors += copy_sectors.moved(a, starts, size, copy_sectors.places_of_rows(tm, part))
            m.stores += 1


def _type_for(operation: str, tm: TensorMap) -> str:
    if operation in ("and", "or", "xor"):
        return f"b{8 * tm.itemsize}"
    return tm.element


NAMES = {"TMALOAD": load, "TMASTORE": store, "full": full}


def emit_tensor(e: Emitter, i: Instruction) -> None:
    if any(m.startswith("im2col") or m in ("tile::gather4", "tile::scatter4") for m in i.modifiers):
        raise e.unsupported("tensor copies in tile mode only")
    if "prefetch" in i.modifiers:
        return
    gp, ix = e.masked()
    to_global = "bulk_group" in i.modifiers
    first, second = i.operands[0], i.operands[1]
    assert isinstance(first, Address) and isinstance(second, Address)
    tensor, shared = (first, second) if to_global else (second, first)
    coordinates = ",".join(picked(gp, ix, e.use(c, "s32")) for c in tensor.coords)
    places_ = {False: picked(gp, ix, address_text(e, shared)), True: picked(gp, ix, address_text(e, Address(tensor.base, tensor.offset)))}
    if to_global:
        operation = next((m for m in i.modifiers if m in ("add", "min", "max", "inc", "dec", "and", "or", "xor")), "") if "reduce" in i.modifiers else ""
        sites = (e.site("bulk.global"), e.site("bulk.shared", 1))
        line(e, gp, ix, f"TMASTORE({gp},{sites!r},{places_[True]},{places_[False]},({coordinates},),{operation!r})")
        return
    barrier = i.operands[2]
    assert isinstance(barrier, Address)
    sites3 = (e.site("bulk.shared"), e.site("bulk.global", 1), e.site("mbarrier.complete_tx", 2))
    bar = picked(gp, ix, address_text(e, barrier))
    mask = f",{picked(gp, ix, e.use(i.operands[3], 'u16'))}" if "multicast::cluster" in i.modifiers else ""
    line(e, gp, ix, f"TMALOAD({gp},{sites3!r},{places_[False]},{places_[True]},{bar},({coordinates},){mask})")
