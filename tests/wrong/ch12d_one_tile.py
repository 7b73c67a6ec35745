from lanewise.exercise import Wrong

WRONG = [
    Wrong("no barrier after P V", [("__syncthreads();  // all are done with the values", "")], kind="race", says="before the loop comes back"),
    Wrong("no barrier before the values", [("__syncthreads();  // all are done with the keys (and Ps is filled)", "")], kind="race", says="KV"),
    Wrong(
        "a warp's barrier before the values",
        [("__syncthreads();  // all are done with the keys (and Ps is filled)", "__syncwarp();")],
        kind="race", says="KV",
    ),
    Wrong("adds before the values are there", [("__syncthreads();  // KV is filled with values", "")], kind="race", says="KV"),
    Wrong(
        "loads the keys again",
        [
            (
                "\n            KV[j][c] = start + j < Nk ? V[(start + j) * d + c] : 0.0f;",
                "\n            KV[j][c] = start + j < Nk ? K[(start + j) * d + c] : 0.0f;",
            )
        ],
        kind="wrong-values",
        says="In row 0, after key tile 1: m expected",
    ),
]
