"""Conventions and interfaces against the libraries themselves, where they are installed, for every pair of small sizes.

The facts are those of torch 2.13, TensorFlow 2.21, OpenCV 5.0 and Pillow 13.0; older ones are not compared with. What
these do against their own documentation or against their own other code paths is named in the test that leaves it out.
"""

import importlib.metadata
import importlib.util
import itertools
import os

import numpy as np
import pytest
from PIL import Image

import imgops
import imgops.pillow
from imgops.interfaces import tensorflow, torch

LENGTHS = range(1, 65)
# Differences relative to the largest value.
LINEAR = 2e-6
GRADIENT = 1e-5


def needs(module, distribution, oldest):
    """Skip unless the module is installed in this version or a later one."""
    reason = f"{module} {'.'.join(map(str, oldest))} or later is not installed"
    names = [distribution, *(f"{distribution}-{kind}" for kind in ("cpu", "headless", "contrib-python-headless"))]
    for name in names if importlib.util.find_spec(module) else ():
        try:
            version = importlib.metadata.version(name).split(".")
        except importlib.metadata.PackageNotFoundError:
            continue
        return pytest.mark.skipif(tuple(map(int, version[:2])) < oldest, reason=reason)
    return pytest.mark.skip(reason=reason)


needs_torch = needs("torch", "torch", (2, 13))
needs_tensorflow = needs("tensorflow", "tensorflow", (2, 21))
needs_opencv = needs("cv2", "opencv-python", (5, 0))


def normal(shape, seed, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def random_bytes(shape, seed, low=0, high=256):
    return np.random.default_rng(seed).integers(low, high, shape, dtype=np.uint8)


def some_sizes(count, seed, most=40, rank=2):
    """(input lengths, output lengths), random but never the same in two places."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        yield (tuple(random.integers(1, most, rank).tolist()) for _ in range(2))


def assert_within(actual, expected, relative, message=""):
    assert actual.shape == expected.shape, message
    assert actual.dtype == expected.dtype, message
    expected = expected.astype(np.float64)
    tolerance = relative * np.abs(expected).max(initial=1e-30)
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=0, atol=tolerance, err_msg=str(message))


def indices(n, m, convention):
    return imgops.resample(np.arange(n), m, mode="nearest", convention=convention)


# ---------------------------------------------------------------------------------------------------------------------
# torch


def torch_forward(x, **options):
    import torch as library

    return library.nn.functional.interpolate(library.from_numpy(x), **options).numpy()


def torch_backward(g, shape, **options):
    import torch as library

    x = library.zeros(shape, dtype=library.from_numpy(g).dtype, requires_grad=True)
    library.nn.functional.interpolate(x, **options).backward(library.from_numpy(g))
    return x.grad.numpy()


@needs_torch
def test_nearest_indices_of_torch():
    for n, m in itertools.product(LENGTHS, LENGTHS):
        expected = torch_forward(np.arange(n, dtype=np.float32)[None, None], size=m, mode="nearest")[0, 0]
        assert indices(n, m, "torch").tolist() == expected.tolist(), (n, m)


@needs_torch
def test_nearest_exact_indices_of_torch():
    """By the code path of small pictures; that of longer and one-dimensional ones differs in three pairs."""
    different = []
    for n, m in itertools.product(LENGTHS, LENGTHS):
        x = np.arange(n, dtype=np.float32)[None, None]
        result = indices(n, m, "torch_nearest_exact")
        expected = torch_forward(x[..., None], size=(m, 1), mode="nearest-exact").ravel()
        assert result.tolist() == expected.tolist(), (n, m)
        if result.tolist() != torch_forward(x, size=m, mode="nearest-exact").ravel().tolist():
            different.append((n, m))
    assert different == [(2, 41), (2, 47), (2, 55)]


@needs_torch
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest_gradient_of_torch(mode):
    convention = "torch" if mode == "nearest" else "torch_nearest_exact"
    for n, m in itertools.product(LENGTHS, LENGTHS):
        g = np.arange(1, m + 1, dtype=np.float32)[None, None]
        expected = torch_backward(g, (1, 1, n), size=m, mode=mode)
        result = imgops.resample_grad(g, n, axes=2, mode="nearest", convention=convention)
        np.testing.assert_array_equal(result, expected)


@needs_torch
@pytest.mark.parametrize("align_corners", [False, True])
def test_linear_of_torch(align_corners):
    convention = "torch_align_corners" if align_corners else "torch"
    for n, m in itertools.product(LENGTHS, LENGTHS):
        x, g = normal((1, 3, n), n), normal((1, 3, m), m)
        options = {"size": m, "mode": "linear", "align_corners": align_corners}
        assert_within(imgops.resample(x, m, axes=2, convention=convention), torch_forward(x, **options), LINEAR, (n, m))
        result = imgops.resample_grad(g, n, axes=2, convention=convention)
        assert_within(result, torch_backward(g, x.shape, **options), GRADIENT, (n, m))


# An antialiased output one sample wide repeats its first row in torch 2.13; such sizes are left out. So are reductions
# with both antialias and align_corners to less than half: see test_antialiased_corners_of_torch.
CALLS = [
    (3, {"mode": "nearest"}),
    (5, {"mode": "nearest"}),
    (4, {"mode": "nearest-exact"}),
    (3, {"mode": "linear"}),
    (3, {"mode": "linear", "align_corners": True}),
    (4, {"mode": "bilinear"}),
    (4, {"mode": "bilinear", "align_corners": True}),
    (4, {"mode": "bilinear", "antialias": True}),
    (5, {"mode": "trilinear"}),
    (5, {"mode": "trilinear", "align_corners": True}),
    (4, {"mode": "bicubic"}),
    (4, {"mode": "bicubic", "align_corners": True}),
    (4, {"mode": "bicubic", "antialias": True}),
    (4, {"mode": "lanczos", "antialias": True}),
    (3, {"mode": "area"}),
    (4, {"mode": "area"}),
    (5, {"mode": "area"}),
]


def call_name(value):
    return "-".join(map(str, value.values())) if isinstance(value, dict) else str(value)


@needs_torch
@pytest.mark.parametrize(("ndim", "options"), CALLS, ids=call_name)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_interpolate_of_torch_and_its_gradient(ndim, options, dtype):
    # float64 weights of torch are exact to its last bits; float32 weights come from float32 positions.
    narrow = dtype == np.float32
    forward, backward = (1e-5, GRADIENT) if narrow else (1e-13, 1e-13)
    for shape, size in some_sizes(40, ndim, 14 if ndim == 5 else 40, ndim - 2):
        if options.get("antialias") and size[-1] == 1:
            continue
        x, g = normal((2, 3, *shape), 1, dtype), normal((2, 3, *size), 2, dtype)
        call = {"size": size, **options}
        assert_within(torch.interpolate(x, **call), torch_forward(x, **call), forward, (shape, size))
        expected = torch_backward(g, x.shape, **call)
        assert_within(torch.interpolate_grad(g, x.shape, **call), expected, backward, (shape, size))


FACTORS = [0.55, 1.1, (2.1, 0.35), (1.03, 2.5), (3, 1), (0.29, 1.7), 2.0]


@needs_torch
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("recompute", [None, False, True])
@pytest.mark.parametrize("options", [options for ndim, options in CALLS if ndim == 4], ids=call_name)
def test_scale_factors_of_torch(factor, recompute, options):
    x = normal((1, 2, 10, 23), 3, np.float64)
    call = {"scale_factor": factor, "recompute_scale_factor": recompute, **options}
    expected = torch_forward(x, **call)
    assert_within(torch.interpolate(x, **call), expected, 1e-13)
    kept = any(n in (m, m / 2) for n, m in zip(x.shape[2:], expected.shape[2:], strict=True))
    if kept and not recompute and (options["mode"] == "nearest" or options.get("antialias")):
        return  # torch's gradient is not that of its forward where a scale leaves or doubles a length
    g = normal(expected.shape, 4, np.float64)
    assert_within(torch.interpolate_grad(g, x.shape, **call), torch_backward(g, x.shape, **call), 1e-13)


@needs_torch
@pytest.mark.parametrize("factor", [0.1 + 0.2, 0.7, 1.1, 1 / 3, 2.3, 1.0000001])
def test_sizes_of_torch(factor):
    for n in range(4, 400):
        x = np.zeros((1, 1, n), np.float32)
        assert torch.interpolate(x, scale_factor=factor).shape == torch_forward(x, scale_factor=factor).shape, n


@needs_torch
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_antialiased_corners_of_torch(mode):
    """Where an axis keeps half of its samples or more; beyond, torch's last windows lie outside of the input."""
    for n, m in itertools.product(range(1, 24), range(2, 24)):
        if n - 1 > 2 * (m - 1):
            continue
        x, g = normal((1, 1, n, n), n, np.float64), normal((1, 1, m, m), m, np.float64)
        call = {"size": m, "mode": mode, "align_corners": True, "antialias": True}
        assert_within(torch.interpolate(x, **call), torch_forward(x, **call), 1e-13, (n, m))
        assert_within(torch.interpolate_grad(g, x.shape, **call), torch_backward(g, x.shape, **call), 1e-13, (n, m))


@needs_torch
@pytest.mark.parametrize(("ndim", "options"), [call for call in CALLS if call[0] == 4 and call[1]["mode"] != "area"])
def test_uint8_of_torch(ndim, options):
    """torch's weights have 16 bits or less; with cubic and Lanczos filters its first pass may differ as well."""
    steps = {"nearest": 0, "nearest-exact": 0, "bilinear": 1}.get(options["mode"], 2)
    for shape, size in some_sizes(40, 5, rank=ndim - 2):
        if size[-1] == 1:
            continue
        x = random_bytes((2, 3, *shape), 6)
        result, expected = torch.interpolate(x, size, **options), torch_forward(x, size=size, **options)
        assert result.dtype == expected.dtype
        assert np.abs(result.astype(int) - expected.astype(int)).max() <= steps, (shape, size)


@needs_torch
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_float16_of_torch(mode):
    for shape, size in some_sizes(20, 7):
        x = normal((1, 2, *shape), 8, np.float16)
        expected = torch_forward(x, size=size, mode=mode)
        assert_within(torch.interpolate(x, size, mode=mode), expected, 0 if mode.startswith("nearest") else 2e-3)


# The calls that torch refuses, beside those that need no comparison.
REFUSED = [
    {},
    {"size": 3, "scale_factor": 2.0},
    {"size": (3,)},
    {"size": (3, 3, 3)},
    {"size": (0, 3)},
    {"size": (2.0, 2.0)},
    {"scale_factor": (2.0,)},
    {"scale_factor": 0.01},
    {"scale_factor": -1.0},
    {"scale_factor": float("inf")},
    {"size": 3, "recompute_scale_factor": True},
    {"size": 3, "align_corners": False},
    {"size": 3, "mode": "nearest-exact", "align_corners": True},
    {"size": 3, "mode": "area", "align_corners": True},
    {"size": 3, "mode": "linear"},
    {"size": 3, "mode": "trilinear"},
    {"size": 3, "mode": "cubic"},
    {"size": 3, "antialias": True},
    {"size": 3, "mode": "area", "antialias": True},
    {"size": 3, "mode": "lanczos"},
    {"size": 3, "mode": "lanczos", "antialias": True, "align_corners": True},
    {"size": 3, "mode": "bilinear", "align_corners": 1},
]


@needs_torch
@pytest.mark.parametrize("options", REFUSED, ids=str)
def test_torch_refuses_the_same(options):
    x = normal((1, 1, 4, 5), 0)
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        torch_forward(x, **options)
    with pytest.raises((ValueError, TypeError), match=r"torch\.interpolate: .*; "):
        torch.interpolate(x, **options)


@needs_torch
@pytest.mark.parametrize("shape", [(2, 12, 3, 5), (18, 5, 2), (2, 1, 36, 1, 1), (0, 36, 2, 3), (36, 0, 3)])
@pytest.mark.parametrize("factor", [1, 2, 3])
def test_pixel_shuffle_of_torch(shape, factor):
    import torch as library

    if shape[-3] % factor**2:
        return
    x = np.arange(np.prod(shape), dtype=np.int64).reshape(shape)
    shuffled = library.nn.functional.pixel_shuffle(library.from_numpy(x), factor).numpy()
    np.testing.assert_array_equal(torch.pixel_shuffle(x, factor), shuffled)
    np.testing.assert_array_equal(torch.pixel_unshuffle(shuffled, factor), x)


# ---------------------------------------------------------------------------------------------------------------------
# TensorFlow

FLAGS = {"tf1": (False, False), "tf1_align_corners": (True, False), "tf": (False, True)}


@pytest.fixture(scope="module")
def tf():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return importlib.import_module("tensorflow")


def named(convention):
    return dict(zip(("align_corners", "half_pixel_centers"), FLAGS[convention], strict=True))


@needs_tensorflow
@pytest.mark.parametrize("convention", FLAGS)
def test_nearest_of_tensorflow_and_its_gradient(tf, convention):
    for n, m in itertools.product(LENGTHS, LENGTHS):
        x = np.arange(n, dtype=np.int32).reshape(1, n, 1, 1)
        expected = tf.raw_ops.ResizeNearestNeighbor(images=x, size=(m, 1), **named(convention)).numpy()
        assert indices(n, m, convention).tolist() == expected.ravel().tolist(), (n, m)
        g = np.arange(1, m + 1, dtype=np.float32).reshape(1, m, 1, 1)
        expected = tf.raw_ops.ResizeNearestNeighborGrad(grads=g, size=(n, 1), **named(convention)).numpy()
        result = imgops.resample_grad(g, n, axes=1, mode="nearest", convention=convention)
        np.testing.assert_array_equal(result, expected)


@needs_tensorflow
@pytest.mark.parametrize("convention", FLAGS)
def test_bilinear_of_tensorflow_and_its_gradient(tf, convention):
    for n, m in itertools.product(LENGTHS, LENGTHS):
        x, g = normal((1, n, 1, 2), n), normal((1, m, 1, 2), m)
        expected = tf.raw_ops.ResizeBilinear(images=x, size=(m, 1), **named(convention)).numpy()
        assert_within(imgops.resample(x, m, axes=1, convention=convention), expected, LINEAR, (n, m))
        expected = tf.raw_ops.ResizeBilinearGrad(grads=g, original_image=x, **named(convention)).numpy()
        assert_within(tensorflow.resize_bilinear_grad(g, x, **named(convention)), expected, GRADIENT, (n, m))


@needs_tensorflow
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic", "lanczos3"])
@pytest.mark.parametrize("antialias", [False, True])
def test_image_resize_of_tensorflow(tf, method, antialias):
    # Without antialias TensorFlow takes cubic weights from a table of 1024 positions between two pixels.
    exact = {"nearest": 0.0, "bilinear": 1e-5 if antialias else LINEAR, "bicubic": 2e-5 if antialias else 2e-3}
    for shape, size in some_sizes(60, 9):
        x = normal((2, *shape, 3), 10)
        call = {"method": method, "antialias": antialias}
        expected = tf.image.resize(x, size, **call).numpy()
        result = tensorflow.image_resize(x, size, **call)
        assert_within(result, expected, exact.get(method, 2e-5), (shape, size))
        np.testing.assert_array_equal(tensorflow.image_resize(x[0], size, **call), result[0])


@needs_tensorflow
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "int64", "float16", "float64"])
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic", "lanczos3"])
def test_types_of_image_resize(tf, dtype, method):
    x = np.random.default_rng(11).integers(0, 100, (1, 7, 5, 2)).astype(dtype)
    expected = tf.image.resize(x, (4, 9), method).numpy()
    result = tensorflow.image_resize(x, (4, 9), method)
    assert_within(result, expected, 2e-3 if method == "bicubic" else 1e-5)


@needs_tensorflow
def test_aspect_ratio_of_tensorflow(tf):
    compared = 0
    for shape, size in some_sizes(300, 12, 30):
        x = np.zeros((*shape, 1), np.uint8)
        try:
            expected = tf.image.resize(x, size, "nearest", preserve_aspect_ratio=True).shape
        except tf.errors.InvalidArgumentError:
            with pytest.raises(ValueError, match="preserve_aspect_ratio must be at least 1"):
                tensorflow.image_resize(x, size, "nearest", preserve_aspect_ratio=True)
            continue
        assert tensorflow.image_resize(x, size, "nearest", preserve_aspect_ratio=True).shape == tuple(expected)
        compared += 1
    assert compared > 200


@needs_tensorflow
@pytest.mark.parametrize(("kernel", "mode"), [("triangle", "linear"), ("keyscubic", "cubic"), ("lanczos3", "lanczos3")])
@pytest.mark.parametrize("antialias", [False, True])
def test_scale_and_translate_gradient_of_tensorflow(tf, kernel, mode, antialias):
    for shape, size in some_sizes(30, 13):
        x, g = normal((1, *shape, 2), 14), normal((1, *size, 2), 15)
        scale = np.float32(size) / np.float32(shape)
        expected = tf.raw_ops.ScaleAndTranslateGrad(
            grads=g, original_image=x, scale=scale, translation=[0.0, 0.0], kernel_type=kernel, antialias=antialias
        ).numpy()
        options = {"axes": (1, 2), "mode": mode, "convention": "tf", "antialias": antialias}
        assert_within(imgops.resample_grad(g, shape, **options), expected, 2 * GRADIENT, (shape, size))


@needs_tensorflow
def test_bicubic_gradient_of_tensorflow(tf):
    for shape, size in some_sizes(30, 16):
        x, g = normal((1, *shape, 2), 17), normal((1, *size, 2), 18)
        # Where all positions are multiples of 1/1024, TensorFlow's table is exact.
        on_table = all(2048 % m == 0 for m in size)
        expected = tf.raw_ops.ResizeBicubicGrad(grads=g, original_image=x, half_pixel_centers=True).numpy()
        result = imgops.resample_grad(g, shape, axes=(1, 2), mode="cubic", convention="tf")
        assert_within(result, expected, GRADIENT if on_table else 2e-3, (shape, size))
    for shape, size in [((5, 7), (8, 16)), ((13, 3), (4, 32)), ((9, 11), (2, 1))]:
        x, g = normal((1, *shape, 2), 17), normal((1, *size, 2), 18)
        expected = tf.raw_ops.ResizeBicubicGrad(grads=g, original_image=x, half_pixel_centers=True).numpy()
        result = imgops.resample_grad(g, shape, axes=(1, 2), mode="cubic", convention="tf")
        assert_within(result, expected, GRADIENT, (shape, size))


# ---------------------------------------------------------------------------------------------------------------------
# OpenCV


def opencv_resize(x, size, interpolation):
    import cv2

    return cv2.resize(x, size[::-1], interpolation=getattr(cv2, interpolation))


@needs_opencv
@pytest.mark.parametrize(
    ("convention", "interpolation"), [("opencv", "INTER_NEAREST"), ("opencv_nearest_exact", "INTER_NEAREST_EXACT")]
)
def test_nearest_indices_of_opencv(convention, interpolation):
    for n, m in itertools.product(LENGTHS, LENGTHS):
        expected = opencv_resize(np.arange(n, dtype=np.uint8)[None], (1, m), interpolation)
        assert indices(n, m, convention).tolist() == expected.ravel().tolist(), (n, m)
        expected = opencv_resize(np.arange(n, dtype=np.uint8)[:, None], (m, 1), interpolation)
        assert indices(n, m, convention).tolist() == expected.ravel().tolist(), (n, m)


def of_both_codes(x, size, interpolation):
    """OpenCV's results by its own code, whose positions are float32, and by Intel's, which it calls where it can."""
    import cv2

    before = cv2.ipp.useIPP()
    try:
        for allowed in (False, True):
            cv2.ipp.setUseIPP(allowed)
            yield opencv_resize(x, size, interpolation).reshape(*size, *x.shape[2:])
    finally:
        cv2.ipp.setUseIPP(before)


def assert_is_one_of(actual, choices, relative, message):
    """Within `relative` of one of the choices, which differ by little more."""
    differences = [np.abs(actual - expected).max() / np.abs(expected).max() for expected in choices]
    assert min(differences) <= relative, (message, differences)
    assert max(differences) <= 1e-5, (message, differences)


@needs_opencv
@pytest.mark.parametrize("interpolation", ["INTER_LINEAR", "INTER_CUBIC"])
def test_weighted_modes_of_opencv(interpolation):
    mode = {"INTER_LINEAR": "linear", "INTER_CUBIC": "cubic"}[interpolation]
    for n, m in itertools.product(LENGTHS, LENGTHS):
        x = normal((2, n), n)
        result = imgops.resample(x, (2, m), mode=mode, convention="opencv")
        tolerance = LINEAR if mode == "linear" else 1e-5
        assert_is_one_of(result, of_both_codes(x, (2, m), interpolation), tolerance, (n, m))


@needs_opencv
def test_linear_pictures_of_opencv():
    for shape, size in some_sizes(60, 19):
        if tuple(2 * length for length in size) == shape or min(*shape, *size) == 1:
            continue  # OpenCV takes the mean of four, or has other code for lines
        x = normal((*shape, 3), 20)
        result = imgops.resample(x, size, convention="opencv")
        assert_is_one_of(result, of_both_codes(x, size, "INTER_LINEAR"), LINEAR, (shape, size))


@needs_opencv
def test_linear_bytes_of_opencv():
    for shape, size in some_sizes(200, 21, 65):
        if tuple(2 * length for length in size) == shape:
            continue  # OpenCV takes the mean of four there
        x = random_bytes((*shape, 3), 21)
        expected = opencv_resize(x, size, "INTER_LINEAR").reshape(*size, 3).astype(int)
        assert np.abs(imgops.resample(x, size, convention="opencv") - expected).max() <= 1, (shape, size)


# ---------------------------------------------------------------------------------------------------------------------
# Pillow

FILTERS = {"linear": "BILINEAR", "cubic": "BICUBIC", "lanczos3": "LANCZOS", "nearest": "NEAREST"}


def picture(mode, shape, seed, low=0, high=256):
    """An image of random pixels; low and high bound its 8-bit values, and those of 16 bits in the same proportion."""
    height, width = shape
    if mode == "F":
        return imgops.pillow.to_image(normal(shape, seed))
    if mode == "I;16":
        values = np.random.default_rng(seed).integers(low * 256, high * 256, shape, dtype=np.uint16)
        return Image.frombytes(mode, (width, height), values.astype("<u2").tobytes())
    if mode == "I":
        values = np.random.default_rng(seed).integers(-(10**6), 10**6, shape, dtype=np.int32)
        return Image.frombytes(mode, (width, height), values.astype("<i4").tobytes())
    bands = len(Image.new(mode, (1, 1)).getbands())
    return Image.frombytes(mode, (width, height), random_bytes((height, width, bands), seed, low, high).tobytes())


def both_resizes(image, size, mode):
    """(imgops' pixels, Pillow's pixels); size is (height, width)."""
    theirs = np.asarray(image.resize(size[::-1], Image.Resampling[FILTERS[mode]]))
    return np.asarray(imgops.pillow.resize(image, size[::-1], mode=mode, convention="pillow")), theirs


def test_nearest_indices_of_pillow():
    for n, m in itertools.product(LENGTHS, LENGTHS):
        image = imgops.pillow.to_image(np.arange(n, dtype=np.uint8)[None])
        expected = np.asarray(image.resize((m, 1), Image.Resampling.NEAREST)).ravel()
        assert indices(n, m, "pillow").tolist() == expected.tolist(), (n, m)


@pytest.mark.parametrize("filter_", ["nearest", "linear", "cubic", "lanczos3"])
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "LA", "CMYK", "I;16", "I", "F"])
def test_every_picture_of_pillow(mode, filter_):
    for shape, size in some_sizes(60, 28, 64):
        result, expected = both_resizes(picture(mode, shape, 29), size, filter_)
        if mode == "F":
            np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)
        elif filter_ == "nearest":
            assert np.array_equal(result, expected), (shape, size)
        else:
            assert np.abs(result.astype(int) - expected).max() <= 1, (shape, size)
