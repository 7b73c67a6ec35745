from lanewise.exercise import Wrong

WRONG = [
    Wrong(
        "drop the barrier",
        [("__syncthreads();  // the states", "// the states")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "averages the quarters",
        [
            ("    accs[warp][lane] = acc;\n", "    accs[warp][lane] = acc / l;\n"),
            ("acc += accs[w][lane] * fade;", "acc += accs[w][lane] / 4;"),
            ("O[row * 32 + lane] = acc / l;", "O[row * 32 + lane] = acc;"),
        ],
        kind="wrong-values",
        says="O[0, 0]",
    ),
    Wrong(
        "adds sums of different measures",
        [("l += ls[w] * fade;", "l += ls[w];")],
        kind="wrong-values",
        says="O[0, 0]",
    ),
    Wrong(
        "adds accumulators of different measures",
        [("acc += accs[w][lane] * fade;", "acc += accs[w][lane];")],
        kind="wrong-values",
        says="O[0, 0]",
    ),
    Wrong(
        "warp 0's maximum for all",
        [("m = fmaxf(fmaxf(ms[0], ms[1]), fmaxf(ms[2], ms[3]));", "m = ms[0];")],
        kind="wrong-values",
        says="hundreds higher from quarter to quarter",
    ),
    Wrong(
        "the means instead of the sums",
        [("    accs[warp][lane] = acc;\n", "    accs[warp][lane] = acc / l;\n")],
        kind="wrong-values",
        says="O[0, 0]",
    ),
    Wrong(
        "three of four warps",
        [("for (int w = 0; w < 4; ++w) {\n        const float fade", "for (int w = 0; w < 3; ++w) {\n        const float fade")],
        kind="wrong-values",
        says="O[0, 0]",
    ),
    Wrong(
        "reads past the warp's quarter",
        [("j < end ? S[row * keys + j]", "j < keys ? S[row * keys + j]")],
        kind="wrong-values",
        says="O[",
    ),
]
