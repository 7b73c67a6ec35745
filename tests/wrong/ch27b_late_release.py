from lanewise.exercise import Wrong

COUNT = "ptx::mbarrier_init(empty + 8 * s, 2);"
WAIT = "        ptx::wgmma_wait<1>();  // all but the newest group: step t - 1 is done\n"
ARRIVE = "        if (t > 0 && threadIdx.x % 128 == 0)\n            ptx::mbarrier_arrive(empty + 8 * ((t - 1) % stages));\n"
NOW = "        if (threadIdx.x % 128 == 0)\n            ptx::mbarrier_arrive(empty + 8 * s);\n"
MEET = "    __syncthreads();  // the barriers are there for all\n"
REFILL = "            if (round > 0)\n                ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);\n"

WRONG = [
    Wrong("frees the stage that is being read", [(ARRIVE, NOW)], kind="race"),
    Wrong("waits for the newest group, in vain", [(WAIT, WAIT.replace("<1>", "<0>")), (ARRIVE, "")], kind="deadlock"),
    Wrong(
        "waits for the newest product",
        [(WAIT, WAIT.replace("<1>", "<0>")), (ARRIVE, NOW)],
        kind="over-budget",
        says="wgmma_overlapped is",
    ),
    Wrong("never frees", [(ARRIVE, "")], kind="deadlock"),
    Wrong("all 256 threads are awaited, two arrive", [(COUNT, COUNT.replace("2", "256"))], kind="deadlock"),
    Wrong("all threads of the block are awaited", [(COUNT, COUNT.replace("2", "384"))], kind="deadlock"),
    Wrong("one warpgroup is enough", [(COUNT, COUNT.replace(", 2)", ", 1)"))], kind="deadlock"),
    Wrong("every thread arrives at a count of two", [(ARRIVE, ARRIVE.replace(" && threadIdx.x % 128 == 0", ""))], kind="deadlock"),
    Wrong("frees before it waits", [(WAIT, ""), (ARRIVE, ARRIVE + WAIT)], kind="race"),
    Wrong("doesn't wait at all", [(WAIT, "")], kind="async-copy"),
    Wrong("frees the next stage", [(ARRIVE, ARRIVE.replace("(t - 1)", "(t + 1)"))], kind="deadlock"),
    Wrong("no wait before C is written", [("    ptx::wgmma_wait<0>();\n", "")], kind="async-copy"),
    Wrong("reads without waiting", [("        ptx::mbarrier_wait_parity(full + 8 * s, t / stages & 1);\n", "")], kind="race"),
    Wrong("refills without waiting", [(REFILL, "")], kind="async-copy"),
    Wrong("no barrier before they part", [(MEET, "")], kind="mbarrier", says="Put __syncthreads() behind the initialisation"),
]
