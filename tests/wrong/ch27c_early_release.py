from lanewise.exercise import Wrong

ARRIVE = "        if (threadIdx.x % 128 == 0) ptx::mbarrier_arrive(empty + 8 * s);\n"
S_HERE = "        ptx::wgmma_wait<0>();  // S is here\n"
O_HERE = "        ptx::wgmma_wait<0>();  // O is here\n"
MEET = "    __syncthreads();  // the barriers are there for all\n"
REFILL = "            if (round > 0)\n                ptx::mbarrier_wait_parity(empty + 8 * s, round - 1 & 1);\n"

WRONG = [
    Wrong("free when S is there", [(ARRIVE, ""), (S_HERE, S_HERE + ARRIVE)], kind="race", says="nothing orders the copy behind that"),
    Wrong("free when the second product is issued", [(ARRIVE, ""), (O_HERE, ARRIVE + O_HERE)], kind="race"),
    Wrong("never free", [(ARRIVE, "")], kind="deadlock"),
    Wrong("free before and behind", [(S_HERE, S_HERE + ARRIVE)], kind="deadlock"),
    Wrong("the last thread of each warp says so", [(ARRIVE, ARRIVE.replace("% 128 == 0", "% 32 == 31"))], kind="deadlock"),
    Wrong("the second product isn't waited for", [(O_HERE, "")], kind="async-copy"),
    Wrong("S isn't waited for", [(S_HERE, "")], kind="async-copy"),
    Wrong("refills without waiting", [(REFILL, "")], kind="async-copy"),
    Wrong("doesn't wait for K and V", [("        ptx::mbarrier_wait_parity(full + 8 * s, n / stages & 1);\n", "")], kind="uninitialised-read"),
    Wrong("doesn't wait for Q", [("    ptx::mbarrier_wait_parity(q_full, 0);\n", "")], kind="async-copy"),
    Wrong("registers nobody gives back", [("        ptx::fewer_registers<40>();\n", "")], kind="deadlock", says="register"),
    Wrong("no barrier before they part", [(MEET, "")], kind="mbarrier", says="Put __syncthreads() behind the initialisation"),
]
