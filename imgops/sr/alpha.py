"""Colours and alpha for a network: nothing bleeds out of what is transparent, and edges stay clean."""

import numpy as np

# A fill goes as far as a network looks, but not farther than this.
_ROUNDS = 16


def reach(halo):
    """Pixels that a fill looks at beside a pixel."""
    # What the enlarged pixels at the rim of the visible ones read besides, and the means that all begins with.
    return (_ROUNDS if halo is None else min(halo, _ROUNDS)) + 3


def inside(margin, shape):
    """The part of a plane without its margin."""
    return tuple(slice(margin, length - margin) for length in shape)


def filled(colours, opacity, reach):
    """Colours (C, h, w) with those of transparent pixels replaced by what is visible beside them.

    A pixel keeps its colour by the part that its opacity is of the largest one around it, and has for the rest the
    mean of its neighbours weighted by theirs. What has no visible neighbours gets the mean of those that have some, one
    pixel further in each of several rounds; what is still farther away becomes 0. So visible areas stay as they are, of
    any even opacity, and a network sees no edges that nobody sees. No pixel depends on others farther away than that
    `reach`.
    """
    colours = np.where(opacity > 0, colours, np.float32(0))
    weights = _sums(opacity)
    known = weights > 0
    means = _sums(colours * opacity) / np.where(known, weights, np.float32(1))
    highest = _extremes(opacity, np.maximum)
    doubt = 1 - opacity / np.where(highest > 0, highest, np.float32(1))
    # Exactly the pixel's own colour where there is no doubt: a mean may be NaN.
    result = np.where(doubt > 0, colours + doubt * (means - colours), colours)
    for _ in range(reach - 1):
        if known.all():
            break
        counts = _sums(known.astype(np.float32))
        new = (counts > 0) & ~known
        result[:, new] = _sums(result)[:, new] / counts[new]
        known |= new
    return result


def bound(made, opacity, tile, margin, scale):
    """Keep enlarged opacity between the lowest and the highest of the pixels around: no rings, and no haze.

    `opacity` has `margin` pixels more on each side than the tile reads.
    """
    part = tuple(
        slice(span.start - span.first + margin, span.stop - span.first + margin) for span in (tile.rows, tile.columns)
    )
    for combine, limit in ((np.minimum, np.maximum), (np.maximum, np.minimum)):
        extremes = _extremes(opacity, combine)[part]
        limit(made, np.repeat(np.repeat(extremes, scale, 0), scale, 1), out=made)


def _sums(planes):
    """Of each pixel and its eight neighbours, in the last two axes; outside there is 0."""
    for axis in (-2, -1):
        planes = _with_neighbours(planes, axis, np.add)
    return planes


def _extremes(planes, combine):
    for axis in (-2, -1):
        planes = _with_neighbours(planes, axis, combine)
    return planes


def _with_neighbours(planes, axis, combine):
    result = planes.copy()
    before = [slice(None)] * planes.ndim
    after = list(before)
    before[axis], after[axis] = slice(None, -1), slice(1, None)
    before, after = tuple(before), tuple(after)
    combine(result[after], planes[before], out=result[after])
    combine(result[before], planes[after], out=result[before])
    return result
