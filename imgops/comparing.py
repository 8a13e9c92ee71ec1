"""How far two pictures differ: PSNR, SSIM, the largest difference, and a picture of it.

Colours are multiplied by their alpha first, so that what nobody sees does not count; alpha is a channel of its own.
"""

import math
from dataclasses import dataclass

import numpy as np

from .formats import PictureError, has_alpha, is_deep_colour
from .pillow import to_array

# Structural similarity (Wang, Bovik, Sheikh and Simoncelli 2004): a Gaussian window of 11 samples.
_RADIUS, _SIGMA, _K1, _K2 = 5, 1.5, 0.01, 0.03
_BAND_ROWS = 256


@dataclass(frozen=True)
class Comparison:
    """Figures of two pictures.

    Attributes
    ----------
    psnr : float
        Decibels, 10 log10(peak**2 / mean squared difference); infinite for equal pictures.
    ssim : float or None
        Mean over the channels and over every window inside the picture; None for pictures smaller than a window.
    largest : int or float
        Largest difference, of `peak`.
    peak : int
        Largest code value.
    place : (int, int, int)
        Frame, column and row of the largest difference.
    """

    psnr: float
    ssim: float | None
    largest: float
    peak: int
    place: tuple


def compare(first, second):
    """(Comparison of two Pictures, (H, W) or (H, W, C) differences of the frame with the largest, uint16).

    Raises PictureError for pictures of different sizes, or different numbers of frames.
    """
    frames = first.frames, second.frames
    if len(frames[0]) != len(frames[1]):
        raise PictureError(f"cannot be compared: {len(frames[0])} frames or pages, and {len(frames[1])}")
    squares = similarity = count = windows = 0
    largest, place, differences, peak = -1, None, None, 255
    for index, pair in enumerate(zip(*frames, strict=True)):
        if pair[0].size != pair[1].size:
            sizes = " and ".join(f"{size[0]} x {size[1]}" for size in (pair[0].size, pair[1].size))
            raise PictureError(f"cannot be compared: the sizes are {sizes} pixels; resize one of them first")
        a, b, peak = _alike(pair[0].pixels, pair[1].pixels)
        difference = np.abs(a.astype(np.float32) - b)
        squares += float(np.square(difference, dtype=np.float64).sum())
        count += difference.size
        total, number = _similarity(a, b, peak)
        similarity, windows = similarity + total, windows + number
        most = int(difference.argmax())
        if difference.flat[most] > largest:
            largest, differences = float(difference.flat[most]), difference
            row, column = np.unravel_index(most, difference.shape)[:2]
            place = index, int(column), int(row)
    psnr = 10 * math.log10(peak**2 * count / squares) if squares else math.inf
    ssim = similarity / windows if windows else None
    return Comparison(psnr, ssim, int(largest), peak, place), differences


def difference_picture(differences):
    """(uint8 array of the differences times a factor, so that the largest is white; the factor)."""
    factor = 255 / float(differences.max()) if differences.max() else 1.0
    enlarged = np.rint(differences * factor).astype(np.uint8)
    if enlarged.ndim == 3 and enlarged.shape[2] in (2, 4):
        # Where alpha differs, all colours are shown to differ.
        enlarged = np.maximum(enlarged[..., :-1], enlarged[..., -1:])
    return enlarged[..., 0] if enlarged.ndim == 3 and enlarged.shape[2] == 1 else enlarged, factor


def _alike(first, second):
    """(two arrays (H, W, C) of float32 codes, peak) of pixels that may differ in mode and depth."""
    arrays = [_codes(first), _codes(second)]
    peak = max(255 if array.dtype == np.uint8 else 65535 for array, _ in arrays)
    coloured = any(array.shape[2] > 2 for array, _ in arrays)
    transparent = any(alpha for _, alpha in arrays)
    return *(_spread(array, alpha, peak, coloured, transparent) for array, alpha in arrays), peak


def _codes(pixels):
    """((H, W, C) of uint8 or uint16: grey or RGB, perhaps alpha; whether the last channel is alpha)."""
    if is_deep_colour(pixels):
        return pixels, pixels.shape[2] in (2, 4)
    if pixels.mode.startswith("I;16"):
        return to_array(pixels)[..., None], False
    if pixels.mode in ("I", "F"):
        raise PictureError(f"cannot be compared: pixels of mode {pixels.mode} have no largest value")
    grey = pixels.mode in ("1", "L", "LA", "La")
    alpha = has_alpha(pixels)
    mode = ("LA" if alpha else "L") if grey else ("RGBA" if alpha else "RGB")
    array = np.asarray(pixels.convert(mode))
    return array[..., None] if array.ndim == 2 else array, alpha


def _spread(array, alpha, peak, coloured, transparent):
    """The array with the channels and the code range of both."""
    values = array.astype(np.float32)
    if array.dtype == np.uint8 and peak == 65535:
        values *= 257
    colours = values[..., :-1] if alpha else values
    if coloured and colours.shape[2] == 1:
        colours = np.repeat(colours, 3, axis=2)
    if not transparent:
        return colours
    opacity = values[..., -1:] if alpha else np.full_like(values[..., :1], peak)
    return np.concatenate([colours * (opacity / peak), opacity], axis=2)


def _similarity(a, b, peak):
    """(sum of the structural similarity over all windows and channels, their number), by bands of rows."""
    height, width, channels = a.shape
    inside = height - 2 * _RADIUS, width - 2 * _RADIUS
    if min(inside) < 1:
        return 0.0, 0
    total = 0.0
    for top in range(0, inside[0], _BAND_ROWS):
        rows = slice(top, min(top + _BAND_ROWS, inside[0]) + 2 * _RADIUS)
        for channel in range(channels):
            total += float(similarities(a[rows, :, channel], b[rows, :, channel], peak).sum())
    return total, inside[0] * inside[1] * channels


def similarities(a, b, peak):
    """Structural similarity of each window of 11 x 11 that lies inside of two channels (H, W)."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    mean_a, mean_b = _windowed(a), _windowed(b)
    variance_a, variance_b = _windowed(a * a) - mean_a**2, _windowed(b * b) - mean_b**2
    covariance = _windowed(a * b) - mean_a * mean_b
    c1, c2 = (_K1 * peak) ** 2, (_K2 * peak) ** 2
    above = (2 * mean_a * mean_b + c1) * (2 * covariance + c2)
    return above / ((mean_a**2 + mean_b**2 + c1) * (variance_a + variance_b + c2))


def _windowed(values):
    """Gaussian means of the windows that lie inside."""
    weights = np.exp(-(np.arange(-_RADIUS, _RADIUS + 1) ** 2) / (2 * _SIGMA**2))
    weights /= weights.sum()
    count = len(weights)
    rows = sum(weight * values[i : len(values) - count + 1 + i] for i, weight in enumerate(weights))
    width = rows.shape[1]
    return sum(weight * rows[:, i : width - count + 1 + i] for i, weight in enumerate(weights))
