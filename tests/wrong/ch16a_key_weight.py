from lanewise.exercise import Wrong

WEIGHT = "sum += expf(scale * s - LSE[i]);"
WRONG = [
    Wrong(
        "the maximum again",
        [
            (
                WEIGHT,
                "float m = -CUDART_INF_F; for (int k = 0; k <= last; ++k) { float t = 0.0f;"
                " for (int c = 0; c < d; ++c) t += Q[i * d + c] * K[k * d + c]; m = fmaxf(m, scale * t); }"
                " sum += expf(scale * s - m) * expf(m - LSE[i]);",
            )
        ],
        kind="over-budget",
        says="flops",
    ),
    Wrong("without the scale", [(WEIGHT, WEIGHT.replace("scale * s", "s"))], kind="wrong-values", says="weight"),
    Wrong("scales the difference", [(WEIGHT, WEIGHT.replace("scale * s - LSE[i]", "scale * (s - LSE[i])"))], kind="wrong-values", says="weight"),
    Wrong("divides by the LSE", [(WEIGHT, "sum += expf(scale * s) / LSE[i];")], kind="wrong-values", says="weight"),
    Wrong("the LSE of its own number", [(WEIGHT, WEIGHT.replace("LSE[i]", "LSE[j % Nq]"))], kind="wrong-values", says="weight"),
    Wrong("sees all keys", [("if (j > last) continue;", "")], kind="wrong-values", says="weight"),
    Wrong("sees the first i keys", [("const int last = i + Nk - Nq;", "const int last = i;")], kind="wrong-values", says="weight"),
]
