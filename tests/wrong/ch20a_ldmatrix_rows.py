from lanewise.exercise import Wrong

Q = "const __half* q = Qs + lane % 16 * pitch + k + lane / 16 * 8;"
K = "const int r = 16 * j + lane / 16 * 8 + lane % 8;"
KEY = "const __half* key = Ks + r * pitch + k + lane / 8 % 2 * 8;"

Q_AS_K = "const __half* q = Qs + (lane / 16 * 8 + lane % 8) * pitch + k + lane / 8 % 2 * 8;"
K_AS_Q = "const int r = 16 * j + lane % 16;"

WRONG = [
    Wrong("the columns never move on", [(Q, Q.replace(" + k", ""))], kind="wrong-values", says="Q's columns never move on"),
    Wrong("K's columns never move on", [(KEY, KEY.replace(" + k", ""))], kind="wrong-values", says="K's columns never move on"),
    Wrong("neither moves on", [(Q, Q.replace(" + k", "")), (KEY, KEY.replace(" + k", ""))], kind="wrong-values", says="Neither Q's columns nor K's"),
    Wrong(
        "Q's matrices in K's order",
        [(Q, "const __half* q = Qs + (lane / 16 * 8 + lane % 8) * pitch + k + lane / 8 % 2 * 8;")],
        kind="wrong-values",
        says="Of Q the second and the third matrix",
    ),
    Wrong(
        "both in the other's order",
        [(Q, Q_AS_K), (K, K_AS_Q), (KEY, KEY.replace("lane / 8 % 2", "lane / 16"))],
        kind="wrong-values",
        says="Of both the second and the third",
    ),
    Wrong(
        "K's matrices in Q's order",
        [(K, K_AS_Q), (KEY, KEY.replace("lane / 8 % 2", "lane / 16"))],
        kind="wrong-values",
        says="Of K the second and the third matrix",
    ),
    Wrong("all keys of the first 16", [(K, K.replace("16 * j + ", ""))], kind="wrong-values", says="All keys are the first 16"),
    Wrong(
        "transposed on the way",
        [("ptx::ldmatrix_x4(b, ptx::shared_address(key", "ptx::ldmatrix_x4_trans(b, ptx::shared_address(key")],
        kind="wrong-values",
        says="K was turned over on the way",
    ),
    Wrong(
        "Q transposed on the way",
        [("ptx::ldmatrix_x4(a, ptx::shared_address(q", "ptx::ldmatrix_x4_trans(a, ptx::shared_address(q")],
        kind="wrong-values",
        says="Q was turned over on the way",
    ),
    Wrong("a lane names its own pair, not its row", [(Q, "const __half* q = Qs + lane / 4 * pitch + k + lane % 4 * 2;")], kind="misaligned"),
    Wrong("chunks for columns", [(Q, Q.replace("lane / 16 * 8", "lane / 16"))], kind="misaligned", says="2 bytes behind the start of Qs"),
    Wrong("a row past the tile", [(K, K.replace("lane % 8", "lane"))], kind="out-of-bounds"),
    Wrong("no barrier after the tiles are filled", [("    __syncwarp();  // Qs and Ks are filled\n", "")], kind="race"),
]
