"""DirectML's operators on NumPy arrays: RESAMPLE, RESAMPLE_GRAD, DEPTH_TO_SPACE, SPACE_TO_DEPTH and UPSAMPLE_2D.

Fields keep DirectML's names in Python's spelling (InputPixelOffsets is `input_pixel_offsets`), enumerators theirs
without the prefix (DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR is "nearest_neighbor"). Source: the reference pages of the
DML_..._OPERATOR_DESC structures at https://learn.microsoft.com/windows/ai/directml/api/.

DirectML's scales and offsets are FLOATs, and so they are here: a number is first rounded to float32. A scale that is
the float32 nearest to the quotient of the two lengths then means that quotient, any other the shortest decimal of its
float32 (0.6, not 0.60000002), and the arithmetic on them is exact. DirectML leaves the precision of coordinates to the
device.
"""

from fractions import Fraction

import numpy as np

from .. import _checks, blocks, resampling
from ..taps import AxisMap

__all__ = ["depth_to_space", "resample", "resample_grad", "space_to_depth", "upsample_2d"]

_MODES = {"nearest_neighbor": "nearest", "linear": "linear"}
_ROUNDINGS = {None: "half_down", "increasing": "ceil", "decreasing": "floor"}
_ORDERS = {"depth_column_row": "DCR", "column_row_depth": "CRD"}
_FLOATS = ("float16", "float32")
_RESAMPLE_TYPES = (*_FLOATS, "int8", "uint8")
_BLOCK_TYPES = (*_FLOATS, "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def resample(
    input,
    output_size,
    *,
    interpolation_mode,
    scales,
    input_pixel_offsets=0.5,
    output_pixel_offsets=-0.5,
    rounding_direction=None,
    antialiased=False,
):
    """Resample any of up to four axes: DML_RESAMPLE, RESAMPLE1, RESAMPLE2 and RESAMPLE3.

    Parameters
    ----------
    input : array_like, 1 to 4 axes
        float16, float32, int8 or uint8.
    output_size : sequence of int, one length per axis
        The shape of the result. Where it is longer than the scaled input the edge sample repeats, where it is shorter
        the rest is cropped.
    interpolation_mode : {"nearest_neighbor", "linear"}
    scales : float, or one per axis
        Output samples per input sample, > 0, as float32.
    input_pixel_offsets, output_pixel_offsets : float, or one per axis
        Added before and after scaling, in samples, as float32. 0.5 and -0.5 are pixel centres.
    rounding_direction : {None, "increasing", "decreasing"}
        How nearest_neighbor makes an index of a coordinate: None to the nearest sample, halves down (RESAMPLE and
        RESAMPLE1); "increasing" by ceil, "decreasing" by floor (RESAMPLE2 and RESAMPLE3). No effect on linear.
    antialiased : bool
        Widen linear's triangle by the reduction (RESAMPLE3); for linear only.

    Returns
    -------
    ndarray, output_size, of input's dtype

    Raises
    ------
    TypeError
        For other dtypes, and for arguments of a wrong kind.
    ValueError
        For other numbers of axes or entries, lengths below 1, scales that are not positive and finite, unknown names,
        and antialiased nearest_neighbor.

    Notes
    -----
    ``output = (input + input_offset) * scale + output_offset``, so output ``o`` reads the input at
    ``(o - output_offset) / scale - input_offset``, clamped to the axis. The pages leave ties of RESAMPLE open; their
    worked example has halves down. int8 and uint8 results of linear round half to even.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1, 2], [3, 4]], np.float32)
    >>> resample(x, (1, 3), interpolation_mode="nearest_neighbor", scales=(0.5, 1.5))
    array([[1., 1., 2.]], dtype=float32)
    """
    function = "directml.resample"
    array = _checks.interface_array(function, "input", input, _RESAMPLE_TYPES, (1, 2, 3, 4))
    size = _checks.interface_size(function, "output_size", output_size, array.ndim)
    options = _resample_options(
        function, array.shape, size, interpolation_mode, scales, input_pixel_offsets, output_pixel_offsets,
        rounding_direction, antialiased,
    )  # fmt: skip
    return resampling.resample(array, size, **options)


def resample_grad(
    input_gradient,
    output_gradient_size,
    *,
    interpolation_mode,
    scales,
    input_pixel_offsets=0.5,
    output_pixel_offsets=-0.5,
    rounding_direction=None,
    antialiased=False,
):
    """Gradient of `resample` with respect to its input: DML_RESAMPLE_GRAD and RESAMPLE_GRAD1.

    Parameters
    ----------
    input_gradient : array_like, 1 to 4 axes
        Shaped like the forward's result; float16 or float32.
    output_gradient_size : sequence of int, one length per axis
        The shape of the forward's input and of the result.
    interpolation_mode, scales, input_pixel_offsets, output_pixel_offsets, rounding_direction, antialiased
        The forward call's own, unchanged. DirectML has no antialiased gradient; here it is the transpose of the
        antialiased forward.

    Returns
    -------
    ndarray, output_gradient_size, of input_gradient's dtype

    Raises
    ------
    TypeError, ValueError
        As `resample`; int8 and uint8 have no gradient.

    Notes
    -----
    The transpose of the forward's map: each element goes, with the forward's weights, to the samples that it was read
    from. float16 is summed in float32 and rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> gradient = np.array([[4, 5, 6]], np.float32)
    >>> resample_grad(gradient, (2, 2), interpolation_mode="nearest_neighbor", scales=(0.5, 1.5))
    array([[9., 6.],
           [0., 0.]], dtype=float32)
    """
    function = "directml.resample_grad"
    array = _checks.interface_array(function, "input_gradient", input_gradient, _FLOATS, (1, 2, 3, 4))
    size = _checks.interface_size(function, "output_gradient_size", output_gradient_size, array.ndim)
    options = _resample_options(
        function, size, array.shape, interpolation_mode, scales, input_pixel_offsets, output_pixel_offsets,
        rounding_direction, antialiased,
    )  # fmt: skip
    return resampling.resample_grad(array, size, **options)


def upsample_2d(input, scale_size, interpolation_mode):
    """Enlarge the last two axes by whole numbers: DML_UPSAMPLE_2D.

    Parameters
    ----------
    input : array_like, (N, C, H, W) or (N, C, D, H, W)
        float16 or float32.
    scale_size : (int, int)
        Height and width factor, at least 1.
    interpolation_mode : {"nearest_neighbor", "linear"}
        The nearest pixel centre, or the weighted mean of the nearest two by two.

    Returns
    -------
    ndarray, (N, C, H * height, W * width) or with D, of input's dtype

    Raises
    ------
    TypeError, ValueError
        For other dtypes or numbers of axes, factors that are no positive integers, results longer than 2**32 - 1,
        unknown names.

    Examples
    --------
    >>> import numpy as np
    >>> upsample_2d(np.array([[[[1, 2]]]], np.float32), (1, 2), "linear")
    array([[[[1.  , 1.25, 1.75, 2.  ]]]], dtype=float32)
    """
    function = "directml.upsample_2d"
    array = _checks.interface_array(function, "input", input, _FLOATS, (4, 5))
    factors = _checks.interface_size(function, "scale_size", scale_size, 2)
    _checks.interface_lengths(function, "scale_size", [n * f for n, f in zip(array.shape[-2:], factors, strict=True)])
    mode = _MODES[_checks.name_of(function, "interpolation_mode", interpolation_mode, tuple(_MODES))]
    return resampling.resample(array, scale=factors, axes=(-2, -1), mode=mode)


def depth_to_space(input, block_size, *, order="depth_column_row"):
    """Move channels into square blocks of space: DML_DEPTH_TO_SPACE and DEPTH_TO_SPACE1.

    Parameters
    ----------
    input : array_like, (N, C, H, W)
        float16, float32, float64 or an integer type.
    block_size : int
        Side B of the square block.
    order : {"depth_column_row", "column_row_depth"}
        The channel axis splits as (B, B, C / B**2) or as (C / B**2, B, B).

    Returns
    -------
    ndarray, (N, C / B**2, H * B, W * B), of input's dtype

    Raises
    ------
    TypeError, ValueError
        For other dtypes or numbers of axes, channels that B**2 does not divide, unknown names.

    Examples
    --------
    >>> import numpy as np
    >>> depth_to_space(np.arange(4, dtype=np.uint8).reshape(1, 4, 1, 1), 2)
    array([[[[0, 1],
             [2, 3]]]], dtype=uint8)
    """
    function = "directml.depth_to_space"
    array = _checks.interface_array(function, "input", input, _BLOCK_TYPES, (4,))
    mode = _ORDERS[_checks.name_of(function, "order", order, tuple(_ORDERS))]
    block = _checks.interface_divisible(function, array.shape, block_size, to_space=True)
    return blocks.depth_to_space(array, block, data_format="NCHW", mode=mode)


def space_to_depth(input, block_size, *, order="depth_column_row"):
    """Move square blocks of space into channels: DML_SPACE_TO_DEPTH and SPACE_TO_DEPTH1.

    Parameters
    ----------
    input : array_like, (N, C, H, W)
        float16, float32, float64 or an integer type.
    block_size : int
        Side B of the square block.
    order : {"depth_column_row", "column_row_depth"}
        The channel axis of the result is (B, B, C) or (C, B, B).

    Returns
    -------
    ndarray, (N, C * B**2, H / B, W / B), of input's dtype

    Raises
    ------
    TypeError, ValueError
        For other dtypes or numbers of axes, a height or width that B does not divide, unknown names.

    Examples
    --------
    >>> import numpy as np
    >>> space_to_depth(np.arange(4, dtype=np.uint8).reshape(1, 1, 2, 2), 2).ravel()
    array([0, 1, 2, 3], dtype=uint8)
    """
    function = "directml.space_to_depth"
    array = _checks.interface_array(function, "input", input, _BLOCK_TYPES, (4,))
    mode = _ORDERS[_checks.name_of(function, "order", order, tuple(_ORDERS))]
    block = _checks.interface_divisible(function, array.shape, block_size, to_space=False)
    return blocks.space_to_depth(array, block, data_format="NCHW", mode=mode)


def _resample_options(
    function, input_shape, output_shape, interpolation_mode, scales, input_offsets, output_offsets, direction,
    antialiased,
):  # fmt: skip
    """imgops' options for one operator: the mode, and one AxisMap for every axis."""
    mode = _MODES[_checks.name_of(function, "interpolation_mode", interpolation_mode, tuple(_MODES))]
    rounding = _ROUNDINGS[_checks.interface_name_or_none(function, "rounding_direction", direction, _ROUNDINGS)]
    antialiased = _checks.interface_antialiased(function, antialiased, interpolation_mode, mode)
    ndim = len(input_shape)
    scales = _checks.interface_floats(function, "scales", scales, ndim, positive=True)
    input_offsets = _checks.interface_floats(function, "input_pixel_offsets", input_offsets, ndim)
    output_offsets = _checks.interface_floats(function, "output_pixel_offsets", output_offsets, ndim)
    lengths = zip(input_shape, output_shape, strict=True)
    maps = [
        AxisMap(_meant_scale(scale, *pair), input_offset, output_offset, rounding)
        for scale, pair, input_offset, output_offset in zip(scales, lengths, input_offsets, output_offsets, strict=True)
    ]
    return {"axes": tuple(range(ndim)), "mode": mode, "convention": maps, "antialias": antialiased}


def _meant_scale(scale, input_length, output_length):
    """The exact scale behind a float32: the quotient of the lengths where float32 cannot tell the two apart."""
    if input_length and scale == np.float32(output_length / input_length):
        return Fraction(output_length, input_length)
    return scale
