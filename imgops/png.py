"""PNG files by their chunks: damage that decoders pass over, and 16-bit colours, which no mode of Pillow holds.

Pixels of the second kind are arrays (H, W, C) of uint16: grey and alpha, RGB, or RGBA. The package imagecodecs, of the
extra `files`, decodes and encodes them.
"""

import functools
import importlib.util
import struct
import zlib
from dataclasses import dataclass, field

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# What the code values mean; written again as it was read.
_COLOUR_CHUNKS = (b"cHRM", b"gAMA", b"sRGB", b"cICP")
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
_PIECE = 2**20


class PngError(ValueError):
    """A PNG file that is damaged."""


@dataclass
class Header:
    """The facts of a PNG file beside its pixels."""

    size: tuple = (0, 0)
    depth: int = 0
    colour_type: int = 0
    interlaced: int = 0
    data: list = field(default_factory=list)
    colour_chunks: list = field(default_factory=list)
    transparency: bytes = b""

    @property
    def has_deep_colour(self):
        """Whether the pixels have several channels of 16 bits."""
        return self.depth == 16 and self.colour_type in (2, 4, 6)


def inspect(file):
    """Read every chunk of a PNG file from its start, check it against its checksum, and return the Header."""
    file.seek(len(SIGNATURE))
    header = Header()
    name = b""
    while name != b"IEND":
        head = _exactly(file, 8)
        length, name = struct.unpack(">I4s", head)
        keep = name in (b"IHDR", b"tRNS", *_COLOUR_CHUNKS)
        start, content, checksum = file.tell(), [], zlib.crc32(name)
        while length:
            piece = _exactly(file, min(length, _PIECE))
            length -= len(piece)
            checksum = zlib.crc32(piece, checksum)
            if keep:
                content.append(piece)
        stop = file.tell()
        if _exactly(file, 4) != checksum.to_bytes(4, "big"):
            raise PngError(f"is damaged: the checksum of its PNG chunk {name.decode('latin-1')!a} is wrong")
        _note_chunk(header, name, b"".join(content), (start, stop))
    if header.depth not in _DEPTHS.get(header.colour_type, ()):
        raise PngError(f"is damaged: PNG has no {header.depth} bits with colour type {header.colour_type}")
    if not header.data:
        raise PngError("is damaged: the PNG file has no picture data")
    return header


def _exactly(file, length):
    data = file.read(length)
    if len(data) < length:
        raise PngError("is cut short: the PNG file ends before its end marker")
    return data


def _note_chunk(header, name, content, extent):
    if name == b"IHDR" and len(content) == 13:
        header.size = struct.unpack_from(">II", content)
        header.depth, header.colour_type, header.interlaced = content[8], content[9], content[12]
    elif name == b"tRNS":
        header.transparency = content
    elif name in _COLOUR_CHUNKS:
        header.colour_chunks.append((name, content))
    elif name == b"IDAT":
        header.data.append(extent)


def has_exif(file):
    """Whether a PNG file has a chunk that may tell an orientation. The file's position stays."""
    position = file.tell()
    file.seek(len(SIGNATURE))
    found = False
    while not found and len(head := file.read(8)) == 8:
        length, name = struct.unpack(">I4s", head)
        start = file.read(min(length, 32)) if name in (b"tEXt", b"zTXt", b"iTXt") else b""
        found = name == b"eXIf" or start.startswith((b"XML:com.adobe.xmp\0", b"Raw profile type "))
        file.seek(length - len(start) + 4, 1)
    file.seek(position)
    return found


_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
# First column and row of each pass of an interlaced picture, and the steps (PNG specification, 8.2).
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def check_data(file, header):
    """Raise PngError where the picture data end before the last row: decoders take the rest for black."""
    passes = _PASSES if header.interlaced else ((0, 0, 1, 1),)
    missing = sum(_pass_bytes(header, *facts) for facts in passes)
    inflater = zlib.decompressobj()
    for start, stop in header.data:
        file.seek(start)
        data = file.read(stop - start)
        while data and missing > 0 and not inflater.eof:
            missing -= len(inflater.decompress(data, _PIECE))
            data = inflater.unconsumed_tail
    # What is still within the inflater.
    while missing > 0 and not inflater.eof and (rest := inflater.decompress(b"", _PIECE)):
        missing -= len(rest)
    if missing > 0:
        raise PngError("is cut short: the PNG picture data end before the last row")


def _pass_bytes(header, left, top, across, down):
    columns = -(-(header.size[0] - left) // across)
    rows = -(-(header.size[1] - top) // down)
    if columns <= 0 or rows <= 0:
        return 0
    return rows * (1 + -(-columns * header.depth * _CHANNELS[header.colour_type] // 8))


@functools.cache
def available():
    """Whether the package imagecodecs is installed, by which 16-bit colours are decoded and encoded."""
    return importlib.util.find_spec("imagecodecs") is not None


def read_deep(file):
    """The 16-bit colours of a file with `header.has_deep_colour`; a transparent colour becomes alpha."""
    import imagecodecs

    file.seek(0)
    return imagecodecs.png_decode(file.read())


def write_deep(file, pixels, template):
    """Write (H, W, C) uint16 as PNG, with every chunk of the PNG bytes `template` but its size and its pixels.

    The encoder writes no other chunks than those of size and pixels.
    """
    import imagecodecs

    encoded = list(chunks(imagecodecs.png_encode(pixels)))
    file.write(SIGNATURE)
    for name, content in chunks(template):
        same = (chunk for chunk in encoded if chunk[0] == name)
        for chunk in same if name in (b"IHDR", b"IDAT") else [(name, content)]:
            write_chunk(file, *chunk)


def chunks(data):
    position = len(SIGNATURE)
    while position < len(data):
        length, name = struct.unpack_from(">I4s", data, position)
        yield name, data[position + 8 : position + 8 + length]
        position += length + 12


def write_chunk(file, name, content):
    file.write(struct.pack(">I4s", len(content), name) + content + zlib.crc32(name + content).to_bytes(4, "big"))
