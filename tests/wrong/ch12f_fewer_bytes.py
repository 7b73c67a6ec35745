from lanewise.exercise import Wrong

BR, BC = "constexpr int Br = 16;", "constexpr int Bc = 16;"

WRONG = [
    Wrong("the largest Bc that fits", [(BR, "constexpr int Br = 4;"), (BC, "constexpr int Bc = 24;")], kind="over-budget", says="global_bytes"),
    Wrong("a smaller Bc alone", [(BR, "constexpr int Br = 4;")], kind="over-budget", says="global_bytes"),
    Wrong("half way", [(BR, "constexpr int Br = 8;")], kind="over-budget", says="global_bytes"),
    Wrong("both large", [(BC, "constexpr int Bc = 32;")], kind="compile-error", says="the four tiles must fit into 2048 floats"),
    Wrong("no barrier after P V", [("__syncthreads();  // all are done with the tiles: refill them", "")], kind="race", says="room"),
]
