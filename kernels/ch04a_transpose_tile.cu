// out = in transposed through a tile, for any shape, with fewer threads:
// 256 threads move a tile of 1024 elements, four each.
//
// grid:   (ceil(width / 32), ceil(height / 32)) blocks
// block:  (32, 8) threads: each moves 4 elements, 8 rows apart
// in:     float32 (height, width), read
// out:    float32 (width, height), written
// height, width: any >= 1
extern "C" __global__ void transpose_tile(const float* in, float* out,
                                          int height, int width) {
    // TODO (1 line): a tile of 32 x 32 floats that a column read won't pile up
    //   in
    __shared__ float tile[32][32];
    const int x = threadIdx.x;          // 0 .. 31
    const int y = threadIdx.y;          // 0 .. 7
    const int left = blockIdx.x * 32;   // the tile's first column of `in`
    const int top = blockIdx.y * 32;    // the tile's first row of `in`

    // TODO (5 lines): fill tile rows y, y + 8, y + 16, y + 24; guard the edges
    tile[y][x] = in[(top + y) * width + left + x];

    __syncthreads();  // every tile[][] inside the matrix is filled

    // TODO (5 lines): write rows of `out` from columns of the tile; guard the
    //   edges
    out[(left + y) * height + top + x] = tile[x][y];
}
