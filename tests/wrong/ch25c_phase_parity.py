from lanewise.exercise import Wrong

WAIT = "        ptx::mbarrier_wait_parity(bar + 8 * s, n / stages & 1);\n"

WRONG = [
    Wrong("always the first phase", [(WAIT, WAIT.replace("n / stages & 1", "0"))], kind="async-copy", says=""),
    Wrong("the phase before", [(WAIT, WAIT.replace("n / stages & 1", "n / stages + 1 & 1"))], kind="async-copy", says=""),
    Wrong("the number of the phase", [(WAIT, WAIT.replace("n / stages & 1", "n / stages"))], kind="async-copy", says=""),
    Wrong("the stage", [(WAIT, WAIT.replace("n / stages & 1", "s"))], kind="async-copy", says=""),
    Wrong("doesn't wait", [(WAIT, "")], kind="async-copy", says="tile"),
    Wrong("waits in thread 0 alone", [(WAIT, WAIT.replace("ptx", "if (t == 0) ptx"))], kind="async-copy", says=""),
    Wrong("no barrier before the refill", [("        __syncthreads();  // all have read the stage\n", "")], kind="async-copy", says=""),
    Wrong("no barrier before the others wait", [("    __syncthreads();  // the barriers are there for all\n", "")], kind="async-copy", says=""),
    Wrong("zeros count", [("const int columns = min(64, width - 64 * n);", "const int columns = 64;")], kind="wrong-values", says="Case 4 (all negative)"),
]
