from lanewise.exercise import Wrong

BEGIN = "    if (w == groups - 1) ptx::named_barrier_arrive(1, 256);\n"
WAIT = "        ptx::named_barrier_sync(1 + w, 256);\n"
PASS = "        ptx::named_barrier_arrive(1 + (w + 1) % groups, 256);\n"

WRONG = [
    Wrong("nobody begins", [(BEGIN, "")], kind="deadlock"),
    Wrong("nobody waits", [(WAIT, "")], kind="race"),
    Wrong("nobody passes the turn on", [(PASS, "")], kind="deadlock"),
    Wrong("all 384 at one barrier", [(BEGIN, ""), (WAIT, "        ptx::named_barrier_sync(1, 384);\n"), (PASS, "")], kind="race"),
    Wrong("backwards", [(PASS, PASS.replace("w + 1", "w + 2"))], kind="wrong-values", says="order[1]"),
    Wrong("warpgroup 1 begins", [(BEGIN, BEGIN.replace("arrive(1,", "arrive(2,").replace("groups - 1", "0"))], kind="wrong-values", says="order[0]"),
    Wrong("counts only those who wait", [(WAIT, WAIT.replace("256", "128"))], kind="barrier-divergence", says="give the same count"),
    Wrong("passed on before it is taken", [(PASS, ""), (WAIT, WAIT + PASS)], kind="race"),
    Wrong("two let warpgroup 0 begin", [(BEGIN, BEGIN.replace("w == groups - 1", "w > 0"))], kind="deadlock", says="completed it before anybody waited there"),
    Wrong(
        "warpgroup 0 lets itself begin",
        [(BEGIN, BEGIN.replace("w == groups - 1", "w == 0"))],
        kind="barrier-divergence",
        line=WAIT.strip(),
        says="waits at barrier 1 on line 33, but it has arrived there already on line 27",
    ),
    Wrong("no barrier before the sum", [("    ptx::named_barrier_sync(4 + w, 128);  // my four parts are there\n", "")], kind="race"),
]
