from lanewise.exercise import Wrong

INIT = "        ptx::mbarrier_init(bar, 1);  // a phase: one arrival, and its bytes\n"
FENCE = "        ptx::fence_mbarrier_init();  // the copy engine sees the barrier\n"
EXPECT = "ptx::mbarrier_arrive_expect_tx(bar, sizeof(tile));"
LOAD = "ptx::tma_load_2d(at, &Vm, bar, 0, first);"

WRONG = [
    Wrong("arrivals count bytes", [(INIT, INIT.replace("1)", "sizeof(tile))"))], kind="deadlock", says="1 arrival of 8192 has come"),
    Wrong("every thread shall arrive", [(INIT, INIT.replace("1)", "64)"))], kind="deadlock", says="1 arrival of 64 has come"),
    Wrong(
        "half of the bytes announced",
        [(EXPECT, "ptx::mbarrier_arrive_expect_tx(bar, sizeof(tile) / 2);")],
        kind="deadlock",
        says="announced 4096 bytes, but 8192 arrived",
    ),
    Wrong(
        "the bytes of the rows that there are",
        [(EXPECT, "ptx::mbarrier_arrive_expect_tx(bar, min(64, Nk - first) * 128);")],
        kind="deadlock",
        says="Case 2 (one row): deadlock",
    ),
    Wrong(
        "too many bytes announced",
        [(EXPECT, "ptx::mbarrier_arrive_expect_tx(bar, 2 * sizeof(tile));")],
        kind="deadlock",
        says="announced 16384 bytes, 8192 arrived",
    ),
    Wrong("no bytes announced", [(EXPECT, "ptx::mbarrier_arrive(bar);")], kind="async-copy", says="before it has seen the copy"),
    Wrong("the copy engine doesn't see the barrier", [(FENCE, "")], kind="mbarrier", says="Put fence.mbarrier_init"),
    Wrong("never arrives", [(EXPECT, "")], kind="deadlock", says="announced 0 bytes, but 8192 arrived"),
    Wrong("coordinates in the array's order", [(LOAD, LOAD.replace("0, first", "first, 0"))], kind="wrong-values", says="coordinates count columns first"),
    Wrong("never loads", [(LOAD, "")], kind="deadlock", says="announced 8192 bytes, 0 arrived"),
    Wrong(
        "the barrier made after the copy",
        [(INIT, ""), (LOAD, LOAD + "\n        ptx::mbarrier_init(bar, 1);")],
        kind="mbarrier",
        says="nobody has initialised it",
    ),
    Wrong(
        "no barrier before the others wait",
        [("    __syncthreads();                    // the barrier is there for all\n", "")],
        kind="mbarrier",
        says="Put __syncthreads() behind the initialisation",
    ),
    Wrong("doesn't wait", [("    ptx::mbarrier_wait_parity(bar, 0);  // tile is filled\n", "")], kind="async-copy", says="tile"),
    Wrong(
        "waits for the phase before",
        [("ptx::mbarrier_wait_parity(bar, 0);", "ptx::mbarrier_wait_parity(bar, 1);")],
        kind="deadlock",
        says="phase 1 of the mbarrier full",
    ),
    Wrong("columns that V hasn't", [("if (t < d) O[", "O[")], kind="out-of-bounds", says="writes O[80]"),
]
