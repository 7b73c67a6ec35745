// count[0] += how many elements of got are wrong. An element is right if
// |got - want| <= atol + rtol |want|, or if both are the same infinity, or
// both are NaN.
//
// grid:   ceil(n / 256) blocks      block: 256 threads
// got:    float32 (n), read
// want:   float32 (n), read
// count:  int32 (1), read and written: 0 before the first block starts
// n >= 1; rtol, atol >= 0
extern "C" __global__ void count_wrong(const float* got, const float* want,
                                       int* count, float rtol, float atol,
                                       int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;   // my element, or past n
    bool wrong = false;                 // threads past the end find nothing
    if (i < n) {
        const float a = got[i], b = want[i];
        //@solution right, or wrong? think of NaN on either side, and infinity
        const bool near = fabsf(a - b) <= atol + rtol * fabsf(b);
        const bool equal = a == b || (isnan(a) && isnan(b));
        wrong = !(equal || (near && !isinf(b)));    // NaN is never near
        //@stub
        //@ wrong = fabsf(a - b) > atol + rtol * fabsf(b);
        //@end
    }

    //@solution count the warp's votes, and add them with one atomicAdd a warp
    const unsigned votes = __ballot_sync(0xffffffffu, wrong);
    if (threadIdx.x % 32 == 0 && votes != 0) {
        atomicAdd(count, __popc(votes));
    }
    //@stub
    //@ if (wrong) {
    //@     atomicAdd(count, 1);
    //@ }
    //@end
}
