"""Resample: nearest and linear on any axes, forward and gradient, by one table per axis."""

import functools
import math
from numbers import Rational

import numpy as np

from . import _checks, _dtypes, _kernels, _request, threads
from .taps import LongTaps, axis_table, linear_taps, nearest_taps, own_table

# Passes over more than two axes work in slabs whose intermediate array takes at most this many bytes.
_SLAB_BYTES = 4 * 2**20
# Plans are kept for reuse while the lengths of their axes, in and out, add up to no more than this: many plans of few
# samples, and few plans of many, since a plan takes some 200 bytes a sample.
_SHORT_LENGTHS, _SHORT_PLANS = 2**12, 256
_CACHED_LENGTHS, _LONG_PLANS = 2**15, 8
# More taps per output than this, and rows are kept uneven rather than padded to the longest.
_PADDED_TAPS = 16
# Bits that 8-bit integers leave in 16 for those of the weights of all tables together.
_FIXED_BITS = 8
# Types whose instances stay the numbers that they are.
_LASTING = (int, float, Rational, np.generic, str, type(None))
# Outputs of two axes for which another call or two for their edges cost less than exact sums gain.
_LARGE_INSIDE = 2**16


def resample(
    x,
    /,
    size=None,
    *,
    scale=None,
    axes=None,
    data_format="NHWC",
    mode="linear",
    convention="half_pixel",
    rounding=None,
    antialias=False,
    out=None,
    dtype=None,
    num_threads=None,
):
    """Resample an array along some or all of its axes.

    Output sample o of an axis reads the input coordinate ``x = (o - output_offset) / scale - input_offset`` of its
    convention, clamped to the axis: the sample nearest to it, or the mean of its two neighbours weighted by distance
    (linear), or of its four or six neighbours weighted by Keys's cubic or Lanczos's filter.

    Parameters
    ----------
    x : array_like, (..., H, W, C) or (..., C, H, W) or any shape
        Any strides. nearest takes every fixed-size dtype; the weighted modes take (u)int8, (u)int16, (u)int32, float16,
        bfloat16, float32, float64 and complex.
    size : int or sequence of int, optional
        Output lengths along the resampled axes, (height, width) for pictures. Without `scale` the scale is output
        length over input length.
    scale : real or sequence of real, optional
        Output samples per input sample, > 1 enlarges; a float means its shortest decimal (1.2 is 6/5). Without `size`
        the size is ``floor(length * scale)``. With both, the picture is cropped or its edge repeats.
    axes : int or sequence of int, optional
        The resampled axes. By default all of them where `size` or `scale` has an entry for each, else the two spatial
        axes of `data_format`.
    data_format : {"NHWC", "NCHW", "NCHW_VECT_C"}
    mode : {"linear", "nearest", "cubic", "lanczos3"}
        "bilinear" and "bicubic" mean "linear" and "cubic".
    convention : str, AxisMap or a sequence of these, one per resampled axis
        See `imgops.conventions`.
    rounding : {"half_down", "half_up", "floor", "ceil"}, optional
        How nearest makes an index of a coordinate; the convention's own rule, mostly half_down, by default.
    antialias : bool
        In weighted modes, widen the filter by the reduction where an axis shrinks.
    out : ndarray, optional
        Of the result's shape and dtype, any strides; it may overlap x.
    dtype : dtype, optional
        float32 or float64: weight in that type (any real x). In nearest mode: convert as ndarray.astype does.
    num_threads : int, optional
        At least 1; by default `imgops.get_num_threads`.

    Returns
    -------
    ndarray
        x's dtype, in native byte order for weighted modes. Integers are rounded half to even and saturated. float64 and
        (u)int32 are summed in float64, the rest in float32.

    Raises
    ------
    ValueError
        No size and no scale, a scale that is not positive and finite, lengths of 0, an unknown name, entries that do
        not fit the axes, a wrong shape of `out`.
    TypeError
        A dtype without weights, object arrays, a wrong dtype of `out`.
    numpy.exceptions.AxisError
        An axis that x does not have.

    References
    ----------
    DirectML DML_RESAMPLE2_OPERATOR_DESC; ONNX Resize 19.

    Examples
    --------
    >>> resample([[1, 2], [3, 4]], (1, 3), mode="nearest").tolist()
    [[1, 1, 2]]
    >>> resample(np.array([0.0, 1.0]), 4).tolist()
    [0.0, 0.25, 0.75, 1.0]
    """
    x = _checks.as_array("resample", x)
    plan = _plan(
        _forward_plan, "resample", x.shape, size, scale, axes, data_format, mode, convention, rounding, antialias
    )
    return plan._forward("resample", x, out, dtype, num_threads)


def resample_grad(
    grad_output,
    /,
    input_size,
    *,
    scale=None,
    axes=None,
    data_format="NHWC",
    mode="linear",
    convention="half_pixel",
    rounding=None,
    antialias=False,
    out=None,
    accumulate=False,
    num_threads=None,
):
    """Gradient of `resample` with respect to its input: the transposed tables, gathered.

    ``<resample(x), g> == <x, resample_grad(g)>`` for every convention, mode, scale and size.

    Parameters
    ----------
    grad_output : array_like of float or complex, the shape of the forward's output
    input_size : int or sequence of int
        Lengths of the forward's input along the resampled axes.
    scale, axes, data_format, mode, convention, rounding, antialias, num_threads
        As in the forward call.
    out : ndarray, optional
        Of the shape of the forward's input, of grad_output's dtype or a wider float.
    accumulate : bool
        Add to `out` instead of overwriting it.

    Returns
    -------
    ndarray, the shape of the forward's input
        float16 and bfloat16 are summed in float32 and rounded once. Samples that were never read get 0.

    Raises
    ------
    ValueError, TypeError, numpy.exceptions.AxisError
        As `resample`; TypeError for integers; ValueError for accumulate without out.

    References
    ----------
    DirectML DML_RESAMPLE_GRAD1_OPERATOR_DESC.

    Examples
    --------
    >>> resample_grad(np.array([[4.0, 5.0, 6.0]]), (2, 2), mode="nearest").tolist()
    [[9.0, 6.0], [0.0, 0.0]]
    """
    function = "resample_grad"
    grad_output = _checks.as_array(function, grad_output, "grad_output")
    _checks.gradient_dtype(function, grad_output.dtype)
    plan = _plan(
        _backward_plan, function, grad_output.shape, input_size, scale, axes, data_format, mode, convention, rounding,
        antialias,
    )  # fmt: skip
    return plan._backward(function, grad_output, out, accumulate, num_threads)


def resample_shape(shape, size=None, *, scale=None, axes=None, data_format="NHWC"):
    """Shape of `resample`'s result for an input of this shape.

    Parameters
    ----------
    shape : sequence of int
    size, scale, axes, data_format
        As in `resample`.

    Returns
    -------
    tuple of int

    Raises
    ------
    ValueError, TypeError, numpy.exceptions.AxisError
        As `resample`.

    Examples
    --------
    >>> resample_shape((540, 960, 3), scale=1.5)
    (810, 1440, 3)
    """
    shape = _checks.shape_of("resample_shape", shape)
    request = _request.resolve(
        "resample_shape", shape, size, scale, axes, data_format, "linear", "half_pixel", None, False
    )
    return request.output_shape


class ResamplePlan:
    """A resample call with its tables made, for arrays of one shape.

    Parameters
    ----------
    input_shape : sequence of int
    size, scale, axes, data_format, mode, convention, rounding, antialias
        As in `resample`.

    Attributes
    ----------
    input_shape, output_shape : tuple of int

    Raises
    ------
    ValueError, TypeError, numpy.exceptions.AxisError
        As `resample`.

    Examples
    --------
    >>> plan = ResamplePlan((4, 6), scale=2)
    >>> plan(np.ones((4, 6))).shape
    (8, 12)
    >>> plan.input_region((slice(0, 3), slice(5, 8)))
    (slice(0, 2, None), slice(2, 5, None))
    """

    def __init__(
        self,
        input_shape,
        size=None,
        *,
        scale=None,
        axes=None,
        data_format="NHWC",
        mode="linear",
        convention="half_pixel",
        rounding=None,
        antialias=False,
    ):
        shape = _checks.shape_of("ResamplePlan", input_shape, "input_shape")
        request = _request.resolve(
            "ResamplePlan", shape, size, scale, axes, data_format, mode, convention, rounding, antialias
        )
        self._set(request.input_shape, request.output_shape, request.mode, request)

    def _set(self, input_shape, output_shape, mode, request=None):
        self.input_shape = input_shape
        self.output_shape = output_shape
        self._mode = mode
        self._request = request
        # By dtypes; an entry is made once and never changed.
        self._calls = {}
        # Bytes of the largest item of which a result is known to be countable.
        self._fitting_size = 0

    @classmethod
    def _from_request(cls, request):
        plan = cls.__new__(cls)
        plan._set(request.input_shape, request.output_shape, request.mode, request)
        return plan

    @functools.cached_property
    def _passes(self):
        """(axis, table) in the order in which they are applied, which depends on the scales alone.

        Made when first used: after a result too large for memory was refused.
        """
        return _ordered_tables(self._request)

    @functools.cached_property
    def _gradient_passes(self):
        """The passes of the gradient: transposed tables, last pass first."""
        return tuple((axis, _transposed(table)) for axis, table in reversed(self._passes))

    def __reduce__(self):
        # Without the kernels' tables, which are made again when first used.
        if self._request is not None:
            return ResamplePlan._from_request, (self._request,)
        return ResamplePlan._from_passes, (self.input_shape, self.output_shape, self._mode, self._passes)

    @classmethod
    def _from_passes(cls, input_shape, output_shape, mode, passes):
        plan = cls.__new__(cls)
        plan._set(input_shape, output_shape, mode)
        plan._passes = passes
        return plan

    def __repr__(self):
        axes = ", ".join(str(axis) for axis in sorted(axis for axis, _ in self._passes))
        return f"ResamplePlan({self.input_shape} -> {self.output_shape}, mode={self._mode!r}, axes=({axes}))"

    def __call__(self, x, /, out=None, *, num_threads=None):
        """Resample x, of input_shape; see `resample`.

        Examples
        --------
        >>> ResamplePlan((2,), 3)(np.array([0.0, 1.0])).tolist()
        [0.0, 0.5, 1.0]
        """
        x = _checks.as_array("ResamplePlan", x)
        _checks.input_shape("ResamplePlan", x.shape, self.input_shape)
        return self._forward("ResamplePlan", x, out, None, num_threads)

    def grad(self, grad_output, /, out=None, accumulate=False, *, num_threads=None):
        """Gradient with respect to the input, of input_shape; see `resample_grad`.

        Examples
        --------
        >>> ResamplePlan((2,), 4).grad(np.ones(4)).tolist()
        [2.0, 2.0]
        """
        grad_output = _checks.as_array("ResamplePlan.grad", grad_output, "grad_output")
        _checks.gradient_dtype("ResamplePlan.grad", grad_output.dtype)
        _checks.grad_shape("ResamplePlan.grad", grad_output.shape, self.output_shape)
        return self._backward("ResamplePlan.grad", grad_output, out, accumulate, num_threads)

    def input_region(self, output_region):
        """The hull of the input samples that a part of the output reads, as a tuple of slices.

        Parameters
        ----------
        output_region : tuple of slice
            One per axis, step 1, none empty.

        Raises
        ------
        ValueError, TypeError

        Examples
        --------
        >>> ResamplePlan((8,), 4, antialias=True).input_region((slice(1, 3),))
        (slice(1, 7, None),)
        """
        return _read(self._passes, _checks.region("input_region", output_region, self.output_shape))

    def window(self, output_region):
        """The plan from the part of the input that `output_region` reads to that part of the output.

        Its results are the same bits as that part of the whole.

        Parameters
        ----------
        output_region : tuple of slice
            One per axis, step 1, none empty.

        Returns
        -------
        ResamplePlan
            For inputs ``x[plan.input_region(output_region)]``.

        Raises
        ------
        ValueError, TypeError

        Examples
        --------
        >>> plan, x = ResamplePlan((4,), 8), np.arange(4.0)
        >>> part = (slice(3, 6),)
        >>> plan.window(part)(x[plan.input_region(part)]).tolist() == plan(x)[3:6].tolist()
        True
        """
        region = _checks.region("window", output_region, self.output_shape)
        input_shape, output_shape, passes = _windowed(self._passes, region)
        return ResamplePlan._from_passes(input_shape, output_shape, self._mode, passes)

    def grad_region(self, input_region):
        """The hull of the output samples whose gradients a part of the input gathers, as a tuple of slices.

        Parameters
        ----------
        input_region : tuple of slice
            One per axis, step 1, none empty.

        Raises
        ------
        ValueError, TypeError

        Examples
        --------
        >>> ResamplePlan((4,), 8).grad_region((slice(1, 2),))
        (slice(1, 5, None),)
        """
        region = _checks.region("grad_region", input_region, self.input_shape, "input_region")
        return _read(self._gradient_passes, region)

    def grad_window(self, input_region):
        """The plan whose gradient is that of a part of the input.

        Its gradient is the same bits as that part of the whole gradient. Called, it gives what that part of the input
        adds to the output.

        Parameters
        ----------
        input_region : tuple of slice
            One per axis, step 1, none empty.

        Returns
        -------
        ResamplePlan
            For gradients ``grad_output[plan.grad_region(input_region)]``.

        Raises
        ------
        ValueError, TypeError

        Examples
        --------
        >>> plan, g = ResamplePlan((4,), 8), np.arange(8.0)
        >>> part = (slice(1, 3),)
        >>> plan.grad_window(part).grad(g[plan.grad_region(part)]).tolist() == plan.grad(g)[1:3].tolist()
        True
        """
        region = _checks.region("grad_window", input_region, self.input_shape, "input_region")
        output_shape, input_shape, gradient_passes = _windowed(self._gradient_passes, region)
        passes = tuple((axis, _transposed(table)) for axis, table in reversed(gradient_passes))
        # Weighted even if nearest, since some outputs may read nothing of this part.
        plan = ResamplePlan._from_passes(input_shape, output_shape, "linear", passes)
        plan._gradient_passes = gradient_passes
        return plan

    def _forward(self, function, x, out, dtype, num_threads):
        num_threads = threads.resolve(function, num_threads)
        if self._mode == "nearest":
            return self._pick(function, x, out, dtype, num_threads)
        call = self._calls.get((x.dtype, None)) if dtype is None else None
        if call is None:
            result_dtype, double = _checks.weighted_dtypes(function, x.dtype, dtype)
            call = self._prepared(x.dtype, result_dtype, double, backward=False)
            _checks.element_count(function, self.output_shape, result_dtype.itemsize)
            if dtype is None:
                self._calls[x.dtype, None] = call
        fresh = out is None
        if fresh:
            out = _checks.empty(function, self.output_shape, call.dtype)
        else:
            x = _checked_operands(function, self.output_shape, x, out, call.dtype, dtype)
        call(x, out, False, fresh, num_threads)
        return out

    def _pick(self, function, x, out, dtype, num_threads):
        result_dtype = x.dtype if dtype is None else _checks.any_dtype(function, dtype)
        fresh = out is None
        if fresh:
            if result_dtype.itemsize > self._fitting_size:
                _checks.element_count(function, self.output_shape, result_dtype.itemsize)
                self._fitting_size = result_dtype.itemsize
            out = _checks.empty(function, self.output_shape, result_dtype)
        else:
            x = _checked_operands(function, self.output_shape, x, out, result_dtype, dtype)
        if dtype is not None and x.dtype != result_dtype:
            x = _checks.converted(function, x, result_dtype)
        if not self._is_empty:
            if self._tables is not None:
                _kernels.resample.nearest(x, self._tables, out, fresh, num_threads)
                return out
            for part, passes, target in _windows(x, self._passes, out):
                _kernels.resample.nearest(part, _index_tables(passes, x.ndim), target, fresh, num_threads)
        return out

    def _backward(self, function, grad_output, out, accumulate, num_threads):
        if accumulate is not False:
            accumulate = _checks.accumulate(function, accumulate, out)
        num_threads = threads.resolve(function, num_threads)
        source = grad_output.dtype
        result = _dtypes.native(source)
        if out is not None:
            _checks.output(function, out, self.input_shape, _dtypes.gradient_outputs(result))
            if np.may_share_memory(grad_output, out):
                grad_output = grad_output.copy()
            result = out.dtype
        call = self._calls.get((source, result))
        if call is None:
            _checks.element_count(function, self.input_shape, result.itemsize)
            double = _dtypes.needs_double(source, result)
            call = self._calls[source, result] = self._prepared(source, result, double, backward=True)
        fresh = out is None
        if fresh:
            out = _checks.empty(function, self.input_shape, result)
        call(grad_output, out, accumulate, fresh, num_threads)
        return out

    @functools.cached_property
    def _is_empty(self):
        return 0 in self.output_shape

    @functools.cached_property
    def _tables(self):
        """Index tables of nearest, one per axis; None where one is too long to be made at once."""
        if any(isinstance(table, LongTaps) for _, table in self._passes):
            return None
        return _index_tables(self._passes, len(self.input_shape))

    def _prepared(self, source, result, double, backward):
        """The _Call that takes an array of dtype `source` to one of dtype `result`."""
        passes = self._gradient_passes if backward else self._passes
        return _Call(passes, source, result, double, self._is_empty)


def _read(passes, region):
    """What a region of the result of some passes reads, as a tuple of slices."""
    region = list(region)
    for axis, taps in passes:
        region[axis] = taps.input_range(*region[axis])
    return tuple(slice(start, stop) for start, stop in region)


def _windowed(passes, region):
    """(shape that is read, the region's shape, passes from the one to the other)."""
    result_shape = tuple(stop - start for start, stop in region)
    source_shape = list(result_shape)
    windows = []
    for axis, taps in passes:
        taps, first, last = taps.window(*region[axis])
        source_shape[axis] = last - first
        windows.append((axis, taps))
    return tuple(source_shape), result_shape, tuple(windows)


def _checked_operands(function, shape, x, out, dtype, wanted):
    """x, or a copy of it where it overlaps `out`, which is checked."""
    if wanted is not None and isinstance(out, np.ndarray) and out.dtype != dtype:
        _checks.out_dtype_disagrees(function, out.dtype, dtype)
    _checks.output(function, out, shape, (dtype,))
    return x.copy() if np.may_share_memory(x, out) else x


class _Call:
    """Weighted passes with everything settled that depends on the dtypes alone."""

    __slots__ = ("_double", "_numbers", "_parts", "_passes", "_source", "_tables", "dtype")

    def __init__(self, passes, source, result, double, is_empty):
        self.dtype = result
        self._passes = passes
        self._double = double
        # Parts of complex numbers, byte orders and dtypes without a code of their own are settled by a conversion.
        convertible = source.name in _dtypes.CODES and _dtypes.parts(source) == _dtypes.parts(result)
        self._source = _dtypes.native(source) if convertible else result
        self._tables = self._numbers = self._parts = None
        if is_empty:
            self._passes = None
        elif not any(isinstance(table, LongTaps) for _, table in passes):
            needed = _without_identities(passes)
            if len(needed) <= 2:
                self._tables, self._numbers = _kernel_arguments(needed, self._source, result, double)
                if self._source == result and result.itemsize == 1 and self._numbers[-1] > 2:
                    self._parts = _parts_with_exact_inside(needed, result)

    def __call__(self, x, out, accumulate, fresh, num_threads):
        if self._passes is None:
            return
        if x.dtype is not self._source and x.dtype != self._source:
            x = x.astype(self._source)
        if self._parts is not None:
            for read, written, tables, numbers in self._parts:
                _kernels.resample.resample(x[read], *tables, out[written], *numbers, accumulate, fresh, num_threads)
        elif self._tables is not None:
            _kernels.resample.resample(x, *self._tables, out, *self._numbers, accumulate, fresh, num_threads)
        else:
            for part, passes, target in _windows(x, self._passes, out):
                _apply(part, _without_identities(passes), target, self._double, accumulate, fresh, num_threads)


def _kernel_arguments(passes, source, result, double):
    """(tables, axes and dtypes) of at most two passes, as the kernel takes them."""
    axis, first = passes[0] if passes else (0, None)
    second_axis, second = passes[1] if len(passes) > 1 else (-1, None)
    used = [taps for taps in (first, second) if taps is not None]
    weights = np.dtype(np.float64 if double else np.float32)
    if source == result and source.itemsize == 1 and 0 < sum(map(_fixed_shift, used)) <= _FIXED_BITS:
        weights = np.dtype(np.uint16)
    tables = tuple(None if taps is None else _table(taps, weights) for taps in (first, second))
    numbers = _dtypes.code(source), _dtypes.code(result), _dtypes.parts(result)
    return tables, (axis, second_axis, *numbers, weights.itemsize)


def _parts_with_exact_inside(passes, dtype):
    """(slices of x, slices of out, tables, numbers) of kernel calls, of which one has exact weights and most outputs.

    None where no such part of a large picture is: then one call is as good.
    """
    runs = {axis: _exact_run(taps, _FIXED_BITS // len(passes)) for axis, taps in passes}
    lengths = {axis: taps.output_length for axis, taps in passes}
    inside = math.prod(stop - start for start, stop in runs.values())
    if inside < _LARGE_INSIDE or 2 * inside < math.prod(lengths.values()):
        return None
    region = dict.fromkeys(range(max(runs) + 1)) | {axis: (0, length) for axis, length in lengths.items()}
    regions = []
    for axis, (start, stop) in runs.items():
        regions += [region | {axis: edge} for edge in ((0, start), (stop, lengths[axis])) if edge[0] < edge[1]]
        region[axis] = start, stop
    parts = []
    for part in (region, *regions):
        windows = {axis: taps.window(*part[axis]) for axis, taps in passes}
        tables, numbers = _kernel_arguments([(axis, windows[axis][0]) for axis, _ in passes], dtype, dtype, False)
        read = tuple(slice(*windows[axis][1:]) if axis in windows else slice(None) for axis in sorted(part))
        written = tuple(slice(*part[axis]) if axis in windows else slice(None) for axis in sorted(part))
        parts.append((read, written, tables, numbers))
    return tuple(parts)


def _exact_run(taps, bits):
    """(begin, end) of the longest run of outputs whose weights, of a mean, are whole multiples of 2**-bits."""
    whole = taps.weights * 2.0**bits
    outputs = np.repeat(np.arange(taps.output_length), taps.counts)
    others = np.bincount(outputs, (whole != np.rint(whole)) | (whole < 0), taps.output_length)
    return _longest_run((others == 0) & (np.bincount(outputs, taps.weights, taps.output_length) == 1))


def _plan(make, function, shape, size, scale, axes, data_format, mode, convention, rounding, antialias):
    """The plan that `make` makes of a call's arguments, kept for the next such call."""
    if type(size) is list:
        size = tuple(size)
    if type(scale) is list:
        scale = tuple(scale)
    arguments = (shape, size, scale, axes, data_format, mode, convention, rounding, antialias)
    key = (make, function, arguments, _kinds(size), _kinds(scale), _kinds(axes), type(antialias))
    try:
        plan = _short_plan(*key) or _long_plan(*key)
    except (TypeError, ValueError):
        # An argument that cannot be a key of the cache, or a wrong one: refused below, in the words of the call itself.
        plan = None
    return make(function, *arguments) if plan is None else plan


def _kinds(argument):
    """What tells 1 from 1.0 and True, which are equal but not equally welcome."""
    return tuple(map(type, argument)) if type(argument) is tuple else type(argument)


def _forward_plan(function, shape, size, scale, axes, data_format, mode, convention, rounding, antialias):
    request = _request.resolve(function, shape, size, scale, axes, data_format, mode, convention, rounding, antialias)
    return ResamplePlan._from_request(request)


def _backward_plan(function, shape, input_size, scale, axes, data_format, *options):
    """The plan of the forward whose output has `shape`."""
    input_shape, size, axes = _request.resolve_grad(function, shape, input_size, scale, axes, data_format)
    return _forward_plan(function, input_shape, size, scale, axes, data_format, *options)


def _kept_plan(limit, make, function, arguments, *kinds):
    """A plan of axes up to the limit; None for longer ones, whose tables would take too much of the memory.

    None too for numbers that may be other ones by the next call, such as tensors.
    """
    if not all(issubclass(kind, _LASTING) for entry in kinds for kind in (entry if type(entry) is tuple else (entry,))):
        return None
    plan = make(function, *arguments)
    lengths = sum(plan.input_shape[axis] + plan.output_shape[axis] for axis in plan._request.axes)
    return plan if lengths <= limit else None


_short_plan = functools.lru_cache(_SHORT_PLANS)(functools.partial(_kept_plan, _SHORT_LENGTHS))
_long_plan = functools.lru_cache(_LONG_PLANS)(functools.partial(_kept_plan, _CACHED_LENGTHS))


def _ordered_tables(request):
    """(axis, table) in the order of the passes: shrinking axes first, in order; then growing ones, last axis first."""

    def place(index):
        axis = request.axes[index]
        return (0, axis) if request.maps[index].scale < 1 else (1, -axis)

    order = sorted(range(len(request.axes)), key=place)
    return tuple((request.axes[index], _axis_table(request, index)) for index in order)


def _axis_table(request, index):
    """The table of the resampled axis number `index`: by its convention's own arithmetic, if any, or exact."""
    axis = request.axes[index]
    lengths = request.input_shape[axis], request.output_shape[axis]
    convention, scale = request.rows[index]
    filter_ = request.filter_of(index)
    if convention is not None:
        if filter_.mode == "nearest" and convention.nearest is not None:
            return own_table(*lengths, nearest_taps, convention.nearest(*lengths, scale))
        if filter_.mode == "linear" and not request.antialias and convention.linear is not None:
            return own_table(*lengths, linear_taps, *convention.linear(*lengths, scale))
    return axis_table(*lengths, request.maps[index], filter_)


def _windows(x, passes, out):
    """(part of x, passes with short tables, part of out), over all of out: long axes part by part."""
    for index, (axis, table) in enumerate(passes):
        if isinstance(table, LongTaps):
            for start in range(0, table.output_length, table.step):
                stop = min(start + table.step, table.output_length)
                window, first, last = table.short_window(start, stop)
                shorter = (*passes[:index], (axis, window), *passes[index + 1 :])
                yield from _windows(_along(x, axis, first, last), shorter, _along(out, axis, start, stop))
            return
    yield x, passes, out


def _transposed(taps):
    """The transpose, made once per table."""
    if isinstance(taps, LongTaps):
        return taps.transpose()
    tables = taps._kernel_tables
    if "transpose" not in tables:
        tables["transpose"] = taps.transpose()
    return tables["transpose"]


def _table(taps, dtype):
    """The kernel's form of a table with weights of `dtype`, made once."""
    tables = taps._kernel_tables
    if dtype not in tables:
        tables[dtype] = _make_table(taps, dtype)
    return tables[dtype]


def _fixed_shift(taps):
    """The least s for which all weights are whole multiples of 2**-s and every mean is exact, made once.

    More than there is room for where there is none.
    """
    tables = taps._kernel_tables
    if "shift" not in tables:
        outputs = np.repeat(np.arange(taps.output_length), taps.counts)
        sums = np.bincount(outputs, taps.weights, taps.output_length)
        whole = taps.weights * 2.0**_FIXED_BITS
        if np.all(sums == 1) and np.all(taps.weights >= 0) and np.all(whole == np.rint(whole)):
            units = int(np.bitwise_or.reduce(whole.astype(np.int64)))
            tables["shift"] = _FIXED_BITS - min(_FIXED_BITS, (units & -units).bit_length() - 1)
        else:
            tables["shift"] = _FIXED_BITS + 1
    return tables["shift"]


def _make_table(taps, dtype):
    shift = _fixed_shift(taps) if dtype.kind == "u" else 0
    weights = (taps.weights * 2.0**shift).astype(dtype)
    # A row of zeros alone is an empty one, so that its sum has the same sign wherever the row stands.
    ends = np.concatenate(([0], np.cumsum(weights != 0)))[taps.offsets]
    counts = np.where(ends[1:] > ends[:-1], taps.counts, 0)
    width = int(taps.counts.max())
    core = rhythm = (0, 0)
    if 0 < width <= _PADDED_TAPS:
        starts = np.clip(taps.starts, 0, taps.input_length - width)
        outputs = np.repeat(np.arange(taps.output_length), taps.counts)
        columns = np.arange(len(weights)) - np.repeat(taps.offsets[:-1] - taps.starts, taps.counts)
        padded = np.zeros((width, taps.output_length), dtype)
        padded[columns - starts[outputs], outputs] = weights
        core = _longest_run((padded != 0).all(axis=0))
        rhythm = _rhythm(starts[slice(*core)], padded[:, slice(*core)])
    else:
        starts = np.empty(0, np.int64)
        padded = np.empty((0, 0), dtype)
    return _kernels.resample.Table(
        taps.input_length, taps.starts, counts, taps.offsets, weights, starts, padded, core, rhythm, shift
    )


# (width, period, advance) of the tables that have a line of their own: whole factors, their inverses and gradients, and
# 3 / 2.
_RHYTHMS = (
    *((2, period, 1) for period in (2, 3, 4)),
    *((2, 1, advance) for advance in (2, 3, 4)),
    *((2 * advance, 1, advance) for advance in (2, 3, 4)),
    (2, 3, 2),
)


def _rhythm(starts, padded):
    """(period, advance) of a table that repeats, (0, 0) of one that does not."""
    for width, period, advance in _RHYTHMS:
        if (
            width == len(padded)
            and len(starts) > 2 * period
            and np.all(starts[period:] - starts[:-period] == advance)
            and np.array_equal(padded[:, period:], padded[:, :-period])
        ):
            return period, advance
    return 0, 0


def _longest_run(flags):
    """(begin, end) of the longest run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], flags.view(np.int8), [0]))))
    if not len(edges):
        return 0, 0
    longest = int(np.argmax(edges[1::2] - edges[::2]))
    return int(edges[2 * longest]), int(edges[2 * longest + 1])


def _without_identities(passes):
    return tuple(entry for entry in passes if not entry[1].is_identity)


def _index_tables(passes, ndim):
    tables = [None] * ndim
    for axis, taps in passes:
        tables[axis] = taps.starts
    return tuple(tables)


def _apply(x, passes, out, double, accumulate, fresh, num_threads):
    """Apply short tables to x in order and write or add the result to out; `fresh`: nobody has written there yet."""
    if len(passes) > 2:
        _apply_in_slabs(x, passes, out, double, accumulate, fresh, num_threads)
    else:
        tables, numbers = _kernel_arguments(passes, x.dtype, out.dtype, double)
        _kernels.resample.resample(x, *tables, out, *numbers, accumulate, fresh, num_threads)


def _apply_in_slabs(x, passes, out, double, accumulate, fresh, num_threads):
    """The first pass into an intermediate array, slab by slab of the last pass's axis, so that it stays small."""
    (axis, taps), (last_axis, last_taps) = passes[0], passes[-1]
    parts = _dtypes.parts(out.dtype)
    dtype = np.dtype(("c16" if double else "c8") if parts == 2 else ("f8" if double else "f4"))
    shape = list(x.shape)
    shape[axis] = taps.output_length
    slabs = min(-(-math.prod(shape) * dtype.itemsize // _SLAB_BYTES), last_taps.output_length)
    for slab in range(slabs):
        start = slab * last_taps.output_length // slabs
        stop = (slab + 1) * last_taps.output_length // slabs
        window, first, last = last_taps.window(start, stop) if slabs > 1 else (last_taps, 0, x.shape[last_axis])
        source = _along(x, last_axis, first, last)
        shape[last_axis] = last - first
        middle = np.empty(shape, dtype)
        _apply(source, ((axis, taps),), middle, double, False, True, num_threads)
        rest = (*passes[1:-1], (last_axis, window))
        _apply(middle, rest, _along(out, last_axis, start, stop), double, accumulate, fresh, num_threads)


def _along(array, axis, start, stop):
    return array[(slice(None),) * axis + (slice(start, stop),)]
