"""imgops.interfaces.tensorflow against TensorFlow's documented examples and its float32 arithmetic, step by step."""

import math

import numpy as np
import pytest

import imgops
from imgops.interfaces import tensorflow

FLAGS = [(False, False), (True, False), (False, True)]
FLAG_NAMES = ["legacy", "align_corners", "half_pixel_centers"]
IMAGE_TYPES = ["int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64"]
QINT8 = np.dtype([("qint8", np.int8)])

# (depth side, its shape, space side, its shape), block 2, of the pages of tf.nn.depth_to_space and space_to_depth.
DOCUMENTED = [
    (range(1, 5), (1, 1, 1, 4), range(1, 5), (1, 2, 2, 1)),
    (range(1, 13), (1, 1, 1, 12), range(1, 13), (1, 2, 2, 3)),
    (range(1, 17), (1, 2, 2, 4), [1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16], (1, 4, 4, 1)),
    ([1, 10, 2, 20, 3, 30, 4, 40], (1, 1, 1, 8), [1, 10, 2, 20, 3, 30, 4, 40], (1, 2, 2, 2)),
]


def bfloat16():
    return pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes").bfloat16


def step(n, m, align_corners):
    """The float32 scale of image_resizer_state.h."""
    if align_corners and n > 1 and m > 1:
        return np.float32(n - 1) / np.float32(m - 1)
    return np.float32(n) / np.float32(m)


def nearest_index(o, n, m, align_corners, half_pixel):
    """The input index of resize_nearest_neighbor_op.cc."""
    r = step(n, m, align_corners)
    if half_pixel:
        return max(min(math.floor((np.float32(o) + np.float32(0.5)) * r), n - 1), 0)
    position = np.float32(o) * r
    # float64 holds a float32 plus a half exactly, so this is roundf.
    index = math.floor(float(position) + 0.5) if align_corners else math.floor(position)
    return min(index, n - 1)


def linear_position(o, n, m, align_corners, half_pixel):
    """(lower, upper, float32 fraction) of resize_bilinear_op.cc."""
    r = step(n, m, align_corners)
    half = np.float32(0.5)
    x = (np.float32(o) + half) * r - half if half_pixel else np.float32(o) * r
    low = np.floor(x)
    return max(int(low), 0), min(math.ceil(x), n - 1), x - low


def linear_matrix(n, m, flags):
    matrix = np.zeros((m, n))
    for o in range(m):
        lower, upper, fraction = linear_position(o, n, m, *flags)
        matrix[o, lower] += 1 - np.float64(fraction)
        matrix[o, upper] += np.float64(fraction)
    return matrix


def named(flags):
    return dict(zip(("align_corners", "half_pixel_centers"), flags, strict=True))


@pytest.mark.parametrize(("depth", "depth_shape", "space", "space_shape"), DOCUMENTED)
@pytest.mark.parametrize("dtype", ["int32", "float32", "uint8", "bool", "complex64"])
def test_the_documented_depth_and_space(depth, depth_shape, space, space_shape, dtype):
    depth = np.reshape(list(depth), depth_shape).astype(dtype)
    space = np.reshape(list(space), space_shape).astype(dtype)
    np.testing.assert_array_equal(tensorflow.depth_to_space(depth, 2), space)
    np.testing.assert_array_equal(tensorflow.space_to_depth(space, 2), depth)
    to_nchw = (0, 3, 1, 2)
    moved = tensorflow.depth_to_space(depth.transpose(to_nchw), 2, "NCHW")
    np.testing.assert_array_equal(moved, space.transpose(to_nchw))
    moved = tensorflow.space_to_depth(space.transpose(to_nchw), 2, data_format="NCHW")
    np.testing.assert_array_equal(moved, depth.transpose(to_nchw))


def test_block_of_four():
    depth = np.reshape([1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16], (1, 1, 1, 16))
    np.testing.assert_array_equal(tensorflow.depth_to_space(depth, 4), depth.reshape(1, 4, 4, 1))
    np.testing.assert_array_equal(tensorflow.space_to_depth(depth.reshape(1, 4, 4, 1), 4), depth)


# (batch, depth height, depth width, space channels, block): sizes that TensorFlow tests, the largest one reduced.
@pytest.mark.parametrize(
    "case", [(3, 2, 3, 8, 2), (3, 2, 3, 4, 3), (3, 2, 3, 8, 3), (5, 7, 11, 12, 2), (3, 20, 30, 32, 2)]
)
@pytest.mark.parametrize("dtype", [np.dtype(np.int8), QINT8], ids=["int8", "qint8"])
def test_vect_c_equals_nhwc(case, dtype):
    n, h, w, c, block = case
    depth = np.random.default_rng(3).integers(-128, 128, (n, h, w, c * block**2)).astype(np.int8)
    space = tensorflow.depth_to_space(depth, block)

    def to_vect_c(x):
        split = x.reshape(*x.shape[:3], x.shape[3] // 4, 4).transpose(0, 3, 1, 2, 4)
        return np.ascontiguousarray(split).view(dtype)

    moved = tensorflow.depth_to_space(to_vect_c(depth), block, "NCHW_VECT_C")
    np.testing.assert_array_equal(moved, to_vect_c(space))
    assert moved.dtype == dtype
    back = tensorflow.space_to_depth(to_vect_c(space), block, data_format="NCHW_VECT_C")
    np.testing.assert_array_equal(back, to_vect_c(depth))


def test_an_empty_batch():
    assert tensorflow.depth_to_space(np.zeros((0, 2, 3, 8)), 2).shape == (0, 4, 6, 2)
    assert tensorflow.resize_bilinear(np.zeros((0, 2, 3, 1)), (5, 7)).shape == (0, 5, 7, 1)
    assert tensorflow.resize_nearest_neighbor_grad(np.zeros((0, 2, 3, 1), np.int32), (5, 7)).shape == (0, 5, 7, 1)


@pytest.mark.parametrize("function", [tensorflow.depth_to_space, tensorflow.space_to_depth])
@pytest.mark.parametrize(
    ("error", "shape", "dtype", "arguments", "words"),
    [
        (ValueError, (1, 2, 2, 4), "float32", (1,), "block_size must be at least 2; got 1"),
        (ValueError, (1, 2, 2, 4), "float32", (0,), "at least 1"),
        (ValueError, (1, 2, 2, 4), "float32", (-2,), "at least 1"),
        (TypeError, (1, 2, 2, 4), "float32", (2.0,), "integer"),
        (ValueError, (1, 3, 3, 3), "float32", (2,), "divisible"),
        (ValueError, (2, 2, 4), "float32", (2,), "4 axes"),
        (ValueError, (1, 1, 2, 2, 4), "float32", (2,), "4 axes"),
        (ValueError, (1, 4, 2, 2), "int8", (2, "NCHW_VECT_C"), "5 axes"),
        (TypeError, (1, 4, 2, 2, 4), "uint8", (2, "NCHW_VECT_C"), "'int8' or 'qint8'"),
        (ValueError, (1, 4, 2, 2, 3), "int8", (2, "NCHW_VECT_C"), "last axis of length 4"),
        (ValueError, (1, 2, 2, 4), "float32", (2, "NHCW"), "did you mean"),
    ],
)
def test_block_errors(function, error, shape, dtype, arguments, words):
    with pytest.raises(error, match=words):
        function(np.ones(shape, dtype), *arguments)


def test_qint8_of_depth_to_space_needs_vect_c():
    x = np.zeros((1, 2, 2, 4), QINT8)
    with pytest.raises(TypeError, match="qint8"):
        tensorflow.depth_to_space(x, 2)
    assert tensorflow.space_to_depth(x, 2).dtype == QINT8


def test_the_documented_resize():
    # The page of tf.image.resize: the identity of 5 to (3, 5), float32 steps included, and to (5, 7).
    image = np.eye(5, dtype=np.float32)[None, :, :, None]
    rows = [[0.6666667, 0.3333333, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0.3333335, 0.6666665]]
    result = tensorflow.resize_bilinear(image, (3, 5), half_pixel_centers=True)[0, :, :, 0]
    np.testing.assert_allclose(result, rows, rtol=0, atol=6e-8)
    columns = np.arange(5, dtype=np.int32).reshape(1, 1, 5, 1)
    nearest = tensorflow.resize_nearest_neighbor(columns, (1, 7), half_pixel_centers=True)
    np.testing.assert_array_equal(nearest.ravel(), [0, 1, 1, 2, 3, 3, 4])


def test_both_coordinates_of_a_small_image():
    image = np.array([[6, 7], [11, 12]], np.uint8)[None, :, :, None]
    half_pixel = [[6, 6.25, 6.75, 7], [7.25, 7.5, 8, 8.25], [9.75, 10, 10.5, 10.75], [11, 11.25, 11.75, 12]]
    result = tensorflow.resize_bilinear(image, (4, 4), half_pixel_centers=True)
    np.testing.assert_array_equal(result[0, :, :, 0], half_pixel)
    third = np.arange(4) / 3
    result = tensorflow.resize_bilinear(image, (4, 4), align_corners=True)
    np.testing.assert_allclose(result[0, :, :, 0], 6 + 5 * third[:, None] + third, rtol=1e-6)
    legacy = tensorflow.resize_bilinear(image, (4, 4))
    half = np.array([0, 0.5, 1, 1])
    np.testing.assert_array_equal(legacy[0, :, :, 0], 6 + 5 * half[:, None] + half)


@pytest.mark.parametrize("flags", FLAGS, ids=FLAG_NAMES)
def test_nearest_indices(flags):
    for n in range(1, 25):
        x = np.arange(n).reshape(1, n, 1, 1)
        for m in range(1, 50):
            result = tensorflow.resize_nearest_neighbor(x, (m, 1), **named(flags))
            assert result.ravel().tolist() == [nearest_index(o, n, m, *flags) for o in range(m)], (n, m)


# Lengths at which float32 steps read another pixel than exact fractions do.
@pytest.mark.parametrize(
    ("n", "m", "flags", "o", "index", "exact"),
    [(2, 82, FLAGS[0], 41, 0, 1), (2, 83, FLAGS[1], 41, 0, 1), (2, 41, FLAGS[2], 20, 0, 1)],
)
def test_float32_steps_decide(n, m, flags, o, index, exact):
    x = np.arange(n).reshape(1, 1, n, 1)
    result = tensorflow.resize_nearest_neighbor(x, (1, m), **named(flags)).ravel()
    assert (result[o], nearest_index(o, n, m, *flags)) == (index, index)
    assert exact != index


@pytest.mark.parametrize("flags", FLAGS, ids=FLAG_NAMES)
@pytest.mark.parametrize(
    "sizes", [((5, 7), (11, 3)), ((7, 2), (7, 5)), ((3, 1), (1, 4)), ((2, 13), (1, 1)), ((4, 6), (4, 6))]
)
@pytest.mark.parametrize("channels", [1, 3])
def test_bilinear_and_its_gradient(flags, sizes, channels):
    (h, w), (oh, ow) = sizes
    random = np.random.default_rng(h * w)
    x = random.integers(-1000, 1000, (2, h, w, channels)).astype(np.float32)
    g = random.integers(-1000, 1000, (2, oh, ow, channels)).astype(np.float32)
    rows, columns = linear_matrix(h, oh, flags), linear_matrix(w, ow, flags)
    forward = np.einsum("yi,xj,nijc->nyxc", rows, columns, x.astype(np.float64))
    backward = np.einsum("yi,xj,nyxc->nijc", rows, columns, g.astype(np.float64))
    result = tensorflow.resize_bilinear(x, (oh, ow), **named(flags))
    np.testing.assert_allclose(result, forward, rtol=0, atol=5e-4)
    gradient = tensorflow.resize_bilinear_grad(g, x, **named(flags))
    np.testing.assert_allclose(gradient, backward, rtol=0, atol=2e-3)
    wide = tensorflow.resize_bilinear_grad(g, x.astype(np.float64), **named(flags))
    np.testing.assert_allclose(wide, backward, rtol=1e-12, atol=1e-9)
    assert (result.dtype, gradient.dtype, wide.dtype) == (np.float32, np.float32, np.float64)


@pytest.mark.parametrize("dtype", [*IMAGE_TYPES, "bfloat16"])
def test_types_of_images(dtype):
    dtype = np.dtype(bfloat16() if dtype == "bfloat16" else dtype)
    x = np.arange(12).reshape(1, 3, 4, 1).astype(dtype)
    bilinear = tensorflow.resize_bilinear(x, (5, 3))
    assert bilinear.dtype == np.float32
    np.testing.assert_array_equal(bilinear, tensorflow.resize_bilinear(x.astype(np.float32), (5, 3)))
    np.testing.assert_array_equal(tensorflow.resize_bilinear(x, (3, 4)), x.astype(np.float32))
    nearest = tensorflow.resize_nearest_neighbor(x, (5, 3))
    assert nearest.dtype == dtype
    np.testing.assert_array_equal(nearest, x[:, [0, 0, 1, 1, 2]][:, :, [0, 1, 2]])


def nearest_sums(g, size, flags):
    """The loop of resize_nearest_neighbor_op.cc's gradient, in float64 or int64."""
    (h, w), (oh, ow) = size, g.shape[1:3]
    sums = np.zeros((g.shape[0], h, w, g.shape[3]), np.int64 if g.dtype.kind in "iu" else np.float64)
    for y in range(oh):
        for x in range(ow):
            sums[:, nearest_index(y, h, oh, *flags), nearest_index(x, w, ow, *flags)] += g[:, y, x]
    return sums


@pytest.mark.parametrize("flags", FLAGS, ids=FLAG_NAMES)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "float16", "bfloat16", "float32", "float64"])
def test_nearest_gradient(flags, dtype):
    dtype = np.dtype(bfloat16() if dtype == "bfloat16" else dtype)
    for size, out in [((5, 7), (11, 3)), ((2, 3), (7, 13)), ((6, 4), (3, 2)), ((1, 5), (4, 1))]:
        g = np.random.default_rng(7).integers(0, 120, (2, *out, 3)).astype(dtype)
        gradient = tensorflow.resize_nearest_neighbor_grad(g, size, **named(flags))
        expected = nearest_sums(g if dtype.kind in "iu" else g.astype(np.float64), size, flags).astype(dtype)
        np.testing.assert_array_equal(gradient, expected)
        assert gradient.dtype == dtype


def test_integer_gradients_wrap_around():
    g = np.full((1, 1, 3, 1), 100, np.uint8)
    assert tensorflow.resize_nearest_neighbor_grad(g, (1, 1)).item() == 300 - 256
    g = np.full((1, 1, 3, 1), 2**30, np.int32)
    assert tensorflow.resize_nearest_neighbor_grad(g, (1, 1)).item() == 3 * 2**30 - 2**32
    g = np.full((1, 2, 2, 1), -100, ">i4")
    assert tensorflow.resize_nearest_neighbor_grad(g, (1, 1)).item() == -400


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_bilinear_gradients_round_once(dtype):
    dtype = np.dtype(bfloat16() if dtype == "bfloat16" else dtype)
    g = np.random.default_rng(5).random((1, 37, 41, 2), np.float32)
    image = np.zeros((1, 3, 2, 2), dtype)
    wide = tensorflow.resize_bilinear_grad(g, image.astype(np.float32), half_pixel_centers=True)
    narrow = tensorflow.resize_bilinear_grad(g, image, half_pixel_centers=True)
    assert narrow.dtype == dtype
    np.testing.assert_array_equal(narrow, wide.astype(dtype))


@pytest.mark.parametrize("flags", FLAGS, ids=FLAG_NAMES)
def test_the_gradients_are_adjoint(flags):
    random = np.random.default_rng(11)
    x, g = random.random((2, 5, 13, 3)), random.random((2, 17, 4, 3))
    nearest = tensorflow.resize_nearest_neighbor(x, (17, 4), **named(flags))
    gradient = tensorflow.resize_nearest_neighbor_grad(g, (5, 13), **named(flags))
    assert np.vdot(nearest, g) == pytest.approx(np.vdot(x, gradient), rel=1e-12)
    bilinear = tensorflow.resize_bilinear(x, (17, 4), **named(flags)).astype(np.float64)
    gradient = tensorflow.resize_bilinear_grad(g.astype(np.float32), x, **named(flags))
    assert np.vdot(bilinear, g) == pytest.approx(np.vdot(x, gradient), rel=1e-5)


def resizers():
    image, gradient = np.ones((1, 2, 3, 1), np.float32), np.ones((1, 4, 5, 1), np.float32)
    return [
        (tensorflow.resize_nearest_neighbor, image, (4, 5)),
        (tensorflow.resize_bilinear, image, (4, 5)),
        (tensorflow.resize_nearest_neighbor_grad, gradient, (2, 3)),
        (tensorflow.resize_bilinear_grad, gradient, image),
    ]


@pytest.mark.parametrize(("function", "first", "second"), resizers(), ids=lambda value: getattr(value, "__name__", ""))
def test_errors_of_every_resizer(function, first, second):
    with pytest.raises(ValueError, match="half_pixel_centers=True needs align_corners=False"):
        function(first, second, align_corners=True, half_pixel_centers=True)
    with pytest.raises(TypeError, match="align_corners must be True or False"):
        function(first, second, align_corners=1)
    with pytest.raises(ValueError, match="4 axes"):
        function(first[0], second)
    with pytest.raises(TypeError, match="dtype complex64"):
        function(first.astype(np.complex64), second)
    with pytest.raises(ValueError, match="must not be empty along H, W"):
        function(first[:, :0], second)


@pytest.mark.parametrize(("function", "first"), [resizer[:2] for resizer in resizers()[:3]])
@pytest.mark.parametrize(
    ("error", "size"),
    [(ValueError, 4), (ValueError, (4,)), (ValueError, (4, 5, 1)), (ValueError, (0, 5)), (TypeError, (4.0, 5))],
)
def test_errors_of_size(function, first, error, size):
    with pytest.raises(error, match="size must be"):
        function(first, size)


def test_errors_of_the_gradients():
    image, gradient = np.ones((1, 2, 3, 1), np.float32), np.ones((1, 4, 5, 1), np.float32)
    for dtype in (np.uint8, np.int32):
        with pytest.raises(TypeError, match="original_image must have dtype"):
            tensorflow.resize_bilinear_grad(gradient, image.astype(dtype))
    with pytest.raises(TypeError, match="grads must have dtype 'float32'"):
        tensorflow.resize_bilinear_grad(gradient.astype(np.float64), image)
    with pytest.raises(ValueError, match="the same N and C"):
        tensorflow.resize_bilinear_grad(gradient, np.ones((1, 2, 3, 2), np.float32))
    with pytest.raises(TypeError, match="grads must have dtype"):
        tensorflow.resize_nearest_neighbor_grad(gradient.astype(np.int64), (2, 3))


def test_errors_of_images():
    with pytest.raises(ValueError, match="must not be empty along H, W, C"):
        tensorflow.resize_bilinear(np.ones((1, 2, 3, 0)), (4, 5))
    wide = np.broadcast_to(np.uint8(1), (1, 1, 2**24, 1))
    with pytest.raises(ValueError, match="below 2\\*\\*24"):
        tensorflow.resize_nearest_neighbor(wide, (1, 1))


def test_the_conventions_are_the_rows_behind_it():
    x = np.arange(7, dtype=np.float32)
    for name, flags in zip(("tf1", "tf1_align_corners", "tf"), FLAGS, strict=True):
        direct = imgops.resample(x, 5, mode="linear", convention=name)
        through = tensorflow.resize_bilinear(x.reshape(1, 1, 7, 1), (1, 5), **named(flags))
        np.testing.assert_array_equal(direct, through.ravel())


# ---------------------------------------------------------------------------------------------------------------------
# image_resize


def test_the_documented_image_resize():
    # The page of tf.image.resize: the same values as the operators', and the largest size of the same aspect ratio.
    image = np.eye(5, dtype=np.float32)[None, :, :, None]
    rows = [[0.6666667, 0.3333333, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0.3333335, 0.6666665]]
    np.testing.assert_allclose(tensorflow.image_resize(image, [3, 5])[0, :, :, 0], rows, rtol=0, atol=6e-8)
    nearest = tensorflow.image_resize(image.astype(np.int32), [5, 7], method="nearest")
    assert nearest.dtype == np.int32
    columns = [0, 1, 1, 2, 3, 3, 4]
    np.testing.assert_array_equal(nearest[0, :, :, 0], np.eye(5)[:, columns])
    assert tensorflow.image_resize(image, [10, 20], preserve_aspect_ratio=True).shape == (1, 10, 10, 1)
    # "Antialias has no effect when upsampling."
    plain, smooth = (tensorflow.image_resize(image, [10, 5], antialias=antialias) for antialias in (False, True))
    np.testing.assert_allclose(smooth, plain, rtol=0, atol=1e-6)


def spans(n, m, kernel, radius, antialias):
    """The matrix of scale_and_translate_op.cc, in float64 instead of float32."""
    inverse = n / m
    width = max(inverse, 1) if antialias else 1
    matrix = np.zeros((m, n))
    for o in range(m):
        centre = (o + 0.5) * inverse
        for j in range(n):
            distance = abs(j + 0.5 - centre) / width
            if distance < radius:
                matrix[o, j] = kernel(distance)
    return matrix / matrix.sum(axis=1, keepdims=True)


def keys_cubic(t):
    return (1.5 * t - 2.5) * t * t + 1 if t < 1 else ((-0.5 * t + 2.5) * t - 4) * t + 2


KERNELS = {
    "bilinear": (lambda t: 1 - t, 1),
    "bicubic": (keys_cubic, 2),
    "lanczos3": (lambda t: np.sinc(t) * np.sinc(t / 3), 3),
}


@pytest.mark.parametrize("method", KERNELS)
@pytest.mark.parametrize("antialias", [False, True])
def test_image_resize_by_its_kernels(method, antialias):
    for (h, w), (oh, ow) in [
        ((5, 7), (11, 3)),
        ((7, 2), (7, 5)),
        ((3, 1), (1, 4)),
        ((2, 13), (1, 1)),
        ((4, 6), (4, 6)),
    ]:
        x = np.random.default_rng(h * w).standard_normal((2, h, w, 3)).astype(np.float32)
        rows, columns = (spans(n, m, *KERNELS[method], antialias) for n, m in ((h, oh), (w, ow)))
        expected = np.einsum("yi,xj,nijc->nyxc", rows, columns, x.astype(np.float64))
        result = tensorflow.image_resize(x, (oh, ow), method, antialias=antialias)
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected, rtol=0, atol=3e-6)
        np.testing.assert_array_equal(tensorflow.image_resize(x[1], (oh, ow), method, antialias=antialias), result[1])


@pytest.mark.parametrize("dtype", [*IMAGE_TYPES, "bfloat16"])
@pytest.mark.parametrize("method", ["bilinear", "bicubic", "lanczos3", "nearest"])
def test_types_of_image_resize(dtype, method):
    dtype = np.dtype(bfloat16() if dtype == "bfloat16" else dtype)
    x = np.arange(24).reshape(1, 4, 3, 2).astype(dtype)
    result = tensorflow.image_resize(x, (5, 6), method, antialias=True)
    assert result.dtype == (dtype if method == "nearest" else np.float32)
    wide = tensorflow.image_resize(x.astype(np.float32), (5, 6), method, antialias=True)
    np.testing.assert_array_equal(result.astype(np.float32), wide)


@pytest.mark.parametrize(
    ("shape", "size", "fitted"),
    [((7, 13), (10, 20), (10, 19)), ((5, 5), (10, 20), (10, 10)), ((9, 2), (4, 4), (4, 1)), ((4, 10), (5, 5), (2, 5))],
)
def test_the_aspect_ratio_is_kept(shape, size, fitted):
    # 9:2 to height 4 is 8 / 9 wide; 4:10 to width 5 is 2 high; 7:13 to height 10 is 18.57 wide.
    result = tensorflow.image_resize(np.zeros((*shape, 1)), size, preserve_aspect_ratio=True)
    assert result.shape == (*fitted, 1)


def test_halves_of_the_aspect_ratio_go_to_even_lengths():
    for length, rounded in [(5, 2), (7, 4), (9, 4), (11, 6)]:
        result = tensorflow.image_resize(np.zeros((length, 2, 1)), (length, 1), preserve_aspect_ratio=True)
        assert result.shape == (rounded, 1, 1)


@pytest.mark.parametrize(
    ("error", "shape", "size", "options", "words"),
    [
        (ValueError, (4, 4), (3, 3), {}, "3 or 4 axes"),
        (ValueError, (1, 1, 4, 4, 1), (3, 3), {}, "3 or 4 axes"),
        (ValueError, (1, 4, 0, 1), (3, 3), {}, "must not be empty along H, W, C"),
        (ValueError, (4, 4, 0), (3, 3), {}, "must not be empty along H, W, C"),
        (ValueError, (4, 4, 1), 3, {}, "size must be 2 integers"),
        (ValueError, (4, 4, 1), (3, 3, 3), {}, "size must be 2 integers"),
        (ValueError, (4, 4, 1), (0, 3), {}, "size must be at least 1"),
        (TypeError, (4, 4, 1), (3.0, 3), {}, "size must be an integer"),
        (ValueError, (3, 100, 1), (5, 5), {"preserve_aspect_ratio": True}, r"at least 1 everywhere; got \(0, 5\)"),
        (TypeError, (4, 4, 1), (3, 3), {"preserve_aspect_ratio": 1}, "preserve_aspect_ratio must be True or False"),
        (TypeError, (4, 4, 1), (3, 3), {"antialias": 1}, "antialias must be True or False"),
        (
            ValueError,
            (4, 4, 1),
            (3, 3),
            {"method": "area"},
            "'bilinear', 'nearest', 'bicubic' or 'lanczos3'; got 'area'",
        ),
        (ValueError, (4, 4, 1), (3, 3), {"method": "lanczos5"}, "did you mean 'lanczos3'"),
        (ValueError, (4, 4, 1), (3, 3), {"method": "Bilinear"}, "did you mean 'bilinear'"),
        (TypeError, (4, 4, 1), (3, 3), {"method": None}, "method must be"),
    ],
)
def test_errors_of_image_resize(error, shape, size, options, words):
    with pytest.raises(error, match=f"tensorflow.image_resize: .*{words}"):
        tensorflow.image_resize(np.ones(shape, np.float32), size, **options)


def test_image_resize_refuses_other_types():
    for dtype in ("bool", "uint32", "uint64", "complex64"):
        with pytest.raises(TypeError, match="images must have dtype"):
            tensorflow.image_resize(np.ones((4, 4, 1), dtype), (3, 3))
    assert tensorflow.image_resize(np.zeros((0, 4, 4, 1)), (3, 3)).shape == (0, 3, 3, 1)
