from lanewise.exercise import Wrong

PROXY = "    ptx::fence_proxy_async();  // what I wrote, for wgmma to read\n"
SCALED = "    __syncthreads();  // Qs is scaled\n"
FENCE = "        ptx::wgmma_fence();\n"
WAIT = "        ptx::wgmma_wait<0>();\n"
COMMIT = "        ptx::wgmma_commit();\n"
REFILL = "        if (t == 0 && n + stages < tiles) load(n + stages);\n"

WRONG = [
    Wrong("no proxy fence", [(PROXY, "")], kind="async-copy", says="missing fence.proxy.async"),
    Wrong("the fence before the writes", [(PROXY, ""), ("    __half2* pair", PROXY + "    __half2* pair")], kind="async-copy", says="fence.proxy.async"),
    Wrong("one thread's fence", [(PROXY, PROXY.replace("ptx", "if (t == 0) ptx"))], kind="async-copy", says="fence.proxy.async"),
    Wrong("another kind of fence", [(PROXY, "    __threadfence_block();\n")], kind="async-copy", says="fence.proxy.async"),
    Wrong("no barrier after Q is scaled", [(SCALED, "")], kind="async-copy", says="nothing orders the two"),
    Wrong("no wgmma.fence", [(FENCE, "")], kind="async-copy", says="no wgmma.fence has come yet"),
    Wrong("a group may be under way", [(WAIT, WAIT.replace("<0>", "<1>"))], kind="async-copy", says="wait for one group less"),
    Wrong("no wait", [(WAIT, "")], kind="async-copy", says="Put wgmma.wait_group before the use"),
    Wrong("no commit", [(COMMIT, "")], kind="async-copy", says="It was never committed"),
    Wrong("waits before it commits", [(COMMIT, ""), (WAIT, WAIT + COMMIT)], kind="async-copy", says="is not finished"),
    Wrong(
        "refills before the sums are there",
        [
            (REFILL, ""),
            (COMMIT, COMMIT + REFILL),
        ],
        kind="async-copy",
    ),
    Wrong("no barrier before the others wait", [("    __syncthreads();                    // the barriers are there for all\n", "")], kind="mbarrier"),
    Wrong(
        "doesn't wait for K",
        [("        ptx::mbarrier_wait_parity(full + n % stages * 8, n / stages & 1);\n", "")],
        kind="async-copy",
        says="before it has seen the copy",
    ),
    Wrong("parity of the step", [("n % stages * 8, n / stages & 1);", "n % stages * 8, n & 1);")], kind="deadlock", says="phase 1 of the mbarrier bars[2]"),
    Wrong(
        "the wrong stage",
        [("const unsigned b = k + n % stages * bytes;", "const unsigned b = k + (n + 1) % stages * bytes;")],
        kind="uninitialised-read",
        says="reads Ks[8192]",
    ),
]
