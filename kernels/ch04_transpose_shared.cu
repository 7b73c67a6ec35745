// out = in transposed, through a tile of shared memory.
//
// grid:   (width / 32, height / 32) blocks
// block:  (32, 32) threads      shared memory: 32 rows of 32 + pad floats
// in:     float32 (height, width), read
// out:    float32 (width, height), written
// height, width: multiples of 32 (the exercise drops this assumption)
// pad:    extra floats at the end of each row of the tile
extern "C" __global__ void transpose_shared(const float* in, float* out,
                                            int height, int width, int pad) {
    extern __shared__ float tile[];     // 32 * (32 + pad), given at the launch
    const int x = threadIdx.x;          // 0 .. 31, the lane
    const int y = threadIdx.y;          // 0 .. 31, the warp
    const int stride = 32 + pad;        // from one row of the tile to the next

    // Row y of the tile: the lanes read 32 neighbours of `in`.
    const int row = blockIdx.y * 32 + y;
    const int col = blockIdx.x * 32 + x;
    tile[y * stride + x] = in[row * width + col];

    __syncthreads();  // every tile[] is filled, by all 32 warps

    // The block's place in `out`: its rows are the columns of `in`.
    const int out_row = blockIdx.x * 32 + y;
    const int out_col = blockIdx.y * 32 + x;
    // Column y of the tile: the lanes write 32 neighbours of `out`.
    out[out_row * height + out_col] = tile[x * stride + y];
}
