from lanewise.exercise import Wrong

BARRIER = "__syncthreads();  // all are done with Ks and Vs: refill them"
LOOP = (
    "for (int j = 0; j < Bc; ++j) {\n            const float v = Vs[j][lane];\n"
    "            for (int i = 0; i < 8; ++i) acc[i] += Ps[mine + i][j] * v;\n        }"
)

WRONG = [
    Wrong("no barrier after P V", [(BARRIER, "")], kind="race", says="before the loop comes back"),
    Wrong("a barrier of the warp alone", [(BARRIER, "__syncwarp();")], kind="race", says="no __syncthreads() stands between"),
    Wrong("refills while others add", [(LOOP, BARRIER.split(";")[0] + ";\n        " + LOOP), (BARRIER, "")], kind="race", says="Vs"),
    Wrong(
        "adds the newest tile alone",
        [
            (
                "for (int j = 0; j < Bc; ++j) {\n            const",
                "for (int i = 0; i < 8; ++i) acc[i] = 0.0f;\n        for (int j = 0; j < Bc; ++j) {\n            const",
            )
        ],
        kind="wrong-values",
        says="acc",
    ),
    Wrong(
        "V transposed",
        [("const float v = Vs[j][lane];", "const float v = Vs[lane][j];")],
        kind="wrong-values", says="In row 0, after key tile 1: m expected",
    ),
    Wrong(
        "one row's weights for all",
        [("acc[i] += Ps[mine + i][j] * v;", "acc[i] += Ps[mine][j] * v;")],
        kind="wrong-values", says="In row 1, after key tile 1",
    ),
    Wrong(
        "one key short",
        [("for (int j = 0; j < Bc; ++j) {\n            const", "for (int j = 0; j < Bc - 1; ++j) {\n            const")],
        kind="wrong-values", says="acc expected",
    ),
    Wrong(
        "divides by l in each tile",
        [("acc[i] += Ps[mine + i][j] * v;", "acc[i] += Ps[mine + i][j] * v / l[i];")],
        kind="wrong-values", says="after key tile 1",
    ),
]
