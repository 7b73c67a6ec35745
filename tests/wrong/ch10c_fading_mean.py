from lanewise.exercise import Wrong

ACC = "        acc = acc * fade + p * v[j];\n        //@stub"
SUM = "        l = l * fade + p;\n"  # of the solution; the stub's lines begin with //@

WRONG = [
    Wrong(
        "the other way round",
        [("expf(m - m_new);     //", "j == 0 ? 0.0f : expf(m_new - m);     //")],
        kind="wrong-values",
        says="the other way round. Only rows in which a later key has the larger score are wrong.",
    ),
    Wrong(
        "nothing fades",
        [("expf(m - m_new);     //", "1.0f;     //")],
        kind="wrong-values",
        says="That is l with the old sum not rescaled",
    ),
    Wrong(
        "the sum fades, the accumulator doesn't",
        [(ACC, ACC.replace(" * fade", ""))],
        kind="wrong-values",
        says="That is acc with the old sum not rescaled",
    ),
    Wrong(
        "the accumulator fades, the sum doesn't",
        [(SUM + ACC, SUM.replace(" * fade", "") + ACC)],
        kind="wrong-values",
        says="That is l with the old sum not rescaled",
    ),
    Wrong(
        "fades twice",
        [(ACC, ACC.replace("fade", "fade * fade"))],
        kind="wrong-values",
        says="acc expected",
    ),
    Wrong(
        "the weight against the old maximum",
        [("p = expf(s - m_new)", "p = expf(s - m)")],
        kind="wrong-values",
        says="after key 1",
    ),
    Wrong(
        "divides in every step",
        [("told[2] = acc;\n        }", "told[2] = acc;\n        }\n        acc = acc / l; l = 1.0f;")],
        kind="wrong-values",
        says="l expected",
    ),
    Wrong(
        "the plain mean",
        [("O[row] = acc / l;", "O[row] = acc / keys;")],
        kind="wrong-values",
        says="The state (m, l, acc) is right after every key",
    ),
]
