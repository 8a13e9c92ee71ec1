"""What is measured: every cell is one operator on one array. To add one, add a line."""

import itertools
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Family:
    """Cells with one goal.

    Attributes
    ----------
    title : str
    least : float or None
        The ratio to the fastest peer that every cell is to reach; None asks for none.
    against_float32 : float or None
        Cells of other dtypes than uint8 and float32 are measured against imgops' own float32 cell, which they may
        exceed by this factor, and against no peer.
    rivals : tuple of str
        The peers that count for the goal; all of them where empty.
    limit : float or None
        Milliseconds that a cell may take, where it has no peer.
    """

    title: str
    least: float | None = None
    against_float32: float | None = None
    rivals: tuple = ()
    limit: float | None = None


FAMILIES = {
    "moves of 3 channels": Family("depth_to_space and space_to_depth, 3 channels", 3.0),
    "moves of 32 channels": Family("depth_to_space and space_to_depth, 32 channels", 1.5),
    "moves of float64": Family("depth_to_space and space_to_depth, float64", 1.0),
    "linear": Family("resample, linear", 1.0, against_float32=1.5),
    "nearest": Family("resample, nearest", 1.0, against_float32=1.5),
    "antialias": Family("resample, antialiased reduction", 2.0, rivals=("torch", "Pillow")),
    "linear gradient": Family("resample_grad, linear", 4.0),
    "nearest gradient": Family("resample_grad, nearest", 1.5),
    "small": Family("small arrays", 1.0, rivals=("torch",)),
    "import": Family("import imgops after NumPy", limit=40.0),
}
# Goals of a geometric mean over families.
MEANS = {
    "moves of 3 channels": (("moves of 3 channels",), 8.0),
    "moves of 32 channels": (("moves of 32 channels",), 3.0),
    "forward": (("linear", "nearest"), 1.5),
    "gradients": (("linear gradient", "nearest gradient"), 6.0),
}

# A cell that takes no longer than so many copies of its bytes is won: no kernel is faster than the copy.
COPIES_WON = 1.4


@dataclass(frozen=True)
class Cell:
    """One operator on one array.

    Attributes
    ----------
    family : str
    operator : {"depth_to_space", "space_to_depth", "resample", "resample_grad", "import"}
    layout : {"NHWC", "NCHW"}
    channels : int
        On the side of space, for the moves.
    dtype : str
    source, target : tuple of int
        (H, W) of the operator's input and output.
    block, order : int, str
        Of the moves.
    mode, antialias : str, bool
        Of the resampling.
    """

    family: str
    operator: str
    layout: str = "NHWC"
    channels: int = 3
    dtype: str = "float32"
    source: tuple = ()
    target: tuple = ()
    block: int = 0
    order: str = ""
    mode: str = ""
    antialias: bool = False
    quick: bool = False

    @property
    def name(self):
        """Words that tell the cell from all others; `--only` looks for them."""
        if self.operator == "import":
            return "import imgops"
        words = [self.operator]
        if self.block:
            words += [f"block {self.block}", self.order, *([size_name(self.target)] if self.family == "small" else [])]
        else:
            words += [self.mode, *(["antialias"] if self.antialias else []), self.sizes]
        return " ".join([*words, f"{self.layout}{self.channels}", self.dtype])

    @property
    def sizes(self):
        return f"{size_name(self.source)} to {size_name(self.target)}"

    @property
    def shape(self):
        """Of the array that goes in."""
        return self._shape(self.source, self.operator == "space_to_depth")

    @property
    def output_shape(self):
        return self._shape(self.target, self.operator == "depth_to_space")

    def _shape(self, size, space):
        channels = self.channels if space or not self.block else self.channels * self.block**2
        return (1, *size, channels) if self.layout == "NHWC" else (1, channels, *size)

    @property
    def bytes_moved(self):
        """Half of the bytes of input and output together: a copy of so many bytes reads and writes as much."""
        return (np.prod(self.shape) + np.prod(self.output_shape)) * np.dtype(self.dtype).itemsize // 2

    @property
    def most_copies(self):
        """Copies of the same bytes that the cell may take, whatever the peers do; None for no such goal."""
        if self.family in ("moves of 3 channels", "moves of 32 channels"):
            if self.dtype == "float32":
                return 1.5
            if self.dtype == "uint8" and self.layout == "NHWC" and self.channels == 3:
                return 4.0
        return None

    def input(self):
        """The array that goes in: random, floats in [0, 1)."""
        generator = np.random.default_rng(0)
        if np.dtype(self.dtype).kind == "f":
            single = np.float64 if self.dtype == "float64" else np.float32
            return generator.random(self.shape, dtype=single).astype(self.dtype, copy=False)
        return generator.integers(0, np.iinfo(self.dtype).max, self.shape, self.dtype, endpoint=True)

    def small(self, divisor=18):
        """The same cell on a picture that is so many times smaller, to check results."""
        unit = self.block or 1

        def reduced(length):
            return max(unit, length // divisor // unit * unit)

        source, target = (tuple(map(reduced, size)) for size in (self.source, self.target))
        if self.operator == "depth_to_space":
            source = tuple(length // unit for length in target)
        elif self.operator == "space_to_depth":
            target = tuple(length // unit for length in source)
        return replace(self, source=source, target=target)


# ---------------------------------------------------------------------------------------------------------------------
# The cells

_NAMES = {(540, 960): "540p", (720, 1280): "720p", (1080, 1920): "1080p", (2160, 3840): "4K"}


def size_name(size):
    """540p for (540, 960); others are width x height."""
    return _NAMES.get(size, f"{size[1]}x{size[0]}")


P540, P720, P1080, P4K = _NAMES
ODD = (999, 1777)
SIZES = ((P540, P1080), (P720, P1080), (P1080, P540), (P4K, P1080), (P1080, P4K), (P1080, ODD))
REDUCTIONS = ((P4K, P1080), (P1080, P540), (P1080, ODD), (P1080, (256, 256)))
LAYOUTS = (("NHWC", 1), ("NHWC", 3), ("NHWC", 4), ("NCHW", 3))


def _moves():
    for family, channels, size, dtypes in (
        ("moves of 3 channels", 3, P1080, ("uint8", "float16", "float32")),
        ("moves of 32 channels", 32, P540, ("uint8", "float16", "float32")),
        ("moves of float64", 3, P1080, ("float64",)),
        ("moves of float64", 32, P540, ("float64",)),
    ):
        for operator, layout, block, order, dtype in itertools.product(
            ("depth_to_space", "space_to_depth"), ("NHWC", "NCHW"), (2, 3, 4), ("DCR", "CRD"), dtypes
        ):
            depth = tuple(length // block for length in size)
            source, target = (depth, size) if operator == "depth_to_space" else (size, depth)
            quick = block == 2 and order == ("DCR" if layout == "NHWC" else "CRD") and operator == "depth_to_space"
            quick = quick and dtype in ("uint8", "float32")
            yield Cell(family, operator, layout, channels, dtype, source, target, block, order, quick=quick)


def _forward():
    for mode, (source, target), (layout, channels), dtype in itertools.product(
        ("linear", "nearest"), SIZES, LAYOUTS, ("float32", "uint8", "uint16", "float16")
    ):
        quick = channels == 3 and dtype in ("uint8", "float32") and (source, target) in (SIZES[0], SIZES[2], SIZES[5])
        yield Cell(mode, "resample", layout, channels, dtype, source, target, mode=mode, quick=quick)


def _antialias():
    for (source, target), (layout, channels), dtype in itertools.product(REDUCTIONS, LAYOUTS, ("uint8", "float32")):
        quick = channels == 3 and (source, target) == (P1080, P540)
        yield Cell("antialias", "resample", layout, channels, dtype, source, target, 0, "", "linear", True, quick)


def _gradients():
    """Of the same enlargements and reductions; the gradient goes from the forward's output back to its input."""
    for mode, (source, target), layout, dtype in itertools.product(
        ("linear", "nearest"), SIZES, ("NHWC", "NCHW"), ("float32", "float16", "float64")
    ):
        quick = dtype == "float32" and (source, target) in (SIZES[0], SIZES[2])
        family = f"{mode} gradient"
        yield Cell(family, "resample_grad", layout, 3, dtype, target, source, mode=mode, quick=quick)


def _small():
    yield Cell("small", "resample", "NCHW", 1, "float32", (4, 4), (8, 8), mode="linear", quick=True)
    yield Cell("small", "resample", "NCHW", 1, "float32", (4, 4), (8, 8), mode="nearest")
    yield Cell("small", "resample", "NCHW", 1, "uint8", (4, 4), (8, 8), mode="linear")
    yield Cell("small", "resample_grad", "NCHW", 1, "float32", (8, 8), (4, 4), mode="linear", quick=True)
    for operator, sizes in (("depth_to_space", ((2, 2), (4, 4))), ("space_to_depth", ((4, 4), (2, 2)))):
        yield Cell("small", operator, "NHWC", 1, "float32", *sizes, 2, "DCR", quick=True)
    yield Cell("import", "import", quick=True)


CELLS = (*_moves(), *_forward(), *_antialias(), *_gradients(), *_small())


def goal_of(cell):
    """(ratio that the cell is to reach or None, its factor against imgops' own float32 or None)."""
    family = FAMILIES[cell.family]
    if family.against_float32 and cell.dtype not in ("uint8", "float32"):
        return None, family.against_float32
    if cell.family == "small" and cell.block:
        return 0.5, None
    return family.least, None


def select(cells, words, quick):
    """The cells whose name or family has all the words; of these the quick ones."""
    chosen = [cell for cell in cells if all(word in f"{cell.name} {cell.family}" for word in words)]
    return [cell for cell in chosen if cell.quick] if quick else chosen
