"""The operators on dask arrays: lazy, for any chunks, with the same bits as in memory.

Every chunk of a result of resample is one task. It takes what its samples read out of the input's chunks, of which it
copies no more than that, and computes it by a window of the plan of the whole, so that there are no seams. Tables are
made where the tasks run; the graph holds lengths and names. Depth to space and back moves chunk to chunk.
"""

import bisect
import functools
import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from .. import _checks, _dtypes, blocks, resampling

try:
    import dask.array as da
    from dask.base import tokenize
    from dask.config import get as dask_option
    from dask.highlevelgraph import HighLevelGraph
    from dask.utils import parse_bytes
except ImportError as error:
    _checks.needs_package("imgops.bridges.dask", "dask", "dask[array]", error)

__all__ = ["depth_to_space", "resample", "resample_grad", "space_to_depth"]


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
    chunks=None,
):
    """`imgops.resample` of a dask array.

    Parameters
    ----------
    x : dask.array.Array or array_like, (..., H, W, C) or (..., C, H, W) or any shape
        Any chunks of known sizes.
    size, scale, axes, data_format, mode, convention, rounding, antialias, dtype
        As in `imgops.resample`.
    out : dask.array.Array, optional
        Of the result's shape and dtype. It becomes the result, as in dask's own functions; its chunks are kept.
    num_threads : int, optional
        Threads of one task; 1 by default, since a scheduler runs as many tasks as there are cores.
    chunks : int, tuple, dict or str, optional
        The result's, in any form that `dask.array.Array.rechunk` takes; None for an axis is the default: lengths
        scaled like the axis, and cut where a chunk would be larger than both dask's option array.chunk-size and the
        largest chunk of x.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    ValueError, TypeError, numpy.exceptions.AxisError
        As `imgops.resample`; ValueError for unknown chunk sizes and for chunks that do not fit the result; all of them
        before anything is computed.

    Examples
    --------
    >>> x = da.arange(6.0, chunks=2)
    >>> resample(x, 12)[:4].compute().tolist()
    [0.0, 0.25, 0.75, 1.25]
    """
    function = "resample"
    x = _dask_array(function, x, "x")
    plan = resampling._plan(
        resampling._forward_plan, function, x.shape, size, scale, axes, data_format, mode, convention, rounding,
        antialias,
    )  # fmt: skip
    if plan._mode != "nearest":
        result_dtype, _ = _checks.weighted_dtypes(function, x.dtype, dtype)
    elif dtype is None:
        result_dtype = x.dtype
    else:
        result_dtype = _checks.any_dtype(function, dtype)
        _checks.converted(function, np.empty(0, x.dtype), result_dtype)
    if out is not None:
        _checks.dask_out(function, out, da.Array, plan.output_shape, (result_dtype,))
    job = _Job(function, plan, x.dtype, result_dtype, num_threads, dtype=None if dtype is None else result_dtype)
    return _computed(job, x, out, chunks)


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
    chunks=None,
):
    """`imgops.resample_grad` of a dask array.

    Parameters
    ----------
    grad_output : dask.array.Array or array_like of float or complex, the shape of the forward's output
    input_size, scale, axes, data_format, mode, convention, rounding, antialias
        As in `imgops.resample_grad`.
    out : dask.array.Array, optional
        Of the shape of the forward's input, of grad_output's dtype or a wider float. It becomes the result.
    accumulate : bool
        Add to `out` instead of replacing it.
    num_threads, chunks
        As in `resample`.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    ValueError, TypeError, numpy.exceptions.AxisError
        As `imgops.resample_grad` and `resample`.

    Examples
    --------
    >>> resample_grad(da.ones(4, chunks=1), 2).compute().tolist()
    [2.0, 2.0]
    """
    function = "resample_grad"
    grad_output = _dask_array(function, grad_output, "grad_output")
    _checks.gradient_dtype(function, grad_output.dtype)
    accumulate = _checks.accumulate(function, accumulate, out)
    plan = resampling._plan(
        resampling._backward_plan, function, grad_output.shape, input_size, scale, axes, data_format, mode, convention,
        rounding, antialias,
    )  # fmt: skip
    result_dtype = _dtypes.native(grad_output.dtype)
    if out is not None:
        _checks.dask_out(function, out, da.Array, plan.input_shape, _dtypes.gradient_outputs(result_dtype))
        result_dtype = out.dtype
    job = _Job(function, plan, grad_output.dtype, result_dtype, num_threads, backward=True)
    return _computed(job, grad_output, out, chunks, accumulate)


def depth_to_space(x, /, block_size, *, data_format="NHWC", mode="DCR", out=None, num_threads=None, chunks=None):
    """`imgops.depth_to_space` of a dask array, chunk to chunk.

    Parameters
    ----------
    x : dask.array.Array or array_like, (..., H, W, C*b*b), (..., C*b*b, H, W) or (..., C*b*b/4, H, W, 4)
        Any chunks of known sizes. Channels in several chunks are joined first, but for mode="CRD" where each is a
        multiple of b*b.
    block_size, data_format, mode
        As in `imgops.depth_to_space`.
    out, num_threads, chunks
        As in `resample`; the default chunks are x's, b times as high and as wide.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    ValueError, TypeError
        As `imgops.depth_to_space` and `resample`.

    Examples
    --------
    >>> x = da.arange(16, chunks=4).reshape(1, 2, 8)
    >>> depth_to_space(x, 2).shape
    (2, 4, 2)
    """
    return _moved("depth_to_space", x, block_size, data_format, mode, out, num_threads, chunks, to_space=True)


def space_to_depth(x, /, block_size, *, data_format="NHWC", mode="DCR", out=None, num_threads=None, chunks=None):
    """`imgops.space_to_depth` of a dask array, chunk to chunk.

    Parameters
    ----------
    x : dask.array.Array or array_like, (..., H*b, W*b, C), (..., C, H*b, W*b) or (..., C/4, H*b, W*b, 4)
        Any chunks of known sizes. Those whose ends are no multiples of b are moved to such first; channels in several
        chunks are joined first, but for mode="CRD".
    block_size, data_format, mode
        As in `imgops.space_to_depth`.
    out, num_threads, chunks
        As in `resample`; the default chunks are x's, b times lower and narrower.

    Returns
    -------
    dask.array.Array

    Raises
    ------
    ValueError, TypeError
        As `imgops.space_to_depth` and `resample`.

    Examples
    --------
    >>> space_to_depth(da.ones((6, 4, 3), chunks=2), 2).shape
    (3, 2, 12)
    """
    return _moved("space_to_depth", x, block_size, data_format, mode, out, num_threads, chunks, to_space=False)


def _dask_array(function, x, argument):
    """x as a dask array of known chunks over NumPy arrays of a fixed-size dtype."""
    if not isinstance(x, da.Array):
        x = da.asarray(x)
    _checks.dask_blocks(function, argument, x._meta, x.chunks)
    _checks.fixed_size(function, x.dtype, argument)
    return x


def _chunks(function, chunks, shape, dtype, default):
    """The chunks that were asked for, as a tuple of tuples; `default` stands for None, as a whole or for one axis."""
    if chunks is None:
        return default
    chunks = _checks.chunks(function, chunks, len(shape))
    chunks = tuple(given if entry is None else entry for entry, given in zip(chunks, default, strict=True))
    try:
        chunks = da.core.normalize_chunks(chunks, shape, dtype=dtype, previous_chunks=default)
    except (ValueError, TypeError, NotImplementedError, ZeroDivisionError) as error:
        _checks.wrong_chunks(function, chunks, shape, error)
    return _checks.lengths_of_chunks(function, chunks, shape)


def _becomes(out, result):
    """`result`; or `out`, which then is the result, as dask's own functions have it."""
    return result if out is None else da.core.handle_out(out, result)


# ---------------------------------------------------------------------------------------------------------------------
# Resample


class _Job:
    """What the tasks of one call share; pickled with each of them, so that it holds no tables."""

    def __init__(self, function, plan, source, result, num_threads, dtype=None, backward=False):
        self.function = function
        self.request = plan._request
        self.source = source
        self.result = result
        self.dtype = dtype
        self.backward = backward
        self.num_threads = 1 if num_threads is None else _checks.num_threads(function, num_threads)

    def __dask_tokenize__(self):
        return tuple(sorted(vars(self).items()))

    @property
    def shape(self):
        return self.request.input_shape if self.backward else self.request.output_shape

    def reads(self, axis, start, stop):
        """(first, last + 1) sample of the source that the samples start..stop of the result read."""
        if axis not in self.request.axes:
            return start, stop
        plan = _plan_of(self.request)
        region = [slice(0, 1)] * len(self.shape)
        region[axis] = slice(start, stop)
        part = (plan.grad_region if self.backward else plan.input_region)(tuple(region))[axis]
        return part.start, part.stop

    def growth(self, axis):
        """Result's samples per sample of the source."""
        request = self.request
        scale = request.maps[request.axes.index(axis)].scale
        scale = 1 / scale if self.backward else scale
        # Of an axis that is extended by its edge, more than its scale says.
        lengths = request.input_shape[axis], request.output_shape[axis]
        return float(max(scale, Fraction(*lengths) if self.backward else Fraction(*lengths[::-1])))

    def compute(self, x, region, old):
        """The region of the result, of the part of the source that it reads; added to `old` unless that is None."""
        plan = _plan_of(self.request)
        if not self.backward:
            return plan.window(region)._forward(self.function, x, None, self.dtype, self.num_threads)
        window = plan.grad_window(region)
        out = np.empty(window.input_shape, self.result) if old is None else np.array(old, self.result)
        return window._backward(self.function, x, out, old is not None, self.num_threads)


@functools.lru_cache(maxsize=16)
def _plan_of(request):
    return resampling.ResamplePlan._from_request(request)


class _Piece(NamedTuple):
    """Samples start..stop along one axis of one chunk.

    `strip` is None for the chunk itself, else (number, begin) of the strip of its digest along this axis.
    """

    start: int
    stop: int
    strip: tuple | None = None


class _Segment(NamedTuple):
    """Samples start..stop of the result along one axis, made of these pieces of these chunks of the source."""

    start: int
    stop: int
    chunks: tuple
    pieces: tuple
    # Where the chunk has the samples already, in its digest's interior; else None.
    interior: int | None = None


class _Interior(NamedTuple):
    """Samples start..stop of the result along one axis that read no chunk of the source but one, of which `read`."""

    start: int
    stop: int
    read: _Piece | None


class _Axis(NamedTuple):
    """One axis of a result that shrinks.

    Of each chunk of the source its _Interior and its strips, (start, stop) of what the rest reads; (start, stop) of
    every seam, the rest of the result; the edges of the chunks.
    """

    interiors: tuple
    strips: tuple
    seams: tuple
    edges: tuple


class _Gather:
    """Pieces of chunks, side by side; `axes` has a tuple of _Piece per axis."""

    def __init__(self, dtype, axes):
        self.dtype = dtype
        self.axes = axes

    def __call__(self, blocks):
        """One array of the pieces of blocks in order; no copy where there is one block."""
        indices = itertools.product(*map(range, map(len, self.axes)))
        if len(blocks) == 1:
            return self._part(blocks[0], next(indices))
        ends = [list(itertools.accumulate(piece.stop - piece.start for piece in pieces)) for pieces in self.axes]
        joined = np.empty([end[-1] for end in ends], self.dtype)
        for index, block in zip(indices, blocks, strict=True):
            part = self._part(block, index)
            target = (slice(end[i] - n, end[i]) for end, i, n in zip(ends, index, part.shape, strict=True))
            joined[tuple(target)] = part
        return joined

    def _part(self, block, index):
        chosen = [pieces[i] for pieces, i in zip(self.axes, index, strict=True)]
        moved = [0] * len(chosen)
        for axis, piece in enumerate(chosen):
            if piece.strip is not None:
                number, moved[axis] = piece.strip
                block = block.strips[axis][number]
                break
        return block[tuple(slice(p.start - by, p.stop - by) for p, by in zip(chosen, moved, strict=True))]


class _Part:
    """A task: a region of the result, of pieces of chunks."""

    def __init__(self, job, segments, lengths):
        self.job = job
        self.region = tuple(slice(segment.start, segment.stop) for segment in segments)
        self.gather = _Gather(job.source, tuple(segment.pieces for segment in segments))
        self.lengths = lengths

    def __call__(self, blocks, old=None):
        shapes = itertools.product(*self.lengths)
        blocks = [_checks.block(self.job.function, *pair, self.job.source) for pair in zip(blocks, shapes, strict=True)]
        return self.job.compute(self.gather(blocks), self.region, old)


class _Join:
    """A task: a chunk of the result, of computed regions."""

    def __init__(self, dtype, axes):
        self.gather = _Gather(dtype, axes)

    def __call__(self, blocks):
        # Contiguous, so that a larger block is not kept alive by a part of it.
        return np.ascontiguousarray(self.gather(blocks))


class _Digest(NamedTuple):
    """What is kept of a chunk: the region of the result that it makes alone, and strips of it along every axis."""

    interior: np.ndarray | None
    strips: tuple


class _Digestion:
    """A task: the digest of a chunk."""

    def __init__(self, job, lengths, interiors, strips):
        self.job = job
        self.lengths = lengths
        self.interiors = interiors
        self.strips = strips

    def __call__(self, block):
        block = _checks.block(self.job.function, block, self.lengths, self.job.source)
        interior = None
        if all(part.start < part.stop for part in self.interiors):
            read = tuple(slice(part.read.start, part.read.stop) for part in self.interiors)
            region = tuple(slice(part.start, part.stop) for part in self.interiors)
            interior = self.job.compute(block[read], region, None)
        strips = tuple(
            tuple(block[(slice(None),) * axis + (slice(*bounds),)].copy() for bounds in parts)
            for axis, parts in enumerate(self.strips)
        )
        return _Digest(interior, strips)


class _Assembly:
    """A task: a chunk of the result, of digests: interiors are copied, what lies between them is computed."""

    def __init__(self, job, axes, numbers):
        self.job = job
        # Per axis the segments, and the numbers of the chunks whose digests are given.
        self.axes = axes
        self.numbers = numbers

    def __call__(self, digests):
        counts = [len(numbers) for numbers in self.numbers]
        starts = [segments[0].start for segments in self.axes]
        out = np.empty([segments[-1].stop - segments[0].start for segments in self.axes], self.job.result)

        def digest(chunks):
            place = (numbers.index(chunk) for numbers, chunk in zip(self.numbers, chunks, strict=True))
            return digests[np.ravel_multi_index(tuple(place), counts)]

        for cell in itertools.product(*self.axes):
            target = tuple(slice(part.start - at, part.stop - at) for part, at in zip(cell, starts, strict=True))
            if all(part.interior is not None for part in cell):
                source = tuple(slice(part.interior, part.interior + part.stop - part.start) for part in cell)
                out[target] = digest([part.chunks[0] for part in cell]).interior[source]
                continue
            gather = _Gather(self.job.source, tuple(part.pieces for part in cell))
            source = gather([digest(chunks) for chunks in itertools.product(*(part.chunks for part in cell))])
            out[target] = self.job.compute(source, tuple(slice(part.start, part.stop) for part in cell), None)
        return out


def _computed(job, x, out, chunks, accumulate=False):
    """The dask array of a job on x."""
    shape = job.shape
    _checks.element_count(job.function, shape, job.result.itemsize)
    default = _default_chunks(job, x) if out is None else out.chunks
    chunks = _chunks(job.function, chunks, shape, job.result, default)
    if 0 in shape:
        return _becomes(out, da.zeros(shape, job.result, chunks=chunks))
    name = f"imgops-{job.function}-{tokenize(job, x.name, chunks, out.name if accumulate else None)}"
    if _shrinks(job) and not accumulate:
        layer, dependencies = _digested(job, x, name, chunks), [x]
    else:
        layer, dependencies = _direct(job, x, name, chunks, out if accumulate else None)
    graph = HighLevelGraph.from_collections(name, layer, dependencies=dependencies)
    return _becomes(out, da.Array(graph, name, chunks, meta=np.empty((0,) * len(shape), job.result)))


def _shrinks(job):
    """Whether results take less than half the memory of what they are made of, and so are better kept than that."""
    growth = math.prod(job.growth(axis) for axis in job.request.axes)
    return growth * job.result.itemsize < job.source.itemsize / 2


def _cells(axes):
    """(index, entries) of every cell of a grid that has these entries along its axes."""
    return zip(itertools.product(*map(range, map(len, axes))), itertools.product(*axes), strict=True)


def _keys(name, numbers):
    return [(name, *index) for index in itertools.product(*numbers)]


def _edges(lengths):
    return np.concatenate(([0], np.cumsum(lengths))).tolist()


def _found(edges, first, last):
    """(numbers of the chunks that samples first..last are in, a _Piece of each)."""
    begin, end = bisect.bisect_right(edges, first) - 1, bisect.bisect_left(edges, last)
    numbers = tuple(number for number in range(begin, end) if edges[number] < edges[number + 1])
    return numbers, tuple(
        _Piece(max(first, edges[number]) - edges[number], min(last, edges[number + 1]) - edges[number])
        for number in numbers
    )


def _empty_chunk(chunks, index, dtype):
    return (functools.partial(np.zeros, tuple(lengths[i] for lengths, i in zip(chunks, index, strict=True)), dtype),)


# A result that does not shrink: every chunk of what it reads.


def _direct(job, x, name, chunks, old):
    """(tasks, arrays they depend on)."""
    segments = [_cut(job, axis, lengths, x.chunks[axis]) for axis, lengths in enumerate(chunks)]
    lengths = tuple(tuple(segment.stop - segment.start for segment in axis) for axis in segments)
    old = None if old is None else old.rechunk(lengths)
    computed = name if lengths == chunks else f"{name}-parts"
    tasks = {}
    for index, parts in _cells(segments):
        if all(part.chunks for part in parts):
            numbers = [part.chunks for part in parts]
            sizes = tuple(tuple(x.chunks[axis][n] for n in entries) for axis, entries in enumerate(numbers))
            task = (_Part(job, parts, sizes), _keys(x.name, numbers))
            tasks[(computed, *index)] = task if old is None else (*task, (old.name, *index))
        else:
            tasks[(computed, *index)] = _empty_chunk(lengths, index, job.result)
    if computed != name:
        tasks.update(_joined(job, computed, lengths, name, chunks))
    return tasks, [x] if old is None else [x, old]


def _cut(job, axis, lengths, source):
    """The segments of an axis: the chunks of the result.

    One that reads more than two of the longest chunk of the source is cut, so that no task needs many of them.
    """
    edges, longest = _edges(source), max(source)
    segments, start = [], 0
    for length in lengths:
        if length == 0:
            segments.append(_Segment(start, start, (), ()))
            continue
        first, last = job.reads(axis, start, start + length)
        _, own = job.reads(axis, start, start + 1)
        # Without what one sample reads alone, which no cut makes less.
        count = min(length, -(-(last - first) // longest)) if last - own > 2 * longest else 1
        bounds = [start + length * part // count for part in range(count + 1)]
        for begin, end in itertools.pairwise(bounds):
            segments.append(_Segment(begin, end, *_found(edges, *job.reads(axis, begin, end))))
        start += length
    return segments


def _joined(job, source, lengths, name, chunks):
    """The tasks that make chunks of parts of these lengths."""
    axes = []
    for sizes, wanted in zip(lengths, chunks, strict=True):
        edges = _edges(sizes)
        axes.append(
            [
                _found(edges, *bounds) if bounds[0] < bounds[1] else ((), ())
                for bounds in itertools.pairwise(_edges(wanted))
            ]
        )
    tasks = {}
    for index, found in _cells(axes):
        if all(pieces for _, pieces in found):
            join = _Join(job.result, tuple(pieces for _, pieces in found))
            tasks[(name, *index)] = (join, _keys(source, [numbers for numbers, _ in found]))
        else:
            tasks[(name, *index)] = _empty_chunk(chunks, index, job.result)
    return tasks


# A result that shrinks: every chunk of digests. A chunk of the source has one reader, its digest, and is gone once that
# is made; what waits for neighbours is the digest, which is small.


def _digested(job, x, name, chunks):
    axes = [_axis(job, axis, source) for axis, source in enumerate(x.chunks)]
    wanted = [
        [_segments(job, axis, parts, bounds) for bounds in itertools.pairwise(_edges(chunks[axis]))]
        for axis, parts in enumerate(axes)
    ]
    tasks, needed = {}, {}
    for index, segments in _cells(wanted):
        if all(segments):
            numbers = [sorted({number for part in parts for number in part.chunks}) for parts in segments]
            keys = _keys(f"{name}-digest", numbers)
            tasks[(name, *index)] = (_Assembly(job, segments, numbers), keys)
            needed.update(dict.fromkeys(keys))
        else:
            tasks[(name, *index)] = _empty_chunk(chunks, index, job.result)
    for key in needed:
        index = key[1:]
        lengths = tuple(source[i] for source, i in zip(x.chunks, index, strict=True))
        interiors = [axis.interiors[i] for axis, i in zip(axes, index, strict=True)]
        strips = tuple(axis.strips[i] for axis, i in zip(axes, index, strict=True))
        tasks[key] = (_Digestion(job, lengths, interiors, strips), (x.name, *index))
    return tasks


def _axis(job, axis, source):
    """The _Axis of a job for chunks of the source."""
    edges, total = _edges(source), job.shape[axis]
    interiors, done = [], 0
    for left, right in itertools.pairwise(edges):
        interiors.append(_interior(job, axis, done, total, left, right))
        done = interiors[-1].stop
    ends = [0, *itertools.chain.from_iterable(part[:2] for part in interiors if part.read), total]
    seams = tuple((start, stop) for start, stop in zip(ends[::2], ends[1::2], strict=True) if start < stop)
    strips = [[] for _ in source]
    for seam in seams:
        for number, piece in zip(*_found(edges, *job.reads(axis, *seam)), strict=True):
            # Where two seams read the same samples, one strip is for both.
            if strips[number] and strips[number][-1][1] >= piece.start:
                strips[number][-1] = (strips[number][-1][0], max(strips[number][-1][1], piece.stop))
            else:
                strips[number].append((piece.start, piece.stop))
    return _Axis(tuple(interiors), tuple(map(tuple, strips)), seams, edges)


def _interior(job, axis, done, total, left, right):
    """The _Interior of the chunk left..right: the samples from `done` on that read nothing outside of it."""
    if axis not in job.request.axes:
        return _Interior(left, right, _Piece(0, right - left) if left < right else None)
    outputs = range(done, total)
    start = done + bisect.bisect_left(outputs, left, key=lambda output: job.reads(axis, output, output + 1)[0])
    stop = done + bisect.bisect_right(outputs, right, key=lambda output: job.reads(axis, output, output + 1)[1])
    # Weights of zero may let a sample read a little less than its neighbours, on either side.
    while start < stop:
        first, last = job.reads(axis, start, stop)
        if first >= left and last <= right:
            return _Interior(start, stop, _Piece(first - left, last - left))
        start, stop = start + (first < left), stop - (last > right)
    return _Interior(done, done, None)


def _segments(job, axis, parts, bounds):
    """The segments of an axis between two samples of the result."""
    segments = []
    for number, (start, stop, _) in enumerate(parts.interiors):
        low, high = max(start, bounds[0]), min(stop, bounds[1])
        if low < high:
            # What it reads is not all in a strip: only a seam of another axis, whose strip has all of it, asks for it.
            first, last = job.reads(axis, low, high)
            piece = _Piece(first - parts.edges[number], last - parts.edges[number])
            segments.append(_Segment(low, high, (number,), (piece,), low - start))
    for start, stop in parts.seams:
        low, high = max(start, bounds[0]), min(stop, bounds[1])
        if low < high:
            numbers, pieces = _found(parts.edges, *job.reads(axis, low, high))
            pieces = [_on_strip(piece, parts.strips[number]) for number, piece in zip(numbers, pieces, strict=True)]
            segments.append(_Segment(low, high, numbers, tuple(pieces)))
    return sorted(segments)


def _on_strip(piece, strips):
    for number, (start, stop) in enumerate(strips):
        if start <= piece.start and piece.stop <= stop:
            return piece._replace(strip=(number, start))
    raise AssertionError("a strip holds what its seam reads")


def _default_chunks(job, x):
    """x's chunks on the axes that stay; on the others equal ones, scaled like the axis and not too large together."""
    lengths = {}
    for axis in job.request.axes:
        total, longest = job.shape[axis], max(x.chunks[axis])
        scaled = total if longest == x.shape[axis] else math.ceil(longest * job.growth(axis))
        lengths[axis] = max(1, min(total, scaled))
    kept = math.prod(max(sizes) for axis, sizes in enumerate(x.chunks) if axis not in lengths)
    limit = max(parse_bytes(dask_option("array.chunk-size")), math.prod(map(max, x.chunks)) * x.dtype.itemsize)
    while kept * math.prod(lengths.values()) * job.result.itemsize > limit and max(lengths.values()) > 1:
        longest = max(lengths, key=lengths.get)
        lengths[longest] = -(-lengths[longest] // 2)
    return tuple(
        _equal(job.shape[axis], lengths[axis]) if axis in lengths else sizes for axis, sizes in enumerate(x.chunks)
    )


def _equal(total, length):
    rest = total % length
    return (length,) * (total // length) + ((rest,) if rest else ())


# ---------------------------------------------------------------------------------------------------------------------
# Depth and space


def _moved(function, x, block_size, data_format, mode, out, num_threads, chunks, to_space):
    x = _dask_array(function, x, "x")
    block = _checks.block_size(function, block_size)
    data_format, mode, shape = _checks.blocks(function, x.shape, block, data_format, mode, to_space)
    num_threads = 1 if num_threads is None else _checks.num_threads(function, num_threads)
    _checks.element_count(function, shape, x.dtype.itemsize)
    if out is not None:
        _checks.dask_out(function, out, da.Array, shape, (x.dtype,))
    wanted, result = _aligned(x.chunks, x.shape, shape, block, data_format, mode, to_space)
    chunks = _chunks(function, chunks, shape, x.dtype, result if out is None else out.chunks)
    move = functools.partial(
        blocks.depth_to_space if to_space else blocks.space_to_depth,
        block_size=block,
        data_format=data_format,
        mode=mode,
        num_threads=num_threads,
    )
    meta = np.empty((0,) * x.ndim, x.dtype)
    name = f"imgops-{function}-{tokenize(x.name, wanted, block, data_format, mode, num_threads)}"
    moved = x.rechunk(wanted).map_blocks(move, chunks=result, meta=meta, name=name)
    return _becomes(out, moved.rechunk(chunks))


def _aligned(chunks, shape, result_shape, block, data_format, mode, to_space):
    """(chunks of x that can be moved one by one, chunks of the result)."""
    channel, height, width = (axis % len(shape) for axis in _checks.SPATIAL_AXES[data_format])
    wanted, result = list(chunks), list(chunks)
    joined = mode == "DCR" or (to_space and any(length % block**2 for length in chunks[channel]))
    if joined:
        wanted[channel], result[channel] = (shape[channel],), (result_shape[channel],)
    elif to_space:
        result[channel] = tuple(length // block**2 for length in chunks[channel])
    else:
        result[channel] = tuple(length * block**2 for length in chunks[channel])
    if data_format == "NCHW_VECT_C":
        wanted[-1] = result[-1] = (4,)
    for axis in (height, width):
        if to_space:
            result[axis] = tuple(length * block for length in chunks[axis])
        else:
            ends = sorted({end // block for end in itertools.accumulate(chunks[axis])} | {result_shape[axis]})
            lengths = [b - a for a, b in itertools.pairwise([0, *ends]) if b > a] or [0]
            result[axis] = tuple(lengths)
            wanted[axis] = tuple(length * block for length in lengths)
    return tuple(wanted), tuple(result)
