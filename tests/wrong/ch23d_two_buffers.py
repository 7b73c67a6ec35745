from lanewise.exercise import Wrong

BARRIER = "__syncthreads();  // tile t is here, and dS of tile t - 1"

WRONG = [
    Wrong("one buffer", [("now = t % 2 * tile_bytes, before = tile_bytes - now;", "now = 0, before = 0;")], kind="race"),
    Wrong(
        "one buffer and a second barrier",
        [
            ("now = t % 2 * tile_bytes, before = tile_bytes - now;", "now = 0, before = 0;"),
            ("        if (t == count) break;  // nothing is left but the last dQ", "        if (t == count) break;\n        __syncthreads();"),
        ],
        kind="over-budget",
        says="barriers",
    ),
    Wrong("reads the half it writes", [("before = tile_bytes - now;", "before = now;")], kind="uninitialised-read"),
    Wrong("no barrier", [(f"        {BARRIER}\n", "")], kind="race"),
    Wrong("a warp's barrier", [(BARRIER, "__syncwarp();")], kind="race"),
    Wrong(
        "fetches before the barrier",
        [(f"        {BARRIER}\n        if (t + 1 < count) fetch(t + 1);", f"        if (t + 1 < count) fetch(t + 1);\n        {BARRIER}")],
        kind="race",
    ),
    Wrong("no wait for the copies", [("        ptx::cp_async_wait<0>();\n", "")], kind="async-copy"),
    Wrong("waits for all but the last group", [("ptx::cp_async_wait<0>();", "ptx::cp_async_wait<1>();")], kind="async-copy"),
    Wrong("no commit", [("        ptx::cp_async_commit();\n", "")], kind="async-copy"),
    Wrong("all tiles into the first half", [("const unsigned to = t % 2 * tile_bytes;", "const unsigned to = 0;")], kind="async-copy"),
    Wrong(
        "reads the tile from the other half",
        [("const unsigned from = t % 2 * tile_bytes;", "const unsigned from = (t + 1) % 2 * tile_bytes;")],
        kind="uninitialised-read",
    ),
    Wrong("not turned", [("ptx::ldmatrix_x4_trans(a[0][k],", "ptx::ldmatrix_x4(a[0][k],")], kind="wrong-values", says="dQ"),
    Wrong("the last dQ is left out", [("for (int t = 0; t <= count; ++t)", "for (int t = 0; t < count; ++t)")], kind="wrong-values", says="dQ"),
]
