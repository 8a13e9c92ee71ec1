"""imgops.interfaces.onnx against ONNX's node tests, its exact formulas and its reference implementation."""

import importlib.util
import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import seeds, values

from imgops.interfaces import onnx

HALF = Fraction(1, 2)
NEAREST_MODES = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
TRANSFORMATIONS = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
]
# Whole numbers of tenths, and numbers with no end in binary and in decimal.
SCALES = st.one_of(
    st.integers(2, 60).map(lambda k: np.float32(k / 10)),
    st.tuples(st.integers(1, 20), st.integers(1, 20)).map(lambda pair: np.float32(pair[0] / pair[1])),
)

needs_onnx = pytest.mark.skipif(importlib.util.find_spec("onnx") is None, reason="onnx is not installed")
needs_onnxruntime = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)


def picture(*rows):
    return np.array(rows, np.float32)[None, None]


SQUARE = picture([1, 2], [3, 4])
WIDE = picture([1, 2, 3, 4], [5, 6, 7, 8])
FOUR = picture(*np.arange(1, 17).reshape(4, 4))


# Expected values of the node tests of onnx 1.23.2


@pytest.mark.parametrize(
    ("x", "options", "expected"),
    [
        (SQUARE, {"scales": (1, 1, 2, 2), "mode": "linear"}, [[1, 1.25, 1.75, 2]]),
        (WIDE, {"scales": (1, 1, 0.6, 0.6)}, [[1, 3]]),
        (WIDE, {"sizes": (1, 1, 1, 3)}, [[1, 2, 4]]),
        (WIDE, {"scales": (1, 1, 0.6, 0.6), "mode": "linear"}, [[2.6666665, 4.333333]]),
        (
            WIDE,
            {"scales": (1, 1, 0.6, 0.6), "mode": "linear", "coordinate_transformation_mode": "align_corners"},
            [[1, 3.142857]],
        ),
        (FOUR, {"scales": (1, 1, 0.6, 0.6), "mode": "linear", "antialias": 1}, [[2.875, 4.5], [9.375, 11]]),
        (
            FOUR,
            {"sizes": (1, 1, 3, 3), "mode": "linear", "antialias": 1},
            [[2.3636363, 3.590909, 4.818182], [7.2727275, 8.5, 9.727273]],
        ),
        (
            picture([1, 2, 3, 4]),
            {
                "scales": (1, 1, 1, 0.6),
                "mode": "linear",
                "coordinate_transformation_mode": "half_pixel_symmetric",
            },
            [[1.6666667, 3.3333333]],
        ),
        (
            FOUR,
            {"sizes": (1, 1, 3, 1), "mode": "linear", "coordinate_transformation_mode": "pytorch_half_pixel"},
            [[1.6666666], [7], [12.333333]],
        ),
        (
            FOUR,
            {"sizes": (1, 1, 8, 8), "coordinate_transformation_mode": "align_corners", "nearest_mode": "floor"},
            [[1, 1, 1, 2, 2, 3, 3, 4]],
        ),
        (
            FOUR,
            {"sizes": (8, 8), "axes": (2, 3), "coordinate_transformation_mode": "asymmetric"}
            | {"nearest_mode": "round_prefer_ceil"},
            [[1, 2, 2, 3, 3, 4, 4, 4]],
        ),
        (FOUR, {"sizes": (8, 8), "axes": (3, 2), "nearest_mode": "ceil"}, [[1, 2, 2, 3, 3, 4, 4, 4]]),
        (picture([0, 100, 200, 40]), {"sizes": (1, 1, 1, 2), "mode": "linear", "antialias": 1}, [[62.5, 107.5]]),
        (
            picture([0, 100, 200, 40]),
            {"sizes": (1, 1, 1, 2), "mode": "linear", "antialias": 1, "exclude_outside": 1},
            [[71.42857, 117.14286]],
        ),
    ],
)
def test_expected_rows_of_node_tests(x, options, expected):
    y = onnx.Resize(x, **options)
    assert y.dtype == x.dtype
    rows = y[0, 0, : len(expected)]
    assert rows.shape == np.shape(expected)
    np.testing.assert_allclose(rows, expected, rtol=1e-6)


def test_expected_values_of_tf_crop_and_resize():
    options = {"sizes": (1, 1, 3, 3), "mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    y = onnx.Resize(FOUR, (0, 0, 0.4, 0.6, 1, 1, 0.6, 0.8), **options)
    expected = [[7.6, 7.9, 8.2], [8.8, 9.1, 9.4], [10.0, 10.3, 10.6]]
    np.testing.assert_allclose(y[0, 0], expected, rtol=1e-6)
    y = onnx.Resize(FOUR, (0, 0, 0.4, 0.6, 1, 1, 1.2, 1.7), extrapolation_value=10.0, **options)
    expected = [[7.6, 10, 10], [12.4, 10, 10], [10, 10, 10]]
    np.testing.assert_allclose(y[0, 0], expected, rtol=1e-6)
    sizes = {"sizes": (3, 3), "mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    swapped = onnx.Resize(FOUR, (0.6, 0.4, 0.8, 0.6), axes=(3, 2), **sizes)
    np.testing.assert_array_equal(swapped, onnx.Resize(FOUR, (0.4, 0.6, 0.6, 0.8), axes=(-2, -1), **sizes))


@pytest.mark.parametrize(
    ("sizes", "policy", "shape"),
    [
        ((7, 8), "not_larger", (7, 7)),
        ((7, 8), "not_smaller", (8, 8)),
        ((1, 3), "not_larger", (1, 2)),
        ((1, 3), "not_smaller", (2, 3)),
        ((7, 8), "stretch", (7, 8)),
    ],
)
def test_shapes_of_keep_aspect_ratio_policy(sizes, policy, shape):
    x = SQUARE if max(sizes) > 3 else WIDE
    y = onnx.Resize(x, sizes=sizes, axes=(2, 3), keep_aspect_ratio_policy=policy)
    assert y.shape == (1, 1, *shape)


def test_keep_aspect_ratio_policy_rounds_halves_up_and_keeps_the_common_scale():
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    # 3 / 4 of a length of 3 is 2.25, of a length of 2 it is 1.5.
    assert onnx.Resize(x, sizes=(3, 9), keep_aspect_ratio_policy="not_larger").shape == (3, 2)
    y = onnx.Resize(x[:, :2], sizes=(3, 9), keep_aspect_ratio_policy="not_larger", mode="linear")
    assert y.shape == (3, 2)
    expected = apply(x[:, :2], (3, 2), [Fraction(3, 4)] * 2, mode="linear")
    np.testing.assert_allclose(y, expected, rtol=1e-6)


# The formulas of the operator's page


def coordinate(o, n, m, s, transformation, start=Fraction(0), end=Fraction(1)):
    """x_original of the page, with the fractional length that align_corners has in ONNX's code."""
    if transformation == "half_pixel":
        return (o + HALF) / s - HALF
    if transformation == "half_pixel_symmetric":
        return Fraction(n, 2) * (1 - m / (s * n)) + (o + HALF) / s - HALF
    if transformation == "pytorch_half_pixel":
        return (o + HALF) / s - HALF if m > 1 else Fraction(0)
    if transformation == "align_corners":
        return o * (n - 1) / (s * n - 1) if m > 1 else Fraction(0)
    if transformation == "asymmetric":
        return o / s
    if transformation == "tf_half_pixel_for_nn":
        return (o + HALF) / s
    if m == 1:
        return (start + end) / 2 * (n - 1)
    return start * (n - 1) + Fraction(o, m - 1) * (end - start) * (n - 1)


def nearest_index(x, nearest_mode):
    return {
        "round_prefer_floor": math.ceil(x - HALF),
        "round_prefer_ceil": math.floor(x + HALF),
        "floor": math.floor(x),
        "ceil": math.ceil(x),
    }[nearest_mode]


def kernel(t, mode, a):
    t = abs(t)
    if mode == "linear":
        return max(0.0, 1.0 - t)
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


def row(x, n, s, mode, antialias, a, exclude_outside):
    """The weights of one output on n inputs."""
    weights = np.zeros(n)
    shrink = min(s, 1) if antialias else 1
    reach = (1 if mode == "linear" else 2) / shrink
    places = range(math.ceil(x - reach), math.floor(x + reach) + 1)
    taps = [(i, kernel(float((i - x) * shrink), mode, a)) for i in places]
    total = sum(w for _, w in taps)
    if exclude_outside:
        taps = [(i, w) for i, w in taps if 0 <= i < n]
        total = sum(w for _, w in taps)
    for i, w in taps:
        # A row whose samples all lie outside is extrapolated.
        weights[min(max(i, 0), n - 1)] += w / (total or 1)
    return weights


def apply(x, lengths, scales, transformation="half_pixel", mode="nearest", rois=None, value=0.0, **options):
    """Resize every axis of x; in float64 where it weighs."""
    settings = {"nearest_mode": "round_prefer_floor", "antialias": 0, "a": -0.75, "exclude_outside": 0} | options
    nearest_mode = settings.pop("nearest_mode")
    result = np.array(x, x.dtype if mode == "nearest" else np.complex128 if np.iscomplexobj(x) else np.float64)
    for axis, (m, s) in enumerate(zip(lengths, scales, strict=True)):
        n = x.shape[axis]
        roi = rois[axis] if rois else (Fraction(0), Fraction(1))
        if s == 1 and n == m and roi == (0, 1):
            continue
        places = [coordinate(o, n, m, s, transformation, *roi) for o in range(m)]
        if mode == "nearest":
            result = np.take(result, [min(max(nearest_index(x, nearest_mode), 0), n - 1) for x in places], axis)
        else:
            matrix = np.array([row(x, n, s, mode, **settings) for x in places])
            result = np.moveaxis(np.tensordot(matrix, result, (1, axis)), 0, axis)
        if transformation == "tf_crop_and_resize":
            outside = [o for o, x in enumerate(places) if not 0 <= x <= n - 1]
            np.moveaxis(result, axis, 0)[outside] = value
    return result


def close(y, expected, x, mode, unit=None):
    """Equal for moves; else within a few units of the accumulator, integers within 1, since ties fall either way."""
    if mode == "nearest":
        np.testing.assert_array_equal(y, expected)
        return
    largest = float(np.abs(x.astype(np.complex128)).max())
    if y.dtype.kind in "iu":
        limits = np.iinfo(y.dtype)
        off = np.abs(y.astype(np.float64) - np.clip(np.rint(expected), limits.min, limits.max))
        assert off.max(initial=0) <= max(1, largest * 2**-40)
    else:
        unit = unit or (2**-40 if y.dtype == np.float64 else max(2**-19, np.finfo(y.dtype).eps))
        np.testing.assert_allclose(y, expected, rtol=0, atol=unit * largest)


@st.composite
def shapes_and_scales(draw):
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=3)))
    scales = [draw(SCALES) for _ in shape]
    assume(all(int(np.float32(n) * s) >= 1 for n, s in zip(shape, scales, strict=True)))
    assume(math.prod(int(np.float32(n) * s) for n, s in zip(shape, scales, strict=True)) < 5000)
    return shape, scales


@st.composite
def shapes_and_sizes(draw):
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=3)))
    return shape, [draw(st.integers(1, 12)) for _ in shape]


OPTIONS = st.fixed_dictionaries(
    {
        "transformation": st.sampled_from(TRANSFORMATIONS[:-1]),
        "mode": st.sampled_from(["nearest", "linear", "cubic"]),
        "nearest_mode": st.sampled_from(NEAREST_MODES),
        "antialias": st.integers(0, 1),
        "a": st.sampled_from([-0.75, -0.5, -1.0]),
        "exclude_outside": st.integers(0, 1),
    }
)
DTYPES = st.sampled_from(["u1", "i1", "u2", "i2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8"])


def settled(options):
    """Options that ONNX and this package allow, from any."""
    options = dict(options)
    if options["mode"] == "nearest":
        options["antialias"] = 0
    return options


def call(x, options, **inputs):
    given = dict(options)
    transformation, a = given.pop("transformation"), given.pop("a")
    return onnx.Resize(x, coordinate_transformation_mode=transformation, cubic_coeff_a=a, **given, **inputs)


@given(case=shapes_and_scales(), options=OPTIONS, dtype=DTYPES, seed=seeds)
def test_scales_by_the_formulas(case, options, dtype, seed):
    shape, scales = case
    options = settled(options)
    x = values(shape, dtype, seed)
    y = call(x, options, scales=scales)
    assert y.dtype == x.dtype
    assert y.shape == tuple(int(np.float32(n) * s) for n, s in zip(shape, scales, strict=True))
    close(y, apply(x, y.shape, [Fraction(float(s)) for s in scales], **options), x, options["mode"])


@given(case=shapes_and_sizes(), options=OPTIONS, dtype=DTYPES, seed=seeds)
def test_sizes_by_the_formulas(case, options, dtype, seed):
    shape, sizes = case
    options = settled(options)
    x = values(shape, dtype, seed)
    y = call(x, options, sizes=sizes)
    assert y.dtype == x.dtype
    assert y.shape == tuple(sizes)
    close(y, apply(x, sizes, [Fraction(*p) for p in zip(sizes, shape, strict=True)], **options), x, options["mode"])


@given(
    case=shapes_and_sizes(),
    corners=st.lists(st.tuples(st.integers(-8, 24), st.integers(-8, 24)), min_size=3, max_size=3),
    mode=st.sampled_from(["nearest", "linear", "cubic"]),
    nearest_mode=st.sampled_from(NEAREST_MODES),
    exclude_outside=st.integers(0, 1),
    antialias=st.integers(0, 1),
    value=st.sampled_from([0.0, -3.5, 300.0]),
    dtype=st.sampled_from(["u1", "i4", "f2", "f4", "f8"]),
    seed=seeds,
)
@example(((5,), [3]), [(16, 0)] * 3, "nearest", "ceil", 0, 0, 0.0, "f4", 0)
@example(((5,), [3]), [(8, 8)] * 3, "linear", "ceil", 0, 0, 0.0, "f4", 0)
@example(((1, 5), [3, 1]), [(0, 16), (20, 24)] * 2, "linear", "ceil", 0, 0, 7.0, "f4", 0)
def test_tf_crop_and_resize_by_the_formula(
    case, corners, mode, nearest_mode, exclude_outside, antialias, value, dtype, seed
):
    shape, sizes = case
    rois = [(Fraction(start, 16), Fraction(end, 16)) for start, end in corners[: len(shape)]]
    roi = [float(start) for start, _ in rois] + [float(end) for _, end in rois]
    x = values(shape, dtype, seed)
    options = {"transformation": "tf_crop_and_resize", "mode": mode, "nearest_mode": nearest_mode, "a": -0.75}
    options |= {"exclude_outside": exclude_outside, "antialias": antialias}
    options = settled(options)
    y = call(x, options, sizes=sizes, roi=roi, extrapolation_value=value)
    scales = [Fraction(*pair) for pair in zip(sizes, shape, strict=True)]
    if x.dtype.kind == "u":
        value = min(max(value, 0), 255)
    expected = apply(x, sizes, scales, rois=rois, value=np.rint(value) if x.dtype.kind in "iu" else value, **options)
    close(y, expected, np.append(x, value), mode)


def test_identity_is_a_copy():
    x = np.arange(12.0).reshape(3, 4)
    for options in ({"scales": (1, 1)}, {"sizes": (3, 4)}, {"sizes": (3, 4), "mode": "cubic"}):
        for transformation in TRANSFORMATIONS:
            y = onnx.Resize(x, (0, 0, 1, 1), coordinate_transformation_mode=transformation, **options)
            np.testing.assert_array_equal(y, x)
            assert not np.shares_memory(x, y)


def test_axes_without_samples_stay():
    assert onnx.Resize(np.empty((0, 2), "f4"), scales=(1, 2)).shape == (0, 4)
    assert onnx.Resize(np.empty((0, 2), "f4"), scales=(3, 2), mode="linear").shape == (0, 4)
    assert onnx.Resize(np.empty((0, 2), "f4"), sizes=(0, 3), mode="linear").shape == (0, 3)


def test_lengths_are_floors_of_float32_products():
    for n, scale, length in [(5, 1.4, 7), (10, 0.7, 7), (3, 5 / 3, 5), (50, 1.1, 55), (5, 1.39, 6)]:
        assert onnx.Resize(np.arange(n), scales=[scale]).shape == (length,)


def test_a_long_axis_with_scale_1_keeps_its_length():
    # float32 does not hold 2**24 + 1.
    assert onnx.Resize(np.zeros((2**24 + 1, 1), "i1"), scales=(1, 2)).shape == (2**24 + 1, 2)


def test_large_integers_keep_their_range():
    limits = np.iinfo(np.int64)
    x = np.array([limits.max, limits.max, limits.min, limits.min])
    y = onnx.Resize(x, scales=[2], mode="linear")
    assert (y[0], y[-1]) == (limits.max, limits.min)
    assert onnx.Resize(x, scales=[2], mode="cubic").tolist()[3] > 0
    assert onnx.Resize(x.astype(np.uint64) | 1, scales=[1.5], mode="linear").dtype == np.uint64
    assert onnx.Resize(x, scales=[2]).tolist() == np.repeat(x, 2).tolist()


def test_bool_and_bfloat16():
    flags = np.array([True, False])
    assert onnx.Resize(flags, scales=[2]).tolist() == [True, True, False, False]
    options = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 1.0}
    assert onnx.Resize(flags, (-1, 2), sizes=[4], **options).tolist() == [True, True, False, True]
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes")
    y = onnx.Resize(np.array([1, 3], ml_dtypes.bfloat16), scales=[2], mode="linear")
    assert y.dtype == ml_dtypes.bfloat16
    assert y.astype(float).tolist() == [1, 1.5, 2.5, 3]


def test_extrapolation_values():
    options = {"roi": (0, 2), "sizes": [3], "coordinate_transformation_mode": "tf_crop_and_resize"}
    x = np.arange(3)
    assert onnx.Resize(x.astype("u1"), extrapolation_value=999.0, **options).tolist() == [0, 2, 255]
    assert onnx.Resize(x.astype("i1"), extrapolation_value=-2.5, **options).tolist() == [0, 2, -2]
    assert onnx.Resize(x, extrapolation_value=math.inf, **options).tolist() == [0, 2, np.iinfo(x.dtype).max]
    assert math.isnan(onnx.Resize(x.astype("f4"), extrapolation_value=math.nan, **options)[2])
    assert onnx.Resize(x.astype("c8"), extrapolation_value=2.0, **options).tolist() == [0, 2, 2]


# DepthToSpace, SpaceToDepth and Upsample


@given(
    n=st.integers(0, 2), c=st.integers(1, 3), h=st.integers(1, 4), w=st.integers(1, 5), b=st.integers(1, 4), seed=seeds
)
def test_blocks_by_the_formulas_of_the_pages(n, c, h, w, b, seed):
    x = values((n, c * b * b, h, w), "f4", seed)
    dcr = x.reshape(n, b, b, c, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, c, h * b, w * b)
    crd = x.reshape(n, c, b, b, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c, h * b, w * b)
    np.testing.assert_array_equal(onnx.DepthToSpace(x, b), dcr)
    np.testing.assert_array_equal(onnx.DepthToSpace(x, b, "CRD"), crd)
    np.testing.assert_array_equal(onnx.SpaceToDepth(dcr, b), x)
    np.testing.assert_array_equal(onnx.SpaceToDepth(crd, b, mode="CRD"), x)


def test_example_of_upsample():
    expected = np.repeat(np.repeat(SQUARE, 2, 2), 3, 3)
    np.testing.assert_array_equal(onnx.Upsample(SQUARE, np.float32([1, 1, 2, 3])), expected)


@given(case=shapes_and_scales(), mode=st.sampled_from(["nearest", "linear"]), seed=seeds)
def test_upsample_by_the_formula(case, mode, seed):
    shape, scales = case
    scales = [max(scale, np.float32(1)) for scale in scales]
    x = values(shape, "f4", seed)
    y = onnx.Upsample(x, scales, mode)
    options = {"transformation": "asymmetric", "mode": mode, "nearest_mode": "floor"}
    close(y, apply(x, y.shape, [Fraction(float(s)) for s in scales], **options), x, mode)


def test_antialias_is_widened_by_the_scale():
    # As ONNX Runtime 1.32 and the reference implementation compute them.
    x = np.arange(10, dtype=np.float32)
    options = {"sizes": [5], "mode": "linear", "antialias": 1}
    y = onnx.Resize(x, coordinate_transformation_mode="align_corners", **options)
    np.testing.assert_allclose(y, [0.25, 2.25, 4.5, 6.75, 8.75], rtol=1e-6)
    y = onnx.Resize(x, np.float32([0.1, 0.9]), coordinate_transformation_mode="tf_crop_and_resize", **options)
    np.testing.assert_allclose(y, [0.925, 2.7, 4.5, 6.3, 8.075], rtol=1e-6)


# Bad arguments

CROP = {"coordinate_transformation_mode": "tf_crop_and_resize"}
LINE = np.arange(4.0)


def bad(error, text, function, *arguments, **options):
    return pytest.param(error, text, function, arguments, options, id=f"{function.__name__}-{text}")


def resize(error, text, *arguments, **options):
    return bad(error, text, onnx.Resize, *arguments, **options)


@pytest.mark.parametrize(
    ("error", "text", "function", "arguments", "options"),
    [
        resize(ValueError, "got both", LINE, scales=[2], sizes=[8]),
        resize(ValueError, "got neither", LINE),
        resize(ValueError, "got neither", LINE, [], [], []),
        resize(ValueError, "scales must have 1 entries", LINE, scales=[2, 2]),
        resize(ValueError, "sizes must have 2 entries", SQUARE, sizes=[2, 2, 2], axes=[2, 3]),
        resize(TypeError, "scales must be a sequence", LINE, scales=2),
        resize(TypeError, "sizes must be a sequence", LINE, sizes=8),
        resize(TypeError, "sizes must be an integer", LINE, sizes=[8.0]),
        resize(ValueError, "sizes must not be negative", LINE, sizes=[-1]),
        resize(ValueError, "scales must be positive", LINE, scales=[0]),
        resize(ValueError, "scales must be positive", LINE, scales=[-1.5]),
        resize(ValueError, "scales must be finite", LINE, scales=[math.nan]),
        resize(ValueError, "scales must be positive and finite as float32", LINE, scales=[1e39]),
        resize(ValueError, "must be finite in float32", LINE, scales=[3e38]),
        resize(ValueError, "(4,) to become (0,)", LINE, scales=[0.2]),
        resize(ValueError, "(4,) to become (0,)", LINE, sizes=[0]),
        resize(ValueError, "(0,) to become (2,)", LINE[:0], sizes=[2]),
        resize(
            ValueError,
            "(1, 9) to become (0, 1)",
            np.ones((1, 9)),
            sizes=[1, 1],
            keep_aspect_ratio_policy="not_larger",
        ),
        resize(ValueError, "'not_larger' needs sizes", LINE, scales=[2], keep_aspect_ratio_policy="not_larger"),
        resize(ValueError, "did you mean 'not_larger'", LINE, sizes=[2], keep_aspect_ratio_policy="not_large"),
        resize(ValueError, "antialias=1 needs mode 'linear' or 'cubic'", LINE, sizes=[2], antialias=1),
        resize(ValueError, "antialias must be 0 or 1", LINE, sizes=[2], antialias=2),
        resize(TypeError, "antialias must be an integer", LINE, sizes=[2], antialias=None),
        resize(ValueError, "exclude_outside must be 0 or 1", LINE, sizes=[2], exclude_outside=-1),
        resize(ValueError, "needs roi; got none", LINE, sizes=[2], **CROP),
        resize(ValueError, "needs roi; got none", LINE, [], sizes=[2], **CROP),
        resize(ValueError, "roi must have 2 entries", LINE, [0, 1, 0, 1], sizes=[2], **CROP),
        resize(ValueError, "roi must be finite", LINE, [0, math.inf], sizes=[2], **CROP),
        resize(TypeError, "roi must be a sequence", LINE, 0.5, sizes=[2], **CROP),
        resize(
            TypeError, "extrapolation_value must be an int", LINE, [0, 1], sizes=[2], extrapolation_value="0", **CROP
        ),
        resize(ValueError, "did you mean 'half_pixel'", LINE, sizes=[2], coordinate_transformation_mode="half_pixels"),
        resize(ValueError, "mode must be 'nearest', 'linear' or 'cubic'", LINE, sizes=[2], mode="bilinear"),
        resize(ValueError, "nearest_mode must be", LINE, sizes=[2], nearest_mode="half_down"),
        resize(ValueError, "cubic_coeff_a must be finite", LINE, sizes=[2], cubic_coeff_a=math.nan),
        resize(ValueError, "axes must be distinct", SQUARE, sizes=[2, 2], axes=[2, -2]),
        resize(np.exceptions.AxisError, "axes must be between", LINE, sizes=[2], axes=[1]),
        resize(TypeError, "axes must be an integer", LINE, sizes=[2], axes=[0.0]),
        resize(TypeError, "X must have dtype", np.array([True]), sizes=[2], mode="linear"),
        resize(TypeError, "X must have dtype", np.array(["a"]), sizes=[2]),
        resize(TypeError, "fixed-size dtype", np.array([None]), sizes=[2]),
        resize(ValueError, "X must have 1 to 64 axes", np.float32(1), scales=[]),
        bad(ValueError, "at least 1; got (0.5,)", onnx.Upsample, LINE, [0.5]),
        bad(ValueError, "scales is required; got none", onnx.Upsample, LINE, []),
        bad(ValueError, "mode must be 'nearest' or 'linear'", onnx.Upsample, LINE, [2], "cubic"),
        bad(ValueError, "blocksize**2 = 4", onnx.DepthToSpace, np.ones((1, 6, 2, 2)), 2),
        bad(ValueError, "blocksize = 2", onnx.SpaceToDepth, np.ones((1, 1, 4, 3)), 2),
        bad(ValueError, "blocksize must be at least 1", onnx.DepthToSpace, SQUARE, 0),
        bad(TypeError, "blocksize must be an integer", onnx.SpaceToDepth, SQUARE, 2.0),
        bad(ValueError, "input must have 4 axes (N, C, H, W)", onnx.DepthToSpace, SQUARE[0], 1),
        bad(ValueError, "mode must be 'DCR' or 'CRD'", onnx.SpaceToDepth, SQUARE, 1, "dcr"),
    ],
)
def test_bad_arguments(error, text, function, arguments, options):
    before = [np.copy(argument) for argument in arguments]
    with pytest.raises(error) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    assert text in message
    assert message.startswith(f"onnx.{function.__name__}: ")
    assert len(message.split("; ")) >= 3, message
    for array, copy in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_onnx_is_imported_when_a_model_comes():
    code = """
import sys
import imgops, imgops.interfaces
assert "onnx" not in sys.modules
sys.modules["onnx"] = None
from imgops.interfaces import onnx_backend
assert onnx_backend.supports_device("CPU")
for call in (lambda: onnx_backend.prepare(None), lambda: onnx_backend.run_node(None, [])):
    try:
        call()
    except ImportError as error:
        assert "pip install onnx" in str(error), error
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# Live: the reference implementation of onnx, and ONNX Runtime


def model(operator, inputs, opset, **attributes):
    from onnx import TensorProto, helper

    node = helper.make_node(operator, inputs, ["y"], **attributes)
    given = [
        helper.make_tensor_value_info("x", TensorProto.UNDEFINED, None),
        helper.make_tensor_value_info("roi", TensorProto.FLOAT, [None]),
        helper.make_tensor_value_info("scales", TensorProto.FLOAT, [None]),
        helper.make_tensor_value_info("sizes", TensorProto.INT64, [None]),
    ]
    graph = helper.make_graph(
        [node],
        "graph",
        [info for info in given if info.name in inputs],
        [helper.make_tensor_value_info("y", TensorProto.UNDEFINED, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def reference(x, options, **inputs):
    from onnx.reference import ReferenceEvaluator

    options = dict(options)
    attributes = {"coordinate_transformation_mode": options.pop("transformation"), "cubic_coeff_a": options.pop("a")}
    if "extrapolation_value" in inputs:
        attributes["extrapolation_value"] = inputs.pop("extrapolation_value")
    names = ["x", *(name if name in inputs else "" for name in ("roi", "scales", "sizes"))]
    made = model("Resize", names, 19, **options, **attributes)
    return ReferenceEvaluator(made).run(None, {"x": x, **inputs})[0]


# What the reference implementation has otherwise is told in the head of imgops.interfaces.onnx, or is one of these:
# it drops samples that nearest reads outside where exclude_outside is set, and it has no tf_half_pixel_for_nn.
def has_reference(options):
    if options["mode"] == "nearest" and options["exclude_outside"]:
        return False
    return options["transformation"] not in ("tf_half_pixel_for_nn", "tf_crop_and_resize")


def close_to_reference(y, expected, x, options):
    # Its cubic weights are float32 whatever the dtype, and what is left of them at an edge may be small.
    unit = None
    if options["mode"] == "cubic" and y.dtype in (np.float32, np.float64):
        unit = 2**-12 if options["exclude_outside"] else 2**-16
    close(y, expected.astype(np.float64), x, options["mode"], unit)


@needs_onnx
@given(case=shapes_and_scales(), options=OPTIONS, dtype=st.sampled_from(["u1", "i2", "f2", "f4", "f8"]), seed=seeds)
def test_scales_of_the_reference_implementation(case, options, dtype, seed):
    shape, scales = case
    options = settled(options)
    lengths = [int(float(s) * n) for n, s in zip(shape, scales, strict=True)]
    assume(has_reference(options) and min(lengths) >= 1)
    # A single sample is told from a fraction of two.
    assume(options["transformation"] != "pytorch_half_pixel" or min(lengths) > 1)
    x = values(shape, dtype, seed)
    expected = reference(x, options, scales=np.array(scales, np.float32))
    assert expected.shape == tuple(lengths)
    y = call(x, options, scales=scales)
    y = y[tuple(slice(0, n) for n in lengths)]
    if options["transformation"] == "half_pixel_symmetric":
        # It shifts by the length of the result, and by sums that may miss a whole number.
        assume(y.shape == tuple(int(np.float32(n) * s) for n, s in zip(shape, scales, strict=True)))
        factors = [Fraction(float(s)) for s in scales]
        y, expected = only_certain((y, expected), lengths, shape, factors, options)
    close_to_reference(y, expected, x, options)


@needs_onnx
@given(
    case=shapes_and_sizes(),
    options=OPTIONS,
    policy=st.sampled_from(["stretch", "not_larger", "not_smaller"]),
    dtype=st.sampled_from(["u1", "i2", "f2", "f4", "f8"]),
    seed=seeds,
)
def test_sizes_of_the_reference_implementation(case, options, policy, dtype, seed):
    shape, sizes = case
    options = {**settled(options), "keep_aspect_ratio_policy": policy}
    assume(has_reference(options))
    # A length that was rounded up reaches samples of which all are outside.
    assume(policy == "stretch" or options["transformation"] != "align_corners" or not options["exclude_outside"])
    x = values(shape, dtype, seed)
    ratios = [Fraction(*pair) for pair in zip(sizes, shape, strict=True)]
    if policy != "stretch":
        ratios = [(min if policy == "not_larger" else max)(ratios)] * len(ratios)
    lengths = [math.floor(n * s + HALF) for n, s in zip(shape, ratios, strict=True)]
    assume(min(lengths) >= 1 and math.prod(lengths) < 5000)
    assume(options["transformation"] != "pytorch_half_pixel" or min(lengths) > 1)
    expected = reference(x, options, sizes=np.array(sizes))
    y = call(x, options, sizes=sizes)
    assert y.shape == tuple(lengths)
    assert y.shape == expected.shape
    y, expected = only_certain((y, expected), lengths, shape, ratios, options)
    close_to_reference(y, expected, x, options)


def only_certain(arrays, lengths, shape, scales, options):
    """Without the outputs where float64 may fall on the other side of a tie or of a whole number.

    Next to a whole number the reference implementation's samples and weights may be one sample apart.
    """
    keep = [certain(*item, options) for item in zip(lengths, shape, scales, strict=True)]
    return [array[np.ix_(*keep)] for array in arrays]


def certain(m, n, s, options):
    transformation = options["transformation"]
    places = [coordinate(o, n, m, s, transformation) for o in range(m)]
    # Powers of two are exact on both sides, their ties and whole numbers too.
    dyadic = (s.numerator & (s.numerator - 1)) == 0 and (s.denominator & (s.denominator - 1)) == 0
    if (dyadic and transformation in ("half_pixel", "asymmetric")) or (s == 1 and n == m):
        return range(m)
    return [o for o, x in enumerate(places) if abs(2 * x - round(2 * x)) > 1e-9]


@needs_onnx
@given(
    case=shapes_and_sizes(),
    corners=st.lists(st.tuples(st.integers(-8, 24), st.integers(-8, 24)), min_size=3, max_size=3),
    mode=st.sampled_from(["linear", "cubic"]),
    antialias=st.integers(0, 1),
    value=st.sampled_from([0.0, -3.5, 300.0]),
    seed=seeds,
)
def test_tf_crop_and_resize_of_the_reference_implementation(case, corners, mode, antialias, value, seed):
    shape, sizes = case
    rois = [(Fraction(start, 16), Fraction(end, 16)) for start, end in corners[: len(shape)]]
    # On the border itself float arithmetic falls either way.
    for n, m, roi in zip(shape, sizes, rois, strict=True):
        places = [coordinate(o, n, m, None, "tf_crop_and_resize", *roi) for o in range(m)]
        assume(n == 1 or all(min(abs(place), abs(place - n + 1)) > 1e-6 for place in places))
    roi = np.float32([start for start, _ in rois] + [end for _, end in rois])
    x = values(shape, "f4", seed)
    options = {"transformation": "tf_crop_and_resize", "mode": mode, "antialias": antialias, "a": -0.75}
    expected = reference(x, options, sizes=np.array(sizes), roi=roi, extrapolation_value=value)
    y = call(x, options, sizes=sizes, roi=roi, extrapolation_value=value)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5 * max(1, np.abs(expected).max()))


@needs_onnx
@needs_onnxruntime
def test_lengths_and_indices_of_onnxruntime():
    import onnxruntime
    from onnx import TensorProto

    onnxruntime.set_default_logger_severity(4)
    made = model("Resize", ["x", "", "scales"], 19, coordinate_transformation_mode="half_pixel")
    for info in (made.graph.input[0], made.graph.output[0]):
        info.type.tensor_type.elem_type = TensorProto.FLOAT
        info.type.tensor_type.shape.dim.add()
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    same = total = 0
    for n in range(1, 25):
        x = np.arange(n, dtype=np.float32)
        for tenths in range(2, 41):
            scales = np.array([tenths / 10], np.float32)
            if int(np.float32(n) * scales[0]) < 1:
                continue
            expected = session.run(None, {"x": x, "scales": scales})[0]
            y = onnx.Resize(x, scales=scales)
            assert y.shape == expected.shape
            # Its coordinates are float32, so that an index next to a tie may differ.
            assert np.abs(y - expected).max() <= 1
            same += np.count_nonzero(y == expected)
            total += y.size
    assert same > 0.97 * total
