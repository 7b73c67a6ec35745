from lanewise.exercise import Wrong

ADD = "                atomicAdd(&dQ[i * d + x + T * u], scale * q_sum[u]);\n"
WRONG = [
    Wrong("a plain sum", [(ADD, ADD.replace("atomicAdd(&", "").replace(", scale", " += scale").replace(");", ";"))], kind="race", says="dQ"),
    Wrong("a plain store", [(ADD, ADD.replace("atomicAdd(&", "").replace(", scale", " = scale").replace(");", ";"))], kind="race", says="dQ"),
    Wrong(
        "a fence instead", [(ADD, ADD.replace("atomicAdd(&", "").replace(", scale", " += scale").replace(");", "; __threadfence();"))], kind="race", says="dQ"
    ),
    Wrong("without the scale", [(ADD, ADD.replace("scale * ", ""))], kind="wrong-values", says="8 times"),
    Wrong(
        "an atomic for each key",
        [
            (
                ADD,
                ADD.replace(
                    "atomicAdd(&dQ[i * d + x + T * u], scale * q_sum[u]);",
                    "for (int k = 0; k < T; ++k) atomicAdd(&dQ[i * d + x + T * u], scale * dSs[y][k] * Ks[k][x + T * u]);",
                ),
            )
        ],
        kind="over-budget",
        says="atomics",
    ),
    Wrong("the first barrier missing", [("        __syncthreads();  // all four tiles are filled\n", "")], kind="race"),
    Wrong("the second barrier missing", [("        __syncthreads();  // dSs is filled, and all are done with Qs and dOs\n", "")], kind="race"),
]
