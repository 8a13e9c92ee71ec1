"""Small inputs on which some library has been wrong, with the right answers in exact arithmetic."""

import contextlib
import os
from fractions import Fraction

import numpy as np
import pytest

import imgops


def ramp(*shape, start=0, dtype="f8"):
    return np.arange(start, start + int(np.prod(shape)), dtype=dtype).reshape(shape)


def nearest(x, size=None, **options):
    return imgops.resample(x, size, mode="nearest", **options).tolist()


# Depth and space


def test_dcr_and_crd_of_two_channels():
    x = ramp(1, 8, 1, 2, dtype="i4")
    out = imgops.depth_to_space(x, 2, data_format="NCHW", mode="DCR")
    assert out.tolist() == [[[[0, 4, 1, 5], [8, 12, 9, 13]], [[2, 6, 3, 7], [10, 14, 11, 15]]]]
    out = imgops.depth_to_space(x, 2, data_format="NCHW", mode="CRD")
    assert out.tolist() == [[[[0, 2, 1, 3], [4, 6, 5, 7]], [[8, 10, 9, 11], [12, 14, 13, 15]]]]


def test_block_3_of_two_channels():
    x = ramp(18, 1, 1, dtype="u1")
    out = imgops.depth_to_space(x, 3, data_format="NCHW", mode="CRD")
    assert out[0].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert imgops.pixel_shuffle(x, 3).tolist() == out.tolist()
    out = imgops.depth_to_space(x, 3, data_format="NCHW", mode="DCR")
    assert out[0].tolist() == [[0, 2, 4], [6, 8, 10], [12, 14, 16]]


def test_space_to_depth_of_three_channels_in_both_orders():
    x = ramp(2, 2, 3, start=1, dtype="i8")
    assert imgops.space_to_depth(x, 2).ravel().tolist() == list(range(1, 13))
    crd = [1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12]
    assert imgops.space_to_depth(x, 2, mode="CRD").ravel().tolist() == crd
    assert imgops.pixel_unshuffle(x.transpose(2, 0, 1), 2).ravel().tolist() == crd


@pytest.mark.parametrize("block", [10**6, 2**31, 2**40, 2**63, 10**30])
def test_an_absurd_block_is_an_error_and_no_crash(block):
    functions = (imgops.depth_to_space, imgops.space_to_depth, imgops.pixel_shuffle, imgops.pixel_unshuffle)
    for function in functions:
        for shape in ((4, 4, 4), (0, 4, 4), (4, 0, 4), (4, 4, 0), (0, 0, 4)):
            x = np.zeros(shape, "f4")
            with contextlib.suppress(ValueError):
                assert function(x, block).size == 0
                continue
            with pytest.raises(ValueError, match=r"; .+; "):
                function(x, block)


def test_five_axes_in_any_memory_order():
    x = ramp(2, 3, 8, 4, 5)
    expected = imgops.pixel_shuffle(x, 2)
    assert expected.shape == (2, 3, 2, 8, 10)
    for order in ((0, 1, 3, 4, 2), (4, 3, 2, 1, 0), (2, 0, 4, 1, 3)):
        stored = np.ascontiguousarray(x.transpose(order)).transpose(np.argsort(order))
        np.testing.assert_array_equal(imgops.pixel_shuffle(stored, 2), expected)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i8", "u8", "?", "f2", "c16"])
def test_every_integer_is_moved(dtype):
    x = (ramp(1, 1, 4) % 2).astype(dtype)
    assert imgops.depth_to_space(x, 2).dtype == np.dtype(dtype)
    assert imgops.depth_to_space(x, 2)[..., 0].tolist() == x.reshape(2, 2).tolist()


def test_tensorflows_documented_examples():
    assert imgops.depth_to_space(ramp(1, 1, 1, 4, start=1), 2).tolist() == [[[[1], [2]], [[3], [4]]]]
    out = imgops.depth_to_space(ramp(1, 1, 1, 12, start=1), 2)
    assert out.tolist() == [[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]]
    out = imgops.depth_to_space(ramp(1, 2, 2, 4, start=1), 2)
    assert out.shape == (1, 4, 4, 1)
    space = [[1, 2, 5, 6], [3, 4, 7, 8], [9, 10, 13, 14], [11, 12, 15, 16]]
    assert out[0, :, :, 0].tolist() == space
    assert imgops.space_to_depth(out, 2).tolist() == ramp(1, 2, 2, 4, start=1).tolist()

    depth = np.array([1, 10, 2, 20, 3, 30, 4, 40]).reshape(1, 1, 1, 8)
    assert imgops.depth_to_space(depth, 2).tolist() == [[[[1, 10], [2, 20]], [[3, 30], [4, 40]]]]
    depth = np.array([1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16]).reshape(1, 1, 1, 16)
    assert imgops.depth_to_space(depth, 4)[0, :, :, 0].tolist() == space


@pytest.mark.parametrize("case", [(3, 2, 3, 8, 2), (3, 2, 3, 4, 3), (3, 2, 3, 8, 3), (5, 7, 11, 12, 2)], ids=str)
def test_nchw_vect_c_is_nhwc_with_channels_in_fours(case):
    n, h, w, channels, block = case
    nhwc = np.random.default_rng(0).integers(-128, 128, (n, h, w, channels * block**2), dtype=np.int8)

    def vect_c(x):
        return x.reshape(*x.shape[:3], -1, 4).transpose(0, 3, 1, 2, 4)

    out = imgops.depth_to_space(vect_c(nhwc), block, data_format="NCHW_VECT_C")
    np.testing.assert_array_equal(out, vect_c(imgops.depth_to_space(nhwc, block)))
    np.testing.assert_array_equal(imgops.space_to_depth(out, block, data_format="NCHW_VECT_C"), vect_c(nhwc))


DIRECTML_SPACE = {
    "DCR": (
        "0 18 1 19 2 20 / 36 54 37 55 38 56 / 3 21 4 22 5 23 / 39 57 40 58 41 59",
        "9 27 10 28 11 29 / 45 63 46 64 47 65 / 12 30 13 31 14 32 / 48 66 49 67 50 68",
    ),
    "CRD": (
        "0 9 1 10 2 11 / 18 27 19 28 20 29 / 3 12 4 13 5 14 / 21 30 22 31 23 32",
        "36 45 37 46 38 47 / 54 63 55 64 56 65 / 39 48 40 49 41 50 / 57 66 58 67 59 68",
    ),
}


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_directmls_documented_example(mode):
    depth = (9 * np.arange(8)[:, None, None] + ramp(2, 3)).astype(np.uint32)[None]
    space = [[[int(value) for value in row.split()] for row in channel.split("/")] for channel in DIRECTML_SPACE[mode]]
    out = imgops.depth_to_space(depth, 2, data_format="NCHW", mode=mode)
    assert out.tolist() == [space]
    assert imgops.space_to_depth(out, 2, data_format="NCHW", mode=mode).tolist() == depth.tolist()


# Nearest


def test_shrinking_by_pixel_centres_and_by_corners():
    assert nearest(ramp(5), 3, convention="asymmetric", rounding="floor") == [0, 1, 3]
    assert nearest(ramp(5), 3) == [0, 2, 4]


def test_coordinates_are_not_accumulated():
    for options in ({"rounding": "half_up"}, {"convention": "tf_half_pixel_for_nn", "rounding": "floor"}):
        out = nearest(ramp(128, dtype="i8"), 160, **options)
        assert out[7] == 6
        assert out == [(2 * o + 1) * 128 // 320 for o in range(160)]


def test_a_whole_coordinate_is_not_missed_from_below():
    out = nearest(ramp(26), 64, convention="asymmetric", rounding="floor")
    assert out[30:35] == [12, 12, 13, 13, 13]


def test_both_ties_of_20_to_6():
    assert nearest(ramp(20), 6, rounding="round_prefer_ceil") == [1, 5, 8, 11, 15, 18]
    assert nearest(ramp(20), 6, rounding="round_prefer_floor") == [1, 4, 8, 11, 14, 18]


def test_a_coordinate_before_the_first_sample_clamps():
    assert nearest(ramp(3) + 7, 6, rounding="floor") == [7, 7, 7, 8, 8, 9]
    assert nearest(ramp(4), 8, rounding="floor") == [0, 0, 0, 1, 1, 2, 2, 3]
    assert nearest(ramp(4), 8, rounding="ceil") == [0, 1, 1, 2, 2, 3, 3, 3]


def test_ties_are_stated():
    x = np.broadcast_to(ramp(6), (4, 6))
    assert nearest(x, (2, 3), rounding="half_down") == [[0, 2, 4]] * 2
    assert nearest(x, (2, 3), rounding="half_up") == [[1, 3, 5]] * 2
    assert nearest(x, (2, 3)) == [[0, 2, 4]] * 2


def test_directmls_resample_example():
    x = np.array([[1, 2], [3, 4]])
    assert nearest(x, (1, 3), scale=(0.5, 1.5)) == [[1, 1, 2]]
    assert nearest(x, scale=(0.5, 1.5)) == [[1, 1, 2]]
    assert nearest(x, (1, 3), scale=(0.5, 1.5), convention="directml") == [[1, 1, 2]]
    options = {"scale": (0.5, 1.5), "mode": "nearest"}
    assert imgops.resample_grad([[4.0, 5.0, 6.0]], (2, 2), **options).tolist() == [[9, 6], [0, 0]]
    maps = [imgops.AxisMap(0.5), imgops.AxisMap(1.5)]
    assert nearest(x, (1, 3), convention=maps) == [[1, 1, 2]]


# Linear


def test_two_by_two_to_four_by_four():
    x = np.array([[6.0, 7.0], [11.0, 12.0]])
    expected = [[6, 6.25, 6.75, 7], [7.25, 7.5, 8, 8.25], [9.75, 10, 10.5, 10.75], [11, 11.25, 11.75, 12]]
    assert imgops.resample(x, (4, 4)).tolist() == expected
    steps = np.arange(4) / 3
    expected = 6 + 5 * steps[:, None] + steps
    np.testing.assert_allclose(imgops.resample(x, (4, 4), convention="align_corners"), expected, rtol=1e-15)


def test_one_output_of_ten():
    assert imgops.resample(ramp(10), 1).tolist() == [4.5]
    assert imgops.resample(ramp(10), 1, convention="pytorch_half_pixel").tolist() == [0]


def test_a_scale_and_the_ratio_of_sizes_are_different_questions():
    given = imgops.resample(ramp(7), scale=1.5)
    sixths = [0, 3, 7, 11, 15, 19, 23, 27, 31, 35]
    np.testing.assert_allclose(given, np.array(sixths) / 6, rtol=1e-15, atol=1e-16)
    from_sizes = imgops.resample(ramp(7), 10)
    np.testing.assert_allclose(from_sizes, [0, 0.55, 1.25, 1.95, 2.65, 3.35, 4.05, 4.75, 5.45, 6], rtol=1e-15)


def test_integers_are_rounded_not_truncated():
    x = ramp(2, 4, start=1, dtype="u1")
    assert imgops.resample(x, scale=0.6).tolist() == [[3, 4]]
    np.testing.assert_allclose(imgops.resample(x.astype("f8"), scale=0.6), [[8 / 3, 13 / 3]], rtol=1e-15)


@pytest.mark.parametrize("convention", ["align_corners", "half_pixel", "asymmetric", "half_pixel_symmetric"])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_an_axis_of_one_sample_repeats_it(mode, convention):
    assert imgops.resample([7.0], 3, mode=mode, convention=convention).tolist() == [7, 7, 7]


def test_the_small_onnx_examples():
    x = ramp(2, 2, start=1)
    assert imgops.resample(x, (4, 4))[0].tolist() == [1, 1.25, 1.75, 2]
    x = ramp(2, 4, start=1)
    assert nearest(x, scale=0.6) == [[1, 3]]
    assert nearest(x, (1, 3)) == [[1, 2, 4]]
    x = ramp(4, start=1)
    assert nearest(x, 8, convention="align_corners", rounding="floor") == [1, 1, 1, 2, 2, 3, 3, 4]
    expected = [1, 2, 2, 3, 3, 4, 4, 4]
    assert nearest(x, 8, convention="asymmetric", rounding="round_prefer_ceil") == expected
    assert nearest(x, 8, convention="half_pixel", rounding="ceil") == expected


def test_antialias_renormalises_at_the_edges():
    out = imgops.resample([0.0, 100.0, 200.0, 40.0], 2, antialias=True)
    np.testing.assert_allclose(out, [500 / 7, 820 / 7], rtol=1e-14)


def test_a_wider_identity_matrix():
    """TensorFlow's page resizes eye(5) to (3, 5); its float32 coordinates miss the last row by one digit."""
    out = imgops.resample(np.eye(5), (3, 5))
    expected = [[2 / 3, 1 / 3, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1 / 3, 2 / 3]]
    np.testing.assert_allclose(out, expected, rtol=1e-15, atol=1e-16)
    assert nearest(ramp(5), 7, rounding="half_up") == [0, 1, 1, 2, 3, 3, 4]


# Sizes and dtypes


def test_a_ratio_is_a_ratio():
    assert imgops.resample_shape((88,), scale=Fraction(120, 88)) == (120,)
    assert imgops.resample(ramp(88), scale=Fraction(120, 88)).shape == (120,)


def test_sizes_of_scales_are_floors_of_the_decimals():
    for scale, size in ((0.1234, 3), (0.9999, 31), (1.8, 57), (1.2, 38), (np.float32(0.7), 22)):
        assert imgops.resample_shape((32,), scale=scale) == (size,)
    for n, scale, size in ((5, 1.4, 7), (10, 0.7, 7), (10, 0.1, 1), (3, np.float32(1.1) * 0 + np.float32(1.7), 5)):
        assert imgops.resample_shape((n,), scale=scale) == (size,)


@pytest.mark.parametrize("dtype", ["u2", "i2", ">u2"])
def test_sixteen_bits_stay_sixteen_bits(dtype):
    x = (ramp(16, 16) * 257 % 32768).astype(dtype)
    for mode in ("nearest", "linear"):
        out = imgops.resample(x, (32, 32), mode=mode)
        assert out.dtype.itemsize == 2
        assert len(np.unique(out)) >= 256
    assert imgops.resample(np.array([0, 65535], "u2"), 4).tolist() == [0, 16384, 49151, 65535]


# Gradients


def test_the_gradient_goes_where_the_forward_read():
    x = ramp(4, 4)
    index = int(imgops.resample(x, (1, 1), mode="nearest")[0, 0])
    grad = imgops.resample_grad(np.ones((1, 1)), (4, 4), mode="nearest")
    assert np.flatnonzero(grad).tolist() == [index]


def test_the_gradient_of_four_to_five():
    for options in ({"scale": 1.25}, {}):
        grad = imgops.resample_grad(np.ones(5), 4, mode="nearest", convention="asymmetric", rounding="floor", **options)
        assert grad.tolist() == [2, 1, 1, 1]


def test_the_gradient_is_the_same_run_after_run():
    grad_output = np.random.default_rng(0).standard_normal((67, 129, 3)).astype("f4")
    first = imgops.resample_grad(grad_output, (31, 40))
    for num_threads in (1, 2, 3, 5, 8):
        again = imgops.resample_grad(grad_output, (31, 40), num_threads=num_threads)
        np.testing.assert_array_equal(again.view("u4"), first.view("u4"))


# Size limits


@pytest.mark.skipif("IMGOPS_TEST_LARGE" not in os.environ, reason="writes 5 GB; set IMGOPS_TEST_LARGE=1 to run it")
def test_more_than_two_to_the_31_elements():
    x = np.zeros((17, 256, 260, 500), np.uint8)
    x[-1, -1] = 3
    out = imgops.resample(x, (520, 1000), data_format="NCHW", mode="nearest")
    assert out.size > 2**31
    assert (out[-1, -1] == 3).all()
    assert out[-1].sum(dtype=np.int64) == 3 * 520 * 1000
    space = imgops.space_to_depth(out, 2, data_format="NCHW")
    assert (space[-1, 255::256] == 3).all()
