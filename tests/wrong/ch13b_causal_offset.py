from lanewise.exercise import Wrong

LIMIT = "            const int limit = min(Nk, row + Nk - Nq + 1);  // keys it sees\n"

WRONG = [
    Wrong(
        "aligned top-left",
        [(LIMIT, LIMIT.replace("row + Nk - Nq + 1", "row + 1"))],
        kind="wrong-values",
        says="Case 2 (3 queries, 5 keys)",
    ),
    Wrong(
        "doesn't see itself",
        [(LIMIT, LIMIT.replace("row + Nk - Nq + 1", "row + Nk - Nq"))],
        kind="wrong-values", says="In row 0, after key tile 1: m expected",
    ),
    Wrong(
        "sees one key of the future",
        [(LIMIT, LIMIT.replace("row + Nk - Nq + 1", "row + Nk - Nq + 2"))],
        kind="wrong-values", says="In row 0, after key tile 1: m expected",
    ),
    Wrong(
        "offset the wrong way round",
        [(LIMIT, LIMIT.replace("row + Nk - Nq + 1", "row + Nq - Nk + 1"))],
        kind="wrong-values", says="Case 2 (3 queries, 5 keys)",
    ),
    Wrong("sees everything", [(LIMIT, LIMIT.replace("min(Nk, row + Nk - Nq + 1)", "Nk"))], kind="wrong-values", says="In row 0, after key tile 1: m expected"),
    Wrong(
        "masked scores are 0",
        [("s[i] : -CUDART_INF_F;\n            //@stub", "s[i] : 0.0f;\n            //@stub")],
        kind="wrong-values",
        says="l expected",
    ),
    Wrong(
        "the block's first row for all",
        [(LIMIT, LIMIT.replace("row + Nk", "first + Nk"))],
        kind="wrong-values",
        says="In row 1, after key tile 1",
    ),
]
