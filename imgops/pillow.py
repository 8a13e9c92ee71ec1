"""Pillow images: to and from arrays, resized and enlarged with the package's own resampler.

Sizes are (width, height) here, as in Pillow; arrays have the shape (height, width) or (height, width, channels).

Each mode has one working form: the array, of straight or premultiplied values, that weights can be applied to.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import PIL
from PIL import Image

from . import _checks, curves, pillow_passes
from .conventions import get_convention
from .resampling import ResamplePlan, resample_shape

__all__ = ["resize", "to_array", "to_image", "upscale"]

# Values of the result that are worked on at a time: beside the two images little else is in memory.
_BAND_VALUES = 2**22


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
    premultiply=True,
    box=None,
    num_threads=None,
):
    """An image resized to (width, height).

    16-bit images stay 16-bit. Nearest moves the pixels as they are.

    Parameters
    ----------
    image : PIL.Image.Image
    size : (int, int)
        (width, height) of the result, in pixels.
    mode : {"linear", "nearest", "cubic", "lanczos3"}
        "bilinear" and "bicubic" mean "linear" and "cubic".
    convention : str or AxisMap
        Which input coordinate an output pixel reads; both axes have the same one. half_pixel has Pillow's cubic filter
        here: the coefficient -1/2, and no weights outside of the image; another convention has its own. "pillow" does
        what `Image.resize` does, its rounding between the two axes included.
    antialias : bool, optional
        Widen the filter on the axes that shrink. None: True where an axis shrinks and the mode is weighted.
    linear_light : bool
        Weigh light instead of code values: decode with the sRGB curve (IEC 61966-2-1), or with that of the greys of
        an ICC profile in `info`, resample, encode. Alpha has no curve.
    premultiply : bool
        Weigh colours by their alpha, so that nothing bleeds out of transparent pixels; where the result's alpha is 0
        its colour is 0. False: colours and alpha know nothing of each other, for pictures whose alpha is data.
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
    request = _request(image.size, size, mode, convention, antialias, linear_light, premultiply, box, num_threads)
    nearest, has_key = request.mode == "nearest", "transparency" in image.info
    if not nearest:
        _checks.picture_transparency("resize", image)
    if nearest and convention == "pillow" and image.mode.startswith("I;16"):
        row = replace(get_convention("pillow"), nearest=pillow_passes.nearest_of_16_bit)
        request = replace(request, convention=row)
    if nearest:
        form = _nearest_form(image)
    else:
        form = _keyed_form(image) if image.mode.startswith("I;16") and has_key else _weighted_form(image)
    if convention == "pillow" and not nearest and not linear_light:
        premultiply = form.alpha and request.premultiply
        version = tuple(int(part) for part in PIL.__version__.split(".")[:2])
        pixels = pillow_passes.resize(form.pixels(image), request.size, request.mode, premultiply, version, num_threads)
        result = form.image(pixels)
    else:
        result = _resize(image, request, form)
    result = _with_info(image, result, form, nearest)
    if result.mode == "P":
        result.putpalette(image.getpalette(image.palette.mode), image.palette.mode)
    return result


def resize_colour16(pixels, size, *, mode="linear", linear_light=False, premultiply=True, icc_profile=None):
    """As `resize`, for 16-bit colours, which no mode of Pillow holds: (H, W, C) uint16, C = 3, or 2 or 4 with alpha."""
    options = {"linear_light": linear_light, "premultiply": premultiply, "icc_profile": icc_profile}
    bands = bands_of_pixels(pixels.shape, size, mode=mode, **options)
    _checks.element_count("resize", bands.shape, pixels.itemsize)
    result = np.empty(bands.shape, pixels.dtype)
    for start, stop in bands.rows():
        result[start:stop] = bands.band(start, stop, pixels[slice(*bands.input_rows(start, stop))])
    return result


def upscale(
    image,
    scale,
    *,
    method="sr",
    model=None,
    tile=None,
    linear_light=False,
    premultiply=True,
    num_threads=None,
    progress=None,
):
    """An image enlarged by a factor.

    Parameters
    ----------
    image : PIL.Image.Image
    scale : int, float or Fraction
        Output pixels per input pixel on both axes, at least 1. The result has the size floor(width * scale),
        floor(height * scale), computed from the number as written: 1.2 is 6/5.
    method : {"sr", "linear", "nearest", "cubic", "lanczos3"}
        "sr" is super-resolution: a neural network draws edges and lines anew (`imgops.sr.Upscaler`).
    model : {"best", "fast"} or path, optional
        Of "sr"; None: "best".
    tile : int, optional
        Of "sr": side of the parts that are worked on at a time.
    linear_light, premultiply : bool
        As in `resize`; "sr" has no linear light, since its networks take code values.
    num_threads : int, optional
    progress : callable, optional
        Of "sr": called with the part that is done, 0 to 1, again and again.

    Returns
    -------
    PIL.Image.Image
        As `resize` returns it. "sr" sharpens the luminance of YCbCr and LAB, and each ink of CMYK.

    Raises
    ------
    TypeError, ValueError, MemoryError
        As `resize` does; ValueError for a scale below 1, and with "sr" for the modes I and F, whose white nobody knows.
    FileNotFoundError, ImportError
        As `imgops.sr.Upscaler` does.

    Notes
    -----
    Super-resolution by a scale that the model does not have (the embedded ones have 2, 3 and 4): models one after the
    other, by the least product of their scales that is not below it, then a reduction to the size by antialiased cubic.
    So 1.5 is 2 and a reduction by 3/4, 6 is 2 and then 3, and 1 is a copy.

    Examples
    --------
    >>> upscale(Image.new("RGB", (5, 3)), 1.5).size
    (7, 4)
    """
    image = _checks.picture("upscale", image, Image.Image)
    scale = _checks.picture_enlargement("upscale", scale)
    method = _checks.picture_method("upscale", method)
    size = scaled_size(image.size, scale)
    if method != "sr":
        _checks.sr_options("upscale", method, model=model, tile=tile, progress=progress)
        options = {"linear_light": linear_light, "premultiply": premultiply, "num_threads": num_threads}
        return resize(image, size, mode=method, **options)
    _checks.sr_image("upscale", image.mode, linear_light)
    _checks.picture_transparency("upscale", image)
    premultiply = _checks.flag("upscale", "premultiply", premultiply)
    upscalers = _upscalers(scale, model, tile, num_threads)
    form, kind = _network_form(image)

    def make(shape, dtype):
        return _upscaling(shape, dtype, size, upscalers, premultiply, kind)

    return _with_info(image, _in_bands(image, form, size, make, progress), form)


def upscale_pixels(pixels, scale, *, model=None, tile=None, premultiply=True, num_threads=None, progress=None):
    """As `upscale` by "sr", for pixels that no mode of Pillow holds: (H, W, C), C = 3, or 2 or 4 with alpha."""
    bands = upscaling_of_pixels(
        pixels.shape, pixels.dtype, scale, model=model, tile=tile, premultiply=premultiply, num_threads=num_threads
    )
    result = _checks.empty("upscale", bands.shape, pixels.dtype)
    for start, stop in bands.rows():
        part = pixels[slice(*bands.input_rows(start, stop))]
        result[start:stop] = bands.band(start, stop, part, _part_of(progress, start, stop, bands.shape[0]))
    return result


def upscaling_of_pixels(shape, dtype, scale, *, model=None, tile=None, premultiply=True, num_threads=None):
    """Bands, as RowBands are, of a picture of pixels enlarged by "sr"."""
    size = scaled_size(shape[1::-1], scale)
    return _upscaling(shape, dtype, size, _upscalers(scale, model, tile, num_threads), premultiply, "colours")


def scaled_size(size, scale):
    """(width, height) times a scale, rounded down, exactly."""
    height, width = resample_shape(size[::-1], scale=(scale, scale))
    return width, height


# ---------------------------------------------------------------------------------------------------------------------
# Images and arrays


def _from_array(array, mode, info=None):
    height, width = array.shape[:2]
    data = np.packbits(array, axis=1) if mode == "1" else np.ascontiguousarray(array, _mode_dtype(mode))
    # None: the pixels are left as they are in memory, since all of them come.
    image = Image.new(mode, (width, height), None)
    image.frombytes(data)
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
# Requests


@dataclass(frozen=True)
class _Request:
    """A resize whose arguments are checked and resolved, for the two axes of an array."""

    size: tuple
    mode: str
    convention: object
    antialias: bool
    linear_light: bool
    premultiply: bool
    num_threads: int | None

    def plan(self, shape):
        options = {"mode": self.mode, "convention": self.convention, "antialias": self.antialias}
        return ResamplePlan(shape, self.size[::-1], axes=(0, 1), **options)


def _request(old_size, size, mode, convention, antialias, linear_light, premultiply, box, num_threads):
    size = _checks.picture_size("resize", size)
    mode = _checks.resample_mode("resize", mode)
    premultiply = _checks.flag("resize", "premultiply", premultiply)
    box = _checks.picture_box("resize", box, old_size, convention)
    convention = _checks.picture_convention("resize", convention)
    read = old_size if box is None else (box[2] - box[0], box[3] - box[1])
    if antialias is None:
        antialias = mode != "nearest" and any(new < old for new, old in zip(size, read, strict=True))
    if isinstance(convention, str) and convention == "half_pixel":
        convention = _half_pixel(mode)
        if box is not None:
            # Vertical axis first: the maps belong to the array's axes.
            convention = [_read_from(convention, size[axis] / read[axis], box[axis]) for axis in (1, 0)]
    return _Request(size, mode, convention, antialias, linear_light, premultiply, num_threads)


def _half_pixel(mode):
    row = get_convention("half_pixel")
    return replace(row, cubic_coefficient=-0.5, edge="renormalise") if mode == "cubic" else row


def _read_from(row, scale, start):
    """The row for an axis that is read from `start` on."""
    return replace(row, offsets=lambda _n, _m, _s: (scale, Fraction(1, 2) - start, Fraction(-1, 2)))


# ---------------------------------------------------------------------------------------------------------------------
# Bands of rows


class RowBands:
    """A resize of pixels (H, W) or (H, W, C) by bands of rows of the result, the same bits as in one piece.

    Parameters
    ----------
    shape : tuple of int
        Of the pixels.
    request : _Request
    alpha : bool
        Whether the last channel is alpha.
    icc_profile : bytes, optional
        Whose curve leads to light.

    Attributes
    ----------
    shape : tuple of int
        Of the result.
    """

    def __init__(self, shape, request, alpha, icc_profile=None):
        self.shape = (*request.size[::-1], *shape[2:])
        self._input_shape = shape
        self._request = request
        self._values = _Values(request.linear_light, alpha, alpha and request.premultiply, icc_profile)

    @property
    def pixel_count(self):
        """Values of the result."""
        return math.prod(self.shape)

    @functools.cached_property
    def _plan(self):
        return self._request.plan(self._input_shape)

    def rows(self, step=None):
        """(start, stop) of the bands, of `step` rows each, from top to bottom."""
        step = step or max(1, _BAND_VALUES // math.prod(self.shape[1:]))
        return [(top, min(top + step, self.shape[0])) for top in range(0, self.shape[0], step)]

    def input_rows(self, start, stop):
        """(start, stop) of the input rows that a band reads."""
        rows = self._plan.input_region(self._region(start, stop))[0]
        return rows.start, rows.stop

    def band(self, start, stop, pixels):
        """The rows start..stop of the result, from the input rows that they read."""
        region = self._region(start, stop)
        window, threads = self._plan.window(region), self._request.num_threads
        pixels = pixels[:, self._plan.input_region(region)[1]]
        if self._request.mode == "nearest" or self._values.are_codes:
            return window(pixels, num_threads=threads)
        return self._values.encode(window(self._values.decode(pixels), num_threads=threads), pixels.dtype)

    def _region(self, start, stop):
        return (slice(start, stop), *(slice(0, length) for length in self.shape[1:]))


def bands_of_pixels(shape, size, *, mode="linear", linear_light=False, premultiply=True, icc_profile=None):
    """RowBands for pixels that no Pillow image holds; two and four channels end with alpha."""
    linear_light = _checks.picture_linear_light("resize", linear_light, mode, "RGB")
    request = _request(shape[1::-1], size, mode, "half_pixel", None, linear_light, premultiply, None, None)
    return RowBands(shape, request, len(shape) == 3 and shape[2] in (2, 4), icc_profile)


@dataclass(frozen=True)
class _Form:
    """How a band of an image becomes pixels that may be resampled, and pixels a band of the result.

    Attributes
    ----------
    mode : str
        Of the result.
    alpha : bool
        Whether the last channel of the pixels is alpha.
    pixels, image : callable
        Band of the image to array; array to band of the result, of `mode`.
    """

    mode: str
    alpha: bool
    pixels: Callable
    image: Callable


# Bands come by np.asarray, which copies them. Arrow's view of an image (__arrow_c_array__) needs no copy, but has RGB
# in steps of four bytes, by which the kernel loses three times what the copy costs (1600 x 1200: 5 ms for 1.4 ms),
# saves 4 to 10 % in L and RGBA, and there is none of an image past Pillow's blocks of 16 MB.
def _resize(image, request, form):
    def make(shape, _dtype):
        return RowBands(shape, request, form.alpha, image.info.get("icc_profile"))

    return _in_bands(image, form, request.size, make)


def _in_bands(image, form, size, make, progress=None):
    """The image that bands of pixels make of an image; `make` makes them for a shape and dtype."""
    probe = form.pixels(image.crop((0, 0, 1, 1)))
    shape = (*size[::-1], *probe.shape[2:])
    _checks.element_count("resize", shape, probe.itemsize)
    # Pillow takes memory block by block until there is none; this asks for all of it, and is a MemoryError at once.
    np.empty(shape, probe.dtype)
    bands = make((*image.size[::-1], *probe.shape[2:]), probe.dtype)
    rows = bands.rows()
    result = Image.new(form.mode, size, None) if len(rows) > 1 else None
    for start, stop in rows:
        top, bottom = bands.input_rows(start, stop)
        part = image if (top, bottom) == (0, image.height) else image.crop((0, top, image.width, bottom))
        inner = {} if progress is None else {"progress": _part_of(progress, start, stop, shape[0])}
        band = form.image(bands.band(start, stop, form.pixels(part), **inner))
        if result is None:
            return band
        result.paste(band, (0, start))
    return result


def _with_info(image, result, form, nearest=False):
    """The result with the `info` of the image that it was made of, but for a transparency that is alpha now."""
    result.info.update(image.info)
    if "transparency" in image.info and not nearest and form.mode in ("LA", "RGBA"):
        del result.info["transparency"]
    return result


def _nearest_form(image):
    mode = "RGBA" if image.mode == "PA" else image.mode
    return _Form(
        mode,
        False,
        lambda part: np.asarray(part if part.mode == mode else part.convert(mode)),
        lambda array: _from_array(array, mode),
    )


def _weighted_form(image):
    mode = _working_mode(image)
    # The bytes of a and b are signed; as offsets from -128 they are in order.
    flip = np.uint8([0, 128, 128]) if mode == "LAB" else None

    def pixels(part):
        array = np.asarray(part if part.mode == mode else part.convert(mode))
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        return array if flip is None else array ^ flip

    def band(array):
        part = _from_array(array if flip is None else array ^ flip, mode)
        return part.convert("HSV") if image.mode == "HSV" else part

    return _Form("HSV" if image.mode == "HSV" else mode, mode in ("LA", "RGBA"), pixels, band)


def _keyed_form(image):
    """16-bit grey with one transparent value: resized with alpha, then opaque or that value again."""
    key = np.uint16(image.info["transparency"])
    beside_key = key - 1 if key else key + 1

    def pixels(part):
        grey = np.asarray(part).astype(np.uint16)
        return np.stack([grey, np.where(grey == key, 0, 65535).astype(np.uint16)], axis=-1)

    def band(array):
        grey, opaque = array[..., 0], array[..., 1] >= 32768
        return _from_array(np.where(opaque, np.where(grey == key, beside_key, grey), key), image.mode)

    return _Form(image.mode, True, pixels, band)


def _network_form(image):
    """(_Form, kind of its pixels) for super-resolution."""
    if image.mode.startswith("I;16") and "transparency" in image.info:
        return _keyed_form(image), "colours"
    if image.mode in _STRAIGHT:
        straight, mode = _STRAIGHT[image.mode], image.mode

        def pixels(part):
            return np.asarray(part.convert(straight))

        return _Form(mode, False, pixels, lambda array: _from_array(array, straight).convert(mode)), "colours"
    kind = "inks" if image.mode == "CMYK" else "luminance" if image.mode in ("YCbCr", "LAB") else "colours"
    return _weighted_form(image), kind


def _working_mode(image):
    """The mode whose bands can be weighted: no palettes, no bits, no transparent colour, no angles."""
    if image.mode in ("P", "PA"):
        return _palette_colours(image)
    if image.mode in ("1", "L"):
        return "LA" if "transparency" in image.info else "L"
    if image.mode == "HSV":
        return "RGB"
    return "RGBA" if image.mode == "RGB" and "transparency" in image.info else image.mode


# ---------------------------------------------------------------------------------------------------------------------
# Super-resolution

# Modes that a network sees as others.
_STRAIGHT = {"La": "LA", "RGBa": "RGBA", "RGBX": "RGB"}


def _upscalers(scale, model, tile, num_threads):
    # Not everybody who has images needs networks.
    from .sr import steps

    scale = _checks.exact("upscale", "scale", scale)
    return steps.upscalers(scale, "best" if model is None else model, tile=tile, num_threads=num_threads)


def _upscaling(shape, dtype, size, upscalers, premultiply, kind):
    """Bands of pixels enlarged by Upscalers, then reduced to (width, height) where that is less."""
    stages = []
    for upscaler in upscalers:
        if kind == "inks":
            stages.append(_Inks(upscaler, shape, dtype))
        else:
            luminance = kind == "luminance"
            stages.append(upscaler.bands(shape, dtype, premultiply=premultiply, luminance_first=luminance))
        shape = stages[-1].shape
    if not stages or shape[1::-1] != tuple(size):
        alpha = kind == "colours" and len(shape) == 3 and shape[2] in (2, 4)
        request = _request(shape[1::-1], size, "cubic", "half_pixel", None, False, premultiply, None, None)
        stages.append(RowBands(shape, request, alpha))
    return _Chain(stages)


def enlarges_parts(scale, model=None):
    """Whether parts of a picture, such as bands of rows, can be enlarged by "sr" for themselves."""
    return all(upscaler.enlarges_parts for upscaler in _upscalers(scale, model, None, None))


class _Inks:
    """Bands, as those of an Upscaler, of pixels (H, W, C) whose channels are enlarged each for itself."""

    def __init__(self, upscaler, shape, dtype):
        self._bands = upscaler.bands(shape[:2], dtype)
        self.shape = (*self._bands.shape, shape[2])
        self.input_rows = self._bands.input_rows

    def rows(self, step=None):
        return self._bands.rows(step)

    def band(self, start, stop, pixels, progress=None):
        # The last channel is the last part of the work.
        calls = [None] * (pixels.shape[2] - 1) + [progress]
        inks = [self._bands.band(start, stop, pixels[..., ink], call) for ink, call in enumerate(calls)]
        return np.stack(inks, axis=-1)


class _Chain:
    """Bands of which each makes what the next one reads."""

    def __init__(self, stages):
        self._stages = stages
        self.shape = stages[-1].shape

    @property
    def pixel_count(self):
        return math.prod(self.shape)

    def rows(self, step=None):
        return self._stages[-1].rows(step)

    def input_rows(self, start, stop):
        for stage in reversed(self._stages):
            start, stop = stage.input_rows(start, stop)
        return start, stop

    def band(self, start, stop, pixels, progress=None):
        wanted = [(start, stop)]
        for stage in reversed(self._stages[1:]):
            wanted.insert(0, stage.input_rows(*wanted[0]))
        networks = [stage for stage in self._stages if not isinstance(stage, RowBands)]
        for stage, rows in zip(self._stages, wanted, strict=True):
            # Most of the work is the last network's, which makes the largest picture.
            told = (progress,) if stage in networks[-1:] else ()
            pixels = stage.band(*rows, pixels, *told)
        return pixels


def _part_of(progress, start, stop, length):
    """A callable for (done, all) of the rows start..stop of a result of so many rows."""
    if progress is None:
        return None
    return lambda done, count: progress((start + (stop - start) * done / count) / length)


# ---------------------------------------------------------------------------------------------------------------------
# Values that may be weighted: codes or linear light, multiplied by the code of alpha


@dataclass(frozen=True)
class _Values:
    """Between code values and what is weighted."""

    linear_light: bool
    alpha: bool
    premultiply: bool
    icc_profile: bytes | None

    @property
    def are_codes(self):
        return not (self.linear_light or self.premultiply)

    def decode(self, pixels):
        values = (
            curves.light_of_code(pixels.dtype, self.icc_profile)[pixels]
            if self.linear_light
            else pixels.astype(np.float32)
        )
        if self.alpha:
            opacity = pixels[..., -1].astype(np.float32)
            values[..., -1] = opacity
            if self.premultiply:
                # Channel by channel: NumPy's loops over a last axis of three are slow.
                for channel in range(values.shape[-1] - 1):
                    values[..., channel] *= opacity
        return values

    def encode(self, values, dtype):
        """The code values of `values`, which is used up."""
        opacity = values[..., -1].copy() if self.alpha else None
        if self.premultiply:
            # Where the opacity is 0, so are the colours.
            divisor = np.where(opacity > 0, opacity, np.float32(1))
            for channel in range(values.shape[-1] - 1):
                values[..., channel] /= divisor
        if self.linear_light:
            values = curves.code_of_light(values, self.icc_profile) * np.float32(np.iinfo(dtype).max)
        if self.alpha:
            values[..., -1] = opacity
        codes = _codes(values, dtype)
        if self.premultiply:
            codes[codes[..., -1] == 0] = 0
        return codes


def _codes(values, dtype):
    np.clip(values, 0, np.iinfo(dtype).max, out=values)
    return np.rint(values, out=values).astype(dtype)
