from lanewise.exercise import Wrong

PLACE = "const int place = t * 64 + (c ^ t / 2 % 4) * 16;"

WRONG = [
    Wrong("as if rows had 128 bytes", [(PLACE, PLACE.replace("t / 2 % 4", "t % 8"))], kind="out-of-bounds", says="reads tile["),
    Wrong("row, not pair of rows", [(PLACE, PLACE.replace("t / 2 % 4", "t % 4"))], kind="wrong-values", says="The chunks are swizzled by the row"),
    Wrong("plain", [(PLACE, PLACE.replace("(c ^ t / 2 % 4)", "c"))], kind="wrong-values", says="from their plain places"),
    Wrong(
        "its words one by one",
        [
            ("        const uint4 x = *(const uint4*)(tile + place);\n        const __half* k = (const __half*)&x;\n", ""),
            ("s += __half2float(k[i]) * qs[8 * c + i];", "s += __half2float(((const volatile __half*)(tile + place))[i]) * qs[8 * c + i];"),
        ],
        kind="over-budget",
        says="shared_load_wavefronts",
    ),
    Wrong("doesn't wait", [("    ptx::mbarrier_wait_parity(bar, 0);  // tile is filled\n", "")], kind="async-copy", says="tile"),
    Wrong(
        "no barrier before the others wait",
        [("    __syncthreads();                    // qs is filled, the barrier is there\n", "")],
        kind="mbarrier",
        says="Put __syncthreads() behind the initialisation",
    ),
]
