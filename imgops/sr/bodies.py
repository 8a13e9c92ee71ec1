"""The embedded models: luma in, a residual for every colour out, beside a picture enlarged by imgops.resample.

What such a file says of itself stands in its metadata_props: ``imgops.kind`` is "luma residual", ``imgops.scale`` the
factor, ``imgops.halo`` how many input pixels beside a part its residual reads, ``imgops.skip`` the mode of the picture
that the residual is added to. Its input has (1, 1, H + 2 halo, W + 2 halo), luma of 0 to 1; its output has
(1, scale**2, H, W), the depth of a depth_to_space.

``imgops.rotations``, 1 where it is not there, 2 or 4: the residual is the mean of those of so many rotations of the
picture, turned back (geometric self-ensemble; Timofte, Rothe and Van Gool, Seven ways to improve example-based single
image super resolution, 2016).
"""

import functools
from importlib import resources

import numpy as np

from .. import _checks
from ..blocks import depth_to_space
from ..resampling import ResamplePlan
from .engine import Engine
from .graph import read_graph

# Pixels beside a part that resample's widest filter here, the cubic one, reads.
SKIP_REACH = 2


class LumaResidual:
    """A network that makes a residual of luma.

    Attributes
    ----------
    scale : int
    halo : int
        Pixels beside a part that its result reads.
    inset : int
        Pixels that the result is smaller by on each side; where they lie outside of the picture, its edge repeats.
    window : None
        The size that every input must have.
    step, multiple, minimum : int
        Inputs begin at multiples of `step`, and have sides that are multiples of `multiple`, at least `minimum`.
    takes_alpha : bool
        Whether the network enlarges alpha beside colours.
    pixel_bytes : int
        Memory that a pixel of a tile takes.
    """

    window, step, multiple, minimum, takes_alpha = None, 1, 1, 1, False

    def __init__(self, model, name, scale, halo, skip, rotations):
        graph = read_graph(model)
        self.scale, self.halo, self.inset = scale, max(halo, SKIP_REACH), halo
        self._name, self._skip, self._rotations = name, skip, rotations
        self.engine = Engine(model, name, graph)
        self.pixel_bytes = network_bytes(graph, scale)

    def enlarge(self, planes, weights, gains, white, threads):
        """Planes (C, h + 2 inset, w + 2 inset) enlarged to (C, scale h, scale w), neither clipped nor rounded.

        `weights` of the planes make the luma; `gains` are 0 for planes that get no residual. `white` is the code of 1.
        """
        luma = np.tensordot(np.asarray(weights, np.float32) / np.float32(white), planes, 1)
        # NaN stays where the picture has it, instead of all around.
        np.nan_to_num(luma, copy=False, nan=0)
        residual = self._residual(luma, threads)
        residual *= np.float32(white)
        result = enlarged_by_resample(planes, self._skip, self.scale, self.inset)
        for plane, gain in zip(result, gains, strict=True):
            if gain:
                plane += residual
        return result

    def _residual(self, luma, threads):
        """(scale h, scale w) of a luma (h + 2 inset, w + 2 inset)."""
        total = np.float32(0)
        for turns in range(0, 4, 4 // self._rotations):
            turned = np.ascontiguousarray(np.rot90(luma, turns))
            depth = self.engine.run(turned[None, None], threads)
            height, width = (length - 2 * self.inset for length in turned.shape)
            _checks.sr_result(self._name, (1, self.scale**2, height, width), depth)
            residual = depth_to_space(depth, self.scale, data_format="NCHW", num_threads=1)[0, 0]
            total = total + np.rot90(residual, -turns)
        return total / np.float32(self._rotations)


@functools.lru_cache(8)
def embedded(name, scale):
    """The embedded model of a name and scale."""
    file = f"{name}_x{scale}.onnx"
    data = resources.files("imgops.sr").joinpath("models", file).read_bytes()
    facts = read_graph(data).metadata
    rotations = int(facts.get("imgops.rotations", 1))
    return LumaResidual(data, file, scale, int(facts["imgops.halo"]), facts["imgops.skip"], rotations)


def network_bytes(graph, scale):
    """About the memory that a pixel takes in a network: a few of its widest layers, and one after the enlargement."""
    widths = [max(array.shape[:2]) for array in graph.initializers.values() if array.ndim == 4]
    return 4 * max(widths, default=1) * (4 + scale**2)


def enlarged_by_resample(planes, mode, scale, margin):
    """Planes but for a margin of so many pixels on each side, enlarged as a part of the whole."""
    missing = max(0, SKIP_REACH - margin)
    if missing:
        planes = np.pad(planes, ((0, 0), (missing, missing), (missing, missing)), mode="edge")
    window, part = _window(planes.shape, mode, scale, margin + missing)
    return window(planes[part], num_threads=1)


@functools.lru_cache(64)
def _window(shape, mode, scale, margin):
    plan = ResamplePlan(shape, scale=(scale, scale), axes=(1, 2), mode=mode)
    region = (slice(0, shape[0]), *(slice(scale * margin, scale * (length - margin)) for length in shape[1:]))
    return plan.window(region), plan.input_region(region)
