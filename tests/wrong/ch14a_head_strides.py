from lanewise.exercise import Wrong

HEAD = "    Q += batch * q_batch + head * q_head;            // now at its query 0\n"
KEYS = "    K += batch * k_batch + head / group * k_head;    // and at its key 0\n"
VALUES = "    V += batch * k_batch + head / group * k_head;\n"

WRONG = [
    Wrong("ignores the sequence", [(HEAD, HEAD.replace("batch * q_batch + ", ""))], kind="wrong-values", says="In batch 1, head 0, row 0"),
    Wrong("ignores the head", [(HEAD, HEAD.replace(" + head * q_head", ""))], kind="wrong-values", says="In batch 0, head 1, row 0"),
    Wrong(
        "heads before rows, always",
        [(HEAD, HEAD.replace("head * q_head", "head * Nq * q_row"))],
        kind="out-of-bounds",
        says="Case 2 (2 sequences of 2 heads, rows before heads)",
    ),
    Wrong(
        "query heads take turns with the heads of keys",
        [(KEYS, KEYS.replace("head / group", "head % (gridDim.y / group)")), (VALUES, VALUES.replace("head / group", "head % (gridDim.y / group)"))],
        kind="wrong-values",
        says="Case 3 (4 query heads, 2 of keys)",
    ),
    Wrong(
        "a head of keys for each query head",
        [(KEYS, KEYS.replace("head / group", "head")), (VALUES, VALUES.replace("head / group", "head"))],
        kind="out-of-bounds",
        says="Case 3 (4 query heads, 2 of keys)",
    ),
    Wrong("values of the first head alone", [(VALUES, VALUES.replace(" + head / group * k_head", ""))], kind="wrong-values", says="acc expected"),
    Wrong(
        "writes all heads into the first",
        [("    O += batch * q_batch + head * q_head;\n    K", "    O += batch * q_batch;\n    K")],
        kind="race",
        says="O[",
    ),
]
