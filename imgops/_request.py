"""What a call of resample asks for, resolved: which axes, which lengths, one exact AxisMap per axis.

The kernels' faces and their slow twin both start from a Request, so that they cannot differ in what was asked.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

from . import _checks
from .conventions import PLAIN, Convention, conventions, get_convention
from .taps import AxisMap, make_filter


@dataclass(frozen=True)
class Request:
    """A resolved call.

    Attributes
    ----------
    input_shape, output_shape : tuple of int
    axes : tuple of int
        The resampled axes, in the order of the arguments.
    maps : tuple of AxisMap
        One per resampled axis, its rounding settled.
    rows : tuple of (Convention or None, Fraction or None)
        Per resampled axis the convention (None for an AxisMap of the caller's) and the scale that was given.
    mode : {"nearest", "linear", "cubic", "lanczos3"}
    antialias : bool
    """

    input_shape: tuple
    output_shape: tuple
    axes: tuple
    maps: tuple
    rows: tuple
    mode: str
    antialias: bool

    def filter_of(self, index):
        """The Filter of the resampled axis number `index`."""
        convention, scale = self.rows[index]
        convention = convention or PLAIN
        antialias = self.mode != "nearest" and (self.antialias or convention.always_antialias)
        coefficient = convention.cubic_coefficient
        if antialias and convention.antialias_cubic_coefficient is not None:
            coefficient = convention.antialias_cubic_coefficient
        if not convention.widens_by_scale:
            scale = None
        elif scale is None:
            scale = Fraction(self.output_shape[self.axes[index]], self.input_shape[self.axes[index]])
        return make_filter(self.maps[index], self.mode, antialias, coefficient, convention.edge, scale)


def resolve_axes(function, shape, size, scale, axes, data_format, argument="size"):
    """The resampled axes: given, or all where there is an entry for each, or the two spatial ones."""
    _checks.data_format(function, data_format)
    ndim = len(shape)
    if ndim == 0:
        _checks.need_axes(function, shape)
    if axes is not None:
        return _checks.axes(function, axes, ndim)
    what, value = (argument, size) if size is not None else ("scale", scale)
    if size is not None and not _checks.is_sequence(value):
        value = (value,)
    if _checks.is_sequence(value):
        count = len(value)
        if count == ndim:
            return tuple(range(ndim))
        spatial = _checks.spatial_axes(function, shape, data_format) if ndim > 2 and count == 2 else ()
        if count == 0 or count != len(spatial):
            _checks.axis_count(function, count, ndim, what, shape)
        return spatial
    return _checks.spatial_axes(function, shape, data_format)


def resolve(function, shape, size, scale, axes, data_format, mode, convention, rounding, antialias):
    """Request of a call of resample on an array of `shape`."""
    mode = _checks.resample_mode(function, mode)
    antialias = _checks.flag(function, "antialias", antialias)
    if antialias and mode == "nearest":
        _checks.no_antialias(function, mode)
    has_maps = _holds_maps(convention)
    if size is None and scale is None and not has_maps:
        _checks.need_size_or_scale(function)
    if size is None and scale is None and axes is None and _checks.is_sequence(convention):
        axes = resolve_axes(function, shape, None, convention, None, data_format)
    else:
        axes = resolve_axes(function, shape, size, scale, axes, data_format)
    count = len(axes)
    sizes = (None,) * count if size is None else _checks.sizes(function, size, count)
    given = _checks.entries(function, "scale", scale, count)
    scales = tuple(None if entry is None else _checks.positive(function, "scale", entry) for entry in given)
    chosen = _checks.entries(function, "convention", convention, count)
    if rounding is not None:
        rounding = _checks.rounding(function, rounding)
        if mode != "nearest":
            _checks.no_rounding(function, f"mode is {mode!r}")
    output_shape = list(shape)
    maps, rows = [], []
    for axis, length, scale_, entry in zip(axes, sizes, scales, chosen, strict=True):
        _checks.resampled_length(function, shape[axis], axis)
        row = _row(function, entry)
        if isinstance(row, AxisMap):
            if scale is not None:
                _checks.no_scale_beside_map(function)
            if rounding is not None:
                _checks.no_rounding(function, "an AxisMap carries its own")
            if length is None:
                length = _checks.scaled_length(function, shape[axis], row.scale, row.scale)
            maps.append(row)
            rows.append((None, None))
        else:
            _checks.convention_mode(function, row.name, mode, row.modes)
            if antialias and row.antialias_offsets is not None:
                row = replace(row, offsets=row.antialias_offsets)
            if row.offsets is None:
                _checks.needs_roi(function, row.name)
            if row.has_own_arithmetic and rounding is not None:
                _checks.no_rounding(function, f"convention {row.name!r} has arithmetic of its own")
            if length is None:
                if scale_ is None:
                    _checks.need_size_or_scale(function)
                length = _checks.scaled_length(function, shape[axis], scale_, scale_)
            maps.append(row.axis_map(shape[axis], length, scale_, rounding))
            rows.append((row, scale_))
        output_shape[axis] = length
    _checks.element_count(function, shape, 1)
    _checks.element_count(function, output_shape, 1)
    return Request(tuple(shape), tuple(output_shape), axes, tuple(maps), tuple(rows), mode, antialias)


def resolve_grad(function, grad_shape, input_size, scale, axes, data_format):
    """(input shape, output lengths, axes) of the forward whose output has `grad_shape`."""
    if axes is None and _checks.is_sequence(scale) and not _checks.is_sequence(input_size):
        axes = resolve_axes(function, grad_shape, None, scale, None, data_format)
    axes = resolve_axes(function, grad_shape, input_size, None, axes, data_format, "input_size")
    input_shape = list(grad_shape)
    for axis, length in zip(axes, _checks.sizes(function, input_size, len(axes), "input_size"), strict=True):
        input_shape[axis] = length
    return tuple(input_shape), tuple(grad_shape[axis] for axis in axes), axes


def _holds_maps(convention):
    if _checks.is_sequence(convention):
        return any(isinstance(entry, AxisMap) for entry in convention)
    return isinstance(convention, AxisMap)


def _row(function, entry):
    if isinstance(entry, (AxisMap, Convention)):
        return entry
    return get_convention(_checks.name_of(function, "convention", entry, conventions()))
