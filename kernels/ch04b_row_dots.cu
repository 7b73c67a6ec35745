// dot[row] = x[row] . w for rows of 64 floats; each thread adds up one row,
// four floats (a float4, 16 bytes) at a time.
//
// grid:   ceil(rows / 192) blocks      block: 192 threads = 6 warps
// shared: 192 * 64 floats = 48 KB: the default limit, so no room for padding
// x:      float32 (rows, 64), read; a row is 16 float4
// w:      float32 (64), read; 16 float4
// dot:    float32 (rows), written
// rows:   any >= 1
extern "C" __global__ void row_dots(const float4* x, const float4* w,
                                    float* dot, int rows) {
    __shared__ float4 tile[192 * 16];
    const int t = threadIdx.x;          // 0 .. 191
    const int first = blockIdx.x * 192; // the tile's first row

    // The block copies its rows; neighbouring lanes read neighbouring float4.
    for (int k = t; k < 192 * 16; k += 192) {
        const int row = k / 16;         // 0 .. 191
        const int q = k % 16;           // 0 .. 15, which float4 of the row
        // TODO (1 line): choose a slot for float4 q: let the row have a say
        const int slot = q;
        // Excluded: rows past the end.
        if (first + row < rows) {
            tile[row * 16 + slot] = x[(first + row) * 16 + q];
        }
    }

    __syncthreads();  // every row of tile[] below `rows` is filled

    // Excluded: threads without a row; no barrier follows, so they may leave.
    if (first + t >= rows) return;

    float sum = 0.0f;
    for (int q = 0; q < 16; ++q) {
        // TODO (1 line): find float4 q of row t where the copy put it
        const int slot = q;
        const float4 a = tile[t * 16 + slot];
        const float4 b = w[q];          // the same for all lanes
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    dot[first + t] = sum;
}
