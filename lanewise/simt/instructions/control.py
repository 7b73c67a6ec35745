"""mov, setp, selp, branches, calls, and address conversions (PTX ISA 9.7.6, 9.7.8, 9.7.9, 9.7.12)."""

from __future__ import annotations

import numpy as np

from .. import values
from ..blocks import targets
from ..codegen import Emitter, class_of, width_of
from ..memory import LOCAL_WINDOW, SHARED_WINDOW
from ..ptx import Instruction, Reg, Vector
from ..runtime import BUILT_IN
from ..values import MASK, UNSIGNED, f32, f64, full
from .floating import comparison_text


def pack(parts: tuple, width: int, total: int):
    """Parts of `width` bits, lowest first, as one integer."""
    if all(p.__class__ is int for p in parts):
        return sum(p << k * width for k, p in enumerate(parts))
    dtype = UNSIGNED[total]
    out = dtype(0)
    for k, p in enumerate(parts):
        wide = dtype(p) if p.__class__ is int else full(p).astype(dtype)
        out = out | (wide << dtype(k * width) if k else wide)
    return out


def unpack(x, k: int, width: int):
    """Part k of an integer as a value of `width` bits."""
    if x.__class__ is int:
        return x >> k * width & MASK[width]
    x = full(x)
    return (x >> x.dtype.type(k * width) if k else x).astype(UNSIGNED[width])


def select_float(p, a, b):
    if p.__class__ is bool:
        return a if p else b
    return np.where(p, a, b)


NAMES = {
    "PACK": pack, "UNPACK": unpack, "SEL": select_float, "SELI": values.select_int, "NOT": values.lnot, "tidy": values.tidy, "F32": values.float32,
    "F64": values.float64, "B32": values.bits32, "B64": values.bits64, "ZERO32": f32(0), "ZERO64": f64(0), "np": np, "full": full,
}  # fmt: skip


def emit_mov(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a = i.operands
    if isinstance(d, Vector):
        parts = d.items
        width = width_of(type) // len(parts)
        x = e.use(a, f"b{width_of(type)}")
        if isinstance(a, Reg) and len(parts) > 1:
            t = e.temporary()
            e.line(f"{t}={x}")
            x = t
        for k, part in enumerate(parts):
            if part is not None:
                e.define(part, f"b{width}", f"UNPACK({x},{k},{width})")
        return
    if isinstance(a, Vector):
        width = width_of(type) // len(a.items)
        items = ",".join(e.use(p, f"b{width}") for p in a.items)
        e.define(d, f"b{width_of(type)}", f"PACK(({items},),{width},{width_of(type)})")
        return
    if isinstance(a, str):
        e.define(d, type, str(e.code.program.function_address(a)))
        return
    e.define(d, type, e.use(a, type))


def emit_setp(e: Emitter, i: Instruction) -> None:
    op, type = i.modifiers[0], i.modifiers[-1]
    if type in ("f16", "f16x2", "bf16", "bf16x2"):
        from .half import emit_setp_half

        emit_setp_half(e, i)
        return
    d, a, b = i.operands[:3]
    text = comparison_text(e, op, type, a, b)
    first, second = d.items if isinstance(d, Vector) else (d, None)
    if len(i.operands) > 3:
        how = next(m for m in i.modifiers if m in ("and", "or", "xor"))
        c = e.use(i.operands[3], "pred")
        sign = {"and": "&", "or": "|", "xor": "^"}[how]
        t = e.temporary()
        e.line(f"{t}={text}")
        e.define(first, "pred", f"({t}{sign}{c})")
        e.define(second, "pred", f"(NOT({t}){sign}{c})")
        return
    if second is not None:
        t = e.temporary()
        e.line(f"{t}={text}")
        e.define(first, "pred", t)
        e.define(second, "pred", f"NOT({t})")
        return
    e.define(first, "pred", text)


def emit_set(e: Emitter, i: Instruction) -> None:
    op, to, type = i.modifiers[0], i.modifiers[-2], i.modifiers[-1]
    if type in ("f16", "f16x2", "bf16", "bf16x2"):
        from .half import emit_set_half

        emit_set_half(e, i)
        return
    d, a, b = i.operands[:3]
    p = comparison_text(e, op, type, a, b)
    if len(i.operands) > 3:
        how = next(m for m in i.modifiers if m in ("and", "or", "xor"))
        p = f"({p}{ {'and': '&', 'or': '|', 'xor': '^'}[how] }{e.use(i.operands[3], 'pred')})"
    if to == "f32":
        e.define(d, "f32", f"SEL({p},{e.constant(f32(1))},ZERO32)")
    else:
        e.define(d, to, f"SELI({p},{MASK[32]},0,32)")


def emit_selp(e: Emitter, i: Instruction) -> None:
    type = i.modifiers[-1]
    d, a, b, p = i.operands
    x, y, c = e.use(a, type), e.use(b, type), e.use(p, "pred")
    if class_of(type) == "int":
        e.define(d, type, f"SELI({c},{x},{y},{width_of(type)})")
    else:
        e.define(d, type, f"SEL({c},{x},{y})")


def emit_slct(e: Emitter, i: Instruction) -> None:
    type, by = i.modifiers[-2:]
    d, a, b, c = i.operands
    p = f"tidy({e.use(c, 'f32')}>=0)" if by == "f32" else f"ICMP_ge_32_True({e.use(c, 's32')},0)"
    x, y = e.use(a, type), e.use(b, type)
    e.define(d, type, f"SELI({p},{x},{y},{width_of(type)})" if class_of(type) == "int" else f"SEL({p},{x},{y})")


WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}


def emit_cvta(e: Emitter, i: Instruction) -> None:
    """Generic addresses of shared and local memory lie in windows of their own; global ones are the same."""
    space = next(m.split("::")[0] for m in i.modifiers if m not in ("to", "u64", "u32"))
    d, a = i.operands
    x = e.use(a, "u64")
    if space in WINDOWS:
        base = WINDOWS[space]
        x = f"ADD64({x},{(-base if 'to' in i.modifiers else base) & MASK[64]})"
    e.define(d, "u64", x)


def emit_bra(e: Emitter, i: Instruction) -> bool:
    graph = e.code.graph
    target = graph.block_at[targets(graph.function, i)[0]]
    if i.predicate is None:
        e.line(f"return {target}")
    else:
        p = e.use(i.predicate, "pred")
        e.line(f"p={p}")
        other = e.block.index + 1
        # the branch itself comes after the registers are written back: the last line stays last
        e.line(f"return {target} if p is True else {other} if p is False else BRANCH(g,p,{target},{other})")
    return True


def emit_brx(e: Emitter, i: Instruction) -> bool:
    graph = e.code.graph
    table = tuple(graph.block_at[t] for t in targets(graph.function, i))
    e.line(f"return BRX(g,{e.use(i.operands[0], 'u32')},{table!r})")
    return True


def emit_leave(e: Emitter, i: Instruction) -> bool:
    name = {"ret": "RET", "exit": "EXIT", "trap": "TRAP", "brkpt": "TRAP"}[i.opcode]
    if i.predicate is None:
        e.line(f"return {name}(g)")
    else:
        p = e.use(i.predicate, "pred")
        e.line(f"return LEAVE(g,{p},{name},{e.block.index + 1})")
    return True


def emit_call(e: Emitter, i: Instruction) -> bool:
    """Parameters are kept in slots of their own (see `Code.param_slot`), so the machine needs only the names."""
    returned = i.operands[0].items if isinstance(i.operands[0], Vector) else ()
    callee = i.operands[1]
    if isinstance(callee, str) and callee not in BUILT_IN:
        function = e.code.program.module.functions.get(callee)
        if function is None or not function.defined:
            raise e.unsupported(f"{callee}() is not there: the simulator knows the functions of the source, printf and assert")
    name = repr(callee) if isinstance(callee, str) else e.use(callee, "u64")
    e.line(f"return CALL(g,{name},{tuple(str(a) for a in i.args)!r},{tuple(str(r) for r in returned)!r},{e.block.index + 1})")
    return True


def emit_barrier(e: Emitter, i: Instruction) -> bool | None:
    """The machine parks and releases; the block only says what it waits for: (id, threads or None, mode, predicate)."""
    if "warp" in i.modifiers:
        e.line("WARPSYNC(g)")
        return None
    if "cluster" in i.modifiers:
        from . import cluster

        e.code.program.names(cluster.NAMES)
        return cluster.emit_barrier_cluster(e, i)
    numbers = [m for m in i.modifiers]
    mode = "arrive" if "arrive" in numbers else "red" if "red" in numbers else "sync"
    operands = list(i.operands)
    result = operands.pop(0) if mode == "red" else None
    p = "None"
    if mode == "red":
        p = e.use(operands.pop(), "pred")
    id_text = e.use(operands[0], "u32") if operands else "0"
    count = e.use(operands[1], "u32") if len(operands) > 1 else "None"
    how = next((m for m in numbers if m in ("popc", "and", "or")), "")
    slot = e.slot(result.name) if isinstance(result, Reg) else None
    e.line(f"return BARRIER(g,{id_text},{count},{mode!r},{how!r},{p},{slot},{e.block.index + 1})")
    return True


EMIT = {
    "mov": emit_mov, "setp": emit_setp, "set": emit_set, "selp": emit_selp, "slct": emit_slct, "cvta": emit_cvta, "bra": emit_bra, "brx": emit_brx,
    "ret": emit_leave, "exit": emit_leave, "trap": emit_leave, "brkpt": emit_leave, "call": emit_call, "bar": emit_barrier, "barrier": emit_barrier,
}  # fmt: skip
