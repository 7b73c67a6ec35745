from lanewise.exercise import Wrong

TILE = "const float tile = fmaxf(highest, alone / fit);"
EACH = "const float each = fit > 0 ? tile / pairs[i] : CUDART_INF_F;"
BEFORE = "before += costs[j] < costs[i] || (costs[j] == costs[i] && j < i);"

WRONG = [
    Wrong(
        "ranks by resident warps",
        [(EACH, "const float each = fit > 0 ? 1.0f / (fit * warps[i]) : CUDART_INF_F;")],
        kind="wrong-values",
        says="a cost by resident warps",
    ),
    Wrong("the highest roof alone", [(TILE, "const float tile = highest;")], kind="wrong-values", says="That is the highest roof alone"),
    Wrong("as if no roof were reached", [(TILE, "const float tile = alone / fit;")], kind="wrong-values", says="however many blocks there are"),
    Wrong("as if all blocks were alone", [(TILE, "const float tile = fmaxf(highest, alone);")], kind="wrong-values", says="as if each block were alone"),
    Wrong(
        "warps fill each other's waits",
        [("alone / fit", "alone / (fit * warps[i] / 4.0f)")],
        kind="wrong-values",
        says="or with warps that fill each other's waits",
    ),
    Wrong(
        "issue beside products", [("units[i] + units[n + i]", "fmaxf(units[i], units[n + i])")], kind="wrong-values", says="tensor cores and issue run beside"
    ),
    Wrong("powers beside loads", [("memory + powers)", "fmaxf(memory, powers))")], kind="wrong-values", says="There powers run beside"),
    Wrong("nothing waits", [(" + wait[i]", "")], kind="wrong-values", says="The waits are missing"),
    Wrong(
        "a tile, whatever its size",
        [(EACH, "const float each = fit > 0 ? tile : CUDART_INF_F;")],
        kind="wrong-values",
        says="the cost of a tile, whatever its size",
    ),
    Wrong("nothing said of what doesn't fit", [(EACH, "const float each = tile / pairs[i] * (fit > 0);")], kind="wrong-values", says="expected inf"),
    Wrong("the dearest first", [(BEFORE, BEFORE.replace("costs[j] < ", "costs[j] > "))], kind="wrong-values", says="and the dearest comes first"),
    Wrong("equal ones share a rank", [(BEFORE, "before += costs[j] < costs[i];")], kind="wrong-values", says="and equal ones share a rank"),
    Wrong("counts itself", [(BEFORE, "before += costs[j] <= costs[i];")], kind="wrong-values", says="and a candidate counts itself"),
    Wrong("no barrier", [("__syncthreads();  // costs of all candidates are there", "")], kind="race", says="costs"),
]
