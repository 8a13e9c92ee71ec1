"""Colours and alpha for a network: nothing bleeds out of what is transparent, and edges stay clean."""

import numpy as np

# Colours of less than this part of the largest opacity around are not trusted: 8 bits leave little of them.
_TRUSTED = 1 / 16
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

    What is nearly transparent, beside what is around it, has its own colour in part only, and for the rest the mean of
    its neighbours weighted by their opacity. What has no visible neighbours gets the mean of those that have some, one
    pixel further in each of several rounds; what is still farther away becomes 0. So a network sees no edges that
    nobody sees. No pixel depends on others farther away than `reach`.
    """
    colours = np.where(opacity > 0, colours, np.float32(0))
    weights = _sums(opacity)
    known = weights > 0
    means = _sums(colours * opacity) / np.where(known, weights, np.float32(1))
    highest = _extremes(opacity, np.maximum)
    doubt = 1 - np.minimum(1, opacity / (np.float32(_TRUSTED) * np.where(highest > 0, highest, np.float32(1))))
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


def limits(planes, tile, margin, scale):
    """The lowest and the highest of the pixels that each enlarged pixel of a tile lies between.

    `planes` (..., h, w) have `margin` pixels more on each side than the tile reads.
    """
    part = tuple(
        slice(span.start - span.first + margin, span.stop - span.first + margin) for span in (tile.rows, tile.columns)
    )
    result = []
    for combine in (np.minimum, np.maximum):
        extremes = planes
        for axis in (-2, -1):
            extremes = _between(extremes, axis, combine, scale, part[axis])
        result.append(extremes)
    return result


def _between(planes, axis, combine, scale, part):
    """Enlarged along an axis: of the pixel before and a pixel, of it and the next one, of all three in the middle."""
    planes = np.moveaxis(planes, axis, 0)
    before, after = planes.copy(), planes.copy()
    combine(planes[1:], planes[:-1], out=before[1:])
    combine(planes[:-1], planes[1:], out=after[:-1])
    phases = [before] * (scale // 2) + [combine(before, after)] * (scale % 2) + [after] * (scale // 2)
    enlarged = np.stack([phase[part] for phase in phases], axis=1)
    return np.moveaxis(enlarged.reshape(-1, *planes.shape[1:]), 0, axis)


def colours_at_edges(made, seen, opacity, ranges, opacity_ranges):
    """Enlarged colours (C, h, w) `made`, but where opacity changes those that make what is seen on black, `seen`.

    There, edges of colour and of opacity must meet: a shadow beside an opaque shape, both sharpened for themselves,
    would leave a bright line between them. `opacity` is 0 to 1; colours stay within their `ranges`.
    """
    edges = (opacity_ranges[0] < opacity_ranges[1]) & (opacity > 0)
    divided = np.clip(seen / np.where(edges, opacity, np.float32(1)), *ranges)
    return np.where(edges, divided, made)


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
