from lanewise.exercise import Wrong

LOAD = "        ptx::tma_load_2d_multicast(k + s * tile + rank * half, &Km,\n                                   full + 8 * s, 0, 64 * n + 32 * rank, 3);\n"
COUNT = "ptx::mbarrier_init(empty + 8 * s, 2);"
TELL = (
    "        if (threadIdx.x < 2)  // thread r tells block r\n            ptx::mbarrier_arrive_cluster(\n"
    "                ptx::map_to_rank(empty + 8 * s, threadIdx.x));\n"
)
ALONE = "        if (threadIdx.x == 0) ptx::mbarrier_arrive(empty + 8 * s);\n"
START = "    ptx::cluster_arrive();\n    ptx::cluster_wait();  // the barriers of both blocks are there\n"
END = "    ptx::cluster_arrive();\n    ptx::cluster_wait();  // both are done\n"
REFILL = "        if (round > 0)  // whoever reads the stage has read it\n            ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);\n"

WRONG = [
    Wrong(
        "both load the whole",
        [(LOAD, LOAD + LOAD.replace("* half", "* 0 + (1 - rank) * half").replace("32 * rank, 3", "32 * (1 - rank), 3"))],
        kind="async-copy",
    ),
    Wrong("only the other block gets it", [(LOAD, LOAD.replace("rank, 3", "rank, 2 - rank"))], kind="deadlock"),
    Wrong("sent to block 0 alone", [(LOAD, LOAD.replace("rank, 3", "rank, 1"))], kind="deadlock"),
    Wrong("both halves in one place", [(LOAD, LOAD.replace(" + rank * half", ""))], kind="async-copy"),
    Wrong("the same half twice", [(LOAD, LOAD.replace("64 * n + 32 * rank", "64 * n"))], kind="wrong-values", says="the first 32 keys have come twice"),
    Wrong(
        "waits for its own half only",
        [("ptx::mbarrier_arrive_expect_tx(full + 8 * s, tile);", "ptx::mbarrier_arrive_expect_tx(full + 8 * s, half);")],
        kind="async-copy",
    ),
    Wrong("tells itself alone", [(COUNT, COUNT.replace("2", "1")), (TELL, ALONE)], kind="async-copy"),
    Wrong("counts two, tells itself alone", [(TELL, ALONE)], kind="deadlock"),
    Wrong("counts one, tells both", [(COUNT, COUNT.replace("2", "1"))], kind="deadlock"),
    Wrong("refills without waiting", [(REFILL, "")], kind="async-copy"),
    Wrong("leaves early", [(END, "")], kind="mbarrier"),
    Wrong("no barrier before the first copy", [(START, "")], kind="mbarrier"),
    Wrong("the block's barrier instead of the cluster's", [(START, "    __syncthreads();\n")], kind="mbarrier"),
    Wrong("doesn't wait for K", [("        ptx::mbarrier_wait_parity(full + 8 * s, n / stages & 1);\n", "")], kind="async-copy"),
    Wrong("S isn't waited for", [("        ptx::wgmma_wait<0>();  // S is here, K's tile has been read\n", "")], kind="async-copy"),
]
