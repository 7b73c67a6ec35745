from lanewise.exercise import Wrong

ADD_K = "k_sum += dS[row * Nk + key] * Q[row * d + col];"
WRONG = [
    Wrong("the first head of the group alone", [("g < group", "g < 1")], kind="wrong-values", says="dK"),
    Wrong("heads that lie apart", [("kv * group + g;", "g * gridDim.y + kv;")], kind="wrong-values", says="dK"),
    Wrong("the mean of the group", [("= scale * k_sum;", "= scale * k_sum / group;")], kind="wrong-values", says="dK"),
    Wrong("dK without the scale", [("scale * k_sum", "k_sum")], kind="wrong-values", says="8 times"),
    Wrong("dV with the scale", [("= v_sum;", "= scale * v_sum;")], kind="wrong-values", says="0.125 times"),
    Wrong("P for dS", [("k_sum += dS[", "k_sum += P[")], kind="wrong-values", says="dK"),
    Wrong("K's gradient from dO", [(ADD_K, ADD_K.replace("Q[", "dO["))], kind="wrong-values", says="dK"),
    Wrong("not transposed", [("v_sum += P[row * Nk + key]", "v_sum += P[row * Nk + i % Nk]")], kind="wrong-values", says="dV"),
    Wrong("keys past the end", [("    if (key >= Nk) return;\n", "")], kind="out-of-bounds"),
]
