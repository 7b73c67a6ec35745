from lanewise.exercise import Wrong

PLACE = "return row * 128 + (chunk ^ row & 7) * 16;"
FILL = "*(uint4*)(tile + place(r, chunk)) ="

WRONG = [
    Wrong("plain", [(PLACE, "return row * 128 + chunk * 16;")], kind="over-budget", says="shared_load_wavefronts"),
    Wrong("only two kinds of rows", [(PLACE, "return row * 128 + (chunk ^ row & 1) * 16;")], kind="over-budget", says="shared_load_wavefronts"),
    Wrong("rotated once in 8 rows", [(PLACE, "return row * 128 + (chunk + row / 8) % 8 * 16;")], kind="over-budget", says="shared_load_wavefronts"),
    Wrong("all bits of the row", [(PLACE, "return row * 128 + (chunk ^ row) * 16;")], kind="out-of-bounds", says="tile"),
    Wrong("padded", [(PLACE, "return row * 144 + chunk * 16;")], kind="out-of-bounds", says="tile"),
    Wrong(
        "padded, with the room for it",
        [(PLACE, "return row * 144 + chunk * 16;"), ("tile[(Br + Bc) * 128]", "tile[(Br + Bc) * 144]")],
        kind="launch-refused",
        says="49152 are the most",
    ),
    Wrong("filled plainly, read swizzled", [(FILL, "*(uint4*)(tile + r * 128 + chunk * 16) =")], kind="wrong-values"),
    Wrong("every chunk in its row's place", [(PLACE, "return row * 128 + (row & 7) * 16;")], kind="race"),
    Wrong("keys that aren't there count", [("if (key < Nk)  // excluded", "if (true)  // excluded")], kind="wrong-values", says="Case 3 (ragged"),
    Wrong("no barrier after the tile is filled", [("    __syncthreads();  // the tile is filled\n", "")], kind="race"),
]
