from lanewise.exercise import Wrong

BETWEEN = "no __syncthreads() stands between"
ADD = "for (int i = 0; i < 8; ++i) acc[i] += Ps[mine + i][j] * v;\n        }"
WHOLE = "const float o = l[i] > 0.0f ? acc[i] / l[i] : 0.0f;"

WRONG = [
    Wrong(
        "divides in the loop and at the end",
        [(ADD, ADD + "\n        for (int i = 0; i < 8; ++i) acc[i] /= l[i];")],
        kind="wrong-values",
        says="That is acc divided by l",
    ),
    Wrong("divides nowhere", [(WHOLE, "const float o = acc[i];")], kind="wrong-values", says="Case 1"),
    Wrong("no row without a key", [(WHOLE, "const float o = acc[i] / l[i];")], kind="wrong-values", says="Case 4"),
    Wrong("acc isn't scaled", [("            acc[i] *= shrink;\n", "")], kind="wrong-values", says="That is acc with the old sum not rescaled"),
    Wrong("no barrier before the tile is read", [("__syncthreads();  // Qs, Ks and Vs are filled", "")], kind="race", says=BETWEEN),
    Wrong("no barrier after P V", [("__syncthreads();  // all are done with Ks and Vs: refill them", "")], kind="race", says="before the loop comes back"),
    Wrong("P is read before its warp has written it", [("__syncwarp();  // my warp's 8 rows of Ps are filled", "")], kind="race", says="Ps"),
]
