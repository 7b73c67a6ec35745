from lanewise.exercise import Wrong

RETURN = "return (unsigned long long)(at >> 4) | 1ull << 16 |\n               (unsigned long long)(8 * 128 / 16) << 32 | 1ull << 62;"
AT = "const unsigned at = step / 4 * panel + step % 4 * 32;"

WRONG = [
    Wrong("no swizzle", [(RETURN, RETURN.replace(" | 1ull << 62", ""))], kind="async-copy", says="but the descriptor of A of the wgmma"),
    Wrong("swizzle 64B", [(RETURN, RETURN.replace("1ull << 62", "2ull << 62"))], kind="async-copy", says="says the 64-byte swizzle"),
    Wrong("stride in bytes", [(RETURN, RETURN.replace("8 * 128 / 16", "8 * 128"))], kind="out-of-bounds", says="stride offset 16384 bytes"),
    Wrong("stride of a row", [(RETURN, RETURN.replace("8 * 128 / 16", "128 / 16"))], kind="wrong-values", says="if rows 8 to 15 are rows 1 to 8"),
    Wrong(
        "stride of half a panel's rows", [(RETURN, RETURN.replace("8 * 128 / 16", "8 * 64 / 16"))], kind="wrong-values", says="if rows 8 to 15 are rows 4 to 11"
    ),
    Wrong("no stride", [(RETURN, RETURN.replace("(8 * 128 / 16)", "0"))], kind="wrong-values", says="if every group of 8 rows is the first one"),
    Wrong("address in bytes", [(RETURN, RETURN.replace("(at >> 4)", "at"))], kind="out-of-bounds", says="the matrix A of the wgmma"),
    Wrong("one panel", [(AT, "const unsigned at = step * 32;")], kind="wrong-values", says="columns of the next row"),  # an H200 reads it, too
    Wrong("the first panel twice", [(AT, "const unsigned at = step % 4 * 32;")], kind="wrong-values", says="of the first 64 columns, twice"),
    Wrong("no steps", [(AT, "const unsigned at = step / 4 * panel;")], kind="wrong-values", says="the first 16 columns of each panel"),
    Wrong("steps of 16 bytes", [(AT, AT.replace("* 32", "* 16"))], kind="wrong-values", says="if a step begins 16 bytes after"),
    Wrong("steps of 64 bytes", [(AT, AT.replace("* 32", "* 64"))], kind="out-of-bounds", says="the matrix A of the wgmma"),
    Wrong(
        "panels and steps change places",
        [(AT, "const unsigned at = step % 4 * panel + step / 4 * 32;")],
        kind="out-of-bounds",
        says="the matrix A of the wgmma",
    ),
    Wrong(
        "doesn't wait for the tiles",
        [("    ptx::mbarrier_wait_parity(bar, 0);  // Qs and Ks are filled\n", "")],
        kind="async-copy",
        says="before it has seen the copy",
    ),
    Wrong("no barrier before the others wait", [("    __syncthreads();                    // the barrier is there for all\n", "")], kind="mbarrier"),
    Wrong("no fence", [("    ptx::wgmma_fence();\n", "")], kind="async-copy", says="no wgmma.fence has come yet"),
    Wrong("no commit", [("    ptx::wgmma_commit();\n", "")], kind="async-copy", says="It was never committed"),
    Wrong("no wait", [("    ptx::wgmma_wait<0>();\n", "")], kind="async-copy", says="Put wgmma.wait_group before the use"),
]
