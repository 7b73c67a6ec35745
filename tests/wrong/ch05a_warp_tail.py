from lanewise.exercise import Wrong

WARP = "__syncwarp();  // all lanes of warp 0"
ADD = "                s[t] += s[t + half];"
LOOP = "for (int half = 32; half > 0; half /= 2) {"

WRONG = [
    Wrong(
        "no barrier in the tail",
        [(WARP, "// all lanes of warp 0")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "volatile instead of a barrier",
        [(WARP, "// all lanes of warp 0"), (ADD, ADD.replace("s[", "((volatile float*)s)["))],
        kind="race",
        says="s[",
    ),
    Wrong(
        "a barrier after each line, and all 32 lanes add",
        [("            if (t < half) {\n                s[t] += s[t + half];\n            }\n", "            s[t] += s[t + half];\n")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "the block waits at every level",
        [("half > 32; half /= 2", "half > 0; half /= 2"), ("if (t < 32) {", "if (t < 0) {")],
        kind="over-budget",
        says="barriers",
    ),
    Wrong(
        "the block's barrier where only one warp comes",
        [(WARP, "__syncthreads();  // all lanes of warp 0")],
        kind="barrier-divergence",
        line="__syncthreads();  // all lanes",
    ),
    Wrong(
        "calls for half of the warp",
        [(WARP, "__syncwarp(0x0000ffffu);  // all lanes of warp 0")],
        kind="warp-mask",
        line="__syncwarp(0x0000ffffu)",
    ),
    Wrong(
        "drops the barrier after filling",
        [("__syncthreads();  // every s[]", "// every s[]")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "drops the barrier of the levels 128 and 64",
        [("__syncthreads();  // the sum", "// the sum")],
        kind="race",
        says="s[",
    ),
    Wrong(
        "the tail begins too late",
        [(LOOP, LOOP.replace("32", "16"))],
        kind="wrong-values",
        says="part[0]",
    ),
    Wrong(
        "the tail ends too early",
        [(LOOP, LOOP.replace("half > 0", "half > 1"))],
        kind="wrong-values",
        says="part[0]",
    ),
]
