// out = in transposed, one thread an element, straight through.
//
// grid:  (ceil(width / 32), ceil(height / 32)) blocks
// block: (32, 32) threads: x runs along a row of `in`
// in:    float32 (height, width), read
// out:   float32 (width, height), written
extern "C" __global__ void transpose_naive(const float* in, float* out,
                                           int height, int width) {
    const int col = blockIdx.x * 32 + threadIdx.x;  // 0 .. width - 1, or past
    const int row = blockIdx.y * 32 + threadIdx.y;  // 0 .. height - 1, or past

    // Excluded: threads past the right edge or the last row.
    if (col < width && row < height) {
        // Neighbouring lanes read neighbours, but write `height` apart.
        out[col * height + row] = in[row * width + col];
    }
}
