"""Control flow: predicates, switches, loops, recursion, device functions, templates, pointers to functions."""

from __future__ import annotations

import math

import numpy as np

from .case import Case


def numbers(seed, n=256, low=0, high=60):
    return np.random.default_rng(seed).integers(low, high, n).astype(np.int32)


def case(entry, source, function, x, block=128) -> Case:
    """The kernel maps int x[i] to int y[i] as the Python function does."""
    return Case(
        name=f"control.{entry}",
        source=source,
        entry=entry,
        args=lambda: [x.copy(), np.zeros_like(x)],
        outputs=(1,),
        expect=lambda x, y: [np.array([(function(int(v), i) + 2**31) % 2**32 - 2**31 for i, v in enumerate(x)], np.int32)],
        grid=-(-len(x) // block),
        block=block,
    )


def kernel(entry, body, before=""):
    return f'{before}\nextern "C" __global__ void {entry}(const int* x, int* y) {{\n    int i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i];\n{body}\n}}\n'


def collatz(v, i):
    steps = 0
    v += 1
    while v != 1:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        steps += 1
    return steps


def switched(v, i):
    table = {0: 3, 1: v * v, 2: v - 100, 3: 12, 4: v << 3, 5: -v, 6: v ^ 0x55, 7: v * 11, 8: 1001, 9: 1000, 10: v // 3, 11: v + i}
    return table.get(v % 13, -1)


def ackermann(m, n):
    return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def nested(v, i):
    total = 0
    for a in range(v % 7):
        for b in range(10):
            if b == v % 5:
                continue
            if a * b > 20:
                break
            total += a * 10 + b
        else:
            total += 1000
    return total


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def machine(v, i):
    state, steps = v % 4, 0
    while True:
        steps += 1
        if state == 0:
            v += 3
            state = 2
        elif state == 1:
            v *= 2
            state = 3
        elif state == 2:
            v ^= 9
            state = 1
        else:
            return v * 100 + steps


def jumped(v):
    t = 0
    for k in range(6):
        match (v + k * k) & 7:
            case 0:
                t += 6
            case 1:
                t ^= 11
            case 2:
                t *= 3
            case 3:
                t -= v
            case 4:
                t = t << 1 | 1
            case 5:
                t += k
            case 6:
                t += 0 if t > 100 else 50
            case _:
                t = ~t
    return t


def predicates(v, i):
    a, b, c = v > 20, (i & 2) != 0, v % 7 == 3
    return int(a and b) | int(a or c) << 1 | int(not a) << 2 | int(a != b) << 3 | int(a == c) << 4 | int(b if a else c) << 5


CASES: list[Case] = [
    case(
        "branches",
        kernel(
            "branches",
            """
    int r;
    if (v < 10) r = v * 2;
    else if (v < 20 && (v & 1)) r = v - 100;
    else if (v == 33 || v > 50) { r = 7; if (i & 1) r += v; }
    else r = -v;
    y[i] = r;""",
        ),
        lambda v, i: v * 2 if v < 10 else v - 100 if v < 20 and v & 1 else 7 + (v if i & 1 else 0) if v == 33 or v > 50 else -v,
        numbers(1),
    ),
    case(
        "dense_switch",
        kernel(
            "dense_switch",
            """
    int r = -1;
    switch (v % 13) {
        case 0: r = 3; break;
        case 1: r = v * v; break;
        case 2: r = v - 100; break;
        case 3: r = 12; break;
        case 4: r = v << 3; break;
        case 5: r = -v; break;
        case 6: r = v ^ 0x55; break;
        case 7: r = v * 11; break;
        case 8: r = 1; /* falls through */
        case 9: r = (r > 0) + 1000; break;
        case 10: r = v / 3; break;
        case 11: r = v + i; break;
    }
    y[i] = r;""",
        ),
        switched,
        numbers(2),
    ),
    case(
        "jump_table",
        kernel(
            "jump_table",
            """
    int t = 0;
    for (int k = 0; k < 6; ++k) {
        switch ((v + k * k) & 7) {
            case 0: t += y_add(1); break;
            case 1: t ^= y_add(2); break;
            case 2: t *= 3; break;
            case 3: t -= v; break;
            case 4: t = t << 1 | 1; break;
            case 5: t += k; break;
            case 6: if (t > 100) continue; t += 50; break;
            default: t = ~t;
        }
    }
    y[i] = t;""",
            "__device__ __noinline__ int y_add(int k) { return k * 5 + 1; }",
        ),
        lambda v, i: jumped(v),
        numbers(3),
    ),
    case(
        "loops",
        kernel(
            "loops",
            """
    int total = 0;
    for (int a = 0; a < v % 7; ++a) {
        int b = 0;
        for (; b < 10; ++b) {
            if (b == v % 5) continue;
            if (a * b > 20) break;
            total += a * 10 + b;
        }
        if (b == 10) total += 1000;
    }
    y[i] = total;""",
        ),
        nested,
        numbers(4),
    ),
    case(
        "while_divergent",
        kernel(
            "while_divergent",
            """
    int steps = 0;
    unsigned n = v + 1;
    while (n != 1) { n = n % 2 == 0 ? n / 2 : 3 * n + 1; ++steps; }
    y[i] = steps;""",
        ),
        collatz,
        numbers(5, high=400),
    ),
    case(
        "do_while",
        kernel(
            "do_while",
            """
    int reversed = 0, left = v * 37 + 1;
    do { reversed = reversed * 10 + left % 10; left /= 10; } while (left);
    y[i] = reversed;""",
        ),
        lambda v, i: int(str(v * 37 + 1)[::-1]),
        numbers(6),
    ),
    case(
        "early_return",
        kernel(
            "early_return",
            """
    y[i] = -5;
    if (v % 3 == 0) return;
    y[i] = v;
    if (v % 5 == 0) { y[i] = 1; return; }
    y[i] += 10;""",
        ),
        lambda v, i: -5 if v % 3 == 0 else 1 if v % 5 == 0 else v + 10,
        numbers(7),
    ),
    case(
        "backward_jump",
        kernel(
            "backward_jump",
            """
    int state = v % 4, steps = 0;
step:
    ++steps;
    if (state == 0) { v += 3; state = 2; goto step; }
    if (state == 1) { v *= 2; state = 3; goto step; }
    if (state == 2) { v ^= 9; state = 1; goto step; }
    y[i] = v * 100 + steps;""",
        ),
        machine,
        numbers(8),
    ),
    case(
        "recursion",
        kernel(
            "recursion",
            "    y[i] = fib(v % 9) * 100 + gcd(v, 36);",
            """
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }""",
        ),
        lambda v, i: fibonacci(v % 9) * 100 + math.gcd(v, 36),
        numbers(9, n=64),
        64,
    ),
    case(
        "ackermann",
        kernel(
            "ackermann",
            "    y[i] = ack(v % 3, v % 4);",
            """
__device__ int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }""",
        ),
        lambda v, i: ackermann(v % 3, v % 4),
        numbers(10, n=32),
        32,
    ),
    case(
        "mutual_recursion",
        kernel(
            "mutual_recursion",
            "    y[i] = even(v % 12);",
            """
__device__ int odd(int n);
__device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }""",
        ),
        lambda v, i: (v % 12) % 2 == 0,
        numbers(11, n=64),
        64,
    ),
    case(
        "function_pointers",
        kernel(
            "function_pointers",
            "    Step f = steps[v % 3];\n    y[i] = f(v, i) + (v > 30 ? twice : thrice)(i);",
            """
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int less(int a, int b) { return a < b ? a : b; }
__device__ __noinline__ int mix(int a, int b) { return a * 31 ^ b; }
__device__ __noinline__ int twice(int a) { return 2 * a; }
__device__ __noinline__ int thrice(int a) { return 3 * a; }
typedef int (*Step)(int, int);
__device__ Step steps[3] = {add, less, mix};""",
        ),
        lambda v, i: [v + i, min(v, i), v * 31 ^ i][v % 3] + (2 * i if v > 30 else 3 * i),
        numbers(12, n=96),
        96,
    ),
    case(
        "templates",
        kernel(
            "templates",
            "    y[i] = power<3>(v % 20) + power<1>(v) + Counted<4, 10>::value + apply(Shift{2}, v) + sum(1, v, 3, i);",
            """
template <int N> __device__ int power(int v) { return v * power<N - 1>(v); }
template <> __device__ int power<0>(int) { return 1; }
template <int A, int B> struct Counted { static constexpr int value = A * B; };
struct Shift { int by; __device__ int operator()(int v) const { return v << by; } };
template <typename F> __device__ int apply(F f, int v) { return f(v); }
__device__ int sum() { return 0; }
template <typename T, typename... Rest> __device__ int sum(T first, Rest... rest) { return first + sum(rest...); }""",
        ),
        lambda v, i: (v % 20) ** 3 + v + 40 + (v << 2) + 4 + v + i,
        numbers(13),
    ),
    case(
        "virtual_calls",
        kernel(
            "virtual_calls",
            """
    Square square(v);
    Line line(v, i);
    Shape* shape = v & 1 ? static_cast<Shape*>(&square) : static_cast<Shape*>(&line);
    y[i] = shape->area();""",
            """
struct Shape { __device__ virtual int area() const = 0; };
struct Square : Shape { int side; __device__ Square(int s) : side(s) {} __device__ __noinline__ int area() const override { return side * side; } };
struct Line : Shape { int a, b; __device__ Line(int a, int b) : a(a), b(b) {} __device__ __noinline__ int area() const override { return a - b; } };""",
        ),
        lambda v, i: v * v if v & 1 else v - i,
        numbers(14, n=64),
        64,
    ),
    case(
        "references_and_structs",
        kernel(
            "references_and_structs",
            """
    Pair p{v, i};
    turn(p);
    Pair q = scaled(p, 3);
    auto later = [&](int k) { q.a += k; return q.b; };
    y[i] = later(5) + q.a * 2 + p.a;""",
            """
struct Pair { int a, b; };
__device__ __noinline__ void turn(Pair& p) { int t = p.a; p.a = p.b; p.b = -t; }
__device__ __noinline__ Pair scaled(Pair p, int k) { return {p.a * k, p.b * k}; }""",
        ),
        lambda v, i: -3 * v + (3 * i + 5) * 2 + i,
        numbers(15),
    ),
    case(
        "predicates",
        kernel(
            "predicates",
            """
    bool a = v > 20, b = (i & 2) != 0, c = v % 7 == 3;
    bool d = a ^ b, e = a == c, f = a ? b : c;
    int r = 0;
    r |= (a && b) << 0; r |= (a || c) << 1; r |= (!a) << 2; r |= d << 3; r |= e << 4; r |= f << 5;
    y[i] = r;""",
        ),
        lambda v, i: predicates(v, i),
        numbers(16),
    ),
    case(
        "uniform_loop_exit",
        kernel(
            "uniform_loop_exit",
            """
    __shared__ int done;
    int round = 0;
    do {
        __syncthreads();
        if (threadIdx.x == 0) done = 1;
        __syncthreads();
        if (round < v % 4) done = 0;
        __syncthreads();
        ++round;
    } while (!done);
    y[i] = round;""",
        ),
        lambda v, i: 4,
        np.array([1] * 127 + [3], np.int32),
    ),
]
