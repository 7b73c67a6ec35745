"""Right kernels in which one thread of a block does all the work: every value is right, and the chapter's technique is missing."""

ONE_THREAD = {
    "ch02b": """\
extern "C" __global__ void count_votes(const float* x, float limit, int* count, int n) {
    if (threadIdx.x % 32) return;
    const int first = blockIdx.x * 256 + threadIdx.x;
    int c = 0;
    for (int i = first; i < min(n, first + 32); ++i) c += x[i] > limit;
    count[first / 32] = c;
}
""",
    "ch05a": """\
extern "C" __global__ void warp_tail(const float* x, float* part, int n) {
    if (threadIdx.x) return;
    double s = 0;
    for (int i = blockIdx.x * 256; i < min(n, (int)blockIdx.x * 256 + 256); ++i) s += x[i];
    part[blockIdx.x] = s;
}
""",
    "ch05b": """\
extern "C" __global__ void block_max(const float* x, float* m, float* l, int cols) {
    if (threadIdx.x) return;
    x += (size_t)blockIdx.x * cols;
    float top = x[0];
    for (int j = 1; j < cols; ++j) top = fmaxf(top, x[j]);
    double sum = 0;
    for (int j = 0; j < cols; ++j) sum += expf(x[j] - top);
    m[blockIdx.x] = top;
    l[blockIdx.x] = sum;
}
""",
    "ch05c": """\
extern "C" __global__ void last_block(const float* x, float* part, int* done, float* total, int n) {
    if (threadIdx.x) return;
    double s = 0;
    for (int i = blockIdx.x * 256; i < min(n, (int)blockIdx.x * 256 + 256); ++i) s += x[i];
    part[blockIdx.x] = s;
    __threadfence();
    if (atomicAdd(done, 1) != gridDim.x - 1) return;
    __threadfence();
    double all = 0;
    for (int b = 0; b < gridDim.x; ++b) all += ((volatile float*)part)[b];
    *total = all;
    *done = 0;
}
""",
    "ch06a": """\
extern "C" __global__ void count_wrong(const float* got, const float* want, int* count, float rtol, float atol, int n) {
    if (threadIdx.x || blockIdx.x) return;
    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        const float a = got[i], b = want[i];
        wrong += !(a == b || (isnan(a) && isnan(b)) || (isfinite(b) && fabsf(a - b) <= atol + rtol * fabsf(b)));
    }
    atomicAdd(count, wrong);
}
""",
    "ch07b": """\
extern "C" __global__ void ragged_tiles(const float* A, const float* B, float* C, int rows, int cols, int inner) {
    if (threadIdx.x || threadIdx.y || blockIdx.x || blockIdx.y) return;
    for (int y = 0; y < rows; ++y)
        for (int x = 0; x < cols; ++x) {
            float s = 0;
            for (int k = 0; k < inner; ++k) s += A[y * inner + k] * B[k * cols + x];
            C[y * cols + x] = s;
        }
}
""",
    "ch10b": """\
extern "C" __global__ void block_tiles(const float* S, float* P, float* LSE, int keys, float* trace) {
    if (threadIdx.x) return;
    S += (size_t)blockIdx.x * keys;
    P += (size_t)blockIdx.x * keys;
    float m = S[0], l = 0;
    for (int j = 1; j < keys; ++j) m = fmaxf(m, S[j]);
    for (int j = 0; j < keys; ++j) l += expf(S[j] - m);
    for (int j = 0; j < keys; ++j) P[j] = expf(S[j] - m) / l;
    LSE[blockIdx.x] = m + logf(l);
}
""",
}
