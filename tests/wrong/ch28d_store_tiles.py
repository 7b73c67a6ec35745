from lanewise.exercise import Wrong

READ = "        if (threadIdx.x == 0) ptx::bulk_wait_read<0>();\n"
FREE = "        __syncthreads();  // the copy engine has read the tile before\n"
FENCE = "        ptx::fence_proxy_async();\n"
THERE = "        __syncthreads();  // the tile is there, and the copy engine sees it\n"
COMMIT = "            ptx::bulk_commit();\n"
END = "    if (threadIdx.x == 0) ptx::bulk_wait<0>();\n"

WRONG = [
    Wrong("Os overwritten while it is read", [(READ, "")], kind="async-copy", says="wait_group.read"),
    Wrong("waited for by one thread alone", [(FREE, "")], kind="race"),
    Wrong("no fence", [(FENCE, "")], kind="async-copy", says="proxy"),
    Wrong("a fence by the storing thread alone", [(FENCE, "        if (threadIdx.x == 0) ptx::fence_proxy_async();\n")], kind="async-copy", says="proxy"),
    Wrong("a fence before the writes", [(FENCE, ""), (READ, READ + FENCE)], kind="async-copy", says="proxy"),
    Wrong("stored before all have written", [(THERE, "")], kind="async-copy"),
    Wrong("not committed", [(COMMIT, "")], kind="async-copy"),
    Wrong("the block ends before the store does", [(END, "")], kind="async-copy"),
    Wrong("every thread stores", [("        if (threadIdx.x == 0) {\n            ptx::tma", "        {\n            ptx::tma")], kind="race"),
    Wrong("coordinates in the array's order", [("0, 64 * tile);", "64 * tile, 0);")], kind="unwritten-output"),
    Wrong("the tile before", [("0, 64 * tile);", "0, 64 * (tile - 1));")], kind="out-of-bounds", says="before the array"),
]
