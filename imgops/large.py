"""TIFF files larger than memory: rows stream from the source's tiles or strips through windows into the result's tiles.

Needs the package tifffile, an extra. Two bands of rows are in memory at a time, not the picture.
"""

import numpy as np

from . import atomic, files, tiff
from .formats import PictureError

# Results of more bytes than this are streamed.
STREAMED_BYTES = 2**29
_TILE = 256
_UNASSOCIATED_ALPHA = 2
# None, LZW, deflate, LZMA and packed bits.
_COMPRESSIONS = (1, 5, 8, 32946, 34925, 32773)


def streams(source, target_format, size):
    """Whether a TIFF file's only picture, of grey, RGB or RGBA in whole numbers, can and should be streamed."""
    if target_format != "TIFF" or size[0] * size[1] * 4 < STREAMED_BYTES or not tiff.available():
        return False
    import tifffile

    try:
        with tifffile.TiffFile(source) as file:
            return len(file.pages) == 1 and _is_plain(file.pages[0])
    except Exception:
        # Whatever is wrong with the file, Pillow's reader says it better.
        return False


def _is_plain(page):
    samples = page.samplesperpixel
    orientation = page.tags.get(274)
    return (
        page.dtype in (np.uint8, np.uint16)
        and page.bitspersample in (8, 16)
        and page.compression in _COMPRESSIONS
        and (samples, page.photometric.name) in ((1, "MINISBLACK"), (3, "RGB"), (4, "RGB"))
        and (samples < 4 or tuple(page.extrasamples) == (_UNASSOCIATED_ALPHA,))
        and (samples == 1 or page.planarconfig == 1)
        and page.imagedepth == 1
        and (orientation is None or orientation.value == 1)
    )


def resize(source, target, bands_for, *, overwrite, progress=None):
    """Resize the picture in a file that `streams`, whole or not at all.

    `bands_for` makes bands, as `pillow.RowBands` are, for pixels of a shape and dtype and their ICC profile.
    """
    import tifffile

    metadata = files.read_metadata(source)
    with tifffile.TiffFile(source) as file, atomic.replacing(target, overwrite=overwrite) as out:
        page = file.pages[0]
        rows = _Rows(file.filehandle, page)
        bands = bands_for(rows.shape, page.dtype, metadata.icc_profile)
        with tifffile.TiffWriter(out, bigtiff=bands.pixel_count * page.dtype.itemsize > 2**31) as writer:
            compressed = {} if page.compression == 1 else {"compression": "zlib", "predictor": True}
            writer.write(
                _tiles(rows, bands, progress),
                shape=bands.shape,
                dtype=page.dtype,
                tile=(_TILE, _TILE),
                photometric="minisblack" if len(bands.shape) == 2 else "rgb",
                extrasamples=["unassalpha"] if bands.shape[2:] == (4,) else None,
                maxworkers=1,
                **{**tiff.writer_metadata(metadata), **compressed},
            )


def _tiles(rows, bands, progress):
    """The tiles of the result from left to right and from top to bottom, those at the rim filled up with zeros."""
    for start, stop in bands.rows(_TILE):
        band = bands.band(start, stop, rows.read(*bands.input_rows(start, stop)))
        for left in range(0, bands.shape[1], _TILE):
            part = band[:, left : left + _TILE]
            tile = np.zeros((_TILE, _TILE, *bands.shape[2:]), band.dtype)
            tile[: part.shape[0], : part.shape[1]] = part
            yield tile
        if progress is not None:
            progress(stop / bands.shape[0])


class _Rows:
    """The rows of a page, decoded when they are asked for; they must be asked for from top to bottom."""

    def __init__(self, file, page):
        self._file, self._page = file, page
        self._height = page.tilelength if page.is_tiled else page.rowsperstrip
        self._width = page.tilewidth if page.is_tiled else page.imagewidth
        samples = () if page.samplesperpixel == 1 else (page.samplesperpixel,)
        self.shape = (page.imagelength, page.imagewidth, *samples)
        self._decoded = {}

    def read(self, start, stop):
        wanted = range(start // self._height, -(-stop // self._height))
        self._decoded = {
            index: self._decoded[index] if index in self._decoded else self._decode(index) for index in wanted
        }
        first = wanted.start * self._height
        rows = self._decoded[wanted.start] if len(wanted) == 1 else np.concatenate(list(self._decoded.values()))
        return rows[start - first : stop - first]

    def _decode(self, index):
        """One row of tiles, or one strip."""
        page, across = self._page, -(-self.shape[1] // self._width)
        top = index * self._height
        result = np.zeros((min(self._height, self.shape[0] - top), *self.shape[1:]), page.dtype)
        for column in range(across):
            segment = index * across + column
            offset, count = page.dataoffsets[segment], page.databytecounts[segment]
            if not count:
                continue
            self._file.seek(offset)
            data = self._file.read(count)
            if len(data) < count:
                raise PictureError("is cut short: the TIFF file ends within its pixels")
            decoded, _, _ = page.decode(data, segment)
            if decoded is not None:
                # Tiles at the rim have more pixels than the picture.
                place = result[:, column * self._width : (column + 1) * self._width]
                part = decoded[0].reshape(*decoded.shape[1:3], *self.shape[2:])[: place.shape[0], : place.shape[1]]
                place[: part.shape[0], : part.shape[1]] = part
        return result
