"""AxisMap, the formula of one resampled axis, and Taps, its table.

    convention  ->  AxisMap per axis  ->  Taps per axis  ->  one kernel

Index arithmetic is exact: a coordinate is a fraction (slope * output + intercept) / denominator of integers, and
indices come from integer division, never from a rounded product.
"""

import bisect
import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from . import _checks

_HALF = Fraction(1, 2)
# Tables of longer axes are made for each call rather than kept: at most 128 tables of this length are alive.
_CACHED_LENGTH = 16384
# Tables of axes longer than this are made in parts, for this many samples at a time.
_LONG = 2**18


@dataclass(frozen=True)
class AxisMap:
    """The affine map of one axis, from input to output coordinates, with its rule for nearest.

    ``output = (input + input_offset) * scale + output_offset``, so that output sample ``o`` reads the input coordinate
    ``(o - output_offset) / scale - input_offset``. Sample centres are at integers. Coordinates are clamped to the axis:
    the edge sample repeats.

    Parameters
    ----------
    scale : int, float or Fraction
        Output samples per input sample, > 0. A float means its shortest decimal: 1.2 is 6/5.
    input_offset, output_offset : int, float or Fraction
        Added before and after scaling, in samples. 1/2 and -1/2 put the sample points at pixel centres, 0 and 0 at the
        first corner.
    rounding : {"half_down", "half_up", "floor", "ceil"}
        How nearest makes an index of a coordinate.

    Raises
    ------
    TypeError, ValueError
        For a scale that is not a positive finite number, an offset that is not a finite number, an unknown rounding.

    Notes
    -----
    This is DirectML's record of RESAMPLE1 and RESAMPLE2 (Scales, InputPixelOffsets, OutputPixelOffsets), with the
    roundings of ONNX Resize beside RESAMPLE2's floor and ceil.

    Examples
    --------
    >>> AxisMap(2).coordinate(3)
    Fraction(5, 4)
    """

    scale: Fraction
    input_offset: Fraction = _HALF
    output_offset: Fraction = -_HALF
    rounding: str = "half_down"

    def __post_init__(self):
        object.__setattr__(self, "scale", _checks.positive("AxisMap", "scale", self.scale))
        for field in ("input_offset", "output_offset"):
            object.__setattr__(self, field, _checks.exact("AxisMap", field, getattr(self, field)))
        object.__setattr__(self, "rounding", _checks.rounding("AxisMap", self.rounding))

    def coordinate(self, output):
        """The input coordinate that output sample `output` reads, before clamping, as a Fraction.

        Examples
        --------
        >>> AxisMap(1.5, 0, 0).coordinate(1)
        Fraction(2, 3)
        """
        return (output - self.output_offset) / self.scale - self.input_offset

    def _integers(self):
        """(slope, intercept, denominator): coordinate(o) == (slope * o + intercept) / denominator."""
        slope, intercept = 1 / self.scale, self.coordinate(0)
        denominator = math.lcm(slope.denominator, intercept.denominator)
        return int(slope * denominator), int(intercept * denominator), denominator


class Taps:
    """The table of one axis: for each output its first input index, its number of taps, its weights.

    It is a banded matrix (output_length, input_length) by rows. First and last indices never decrease from one output
    to the next, so the outputs that read one input are a contiguous range, and the transpose is a table of the same
    kind.

    Attributes
    ----------
    input_length, output_length : int
    starts, counts : ndarray of int64, (output_length,)
    weights : ndarray of float64
        All rows one after another; row `o` is ``weights[offsets[o]:offsets[o + 1]]``.
    offsets : ndarray of int64, (output_length + 1,)
    """

    __slots__ = ("_kernel_tables", "counts", "input_length", "offsets", "output_length", "starts", "weights")

    def __init__(self, input_length, starts, counts, weights):
        self.input_length = int(input_length)
        self.output_length = len(starts)
        self.starts = np.ascontiguousarray(starts, np.int64)
        self.counts = np.ascontiguousarray(counts, np.int64)
        self.weights = np.ascontiguousarray(weights, np.float64)
        self.offsets = np.concatenate(([0], np.cumsum(self.counts)))
        for array in (self.starts, self.counts, self.weights, self.offsets):
            array.flags.writeable = False
        # Filled by the kernels' side, one entry per accumulator type; an entry is written once and never changed.
        self._kernel_tables = {}

    def row(self, output):
        """(first input index, weights) of one output."""
        return int(self.starts[output]), self.weights[self.offsets[output] : self.offsets[output + 1]]

    def dense(self):
        """The matrix (output_length, input_length) as float64."""
        matrix = np.zeros((self.output_length, self.input_length))
        for output in range(self.output_length):
            start, weights = self.row(output)
            matrix[output, start : start + len(weights)] = weights
        return matrix

    def _columns(self):
        """(output, input) index of every weight, row by row."""
        outputs = np.repeat(np.arange(self.output_length), self.counts)
        inputs = np.arange(len(self.weights)) - np.repeat(self.offsets[:-1] - self.starts, self.counts)
        return outputs, inputs

    def transpose(self):
        """The table of the gradient: by inputs, over contiguous ranges of outputs.

        Examples
        --------
        >>> axis_taps(2, 4, AxisMap(2)).transpose().row(0)
        (0, array([1.  , 0.75, 0.25]))
        """
        outputs, inputs = self._columns()
        order = np.argsort(inputs, kind="stable")
        counts = np.bincount(inputs, minlength=self.input_length)
        offsets = np.concatenate(([0], np.cumsum(counts)))
        starts = np.zeros(self.input_length, np.int64)
        read = counts > 0
        starts[read] = outputs[order][offsets[:-1][read]]
        starts = np.maximum.accumulate(starts)
        return Taps(self.output_length, starts, counts, self.weights[order])

    def input_range(self, start, stop):
        """(first, last + 1) input index that outputs start..stop read."""
        ends = self.starts[start:stop] + self.counts[start:stop]
        return int(self.starts[start:stop].min()), int(ends.max())

    def window(self, start, stop):
        """(table of the outputs start..stop on their own inputs, first input, last input + 1)."""
        first, last = self.input_range(start, stop)
        weights = self.weights[self.offsets[start] : self.offsets[stop]]
        return Taps(last - first, self.starts[start:stop] - first, self.counts[start:stop], weights), first, last

    def moved(self, input_length, distance):
        """The same rows on an axis of another length, every input index moved by `distance`."""
        return Taps(input_length, self.starts + distance, self.counts, self.weights)

    def selected(self, start, stop):
        """The rows start..stop; those outside the table have no taps."""
        before, after = max(0, -start), max(0, stop - self.output_length)
        rows = slice(max(start, 0), min(stop, self.output_length))
        weights = self.weights[self.offsets[rows.start] : self.offsets[rows.stop]]
        starts = np.pad(self.starts[rows], (before, after), mode="edge")
        return Taps(self.input_length, starts, np.pad(self.counts[rows], (before, after)), weights)

    @property
    def is_identity(self):
        return (
            self.input_length == self.output_length == len(self.weights)
            and bool(np.all(self.weights == 1.0))
            and bool(np.all(self.starts == np.arange(self.output_length)))
        )


class LongTaps:
    """The table of a long axis: like Taps, with rows made when they are needed and never all at once.

    Parameters
    ----------
    input_length, output_length : int
    part : callable
        ``(start, stop) -> Taps`` of the outputs start..stop, on all inputs.
    """

    is_identity = False

    def __init__(self, input_length, output_length, part):
        self.input_length = input_length
        self.output_length = output_length
        self._part = part

    @property
    def step(self):
        """Outputs of one part, few enough that their inputs are not many more."""
        return max(1, _LONG * self.output_length // max(self.input_length, self.output_length))

    def _extent(self, output):
        return self._part(output, output + 1).input_range(0, 1)

    def input_range(self, start, stop):
        """(first, last + 1) input index that outputs start..stop read; neither ever decreases along the outputs."""
        return self._extent(start)[0], self._extent(stop - 1)[1]

    def short_window(self, start, stop):
        """(Taps of the outputs start..stop on their own inputs, first input, last input + 1)."""
        return self._part(start, stop).window(0, stop - start)

    def window(self, start, stop):
        """As short_window, and long again where it must be."""
        if stop - start <= self.step:
            return self.short_window(start, stop)
        first, last = self.input_range(start, stop)

        def part(begin, end):
            return self._part(start + begin, start + end).moved(last - first, -first)

        return LongTaps(last - first, stop - start, part), first, last

    def transpose(self):
        """The table of the gradient, long too."""
        return LongTaps(self.output_length, self.input_length, self._transposed_part)

    def _transposed_part(self, start, stop):
        outputs = range(self.output_length)
        begin = bisect.bisect_right(outputs, start, key=lambda output: self._extent(output)[1])
        end = bisect.bisect_left(outputs, stop, key=lambda output: self._extent(output)[0])
        if begin >= end:
            empty = np.zeros(stop - start, np.int64)
            return Taps(self.output_length, empty, empty, np.empty(0))
        taps, first, _ = self.short_window(begin, end)
        rows = taps.transpose().moved(self.output_length, begin)
        return rows.selected(start - first, stop - first)


def axis_taps(input_length, output_length, axis_map, mode="linear", antialias=False):
    """The table of one axis.

    Parameters
    ----------
    input_length, output_length : int
        Samples, at least 1.
    axis_map : AxisMap
    mode : {"linear", "nearest"}
    antialias : bool
        Widen the triangle filter of linear by the reduction, 1 / scale, and let the weights inside the axis sum to one,
        as Pillow and torch do. No effect when the axis grows.

    Returns
    -------
    Taps

    Examples
    --------
    >>> axis_taps(2, 4, AxisMap(2)).dense()
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.25, 0.75],
           [0.  , 1.  ]])
    """
    return _axis_taps_cached(input_length, output_length, axis_map, mode, antialias)


def axis_table(input_length, output_length, axis_map, mode="linear", antialias=False):
    """As `axis_taps`, but LongTaps for a long axis and kept for a short one."""
    longest = max(input_length, output_length)
    if longest <= _CACHED_LENGTH:
        return _axis_taps_cached(input_length, output_length, axis_map, mode, antialias)
    part = functools.partial(_axis_part, input_length, axis_map, mode, antialias)
    return part(0, output_length) if longest <= _LONG else LongTaps(input_length, output_length, part)


def _axis_part(input_length, axis_map, mode, antialias, start, stop):
    """Taps of the outputs start..stop on all inputs."""
    if mode == "nearest":
        return nearest_taps(input_length, nearest_indices(input_length, stop, axis_map, start))
    if antialias and axis_map.scale < 1:
        return _antialias_taps(input_length, axis_map, start, stop)
    return linear_taps(input_length, *_linear_positions(input_length, axis_map, start, stop))


@functools.lru_cache(maxsize=128)
def _axis_taps_cached(input_length, output_length, axis_map, mode, antialias):
    return _axis_part(input_length, axis_map, mode, antialias, 0, output_length)


def nearest_taps(input_length, indices):
    """Taps of given input indices, one per output."""
    return Taps(input_length, indices, np.ones(len(indices), np.int64), np.ones(len(indices)))


def linear_taps(input_length, lower, fraction):
    """Taps of given lower neighbours and float64 fractions on the way to the next; a fraction of 0 is one tap."""
    one = fraction == 0
    counts = np.where(one, 1, 2)
    pairs = np.stack((1.0 - fraction, fraction), axis=1)
    keep = np.stack((np.ones(len(fraction), bool), ~one), axis=1)
    return Taps(input_length, lower, counts, pairs[keep])


def _numerators(axis_map, start, stop, factor=1):
    """(numerator of every coordinate, denominator), both times `factor`: int64, or Python ints where these overflow."""
    slope, intercept, denominator = (factor * value for value in axis_map._integers())
    fits = abs(slope) * stop + abs(intercept) + 2 * denominator < 2**62
    outputs = np.arange(start, stop, dtype=np.int64 if fits else object)
    return outputs * slope + intercept, denominator


def nearest_indices(input_length, output_length, axis_map, start=0):
    """Input index of the outputs start..output_length by the map's rounding, clamped to the axis, as int64.

    Examples
    --------
    >>> nearest_indices(4, 2, AxisMap(Fraction(1, 2)))
    array([0, 2])
    """
    # Twice the coordinate, so that a half is an integer too.
    numerators, denominator = _numerators(axis_map, start, output_length, 2)
    half = denominator // 2
    rounding = axis_map.rounding
    if rounding == "floor":
        indices = numerators // denominator
    elif rounding == "ceil":
        indices = -(-numerators // denominator)
    elif rounding == "half_up":
        indices = (numerators + half) // denominator
    else:
        indices = -(-(numerators - half) // denominator)
    return np.clip(indices, 0, input_length - 1).astype(np.int64)


def _linear_positions(input_length, axis_map, start, stop):
    """(lower neighbour, fraction) of every clamped coordinate; the fraction is correctly rounded to float64."""
    numerators, denominator = _numerators(axis_map, start, stop)
    numerators = np.clip(numerators, 0, (input_length - 1) * denominator)
    lower = numerators // denominator
    remainder = numerators - lower * denominator
    if denominator >= 2**53:
        remainder = remainder.astype(object)
    return lower.astype(np.int64), (remainder / denominator).astype(np.float64)


def _antialias_taps(input_length, axis_map, start, stop):
    """Triangle of half width 1 / scale around the coordinate, over the samples strictly inside it, normalised."""
    # The half width, 1 / scale, over the same denominator as the coordinates is their slope.
    support, _, denominator = axis_map._integers()
    numerators, _ = _numerators(axis_map, start, stop)
    # Beyond the edge pixel's outer border the picture ends and its edge repeats.
    numerators = np.clip(2 * numerators, -denominator, (2 * input_length - 1) * denominator)
    first = np.maximum((numerators - 2 * support) // (2 * denominator) + 1, 0).astype(np.int64)
    last = np.minimum(-(-(numerators + 2 * support) // (2 * denominator)) - 1, input_length - 1).astype(np.int64)
    counts = last - first + 1
    outputs = np.repeat(np.arange(stop - start), counts)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    inputs = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, counts)
    coordinate = (numerators / (2 * denominator)).astype(np.float64)
    weights = 1.0 - np.abs(inputs - coordinate[outputs]) * float(axis_map.scale)
    weights /= np.repeat(np.add.reduceat(weights, offsets[:-1]), counts)
    return Taps(input_length, first, counts, weights)
