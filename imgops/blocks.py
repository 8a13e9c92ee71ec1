"""Depth to space and back: blocks of samples moved between the channel axis and the two spatial axes."""

import functools

import numpy as np

from . import _checks, _dtypes, _kernels, threads

# Kept plans of calls; one takes less than a kilobyte.
_PLANS = 256


def depth_to_space(x, /, block_size, *, data_format="NHWC", mode="DCR", out=None, num_threads=None):
    """Move blocks of channels into the two spatial axes, every dtype byte for byte.

    ``y[.., h b + i, w b + j, c] = x[.., h, w, k]`` with ``k = (i b + j) C + c`` (DCR) or ``k = (c b + i) b + j`` (CRD),
    b = block_size and C the channels of y.

    Parameters
    ----------
    x : array_like, (..., H, W, C*b*b), (..., C*b*b, H, W) or (..., C*b*b/4, H, W, 4)
        Any number of leading axes, any fixed-size dtype, any strides.
    block_size : int
        Side b of the square block, at least 1; 1 is a copy.
    data_format : {"NHWC", "NCHW", "NCHW_VECT_C"}
        Where the channels are.
    mode : {"DCR", "CRD"}
        Order of a block's channels: block first (TensorFlow, ONNX's default, DirectML's depth-column-row), or channel
        first (torch.pixel_shuffle).
    out : ndarray, optional
        Of the result's shape and of x's dtype, any strides; it may overlap x.
    num_threads : int, optional
        At least 1; by default `imgops.get_num_threads`.

    Returns
    -------
    ndarray, (..., H*b, W*b, C), (..., C, H*b, W*b) or (..., C/4, H*b, W*b, 4)

    Raises
    ------
    ValueError
        Channels not divisible by b*b, too few axes, an unknown name, a wrong shape of `out`.
    TypeError
        block_size that is no integer, an object dtype, a wrong dtype of `out`.

    References
    ----------
    ONNX DepthToSpace 13; tf.nn.depth_to_space.

    Examples
    --------
    >>> depth_to_space(np.arange(1, 13).reshape(1, 1, 12), 2).tolist()
    [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]
    >>> depth_to_space(np.arange(1, 13).reshape(1, 1, 12), 2, mode="CRD").tolist()
    [[[1, 5, 9], [2, 6, 10]], [[3, 7, 11], [4, 8, 12]]]
    """
    return _move("depth_to_space", x, block_size, data_format, mode, out, num_threads, to_space=True)


def space_to_depth(x, /, block_size, *, data_format="NHWC", mode="DCR", out=None, num_threads=None):
    """Move square blocks of the two spatial axes into channels: the inverse of `depth_to_space`.

    ``y[.., h, w, k] = x[.., h b + i, w b + j, c]`` with ``k = (i b + j) C + c`` (DCR) or ``k = (c b + i) b + j`` (CRD),
    b = block_size and C the channels of x.

    Parameters
    ----------
    x : array_like, (..., H*b, W*b, C), (..., C, H*b, W*b) or (..., C/4, H*b, W*b, 4)
        Any number of leading axes, any fixed-size dtype, any strides.
    block_size, data_format, mode, out, num_threads
        As in `depth_to_space`.

    Returns
    -------
    ndarray, (..., H, W, C*b*b), (..., C*b*b, H, W) or (..., C*b*b/4, H, W, 4)

    Raises
    ------
    ValueError
        Height or width not divisible by b, too few axes, an unknown name, a wrong shape of `out`.
    TypeError
        block_size that is no integer, an object dtype, a wrong dtype of `out`.

    References
    ----------
    ONNX SpaceToDepth 13; tf.nn.space_to_depth.

    Examples
    --------
    >>> space_to_depth([[[1], [2]], [[3], [4]]], 2).tolist()
    [[[1, 2, 3, 4]]]
    """
    return _move("space_to_depth", x, block_size, data_format, mode, out, num_threads, to_space=False)


def depth_to_space_grad(
    grad_output, /, block_size, *, data_format="NHWC", mode="DCR", out=None, accumulate=False, num_threads=None
):
    """Gradient of `depth_to_space`: its transpose, the move back to depth.

    Parameters
    ----------
    grad_output : array_like of float or complex, the shape of the forward's output
    block_size, data_format, mode, num_threads
        As in the forward call.
    out : ndarray, optional
        Of the shape of the forward's input, of grad_output's dtype or a wider float.
    accumulate : bool
        Add to `out` instead of overwriting it; float16 and bfloat16 are added in float32 and rounded once.

    Returns
    -------
    ndarray, the shape of the forward's input

    Raises
    ------
    ValueError, TypeError
        As `space_to_depth`; TypeError for integers; ValueError for accumulate without out.

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
    """Gradient of `space_to_depth`: its transpose, the move back to space.

    Parameters
    ----------
    grad_output : array_like of float or complex, the shape of the forward's output
    block_size, data_format, mode, num_threads
        As in the forward call.
    out : ndarray, optional
        Of the shape of the forward's input, of grad_output's dtype or a wider float.
    accumulate : bool
        Add to `out` instead of overwriting it; float16 and bfloat16 are added in float32 and rounded once.

    Returns
    -------
    ndarray, the shape of the forward's input

    Raises
    ------
    ValueError, TypeError
        As `depth_to_space`; TypeError for integers; ValueError for accumulate without out.

    Examples
    --------
    >>> space_to_depth_grad(np.array([[[1.0, 2.0, 3.0, 4.0]]]), 2).tolist()
    [[[1.0], [2.0]], [[3.0], [4.0]]]
    """
    return _move_grad(
        "space_to_depth_grad", grad_output, block_size, data_format, mode, out, accumulate, num_threads, to_space=True
    )


def pixel_shuffle(x, /, upscale_factor, *, out=None, num_threads=None):
    """torch.pixel_shuffle: `depth_to_space` in NCHW and CRD order.

    Parameters
    ----------
    x : array_like, (..., C*r*r, H, W)
    upscale_factor : int
        r, at least 1.
    out, num_threads
        As in `depth_to_space`.

    Returns
    -------
    ndarray, (..., C, H*r, W*r)

    Raises
    ------
    ValueError, TypeError
        As `depth_to_space`.

    Examples
    --------
    >>> pixel_shuffle(np.arange(8).reshape(8, 1, 1), 2).tolist()
    [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    """
    factor = _checks.block_size("pixel_shuffle", upscale_factor, "upscale_factor")
    return _move("pixel_shuffle", x, factor, "NCHW", "CRD", out, num_threads, to_space=True)


def pixel_unshuffle(x, /, downscale_factor, *, out=None, num_threads=None):
    """torch.pixel_unshuffle: `space_to_depth` in NCHW and CRD order.

    Parameters
    ----------
    x : array_like, (..., C, H*r, W*r)
    downscale_factor : int
        r, at least 1.
    out, num_threads
        As in `space_to_depth`.

    Returns
    -------
    ndarray, (..., C*r*r, H, W)

    Raises
    ------
    ValueError, TypeError
        As `space_to_depth`.

    Examples
    --------
    >>> pixel_unshuffle(np.arange(4).reshape(1, 2, 2), 2).tolist()
    [[[0]], [[1]], [[2]], [[3]]]
    """
    factor = _checks.block_size("pixel_unshuffle", downscale_factor, "downscale_factor")
    return _move("pixel_unshuffle", x, factor, "NCHW", "CRD", out, num_threads, to_space=False)


def depth_to_space_shape(shape, block_size, *, data_format="NHWC"):
    """Shape of `depth_to_space`'s result for an input of this shape.

    Raises
    ------
    ValueError, TypeError
        As `depth_to_space`.

    Examples
    --------
    >>> depth_to_space_shape((1, 2, 3, 12), 2)
    (1, 4, 6, 3)
    """
    return _shape("depth_to_space_shape", shape, block_size, data_format, to_space=True)


def space_to_depth_shape(shape, block_size, *, data_format="NHWC"):
    """Shape of `space_to_depth`'s result for an input of this shape.

    Raises
    ------
    ValueError, TypeError
        As `space_to_depth`.

    Examples
    --------
    >>> space_to_depth_shape((1, 4, 6, 3), 2)
    (1, 2, 3, 12)
    """
    return _shape("space_to_depth_shape", shape, block_size, data_format, to_space=False)


def _shape(function, shape, block_size, data_format, to_space):
    block = _checks.block_size(function, block_size)
    result = _checks.blocks(function, _checks.shape_of(function, shape), block, data_format, "DCR", to_space)[2]
    _checks.element_count(function, result, 1)
    return result


def _move(function, x, block_size, data_format, mode, out, num_threads, to_space):
    x = _checks.as_array(function, x)
    shape, numbers = _plan(function, x.shape, x.itemsize, block_size, data_format, mode, to_space)
    num_threads = threads.resolve(function, num_threads)
    fresh = out is None
    if fresh:
        out = _checks.empty(function, shape, x.dtype)
    else:
        _checks.output(function, out, shape, (x.dtype,), data_format)
        if np.may_share_memory(x, out):
            x = x.copy()
    if 0 not in shape:
        _kernels.blocks.move_blocks(x, out, *numbers, -1, -1, 1, False, fresh, num_threads)
    return out


def _move_grad(function, grad_output, block_size, data_format, mode, out, accumulate, num_threads, to_space):
    x = _checks.as_array(function, grad_output, "grad_output")
    _checks.gradient_dtype(function, x.dtype)
    if accumulate is not False:
        accumulate = _checks.accumulate(function, accumulate, out)
    shape, numbers = _plan(function, x.shape, x.itemsize, block_size, data_format, mode, to_space)
    num_threads = threads.resolve(function, num_threads)
    fresh = out is None
    if fresh:
        out = _checks.empty(function, shape, x.dtype)
    else:
        _checks.output(function, out, shape, _dtypes.gradient_outputs(x.dtype), data_format)
        if np.may_share_memory(x, out):
            x = x.copy()
    if 0 in shape:
        return out
    if not accumulate and out.dtype == x.dtype:
        _kernels.blocks.move_blocks(x, out, *numbers, -1, -1, 1, False, fresh, num_threads)
    elif x.dtype.isnative and out.dtype.isnative:
        _add(x, out, numbers, accumulate, fresh, num_threads)
    else:
        native = out.astype(_dtypes.native(out.dtype))
        _add(x.astype(_dtypes.native(x.dtype)), native, numbers, accumulate, True, num_threads)
        out[...] = native
    return out


def _add(x, out, numbers, accumulate, fresh, num_threads):
    """Move numbers, in native byte order, into those of `out`, or add them there."""
    codes = _dtypes.code(x.dtype), _dtypes.code(out.dtype)
    _kernels.blocks.move_blocks(x, out, *numbers, *codes, _dtypes.parts(out.dtype), accumulate, fresh, num_threads)


def _plan(function, shape, itemsize, block_size, data_format, mode, to_space):
    """The plan of a move, kept for the next such call."""
    # An int once and for all: another object may be a different number by the next call, or one that is not welcome.
    block = block_size if type(block_size) is int else _checks.block_size(function, block_size)
    arguments = (function, shape, itemsize, block, data_format, mode, to_space)
    try:
        return _kept_plan(*arguments)
    except (TypeError, ValueError):
        # An argument that cannot be a key of the cache, or a wrong one: refused below, in the words of the call itself.
        return _make_plan(*arguments)


def _make_plan(function, shape, itemsize, block_size, data_format, mode, to_space):
    """(the result's shape, the numbers that the kernel takes: channel, height and width axis, block, CRD, to_space)."""
    block = _checks.block_size(function, block_size)
    data_format, mode, result = _checks.blocks(function, shape, block, data_format, mode, to_space)
    _checks.element_count(function, result, itemsize)
    axes = (axis % len(shape) for axis in _checks.SPATIAL_AXES[data_format])
    return result, (*axes, block, mode == "CRD", to_space)


_kept_plan = functools.lru_cache(_PLANS)(_make_plan)
