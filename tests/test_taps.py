"""AxisMap and the tap tables against integers and exact fractions."""

import dataclasses
import math
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
    axis_matrix,
    coordinate,
    exact,
    keys,
    lanczos3,
    linear_matrix,
    nearest_index,
    nearest_indices_all,
    nearest_matrix,
    to_float,
    triangle_matrix,
    windowed_matrix,
)
from strategies import SCALES, offsets, scales

import imgops
from imgops.taps import axis_taps

lengths = st.integers(1, 40)


def with_rounding(axis_map, rounding):
    return imgops.AxisMap(axis_map.scale, axis_map.input_offset, axis_map.output_offset, rounding)


def conventional(name, n, m, scale=None, rounding="half_down"):
    return with_rounding(imgops.get_convention(name).axis_map(n, m, scale=scale), rounding)


def assert_dense(taps, matrix):
    """Float64 weights to the last bit of one, and nothing where the exact weight is nothing."""
    dense, expected = taps.dense(), to_float(matrix)
    assert dense.dtype == np.float64
    assert dense.shape == matrix.shape == (taps.output_length, taps.input_length)
    np.testing.assert_allclose(dense, expected, rtol=0, atol=2.0**-52)
    assert not dense[matrix == 0].any()
    assert dense[expected > 2.0**-53].all()


def assert_consistent(taps):
    """starts, counts, row() and dense() tell the same story, and no row leaves the axis."""
    assert taps.starts.dtype == taps.counts.dtype == np.int64
    assert taps.starts.shape == taps.counts.shape == (taps.output_length,)
    dense = taps.dense()
    for o in range(taps.output_length):
        start, weights = taps.row(o)
        assert start == taps.starts[o]
        assert len(weights) == taps.counts[o]
        assert 0 <= start <= start + len(weights) <= taps.input_length
        row = np.zeros(taps.input_length)
        row[start : start + len(weights)] = weights
        np.testing.assert_array_equal(row, dense[o])


# Nearest


def padded_indices(tables, longest):
    rows = np.zeros((len(tables), longest), np.int64)
    for row, taps in zip(rows, tables, strict=True):
        row[: taps.output_length] = taps.starts
    return rows


@pytest.mark.parametrize("n_range", [(1, 17), (17, 33), (33, 49), (49, 65)], ids=str)
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("convention", ["half_pixel", "asymmetric", "align_corners"])
def test_nearest_of_every_pair_of_sizes_to_64(convention, rounding, n_range):
    m = np.arange(1, 65)
    mask = np.arange(64) < m[:, None]
    for n in range(*n_range):
        tables = [axis_taps(n, int(k), conventional(convention, n, int(k), None, rounding), mode="nearest") for k in m]
        expected = nearest_indices_all(convention, rounding, np.full(64, n), m)
        np.testing.assert_array_equal(padded_indices(tables, 64) * mask, expected * mask, err_msg=f"input length {n}")
        assert all((taps.counts == 1).all() for taps in tables)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("convention", CONVENTIONS)
@given(n=st.integers(1, 64), m=st.integers(1, 64))
def test_nearest_of_every_convention(convention, rounding, n, m):
    taps = axis_taps(n, m, conventional(convention, n, m, None, rounding), mode="nearest")
    expected = [nearest_index(coordinate(convention, n, m, o), n, rounding) for o in range(m)]
    np.testing.assert_array_equal(taps.starts, expected)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_resample_moves_by_these_indices(rounding):
    for n in range(1, 65, 3):
        x = np.arange(n, dtype=np.uint8)
        for m in range(1, 65, 3):
            expected = nearest_indices_all("half_pixel", rounding, np.array([n]), np.array([m]))[0]
            np.testing.assert_array_equal(imgops.resample(x, m, mode="nearest", rounding=rounding), expected)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@given(n=lengths, m=lengths, scale=scales, input_offset=offsets, output_offset=offsets)
def test_nearest_of_any_axis_map(rounding, n, m, scale, input_offset, output_offset):
    axis_map = imgops.AxisMap(scale, input_offset, output_offset, rounding)
    xs = [affine_coordinate(scale, input_offset, output_offset, o) for o in range(m)]
    taps = axis_taps(n, m, axis_map, mode="nearest")
    assert_consistent(taps)
    assert_dense(taps, nearest_matrix(xs, n, rounding))


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_nearest_of_huge_axes_is_exact(rounding):
    """Products of lengths near 2**40 pass 2**63; the last outputs show any rounding or wrapping."""
    n, m = 3, 5
    for factor in (2**31, 2**40 + 1, 10**15 + 37):
        axis_map = imgops.AxisMap(Fraction(m * factor, n * factor + 1), HALF, -HALF, rounding)
        xs = [axis_map.coordinate(o) for o in range(m)]
        assert xs == [affine_coordinate(Fraction(m * factor, n * factor + 1), HALF, -HALF, o) for o in range(m)]
        taps = axis_taps(n, m, axis_map, mode="nearest")
        np.testing.assert_array_equal(taps.starts, [nearest_index(x, n, rounding) for x in xs])


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_offsets_far_outside_clamp_to_the_edge(mode):
    for offset, index in ((10**30, 0), (-(10**30), 6), (1e300, 0), (-1e300, 6)):
        taps = axis_taps(7, 4, imgops.AxisMap(2, offset, 0), mode=mode)
        np.testing.assert_array_equal(taps.dense(), np.eye(7)[[index] * 4])


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_extreme_scales(mode):
    for scale, index in ((1e-300, 6), (Fraction(1, 10**40), 6), (1e300, 0), (10**40, 0)):
        taps = axis_taps(7, 4, imgops.AxisMap(scale, 0, Fraction(-1, 2)), mode=mode)
        expected = nearest_matrix if mode == "nearest" else linear_matrix
        xs = [affine_coordinate(scale, 0, Fraction(-1, 2), o) for o in range(4)]
        np.testing.assert_allclose(taps.dense(), to_float(expected(xs, 7)), rtol=1e-15)
        assert taps.starts[3] == index


# The printed tables

GOLDEN_NEAREST = {
    # (n, m): asymmetric floor, half_pixel half_up, half_down, floor, ceil, align_corners half_up, half_down
    (3, 6): ("001122", "001122", "001122", "000112", "011222", "001122", "001122"),
    (6, 3): ("024", "135", "024", "024", "135", "035", "025"),
    (4, 2): ("02", "13", "02", "02", "13", "03", "03"),
    (2, 3): ("001", "011", "001", "001", "011", "011", "001"),
    (3, 2): ("01", "02", "02", "01", "12", "02", "02"),
    (4, 3): ("012", "023", "013", "012", "123", "023", "013"),
    (8, 3): ("025", "146", "136", "036", "147", "047", "037"),
    (5, 7): ("0012234", "0112334", "0112334", "0012234", "0122344", "0112334", "0112334"),
    (4, 8): ("00112233", "00112233", "00112233", "00011223", "01122333", "00112233", "00112233"),
    (2, 1): ("0", "1", "0", "0", "1", None, None),
    (1, 3): ("000", "000", "000", "000", "000", None, None),
}
GOLDEN_COLUMNS = (
    ("asymmetric", "floor"),
    ("half_pixel", "half_up"),
    ("half_pixel", "half_down"),
    ("half_pixel", "floor"),
    ("half_pixel", "ceil"),
    ("align_corners", "half_up"),
    ("align_corners", "half_down"),
)


@pytest.mark.parametrize(("column", "name"), list(enumerate(GOLDEN_COLUMNS)), ids=str)
def test_printed_nearest_indices(column, name):
    convention, rounding = name
    for (n, m), row in GOLDEN_NEAREST.items():
        if row[column] is not None:
            out = imgops.resample(np.arange(n), m, mode="nearest", convention=convention, rounding=rounding)
            assert "".join(map(str, out)) == row[column], (n, m)


@pytest.mark.parametrize(
    ("n", "m", "scale", "rows", "sums"),
    [
        (2, 4, None, [(1, 0), (3 / 4, 1 / 4), (1 / 4, 3 / 4), (0, 1)], [2, 2]),
        (4, 2, None, [(1 / 2, 1 / 2, 0, 0), (0, 0, 1 / 2, 1 / 2)], [1 / 2] * 4),
        (3, 5, None, [(1, 0, 0), (3 / 5, 2 / 5, 0), (0, 1, 0), (0, 2 / 5, 3 / 5), (0, 0, 1)], [8 / 5, 9 / 5, 8 / 5]),
        (2, 1, None, [(1 / 2, 1 / 2)], [1 / 2, 1 / 2]),
        (1, 3, None, [(1,), (1,), (1,)], [3]),
        (2, 5, 2, [(1, 0), (3 / 4, 1 / 4), (1 / 4, 3 / 4), (0, 1), (0, 1)], [2, 3]),
    ],
)
def test_printed_linear_weights_and_their_column_sums(n, m, scale, rows, sums):
    taps = axis_taps(n, m, imgops.get_convention("half_pixel").axis_map(n, m, scale=scale))
    np.testing.assert_allclose(taps.dense(), rows, rtol=1e-15)
    grad = imgops.resample_grad(np.ones(m), n, scale=scale)
    np.testing.assert_allclose(grad, sums, rtol=1e-15)


# Linear


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(n=lengths, m=lengths)
def test_linear_of_every_convention(convention, n, m):
    taps = axis_taps(n, m, imgops.get_convention(convention).axis_map(n, m))
    assert_consistent(taps)
    assert_dense(taps, axis_matrix(n, m, convention=convention))


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(n=lengths, m=lengths, scale=scales)
def test_linear_with_a_scale_of_its_own(convention, n, m, scale):
    taps = axis_taps(n, m, imgops.get_convention(convention).axis_map(n, m, scale=scale and exact(scale)))
    assert_dense(taps, axis_matrix(n, m, convention=convention, scale=scale))


@given(n=lengths, m=lengths, scale=scales, input_offset=offsets, output_offset=offsets)
def test_linear_of_any_axis_map(n, m, scale, input_offset, output_offset):
    xs = [affine_coordinate(scale, input_offset, output_offset, o) for o in range(m)]
    taps = axis_taps(n, m, imgops.AxisMap(scale, input_offset, output_offset))
    assert_consistent(taps)
    assert_dense(taps, linear_matrix(xs, n))


@given(n=lengths, m=lengths)
def test_antialiased_linear_is_pillows_triangle(n, m):
    taps = axis_taps(n, m, imgops.get_convention("half_pixel").axis_map(n, m), antialias=True)
    assert_consistent(taps)
    np.testing.assert_allclose(taps.dense(), to_float(triangle_matrix(n, m)), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("convention", CONVENTIONS)
@given(n=lengths, m=lengths, scale=st.none() | scales)
def test_cubic_of_every_convention(convention, n, m, scale):
    axis_map = imgops.get_convention(convention).axis_map(n, m, scale=scale and exact(scale))
    taps = axis_taps(n, m, axis_map, mode="cubic")
    assert_consistent(taps)
    expected = axis_matrix(n, m, mode="cubic", convention=convention, scale=scale)
    np.testing.assert_allclose(taps.dense(), to_float(expected), rtol=0, atol=1e-14)
    rows, columns = np.nonzero(expected == 0)
    assert abs(taps.dense()[rows, columns]).max(initial=0) < 1e-15


@pytest.mark.parametrize("antialias", [False, True])
@given(n=lengths, m=lengths)
def test_lanczos_and_antialiased_cubic(antialias, n, m):
    axis_map = imgops.get_convention("half_pixel").axis_map(n, m)
    taps = axis_taps(n, m, axis_map, mode="lanczos3", antialias=antialias)
    assert_consistent(taps)
    np.testing.assert_allclose(taps.dense(), windowed_matrix(n, m, lanczos3, antialias), rtol=0, atol=1e-13)
    if antialias:
        taps = axis_taps(n, m, axis_map, mode="cubic", antialias=True)
        expected = windowed_matrix(n, m, lambda t: keys(t, Fraction(-3, 4)))
        np.testing.assert_allclose(taps.dense(), expected, rtol=0, atol=1e-12)


def test_weights_just_beside_a_sample_keep_their_precision():
    """1e-9 beside a sample the small weight is 1e-9, to the last bit; a float coordinate would keep half its digits."""
    taps = axis_taps(9, 1, imgops.AxisMap(1, Fraction(-7) - Fraction(1, 10**9), 0))
    start, weights = taps.row(0)
    assert start == 7
    np.testing.assert_allclose(weights, [1 - 1e-9, 1e-9], rtol=2.0**-52)


# Transposes and invariants


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic", "lanczos3", "linear antialias", "cubic antialias"])
@pytest.mark.parametrize("convention", CONVENTIONS)
@given(n=lengths, m=lengths, scale=st.none() | scales)
def test_the_transposed_table_is_the_transpose(convention, mode, n, m, scale):
    axis_map = imgops.get_convention(convention).axis_map(n, m, scale=scale and exact(scale))
    taps = axis_taps(n, m, axis_map, mode=mode.split()[0], antialias="antialias" in mode)
    transpose = taps.transpose()
    assert (transpose.input_length, transpose.output_length) == (m, n)
    assert_consistent(transpose)
    np.testing.assert_array_equal(transpose.dense(), taps.dense().T)


@pytest.mark.parametrize("antialias", [False, True])
@given(n=lengths, m=lengths, scale=st.none() | scales)
def test_rows_sum_to_one_and_starts_never_fall(antialias, n, m, scale):
    taps = axis_taps(
        n, m, imgops.get_convention("half_pixel").axis_map(n, m, scale=scale and exact(scale)), antialias=antialias
    )
    np.testing.assert_allclose(taps.dense().sum(axis=1), 1, rtol=1e-14)
    assert (np.diff(taps.starts) >= 0).all()
    assert (taps.counts >= 1).all()


def test_inputs_that_no_output_reads_have_no_taps():
    taps = axis_taps(9, 3, imgops.get_convention("half_pixel").axis_map(9, 3), mode="nearest")
    np.testing.assert_array_equal(taps.transpose().counts, [0, 1, 0, 0, 1, 0, 0, 1, 0])


# AxisMap itself


def test_axis_map_defaults_are_pixel_centres():
    axis_map = imgops.AxisMap(2)
    assert (axis_map.input_offset, axis_map.output_offset, axis_map.rounding) == (HALF, -HALF, "half_down")
    assert all(isinstance(v, Fraction) for v in (axis_map.scale, axis_map.input_offset, axis_map.output_offset))


@pytest.mark.parametrize("scale", SCALES, ids=repr)
def test_axis_map_takes_the_number_that_was_meant(scale):
    assert imgops.AxisMap(scale).scale == exact(scale)
    assert imgops.AxisMap(2, scale, scale).input_offset == exact(scale)
    assert imgops.AxisMap(2, scale, scale).output_offset == exact(scale)


def test_shortest_decimals_by_hand():
    assert imgops.AxisMap(1.2).scale == Fraction(6, 5)
    assert imgops.AxisMap(np.float32(0.6)).scale == Fraction(3, 5)
    assert imgops.AxisMap(np.float16(0.1)).scale == Fraction(1, 10)
    assert imgops.AxisMap(1e-7).scale == Fraction(1, 10**7)
    assert imgops.AxisMap(math.pi).scale == Fraction(3141592653589793, 10**15)
    assert imgops.AxisMap(np.int64(3)).scale == 3


@given(scale=scales, input_offset=offsets, output_offset=offsets, o=st.integers(-5, 1000))
def test_coordinate_solves_the_relation(scale, input_offset, output_offset, o):
    axis_map = imgops.AxisMap(scale, input_offset, output_offset)
    x = axis_map.coordinate(o)
    assert isinstance(x, Fraction)
    assert (x + exact(input_offset)) * exact(scale) + exact(output_offset) == o


def test_axis_map_is_frozen_hashable_and_compared_by_value():
    one, other = imgops.AxisMap(1.2, 0.5), imgops.AxisMap(Fraction(6, 5))
    assert one == other
    assert hash(one) == hash(other)
    assert {one: "found"}[other] == "found"
    assert one != imgops.AxisMap(1.2, rounding="floor")
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        one.scale = 3


def test_axis_map_takes_onnx_names_for_rounding():
    x = np.arange(4)
    for onnx_name, name in (("round_prefer_floor", "half_down"), ("round_prefer_ceil", "half_up")):
        for convention in (
            imgops.AxisMap(Fraction(1, 2), rounding=onnx_name),
            imgops.AxisMap(Fraction(1, 2), rounding=name),
        ):
            expected = [0, 2] if name == "half_down" else [1, 3]
            assert imgops.resample(x, 2, mode="nearest", convention=convention).tolist() == expected
        assert imgops.resample(x, 2, mode="nearest", rounding=onnx_name).tolist() == expected


BAD_MAPS = [
    ({"scale": 0}, ValueError),
    ({"scale": -1}, ValueError),
    ({"scale": Fraction(-1, 3)}, ValueError),
    ({"scale": math.nan}, ValueError),
    ({"scale": math.inf}, ValueError),
    ({"scale": -0.0}, ValueError),
    ({"scale": np.float32("nan")}, ValueError),
    ({"scale": "2"}, TypeError),
    ({"scale": None}, TypeError),
    ({"scale": 2j}, TypeError),
    ({"scale": 2, "input_offset": math.nan}, ValueError),
    ({"scale": 2, "output_offset": math.inf}, ValueError),
    ({"scale": 2, "input_offset": "0.5"}, TypeError),
    ({"scale": 2, "rounding": "nearest"}, ValueError),
    ({"scale": 2, "rounding": "FLOOR"}, ValueError),
    ({"scale": 2, "rounding": None}, (TypeError, ValueError)),
]


@pytest.mark.parametrize(("arguments", "error"), BAD_MAPS, ids=str)
def test_a_bad_value_is_refused_when_the_axis_map_is_made(arguments, error):
    with pytest.raises(error, match=r"^AxisMap: [^;]+; [^;]+; .+"):
        imgops.AxisMap(**arguments)
