from lanewise.exercise import Wrong

FIRST = "        const int first = (tiles - 1 - item / heads) * Br;  // first query\n"
HEAD = "        const size_t head = item % heads;\n"
LOOP = "for (int item = blockIdx.x; item < items; item += gridDim.x) {"

WRONG = [
    Wrong("the shortest first", [(FIRST, FIRST.replace("tiles - 1 - item / heads", "item / heads"))], kind="wrong-values", says="visited[0] is 1, expected 2"),
    Wrong(
        "longest first within each head",
        [(FIRST, FIRST.replace("item / heads", "item % tiles")), (HEAD, "        const size_t head = item / tiles;\n")],
        kind="wrong-values",
        says="visited[",
    ),
    Wrong("one off at the end", [(FIRST, FIRST.replace("tiles - 1 - item", "tiles - item"))], kind="unwritten-output", says="O"),
    Wrong("one item a block", [(LOOP, "if (const int item = blockIdx.x; item < items) {")], kind="unwritten-output", says="O"),
    Wrong("every block does all", [(LOOP, "for (int item = 0; item < items; ++item) {")], kind="over-budget", says="global_bytes"),
    Wrong("heads and tiles mixed up", [(HEAD, "        const size_t head = item / tiles;\n")], kind="unwritten-output", says="O"),
]
