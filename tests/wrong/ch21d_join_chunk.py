from lanewise.exercise import Wrong

KEEP = "const float keep = sum > 0.0f ? a / sum : 0.0f;"
ADD = "const float add = sum > 0.0f ? b / sum : 0.0f;"

WRONG = [
    Wrong("the mean", [(KEEP, "const float keep = 0.5f;"), (ADD, "const float add = 0.5f;")], kind="wrong-values", says="That is the mean of the halves"),
    Wrong("weights as they are", [(KEEP, "const float keep = a;"), (ADD, "const float add = b;")], kind="wrong-values", says="divided by their sum"),
    Wrong(
        "the larger half wins", [("const float joined = base + logf(sum);", "const float joined = top;")], kind="wrong-values", says="the larger of the two LSE"
    ),
    Wrong(
        "weights change places",
        [("expf(old - base), b = expf(more - base)", "expf(more - base), b = expf(old - base)")],
        kind="wrong-values",
        says="The two weights have changed places",
    ),
    Wrong("not measured against the larger one", [("top == -CUDART_INF_F ? 0.0f : top;", "0.0f;")], kind="wrong-values", says="e^LSE overflows"),
    Wrong("two empty halves", [("top == -CUDART_INF_F ? 0.0f : top;", "top;")], kind="wrong-values", says="that is -inf - -inf"),
    Wrong("divides by 0", [("sum > 0.0f ? a / sum : 0.0f", "a / sum")], kind="wrong-values", says="that is 0 / 0"),
    Wrong("rows that aren't there", [("    if (row >= N) return;  // the warp's row isn't there\n", "")], kind="out-of-bounds"),
    Wrong("LSE changes before all have read it", [("    __syncwarp();  // every lane has read LSE\n", "")], kind="race"),
]
