"""The slow twin: every public operator again in plain NumPy, so plainly written that it can be checked by reading.

Names, arguments, results and errors are those of `imgops`; the arguments are checked by the same functions. Moves
between depth and space are one reshape, one transpose and one reshape. Resampling builds the matrix of every axis,
(output, input) from the coordinate formula in exact fractions and multiplies by it axis after axis in float64. Nothing
of the kernels or of their tables is used. `num_threads` is checked and changes nothing.

Weighted results differ from the kernels' by the rounding of their accumulator, float32 for most types; moves, nearest
and shapes are equal byte for byte.
"""

import math
from fractions import Fraction

import numpy as np

from . import _checks, _dtypes, _request

__all__ = [
    "depth_to_space",
    "depth_to_space_grad",
    "depth_to_space_shape",
    "pixel_shuffle",
    "pixel_unshuffle",
    "resample",
    "resample_grad",
    "resample_shape",
    "space_to_depth",
    "space_to_depth_grad",
    "space_to_depth_shape",
]

_HALF = Fraction(1, 2)
_ROUNDINGS = {
    "floor": math.floor,
    "ceil": math.ceil,
    "half_down": lambda x: math.ceil(x - _HALF),
    "half_up": lambda x: math.floor(x + _HALF),
}


def depth_to_space(x, /, block_size, *, data_format="NHWC", mode="DCR", out=None, num_threads=None):
    """Move blocks of channels into space; see `imgops.depth_to_space`.

    Split the channel axis into (b, b, C) for DCR or (C, b, b) for CRD, b = block_size, put one b behind H and one
    behind W, and merge.

    Examples
    --------
    >>> depth_to_space(np.arange(1, 5).reshape(1, 1, 4), 2).tolist()
    [[[1], [2]], [[3], [4]]]
    """
    return _move("depth_to_space", x, block_size, data_format, mode, out, num_threads, to_space=True)


def space_to_depth(x, /, block_size, *, data_format="NHWC", mode="DCR", out=None, num_threads=None):
    """Move square blocks of space into channels; see `imgops.space_to_depth`.

    Split H and W into (H / b, b) and (W / b, b), b = block_size, bring the two b to the channel axis, before C for DCR
    and behind it for CRD, and merge.

    Examples
    --------
    >>> space_to_depth([[[1], [2]], [[3], [4]]], 2).tolist()
    [[[1, 2, 3, 4]]]
    """
    return _move("space_to_depth", x, block_size, data_format, mode, out, num_threads, to_space=False)


def depth_to_space_grad(
    grad_output, /, block_size, *, data_format="NHWC", mode="DCR", out=None, accumulate=False, num_threads=None
):
    """Gradient of `depth_to_space`, the move back; see `imgops.depth_to_space_grad`.

    Examples
    --------
    >>> depth_to_space_grad(np.array([[[1.0], [2.0]], [[3.0], [4.0]]]), 2).tolist()
    [[[1.0, 2.0, 3.0, 4.0]]]
    """
    return _move_grad(
        "depth_to_space_grad", grad_output, block_size, data_format, mode, out, accumulate, num_threads, to_space=False
    )


def space_to_depth_grad(
    grad_output, /, block_size, *, data_format="NHWC", mode="DCR", out=None, accumulate=False, num_threads=None
):
    """Gradient of `space_to_depth`, the move back; see `imgops.space_to_depth_grad`.

    Examples
    --------
    >>> space_to_depth_grad(np.array([[[1.0, 2.0, 3.0, 4.0]]]), 2).tolist()
    [[[1.0], [2.0]], [[3.0], [4.0]]]
    """
    return _move_grad(
        "space_to_depth_grad", grad_output, block_size, data_format, mode, out, accumulate, num_threads, to_space=True
    )


def pixel_shuffle(x, /, upscale_factor, *, out=None, num_threads=None):
    """`depth_to_space` in NCHW and CRD order; see `imgops.pixel_shuffle`.

    Examples
    --------
    >>> pixel_shuffle(np.arange(4).reshape(4, 1, 1), 2).tolist()
    [[[0, 1], [2, 3]]]
    """
    factor = _checks.block_size("pixel_shuffle", upscale_factor, "upscale_factor")
    return _move("pixel_shuffle", x, factor, "NCHW", "CRD", out, num_threads, to_space=True)


def pixel_unshuffle(x, /, downscale_factor, *, out=None, num_threads=None):
    """`space_to_depth` in NCHW and CRD order; see `imgops.pixel_unshuffle`.

    Examples
    --------
    >>> pixel_unshuffle(np.arange(4).reshape(1, 2, 2), 2).tolist()
    [[[0]], [[1]], [[2]], [[3]]]
    """
    factor = _checks.block_size("pixel_unshuffle", downscale_factor, "downscale_factor")
    return _move("pixel_unshuffle", x, factor, "NCHW", "CRD", out, num_threads, to_space=False)


def depth_to_space_shape(shape, block_size, *, data_format="NHWC"):
    """Shape of `depth_to_space`'s result; see `imgops.depth_to_space_shape`.

    Examples
    --------
    >>> depth_to_space_shape((12, 3, 5), 2, data_format="NCHW")
    (3, 6, 10)
    """
    return _move_shape("depth_to_space_shape", shape, block_size, data_format, to_space=True)


def space_to_depth_shape(shape, block_size, *, data_format="NHWC"):
    """Shape of `space_to_depth`'s result; see `imgops.space_to_depth_shape`.

    Examples
    --------
    >>> space_to_depth_shape((3, 6, 10), 2, data_format="NCHW")
    (12, 3, 5)
    """
    return _move_shape("space_to_depth_shape", shape, block_size, data_format, to_space=False)


def resample(
    x, /, size=None, *, scale=None, axes=None, data_format="NHWC", mode="linear", convention="half_pixel",
    rounding=None, antialias=False, out=None, dtype=None, num_threads=None,
):  # fmt: skip
    """Resample an array along some or all of its axes; see `imgops.resample`.

    One matrix (output length, input length) per axis, its rows the weights of the inputs.

    Examples
    --------
    >>> resample([[1, 2], [3, 4]], (1, 3), mode="nearest").tolist()
    [[1, 1, 2]]
    """
    function = "resample"
    x = _checks.as_array(function, x)
    request = _request.resolve(function, x.shape, size, scale, axes, data_format, mode, convention, rounding, antialias)
    _check_threads(function, num_threads)
    if request.mode == "nearest":
        result_dtype = x.dtype if dtype is None else _checks.any_dtype(function, dtype)
    else:
        result_dtype, double = _checks.weighted_dtypes(function, x.dtype, dtype)
    if out is None:
        _checks.element_count(function, request.output_shape, result_dtype.itemsize)
    else:
        if dtype is not None and isinstance(out, np.ndarray) and out.dtype != result_dtype:
            _checks.out_dtype_disagrees(function, out.dtype, result_dtype)
        _checks.output(function, out, request.output_shape, (result_dtype,))
    if dtype is not None:
        x = x.astype(result_dtype)
    matrices = _matrices(request)
    if request.mode == "nearest":
        for axis, matrix in matrices:
            x = np.take(x, [int(np.flatnonzero(row)[0]) for row in matrix], axis)
        return _deliver(x, out)
    for axis, matrix in matrices:
        x = _multiply(matrix, x, axis)
    return _deliver(_rounded(x, double, result_dtype), out)


def resample_grad(
    grad_output, /, input_size, *, scale=None, axes=None, data_format="NHWC", mode="linear", convention="half_pixel",
    rounding=None, antialias=False, out=None, accumulate=False, num_threads=None,
):  # fmt: skip
    """Gradient of `resample` with respect to its input; see `imgops.resample_grad`.

    The transposes of the forward's matrices.

    Examples
    --------
    >>> resample_grad(np.array([[4.0, 5.0, 6.0]]), (2, 2), mode="nearest").tolist()
    [[9.0, 6.0], [0.0, 0.0]]
    """
    function = "resample_grad"
    grad_output = _checks.as_array(function, grad_output, "grad_output")
    _checks.gradient_dtype(function, grad_output.dtype)
    input_shape, size, axes = _request.resolve_grad(function, grad_output.shape, input_size, scale, axes, data_format)
    request = _request.resolve(
        function, input_shape, size, scale, axes, data_format, mode, convention, rounding, antialias
    )
    accumulate = _checks.accumulate(function, accumulate, out)
    _check_threads(function, num_threads)
    dtypes = _dtypes.gradient_outputs(_dtypes.native(grad_output.dtype))
    if out is None:
        _checks.element_count(function, input_shape, dtypes[0].itemsize)
    else:
        _checks.output(function, out, input_shape, dtypes)
    gradient = grad_output
    for axis, matrix in _matrices(request):
        gradient = _multiply(matrix.T, gradient, axis)
    double = _dtypes.needs_double(grad_output.dtype, dtypes[0] if out is None else out.dtype)
    if accumulate:
        gradient = out.astype(gradient.dtype) + gradient
    return _deliver(_rounded(gradient, double, dtypes[0] if out is None else out.dtype), out)


def resample_shape(shape, size=None, *, scale=None, axes=None, data_format="NHWC"):
    """Shape of `resample`'s result; see `imgops.resample_shape`.

    Examples
    --------
    >>> resample_shape((5, 7, 3), scale=1.5)
    (7, 10, 3)
    """
    function = "resample_shape"
    result = list(_checks.shape_of(function, shape))
    if size is None and scale is None:
        _checks.need_size_or_scale(function)
    axes = _request.resolve_axes(function, tuple(result), size, scale, axes, data_format)
    sizes = None if size is None else _checks.sizes(function, size, len(axes))
    scales = [
        None if entry is None else _checks.positive(function, "scale", entry)
        for entry in _checks.entries(function, "scale", scale, len(axes))
    ]
    for position, axis in enumerate(axes):
        _checks.resampled_length(function, result[axis], axis)
        if sizes is not None:
            result[axis] = sizes[position]
        else:
            result[axis] = _checks.scaled_length(function, result[axis], scales[position], scales[position])
    _checks.element_count(function, result, 1)
    return tuple(result)


# ---------------------------------------------------------------------------------------------------------------------
# Arguments and results


def _check_threads(function, num_threads):
    if num_threads is not None:
        _checks.num_threads(function, num_threads)


def _deliver(result, out):
    """The result as an array of its own, or in `out`."""
    if out is None:
        return np.array(result, order="C")
    # A copy first: `out` may share memory with what the result is a view of.
    out[...] = np.array(result)
    return out


def _move(function, x, block_size, data_format, mode, out, num_threads, to_space):
    x = _checks.as_array(function, x)
    block = _checks.block_size(function, block_size)
    data_format, mode, shape = _checks.blocks(function, x.shape, block, data_format, mode, to_space)
    _check_threads(function, num_threads)
    if out is None:
        _checks.element_count(function, shape, x.itemsize)
    else:
        _checks.output(function, out, shape, (x.dtype,), data_format)
    return _deliver(_moved(x, block, data_format, mode, to_space), out)


def _move_grad(function, grad_output, block_size, data_format, mode, out, accumulate, num_threads, to_space):
    grad_output = _checks.as_array(function, grad_output, "grad_output")
    _checks.gradient_dtype(function, grad_output.dtype)
    block = _checks.block_size(function, block_size)
    accumulate = _checks.accumulate(function, accumulate, out)
    data_format, mode, shape = _checks.blocks(function, grad_output.shape, block, data_format, mode, to_space)
    _check_threads(function, num_threads)
    if out is None:
        _checks.element_count(function, shape, grad_output.itemsize)
    else:
        _checks.output(function, out, shape, _dtypes.gradient_outputs(grad_output.dtype), data_format)
    gradient = _moved(grad_output, block, data_format, mode, to_space)
    if accumulate:
        wide = np.result_type(out.dtype, np.float32)
        gradient = (out.astype(wide) + gradient.astype(wide)).astype(out.dtype)
    return _deliver(gradient, out)


def _move_shape(function, shape, block_size, data_format, to_space):
    block = _checks.block_size(function, block_size)
    shape = _checks.shape_of(function, shape)
    result = _checks.blocks(function, shape, block, data_format, "DCR", to_space)[2]
    _checks.element_count(function, result, 1)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Moves between depth and space, on (..., C, H, W)


def _channels_first(x, data_format):
    """x as (..., C, H, W) with its logical channels in order."""
    if data_format == "NHWC":
        return np.moveaxis(x, -1, -3)
    if data_format == "NCHW":
        return x
    # NCHW_VECT_C: channel 4 * i + j is vector i's element j.
    *n, c, h, w, _ = x.shape
    return np.moveaxis(x, -1, -3).reshape(*n, 4 * c, h, w)


def _from_channels_first(x, data_format):
    if data_format == "NHWC":
        return np.moveaxis(x, -3, -1)
    if data_format == "NCHW":
        return x
    *n, c, h, w = x.shape
    return np.moveaxis(x.reshape(*n, c // 4, 4, h, w), -3, -1)


def _depth_to_space(x, b, mode):
    """(..., C, H, W) to (..., C / b**2, H b, W b)."""
    *n, c, h, w = x.shape
    if mode == "DCR":
        split = x.reshape(*n, b, b, c // b**2, h, w)
        order = (2, 3, 0, 4, 1)
    else:
        split = x.reshape(*n, c // b**2, b, b, h, w)
        order = (0, 3, 1, 4, 2)
    lead = tuple(range(len(n)))
    moved = split.transpose(*lead, *(len(n) + axis for axis in order))
    return moved.reshape(*n, c // b**2, h * b, w * b)


def _space_to_depth(x, b, mode):
    """(..., C, H, W) to (..., C b**2, H / b, W / b)."""
    *n, c, h, w = x.shape
    split = x.reshape(*n, c, h // b, b, w // b, b)
    order = (2, 4, 0, 1, 3) if mode == "DCR" else (0, 2, 4, 1, 3)
    lead = tuple(range(len(n)))
    moved = split.transpose(*lead, *(len(n) + axis for axis in order))
    return moved.reshape(*n, c * b**2, h // b, w // b)


def _moved(x, block, data_format, mode, to_space):
    move = _depth_to_space if to_space else _space_to_depth
    return _from_channels_first(move(_channels_first(x, data_format), block, mode), data_format)


# ---------------------------------------------------------------------------------------------------------------------
# Resampling


def _matrices(request):
    """(axis, matrix) of every resampled axis."""
    for axis, axis_map, (convention, scale) in zip(request.axes, request.maps, request.rows, strict=True):
        n, m = request.input_shape[axis], request.output_shape[axis]
        matrix = np.full((m, n), Fraction(0), dtype=object)
        own = None if convention is None or request.antialias else getattr(convention, request.mode, None)
        if own is not None:
            _fill_by_convention(matrix, own, request.mode, scale)
        else:
            for o in range(m):
                x = (o - axis_map.output_offset) / axis_map.scale - axis_map.input_offset
                widening = axis_map.scale
                if convention is not None and convention.widens_by_scale:
                    widening = Fraction(m, n) if scale is None else scale
                _fill(matrix[o], x, request, axis_map, convention, widening)
        yield axis, matrix


def _fill(row, x, request, axis_map, convention, widening):
    """The weights of one output at the coordinate x; with antialias of a filter widened by a `widening` below 1."""
    antialias = request.antialias or (convention is not None and convention.always_antialias)
    if request.mode == "nearest":
        index = _ROUNDINGS[axis_map.rounding](x)
        row[min(max(index, 0), len(row) - 1)] = Fraction(1)
    elif request.mode == "linear" and not (antialias and widening < 1):
        _fill_linear(row, x)
    else:
        _fill_filter(row, x, request.mode, antialias, widening, convention)


def _fill_linear(row, x):
    """The two samples around x, clamped to the axis, each weighted by its nearness."""
    last = len(row) - 1
    x = min(max(x, Fraction(0)), Fraction(last))
    lower = math.floor(x)
    row[lower] += 1 - (x - lower)
    row[min(lower + 1, last)] += x - lower


def _fill_filter(row, x, mode, antialias, scale, convention):
    """Every sample within the filter around x, by its distance in samples, widened where antialias shrinks the axis."""
    width = 1 / scale if antialias and scale < 1 else Fraction(1)
    edge = None if convention is None else convention.edge
    if edge is None:
        edge = "renormalise" if antialias or mode == "lanczos3" else "repeat"
    last = len(row) - 1
    if edge == "renormalise":
        # The picture ends half a sample, as wide as the filter makes it, beyond its edge samples.
        x = min(max(x, -width / 2), last + width / 2)
    radius, weight = _filter(mode, antialias, convention)
    inputs = range(math.floor(x - radius * width) + 1, math.ceil(x + radius * width))
    if edge != "repeat":
        inputs = [i for i in inputs if 0 <= i <= last]
    weights = [weight(abs(i - x) / width) for i in inputs]
    # Cubic weights of whole samples sum to one as they are; the others, and what is left of any at an edge, may not.
    total = sum(weights) if edge != "repeat" or mode == "lanczos3" or width > 1 else 1
    for i, w in zip(inputs, weights, strict=True):
        row[min(max(i, 0), last)] += w / total


def _filter(mode, antialias, convention):
    """(radius in samples, weight of a distance) of a filter."""
    if mode == "linear":
        return 1, lambda t: 1 - t
    if mode == "lanczos3":
        return 3, lambda t: _sinc(t) * _sinc(t / 3)
    coefficient = -0.75 if convention is None else convention.cubic_coefficient
    if antialias and convention is not None and convention.antialias_cubic_coefficient is not None:
        coefficient = convention.antialias_cubic_coefficient
    return 2, lambda t: _keys(t, Fraction(coefficient))


def _keys(t, a):
    """R. Keys, Cubic convolution interpolation for digital image processing, 1981, with the coefficient a."""
    if t <= 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a


def _sinc(t):
    if t == 0:
        return 1.0
    return 0.0 if t == int(t) else math.sin(math.pi * t) / (math.pi * t)


def _fill_by_convention(matrix, own, mode, scale):
    """Rows by a convention's own arithmetic, which is defined in its row of the conventions alone."""
    m, n = matrix.shape
    if mode == "nearest":
        matrix[np.arange(m), own(n, m, scale)] = Fraction(1)
        return
    lower, fraction = own(n, m, scale)
    for o in range(m):
        _fill_linear(matrix[o], int(lower[o]) + Fraction(float(fraction[o])))


def _multiply(matrix, x, axis):
    """The matrix times x along one axis, in float64 or complex128; a sample of weight zero is not read."""
    x = np.moveaxis(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64), axis, 0)
    result = np.zeros((len(matrix), *x.shape[1:]), x.dtype)
    with np.errstate(all="ignore"):
        for o, row in enumerate(matrix):
            for i in np.flatnonzero(row):
                result[o] += float(row[i]) * x[i]
    return np.moveaxis(result, 0, axis)


def _rounded(values, double, dtype):
    """Values in the accumulator's type, then in the result's: integers half to even and saturated."""
    with np.errstate(all="ignore"):
        if not double:
            values = values.astype(np.complex64 if values.dtype.kind == "c" else np.float32)
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            values = np.clip(np.rint(values).astype(np.float64), limits.min, limits.max)
        return values.astype(dtype)
