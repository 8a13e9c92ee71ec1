"""The conventions: rows of data that turn lengths, and a scale if one was given, into an AxisMap.

To add one, add a row. Formulas are in coordinates with sample centres at integers: x is the input coordinate of output
o, n and m are the input and output length, s is the scale, m / n where none was given.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np

from . import _checks
from .taps import AxisMap

_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Convention:
    """One row.

    Attributes
    ----------
    name : str
    formula : str
        The input coordinate x of output o.
    source : str
        The specification or code that the row was read from.
    offsets : callable
        ``(n, m, s) -> (scale, input_offset, output_offset)``, Fractions.
    notes : str
        What surprises, and what of the owner is not imitated.
    nearest : callable or None
        ``(n, m, scale) -> int64 indices`` for an owner whose index arithmetic is not exact; `scale` is None or a
        Fraction.
    linear : callable or None
        ``(n, m, scale) -> (int64 lower neighbours, float64 fractions)`` likewise, clamped to the axis.
    modes : tuple of str
        The modes that the owner has under this convention.
    rounding : str
        Its rule for nearest, where none is given.
    always_antialias : bool
        Whether the owner widens its filters unasked.
    cubic_coefficient, antialias_cubic_coefficient : float
        Of Keys's cubic filter; the second one with antialias, where it differs.
    antialias_offsets : callable or None
        `offsets` with antialias, where the owner's differ.
    edge : {"repeat", "renormalise", "exclude"} or None
        What becomes of weights outside of the axis; None is the rule of `imgops.taps.axis_taps`.
    widens_by_scale : bool
        Whether antialias widens filters by the scale rather than by the distance of coordinates, where they differ.
    """

    name: str
    formula: str
    source: str
    offsets: Callable | None
    notes: str = ""
    nearest: Callable | None = None
    linear: Callable | None = None
    modes: tuple = _checks.RESAMPLE_MODES
    rounding: str = "half_down"
    always_antialias: bool = False
    cubic_coefficient: float = -0.75
    antialias_cubic_coefficient: float | None = None
    edge: str | None = None
    antialias_offsets: Callable | None = None
    widens_by_scale: bool = False

    def __reduce__(self):
        # Rows hold functions, which pickle cannot always name; a row of the table is found again by its name.
        if _BY_NAME.get(self.name) is self:
            return get_convention, (self.name,)
        return Convention, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def has_own_arithmetic(self):
        return self.nearest is not None or self.linear is not None

    def with_roi(self, start, end):
        """tf_crop_and_resize for the part start..end of the axis, 0 its first and 1 its last sample.

        Examples
        --------
        >>> row = get_convention("tf_crop_and_resize").with_roi(0.25, 0.75)
        >>> row.axis_map(5, 3).coordinate(0)
        Fraction(1, 1)
        """
        if self.name != "tf_crop_and_resize":
            _checks.no_roi("with_roi", self.name)
        roi = _checks.exact("with_roi", "start", start), _checks.exact("with_roi", "end", end)
        return replace(self, offsets=_Crop(*_checks.roi("with_roi", *roi)))

    def axis_map(self, input_length, output_length, scale=None, rounding=None):
        """The AxisMap between an axis of `input_length` samples and one of `output_length`.

        Examples
        --------
        >>> get_convention("align_corners").axis_map(4, 7).scale
        Fraction(2, 1)
        """
        if scale is None:
            scale = Fraction(output_length, input_length)
        scale = _checks.positive("axis_map", "scale", scale)
        if self.offsets is None:
            _checks.needs_roi("axis_map", self.name)
        return AxisMap(*self.offsets(input_length, output_length, scale), rounding or self.rounding)


def _half_pixel(_n, _m, s):
    return s, _HALF, -_HALF


def _half_pixel_symmetric(n, m, s):
    return s, _HALF - Fraction(n, 2) * (1 - Fraction(m) / (s * n)), -_HALF


def _pytorch_half_pixel(_n, m, s):
    return (s, _HALF, -_HALF) if m > 1 else (s, 0, 0)


def _align_corners(n, m, _s):
    # With one sample on either side only coordinate 0 is read, whatever the scale.
    return Fraction(m - 1, n - 1) if n > 1 and m > 1 else Fraction(1), 0, 0


def _antialiased_corners(n, m, _s):
    # Without a distance between two outputs, or two inputs, the position is -1/2.
    return (Fraction(m - 1, n - 1), _HALF, -_HALF) if n > 1 and m > 1 else (Fraction(1), 1, -_HALF)


def _asymmetric(_n, _m, s):
    return s, 0, 0


def _tf_half_pixel_for_nn(_n, _m, s):
    return s, 0, -_HALF


@dataclass(frozen=True)
class _Crop:
    """The offsets of tf_crop_and_resize for one part of the axis; equal for equal parts, and can be pickled."""

    start: Fraction
    end: Fraction

    def __call__(self, n, m, _s):
        if m == 1 or n == 1:
            # One output reads the middle of the crop; of one sample there is nothing but this sample.
            return Fraction(1), -(self.start + self.end) * (n - 1) / 2, 0
        return (m - 1) / ((self.end - self.start) * (n - 1)), -self.start * (n - 1), 0


# Arithmetic of other libraries in their own floating-point types. Each returns what its owner's code computes, step by
# step; `scale` is None or the Fraction that was given.


def _clamped_linear(n, position):
    """(lower neighbours, fractions) of positions in the owner's type, clamped to the axis."""
    position = np.clip(position, 0, n - 1)
    lower = np.minimum(np.floor(position).astype(np.int64), n - 1)
    return lower, np.where(lower < n - 1, (position - lower.astype(position.dtype)).astype(np.float64), 0.0)


def _torch_step(n, m, scale):
    return np.float32(n) / np.float32(m) if scale is None else np.float32(1.0 / float(scale))


def _torch_nearest(offset):
    def nearest(n, m, scale):
        positions = (np.arange(m).astype(np.float32) + np.float32(offset)) * _torch_step(n, m, scale)
        return np.clip(np.floor(positions).astype(np.int64), 0, n - 1)

    return nearest


def _torch_linear(n, m, scale):
    # One fused multiply-add, rounded once, as torch's builds compile it: float64 holds the product exactly.
    product = (np.arange(m) + 0.5) * np.float64(_torch_step(n, m, scale))
    return _clamped_linear(n, (product - 0.5).astype(np.float32))


def _torch_align_corners_linear(n, m, _scale):
    step = np.float32(n - 1) / np.float32(m - 1) if m > 1 else np.float32(0)
    return _clamped_linear(n, np.arange(m).astype(np.float32) * step)


def _step(n, m, scale):
    return n / m if scale is None else 1.0 / float(scale)


def _opencv_nearest(n, m, scale):
    # The scale is inverted twice.
    step = 1.0 / ((m / n) if scale is None else float(scale))
    return np.clip(np.floor(np.arange(m) * step).astype(np.int64), 0, n - 1)


def _accumulated_nearest(n, m, scale):
    step = _step(n, m, scale)
    positions = np.cumsum(np.concatenate(([step * 0.5], np.full(m - 1, step))))
    return np.clip(positions.astype(np.int64), 0, n - 1)


# TensorFlow's arithmetic: float32 throughout, from the two lengths alone.


def _from_lengths(input_offset, output_offset):
    return lambda n, m, _s: (Fraction(m, n), input_offset, output_offset)


def _tf_step(n, m, align_corners):
    if align_corners and n > 1 and m > 1:
        return np.float32(n - 1) / np.float32(m - 1)
    return np.float32(n) / np.float32(m)


def _tf_nearest(half_pixel, align_corners):
    def nearest(n, m, _scale):
        outputs = np.arange(m).astype(np.float32)
        if half_pixel:
            outputs += np.float32(0.5)
        position = outputs * _tf_step(n, m, align_corners)
        indices = np.floor(position)
        if align_corners:
            # roundf, halves up; the difference of a float and its floor is exact.
            indices += position - indices >= 0.5
        return np.clip(indices.astype(np.int64), 0, n - 1)

    return nearest


def _tf_linear(half_pixel, align_corners):
    def linear(n, m, _scale):
        outputs = np.arange(m).astype(np.float32)
        step = _tf_step(n, m, align_corners)
        half = np.float32(0.5)
        position = (outputs + half) * step - half if half_pixel else outputs * step
        lower = np.floor(position)
        fraction = (position - lower).astype(np.float64)
        lower = lower.astype(np.int64)
        # Both neighbours are the edge sample outside of the first and last centre.
        fraction[(lower < 0) | (lower >= n - 1)] = 0
        return np.clip(lower, 0, n - 1), fraction

    return linear


_ONNX = "ONNX Resize, coordinate_transformation_mode (Operators.md)"
_TF = "TensorFlow, core/kernels/image/resize_*_op.cc"
_TF_NOTES = "Positions in TensorFlow's float32; a given scale finds the size only."

_TORCH = "PyTorch, aten/src/ATen/native/UpSample.h and cpu/UpSampleKernel.cpp"
_TORCH_NOTES = "Positions in torch's float32, also for float64 tensors, whose linear weights torch computes in float64."

_ROWS = (
    Convention(
        "half_pixel",
        "x = (o + 1/2) / s - 1/2",
        _ONNX,
        _half_pixel,
        "The default of ONNX Resize; Pillow, OpenCV, torch and TensorFlow 2 agree with it in linear mode.",
    ),
    Convention(
        "half_pixel_symmetric",
        "x = n/2 (1 - m / (s n)) + (o + 1/2) / s - 1/2",
        _ONNX,
        _half_pixel_symmetric,
        "Keeps the picture's centre where a given scale does not divide evenly; half_pixel where it does.",
    ),
    Convention(
        "pytorch_half_pixel",
        "x = (o + 1/2) / s - 1/2 if m > 1 else 0",
        _ONNX,
        _pytorch_half_pixel,
        "A single output sample reads the first input sample, not the centre.",
    ),
    Convention(
        "align_corners",
        "x = o (n - 1) / (m - 1), 0 if m = 1",
        _ONNX,
        _align_corners,
        "First and last samples coincide; a given scale finds the size only. Lengths are whole, where ONNX's reference "
        "code keeps s n without rounding it.",
    ),
    Convention(
        "asymmetric",
        "x = o / s",
        _ONNX,
        _asymmetric,
        "First corners coincide; the picture shifts by up to half a sample. ONNX's Upsample, and its Resize of "
        "operator set 10, have no other; nearest of torch, OpenCV and TensorFlow 1 has it with rounding='floor', in "
        "arithmetic of their own.",
    ),
    Convention(
        "tf_half_pixel_for_nn",
        "x = (o + 1/2) / s",
        _ONNX + ", operator sets 11 and 12",
        _tf_half_pixel_for_nn,
        "Meant for nearest with rounding='floor'; in linear mode it is half a sample off.",
    ),
    Convention(
        "tf_crop_and_resize",
        "x = b (n - 1) + o (e - b) (n - 1) / (m - 1), (b + e) (n - 1) / 2 if m = 1",
        _ONNX,
        None,
        "Needs a roi from b to e: get_convention('tf_crop_and_resize').with_roi(b, e). Coordinates outside of the axis "
        "repeat its edge; interfaces.onnx.Resize sets them to extrapolation_value.",
    ),
    Convention(
        "directml",
        "x = (o + 1/2) / s - 1/2",
        "DirectML, DML_RESAMPLE_OPERATOR_DESC and DML_RESAMPLE_GRAD_OPERATOR_DESC",
        _half_pixel,
        "rounding 'floor' and 'ceil' are RESAMPLE2's DECREASING and INCREASING; half_down reproduces the "
        "documented example of RESAMPLE_GRAD. Ties on hardware are not documented.",
    ),
    Convention(
        "torch",
        "x = (o + 1/2) / s - 1/2; nearest floor(o / s)",
        _TORCH + ", nearest; linear and cubic with align_corners=False",
        _half_pixel,
        _TORCH_NOTES + " uint8 tensors use fixed-point weights in torch; a result may differ by 1.",
        _torch_nearest(0.0),
        _torch_linear,
        antialias_cubic_coefficient=-0.5,
    ),
    Convention(
        "torch_nearest_exact",
        "floor((o + 1/2) / s)",
        _TORCH + ", nearest-exact",
        _tf_half_pixel_for_nn,
        _TORCH_NOTES
        + " The rule of torch's vectorised and gradient code; its generic code differs in 7 of 4851 pairs of "
        "lengths, 2 to 41 for one.",
        _torch_nearest(0.5),
        modes=("nearest",),
        rounding="floor",
    ),
    Convention(
        "torch_align_corners",
        "x = o (n - 1) / (m - 1), 0 if m = 1",
        _TORCH + ", linear and cubic with align_corners=True",
        _align_corners,
        _TORCH_NOTES + " With antialias x = (o + 1/2) (n - 1) / (m - 1) - 1/2, as in torch.",
        None,
        _torch_align_corners_linear,
        modes=("linear", "cubic"),
        antialias_cubic_coefficient=-0.5,
        antialias_offsets=_antialiased_corners,
    ),
    Convention(
        "opencv",
        "x = (o + 1/2) / s - 1/2; nearest floor(o / s)",
        "OpenCV 5.0, modules/imgproc/src/resize.cpp, INTER_NEAREST, INTER_LINEAR and INTER_CUBIC",
        _half_pixel,
        "No antialiasing. 8-bit weights have 11 bits in OpenCV; a result may differ by 1. OpenCV rounds n * fx to find "
        "a size; here a scale gives floor(n * scale).",
        _opencv_nearest,
        modes=("nearest", "linear", "cubic"),
    ),
    Convention(
        "opencv_nearest_exact",
        "floor((o + 1/2) / s)",
        "OpenCV 5.0, modules/imgproc/src/resize.cpp, INTER_NEAREST_EXACT",
        _tf_half_pixel_for_nn,
        "The position is accumulated in float64, as in Pillow; OpenCV 4 used 16-bit fixed point and other indices.",
        _accumulated_nearest,
        modes=("nearest",),
        rounding="floor",
    ),
    Convention(
        "pillow",
        "x = (o + 1/2) / s - 1/2; nearest floor((o + 1/2) / s)",
        "Pillow 13.0, src/libImaging/Geometry.c and Resample.c",
        _half_pixel,
        "Nearest accumulates its position in float64, so that 2 to 7 is 0 0 0 0 1 1 1. The other modes are always "
        "antialiased. Pillow rounds and clips integers between its two passes, which `imgops.pillow.resize` does too "
        "and `imgops.resample` does not: its results may differ by 1 in linear mode and more where cubic overshoots.",
        _accumulated_nearest,
        always_antialias=True,
        cubic_coefficient=-0.5,
        edge="renormalise",
    ),
    Convention(
        "skimage",
        "x = (o + 1/2) / s - 1/2; nearest floor((o + 1/2) / s)",
        "scikit-image 0.26, transform/_warps.py, orders 0 and 1 with mode='edge'",
        _half_pixel,
        "Not imitated: the default mode='reflect', the Gaussian filter of anti_aliasing, and 18 of 2301 pairs of "
        "lengths where float64 misses an exact index in order 0.",
        modes=("nearest", "linear"),
        rounding="half_up",
    ),
    Convention(
        "tf",
        "x = (o + 1/2) n / m - 1/2",
        _TF + ", half_pixel_centers=True; tf.image.resize of TensorFlow 2",
        _from_lengths(_HALF, -_HALF),
        _TF_NOTES
        + " Nearest is floor((o + 1/2) n / m). Not imitated: without antialias, bicubic reads its weights off a table "
        "of 1024 positions, each of them up to 6e-4 off.",
        _tf_nearest(True, False),
        _tf_linear(True, False),
        cubic_coefficient=-0.5,
        edge="renormalise",
    ),
    Convention(
        "tf1",
        "x = o n / m",
        _TF + ", both flags False; tf.image.resize of TensorFlow 1",
        _from_lengths(0, 0),
        _TF_NOTES + " Nearest is floor(o n / m).",
        _tf_nearest(False, False),
        _tf_linear(False, False),
        modes=("nearest", "linear"),
    ),
    Convention(
        "tf1_align_corners",
        "x = o (n - 1) / (m - 1), 0 if m = 1",
        _TF + ", align_corners=True",
        _align_corners,
        _TF_NOTES + " Nearest rounds halves up.",
        _tf_nearest(False, True),
        _tf_linear(False, True),
        modes=("nearest", "linear"),
    ),
)

# What a caller's own AxisMap goes by beside its map.
PLAIN = _ROWS[0]
_BY_NAME = {row.name: row for row in _ROWS}


def conventions():
    """Names of the conventions, as a tuple.

    Examples
    --------
    >>> conventions()[0]
    'half_pixel'
    """
    return tuple(_BY_NAME)


def get_convention(name):
    """The row of a convention.

    Raises
    ------
    ValueError
        If there is no convention of that name; the message lists them all.

    Examples
    --------
    >>> get_convention("asymmetric").formula
    'x = o / s'
    """
    return _BY_NAME[_checks.name_of("get_convention", "convention", name, conventions())]
