"""resample_grad: the exact adjoint of resample for every convention, mode and dtype."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import (
    BFLOAT16,
    CONVENTIONS,
    apply,
    assert_near_exact,
    assert_same_bits,
    axis_matrix,
    machine_epsilon,
    to_fractions,
    triangle_matrix,
)
from strategies import (
    COMPLEX,
    FLOATS,
    LAYOUTS,
    dtype_name,
    examples,
    layouts,
    offsets,
    resample_cases,
    scales,
    seeds,
    values,
)

import imgops

MODES = ("nearest", "linear")
# tf_crop_and_resize is a function of a region of interest, which a name alone does not give.
NAMED = [name for name in imgops.conventions() if name != "tf_crop_and_resize"]


def transposed(shape, axes, size, **options):
    return {axis: axis_matrix(shape[axis], m, **options).T for axis, m in zip(axes, size, strict=True)}


def output_shape(shape, axes, size):
    shape = list(shape)
    for axis, m in zip(axes, size, strict=True):
        shape[axis] = m
    return tuple(shape)


def inner(a, b):
    """Real inner product in float64; complex arrays count as pairs of reals."""
    if a.dtype.kind == "c":
        return inner(a.real, b.real) + inner(a.imag, b.imag)
    return np.vdot(a.astype("f8"), b.astype("f8"))


def assert_adjoint(x, grad_output, resampled, grad_input, terms):
    """<A x, g> = <x, A' g> within the rounding of both results; terms bounds the taps of any element."""
    parts = np.dtype(x.dtype).type(0).real.dtype if x.dtype.kind == "c" else x.dtype
    wide = abs(resampled.astype("c16")) if x.dtype.kind == "c" else abs(resampled.astype("f8"))
    scale = np.sum(wide * abs(grad_output.astype(wide.dtype if x.dtype.kind != "c" else "c16")))
    scale += np.sum(abs(x.astype("c16")) * abs(grad_input.astype("c16")))
    scale += np.sqrt(x.size) + terms
    assert abs(inner(resampled, grad_output) - inner(x, grad_input)) <= machine_epsilon(parts) * (terms + 4) * scale


# Values by hand


def test_the_first_example():
    assert imgops.resample_grad([[4.0, 5.0, 6.0]], (2, 2), mode="nearest").tolist() == [[9, 6], [0, 0]]


def test_samples_that_were_not_read_get_zero():
    grad = imgops.resample_grad(np.ones((1, 2)), (5, 7), mode="nearest")
    assert grad.sum() == 2
    assert (grad != 0).sum() == 2
    assert not np.signbit(grad).any()


def test_edge_repeats_fall_on_the_edge_sample():
    assert imgops.resample_grad(np.ones(7), 2, scale=2, mode="nearest").tolist() == [2, 5]
    assert imgops.resample_grad(np.ones(7), 2, scale=2).tolist() == [2, 5]


# Against transposed tables of fractions


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@given(
    case=resample_cases(max_ndim=3, max_length=4),
    convention=st.sampled_from(CONVENTIONS),
    scale=st.none() | scales,
    seed=seeds,
)
@examples(30)
def test_against_the_transposed_table(mode, dtype, case, convention, scale, seed):
    shape, axes, size = case
    grad_output = values(output_shape(shape, axes, size), dtype, seed)
    matrices = transposed(shape, axes, size, mode=mode, convention=convention, scale=scale)
    result = imgops.resample_grad(
        grad_output,
        [shape[axis] for axis in axes],
        axes=axes,
        mode=mode,
        convention=convention,
        scale=scale and [scale] * len(axes),
    )
    assert result.shape == shape
    assert result.dtype == dtype
    exactly = to_fractions(grad_output)
    assert_near_exact(result, apply(matrices, exactly), apply(matrices, abs(exactly)), sum(size))


@given(n=st.integers(1, 20), m=st.integers(1, 20), seed=seeds)
def test_antialiased_against_the_transposed_table(n, m, seed):
    grad_output = values((2, m, 3), "f8", seed)
    result = imgops.resample_grad(grad_output, n, axes=1, antialias=True)
    np.testing.assert_allclose(result, apply({1: triangle_matrix(n, m).T}, grad_output), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("mode", MODES)
@given(data=st.data(), seed=seeds)
def test_one_to_eight_axes_any_of_them_resampled(mode, data, seed):
    ndim = data.draw(st.integers(1, 8))
    shape = tuple(data.draw(st.integers(1, 3)) for _ in range(ndim))
    axes = data.draw(st.lists(st.integers(0, ndim - 1), min_size=1, unique=True))
    size = tuple(data.draw(st.integers(1, 4 if ndim < 6 else 3)) for _ in axes)
    grad_output = values(output_shape(shape, axes, size), "f8", seed)
    result = imgops.resample_grad(grad_output, [shape[axis] for axis in axes], axes=axes, mode=mode)
    expected = apply(transposed(shape, axes, size, mode=mode), grad_output)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 17])
@pytest.mark.parametrize("mode", MODES)
def test_rows_about_the_vector_length(mode, channels):
    for (h, w), size in (
        ((3, 2), (6, 4)),
        ((4, 15), (8, 30)),
        ((5, 16), (15, 48)),
        ((2, 33), (5, 31)),
        ((6, 67), (3, 23)),
    ):
        grad_output = values((*size, channels), "f4", w)
        matrices = transposed((h, w), (0, 1), size, mode=mode)
        expected = apply(matrices, grad_output.astype("f8"))
        result = imgops.resample_grad(grad_output, (h, w), mode=mode)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
        result = imgops.resample_grad(
            np.ascontiguousarray(grad_output.transpose(2, 0, 1)), (h, w), mode=mode, data_format="NCHW"
        )
        np.testing.assert_allclose(result.transpose(1, 2, 0), expected, rtol=1e-5, atol=1e-5)


# The adjoint test


KINDS = [
    (convention, {"mode": mode, "antialias": antialias})
    for convention in NAMED
    for mode in imgops.get_convention(convention).modes
    for antialias in ((False,) if mode == "nearest" else (False, True))
]


@pytest.mark.parametrize("dtype", FLOATS + COMPLEX, ids=dtype_name)
@pytest.mark.parametrize(("convention", "options"), KINDS, ids=str)
def test_adjoint_of_every_convention(convention, options, dtype):
    rng = np.random.default_rng(len(convention))
    for _ in range(4):
        h, w, oh, ow = map(int, rng.integers(1, 14, 4))
        x = values((2, h, w, 3), dtype, h)
        grad_output = values((2, oh, ow, 3), dtype, ow)
        resampled = imgops.resample(x, (oh, ow), convention=convention, **options)
        grad_input = imgops.resample_grad(grad_output, (h, w), convention=convention, **options)
        assert grad_input.dtype == dtype
        assert_adjoint(x, grad_output, resampled, grad_input, 2 * (h + w + oh + ow))


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@pytest.mark.parametrize("mode", MODES)
@given(
    size=st.tuples(*[st.integers(1, 9)] * 4),
    axis_scales=st.tuples(scales, scales),
    axis_offsets=st.tuples(*[offsets] * 4),
    rounding=st.sampled_from(("floor", "ceil", "half_down", "half_up")),
    seed=seeds,
)
def test_adjoint_of_any_scale_and_offset(mode, dtype, size, axis_scales, axis_offsets, rounding, seed):
    h, w, oh, ow = size
    maps = [imgops.AxisMap(axis_scales[i], axis_offsets[2 * i], axis_offsets[2 * i + 1], rounding) for i in (0, 1)]
    x, grad_output = values((h, w), dtype, seed), values((oh, ow), dtype, seed + 1)
    resampled = imgops.resample(x, (oh, ow), mode=mode, convention=maps)
    grad_input = imgops.resample_grad(grad_output, (h, w), mode=mode, convention=maps)
    assert_adjoint(x, grad_output, resampled, grad_input, 2 * (oh + ow))


@pytest.mark.parametrize("convention", [name for name in NAMED if "nearest" in imgops.get_convention(name).modes])
def test_nearest_adjoint_is_exact_on_whole_numbers(convention):
    rng = np.random.default_rng(7)
    for n, m in rng.integers(1, 40, (20, 2)):
        n, m = int(n), int(m)
        x, grad_output = rng.integers(-9, 9, n).astype("f4"), rng.integers(-9, 9, m).astype("f4")
        resampled = imgops.resample(x, m, mode="nearest", convention=convention)
        assert inner(resampled, grad_output) == inner(
            x, imgops.resample_grad(grad_output, n, mode="nearest", convention=convention)
        )


@given(case=resample_cases(), convention=st.sampled_from(CONVENTIONS), mode=st.sampled_from(MODES))
def test_the_gradient_of_ones_sums_to_the_outputs(case, convention, mode):
    shape, axes, size = case
    ones = np.ones(output_shape(shape, axes, size))
    grad = imgops.resample_grad(ones, [shape[axis] for axis in axes], axes=axes, mode=mode, convention=convention)
    np.testing.assert_allclose(grad.sum(), ones.sum(), rtol=1e-12)


# Special values


@given(
    n=st.integers(1, 8),
    m=st.integers(1, 16),
    o=st.integers(0, 15),
    mode=st.sampled_from(MODES),
    bad=st.sampled_from((math.nan, math.inf)),
)
def test_nan_and_infinity_reach_only_the_samples_read(n, m, o, mode, bad):
    o %= m
    grad_output = np.ones((5, m, 3), "f4")
    grad_output[:, o] = bad
    grad = imgops.resample_grad(grad_output, (5, n), axes=(0, 1), mode=mode)
    reached = axis_matrix(n, m, mode=mode)[o] != 0
    np.testing.assert_array_equal(np.isfinite(grad), np.broadcast_to(~reached[:, None], grad.shape))


# accumulate, out, layouts


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@given(case=resample_cases(max_ndim=3, max_length=4), seed=seeds, layout=layouts(readonly=False))
@examples(25)
def test_accumulate_adds_and_rounds_once(mode, dtype, case, seed, layout):
    shape, axes, size = case
    grad_output = values(output_shape(shape, axes, size), dtype, seed)
    before = values(shape, dtype, seed + 1)
    out = layout(before)
    result = imgops.resample_grad(
        grad_output, [shape[axis] for axis in axes], axes=axes, mode=mode, out=out, accumulate=True
    )
    assert result is out
    matrices = transposed(shape, axes, size, mode=mode)
    exactly = to_fractions(grad_output)
    expected = to_fractions(before) + apply(matrices, exactly)
    magnitude = abs(to_fractions(before)) + apply(matrices, abs(exactly))
    assert_near_exact(np.ascontiguousarray(out), expected, magnitude, sum(size))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wide", ["f4", "f8"])
@pytest.mark.parametrize("narrow", ["f2", "f4"] + ([BFLOAT16] if BFLOAT16 is not None else []), ids=str)
def test_gathering_in_a_wider_float(narrow, wide, mode):
    if np.dtype(narrow) == np.dtype(wide):
        pytest.skip("not wider")
    grad_output = values((2, 9, 11, 3), narrow, 0)
    options = {"mode": mode}
    expected = apply(transposed((2, 4, 5, 3), (1, 2), (9, 11), mode=mode), grad_output.astype("f8"))
    out = np.full((2, 4, 5, 3), np.nan, wide)
    assert imgops.resample_grad(grad_output, (4, 5), out=out, **options) is out
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    for _ in range(3):
        imgops.resample_grad(grad_output, (4, 5), out=out, accumulate=True, **options)
    np.testing.assert_allclose(out, 4 * expected, rtol=1e-5, atol=1e-5)


def test_many_small_gradients_are_not_lost_in_a_float32_buffer():
    """1024 steps of 2**-9 into float16's 16 would stop at once; the float32 buffer holds them all."""
    out = np.full((2, 2), 16, np.float32)
    for _ in range(1024):
        imgops.resample_grad(np.full((4, 4), 2.0**-11, np.float16), (2, 2), out=out, accumulate=True)
    np.testing.assert_array_equal(out, 18)


def test_without_accumulate_whatever_out_held_is_gone():
    grad_output = values((7, 9), "f4", 0)
    for mode in MODES:
        out = np.full((12, 4), np.nan, "f4")
        imgops.resample_grad(grad_output, (12, 4), mode=mode, out=out)
        assert_same_bits(out, imgops.resample_grad(grad_output, (12, 4), mode=mode))


@pytest.mark.parametrize("mode", MODES)
@given(
    case=resample_cases(),
    dtype=st.sampled_from(FLOATS + COMPLEX),
    seed=seeds,
    layout=layouts(),
    out_layout=layouts(readonly=False),
    accumulate=st.booleans(),
)
@examples(80)
def test_the_same_bits_for_any_strides(mode, case, dtype, seed, layout, out_layout, accumulate):
    shape, axes, size = case
    input_size = [shape[axis] for axis in axes]
    grad_output = values(output_shape(shape, axes, size), dtype, seed)
    before = values(shape, dtype, seed + 1)
    expected = before.copy()
    options = {"axes": axes, "mode": mode, "accumulate": accumulate}
    imgops.resample_grad(grad_output, input_size, out=expected, **options)
    out = out_layout(before)
    given_grad = layout(grad_output)
    assert imgops.resample_grad(given_grad, input_size, out=out, **options) is out
    assert_same_bits(out, expected)
    assert_same_bits(given_grad, grad_output)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("mode", MODES)
def test_layouts_of_a_picture(mode, layout):
    grad_output = values((2, 33, 50, 3), "f4", 0)
    expected = imgops.resample_grad(grad_output, (21, 35), mode=mode)
    assert_same_bits(imgops.resample_grad(layout(grad_output), (21, 35), mode=mode), expected)


@given(
    case=resample_cases(max_ndim=3),
    mode=st.sampled_from(MODES),
    accumulate=st.booleans(),
    seed=seeds,
    offset=st.integers(0, 30),
)
def test_out_may_overlap_the_gradient(case, mode, accumulate, seed, offset):
    shape, axes, size = case
    grad_shape = output_shape(shape, axes, size)
    n, m = math.prod(shape), math.prod(grad_shape)
    memory = values((max(n, m) + offset,), "f4", seed)
    grad_output, out = memory[offset : offset + m].reshape(grad_shape), memory[:n].reshape(shape)
    options = {"axes": axes, "mode": mode, "accumulate": accumulate}
    input_size = [shape[axis] for axis in axes]
    expected = imgops.resample_grad(grad_output.copy(), input_size, out=out.copy(), **options)
    imgops.resample_grad(grad_output, input_size, out=out, **options)
    assert_same_bits(out, expected)


@pytest.mark.parametrize("dtype", COMPLEX, ids=dtype_name)
@pytest.mark.parametrize("mode", MODES)
def test_complex_goes_part_by_part(dtype, mode):
    grad_output = values((7, 9, 2), dtype, 0)
    grad = imgops.resample_grad(grad_output, (5, 12), mode=mode)
    assert grad.dtype == dtype
    for part in ("real", "imag"):
        expected = imgops.resample_grad(getattr(grad_output, part).copy(), (5, 12), mode=mode)
        assert_same_bits(getattr(grad, part).copy(), expected)


@pytest.mark.parametrize("mode", MODES)
def test_zero_length_axes(mode):
    assert imgops.resample_grad(np.zeros((0, 4, 5, 3)), (7, 2), mode=mode).shape == (0, 7, 2, 3)
    assert imgops.resample_grad(np.zeros((2, 4, 5, 0)), (7, 2), mode=mode).shape == (2, 7, 2, 0)


def test_which_axes_get_the_gradient():
    def shape(grad_shape, *args, **options):
        return imgops.resample_grad(np.zeros(grad_shape), *args, **options).shape

    assert shape((2, 5, 7, 3), (4, 6)) == (2, 4, 6, 3)
    assert shape((2, 3, 5, 7), (4, 6), data_format="NCHW") == (2, 3, 4, 6)
    assert shape((2, 3, 5, 7, 4), (4, 6), data_format="NCHW_VECT_C") == (2, 3, 4, 6, 4)
    assert shape((5, 7), (4, 6)) == (4, 6)
    assert shape((5,), 4) == (4,)
    assert shape((5, 7, 3), (4, 6, 2)) == (4, 6, 2)
    assert shape((5, 7, 3), 4, axes=-1) == (5, 7, 4)


@pytest.mark.parametrize(("n", "m"), [(400_001, 300_007), (300_007, 400_001), (5, 400_000), (400_000, 5)])
def test_axes_longer_than_any_table(n, m):
    top, bottom = (2 * np.arange(m) + 1) * n - m, 2 * m
    lower, rest = np.divmod(np.clip(top, 0, (n - 1) * bottom), bottom)
    grad_output = values((m,), "f8", 0)
    expected = np.bincount(lower, grad_output * (1 - rest / bottom), n)
    expected += np.bincount(np.minimum(lower + 1, n - 1), grad_output * (rest / bottom), n)
    out = np.ones(n)
    imgops.resample_grad(grad_output, n, out=out, accumulate=True)
    np.testing.assert_allclose(out, 1 + expected, rtol=0, atol=1e-9)
    picked = np.clip(-((m - top) // bottom), 0, n - 1)
    grad = imgops.resample_grad(grad_output, n, mode="nearest")
    np.testing.assert_allclose(grad, np.bincount(picked, grad_output, n), rtol=0, atol=1e-9)
    x = values((n,), "f8", 1)
    adjoint = inner(x, imgops.resample_grad(grad_output, n, antialias=True))
    np.testing.assert_allclose(inner(imgops.resample(x, m, antialias=True), grad_output), adjoint, rtol=0, atol=1e-8)


def test_pictures_large_enough_for_threads():
    grad_output = values((613, 422, 3), "f4", 0)
    for mode in MODES:
        expected = apply(transposed((307, 211), (0, 1), (613, 422), mode=mode), grad_output.astype("f8"))
        result = imgops.resample_grad(grad_output, (307, 211), mode=mode, num_threads=3)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
