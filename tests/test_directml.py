"""imgops.interfaces.directml against the examples of DirectML's pages and exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from imgops.interfaces import directml

HALF = Fraction(1, 2)
ROUNDINGS = {None: lambda x: math.ceil(x - HALF), "increasing": math.ceil, "decreasing": math.floor}

# The worked example of the DEPTH_TO_SPACE1 and SPACE_TO_DEPTH1 pages: channel k of the depth side is 9 k + this.
DEPTH = (9 * np.arange(8)[:, None, None] + np.arange(6).reshape(2, 3))[None]
SPACE = {
    "depth_column_row": [
        [0, 18, 1, 19, 2, 20, 36, 54, 37, 55, 38, 56, 3, 21, 4, 22, 5, 23, 39, 57, 40, 58, 41, 59],
        [9, 27, 10, 28, 11, 29, 45, 63, 46, 64, 47, 65, 12, 30, 13, 31, 14, 32, 48, 66, 49, 67, 50, 68],
    ],
    "column_row_depth": [
        [0, 9, 1, 10, 2, 11, 18, 27, 19, 28, 20, 29, 3, 12, 4, 13, 5, 14, 21, 30, 22, 31, 23, 32],
        [36, 45, 37, 46, 38, 47, 54, 63, 55, 64, 56, 65, 39, 48, 40, 49, 41, 50, 57, 66, 58, 67, 59, 68],
    ],
}
BLOCK_TYPES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

# Input index of every output: lengths, then halves up, halves down, floor and ceil of the pixel centres, and the floor
# of the corners, all in exact fractions.
NEAREST = [
    (3, 6, "001122", "001122", "000112", "011222", "001122"),
    (6, 3, "135", "024", "024", "135", "024"),
    (4, 2, "13", "02", "02", "13", "02"),
    (2, 3, "011", "001", "001", "011", "001"),
    (3, 2, "02", "02", "01", "12", "01"),
    (4, 3, "023", "013", "012", "123", "012"),
    (8, 3, "146", "136", "036", "147", "025"),
    (5, 7, "0112334", "0112334", "0012234", "0122344", "0012234"),
    (4, 8, "00112233", "00112233", "00011223", "01122333", "00112233"),
    (2, 1, "1", "0", "0", "1", "0"),
    (1, 3, "000", "000", "000", "000", "000"),
]
NEAREST_FORMS = [
    {"input_pixel_offsets": 0, "output_pixel_offsets": -0.5, "rounding_direction": "decreasing"},
    {"rounding_direction": None},
    {"rounding_direction": "decreasing"},
    {"rounding_direction": "increasing"},
    {"input_pixel_offsets": 0, "output_pixel_offsets": 0, "rounding_direction": "decreasing"},
]

# Weights of linear by pixel centres, and the gradient of an all-ones gradient.
LINEAR = [
    (2, 4, 2, [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]], [2, 2]),
    (4, 2, 0.5, [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]], [0.5] * 4),
    (3, 5, 5 / 3, [[1, 0, 0], [0.6, 0.4, 0], [0, 1, 0], [0, 0.4, 0.6], [0, 0, 1]], [1.6, 1.8, 1.6]),
    (2, 1, 0.5, [[0.5, 0.5]], [0.5, 0.5]),
    (1, 3, 3, [[1], [1], [1]], [3]),
    (2, 5, 2, [[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1], [0, 1]], [2, 3]),
]


def exact_matrix(n, m, scale, input_offset, output_offset, mode, direction):
    """The matrix (m, n) of one axis in Fractions, from DirectML's relation of coordinates."""
    matrix = np.full((m, n), Fraction(0), dtype=object)
    for o in range(m):
        x = (o - output_offset) / scale - input_offset
        if mode == "nearest_neighbor":
            matrix[o, min(max(ROUNDINGS[direction](x), 0), n - 1)] = Fraction(1)
        else:
            x = min(max(x, Fraction(0)), Fraction(n - 1))
            low = math.floor(x)
            matrix[o, low] += 1 - (x - low)
            matrix[o, min(low + 1, n - 1)] += x - low
    return matrix


def floats(values):
    return np.array(values, np.float32)


def test_the_documented_example():
    options = {"interpolation_mode": "nearest_neighbor", "scales": (0.5, 1.5)}
    np.testing.assert_array_equal(directml.resample(floats([[1, 2], [3, 4]]), (1, 3), **options), [[1, 1, 2]])
    gradient = directml.resample_grad(floats([[4, 5, 6]]), (2, 2), **options)
    np.testing.assert_array_equal(gradient, [[9, 6], [0, 0]])
    assert gradient.dtype == np.float32


@pytest.mark.parametrize("order", SPACE)
@pytest.mark.parametrize("dtype", BLOCK_TYPES)
def test_the_documented_depth_and_space(order, dtype):
    depth = DEPTH.astype(dtype)
    space = np.reshape(SPACE[order], (1, 2, 4, 6)).astype(dtype)
    for moved, expected in (
        (directml.depth_to_space(depth, 2, order=order), space),
        (directml.space_to_depth(space, 2, order=order), depth),
    ):
        np.testing.assert_array_equal(moved, expected)
        assert moved.dtype == dtype


def test_the_default_order_is_depth_column_row():
    space = np.reshape(SPACE["depth_column_row"], (1, 2, 4, 6))
    np.testing.assert_array_equal(directml.depth_to_space(DEPTH, 2), space)
    np.testing.assert_array_equal(directml.space_to_depth(space, 2), DEPTH)


@pytest.mark.parametrize("row", NEAREST, ids=lambda row: f"{row[0]}-{row[1]}")
@pytest.mark.parametrize("form", range(5), ids=["half_up", "half_down", "floor", "ceil", "corners"])
def test_nearest_index_tables(row, form):
    n, m, *tables = row
    result = directml.resample(
        floats(np.arange(n)), [m], interpolation_mode="nearest_neighbor", scales=m / n, **NEAREST_FORMS[form]
    )
    np.testing.assert_array_equal(result, [int(digit) for digit in tables[form]])


@pytest.mark.parametrize(("n", "m", "scale", "rows", "sums"), LINEAR)
def test_linear_weights_and_column_sums(n, m, scale, rows, sums):
    options = {"interpolation_mode": "linear", "scales": [1, scale]}
    weights = directml.resample(np.eye(n, dtype=np.float32), (n, m), **options).T
    np.testing.assert_allclose(weights, rows, atol=1e-7)
    gradient = directml.resample_grad(np.ones((1, m), np.float32), (1, n), **options)
    np.testing.assert_allclose(gradient[0], sums, rtol=1e-6)


def test_a_smaller_output_crops_and_a_larger_one_repeats_the_edge():
    x = floats([[1, 2, 3]])
    options = {"interpolation_mode": "nearest_neighbor", "scales": (1, 2)}
    np.testing.assert_array_equal(directml.resample(x, (1, 4), **options), [[1, 1, 2, 2]])
    np.testing.assert_array_equal(directml.resample(x, (2, 8), **options), [[1, 1, 2, 2, 3, 3, 3, 3]] * 2)
    gradient = directml.resample_grad(np.ones((2, 8), np.float32), (1, 3), **options)
    np.testing.assert_array_equal(gradient, [[4, 4, 8]])


# Quotients that float32 cannot hold, where the rounded scale would read a neighbour.
@pytest.mark.parametrize(
    ("n", "m", "direction", "input_offset", "output_offset"),
    [(3, 5, "increasing", 0.5, -0.5), (5, 3, "decreasing", 0.5, -0.5), (9, 3, "decreasing", 0, 0), (10, 3, None, 0, 0)],
)
def test_a_scale_from_lengths_is_their_quotient(n, m, direction, input_offset, output_offset):
    for scale in (m / n, np.float32(m / n), Fraction(m, n)):
        result = directml.resample(
            floats(np.arange(n)), [m], interpolation_mode="nearest_neighbor", scales=scale,
            input_pixel_offsets=input_offset, output_pixel_offsets=output_offset, rounding_direction=direction,
        )  # fmt: skip
        offsets = Fraction(input_offset), Fraction(output_offset)
        matrix = exact_matrix(n, m, Fraction(m, n), *offsets, "nearest_neighbor", direction)
        np.testing.assert_array_equal(result, matrix.argmax(axis=1))


def test_another_scale_is_the_decimal_of_its_float32():
    x = floats(np.arange(7))
    options = {"interpolation_mode": "nearest_neighbor", "rounding_direction": "decreasing"}
    options.update(input_pixel_offsets=0, output_pixel_offsets=0)
    # At 3 / 0.6 the coordinate is 5; 0.60000002384, which float32 holds, would give 4.
    expected = [0, 1, 3, 5, 6, 6]
    for scale in (0.6, np.float32(0.6), Fraction(3, 5), 0.6 + 1e-9):
        np.testing.assert_array_equal(directml.resample(x, [6], scales=scale, **options), expected)


scale_numbers = st.integers(1, 40).flatmap(lambda a: st.integers(1, 12).map(lambda b: a / b))
offset_numbers = st.integers(-12, 12).map(lambda a: a / 4)
axis_cases = st.tuples(st.integers(1, 7), st.integers(1, 7), scale_numbers, offset_numbers, offset_numbers)


def meant(scale, n, m):
    single = np.float32(scale)
    return Fraction(m, n) if single == np.float32(m / n) else Fraction(str(single))


@settings(max_examples=80, deadline=None)
@given(
    st.lists(axis_cases, min_size=1, max_size=4),
    st.sampled_from([None, "increasing", "decreasing"]),
    st.sampled_from(["nearest_neighbor", "linear"]),
    st.integers(0, 2**32 - 1),
)
def test_any_axes_against_fractions(axes, direction, mode, seed):
    n, m, scales, input_offsets, output_offsets = map(list, zip(*axes, strict=True))
    options = {"interpolation_mode": mode, "scales": scales, "input_pixel_offsets": input_offsets,
               "output_pixel_offsets": output_offsets, "rounding_direction": direction}  # fmt: skip
    random = np.random.default_rng(seed)
    x = random.integers(-50, 50, n).astype(np.float32)
    g = random.integers(-50, 50, m).astype(np.float32)
    forward, backward = x.astype(np.float64), g.astype(np.float64)
    for axis in range(len(axes)):
        scale = meant(scales[axis], n[axis], m[axis])
        offsets = Fraction(input_offsets[axis]), Fraction(output_offsets[axis])
        matrix = exact_matrix(n[axis], m[axis], scale, *offsets, mode, direction).astype(np.float64)
        forward = np.moveaxis(np.tensordot(matrix, forward, (1, axis)), 0, axis)
        backward = np.moveaxis(np.tensordot(matrix.T, backward, (1, axis)), 0, axis)
    np.testing.assert_allclose(directml.resample(x, m, **options), forward, rtol=0, atol=5e-5)
    np.testing.assert_allclose(directml.resample_grad(g, n, **options), backward, rtol=0, atol=5e-4)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "uint8"])
@pytest.mark.parametrize("mode", ["nearest_neighbor", "linear"])
def test_forward_types(dtype, mode):
    x = np.array([[0, 5], [7, 100]], dtype)
    result = directml.resample(x, (2, 4), interpolation_mode=mode, scales=(1, 2))
    assert result.dtype == dtype
    assert result.shape == (2, 4)
    if mode == "linear":
        expected = np.array([[0, 1.25, 3.75, 5], [7, 30.25, 76.75, 100]])
        np.testing.assert_array_equal(result, expected.astype(dtype) if x.dtype.kind == "f" else np.rint(expected))


def test_integer_linear_rounds_half_to_even():
    x = np.array([1, 2, 5, 6], np.uint8)
    np.testing.assert_array_equal(directml.resample(x, [2], interpolation_mode="linear", scales=0.5), [2, 6])


def test_rounding_direction_has_no_effect_on_linear():
    x = floats([[1, 2, 4], [8, 16, 32]])
    results = [
        directml.resample(x, (3, 5), interpolation_mode="linear", scales=(1.5, 5 / 3), rounding_direction=direction)
        for direction in ROUNDINGS
    ]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_antialiased_widens_the_triangle():
    x = floats([0, 100, 200, 40])
    options = {"interpolation_mode": "linear", "scales": 0.5}
    wide = directml.resample(x, [2], antialiased=True, **options)
    np.testing.assert_allclose(wide, [500 / 7, 820 / 7], rtol=1e-6)
    np.testing.assert_array_equal(directml.resample(x, [2], **options), [50, 120])
    # The gradient is its transpose: <A x, g> = <x, A' g>.
    g = floats([3, -2])
    gradient = directml.resample_grad(g, [4], antialiased=True, **options)
    assert np.dot(wide, g) == pytest.approx(np.dot(x, gradient), rel=1e-6)


def test_float16_gradients_round_once():
    g = np.full(4096, 0.1, np.float16)
    gradient = directml.resample_grad(g, [1], interpolation_mode="nearest_neighbor", scales=4096)
    assert gradient.dtype == np.float16
    assert gradient[0] == np.float16(4096 * np.float64(np.float16(0.1)))


def test_upsample_2d():
    x = floats([[[[1, 2], [3, 4]]]])
    linear = directml.upsample_2d(x, (2, 2), "linear")
    rows = [[1, 1.25, 1.75, 2], [1.5, 1.75, 2.25, 2.5], [2.5, 2.75, 3.25, 3.5], [3, 3.25, 3.75, 4]]
    np.testing.assert_array_equal(linear[0, 0], rows)
    nearest = directml.upsample_2d(x, (3, 2), "nearest_neighbor")
    np.testing.assert_array_equal(nearest, np.repeat(np.repeat(x, 3, axis=2), 2, axis=3))


def test_upsample_2d_leaves_the_depth_of_five_axes():
    x = np.arange(2 * 3 * 5 * 2 * 3).reshape(2, 3, 5, 2, 3).astype(np.float16)
    up = directml.upsample_2d(x, (2, 3), "nearest_neighbor")
    np.testing.assert_array_equal(up, np.repeat(np.repeat(x, 2, axis=3), 3, axis=4))
    assert up.dtype == np.float16


def call_resample(x=((1.0, 2.0),), size=(1, 3), dtype=np.float32, **changes):
    options = {"interpolation_mode": "nearest_neighbor", "scales": (1, 1.5), **changes}
    return directml.resample(np.array(x, dtype), size, **options)


@pytest.mark.parametrize(
    ("error", "changes", "words"),
    [
        (TypeError, {"dtype": np.float64}, "dtype float64"),
        (TypeError, {"dtype": np.int16}, "'int8' or 'uint8'"),
        (ValueError, {"x": 1.0}, "1 to 4 axes"),
        (ValueError, {"x": np.ones((1, 1, 1, 1, 2))}, "1 to 4 axes"),
        (ValueError, {"size": (3,)}, "output_size must be 2 integers"),
        (ValueError, {"size": 3}, "output_size must be 2 integers"),
        (ValueError, {"size": (1, 0)}, "at least 1"),
        (TypeError, {"size": (1, 3.0)}, "must be an integer"),
        (ValueError, {"interpolation_mode": "nearest_neighbour"}, "did you mean 'nearest_neighbor'"),
        (ValueError, {"interpolation_mode": "LINEAR"}, "did you mean 'linear'"),
        (ValueError, {"scales": (1, 0)}, "positive and finite as float32"),
        (ValueError, {"scales": (1, -2)}, "positive and finite as float32"),
        (ValueError, {"scales": (1, float("nan"))}, "finite"),
        (ValueError, {"scales": (1, float("inf"))}, "finite"),
        (ValueError, {"scales": (1, 1e-60)}, "positive and finite as float32"),
        (ValueError, {"scales": (1, 1e60)}, "positive and finite as float32"),
        (ValueError, {"scales": (1, 2, 3)}, "one number per axis, 2"),
        (TypeError, {"scales": "2"}, "scales must be an int, a float or a Fraction"),
        (ValueError, {"input_pixel_offsets": (0.5,)}, "input_pixel_offsets must be a number or one number per axis, 2"),
        (ValueError, {"output_pixel_offsets": float("nan")}, "finite"),
        (ValueError, {"rounding_direction": "floor"}, "'increasing' or 'decreasing'"),
        (ValueError, {"rounding_direction": "increase"}, "did you mean 'increasing'"),
        (ValueError, {"antialiased": True}, "antialiased=True needs interpolation_mode='linear'"),
        (TypeError, {"antialiased": 1}, "antialiased must be True or False"),
    ],
)
def test_resample_errors(error, changes, words):
    with pytest.raises(error, match=words):
        call_resample(**changes)


def test_the_gradient_takes_floats_only():
    for dtype in (np.int8, np.uint8, np.float64):
        with pytest.raises(TypeError, match="input_gradient must have dtype 'float16' or 'float32'"):
            directml.resample_grad(np.ones(2, dtype), [1], interpolation_mode="linear", scales=2)


@pytest.mark.parametrize(
    ("error", "arguments", "words"),
    [
        (ValueError, (np.ones((2, 2), np.float32), (2, 2), "linear"), "4 or 5 axes"),
        (TypeError, (np.ones((1, 1, 2, 2), np.uint8), (2, 2), "linear"), "dtype 'float16' or 'float32'"),
        (ValueError, (np.ones((1, 1, 2, 2), np.float32), (0, 2), "linear"), "at least 1"),
        (TypeError, (np.ones((1, 1, 2, 2), np.float32), (1.5, 2), "linear"), "must be an integer"),
        (ValueError, (np.ones((1, 1, 2, 2), np.float32), (2,), "linear"), "scale_size must be 2 integers"),
        (ValueError, (np.ones((1, 1, 2, 2), np.float32), (2**31, 2), "linear"), "below 2\\*\\*32"),
        (ValueError, (np.ones((1, 1, 2, 2), np.float32), (2, 2), "bilinear"), "did you mean 'linear'"),
    ],
)
def test_upsample_2d_errors(error, arguments, words):
    with pytest.raises(error, match=words):
        directml.upsample_2d(*arguments)


@pytest.mark.parametrize("function", [directml.depth_to_space, directml.space_to_depth])
def test_block_errors(function):
    x = np.ones((1, 4, 2, 2), np.float32)
    with pytest.raises(ValueError, match="4 axes"):
        function(x[0], 2)
    with pytest.raises(TypeError, match="dtype complex64"):
        function(x.astype(np.complex64), 2)
    with pytest.raises(ValueError, match=r"divisible by .*\(N=1, C=4, H=2, W=2\)"):
        function(x, 3)
    with pytest.raises(ValueError, match="at least 1"):
        function(x, 0)
    with pytest.raises(TypeError, match="integer"):
        function(x, 2.0)
    with pytest.raises(ValueError, match="did you mean 'column_row_depth'"):
        function(x, 2, order="column_row_dept")
