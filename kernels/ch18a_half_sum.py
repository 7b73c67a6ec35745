import numpy as np

from lanewise.exercise import Case, Exercise, Launch, Slip, lengths


def data(rows, n, numbers=lambda rng, shape: rng.random(shape)):
    """x, y: (rows, n), fp16; out: (rows), float32."""

    def make(rng):
        x, y = (numbers(rng, (rows, n)).astype(np.float16) for _ in range(2))
        return {"x": x, "y": y, "out": np.empty(rows, np.float32), "n": np.int32(n)}

    return make


def all_of(value):
    return lambda rng, shape: np.full(shape, value)


def small_behind_large(rng, shape):
    """128 in every lane's first place, then numbers from 0 to 1."""
    numbers = rng.random(shape)
    numbers[:, :32] = 128
    return numbers


def launch(data):
    return Launch(len(data["out"]), 32, "x y out n")


def half(x):
    return x.astype(np.float16).astype(np.float32)


def bf16(x):
    """float32 with 8 significant bits, to nearest even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view(np.float32)


def exact(x):
    return x


def summed(says, product=exact, sum=exact, join=exact, first=16, whole=False):
    """A Slip: the kernel's sum, rounded where these functions round. The shuffles begin with `first`; `whole`: no partial last step."""

    def gives(data):
        x, y = data["x"].astype(np.float32), data["y"].astype(np.float32)
        n = x.shape[1] // 32 * 32 if whole else x.shape[1]
        products = np.pad(product(x * y)[:, :n], [(0, 0), (0, -n % 32)])
        lanes = np.zeros((len(x), 32), np.float32)
        for step in range(0, products.shape[1], 32):
            lanes = sum(lanes + products[:, step : step + 32])
        w = first
        while w:
            lanes = join(lanes + lanes[:, np.arange(32) ^ w])
            w //= 2
        return {"out": lanes[:, 0].astype(np.float64)}

    return Slip(says, gives)


exercise = Exercise(
    title="A sum in fp16",
    reference=lambda data: {"out": (data["x"].astype(np.float64) * data["y"]).sum(axis=1)},
    atol=0.0,
    rtol=4e-6,  # positive numbers, up to 64 a lane and 5 additions: 69 * 2**-24
    cases=(
        Case("1000 numbers from 0 to 1", data(3, 1000), launch),
        Case("96 products of 900", data(1, 96, all_of(30)), launch),
        Case("products of 90,000", data(2, 5, all_of(300)), launch),
        Case("small numbers behind large ones", data(2, 1200, small_behind_large), launch),
        Case("one product, with more than 11 bits", data(1, 1, all_of(1.3)), launch),
        Case("other numbers", data(2, 777), launch, visible=False),
    ),
    slips=(
        summed("That is a sum kept in fp16: it is rounded to 11 bits at every step and by every shuffle.", sum=half, join=half),
        summed("That is the sum of products that were rounded to fp16: turn the factors into float32 before you multiply them.", product=half),
        summed("That is a sum that each lane rounds to fp16 at every step: keep it in float32.", sum=half),
        summed("That is the sum with the lanes joined in fp16, or rounded to it at the end: what is shuffled is a sum, too, and out is float32.", join=half),
        summed("That is a sum kept in bf16: it has the range, and 8 bits.", sum=bf16),
        summed("That is the sum of lanes 0 to 15: the shuffles begin with 16.", first=8),
        summed("That is the sum without the last n % 32 products: a lane goes on while i < n.", whole=True),
    ),
    variation=lambda rng: [
        Case(f"{n} numbers", data(2, n, all_of(float(rng.integers(200, 250))) if n < 64 else small_behind_large), launch) for (n,) in lengths(rng, 512)
    ],
    hints=(
        "fp16 ends at 65504, and from 2048 on it knows only even numbers: 2048 + 1 is 2048. The inputs are fine. Which variable isn't?",
        "A float32 `sum`: `sum = fmaf(__half2float(x[i]), __half2float(y[i]), sum)`, and the shuffles on float32, too. The products are exact then.",
    ),
)
