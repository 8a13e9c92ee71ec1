"""ResamplePlan: the same bits as the functions, exact input regions, windows bit-equal to the whole."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import CONVENTIONS, apply, assert_same_bits, axis_matrix, lanczos3, triangle_matrix, windowed_matrix
from strategies import FLOATS, WEIGHTED, dtype_name, examples, layouts, resample_cases, scales, seeds, values

import imgops

KINDS = (
    {"mode": "nearest"},
    {"mode": "linear"},
    {"mode": "linear", "antialias": True},
    {"mode": "cubic"},
    {"mode": "lanczos3", "antialias": True},
)


@st.composite
def regions(draw, shape):
    """A region of at least one element: a slice per axis."""
    bounds = []
    for length in shape:
        start = draw(st.integers(0, length - 1))
        bounds.append(slice(start, draw(st.integers(start + 1, length))))
    return tuple(bounds)


def plan_of(case, **options):
    shape, axes, size = case
    scale = options.pop("scale", None)
    return imgops.ResamplePlan(shape, size, axes=axes, scale=scale and [scale] * len(axes), **options)


@given(
    case=resample_cases(),
    kind=st.sampled_from(KINDS),
    convention=st.sampled_from(CONVENTIONS),
    dtype=st.sampled_from(WEIGHTED),
    scale=st.none() | scales,
    seed=seeds,
    layout=layouts(),
)
@examples(120)
def test_a_plan_gives_the_bits_of_resample(case, kind, convention, dtype, scale, seed, layout):
    shape, axes, size = case
    options = {**kind, "convention": convention}
    plan = plan_of(case, scale=scale, **options)
    x = values(shape, dtype, seed)
    expected = imgops.resample(x, size, axes=axes, scale=scale and [scale] * len(axes), **options)
    assert (plan.input_shape, plan.output_shape) == (shape, expected.shape)
    for _ in range(2):
        assert_same_bits(plan(layout(x)), expected)
    out = np.empty_like(expected)
    assert plan(x, out=out) is out
    assert_same_bits(out, expected)


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@given(case=resample_cases(), kind=st.sampled_from(KINDS), seed=seeds)
def test_a_plans_gradient_gives_the_bits_of_resample_grad(dtype, case, kind, seed):
    shape, axes, _ = case
    plan = plan_of(case, **kind)
    grad_output = values(plan.output_shape, dtype, seed)
    input_size = [shape[axis] for axis in axes]
    expected = imgops.resample_grad(grad_output, input_size, axes=axes, **kind)
    assert_same_bits(plan.grad(grad_output), expected)
    out = values(shape, dtype, seed + 1)
    summed = out.copy()
    imgops.resample_grad(grad_output, input_size, axes=axes, out=summed, accumulate=True, **kind)
    assert plan.grad(grad_output, out=out, accumulate=True) is out
    assert_same_bits(out, summed)


def test_one_plan_serves_every_dtype():
    plan = imgops.ResamplePlan((5, 7, 3), (8, 4))
    for dtype in WEIGHTED:
        x = values((5, 7, 3), dtype, 0)
        assert_same_bits(plan(x), imgops.resample(x, (8, 4)))
    plan = imgops.ResamplePlan((5, 7, 3), (8, 4), mode="nearest")
    x = np.arange(105).astype("M8[s]").reshape(5, 7, 3)
    assert_same_bits(plan(x), imgops.resample(x, (8, 4), mode="nearest"))


def test_plans_choose_axes_as_resample_does():
    assert imgops.ResamplePlan((2, 5, 7, 3), (4, 6)).output_shape == (2, 4, 6, 3)
    assert imgops.ResamplePlan((2, 3, 5, 7), scale=2, data_format="NCHW").output_shape == (2, 3, 10, 14)
    assert imgops.ResamplePlan((5, 7), (4, 6)).output_shape == (4, 6)
    assert imgops.ResamplePlan([5, 7, 3], (4, 6, 2)).output_shape == (4, 6, 2)
    assert imgops.ResamplePlan((5,), convention=imgops.AxisMap(1.2)).output_shape == (6,)


def hull(matrix, part):
    """First and past-the-last column with a weight in any of these rows."""
    columns = np.flatnonzero((matrix[part] != 0).any(axis=0))
    return slice(int(columns[0]), int(columns[-1]) + 1)


def matrix_of(kind, n, m, **options):
    if kind["mode"] == "lanczos3":
        return windowed_matrix(n, m, lanczos3)
    if kind.get("antialias"):
        return triangle_matrix(n, m)
    return axis_matrix(n, m, mode=kind["mode"], **options)


def as_slices(region):
    assert isinstance(region, tuple)
    assert all(isinstance(part, slice) and part.step in (None, 1) for part in region)
    return tuple(slice(part.start, part.stop) for part in region)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(
    case=resample_cases(max_length=9), convention=st.sampled_from(CONVENTIONS), scale=st.none() | scales, data=st.data()
)
def test_input_region_is_the_exact_hull_of_what_is_read(kind, case, convention, scale, data):
    shape, axes, size = case
    options = {} if kind.get("antialias") else {"convention": convention, "scale": scale}
    plan = plan_of(case, **kind, **options)
    region = data.draw(regions(plan.output_shape))
    expected = list(region)
    for axis, m in zip(axes, size, strict=True):
        expected[axis] = hull(matrix_of(kind, shape[axis], m, **options), region[axis])
    assert as_slices(plan.input_region(region)) == tuple(expected)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(
    case=resample_cases(max_length=9),
    convention=st.sampled_from(CONVENTIONS),
    scale=st.none() | scales,
    dtype=st.sampled_from(WEIGHTED),
    seed=seeds,
    data=st.data(),
)
@examples(80)
def test_a_window_is_bit_equal_to_the_whole(kind, case, convention, scale, dtype, seed, data):
    plan = plan_of(case, **kind, convention=convention, scale=scale)
    x = values(plan.input_shape, dtype, seed)
    whole = plan(x)
    region = data.draw(regions(plan.output_shape))
    window, part = plan.window(region), plan.input_region(region)
    assert window.input_shape == x[part].shape
    assert window.output_shape == whole[region].shape
    assert_same_bits(window(x[part]), whole[region])
    assert_same_bits(window(x[part].copy()), whole[region])
    # A window of a window is a window.
    inner = data.draw(regions(window.output_shape))
    assert_same_bits(window.window(inner)(x[part][window.input_region(inner)]), whole[region][inner])


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(case=resample_cases(), seed=seeds, data=st.data())
def test_a_windows_gradient_is_its_own_adjoint(kind, case, seed, data):
    shape, axes, size = case
    plan = plan_of(case, **kind)
    region = data.draw(regions(plan.output_shape))
    part = plan.input_region(region)
    grad_output = values(tuple(s.stop - s.start for s in region), "f8", seed)
    matrices = {
        axis: matrix_of(kind, shape[axis], m)[region[axis], part[axis]].T for axis, m in zip(axes, size, strict=True)
    }
    grad = plan.window(region).grad(grad_output)
    np.testing.assert_allclose(grad, apply(matrices, grad_output), rtol=1e-12, atol=1e-13)


def chunks(length, steps):
    """Cut an axis into pieces of these lengths, in turn."""
    edges, step = [0], itertools.cycle(steps)
    while edges[-1] < length:
        edges.append(min(length, edges[-1] + next(step)))
    return [slice(*pair) for pair in itertools.pairwise(edges)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("size", [(61, 47), (11, 9), (29, 80), (1, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4"])
def test_any_chunking_equals_the_whole(dtype, size, kind):
    x = values((37, 41, 3), dtype, 0)
    plan = imgops.ResamplePlan(x.shape, size, **kind)
    whole = plan(x)
    out = np.zeros_like(whole)
    for rows, columns in itertools.product(chunks(size[0], (1, 7, 3, 16)), chunks(size[1], (5, 1, 12))):
        region = (rows, columns, slice(0, 3))
        plan.window(region)(x[plan.input_region(region)], out=out[region])
    assert_same_bits(out, whole)


@pytest.mark.parametrize(
    ("kind", "n", "m"),
    [
        (KINDS[0], 400_001, 300_007),
        (KINDS[1], 300_007, 400_001),
        (KINDS[2], 300_001, 270_007),
        (KINDS[3], 270_007, 300_001),
        (KINDS[2], 5, 300_000),
        (KINDS[4], 300_000, 5),
    ],
    ids=str,
)
def test_windows_of_long_axes(kind, n, m):
    x = values((2, n), "f4", 0)
    plan = imgops.ResamplePlan(x.shape, m, axes=1, **kind)
    whole = plan(x)
    for start, stop in ((0, m), (0, 1), (m - 2, m), (m // 3, m // 3 + 2), (1, m - 1)):
        region = (slice(0, 2), slice(start, stop))
        part = plan.input_region(region)
        assert_same_bits(plan.window(region)(x[part]), whole[region])
        # The hull is tight: its ends are read.
        marked = np.zeros((2, n), "f4")
        marked[:, [part[1].start, part[1].stop - 1]] = np.nan
        read = np.isnan(plan(marked)[region])
        assert read[:, 0].all()
        assert read[:, -1].all()


def test_regions_read_like_slices():
    plan = imgops.ResamplePlan((5, 7, 3), (10, 14))
    every = (slice(0, 10), slice(0, 14), slice(0, 3))
    assert as_slices(plan.input_region((slice(None),) * 3)) == as_slices(plan.input_region(every))
    tail = (slice(-3, None), slice(None, -4), slice(0, 3))
    assert as_slices(plan.input_region(tail)) == as_slices(plan.input_region((slice(7, 10), slice(0, 10), slice(0, 3))))
    assert plan.window(tail).output_shape == (3, 10, 3)


def test_a_plan_of_no_elements():
    plan = imgops.ResamplePlan((0, 5, 7, 3), (4, 6))
    assert plan(np.zeros((0, 5, 7, 3), "u1")).shape == (0, 4, 6, 3)
    assert plan.grad(np.zeros((0, 4, 6, 3))).shape == (0, 5, 7, 3)


def test_a_plan_refuses_other_shapes():
    plan = imgops.ResamplePlan((5, 7, 3), (4, 6))
    for shape in ((7, 5, 3), (5, 7), (1, 5, 7, 3), (4, 6, 3)):
        with pytest.raises(ValueError, match="5"):
            plan(np.zeros(shape, "f4"))
    out = np.full((4, 6, 2), 7, "f4")
    with pytest.raises(ValueError, match="4"):
        plan(np.zeros((5, 7, 3), "f4"), out=out)
    with pytest.raises(ValueError, match="4"):
        plan.grad(np.zeros((5, 7, 3), "f4"))
    assert (out == 7).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=dtype_name)
@given(
    case=resample_cases(max_length=9),
    kind=st.sampled_from(KINDS),
    convention=st.sampled_from((*CONVENTIONS, "torch", "tf1", "pillow")),
    scale=st.none() | scales,
    seed=seeds,
    data=st.data(),
)
@examples(80)
def test_a_part_of_the_gradient_is_bit_equal_to_the_whole(dtype, case, kind, convention, scale, seed, data):
    if kind["mode"] not in imgops.get_convention(convention).modes:
        kind = {"mode": "linear"}
    plan = plan_of(case, **kind, convention=convention, scale=scale)
    grad_output = values(plan.output_shape, dtype, seed)
    whole = plan.grad(grad_output)
    region = data.draw(regions(plan.input_shape))
    window, part = plan.grad_window(region), as_slices(plan.grad_region(region))
    assert (window.input_shape, window.output_shape) == (whole[region].shape, grad_output[part].shape)
    assert_same_bits(window.grad(grad_output[part]), whole[region])
    # The rest of the output has no part in it.
    rest = np.zeros_like(grad_output)
    rest[part] = grad_output[part]
    np.testing.assert_array_equal(plan.grad(rest)[region], whole[region])
    out = values(whole.shape, dtype, seed + 1)
    expected = plan.grad(grad_output, out=out.copy(), accumulate=True)[region]
    assert_same_bits(window.grad(grad_output[part], out=out[region], accumulate=True), expected)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(case=resample_cases(), seed=seeds, data=st.data())
def test_parts_of_the_input_add_up_to_the_output(kind, case, seed, data):
    plan = plan_of(case, **kind)
    x = values(plan.input_shape, "f8", seed)
    region = data.draw(regions(plan.input_shape))
    alone = np.zeros_like(x)
    alone[region] = x[region]
    expected = plan(alone)[plan.grad_region(region)]
    np.testing.assert_allclose(plan.grad_window(region)(x[region]), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(("kind", "n", "m"), [(KINDS[0], 400_001, 300_007), (KINDS[2], 300_001, 270_007)], ids=str)
def test_parts_of_the_gradient_of_a_long_axis(kind, n, m):
    grad_output = values((2, m), "f4", 0)
    plan = imgops.ResamplePlan((2, n), m, axes=1, **kind)
    whole = plan.grad(grad_output)
    for start, stop in ((0, 1), (n - 2, n), (n // 3, n // 3 + 2), (1, n - 1)):
        region = (slice(0, 2), slice(start, stop))
        assert_same_bits(plan.grad_window(region).grad(grad_output[plan.grad_region(region)]), whole[region])


def test_a_part_of_the_gradient_names_its_region():
    plan = imgops.ResamplePlan((5, 7), (10, 14))
    for method in (plan.grad_region, plan.grad_window):
        with pytest.raises(ValueError, match="input_region must have one slice per axis, 2; got 1"):
            method((slice(0, 2),))
        with pytest.raises(ValueError, match="input_region must not be empty"):
            method((slice(0, 2), slice(7, 9)))


def test_what_zero_weights_alone_read_is_zero_of_one_sign():
    # Every second input is read with weights of zero: by a window it is read by nothing.
    plan = imgops.ResamplePlan((5, 14), (3,), axes=0, mode="cubic", convention="asymmetric", scale=0.5)
    grad_output = -np.ones((3, 14), "f4")
    whole = plan.grad(grad_output)
    assert (whole[1::2] == 0).all()
    assert not np.signbit(whole[1::2]).any()
    for columns in (slice(0, 3), slice(3, 14), slice(13, 14)):
        for rows in (slice(0, 5), slice(1, 2), slice(1, 4)):
            part = plan.grad_region((rows, columns))
            assert_same_bits(plan.grad_window((rows, columns)).grad(grad_output[part]), whole[rows, columns])
