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
from typing import NamedTuple

import numpy as np

from . import _checks

_HALF = Fraction(1, 2)
# Tables of longer axes are made for each call rather than kept: at most 64 tables of this length are alive.
_CACHED_LENGTH = 8192
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

    def __reduce__(self):
        return Taps, (self.input_length, self.starts, self.counts, self.weights)

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

    def _columns(self, start=0, stop=None):
        """(output, input) index of every weight of the rows start..stop, row by row."""
        rows = slice(start, stop)
        counts, first = self.counts[rows], self.offsets[:-1][rows]
        outputs = np.repeat(np.arange(self.output_length)[rows], counts)
        inputs = np.arange(len(outputs)) + np.repeat(self.starts[rows] - (first - self.offsets[start]), counts)
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
        """(first, last + 1) input index that outputs start..stop read; a tap of weight zero reads nothing."""
        inputs = self._columns(start, stop)[1][self.weights[self.offsets[start] : self.offsets[stop]] != 0]
        if len(inputs):
            return int(inputs.min()), int(inputs.max()) + 1
        # Never empty, so that a window of a gradient that reads nothing still has an input to stand on.
        first = min(int(self.starts[start]), self.input_length - 1)
        return first, first + 1

    def window(self, start, stop):
        """(table of the outputs start..stop on their own inputs, first input, last input + 1)."""
        first, last = self.input_range(start, stop)
        inputs = self._columns(start, stop)[1]
        kept = (inputs >= first) & (inputs < last)
        starts = np.clip(self.starts[start:stop], first, last)
        counts = np.clip(self.starts[start:stop] + self.counts[start:stop], starts, last) - starts
        weights = self.weights[self.offsets[start] : self.offsets[stop]][kept]
        return Taps(last - first, starts - first, counts, weights), first, last

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
    taps : int
        Of one output, about; few enough outputs are one part that their taps are not many.
    part : callable
        ``(start, stop) -> Taps`` of the outputs start..stop, on all inputs.
    """

    is_identity = False

    def __init__(self, input_length, output_length, taps, part):
        self.input_length = input_length
        self.output_length = output_length
        self.step = max(1, _LONG // max(taps, -(-input_length // output_length)))
        self._taps = taps
        self._part = part

    def _extent(self, output):
        """(first, last + 1) input index of the taps of one output; neither ever decreases along the outputs."""
        taps = self._part(output, output + 1)
        return int(taps.starts[0]), int(taps.starts[0] + taps.counts[0])

    def input_range(self, start, stop):
        """(first, last + 1) input index that outputs start..stop read."""
        # Zero weights may let one output read less than the next one, but never two in a row.
        ends = min(start + 4, stop), max(start, stop - 4)
        head, tail = self._part(start, ends[0]), self._part(ends[1], stop)
        return head.input_range(0, ends[0] - start)[0], tail.input_range(0, stop - ends[1])[1]

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

        return LongTaps(last - first, stop - start, self._taps, part), first, last

    def transpose(self):
        """The table of the gradient, long too."""
        taps = -(-self.output_length * self._taps // self.input_length)
        return LongTaps(self.output_length, self.input_length, taps, self._transposed_part)

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


def axis_taps(input_length, output_length, axis_map, mode="linear", antialias=False, *, coefficient=-0.75, edge=None):
    """The table of one axis.

    Parameters
    ----------
    input_length, output_length : int
        Samples, at least 1.
    axis_map : AxisMap
    mode : {"linear", "nearest", "cubic", "lanczos3"}
    antialias : bool
        Widen the filter by the reduction, 1 / scale, where the axis shrinks.
    coefficient : float
        Of Keys's cubic filter.
    edge : {"repeat", "renormalise", "exclude"}, optional
        What becomes of the weights outside of the axis: added to the edge sample, or left out of a sum that is made
        one. For "renormalise" the coordinate is first clamped to half a sample, as wide as the filter makes it, beyond
        the edge samples. By default "renormalise" for lanczos3 and with antialias, as in Pillow and torch, else
        "repeat".

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
    filter_ = make_filter(axis_map, mode, antialias, coefficient, edge)
    if max(input_length, output_length) <= _CACHED_LENGTH:
        return _axis_taps_cached(input_length, output_length, axis_map, filter_)
    return _axis_part(input_length, axis_map, filter_, 0, output_length)


def axis_table(input_length, output_length, axis_map, filter_):
    """As `axis_taps` with a Filter, but LongTaps for a long axis and kept for a short one."""
    longest = max(input_length, output_length)
    taps = 1 if filter_.mode == "nearest" else 2 * _RADII[filter_.mode]
    taps = min(math.ceil(taps * filter_.width), input_length)
    is_short = max(longest, output_length * taps // 16) <= _LONG
    if is_short and longest <= _CACHED_LENGTH:
        return _axis_taps_cached(input_length, output_length, axis_map, filter_)
    part = functools.partial(_axis_part, input_length, axis_map, filter_)
    return part(0, output_length) if is_short else LongTaps(input_length, output_length, taps, part)


def own_table(input_length, output_length, make, *positions):
    """The table of a convention's own arithmetic: `make` is nearest_taps or linear_taps, `positions` what it takes."""
    if max(input_length, output_length) <= _LONG:
        return make(input_length, *positions)

    def part(start, stop):
        return make(input_length, *(array[start:stop] for array in positions))

    return LongTaps(input_length, output_length, 2, part)


class Filter(NamedTuple):
    """How a coordinate becomes taps: mode, input samples per sample of the filter, and what happens at the edge."""

    mode: str
    width: Fraction
    coefficient: float
    edge: str
    normalised: bool


def make_filter(axis_map, mode, antialias, coefficient, edge, scale=None):
    """The Filter of an axis, its defaults settled; see `axis_taps`. `scale` is what antialias widens by, if another."""
    if edge is None:
        edge = "renormalise" if antialias or mode == "lanczos3" else "repeat"
    width = max(1 / (scale or axis_map.scale), Fraction(1)) if antialias else Fraction(1)
    normalised = width > 1 or edge != "repeat" or mode == "lanczos3"
    return Filter(mode, width, coefficient if mode == "cubic" else 0.0, edge, normalised)


def _axis_part(input_length, axis_map, filter_, start, stop):
    """Taps of the outputs start..stop on all inputs."""
    if filter_.mode == "nearest":
        return nearest_taps(input_length, nearest_indices(input_length, stop, axis_map, start))
    if filter_.mode == "linear" and filter_.width == 1:
        return linear_taps(input_length, *_linear_positions(input_length, axis_map, start, stop))
    return _filter_taps(input_length, axis_map, filter_, start, stop)


@functools.lru_cache(maxsize=64)
def _axis_taps_cached(input_length, output_length, axis_map, filter_):
    return _axis_part(input_length, axis_map, filter_, 0, output_length)


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
    # Room for the support of a filter and for a sample more on either side.
    fits = abs(slope) * (stop + 8) + abs(intercept) + 8 * denominator < 2**61
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


def _triangle(t):
    return 1.0 - np.abs(t)


def _cubic(t, coefficient):
    """Keys's cubic convolution filter."""
    t, a = np.abs(t), coefficient
    inner = ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0
    outer = a * (((t - 5.0) * t + 8.0) * t - 4.0)
    return np.where(t <= 1.0, inner, outer)


def _lanczos3(t):
    # np.sinc misses its zeros by rounding.
    values = np.sinc(t) * np.sinc(t / 3.0)
    return np.where((t == np.rint(t)) & (t != 0), 0.0, values)


_RADII = {"linear": 1, "cubic": 2, "lanczos3": 3}


def _filter_taps(input_length, axis_map, filter_, start, stop):
    """The samples strictly inside the filter around each coordinate, weighted by their exact distances from it."""
    # Twice everything over a denominator of coordinates and width, so that a half is an integer too.
    factor = 2 * (filter_.width * axis_map._integers()[2]).denominator
    numerators, denominator = _numerators(axis_map, start, stop, factor)
    sample = int(filter_.width * denominator)
    support = _RADII[filter_.mode] * sample
    if filter_.edge == "renormalise":
        # Beyond half a sample, as wide as the filter makes it, from the edge sample, the edge repeats.
        numerators = np.clip(numerators, -(sample // 2), (input_length - 1) * denominator + sample // 2)
    elif filter_.edge == "exclude":
        # Not so far that no sample would be left.
        numerators = np.clip(numerators, 1 - denominator, input_length * denominator - 1)
    first = (numerators - support) // denominator + 1
    last = -(-(numerators + support) // denominator) - 1
    if filter_.edge != "repeat":
        first, last = np.maximum(first, 0), np.minimum(last, input_length - 1)
    counts = (last - first + 1).astype(np.int64)
    outputs = np.repeat(np.arange(stop - start), counts)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    inputs = np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, counts)
    distances = ((inputs * denominator - numerators[outputs]) / sample).astype(np.float64)
    if filter_.mode == "linear":
        weights = _triangle(distances)
    elif filter_.mode == "cubic":
        weights = _cubic(distances, filter_.coefficient)
    else:
        weights = _lanczos3(distances)
    if filter_.normalised:
        weights /= np.repeat(np.add.reduceat(weights, offsets[:-1]), counts)
    # Weights outside of the axis go to the edge sample.
    first, last = (np.clip(ends, 0, input_length - 1).astype(np.int64) for ends in (first, last))
    counts = last - first + 1
    offsets = np.concatenate(([0], np.cumsum(counts)))
    inputs = np.clip(inputs, 0, input_length - 1).astype(np.int64)
    weights = np.bincount(offsets[outputs] + inputs - first[outputs], weights, offsets[-1])
    return Taps(input_length, first, counts, weights)
