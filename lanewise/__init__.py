"""From a first CUDA kernel to FlashAttention, with or without a GPU."""

__version__ = "0.1.0"
