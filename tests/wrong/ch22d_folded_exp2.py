from lanewise.exercise import Wrong

BETWEEN = "no __syncthreads() stands between"
SHRINK = "const float shrink = exp2f(fmaf(m[i], factor, -base));"
LSE = "if (lane == i) lse = scale * m[i] + logf(l[i]);"

WRONG = [
    Wrong("shrinks by a power of e", [(SHRINK, "const float shrink = expf(fmaf(m[i], factor, -base));")], kind="wrong-values", says="after key tile 2"),
    Wrong("shrinks by unscaled scores", [(SHRINK, "const float shrink = exp2f(m[i] - m_new);")], kind="wrong-values", says="Case"),
    Wrong("inverted", [(SHRINK, "const float shrink = exp2f(base - factor * m[i]);")], kind="wrong-values", says="Case"),
    Wrong("subtracts first", [(SHRINK, "const float shrink = exp2f(factor * (m[i] - m_new));")], kind="wrong-values", says="No key is allowed so far"),
    Wrong("LSE to the base 2", [(LSE, "if (lane == i) lse = factor * m[i] + log2f(l[i]);")], kind="wrong-values", says="LSE"),
    Wrong("LSE of unscaled scores", [(LSE, "if (lane == i) lse = m[i] + logf(l[i]);")], kind="wrong-values", says="LSE"),
    Wrong("half of it to the base 2", [(LSE, "if (lane == i) lse = factor * m[i] + logf(l[i]);")], kind="wrong-values", says="LSE"),
    Wrong("no barrier before the tile is read", [("__syncthreads();  // Qs, Ks and Vs are filled", "")], kind="race", says=BETWEEN),
    Wrong("no barrier after P V", [("__syncthreads();  // all are done with Ks and Vs: refill them", "")], kind="race", says="before the loop comes back"),
]
