"""TensorFlow's DepthToSpace, SpaceToDepth and image resizing operators, with their gradients, on NumPy arrays.

Arguments, defaults and error conditions are those of ``tf.raw_ops`` and ``tf.nn``; errors are ValueError and TypeError.
Indices and weights come from TensorFlow's own float32 arithmetic, which in rare sizes is one sample off the exact one.
Source: tensorflow/core/kernels/image/ and tensorflow/core/util/image_resizer_state.h of
https://github.com/tensorflow/tensorflow.
"""

import numpy as np

from .. import _checks, blocks, resampling

__all__ = [
    "depth_to_space",
    "image_resize",
    "resize_bilinear",
    "resize_bilinear_grad",
    "resize_nearest_neighbor",
    "resize_nearest_neighbor_grad",
    "space_to_depth",
]

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_IMAGE_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "int64", *_FLOATS)
_NEAREST_GRAD_TYPES = ("uint8", "int8", "int32", *_FLOATS)
_AXES = (1, 2)
_METHODS = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic", "lanczos3": "lanczos3"}


def depth_to_space(input, block_size, data_format="NHWC"):
    """Move channels into square blocks of space, as ``tf.nn.depth_to_space``.

    Parameters
    ----------
    input : array_like, (N, H, W, C), (N, C, H, W) or (N, C / 4, H, W, 4)
        Any dtype; NCHW_VECT_C takes int8, for qint8, alone.
    block_size : int
        Side B of the square block, at least 2.
    data_format : {"NHWC", "NCHW", "NCHW_VECT_C"}

    Returns
    -------
    ndarray, (N, H * B, W * B, C / B**2) in input's data format and dtype

    Raises
    ------
    TypeError
        For a block_size that is no integer; for other dtypes than int8 in NCHW_VECT_C, and qint8 elsewhere.
    ValueError
        For a block_size below 2, another number of axes, channels that B**2 does not divide, an unknown data format.

    Notes
    -----
    ``out[n, h * B + i, w * B + j, c] = input[n, h, w, (i * B + j) * C / B**2 + c]``.

    Examples
    --------
    >>> import numpy as np
    >>> depth_to_space(np.array([[[[1, 2, 3, 4]]]]), 2).reshape(2, 2)
    array([[1, 2],
           [3, 4]])
    """
    function = "tensorflow.depth_to_space"
    array = _block_input(function, input, data_format, qint8_elsewhere=False)
    return blocks.depth_to_space(array, _checks.interface_block(function, block_size), data_format=data_format)


def space_to_depth(input, block_size, data_format="NHWC"):
    """Move square blocks of space into channels, as ``tf.nn.space_to_depth``.

    Parameters
    ----------
    input : array_like, (N, H, W, C), (N, C, H, W) or (N, C / 4, H, W, 4)
        Any dtype; NCHW_VECT_C takes int8, for qint8, alone.
    block_size : int
        Side B of the square block, at least 2.
    data_format : {"NHWC", "NCHW", "NCHW_VECT_C"}

    Returns
    -------
    ndarray, (N, H / B, W / B, C * B**2) in input's data format and dtype

    Raises
    ------
    TypeError
        For a block_size that is no integer; for other dtypes than int8 in NCHW_VECT_C.
    ValueError
        For a block_size below 2, another number of axes, a height or width that B does not divide, an unknown data
        format.

    Notes
    -----
    ``out[n, h, w, (i * B + j) * C + c] = input[n, h * B + i, w * B + j, c]``.

    Examples
    --------
    >>> import numpy as np
    >>> space_to_depth(np.array([[[[1], [2]], [[3], [4]]]]), 2)
    array([[[[1, 2, 3, 4]]]])
    """
    function = "tensorflow.space_to_depth"
    array = _block_input(function, input, data_format, qint8_elsewhere=True)
    return blocks.space_to_depth(array, _checks.interface_block(function, block_size), data_format=data_format)


def resize_nearest_neighbor(images, size, align_corners=False, half_pixel_centers=False):
    """Resize images to the nearest pixels, as ``tf.raw_ops.ResizeNearestNeighbor``.

    Parameters
    ----------
    images : array_like, (N, H, W, C)
        int8, uint8, int16, uint16, int32, int64, float16, bfloat16, float32 or float64.
    size : (int, int)
        New height and width.
    align_corners : bool
        The corner pixels' centres of both images fall together.
    half_pixel_centers : bool
        Pixels are squares with their centres at halves; else they are points at whole numbers.

    Returns
    -------
    ndarray, (N, size[0], size[1], C), of images' dtype

    Raises
    ------
    TypeError
        For other dtypes, and for arguments of a wrong kind.
    ValueError
        For another number of axes, zero height, width or channels, height or width of 2**24 or more, sizes below 1, and
        for both flags at once.

    Notes
    -----
    In float32 with r = H / size[0], or (H - 1) / (size[0] - 1) with align_corners: floor(o * r), round(o * r) with
    align_corners (halves up), floor((o + 0.5) * r) with half_pixel_centers; then clamped to the image.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(4).reshape(1, 1, 4, 1)
    >>> resize_nearest_neighbor(x, (1, 2)).ravel(), resize_nearest_neighbor(x, (1, 2), half_pixel_centers=True).ravel()
    (array([0, 2]), array([1, 3]))
    """
    function = "tensorflow.resize_nearest_neighbor"
    images, size = _images_and_size(function, images, size)
    convention = _checks.interface_flags(function, align_corners, half_pixel_centers, _CONVENTIONS)
    _checks.interface_float32_lengths(function, "images", images.shape)
    return resampling.resample(images, size, axes=_AXES, mode="nearest", convention=convention)


def resize_bilinear(images, size, align_corners=False, half_pixel_centers=False):
    """Resize images by bilinear interpolation, as ``tf.raw_ops.ResizeBilinear``.

    Parameters
    ----------
    images : array_like, (N, H, W, C)
        int8, uint8, int16, uint16, int32, int64, float16, bfloat16, float32 or float64.
    size : (int, int)
        New height and width.
    align_corners, half_pixel_centers : bool
        As in `resize_nearest_neighbor`.

    Returns
    -------
    ndarray of float32, (N, size[0], size[1], C), whatever images' dtype

    Raises
    ------
    TypeError, ValueError
        As `resize_nearest_neighbor`, without its limit of 2**24.

    Notes
    -----
    Coordinates in float32: o * r, or (o + 0.5) * r - 0.5 with half_pixel_centers. TensorFlow forms the weighted means
    as a + (b - a) * f, so the last bits can differ.

    Examples
    --------
    >>> import numpy as np
    >>> resize_bilinear(np.array([[[[0], [100]]]], np.uint8), (1, 4), half_pixel_centers=True).ravel()
    array([  0.,  25.,  75., 100.], dtype=float32)
    """
    function = "tensorflow.resize_bilinear"
    images, size = _images_and_size(function, images, size)
    convention = _checks.interface_flags(function, align_corners, half_pixel_centers, _CONVENTIONS)
    return resampling.resample(images, size, axes=_AXES, mode="linear", convention=convention, dtype=np.float32)


def resize_nearest_neighbor_grad(grads, size, align_corners=False, half_pixel_centers=False):
    """Gradient of `resize_nearest_neighbor`, as ``tf.raw_ops.ResizeNearestNeighborGrad``.

    Parameters
    ----------
    grads : array_like, (N, H', W', C)
        uint8, int8, int32, float16, bfloat16, float32 or float64.
    size : (int, int)
        Height and width of the images that were resized.
    align_corners, half_pixel_centers : bool
        The forward call's own.

    Returns
    -------
    ndarray, (N, size[0], size[1], C), of grads' dtype

    Raises
    ------
    TypeError
        For other dtypes, and for arguments of a wrong kind.
    ValueError
        For another number of axes, zero height or width, sizes below 1, and for both flags at once.

    Notes
    -----
    Integers are summed in their own type and wrap around. Not imitated: TensorFlow also sums float16 and bfloat16 in
    their own type; here they are summed in float32 and rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> resize_nearest_neighbor_grad(np.array([[[[4], [5], [6]]]], np.float32), (1, 2)).ravel()
    array([9., 6.], dtype=float32)
    """
    function = "tensorflow.resize_nearest_neighbor_grad"
    grads = _checks.interface_array(function, "grads", grads, _NEAREST_GRAD_TYPES, (4,), letters="NHWC")
    _checks.interface_nonzero(function, "grads", grads.shape, (1, 2))
    size = _checks.interface_size(function, "size", size, 2)
    convention = _checks.interface_flags(function, align_corners, half_pixel_centers, _CONVENTIONS)
    if grads.dtype.kind in "iu":
        for axis, length in zip(_AXES, size, strict=True):
            grads = _wrapping_sums(grads, axis, length, convention)
        return grads
    return resampling.resample_grad(grads, size, axes=_AXES, mode="nearest", convention=convention)


def resize_bilinear_grad(grads, original_image, align_corners=False, half_pixel_centers=False):
    """Gradient of `resize_bilinear`, as ``tf.raw_ops.ResizeBilinearGrad``.

    Parameters
    ----------
    grads : array_like of float32, (N, H', W', C)
    original_image : array_like, (N, H, W, C)
        The images that were resized: float16, bfloat16, float32 or float64. Only shape and dtype are used.
    align_corners, half_pixel_centers : bool
        The forward call's own.

    Returns
    -------
    ndarray, (N, H, W, C), of original_image's dtype

    Raises
    ------
    TypeError
        For other dtypes, and for flags that are no bools.
    ValueError
        For another number of axes, zero height or width, batches or channels that differ, and for both flags at once.

    Notes
    -----
    float16 and bfloat16 results are summed in float32 and rounded once, float64 results are summed in float64.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((1, 1, 2, 1), np.float16)
    >>> resize_bilinear_grad(np.ones((1, 1, 5, 1), np.float32), image, half_pixel_centers=True).ravel()
    array([2.5, 2.5], dtype=float16)
    """
    function = "tensorflow.resize_bilinear_grad"
    grads = _checks.interface_array(function, "grads", grads, ("float32",), (4,), letters="NHWC")
    image = _checks.interface_array(function, "original_image", original_image, _FLOATS, (4,), letters="NHWC")
    for argument, array in (("grads", grads), ("original_image", image)):
        _checks.interface_nonzero(function, argument, array.shape, (1, 2))
    _checks.interface_same_batch(function, "grads", grads.shape, "original_image", image.shape)
    convention = _checks.interface_flags(function, align_corners, half_pixel_centers, _CONVENTIONS)
    if image.dtype == np.float64:
        grads = grads.astype(np.float64)
    gradient = resampling.resample_grad(grads, image.shape[1:3], axes=_AXES, mode="linear", convention=convention)
    return gradient.astype(image.dtype.newbyteorder("="), copy=False)


def image_resize(images, size, method="bilinear", preserve_aspect_ratio=False, antialias=False):
    """Resize images, as ``tf.image.resize`` of TensorFlow 2.

    Parameters
    ----------
    images : array_like, (N, H, W, C) or (H, W, C)
        int8, uint8, int16, uint16, int32, int64, float16, bfloat16, float32 or float64.
    size : (int, int)
        New height and width.
    method : {"bilinear", "nearest", "bicubic", "lanczos3"}
        TensorFlow's area, gaussian, lanczos5 and mitchellcubic are not available.
    preserve_aspect_ratio : bool
        `size` is the largest height and width: both are scaled by the smaller of the two ratios, in float32, and
        rounded half to even.
    antialias : bool
        Widen the filter where an axis shrinks. It has no effect on nearest.

    Returns
    -------
    ndarray, (N, H', W', C) or (H', W', C)
        float32; in nearest of images' dtype.

    Raises
    ------
    TypeError
        For other dtypes, and for arguments of a wrong kind.
    ValueError
        For another number of axes, zero height, width or channels, sizes below 1, also after preserve_aspect_ratio, and
        for a method that is not available.

    Notes
    -----
    Positions are (o + 1/2) n / m - 1/2 (half_pixel_centers); nearest reads floor((o + 1/2) n / m). bicubic is Keys's
    filter with the coefficient -0.5. Weights outside of the image are left out and the rest normalised. nearest and
    plain bilinear use TensorFlow's float32 positions, the others exact ones; without antialias TensorFlow also rounds
    bicubic positions to 1/1024 of a pixel, so that its results are up to 0.002 of the largest value off.

    Examples
    --------
    >>> import numpy as np
    >>> image_resize(np.array([[[0], [100]]], np.uint8), (1, 4)).ravel()
    array([  0.,  25.,  75., 100.], dtype=float32)
    """
    function = "tensorflow.image_resize"
    images = _checks.interface_array(function, "images", images, _IMAGE_TYPES, (3, 4))
    mode = _METHODS[_checks.name_of(function, "method", method, tuple(_METHODS))]
    antialias = _checks.flag(function, "antialias", antialias) and mode != "nearest"
    batch = images if images.ndim == 4 else images[np.newaxis]
    _checks.interface_nonzero(function, "images", batch.shape, (1, 2, 3))
    size = _checks.interface_size(function, "size", size, 2)
    if _checks.flag(function, "preserve_aspect_ratio", preserve_aspect_ratio):
        size = _checks.interface_size(function, "size with preserve_aspect_ratio", _fitted(batch.shape[1:3], size), 2)
    dtype = None
    if mode == "nearest":
        _checks.interface_float32_lengths(function, "images", batch.shape)
    else:
        dtype = np.float32
    result = resampling.resample(batch, size, axes=_AXES, mode=mode, convention="tf", antialias=antialias, dtype=dtype)
    return result if images.ndim == 4 else result[0]


def _fitted(lengths, size):
    """The largest (height, width) of the same aspect ratio within `size`, in TensorFlow's float32 steps."""
    lengths = np.float32(lengths)
    return tuple(int(length) for length in np.rint((np.float32(size) / lengths).min() * lengths))


# (align_corners, half_pixel_centers) -> the row of imgops.conventions with TensorFlow's arithmetic.
_CONVENTIONS = {(False, False): "tf1", (True, False): "tf1_align_corners", (False, True): "tf"}


def _block_input(function, input, data_format, qint8_elsewhere):
    layout = _checks.data_format(function, data_format)
    types = ("int8", "qint8") if layout == "NCHW_VECT_C" else None
    refused = () if layout == "NCHW_VECT_C" or qint8_elsewhere else ("qint8",)
    ranks = (5,) if layout == "NCHW_VECT_C" else (4,)
    return _checks.interface_array(function, "input", input, types, ranks, refused=refused, letters=layout)


def _images_and_size(function, images, size):
    images = _checks.interface_array(function, "images", images, _IMAGE_TYPES, (4,), letters="NHWC")
    _checks.interface_nonzero(function, "images", images.shape, (1, 2, 3))
    return images, _checks.interface_size(function, "size", size, 2)


def _wrapping_sums(grads, axis, length, convention):
    """Sum the outputs that read each of `length` inputs, modulo the integer type's range.

    The outputs of one input are a contiguous range, so each sum is a difference of two running sums; these wrap around
    in 64 bits, of which the narrower type keeps the low ones.
    """
    indices = resampling.resample(np.arange(length), grads.shape[axis], mode="nearest", convention=convention)
    bounds = np.searchsorted(indices, np.arange(length + 1))
    running = np.cumsum(np.moveaxis(grads, axis, 0), axis=0, dtype=np.int64)
    running = np.concatenate((np.zeros_like(running[:1]), running))
    sums = running[bounds[1:]] - running[bounds[:-1]]
    return np.moveaxis(sums, 0, axis).astype(grads.dtype.newbyteorder("="))
