// norm[row] = sum of squares of a row of 64 floats; each thread adds up one
// row, four floats (a float4, 16 bytes) at a time.
//
// grid:   ceil(rows / 192) blocks      block: 192 threads = 6 warps
// shared: 192 * 64 floats = 48 KB: the default limit, so no room for padding
// x:      float32 (rows, 64), read; 16 float4 a row
// norm:   float32 (rows), written
// rows:   any >= 1
extern "C" __global__ void row_norms(const float4* x, float* norm, int rows) {
    __shared__ float4 tile[192 * 16];
    const int t = threadIdx.x;          // 0 .. 191
    const int first = blockIdx.x * 192; // the tile's first row

    // The block copies its rows; neighbouring lanes read neighbouring float4.
    for (int k = t; k < 192 * 16; k += 192) {
        const int row = k / 16;         // 0 .. 191
        const int q = k % 16;           // 0 .. 15, which float4 of the row
        //@solution choose the slot of float4 q in its row: mix the row into q
        const int slot = q ^ (row % 8); // 8 rows: 8 different groups of banks
        //@stub
        //@ const int slot = q;
        //@end
        // Excluded: rows past the end.
        if (first + row < rows) {
            tile[row * 16 + slot] = x[(first + row) * 16 + q];
        }
    }

    __syncthreads();  // every row of tile[] below `rows` is filled

    float sum = 0.0f;
    for (int q = 0; q < 16; ++q) {
        //@solution find float4 q of row t where the copy put it
        const int slot = q ^ (t % 8);
        //@stub
        //@ const int slot = q;
        //@end
        const float4 v = tile[t * 16 + slot];
        sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    // Excluded: threads without a row (what they added up is not used).
    if (first + t < rows) {
        norm[first + t] = sum;
    }
}
