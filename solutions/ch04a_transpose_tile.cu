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
    //@solution a tile of 32 x 32 floats that a column read won't pile up in
    __shared__ float tile[32][33];      // 33: one column of 32 hits 32 banks
    //@stub
    //@ __shared__ float tile[32][32];
    //@end
    const int x = threadIdx.x;          // 0 .. 31
    const int y = threadIdx.y;          // 0 .. 7
    const int left = blockIdx.x * 32;   // the tile's first column of `in`
    const int top = blockIdx.y * 32;    // the tile's first row of `in`

    //@solution fill tile rows y, y + 8, y + 16, y + 24; guard the edges
    for (int r = y; r < 32; r += 8) {
        // Excluded: places of the tile that hang over the matrix.
        if (top + r < height && left + x < width) {
            tile[r][x] = in[(top + r) * width + left + x];
        }
    }
    //@stub
    //@ tile[y][x] = in[(top + y) * width + left + x];
    //@end

    __syncthreads();  // every tile[][] inside the matrix is filled

    //@solution write rows of `out` from columns of the tile; guard the edges
    for (int r = y; r < 32; r += 8) {
        // Row left + r of `out` is column r of the tile.
        if (left + r < width && top + x < height) {
            out[(left + r) * height + top + x] = tile[x][r];
        }
    }
    //@stub
    //@ out[(left + y) * height + top + x] = tile[x][y];
    //@end
}
