// Who computes which tile of attention, and which stage of a ring comes next.
// Used by flash3.cuh.
#pragma once

// A tile's place in the work: which head, which rows, how many key tiles.
struct Work {
    int head, first, tiles;
};

// Ticket `ticket` of all tiles. Without a mask one head after the other. Causal
// rows see the more keys the later they stand, so the tiles of `section` heads
// come longest first (or shortest first, to see the difference): the short ones
// fill the gaps at the end, and a section's keys stay in the L2.
template <int Bc, int rows, bool causal, bool longest_first>
__device__ __forceinline__ Work work_of(int ticket, int heads, int section, int Nq, int Nk) {
    const int row_tiles = (Nq + rows - 1) / rows;
    int head, tile;
    if (causal) {                                            // a section's heads beside each other
        const int part = ticket / (section * row_tiles), rest = ticket % (section * row_tiles);
        const int wide = min(section, heads - part * section);
        head = part * section + rest % wide;
        tile = longest_first ? row_tiles - 1 - rest / wide : rest / wide;
    } else {
        head = ticket / row_tiles;
        tile = ticket % row_tiles;
    }
    const int first = tile * rows;
    const int keys = causal ? max(0, min(Nk, min(first + rows, Nq) + Nk - Nq)) : Nk;
    return {head, first, (keys + Bc - 1) / Bc};
}

// A ring's place: which stage, and the parity of its phase.
template <int stages>
struct Turn {
    int stage = 0;
    unsigned parity = 0;
    __device__ __forceinline__ void next() {
        if (++stage == stages) stage = 0, parity ^= 1;
    }
};
