// sum[row] = the sum of a row of 64 floats, for 32 rows; each lane adds up
// one row, four floats (a float4, 16 bytes) at a time.
//
// grid:   1 block      block: 32 threads = 1 warp
// shared: 32 rows of 64 + pad floats
// x:      float32 (32, 64), read
// sum:    float32 (32), written
// pad:    extra floats at the end of each row of the tile
extern "C" __global__ void float4_rows(const float4* x, float* sum, int pad) {
    extern __shared__ float4 tile[];            // its size: see the launch
    float* words = (float*)tile;                // the same bytes, as floats
    const int t = threadIdx.x;                  // 0 .. 31
    const int stride = 64 + pad;                // floats from row to row

    // 512 float4, 32 lanes: 16 each. Half a warp copies one row.
    for (int k = t; k < 512; k += 32) {
        const int row = k / 16, q = k % 16;
        *(float4*)(words + row * stride + 4 * q) = x[k];
    }
    __syncthreads();  // all 32 rows are filled

    float s = 0.0f;
    for (int q = 0; q < 16; ++q) {
        // Row t, float4 number q: neighbouring lanes are `stride` apart.
        const float4 v = *(const float4*)(words + t * stride + 4 * q);
        s += v.x + v.y + v.z + v.w;
    }
    sum[t] = s;
}
