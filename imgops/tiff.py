"""TIFF files beyond Pillow's modes: 16-bit colours, and metadata.

The package tifffile, of the extra `files`, reads and writes these colours, with the codecs of imagecodecs.
"""

import functools
import importlib.util

import numpy as np
from PIL import Image, features

from .pillow import to_image

_BITS, _PHOTOMETRIC, _SAMPLE_FORMAT, _XMP = 258, 262, 339, 700
_SEPARATE, _PREMULTIPLIED = 2, 1
_ICC_PROFILE, _FIRST_PRIVATE = 34675, 32768
# Who, when, with what; the tags of EXIF and GPS. The others say how the pixels are laid out.
_KEPT_TAGS = (270, 271, 272, 305, 306, 315, 33432)
_KEPT_DIRECTORIES = (0x8769, 0x8825)


@functools.cache
def available():
    """Whether the package tifffile is installed, and imagecodecs, which it needs for some compressions."""
    return all(importlib.util.find_spec(name) is not None for name in ("tifffile", "imagecodecs"))


def kept_exif(exif):
    """The bytes of the tags of an Image.Exif that are no matter of layout, or None."""
    kept = Image.Exif()
    for tag in _KEPT_TAGS:
        if tag in exif:
            kept[tag] = exif[tag]
    for tag in _KEPT_DIRECTORIES:
        if exif.get_ifd(tag):
            kept[tag] = dict(exif.get_ifd(tag))
    return kept.tobytes() if len(kept) or has_directories(exif) else None


def has_directories(exif):
    """Whether an Image.Exif has directories of its own for EXIF or GPS."""
    return any(exif.get_ifd(tag) for tag in _KEPT_DIRECTORIES)


def writer_options(exif, xmp):
    """Pillow's options for a TIFF file with the tags of an EXIF block and with XMP, each bytes or None."""
    given, block = Image.Exif(), Image.Exif()
    if exif:
        given.load(exif)
        block.load(kept_exif(given) or b"")
    if xmp:
        block[_XMP] = xmp
    options = {"exif": block.tobytes()} if len(block) or has_directories(given) else {}
    # libtiff, as Pillow calls it, compresses but writes no directories.
    if features.check("libtiff") and not has_directories(given):
        options["compression"] = "tiff_adobe_deflate"
    return options


def check_strips(image):
    """Raise ValueError where the current page of an opened file has fewer strips or tiles than its size asks for."""
    tag = image.tag_v2
    width, height = tag[256], tag[257]
    if 324 in tag:
        found, expected = len(tag[324]), -(-width // tag[322]) * -(-height // tag[323])
    else:
        found, expected = len(tag[273]), -(-height // min(tag.get(278, height), height))
    expected *= tag.get(277, 1) if tag.get(284, 1) == 2 else 1
    if found < expected:
        raise ValueError(f"the TIFF file has {found} of the {expected} parts of its picture")


def other_tags(image):
    """The private tags of the current page of an opened file that are not kept, by number."""
    known = (*_KEPT_TAGS, *_KEPT_DIRECTORIES, _ICC_PROFILE)
    return [tag for tag in sorted(image.tag_v2) if tag >= _FIRST_PRIVATE and tag not in known]


def at_full_scale(image):
    """An opened file's current page of 16-bit grey with white at 65535: Pillow leaves 12 bits, and inverted ones."""
    tag = image.tag_v2
    bits, inverted = tag.get(_BITS, (16,))[0], tag.get(_PHOTOMETRIC) == 0
    if bits == 16 and not inverted:
        return image
    grey = np.asarray(image).astype(np.uint32)
    if bits < 16:
        grey = (grey * 65535 * 2 + 2**bits - 1) // (2 * (2**bits - 1))
    result = to_image((65535 - grey if inverted else grey).astype(np.uint16))
    result.info.update(image.info)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# 16-bit colours


def has_deep_colour(image):
    """Whether the current page of an opened TIFF file has RGB or RGBA of 16 bits, whole numbers."""
    tag = image.tag_v2
    return (
        image.mode in ("RGB", "RGBA")
        and set(tag.get(_BITS, ())) == {16}
        and tag.get(_PHOTOMETRIC) == 2
        and set(tag.get(_SAMPLE_FORMAT, (1,))) == {1}
    )


def read_deep(file, page, mode):
    """(H, W, 3) or (H, W, 4) of uint16: that page, which has_deep_colour, in the mode that Pillow has for it."""
    import tifffile

    file.seek(0)
    with tifffile.TiffFile(file) as opened:
        directory = opened.pages[page]
        pixels = directory.asarray()
    if directory.planarconfig == _SEPARATE:
        pixels = np.moveaxis(pixels, 0, -1)
    # What is no alpha is not read, as by Pillow.
    pixels = np.ascontiguousarray(pixels[..., : len(mode)], np.uint16)
    if mode == "RGBA" and directory.extrasamples[0] == _PREMULTIPLIED:
        alpha = np.maximum(pixels[..., 3:], 1).astype(np.float64)
        pixels[..., :3] = np.rint(np.minimum(pixels[..., :3] * (65535 / alpha), 65535))
    return pixels


def write_deep(file, pictures):
    """Write pages of 16-bit colours, each a Picture, with their metadata but for directories of EXIF and GPS."""
    import tifffile

    with tifffile.TiffWriter(file) as writer:
        for picture in pictures:
            pixels = picture.pixels
            if pixels.shape[2] == 2:
                # Hardly any reader, Pillow's neither, takes grey with alpha of 16 bits.
                pixels = pixels[..., [0, 0, 0, 1]]
            extra = ["unassalpha"] if pixels.shape[2] == 4 else None
            options = {"photometric": "rgb", "extrasamples": extra, "compression": "zlib", "predictor": True}
            writer.write(pixels, **options, **writer_metadata(picture))


def deep_notes(pictures):
    """What write_deep loses."""
    exifs = [_exif(picture) for picture in pictures]
    lost = any(has_directories(exif) for exif in exifs)
    return ["its EXIF details are left out: TIFF files of 16-bit colours keep camera, date and owner"] if lost else []


def _exif(picture):
    exif = Image.Exif()
    exif.load(picture.exif or b"")
    return exif


def writer_metadata(picture):
    """A Picture's metadata as options of tifffile's writer."""
    exif = _exif(picture)
    text = [(tag, 2, 0, str(exif[tag]), True) for tag in _KEPT_TAGS if tag in exif]
    if picture.xmp:
        text.append((_XMP, 1, len(picture.xmp), picture.xmp, True))
    return {
        "metadata": None,
        "software": False,
        "iccprofile": picture.icc_profile,
        "resolution": picture.dpi,
        "resolutionunit": "INCH" if picture.dpi else None,
        "extratags": text,
    }
