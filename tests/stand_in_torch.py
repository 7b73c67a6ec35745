"""PyTorch and CuPy made of NumPy, as far as the benches use them beside their own kernels: attention by float64, and a clock by which all take as long."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from lanewise.bench import layer, libraries


class Tensor(np.ndarray):
    """What from_dlpack gives; shares the array's memory."""

    def contiguous(self) -> Tensor:
        return np.ascontiguousarray(self).view(Tensor)

    def transpose(self, first: int, second: int) -> Tensor:  # type: ignore[override]
        """PyTorch's: two dimensions change places."""
        return np.asarray(self).swapaxes(first, second).view(Tensor)


class OutOfMemoryError(RuntimeError):
    pass


class AuxRequest:
    def __init__(self, lse: bool = False):
        self.lse = lse


def attention(q: Any, k: Any, v: Any, causal: bool) -> tuple[Any, Any]:
    """o like q (1, heads, N, d), and log-sum-exp."""
    o, lse = layer.exact(np, *(np.asarray(x)[0] for x in (q, k, v)), causal)
    return o.astype(q.dtype)[None].view(Tensor), lse[None]


class PyTorch:
    """`asked`: what was launched, each with the arguments that matter. `failing`: name → the exception that its launch raises, or a factor for its o."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.failing: dict[str, Exception | float] = {}
        self.emptied = self.resets = 0
        self.chosen = ""

    def launch(self, name: str, q: Any, k: Any, v: Any, causal: bool, **asked: Any) -> tuple[Any, Any]:
        self.asked.append((name, {"causal": causal, **asked}))
        failure = self.failing.get(name, 1.0)
        if isinstance(failure, Exception):
            raise failure
        o, lse = attention(q, k, v, causal)
        return (o * o.dtype.type(failure)).view(Tensor), lse

    def modules(self) -> dict[str, ModuleType]:
        """For sys.modules; with PyTorch's own signatures, so that a wrong name or argument is an error."""

        def flash(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
            return self.launch("flash", query, key, value, is_causal, scale=scale)

        def cudnn(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
            return self.launch("cudnn", query, key, value, is_causal, scale=scale, lse=compute_log_sumexp)

        def efficient(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
            return self.launch("efficient", query, key, value, is_causal, scale=scale, lse=compute_log_sumexp)

        def sdpa(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
            return self.launch(self.chosen, query, key, value, is_causal)[0]

        def flex(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None, *, return_aux=None):
            o, lse = self.launch("flex", query, key, value, block_mask is not None, scale=scale, lse=return_aux.lse, compiled=self.compiling)
            return o, SimpleNamespace(lse=lse)

        def compile(function, *, fullgraph=False, dynamic=None):
            def compiled(*args, **kwargs):
                self.compiling = {"fullgraph": fullgraph, "dynamic": dynamic}
                return function(*args, **kwargs)

            return compiled

        def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=128):
            seen = mask_mod(None, None, np.arange(Q_LEN)[:, None], np.arange(KV_LEN))
            assert (B, H, device) == (None, None, "cuda") and (seen == np.tri(Q_LEN, KV_LEN, dtype=bool)).all()
            return seen

        def reset() -> None:
            self.resets += 1

        def empty_cache() -> None:
            self.emptied += 1

        ops = {"flash": flash, "cudnn": cudnn, "efficient": efficient}
        backends = ("MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION")
        torch = ModuleType("torch")
        torch.__version__ = "2.9"
        torch.from_dlpack = lambda x: x.view(Tensor)
        torch.compile, torch.compiler = compile, SimpleNamespace(reset=reset)
        torch.ops = SimpleNamespace(aten=SimpleNamespace(**{f"_scaled_dot_product_{name}_attention": op for name, op in ops.items()}))
        torch.cuda = SimpleNamespace(empty_cache=empty_cache, synchronize=lambda: None, current_stream=lambda: SimpleNamespace(cuda_stream=0))
        torch.cuda.OutOfMemoryError = OutOfMemoryError
        torch.backends = SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 91000))
        nn, chooser, functional, flexible = (ModuleType(f"torch.nn{rest}") for rest in ("", ".attention", ".functional", ".attention.flex_attention"))
        chooser.SDPBackend, chooser.sdpa_kernel = SimpleNamespace(**{name: name for name in backends}), self.sdpa_kernel
        functional.scaled_dot_product_attention = sdpa
        flexible.flex_attention, flexible.create_block_mask, flexible.AuxRequest = flex, create_block_mask, AuxRequest
        return {module.__name__: module for module in (torch, nn, chooser, functional, flexible)}

    def sdpa_kernel(self, backend: str) -> Any:
        """A context in which the backend is chosen."""
        pytorch = self

        class Chosen:
            def __enter__(self) -> None:
                pytorch.chosen = backend

            def __exit__(self, *_: object) -> None:
                pytorch.chosen = ""

        return Chosen()


class CuPy:
    """NumPy's functions, and events that read a clock: whatever lies between two of them takes a millisecond."""

    __version__ = "14"

    def __init__(self, capability: str = "90") -> None:
        self.now = 0.0
        clock = self

        class Event:
            def record(self) -> None:
                clock.now += 1.0
                self.at = clock.now

            def synchronize(self) -> None:
                pass

        device = {"name": b"NVIDIA X1", "major": int(capability[0]), "multiProcessorCount": 2}
        self.cuda = SimpleNamespace(
            Event=Event,
            get_elapsed_time=lambda start, stop: stop.at - start.at,
            Device=lambda: SimpleNamespace(compute_capability=capability),
            ExternalStream=lambda _: SimpleNamespace(use=lambda: None),
            runtime=SimpleNamespace(getDeviceProperties=lambda _: device, runtimeGetVersion=lambda: 13000),
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def from_dlpack(x: Any) -> Any:
        return np.asarray(x)

    @staticmethod
    def get_default_memory_pool() -> Any:
        return SimpleNamespace(free_all_blocks=lambda: None)


def install(monkeypatch: Any, capability: str = "90") -> tuple[CuPy, PyTorch]:
    """Both in the place of the real ones, and a layer of 128 tokens and 64 columns."""
    cp, pytorch = CuPy(capability), PyTorch()
    for name, module in pytorch.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("flash_attn", "flash_attn.cute"):
        monkeypatch.setitem(sys.modules, name, None)  # not installed
    monkeypatch.setattr("lanewise.cp.real_cupy", lambda: cp)
    libraries._flash_attn_func.cache_clear()
    monkeypatch.setattr(layer, "TOKENS", 128)
    monkeypatch.setattr(layer, "WIDTH", 128)
    return cp, pytorch
