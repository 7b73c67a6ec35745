"""How the copy engine cuts its copies: one copy a launch, of rows and runs that begin anywhere in global and in shared memory.

Names say it in bytes: `size_source_destination` of a run; of a box its extent, the array's, and where it begins (m: minus), the last number in bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from families.case import Case

from .copies import HEAD, READY

BEGIN = """    __shared__ __align__(1024) unsigned tile[2048];
    __shared__ __align__(8) unsigned long long full;
    const unsigned to = shared_address(tile), bar = shared_address(&full);
    const int t = threadIdx.x;
"""
WAIT = "    __syncthreads();\n    mbarrier_wait_parity(bar, 0);\n"
ONES = {"float32": 0x3F800000, "float16": 0x3C003C00, "uint32": 1, "uint64": 1, "int32": 1}  # a word of 1.0, or of small numbers
KINDS = {"float32": "f32", "float16": "noftz.f16", "uint32": "u32", "uint64": "u64", "int32": "s32"}
SPANS = {"none": 0, "32B": 32, "64B": 64, "128B": 128}


def case(entry: str, parameters: str, body: str, args: Callable[[], list], output: int, expect: Callable[..., np.ndarray], blocks: int = 1) -> Case:
    qualifier = f"__cluster_dims__({blocks}, 1, 1) " if blocks > 1 else ""
    source = f'{HEAD}extern "C" __global__ void {qualifier}{entry}({parameters}) {{\n{BEGIN}{body}}}\n'
    return Case(name=f"copies.{entry}", source=source, entry=entry, args=args, outputs=(output,), expect=lambda *given: [expect(*given)], grid=blocks, block=64)


def words(count: int, dtype: str = "uint32") -> np.ndarray:
    return np.arange(1, count + 1, dtype=np.uint32).view(dtype)


def write_out(count: int, place: str = "i") -> str:
    return f"#pragma unroll 1\n    for (int i = t; i < {count}; i += 64) y[i] = tile[{place}];\n"


def filled(count: int, value: str, place: str = "i") -> str:
    return f"#pragma unroll 1\n    for (int i = t; i < {count}; i += 64) tile[{place}] = {value};\n    fence_proxy_async();\n    __syncthreads();\n"


def sent(copy: str) -> str:
    return f"    if (t == 0) {{\n        {copy}\n        bulk_commit();\n        bulk_wait<0>();\n    }}\n"


# ------------------------------------------------------------------------------------------------ runs of bytes


def run_load(size: int, source: int, to: int) -> Case:
    def expect(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x[source // 4 :][: size // 4].copy()

    body = f"{READY.replace('BYTES', str(size))}    if (t == 0) bulk_load(to + {to}, x + {source // 4}, {size}, bar);\n{WAIT}"
    return case(
        f"run_load_{size}_{source}_{to}", "const unsigned* x, unsigned* y", body + write_out(size // 4, f"i + {to // 4}"),
        lambda: [words((source + size) // 4 + 8), np.zeros(size // 4, np.uint32)], 1, expect,
    )  # fmt: skip


def run_store(size: int, source: int, to: int, operation: str = "", dtype: str = "uint32") -> Case:
    """`source`: in shared memory."""

    def expect(y: np.ndarray) -> np.ndarray:
        out, new = y.copy(), np.full(size // 4, ONES[dtype], np.uint32) if operation else 7 + np.arange(size // 4, dtype=np.uint32)
        part = out[to // 4 :][: size // 4].view(dtype)
        combine: dict[str, Callable] = {"": lambda old, new: new, "add": np.add, "min": np.minimum, "or": np.bitwise_or}
        part[...] = combine[operation](part, new.view(dtype))
        return out

    copy = f"bulk_store(y + {to // 4}, to + {source}, {size});"
    if operation:
        kind = {"or": f"b{8 * np.dtype(dtype).itemsize}"}.get(operation, KINDS[dtype])
        copy = f'asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}.{kind} [%0], [%1], %2;" '
        copy += f'::"l"(y + {to // 4}), "r"(to + {source}), "r"({size}) : "memory");'
    value = f"{ONES[dtype]}u" if operation else "7 + i"
    return case(
        f"run_{operation or 'store'}_{size}_{source}_{to}" + (f"_{dtype}" if operation else ""), "unsigned* y",
        filled(size // 4, value, f"i + {source // 4}") + sent(copy),
        lambda: [np.full((to + size) // 4 + 8, 2 if operation != "add" else 0, np.uint32)], 0, expect,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------ boxes


def place(inner: int, swizzle: str) -> str:
    """Where word `i` of a box lies, as C."""
    span = SPANS[swizzle]
    if not span:
        return "i"
    return f"({span} * (i / {inner // 4}) + 4 * (i % {inner // 4}) ^ (({span} * (i / {inner // 4}) >> 7 & {span // 16 - 1}) << 4)) / 4"


def coordinates(at: tuple[int, ...]) -> str:
    return ", ".join(str(c) for c in reversed(at))


def named(way: str, shape: tuple[int, ...], box: tuple[int, ...], at: tuple[int, ...], dtype: str, more: str) -> str:
    size = np.dtype(dtype).itemsize
    parts = ("x".join(map(str, (*axes[:-1], axes[-1] * size))) for axes in (box, shape, at))
    return "{}_{}_of_{}_at_{}".format(way, *parts).replace("-", "m") + (f"_{dtype}" if dtype != "float32" else "") + more


def overlap(shape: tuple[int, ...], box: tuple[int, ...], at: tuple[int, ...], steps: tuple[int, ...]) -> tuple[Any, Any]:
    """(where in the array, where in the box) the box has elements of the array."""
    axes = [a + np.arange(0, b, s) for a, b, s in zip(at, box, steps, strict=True)]
    inside = [(i >= 0) & (i < n) for i, n in zip(axes, shape, strict=True)]
    return np.ix_(*(i[k] for i, k in zip(axes, inside, strict=True))), np.ix_(*(np.flatnonzero(k) for k in inside))


def box_load(
    shape: tuple[int, ...], box: tuple[int, ...], at: tuple[int, ...], dtype: str = "float32", swizzle: str = "none", fill: str = "zero", l2: str = "none",
    step: int = 1,
) -> Case:  # fmt: skip
    """`at`: in the order of the array's axes. `step`: along the last but one."""
    rank, size = len(shape), np.dtype(dtype).itemsize
    steps = tuple(step if axis == rank - 2 else 1 for axis in range(rank))
    counts = tuple(-(-b // s) for b, s in zip(box, steps, strict=True))
    nbytes = int(np.prod(counts)) * size

    def args() -> list:
        from lanewise import simt

        x = words(int(np.prod(shape)) * size // 4, dtype).reshape(shape)
        return [simt.tensor_map(x, box, swizzle, element_strides=steps, fill=fill, l2=l2), np.zeros(nbytes // 4, np.uint32)]

    def expect(x: Any, y: np.ndarray) -> np.ndarray:
        out = np.zeros(counts, dtype)
        if fill == "nan":
            out.view(np.uint32)[...] = 0x7FF77FF7
        there, here = overlap(shape, box, at, steps)
        out[here] = x.passed[there]
        return out.reshape(-1).view(np.uint32)

    options = (swizzle if swizzle != "none" else "", fill if fill != "zero" else "", f"l2_{l2}" if l2 != "none" else "", f"step_{step}" if step > 1 else "")
    copy = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {{{coordinates(at)}}}], [%2];"
    body = f"""{READY.replace("BYTES", str(nbytes))}    if (t == 0) asm volatile("{copy}" ::"r"(to), "l"(&x), "r"(bar) : "memory");
{WAIT}{write_out(nbytes // 4, place(box[-1] * size, swizzle))}"""
    entry = named("box_load", shape, box, at, dtype, "".join(f"_{word}" for word in options if word))
    return case(entry, "const __grid_constant__ TensorMap x, unsigned* y", body, args, 1, expect)


def box_store(shape: tuple[int, ...], box: tuple[int, ...], at: tuple[int, ...], dtype: str = "float32", swizzle: str = "none", add: bool = False) -> Case:
    rank, size = len(shape), np.dtype(dtype).itemsize
    inner, nbytes = box[-1] * size, int(np.prod(box)) * size

    def args() -> list:
        from lanewise import simt

        return [simt.tensor_map(np.full(shape, 2 if add else 0, dtype), box, swizzle)]

    def expect(x: Any) -> np.ndarray:
        out = x.passed.copy()
        there, here = overlap(shape, box, at, (1,) * rank)
        new = np.full(nbytes // 4, ONES[dtype], np.uint32) if add else 7 + np.arange(nbytes // 4, dtype=np.uint32)
        part = new.view(dtype).reshape(box)[here]
        out[there] = out[there] + part if add else part
        return out

    verb = "reduce.async.bulk.tensor" if add else "async.bulk.tensor"
    copy = f'asm volatile("cp.{verb}.{rank}d.global.shared::cta{".add" if add else ""}.tile.bulk_group [%0, {{{coordinates(at)}}}], [%1];" '
    copy += '::"l"(&x), "r"(to) : "memory");'
    body = filled(nbytes // 4, f"{ONES[dtype]}u" if add else "7 + i", place(inner, swizzle)) + sent(copy)
    entry = named("box_add" if add else "box_store", shape, box, at, dtype, f"_{swizzle}" if swizzle != "none" else "")
    return case(entry, "const __grid_constant__ TensorMap x", body, args, 0, expect)


# ------------------------------------------------------------------------------------------------ what is asked for ahead


def prefetch(entry: str, parameter: str, operands: str, given: str) -> Case:
    """Of a run, or of a box, into L2: the kernel writes one number of its own."""

    def args() -> list:
        from lanewise import simt

        x = words(1024, "float32").reshape(16, 64)
        return [simt.tensor_map(x, (8, 32)) if "Map" in parameter else x, np.zeros(64, np.uint32)]

    body = f'    if (t == 0) asm volatile("cp.async.bulk.prefetch.{operands};" ::{given} : "memory");\n    y[t] = t + (to + bar) % 1;\n'
    return case(entry, f"{parameter} x, unsigned* y", body, args, 1, lambda x, y: np.arange(64, dtype=np.uint32))


# ------------------------------------------------------------------------------------------------ which

RUNS = [
    *(run_load(2048, source, to) for source, to in (
        (0, 0), (16, 0), (32, 0), (112, 0), (0, 16), (0, 32), (0, 112), (16, 16), (112, 112), (16, 32), (48, 16), (112, 16), (16, 112),
    )),
    *(run_load(*run) for run in (
        (16, 16, 0), (48, 16, 0), (128, 16, 0), (144, 16, 0), (128, 16, 16), (128, 0, 16), (96, 112, 0), (96, 0, 112), (256, 16, 16), (48, 0, 96),
        (48, 16, 112), (4096, 16, 0), (4096, 0, 16),
    )),
    *(run_store(2048, source, to) for source, to in ((0, 16), (0, 112), (16, 0), (112, 0), (16, 16), (16, 112))),
    *(run_store(*run) for run in ((48, 96, 16), (48, 96, 0), (128, 16, 0), (160, 0, 16), (4096, 0, 16))),
    run_store(2048, 16, 0, "add", "float32"), run_store(2048, 16, 16, "add", "float32"), run_store(2048, 0, 16, "add", "float16"),
    run_store(2048, 16, 0, "add", "uint64"), run_store(2048, 0, 16, "min", "int32"), run_store(2048, 16, 32, "or", "uint32"),
]  # fmt: skip
BOXES = [
    # rows of all lengths, beginning at a sector and in its middle
    *(box_load((16, 128), (8, inner // 4), (3, shift // 4)) for inner in (16, 48, 64, 80, 112, 128, 144, 256) for shift in (0, 16)),
    *(box_load((16, 68), (8, inner // 4), (3, 12)) for inner in (48, 80, 112, 144, 208)),
    # rows that end, or begin, outside of the array; boxes with rows outside
    *(box_load((16, 68), (8, inner // 4), (3, at // 4)) for inner, at in ((48, 240), (80, 224), (112, 192), (144, 256), (256, 144))),
    *(box_load((16, 68), (8, inner // 4), (3, at // 4)) for inner, at in ((48, -16), (80, -48), (144, -96))),
    *(box_load((6, 64), (8, inner // 4), (row, 4)) for inner, row in ((48, 3), (80, -2), (144, 3), (48, 20))),
    # other ranks
    box_load((512,), (256,), (4,)), box_load((512,), (12,), (4,)), box_load((512,), (40,), (-8,)),
    box_load((4, 4, 64), (2, 3, 12), (1, 1, 4)), box_load((4, 4, 68), (3, 3, 20), (2, 2, 4)), box_load((3, 3, 3, 64), (2, 2, 2, 12), (1, 1, 1, 4)),
    # arrays that end amid 16 bytes
    *(box_load((37,), (elements,), (at,)) for elements, at in ((12, 28), (20, 20), (16, 32), (8, 36))), box_load((100,), (64,), (48,), "uint8"),
    box_load((100,), (16,), (96,), "uint8"),
    # the swizzles' own pitch
    box_load((16, 64), (8, 12), (3, 4), swizzle="64B"), box_load((16, 64), (8, 12), (3, 8), swizzle="128B"), box_load((16, 64), (16, 4), (0, 4), swizzle="32B"),
    box_load((16, 64), (8, 20), (3, 4), swizzle="128B"), box_load((16, 68), (8, 12), (3, 60), swizzle="64B"),
    box_load((16, 68), (8, 28), (3, 52), swizzle="128B"),
    box_load((16, 68), (16, 8), (0, 64), swizzle="32B"), box_load((16, 68), (8, 12), (3, 64), swizzle="128B"),
    box_load((16, 64), (16, 32), (0, 4), swizzle="128B"),
    # element types, fillings, how much L2 fetches, steps
    box_load((16, 256), (8, 48), (3, 16), "uint8"), box_load((16, 128), (8, 24), (3, 8), "float16"), box_load((16, 32), (8, 6), (3, 2), "float64"),
    box_load((4, 256), (2, 256), (1, 2), "float64"), box_load((16, 136), (8, 56), (3, 104), "float16"), box_load((16, 68), (8, 12), (3, 60), fill="nan"),
    *(box_load((16, 64), (8, 20), (3, 4), l2=l2) for l2 in ("none", "64B", "256B")), box_load((16, 64), (8, 4), (3, 4), l2="256B"),
    box_load((32, 64), (16, 12), (3, 4), step=2),
    # stores
    *(box_store((16, 128), (8, inner // 4), (3, shift // 4)) for inner, shift in ((48, 0), (48, 16), (80, 16), (112, 16), (144, 0), (144, 16), (256, 16))),
    *(box_store((16, 68), (8, inner // 4), (3, at // 4)) for inner, at in ((48, 48), (48, 240), (112, 192), (256, 144))),
    box_store((6, 64), (8, 12), (3, 4)), box_store((512,), (256,), (4,)), box_store((4, 4, 68), (3, 3, 20), (2, 2, 4)),
    box_store((37,), (12,), (28,)), box_store((37,), (20,), (20,)), box_store((100,), (64,), (48,), "uint8"), box_store((100,), (16,), (96,), "uint8"),
    box_store((16, 64), (8, 12), (3, 4), swizzle="64B"), box_store((16, 136), (8, 56), (3, 104), "float16", "128B"),
    box_store((16, 32), (8, 6), (3, 2), "float64"),
    box_store((16, 64), (8, 12), (3, 4), add=True), box_store((16, 68), (8, 20), (3, 4), add=True),
    box_store((16, 136), (8, 56), (3, 104), "float16", add=True),
]  # fmt: skip
AHEAD = [
    prefetch("run_ahead", "const float*", "L2.global [%0], %1", '"l"(x + 4), "r"(2048)'),
    prefetch("box_ahead", "const __grid_constant__ TensorMap", "tensor.2d.L2.global.tile [%0, {4, 3}]", '"l"(&x)'),
]
CASES: list[Case] = [*RUNS, *BOXES, *AHEAD]
