"""DepthToSpace, Resample and their exact gradients on NumPy arrays.

>>> import imgops
>>> imgops.resample([[1, 2], [3, 4]], (1, 3), mode="nearest").tolist()
[[1, 1, 2]]
"""

import importlib

from .blocks import (
    depth_to_space,
    depth_to_space_grad,
    depth_to_space_shape,
    pixel_shuffle,
    pixel_unshuffle,
    space_to_depth,
    space_to_depth_grad,
    space_to_depth_shape,
)
from .conventions import conventions, get_convention
from .identify import identify
from .resampling import ResamplePlan, resample, resample_grad, resample_shape
from .taps import AxisMap
from .threads import get_num_threads, set_num_threads, show_config, simd_level, thread_limit

__version__ = "0.1.0"

# Loaded when first named: not everybody needs them, and pillow brings PIL.
_SUBMODULES = ("bridges", "interfaces", "pillow", "reference", "sr")


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted((*globals(), *_SUBMODULES))


__all__ = [
    "AxisMap",
    "ResamplePlan",
    "conventions",
    "depth_to_space",
    "depth_to_space_grad",
    "depth_to_space_shape",
    "get_convention",
    "get_num_threads",
    "identify",
    "pixel_shuffle",
    "pixel_unshuffle",
    "resample",
    "resample_grad",
    "resample_shape",
    "set_num_threads",
    "show_config",
    "simd_level",
    "space_to_depth",
    "space_to_depth_grad",
    "space_to_depth_shape",
    "thread_limit",
]
