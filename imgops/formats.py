"""What each format of picture files can hold, and pictures made to fit.

Names are Pillow's.
"""

import functools
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageCms, features

from . import png, tiff
from .pillow import to_image

# What 16-bit colours need beside Pillow.
EXTRA = "the packages of imgops[files]"


class PictureError(Exception):
    """What is wrong with a picture file, without its name."""


@dataclass(frozen=True)
class Format:
    """What files of a format hold.

    Attributes
    ----------
    extensions : tuple of str
        The first is the usual one.
    modes : tuple of str
        Pillow's modes that come out of a file as they went in.
    keeps : tuple of str
        Attributes of a Picture; "comment" for a text that has no key.
    max_side : int
        Pixels.
    max_bytes : int or None
        Of the pixels, uncompressed.
    codec : str or None
        Pillow's name of the library without which it does not have the format.
    several : {"no", "animation", "pages"}
    quality : int or None
        Its number from 1 to 100 unless another one is asked for.
    """

    extensions: tuple
    modes: tuple
    keeps: tuple
    max_side: int
    max_bytes: int | None = None
    codec: str | None = None
    several: str = "no"
    quality: int | None = None

    @property
    def alpha(self):
        """Whether files hold partial transparency."""
        return "RGBA" in self.modes


_16_BIT = ("I;16", "I;16L", "I;16B", "I;16N")
_METADATA = ("icc_profile", "exif", "xmp", "dpi")
FORMATS = {
    "PNG": Format(
        (".png", ".apng"),
        ("1", "L", "LA", "P", "RGB", "RGBA", *_16_BIT),
        (*_METADATA, "text", "colour_chunks"),
        2**31 - 1,
        codec="zlib",
        several="animation",
    ),
    "JPEG": Format(
        (".jpg", ".jpeg", ".jpe", ".jfif"),
        ("L", "RGB", "CMYK", "YCbCr"),
        (*_METADATA, "comment"),
        65500,
        codec="jpg",
        quality=95,
    ),
    "TIFF": Format(
        (".tif", ".tiff"),
        ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "LAB", "I", "F", *_16_BIT),
        _METADATA,
        2**31 - 1,
        several="pages",
    ),
    "WEBP": Format((".webp",), ("RGB", "RGBA"), _METADATA, 16383, codec="webp", several="animation", quality=95),
    "AVIF": Format((".avif",), ("L", "RGB", "RGBA"), _METADATA, 65535, codec="avif", several="animation", quality=90),
    "GIF": Format((".gif",), ("1", "L", "P"), ("comment",), 65535, several="animation"),
    "BMP": Format((".bmp", ".dib"), ("1", "L", "P", "RGB"), ("dpi",), 2**31 - 1, max_bytes=2**32 - 2**10),
    "PPM": Format((".ppm", ".pgm", ".pnm"), ("1", "L", "RGB", "I", "F", "I;16"), (), 2**31 - 1),
    "TGA": Format((".tga",), ("1", "L", "LA", "P", "RGB", "RGBA"), (), 65535),
    "JPEG2000": Format((".jp2", ".jpx"), ("L", "LA", "RGB", "RGBA", "I;16"), ("comment",), 2**31 - 1, codec="jpg_2000"),
}
EXTENSIONS = {extension: name for name, entry in FORMATS.items() for extension in entry.extensions}
# Those left out run other programs, have no decoder of their own, or are known by hardly any sign.
_READ_ONLY = {
    "BLP": (".blp",),
    "CUR": (".cur",),
    "DCX": (".dcx",),
    "DDS": (".dds",),
    "DIB": (".dib",),
    "FITS": (".fits", ".fit"),
    "FLI": (".fli", ".flc"),
    "FTEX": (".ftc", ".ftu"),
    "GBR": (".gbr",),
    "ICNS": (".icns",),
    "ICO": (".ico",),
    "IM": (".im",),
    "MSP": (".msp",),
    "PCD": (".pcd",),
    "PCX": (".pcx",),
    "PIXAR": (".pxr",),
    "PSD": (".psd",),
    "QOI": (".qoi",),
    "SGI": (".sgi", ".rgb", ".rgba", ".bw"),
    "SUN": (".ras",),
    "XBM": (".xbm",),
    "XPM": (".xpm",),
}
# What no conversion of Pillow's makes colours of: it clips them, or says that it cannot.
_NO_COLOURS = {"I": "32-bit whole numbers", "F": "32-bit floating-point numbers", "LAB": "LAB colours"}
_GREYS = ("1", "L", "LA", "La", *_16_BIT)


def formats():
    """Pillow's names of the formats that this installation reads and writes."""
    known = {**features.modules, **features.codecs}
    return [
        name
        for name, entry in FORMATS.items()
        if entry.codec is None or (entry.codec in known and features.check(entry.codec))
    ]


def readable():
    """Pillow's names of the formats that this installation reads."""
    Image.init()
    return formats() + [name for name in _READ_ONLY if name in Image.OPEN]


def readable_extensions():
    """The file name extensions of pictures that can be read."""
    return {*EXTENSIONS, *(extension for extensions in _READ_ONLY.values() for extension in extensions)}


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
    return image.has_transparency_data


def check_mode(name, mode):
    """Raise PictureError where files of a format cannot hold the numbers of a mode, which are no colours."""
    if mode in _NO_COLOURS and mode not in FORMATS[name].modes:
        raise PictureError(
            f"cannot be written as {name}: its pixels are {_NO_COLOURS[mode]} (Pillow's mode {mode}), which TIFF files "
            f"keep; pass --format tif"
        )


def fitted(pixels, name, icc_profile=None):
    """(pixels that a format can hold, their ICC profile, notes on what was lost).

    A profile that the format cannot hold for these pixels is None, and they are of sRGB if there is a way. Raises
    PictureError for pixels that are no colours, which the format does not hold.
    """
    notes = []
    if not is_deep_colour(pixels):
        check_mode(name, pixels.mode)
        _check_range(pixels, name)
        # Pillow converts La to nothing else.
        pixels = _without_key(pixels.convert("LA") if pixels.mode == "La" else pixels, name)
    pixels, depth_notes = _of_depth(pixels, name)
    if is_deep_colour(pixels) or pixels.mode in _16_BIT:
        if _suits(icc_profile, pixels, name):
            return pixels, icc_profile, depth_notes
        return pixels, None, [*depth_notes, _no_profile(name)]
    pixels, icc_profile, notes = by_profile(pixels, name, icc_profile)
    notes = depth_notes + notes
    if has_alpha(pixels) and name != "GIF" and not FORMATS[name].alpha:
        notes.append(f"its transparency was composed on white, since {name} files have none")
        pixels = _on_white(pixels)
    if name == "GIF" and (pixels.mode not in FORMATS[name].modes or _has_several_alphas(pixels)):
        pixels, palette_notes = to_palette(pixels)
        return pixels, icc_profile, notes + palette_notes
    mode = _held_mode(pixels, name)
    return pixels if pixels.mode == mode else pixels.convert(mode), icc_profile, notes


def _held_mode(pixels, name):
    """The mode, one of a format's, that holds all of an image."""
    modes, alpha = FORMATS[name].modes, has_alpha(pixels)
    if pixels.mode in modes:
        return pixels.mode
    grey = "LA" if alpha else "L"
    return grey if pixels.mode in _GREYS and grey in modes else "RGBA" if alpha else "RGB"


def _check_range(pixels, name):
    if pixels.mode == "I" and name != "TIFF":
        lowest, highest = pixels.getextrema()
        if lowest < 0 or highest > 65535:
            raise PictureError(
                f"cannot be written as {name}, whose values are 0 to 65535: its own are {lowest} to {highest}; "
                f"pass --format tif"
            )


def _has_several_alphas(pixels):
    key = pixels.info.get("transparency")
    if key is None:
        return pixels.mode == "P" and has_alpha(pixels)
    return not isinstance(key, int)


def _without_key(pixels, name):
    """An image whose transparent colour, or palette with alpha, is a channel of alpha where a format has neither."""
    key = pixels.info.get("transparency")
    if key is None and not (pixels.mode == "P" and has_alpha(pixels)):
        return pixels
    if name == "PNG" or (name == "GIF" and pixels.mode == "P"):
        return pixels
    if pixels.mode in _16_BIT:
        grey = np.asarray(pixels).astype(np.uint16)
        return np.stack([grey, np.where(grey == key, 0, 65535).astype(np.uint16)], axis=-1)
    if pixels.mode not in ("1", "L", "P", "RGB"):
        return pixels
    colours = pixels.convert("LA" if pixels.mode in ("1", "L") else "RGBA")
    colours.info = without_transparency(pixels.info)
    return colours


def _of_depth(pixels, name):
    """(pixels of as many bits as a format holds, notes)."""
    deep = is_deep_colour(pixels)
    if not deep and (pixels.mode not in _16_BIT or pixels.mode in FORMATS[name].modes):
        return pixels, []
    if not deep and "I;16" in FORMATS[name].modes:
        native = to_image(np.asarray(pixels).astype(np.uint16))
        native.info.update(pixels.info)
        return native, []
    if deep and name in ("PNG", "TIFF"):
        if deep_colours_are_written(name):
            return pixels, []
        return eight_bit(pixels), [f"its 16 bits became 8: 16-bit colours in {name} files need {EXTRA}"]
    holders = ("PNG", "TIFF") if deep else ("PNG", "TIFF", "JPEG2000", "PPM")
    return eight_bit(pixels), [f"its 16 bits became 8; {', '.join(holders[:-1])} and {holders[-1]} files can keep them"]


def deep_colours_are_written(name):
    """Whether the packages are there that write 16-bit colours to files of a format, PNG or TIFF."""
    return (png if name == "PNG" else tiff).available()


# ---------------------------------------------------------------------------------------------------------------------
# Colours by ICC profiles


def by_profile(pixels, name, icc_profile):
    """(pixels, their profile, notes): in sRGB where a format does not hold CMYK, or the profile."""
    if pixels.mode == "CMYK" and "CMYK" not in FORMATS[name].modes:
        rgb = in_srgb(pixels, icc_profile)
        how = "sRGB by its ICC profile" if rgb else "RGB without an ICC profile that says how, by a plain formula"
        if rgb is None:
            rgb = pixels.convert("RGB")
        rgb.info = _without_profile(pixels.info)
        return rgb, None, [f"its CMYK colours became {how}; JPEG and TIFF files can keep them"]
    if _suits(icc_profile, pixels, name):
        return pixels, icc_profile, []
    rgb = None if _is_srgb(icc_profile) else in_srgb(pixels, icc_profile)
    if rgb is None:
        return pixels, None, [_no_profile(name)]
    return rgb, None, [f"its colours became sRGB by its ICC profile, which {name} files do not hold for them"]


def _suits(icc_profile, pixels, name):
    """Whether a format's files hold a profile for these pixels: one of grey is for grey pixels alone."""
    if not icc_profile:
        return True
    if "icc_profile" not in FORMATS[name].keeps:
        return False
    if icc_profile[16:20] != b"GRAY":
        return True
    if is_deep_colour(pixels):
        return name == "PNG" and pixels.shape[2] == 2
    return _held_mode(pixels, name) in _GREYS


@functools.lru_cache(maxsize=8)
def _is_srgb(icc_profile):
    """Whether colours are the same by a profile as by sRGB, but for rounding."""
    steps = np.rint(np.linspace(0, 255, 9)).astype(np.uint8)
    colours = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(27, 27, 3)
    image = to_image(colours[..., 0] if icc_profile[16:20] == b"GRAY" else colours)
    rgb = in_srgb(image, icc_profile)
    return rgb is not None and np.abs(np.asarray(rgb).astype(int) - np.asarray(image.convert("RGB"))).max() <= 1


def in_srgb(pixels, icc_profile):
    """An image of mode RGB or RGBA in sRGB, by an ICC profile; None where there is no way."""
    try:
        profile = ImageCms.ImageCmsProfile(io.BytesIO(icc_profile or b""))
        mode = {"RGB": "RGB", "GRAY": "L", "CMYK": "CMYK"}[profile.profile.xcolor_space.strip()]
        if (mode == "CMYK") != (pixels.mode == "CMYK") or (mode == "L" and pixels.mode not in _GREYS):
            return None
        colours = pixels if pixels.mode == mode else pixels.convert(mode)
        rgb = ImageCms.profileToProfile(colours, profile, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ImportError, KeyError, ValueError):
        return None
    if has_alpha(pixels):
        rgb.putalpha(pixels.convert("RGBA").getchannel("A"))
    rgb.info = without_transparency(_without_profile(pixels.info))
    return rgb


def _no_profile(name):
    return f"its ICC profile is left out, since {name} files hold none for such pixels"


def _without_profile(info):
    return {key: value for key, value in info.items() if key != "icc_profile"}


# ---------------------------------------------------------------------------------------------------------------------
# Depth, alpha, palettes


def eight_bit(pixels):
    """16-bit pixels rounded to 8 bits, as an image."""
    eight = to_image(((np.asarray(pixels).astype(np.uint32) + 128) // 257).astype(np.uint8))
    if not is_deep_colour(pixels):
        eight.info.update(pixels.info)
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
