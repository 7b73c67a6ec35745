from lanewise.exercise import Wrong

BETWEEN = "no __syncthreads() stands between"
MOST = "const int most = min(Nk, mine + 15 + see + 1) - start;  // my last row's"

WRONG = [
    Wrong("asks the first row", [(MOST, "const int most = min(Nk, mine + see + 1) - start;")], kind="wrong-values", says="as its first row needs"),
    Wrong("asks the block's last row", [(MOST, "const int most = min(Nk, first + Br + see) - start;")], kind="over-budget", says="flops"),
    Wrong("rounds down", [("(most + 15) / 16", "most / 16")], kind="wrong-values", says="the last, partial slice of a warp is left out"),
    Wrong("one key too few", [(MOST, "const int most = min(Nk, mine + 15 + see) - start;")], kind="wrong-values", says="or counts one key too few"),
    Wrong("forgets where the tile starts", [(MOST, "const int most = min(Nk, mine + 15 + see + 1);")], kind="over-budget", says="flops"),
    Wrong("one slice too many", [("(most + 15) / 16", "most / 16 + 1")], kind="over-budget", says="flops"),
    Wrong("aligned top-left", [(MOST, "const int most = min(Nk, mine + 15 + 1) - start;")], kind="wrong-values", says="as if query i saw keys up to i"),
    Wrong("forgets that Nk may come first", [(MOST, "const int most = mine + 15 + see + 1 - start;")], kind="over-budget", says="16, 20 and 20"),
    Wrong(
        "P V a slice too early",
        [("if (k >= slices) break;          // it is 0", "if (k >= slices - 1) break;")],
        kind="wrong-values",
        says="if P V ends a slice too early",
    ),
    Wrong("all of P V", [("            if (k >= slices) break;          // it is 0\n", "")], kind="over-budget", says="flops"),
    Wrong(
        "no mask within the last slice",
        [("if (start + Bc > min(Nk, mine + see + 1)) {", "if (start + Bc > Nk) {")],
        kind="wrong-values",
        says="if the last slices aren't masked",
    ),
    Wrong("no wait for the copies", [("ptx::cp_async_wait<0>();", "")], kind="async-copy", says="wait"),
    Wrong("no barrier after the wait", [("__syncthreads();  // Q, K and V are here for all", "")], kind="race", says=BETWEEN),
    Wrong("refills what others read", [("__syncthreads();  // all are done with K and V: refill them", "")], kind="race", says=BETWEEN),
]
