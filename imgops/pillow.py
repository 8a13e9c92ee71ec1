"""Pillow images: to and from arrays, resized and enlarged with the package's own resampler.

Sizes are (width, height) here, as in Pillow; arrays have the shape (height, width) or (height, width, channels).

Each mode has one working form: the array, of straight or premultiplied values, that weights can be applied to.
"""

import functools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from PIL import Image

from . import _checks
from .resampling import ResamplePlan, resample, resample_shape
from .taps import AxisMap

__all__ = ["resize", "to_array", "to_image", "upscale"]

# Colour values under a premultiplied or linear-light resize are float32: this many at a time bounds their memory.
_BAND_VALUES = 2**24


def to_array(image):
    """The pixels of an image as a new array.

    Parameters
    ----------
    image : PIL.Image.Image
        Of any mode; P and PA give the colours of their palette, RGBA where the palette or `info` has transparency.

    Returns
    -------
    ndarray
        (H, W) bool for mode 1, uint8 for L, uint16 in native byte order for I;16, int32 for I, float32 for F;
        (H, W, C) uint8 for the modes of several bands.

    Raises
    ------
    TypeError
        For anything but a Pillow image.
    ValueError
        For a mode that no array holds.

    Examples
    --------
    >>> to_array(Image.new("RGB", (3, 2), (1, 2, 3))).shape
    (2, 3, 3)
    """
    image = _checks.picture("to_array", image, Image.Image)
    if image.mode in ("P", "PA"):
        image = image.convert(_palette_colours(image))
    array = np.array(image)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def to_image(array, mode=None):
    """An image of an array.

    Parameters
    ----------
    array : array_like
        (H, W) of bool (becomes mode 1), uint8 (L), uint16 (I;16), int32 (I), float32 or float64 (F); (H, W, 1),
        (H, W, 2), (H, W, 3) or (H, W, 4) of uint8 (L, LA, RGB, RGBA).
    mode : str, optional
        Another mode of the same layout: La for LA; YCbCr, HSV or LAB for RGB; CMYK, RGBX or RGBa for RGBA.

    Returns
    -------
    PIL.Image.Image
        Of the width W and the height H; it shares no memory with `array`.

    Raises
    ------
    TypeError
        For a dtype that no mode holds.
    ValueError
        For a shape that no mode holds, or a mode that does not fit the array.

    Examples
    --------
    >>> to_image(np.zeros((2, 3), np.uint16)).mode
    'I;16'
    """
    array = _checks.as_array("to_image", array, "array")
    mode = _checks.picture_mode("to_image", array, mode)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[..., 0]
    return _from_array(array, mode)


def resize(
    image,
    size,
    *,
    mode="linear",
    convention="half_pixel",
    antialias=None,
    linear_light=False,
    box=None,
    num_threads=None,
):
    """An image resized to (width, height).

    Colours are weighted by their alpha, so that nothing bleeds out of transparent pixels; where the result's alpha is 0
    its colour is 0. 16-bit images stay 16-bit. Nearest moves the pixels as they are.

    Parameters
    ----------
    image : PIL.Image.Image
    size : (int, int)
        (width, height) of the result, in pixels.
    mode : {"linear", "nearest"}
    convention : str or AxisMap
        Which input coordinate an output pixel reads; both axes have the same one.
    antialias : bool, optional
        Widen the filter on the axes that shrink. None: True where an axis shrinks and the mode is weighted.
    linear_light : bool
        Weigh light instead of code values: decode with the sRGB curve (IEC 61966-2-1), resample, encode. Alpha has no
        curve.
    box : (float, float, float, float), optional
        (left, top, right, bottom): the part of the image, in pixels from its top left corner, that fills the result.
        Filters see the pixels outside of it, as in Pillow.
    num_threads : int, optional

    Returns
    -------
    PIL.Image.Image
        A new image with the `info` of `image` (ICC profile, dpi, text). 1 becomes L, P and PA become RGB or RGBA, and
        a transparent colour in `info` becomes alpha (in I;16, which has no alpha, it stays a colour); with nearest 1
        and P stay 1 and P with its palette. HSV is computed as RGB.

    Raises
    ------
    TypeError, ValueError
        For a size, box, name or option that is not as described, or that has no meaning in this mode.
    MemoryError
        For a result that memory cannot hold.

    Notes
    -----
    Output pixel o reads the input coordinate ``(o + 1/2) * (right - left) / width + left - 1/2`` (half_pixel).

    Examples
    --------
    >>> resize(Image.new("L", (5, 3), 7), (10, 6)).getpixel((9, 5))
    7
    """
    image = _checks.picture("resize", image, Image.Image)
    linear_light = _checks.picture_linear_light("resize", linear_light, mode, image.mode)
    request = _request(image.size, size, mode, convention, antialias, linear_light, box, num_threads)
    if request.mode == "nearest":
        return _resize_nearest(image, request)
    if image.mode.startswith("I;16") and "transparency" in image.info:
        return _resize_keyed_grey16(image, request)
    return _resize_weighted(image, request)


def resize_colour16(pixels, size, *, mode="linear", linear_light=False):
    """As `resize`, for 16-bit colours, which no mode of Pillow holds: (H, W, C) uint16, C = 3, or 2 or 4 with alpha."""
    linear_light = _checks.picture_linear_light("resize", linear_light, mode, "RGB")
    request = _request(pixels.shape[1::-1], size, mode, "half_pixel", None, linear_light, None, None)
    if request.mode == "nearest":
        return request.resample(pixels)
    return _resample_pixels(pixels, pixels.shape[2] != 3, request)


def upscale(image, scale, *, method="linear", linear_light=False, num_threads=None):
    """An image enlarged by a factor.

    Parameters
    ----------
    image : PIL.Image.Image
    scale : int, float or Fraction
        Output pixels per input pixel on both axes, at least 1. The result has the size floor(width * scale),
        floor(height * scale), computed from the number as written: 1.2 is 6/5.
    method : {"linear", "nearest"}
    linear_light : bool
        As in `resize`.
    num_threads : int, optional

    Returns
    -------
    PIL.Image.Image
        As `resize` returns it.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `resize` does; ValueError for a scale below 1.

    Examples
    --------
    >>> upscale(Image.new("RGB", (5, 3)), 1.5).size
    (7, 4)
    """
    image = _checks.picture("upscale", image, Image.Image)
    scale = _checks.picture_enlargement("upscale", scale)
    method = _checks.name_of("upscale", "method", method, _checks.RESAMPLE_MODES, {"bilinear": "linear"})
    size = scaled_size(image.size, scale)
    return resize(image, size, mode=method, linear_light=linear_light, num_threads=num_threads)


def scaled_size(size, scale):
    """(width, height) times a scale, rounded down, exactly."""
    height, width = resample_shape(size[::-1], scale=(scale, scale))
    return width, height


# ---------------------------------------------------------------------------------------------------------------------
# Images and arrays


def _from_array(array, mode, info=None):
    height, width = array.shape[:2]
    data = np.packbits(array, axis=1) if mode == "1" else np.ascontiguousarray(array, _mode_dtype(mode))
    image = Image.frombytes(mode, (width, height), data)
    image.info.update(info or {})
    return image


def _mode_dtype(mode):
    if mode.startswith("I;16"):
        return np.dtype(">u2") if mode == "I;16B" else np.dtype("=u2") if mode == "I;16N" else np.dtype("<u2")
    return np.dtype({"1": bool, "I": np.int32, "F": np.float32}.get(mode, np.uint8))


def _palette_colours(image):
    """The mode that holds a palette image's colours and transparency."""
    transparent = image.mode == "PA" or "transparency" in image.info or image.palette.mode.endswith("A")
    return "RGBA" if transparent else "RGB"


# ---------------------------------------------------------------------------------------------------------------------
# One function per way through the resampler


@dataclass(frozen=True)
class _Request:
    """A resize whose arguments are checked and resolved, for the two axes of an array."""

    height_width: tuple
    mode: str
    convention: object
    antialias: bool
    linear_light: bool
    num_threads: int | None

    def _options(self):
        return {"axes": (0, 1), "mode": self.mode, "convention": self.convention, "antialias": self.antialias}

    def empty_result(self, array):
        """An array for the result: made before any table, so that a result memory cannot hold is refused at once."""
        shape = (*self.height_width, *array.shape[2:])
        _checks.element_count("resize", shape, array.itemsize)
        return np.empty(shape, array.dtype)

    def resample(self, array):
        out = self.empty_result(array)
        return resample(array, self.height_width, **self._options(), out=out, num_threads=self.num_threads)

    def plan(self, shape):
        return ResamplePlan(shape, self.height_width, **self._options())


def _request(old_size, size, mode, convention, antialias, linear_light, box, num_threads):
    size = _checks.picture_size("resize", size)
    mode = _checks.resample_mode("resize", mode)
    box = _checks.picture_box("resize", box, old_size, convention)
    convention = _checks.picture_convention("resize", convention)
    read = old_size if box is None else (box[2] - box[0], box[3] - box[1])
    if antialias is None:
        antialias = mode != "nearest" and any(new < old for new, old in zip(size, read, strict=True))
    if box is not None:
        # Vertical axis first: the maps belong to the array's axes.
        convention = [AxisMap(size[axis] / read[axis], Fraction(1, 2) - box[axis]) for axis in (1, 0)]
    return _Request(size[::-1], mode, convention, antialias, linear_light, num_threads)


def _resize_nearest(image, request):
    if image.mode == "PA":
        image = image.convert("RGBA")
    result = _from_array(request.resample(np.asarray(image)), image.mode, image.info)
    if image.mode == "P":
        result.putpalette(image.getpalette(image.palette.mode), image.palette.mode)
    return result


def _working_image(image):
    """The image in the mode whose bands can be weighted: no palettes, no bits, no transparent colour, no angles."""
    if image.mode in ("P", "PA"):
        return image.convert(_palette_colours(image))
    if image.mode in ("1", "L"):
        return image.convert("LA" if "transparency" in image.info else "L")
    if image.mode == "HSV":
        return image.convert("RGB")
    return image.convert("RGBA") if image.mode == "RGB" and "transparency" in image.info else image


def _resize_weighted(image, request):
    working = _working_image(image)
    pixels = np.asarray(working)
    pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
    if working.mode == "LAB":
        # The bytes of a and b are signed; as offsets from -128 they are in order.
        pixels = pixels ^ np.uint8([0, 128, 128])
    resized = _resample_pixels(pixels, working.mode in ("LA", "RGBA"), request)
    if working.mode == "LAB":
        resized = resized ^ np.uint8([0, 128, 128])
    result = _from_array(resized, working.mode, working.info)
    return result.convert("HSV") if image.mode == "HSV" else result


def _resize_keyed_grey16(image, request):
    """16-bit grey with one transparent value: resized with alpha, then opaque or that value again."""
    pixels = np.asarray(image).astype(np.uint16)
    key = np.uint16(image.info["transparency"])
    with_alpha = np.stack([pixels, np.where(pixels == key, 0, 65535).astype(np.uint16)], axis=-1)
    resized = _resample_pixels(with_alpha, True, request)
    grey, opaque = resized[..., 0], resized[..., 1] >= 32768
    beside_key = key - 1 if key else key + 1
    grey = np.where(opaque, np.where(grey == key, beside_key, grey), key)
    return _from_array(grey, image.mode, image.info)


def _resample_pixels(pixels, alpha, request):
    """An (H, W) or (H, W, C) array in a weighted mode; with `alpha` its last channel is alpha."""
    if not alpha and not request.linear_light:
        return request.resample(pixels)
    result = request.empty_result(pixels)
    plan = request.plan(pixels.shape)
    rows = max(1, _BAND_VALUES // result[0].size)
    for top in range(0, len(result), rows):
        band = (slice(top, min(top + rows, len(result))), *(slice(0, length) for length in result.shape[1:]))
        values = _decode(pixels[plan.input_region(band)], alpha, request.linear_light)
        values = plan.window(band)(values, num_threads=request.num_threads)
        result[band] = _encode(values, pixels.dtype, alpha, request.linear_light)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Values that may be weighted: alpha in 0..1, colours multiplied by it, in codes or in linear light


def _decode(pixels, alpha, linear_light):
    values = _light_of_code(pixels.dtype)[pixels] if linear_light else pixels.astype(np.float32)
    if alpha:
        opacity = pixels[..., -1].astype(np.float32) / np.float32(np.iinfo(pixels.dtype).max)
        values[..., -1] = opacity
        # Channel by channel: NumPy's loops over a last axis of three are slow.
        for channel in range(values.shape[-1] - 1):
            values[..., channel] *= opacity
    return values


def _encode(values, dtype, alpha, linear_light):
    """The code values of `values`, which is used up."""
    peak = np.float32(np.iinfo(dtype).max)
    if not alpha:
        return _codes(_curve(values) * peak if linear_light else values, dtype)
    opacity = values[..., -1].copy()
    # Where the opacity is 0, so are the colours.
    divisor = np.where(opacity > 0, opacity, np.float32(1))
    for channel in range(values.shape[-1] - 1):
        values[..., channel] /= divisor
    if linear_light:
        values = _curve(values) * peak
    values[..., -1] = opacity * peak
    codes = _codes(values, dtype)
    codes[codes[..., -1] == 0] = 0
    return codes


def _codes(values, dtype):
    np.clip(values, 0, np.iinfo(dtype).max, out=values)
    return np.rint(values, out=values).astype(dtype)


@functools.cache
def _light_of_code(dtype):
    """The light in 0..1 of every code value, by the sRGB curve of IEC 61966-2-1."""
    code = np.arange(np.iinfo(dtype).max + 1) / np.iinfo(dtype).max
    return np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4).astype(np.float32)


def _curve(light):
    """The code value in 0..1 of light, clipped to 0..1: the inverse of `_light_of_code`."""
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** np.float32(1 / 2.4) - np.float32(0.055))
