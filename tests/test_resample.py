"""resample: values against exact fractions, dtypes, axes, out, layouts, special values."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import (
    CONVENTIONS,
    apply,
    assert_near_exact,
    assert_same_bits,
    axis_matrix,
    exact,
    is_bfloat16,
    machine_epsilon,
    nearest_indices_all,
    scaled_length,
    to_float,
    to_fractions,
    triangle_matrix,
)
from strategies import (
    COMPLEX,
    FIXED_SIZE,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    SCALES,
    WEIGHTED,
    Layout,
    dtype_name,
    examples,
    fill,
    layouts,
    resample_cases,
    scales,
    seeds,
    values,
)

import imgops

MODES = ("nearest", "linear")


def matrices_of(shape, axes, size, **options):
    return {axis: axis_matrix(shape[axis], m, **options) for axis, m in zip(axes, size, strict=True)}


def assert_float_near(result, matrices, x):
    """Within the rounding of the accumulator, scaled by what was summed."""
    wide = x.astype(np.float64)
    magnitude = apply({axis: abs(matrix) for axis, matrix in matrices.items()}, abs(wide))
    epsilon = machine_epsilon(result.dtype)
    slack = epsilon * (2 * len(matrices) + 2) * magnitude + np.finfo(np.float32).tiny
    assert (abs(result.astype(np.float64) - apply(matrices, wide)) <= slack).all()


# Values by hand


def test_the_first_example():
    assert imgops.resample([[1, 2], [3, 4]], (1, 3), mode="nearest").tolist() == [[1, 1, 2]]


def test_integers_round_half_to_even_and_stay_in_range():
    x = np.array([0, 2, 0, 6], np.uint8)
    # 0 .5 1.5 1.5 .5 1.5 4.5 6
    assert imgops.resample(x, 8).tolist() == [0, 0, 2, 2, 0, 2, 4, 6]
    assert imgops.resample(-x.astype(np.int8), 8).tolist() == [0, 0, -2, -2, 0, -2, -4, -6]
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        x = np.array([info.min, info.max, info.max, info.min], dtype)
        for m in (1, 3, 5, 7, 8, 11):
            for value in (info.min, info.max):
                flat = np.full((4, 4), value, dtype)
                np.testing.assert_array_equal(imgops.resample(flat, (m, m)), np.full((m, m), value, dtype))
            expected = apply({0: axis_matrix(4, m)}, to_fractions(x))
            assert_near_exact(imgops.resample(x, m), expected, abs(expected) + 2**32, 0)


@pytest.mark.parametrize("dtype", INTEGERS, ids=dtype_name)
@given(
    seed=seeds, shape=st.tuples(st.integers(1, 9), st.integers(1, 9)), up=st.tuples(*[st.sampled_from((1, 2, 4))] * 2)
)
def test_ties_of_dyadic_weights_go_to_even(dtype, seed, shape, up):
    """Enlarging by 2 and 4 has weights of eighths: every product is exact, so is every tie."""
    x = values(shape, dtype, seed)
    size = tuple(n * factor for n, factor in zip(shape, up, strict=True))
    expected = apply(matrices_of(shape, (0, 1), size), to_fractions(x))
    result = imgops.resample(x, size)
    assert result.dtype == dtype
    assert result.tolist() == [[round(value) for value in row] for row in expected]


# Values against fractions


@pytest.mark.parametrize("dtype", WEIGHTED, ids=dtype_name)
@given(
    case=resample_cases(max_ndim=3, max_length=4),
    convention=st.sampled_from(CONVENTIONS),
    scale=st.none() | scales,
    seed=seeds,
)
@examples(30)
def test_linear_of_every_dtype_against_fractions(dtype, case, convention, scale, seed):
    shape, axes, size = case
    x = values(shape, dtype, seed)
    matrices = matrices_of(shape, axes, size, convention=convention, scale=scale)
    result = imgops.resample(x, size, axes=axes, convention=convention, scale=scale and [scale] * len(axes))
    assert result.dtype == dtype
    exactly = to_fractions(x)
    assert_near_exact(result, apply(matrices, exactly), apply(matrices, abs(exactly)), len(axes))


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8"])
@given(n=st.integers(1, 20), m=st.integers(1, 20), rows=st.integers(1, 3), seed=seeds)
def test_antialiased_linear_against_fractions(dtype, n, m, rows, seed):
    x = values((rows, n), dtype, seed)
    matrices = {1: triangle_matrix(n, m)}
    exactly = to_fractions(x)
    result = imgops.resample(x, m, axes=1, antialias=True)
    assert_near_exact(result, apply(matrices, exactly), apply(matrices, abs(exactly)), n)


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "f2", "f4", "f8"])
@given(
    case=resample_cases(max_ndim=2, max_length=5),
    convention=st.sampled_from(CONVENTIONS),
    scale=st.none() | scales,
    seed=seeds,
)
@examples(25)
def test_cubic_against_fractions(dtype, case, convention, scale, seed):
    """Saturated where it overshoots an integer's range."""
    shape, axes, size = case
    x = values(shape, dtype, seed)
    options = {"mode": "cubic", "convention": convention}
    matrices = matrices_of(shape, axes, size, scale=scale, **options)
    exactly = to_fractions(x)
    expected = apply(matrices, exactly)
    if x.dtype.kind in "iu":
        expected = np.clip(expected, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    # A weight is a cubic polynomial in float64: its error is that of a number about one, however small it is itself.
    magnitude = apply({axis: abs(matrix) for axis, matrix in matrices.items()}, abs(exactly)) + abs(exactly).max()
    result = imgops.resample(x, size, axes=axes, scale=scale and [scale] * len(axes), **options)
    assert result.dtype == x.dtype
    assert_near_exact(result, expected, magnitude, 4 * len(axes))


def test_overshoot_saturates():
    for dtype in INTEGERS:
        info = np.iinfo(dtype)
        x = np.array([info.min, info.min, info.max, info.max, info.max, info.min, info.min], dtype)
        for mode in ("cubic", "lanczos3"):
            out = imgops.resample(x, 28, mode=mode)
            wide = imgops.resample(x.astype("f8"), 28, mode=mode)
            assert wide.min() < info.min
            assert wide.max() > info.max
            assert (out[wide < info.min] == info.min).all()
            assert (out[wide > info.max] == info.max).all()


def test_antialias_changes_nothing_when_enlarging():
    x = values((5, 6, 3), "f4", 0)
    assert_same_bits(imgops.resample(x, (7, 13), antialias=True), imgops.resample(x, (7, 13)))


@pytest.mark.parametrize("dtype", FIXED_SIZE, ids=dtype_name)
@given(
    case=resample_cases(),
    convention=st.sampled_from(CONVENTIONS),
    rounding=st.sampled_from((None, "floor", "ceil", "half_down", "half_up")),
    scale=st.none() | scales,
    seed=seeds,
    layout=layouts(),
)
def test_nearest_carries_every_dtype_byte_for_byte(dtype, case, convention, rounding, scale, seed, layout):
    shape, axes, size = case
    x = fill(shape, dtype, seed)
    options = {"mode": "nearest", "rounding": rounding or "half_down", "convention": convention, "scale": scale}
    expected = x
    for axis, m in zip(axes, size, strict=True):
        expected = expected.take(axis_matrix(shape[axis], m, **options).argmax(axis=1), axis=axis)
    options.update(scale=scale and [scale] * len(axes), rounding=rounding)
    given_x = layout(x)
    assert_same_bits(imgops.resample(given_x, size, axes=axes, **options), expected)
    assert_same_bits(given_x, x)


@pytest.mark.parametrize("mode", MODES)
@given(data=st.data(), seed=seeds)
@examples(60)
def test_one_to_eight_axes_any_of_them_resampled(mode, data, seed):
    ndim = data.draw(st.integers(1, 8))
    shape = tuple(data.draw(st.integers(1, 3)) for _ in range(ndim))
    axes = data.draw(st.lists(st.integers(-ndim, ndim - 1), min_size=1, unique_by=lambda axis: axis % ndim))
    size = tuple(data.draw(st.integers(1, 4 if ndim < 6 else 3)) for _ in axes)
    x = values(shape, "f4", seed)
    matrices = matrices_of(shape, axes, size, mode=mode)
    result = imgops.resample(x, size, axes=axes, mode=mode)
    assert_float_near(result, matrices, x)
    if mode == "nearest":
        np.testing.assert_array_equal(result, apply(matrices, x).astype("f4"))


# Sizes that reach vector loops and their remainders, and factors that may have loops of their own.


@pytest.mark.parametrize("factor", [2, 3, 4, Fraction(1, 2), Fraction(1, 3), Fraction(3, 2), Fraction(7, 5)], ids=str)
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 8, 17])
@pytest.mark.parametrize("dtype", ["u1", "u2", "f2", "f4", "f8"])
def test_rows_about_the_vector_length(dtype, channels, factor):
    for h, w in ((3, 2), (4, 15), (5, 16), (2, 33), (6, 67)):
        size = (max(1, math.floor(h * factor)), max(1, math.floor(w * factor)))
        x = values((h, w, channels), dtype, w)
        matrices = matrices_of(x.shape, (0, 1), size)
        expected = apply(matrices, x.astype("f8"))
        for layout, axes in (((0, 1, 2), "NHWC"), ((2, 0, 1), "NCHW")):
            moved = np.ascontiguousarray(x.transpose(layout))
            result = imgops.resample(moved, size, data_format=axes).transpose(np.argsort(layout))
            if np.dtype(dtype).kind == "u":
                assert abs(result - expected).max() <= 0.5 + 0.02
            else:
                assert_float_near(result, matrices, x)
            picked = imgops.resample(moved, size, data_format=axes, mode="nearest").transpose(np.argsort(layout))
            ys, xs = (axis_matrix(n, m, mode="nearest").argmax(axis=1) for n, m in zip((h, w), size, strict=True))
            np.testing.assert_array_equal(picked, x[np.ix_(ys, xs)])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["u1", "f4"])
def test_pictures_large_enough_for_threads(dtype, mode):
    x = values((307, 211, 3), dtype, 0)
    for size in ((613, 422), (101, 97), (307, 500), (400, 211)):
        matrices = matrices_of(x.shape, (0, 1), size, mode=mode)
        result = imgops.resample(x, size, mode=mode, num_threads=3)
        if dtype == "u1":
            assert abs(result - apply(matrices, x.astype("f8"))).max() <= 0.5 + 1e-3
        else:
            assert_float_near(result, matrices, x)


# Axes and data formats


def test_which_axes_are_resampled():
    def shape(x_shape, *args, **options):
        result = imgops.resample(np.zeros(x_shape, "f4"), *args, **options).shape
        options.pop("mode", None)
        assert imgops.resample_shape(x_shape, *args, **options) == result
        return result

    assert shape((2, 5, 7, 3), (4, 6)) == (2, 4, 6, 3)
    assert shape((2, 3, 5, 7), (4, 6), data_format="NCHW") == (2, 3, 4, 6)
    assert shape((2, 3, 5, 7, 4), (6, 8), data_format="NCHW_VECT_C") == (2, 3, 6, 8, 4)
    assert shape((5, 7, 3), (4, 6)) == (4, 6, 3)
    assert shape((2, 2, 2, 5, 7, 3), (4, 6)) == (2, 2, 2, 4, 6, 3)
    assert shape((5, 7), (4, 6)) == (4, 6)
    assert shape((5, 7), (4, 6), data_format="NCHW") == (4, 6)
    assert shape((5,), 4) == (4,)
    assert shape((5,), (4,)) == (4,)
    assert shape((5, 7, 3), (4, 6, 2)) == (4, 6, 2)
    assert shape((2, 5, 7, 3), (2, 4, 6, 3)) == (2, 4, 6, 3)
    assert shape((2, 5, 7, 3), 4, axes=1) == (2, 4, 7, 3)
    assert shape((2, 5, 7, 3), (4, 9), axes=(-1, 0)) == (9, 5, 7, 4)
    assert shape((2, 5, 7, 3), [np.int32(4), 6]) == (2, 4, 6, 3)
    assert shape((2, 5, 7, 3), np.array([4, 6])) == (2, 4, 6, 3)


def test_which_axes_are_scaled():
    def shape(x_shape, **options):
        result = imgops.resample(np.zeros(x_shape, "f4"), **options).shape
        assert imgops.resample_shape(x_shape, **options) == result
        return result

    assert shape((2, 5, 7, 3), scale=2) == (2, 10, 14, 3)
    assert shape((2, 3, 5, 7), scale=2, data_format="NCHW") == (2, 3, 10, 14)
    assert shape((5, 7), scale=1.2) == (6, 8)
    assert shape((5,), scale=1.2) == (6,)
    assert shape((5, 7, 3), scale=(2, 3)) == (10, 21, 3)
    assert shape((5, 7, 3), scale=(2, 3, 1)) == (10, 21, 3)
    assert shape((5, 7, 3), scale=np.array([0.5, 0.4])) == (2, 2, 3)
    assert shape((5, 7, 3), scale=(Fraction(1, 5), 2), axes=(0, 2)) == (1, 7, 6)
    assert shape((5, 7, 3), scale=3, axes=(2,)) == (5, 7, 9)
    assert shape((2, 5, 7, 3), size=(3, 4), scale=2) == (2, 3, 4, 3)
    assert shape((2, 5, 7, 3), size=(3, 4), scale=(2, 1.5)) == (2, 3, 4, 3)


@pytest.mark.parametrize("scale", SCALES, ids=repr)
def test_the_size_of_a_scale_is_exact(scale):
    for n in (*range(1, 65), 100, 1000, 999_983, 10**12 + 39):
        m = scaled_length(n, scale)
        if m:
            assert imgops.resample_shape((n,), scale=scale) == (m,)
    assert imgops.resample_shape((5,), scale=1.2) == (6,)
    assert imgops.resample_shape((5,), scale=np.float32(0.6)) == (3,)
    assert imgops.resample_shape((10**15,), scale=math.pi) == (3141592653589793,)


@pytest.mark.parametrize("scale", SCALES, ids=repr)
def test_the_samples_of_a_scale_are_exact(scale):
    x = np.arange(23.0)
    m = scaled_length(23, scale)
    matrix = axis_matrix(23, m, scale=scale)
    np.testing.assert_allclose(imgops.resample(x, scale=scale), apply({0: matrix}, x), rtol=1e-14, atol=1e-14)
    picked = axis_matrix(23, m, scale=scale, mode="nearest").argmax(axis=1)
    np.testing.assert_array_equal(imgops.resample(x, scale=scale, mode="nearest"), picked)
    assert exact(scale) == imgops.AxisMap(scale).scale


@pytest.mark.parametrize("dtype", [*INTEGERS, "f4"], ids=dtype_name)
@given(h=st.integers(1, 7), w=st.integers(1, 7), size=st.tuples(st.integers(1, 13), st.integers(1, 13)), seed=seeds)
def test_data_formats_hold_the_same_picture(dtype, h, w, size, seed):
    """Integers agree exactly in every layout; floats may differ where the order of the passes does."""
    x = values((2, h, w, 8), dtype, seed)
    nhwc = imgops.resample(x, size)
    nchw = imgops.resample(np.ascontiguousarray(x.transpose(0, 3, 1, 2)), size, data_format="NCHW")
    vect = x.reshape(2, h, w, 2, 4).transpose(0, 3, 1, 2, 4)
    vect = imgops.resample(np.ascontiguousarray(vect), size, data_format="NCHW_VECT_C")
    vect = vect.transpose(0, 2, 3, 1, 4).reshape(nhwc.shape)
    if np.dtype(dtype).kind == "f":
        np.testing.assert_allclose(nchw.transpose(0, 2, 3, 1), nhwc, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(vect, nhwc, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(nchw.transpose(0, 2, 3, 1), nhwc)
        np.testing.assert_array_equal(vect, nhwc)


def test_bilinear_is_linear():
    x = values((5, 6, 2), "f4", 0)
    assert_same_bits(imgops.resample(x, (7, 3), mode="bilinear"), imgops.resample(x, (7, 3), mode="linear"))
    assert_same_bits(imgops.resample(x, (7, 3)), imgops.resample(x, (7, 3), mode="linear"))


@pytest.mark.parametrize("mode", MODES)
def test_equal_sizes_copy(mode):
    for dtype in WEIGHTED:
        x = values((4, 5, 3), dtype, 0)
        out = imgops.resample(x, (4, 5), mode=mode)
        assert_same_bits(out, x)
        assert not np.shares_memory(out, x)


@pytest.mark.parametrize("mode", MODES)
def test_zero_length_axes(mode):
    assert imgops.resample(np.zeros((0, 4, 5, 3), "f4"), (7, 2), mode=mode).shape == (0, 7, 2, 3)
    assert imgops.resample(np.zeros((2, 4, 5, 0), "f4"), (7, 2), mode=mode).shape == (2, 7, 2, 0)
    assert imgops.resample(np.zeros((0, 3, 4, 5), "u1"), scale=2, data_format="NCHW", mode=mode).shape == (0, 3, 8, 10)
    out = np.zeros((0, 7, 2, 3), "f4")
    assert imgops.resample(np.zeros((0, 4, 5, 3), "f4"), (7, 2), mode=mode, out=out) is out


# dtype=


@pytest.mark.parametrize("target", ["f4", "f8"])
@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS, "?", "i8", "u8", ">i2", ">f4", "longdouble"], ids=dtype_name)
def test_dtype_weights_any_real_input_in_that_type(source, target):
    x = (
        values((4, 5), "i2" if np.dtype(source).kind in "?b" else source, 0)
        if source not in ("?",)
        else fill((4, 5), "?", 0)
    )
    result = imgops.resample(x, (7, 3), dtype=target)
    assert result.dtype == np.dtype(target)
    narrowed = x.astype(target)
    assert_float_near(result, matrices_of((4, 5), (0, 1), (7, 3)), narrowed)


@pytest.mark.parametrize("target", [np.float32, "f8", np.dtype("f4"), float], ids=str)
def test_dtype_takes_what_numpy_takes(target):
    assert imgops.resample(np.arange(4, dtype="u1"), 3, dtype=target).dtype == np.dtype(target)


@pytest.mark.parametrize(
    "pair", list(itertools.product(("u1", "i4", "f2", "f4", "c8"), ("u2", "i8", "f4", "c16"))), ids=str
)
def test_dtype_in_nearest_converts_as_astype(pair):
    source, target = pair
    if np.dtype(source).kind == "c" and np.dtype(target).kind != "c":
        pytest.skip("astype warns of the lost imaginary part")
    x = (100 * abs(values((4, 5), "f8", 0))).astype(source)
    expected = imgops.resample(x, (7, 3), mode="nearest").astype(target)
    assert_same_bits(imgops.resample(x, (7, 3), mode="nearest", dtype=target), expected)


def test_dtype_beside_an_equal_out():
    x = np.arange(4, dtype="u1")
    out = np.empty(3, "f8")
    assert imgops.resample(x, 3, dtype="f8", out=out) is out
    assert_same_bits(out, imgops.resample(x, 3, dtype="f8"))


def test_lists_become_arrays():
    assert imgops.resample([0.0, 1.0], 4).tolist() == [0, 0.25, 0.75, 1]
    assert imgops.resample([0, 1], 4, dtype=np.float64).tolist() == [0, 0.25, 0.75, 1]
    assert imgops.resample([True, False], 4, mode="nearest").tolist() == [True, True, False, False]


def test_native_byte_order_out_of_weighted_modes_and_the_inputs_own_out_of_moves():
    x = values((4, 5), ">f4", 0)
    out = imgops.resample(x, (7, 3))
    assert_same_bits(out, imgops.resample(x.astype("f4"), (7, 3)))
    assert imgops.resample(x, (7, 3), mode="nearest").dtype == np.dtype(">f4")


@pytest.mark.parametrize("dtype", COMPLEX, ids=dtype_name)
@pytest.mark.parametrize("options", [{}, {"antialias": True}, {"convention": "align_corners"}], ids=str)
def test_complex_goes_part_by_part(dtype, options):
    x = values((5, 6, 2), dtype, 0)
    x[1, 2, 0] = complex(np.nan, 1)
    x[3, 3, 1] = complex(2, np.inf)
    for layout in LAYOUTS.values():
        with np.errstate(invalid="ignore"):
            out = imgops.resample(layout(x), (3, 11), **options)
        assert out.dtype == dtype
        assert_same_bits(out.real.copy(), imgops.resample(x.real.copy(), (3, 11), **options))
        assert_same_bits(out.imag.copy(), imgops.resample(x.imag.copy(), (3, 11), **options))


# Special values


@given(
    n=st.integers(1, 8),
    m=st.integers(1, 16),
    convention=st.sampled_from(CONVENTIONS),
    dtype=st.sampled_from(FLOATS),
    data=st.data(),
)
@examples(150)
def test_nan_and_infinity_travel_only_along_taps(n, m, convention, dtype, data):
    special = st.sampled_from((0.0, 1.0, 1.0, math.nan, math.inf, -math.inf))
    x = np.array([data.draw(special) for _ in range(n)], dtype)
    taken = axis_matrix(n, m, convention=convention) != 0
    expected = []
    for row in taken:
        read = x[row].astype("f8")
        with np.errstate(invalid="ignore"):
            expected.append(read.sum() if not np.isfinite(read).all() else 0.0)
    expected = np.array(expected)

    def classes(result):
        return np.where(np.isfinite(result), 0.0, result)

    def check(picture, size, axes, pick):
        out = imgops.resample(picture, size, axes=axes, convention=convention)
        np.testing.assert_array_equal(classes(pick(out).astype("f8")), expected)

    check(x, m, 0, lambda out: out)
    # As the rows and as the columns of a picture, the other axis resampled too.
    check(np.repeat(x[:, None], 5, axis=1), (m, 9), (0, 1), lambda out: out[:, 4])
    check(np.repeat(x[None, :], 5, axis=0), (9, m), (0, 1), lambda out: out[4])
    check(np.repeat(np.repeat(x[None, :, None], 5, axis=0), 3, axis=2), (9, m), (0, 1), lambda out: out[0, :, 1])


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_neighbours_of_an_aligned_sample_are_not_read(dtype, bad):
    """3 to 5: output 2 lies on input 1 exactly, in both axes."""
    x = np.full((3, 3, 2), bad, dtype)
    x[1, 1] = 7
    out = imgops.resample(x, (5, 5)).astype("f8")
    assert (out[2, 2] == 7).all()
    assert np.isfinite(out).sum() == 2
    for shape in ((3, 3), (3, 3, 1, 1)):
        plane = np.full(shape, bad, dtype)
        plane[1, 1] = 7
        assert (imgops.resample(plane, (5, 5), axes=(0, 1)).astype("f8")[2, 2] == 7).all()


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("mode", ["cubic", "lanczos3"])
@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
def test_zeros_of_wider_filters_are_not_read(dtype, mode, bad):
    """Both filters are zero at the whole distances about an aligned sample: 5 to 5, 5 to 15, 5 to 25."""
    for factor in (1, 3, 5):
        for middle in range(5):
            x = np.full((5, 5, 2), bad, dtype)
            x[middle, middle] = 7
            out = imgops.resample(x, (5 * factor, 5 * factor), mode=mode).astype("f8")
            aligned = middle * factor + factor // 2
            assert (out[aligned, aligned] == 7).all()
            row = imgops.resample(x[middle], 5 * factor, axes=0, mode=mode).astype("f8")
            assert (row[aligned] == 7).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@pytest.mark.parametrize("mode", MODES)
def test_negative_zero_is_kept(dtype, mode):
    x = np.full((4, 5, 3), -0.0, dtype)
    for size in ((4, 5), (8, 10), (3, 7), (1, 1), (4, 10), (9, 5)):
        assert np.signbit(imgops.resample(x, size, mode=mode)).all(), size
    x = np.array([-0.0, 1.0, -0.0], dtype)
    ends = [True, mode == "nearest", False, mode == "nearest", True]
    assert np.signbit(imgops.resample(x, 5, mode=mode)).tolist() == ends


def test_large_floats_do_not_overflow():
    for dtype in FLOATS:
        top = np.array([0x7F7F], np.uint16).view(dtype)[0] if is_bfloat16(dtype) else np.finfo(dtype).max
        x = np.full((3, 3), top, dtype)
        assert np.isfinite(imgops.resample(x, (6, 6)).astype("f8")).all(), dtype


def test_subnormals_survive():
    for dtype in (np.float16, np.float32, np.float64):
        tiny = np.finfo(dtype).smallest_subnormal
        x = np.array([4 * tiny, 8 * tiny], dtype)
        np.testing.assert_array_equal(imgops.resample(x, 4), np.array([4, 5, 7, 8]) * tiny)


# Layouts and out


@pytest.mark.parametrize("options", [{"mode": "nearest"}, {}, {"antialias": True}, {"mode": "cubic"}], ids=str)
@given(
    case=resample_cases(),
    dtype=st.sampled_from(WEIGHTED),
    seed=seeds,
    layout=layouts(),
    out_layout=layouts(readonly=False),
)
@examples(120)
def test_the_same_bits_for_any_strides(options, case, dtype, seed, layout, out_layout):
    shape, axes, size = case
    x = values(shape, dtype, seed)
    expected = imgops.resample(x, size, axes=axes, **options)
    given_x = layout(x)
    assert_same_bits(imgops.resample(given_x, size, axes=axes, **options), expected)
    out = out_layout.empty(expected.shape, dtype)
    assert imgops.resample(given_x, size, axes=axes, out=out, **options) is out
    assert_same_bits(out, expected)
    assert_same_bits(given_x, x)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4"])
def test_layouts_of_a_picture(dtype, layout, mode):
    x = values((2, 21, 35, 3), dtype, 0)
    expected = imgops.resample(x, (33, 50), mode=mode)
    assert_same_bits(imgops.resample(layout(x), (33, 50), mode=mode), expected)
    if not layout.readonly:
        out = layout.empty(expected.shape, dtype)
        imgops.resample(x, (33, 50), mode=mode, out=out)
        assert_same_bits(out, expected)


@pytest.mark.parametrize("mode", MODES)
def test_broadcast_inputs(mode):
    for shape in ((1, 6, 3), (5, 1, 3), (5, 6, 1), (1, 1, 1)):
        x = np.broadcast_to(values(shape, "f4", 0), (5, 6, 3))
        assert_same_bits(imgops.resample(x, (7, 9), mode=mode), imgops.resample(x.copy(), (7, 9), mode=mode))


@pytest.mark.parametrize("mode", MODES)
def test_bytes_between_the_elements_of_out_are_left_alone(mode):
    base = np.full((14, 18), 0xA5, np.uint8)
    imgops.resample(np.zeros((3, 4), np.uint8), (7, 9), mode=mode, out=base[::2, ::-2])
    assert (base == 0xA5).sum() == base.size - 63


@given(
    case=resample_cases(max_ndim=3),
    mode=st.sampled_from(MODES),
    seed=seeds,
    offset=st.integers(0, 30),
    flip=st.booleans(),
)
@examples(80)
def test_out_may_overlap_the_input(case, mode, seed, offset, flip):
    shape, axes, size = case
    out_shape = list(shape)
    for axis, m in zip(axes, size, strict=True):
        out_shape[axis] = m
    n, m = math.prod(shape), math.prod(out_shape)
    memory = values((max(n, m) + offset,), "f4", seed)
    x, out = memory[offset : offset + n].reshape(shape), memory[:m].reshape(out_shape)
    if flip:
        x, out = x[::-1], out[..., ::-1]
    expected = imgops.resample(x.copy(), size, axes=axes, mode=mode)
    assert_same_bits(imgops.resample(x, size, axes=axes, mode=mode, out=out), expected)


def test_in_place_where_the_shape_stays():
    x = values((6, 6), "f4", 0)
    axis_map = imgops.AxisMap(1, Fraction(1, 3), 0)
    expected = imgops.resample(x.copy(), (6, 6), convention=axis_map)
    assert_same_bits(imgops.resample(x, (6, 6), convention=axis_map, out=x), expected)
    expected = imgops.resample(x.copy().T, (6, 6), mode="nearest")
    assert_same_bits(imgops.resample(x.T, (6, 6), mode="nearest", out=x), expected)


def test_array_likes_are_accepted():
    class OnlyDLPack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = imgops.resample(x, (3, 5))
    for like in (memoryview(x), OnlyDLPack(x), x.astype("f4").tolist()):
        np.testing.assert_allclose(imgops.resample(like, (3, 5)), expected, rtol=1e-6)


LONG = [(400_001, 300_007), (300_007, 400_001), (5, 300_000), (300_000, 5), (300_001, 300_001)]


def half_pixel_neighbours(n, m):
    """(lower, upper, fraction) of every output, by integers and one division."""
    top, bottom = (2 * np.arange(m) + 1) * n - m, 2 * m
    top = np.clip(top, 0, (n - 1) * bottom)
    lower = top // bottom
    return lower, np.minimum(lower + 1, n - 1), (top - lower * bottom) / bottom


@pytest.mark.parametrize(("n", "m"), LONG)
def test_axes_longer_than_any_table(n, m):
    lower, upper, fraction = half_pixel_neighbours(n, m)
    x = values((n,), "f8", 0)
    expected = x[lower] * (1 - fraction) + x[upper] * fraction
    np.testing.assert_allclose(imgops.resample(x, m), expected, rtol=0, atol=1e-14)
    picked = imgops.resample(x, m, mode="nearest")
    np.testing.assert_array_equal(picked, x[nearest_indices_all("half_pixel", "half_down", [n], [m])[0]])

    # Beside another resampled axis, complex, into strides.
    picture = values((3, n, 2), "c8", 1)
    out = Layout(3, (1, -2)).empty((5, m, 2), "c8")
    assert imgops.resample(picture, (5, m), axes=(0, 1), out=out) is out
    assert_same_bits(out, imgops.resample(picture, (5, m), axes=(0, 1)))
    few = slice(m // 2, m // 2 + 5)
    columns = picture.astype("c16")[:, lower[few]] * (1 - fraction[few, None])
    columns += picture.astype("c16")[:, upper[few]] * fraction[few, None]
    expected = np.tensordot(to_float(axis_matrix(3, 5)), columns, 1)
    np.testing.assert_allclose(out[:, few], expected, rtol=0, atol=1e-5)


def test_strides_past_two_gibibytes():
    """Zero pages cost no memory until they are touched; a 32-bit offset would read or write elsewhere."""
    try:
        source = np.zeros((2**16 + 1, 2**15 + 3), np.uint8)
        target = np.zeros((3, 2**30 + 7), np.uint8)
    except MemoryError:
        pytest.skip("no address space for 6 GiB of untouched zeros")
    source[-1, -7:] = range(1, 8)
    out = target[:, 2**30 :][:, :7]
    corner = source[:: 2**15, -7:]
    assert imgops.resample(corner, (3, 7), mode="nearest", out=out) is out
    assert out.tolist() == [[0] * 7, [0] * 7, [1, 2, 3, 4, 5, 6, 7]]
    assert imgops.resample(corner, (3, 7), mode="linear").tolist() == out.tolist()
    rows = imgops.AxisMap(Fraction(1, 2**15), 0, 0)
    columns = imgops.AxisMap(1, -(2**15), 0)
    assert source.size > 2**31
    picked = imgops.resample(source, (3, 1), mode="nearest", convention=(rows, columns))
    assert picked.tolist() == [[0], [0], [5]]
