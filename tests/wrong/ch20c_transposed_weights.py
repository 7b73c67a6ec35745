from lanewise.exercise import Wrong

QUERY = "const int query = k + lane / 16 * 8 + lane % 8;"
READ = "ptx::ldmatrix_x4_trans(a, weights + p_at(query, keys));"
KEYS = "const int keys = lane / 8 % 2;"

WRONG = [
    Wrong("P isn't transposed", [("ptx::ldmatrix_x4_trans(a,", "ptx::ldmatrix_x4(a,")], kind="wrong-values", says="Case 1 (16 keys)"),
    Wrong("dO isn't transposed", [("ptx::ldmatrix_x4_trans(\n                b,", "ptx::ldmatrix_x4(\n                b,")], kind="wrong-values"),
    Wrong("a[1] and a[2] change places", [(QUERY, "const int query = k + lane % 16;"), (KEYS, "const int keys = lane / 16;")], kind="wrong-values"),
    Wrong("the first 16 queries twice", [(QUERY, QUERY.replace("k + ", ""))], kind="wrong-values"),
    Wrong("stores with one swizzle, reads with another", [(READ, READ.replace("p_at(query, keys)", "query * 32 + keys * 16"))], kind="wrong-values"),
    Wrong("plain rows of two chunks", [("(chunk ^ row / 4 & 1)", "chunk")], kind="over-budget", says="shared_load_wavefronts"),
    Wrong("writes keys that aren't there", [("if (key < Nk)  // excl", "if (key < Nk + 8)  // excl")], kind="out-of-bounds", says="dV["),
    Wrong("no barrier after the tiles are filled", [("    __syncwarp();  // Ps and Gs are filled\n", "")], kind="race"),
]
