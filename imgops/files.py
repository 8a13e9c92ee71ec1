"""Picture files: read upright and whole, written all or nothing, with their metadata.

A file that cannot be read or written raises PictureError, whose message follows the file's name in a line.
"""

import contextlib
import io
import logging
import math
import os
import re
import stat
import struct
import tempfile
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from PIL import Image, PngImagePlugin, TiffImagePlugin

from . import animations, atomic, depths, memory, png, tiff
from .formats import (
    EXTRA,
    FORMATS,
    PictureError,
    by_profile,
    check_limits,
    eight_bit,
    fitted,
    format_of,
    has_alpha,
    is_deep_colour,
    readable,
    to_palette,
    without_transparency,
)
from .pillow import to_image

# What these say of a damaged file comes as an error or a warning too, in one line.
for _name in ("PIL", "tifffile"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

_ORIENTATION, _X_RESOLUTION, _Y_RESOLUTION, _RESOLUTION_UNIT = 0x0112, 282, 283, 296
_UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_GIF_BACKGROUND = 2
_ANIMATIONS, _PAGES = ("GIF", "PNG", "WEBP", "AVIF", "FLI"), ("TIFF", "DCX")
_TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_TIFF_TAGS = {"dpi": 282, "xmp": 700, "icc_profile": 34675}


@dataclass
class Picture:
    """A picture and what its file says about it.

    Attributes
    ----------
    pixels : PIL.Image.Image or ndarray
        Upright. (H, W, C) of uint16 for PNG and TIFF files whose colours have 16 bits, grey with alpha, RGB or RGBA.
    format : str
        Pillow's name of the file's format.
    icc_profile, exif, xmp : bytes or None
        As in the file, but for an orientation of 1.
    dpi : (float, float) or None
        Horizontal, vertical.
    text : dict
        Key to text, as PNG has it; the comment of other formats is that of the key "Comment".
    colour_chunks : list of (bytes, bytes)
        PNG's chunks of gamma, primaries and rendering intent.
    notes : list of str
        What the reader of a file should know of.
    lossless : bool
        Whether the file is a WebP file without loss.
    duration : float or None
        Milliseconds that a frame of an animation is seen; None for a page, and for PNG's still picture before an
        animation.
    clears : bool
        Whether the picture is cleared when the frame's time is over.
    loop : int or None
        How often an animation is played, 0 without end, in the file's own counting; None for once.
    more : list of Picture
        The further frames, or the further pages of a TIFF file.
    """

    pixels: object
    format: str
    icc_profile: bytes | None = None
    exif: bytes | None = None
    xmp: bytes | None = None
    dpi: tuple | None = None
    text: dict = field(default_factory=dict)
    colour_chunks: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    lossless: bool = False
    duration: float | None = None
    clears: bool = False
    loop: int | None = None
    more: list = field(default_factory=list)

    @property
    def size(self):
        """(width, height)."""
        return self.pixels.shape[1::-1] if is_deep_colour(self.pixels) else self.pixels.size

    @property
    def mode(self):
        """Pillow's name of the mode of the pixels; None for 16-bit colours, which have none."""
        return None if is_deep_colour(self.pixels) else self.pixels.mode

    @property
    def frames(self):
        """Itself and the further frames or pages."""
        return [self, *self.more]


# ---------------------------------------------------------------------------------------------------------------------
# Reading


@dataclass(frozen=True)
class Header:
    """What a file says of its picture before it is decoded: of the first frame, and upright."""

    format: str
    size: tuple
    frames: int
    mode: str
    pixel_bytes: int


def probe(path):
    """The Header of a file, without decoding it. Raises PictureError as `read` does."""
    with _reading(path) as file:
        if not file.read(1):
            raise PictureError("is empty")
        file.seek(0)
        with Image.open(file, formats=readable()) as image:
            # To look for EXIF behind the pixels, Pillow decodes them.
            told = image.format != "PNG" or png.has_exif(file)
            turned = told and image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)
            size = image.size[::-1] if turned else image.size
            return Header(_format(image), size, _frame_count(image), _header_mode(image), _pixel_bytes(image))


def read(path):
    """The Picture in a file, turned upright.

    Raises
    ------
    PictureError
        For a file that is missing, is no picture, is damaged or cut short, or passes Pillow's limit of pixels.
    """
    with _reading(path) as file, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if file.read(4) in _TIFF_STARTS:
            file.seek(0)
            picture = _decode_tiff(file)
        else:
            file.seek(0)
            picture = _decode(file)
    picture.notes += dict.fromkeys(str(warning.message) for warning in caught)
    return picture


def read_metadata(path):
    """The Picture in a file, without its pixels."""
    with _reading(path) as file, Image.open(file, formats=readable()) as image:
        return _with_metadata(image, None)


@contextlib.contextmanager
def _reading(path):
    with _open(path) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Decoders raise errors of many kinds for damaged data; every one of them means the same here.
        try:
            yield file
        except (PictureError, MemoryError):
            raise
        except png.PngError as error:
            raise PictureError(str(error)) from error
        except Image.UnidentifiedImageError as error:
            raise PictureError(
                "is not a picture of a format that can be read (imgops info lists them), or is damaged"
            ) from error
        except Image.DecompressionBombError as error:
            raise PictureError(
                f"is refused: its header claims more than {2 * Image.MAX_IMAGE_PIXELS} pixels, Pillow's limit against "
                f"decompression bombs; --no-pixel-limit lifts it"
            ) from error
        except Exception as error:
            raise PictureError(f"is damaged: {error or type(error).__name__}") from error


def _decode_tiff(file):
    """As `_decode`, with what libtiff prints, on the process's stderr, as part of the error, or else as notes."""
    said = []
    try:
        with _stderr_lines(said):
            picture = _decode(file)
    except OSError as error:
        raise PictureError(f"is damaged: {'; '.join(said) or error}") from error
    picture.notes += dict.fromkeys(said)
    return picture


@contextlib.contextmanager
def _stderr_lines(lines):
    """Lines that C libraries print to stderr in this block go into a list."""
    try:
        saved = os.dup(2)
    except OSError:
        yield
        return
    with tempfile.TemporaryFile() as capture:
        os.dup2(capture.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            capture.seek(0)
            lines += capture.read().decode(errors="replace").split("\n")
            lines[:] = [line.strip() for line in lines if line.strip()]


@contextlib.contextmanager
def pixel_limit(limit):
    """Pillow's limit against decompression bombs in this block, None for none."""
    before = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = limit
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS = before


def _open(path):
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            return open(path, "rb")
    except (OSError, ValueError) as error:
        raise PictureError(f"cannot be read: {_reason(error)}") from error
    raise PictureError(f"cannot be read: it is {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}")


def _reason(error):
    system = getattr(error, "strerror", None)
    return system.lower() if system else str(error) or type(error).__name__


def _format(image):
    return "JPEG" if image.format == "MPO" else image.format


def _header_mode(image):
    return "I;16" if image.format == "PPM" and image.mode == "I" else image.mode


def _pixel_bytes(image):
    """Bytes of memory that a pixel takes."""
    if image.mode.startswith("I;16"):
        return 2
    if image.mode in ("1", "L"):
        return 1
    return 8 if ";16" in str(getattr(image, "tile", "")) else 4


def _frame_count(image):
    return getattr(image, "n_frames", 1) if image.format in (*_ANIMATIONS, *_PAGES) else 1


def _further_pictures(image):
    """How many previews, layers, sizes or gain maps are in an opened file, beside the picture that is read."""
    pictures = max(getattr(image, "n_frames", 1), len(image.info.get("sizes", ())))
    return pictures - 1 if _frame_count(image) == 1 else 0


def _decode(file):
    header = None
    start = file.read(len(png.SIGNATURE))
    if not start:
        raise PictureError("is empty")
    if start == png.SIGNATURE:
        header = png.inspect(file)
    file.seek(0)
    with Image.open(file, formats=readable()) as image:
        if header:
            png.check_data(file, header)
        count = _frame_count(image)
        if count == 1:
            picture = _picture(file, image, header)
        else:
            pictures = [_frame(file, image, index, header if index == 0 else None) for index in range(count)]
            picture = pictures[0]
            picture.more = pictures[1:]
            picture.notes = list(dict.fromkeys(note for frame in pictures for note in frame.notes))
        # AVIF files are played without end, unless they say otherwise in a place that Pillow does not read.
        picture.loop = image.info.get("loop", 0 if image.format == "AVIF" else None)
        if further := _further_pictures(image):
            picture.notes.append(
                f"the further pictures in its file are left out ({further}): previews, gain maps, layers or sizes"
            )
        if picture.format == "PNG" and image.info.get("default_image"):
            picture.duration = None
    if picture.format == "WEBP":
        file.seek(0)
        picture.lossless = _is_lossless(file.read())
    if picture.format == "GIF" and picture.more and not _ends_with(file, b";"):
        picture.notes.append("the GIF file ends without its end marker: frames may be missing")
    return picture


def _picture(file, image, header, page=0):
    """The current page of an opened file."""
    if image.format == "TIFF":
        tiff.check_strips(image)
    narrowing = depths.narrowing(file, image)
    image.load()
    if image.mode == "P" and image.palette is None:
        raise PictureError("is damaged: it has no palette for its colours")
    picture = _with_metadata(image, header)
    is_tiff = image.format == "TIFF"
    deep = tiff.has_deep_colour(image) if is_tiff else header and header.has_deep_colour
    if deep and (tiff if is_tiff else png).available():
        # What libpng prints of a file that it reads well.
        with _stderr_lines([]):
            picture.pixels = tiff.read_deep(file, page, image.mode) if is_tiff else png.read_deep(file)
    else:
        picture.pixels = _pixels(image, header)
        picture.notes += [f"{note}: {EXTRA} read more" if deep else note for note in narrowing]
    return _turn_upright(picture, image.getexif().get(_ORIENTATION, 1))


def _frame(file, image, index, header):
    image.seek(index)
    if image.format in _PAGES:
        return _picture(file, image, None, index)
    narrowing = depths.narrowing(file, image) if index == 0 else []
    image.load()
    picture = _with_metadata(image, header)
    # The frames of an animation are drawn over each other, by Pillow, in 8 bits.
    picture.notes += [f"{note}, since it is animated" if "bit" in note else note for note in narrowing]
    if image.mode.startswith("I;16"):
        picture.notes.append("its 16-bit colours are read as 8-bit, since it is animated")
    # A palette's transparency is one of the frame's own, so that palettes become colours.
    colours = "RGBA" if has_alpha(image) else "RGB" if image.mode == "P" else image.mode
    picture.pixels = image.convert(colours) if image.mode != colours else image.copy()
    picture.pixels.info = without_transparency(picture.pixels.info)
    if picture.pixels.mode.startswith("I;16"):
        picture.pixels = eight_bit(picture.pixels)
    picture.duration = float(image.info.get("duration", 0))
    if image.format == "GIF":
        picture.clears = image.disposal_method == _GIF_BACKGROUND
    elif image.format == "PNG":
        picture.clears = image.info.get("disposal") == PngImagePlugin.Disposal.OP_BACKGROUND
    return _turn_upright(picture, image.getexif().get(_ORIENTATION, 1))


def _is_lossless(data):
    frames = [content[16:20] for name, content in animations.riff_chunks(data) if name == b"ANMF"]
    names = frames or [name for name, _ in animations.riff_chunks(data)]
    return b"VP8L" in names and b"VP8 " not in names


def _ends_with(file, end):
    file.seek(0, os.SEEK_END)
    file.seek(max(0, file.tell() - 64))
    return file.read().rstrip(b"\0").endswith(end)


def _with_metadata(image, header):
    info = image.info
    if image.format == "TIFF":
        # Pillow's info still has what an earlier page said.
        info = {key: value for key, value in info.items() if key not in _TIFF_TAGS or _TIFF_TAGS[key] in image.tag_v2}
    exif = tiff.kept_exif(image.getexif()) if image.format == "TIFF" else info.get("exif")
    dpi = info.get("dpi") or _exif_dpi(exif)
    picture = Picture(
        pixels=None,
        format=_format(image),
        icc_profile=info.get("icc_profile"),
        exif=exif,
        xmp=info.get("xmp"),
        dpi=tuple(float(value) for value in dpi) if dpi and all(dpi) else None,
        colour_chunks=header.colour_chunks if header else [],
    )
    if header:
        picture.text = dict(image.text)
        # An EXIF block in an older tool's text chunk moves to the chunk of its own.
        if picture.text.pop("Raw profile type exif", None) and picture.exif is None:
            picture.exif = image.getexif().tobytes()
    elif info.get("comment"):
        picture.text = {"Comment": _decoded(info["comment"])}
    picture.notes += _unread_metadata(image)
    return picture


def _decoded(comment):
    if isinstance(comment, str):
        return comment
    try:
        return comment.decode()
    except UnicodeDecodeError:
        return comment.decode("latin-1")


def _unread_metadata(image):
    """Notes on metadata that no format keeps."""
    notes = []
    if image.info.get("photoshop"):
        notes.append("its IPTC or Photoshop data are left out")
    tags = tiff.other_tags(image) if image.format == "TIFF" else []
    if tags:
        notes.append(f"its TIFF tags {', '.join(map(str, tags))} are left out")
    return notes


def _exif_dpi(exif):
    """(horizontal, vertical) dots per inch that an EXIF block tells, or None."""
    block = _exif(exif)
    units = {2: 1, 3: 2.54}.get(block.get(_RESOLUTION_UNIT, 2))
    with contextlib.suppress(TypeError, ValueError, ZeroDivisionError, OverflowError):
        dpi = tuple(float(block[tag]) * units for tag in (_X_RESOLUTION, _Y_RESOLUTION) if tag in block)
        return dpi if len(dpi) == 2 and all(0 < value < math.inf for value in dpi) else None
    return None


def _exif(block):
    exif = Image.Exif()
    # Others' blocks are damaged in many ways, and are kept as they are.
    with contextlib.suppress(Exception):
        exif.load(block or b"")
    return exif


def _pixels(image, header):
    if header and image.mode in ("L", "RGB") and "transparency" in image.info:
        image.info["transparency"] = _transparent_colour(image.info["transparency"], header.depth)
    if image.format == "PPM" and image.mode == "I":
        # Pillow's mode for their 16 bits; one of no more bits tells other formats what full scale is.
        grey = to_image(np.asarray(image).astype(np.uint16))
        grey.info.update(image.info)
        return grey
    if image.format == "TIFF" and image.mode.startswith("I;16"):
        image = tiff.at_full_scale(image)
    # A page of several is overwritten by the next; the only picture of a file is not worth a second copy.
    return image.copy() if getattr(image, "n_frames", 1) > 1 else image


def _transparent_colour(value, depth):
    """A PNG file's transparent colour as one of 8 bits.

    Only the lowest bits of the file's 16 count (PNG specification, 11.3.2.1). Pillow leaves the others, and scales the
    grey values of 2 and 4 bits to 8 but not the transparent one.
    """
    highest = 2**depth - 1
    if depth == 16:
        # Of RGB whose high bytes alone are read.
        return tuple(part >> 8 for part in value) if isinstance(value, tuple) else value
    if isinstance(value, tuple):
        return tuple(part & highest for part in value)
    return (value & highest) * (255 // highest)


def _turn_upright(picture, orientation):
    method = _UPRIGHT.get(orientation)
    if method is not None:
        picture.pixels = _transposed(picture.pixels, method)
        if picture.dpi and orientation > 4:
            picture.dpi = picture.dpi[::-1]
    if orientation != 1:
        picture.exif = picture.exif and _upright_exif(picture.exif)
        picture.xmp = picture.xmp and _upright_xmp(picture.xmp)
        picture.text = {key: _upright_xmp(value) if "xmp" in key else value for key, value in picture.text.items()}
    return picture


def _transposed(pixels, method):
    if isinstance(pixels, np.ndarray):
        # Pillow turns one channel at a time: its modes of 16 bits have only one.
        turned = [to_image(pixels[..., channel]).transpose(method) for channel in range(pixels.shape[2])]
        return np.stack([np.asarray(channel, np.uint16) for channel in turned], axis=-1)
    turned = pixels.transpose(method)
    turned.info.update(pixels.info)
    return turned


def _upright_exif(exif):
    """The EXIF block with an orientation of 1 and every other byte as it was."""
    start = 6 if exif.startswith(b"Exif\0\0") else 0
    order = {b"II": "<", b"MM": ">"}.get(exif[start : start + 2])
    patched = bytearray(exif)
    with contextlib.suppress(struct.error, TypeError):
        (directory,) = struct.unpack_from(order + "I", exif, start + 4)
        (entries,) = struct.unpack_from(order + "H", exif, start + directory)
        for entry in range(start + directory + 2, start + directory + 2 + 12 * entries, 12):
            if struct.unpack_from(order + "H", exif, entry)[0] == _ORIENTATION:
                struct.pack_into(order + "HIHH", patched, entry + 2, 3, 1, 1, 0)
    return bytes(patched)


def _upright_xmp(xmp):
    pattern, one = r"(tiff:Orientation(?:=[\"']|>))\d", r"\g<1>1"
    if isinstance(xmp, bytes):
        return re.sub(pattern.encode(), one.encode(), xmp)
    upright = re.sub(pattern, one, xmp)
    return PngImagePlugin.iTXt(upright, xmp.lang, xmp.tkey) if isinstance(xmp, PngImagePlugin.iTXt) else upright


# ---------------------------------------------------------------------------------------------------------------------
# Writing


def check_target(target, *, sources=frozenset(), overwrite=False):
    """Raise PictureError where `write` could not write, or would write over a source; before any work is done.

    `sources` holds the `identity` of the files that must stay.
    """
    if not os.fspath(target):
        raise PictureError("cannot be written: the path of the target is empty; name a file")
    target = Path(target)
    try:
        if not target.parent.is_dir():
            raise PictureError(f"cannot be written to {target}: {target.parent} is no existing folder; make it first")
        if not os.access(target.parent, os.W_OK):
            raise PictureError(f"cannot be written to {target}: no permission to write in {target.parent}")
        if not target.exists():
            return
        if identity(target) in sources:
            raise PictureError(f"cannot be written to {target}: that is a source of this call; name another target")
        if not target.is_file():
            raise PictureError(f"cannot be written to {target}: it is a folder or no regular file")
    except (OSError, ValueError) as error:
        raise PictureError(f"cannot be written to {target}: {_reason(error)}") from error
    if not overwrite:
        raise _exists(target)


def identity(path):
    """What two names of one file have in common, or None where there is no file."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return None
    return facts.st_dev, facts.st_ino


def _exists(target):
    return PictureError(
        f"cannot be written to {target}: it exists already; pass --overwrite to replace it, or --skip-existing"
    )


def write(picture, target, *, overwrite=False, quality=None, strict=False):
    """Write a Picture; the target appears whole or not at all. Returns notes on what the format could not hold.

    Raises
    ------
    PictureError
        For a target that exists, unless `overwrite`, one that cannot be written, pixels that the format cannot hold,
        and with `strict` for anything that would be a note.
    """
    check_target(target, overwrite=overwrite)
    name = format_of(target, picture.format)
    check_limits(name, tuple(map(max, zip(*(frame.size for frame in picture.frames), strict=True))))
    check_frames(picture, name)
    try:
        # What Pillow warns of here was a note when the file was read.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            save, notes = _prepared(picture, name, quality)
            if strict and notes:
                raise strict_error(notes)
            with atomic.replacing(target, overwrite=overwrite) as file:
                save(file)
    except FileExistsError as error:
        raise _exists(target) from error
    except (OSError, ValueError, KeyError, RuntimeError, struct.error) as error:
        raise PictureError(f"cannot be written to {target}: {_reason(error)}") from error
    return notes


def strict_error(notes):
    return PictureError(f"is not written, as --strict asks: {'; '.join(notes)}")


def check_frames(picture, name):
    """Raise PictureError where files of a format cannot hold a picture's frames or pages."""
    several = FORMATS[name].several
    kind = "animation" if picture.more and any(frame.duration is not None for frame in picture.frames) else "pages"
    check_limits(name, (1, 1), len(picture.frames))
    if picture.more and several != kind:
        raise PictureError(
            f"has {len(picture.frames)} {'frames' if kind == 'animation' else 'pages'}, which {name} files cannot "
            f"hold; choose another format, such as --format {'gif' if kind == 'animation' else 'tif'}"
        )


def _prepared(picture, name, quality):
    """(function that writes into a file, notes on what is lost)."""
    if not picture.more:
        return _prepared_still(picture, name, quality)
    if FORMATS[name].several == "pages":
        return _prepared_pages(picture, quality)
    return _prepared_animation(picture, name, quality)


def _prepared_still(picture, name, quality):
    pixels, icc_profile, notes = fitted(picture.pixels, name, picture.icc_profile)
    notes += metadata_notes(picture, name)
    picture = replace(picture, pixels=pixels, icc_profile=icc_profile)
    options = _options(picture, name, quality)
    if not is_deep_colour(pixels):
        return lambda file: pixels.save(file, name, **options), notes
    if name == "TIFF":
        return lambda file: tiff.write_deep(file, [picture]), notes + tiff.deep_notes([picture])

    def save_png(file):
        template = io.BytesIO()
        Image.new("L", (1, 1)).save(template, "PNG", **options)
        png.write_deep(file, pixels, template.getvalue())

    return save_png, notes


def _prepared_pages(picture, quality):
    pages, notes = [], []
    for page in picture.frames:
        pixels, icc_profile, page_notes = fitted(page.pixels, "TIFF", page.icc_profile)
        notes += [*page_notes, *metadata_notes(page, "TIFF")]
        pages.append(replace(page, pixels=pixels, icc_profile=icc_profile, more=[]))
    deep = [is_deep_colour(page.pixels) for page in pages]
    if all(deep):
        return lambda file: tiff.write_deep(file, pages), list(dict.fromkeys(notes + tiff.deep_notes(pages)))
    if any(deep):
        # One file is written by one library, and Pillow has no 16-bit colours.
        notes.append("its 16 bits became 8: TIFF files hold pages of 16-bit colours, or others, but not both")
        for page in pages:
            page.pixels = eight_bit(page.pixels) if is_deep_colour(page.pixels) else page.pixels

    def save(file):
        with TiffImagePlugin.AppendingTiffWriter(file) as writer:
            for page in pages:
                page.pixels.save(writer, "TIFF", **_options(page, "TIFF", quality))
                writer.newFrame()

    return save, list(dict.fromkeys(notes))


def _prepared_animation(picture, name, quality):
    still = picture if picture.duration is None else None
    shown, icc_profile, notes = by_profile(picture.pixels, name, picture.icc_profile)
    notes += metadata_notes(picture, name)
    frames = picture.more if still else picture.frames
    coloured = [by_profile(frame.pixels, name, picture.icc_profile)[0] for frame in frames]
    images, image_notes = _animation_images(coloured, name)
    notes += image_notes + _timing_notes(picture, frames, name)
    if still and name != "PNG":
        notes.append(f"its still picture is left out, since {name} files have none beside an animation")
    options = _options(replace(picture, icc_profile=icc_profile), name, quality)
    if name == "AVIF":
        durations = [round(frame.duration) for frame in frames]
        options |= {"save_all": True, "append_images": images[1:], "duration": durations}
        return lambda file: images[0].save(file, name, **options), notes
    placed = [
        animations.Frame(image, frame.duration, frame.clears) for image, frame in zip(images, frames, strict=True)
    ]
    loop = _loop(picture, name)
    if name == "GIF":
        return lambda file: animations.write_gif(file, placed, loop, _comment(picture)), notes
    if name == "WEBP":
        return lambda file: animations.write_webp(file, placed, loop, **options), notes
    shown = shown.convert(images[0].mode) if still else None
    return lambda file: animations.write_png(file, placed, loop, shown, **options), notes


def _timing_notes(picture, frames, name):
    notes = []
    if name == "GIF" and any(frame.duration % 10 for frame in frames):
        notes.append("its durations became hundredths of a second, since GIF files have no shorter ones")
    if name in ("WEBP", "AVIF") and any(frame.duration % 1 for frame in frames):
        notes.append(f"its durations became whole milliseconds, since {name} files have no others")
    if name == "AVIF" and _loop(picture, name) != 0:
        notes.append("it will be played without end: how often is left out, since Pillow does not write that to AVIF")
    return notes


def _animation_images(images, name):
    """(images of one mode that the format's frames can have, notes on what was lost)."""
    transparent = any(has_alpha(image) for image in images)
    if name == "GIF":
        pairs = [to_palette(image, reserve=transparent) for image in images]
        return [image for image, _ in pairs], list(dict.fromkeys(note for _, notes in pairs for note in notes))
    modes = {image.mode for image in images}
    mode = "RGBA" if transparent else "RGB"
    if name == "PNG" and len(modes) == 1 and modes <= {"1", "L", "LA", "RGB", "RGBA"}:
        (mode,) = modes
    return [image if image.mode == mode else image.convert(mode) for image in images], []


def _loop(picture, name):
    """The loop count as a format counts: GIF files without one are played once, which is the others' 1."""
    if picture.format == name:
        return picture.loop
    if name == "GIF":
        return None if picture.loop == 1 else picture.loop
    return 1 if picture.loop is None else picture.loop


def _options(picture, name, quality=None):
    """What Pillow's writer of a format is to be told."""
    kept = _kept(picture, name)
    options = {key: kept[key] for key in ("icc_profile", "dpi", "exif", "xmp") if key in kept}
    if "icc_profile" in FORMATS[name].keeps:
        # Without one, Pillow takes that of the image's info.
        options.setdefault("icc_profile", b"")
    if name == "WEBP" and picture.lossless and quality is None:
        options["lossless"] = True
    elif FORMATS[name].quality:
        options["quality"] = FORMATS[name].quality if quality is None else quality
    if name == "PNG":
        options.pop("xmp", None)
        options["pnginfo"] = _png_info(picture)
    if name in ("WEBP", "AVIF"):
        dpi = options.pop("dpi", None)
        if dpi and not picture.exif:
            options["exif"] = _dpi_exif(dpi)
    if name == "TIFF":
        options |= tiff.writer_options(options.pop("exif", None), options.pop("xmp", None))
        options["big_tiff"] = math.prod(picture.size) * 4 > 2**31 or None
    if "comment" in FORMATS[name].keeps:
        options["comment"] = kept.get("comment", b"")
    return {key: value for key, value in options.items() if value is not None}


def _dpi_exif(dpi):
    exif = Image.Exif()
    for tag, value in ((_X_RESOLUTION, dpi[0]), (_Y_RESOLUTION, dpi[1]), (_RESOLUTION_UNIT, 2)):
        exif[tag] = value
    return exif.tobytes()


_LABELS = {"exif": "EXIF", "xmp": "XMP", "dpi": "dpi"}
# Of a segment of JPEG files, without its length and what says what it holds.
_SEGMENT_BYTES = {"exif": 65533, "xmp": 65504, "comment": 65533}
_COMMENT = "Comment"


def _kept(picture, name):
    """The metadata of a picture that files of a format hold: attributes of it, and "comment" as bytes."""
    given = {key: getattr(picture, key) for key in (*_LABELS, "icc_profile", "text", "colour_chunks")}
    given["comment"] = _comment(picture)
    kept = {key: value for key, value in given.items() if value and key in FORMATS[name].keeps}
    if name == "JPEG":
        kept = {key: value for key, value in kept.items() if len(value) <= _SEGMENT_BYTES.get(key, math.inf)}
        if max(kept.get("dpi", (0,))) > 65535:
            del kept["dpi"]
    if name in ("WEBP", "AVIF") and picture.exif and _exif_dpi(picture.exif) is None:
        kept.pop("dpi", None)
    return kept


def _comment(picture):
    """A file's comment, the very bytes if it had one."""
    comment = getattr(picture.pixels, "info", {}).get("comment")
    if comment is None:
        comment = picture.text.get(_COMMENT, "")
    return comment if isinstance(comment, bytes) else str(comment).encode()


def metadata_notes(picture, name):
    """Notes on metadata that a format does not hold, but for the ICC profile."""
    kept = _kept(picture, name)
    lost = [label for key, label in _LABELS.items() if getattr(picture, key) and key not in kept]
    texts = [key for key in picture.text if "text" not in kept and not (key == _COMMENT and "comment" in kept)]
    texts = [key for key in texts if not (key == "XML:com.adobe.xmp" and "xmp" in kept)]
    if texts:
        lost.append(f"text ({', '.join(texts)})")
    if "colour_chunks" not in kept and not _says_srgb(picture.colour_chunks):
        lost.append("PNG's gamma and primaries")
    if not lost:
        return []
    listed = f"{', '.join(lost[:-1])} and {lost[-1]}" if len(lost) > 1 else lost[0]
    return [f"its {listed} {'are' if len(lost) > 1 else 'is'} left out, for which {name} files have no room"]


def _says_srgb(colour_chunks):
    """Whether PNG's chunks say what is meant without them."""
    chunks = dict(colour_chunks)
    return not chunks or b"sRGB" in chunks or chunks == {b"gAMA": struct.pack(">I", 45455)}


def _png_info(picture):
    info = PngImagePlugin.PngInfo()
    for name, content in picture.colour_chunks:
        info.add(name, content)
    for key, value in picture.text.items():
        info.add_text(key, value)
    if picture.xmp and "XML:com.adobe.xmp" not in picture.text:
        info.add_itxt("XML:com.adobe.xmp", picture.xmp.decode("utf-8", "replace"))
    return info


# ---------------------------------------------------------------------------------------------------------------------
# Memory


def check_memory(size, pixel_bytes=4, frames=1):
    """Raise PictureError where so many results of this (width, height) would not fit in memory."""
    # The images, one more on the way, and the table of each axis.
    needed = (frames + 1) * size[0] * size[1] * pixel_bytes + 256 * (size[0] + size[1])
    available = memory.available()
    if available is not None and needed > available:
        raise PictureError(
            f"is too large: a result of {size[0]} x {size[1]} pixels takes {needed / 2**30:.3g} GiB of memory, and "
            f"{available / 2**30:.3g} GiB are free; choose a smaller size"
        )
