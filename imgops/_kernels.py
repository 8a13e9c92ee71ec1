"""Chooses the instruction-set level at import and offers its kernels: `blocks` and `resample`.

A level's modules are loaded only after the processor was asked, since their very initialisation is compiled for it.
"""

import contextlib
import importlib
import importlib.util
import os

# Turns of the loop in which a thread of GNU OpenMP waits for the next call before it sleeps: about a millisecond. Its
# own 300,000 turns burn 15 milliseconds after every call. Where other programs use the cores, such a thread has spent
# its share of them when it is given work, and the caller waits until it is its turn again. With 2,000 turns it sleeps
# within calls, while it waits for the other threads, and short calls take a tenth to a third longer.
_SPIN = {"GOMP_SPINCOUNT": "20000"}


@contextlib.contextmanager
def _short_spin():
    """While OpenMP's library is loaded, which is when it reads the environment: spin for a short time only."""
    unset = {} if {"OMP_WAIT_POLICY", *_SPIN} & os.environ.keys() else _SPIN
    os.environ.update(unset)
    try:
        yield
    finally:
        for name in unset:
            del os.environ[name]


with _short_spin():
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
