"""The embedded models: luma in, a residual for every colour out, beside a picture enlarged by imgops.resample.

What such a file says of itself stands in its metadata_props: ``imgops.kind`` is "luma residual", ``imgops.scale`` the
factor, ``imgops.halo`` how many input pixels beside a part its residual reads, ``imgops.skip`` the mode of the picture
that the residual is added to. Its input has (1, 1, H + 2 halo, W + 2 halo), luma of 0 to 1; its output has
(1, scale**2, H, W), the depth of a depth_to_space.
"""

import functools

import numpy as np

from .. import _checks
from ..blocks import depth_to_space
from ..resampling import ResamplePlan
from .engine import Engine

KIND = "luma residual"
# Beyond the part that is enlarged, for resample's widest filter here, the cubic one.
_SKIP_REACH = 2


class LumaResidual:
    """A network whose tiles read `halo` pixels more on every side, the picture's edge repeated.

    Attributes
    ----------
    scale, halo : int
    name : str
    repeats_edge : bool
        Whether tiles read on outside of the picture, where its edge repeats, or end with it.
    window : None
        Tiles may have any size.
    multiple : int
        Where tiles may begin.
    pixel_bytes : int
        Memory that a tile takes, by input pixels.
    """

    repeats_edge = True
    window = None
    multiple = 1

    def __init__(self, model, graph, name):
        self.name = name
        facts = graph.metadata
        self.scale = _number(name, facts, "imgops.scale", 1, 16)
        self.halo = _number(name, facts, "imgops.halo", 0, 256)
        self.skip = facts.get("imgops.skip", "linear")
        if self.skip not in ("nearest", "linear", "cubic") or len(graph.inputs) != 1 or len(graph.outputs) != 1:
            _checks.sr_metadata(name, "imgops.skip", self.skip, "'nearest', 'linear' or 'cubic', one input, one output")
        self.engine = Engine(model, graph, name)
        widths = [len(array) for array in graph.initializers.values() if array.ndim == 4]
        self.pixel_bytes = 4 * (4 * max(widths, default=1) + 8 * self.scale**2)

    def enlarge(self, planes, weights, gains, white, threads):
        """Planes (C, h + 2 halo, w + 2 halo) enlarged to (C, scale h, scale w), neither clipped nor rounded.

        `weights` of the planes make the luma; `gains` are 0 for planes that get no residual. `white` is the code of 1.
        """
        luma = np.tensordot(np.asarray(weights, np.float32) / np.float32(white), planes, 1)
        # NaN stays where the picture has it, instead of all around.
        np.nan_to_num(luma, copy=False, nan=0)
        residual = self.engine.run(luma[None, None], threads)
        height, width = (length - 2 * self.halo for length in luma.shape)
        expected = (1, self.scale**2, height, width)
        if residual.shape != expected:
            _checks.sr_result(self.name, expected, residual.shape)
        residual = depth_to_space(residual, self.scale, data_format="NCHW", num_threads=1)[0, 0]
        residual *= np.float32(white)
        result = _skip(planes, self.skip, self.scale, self.halo)
        for plane, gain in zip(result, gains, strict=True):
            if gain:
                plane += residual
        return result


def _number(name, facts, key, least, most):
    text = facts.get(key, "")
    if not (text.isascii() and text.isdigit() and len(text) < 5 and least <= int(text) <= most):
        _checks.sr_metadata(name, key, text, f"a whole number from {least} to {most}")
    return int(text)


def _skip(planes, mode, scale, margin):
    """What `margin` pixels lie around, enlarged by resample as a part of the picture."""
    if margin < _SKIP_REACH:
        planes = np.pad(planes, ((0, 0), *[(_SKIP_REACH - margin,) * 2] * 2), mode="edge")
        margin = _SKIP_REACH
    window, part = _skip_window(planes.shape, mode, scale, margin)
    return window(planes[part], num_threads=1)


@functools.lru_cache(64)
def _skip_window(shape, mode, scale, margin):
    plan = ResamplePlan(shape, scale=(scale, scale), axes=(1, 2), mode=mode)
    region = (slice(0, shape[0]), *(slice(scale * margin, scale * (length - margin)) for length in shape[1:]))
    return plan.window(region), plan.input_region(region)
