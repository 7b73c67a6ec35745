// float4, int2, dim3 and their kin. Assignment copies a whole vector at once, as one 8- or 16-byte access.
#pragma once

#define LW_VECTOR(T, BASE, FEW)                                                                                             \
    struct T##1 { BASE x; };                                                                                                \
    struct alignas(2 * sizeof(BASE)) T##2 {                                                                                 \
        BASE x, y;                                                                                                          \
        typedef BASE lw_words __attribute__((ext_vector_type(2)));                                                          \
        __device__ __forceinline__ T##2& operator=(const T##2& o) { *(lw_words*)this = *(const lw_words*)&o; return *this; } \
    };                                                                                                                      \
    struct T##3 { BASE x, y, z; };                                                                                          \
    struct alignas(FEW * sizeof(BASE)) T##4 {                                                                               \
        BASE x, y, z, w;                                                                                                    \
        typedef BASE lw_words __attribute__((ext_vector_type(FEW)));                                                        \
        __device__ __forceinline__ T##4& operator=(const T##4& o) {                                                         \
            for (int i = 0; i < 4 / FEW; i++) ((lw_words*)this)[i] = ((const lw_words*)&o)[i];                              \
            return *this;                                                                                                   \
        }                                                                                                                   \
    };                                                                                                                      \
    LW T##1 make_##T##1(BASE x) { return {x}; }                                                                             \
    LW T##2 make_##T##2(BASE x, BASE y) { return {x, y}; }                                                                  \
    LW T##3 make_##T##3(BASE x, BASE y, BASE z) { return {x, y, z}; }                                                       \
    LW T##4 make_##T##4(BASE x, BASE y, BASE z, BASE w) { return {x, y, z, w}; }
LW_VECTOR(char, signed char, 4)
LW_VECTOR(uchar, unsigned char, 4)
LW_VECTOR(short, short, 4)
LW_VECTOR(ushort, unsigned short, 4)
LW_VECTOR(int, int, 4)
LW_VECTOR(uint, unsigned, 4)
LW_VECTOR(float, float, 4)
LW_VECTOR(longlong, long long, 2)
LW_VECTOR(ulonglong, unsigned long long, 2)
LW_VECTOR(double, double, 2)
#undef LW_VECTOR

struct dim3 {
    unsigned x, y, z;
    __device__ __forceinline__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    __device__ __forceinline__ dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
};
