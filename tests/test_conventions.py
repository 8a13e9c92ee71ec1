"""Conventions by name: what each means, exactly, and how they meet the resampler."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import (
    CONVENTIONS,
    HALF,
    ROUNDINGS,
    affine_coordinate,
    apply,
    axis_matrix,
    clamp,
    coordinate,
    exact,
    linear_matrix,
    nearest_matrix,
)
from strategies import SCALES, offsets, scales, seeds, values

import imgops

lengths = st.integers(1, 30)
# A convention that takes its scale from sizes does not let a given scale move its samples.
BY_SCALE = tuple(name for name in CONVENTIONS if name != "align_corners")


def test_the_names_are_there():
    names = imgops.conventions()
    assert set(CONVENTIONS) <= set(names)
    assert len(set(names)) == len(names)
    for name in names:
        imgops.get_convention(name)


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(n=lengths, m=lengths)
def test_coordinates_are_exact(convention, n, m):
    """Compared after the clamp: outside the axis, and on an axis of one sample, formulas may differ unseen."""
    axis_map = imgops.get_convention(convention).axis_map(n, m)
    for o in range(m):
        assert clamp(axis_map.coordinate(o), n) == clamp(coordinate(convention, n, m, o), n)


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(n=lengths, m=lengths, scale=scales)
def test_coordinates_with_a_given_scale(convention, n, m, scale):
    axis_map = imgops.get_convention(convention).axis_map(n, m, scale=exact(scale))
    for o in range(m):
        assert clamp(axis_map.coordinate(o), n) == clamp(coordinate(convention, n, m, o, scale), n)


@pytest.mark.parametrize("scale", SCALES, ids=repr)
def test_a_given_scale_is_the_number_that_was_meant(scale):
    axis_map = imgops.get_convention("half_pixel").axis_map(50, 60, scale=scale)
    assert axis_map.scale == exact(scale)


def test_default_rounding_is_half_down():
    for convention in CONVENTIONS:
        assert imgops.get_convention(convention).axis_map(4, 2).rounding == "half_down"
    assert imgops.resample(np.arange(4), 2, mode="nearest").tolist() == [0, 2]


def test_align_corners_hits_both_corners():
    x = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    for m in (2, 3, 7, 20):
        out = imgops.resample(x, m, convention="align_corners")
        assert (out[0], out[-1]) == (3.0, 5.0)
    assert imgops.resample(x, 1, convention="align_corners").tolist() == [3.0]


def test_align_corners_uses_a_scale_only_for_the_size():
    x = values((5, 7), "f8", 0)
    out = imgops.resample(x, scale=(1.7, 0.6), convention="align_corners")
    assert out.shape == (8, 4)
    np.testing.assert_array_equal(out, imgops.resample(x, (8, 4), convention="align_corners"))


def test_half_pixel_symmetric_keeps_the_centre_where_half_pixel_drifts():
    """Scale 0.6 of four samples leaves 2 of 2.4 outputs; the symmetric form splits the lost 0.4 between the ends."""
    x = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(imgops.resample(x, scale=0.6, convention="half_pixel_symmetric"), [5 / 3, 10 / 3])
    np.testing.assert_allclose(imgops.resample(x, scale=0.6), [4 / 3, 3])


def test_pytorch_half_pixel_of_one_output_is_the_first_sample():
    x = np.arange(16.0).reshape(4, 4) + 1
    out = imgops.resample(x, (3, 1), convention="pytorch_half_pixel")
    np.testing.assert_allclose(out, [[5 / 3], [7], [37 / 3]])


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("convention", CONVENTIONS)
@given(h=lengths, w=lengths, size=st.tuples(lengths, lengths), seed=seeds)
def test_rounding_overrides_in_nearest(convention, rounding, h, w, size, seed):
    x = values((h, w), "u2", seed)
    ys, xs = (
        nearest_matrix([coordinate(convention, n, m, o) for o in range(m)], n, rounding).argmax(axis=1)
        for n, m in zip(x.shape, size, strict=True)
    )
    out = imgops.resample(x, size, mode="nearest", convention=convention, rounding=rounding)
    np.testing.assert_array_equal(out, x[np.ix_(ys, xs)])


@given(n=lengths, m=lengths, scale=scales, input_offset=offsets, output_offset=offsets, seed=seeds)
def test_a_raw_axis_map_is_a_convention(n, m, scale, input_offset, output_offset, seed):
    x = values((n,), "f8", seed)
    axis_map = imgops.AxisMap(scale, input_offset, output_offset, "half_up")
    xs = [affine_coordinate(scale, input_offset, output_offset, o) for o in range(m)]
    out = imgops.resample(x, m, convention=axis_map)
    np.testing.assert_allclose(out, apply({0: linear_matrix(xs, n)}, x), rtol=1e-14, atol=1e-15)
    out = imgops.resample(x, m, mode="nearest", convention=axis_map)
    np.testing.assert_array_equal(out, apply({0: nearest_matrix(xs, n, "half_up")}, x))


def test_an_axis_map_without_a_size_gives_the_size():
    x = np.arange(5.0)
    assert imgops.resample(x, convention=imgops.AxisMap(1.2)).shape == (6,)
    assert imgops.resample(x, convention=imgops.AxisMap(Fraction(1, 3))).shape == (1,)
    np.testing.assert_array_equal(imgops.resample(x, convention=imgops.AxisMap(1.2)), imgops.resample(x, scale=1.2))


def test_a_convention_per_axis():
    x = values((4, 5, 6), "f8", 0)
    matrices = {
        0: axis_matrix(4, 7, convention="asymmetric"),
        2: linear_matrix([affine_coordinate(1.7, 0.1, -0.3, o) for o in range(9)], 6),
    }
    out = imgops.resample(x, (7, 9), axes=(0, 2), convention=("asymmetric", imgops.AxisMap(1.7, 0.1, -0.3)))
    np.testing.assert_allclose(out, apply(matrices, x), rtol=1e-13, atol=1e-14)
    # The order of axes is the order of every sequence.
    swapped = imgops.resample(x, (9, 7), axes=(2, 0), convention=(imgops.AxisMap(1.7, 0.1, -0.3), "asymmetric"))
    np.testing.assert_array_equal(out, swapped)


@pytest.mark.parametrize("convention", BY_SCALE)
@given(n=lengths, m=lengths, scale=scales)
def test_size_and_scale_may_disagree(convention, n, m, scale):
    """The image is cropped or its edge repeats: the scale alone places the samples."""
    x = values((n,), "f8", n)
    out = imgops.resample(x, m, scale=scale, convention=convention)
    expected = apply({0: axis_matrix(n, m, convention=convention, scale=scale)}, x)
    np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-14)


def test_crop_and_edge_repeat_by_hand():
    x = np.array([10.0, 20.0])
    assert imgops.resample(x, 5, scale=2).tolist() == [10, 12.5, 17.5, 20, 20]
    assert imgops.resample(x, 2, scale=2).tolist() == [10, 12.5]
    assert imgops.resample(x, 5, scale=2, mode="nearest").tolist() == [10, 10, 20, 20, 20]
    assert imgops.resample(x, 1, scale=2, mode="nearest").tolist() == [10]


def test_directml_equals_half_pixel_and_folds_into_offsets():
    """Half up of pixel centres is floor with no input offset; half down is ceil with an input offset of one."""
    for n, m in ((4, 2), (5, 7), (8, 3), (3, 8), (6, 6)):
        x, scale = np.arange(n), Fraction(m, n)

        def nearest(convention, rounding=None, x=x, m=m):
            return imgops.resample(x, m, mode="nearest", convention=convention, rounding=rounding).tolist()

        assert nearest("half_pixel", "half_up") == nearest(imgops.AxisMap(scale, 0, -HALF, "floor"))
        assert nearest("half_pixel", "half_down") == nearest(imgops.AxisMap(scale, 1, -HALF, "ceil"))
        assert nearest("half_pixel", "half_up") == nearest("tf_half_pixel_for_nn", "floor")
        assert nearest("directml") == nearest("half_pixel")
        for rounding in ("floor", "ceil"):
            assert nearest("directml", rounding) == nearest("half_pixel", rounding)


@given(
    n=lengths,
    m=lengths,
    ends=st.tuples(*[st.fractions(-1, 2, max_denominator=20)] * 2).filter(lambda ends: ends[0] < ends[1]),
    seed=seeds,
)
def test_crop_and_resize_of_a_region_of_interest(n, m, ends, seed):
    b, e = ends
    xs = [b * (n - 1) + o * (e - b) * (n - 1) / (m - 1) if m > 1 else (b + e) * (n - 1) / 2 for o in range(m)]
    axis_map = imgops.get_convention("tf_crop_and_resize").with_roi(b, e).axis_map(n, m)
    for o, x in enumerate(xs):
        assert clamp(axis_map.coordinate(o), n) == clamp(x, n)
    x = values((n,), "f8", seed)
    out = imgops.resample(x, m, convention=axis_map)
    np.testing.assert_allclose(out, apply({0: linear_matrix(xs, n)}, x), rtol=1e-13, atol=1e-14)


OWN_ARITHMETIC = [name for name in imgops.conventions() if imgops.get_convention(name).has_own_arithmetic]


@pytest.mark.parametrize("convention", OWN_ARITHMETIC)
def test_arithmetic_of_its_own_stays_within_rounding_of_the_formula(convention):
    """Float32 positions of short axes are off by 1e-5 of a sample at most."""
    row = imgops.get_convention(convention)
    if "linear" not in row.modes:
        pytest.skip(f"{convention} has no linear")
    for n, m in ((5, 8), (8, 11), (7, 7), (1, 4), (4, 4), (23, 31)):
        x = np.arange(n, dtype="f8")
        out = imgops.resample(x, m, convention=convention)
        expected = [float(clamp(row.axis_map(n, m).coordinate(o), n)) for o in range(m)]
        np.testing.assert_allclose(out, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("convention", OWN_ARITHMETIC)
def test_arithmetic_of_its_own_has_a_rounding_of_its_own(convention):
    if "nearest" not in imgops.get_convention(convention).modes:
        pytest.skip(f"{convention} has no nearest")
    with pytest.raises(ValueError, match=rf"rounding.*{convention}.*; .+"):
        imgops.resample(np.zeros((4, 4)), (3, 3), mode="nearest", convention=convention, rounding="floor")
