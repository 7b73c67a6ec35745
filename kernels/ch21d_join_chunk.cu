// Joins the attention of a further chunk of keys to that of all chunks before:
// O and LSE become those of all keys so far, in place.
//
// grid:   ceil(N / 4) blocks      block: 128 threads: a warp a row
// O:      float32 (N, 32), read and written      LSE: float32 (N), likewise
// o:      float32 (N, 32), read: the chunk's     lse: float32 (N), read
// A row that has seen no key yet has O = 0, LSE = -infinity; so has a chunk
// without a key for that row.
#include <math_constants.h>

extern "C" __global__ void join_chunk(float* O, float* LSE, const float* o,
                                      const float* lse, int N) {
    const int lane = threadIdx.x % 32;                       // my column
    const int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= N) return;  // the warp's row isn't there
    const float old = LSE[row], more = lse[row];

    // TODO (7 lines): the joined LSE and the two weights; two empty halves, too
    const float joined = fmaxf(old, more);
    const float keep = 0.5f, add = 0.5f;

    O[row * 32 + lane] = keep * O[row * 32 + lane] + add * o[row * 32 + lane];
    __syncwarp();  // every lane has read LSE
    if (lane == 0) LSE[row] = joined;
}
