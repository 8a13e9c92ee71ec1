"""PyTorch's pixel_shuffle, pixel_unshuffle and interpolate, and the gradient of interpolate, on NumPy arrays.

Arguments, defaults and error conditions are those of ``torch.nn.functional``; errors are ValueError and TypeError.
torch itself is not needed. Sizes, indices and weights follow torch 2.13 on the CPU: an output size is the floor of a
binary product, nearest indices come from float32 steps whatever the dtype, linear weights of float64 arrays do not.
Source: aten/src/ATen/native/UpSample.h, cpu/UpSampleKernel.cpp and torch/nn/functional.py of
https://github.com/pytorch/pytorch.

Not imitated, and computed as elsewhere:

* With a scale_factor that leaves a length as it is, or doubles it, torch's gradient of nearest is that of an exact
  factor 1 or 2; with antialias it uses the scale on an axis that its forward copies. Here it is always the adjoint.
* nearest-exact has two code paths in torch, which differ from 2 samples to 41, 47 and 55, below 65. That of small
  pictures (height and width up to 128 together) and of every gradient is followed.
* An antialiased output that is one sample wide repeats its first row in torch, or fails for uint8.
* float16 and bfloat16 weights, which torch partly rounds to that type, are float32 here.
"""

import dataclasses

import numpy as np

from .. import _checks, blocks, resampling

__all__ = ["interpolate", "interpolate_grad", "pixel_shuffle", "pixel_unshuffle"]

_FLOATS = ("float16", "bfloat16", "float32", "float64")
_WITH_BYTES = ("uint8", *_FLOATS)
_ANTIALIASED = ("uint8", "float32", "float64")


@dataclasses.dataclass(frozen=True)
class _Mode:
    """One of interpolate's modes: imgops' mode, the numbers of axes and the dtypes that torch has it for."""

    mode: str
    ranks: tuple
    types: tuple
    has_corners: bool = True
    antialias: tuple = (False,)


_MODES = {
    "nearest": _Mode("nearest", (3, 4, 5), _WITH_BYTES, has_corners=False),
    "nearest-exact": _Mode("nearest", (3, 4, 5), _WITH_BYTES, has_corners=False),
    "linear": _Mode("linear", (3,), _FLOATS),
    "bilinear": _Mode("linear", (4,), _WITH_BYTES, antialias=(False, True)),
    "trilinear": _Mode("linear", (5,), _FLOATS),
    "bicubic": _Mode("cubic", (4,), _WITH_BYTES, antialias=(False, True)),
    "lanczos": _Mode("lanczos3", (4,), _WITH_BYTES, antialias=(True,)),
    "area": _Mode("area", (3, 4, 5), _FLOATS, has_corners=False),
}


def pixel_shuffle(input, upscale_factor):
    """Move channels into square blocks of space, as ``torch.nn.functional.pixel_shuffle``.

    Parameters
    ----------
    input : array_like, (..., C * r**2, H, W)
        Any dtype.
    upscale_factor : int
        Side r of the square block, at least 1.

    Returns
    -------
    ndarray, (..., C, H * r, W * r), of input's dtype

    Raises
    ------
    TypeError
        For a factor that is no integer.
    ValueError
        For a factor below 1, fewer than three axes, channels that r**2 does not divide.

    Notes
    -----
    ``out[..., c, h * r + i, w * r + j] = input[..., (c * r + i) * r + j, h, w]``.

    Examples
    --------
    >>> import numpy as np
    >>> pixel_shuffle(np.arange(4).reshape(4, 1, 1), 2)
    array([[[0, 1],
            [2, 3]]])
    """
    function = "torch.pixel_shuffle"
    array = _checks.as_array(function, input, "input")
    factor = _checks.torch_block(function, array.shape, "upscale_factor", upscale_factor, to_space=True)
    return blocks.pixel_shuffle(array, factor)


def pixel_unshuffle(input, downscale_factor):
    """Move square blocks of space into channels, as ``torch.nn.functional.pixel_unshuffle``.

    Parameters
    ----------
    input : array_like, (..., C, H * r, W * r)
        Any dtype.
    downscale_factor : int
        Side r of the square block, at least 1.

    Returns
    -------
    ndarray, (..., C * r**2, H, W), of input's dtype

    Raises
    ------
    TypeError
        For a factor that is no integer.
    ValueError
        For a factor below 1, fewer than three axes, a height or width that r does not divide.

    Notes
    -----
    ``out[..., (c * r + i) * r + j, h, w] = input[..., c, h * r + i, w * r + j]``.

    Examples
    --------
    >>> import numpy as np
    >>> pixel_unshuffle(np.arange(4).reshape(1, 2, 2), 2).shape
    (4, 1, 1)
    """
    function = "torch.pixel_unshuffle"
    array = _checks.as_array(function, input, "input")
    factor = _checks.torch_block(function, array.shape, "downscale_factor", downscale_factor, to_space=False)
    return blocks.pixel_unshuffle(array, factor)


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Resize the spatial axes, as ``torch.nn.functional.interpolate``.

    Parameters
    ----------
    input : array_like, (N, C, W), (N, C, H, W) or (N, C, D, H, W)
        float16, bfloat16, float32 or float64; uint8 too in the modes nearest, nearest-exact, bilinear, bicubic and
        lanczos. With antialias uint8, float32 or float64.
    size : int or sequence of int, optional
        Output lengths of the spatial axes; an int means all of them.
    scale_factor : float or sequence of float, optional
        In place of `size`: output samples per input sample. The output length is the floor of the float64 product.
    mode : str
        "nearest", "nearest-exact", "area": 3 to 5 axes; "linear": 3; "bilinear", "bicubic", "lanczos": 4; "trilinear":
        5.
    align_corners : bool, optional
        The corner samples' centres of input and output fall together. Refused in the modes nearest, nearest-exact and
        area; else False by default.
    recompute_scale_factor : bool, optional
        The scale is output length over input length again; else `scale_factor` is used as given.
    antialias : bool
        Widen the filter where an axis shrinks: bilinear, bicubic, and lanczos, which requires it.

    Returns
    -------
    ndarray, of input's dtype

    Raises
    ------
    TypeError
        For a dtype that torch does not have in this mode, and for arguments of a wrong kind.
    ValueError
        For both size and scale_factor or neither, lengths that do not fit the axes or are below 1, another number of
        axes than the mode has, options that the mode does not have, empty axes (N may be empty; C in mode area too).
    MemoryError
        For a result that memory cannot hold.

    Notes
    -----
    With r = input length / output length, or 1 / scale_factor where it is used, output o reads the input at floor(o r)
    in nearest, floor((o + 1/2) r) in nearest-exact, and around (o + 1/2) r - 1/2 in the weighted modes, or o (n - 1) /
    (m - 1) with align_corners. The cubic coefficient is -0.75, with antialias -0.5. With antialias and align_corners
    the distance of two outputs is (n - 1) / (m - 1) = r and their position (o + 1/2) r - 1/2, as in torch. area is the
    mean of the samples from floor(o n / m) to ceil((o + 1) n / m), whatever the scale. An axis whose length stays is
    copied, whatever the scale, in linear modes and with antialias.

    uint8 results are computed in float32 and rounded, in bicubic and lanczos after either axis, width first; torch has
    fixed-point weights and may differ by 1, in bicubic and lanczos by 2.

    Examples
    --------
    >>> import numpy as np
    >>> interpolate(np.arange(4.0).reshape(1, 1, 4), scale_factor=0.5)
    array([[[0., 2.]]])
    >>> interpolate(np.array([[[0.0, 1.0]]]), 4, mode="linear")
    array([[[0.  , 0.25, 0.75, 1.  ]]])
    """
    function = "torch.interpolate"
    mode, antialias = _mode_and_antialias(function, mode, antialias)
    input = _array(function, "input", input, mode, _types(mode, antialias))
    call = _resolve(
        function, input.shape, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias, input.dtype
    )
    if call.mode == "area":
        return _window_means(input, call.size)
    options = call.options()
    if input.dtype == np.uint8 and call.mode in ("cubic", "lanczos3"):
        # Overshoots are cut off between the passes, and so must they be here.
        for axis, length, scale in reversed(list(zip(call.axes, call.size, call.scales, strict=True))):
            input = resampling.resample(input, length, **{**options, "axes": axis, "scale": scale})
        return input
    return resampling.resample(input, call.size, **options)


def interpolate_grad(
    grad_output,
    input_size,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """Gradient of `interpolate` with respect to its input, as torch's autograd has it.

    Parameters
    ----------
    grad_output : array_like, the shape of the forward call's output
        float16, bfloat16, float32 or float64; with antialias float32 or float64.
    input_size : sequence of int
        The full shape of the forward call's input, (N, C, ...).
    size, scale_factor, mode, align_corners, recompute_scale_factor, antialias
        The forward call's own.

    Returns
    -------
    ndarray of the shape input_size and grad_output's dtype
        float16 and bfloat16 are summed in float32 and rounded once.

    Raises
    ------
    TypeError, ValueError
        As `interpolate`, and for a grad_output that has not the shape of the forward call's output.

    Examples
    --------
    >>> import numpy as np
    >>> interpolate_grad(np.ones((1, 1, 4)), (1, 1, 2), 4, mode="linear")
    array([[[2., 2.]]])
    """
    function = "torch.interpolate_grad"
    mode, antialias = _mode_and_antialias(function, mode, antialias)
    shape = _checks.shape_of(function, input_size, "input_size")
    _checks.torch_rank(function, "input_size", shape, mode, _MODES[mode].ranks)
    types = [name for name in _types(mode, antialias) if name in _FLOATS]
    grad_output = _array(function, "grad_output", grad_output, mode, types)
    call = _resolve(
        function, shape, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias, grad_output.dtype
    )
    _checks.grad_shape(function, grad_output.shape, (*shape[:2], *call.size))
    if call.mode == "area":
        return _window_means_grad(grad_output, shape[2:])
    return resampling.resample_grad(grad_output, shape[2:], **call.options())


def _mode_and_antialias(function, mode, antialias):
    return _checks.name_of(function, "mode", mode, tuple(_MODES)), _checks.flag(function, "antialias", antialias)


def _types(mode, antialias):
    return [name for name in _MODES[mode].types if not antialias or name in _ANTIALIASED]


def _array(function, argument, value, mode, types):
    array = _checks.as_array(function, value, argument)
    _checks.torch_rank(function, argument, array.shape, mode, _MODES[mode].ranks)
    return _checks.interface_array(function, argument, array, types, _MODES[mode].ranks)


@dataclasses.dataclass(frozen=True)
class _Call:
    """A resolved call: output lengths and used scales of the spatial axes, and imgops' words for the rest."""

    size: tuple
    scales: tuple
    mode: str
    convention: object
    antialias: bool

    @property
    def axes(self):
        return tuple(range(2, 2 + len(self.size)))

    def options(self):
        """The options of imgops.resample but its size."""
        return {
            "axes": self.axes,
            "scale": self.scales,
            "mode": self.mode,
            "convention": self.convention,
            "antialias": self.antialias,
        }


def _resolve(function, shape, size, scale_factor, mode, align_corners, recompute, antialias, dtype):
    chosen = _MODES[mode]
    align_corners = _checks.torch_align_corners(function, align_corners, mode, chosen.has_corners)
    _checks.torch_antialias(function, antialias, align_corners, mode, chosen.antialias)
    recompute = _checks.torch_size_or_scale_factor(function, size, scale_factor, recompute)
    _checks.torch_nonempty(function, shape, 2 if chosen.mode == "area" else 1)
    lengths = shape[2:]
    scales = (None,) * len(lengths)
    if size is not None:
        size = _checks.interface_size(function, "size", _repeated(size, lengths), len(lengths))
    else:
        factors = _repeated(scale_factor, lengths)
        size, factors = _checks.torch_scaled_size(function, lengths, factors)
        if not recompute:
            scales = factors
    _checks.element_count(function, (*shape[:2], *size), dtype.itemsize)
    if chosen.mode == "linear" or antialias:
        # An axis whose length stays is copied, whatever the scale.
        scales = tuple(None if n == m else s for n, m, s in zip(lengths, size, scales, strict=True))
    convention = _convention(mode, align_corners, antialias, dtype)
    return _Call(tuple(size), tuple(scales), chosen.mode, convention, antialias)


def _repeated(value, lengths):
    return value if _checks.is_sequence(value) else (value,) * len(lengths)


def _convention(mode, align_corners, antialias, dtype):
    if mode == "nearest-exact":
        return "torch_nearest_exact"
    if _MODES[mode].mode == "linear" and dtype.name == "float64" and not antialias:
        return "align_corners" if align_corners else "half_pixel"
    return "torch_align_corners" if align_corners else "torch"


# ---------------------------------------------------------------------------------------------------------------------
# area: means of windows, which divide an axis into equal parts and share the samples that lie across


def _windows(n, m):
    """(first, last + 1) input index of every output."""
    outputs = np.arange(m)
    return outputs * n // m, -(-(outputs + 1) * n // m)


def _sums(x, axis, starts, stops):
    """The sums of x[start:stop] along an axis, of ranges that are never empty."""
    x = np.moveaxis(x, axis, 0)
    # reduceat takes no index behind the end. Every second of its ranges, from a stop to the next start, is not wanted.
    x = np.concatenate((x, np.zeros_like(x, shape=(1, *x.shape[1:]))))
    with np.errstate(all="ignore"):
        sums = np.add.reduceat(x, np.stack((starts, stops), axis=1).ravel(), axis=0)[::2]
    return np.moveaxis(sums, 0, axis)


def _along(values, axis, ndim):
    return values.reshape((-1,) + (1,) * (ndim - 1 - axis))


def _accumulator(dtype):
    return np.float64 if dtype.name == "float64" else np.float32


def _window_means(x, size):
    result = x.astype(_accumulator(x.dtype))
    for axis, m in enumerate(size, 2):
        starts, stops = _windows(x.shape[axis], m)
        counts = (stops - starts).astype(result.dtype)
        result = _sums(result, axis, starts, stops) / _along(counts, axis, x.ndim)
    return np.ascontiguousarray(result, x.dtype.newbyteorder("="))


def _window_means_grad(grad_output, lengths):
    result = grad_output.astype(_accumulator(grad_output.dtype))
    for axis, n in enumerate(lengths, 2):
        starts, stops = _windows(n, grad_output.shape[axis])
        counts = (stops - starts).astype(result.dtype)
        # The outputs whose windows hold an input are a range, as both ends of the windows never decrease.
        inputs = np.arange(n)
        first, last = np.searchsorted(stops, inputs, "right"), np.searchsorted(starts, inputs, "right")
        result = _sums(result / _along(counts, axis, grad_output.ndim), axis, first, last)
    return np.ascontiguousarray(result, grad_output.dtype.newbyteorder("="))
