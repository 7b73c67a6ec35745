from lanewise.exercise import Wrong

DRAW = "t = atomicAdd(ticket, 1);"
RESET = "            if (t == all + gridDim.x - 1) atomicExch(ticket, 0);\n"
STORE = "            keys[t] = max(0, min(Nk, last + Nk - Nq + 1));\n        }\n"

WRONG = [
    Wrong("shortest first", [("tiles - 1 - inside / wide", "inside / wide")], kind="wrong-values", says="The shortest tiles come first"),
    Wrong(
        "a head after the other",
        [("inside % wide", "inside / tiles"), ("tiles - 1 - inside / wide", "tiles - 1 - inside % tiles")],
        kind="wrong-values",
        says="The tiles of one head follow each other",
    ),
    Wrong("the last section as wide as the others", [("min(section, heads - part * section)", "section")], kind="wrong-values", says="as wide as the others"),
    Wrong(
        "one section",
        [("const int part = t / (section * tiles);", "const int part = 0;"), ("t % (section * tiles)", "t"), ("min(section, heads - part * section)", "heads")],
        kind="wrong-values",
        says="All heads are one section",
    ),
    Wrong("the counter is left as it is", [(RESET, "")], kind="wrong-values", says="The counter is left as it is"),
    Wrong("put back by who draws the last tile", [(RESET, RESET.replace("all + gridDim.x - 1", "all - 1"))], kind="step-limit"),
    Wrong("drawn without an atomic", [(DRAW, "t = *ticket; *ticket = t + 1;")], kind="race"),
    Wrong("one tile a block", [(DRAW, "t = blockIdx.x;"), (RESET, ""), (STORE, STORE + "        return;\n")], kind="unwritten-output"),
]
