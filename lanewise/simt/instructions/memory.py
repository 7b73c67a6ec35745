"""ld, st and what goes with them: parameters, cache hints, prefetches (PTX ISA 9.7.9)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import access, global_access, local_access, shared_access
from ..codegen import Emitter, vector, width_of
from ..group import Group
from ..memory import LOCAL_WINDOW, RANGE, SHARED_WINDOW
from ..ptx import Address, Instruction, Reg, Symbol
from ..shapes import take_rows
from ..values import Split, Value, f32, f64, full, ndarray, tidy, u8, u16, u32, u64

DTYPE = {"f32": f32, "f64": f64}
SPACES = {"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry", "param::func"}
STRONG = {"volatile", "relaxed", "acquire", "release", "mmio"}
ORDERED = STRONG - {"volatile"}  # what is atomic in shared memory too


def dtype_for(type: str) -> Any:
    return DTYPE.get(type) or {8: u8, 16: u16, 32: u32, 64: u64}[width_of(type)]


def space_of(i: Instruction) -> str:
    return next((m.split("::")[0] for m in i.modifiers if m in SPACES), "generic")


def address_text(e: Emitter, a: Address) -> str:
    """An expression for the 64-bit (or 32-bit shared) address of an operand."""
    if a.base is None:
        return str(a.offset & v64)
    if isinstance(a.base, Symbol):
        return e.symbol(Symbol(a.base.name, a.base.offset + a.offset))
    base = e.variable(a.base.name)
    if not a.offset:
        return base
    return f"ADD{width_of(a.base.type)}({base},{a.offset & ((1 << width_of(a.base.type)) - 1)})"


v64 = (1 << 64) - 1


def sub(g: Group, p: Value) -> tuple[Group | None, ndarray | None]:
    """(group of the lanes where p holds, their indices): (g, None) if all, (None, None) if none."""
    if p.__class__ is bool:
        return (g, None) if p else (None, None)
    if p.all():
        return g, None
    if not p.any():
        return None, None
    if g.cols is None and p.shape[1] == 1:
        index = np.flatnonzero(np.broadcast_to(p, (g.n, 1)))
        child = Group(g.batch, g.rows[index], None, g.pc, [], g.code)
    else:
        index = np.flatnonzero(np.broadcast_to(p, g.shape).ravel())
        child = access.lanes_group(g, index)
    child.frames = g.frames
    return child, index


def pick(g: Group, child: Any, x: Value, index: ndarray | None) -> Value:
    """A register's value for the lanes of `child`, made by `sub`."""
    if index is None or x.__class__ not in (ndarray, Split):
        return x
    if child.cols is None or g.cols is not None:
        return take_rows(x, index)
    x = x.full() if x.__class__ is Split else x
    return np.broadcast_to(x, g.shape).reshape(-1, 1)[index]


def put_back(g: Group, child: Group | None, x: Value, index: ndarray | None, old: Value) -> Value:
    """`old` with the lanes of `child` replaced by x."""
    if index is None:
        return x
    if child is None:
        return old
    x = x.full() if x.__class__ is Split else x
    old = old.full() if old.__class__ is Split else old
    if x.__class__ is int:
        dtype = old.dtype if old.__class__ is ndarray else u32 if max(x, old) < 1 << 32 else u64
    else:
        dtype = x.dtype
    if child.cols is None or g.cols is not None:
        columns = max(x.shape[1] if x.__class__ is ndarray else 1, old.shape[1] if old.__class__ is ndarray else 1)
        out = np.array(np.broadcast_to(np.asarray(old, dtype), (g.n, columns)))
        out[index] = x
        return out
    out = np.array(np.broadcast_to(np.asarray(old, dtype), g.shape))
    out.reshape(-1)[index] = x[:, 0] if x.__class__ is ndarray else x
    return out


NAMES = {
    "LDG": global_access.load_global, "STG": global_access.store_global, "LDS": shared_access.load_shared, "STS": shared_access.store_shared,
    "LDL": local_access.load_local, "STL": local_access.store_local,
    "LD": global_access.load_generic, "ST": global_access.store_generic, "SUB": sub, "PICK": pick, "PUT": put_back,
    "U8": u8, "U16": u16, "U32": u32, "U64": u64, "FP32": f32, "FP64": f64,
}  # fmt: skip
_NAME = {u8: "U8", u16: "U16", u32: "U32", u64: "U64", f32: "FP32", f64: "FP64"}
_LOAD = {"global": "LDG", "const": "LDG", "shared": "LDS", "local": "LDL", "generic": "LD"}
_STORE = {"global": "STG", "shared": "STS", "local": "STL", "generic": "ST"}


def _widened(name: str, type: str, register: Any) -> str:
    """A loaded integer of `type` in the (possibly wider) register."""
    held, width = width_of(register.type), width_of(type)
    if held > width and type not in DTYPE:
        return f"RESIZE({name},{width},{type[0] == 's'},{held})"
    return name


def emit_ld(e: Emitter, i: Instruction) -> None:
    type, space = i.modifiers[-1], space_of(i)
    targets = vector(i.operands[0])
    address: Address = i.operands[1]  # type: ignore[assignment]
    if space == "param":
        _load_param(e, i, type, targets, address)
        return
    strong = _strength(i)
    atomic = strong or int(e.index in e.code.guesses)
    dtype, size = dtype_for(type), width_of(type) // 8
    gp, ix = e.masked()
    where = address_text(e, address)
    iid = e.site(f"ld.{space}")
    t = e.temporary()
    if ix != "None":
        where = f"PICK(g,{gp},{where},{ix})"
    extra = f",{e.index not in e.code.left_out},{atomic}" if _LOAD[space] in ("LDG", "LD") else f",{strong}"
    call = f"{_LOAD[space]}({gp},{iid},{where},{_NAME[dtype]},{size},{len(targets)}{extra})"
    e.line(f"{t}={call}" if ix == "None" else f"{t}=None if {gp} is None else {call}")
    if strong == 2 or strong and space != "shared":
        e.line(f"ACQUIRE({gp},{where})" if ix == "None" else f"if {gp} is not None: ACQUIRE({gp},{where})")
    for j, target in enumerate(targets):
        if target is None:
            continue
        item = f"{t}[{j}]" if len(targets) > 1 else t
        define_where(e, target, type, item, gp, ix)


def _strength(i: Instruction) -> int:
    """0 for a plain access, 1 for a volatile one, 2 for one of the memory model's own."""
    return 2 if ORDERED & set(i.modifiers) else int("volatile" in i.modifiers)


def fence_of(i: Instruction, gp: str) -> str:
    """A release is a fence, and then the access (PTX ISA 8.8, "Release and Acquire Patterns")."""
    if not {"release", "acq_rel"} & set(i.modifiers):
        return ""
    return f"FENCE({gp},{'cta' if 'cta' in i.modifiers else 'gpu'!r});"


def define_where(e: Emitter, target: Any, type: str, item: str, gp: str, ix: str) -> None:
    """Assign what the lanes `gp` of a masked instruction got; the others keep what they had."""
    made = _widened(item, type, target)
    if ix == "None":
        e.define(target, type if width_of(type) >= 16 else "b16", made)
        return
    old = e.variable(target.name) if target.name in e.block.live_in or e.slot(target.name) in e.written else e.zero(target.type)
    slot = e.slot(target.name)
    e.loaded.add(slot)
    e.written.add(slot)
    if type in DTYPE and target.type not in DTYPE:
        made = f"B{width_of(type)}({made})"
    elif target.type in DTYPE and type not in DTYPE:
        made = f"F{width_of(type)}({made})"
    e.line(f"r{slot}={old} if {gp} is None else PUT(g,{gp},{made},{ix},{old})")


def emit_st(e: Emitter, i: Instruction) -> None:
    if "bulk" in i.modifiers:
        raise e.unsupported("it needs sm_100")
    type, space = i.modifiers[-1], space_of(i)
    address: Address = i.operands[0]  # type: ignore[assignment]
    sources = vector(i.operands[1])
    if space == "param":
        e.define_param(address, type, sources)
        return
    strong = _strength(i)
    dtype, size = dtype_for(type), width_of(type) // 8
    gp, ix = e.masked()
    where = address_text(e, address)
    iid = e.site(f"st.{space}")
    values = [e.use(s, type if width_of(type) >= 16 else "b16") for s in sources]
    values = [_cut(x, type, s) for x, s in zip(values, sources, strict=True)]
    if ix != "None":
        where = f"PICK(g,{gp},{where},{ix})"
        values = [f"PICK(g,{gp},{x},{ix})" for x in values]
    extra = f",{e.index not in e.code.left_out},{strong}" if _STORE[space] in ("STG", "ST") else f",{strong}"
    call = f"{_STORE[space]}({gp},{iid},{where},({','.join(values)},),{_NAME[dtype]},{size}{extra})"
    if strong == 2 or strong and space != "shared":
        call = f"{fence_of(i, gp)}RELEASE({gp},{where});" + call
    e.line(call if ix == "None" else f"if {gp} is not None: {call}")


def _cut(text: str, type: str, operand: Any) -> str:
    """A register may be wider than what is stored."""
    width = width_of(type)
    held = width_of(operand.type) if hasattr(operand, "type") else width
    if type in DTYPE or held == width:
        return text
    return f"RESIZE({text},{held},False,{width})"


def _load_param(e: Emitter, i: Instruction, type: str, targets: tuple, address: Address) -> None:
    size = width_of(type) // 8
    held_as = type if width_of(type) >= 16 else "b16"
    for j, target in enumerate(targets):
        if target is None:
            continue
        if isinstance(address.base, Symbol) and address.base.name in e.code.entry_params:
            made = f"PARAM(g,{address.base.name!r},{address.base.offset + address.offset + j * size},{_NAME[dtype_for(type)]})"
            e.define(target, held_as, _widened(made, type, target))
        elif isinstance(address.base, Symbol):
            slot = e.code.param_slot(address.base.name, address.base.offset + address.offset + j * size)
            if slot not in e.written:
                e.line(f"r{slot}=R[{slot}]")
            e.code.graph.slots.setdefault(f"%param{slot}", slot)
            made = e.use(Reg(f"%param{slot}", e.code.slot_types[slot]), held_as)
            e.define(target, held_as, _widened(made, type, target))
        else:  # a computed address inside a struct parameter
            where = address_text(e, address)
            t = e.temporary()
            e.line(f"{t}=LDG(g,{e.site('ld.param')},ADD64({where},{j * size}),{_NAME[dtype_for(type)]},{size},1,False)")
            e.define(target, held_as, _widened(t, type, target))


def load_param(g: Group, name: str, offset: int, dtype: Any) -> Value:
    """A field of a kernel parameter: the same in every lane."""
    return g.batch.machine.parameter(name, offset, dtype)


NAMES["PARAM"] = load_param


def emit_nothing(e: Emitter, i: Instruction) -> None:
    """Hints that change no result."""


def emit_policy(e: Emitter, i: Instruction) -> None:
    """createpolicy: how long the cache should keep what an access with this policy brings. It changes no result; 0 is as good as what a GPU makes."""
    e.define(i.operands[0], "b64", "0")


def emit_isspacep(e: Emitter, i: Instruction) -> None:
    e.define(i.operands[0], "pred", f"ISSPACE({i.modifiers[0].split('::')[0]!r},{e.use(i.operands[1], 'u64')})")


def is_space(space: str, address: Value) -> Value:
    """isspacep: whether a generic address lies in the space."""
    window = full(address) >> (RANGE if address.__class__ is int else u64(RANGE))
    where = {"shared": SHARED_WINDOW >> RANGE, "local": LOCAL_WINDOW >> RANGE}
    if space in where:
        return tidy(window == where[space])
    return tidy((window != where["shared"]) & (window != where["local"]))


NAMES["ISSPACE"] = is_space
_HINTS = ("prefetch", "prefetchu", "discard", "applypriority", "nanosleep", "griddepcontrol", "pmevent")
EMIT = {"ld": emit_ld, "ldu": emit_ld, "st": emit_st, "isspacep": emit_isspacep, "createpolicy": emit_policy, **dict.fromkeys(_HINTS, emit_nothing)}
