// y = 2 x, four elements a thread. The block's 512 elements lie side by side;
// which four of them a thread takes is free.
//
// grid:  ceil(n / 512) blocks      block: 128 threads
// x:     float32 (n), read
// y:     float32 (n), written
// n:     any n >= 1
extern "C" __global__ void four_each(const float* x, float* y, int n) {
    const int t = threadIdx.x;              // 0 .. 127
    const int first = blockIdx.x * 512;     // my block's first element

    for (int k = 0; k < 4; ++k) {
        //@solution choose the element: what do lanes 0 .. 31 read at one k?
        const int i = first + k * 128 + t;  // neighbours, at each k
        //@stub
        //@ const int i = first + t * 4 + k;
        //@end
        // Excluded: elements past the end.
        if (i < n) {
            y[i] = 2.0f * x[i];
        }
    }
}
