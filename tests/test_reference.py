"""The slow twin against loops over the formulas, and the kernels against the slow twin."""

import inspect
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import imgops
from imgops import AxisMap, reference

HALF = Fraction(1, 2)
FORMATS = [("NHWC", "DCR"), ("NHWC", "CRD"), ("NCHW", "DCR"), ("NCHW", "CRD"), ("NCHW_VECT_C", "DCR")]
MOVE_TYPES = ["?", "i1", "u2", "f2", ">f4", "f8", "c16", "M8[s]", "S3", "V5", [("a", "u1"), ("b", "f4")]]
WEIGHTED_TYPES = ["u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4", ">f4", "f8", "c8", "c16"]
FLOAT_TYPES = ["f2", "f4", "f8", "c8", "c16"]
EXACT_CONVENTIONS = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "directml",
]
# Rounding of the accumulator and of the result, against the largest value and the number of taps.
PRECISION = {"f2": 1e-3, "f4": 1e-6, ">f4": 1e-6, "f8": 1e-14, "c8": 1e-6, "c16": 1e-14}


def filled(random, shape, dtype):
    """An array of any dtype from random bytes, or from small numbers where bytes could be NaN."""
    dtype = np.dtype(dtype)
    if dtype.kind in "fc":
        numbers = random.integers(-100, 100, shape)
        return (numbers + 1j * random.integers(-100, 100, shape) if dtype.kind == "c" else numbers).astype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    raw = random.integers(1, 127, (*shape, dtype.itemsize), dtype=np.uint8)
    return raw.view(dtype).reshape(shape)


def strided(x, steps):
    """x's values in an array of other strides: every second or third element, reversed, or transposed memory."""
    if not x.ndim or not x.size:
        return x
    wide = np.zeros([abs(step) * length for step, length in zip(steps, x.shape, strict=True)], x.dtype, order="F")
    view = wide[tuple(slice(None, None, step) for step in steps)]
    view[...] = x
    return view


# ---------------------------------------------------------------------------------------------------------------------
# Faces


@pytest.mark.parametrize("name", reference.__all__)
def test_signatures_are_the_same(name):
    assert inspect.signature(getattr(reference, name)) == inspect.signature(getattr(imgops, name))


def test_every_operator_has_a_twin():
    operators = {name for name in imgops.__all__ if name.startswith(("depth", "space", "pixel", "resample"))}
    assert operators == set(reference.__all__)


BAD_CALLS = [
    ("depth_to_space", (np.ones((1, 4, 4, 10)), 2), {}),
    ("depth_to_space", (np.ones((4, 4)), 2), {}),
    ("depth_to_space", (np.ones((4, 4, 4)), 0), {}),
    ("depth_to_space", (np.ones((4, 4, 4)), 2.0), {}),
    ("depth_to_space", (np.ones((4, 4, 4)), 2), {"mode": "dcr"}),
    ("depth_to_space", (np.ones((4, 4, 4)), 2), {"data_format": "NWHC"}),
    ("depth_to_space", (np.ones((4, 4, 4)), 2), {"out": np.ones((8, 8, 2))}),
    ("depth_to_space", (np.ones((4, 4, 4)), 2), {"out": np.ones((8, 8, 1), np.float32)}),
    ("depth_to_space", (np.ones((4, 4, 4)), 2), {"num_threads": 0}),
    ("depth_to_space", (np.array([[[None] * 4]]), 2), {}),
    ("space_to_depth", (np.ones((3, 4, 1)), 2), {}),
    ("space_to_depth", (np.ones((4, 2, 2, 3)), 2), {"data_format": "NCHW_VECT_C"}),
    ("depth_to_space_grad", (np.ones((4, 4, 1), np.int32), 2), {}),
    ("depth_to_space_grad", (np.ones((4, 4, 1)), 2), {"accumulate": True}),
    ("space_to_depth_grad", (np.ones((4, 4, 3)), 2), {}),
    ("pixel_shuffle", (np.ones((3, 4, 4)), 2), {}),
    ("pixel_unshuffle", (np.ones((1, 3, 4)), 2), {}),
    ("depth_to_space_shape", ((1, 2, 3), 2), {}),
    ("space_to_depth_shape", ((1, -2, 3), 2), {}),
    ("resample", (np.ones((2, 2)),), {}),
    ("resample", (np.ones((2, 2)), (1, 2, 3)), {}),
    ("resample", (np.ones((2, 2)), (0, 2)), {}),
    ("resample", (np.ones((2, 0)), (2, 2)), {}),
    ("resample", (np.ones((2, 2)), (2.0, 2)), {}),
    ("resample", (np.ones((2, 2)),), {"scale": 0}),
    ("resample", (np.ones((2, 2)),), {"scale": float("nan")}),
    ("resample", (np.ones((2, 2)),), {"scale": 0.1}),
    ("resample", (np.ones((2, 2)), 3), {"axes": 2}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"axes": (0, 0)}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"mode": "liner"}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"convention": "half-pixel"}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"rounding": "floor"}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"mode": "nearest", "rounding": "round"}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"mode": "nearest", "antialias": True}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"mode": "nearest", "convention": AxisMap(2), "rounding": "floor"}),
    ("resample", (np.ones((2, 2)),), {"scale": 2, "convention": AxisMap(2)}),
    ("resample", (np.ones((2, 2), np.int64), (3, 3)), {}),
    ("resample", (np.ones((2, 2), bool), (3, 3)), {}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"dtype": np.int32}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"dtype": np.float32, "out": np.ones((3, 3))}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"out": np.ones((3, 2))}),
    ("resample", (np.ones((2, 2)), (3, 3)), {"out": [[1]]}),
    ("resample", (np.ones((2, 2)), (2**40, 2**40)), {}),
    ("resample_grad", (np.ones((2, 2), np.int8), (3, 3)), {}),
    ("resample_grad", (np.ones((2, 2)), (3, 3)), {"accumulate": True}),
    ("resample_grad", (np.ones((2, 2)), (3, 3)), {"out": np.ones((3, 3), np.float32)}),
    ("resample_grad", (np.ones((2, 2)), (3,)), {}),
    ("resample_shape", ((2, 2),), {}),
    ("resample_shape", ((2, 0), (3, 3)), {}),
    ("resample_shape", ((2, 2), (2**40, 2**40)), {}),
    ("resample_shape", ((2, 2),), {"scale": 0.1}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), BAD_CALLS)
def test_errors_are_the_same(name, arguments, options):
    messages = []
    for module in (imgops, reference):
        with pytest.raises((ValueError, TypeError, MemoryError)) as caught:
            getattr(module, name)(*arguments, **options)
        messages.append((caught.type, str(caught.value)))
    assert messages[0] == messages[1]


def test_results_are_arrays_of_their_own():
    x = np.arange(12.0).reshape(2, 2, 3)
    for result in (
        reference.depth_to_space(x, 1),
        reference.space_to_depth_grad(x, 1, data_format="NCHW"),
        reference.resample(x, (2, 2)),
        reference.resample(x, (2, 2), mode="nearest"),
        reference.resample_grad(x, (2, 2)),
    ):
        np.testing.assert_array_equal(result, x)
        assert not np.shares_memory(result, x)


def test_out_may_be_the_input():
    x = np.arange(36).reshape(6, 6, 1)
    options = {"axes": (0, 1), "scale": 2, "mode": "nearest"}
    expected = reference.resample(x, (6, 6), **options)
    assert reference.resample(x, (6, 6), out=x, **options) is x
    np.testing.assert_array_equal(x, expected)
    buffer = np.arange(16.0)
    depth, space = buffer.reshape(2, 2, 4), buffer.reshape(4, 4, 1)
    expected = reference.depth_to_space(depth, 2)
    np.testing.assert_array_equal(reference.depth_to_space(depth, 2, out=space), expected)


# ---------------------------------------------------------------------------------------------------------------------
# Moves


def channel_index(i, j, c, b, channels, mode):
    """The channel of block row i and column j of output channel c."""
    return (i * b + j) * channels + c if mode == "DCR" else (c * b + i) * b + j


def element(x, data_format, n, c, h, w):
    if data_format == "NHWC":
        return x[n, h, w, c]
    return x[n, c, h, w] if data_format == "NCHW" else x[n, c // 4, h, w, c % 4]


def shape_in(data_format, n, c, h, w):
    shapes = {"NHWC": (n, h, w, c), "NCHW": (n, c, h, w), "NCHW_VECT_C": (n, c // 4, h, w, 4)}
    return shapes[data_format]


@pytest.mark.parametrize(("data_format", "mode"), FORMATS)
@pytest.mark.parametrize("b", [1, 2, 3])
@pytest.mark.parametrize("module", [reference, imgops], ids=["reference", "kernels"])
def test_moves_element_by_element(module, data_format, mode, b):
    n, c, h, w = 2, 8 if data_format == "NCHW_VECT_C" else 5, 2, 3
    depth = np.arange(n * c * b * b * h * w).reshape(shape_in(data_format, n, c * b * b, h, w))
    space = module.depth_to_space(depth, b, data_format=data_format, mode=mode)
    assert space.shape == shape_in(data_format, n, c, h * b, w * b)
    assert module.depth_to_space_shape(depth.shape, b, data_format=data_format) == space.shape
    assert module.space_to_depth_shape(space.shape, b, data_format=data_format) == depth.shape
    for at in itertools.product(range(n), range(c), range(h * b), range(w * b)):
        image, channel, y, x = at
        k = channel_index(y % b, x % b, channel, b, c, mode)
        assert element(space, data_format, *at) == element(depth, data_format, image, k, y // b, x // b)
    np.testing.assert_array_equal(module.space_to_depth(space, b, data_format=data_format, mode=mode), depth)


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from(FORMATS),
    st.integers(1, 4),
    st.lists(st.integers(0, 3), max_size=3),
    st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 7)),
    st.sampled_from(MOVE_TYPES),
    st.booleans(),
    st.lists(st.sampled_from([1, 2, -1, -3]), min_size=8, max_size=8),
    st.integers(0, 2**32 - 1),
)
def test_moves_of_the_kernels(layout, b, lead, lengths, dtype, to_space, steps, seed):
    data_format, mode = layout
    c, h, w = lengths
    c = 4 * c if data_format == "NCHW_VECT_C" else c
    c, h, w = (c * b * b, h, w) if to_space else (c, h * b, w * b)
    shape = (*lead, *shape_in(data_format, 1, c, h, w)[1:])
    x = filled(np.random.default_rng(seed), shape, dtype)
    x = strided(x, steps[: x.ndim])
    kept = x.copy()
    name = "depth_to_space" if to_space else "space_to_depth"
    options = {"data_format": data_format, "mode": mode}
    expected = getattr(reference, name)(x, b, **options)
    result = getattr(imgops, name)(x, b, **options)
    assert result.dtype == expected.dtype == x.dtype
    assert result.shape == expected.shape
    assert result.tobytes() == expected.tobytes()
    assert x.tobytes() == kept.tobytes()
    out = strided(np.zeros_like(expected), steps[::-1][: x.ndim])
    assert getattr(imgops, name)(x, b, out=out, **options) is out
    assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", FLOAT_TYPES)
@pytest.mark.parametrize("name", ["depth_to_space", "space_to_depth"])
@pytest.mark.parametrize(("data_format", "mode"), FORMATS)
def test_gradients_of_moves(name, dtype, data_format, mode):
    random = np.random.default_rng(5)
    x = filled(random, shape_in(data_format, 2, 36, 3, 6), dtype)
    options = {"data_format": data_format, "mode": mode}
    y = getattr(reference, name)(x, 3, **options)
    g = filled(random, y.shape, dtype)
    results = []
    for module in (reference, imgops):
        gradient = getattr(module, name + "_grad")
        plain = gradient(g, 3, **options)
        # The adjoint test: a move is a permutation, so both sums are of the same products.
        assert np.vdot(y.astype("c16"), g) == np.vdot(x.astype("c16"), plain.astype("c16"))
        into = np.ones(x.shape, np.result_type(dtype, "f4"))
        assert gradient(g, 3, out=into, accumulate=True, **options) is into
        results.append((plain, into, gradient(g, 3, out=np.empty_like(into), **options)))
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second, strict=True)
    np.testing.assert_array_equal(results[0][1], results[0][0].astype(results[0][1].dtype) + 1)


# ---------------------------------------------------------------------------------------------------------------------
# Resampling


def coordinate(convention, o, n, m, s):
    """The table of ONNX Resize, in Fractions; DirectML's is half_pixel."""
    centre = (o + HALF) / s - HALF
    return {
        "half_pixel": centre,
        "directml": centre,
        "half_pixel_symmetric": Fraction(n, 2) * (1 - Fraction(m) / (s * n)) + centre,
        "pytorch_half_pixel": centre if m > 1 else Fraction(0),
        "align_corners": Fraction(o * (n - 1), m - 1) if m > 1 else Fraction(0),
        "asymmetric": o / s,
        "tf_half_pixel_for_nn": (o + HALF) / s,
    }[convention]


ROUNDINGS = {
    "floor": math.floor,
    "ceil": math.ceil,
    "half_down": lambda x: math.ceil(x - HALF),
    "half_up": lambda x: math.floor(x + HALF),
}


@pytest.mark.parametrize("convention", EXACT_CONVENTIONS)
@pytest.mark.parametrize("module", [reference, imgops], ids=["reference", "kernels"])
def test_nearest_and_linear_by_the_formula(module, convention):
    for n, m in [(3, 7), (7, 3), (4, 2), (5, 5), (1, 3), (5, 1), (2, 6), (13, 11)]:
        for scale in (None, Fraction(3, 2), Fraction(2, 5)):
            s = Fraction(m, n) if scale is None else scale
            points = [coordinate(convention, o, n, m, s) for o in range(m)]
            options = {"scale": scale, "convention": convention}
            for rounding, rule in ROUNDINGS.items():
                expected = [min(max(rule(x), 0), n - 1) for x in points]
                result = module.resample(np.arange(n), m, mode="nearest", rounding=rounding, **options)
                assert result.tolist() == expected, (n, m, scale, rounding)
            clamped = [float(min(max(x, 0), n - 1)) for x in points]
            result = module.resample(np.arange(n, dtype=np.float64), m, **options)
            np.testing.assert_allclose(result, clamped, rtol=0, atol=1e-14)


@pytest.mark.parametrize("rounding", list(ROUNDINGS))
def test_nearest_indices_of_the_twin_equal_the_kernels(rounding):
    for convention in EXACT_CONVENTIONS:
        for n, m in itertools.product((1, 2, 5, 8, 26, 31), (1, 3, 6, 16, 29, 64)):
            options = {"mode": "nearest", "convention": convention, "rounding": rounding}
            x = np.arange(n)
            np.testing.assert_array_equal(imgops.resample(x, m, **options), reference.resample(x, m, **options))


def test_antialias_normalises_inside_the_axis():
    x = np.array([0.0, 100, 200, 40])
    # Triangles of half width 2 at 0.5 and 2.5: weights 3, 3, 1 of 7 and 1, 3, 3 of 7.
    np.testing.assert_allclose(reference.resample(x, 2, antialias=True), [500 / 7, 820 / 7], rtol=1e-15)
    np.testing.assert_array_equal(reference.resample(x, 8, antialias=True), reference.resample(x, 8))


# By hand, in Fractions: cubic at a quarter of the way, with either coefficient.
CUBIC_QUARTERS = {
    Fraction(-3, 4): (Fraction(-27, 256), Fraction(225, 256), Fraction(67, 256), Fraction(-9, 256)),
    Fraction(-1, 2): (Fraction(-9, 128), Fraction(111, 128), Fraction(29, 128), Fraction(-3, 128)),
}


@pytest.mark.parametrize("module", [reference, imgops], ids=["reference", "kernels"])
def test_cubic_by_hand(module):
    x = np.array([0.0, 0, 0, 256, 0, 0, 0])
    # Outputs 5 to 10 of twice the length lie at 2.25, 2.75, 3.25, 3.75, 4.25 and 4.75.
    for row, coefficient in [("half_pixel", Fraction(-3, 4)), ("tf", Fraction(-1, 2)), ("pillow", Fraction(-1, 2))]:
        before, lower, upper, after = (float(256 * weight) for weight in CUBIC_QUARTERS[coefficient])
        result = module.resample(x, 14, mode="cubic", convention=row)
        np.testing.assert_allclose(result[3:11], [after, before, upper, lower, lower, upper, before, after], atol=1e-12)


@pytest.mark.parametrize("module", [reference, imgops], ids=["reference", "kernels"])
def test_edges_of_cubic(module):
    # At -1/4 the weights of the samples -2, -1, 0 and 1 are those of a quarter, mirrored.
    _, lower, upper, after = CUBIC_QUARTERS[Fraction(-3, 4)]
    repeated = module.resample(np.array([1.0, 0, 0, 0]), 8, mode="cubic")
    assert repeated[0] == pytest.approx(float(after + upper + lower))
    before, lower, _, _ = CUBIC_QUARTERS[Fraction(-1, 2)]
    renormalised = module.resample(np.array([1.0, 0, 0, 0]), 8, mode="cubic", convention="tf")
    assert renormalised[0] == pytest.approx(float(lower / (lower + before)))


@pytest.mark.parametrize("module", [reference, imgops], ids=["reference", "kernels"])
def test_lanczos_by_hand(module):
    def weight(t):
        return math.sin(math.pi * t) * math.sin(math.pi * t / 3) * 3 / (math.pi * t) ** 2

    distances = np.abs(np.arange(7) - 3.25)
    weights = np.array([weight(t) if t < 3 else 0.0 for t in distances])
    result = module.resample(np.eye(7), 14, mode="lanczos3", axes=0)
    np.testing.assert_allclose(result[7], weights / weights.sum(), atol=1e-14)


def filter_sum(x, o, m, mode, row, antialias):
    """Output o of a half-pixel resampling of x to m samples: the filter over every sample, near or far."""
    n = len(x)
    s = Fraction(m, n)
    width = max(1 / s, 1) if antialias or row.always_antialias else 1
    centre = (o + HALF) / s - HALF
    a = row.cubic_coefficient
    if antialias and row.antialias_cubic_coefficient is not None:
        a = row.antialias_cubic_coefficient

    def weight(t):
        t = float(abs(t))
        if mode == "linear":
            return max(1 - t, 0)
        if mode == "lanczos3":
            return float(np.sinc(t) * np.sinc(t / 3)) if t < 3 else 0.0
        if t < 1:
            return ((a + 2) * t - (a + 3)) * t * t + 1
        return a * (t - 1) * (t - 2) ** 2 if t < 2 else 0.0

    fold = row.edge == "repeat" or (row.edge is None and mode != "lanczos3" and not antialias)
    far = range(-4 * n, 5 * n) if fold else range(n)
    weights = [weight((i - centre) / width) for i in far]
    values = [x[min(max(i, 0), n - 1)] for i in far]
    return float(np.dot(weights, values) / sum(weights))


HALF_PIXEL_ROWS = ["half_pixel", "pillow", "torch", "tf", "opencv"]


@pytest.mark.parametrize("name", HALF_PIXEL_ROWS)
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("module", [reference, imgops], ids=["reference", "kernels"])
def test_filters_by_the_formula(module, name, antialias):
    row = imgops.get_convention(name)
    random = np.random.default_rng(3)
    for mode in row.modes:
        if mode == "nearest" or (mode == "linear" and row.linear is not None and not antialias):
            continue
        for n, m in [(3, 7), (7, 3), (4, 2), (5, 5), (1, 3), (5, 1), (2, 6), (13, 11)]:
            x = random.standard_normal(n)
            expected = [filter_sum(x, o, m, mode, row, antialias) for o in range(m)]
            result = module.resample(x, m, mode=mode, convention=name, antialias=antialias)
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-13, err_msg=str((mode, n, m)))


def row_of(name):
    row = imgops.get_convention(name)
    return row.with_roi(0.25, 0.875) if row.offsets is None else row


EVERY_WAY = [
    (name, mode, antialias)
    for name in imgops.conventions()
    for mode in imgops.get_convention(name).modes
    for antialias in ((False,) if mode == "nearest" else (False, True))
]


@pytest.mark.parametrize(("name", "mode", "antialias"), EVERY_WAY)
def test_every_row_mode_and_filter_is_its_twin_and_has_its_adjoint(name, mode, antialias):
    random = np.random.default_rng(4)
    options = {"axes": (0, 1), "mode": mode, "convention": row_of(name), "antialias": antialias}
    for shape, size in [((5, 8), (7, 3)), ((13, 1), (4, 4)), ((2, 11), (17, 11)), ((6, 9), (1, 2))]:
        for scale in (None, (1.3, Fraction(2, 5))):
            x, g = random.standard_normal((*shape, 2)), random.standard_normal((*size, 2))
            forward = imgops.resample(x, size, scale=scale, **options)
            backward = imgops.resample_grad(g, shape, scale=scale, **options)
            assert np.vdot(forward, g) == pytest.approx(np.vdot(x, backward), rel=1e-12, abs=1e-12)
            np.testing.assert_allclose(forward, reference.resample(x, size, scale=scale, **options), atol=1e-12)
            expected = reference.resample_grad(g, shape, scale=scale, **options)
            np.testing.assert_allclose(backward, expected, atol=1e-12)


maps = st.builds(
    AxisMap,
    st.fractions(Fraction(1, 5), 5, max_denominator=12),
    st.fractions(-3, 3, max_denominator=8),
    st.fractions(-3, 3, max_denominator=8),
    st.sampled_from(list(ROUNDINGS)),
)
entries = st.one_of(maps, st.sampled_from([*EXACT_CONVENTIONS, "tf", "tf1", "tf1_align_corners"]))
axis_requests = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6), entries), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(
    axis_requests,
    st.sampled_from(["nearest", "linear", "antialias"]),
    st.sampled_from(WEIGHTED_TYPES),
    st.lists(st.sampled_from([1, 2, -1, -2]), min_size=5, max_size=5),
    st.integers(0, 3),
    st.integers(0, 2**32 - 1),
)
def test_resample_of_the_kernels(axes, mode, dtype, steps, extra, seed):
    n, m, chosen = map(list, zip(*axes, strict=True))
    order = np.random.default_rng(seed).permutation(len(n) + 1)
    shape = np.array([*n, extra])[order]
    where = [int(np.flatnonzero(order == i)[0]) for i in range(len(n))]
    x = strided(filled(np.random.default_rng(seed), tuple(shape), dtype), steps[: len(shape)])
    options = {"axes": where, "convention": chosen, "antialias": mode == "antialias"}
    options["mode"] = "nearest" if mode == "nearest" else "linear"
    expected = reference.resample(x, m, **options)
    result = imgops.resample(x, m, **options)
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    if mode == "nearest":
        assert result.tobytes() == expected.tobytes()
        return
    if np.dtype(dtype).kind in "iu":
        # A tie, or nearly one, may fall to either side.
        assert np.abs(result.astype(np.int64) - expected.astype(np.int64)).max(initial=0) <= 1
        wide = reference.resample(x, m, dtype=np.float64, **options)
        limits = np.iinfo(dtype)
        near_tie = np.abs(np.abs(wide - np.rint(wide)) - 0.5) < 1e-5 * (1 + np.abs(wide))
        clipped = np.clip(np.rint(wide), limits.min, limits.max).astype(dtype)
        np.testing.assert_array_equal(result[~near_tie], clipped[~near_tie])
    else:
        largest = np.abs(x.astype("c16")).max(initial=0)
        np.testing.assert_allclose(result, expected, rtol=0, atol=4 * PRECISION[dtype] * largest)


@settings(max_examples=150, deadline=None)
@given(
    axis_requests,
    st.sampled_from(["nearest", "linear", "antialias"]),
    st.sampled_from(FLOAT_TYPES),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_gradients_of_the_kernels(axes, mode, dtype, accumulate, seed):
    n, m, chosen = map(list, zip(*axes, strict=True))
    random = np.random.default_rng(seed)
    options = {"axes": list(range(len(n))), "convention": chosen, "antialias": mode == "antialias"}
    options["mode"] = "nearest" if mode == "nearest" else "linear"
    g = filled(random, (*m, 3), dtype)
    start = filled(random, (*n, 3), dtype)
    results = [
        module.resample_grad(g, n, out=start.copy(), accumulate=accumulate, **options) for module in (reference, imgops)
    ]
    largest = np.abs(start.astype("c16")).max() + np.abs(g.astype("c16")).max() * math.prod(m)
    np.testing.assert_allclose(results[1], results[0], rtol=0, atol=PRECISION[dtype] * largest)
    assert results[1].dtype == np.dtype(dtype)
    # The adjoint test of the twin, in float64.
    x = random.standard_normal((*n, 3))
    y = random.standard_normal((*m, 3))
    forward, backward = reference.resample(x, m, **options), reference.resample_grad(y, n, **options)
    assert np.vdot(forward, y) == pytest.approx(np.vdot(x, backward), rel=1e-12, abs=1e-10)


def test_a_tap_of_weight_zero_is_not_read():
    x = np.array([1.0, np.nan, 3.0, np.inf, 5.0])
    # Coordinates 0, 2 and 4, then 0.5, whose upper neighbour is the NaN.
    every_second = AxisMap(Fraction(1, 2), 0, 0)
    np.testing.assert_array_equal(reference.resample(x, 3, convention=every_second), [1, 3, 5])
    result = reference.resample(x, 4, convention=AxisMap(2, 0, 0))
    np.testing.assert_array_equal(np.isnan(result), [False, True, True, True])


def test_integers_round_half_to_even_and_saturate():
    x = np.array([1, 2, 3, 4, 255, 254], np.uint8)
    assert reference.resample(x, 3).tolist() == [2, 4, 254]
    wide = np.array([2**31 - 1, 2**31 - 1, -(2**31)], np.int32)
    assert reference.resample(wide, 6).tolist() == imgops.resample(wide, 6).tolist()


def test_dtype_of_the_result():
    x = np.array([0, 1, 2**40], np.int64)
    assert reference.resample(x, 6, dtype=np.float64).tolist() == imgops.resample(x, 6, dtype=np.float64).tolist()
    assert reference.resample(x, 6, dtype="f4").dtype == np.float32
    assert reference.resample(x, 6, mode="nearest", dtype="u1").tolist() == [0, 0, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("shape", "size", "options"),
    [
        ((5, 7, 3), (2, 9), {}),
        ((5, 7, 3), None, {"scale": 1.2}),
        ((2, 3, 5, 7), None, {"scale": (2, Fraction(1, 3)), "data_format": "NCHW"}),
        ((5, 7), (3, 4), {"scale": 0.5}),
        ((5, 7, 3), (6, 5, 4), {}),
        ((88,), None, {"scale": Fraction(120, 88)}),
        ((5, 7, 3), 4, {"axes": -1}),
        ((5, 7, 3), None, {"scale": (2, 3), "axes": (2, 0)}),
    ],
)
def test_resample_shape(shape, size, options):
    expected = reference.resample(np.zeros(shape), size, **options).shape
    assert reference.resample_shape(shape, size, **options) == expected
    assert imgops.resample_shape(shape, size, **options) == expected
