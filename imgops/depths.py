"""What Pillow narrows as it reads: samples of more than 8 bits, and colours of other primaries without a profile."""

import re
import struct

_DEEP_MODES = ("I", "F")
_TIFF_BITS = 258
# ITU-T H.273: unspecified; those of sRGB, and curves that pictures of them are said to have.
_PLAIN_PRIMARIES, _PLAIN_CURVES = (1, 2), (1, 2, 6, 13, 14, 15)


def narrowing(file, image):
    """What is lost by reading an image, opened and not yet decoded, with Pillow: notes."""
    notes = []
    start = _start(file) if image.format in ("AVIF", "JPEG2000") else b""
    bits = _bits(start, image)
    if bits > 8 and image.mode not in _DEEP_MODES and not image.mode.startswith("I;16"):
        notes.append(f"its {bits}-bit colours are read as 8-bit")
    colours = _coded_colours(start) if image.format == "AVIF" and "icc_profile" not in image.info else None
    if colours and (colours[0] not in _PLAIN_PRIMARIES or colours[1] not in _PLAIN_CURVES):
        notes.append(
            f"its colours are taken for sRGB's, but the file has other ones: primaries {colours[0]} and transfer curve "
            f"{colours[1]} of ITU-T H.273"
        )
    return notes


def _start(file):
    position = file.tell()
    file.seek(0)
    start = file.read(2**16)
    file.seek(position)
    return start


def _bits(start, image):
    if image.format == "TIFF":
        return max(image.tag_v2.get(_TIFF_BITS, (8,)))
    if image.format == "AVIF":
        # AV1 codec configuration box (AV1-ISOBMFF 2.3.3): the third byte has the bits high_bitdepth and twelve_bit.
        place = start.find(b"av1C") + 6
        flags = start[place] if place > 5 and place < len(start) else 0
        return 12 if flags & 0x60 == 0x60 else 10 if flags & 0x40 else 8
    if image.format == "JPEG2000":
        # SIZ marker (ISO/IEC 15444-1, A.5.1): after the codestream's start, and 38 bytes of lengths and numbers.
        place = start.find(b"\xff\x4f\xff\x51") + 42
        return (start[place] & 0x7F) + 1 if place > 41 and place < len(start) else 8
    bits = 8
    for tile in image.tile:
        arguments = tile.args if isinstance(tile.args, tuple) else (tile.args,)
        if tile.codec_name.startswith("ppm") and isinstance(arguments[-1], int):
            bits = max(bits, arguments[-1].bit_length())
        if tile.codec_name == "SGI16":
            bits = 16
        # BGR;15 and BGR;16 are of all three colours.
        found = re.match(r"(?!BGR)[A-Za-z]+;(\d+)", str(arguments[0]))
        bits = max(bits, int(found[1]) if found else 0)
    return bits


def _coded_colours(start):
    """(primaries, transfer curve) by number (ISO/IEC 14496-12, 12.1.5), or None."""
    place = start.find(b"colrnclx")
    return struct.unpack_from(">HH", start, place + 8) if 0 <= place <= len(start) - 12 else None
