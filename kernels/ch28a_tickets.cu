// Blocks draw tickets until none is left. Ticket t stands for a tile of 128
// query rows; tiles that see many keys come first.
//
// The heads are taken in sections of `section` (the last may be smaller). In a
// section come the last tiles of all its heads, one head after the other, then
// their last but one, and so on.
//
// grid:  any                       block: 32 threads
// ticket: int32 (1), zero, left zero: how many tickets have been drawn
// head, tile: int32 (tickets), written: what ticket t stands for
// keys:  int32 (tickets), written: keys that the tile's last row sees
// Nq, Nk, heads, section: any >= 1; row i sees keys up to i + Nk - Nq
#include <cuda_fp16.h>

extern "C" __global__ void tickets(
    int* ticket, int* head, int* tile, int* keys, int Nq, int Nk, int heads,
    int section) {
    const int tiles = (Nq + 127) / 128;  // of a head
    const int all = tiles * heads;

    for (;;) {
        int t = 0;
        if (threadIdx.x == 0) {
            // TODO (2 lines): draw: 0, 1, 2, .. (a block draws once too often)
            t = all;
        }
        t = __shfl_sync(0xffffffffu, t, 0);  // lane 0 tells the warp
        if (t >= all) return;
        // TODO (5 lines): which head, which tile?
        const int h = t / tiles;
        const int i = t % tiles;
        if (threadIdx.x == 0) {
            const int last = min(128 * i + 127, Nq - 1);  // its last row
            head[t] = h;
            tile[t] = i;
            keys[t] = max(0, min(Nk, last + Nk - Nq + 1));
        }
    }
}
