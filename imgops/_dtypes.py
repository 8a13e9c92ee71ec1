"""Which dtypes the weighted kernels read and write, and in which accumulator."""

import functools

import numpy as np

# The numbers of pyx/_types.pxd.
CODES = {
    "bool": 0, "uint8": 0, "int8": 1, "uint16": 2, "int16": 3, "uint32": 4, "int32": 5, "uint64": 6, "int64": 7,
    "float16": 8, "bfloat16": 9, "float32": 10, "float64": 11, "complex64": 10, "complex128": 11,
}  # fmt: skip
WEIGHTED = frozenset(CODES) - {"bool", "uint64", "int64"}
_DOUBLE = frozenset(("uint32", "int32", "uint64", "int64", "float64", "complex128"))
_WIDER = {
    "float16": ("float32", "float64"),
    "bfloat16": ("float32", "float64"),
    "float32": ("float64",),
    "complex64": ("complex128",),
}
_FLOATING = frozenset(("float16", "bfloat16", "float32", "float64", "complex64", "complex128"))


def native(dtype):
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def code(dtype):
    """The kernels' number of a dtype, or of a part of a complex one."""
    return CODES[dtype.name]


def parts(dtype):
    """Numbers per item: 2 for complex."""
    return 2 if dtype.kind == "c" else 1


@functools.lru_cache(64)
def is_floating(dtype):
    """Whether gradients may have this dtype; kept, since NumPy makes a dtype's name anew each time."""
    return dtype.name in _FLOATING


def needs_double(*dtypes):
    """Whether the accumulator of these operands is float64."""
    return any(dtype.name in _DOUBLE for dtype in dtypes)


def gradient_outputs(dtype):
    """dtypes that a gradient of this dtype may be written or added to: its own, then the wider ones."""
    return (dtype, *(np.dtype(name) for name in _WIDER.get(dtype.name, ())))
