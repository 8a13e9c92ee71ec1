"""The conventions: rows of data that turn lengths, and a scale if one was given, into an AxisMap.

To add one, add a row. Formulas are in coordinates with sample centres at integers: x is the input coordinate of output
o, n and m are the input and output length, s is the scale, m / n where none was given.
"""

from collections.abc import Callable
from dataclasses import dataclass
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
    """

    name: str
    formula: str
    source: str
    offsets: Callable
    notes: str = ""
    nearest: Callable | None = None
    linear: Callable | None = None

    @property
    def has_own_arithmetic(self):
        return self.nearest is not None or self.linear is not None

    def axis_map(self, input_length, output_length, scale=None, rounding="half_down"):
        """The AxisMap between an axis of `input_length` samples and one of `output_length`.

        Examples
        --------
        >>> get_convention("align_corners").axis_map(4, 7).scale
        Fraction(2, 1)
        """
        if scale is None:
            scale = Fraction(output_length, input_length)
        scale = _checks.positive("axis_map", "scale", scale)
        return AxisMap(*self.offsets(input_length, output_length, scale), rounding)


def _half_pixel(_n, _m, s):
    return s, _HALF, -_HALF


def _half_pixel_symmetric(n, m, s):
    return s, _HALF - Fraction(n, 2) * (1 - Fraction(m) / (s * n)), -_HALF


def _pytorch_half_pixel(_n, m, s):
    return (s, _HALF, -_HALF) if m > 1 else (s, 0, 0)


def _align_corners(n, m, _s):
    # With one sample on either side only coordinate 0 is read, whatever the scale.
    return Fraction(m - 1, n - 1) if n > 1 and m > 1 else Fraction(1), 0, 0


def _asymmetric(_n, _m, s):
    return s, 0, 0


def _tf_half_pixel_for_nn(_n, _m, s):
    return s, 0, -_HALF


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
        "First corners coincide; the picture shifts by up to half a sample.",
    ),
    Convention(
        "tf_half_pixel_for_nn",
        "x = (o + 1/2) / s",
        _ONNX + ", operator sets 11 and 12",
        _tf_half_pixel_for_nn,
        "Meant for nearest with rounding='floor'; in linear mode it is half a sample off.",
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
        "tf",
        "x = (o + 1/2) n / m - 1/2",
        _TF + ", half_pixel_centers=True; tf.image.resize of TensorFlow 2",
        _from_lengths(_HALF, -_HALF),
        _TF_NOTES + " Nearest is floor((o + 1/2) n / m).",
        _tf_nearest(True, False),
        _tf_linear(True, False),
    ),
    Convention(
        "tf1",
        "x = o n / m",
        _TF + ", both flags False; tf.image.resize of TensorFlow 1",
        _from_lengths(0, 0),
        _TF_NOTES + " Nearest is floor(o n / m).",
        _tf_nearest(False, False),
        _tf_linear(False, False),
    ),
    Convention(
        "tf1_align_corners",
        "x = o (n - 1) / (m - 1), 0 if m = 1",
        _TF + ", align_corners=True",
        _align_corners,
        _TF_NOTES + " Nearest rounds halves up.",
        _tf_nearest(False, True),
        _tf_linear(False, True),
    ),
)

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
