from lanewise.exercise import Wrong

WAIT = "            if (round > 0)\n                ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);\n"
EXPECT = "            ptx::mbarrier_arrive_expect_tx(full + 8 * s, tile);\n"
LOAD = "            ptx::tma_load_2d(ptx::shared_address(Ks[s]), &Km, full + 8 * s, 0,\n                             64 * n);\n"
MEET = "    __syncthreads();  // the barriers are there for all\n"

WRONG = [
    Wrong("refills without waiting", [(WAIT, "")], kind="async-copy"),
    Wrong("waits for this round's phase", [("round - 1 & 1", "round & 1")], kind="deadlock", says="bars["),
    Wrong("parity of the tile", [("round - 1 & 1", "n & 1")], kind="deadlock"),
    Wrong("announces nothing", [(EXPECT, EXPECT.replace("_expect_tx(full + 8 * s, tile)", "(full + 8 * s)"))], kind="async-copy"),
    Wrong("announces rows that there are", [(EXPECT, EXPECT.replace("tile", "min(64, Nk - 64 * n) * 128"))], kind="deadlock"),
    Wrong(
        "coordinates in the array's order",
        [(LOAD, LOAD.replace("64 * n)", "0)").replace("8 * s, 0", "8 * s, 64 * n"))],
        kind="wrong-values",
        says="coordinates count columns first",
    ),
    Wrong("only as many tiles as stages", [("n < tiles; ++n) {\n            const", "n < min(tiles, stages); ++n) {\n            const")], kind="deadlock"),
    Wrong("always the first stage", [("Ks[s]), &Km", "Ks[0]), &Km")], kind="async-copy"),
    Wrong("no barrier before they part", [(MEET, "")], kind="mbarrier", says="Put __syncthreads() behind the initialisation"),
    Wrong("reads without waiting for K", [("        ptx::mbarrier_wait_parity(full + 8 * s, n / stages & 1);\n", "")], kind="uninitialised-read"),
    Wrong("reads without waiting for Q", [("    ptx::mbarrier_wait_parity(q_full, 0);\n", "")], kind="async-copy"),
    Wrong("uses S before it is there", [("        ptx::wgmma_wait<0>();  // S is here, K's tile has been read\n", "")], kind="async-copy"),
    Wrong("never commits", [("        ptx::wgmma_commit();\n", "")], kind="async-copy"),
]
