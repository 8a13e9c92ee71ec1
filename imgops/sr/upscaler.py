"""Upscaler: pictures as arrays, enlarged by a network tile by tile, on several threads."""

import concurrent.futures
import functools
import math
import os
from dataclasses import dataclass

import numpy as np

from .. import _checks, memory, threads
from . import alpha, bodies, engine, tiles

_MODELS = ("best", "fast")
_SCALES = (2, 3, 4)
# BT.601, as the embedded models were trained.
_LUMA = (0.299, 0.587, 0.114)
# A tile's share of the memory that is free.
_SHARE = 1 / 8


def models():
    """Names of the embedded models, the default first.

    Examples
    --------
    >>> models()
    ('best', 'fast')
    """
    return _MODELS


class Upscaler:
    """Enlarges pictures by a neural network.

    Parameters
    ----------
    model : {"best", "fast"} or path
        An embedded model, or a file: ONNX (.onnx), or ncnn (.param with its .bin beside it). Files need ONNX Runtime,
        embedded models are only faster with it: ``pip install 'imgops[sr]'``.
    scale : int, optional
        Output pixels per input pixel on both axes, one that the model has: 2, 3 or 4 for the embedded ones. None: 2 for
        these, its own for a file.
    tile : int, optional
        Side of the tiles, in input pixels and without what they read around them; None: about 256, less where memory is
        short. The picture is the same for all, within 1 of 255.
    num_threads : int, optional
        At least 1; by default `imgops.get_num_threads`.

    Attributes
    ----------
    model : str
    scale : int
    tile, num_threads : int or None

    Raises
    ------
    TypeError, ValueError
        For an unknown name, a file that is no model that can be run, a scale that the model does not have.
    FileNotFoundError
        For a file that is not there.
    ImportError
        For a file without ONNX Runtime.

    Notes
    -----
    An embedded model enlarges luma, 0.299 R + 0.587 G + 0.114 B of the code values, and the difference that it makes to
    resample's luma is added to all colours: grey stays grey.

    Examples
    --------
    >>> upscaler = Upscaler("fast", scale=2)
    >>> upscaler(np.full((5, 4, 3), 99, np.uint8)).shape
    (10, 8, 3)
    """

    def __init__(self, model="best", scale=None, *, tile=None, num_threads=None):
        self.model = _checks.sr_model("Upscaler", model, _MODELS)
        self.tile = None if tile is None else _checks.sr_tile("Upscaler", tile)
        self.num_threads = None if num_threads is None else _checks.num_threads("Upscaler", num_threads)
        self._network = _network("Upscaler", self.model, scale)
        self.scale = self._network.scale

    def __repr__(self):
        return f"Upscaler({self.model!r}, {self.scale}, tile={self.tile}, num_threads={self.num_threads})"

    def __reduce__(self):
        return functools.partial(Upscaler, tile=self.tile, num_threads=self.num_threads), (self.model, self.scale)

    def __call__(self, pixels, /, *, premultiply=True, progress=None):
        """The enlarged picture.

        Parameters
        ----------
        pixels : array_like, (H, W), (H, W, 1), (H, W, 2), (H, W, 3) or (H, W, 4)
            Grey, grey, grey with alpha, RGB, RGB with alpha; uint8, uint16, or float32 of 0 to 1. Values outside of
            that are clipped; NaN stays NaN, in the pixels that read it.
        premultiply : bool
            Colours count by their alpha: what is transparent does not bleed, and is 0 in the result. False: alpha is
            data.
        progress : callable, optional
            Called with (tiles done, all tiles) after each.

        Returns
        -------
        ndarray
            (scale H, scale W) or (scale H, scale W, C), of the dtype of `pixels` in native byte order.

        Raises
        ------
        TypeError, ValueError
            For a dtype or shape that is no such picture.
        MemoryError
            For a result that memory cannot hold; before any work.

        Examples
        --------
        >>> Upscaler("fast", 3)(np.zeros((2, 5), np.uint16)).shape
        (6, 15)
        """
        pixels = _checks.sr_pixels("Upscaler", pixels)
        premultiply = _checks.flag("Upscaler", "premultiply", premultiply)
        bands = self.bands(pixels.shape, pixels.dtype, premultiply=premultiply)
        return bands.band(0, bands.shape[0], pixels, progress)

    @property
    def enlarges_parts(self):
        """Whether the model can enlarge a part of a picture as it would be enlarged in the whole."""
        return self._network.halo is not None and not self._network.window

    def bands(self, shape, dtype, *, premultiply=True, luminance_first=False):
        """The Bands of pictures of this shape and dtype; with `luminance_first` colours as in YCbCr, not RGB."""
        return Bands(self, shape, dtype, premultiply, luminance_first)


def model_scales(function, model):
    """The scales that a model has."""
    model = _checks.sr_model(function, model, _MODELS)
    return _SCALES if model in _MODELS else (_network(function, model, None).scale,)


def _network(function, model, scale):
    if model in _MODELS:
        return bodies.embedded(model, _checks.sr_scale(function, 2 if scale is None else scale, _SCALES, model))
    facts = os.stat(model)
    network = _loaded(model, facts.st_mtime_ns, facts.st_size)
    if scale is not None:
        _checks.sr_scale(function, scale, (network.scale,), model)
    return network


@functools.lru_cache(4)
def _loaded(path, _modified, _size):
    from . import foreign, foreign_networks

    spec = foreign.load_model(path)
    if spec.kind == "luma residual":
        return bodies.LumaResidual(spec.model_bytes, spec.name, spec.scale, spec.halo, spec.skip, spec.rotations)
    if engine.onnxruntime() is None:
        _checks.needs_onnxruntime(path)
    return foreign_networks.ForeignNetwork(spec)


# ---------------------------------------------------------------------------------------------------------------------
# Bands of rows, and tiles of them


@dataclass(frozen=True)
class _Colours:
    """What of a picture is enlarged how: weights of luma, and which planes its residual is added to."""

    weights: tuple
    gains: tuple

    @classmethod
    def of(cls, count, luminance_first):
        if count == 3 and not luminance_first:
            return cls(_LUMA, (1, 1, 1))
        return cls((1,) + (0,) * (count - 1), (1,) + (0,) * (count - 1))


class Bands:
    """Pictures of one shape and dtype enlarged by bands of rows of the result.

    Attributes
    ----------
    shape : tuple of int
        Of the result.
    """

    def __init__(self, upscaler, shape, dtype, premultiply, luminance_first):
        self._network = upscaler._network
        self._tile = upscaler.tile
        # ONNX Runtime makes all the threads that it is told of, even a million.
        self._threads = min(threads.resolve("Upscaler", upscaler.num_threads), os.cpu_count() or 1)
        self._input_shape = shape
        self._dtype = np.dtype(dtype).newbyteorder("=")
        scale = self._network.scale
        self.shape = (shape[0] * scale, shape[1] * scale, *shape[2:])
        channels = shape[2] if len(shape) == 3 else 1
        self._has_alpha = channels in (2, 4)
        self._premultiply = premultiply
        self._colours = _Colours.of(channels - self._has_alpha, luminance_first)
        self._white = 1 if self._dtype.kind == "f" else np.iinfo(self._dtype).max
        # Pixels around a tile that alpha looks at.
        self._fill = alpha.reach(self._network.halo) if self._has_alpha and premultiply else 0

    @property
    def pixel_count(self):
        """Values of the result."""
        return math.prod(self.shape)

    def rows(self, step=None):
        """(start, stop) of the bands, of about `step` rows each, from top to bottom."""
        # So that what bands read twice is little: what every one of them reads beside it is a part of its own rows.
        halo = self._network.halo
        if step is None and (halo is None or self._network.window):
            return [(0, self.shape[0])]
        step = step or max(2**25 // math.prod(self.shape[1:]), 16 * self._network.scale * (halo + 1))
        return [(top, min(top + step, self.shape[0])) for top in range(0, self.shape[0], step)]

    def input_rows(self, start, stop):
        """(start, stop) of the input rows that a band reads."""
        scale, height = self._network.scale, self._input_shape[0]
        if self._network.window:
            return 0, height
        first, last = self._reach(0, start // scale, -(-stop // scale))
        return max(0, first - self._fill), min(height, last + self._fill)

    def band(self, start, stop, pixels, progress=None):
        """The rows start..stop of the result, from the input rows that they read."""
        scale = self._network.scale
        result = _checks.empty("Upscaler", (stop - start, *self.shape[1:]), self._dtype)
        top = self.input_rows(start, stop)[0]
        rows = (start // scale, -(-stop // scale))
        cells = self._grid(rows, (0, self._input_shape[1]))
        inner = 1 if len(cells) > 1 else self._threads

        def work(tile):
            self._make(tile, pixels, top, start, result, inner)

        with self._network.engine.working():
            _in_parallel(work, cells, min(self._threads, len(cells)), progress)
        return result

    def _grid(self, rows, columns):
        network = self._network
        if network.window:
            window, shape = network.window, self._input_shape
            return tiles.fixed_grid(rows, columns, shape, window, network.halo, network.step)
        if network.halo is None:
            # Every pixel may depend on all others.
            return tiles.grid(rows, columns, self._reach, max(self._input_shape[:2]), 1)
        side = self._tile or self._side_by_memory()
        return tiles.grid(rows, columns, self._reach, side, self._threads)

    def _reach(self, axis, start, stop):
        """What a tile reads along an axis."""
        network, length = self._network, self._input_shape[axis]
        inset = network.inset
        halo = length if network.halo is None else network.halo
        first, last = max(-inset, start - halo), min(length + inset, stop + halo)
        unit = math.lcm(network.step, network.multiple)
        first = (first + inset) // unit * unit - inset
        wanted = max(last - first, network.minimum)
        return first, first - -wanted // network.multiple * network.multiple

    def _side_by_memory(self):
        """None for the usual side, a smaller one where memory is short."""
        available = memory.available()
        if available is None:
            return None
        count = int(available * _SHARE / self._threads / self._network.pixel_bytes)
        side = math.isqrt(max(1, count)) - 2 * self._network.halo
        usual = max(tiles.USUAL_SIDE, 8 * self._network.halo)
        return None if side >= usual == tiles.USUAL_SIDE else max(tiles.LEAST_SIDE, min(side, usual))

    def _make(self, tile, pixels, top, start, result, threads_inside):
        """One tile of the result, whose first row is row `start` of the picture's."""
        scale = self._network.scale
        part = tiles.read(pixels, top, tile, self._fill)
        made = self._enlarged(part, tile, threads_inside)
        first = tile.rows.start * scale
        skipped = max(0, start - first)
        made = made[:, skipped:]
        first += skipped - start
        rows = slice(first, min(first + made.shape[1], len(result)))
        columns = slice(tile.columns.start * scale, tile.columns.stop * scale)
        place = result[rows, columns]
        if self._dtype.kind != "f":
            np.rint(made, out=made)
        if place.ndim == 2:
            place[...] = made[0, : len(place)]
        else:
            for channel, plane in enumerate(made):
                place[..., channel] = plane[: len(place)]

    def _enlarged(self, part, tile, threads_inside):
        """(C, h, w) of float32, clipped, of the pixels that a tile and its fill read."""
        planes = _planes(part)
        if self._dtype.kind == "f":
            np.clip(planes, 0, 1, out=planes)
        if not self._has_alpha:
            return self._clipped(self._coloured(planes, tile, threads_inside))
        np.nan_to_num(planes[-1], copy=False, nan=0)
        colours, opacity = planes[:-1], planes[-1]
        inside = (slice(None), *alpha.inside(self._fill, opacity.shape))
        if opacity.min() == self._white:
            made = self._clipped(self._coloured(colours[inside], tile, threads_inside))
            return np.concatenate([made, np.full_like(made[:1], self._white)])
        if self._premultiply:
            if not opacity.any():
                size = [(span.stop - span.start) * self._network.scale for span in (tile.rows, tile.columns)]
                return np.zeros((len(planes), *size), np.float32)
            colours = alpha.filled(colours, opacity, self._fill)
        return self._with_alpha(colours, opacity, inside, tile, threads_inside)

    def _with_alpha(self, colours, opacity, inside, tile, threads_inside):
        grey = opacity[None][inside]
        if self._network.takes_alpha:
            made = self._clipped(self._coloured(np.concatenate([colours[inside], grey]), tile, threads_inside))
            made, made_opacity = made[:-1], made[-1]
        else:
            made = self._clipped(self._coloured(colours[inside], tile, threads_inside))
            made_opacity = self._clipped(self._made(grey, tile, _Colours.of(1, False), threads_inside))[0]
        low, high = alpha.limits(opacity, tile, self._fill, self._network.scale)
        # No rings around what is transparent or opaque, and no haze.
        np.clip(made_opacity, low, high, out=made_opacity)
        if self._premultiply:
            if not self._network.takes_alpha and (low < high).any():
                part = np.float32(1 / self._white)
                seen = self._coloured(colours[inside] * (grey * part), tile, threads_inside)
                ranges = alpha.limits(colours, tile, self._fill, self._network.scale)
                made = alpha.colours_at_edges(made, seen, made_opacity * part, ranges, (low, high))
            made *= made_opacity > 0 if self._dtype.kind == "f" else np.rint(made_opacity) > 0
        return np.concatenate([made, made_opacity[None]])

    def _coloured(self, planes, tile, threads_inside):
        return self._made(planes, tile, self._colours, threads_inside)

    def _made(self, planes, tile, colours, threads_inside):
        made = self._network.enlarge(planes, colours.weights, colours.gains, self._white, threads_inside)
        return self._part(made, tile)

    def _part(self, made, tile):
        """What a tile makes, of what was made of all that it reads."""
        scale, inset = self._network.scale, self._network.inset
        part = [
            slice((span.start - span.first - inset) * scale, (span.stop - span.first - inset) * scale)
            for span in (tile.rows, tile.columns)
        ]
        return made[(slice(None), *part)]

    def _clipped(self, made):
        return np.clip(made, 0, self._white, out=made)


def _planes(part):
    """(C, h, w) of float32 of pixels (h, w) or (h, w, C)."""
    if part.ndim == 2:
        return part[None].astype(np.float32)
    planes = np.empty((part.shape[2], *part.shape[:2]), np.float32)
    for channel, plane in enumerate(planes):
        plane[...] = part[..., channel]
    return planes


def _in_parallel(work, cells, count, progress):
    done = 0
    if count == 1:
        for tile in cells:
            work(tile)
            done += 1
            if progress is not None:
                progress(done, len(cells))
        return
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(work, tile) for tile in cells]
        try:
            for future in futures:
                future.result()
                done += 1
                if progress is not None:
                    progress(done, len(cells))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
