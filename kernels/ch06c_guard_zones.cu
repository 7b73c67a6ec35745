// After a launch: how many elements of its output did nobody write, and how
// many words around it did somebody write who shouldn't have?
//
// grid:   ceil((n + 64) / 128) blocks      block: 128 threads
// buffer: float32 (32 + n + 32), read: a guard zone of 32 words, n words of
//         output, a guard zone. Before the launch, every word had these bits:
// poison: uint32: the bits of a NaN that no kernel calculates
// counts: int32 (2), read and written, 0 before; counts[0]: words of output
//         that are still poison; counts[1]: words of the zones that aren't
extern "C" __global__ void guard_zones(const float* buffer, unsigned poison,
                                       int* counts, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;   // my word, or past the end
    if (i >= n + 64) return;            // excluded: threads without a word
    const bool output = i >= 32 && i < 32 + n;      // else a guard zone
    // TODO (1 line): is the word still poison? no NaN equals anything
    const bool poisoned = buffer[i] == __uint_as_float(poison);

    // TODO (6 lines): count what is wrong: poison inside, or none outside
    if (poisoned) {
        atomicAdd(counts, 1);
    }
}
