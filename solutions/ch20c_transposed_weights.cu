// dV = P^T dO for tiles of 16 keys, with 32 queries, d = 64, on tensor cores.
// Both operands lie in shared memory with a query a row, so both have to be
// transposed on the way to the fragments.
//
// grid:  ceil(Nk / 16) blocks     block: 32 threads: a warp
// P:     fp16 (32, Nk), read: the weights, a query a row
// dO:    fp16 (32, 64), read
// dV:    float32 (Nk, 64), written
// Nk:    a multiple of 8
#include <ptx.cuh>

extern "C" __global__ void transposed_weights(const __half* P, const __half* dO,
                                              float* dV, int Nk) {
    __shared__ __align__(128) unsigned char Ps[32 * 32];   // 2 chunks a row
    __shared__ __align__(128) unsigned char Gs[32 * 128];  // 8 chunks a row
    const int lane = threadIdx.x;
    const int first = blockIdx.x * 16;  // the block's first key

    // Byte of a 16-byte chunk. Four rows of Ps fill the 32 banks.
    auto p_at = [](int row, int chunk) {
        return row * 32 + (chunk ^ row / 4 & 1) * 16;
    };
    auto g_at = [](int row, int chunk) {
        return row * 128 + (chunk ^ row & 7) * 16;
    };

    for (int c = 0; c < 2; ++c) {  // row `lane` of P, guarded in chunks
        const int key = first + 8 * c;
        *(uint4*)(Ps + p_at(lane, c)) =
            key < Nk ? *(const uint4*)(P + lane * Nk + key) : uint4();
    }
    for (int p = lane; p < 32 * 8; p += 32)
        *(uint4*)(Gs + g_at(p / 8, p % 8)) = ((const uint4*)dO)[p];
    __syncwarp();  // Ps and Gs are filled

    const unsigned weights = ptx::shared_address(Ps);
    const unsigned grads = ptx::shared_address(Gs);
    float o[8][4] = {};  // 8 fragments of 16 keys x 8 columns
    for (int k = 0; k < 32; k += 16) {  // queries k .. k + 15
        unsigned a[4], b[4];
        // A is P transposed: its rows are keys, its columns queries.
        // a[0], a[1]: keys 0 .. 7 and 8 .. 15, queries k .. k + 7
        // a[2], a[3]: the same keys, queries k + 8 .. k + 15
        //@solution which query's row, which chunk of keys does a lane name?
        const int query = k + lane / 16 * 8 + lane % 8;
        const int keys = lane / 8 % 2;
        ptx::ldmatrix_x4_trans(a, weights + p_at(query, keys));
        //@stub
        //@ const int query = k + lane % 16;
        //@ const int keys = lane / 16;
        //@ ptx::ldmatrix_x4(a, weights + p_at(query, keys));
        //@end
#pragma unroll
        for (int j = 0; j < 8; j += 2) {
            // b[0], b[1]: queries k .. and k + 8 .., columns 8 j ..
            // b[2], b[3]: the same queries, the next 8 columns
            //@solution row and chunk again, and how
            ptx::ldmatrix_x4_trans(
                b, grads + g_at(k + lane % 16, j + lane / 16));
            //@stub
            //@ ptx::ldmatrix_x4(
            //@     b, grads + g_at(k + lane % 16, j + lane / 16));
            //@end
            ptx::mma_m16n8k16(o[j], a, b[0], b[1], __half());
            ptx::mma_m16n8k16(o[j + 1], a, b[2], b[3], __half());
        }
    }

#pragma unroll
    for (int j = 0; j < 8; ++j)
        for (int h = 0; h < 2; ++h) {
            const int key = first + lane / 4 + 8 * h;
            if (key < Nk)  // excluded: rows past the last key
                *(float2*)(dV + key * 64 + 8 * j + lane % 4 * 2) =
                    make_float2(o[j][2 * h], o[j][2 * h + 1]);
        }
}
