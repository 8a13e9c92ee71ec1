"""Networks in files that people have, from picture to picture, on the planes of a tile."""

import numpy as np

from .. import _checks
from .bodies import SKIP_REACH, enlarged_by_resample, network_bytes
from .engine import Engine
from .graph import read_graph

# Of the colours that a network makes of grey ones.
_LUMA = np.float32([0.299, 0.587, 0.114])


class ForeignNetwork:
    """A network of a ModelSpec; the attributes are those of LumaResidual.

    `halo` is None where a pixel may depend on the whole picture.
    """

    def __init__(self, spec):
        self._spec = spec
        self.scale, self.window = spec.scale, spec.fixed_size
        self.inset = spec.halo if spec.padding == "valid" else 0
        self.halo = None if spec.halo is None else max(spec.halo, SKIP_REACH)
        if self.window and spec.halo is None:
            # Nobody knows what it reads; such a part of a window shall do.
            self.halo = min(self.window) // 8
        if self.window:
            # Each window is to make something, even where a pixel depends on all others in it.
            self.halo = min(self.halo, min(self.window) // 4)
        self.step, self.multiple, self.minimum = spec.step, spec.multiple, spec.minimum
        self.takes_alpha = spec.channels == "rgba"
        self.engine = Engine(spec.model_bytes, spec.name)
        self.pixel_bytes = network_bytes(read_graph(spec.model_bytes), spec.scale)

    def enlarge(self, planes, weights, gains, white, threads):
        """As LumaResidual.enlarge; alpha, if the network takes it, is the last plane of both."""
        count = len(gains)
        if self._spec.channels != "luma" and all(gains) and count == 3:
            return self._result(planes, white, threads)
        weights = np.asarray(weights, np.float32)
        grey = np.tensordot(weights, planes[:count], 1)
        made = self._grey(grey, planes[count:], white, threads)
        if count == 1:
            return made
        result = enlarged_by_resample(planes[:count], "cubic", self.scale, self.inset)
        residual = made[0] - np.tensordot(weights, result, 1)
        for plane, gain in zip(result, gains, strict=True):
            if gain:
                plane += residual
        return np.concatenate([result, made[1:]])

    def _grey(self, grey, opacity, white, threads):
        """One plane, and that of alpha if there is one."""
        if self._spec.channels == "luma":
            return self._result(grey[None], white, threads)
        made = self._result(np.concatenate([np.stack([grey] * 3), opacity]), white, threads)
        return np.concatenate([np.tensordot(_LUMA, made[:3], 1)[None], made[3:]])

    def _result(self, planes, white, threads):
        spec = self._spec
        given = np.nan_to_num(planes, nan=0)
        opaque = spec.channels == "rgba" and len(planes) == 3
        if opaque:
            given = np.concatenate([given, np.full_like(given[:1], white)])
        low, high = spec.value_range
        given = given * np.float32((high - low) / white) + np.float32(low)
        given = given[None] if spec.layout == "NCHW" else np.ascontiguousarray(given.transpose(1, 2, 0))[None]
        made = self.engine.run(given.astype(spec.dtype), threads)
        sides = [spec.scale * (length - 2 * self.inset) for length in planes.shape[1:]]
        count = len(planes) + opaque
        _checks.sr_result(spec.name, (1, count, *sides) if spec.layout == "NCHW" else (1, *sides, count), made)
        made = made[0] if spec.layout == "NCHW" else made[0].transpose(2, 0, 1)
        made = (made[: len(planes)].astype(np.float32) - np.float32(low)) * np.float32(white / (high - low))
        return self._with_nan(made, planes)

    def _with_nan(self, made, planes):
        """NaN in the pixels that come of pixels that are NaN, instead of whatever a network makes of it."""
        if np.isnan(planes.sum()):
            inner = slice(self.inset, -self.inset or None)
            lost = np.isnan(planes[:, inner, inner]).repeat(self.scale, 1).repeat(self.scale, 2)
            made[lost] = np.nan
        return made
