from lanewise.exercise import Wrong

SCORES = "        begin_scores(n);\n        ptx::wgmma_commit();\n"
VALUES = "        begin_values(n - 1);\n        ptx::wgmma_commit();\n"
S_HERE = "        ptx::wgmma_wait<1>();  // the older group: S is here\n"
O_HERE = "        ptx::wgmma_wait<0>();  // O is here: P and V's stage are free\n"
MEET = "    __syncthreads();  // the barriers are there for all\n"
RESCALE = "        scale_rows(o, shrink);\n"

WRONG = [
    Wrong("no wait before the softmax", [(S_HERE, "")], kind="async-copy"),
    Wrong("no wait before O is rescaled", [(O_HERE, "")], kind="async-copy"),
    Wrong("both are waited for before the softmax", [(S_HERE, S_HERE.replace("<1>", "<0>"))], kind="over-budget", says="wgmma_overlapped is"),
    Wrong(
        "the softmax behind both waits",
        [("        softmax(n);\n", ""), (O_HERE, O_HERE + "        softmax(n);\n")],
        kind="over-budget",
        says="wgmma_overlapped is",
    ),
    Wrong("both in one group", [(SCORES, "        begin_scores(n);\n")], kind="async-copy"),
    Wrong("values first", [(SCORES + VALUES, VALUES + SCORES)], kind="async-copy"),
    Wrong("waits the other way round", [(S_HERE, O_HERE), (O_HERE, S_HERE)], kind="async-copy"),
    Wrong("P of this tile with V of the one before", [(VALUES, ""), (O_HERE, "        pack();\n" + VALUES + O_HERE)], kind="async-copy"),
    Wrong("O rescaled before the wait", [(RESCALE, ""), (O_HERE, RESCALE + O_HERE)], kind="async-copy"),
    Wrong("O isn't rescaled", [(RESCALE, "")], kind="wrong-values", says="and O isn't rescaled"),
    Wrong("the second product isn't committed", [(VALUES, "        begin_values(n - 1);\n")], kind="async-copy"),
    Wrong("V of this tile", [("        begin_values(n - 1);", "        begin_values(n);")], kind="wrong-values"),
    Wrong("no barrier before the others wait", [(MEET, "")], kind="mbarrier", says="Put __syncthreads() behind the initialisation"),
    Wrong("doesn't wait for K and V", [("        ptx::mbarrier_wait_parity(full + n % stages * 8, n / stages & 1);\n", "")], kind="async-copy"),
]
