from lanewise.exercise import Wrong

BETWEEN = "no __syncthreads() stands between"
TILE = "constexpr int Br = 128, Bc = 32;  // 24,576 bytes; (192, 16) takes 28,672"

WRONG = [
    Wrong("square", [(TILE, "constexpr int Br = 64, Bc = 64;")], kind="over-budget", says="global_load_sectors"),
    Wrong("small, for more blocks", [(TILE, "constexpr int Br = 64, Bc = 32;")], kind="over-budget", says="global_load_sectors"),
    Wrong("room left for more keys", [(TILE, "constexpr int Br = 128, Bc = 16;")], kind="over-budget", says="barriers is 12"),
    Wrong("a tile that four warps can't share", [(TILE, "constexpr int Br = 160, Bc = 16;")], kind="compile-error", says="16 rows each"),
    Wrong("both large", [(TILE, "constexpr int Br = 128, Bc = 64;")], kind="out-of-bounds", says="memory has 24576 elements"),
    Wrong("the most queries", [(TILE, "constexpr int Br = 192, Bc = 16;")], kind="out-of-bounds", says="memory has 24576 elements"),
    Wrong("the most keys", [(TILE, "constexpr int Br = 64, Bc = 128;")], kind="out-of-bounds", says="memory has 24576 elements"),
    Wrong("every second tile of queries", [("t += gridDim.x", "t += 2 * gridDim.x")], kind="unwritten-output", says="O["),
    Wrong("no wait for the copies", [("ptx::cp_async_wait<0>();", "")], kind="async-copy", says="wait"),
    Wrong("no group to wait for", [("ptx::cp_async_commit();", "")], kind="async-copy", says="not finished"),
    Wrong("no barrier after the wait", [("__syncthreads();  // Q, K and V are here for all", "")], kind="race", says=BETWEEN),
    Wrong("refills what others read", [("__syncthreads();  // all are done with Q, K and V: refill them", "")], kind="race", says=BETWEEN),
]
