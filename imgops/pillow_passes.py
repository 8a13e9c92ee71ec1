"""Pillow's own weighted resize, step by step, for those who need its pixels.

Pillow resizes one axis, rounds and clips to the pixel type, and resizes the other; 8-bit weights have 22 bits behind
the point, and alpha is multiplied in and divided out in 8 bits. (Pillow 13.0, src/libImaging/Resample.c and Convert.c.)
"""

from fractions import Fraction

import numpy as np

from .resampling import ResamplePlan
from .taps import AxisMap, Taps, axis_taps


def nearest_of_16_bit(n, m, _scale):
    """Pillow's nearest indices for I;16, whose position is a product where that of other modes is a running sum."""
    return np.clip(((np.arange(m) + 0.5) * (n / m)).astype(np.int64), 0, n - 1)


def resize(pixels, size, mode, premultiply, version, num_threads=None):
    """Pixels (H, W) or (H, W, C) resized to (width, height) as Pillow of this version does it.

    `premultiply`: the last channel is alpha. Up to Pillow 12 width always comes first.
    """
    height, width = pixels.shape[:2]
    if size == (width, height):
        return pixels
    if premultiply:
        pixels = _premultiplied(pixels)
    axes = [(1, size[0]), (0, size[1])]
    if version >= (13,) and height > size[1] and height - size[1] > 2 * (width - size[0]):
        axes.reverse()
    for axis, length in axes:
        if pixels.shape[axis] != length:
            pixels = _rounded(_weighed(pixels, axis, length, mode, num_threads), pixels.dtype)
    return _straight(pixels) if premultiply else pixels


def _weighed(pixels, axis, length, mode, num_threads):
    axis_map = AxisMap(Fraction(length, pixels.shape[axis]))
    taps = axis_taps(pixels.shape[axis], length, axis_map, mode, True, coefficient=-0.5, edge="renormalise")
    if pixels.dtype == np.uint8:
        weights = np.trunc(taps.weights * 2**22 + np.copysign(0.5, taps.weights)) / 2**22
        taps = Taps(taps.input_length, taps.starts, taps.counts, weights)
    shape = list(pixels.shape)
    shape[axis] = length
    plan = ResamplePlan._from_passes(pixels.shape, tuple(shape), mode, ((axis, taps),))
    return plan._forward("resize", pixels, None, np.float64, num_threads)


def _rounded(values, dtype):
    if dtype.kind == "f":
        return values.astype(dtype)
    limits = np.iinfo(dtype)
    # Halves go up, in int32 away from zero.
    rounded = np.copysign(np.floor(np.abs(values) + 0.5), values) if dtype.kind == "i" else np.floor(values + 0.5)
    return np.clip(rounded, limits.min, limits.max).astype(dtype)


def _premultiplied(pixels):
    products = pixels[..., :-1].astype(np.int32) * pixels[..., -1:] + 128
    colours = ((products >> 8) + products) >> 8
    return np.concatenate([colours.astype(np.uint8), pixels[..., -1:]], axis=-1)


def _straight(pixels):
    alpha, colours = pixels[..., -1:].astype(np.int32), pixels[..., :-1].astype(np.int32)
    divided = np.minimum(255 * colours // np.maximum(alpha, 1), 255)
    colours = np.where((alpha == 0) | (alpha == 255), colours, divided)
    return np.concatenate([colours.astype(np.uint8), pixels[..., -1:]], axis=-1)
