"""Copies of the copy engine for other blocks of a cluster: multicasts, and what goes from one block's shared memory to another's.

One copy a launch, named as in `pieces`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from families.case import Case

from .pieces import case, coordinates, filled, named, overlap, place, words, write_out

MULTICAST = """    const int rank = cluster_rank();
    const bool mine = MASK >> rank & 1;
    if (t == 0) {
        mbarrier_init(bar, 1);
        fence_mbarrier_init();
        if (mine) mbarrier_arrive_expect_tx(bar, BYTES);
    }
    cluster_arrive();
    cluster_wait();
    if (t == 0 && rank == 0) asm volatile("COPY" ::OPERANDS : "memory");
    if (mine) {
        mbarrier_wait_parity(bar, 0);
RESULT    }
    cluster_arrive();
    cluster_wait();
"""
NAMES = {2: "two", 4: "four"}


def multicast(nbytes: int, blocks: int, mask: int | None, copy: str, operands: str, place: str) -> tuple[str, str, list[int]]:
    """The body of a kernel whose block 0 copies for those of the cluster that `mask` names (None: all); the end of its name; 1 for these blocks."""
    mask_ = (1 << blocks) - 1 if mask is None else mask
    result = write_out(nbytes // 4, place).replace("y[i]", f"y[{nbytes // 4} * rank + i]")
    words = {"MASK": str(mask_), "BYTES": str(nbytes), "COPY": f"{copy}, {mask_};", "OPERANDS": operands, "RESULT": result}
    body = MULTICAST
    for name, text in words.items():
        body = body.replace(name, text)
    return body, f"_to_{NAMES[blocks]}" + ("" if mask is None else f"_mask_{mask}"), [mask_ >> rank & 1 for rank in range(blocks)]


def run_to(size: int, source: int, to: int, blocks: int = 2, mask: int | None = None) -> Case:
    body, end, receive = multicast(
        size, blocks, mask, "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3]",
        f'"r"(to + {to}), "l"(x + {source // 4}), "r"({size}), "r"(bar)', f"i + {to // 4}",
    )  # fmt: skip
    return case(
        f"run_load_{size}_{source}_{to}{end}", "const unsigned* x, unsigned* y", body,
        lambda: [words((source + size) // 4 + 8), np.zeros((blocks, size // 4), np.uint32)], 1,
        lambda x, y: np.outer(receive, x[source // 4 :][: size // 4]).astype(np.uint32), blocks,
    )  # fmt: skip


def box_to(shape: tuple[int, ...], box: tuple[int, ...], at: tuple[int, ...], blocks: int = 2, mask: int | None = None, swizzle: str = "none") -> Case:
    """Of float32; `at` is in the order of the array's axes."""
    nbytes = 4 * int(np.prod(box))

    def args() -> list:
        from lanewise import simt

        x = words(int(np.prod(shape)), "float32").reshape(shape)
        return [simt.tensor_map(x, box, swizzle), np.zeros((blocks, nbytes // 4), np.uint32)]

    def expect(x: Any, y: np.ndarray) -> np.ndarray:
        out = np.zeros(box, np.float32)
        there, here = overlap(shape, box, at, (1,) * len(shape))
        out[here] = x.passed[there]
        return np.outer(receive, out.view(np.uint32)).astype(np.uint32)

    copy = f"cp.async.bulk.tensor.{len(shape)}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
    copy += f"[%0], [%1, {{{coordinates(at)}}}], [%2]"
    body, end, receive = multicast(nbytes, blocks, mask, copy, '"r"(to), "l"(&x), "r"(bar)', place(4 * box[-1], swizzle))
    entry = named("box_load", shape, box, at, "float32", (f"_{swizzle}" if swizzle != "none" else "") + end)
    return case(entry, "const __grid_constant__ TensorMap x, unsigned* y", body, args, 1, expect, blocks)


def run_between(size: int, source: int, to: int, add: bool = False) -> Case:
    """From the shared memory of one block of a cluster to the other's, where ones lie if it adds."""
    verb, end = ("reduce.async.bulk", ".add.u32") if add else ("async.bulk", "")
    body = f"""    if (cluster_rank() == 1 && t == 0) {{
        mbarrier_init(bar, 1);
        fence_mbarrier_init();
        mbarrier_arrive_expect_tx(bar, {size});
    }}
{filled(2048, "7 + i")}    cluster_arrive();
    cluster_wait();
    if (cluster_rank() == 0 && t == 0)
        asm volatile("cp.{verb}.shared::cluster.shared::cta.mbarrier::complete_tx::bytes{end} [%0], [%1], %2, [%3];"
                     ::"r"(map_to_rank(to, 1) + 4096 + {to}), "r"(to + {source}), "r"({size}), "r"(map_to_rank(bar, 1)) : "memory");
    if (cluster_rank() == 1) {{
        mbarrier_wait_parity(bar, 0);
{write_out(size // 4, f"1024 + i + {to // 4}")}    }}
    cluster_arrive();
    cluster_wait();
"""

    def expect(y: np.ndarray) -> np.ndarray:
        sent = 7 + source // 4 + np.arange(size // 4, dtype=np.uint32)
        return sent + (7 + 1024 + to // 4 + np.arange(size // 4, dtype=np.uint32) if add else np.uint32(0))

    return case(f"run_{'add' if add else 'sent'}_between_{size}_{source}_{to}", "unsigned* y", body, lambda: [np.zeros(size // 4, np.uint32)], 0, expect, 2)


RUNS = [
    *(run_to(size, 0, 0) for size in (16, 128)),
    *(run_to(size, 16, 0) for size in (32, 64, 96, 128, 144, 2048)),
    *(run_to(size, 0, 16) for size in (32, 64, 128, 2048)),
    *(run_to(*run) for run in ((48, 16, 16), (2048, 16, 16), (128, 32, 0), (2048, 32, 0), (128, 64, 0), (80, 16, 48), (48, 16, 112))),
    run_to(2048, 16, 0, mask=1), run_to(2048, 16, 0, mask=2), run_to(2048, 16, 0, 4, 6),
    run_between(2048, 16, 32), run_between(2048, 16, 32, add=True),
]  # fmt: skip
BOXES = [
    *(box_to((16, 64), (8, inner // 4), (3, 4)) for inner in (16, 48, 64, 80, 112, 128)),
    box_to((16, 64), (1, 64), (3, 0)), box_to((16, 64), (5, 20), (3, 4)), box_to((16, 64), (8, 12), (3, 0)), box_to((16, 68), (8, 12), (3, 12)),
    # rows that end, or begin, outside of the array
    *(box_to((16, 68), (1, inner // 4), (row, at // 4)) for inner, row, at in (
        (48, 3, 240), (48, 4, 240), (32, 3, 256), (80, 3, 224), (128, 3, 160), (128, 4, 256), (48, 3, -16), (80, 3, -48), (48, 20, 16), (128, 20, 16),
    )),
    box_to((16, 68), (8, 12), (3, 60)), box_to((6, 64), (8, 12), (3, 4)), box_to((16, 68), (8, 32), (3, 40)),
    box_to((16, 68), (8, 12), (3, 60), 4), box_to((16, 68), (8, 12), (3, 60), mask=1),
    *(box_to((37,), (elements,), (at,)) for elements, at in ((12, 28), (20, 20), (16, 32), (8, 36))),
    box_to((16, 64), (8, 12), (3, 4), swizzle="64B"), box_to((16, 68), (8, 12), (3, 60), swizzle="64B"), box_to((16, 64), (8, 32), (3, 4), swizzle="128B"),
]  # fmt: skip
CASES: list[Case] = [*RUNS, *BOXES]
