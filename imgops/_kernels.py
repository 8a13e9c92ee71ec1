"""Chooses the instruction-set level at import and offers its kernels: `blocks` and `resample`.

A level's modules are loaded only after the processor was asked, since their very initialisation is compiled for it.
"""

import importlib
import importlib.util
import os

from . import _threads


def _is_built(level):
    return importlib.util.find_spec(f"{__package__}._resample_{level}") is not None


def _choose():
    wanted = os.environ.get("IMGOPS_SIMD", "")
    supported = _threads.supported_levels()
    built = [level for level in ("baseline", "v3", "v4") if _is_built(level)]
    usable = [level for level in built if level in supported]
    if not wanted:
        return usable[-1]
    if wanted not in usable:
        why = f"this processor runs {', '.join(supported)}" if wanted in built else f"this build has {', '.join(built)}"
        raise RuntimeError(
            f"imgops: IMGOPS_SIMD must name a level that is built and that runs here; got {wanted!r}, and {why}; "
            f"unset it or set it to {' or '.join(usable)}"
        )
    return wanted


LEVEL = _choose()
blocks = importlib.import_module(f"._blocks_{LEVEL}", __package__)
resample = importlib.import_module(f"._resample_{LEVEL}", __package__)
