// S = Q K^T for tiles of 16 queries, with 64 keys, d = 64, on tensor cores.
// The tile's rows are padded to 72; the fragments come by ldmatrix.
//
// grid:  ceil(Nq / 16) blocks     block: 32 threads: a warp
// Q:     fp16 (Nq, 64), read      K: fp16 (64, 64), read
// S:     float32 (Nq, 64), written
// Nq:    any >= 1
#include <ptx.cuh>

extern "C" __global__ void ldmatrix_rows(const __half* Q, const __half* K,
                                         float* S, int Nq) {
    constexpr int pitch = 72;  // fp16 numbers from row to row
    __shared__ __align__(16) __half Qs[16 * pitch];
    __shared__ __align__(16) __half Ks[64 * pitch];
    const int lane = threadIdx.x;
    const int first = blockIdx.x * 16;  // the block's first query

    for (int p = lane; p < 80 * 8; p += 32) {  // 8 chunks of 16 bytes a row
        const int r = p / 8, chunk = p % 8 * 8;
        uint4 x = uint4();
        if (r >= 16)
            x = *(const uint4*)(K + (r - 16) * 64 + chunk);
        else if (first + r < Nq)
            x = *(const uint4*)(Q + (first + r) * 64 + chunk);
        __half* row = r < 16 ? Qs + r * pitch : Ks + (r - 16) * pitch;
        *(uint4*)(row + chunk) = x;
    }
    __syncwarp();  // Qs and Ks are filled

    float s[8][4] = {};  // 8 fragments of 16 queries x 8 keys
    for (int k = 0; k < 64; k += 16) {  // columns k .. k + 15
        unsigned a[4] = {}, b[4] = {};
        // a[0], a[1]: rows 0 .. 7 and 8 .. 15, columns k .. k + 7
        // a[2], a[3]: the same rows, columns k + 8 .. k + 15
        //@solution ldmatrix of Q: which row, which column is this lane's?
        const __half* q = Qs + lane % 16 * pitch + k + lane / 16 * 8;
        ptx::ldmatrix_x4(a, ptx::shared_address(q));
        //@stub
        //@ ptx::ldmatrix_x4(a, ptx::shared_address(Qs));
        //@end
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            // b[0], b[1]: keys 16 j .. 16 j + 7, columns k .. and k + 8 ..
            // b[2], b[3]: keys 16 j + 8 .., the same columns
            //@solution ldmatrix of K: row and column again
            const int r = 16 * j + lane / 16 * 8 + lane % 8;
            const __half* key = Ks + r * pitch + k + lane / 8 % 2 * 8;
            ptx::ldmatrix_x4(b, ptx::shared_address(key));
            //@stub
            //@ ptx::ldmatrix_x4(b, ptx::shared_address(Ks));
            //@end
            ptx::mma_m16n8k16(s[2 * j], a, b[0], b[1], __half());
            ptx::mma_m16n8k16(s[2 * j + 1], a, b[2], b[3], __half());
        }
    }

#pragma unroll
    for (int j = 0; j < 8; ++j)
        for (int h = 0; h < 2; ++h) {
            const int row = first + lane / 4 + 8 * h;
            if (row < Nq)  // excluded: rows past the last query
                *(float2*)(S + row * 64 + 8 * j + lane % 4 * 2) =
                    make_float2(s[j][2 * h], s[j][2 * h + 1]);
        }
}
