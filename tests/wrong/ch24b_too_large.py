from lanewise.exercise import Wrong

BETWEEN = "no __syncthreads() stands between"
TILE = "constexpr int Bc = 32;                   // 2 d (Br + 2 Bc) = 16,384"

WRONG = [
    Wrong("64 keys still", [(TILE, "constexpr int Bc = 64;")], kind="out-of-bounds", says="memory has 16384 elements"),
    Wrong("48 keys", [(TILE, "constexpr int Bc = 48;")], kind="out-of-bounds", says="memory has 16384 elements"),
    Wrong("16 keys: half of the room is left", [(TILE, "constexpr int Bc = 16;")], kind="over-budget", says="barriers is 8"),
    Wrong("V in the place of K, at once", [(TILE, "constexpr int Bc = 64;"), ("Vs = Ks + 2 * d * Bc", "Vs = Ks")], kind="async-copy", says="not finished"),
    Wrong(
        "half the products with V",
        [("for (int k = 0; k < Bc / 16; ++k) {", "for (int k = 0; k < Bc / 32; ++k) {")],
        kind="wrong-values",
        says="P V has taken 16 keys of each tile",
    ),
    Wrong("no mask", [("if (start + Bc > Nk) {", "if (start + Bc > Nk + Bc) {")], kind="wrong-values", says="Keys that aren't there have counted"),
    Wrong(
        "four slices of V, as for 64 keys",
        [("for (int k = 0; k < Bc / 16; ++k) {", "for (int k = 0; k < 4; ++k) {")],
        kind="out-of-bounds",
        says="reads memory[16384",
    ),
    Wrong("one key too many", [("if (start + Bc > Nk) {", "if (start + Bc > Nk + 1) {")], kind="wrong-values", says="Keys that aren't there have counted"),
    Wrong("steps of 64 keys", [("start < Nk; start += Bc", "start < Nk; start += 64")], kind="wrong-values", says="Every other tile of keys is missing"),
    Wrong("no wait for the copies", [("ptx::cp_async_wait<0>();", "")], kind="async-copy", says="wait"),
    Wrong("no group to wait for", [("ptx::cp_async_commit();", "")], kind="async-copy", says="not finished"),
    Wrong("no barrier after the wait", [("__syncthreads();  // Q, K and V are here for all", "")], kind="race", says=BETWEEN),
    Wrong("refills what others read", [("__syncthreads();  // all are done with K and V: refill them", "")], kind="race", says=BETWEEN),
]
