"""The same operators on the arrays of others: `dask`, larger than memory, and `torch`, differentiable.

Each module needs the package that it is named after, and is loaded when it is first named.
"""

import importlib

__all__ = ["dask", "torch"]


def __getattr__(name):
    if name in __all__:
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted((*globals(), *__all__))
