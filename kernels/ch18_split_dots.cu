// Dot products on tf32 numbers: as they come, and split in two.
//
// grid:  ceil(count / 64) blocks    block: 64 threads, one a dot product
// A, B:  float32 (n, count), read: number i of dot product c lies at [i][c]
// out:   float32 (3, count), written: 0 float32; 1 tf32, one product;
//        2 tf32, three products
// count, n: any >= 1

// A float32 rounded to the 10 bits of fraction that tf32 has.
__device__ float tf32(float x) {
    return __uint_as_float((__float_as_uint(x) + 0x1000) & 0xffffe000);
}

extern "C" __global__ void split_dots(const float* A, const float* B,
                                      float* out, int count, int n) {
    const int c = blockIdx.x * blockDim.x + threadIdx.x;  // my dot product
    if (c >= count) return;  // threads behind the last one
    float whole = 0.0f, once = 0.0f, split = 0.0f;
    for (int i = 0; i < n; ++i) {
        const float a = A[i * count + c], b = B[i * count + c];
        whole = fmaf(a, b, whole);
        const float a_big = tf32(a), b_big = tf32(b);
        once = fmaf(a_big, b_big, once);
        // What the first rounding left over, exactly; rounded in its turn.
        const float a_rest = tf32(a - a_big), b_rest = tf32(b - b_big);
        split = fmaf(a_rest, b_big, split);
        split = fmaf(a_big, b_rest, split);
        split = fmaf(a_big, b_big, split);  // a_rest b_rest: below float32
    }
    out[c] = whole;
    out[count + c] = once;
    out[2 * count + c] = split;
}
