from lanewise.exercise import Wrong

PACK = "p[step][i] = ptx::pack2(s[8 * step + 2 * i],\n                                    s[8 * step + 2 * i + 1], __half());"
TILE = "ptx::wgmma_tile(v + step * 16 * 128, panel, 8 * 128);"
FENCE = "    ptx::keep(p[0]), ptx::keep(p[1]), ptx::keep(p[2]), ptx::keep(p[3]);\n    ptx::wgmma_fence();\n"
WAIT = "    ptx::wgmma_wait<0>();\n    ptx::keep(o);\n"
COMMIT = "    ptx::wgmma_commit();\n" + WAIT

WRONG = [
    Wrong(
        "rows before columns",
        [(PACK, "p[step][i] = ptx::pack2(s[8 * step + i / 2 * 2 + i % 2 * 4], s[8 * step + i / 2 * 2 + i % 2 * 4 + 1], __half());")],
        kind="wrong-values",
        says="Registers 1 and 2 of the weights",
    ),
    Wrong(
        "pairs the wrong way round",
        [(PACK, "p[step][i] = ptx::pack2(s[8 * step + 2 * i + 1], s[8 * step + 2 * i], __half());")],
        kind="wrong-values",
        says="The halves of the pairs",
    ),
    Wrong(
        "the first 16 keys four times",
        [(PACK, "p[step][i] = ptx::pack2(s[2 * i], s[2 * i + 1], __half());")],
        kind="wrong-values",
        says="the first 16 keys come four times",
    ),
    Wrong("K's steps", [(TILE, "ptx::wgmma_tile(v + step * 32, panel, 8 * 128);")], kind="wrong-values", says="V's steps move along its rows"),
    Wrong("the first panel twice", [(TILE, TILE.replace("panel, 8", "0, 8"))], kind="wrong-values", says="V's first 64 columns come twice"),
    Wrong(
        "strides exchanged",
        [(TILE, "ptx::wgmma_tile(v + step * 16 * 128, 8 * 128, panel);")],
        kind="wrong-values",
        says="The two distances have changed places",
    ),
    Wrong(
        "V as if its keys were contiguous",
        [("ptx::Wgmma<128, __half>::registers(o, p[step], b, step > 0);", "ptx::Wgmma<128, __half>::registers<0>(o, p[step], b, step > 0);")],
        kind="out-of-bounds",
        says="the matrix B of the wgmma",
    ),
    Wrong(
        "each step starts anew",
        [("registers(o, p[step], b, step > 0);", "registers(o, p[step], b, 0);")],
        kind="wrong-values",
        says="That is the last step alone",
    ),
    Wrong(
        "no fence after p is written",
        [(FENCE, FENCE.replace("    ptx::wgmma_fence();\n", ""))],
        kind="async-copy",
        says="its registers were used since the last wgmma.fence",
    ),
    Wrong("no wait", [(WAIT, "    ptx::keep(o);\n")], kind="async-copy", says="Put wgmma.wait_group before the use"),
    Wrong("no commit", [(COMMIT, WAIT)], kind="async-copy", says="It was never committed"),
    Wrong(
        "doesn't wait for the tiles",
        [("    ptx::mbarrier_wait_parity(bar, 0);  // all tiles are filled\n", "")],
        kind="async-copy",
        says="before it has seen the copy",
    ),
    Wrong("no barrier before the others wait", [("    __syncthreads();                    // the barrier is there for all\n", "")], kind="mbarrier"),
    Wrong("natural powers", [("s[i] = ptx::exp2_approx(s[i]);", "s[i] = expf(s[i]);")], kind="wrong-values", says="powers of e"),
]
