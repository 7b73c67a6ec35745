from lanewise.exercise import Wrong

BETWEEN = "no __syncthreads() stands between"
MOST = "const int most = min(Nk, mine + 15 + see + 1) - start;  // my last row's"

WRONG = [
    Wrong("asks the first row", [(MOST, "const int most = min(Nk, mine + see + 1) - start;")], kind="wrong-values", says="Case"),
    Wrong("asks the block's last row", [(MOST, "const int most = min(Nk, first + Br + see) - start;")], kind="over-budget", says="flops"),
    Wrong("rounds down", [("(most + 15) / 16", "most / 16")], kind="wrong-values", says="Case"),
    Wrong("forgets where the tile starts", [(MOST, "const int most = min(Nk, mine + 15 + see + 1);")], kind="over-budget", says="flops"),
    Wrong("one slice too many", [("(most + 15) / 16", "most / 16 + 1")], kind="over-budget", says="flops"),
    Wrong("aligned top-left", [(MOST, "const int most = min(Nk, mine + 15 + 1) - start;")], kind="wrong-values", says="Case 2"),
    Wrong("forgets that Nk may come first", [(MOST, "const int most = mine + 15 + see + 1 - start;")], kind="over-budget", says="16, 20 and 20"),
    Wrong("all of P V", [("            if (k >= slices) break;          // it is 0\n", "")], kind="over-budget", says="flops"),
    Wrong("no mask within the last slice", [("if (start + Bc > min(Nk, mine + see + 1)) {", "if (start + Bc > Nk) {")], kind="wrong-values", says="Case"),
    Wrong("no wait for the copies", [("ptx::cp_async_wait<0>();", "")], kind="async-copy", says="wait"),
    Wrong("no barrier after the wait", [("__syncthreads();  // Q, K and V are here for all", "")], kind="race", says=BETWEEN),
    Wrong("refills what others read", [("__syncthreads();  // all are done with K and V: refill them", "")], kind="race", says=BETWEEN),
]
