// What ldmatrix gives each lane: of one 8 x 8 matrix, as it is and transposed.
//
// grid:  1      block: 32 threads: a warp
// x:     uint16 (8, 8), read
// rows, columns: uint16 (32, 2), written: the two elements that each lane gets
//        from ldmatrix, and from ldmatrix.trans
#include <ptx.cuh>

extern "C" __global__ void one_matrix(const unsigned short* x,
                                      unsigned short* rows,
                                      unsigned short* columns) {
    __shared__ __align__(16) unsigned short tile[8][8];
    const int lane = threadIdx.x;
    tile[lane / 4][lane % 4 * 2] = x[lane * 2];
    tile[lane / 4][lane % 4 * 2 + 1] = x[lane * 2 + 1];
    __syncwarp();  // the tile is filled

    // Four matrices at once: here four times the same. Lanes i, 8 + i, ..
    // name row i.
    unsigned r[4];
    const unsigned at = ptx::shared_address(tile[lane % 8]);
    ptx::ldmatrix_x4(r, at);
    rows[lane * 2] = r[0] & 0xffff;  // the first one is in the low half
    rows[lane * 2 + 1] = r[0] >> 16;
    ptx::ldmatrix_x4_trans(r, at);
    columns[lane * 2] = r[0] & 0xffff;
    columns[lane * 2 + 1] = r[0] >> 16;
}
