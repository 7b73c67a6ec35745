from lanewise.exercise import Wrong

WRONG = [
    Wrong("the mean", [("const float keep = sum > 0.0f ? a / sum : 0.0f;", "const float keep = 0.5f;")], kind="wrong-values", says="Case 1 (eight rows)"),
    Wrong("the larger half wins", [("const float joined = base + logf(sum);", "const float joined = top;")], kind="wrong-values", says="LSE["),
    Wrong("weights change places", [("expf(old - base), b = expf(more - base)", "expf(more - base), b = expf(old - base)")], kind="wrong-values"),
    Wrong("not measured against the larger one", [("top == -CUDART_INF_F ? 0.0f : top;", "0.0f;")], kind="wrong-values", says="Case 3 (hundreds apart)"),
    Wrong("two empty halves", [("top == -CUDART_INF_F ? 0.0f : top;", "top;")], kind="wrong-values", says="Case 2 (halves without a key)"),
    Wrong("divides by 0", [("sum > 0.0f ? a / sum : 0.0f", "a / sum")], kind="wrong-values", says="Case 2"),
    Wrong("rows that aren't there", [("    if (row >= N) return;  // the warp's row isn't there\n", "")], kind="out-of-bounds"),
    Wrong("LSE changes before all have read it", [("    __syncwarp();  // every lane has read LSE\n", "")], kind="race"),
]
