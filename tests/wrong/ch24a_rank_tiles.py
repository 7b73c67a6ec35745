from lanewise.exercise import Wrong

TILE = "const float tile = fmaxf(highest, alone / fit);"
EACH = "const float each = fit > 0 ? tile / pairs[i] : CUDART_INF_F;"
BEFORE = "before += costs[j] < costs[i] || (costs[j] == costs[i] && j < i);"

WRONG = [
    Wrong("ranks by resident warps", [(EACH, "const float each = fit > 0 ? 1.0f / (fit * warps[i]) : CUDART_INF_F;")], kind="wrong-values", says="cost"),
    Wrong("the highest roof alone", [(TILE, "const float tile = highest;")], kind="wrong-values", says="cost"),
    Wrong("as if no roof were reached", [(TILE, "const float tile = alone / fit;")], kind="wrong-values", says="cost"),
    Wrong("as if all blocks were alone", [(TILE, "const float tile = fmaxf(highest, alone);")], kind="wrong-values", says="cost"),
    Wrong("warps fill each other's waits", [("alone / fit", "alone / (fit * warps[i] / 4.0f)")], kind="wrong-values", says="cost"),
    Wrong("issue beside products", [("units[i] + units[n + i]", "fmaxf(units[i], units[n + i])")], kind="wrong-values", says="cost"),
    Wrong("powers beside loads", [("memory + powers)", "fmaxf(memory, powers))")], kind="wrong-values", says="cost"),
    Wrong("nothing waits", [(" + wait[i]", "")], kind="wrong-values", says="cost"),
    Wrong("a tile, whatever its size", [(EACH, "const float each = fit > 0 ? tile : CUDART_INF_F;")], kind="wrong-values", says="cost"),
    Wrong("nothing said of what doesn't fit", [(EACH, "const float each = tile / pairs[i] * (fit > 0);")], kind="wrong-values", says="expected inf"),
    Wrong("the dearest first", [(BEFORE, BEFORE.replace("costs[j] < ", "costs[j] > "))], kind="wrong-values", says="rank["),
    Wrong("equal ones share a rank", [(BEFORE, "before += costs[j] < costs[i];")], kind="wrong-values", says="rank["),
    Wrong("counts itself", [(BEFORE, "before += costs[j] <= costs[i];")], kind="wrong-values", says="rank[0] is"),
    Wrong("no barrier", [("__syncthreads();  // costs of all candidates are there", "")], kind="race", says="costs"),
]
