"""Which convention made it: every convention and mode is tried on an output made elsewhere, and ranked.

Candidates that have the same tables on these lengths are computed once. Each is first held against a few small windows
of the output, of which the largest difference can only grow, so that most are dropped before they cost anything.
"""

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from . import _checks, _dtypes
from .conventions import conventions, get_convention
from .resampling import ResamplePlan, resample
from .taps import LongTaps

# The order of candidates that cannot be told apart: the most common owner first.
_ORDER = (
    "torch",
    "opencv",
    "pillow",
    "tf",
    "half_pixel",
    "skimage",
    "directml",
    "torch_nearest_exact",
    "opencv_nearest_exact",
    "torch_align_corners",
    "align_corners",
    "tf1_align_corners",
    "tf1",
    "asymmetric",
    "pytorch_half_pixel",
    "half_pixel_symmetric",
    "tf_half_pixel_for_nn",
)
# Owners that never widen a filter.
_NEVER_ANTIALIAS = ("opencv", "skimage", "tf1", "tf1_align_corners")
# Owners that work 8-bit pictures axis by axis and round and clip in between.
_ROUND_BETWEEN_AXES = ("torch", "torch_align_corners", "pillow")
# What ONNX's attributes cubic_coeff_a and exclude_outside (and, with antialias, its folding) make of its conventions.
_ONNX_COEFFICIENTS = (None, -0.5)
_ONNX_EDGES = {
    ("cubic", False): (None, "renormalise"),
    ("cubic", True): (None, "repeat"),
    ("linear", True): (None, "repeat"),
}
# Relative to the largest magnitude: positions in float32 move results by up to 2.4e-6.
_TOLERANCE = 4e-6
# Samples of one probe window, and of one part of the whole.
_PROBE, _PART = 512, 2**21


@dataclass(frozen=True, repr=False)
class Match:
    """One way to make the output of the input.

    Attributes
    ----------
    place : int
        1 is the best; matches that cannot be told apart share a place.
    convention, mode : str
    rounding : str or None
        Of nearest; None where the convention has a rule of its own.
    antialias : bool
        Whether filters were widened where an axis shrinks.
    axes, size : tuple of int
        The resampled axes and their output lengths.
    largest_difference, rms_difference : float
        Between the output and what `apply` makes of the input.
    equal : bool
        Whether the two are equal in every element.
    pass_order : tuple of int or None
        For uint8, axes in the order in which they were resampled, if results were rounded and clipped in between.
    scale : tuple or None
        The scales, where they were given and make a difference.
    cubic_coefficient : float or None
    edge : {"repeat", "renormalise"} or None
        Where they are not the convention's own: ONNX's cubic_coeff_a and exclude_outside.
    dtype : numpy.dtype or None
        The type that an input of another type was computed in.
    output_dtype : numpy.dtype
        Of y.
    """

    place: int
    convention: str
    mode: str
    rounding: str | None
    antialias: bool
    axes: tuple
    size: tuple
    largest_difference: float
    rms_difference: float
    equal: bool
    output_dtype: np.dtype
    pass_order: tuple | None = None
    scale: tuple | None = None
    cubic_coefficient: float | None = None
    edge: str | None = None
    dtype: np.dtype | None = None

    def options(self):
        """The match as arguments of `imgops.resample`; replace "size" among them for pictures of other sizes.

        Examples
        --------
        >>> import imgops
        >>> x = np.random.default_rng(0).random((5, 4))
        >>> best = identify(x, imgops.resample(x, (9, 7), convention="asymmetric"))[0]
        >>> imgops.resample(x, **best.options()).shape
        (9, 7)
        """
        convention = _convention(self.convention, self.cubic_coefficient, self.edge)
        options = {"size": self.size, "axes": self.axes, "mode": self.mode, "convention": convention}
        optional = {"rounding": self.rounding, "antialias": self.antialias, "scale": self.scale, "dtype": self.dtype}
        # By identity: NumPy holds float64 equal to None.
        return options | {name: value for name, value in optional.items() if value is not None and value is not False}

    def apply(self, x):
        """What the match makes of `x`, in its pass order if it has one, and in y's dtype.

        Examples
        --------
        >>> import imgops
        >>> x = np.arange(20, dtype=np.uint8).reshape(4, 5)
        >>> identify(x, x[:, ::2])[0].apply(x)[0].tolist()
        [0, 2, 4]
        """
        options = self.options()
        if self.pass_order is None:
            made = _converted(resample(x, **options), self.output_dtype)
            return made.astype(self.output_dtype, copy=False)
        for axis in self.pass_order:
            index = self.axes.index(axis)
            options |= {"size": self.size[index], "axes": axis}
            if self.scale is not None:
                options["scale"] = self.scale[index]
            x = resample(x, **options)
        return x

    def describe(self):
        """Convention, mode and what else sets the match apart, in words.

        Examples
        --------
        >>> identify([1, 2, 4, 8], [2, 4, 8, 8], scale=1)[-1].describe()
        'tf_half_pixel_for_nn nearest, ceil'
        """
        words = [f"{self.convention} {self.mode}", self.rounding, "antialias" if self.antialias else None]
        words.append(None if self.scale is None else "scale " + " x ".join(map(str, self.scale)))
        words.append(None if self.cubic_coefficient is None else f"cubic coefficient {self.cubic_coefficient}")
        words.append(None if self.edge is None else f"edge {self.edge}")
        words.append(None if self.pass_order is None else f"rounded after axis {self.pass_order[0]}")
        return ", ".join(word for word in words if word)

    def distance(self):
        """'equal', or the two differences in words."""
        if self.equal:
            return "equal"
        return f"largest difference {self.largest_difference:.3g}, root mean square {self.rms_difference:.3g}"

    def facts(self):
        """The attributes as JSON has them: dtypes by name, scales as floats, no infinity."""
        return {name: _plain(value) for name, value in vars(self).items()}

    def __str__(self):
        return f"{self.place}. {self.describe()}: {self.distance()}"

    def __repr__(self):
        return f"<Match {self}>"


def _plain(value):
    if isinstance(value, tuple):
        return [float(entry) if isinstance(entry, Fraction) else entry for entry in value]
    if isinstance(value, np.dtype):
        return value.name
    return None if value in (math.inf, -math.inf) else value


def identify(x, y, /, *, axes=None, data_format="NHWC", scale=None, tolerance=None):
    """Name the conventions and modes that make `y` of `x`, best first.

    Every convention is tried in each of its modes, roundings and with antialias, the same on all axes;
    'tf_crop_and_resize', which needs a region, is not.

    Parameters
    ----------
    x : array_like, (..., H, W, C) or (..., C, H, W) or any shape
        The input: numbers or bool.
    y : array_like
        The output made elsewhere, of the same number of axes, on the same scale of values (both 0..255, say).
    axes : int or sequence of int, optional
        The resampled axes. By default the two spatial axes of `data_format`; all axes of a 1-D or 2-D array.
    data_format : {"NHWC", "NCHW", "NCHW_VECT_C"}
    scale : real or sequence of real, optional
        Output samples per input sample, if the other side was given a scale: 1.5 makes 19 of 13 samples, and some
        libraries go on with 1.5, others with 19/13. Both are tried.
    tolerance : real, optional
        The largest difference of a match; 0 keeps equal ones only, inf keeps all. By default 1 for integers, and for
        floats 4e-6 of the largest magnitude (4 units in the last place of float16 and bfloat16), which is what
        positions in float32 can make.

    Returns
    -------
    list of Match
        Ranked by root-mean-square difference. Matches that cannot be told apart on these arrays are all listed, share
        one place, and stand in the order torch, opencv, pillow, tf, half_pixel (ONNX), then the rest. Integers differ
        by more than 2 % of that measure, floats by more than their rounding, or else cannot be told apart. Empty
        if nothing matches.

    Raises
    ------
    ValueError
        Lengths that differ outside of the resampled axes, empty arrays, a negative tolerance, an unknown data format.
    TypeError
        A dtype without numbers.
    numpy.exceptions.AxisError
        An axis that x does not have.

    Examples
    --------
    >>> x = np.random.default_rng(0).random((13, 17))
    >>> import imgops
    >>> best = identify(x, imgops.resample(x, (29, 23), convention="tf1"))[0]
    >>> best
    <Match 1. tf1 linear: equal>
    >>> best.options()
    {'size': (29, 23), 'axes': (0, 1), 'mode': 'linear', 'convention': 'tf1'}
    """
    x, y = _checks.identify_arrays("identify", x, y)
    axes = _resampled_axes(x.shape, axes, data_format)
    _checks.identify_shapes("identify", x.shape, y.shape, axes, data_format)
    scale = _given_scales(scale, len(axes))
    magnitude = _magnitude(x)
    tolerance = _checks.tolerance("identify", tolerance, _default_tolerance(x, y, magnitude))
    trial = _Trial(x, y, axes, tolerance)
    candidates = _candidates(scale, trial.pass_orders, trial.shrinks)
    found = [(candidate, distance) for candidate in candidates if (distance := trial.distance(candidate))]
    return _ranked(found, trial, _rounding_noise(y) * magnitude)


def _resampled_axes(shape, axes, data_format):
    _checks.data_format("identify", data_format)
    return (
        _checks.axes("identify", axes, len(shape))
        if axes is not None
        else _checks.spatial_axes("identify", shape, data_format)
    )


def _given_scales(scale, count):
    if scale is None:
        return None
    entries = _checks.entries("identify", "scale", scale, count)
    for entry in entries:
        _checks.positive("identify", "scale", entry)
    return entries


# ---------------------------------------------------------------------------------------------------------------------
# Candidates


class _Candidate(NamedTuple):
    convention: str
    mode: str
    rounding: str | None
    antialias: bool
    cubic_coefficient: float | None
    edge: str | None
    pass_order: tuple | None
    scale: tuple | None

    def plans(self, shape, size, axes):
        """One plan, or one for each axis in the pass order."""
        if self.pass_order is None:
            return (self._plan(shape, size, axes, self.scale),)
        plans = []
        for axis in self.pass_order:
            index = axes.index(axis)
            plans.append(self._plan(shape, size[index], axis, self.scale and self.scale[index]))
            shape = plans[-1].output_shape
        return tuple(plans)

    def _plan(self, shape, size, axes, scale):
        return ResamplePlan(
            shape,
            size,
            scale=scale,
            axes=axes,
            mode=self.mode,
            convention=_convention(self.convention, self.cubic_coefficient, self.edge),
            rounding=self.rounding,
            antialias=self.antialias,
        )


def _convention(name, coefficient, edge):
    """The name, or a row like it with another coefficient or edge."""
    changes = {"cubic_coefficient": coefficient, "edge": edge}
    changes = {field: value for field, value in changes.items() if value is not None}
    return replace(get_convention(name), **changes) if changes else name


def _candidates(scale, pass_orders, shrinks):
    """All of them, most common owner first; of one convention, mode and rounding the plainest first."""
    scales = (None,) if scale is None else (None, scale)
    names = sorted(conventions(), key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    for name in names:
        row = get_convention(name)
        if row.offsets is None:
            continue
        for mode in row.modes:
            orders = (None, *pass_orders) if name in _ROUND_BETWEEN_AXES and mode != "nearest" else (None,)
            variants = itertools.product(_roundings(row, mode), _filters(row, mode, shrinks), orders, scales)
            for rounding, filter_, order, given in variants:
                yield _Candidate(name, mode, rounding, *filter_, order, given)


def _roundings(row, mode):
    """Those that the owner has a choice of; None for its only one."""
    if mode != "nearest" or row.has_own_arithmetic or row.rounding != "half_down":
        return (None,)
    return ("half_down", "half_up", "floor", "ceil")


def _filters(row, mode, shrinks):
    """(antialias, cubic_coefficient, edge) that the owner has a choice of and that may make a difference."""
    if mode == "nearest":
        return ((False, None, None),)
    if row.always_antialias:
        return ((shrinks, None, None),)
    onnx = row.source.startswith("ONNX")
    # Widened or not, a linear filter on axes that grow is the same.
    choices = (False, True) if row.name not in _NEVER_ANTIALIAS and (shrinks or mode != "linear") else (False,)
    return tuple(
        (antialias, coefficient, edge)
        for antialias in choices
        for coefficient in (_ONNX_COEFFICIENTS if onnx and mode == "cubic" else (None,))
        for edge in (_ONNX_EDGES.get((mode, antialias), (None,)) if onnx else (None,))
    )


# ---------------------------------------------------------------------------------------------------------------------
# Trials


class _Distance(NamedTuple):
    largest: float
    rms: float
    equal: bool


class _Trial:
    """An input and an output, and how far a candidate is from making one of the other."""

    def __init__(self, x, y, axes, tolerance):
        self.axes = axes
        self.size = tuple(y.shape[axis] for axis in axes)
        self.shrinks = any(y.shape[axis] < x.shape[axis] for axis in axes)
        self._y = y
        self._tolerance = tolerance
        # Nearest picks x's own values; weights are applied in the type that y was made in, as far as it tells.
        working = _working_dtype(x.dtype, y.dtype)
        self._picked = x
        self._weighted = None if working is None else x.astype(working, copy=False)
        self.output_dtype = y.dtype
        two_steps = x.dtype == y.dtype == np.uint8 and len(axes) == 2
        # Pictures are mostly resampled along their rows first.
        self.pass_orders = (axes[::-1], axes) if two_steps else ()
        self._by_table = {}
        self._seen = set()

    def dtype(self, mode):
        """The dtype that resample must be told to compute in; None for the input's own."""
        x, y = self._picked.dtype, self.output_dtype
        working = self._weighted.dtype if mode != "nearest" else x if x.kind in "fc" and y.kind in "iub" else y
        return None if working == x else working

    def distance(self, candidate):
        """The _Distance of a candidate; None if it is too far, or the same as a plainer one of its convention."""
        nearest = candidate.mode == "nearest"
        if not nearest and self._weighted is None:
            return None
        plans = candidate.plans(self._picked.shape, self.size, self.axes)
        tables = (nearest, *map(_tables_key, plans))
        owner = (candidate.convention, candidate.mode, candidate.rounding, tables)
        if owner in self._seen:
            return None
        self._seen.add(owner)
        if tables not in self._by_table:
            self._by_table[tables] = self._measure(plans, self._picked if nearest else self._weighted)
        return self._by_table[tables]

    def _measure(self, plans, x):
        for region in _probes(self._y.shape, self.axes):
            if self._differences(plans, x, region)[0] > self._tolerance:
                return None
        largest, squares, equal = 0.0, 0.0, True
        for region in _parts(self._y.shape):
            part = self._differences(plans, x, region)
            if part[0] > self._tolerance:
                return None
            largest, squares, equal = max(largest, part[0]), squares + part[1], equal and part[2]
        return _Distance(largest, math.sqrt(squares / self._y.size), equal)

    def _differences(self, plans, x, region):
        """(largest difference, sum of squared differences, whether all are equal) in a part of the output."""
        made = _part_of(plans, x, region)
        wanted = self._y[region]
        return _compare(_converted(made, wanted.dtype), wanted)


def _part_of(plans, x, region):
    """That part of what the plans, one after the other, make of x."""
    *before, last = plans
    needed = last.input_region(region)
    return last.window(region)(_part_of(before, x, needed) if before else x[needed])


def _tables_key(plan):
    """What two plans share that compute the same: the bytes of their tables, or how long tables would be made."""
    request = plan._request
    key = []
    for axis, table in plan._passes:
        if isinstance(table, LongTaps):
            index = request.axes.index(axis)
            key.append((axis, request.maps[index], request.filter_of(index)))
        else:
            key.append((axis, table.starts.tobytes(), table.counts.tobytes(), table.weights.tobytes()))
    return tuple(key)


def _probes(shape, axes):
    """Three small windows, at the first and last corner and in the middle."""
    side = max(4, round(_PROBE ** (1 / len(axes))))
    lengths = [min(length, side if axis in axes else 2) for axis, length in enumerate(shape)]
    for place in (0, 2, 1):
        starts = [place * (whole - part) // 2 for whole, part in zip(shape, lengths, strict=True)]
        yield tuple(slice(start, start + part) for start, part in zip(starts, lengths, strict=True))


def _parts(shape):
    """The whole in slices along its longest axis, of so few samples that differences take little memory."""
    axis = shape.index(max(shape))
    step = max(1, _PART * shape[axis] // math.prod(shape))
    whole = [slice(0, length) for length in shape]
    for start in range(0, shape[axis], step):
        yield (*whole[:axis], slice(start, min(start + step, shape[axis])), *whole[axis + 1 :])


def _working_dtype(x, y):
    """The type to weigh in; None where weights make no sense."""
    if x.kind == "b" and y.kind == "b":
        return None
    if x == y and x.name in _dtypes.WEIGHTED:
        return _dtypes.native(x)
    if y.name in ("float32", "float64", "complex64", "complex128"):
        return _dtypes.native(y)
    return np.dtype(np.float64 if _dtypes.needs_double(x, y) else np.float32)


def _converted(values, dtype):
    """Values in another dtype, for integers rounded half to even and saturated."""
    if values.dtype == dtype:
        return values
    if dtype.kind in "iu":
        if values.dtype.kind not in "iub":
            values = np.rint(values)
        limits = np.iinfo(dtype)
        # NaN has no integer; clip leaves it, and a comparison with any number is unequal.
        values = np.clip(values.astype(np.float64), limits.min, limits.max)
        return values if dtype.itemsize == 8 or np.isnan(values).any() else values.astype(dtype)
    with np.errstate(over="ignore"):
        return values.astype(dtype)


def _compare(made, wanted):
    """(largest difference, sum of squared differences, whether all are equal); NaN equals NaN."""
    with np.errstate(all="ignore"):
        largest, squares = _difference(made, wanted, _narrow_enough(made.dtype, wanted.dtype))
        if largest > 0 and not 1e-30 < squares < np.inf:
            largest, squares = _difference(made, wanted, np.float64)
    equal = largest == 0.0
    if equal and wanted.dtype.itemsize == 8 and made.dtype == wanted.dtype and wanted.dtype.kind in "iu":
        # float64 does not tell all integers of 64 bits apart.
        equal = np.array_equal(made, wanted)
    return largest, squares, equal


def _narrow_enough(*dtypes):
    """float32 where it holds the values of all dtypes, which is quicker."""
    narrow = ("bool", "uint8", "int8", "uint16", "int16", "float16", "bfloat16", "float32")
    return np.float32 if all(dtype.name in narrow for dtype in dtypes) else np.float64


def _difference(made, wanted, dtype):
    if wanted.dtype.kind == "c":
        difference = np.abs(made.astype(np.complex128, copy=False) - wanted)
    else:
        difference = np.subtract(made.astype(dtype, copy=False), wanted.astype(dtype, copy=False))
    largest = max(float(difference.max()), -float(difference.min()))
    if not math.isfinite(largest):
        difference[(made == wanted) | ((made != made) & (wanted != wanted))] = 0
        difference[np.isnan(difference)] = np.inf
        largest = max(float(difference.max()), -float(difference.min()))
    flat = difference.reshape(-1)
    return largest, float(flat @ flat)


# ---------------------------------------------------------------------------------------------------------------------
# Tolerance and ranks


def _magnitude(array):
    """The largest finite magnitude."""
    if array.dtype.kind == "c":
        array = np.abs(array)
    elif array.dtype.kind in "iub":
        return float(max(abs(int(array.min())), abs(int(array.max()))))
    values = array[np.isfinite(array)]
    return float(max(abs(values.min()), abs(values.max()))) if values.size else 0.0


def _epsilon(dtype):
    """The spacing of a floating type's values at 1."""
    return {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float64": 2.0**-52, "complex128": 2.0**-52}.get(
        dtype.name, 2.0**-23
    )


def _default_tolerance(x, y, magnitude):
    coarse = [4 * _epsilon(array.dtype) for array in (x, y) if array.dtype.name in ("float16", "bfloat16")]
    absolute = max(_TOLERANCE, *coarse, 0) * magnitude
    return max(1.0, absolute) if y.dtype.kind in "iu" else absolute


def _rounding_noise(y):
    """What rounding alone makes of root-mean-square differences, relative to the largest magnitude."""
    return 0.0 if y.dtype.kind in "iub" else _epsilon(y.dtype) / 2


def _ranked(found, trial, noise):
    """Matches by distance, then in the order in which they were tried among those that cannot be told apart."""
    order = sorted(range(len(found)), key=lambda index: (not found[index][1].equal, found[index][1].rms))
    matches = []
    while order:
        best = found[order[0]][1]
        limit = max(1.02 * best.rms, noise)
        tied = [i for i in order if found[i][1].equal == best.equal and found[i][1].rms <= limit]
        place = len(matches) + 1
        matches.extend(_match(place, *found[index], trial) for index in sorted(tied))
        order = [index for index in order if index not in tied]
    return matches


def _match(place, candidate, distance, trial):
    return Match(
        place=place,
        **candidate._asdict(),
        axes=trial.axes,
        size=trial.size,
        largest_difference=distance.largest,
        rms_difference=distance.rms,
        equal=distance.equal,
        output_dtype=trial.output_dtype,
        dtype=trial.dtype(candidate.mode),
    )
