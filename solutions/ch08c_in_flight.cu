// How many warps of each of n kernels does an SM of an H200 (9.0) hold at a
// time, and how many bytes can they have under way from memory?
//
// grid:   ceil(n / 64) blocks      block: 64 threads, one a kernel
// regs:   int32 (n), read: registers of a thread, 1 .. 255
// shared: int32 (n), read: bytes of shared memory of a block
// block:  int32 (n), read: threads of a block, 1 .. 1024
// loads:  int32 (n), read: float4 loads a thread starts before it waits
// warps:  int32 (n), written: warps on the SM, whole blocks only
// bytes:  int32 (n), written: warps * 32 lanes * 16 bytes * loads
//
// An SM has 64 places for warps and 32 for blocks; 228 KB of shared memory, of
// which a block takes its own plus 1 KB, rounded up to 128 bytes, but may
// have 227 KB itself at most; and four parts with 16384 registers each, from
// which a warp takes 32 times its regs, rounded up to 256.
extern "C" __global__ void in_flight(const int* regs, const int* shared,
                                     const int* block, const int* loads,
                                     int* warps, int* bytes, int n) {
    const int i = blockIdx.x * 64 + threadIdx.x;    // my kernel
    if (i >= n) return;                 // excluded: threads without one
    constexpr int KB = 1024;
    const int w = (block[i] + 31) / 32; // warps of a block, the last maybe thin

    //@solution how many blocks do the registers allow? the shared memory?
    // A warp lies in one part: only whole warps count in each of the four.
    const int per_warp = (regs[i] * 32 + 255) / 256 * 256;
    const int by_regs = 4 * (16384 / per_warp) / w;
    const int taken = (shared[i] + KB + 127) / 128 * 128;
    const int by_shared = shared[i] > 227 * KB ? 0 : 228 * KB / taken;
    //@stub
    //@ const int by_regs = 65536 / (regs[i] * block[i]);
    //@ const int by_shared = 32;
    //@end

    //@solution the scarcest of four decides; then count the bytes
    const int blocks = min(min(by_regs, by_shared), min(64 / w, 32));
    warps[i] = blocks * w;
    bytes[i] = warps[i] * 32 * 16 * loads[i];
    //@stub
    //@ const int blocks = min(by_regs, by_shared);
    //@ warps[i] = w * blocks;
    //@ bytes[i] = 0;
    //@end
}
