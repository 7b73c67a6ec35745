from lanewise.exercise import Wrong

TILE = "const float tile = fmaxf(busiest, chain / side_by_side);"
EACH = "const float each = fit > 0 ? tile / pairs[i] : CUDART_INF_F;"
BEFORE = "before += costs[j] < costs[i] || (costs[j] == costs[i] && j < i);"

WRONG = [
    Wrong("ranks by resident warps", [(EACH, "const float each = fit > 0 ? 1.0f / (fit * warps[i]) : CUDART_INF_F;")], kind="wrong-values", says="cost"),
    Wrong("the busiest unit alone", [(TILE, "const float tile = busiest;")], kind="wrong-values", says="cost"),
    Wrong("the chain alone", [(TILE, "const float tile = chain / side_by_side;")], kind="wrong-values", says="cost"),
    Wrong("chains by blocks", [("fit * warps[i] / 4.0f", "fit")], kind="wrong-values", says="cost"),
    Wrong("each warp is a chain", [("fit * warps[i] / 4.0f", "fit * warps[i] / 1.0f")], kind="wrong-values", says="cost"),
    Wrong("a tile, whatever its size", [(EACH, "const float each = fit > 0 ? tile : CUDART_INF_F;")], kind="wrong-values", says="cost"),
    Wrong("nothing said of what doesn't fit", [(EACH, "const float each = tile / pairs[i] * (fit > 0);")], kind="wrong-values", says="expected inf"),
    Wrong("whole chains only", [("fit * warps[i] / 4.0f", "fit * warps[i] / 4")], kind="wrong-values", says="cost"),
    Wrong("the dearest first", [(BEFORE, BEFORE.replace("costs[j] < ", "costs[j] > "))], kind="wrong-values", says="rank["),
    Wrong("equal ones share a rank", [(BEFORE, "before += costs[j] < costs[i];")], kind="wrong-values", says="rank["),
    Wrong("counts itself", [(BEFORE, "before += costs[j] <= costs[i];")], kind="wrong-values", says="rank[0] is"),
    Wrong("no barrier", [("__syncthreads();  // costs of all candidates are there", "")], kind="race", says="costs"),
]
