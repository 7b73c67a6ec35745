from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "counts threads, not warps, of registers",
        [("4 * (16384 / per_warp) / w", "65536 / (regs[i] * block[i])")],
        kind="wrong-values",
        says="warps[",
    ),
    Wrong(
        "the register file in one piece",
        [("4 * (16384 / per_warp) / w", "65536 / per_warp / w")],
        kind="wrong-values",
        says="warps[",
    ),
    Wrong(
        "registers not rounded up",
        [("(regs[i] * 32 + 255) / 256 * 256", "regs[i] * 32")],
        kind="wrong-values",
        says="warps[",
    ),
    Wrong(
        "forgets the block's own KB",
        [("(shared[i] + KB + 127) / 128 * 128", "max((shared[i] + 127) / 128 * 128, 128)")],
        kind="wrong-values",
        says="warps[",
    ),
    Wrong(
        "a block may have all of the shared memory",
        [("shared[i] > 227 * KB ? 0 : 228 * KB / taken", "max(228 * KB / taken, 1)")],
        kind="wrong-values",
        says="warps[",
    ),
    Wrong(
        "forgets that 32 blocks are the most",
        [("min(64 / w, 32)", "64 / w")],
        kind="wrong-values",
        says="warps[",
    ),
    Wrong(
        "counts parts of blocks",
        [("warps[i] = blocks * w;", "warps[i] = min(64, 4 * (16384 / per_warp));")],
        kind="wrong-values",
        says="warps[",
    ),
    Wrong(
        "takes the mean of the limits for the least",
        [("min(min(by_regs, by_shared), min(64 / w, 32))", "(by_regs + by_shared) / 2")],
        kind="wrong-values",
        says="warps[",
    ),
    Wrong(
        "forgets that one thread has several loads under way",
        [("warps[i] * 32 * 16 * loads[i]", "warps[i] * 32 * 16")],
        kind="wrong-values",
        says="bytes[",
    ),
    Wrong(
        "no guard",
        [("if (i >= n) return;", "")],
        kind="out-of-bounds",
        says="i",
    ),
]
