from lanewise.exercise import Wrong

WAIT = "        ptx::mbarrier_wait_parity(bar + 8 * s, n / stages & 1);\n"

WRONG = [
    Wrong("always the first phase", [(WAIT, WAIT.replace("n / stages & 1", "0"))], kind="deadlock", says="phase 2 of the mbarrier full[0]"),
    Wrong("the phase before", [(WAIT, WAIT.replace("n / stages & 1", "n / stages + 1 & 1"))], kind="deadlock", says="phase 1 of the mbarrier full[0]"),
    Wrong("the stage", [(WAIT, WAIT.replace("n / stages & 1", "s"))], kind="deadlock", says="phase 1 of the mbarrier full[1]"),
    Wrong("doesn't wait", [(WAIT, "")], kind="async-copy", says="tile"),
    Wrong("waits in thread 0 alone", [(WAIT, WAIT.replace("ptx", "if (t == 0) ptx"))], kind="async-copy", says="before it has seen the copy"),
    Wrong(
        "no barrier before the refill",
        [("        __syncthreads();  // all have read the stage\n", "")],
        kind="race",
        says="nothing orders the copy behind that",
    ),
    Wrong(
        "no barrier before the others wait",
        [("    __syncthreads();  // the barriers are there for all\n", "")],
        kind="mbarrier",
        says="Put __syncthreads() behind the initialisation",
    ),
    Wrong(
        "zeros count",
        [("const int columns = min(64, width - 64 * n);", "const int columns = 64;")],
        kind="wrong-values",
        says="Columns past the last one have counted",
    ),
]
