"""The operators on dask arrays: lazy, for any chunks, with the same bits as in memory.

Every chunk of a result of resample is one task. It takes what its samples read out of the input's chunks, of which it
copies no more than that, and computes it by a window of the plan of the whole, so that there are no seams. Tables are
made where the tasks run; the graph holds lengths and names. Depth to space and back moves chunk to chunk.
"""

import functools
import itertools
import math

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
    except (ValueError, TypeError, NotImplementedError) as error:
        _checks.wrong_chunks(function, chunks, shape, error)
    return _checks.known_chunks(function, "chunks", chunks)


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
        scale = float(self.request.maps[self.request.axes.index(axis)].scale)
        return 1 / scale if self.backward else scale

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


class _Part:
    """One task: a region of the result of a job, from pieces of the source's chunks."""

    def __init__(self, job, region, pieces):
        self.job = job
        # Per axis (start, stop) in the result, and a (start, stop, length) in each chunk of the source that it reads.
        self.region = region
        self.pieces = pieces

    def __call__(self, blocks, old=None):
        region = tuple(slice(*bounds) for bounds in self.region)
        return self.job.compute(self._source(blocks), region, old)

    def _source(self, blocks):
        shape = tuple(sum(stop - start for start, stop, _ in pieces) for pieces in self.pieces)
        joined = np.empty(shape, self.job.source) if len(blocks) > 1 else None
        ends = [list(itertools.accumulate(stop - start for start, stop, _ in pieces)) for pieces in self.pieces]
        for index, block in zip(itertools.product(*map(range, map(len, self.pieces))), blocks, strict=True):
            chosen = [pieces[i] for pieces, i in zip(self.pieces, index, strict=True)]
            expected = tuple(length for _, _, length in chosen)
            block = _checks.block(self.job.function, block, expected, self.job.source)
            part = block[tuple(slice(start, stop) for start, stop, _ in chosen)]
            if joined is None:
                return part
            joined[tuple(slice(e[i] - n, e[i]) for e, i, n in zip(ends, index, part.shape, strict=True))] = part
        return joined


def _computed(job, x, out, chunks, accumulate=False):
    """The dask array of a job on x."""
    shape = job.shape
    _checks.element_count(job.function, shape, job.result.itemsize)
    default = _default_chunks(job, x) if out is None else out.chunks
    chunks = _chunks(job.function, chunks, shape, job.result, default)
    if 0 in shape:
        return _becomes(out, da.zeros(shape, job.result, chunks=chunks))
    axes = [_cut(job, axis, lengths, x.chunks[axis]) for axis, lengths in enumerate(chunks)]
    pieces = tuple(tuple(stop - start for start, stop, _, _ in parts) for parts in axes)
    old = out.rechunk(pieces) if accumulate else None
    name = f"imgops-{job.function}-{tokenize(job, x.name, pieces, old.name if accumulate else None)}"
    layer = {}
    for index, parts in zip(itertools.product(*map(range, map(len, axes))), itertools.product(*axes), strict=True):
        region = tuple((start, stop) for start, stop, _, _ in parts)
        if any(start == stop for start, stop in region):
            layer[(name, *index)] = (functools.partial(np.zeros, tuple(b - a for a, b in region), job.result),)
            continue
        keys = [(x.name, *numbers) for numbers in itertools.product(*(numbers for _, _, numbers, _ in parts))]
        task = (_Part(job, region, tuple(found for _, _, _, found in parts)), keys)
        layer[(name, *index)] = (*task, (old.name, *index)) if accumulate else task
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[x] if old is None else [x, old])
    meta = np.empty((0,) * len(shape), job.result)
    result = da.Array(graph, name, pieces, meta=meta)
    return _becomes(out, result.rechunk(chunks))


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


def _cut(job, axis, lengths, source):
    """(start, stop, numbers of the source's chunks, pieces of these) of every task along an axis.

    A chunk that reads more than two of the longest chunk of the source is cut, so that no task needs many of them; its
    parts are joined later.
    """
    edges = np.concatenate(([0], np.cumsum(source)))
    longest = max(source)
    parts = []
    start = 0
    for length in lengths:
        count = 1
        if length > 1:
            first, last = job.reads(axis, start, start + length)
            _, own = job.reads(axis, start, start + 1)
            # Without what one output reads alone, which no cut makes less.
            if last - own > 2 * longest:
                count = min(length, -(-(last - first) // longest))
        bounds = [start + length * part // count for part in range(count + 1)]
        for begin, end in itertools.pairwise(bounds):
            found = _found(edges, *job.reads(axis, begin, end)) if end > begin else ((), ())
            parts.append((begin, end, *found))
        start += length
    return parts


def _found(edges, first, last):
    """(numbers of the chunks that samples first..last are in, (start, stop, length) in each of these)."""
    begin = int(np.searchsorted(edges, first, side="right")) - 1
    end = int(np.searchsorted(edges, last, side="left"))
    numbers = tuple(number for number in range(begin, end) if edges[number] < edges[number + 1])
    pieces = []
    for number in numbers:
        left, right = int(edges[number]), int(edges[number + 1])
        pieces.append((max(first, left) - left, min(last, right) - left, right - left))
    return numbers, tuple(pieces)


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
