from lanewise.exercise import Wrong

NEGATED = "wrong = !(equal || (near && !isinf(b)));"

WRONG = [
    Wrong(
        "asks whether the error is too large",
        [(NEGATED, "wrong = !equal && fabsf(a - b) > atol + rtol * fabsf(b);")],
        kind="wrong-values",
        says="count",
    ),
    Wrong(
        "anything is near infinity",
        [(NEGATED, "wrong = !(equal || near);")],
        kind="wrong-values",
        says="count",
    ),
    Wrong(
        "NaN is wrong even where it is wanted",
        [("const bool equal = a == b || (isnan(a) && isnan(b));", "const bool equal = a == b;")],
        kind="wrong-values",
        says="count",
    ),
    Wrong(
        "any NaN in got is right if want has one or not",
        [("(isnan(a) && isnan(b))", "isnan(a)")],
        kind="wrong-values",
        says="count",
    ),
    Wrong(
        "equal infinities are wrong",
        [("const bool equal = a == b || ", "const bool equal = "), (NEGATED, "wrong = !(equal || (near && !isinf(b)) || (a == b && !isinf(b)));")],
        kind="wrong-values",
        says="count",
    ),
    Wrong(
        "forgets the relative part",
        [("const bool near = fabsf(a - b) <= atol + rtol * fabsf(b);", "const bool near = fabsf(a - b) <= atol;")],
        kind="wrong-values",
        says="count",
    ),
    Wrong(
        "takes the relative part of got",
        [("const bool near = fabsf(a - b) <= atol + rtol * fabsf(b);", "const bool near = fabsf(a - b) <= atol + rtol * fabsf(a);")],
        kind="wrong-values",  # an infinite got makes an infinite limit
        says="count",
    ),
    Wrong(
        "one atomicAdd a wrong element",
        [("if (threadIdx.x % 32 == 0 && votes != 0) {\n        atomicAdd(count, __popc(votes));", "if (wrong) {\n        atomicAdd(count, 1);")],
        kind="over-budget",
        says="atomics",
    ),
    Wrong(
        "a plain addition",
        [("atomicAdd(count, __popc(votes));", "*count += __popc(votes);")],
        kind="race",
        says="count",
    ),
    Wrong(
        "every lane adds the warp's votes",
        [("if (threadIdx.x % 32 == 0 && votes != 0) {", "if (votes != 0) {")],
        kind="wrong-values",
        says="count",
    ),
    Wrong(
        "no guard",
        [("if (i < n) {", "{")],
        kind="out-of-bounds",
        says="1000 elements",
    ),
]
