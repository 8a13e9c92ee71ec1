"""Animated GIF, PNG and WebP files: every frame encoded by Pillow as a still picture, and put into a container here.

Pillow's and libwebp's own writers join frames that look alike, and imagecodecs' for PNG has one duration for all; these
keep each frame and its duration.

Frames are whole pictures of what is seen. A frame is written as the smallest box in which it differs from the one
before, unless it is cleared when its time is over.
"""

import io
import struct
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from . import png

_GIF_CLEAR, _GIF_KEEP = 2, 1


@dataclass
class Frame:
    """A frame to write.

    Attributes
    ----------
    image : PIL.Image.Image
        All of one size, and of a mode that the format's still pictures have.
    duration : float
        Milliseconds.
    clears : bool
        Whether the picture is cleared when the frame's time is over.
    """

    image: object
    duration: float
    clears: bool


def _visible(image):
    """(H, W, 4) of uint8: what is seen, the same for all colours under alpha 0."""
    pixels = np.array(image.convert("RGBA"))
    pixels[pixels[..., 3] == 0] = 0
    return pixels


def _placed(frames, *, replaces, even=False):
    """(frame, box, clears) of each frame.

    `replaces`: a box takes the place of the pixels under it, transparent ones too; else they show through, and the
    frame before must be cleared where it would. `even`: boxes start at even coordinates.
    """
    before = None
    for index, frame in enumerate(frames):
        now = _visible(frame.image)
        clears = frame.clears
        if not replaces and index + 1 < len(frames):
            after = _visible(frames[index + 1].image)
            clears = clears or bool(np.any((now[..., 3] > 0) & (after[..., 3] == 0)))
        whole = (0, 0, *frame.image.size)
        yield frame, whole if before is None or clears else _changed_box(before, now, even), clears
        before = None if clears else now


def _changed_box(before, now, even):
    changed = np.any(before != now, axis=-1)
    if not changed.any():
        return 0, 0, 1, 1
    rows, columns = np.flatnonzero(changed.any(axis=1)), np.flatnonzero(changed.any(axis=0))
    left, top = int(columns[0]), int(rows[0])
    if even:
        left, top = left & ~1, top & ~1
    return left, top, int(columns[-1]) + 1, int(rows[-1]) + 1


def _still(image, format_name, **options):
    encoded = io.BytesIO()
    image.save(encoded, format_name, **options)
    return encoded.getvalue()


# ---------------------------------------------------------------------------------------------------------------------
# GIF (GIF89a specification)


def write_gif(file, frames, loop, comment=b""):
    """Frames of mode P; `loop` as the file has it, None to play once. Durations become hundredths of a second."""
    width, height = frames[0].image.size
    file.write(b"GIF89a" + struct.pack("<HHBBB", width, height, 0x70, 0, 0))
    if loop is not None:
        file.write(b"!\xff\x0bNETSCAPE2.0\x03\x01" + struct.pack("<H", min(loop, 65535)) + b"\0")
    if comment:
        pieces = (comment[start : start + 255] for start in range(0, len(comment), 255))
        file.write(b"!\xfe" + b"".join(bytes([len(piece)]) + piece for piece in pieces) + b"\0")
    for frame, box, clears in _placed(frames, replaces=False):
        image = frame.image.crop(box)
        transparent = image.info.get("transparency")
        image.info = {}
        # Pillow has put the transparency into the palette by now.
        image.putpalette(image.getpalette())
        table, indices = _gif_parts(_still(image, "GIF", optimize=False, interlace=False))
        disposal = _GIF_CLEAR if clears else _GIF_KEEP
        delay = min(round(frame.duration / 10), 65535)
        flags = disposal << 2 | (transparent is not None)
        file.write(b"!\xf9\x04" + struct.pack("<BHBB", flags, delay, transparent or 0, 0))
        table_bits = (len(table) // 3).bit_length() - 2
        file.write(b"," + struct.pack("<HHHHB", box[0], box[1], *image.size, 0x80 | table_bits) + table + indices)
    file.write(b";")


def _gif_parts(data):
    """(colour table, coded indices) of a GIF file of one picture."""
    flags = data[10]
    table_length = 3 << (flags & 7) + 1
    table, position = data[13 : 13 + table_length], 13 + table_length
    while data[position] == ord("!"):
        position += 2
        while data[position]:
            position += data[position] + 1
        position += 1
    flags = data[position + 9]
    position += 10
    if flags & 0x80:
        table_length = 3 << (flags & 7) + 1
        table, position = data[position : position + table_length], position + table_length
    return table, data[position:-1]


# ---------------------------------------------------------------------------------------------------------------------
# PNG (PNG specification, third edition, 11.3.6)


def write_png(file, frames, loop, still=None, **options):
    """Frames of one mode; `loop` is the number of plays, 0 without end; `still` is shown where nothing is animated."""
    count = 0
    file.write(png.SIGNATURE)
    first = list(png.chunks(_still(still or frames[0].image, "PNG", **options)))
    begun = False
    placed = _placed(frames, replaces=True)
    for name, content in first:
        if name == b"IDAT" and not begun:
            begun = True
            png.write_chunk(file, b"acTL", struct.pack(">II", len(frames), loop))
            if still is None:
                count = _write_control(file, count, *next(placed))
        if name != b"IEND":
            png.write_chunk(file, name, content)
    for frame, box, clears in placed:
        count = _write_control(file, count, frame, box, clears)
        for name, content in png.chunks(_still(frame.image.crop(box), "PNG")):
            if name == b"IDAT":
                png.write_chunk(file, b"fdAT", struct.pack(">I", count) + content)
                count += 1
    png.write_chunk(file, b"IEND", b"")


def _write_control(file, count, frame, box, clears):
    left, top, right, bottom = box
    delay = Fraction(min(frame.duration, 65535000) / 1000).limit_denominator(65535)
    if delay.numerator > 65535:
        delay = Fraction(round(frame.duration / 1000))
    place = (right - left, bottom - top, left, top)
    content = struct.pack(">5I2H2B", count, *place, delay.numerator, delay.denominator, clears, 0)
    png.write_chunk(file, b"fcTL", content)
    return count + 1


# ---------------------------------------------------------------------------------------------------------------------
# WebP (RFC 9649)

_WEBP_ICC, _WEBP_ALPHA, _WEBP_EXIF, _WEBP_XMP, _WEBP_ANIMATION = 0x20, 0x10, 0x08, 0x04, 0x02
_WEBP_CLEAR, _WEBP_REPLACE = 1, 2


def write_webp(file, frames, loop, *, icc_profile=None, exif=None, xmp=None, **options):
    """Frames of mode RGB or RGBA; `loop` is the number of plays, 0 without end; `options` of Pillow's writer."""
    width, height = frames[0].image.size
    exif = exif and exif.removeprefix(b"Exif\0\0")
    flags = _WEBP_ANIMATION
    for flag, given in ((_WEBP_ICC, icc_profile), (_WEBP_EXIF, exif), (_WEBP_XMP, xmp)):
        flags |= flag if given else 0
    if any(frame.image.mode == "RGBA" for frame in frames):
        flags |= _WEBP_ALPHA
    start = file.tell()
    file.write(b"RIFF\0\0\0\0WEBP")
    _write_riff(file, b"VP8X", struct.pack("<I", flags) + _u24(width - 1) + _u24(height - 1))
    if icc_profile:
        _write_riff(file, b"ICCP", icc_profile)
    _write_riff(file, b"ANIM", struct.pack("<IH", 0, min(loop, 65535)))
    for frame, box, clears in _placed(frames, replaces=True, even=True):
        image = frame.image.crop(box)
        image.info = {}
        left, top = box[:2]
        place = (left // 2, top // 2, image.width - 1, image.height - 1, min(round(frame.duration), 2**24 - 1))
        content = b"".join(_u24(number) for number in place)
        content += bytes([_WEBP_REPLACE | (_WEBP_CLEAR if clears else 0)])
        for name, data in riff_chunks(_still(image, "WEBP", **options)):
            if name in (b"ALPH", b"VP8 ", b"VP8L"):
                content += _riff(name, data)
        _write_riff(file, b"ANMF", content)
    for name, data in ((b"EXIF", exif), (b"XMP ", xmp)):
        if data:
            _write_riff(file, name, data)
    stop = file.tell()
    file.seek(start + 4)
    file.write(struct.pack("<I", stop - start - 8))
    file.seek(stop)


def riff_chunks(data):
    """(name, content) of the chunks of a WebP file, as far as they are whole."""
    position = 12
    while position + 8 <= len(data):
        name, length = struct.unpack_from("<4sI", data, position)
        yield name, data[position + 8 : position + 8 + length]
        position += 8 + length + length % 2


def _riff(name, content):
    return struct.pack("<4sI", name, len(content)) + content + b"\0" * (len(content) % 2)


def _write_riff(file, name, content):
    file.write(_riff(name, content))


def _u24(number):
    return number.to_bytes(3, "little")
