from lanewise.exercise import Wrong

WAIT = "        ptx::cp_async_wait<0>();  // *my* chunks of tiles t and t + 1 are here\n"
BARRIER = "        __syncthreads();          // and everybody's; all are done with t - 1\n"
NEXT = "        if (t + 2 < tiles) copy(t + 2);  // to the stage of tile t - 2\n        ptx::cp_async_commit();\n"

WRONG = [
    Wrong("no barrier", [(BARRIER, "")], kind="race", says="__syncthreads()"),
    Wrong("the barrier before the wait", [(WAIT + BARRIER, BARRIER + WAIT)], kind="race"),
    Wrong("a barrier of the warp", [(BARRIER, "        __syncwarp();\n")], kind="race"),
    Wrong("no wait", [(WAIT, "")], kind="async-copy"),
    Wrong("tile t + 1 isn't waited for", [(WAIT, WAIT.replace("<0>", "<1>"))], kind="async-copy"),
    Wrong("no commit", [(NEXT, NEXT.replace("        ptx::cp_async_commit();\n", "")), (WAIT, WAIT.replace("<0>", "<1>"))], kind="async-copy"),
    Wrong("three stages are too few", [("&tile[t % 4][p / 16]", "&tile[t % 2][p / 16]"), ("tile[row / rows % 4]", "tile[row / rows % 2]")], kind="async-copy"),
    Wrong("two barriers", [(BARRIER, BARRIER + "        __syncthreads();\n")], kind="over-budget", says="barriers"),
    Wrong("the row below the last one counts", [("if (row + 1 < N) sum", "if (true) sum")], kind="wrong-values"),
]
