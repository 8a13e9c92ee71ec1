"""ONNX's operators on NumPy arrays: DepthToSpace, SpaceToDepth, Resize and Upsample.

Inputs and attributes keep ONNX's names, defaults and conditions, as of operator set 28 (Upsample: 9). Sources: the
operators' pages at https://onnx.ai/onnx/operators/, and onnx/reference/ops/op_resize.py of onnx 1.23.

Scales are float32 numbers. A coordinate is an exact function of the binary number that a scale is, so that nearest
reads the samples that the reference implementation reads. Where the operator's page, the reference implementation and
ONNX Runtime differ:

* A length that comes of a scale is the floor of the float32 product, as in ONNX Runtime: 5 samples times 1.4 are 7. The
  reference implementation multiplies in float64 and has 6. The roi does not count, as in both, but not on the page.
* align_corners keeps the fraction of length times scale, as the reference implementation does and a node test demands.
* tf_crop_and_resize and pytorch_half_pixel take the whole length of the result, as the page and ONNX Runtime do.
* An axis whose length and scale stay is not touched unless tf_crop_and_resize crops it, as in the reference
  implementation.
"""

import functools
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from .. import _checks, blocks, resampling
from ..conventions import get_convention

__all__ = ["DepthToSpace", "Resize", "SpaceToDepth", "Upsample"]

_ROUNDINGS = {"round_prefer_floor": "half_down", "round_prefer_ceil": "half_up", "floor": "floor", "ceil": "ceil"}
_MIRRORED = {"half_down": "half_up", "half_up": "half_down", "floor": "ceil", "ceil": "floor"}
_TRANSFORMATIONS = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
_POLICIES = ("stretch", "not_larger", "not_smaller")
_MODES = ("nearest", "linear", "cubic")
_WIDE_INTEGERS = ("int64", "uint64")
_WEIGHTED_TYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "complex64", "complex128",
)  # fmt: skip
_TYPES = (*_WEIGHTED_TYPES, "bool")
_RANKS = range(1, 65)


def DepthToSpace(input, blocksize, mode="DCR"):
    """Move channels into square blocks of space.

    Parameters
    ----------
    input : array_like, (N, C, H, W)
        Any fixed-size dtype.
    blocksize : int
        Side B of the square block.
    mode : {"DCR", "CRD"}
        The channel axis splits as (B, B, C / B**2) or as (C / B**2, B, B).

    Returns
    -------
    ndarray, (N, C / B**2, H * B, W * B), of input's dtype

    Raises
    ------
    TypeError
        For a blocksize that is no integer, and for dtypes of no fixed size.
    ValueError
        For another number of axes, a blocksize below 1, channels that B**2 does not divide, unknown names.

    Notes
    -----
    With DCR, ``out[n, c, h * B + i, w * B + j] = input[n, (i * B + j) * C / B**2 + c, h, w]``; with CRD,
    ``input[n, c * B**2 + i * B + j, h, w]``.

    Examples
    --------
    >>> import numpy as np
    >>> DepthToSpace(np.arange(4, dtype=np.uint8).reshape(1, 4, 1, 1), 2)
    array([[[[0, 1],
             [2, 3]]]], dtype=uint8)
    """
    array, block, mode = _checks.onnx_blocks("onnx.DepthToSpace", input, blocksize, mode, to_space=True)
    return blocks.depth_to_space(array, block, data_format="NCHW", mode=mode)


def SpaceToDepth(input, blocksize, mode="DCR"):
    """Move square blocks of space into channels.

    Parameters
    ----------
    input : array_like, (N, C, H, W)
        Any fixed-size dtype.
    blocksize : int
        Side B of the square block.
    mode : {"DCR", "CRD"}
        The channel axis of the result is (B, B, C) or (C, B, B).

    Returns
    -------
    ndarray, (N, C * B**2, H / B, W / B), of input's dtype

    Raises
    ------
    TypeError, ValueError
        As `DepthToSpace`, for a height or width that B does not divide.

    Examples
    --------
    >>> import numpy as np
    >>> SpaceToDepth(np.arange(4, dtype=np.uint8).reshape(1, 1, 2, 2), 2).ravel()
    array([0, 1, 2, 3], dtype=uint8)
    """
    array, block, mode = _checks.onnx_blocks("onnx.SpaceToDepth", input, blocksize, mode, to_space=False)
    return blocks.space_to_depth(array, block, data_format="NCHW", mode=mode)


def Resize(
    X,
    roi=None,
    scales=None,
    sizes=None,
    *,
    antialias=0,
    axes=None,
    coordinate_transformation_mode="half_pixel",
    cubic_coeff_a=-0.75,
    exclude_outside=0,
    extrapolation_value=0.0,
    keep_aspect_ratio_policy="stretch",
    mode="nearest",
    nearest_mode="round_prefer_floor",
):
    """Resize any axes of an array.

    Parameters
    ----------
    X : array_like, any shape
        nearest takes bool, integers, floats and complex numbers, the other modes all of these but bool.
    roi : sequence of float, optional
        (start, ..., end, ...) for all axes or for those of `axes`: the part that is read, 0 its first and 1 its last
        sample. Needed by tf_crop_and_resize, of no effect elsewhere. A start after its end flips the axis.
    scales : sequence of float, optional
        Output samples per input sample, > 0, as float32, one per axis.
    sizes : sequence of int, optional
        Lengths of the result, one per axis. Either scales or sizes is given; an empty one counts as not given.
    antialias : {0, 1}
        In linear and cubic mode, widen the filter by the reduction where an axis shrinks.
    axes : sequence of int, optional
        What roi, scales and sizes refer to; all axes by default.
    coordinate_transformation_mode : str
        "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
        "tf_half_pixel_for_nn" (of operator sets 11 and 12) or "tf_crop_and_resize"; see `imgops.conventions`.
    cubic_coeff_a : float
        Of Keys's cubic filter.
    exclude_outside : {0, 1}
        Leave weights outside of the array out of a sum that is made one, rather than adding them to the edge sample.
        Of no effect on nearest, whose one sample is the edge's.
    extrapolation_value : float
        With tf_crop_and_resize, the result where the coordinate lies outside of the array.
    keep_aspect_ratio_policy : {"stretch", "not_larger", "not_smaller"}
        For sizes: take them as they are, or scale all axes by the smallest or largest of their ratios and round the
        lengths, halves up.
    mode : {"nearest", "linear", "cubic"}
    nearest_mode : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}
        How nearest makes an index of a coordinate.

    Returns
    -------
    ndarray of X's dtype
        Integers are rounded half to even and saturated.

    Raises
    ------
    TypeError
        For other dtypes, and for arguments of a wrong kind.
    ValueError
        For both or neither of scales and sizes, a number of entries that does not fit the axes, a scale that is not
        positive and finite, a result without samples, antialias with nearest, tf_crop_and_resize without roi, a
        keep_aspect_ratio_policy with scales, repeated axes, unknown names.
    numpy.exceptions.AxisError
        For an axis that X does not have.

    Notes
    -----
    int64 and uint64 are weighted in float64.

    Examples
    --------
    >>> import numpy as np
    >>> Resize(np.array([[1.0, 2.0], [3.0, 4.0]]), scales=[1, 2], mode="linear")
    array([[1.  , 1.25, 1.75, 2.  ],
           [3.  , 3.25, 3.75, 4.  ]])
    >>> Resize(np.arange(10), sizes=[3], coordinate_transformation_mode="align_corners", nearest_mode="ceil")
    array([0, 5, 9])
    """
    function = "onnx.Resize"
    X, mode = _input(function, X, mode, _MODES)
    antialias = _checks.onnx_flag(function, "antialias", antialias)
    if antialias and mode == "nearest":
        _checks.onnx_no_antialias(function)
    name_of = functools.partial(_checks.name_of, function)
    transformation = name_of("coordinate_transformation_mode", coordinate_transformation_mode, _TRANSFORMATIONS)
    policy = name_of("keep_aspect_ratio_policy", keep_aspect_ratio_policy, _POLICIES)
    rounding = _ROUNDINGS[name_of("nearest_mode", nearest_mode, tuple(_ROUNDINGS))]
    coefficient = _checks.onnx_number(function, "cubic_coeff_a", cubic_coeff_a)
    edge = "exclude" if _checks.onnx_flag(function, "exclude_outside", exclude_outside) else "repeat"
    value = _checks.onnx_number(function, "extrapolation_value", extrapolation_value, finite=False)
    axes = tuple(range(X.ndim)) if axes is None else _checks.axes(function, axes, X.ndim)
    lengths = [X.shape[axis] for axis in axes]
    scales, sizes = _checks.onnx_scales_or_sizes(function, scales, sizes, len(axes), policy)
    if scales is not None:
        scaled = _scaled(function, lengths, scales)
    else:
        scaled = _sized(lengths, _checks.onnx_sizes(function, sizes, len(axes)), policy)
    crops = transformation == "tf_crop_and_resize"
    rois = _checks.onnx_roi(function, roi, len(axes)) if crops else [(Fraction(0), Fraction(1))] * len(axes)
    resized = _resized(function, lengths, scaled, axes, rois, [rounding] * len(axes))
    options = {"transformation": transformation, "coefficient": coefficient, "edge": edge}
    return _resample(X, resized, mode, antialias, value if crops else None, **options)


def Upsample(X, scales, mode="nearest"):
    """Enlarge any axes of an array; `Resize` has taken its place in operator set 10.

    Parameters
    ----------
    X : array_like, any shape
        nearest takes bool, integers, floats and complex numbers, linear all of these but bool.
    scales : sequence of float
        Output samples per input sample, at least 1, as float32, one per axis.
    mode : {"nearest", "linear"}

    Returns
    -------
    ndarray of X's dtype

    Raises
    ------
    TypeError, ValueError
        As `Resize`; for scales below 1.

    Notes
    -----
    Output sample o reads the coordinate o / scale, nearest the floor of it.

    Examples
    --------
    >>> import numpy as np
    >>> Upsample(np.array([[1, 2], [3, 4]]), [1, 2])
    array([[1, 1, 2, 2],
           [3, 3, 4, 4]])
    """
    return _asymmetric("onnx.Upsample", X, scales, mode, least=1)


def resize_10(X, scales, mode="nearest"):
    """Resize of operator set 10, which names no rule: nearest rounds as ONNX Runtime does, up where an axis shrinks."""
    return _asymmetric("onnx.Resize", X, scales, mode)


def _asymmetric(function, X, scales, mode, least=None):
    X, mode = _input(function, X, mode, _MODES[:2])
    axes = tuple(range(X.ndim))
    scales = _checks.onnx_scales(function, scales, X.ndim, least)
    roundings = ["ceil" if scale < 1 else "floor" for scale in scales]
    rois = [(Fraction(0), Fraction(1))] * X.ndim
    resized = _resized(function, X.shape, _scaled(function, X.shape, scales), axes, rois, roundings)
    return _resample(X, resized, mode, transformation="asymmetric")


def _input(function, X, mode, modes):
    mode = _checks.name_of(function, "mode", mode, modes)
    return _checks.interface_array(function, "X", X, _TYPES if mode == "nearest" else _WEIGHTED_TYPES, _RANKS), mode


class _Axis(NamedTuple):
    """One resized axis; start and end are those of the roi, start <= end."""

    axis: int
    input_length: int
    output_length: int
    scale: Fraction
    start: Fraction
    end: Fraction
    rounding: str
    flipped: bool

    @property
    def is_point(self):
        """Whether every output reads the same coordinate."""
        return self.start == self.end

    def inside(self):
        """(first, last + 1) output whose coordinate lies on the axis."""
        first, last = 0, self.output_length
        if self.input_length > 1:
            start, end, steps = self.start, self.end, self.output_length - 1
            if steps == 0 or start == end:
                return (first, last) if 0 <= (start + end) / 2 <= 1 else (last, last)
            # 0 <= start + o * (end - start) / steps <= 1
            first = max(first, ceil(-start * steps / (end - start)))
            last = min(last, floor((1 - start) * steps / (end - start)) + 1)
        return first, max(first, last)


def _scaled(function, lengths, scales):
    """(output length, scale) of every axis from float32 scales."""
    with np.errstate(over="ignore"):
        # float32 does not hold every long length, and one that stays must.
        products = [n if scale == 1 else np.float32(n) * scale for n, scale in zip(lengths, scales, strict=True)]
    _checks.onnx_products(function, lengths, products)
    return [(int(product), Fraction(float(scale))) for product, scale in zip(products, scales, strict=True)]


def _sized(lengths, sizes, policy):
    """(output length, scale) of every axis from sizes; an axis without samples keeps scale 1."""
    ratios = [Fraction(m, n) if n else Fraction(1) for n, m in zip(lengths, sizes, strict=True)]
    if policy == "stretch":
        return list(zip(sizes, ratios, strict=True))
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [(floor(n * scale + Fraction(1, 2)), scale) for n in lengths]


def _resized(function, lengths, scaled, axes, rois, roundings):
    """An _Axis for every axis that changes."""
    _checks.onnx_lengths(function, lengths, [m for m, _ in scaled])
    result = []
    for axis, n, (m, scale), (start, end), rounding in zip(axes, lengths, scaled, rois, roundings, strict=True):
        if n == m and (n == 0 or (scale, start, end) == (1, 0, 1)):
            continue
        flipped = start > end
        if flipped:
            start, end, rounding = 1 - start, 1 - end, _MIRRORED[rounding]
        result.append(_Axis(axis, n, m, scale, start, end, rounding, flipped))
    return result


def _resample(X, resized, mode, antialias=False, value=None, *, transformation, coefficient=-0.75, edge="repeat"):
    """Resample the axes of `resized`; `value` is what stands outside of X, or None."""
    if not resized:
        return np.array(X)
    crops = value is not None
    rows = [
        _row(transformation, entry.rounding, coefficient, edge, (entry.start, entry.end) if crops else None)
        for entry in resized
    ]
    flipped = tuple(entry.axis for entry in resized if entry.flipped)
    wide = mode != "nearest" and X.dtype.name in _WIDE_INTEGERS
    result = resampling.resample(
        np.flip(X, flipped) if flipped else X,
        [1 if entry.is_point else entry.output_length for entry in resized],
        scale=[entry.scale for entry in resized],
        axes=tuple(entry.axis for entry in resized),
        mode=mode,
        convention=rows,
        antialias=antialias,
        dtype=np.float64 if wide else None,
    )
    if wide:
        result = _saturated(result, X.dtype)
    for entry in resized:
        if entry.is_point:
            result = np.repeat(result, entry.output_length, entry.axis)
    if crops:
        _extrapolate(result, resized, _saturated(np.float64(value), result.dtype))
    return result


def _extrapolate(result, resized, value):
    for entry in resized:
        first, last = entry.inside()
        along = np.moveaxis(result, entry.axis, 0)
        along[:first] = value
        along[last:] = value


def _saturated(values, dtype):
    """float64 values as another dtype: integers rounded half to even and saturated."""
    if dtype.kind not in "iu":
        with np.errstate(over="ignore"):
            return values.astype(dtype)
    limits = np.iinfo(dtype)
    values = np.rint(values)
    # float64 does not hold the largest integers; those at a limit or beyond are set apart.
    inside = (values > limits.min) & (values < limits.max)
    limit = np.where(values > 0, np.array(limits.max, dtype), np.array(limits.min, dtype))
    return np.where(inside, np.where(inside, values, 0).astype(dtype), limit)


@functools.lru_cache(maxsize=128)
def _row(transformation, rounding, coefficient, edge, roi):
    """The convention of one axis; kept, so that equal calls have equal conventions."""
    row = get_convention(transformation)
    changes = {"rounding": rounding, "cubic_coefficient": coefficient, "edge": edge, "widens_by_scale": True}
    if roi is not None:
        start, end = roi
        # All that counts where only one coordinate is read is the middle.
        row = row.with_roi(start, end) if start < end else row.with_roi(start - 1, end + 1)
    elif transformation == "align_corners":
        changes["offsets"] = _fractional_align_corners
    return replace(row, **changes)


def _fractional_align_corners(n, m, s):
    """First and last sample coincide where the output's length is s n, which need not be whole."""
    return (s * n - 1) / (n - 1) if n > 1 and m > 1 else Fraction(1), 0, 0
