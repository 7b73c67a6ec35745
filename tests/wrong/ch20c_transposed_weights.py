from lanewise.exercise import Wrong

QUERY = "const int query = k + lane / 16 * 8 + lane % 8;"
READ = "ptx::ldmatrix_x4_trans(a, weights + p_at(query, keys));"
KEYS = "const int keys = lane / 8 % 2;"

ROWS = "const int query = k + lane % 16;"
CHUNK = "const int keys = lane / 16;"
PLAIN_A = ("ptx::ldmatrix_x4_trans(a,", "ptx::ldmatrix_x4(a,")
PLAIN_B = ("ptx::ldmatrix_x4_trans(\n                b,", "ptx::ldmatrix_x4(\n                b,")

WRONG = [
    Wrong("P isn't transposed", [("ptx::ldmatrix_x4_trans(a,", "ptx::ldmatrix_x4(a,")], kind="wrong-values", says="the addresses for P are, too"),
    Wrong("P as it stands", [(QUERY, ROWS), (KEYS, CHUNK), PLAIN_A], kind="wrong-values", says="P stands as it lies in memory"),
    Wrong("P and dO as they stand", [(QUERY, ROWS), (KEYS, CHUNK), PLAIN_A, PLAIN_B], kind="wrong-values", says="neither turned"),
    Wrong("dO isn't transposed", [PLAIN_B], kind="wrong-values", says="P is right, and dO's matrices"),
    Wrong("a[1] and a[2] change places", [(QUERY, ROWS), (KEYS, CHUNK)], kind="wrong-values", says="its second and third matrix have changed places"),
    Wrong("the first 16 queries twice", [(QUERY, QUERY.replace("k + ", ""))], kind="wrong-values", says="the first 16, twice"),
    Wrong("stores with one swizzle, reads with another", [(READ, READ.replace("p_at(query, keys)", "query * 32 + keys * 16"))], kind="wrong-values"),
    Wrong("plain rows of two chunks", [("(chunk ^ row / 4 & 1)", "chunk")], kind="over-budget", says="shared_load_wavefronts"),
    Wrong("writes keys that aren't there", [("if (key < Nk)  // excl", "if (key < Nk + 8)  // excl")], kind="out-of-bounds", says="dV["),
    Wrong("no barrier after the tiles are filled", [("    __syncwarp();  // Ps and Gs are filled\n", "")], kind="race"),
]
