from lanewise.exercise import Wrong

WAIT = "        ptx::cp_async_wait<0>();  // my chunks of tile t are here\n"
BARRIER = "        __syncthreads();  // all chunks are; all are done with tile t - 1\n"
NEXT = "        if (t + 1 < tiles) copy(t + 1, (t + 1) % 2);\n        ptx::cp_async_commit();\n"
FIRST = "    copy(0, 0);\n    ptx::cp_async_commit();\n"

WRONG = [
    Wrong("no wait", [(WAIT, "")], kind="async-copy", says="tile[0]"),
    Wrong("no barrier", [(BARRIER, "")], kind="race", says="__syncthreads()"),
    Wrong("the barrier before the wait", [(WAIT + BARRIER, BARRIER + WAIT)], kind="race"),
    Wrong("nothing is ever committed", [(FIRST, "    copy(0, 0);\n"), (NEXT, NEXT.replace("        ptx::cp_async_commit();\n", ""))], kind="async-copy"),
    Wrong("waits for the group before", [(WAIT, WAIT.replace("<0>", "<1>"))], kind="async-copy"),
    Wrong("the next tile into the stage in use", [(NEXT, NEXT.replace("(t + 1) % 2", "t % 2"))], kind="async-copy"),
    Wrong("the same tile again", [(NEXT, NEXT.replace("copy(t + 1,", "copy(t,"))], kind="wrong-values", says="the keys of the one before"),
    Wrong("the copy before the barrier", [(WAIT + BARRIER + NEXT, NEXT + "        ptx::cp_async_wait<1>();\n" + BARRIER)], kind="race"),
    Wrong(
        "copies, waits, uses: one after the other",
        [(FIRST, ""), (WAIT + BARRIER + NEXT, "        __syncthreads();\n        copy(t, t % 2);\n        ptx::cp_async_commit();\n" + WAIT + BARRIER)],
        kind="over-budget",
        says="barriers",
    ),
    Wrong(
        "copies past the last key",
        [("real ? K + (t * keys * 8 + p) * 4 : K;", "K + (t * keys * 8 + p) * 4;"), ("real ? 16 : 0);", "16);")],
        kind="out-of-bounds",
        says="K[",
    ),
]
