from lanewise.exercise import Wrong

FULL = "ptx::mbarrier_init(full + 8 * s, 1);"
EMPTY = "ptx::mbarrier_init(empty + 8 * s, 64);"
REFILL = "        if (round > 0) ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);\n"
EXPECT = "ptx::mbarrier_arrive_expect_tx(full + 8 * s, bytes);"
WAIT = "        ptx::mbarrier_wait_parity(full + 8 * s, n / stages & 1);\n"
ARRIVE = "        ptx::mbarrier_arrive(empty + 8 * s);\n"

WRONG = [
    Wrong("refills without waiting", [(REFILL, "")], kind="race", says="issues a copy into it while thread (1,0,0) reads it"),
    Wrong("waits for the round to come", [(REFILL, REFILL.replace("round - 1 & 1", "round & 1"))], kind="deadlock", says="phase 1 of the mbarrier bars[3]"),
    Wrong("parity of the step", [(WAIT, WAIT.replace("n / stages & 1", "n & 1"))], kind="deadlock", says="phase 1 of the mbarrier bars[1]"),
    Wrong("always parity 0", [(WAIT, WAIT.replace("n / stages & 1", "0"))], kind="deadlock", says="phase 2 of the mbarrier bars[0]"),
    Wrong("doesn't wait for the bytes", [(WAIT, "")], kind="async-copy", says="ring"),
    Wrong("never says that it has read", [(ARRIVE, "")], kind="deadlock", says="phase 0 of the mbarrier bars[3]"),
    Wrong(
        "one reader says it for all",
        [(ARRIVE, ARRIVE.replace("ptx", "if (t == 0) ptx")), (EMPTY, EMPTY.replace("64", "1"))],
        kind="race",
        says="nothing orders the copy behind that",
    ),
    Wrong("one arrival frees the stage", [(EMPTY, EMPTY.replace("64", "1"))], kind="deadlock", says="mbarrier bars[3]"),
    Wrong("waits for the other warps' readers too", [(EMPTY, EMPTY.replace("64", "128"))], kind="deadlock", says="64 arrivals of 128 have come"),
    Wrong("all threads fill", [(FULL, FULL.replace("1);", "64);"))], kind="deadlock", says="1 arrival of 64 has come"),
    Wrong("says it before it has read", [(ARRIVE, ""), (WAIT, WAIT + ARRIVE)], kind="race", says="nothing orders the copy behind that"),
    Wrong("the wrong stage", [(ARRIVE, ARRIVE.replace("8 * s", "8 * ((s + 1) % stages)"))], kind="deadlock", says="63 arrivals of 64 have come"),
    Wrong("no bytes announced", [(EXPECT, "ptx::mbarrier_arrive(full + 8 * s);")], kind="async-copy", says="before it has seen the copy"),
    Wrong("all bytes at once", [(EXPECT, EXPECT.replace("bytes", "stages * bytes"))], kind="deadlock", says="announced 12288 bytes, 4096 arrived"),
    Wrong(
        "no barrier before the others wait",
        [("    __syncthreads();  // the barriers are there for all\n", "")],
        kind="mbarrier",
        says="Put __syncthreads() behind the initialisation",
    ),
]
