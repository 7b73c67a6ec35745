"""What doesn't exist in a kernel compiled at run time, and what to write instead. Each suggestion is compiled by a test."""

from __future__ import annotations

_CONSTANTS = "write #include <math_constants.h> at the top and {} here: NVRTC has no {}."
_INTEGERS = "write #include <cuda/std/cstdint> at the top: NVRTC has no <stdint.h>."
_LIMITS = "write #include <cuda/std/climits> at the top: NVRTC has no <limits.h>."
_NUMERIC = "write #include <cuda/std/limits> at the top and cuda::std::numeric_limits<{}>::{}() here: NVRTC has no <float.h>."
_HALF = "write #include <cuda_fp16.h> at the top."
_BFLOAT = "write #include <cuda_bf16.h> at the top."

IDENTIFIERS: dict[str, str] = {
    "INFINITY": _CONSTANTS.format("CUDART_INF_F", "INFINITY"),
    "HUGE_VALF": _CONSTANTS.format("CUDART_INF_F", "HUGE_VALF"),
    "HUGE_VAL": _CONSTANTS.format("CUDART_INF", "HUGE_VAL"),
    "NAN": _CONSTANTS.format("CUDART_NAN_F", "NAN"),
    "FLT_MAX": _CONSTANTS.format("CUDART_MAX_NORMAL_F", "<float.h>"),
    "M_PI": _CONSTANTS.format("CUDART_PI_F", "M_PI"),
    "M_E": "write 2.718281828f: NVRTC has no M_E.",
    "M_LOG2E": _CONSTANTS.format("CUDART_L2E_F", "M_LOG2E"),
    "M_SQRT2": _CONSTANTS.format("CUDART_SQRT_TWO_F", "M_SQRT2"),
    "FLT_MIN": _NUMERIC.format("float", "min"),
    "FLT_EPSILON": _NUMERIC.format("float", "epsilon"),
    "DBL_MAX": _NUMERIC.format("double", "max"),
    "DBL_MIN": _NUMERIC.format("double", "min"),
    "DBL_EPSILON": _NUMERIC.format("double", "epsilon"),
    **{f"{sign}int{bits}_t": _INTEGERS for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{name: _INTEGERS for name in ("uintptr_t", "intptr_t", "INT32_MAX", "INT32_MIN", "UINT32_MAX", "INT64_MAX", "INT64_MIN", "UINT64_MAX")},
    **{name: _LIMITS for name in ("INT_MAX", "INT_MIN", "UINT_MAX", "LONG_MAX", "LONG_MIN", "LLONG_MAX", "LLONG_MIN", "ULLONG_MAX", "CHAR_BIT", "SHRT_MAX")},
    **{name: _HALF for name in ("half", "half2", "__half", "__half2", "__float2half", "__half2float", "__hadd", "__hmul", "__hfma", "__hfma2")},
    **{name: _BFLOAT for name in ("__nv_bfloat16", "__nv_bfloat162", "nv_bfloat16", "__float2bfloat16", "__bfloat162float")},
    "uint": "write unsigned int: NVRTC has no uint.",
    "uchar": "write unsigned char: NVRTC has no uchar.",
    "ushort": "write unsigned short: NVRTC has no ushort.",
    "print": 'write printf("%d\\n", i): it needs no header.',
    "True": "C++ writes true.",
    "False": "C++ writes false.",
    "None": "C++ writes nullptr.",
    "and_": "C++ writes &&.",
    "syncthreads": "write __syncthreads(), with two underscores in front.",
}

NAMESPACES: dict[str, str] = {
    "cooperative_groups": "write #include <cooperative_groups.h> at the top.",
    "cg": "write #include <cooperative_groups.h> and namespace cg = cooperative_groups; at the top.",
    "nvcuda": "write #include <mma.h> at the top.",
    "wmma": "write #include <mma.h> and using namespace nvcuda; at the top.",
    "cub": "write #include <cub/block/block_reduce.cuh> (or another header of cub/block, cub/warp) at the top.",
    "cuda": "write the header of what you use at the top, such as #include <cuda/barrier> or #include <cuda/std/cstdint>.",
}

_BUILT_IN = "leave the line out: a kernel has {} without any header."
_BLOCK = "include the block headers instead, such as <cub/block/block_reduce.cuh>: the device-wide algorithms are launched by the host."

HEADERS: dict[str, str] = {
    "stdint.h": "write #include <cuda/std/cstdint> instead.",
    "cstdint": "write #include <cuda/std/cstdint> instead.",
    "stdio.h": _BUILT_IN.format("printf"),
    "cstdio": _BUILT_IN.format("printf"),
    "iostream": 'leave the line out: a kernel prints with printf("%d\\n", i), which needs no header.',
    "math.h": _BUILT_IN.format("expf, sqrtf, fmaxf and the others"),
    "cmath": _BUILT_IN.format("expf, sqrtf, fmaxf and the others"),
    "assert.h": _BUILT_IN.format("assert"),
    "cassert": _BUILT_IN.format("assert"),
    "stdlib.h": _BUILT_IN.format("malloc, free and size_t"),
    "cstdlib": _BUILT_IN.format("malloc, free and size_t"),
    "stddef.h": _BUILT_IN.format("size_t"),
    "cstddef": _BUILT_IN.format("size_t"),
    "string.h": _BUILT_IN.format("memcpy and memset"),
    "cstring": _BUILT_IN.format("memcpy and memset"),
    "float.h": "write #include <math_constants.h> instead: CUDART_MAX_NORMAL_F is FLT_MAX, CUDART_INF_F is infinity.",
    "cfloat": "write #include <math_constants.h> instead: CUDART_MAX_NORMAL_F is FLT_MAX, CUDART_INF_F is infinity.",
    "limits.h": "write #include <cuda/std/climits> instead.",
    "climits": "write #include <cuda/std/climits> instead.",
    "limits": "write #include <cuda/std/limits> and cuda::std::numeric_limits instead.",
    "algorithm": "leave the line out: a kernel has min and max without any header.",
    "type_traits": "write #include <cuda/std/type_traits> and cuda::std:: instead.",
    "utility": "write #include <cuda/std/utility> and cuda::std:: instead.",
    "array": "write #include <cuda/std/array> and cuda::std::array instead.",
    "tuple": "write #include <cuda/std/tuple> and cuda::std::tuple instead.",
    "complex": "write #include <cuda/std/complex> and cuda::std::complex instead.",
    "cuda.h": "leave the line out: the driver's functions are called from Python, a kernel needs none of them.",
    "cudaTypedefs.h": "leave the line out: the driver's functions are called from Python, a kernel needs none of them.",
    "cub/cub.cuh": _BLOCK,
    "thrust/device_vector.h": "leave the line out: thrust is called by the host; in a kernel use the headers of cub/block.",
    "cublas_v2.h": "leave the line out: cuBLAS is called by the host.",
    "torch/extension.h": "leave the line out: a kernel knows nothing of PyTorch.",
    "helper_cuda.h": "leave the line out: it belongs to host programs.",
}

_SYNTAX = "look for a missing (, ), { or ; on this line or the one before."

# Patterns on NVRTC's and clang's sentences, first match wins.
TEXTS: list[tuple[str, str]] = [
    (
        r"device-side kernel launch|cudaConfigureCall|kernel call to a global function",
        "kernels are launched from Python, kernel(grid, block, args): leave <<<...>>> and main out of the source.",
    ),
    (
        r"explicitly marked as a __host__ function",
        "leave the __host__ function out: a source for NVRTC holds device code alone.",
    ),
    (
        r"__global__ function must have a void return type|kernel function type .* must have void return",
        "a kernel returns nothing: write void, and store the result in an array.",
    ),
    (r'expected a "}"|expected \'}\'', "a { is never closed: count the braces, or indent the code to see which."),
    (r"expected a declaration|extraneous closing brace", "a } too many stands before or on this line."),
    (
        r"expression must have a constant value|variable[- ]length array",
        "the size of an array must be known to the compiler: constexpr int N = 32; or extern __shared__ with the size given at the launch.",
    ),
    (
        r"initializer not allowed for __shared__|initialization is not supported for __shared__",
        "shared memory can't be initialised where it is declared: let the threads store the values, then __syncthreads().",
    ),
    (
        r"modifiable lvalue|read-only variable|const-qualified type",
        "what is assigned to is const: write to another array, or drop the const.",
    ),
    (
        r'from "const (?:dim3|uint3)"|type "const (?:dim3|uint3)"|from .const lw_\w+',
        "it has three parts: write .x, .y or .z after it.",
    ),
    (
        r'"\w[\w ]* \*" cannot be used to initialize an entity of type "\w[\w ]*[^*]"|with an rvalue of type|with an lvalue of type',
        "a pointer is not a value: write its element, such as x[i].",
    ),
    (
        r"more than one instance of overloaded function|call to .* is ambiguous",
        "the arguments have different types: make them equal, such as min(1.0f, x).",
    ),
    (
        r"already been declared|redefinition of",
        "the name is taken: choose another, or assign without naming the type again.",
    ),
    (r"missing closing quote|missing terminating", "a \" or ' is never closed on this line."),
    (r"too (many|few) arguments|no matching function", "compare the call with the function's parameters."),
    (
        r"uses too much shared data",
        "a block may declare 48 KB of shared memory (227 KB on Hopper): for more, use extern __shared__ and raise max_dynamic_shared_size_bytes.",
    ),
    (
        r"expected an expression|expected expression|expected a \"\)\"|expected '\)'|expected a statement|expected an identifier",
        _SYNTAX,
    ),
    (
        r"unrecognized option|invalid value for",
        "options are those of NVRTC, such as -DN=4, --use_fast_math, -std=c++17.",
    ),
]

BUILT_INS: tuple[str, ...] = tuple(
    """
    threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncwarp __threadfence __threadfence_block __shared__ __constant__
    __device__ __global__ __launch_bounds__ __restrict__ __forceinline__ __noinline__ __shfl_sync __shfl_up_sync __shfl_down_sync
    __shfl_xor_sync __ballot_sync __any_sync __all_sync __activemask __match_any_sync __popc __ffs __clz __ldg atomicAdd atomicMax
    atomicMin atomicCAS atomicExch atomicSub atomicAnd atomicOr atomicXor printf expf exp2f logf log2f sqrtf rsqrtf fmaxf fminf
    fabsf tanhf sinf cosf powf floorf ceilf roundf fmaf __expf __logf __fdividef __float_as_int __int_as_float
    float2 float4 int2 int4 make_float2 make_float4 make_int2 make_int4 unsigned constexpr
    """.split()  # noqa: SIM905
)
