"""How a picture is cut into tiles: what each of them makes, and what it reads for that."""

import itertools
from dataclasses import dataclass

import numpy as np

# Input pixels a side. Sides of 192 to 512 are equally fast (benchmarks/sr_speed.py); smaller ones read too much twice.
USUAL_SIDE = 256
# Below this, reading the surroundings of a tile costs more than a second thread gains.
LEAST_SIDE = 48


@dataclass(frozen=True)
class Span:
    """A tile along one axis, in input pixels: it makes the result of start..stop and reads first..last.

    What it reads may lie outside of the picture, whose edge repeats there.
    """

    start: int
    stop: int
    first: int
    last: int


@dataclass(frozen=True)
class Tile:
    rows: Span
    columns: Span


def grid(rows, columns, reach, side, threads):
    """Tiles of at most `side` that make the rows (start, stop) and columns (start, stop), from top to bottom.

    `reach`: function of (axis, start, stop) to (first, last), what a tile must read. With `side` None, tiles have about
    the usual side, and their number keeps all threads busy.
    """
    lengths = (rows[1] - rows[0], columns[1] - columns[0])
    counts = [-(-length // (side or USUAL_SIDE)) for length in lengths]
    while side is None and counts[0] * counts[1] % threads and counts[0] * counts[1] < 4 * threads:
        axis = int(lengths[1] * counts[0] > lengths[0] * counts[1])
        if lengths[axis] < LEAST_SIDE * (counts[axis] + 1):
            break
        counts[axis] += 1
    spans = [
        [Span(start, stop, *reach(axis, start, stop)) for start, stop in _cuts(*bounds, counts[axis])]
        for axis, bounds in enumerate((rows, columns))
    ]
    return [Tile(row, column) for row in spans[0] for column in spans[1]]


def fixed_grid(rows, columns, shape, window, halo, step):
    """Tiles that read `window` (height, width) each, of a picture of `shape`, inside of it where it is large enough.

    What they read begins at multiples of `step`.
    """
    spans = [
        list(_fixed_cuts(*bounds, shape[axis], window[axis], halo, step)) for axis, bounds in enumerate((rows, columns))
    ]
    return [Tile(row, column) for row in spans[0] for column in spans[1]]


def _cuts(start, stop, count):
    """(start, stop) of parts whose lengths differ by no more than one."""
    edges = [start + (stop - start) * index // count for index in range(count + 1)]
    return list(itertools.pairwise(edges))


def _fixed_cuts(start, stop, length, window, halo, step):
    end_first = -(-max(0, length - window) // step) * step
    while start < stop:
        first = min(max(0, start - halo) // step * step, end_first)
        last = first + window
        end = min(stop, last if last >= length else last - halo)
        yield Span(start, end, first, last)
        start = end


def read(pixels, top, tile, margin=0):
    """The pixels that a tile reads and `margin` more on every side, the picture's edge repeated outside of it.

    `pixels` are whole rows of the picture from row `top` on.
    """
    rows = _indices(tile.rows.first - margin - top, tile.rows.last + margin - top, pixels.shape[0])
    columns = _indices(tile.columns.first - margin, tile.columns.last + margin, pixels.shape[1])
    return pixels[rows][:, columns]


def _indices(first, last, length):
    """A slice where all of it is there: a view instead of a copy."""
    if first >= 0 and last <= length:
        return slice(first, last)
    return np.clip(np.arange(first, last), 0, length - 1)
