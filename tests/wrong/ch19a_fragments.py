from lanewise.exercise import Wrong

A_PLACE = "const int row = group + r % 2 * 8;\n            const int col = start + pair + r / 2 * 8;"
A_PAIR = "a[r] = __halves2half2(A[row * K + col], A[row * K + col + 1]);"
B_PAIR = "b[r] = __halves2half2(B[row * 8 + group], B[(row + 1) * 8 + group]);"
STORE = "C[(group + e / 2 * 8) * 8 + pair + e % 2] = c[e];"

WRONG = [
    Wrong(
        "A's registers 1 and 2 change places",
        [(A_PLACE, A_PLACE.replace("r % 2 * 8", "r / 2 * 8 ").replace("pair + r / 2 * 8", "pair + r % 2 * 8"))],
        kind="wrong-values",
        says="A's registers 1 and 2 have changed places",
    ),
    Wrong(
        "halves of A's pairs change places",
        [(A_PAIR, "a[r] = __halves2half2(A[row * K + col + 1], A[row * K + col]);")],
        kind="wrong-values",
        says="halves of the pairs have changed places",
    ),
    Wrong("B in rows", [(B_PAIR, "b[r] = __halves2half2(B[row * 8 + group], B[row * 8 + group + 1]);")], kind="wrong-values", says="B's pairs go across"),
    Wrong(
        "halves of B's pairs change places",
        [(B_PAIR, "b[r] = __halves2half2(B[(row + 1) * 8 + group], B[row * 8 + group]);")],
        kind="wrong-values",
        says="halves of the pairs",
    ),
    Wrong(
        "B's registers change places", [("start + pair + r * 8;", "start + pair + (1 - r) * 8;")], kind="wrong-values", says="B's registers have changed places"
    ),
    Wrong(
        "lane % 8 and lane / 8",
        [("const int group = lane / 4;", "const int group = lane % 8;"), ("const int pair = lane % 4 * 2;", "const int pair = lane / 8 * 2;")],
        kind="wrong-values",
        says="counted by columns of the fragment",
    ),
    Wrong(
        "C's rows next to each other",
        [(STORE, "C[(2 * group + e / 2) * 8 + pair + e % 2] = c[e];")],
        kind="wrong-values",
        says="went to 2 group and 2 group + 1",
    ),
    Wrong("C's pairs go down", [(STORE, "C[(group + e % 2 * 8) * 8 + pair + e / 2] = c[e];")], kind="wrong-values", says="C's pairs were stored down"),
    Wrong(
        "in the order of memory",
        [
            (A_PLACE, "const int row = (lane * 4 + r) / 8;\n            const int col = start + (lane * 4 + r) % 8 * 2;"),
            (B_PAIR, "const __half* p = B + start * 8 + (lane * 2 + r) * 2;\n            b[r] = __halves2half2(p[0], p[1]);"),
            (STORE, "C[lane * 4 + e] = c[e];"),
        ],
        kind="wrong-values",
        says="one behind the other from memory",
    ),
    Wrong(
        "the first step again and again",
        [("const int col = start + pair + r / 2 * 8;", "const int col = pair + r / 2 * 8;")],
        kind="wrong-values",
        says="A's columns stay at the first 16",
    ),
]
