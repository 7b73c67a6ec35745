from lanewise.exercise import Wrong

SEEN = "const int seen = min(Nk, last + offset + 1);"

WRONG = [
    Wrong("visits all", [(SEEN, "const int seen = Nk;")], kind="over-budget", says="global_bytes"),
    Wrong(
        "stops where the first query does",
        [(SEEN, "const int seen = min(Nk, first + offset + 1);")],
        kind="wrong-values", says="Case 3 (15 queries, 39 keys)",
    ),
    Wrong("one key short", [(SEEN, "const int seen = min(Nk, last + offset);")], kind="wrong-values", says="Case"),
    Wrong("one key too many", [(SEEN, "const int seen = min(Nk, last + offset + 2);")], kind="over-budget", says="global_bytes"),
    Wrong("aligned top-left", [(SEEN, "const int seen = min(Nk, last + 1);")], kind="wrong-values", says="Case 1"),
    Wrong("a warp stops for itself", [("start < seen; start", "start < min(seen, first + mine + 8 + offset); start")], kind="barrier-divergence", says=""),
    Wrong(
        "at least one tile",
        [(SEEN, "const int seen = max(1, min(Nk, last + offset + 1));")],
        kind="over-budget",
        says="Case 4 (20 queries, 3 keys)",
    ),
]
