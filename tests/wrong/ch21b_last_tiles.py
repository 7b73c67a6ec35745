from lanewise.exercise import Wrong

WAIT = "        ptx::cp_async_wait<1>();\n"
BARRIER = "        __syncthreads();  // all chunks of tile t are here; all left t - 1\n"
NEXT = "        if (t + 2 < tiles) copy(t + 2);\n        ptx::cp_async_commit();  // empty groups count, so that the wait fits\n"

WRONG = [
    Wrong("no wait", [(WAIT, "")], kind="async-copy"),
    Wrong("one group too many under way", [(WAIT, WAIT.replace("<1>", "<2>"))], kind="async-copy", says="wait for one group less"),
    Wrong(
        "no group where nothing is copied",
        [(NEXT, "        if (t + 2 < tiles) {\n            copy(t + 2);\n            ptx::cp_async_commit();\n        }\n")],
        kind="async-copy",
    ),
    Wrong("the first two tiles in one group", [("    copy(0);\n    ptx::cp_async_commit();\n", "    copy(0);\n")], kind="async-copy"),
    Wrong("no barrier", [(BARRIER, "")], kind="race", says="that thread's wait for its copy"),
    Wrong("the barrier before the wait", [(WAIT + BARRIER, BARRIER + WAIT)], kind="race", says="Put it behind the wait"),
    Wrong(
        "copies, waits for all, uses: nothing is on its way meanwhile",
        [
            (WAIT + BARRIER + NEXT, NEXT + WAIT.replace("<1>", "<0>") + BARRIER),
            ("best = fmaxf(best, sum);\n    }", "best = fmaxf(best, sum);\n        __syncthreads();\n    }"),
        ],
        kind="over-budget",
        says="barriers",
    ),
    Wrong("the warps' largest are read too early", [("    __syncthreads();  // both warps' largest is there\n", "")], kind="race", says="largest"),
    Wrong("into the stage in use", [("&tile[t % 3][p / 8][p % 8]", "&tile[t % 2][p / 8][p % 8]")], kind="async-copy"),
    Wrong("reads another stage", [("const float4 x = tile[t % 3][me][c];", "const float4 x = tile[(t + 1) % 3][me][c];")], kind="async-copy"),
    Wrong("keys past the end count", [("if (t * keys + me < Nk) best", "if (true) best")], kind="wrong-values"),
]
