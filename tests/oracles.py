"""Expected values from independent sources: integer arithmetic, exact fractions and plain NumPy.

Nothing here imports imgops. Coordinates follow the formulas as their owners print them (ONNX Resize, DirectML
RESAMPLE, TensorFlow DepthToSpace), not the affine record the package keeps them in.
"""

import itertools
import math
import os
from fractions import Fraction

import numpy as np

try:
    import ml_dtypes

    BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:
    BFLOAT16 = None

HALF = Fraction(1, 2)
ROUNDINGS = ("floor", "ceil", "half_down", "half_up")
CONVENTIONS = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "directml",
)


def exact(number):
    """The number a caller means: integers and fractions as they are, floats by their shortest decimal."""
    if isinstance(number, (int, Fraction, np.integer)):
        return Fraction(int(number)) if isinstance(number, np.integer) else Fraction(number)
    return Fraction(np.format_float_scientific(number, unique=True))


def scaled_length(length, scale):
    return math.floor(length * exact(scale))


# Depth and space


def depth_to_space(x, block, data_format="NHWC", mode="DCR"):
    """Reshape, transpose, reshape, as the ONNX and TensorFlow pages write it."""
    b = block
    if data_format == "NHWC":
        *lead, h, w, c = x.shape
        split, order = ((b, b, c // b**2), (0, 2, 1, 3, 4)) if mode == "DCR" else ((c // b**2, b, b), (0, 3, 1, 4, 2))
        inner, final = (h, w, *split), (h * b, w * b, c // b**2)
    elif data_format == "NCHW":
        *lead, c, h, w = x.shape
        split, order = ((b, b, c // b**2), (2, 3, 0, 4, 1)) if mode == "DCR" else ((c // b**2, b, b), (0, 3, 1, 4, 2))
        inner, final = (*split, h, w), (c // b**2, h * b, w * b)
    else:
        *lead, c, h, w, four = x.shape
        inner, order, final = (b, b, c // b**2, h, w, four), (2, 3, 0, 4, 1, 5), (c // b**2, h * b, w * b, four)
    n = len(lead)
    moved = x.reshape(*lead, *inner).transpose(*range(n), *(n + axis for axis in order))
    return np.ascontiguousarray(moved).reshape(*lead, *final)


def space_to_depth(x, block, data_format="NHWC", mode="DCR"):
    b = block
    if data_format == "NHWC":
        *lead, h, w, c = x.shape
        inner, final = (h // b, b, w // b, b, c), (h // b, w // b, c * b**2)
        order = (0, 2, 1, 3, 4) if mode == "DCR" else (0, 2, 4, 1, 3)
    elif data_format == "NCHW":
        *lead, c, h, w = x.shape
        inner, final = (c, h // b, b, w // b, b), (c * b**2, h // b, w // b)
        order = (2, 4, 0, 1, 3) if mode == "DCR" else (0, 2, 4, 1, 3)
    else:
        *lead, c, h, w, four = x.shape
        inner, order, final = (c, h // b, b, w // b, b, four), (2, 4, 0, 1, 3, 5), (c * b**2, h // b, w // b, four)
    n = len(lead)
    moved = x.reshape(*lead, *inner).transpose(*range(n), *(n + axis for axis in order))
    return np.ascontiguousarray(moved).reshape(*lead, *final)


# Coordinates and tables


def coordinate(convention, n, m, o, scale=None):
    """Input coordinate of output o, exact; n and m are the input's and the output's length."""
    s = Fraction(m, n) if scale is None else exact(scale)
    half_pixel = (o + HALF) / s - HALF
    if convention in ("half_pixel", "directml"):
        return half_pixel
    if convention == "half_pixel_symmetric":
        return Fraction(n, 2) * (1 - Fraction(m) / (s * n)) + half_pixel
    if convention == "pytorch_half_pixel":
        return half_pixel if m > 1 else Fraction(0)
    if convention == "align_corners":
        return Fraction(o * (n - 1), m - 1) if m > 1 else Fraction(0)
    if convention == "asymmetric":
        return o / s
    if convention == "tf_half_pixel_for_nn":
        return (o + HALF) / s
    raise KeyError(convention)


def affine_coordinate(scale, input_offset, output_offset, o):
    """DirectML's relation, output = (input + input_offset) * scale + output_offset, solved for the input."""
    return (o - exact(output_offset)) / exact(scale) - exact(input_offset)


def clamp(value, n):
    return min(max(value, 0), n - 1)


def nearest_index(x, n, rounding):
    index = {
        "floor": lambda: math.floor(x),
        "ceil": lambda: math.ceil(x),
        "half_down": lambda: math.ceil(x - HALF),
        "half_up": lambda: math.floor(x + HALF),
    }[rounding]()
    return clamp(index, n)


def nearest_matrix(xs, n, rounding="half_down"):
    """One row per coordinate; entries are Fractions."""
    matrix = np.full((len(xs), n), Fraction(0), dtype=object)
    for o, x in enumerate(xs):
        matrix[o, nearest_index(x, n, rounding)] = Fraction(1)
    return matrix


def linear_matrix(xs, n):
    matrix = np.full((len(xs), n), Fraction(0), dtype=object)
    for o, x in enumerate(xs):
        x = clamp(x, n)
        low = math.floor(x)
        matrix[o, low] = 1 - (x - low)
        if x > low:
            matrix[o, low + 1] = x - low
    return matrix


def keys(t, a):
    t = abs(t)
    if t >= 2:
        return Fraction(0)
    return ((a + 2) * t - (a + 3)) * t * t + 1 if t <= 1 else ((a * t - 5 * a) * t + 8 * a) * t - 4 * a


def cubic_matrix(xs, n, a=Fraction(-3, 4)):
    """Keys' kernel; taps beyond the axis fall on its edge sample."""
    matrix = np.full((len(xs), n), Fraction(0), dtype=object)
    for o, x in enumerate(xs):
        low = math.floor(x)
        for j in range(low - 1, low + 3):
            matrix[o, clamp(j, n)] += keys(x - j, a)
    return matrix


def triangle_matrix(n, m):
    """Antialiased linear of Pillow and torch: a triangle widened when shrinking, renormalised at the edges."""
    width = max(Fraction(n, m), 1)
    matrix = np.full((m, n), Fraction(0), dtype=object)
    for o in range(m):
        x = coordinate("half_pixel", n, m, o)
        weights = [max(Fraction(0), 1 - abs(j - x) / width) for j in range(n)]
        for j, weight in enumerate(weights):
            matrix[o, j] = weight / sum(weights)
    return matrix


def lanczos3(t):
    """sinc(t) sinc(t / 3), whose zeros at whole numbers are exact."""
    t = abs(t)
    if t >= 3 or (t and t == int(t)):
        return 0.0
    if t == 0:
        return 1.0
    a, b = math.pi * float(t), math.pi * float(t) / 3
    return math.sin(a) / a * math.sin(b) / b


def windowed_matrix(n, m, kernel, widened=True):
    """A filter over the samples inside the axis, widened when shrinking, weights made to sum to one; float64."""
    width = max(Fraction(n, m), 1) if widened else 1
    rows = []
    for o in range(m):
        x = coordinate("half_pixel", n, m, o)
        weights = [float(kernel((j - x) / width)) for j in range(n)]
        rows.append([weight / math.fsum(weights) for weight in weights])
    return np.array(rows)


def axis_matrix(n, m, *, mode="linear", convention="half_pixel", scale=None, rounding="half_down"):
    xs = [coordinate(convention, n, m, o, scale) for o in range(m)]
    if mode == "nearest":
        return nearest_matrix(xs, n, rounding)
    return cubic_matrix(xs, n) if mode == "cubic" else linear_matrix(xs, n)


def nearest_indices_all(convention, rounding, n, m):
    """Nearest indices with integers alone; n and m broadcast against an output index on the last axis.

    Rows are padded: entries with o >= m mean nothing. Written for sizes alone (scale = m / n).
    """
    o = np.arange(np.max(m), dtype=np.int64)
    n, m = np.asarray(n, np.int64)[..., None], np.asarray(m, np.int64)[..., None]
    if convention in ("half_pixel", "half_pixel_symmetric", "directml"):
        top, bottom = (2 * o + 1) * n - m, 2 * m
    elif convention == "pytorch_half_pixel":
        top, bottom = np.where(m > 1, (2 * o + 1) * n - m, 0), 2 * m
    elif convention == "align_corners":
        top, bottom = np.where(m > 1, o * (n - 1), 0), np.maximum(m - 1, 1)
    elif convention == "asymmetric":
        top, bottom = o * n, m
    elif convention == "tf_half_pixel_for_nn":
        top, bottom = (2 * o + 1) * n, 2 * m
    else:
        raise KeyError(convention)
    index = {
        "floor": lambda: top // bottom,
        "ceil": lambda: -(-top // bottom),
        "half_down": lambda: -((bottom - 2 * top) // (2 * bottom)),
        "half_up": lambda: (2 * top + bottom) // (2 * bottom),
    }[rounding]()
    return np.clip(index, 0, n - 1)


# Applying tables


def to_float(matrix):
    return matrix.astype(np.float64)


def apply_axis(matrix, x, axis):
    return np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)


def apply(matrices, x):
    """Contract each {axis: matrix} with x; Fractions stay Fractions, floats go through float64."""
    for axis, matrix in matrices.items():
        x = apply_axis(matrix if x.dtype == object else to_float(matrix), x, axis)
    return x


def to_fractions(x):
    out = np.empty(x.shape, dtype=object)
    for index in itertools.product(*map(range, x.shape)):
        value = x[index]
        out[index] = Fraction(int(value)) if x.dtype.kind in "iu" else Fraction(float(value))
    return out


def is_bfloat16(dtype):
    # A dtype equals None where it is float64.
    return BFLOAT16 is not None and dtype == BFLOAT16


def machine_epsilon(dtype):
    return 2.0**-7 if is_bfloat16(dtype) else float(np.finfo(dtype).eps)


def spacing(value, dtype):
    """Distance of neighbouring numbers of a float dtype about an exact value, as a Fraction."""
    digits, lowest = {2: (10, -14), 4: (23, -126), 8: (52, -1022)}[np.dtype(dtype).itemsize]
    if is_bfloat16(dtype):
        digits, lowest = 7, -126
    value = abs(value)
    exponent = lowest
    if value:
        exponent = math.floor(math.log2(value))
        exponent += (value >= Fraction(2) ** (exponent + 1)) - (value < Fraction(2) ** exponent)
    return Fraction(2) ** (max(exponent, lowest) - digits)


def assert_near_exact(result, expected, magnitude, passes):
    """Each result is its exact value rounded once to the dtype, give or take the accumulator's own rounding.

    expected and magnitude hold Fractions; magnitude is the same sum over absolute values and bounds what the
    accumulator can lose; passes is the number of resampled axes.
    """
    dtype = result.dtype
    accumulator = Fraction(2) ** (-52 if (dtype.kind in "iu" and dtype.itemsize == 4) or dtype == np.float64 else -23)
    for index in itertools.product(*map(range, result.shape)):
        want = expected[index]
        slack = accumulator * (2 * passes + 1) * magnitude[index]
        if dtype.kind in "iu":
            got, limit = Fraction(int(result[index])), HALF + slack
        else:
            got = Fraction(float(result[index]))
            limit = slack + spacing(want, dtype) / 2 if dtype.itemsize == 2 else slack + spacing(Fraction(0), dtype)
        assert abs(got - want) <= limit, (index, result[index], float(want), float(limit))


def bits(x):
    """The bytes of an array in logical order, without those between the fields of a structure."""
    if x.dtype.names:
        return np.concatenate([bits(x[name]) for name in x.dtype.names])
    x = np.ascontiguousarray(x)
    return x.reshape(-1).view(np.uint8) if x.dtype.itemsize and x.size else np.empty(0, np.uint8)


def assert_same_bits(result, expected):
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    np.testing.assert_array_equal(bits(result), bits(expected))


# The address sanitizer keeps freed memory for a while and shadows what is used: measured memory is its own then.
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
