"""Other people's attention, forward, as launches on the same memory: rivals, which every rung of attention_ladder meets, and references for scale.

A launch takes nothing and returns a sequence whose first part is o, a PyTorch tensor (1, heads, N, d). Inputs are CuPy arrays (heads, N, d), as many query
as key heads. All but "PyTorch math" write log-sum-exp, too. Masks are PyTorch's, top-left aligned: equal to ours for Nq = Nk.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Launch = Callable[[], Sequence[Any]]
APART = 8e-3  # largest difference of two fp16 outputs that are both right
TURN_MS = 5.0  # of a reference: what PyTorch's compiled functions do on the CPU before their kernel starts is then small beside a turn


def batched(*arrays: Any) -> list[Any]:
    """The same memory as PyTorch tensors, a batch of one."""
    import torch

    return [torch.from_dlpack(x)[None] for x in arrays]


def first(cp: Any, launch: Launch) -> Any:
    """Launch once; o as a CuPy array (heads, N, d)."""
    return cp.from_dlpack(launch()[0][0].contiguous())


def sdpa(q: Any, k: Any, v: Any, causal: bool, backend: str) -> Launch:
    """PyTorch's scaled_dot_product_attention by one of its backends: MATH, FLASH_ATTENTION, EFFICIENT_ATTENTION, CUDNN_ATTENTION."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    inputs, chosen = batched(q, k, v), getattr(SDPBackend, backend)

    def call() -> Sequence[Any]:
        with sdpa_kernel(chosen):
            return (scaled_dot_product_attention(*inputs, is_causal=causal),)

    return call


def rivals(q: Any, k: Any, v: Any, causal: bool) -> dict[str, Launch]:
    """Name → launch: PyTorch's FlashAttention-2 and cuDNN, and the flash-attn-4 package, which is imported when it is launched."""
    import torch

    a, b, c = batched(q, k, v)
    scale = 1 / math.sqrt(q.shape[-1])
    x, y, z = (t.transpose(1, 2) for t in (a, b, c))

    def fourth() -> Any:
        out = _flash_attn_func()(x, y, z, causal=causal, softmax_scale=scale, return_lse=True)
        return [(out[0] if isinstance(out, tuple) else out).transpose(1, 2)]

    return {
        "FlashAttention-2": lambda: torch.ops.aten._scaled_dot_product_flash_attention(a, b, c, 0.0, causal, scale=scale),
        "cuDNN": lambda: torch.ops.aten._scaled_dot_product_cudnn_attention(a, b, c, None, True, 0.0, causal, scale=scale),
        "FlashAttention-4": fourth,
    }


@functools.cache
def _flash_attn_func() -> Any:
    from flash_attn.cute import flash_attn_func

    return flash_attn_func


def started(launches: Mapping[str, Launch], where: str, gone: set[str]) -> dict[str, Launch]:
    """Those that can be launched here; what can't is told in one line, once: its name is put into `gone`."""
    found = {}
    for name, launch in launches.items():
        if name in gone:
            continue
        try:
            launch()
            found[name] = launch
        except Exception as error:  # noqa: BLE001 - whatever another library raises, the ladder goes on
            print(f"{name}: not available {where}: {in_a_line(error)}", flush=True)
            gone.add(name)
    return found


@dataclass(frozen=True, slots=True)
class Reference:
    """`prepare(q, k, v, causal)` gives its launch, or raises where it can't run here. Timed in `pairs` turns, at these lengths alone if any are named."""

    name: str
    prepare: Callable[[Any, Any, Any, bool], Launch]
    pairs: int
    lengths: tuple[int, ...] = ()


def _efficient(q: Any, k: Any, v: Any, causal: bool) -> Launch:
    import torch

    inputs, scale = batched(q, k, v), 1 / math.sqrt(q.shape[-1])
    return lambda: torch.ops.aten._scaled_dot_product_efficient_attention(*inputs, None, True, 0.0, causal, scale=scale)


def _math(q: Any, k: Any, v: Any, causal: bool) -> Launch:
    """It stores all scores, in float32: long sequences may not fit."""
    return sdpa(q, k, v, causal, "MATH")


def _seen(_batch: Any, _head: Any, query: Any, key: Any) -> Any:
    return key <= query


def _flex(q: Any, k: Any, v: Any, causal: bool) -> Launch:
    """PyTorch's FlexAttention: a Triton kernel written and compiled for this very shape, which takes seconds; its causal mask skips blocks of 128."""
    import torch
    from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

    inputs, (n, d) = batched(q, k, v), q.shape[1:]
    torch.compiler.reset()  # else the eighth shape is the last that PyTorch compiles
    compiled = torch.compile(flex_attention, dynamic=False, fullgraph=True)
    mask = create_block_mask(_seen, None, None, n, n, device="cuda") if causal else None
    return lambda: compiled(*inputs, block_mask=mask, scale=1 / math.sqrt(d), return_aux=AuxRequest(lse=True))


REFERENCES = (
    Reference("PyTorch efficient", _efficient, 20),
    Reference("FlexAttention", _flex, 20, (2048, 8192)),
    Reference("PyTorch math", _math, 6),
)


def running(cp: Any, q: Any, k: Any, v: Any, o: Any, causal: bool, gone: set[str]) -> Iterator[tuple[Reference, Launch]]:
    """The references that run here and give `o` (the right output of q, k, v), one after the other, each with its launch.

    One that isn't installed, doesn't compile, lacks memory or gives other values is told in one line and left out; its name is put into `gone`,
    so that no later point asks for it, if it wasn't memory that it lacked.
    """
    import torch

    _, n, d = o.shape
    for reference in REFERENCES:
        if reference.name in gone or (reference.lengths and n not in reference.lengths):
            continue
        try:
            launch = reference.prepare(q, k, v, causal)
            apart = float(cp.abs(o - first(cp, launch)).max())
            if not apart <= APART:
                raise ValueError(f"its output is {apart} away from the right one")
        except Exception as error:  # noqa: BLE001 - whatever another library raises, the ladder goes on
            print(f"{reference.name}: not available for d = {d}, N = {n}, causal = {causal}: {in_a_line(error)}", flush=True)
            if not isinstance(error, torch.cuda.OutOfMemoryError):
                gone.add(reference.name)
        else:
            yield reference, launch
        torch.cuda.empty_cache()


def in_a_line(error: BaseException) -> str:
    """Its type and the first sentence that says something: a compiler's message has hundreds of lines."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__
