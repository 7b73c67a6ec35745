from lanewise.exercise import Wrong

MASK = "start + lane < limit ? scale * s[i] : -CUDART_INF_F;"
BASE = "const float base = m_new == -CUDART_INF_F ? 0.0f : m_new;"

WRONG = [
    Wrong("-1e9", [(MASK, "start + lane < limit ? scale * s[i] : -1e9f;")], kind="wrong-values", says="Only fully masked rows are wrong"),
    Wrong(
        "the most negative float",
        [(MASK, "start + lane < limit ? scale * s[i] : -3.402823466e38f;")],
        kind="wrong-values", says="Only fully masked rows are wrong",
    ),
    Wrong("-inf - -inf", [(BASE, "const float base = m_new;")], kind="wrong-values", says="m stays -inf, and exp(-inf - -inf) must not be asked for"),
    Wrong(
        "divides by 0 in the end",
        [("const float o = l[i] > 0.0f ? acc[i] / l[i] : 0.0f;", "const float o = acc[i] / l[i];")],
        kind="wrong-values",
        says="is nan, expected 0.0",
    ),
    Wrong(
        "a small number below",
        [("l[i] > 0.0f ? acc[i] / l[i] : 0.0f;", "acc[i] / (l[i] + 1e-2f);")],
        kind="wrong-values", says="The state (m, l, acc) is right after every key tile",
    ),
    Wrong(
        "LSE of 0 for a row without keys",
        [("lse = m[i] + logf(l[i]);", "lse = l[i] > 0.0f ? m[i] + logf(l[i]) : 0.0f;")],
        kind="wrong-values", says="expected -inf",
    ),
]
