"""What each format of picture files can hold, and pictures made to fit.

Names are Pillow's. Formats that run other programs or are no pictures of pixels (EPS, PDF, WMF) are left out.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageCms, features

from . import tiff
from .pillow import to_image


class PictureError(Exception):
    """What is wrong with a picture file, without its name."""


@dataclass(frozen=True)
class Format:
    """What files of a format hold.

    Attributes
    ----------
    extensions : tuple of str
        The first is the usual one.
    max_side : int
        Pixels.
    max_bytes : int or None
        Of the pixels, uncompressed.
    codec : str or None
        Pillow's name of the library without which it does not have the format.
    alpha : bool
    several : {"no", "animation", "pages"}
    quality : int or None
        Its number from 1 to 100 unless another one is asked for.
    """

    extensions: tuple
    max_side: int
    max_bytes: int | None = None
    codec: str | None = None
    alpha: bool = True
    several: str = "no"
    quality: int | None = None


FORMATS = {
    "PNG": Format((".png", ".apng"), 2**31 - 1, codec="zlib", several="animation"),
    "JPEG": Format((".jpg", ".jpeg", ".jpe", ".jfif"), 65500, codec="jpg", alpha=False, quality=95),
    "TIFF": Format((".tif", ".tiff"), 2**31 - 1, several="pages"),
    "WEBP": Format((".webp",), 16383, codec="webp", several="animation", quality=95),
    "AVIF": Format((".avif",), 65535, codec="avif", several="animation", quality=90),
    "GIF": Format((".gif",), 65535, several="animation"),
    "BMP": Format((".bmp", ".dib"), 2**31 - 1, max_bytes=2**32 - 2**10),
    "PPM": Format((".ppm", ".pgm", ".pnm"), 2**31 - 1, alpha=False),
    "TGA": Format((".tga",), 65535),
}
_COMMON_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")
# Without TIFF, whose files hold every mode that a file can have.
_MODES = {
    "PNG": _COMMON_MODES,
    "JPEG": ("1", "L", "RGB", "CMYK", "YCbCr"),
    "WEBP": ("1", "L", "LA", "RGB", "RGBA"),
    "AVIF": ("1", "L", "LA", "RGB", "RGBA"),
    "BMP": ("1", "L", "P", "RGB", "RGBA"),
    "PPM": ("1", "L", "RGB", "I", "F"),
    "TGA": ("1", "L", "LA", "RGB", "RGBA"),
    "GIF": _COMMON_MODES,
}
# What no conversion of Pillow's makes colours of: it clips them, or says that it cannot.
_NO_COLOURS = {"I": "32-bit whole numbers", "F": "32-bit floating-point numbers", "LAB": "LAB colours"}
EXTENSIONS = {extension: name for name, entry in FORMATS.items() for extension in entry.extensions}


def formats():
    """Pillow's names of the formats that this installation reads and writes."""
    known = {**features.modules, **features.codecs}
    return [
        name
        for name, entry in FORMATS.items()
        if entry.codec is None or (entry.codec in known and features.check(entry.codec))
    ]


def format_of(path, default=None):
    """Pillow's name of the format that a file name's extension stands for."""
    extension = Path(path).suffix.lower()
    name = EXTENSIONS.get(extension) or (None if extension else default)
    if name not in formats():
        known = [extension for extension, name in EXTENSIONS.items() if name in formats()]
        raise PictureError(f"cannot be written to {path}: the name must end in {', '.join(known)}")
    return name


def check_limits(name, size, frames=1):
    """Raise PictureError where files of a format cannot hold a result of this (width, height)."""
    entry = FORMATS[name]
    if max(size) > entry.max_side:
        raise PictureError(
            f"cannot be written as {name}, whose pictures have at most {entry.max_side} pixels a side: the result has "
            f"{size[0]} x {size[1]}; choose a smaller size or another format, such as --format png"
        )
    if entry.max_bytes and 4 * size[0] * size[1] > entry.max_bytes:
        raise PictureError(
            f"cannot be written as {name}, whose files have at most 4 GiB: the result has {size[0]} x {size[1]} "
            f"pixels; choose another format, such as --format tif"
        )
    if frames > 1 and entry.several == "no":
        raise PictureError(
            f"has {frames} frames or pages, and {name} files hold one; choose another format, such as --format "
            f"{'webp' if 'WEBP' in formats() else 'png'} for animations or --format tif for pages"
        )


def without_transparency(info):
    return {key: value for key, value in info.items() if key != "transparency"}


def is_deep_colour(pixels):
    """Whether pixels are an array of 16-bit colours, which no mode of Pillow holds."""
    return isinstance(pixels, np.ndarray)


def has_alpha(image):
    return image.mode in ("LA", "RGBA", "PA", "La", "RGBa") or "transparency" in image.info


def fitted(pixels, name):
    """(pixels that a format can hold, notes on what was lost).

    What is lost depends on the mode and `info` of the pixels alone, but for colours that are counted. Raises
    PictureError for pixels that are no colours, which the format does not hold.
    """
    notes = []
    deep = is_deep_colour(pixels)
    if deep or pixels.mode.startswith("I;16"):
        holders = ("PNG", "TIFF") if deep else ("PNG", "TIFF", "PPM")
        if name == "TIFF" and deep and not tiff.available():
            notes.append("its 16 bits became 8: 16-bit colours in TIFF files need the package tifffile")
        elif name in holders:
            return pixels, notes
        else:
            notes.append(f"its 16 bits became 8; {', '.join(holders[:-1])} and {holders[-1]} files can keep them")
        pixels = eight_bit(pixels)
    _check_colours(pixels, name)
    if has_alpha(pixels) and not FORMATS[name].alpha:
        notes.append(f"its transparency was composed on white, since {name} files have none")
        return _on_white(pixels), notes
    if name == "GIF" and pixels.mode not in ("1", "L", "P"):
        return to_palette(pixels)
    if pixels.mode not in _MODES.get(name, (pixels.mode,)):
        pixels = pixels.convert("RGBA" if has_alpha(pixels) else "RGB")
    return pixels, notes


def _check_colours(pixels, name):
    mode = pixels.mode
    if mode not in _NO_COLOURS or name == "TIFF":
        return
    if mode not in _MODES[name]:
        raise PictureError(
            f"cannot be written as {name}: its pixels are {_NO_COLOURS[mode]} (Pillow's mode {mode}), which TIFF files "
            f"keep; pass --format tif"
        )
    if mode == "I":
        lowest, highest = pixels.getextrema()
        if lowest < 0 or highest > 65535:
            raise PictureError(
                f"cannot be written as {name}, whose values are 0 to 65535: its own are {lowest} to {highest}; "
                f"pass --format tif"
            )


def holds_cmyk(name):
    """Whether files of a format have CMYK colours."""
    return "CMYK" in _MODES.get(name, ("CMYK",))


def cmyk_to_rgb(pixels, icc_profile):
    """(image of mode RGB, without a profile; a note): in sRGB by the ICC profile, by Pillow's formula without one."""
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(icc_profile or b""))
        rgb = ImageCms.profileToProfile(pixels, profile, ImageCms.createProfile("sRGB"), outputMode="RGB")
        how = "sRGB by its ICC profile"
    except (ImageCms.PyCMSError, OSError, ImportError):
        rgb = pixels.convert("RGB")
        how = "RGB without an ICC profile that says how, by a plain formula"
    rgb.info = {key: value for key, value in pixels.info.items() if key != "icc_profile"}
    return rgb, f"its CMYK colours became {how}; JPEG and TIFF files can keep them"


def eight_bit(pixels):
    """16-bit pixels rounded to 8 bits, as an image."""
    eight = to_image(((np.asarray(pixels).astype(np.uint32) + 128) // 257).astype(np.uint8))
    if not is_deep_colour(pixels):
        eight.info.update(pixels.info)
        if "transparency" in eight.info:
            eight.info["transparency"] = (eight.info["transparency"] + 128) // 257
    return eight


def _on_white(image):
    colours = image.convert("RGBA")
    composed = Image.alpha_composite(Image.new("RGBA", image.size, "white"), colours)
    composed = composed.convert("L" if image.mode in ("1", "L", "LA", "La") else "RGB")
    composed.info.update(without_transparency(image.info))
    return composed


def to_palette(image, *, reserve=False):
    """(image of mode P, notes on what was lost): exact where there are no more colours than a palette has.

    Alpha becomes one transparent entry of the palette; with `reserve`, that is there in any case.
    """
    notes = []
    info = without_transparency(image.info)
    transparent = None
    colours = image.convert("RGBA") if has_alpha(image) else image.convert("RGB")
    if colours.mode == "RGBA":
        alpha = np.asarray(colours.getchannel("A"))
        transparent = alpha < 128
        if np.any((alpha > 0) & (alpha < 255)):
            notes.append("its partial transparency became all or none, since GIF files have no more")
        colours = colours.convert("RGB")
    hides = transparent is not None and bool(transparent.any())
    room = 255 if hides or reserve else 256
    pixels = np.asarray(colours).astype(np.uint32)
    packed = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    if hides:
        packed[transparent] = packed[~transparent][0] if not transparent.all() else 0
    values, indices = _few_values(packed, room)
    if values is None:
        notes.append("its colours were reduced to 256, since GIF files have no more")
        if hides:
            colours = to_image(np.stack([packed >> shift & 255 for shift in (16, 8, 0)], -1).astype(np.uint8))
        result = colours.quantize(room, dither=Image.Dither.NONE)
        indices, palette = np.asarray(result), result.getpalette()
    else:
        palette = [int(value) >> shift & 255 for value in values for shift in (16, 8, 0)]
    if room == 255:
        transparent_index = len(palette) // 3
        indices = np.where(transparent, np.uint8(transparent_index), indices) if hides else indices
        palette += [0, 0, 0]
        info["transparency"] = transparent_index
    result = Image.frombytes("P", image.size, indices.astype(np.uint8).tobytes())
    result.putpalette(palette)
    result.info.update(info)
    return result, notes


def _few_values(packed, room):
    """(sorted values, index of each) of an array of at most `room` different values, else (None, None)."""
    # Most pictures with many colours show that in a part.
    if len(np.unique(packed.reshape(-1)[:65536])) > room:
        return None, None
    values = np.unique(packed)
    return (values, np.searchsorted(values, packed)) if len(values) <= room else (None, None)
