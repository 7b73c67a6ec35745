// From an array of structs to a struct of arrays: n particles of x, y, z and
// mass become four planes, all x, all y, all z, all masses.
//
// grid:     ceil(n / 128) blocks      block: 128 threads
// particle: float32 (n, 4), read; it begins at a multiple of 16 bytes
// plane:    float32 (4, n), written: plane k begins at plane + k * n
// n:        any n >= 1
extern "C" __global__ void to_planes(const float* particle, float* plane,
                                     int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;  // my particle

    // Excluded: threads past the last particle.
    if (i < n) {
        // TODO (5 lines): fetch the particle in one load, store to each plane
        for (int k = 0; k < 4; ++k) {
            plane[4 * i + k] = particle[4 * i + k];  // still structs
        }
    }
}
