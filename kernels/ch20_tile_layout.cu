// Where the chunks of a tile lie: fills a tile in shared memory as a swizzled
// (or plain) one and copies it out byte after byte.
//
// grid:  1      block: 64 threads: one a chunk of 8 rows
// x:     uint16 (8, 64), read: the tile's rows, 8 chunks of 16 bytes each
// raw:   uint16 (8, 64), written: shared memory as it is
// swizzled: 0: chunk c of a row is its c-th; 1: its (c ^ row)-th
extern "C" __global__ void tile_layout(const uint4* x, uint4* raw,
                                       int swizzled) {
    __shared__ uint4 tile[64];
    const int row = threadIdx.x / 8, chunk = threadIdx.x % 8;
    tile[row * 8 + (swizzled ? chunk ^ row : chunk)] = x[threadIdx.x];
    __syncthreads();  // the tile is filled
    raw[threadIdx.x] = tile[threadIdx.x];
}
