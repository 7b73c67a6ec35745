// Each thread adds up float4 of x, `loads` of them at a time: all are on their
// way before the first is needed.
//
// grid:  any            block: 256 threads
// x:     float32 (4 n4), read, 16-byte aligned; n4 float4
// y:     float32 (gridDim.x * 256), written: each thread's sum
// n4:    a multiple of 256 * loads
constexpr int loads = 1;

extern "C" __global__ void reads(const float4* x, float* y, int n4) {
    const int t = threadIdx.x;              // 0 .. 255
    const int piece = 256 * loads;          // float4 of a block at a time
    float sum = 0.0f;
#pragma unroll 1                            // no more on their way than we say
    for (int start = blockIdx.x * piece; start < n4;
         start += gridDim.x * piece) {
        float4 v[loads];
        for (int k = 0; k < loads; ++k) {
            v[k] = x[start + 256 * k + t];  // neighbours side by side
        }
        for (int k = 0; k < loads; ++k) {
            sum += v[k].x + v[k].y + v[k].z + v[k].w;
        }
    }
    y[blockIdx.x * 256 + t] = sum;
}
