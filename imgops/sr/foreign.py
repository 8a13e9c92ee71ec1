"""Model files that people have: what kind of network is in one, and how pictures are to be given to it.

The graph tells most of it; what it leaves open, and whether the network can run at all, a run on a small picture does.
"""

import os
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .. import _checks
from . import engine, ncnn, reach
from .graph import Graph, read_bytes, read_graph

MAX_SCALE = 16
# Sides of the input, and numbers that size something, of networks that somebody made.
_LEAST_SIDE = 8
_MAX_SIDE = 2**14
_MAX_HALO = 256
_MAX_WINDOW = 2**9
_MAX_ELEMENTS = 2**28
_CHANNELS = {1: "luma", 3: "rgb", 4: "rgba"}
_COUNTS = {name: count for count, name in _CHANNELS.items()}
# Operators that run others as often as they like, or hold no arrays.
_REFUSED = frozenset(("Loop", "Scan", "SequenceMap", "StringConcat", "StringSplit", "StringNormalizer", "ImageDecoder"))
# Operators whose constants are no weights.
_SIZED = frozenset(("Clip", "Pad", "Resize", "Upsample"))
_DOMAINS = frozenset(("", "com.microsoft"))
# The mean difference from the enlarged picture, by that of a flat one, up to which a network is taken to enlarge; and
# how many times less it must be with values to 255, to which any network with small biases is nearly proportional.
_NEAR, _CLEARLY = 0.4, 10
# Two sizes of pictures to try a network on, small ones first: many multiples of what networks want, tall and wide.
# Of the measurement of what a network looks at: the picture's side, pixels tried, and how far they are changed.
_PATCH, _PLACES, _CHANGE = 112, 4, 8.0
_TRIALS = (((16, 32), (32, 16)), ((64, 96), (96, 64)))


@dataclass(frozen=True)
class ModelSpec:
    """A network, and how it wants its pictures.

    Attributes
    ----------
    model_bytes : bytes
        An ONNX file. Its one input and one output have four axes.
    channels : str
        "luma", "rgb" or "rgba": 1, 3 or 4 channels.
    layout : str
        "NCHW" or "NHWC", of input and output.
    dtype : str
        Of the input: "float32" or "float16".
    scale : int
        Output samples per input sample.
    fixed_size : (int, int) or None
        Height and width that the input must have; None if they are free.
    halo : int or None
        Input samples beside a tile that its output reads; None if only the whole picture will do, or it is not known.
    value_range : (float, float)
        Black and white: (0, 1) or (0, 255).
    padding : str
        "own": the network pads at the picture's border itself, its output has scale times the input's size. "valid":
        the input brings `halo` more samples on each side than the output has.
    name : str
    kind : str
        "picture", or "luma residual": the output, depth for depth_to_space, is added to a picture enlarged by `skip`.
    skip : str or None
        Mode of `imgops.resample` for a residual.
    rotations : int
        1, 2 or 4: a residual is the mean of those of so many rotations of the picture.
    multiple : int
        Height and width of the input must be multiples of this.
    minimum : int
        The least height and width of the input.
    step : int
        Tiles must begin at multiples of this to be like the whole.
    parameters : int
        Count of the weights.
    input_name, output_name : str
    notes : tuple of str
        What a user should know.
    """

    model_bytes: bytes
    channels: str
    layout: str
    dtype: str
    scale: int
    fixed_size: tuple | None = None
    halo: int | None = None
    value_range: tuple = (0.0, 1.0)
    padding: str = "own"
    name: str = ""
    kind: str = "picture"
    skip: str | None = None
    rotations: int = 1
    multiple: int = 1
    minimum: int = 1
    step: int = 1
    parameters: int = 0
    input_name: str = ""
    output_name: str = ""
    notes: tuple = ()


def load_model(path):
    """The ModelSpec of a model file.

    Parameters
    ----------
    path : path
        An ONNX file, or one of the two files of ncnn, NAME.param and NAME.bin, which stand beside each other.

    Returns
    -------
    ModelSpec

    Raises
    ------
    ValueError
        For what is no super-resolution network that can run; the message says what was found.
    OSError
        Where a file cannot be read; FileNotFoundError if there is none.
    ImportError
        If the network must be run to be known, and ONNX Runtime is not installed.
    """
    source = os.fspath(path)
    data = ncnn.to_onnx(source) if ncnn.other_file(source) else read_bytes(source)
    return describe_model(data, source, os.path.splitext(os.path.basename(source))[0])


def describe_model(data, source="model", name=""):
    """The ModelSpec of the bytes of an ONNX file; `source` names it in errors."""
    graph = read_graph(data, source)
    look = _Look(graph, source)
    look.check()
    return look.residual(data, name) if graph.metadata.get("imgops.kind") else look.picture(data, name)


class _CannotRun(Exception):
    """A trial of the network failed; the message says how."""


class _Look:
    """One graph, looked at from all sides."""

    def __init__(self, graph, source):
        self._graph = graph
        self._source = source

    def _refuse(self, required, found, advice="pass another model"):
        _checks.model_file(self._source, required, found, advice)

    # -----------------------------------------------------------------------------------------------------------------
    # What the graph says

    def check(self):
        """Refuse what is no network from one picture to one picture."""
        graph = self._graph
        for kind, values in (("input", graph.inputs), ("output", graph.outputs)):
            if len(values) != 1:
                names = ", ".join(_described(value) for value in values[:9]) or "none"
                self._refuse(f"a model must have one {kind}", f"{len(values)} ({names})")
            (value,) = values
            if value.dtype not in ("float32", "float16"):
                self._refuse(f"a model's {kind} must be float32 or float16", _described(value))
            if value.shape is not None and len(value.shape) != 4:
                advice = "export the model again with the axes NCHW or NHWC"
                self._refuse(f"a model's {kind} must have four axes", _described(value), advice)
        self._check_nodes(graph)
        sizes = [length for length in graph.inputs[0].shape or () if isinstance(length, int)]
        if any(length > _MAX_SIDE for length in sizes) or np.prod(sizes, dtype=np.float64) > _MAX_ELEMENTS:
            self._refuse("a model's input must be a picture", f"the absurd size of {_described(graph.inputs[0])}")

    def _check_nodes(self, graph):
        known = reach.constants(graph)
        for node in graph.nodes:
            if node.op in _REFUSED:
                self._refuse("a model must have no operators such as loops", node.op)
            if (node.domain, node.op) not in self._graph.functions and node.domain not in _DOMAINS:
                self._refuse("a model must have operators of ONNX alone", f"{node.domain}.{node.op}")
            for name in ("kernel_shape", "strides", "dilations", "pads", "output_padding", "blocksize", "output_shape"):
                if _largest(np.asarray(node.attributes.get(name, 0))) > _MAX_WINDOW:
                    found = f"{node.op} with {name}={node.attributes[name]}"
                    self._refuse("sizes in a model must be those of pictures", found)
            for inner in node.attributes.values():
                for subgraph in inner if isinstance(inner, list) else [inner]:
                    if isinstance(subgraph, Graph):
                        self._check_nodes(subgraph)
            self._check_sizes(node, [known.get(name) for name in node.inputs])

    def _check_sizes(self, node, inputs):
        """Refuse operators that a constant tells to make something absurd."""
        numbers = [value for value in inputs if isinstance(value, np.ndarray) and value.size and value.size <= 64]
        if node.op in ("ConstantOfShape", "Expand", "RandomNormal", "RandomUniform"):
            shape = np.asarray(node.attributes.get("shape") or (numbers[-1] if numbers else []))
            absurd = shape.dtype.kind in "iuf" and np.prod(np.maximum(1.0, shape.astype(np.float64))) > _MAX_ELEMENTS
        elif node.op in ("Tile", "Upsample", "Resize", "Pad"):
            largest = {"Tile": 2**10, "Pad": _MAX_WINDOW}.get(node.op, _MAX_SIDE)
            absurd = any(_largest(value) > largest for value in numbers)
        elif node.op in ("Range", "OneHot", "EyeLike"):
            absurd = any(_largest(value) > _MAX_ELEMENTS for value in numbers)
        else:
            absurd = False
        if absurd:
            self._refuse("sizes in a model must be those of pictures", f"{node.op} to an absurd size")

    def _reach(self, layout):
        try:
            return reach.find_reach(self._graph, layout)
        except reach.Unknown:
            return None
        except reach.Absurd as error:
            return self._refuse("sizes in a model must be those of pictures", str(error))

    def _candidates(self):
        """(layout, channels) that the input may have, the most probable first."""
        shape = self._graph.inputs[0].shape or (None,) * 4
        if shape[0] not in (1, None) and not isinstance(shape[0], str):
            self._refuse("a model must take one picture at a time", _described(self._graph.inputs[0]))
        hints = self._first_window()
        found = []
        for layout in ("NCHW", "NHWC"):
            declared = shape[1 if layout == "NCHW" else 3]
            counts = [declared] if isinstance(declared, int) else [3, 1, 4]
            sides = shape[2:] if layout == "NCHW" else shape[1:3]
            # A side of 3 samples is no picture's: it is the channels.
            if any(isinstance(side, int) and side < _LEAST_SIDE for side in sides):
                continue
            for count in counts:
                if count in _CHANNELS and not self._contradicts(layout, count):
                    free = not isinstance(declared, int)
                    found.append(((layout, count) not in hints, free, len(found), layout, count))
        if not found:
            required = "a model must take pictures of 1, 3 or 4 channels"
            window = " and ".join(f"convolutions of {count}" for _, count in sorted(hints))
            self._refuse(required, _described(self._graph.inputs[0]) + (f" with {window}" if window else ""))
        return [tuple(entry[-2:]) for entry in sorted(found)]

    def _contradicts(self, layout, count):
        output = self._graph.outputs[0].shape
        made = None if output is None else output[1 if layout == "NCHW" else 3]
        hints = self._first_window()
        return (isinstance(made, int) and made != count) or (bool(hints) and (layout, count) not in hints)

    def _first_window(self):
        """{(layout, channels)} of the first convolution, if the input goes into one, maybe through a transpose."""
        known = reach.constants(self._graph)
        names, layout = {self._graph.inputs[0].name}, "NCHW"
        for node in self._graph.nodes:
            if not node.outputs or not node.inputs or node.inputs[0] not in names:
                continue
            if node.op in ("Identity", "Cast", "Sub", "Div", "Mul", "Add") and len(names) < 9:
                names.add(node.outputs[0])
            elif node.op == "Transpose" and node.attributes.get("perm") == [0, 3, 1, 2]:
                names, layout = {node.outputs[0]}, "NHWC"
            elif node.op == "Conv" and len(node.inputs) > 1:
                weights = self._weights(node.inputs[1], known)
                if weights is not None and weights.ndim == 4:
                    groups = node.attributes.get("group")
                    return {(layout, weights.shape[1] * (groups if isinstance(groups, int) and groups > 0 else 1))}
        return set()

    def _weights(self, name, known):
        """An initializer, or one that a Cast, or a Mul by steps, makes numbers of."""
        for _ in range(4):
            if name in known:
                return known[name]
            maker = next((node for node in self._graph.nodes if name in node.outputs), None)
            if maker is None or maker.op not in ("Cast", "DequantizeLinear", "Identity", "Mul") or not maker.inputs:
                return None
            name = maker.inputs[0]
        return None

    def _declared_range(self):
        """The range of values that the last limit, or the first division, of the graph shows; None if none does."""
        known = reach.constants(self._graph)
        makers = {name: node for node in self._graph.nodes for name in node.outputs}
        node = makers.get(self._graph.outputs[0].name)
        for _ in range(6):
            if node is None:
                break
            numbers = [known[name] for name in node.inputs[1:] if name in known]
            numbers = [float(value.reshape(-1)[0]) for value in numbers if value.size == 1]
            limit = node.attributes.get("max") if node.op == "Clip" else None
            if node.op in ("Clip", "Min", "Mul"):
                numbers += [float(limit)] if isinstance(limit, (int, float)) else []
                if any(abs(number - 255) < 1 for number in numbers):
                    return (0.0, 255.0)
            if node.op == "Clip" and any(number == 1 for number in numbers):
                return (0.0, 1.0)
            if node.op not in ("Identity", "Cast", "Transpose", "Clip", "Mul", "Max", "Min", "Round"):
                break
            node = makers.get(node.inputs[0]) if node.inputs else None
        return None

    # -----------------------------------------------------------------------------------------------------------------
    # The two kinds of networks

    def residual(self, data, name):
        """The spec of a network of imgops's own kind, whose metadata says what it is."""
        metadata = self._graph.metadata
        kind, skip = metadata["imgops.kind"], metadata.get("imgops.skip")
        rotations = metadata.get("imgops.rotations", "1")
        numbers = [metadata.get(f"imgops.{key}", "") for key in ("scale", "halo")]
        if kind != "luma residual" or skip not in ("nearest", "linear", "cubic"):
            self._refuse("metadata must name a kind of model that is known", f"kind {kind!r} with skip {skip!r}")
        if not all(text.isascii() and text.isdecimal() and len(text) < 4 for text in numbers):
            self._refuse("metadata must have scale and halo", f"{numbers[0]!r} and {numbers[1]!r}")
        if rotations not in ("1", "2", "4"):
            self._refuse("metadata's rotations must be 1, 2 or 4", repr(rotations))
        scale, halo = map(int, numbers)
        if not 1 <= scale <= MAX_SCALE:
            self._refuse(f"a model's scale must be from 1 to {MAX_SCALE}", scale)
        found = self._reach("NCHW")
        if halo > _MAX_HALO or (found is not None and found.lost not in (None, halo)):
            shows = "" if found is None else f" for a graph that shows {found.lost}"
            self._refuse(f"a model's halo must be that of its graph, at most {_MAX_HALO}", f"{halo}{shows}")
        spec = self._spec(data, metadata.get("imgops.name") or name, "luma", "NCHW")
        spec.update(scale=scale, halo=halo, padding="valid", kind=kind, skip=skip, rotations=int(rotations))
        trial = _trial(data, self._source)
        if trial is not None:
            try:
                made = trial.run(np.zeros((1, 1, 2 * halo + 3, 2 * halo + 5), spec["dtype"]))
            except _CannotRun as error:
                self._refuse("ONNX Runtime must be able to run the model", str(error))
            if made.shape != (1, scale * scale, 3, 5):
                found = f"{made.shape} for a halo of {halo}"
                self._refuse(f"the output for 3 x 5 samples must be of shape {(1, scale * scale, 3, 5)}", found)
            self._refuse_not_finite(made)
        return ModelSpec(**spec)

    def picture(self, data, name):
        """The spec of a network from picture to picture."""
        candidates = self._candidates()
        # Before anything is run, what is told to be absurd.
        reaches = {layout: self._reach(layout) for layout, _ in candidates}
        trial = _trial(data, self._source)
        if trial is None:
            return self._untried(data, name, *candidates[0], reaches[candidates[0][0]])
        failures = []
        for layout, count in candidates:
            try:
                sizes = _sizes(trial, layout, count, self._fixed_size(layout), self._graph.inputs[0].dtype)
            except _CannotRun as error:
                failures.append(f"{layout} of {count} channel{'s' * (count > 1)}: {error}")
                continue
            return self._tried(data, name, layout, count, sizes, trial, reaches[layout])
        self._refuse("a model must make an enlarged picture of a picture", "; ".join(failures[:3]))
        return None

    def _spec(self, data, name, channels, layout):
        graph = self._graph
        return {
            "model_bytes": bytes(data),
            "channels": channels,
            "layout": layout,
            "dtype": graph.inputs[0].dtype,
            "name": name or graph.name,
            "parameters": count_parameters(graph),
            "input_name": graph.inputs[0].name,
            "output_name": graph.outputs[0].name,
        }

    def _fixed_size(self, layout):
        """(height, width) where the input has fixed ones; a free one beside a fixed one takes the same length."""
        shape = self._graph.inputs[0].shape or (None,) * 4
        sides = [side if isinstance(side, int) else None for side in (shape[2:] if layout == "NCHW" else shape[1:3])]
        return None if sides == [None, None] else (sides[0] or sides[1], sides[1] or sides[0])

    def _untried(self, data, name, layout, count, found):
        """What the graph alone tells, where ONNX Runtime is not installed."""
        if found is None or None in (found.scale, found.lost) or found.layout != layout:
            _checks.needs_onnxruntime(self._source)
        spec = self._spec(data, name, _CHANNELS[count], layout)
        spec.update(scale=self._whole(found.scale), fixed_size=self._fixed_size(layout))
        spec.update(step=found.multiple, multiple=found.multiple, minimum=found.multiple, halo=found.halo)
        if found.lost:
            spec.update(padding="valid", halo=self._lost(found.lost, found.scale), minimum=2 * int(found.lost) + 1)
        spec.update(value_range=self._declared_range() or (0.0, 1.0))
        return ModelSpec(**spec, notes=("not tried, since the package onnxruntime is not installed",))

    def _whole(self, scale):
        if scale.denominator != 1 or not 1 <= scale <= MAX_SCALE:
            self._refuse(f"a model's scale must be a whole number from 1 to {MAX_SCALE}", scale)
        return int(scale)

    def _lost(self, lost, scale):
        """Input samples on each side that the output does not show."""
        if lost.denominator != 1 or lost < 0:
            found = f"an output that is {2 * lost * scale} samples smaller"
            self._refuse(f"the output must be {scale} times the input, or smaller by the same on each side", found)
        return int(lost)

    def _tried(self, data, name, layout, count, sizes, trial, found):
        scale = self._whole(sizes.scale)
        if found is not None and (found.scale != scale or found.layout != layout):
            found = None
        spec = self._spec(data, name, _CHANNELS[count], layout)
        spec.update(scale=scale, fixed_size=sizes.fixed, multiple=sizes.multiple, minimum=sizes.minimum)
        if found is not None:
            spec.update(halo=found.halo, step=found.multiple)
        if sizes.lost:
            spec.update(halo=self._lost(Fraction(sizes.lost, 2 * scale), scale), padding="valid")
        elif found is None and sizes.fixed is None:
            spec.update(_measured_reach(trial, spec))
        notes = []
        spec["value_range"] = self._declared_range() or self._tried_range(trial, spec, notes)
        if spec.get("halo") is None:
            notes.append("what a part of the picture needs around it is not known")
        return ModelSpec(**spec, notes=tuple(notes))

    def _tried_range(self, trial, spec, notes):
        """The range of values in which the network makes of a picture something like it."""
        height, width = spec["fixed_size"] or (max(32, spec["minimum"]),) * 2
        halo = spec["halo"] if spec.get("padding") == "valid" else 0
        picture = _test_picture(height + 2 * halo, width + 2 * halo, _COUNTS[spec["channels"]])
        inner = picture[halo : halo + height, halo : halo + width]
        expected = inner.repeat(spec["scale"], 0).repeat(spec["scale"], 1)
        flat = np.abs(expected - expected.mean((0, 1))).mean()
        differences, outputs = {}, {}
        for white in (1.0, 255.0):
            try:
                made = trial.run(_given(picture * white, spec["layout"], spec["dtype"]))
            except _CannotRun as error:
                self._refuse("ONNX Runtime must be able to run the model", str(error))
            made = outputs[white] = _taken(made, spec["layout"]).astype(np.float64)
            finite = made.shape == expected.shape and np.isfinite(made).all()
            differences[white] = np.abs(made / white - expected).mean() / flat if finite else np.inf
            if differences[white] <= min(_NEAR, differences[1.0] / (1 if white == 1 else _CLEARLY)):
                return (0.0, white)
        self._refuse_not_finite(outputs[1.0])
        notes.append("its output is unlike the input enlarged; its values are taken to be 0 to 1")
        return (0.0, 1.0)

    def _refuse_not_finite(self, made):
        count = made.size - np.isfinite(made).sum()
        if count:
            self._refuse(
                "a model must make finite numbers of a picture with values from 0 to 1",
                f"NaN or infinity for {count} of {made.size}",
            )


def _largest(array):
    return np.abs(array.astype(np.float64)).max(initial=0) if array.dtype.kind in "iuf" else 0


def count_parameters(graph):
    """The count of a graph's weights: numbers that are no sizes, and no steps that whole weights are multiplied by."""
    steps, whole = set(), {name for name, value in graph.initializers.items() if value.dtype in (np.int8, np.uint8)}
    for node in graph.nodes:
        if node.op in _SIZED or (
            node.op in ("Mul", "DequantizeLinear") and node.inputs[:1] and node.inputs[0] in whole
        ):
            steps.update(node.inputs[1:])
        elif node.op == "Cast" and node.inputs and node.inputs[0] in whole:
            whole.update(node.outputs)
    weights = [value for name, value in graph.initializers.items() if name not in steps]
    return sum(value.size for value in weights if value.dtype.kind == "f" or value.dtype in (np.int8, np.uint8))


def _described(value):
    shape = "?" if value.shape is None else ", ".join("any" if n is None else str(n) for n in value.shape)
    return f"{value.name!r}, {value.dtype or 'no dtype'} ({shape})"


# ---------------------------------------------------------------------------------------------------------------------
# Trials


@dataclass(frozen=True)
class _Sizes:
    """Sides of the output: scale * side - lost."""

    scale: Fraction
    lost: int
    fixed: tuple | None
    multiple: int = 1
    minimum: int = 1


def _sizes(trial, layout, count, fixed, dtype):
    """The _Sizes that runs on small pictures show."""

    def run(height, width):
        made = trial.run(_given(_test_picture(height, width, count), layout, dtype))
        if made.ndim != 4 or made.shape[0] != 1:
            raise _CannotRun(f"its output for {height} x {width} has the shape {made.shape}")
        picture = _taken(made, layout)
        if picture.shape[2] != count or 0 in picture.shape:
            raise _CannotRun(f"its output for {height} x {width} has the shape {made.shape}")
        return picture.shape[:2]

    if fixed is not None:
        made = run(*fixed)
        scales = {Fraction(made[index], fixed[index]) for index in (0, 1)}
        if len(scales) != 1:
            raise _CannotRun(f"its output for {fixed[0]} x {fixed[1]} is {made[0]} x {made[1]}")
        return _Sizes(scales.pop(), 0, fixed)

    for first, second in _TRIALS:
        try:
            made = run(*first)
        except _CannotRun as error:
            failure = error
            continue
        other = run(*second)
        slopes = {Fraction(made[i] - other[i], first[i] - second[i]) for i in (0, 1)}
        scale = slopes.pop()
        lost = [scale * first[i] - made[i] for i in (0, 1)]
        if slopes or lost[0] != lost[1] or lost[0].denominator != 1 or lost[0] < 0 or scale <= 0:
            sizes = [f"{a[0]} x {a[1]} for {b[0]} x {b[1]}" for a, b in ((made, first), (other, second))]
            raise _CannotRun(f"its output is {' and '.join(sizes)}")

        def fits(height, width, scale=scale, lost=lost[0]):
            try:
                return run(height, width) == (scale * height - lost, scale * width - lost)
            except _CannotRun:
                return False

        high = first[0]
        multiple = next((n for n in (1, 2, 4, 8) if fits(high + n, high + 3 * n)), high)
        minimum = next((n for n in (multiple, 2 * multiple, 4 * multiple, 8 * multiple) if fits(n, n)), high)
        return _Sizes(scale, int(lost[0]), None, multiple, max(minimum, multiple))
    raise failure


def _measured_reach(trial, spec):
    """{"halo", "step"} of a network whose graph does not tell them, or {"halo": None} where it looks too far.

    What a change of single pixels changes, and by how many pixels a part must be shifted to be made as in the whole.
    """
    scale, count = spec["scale"], _COUNTS[spec["channels"]]
    side = -(-_PATCH // spec["multiple"]) * spec["multiple"]
    random = np.random.default_rng(0)
    picture = random.uniform(0, 1, (side, side, count))

    def run(part):
        made = trial.run(_given(part, spec["layout"], spec["dtype"]))
        if not np.isfinite(made).all():
            raise _CannotRun("its output is not finite")
        return _taken(made, spec["layout"]).astype(np.float64)

    nothing = {"halo": None}
    try:
        whole = run(picture)
        tolerance = 1e-6 * max(1.0, np.abs(whole).max()) if spec["dtype"] == "float32" else 1e-2
        halo = 0
        for place in side // 2 + np.arange(_PLACES):
            changed = picture.copy()
            changed[place, place] = random.choice((-_CHANGE, _CHANGE), count)
            moved = np.argwhere((np.abs(run(changed) - whole) > tolerance).any(2))
            if not moved.size or moved.min() < 4 * scale or moved.max() >= scale * (side - 4):
                return nothing
            halo = max(halo, place - moved.min() // scale, moved.max() // scale - place)
        for step in range(spec["multiple"], 17, spec["multiple"]):
            around = -(-halo // step) * step
            # A part that begins a step further on, cut to what it knows.
            inner, part = (
                slice(scale * around, -scale * around or None),
                run(picture[step:, step:][: side - 16, : side - 16]),
            )
            there = whole[scale * step :, scale * step :][: len(part), : len(part)]
            if part.shape == there.shape and np.abs(part - there)[inner, inner].max(initial=0) <= 100 * tolerance:
                return {"halo": int(halo), "step": step}
    except _CannotRun:
        pass
    return nothing


def _test_picture(height, width, count):
    """Slopes, a bar and a disc in several colours, (H, W, count) of 0..1."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    y, x = (y + 0.5) / height, (x + 0.5) / width
    bar = (np.abs(x - 0.3) < 0.1).astype(np.float64)
    disc = (np.hypot(y - 0.6, x - 0.7) < 0.2).astype(np.float64)
    planes = (0.2 + 0.5 * x + 0.3 * bar, 0.7 - 0.4 * y + 0.3 * disc, 0.3 + 0.3 * x * y + 0.4 * bar, 1 - 0.2 * disc)
    return np.clip(np.stack(planes[:count], -1), 0, 1)


def _given(picture, layout, dtype):
    array = picture[None] if layout == "NHWC" else picture.transpose(2, 0, 1)[None]
    return np.ascontiguousarray(array, dtype)


def _taken(made, layout):
    return made[0] if layout == "NHWC" else made[0].transpose(1, 2, 0)


class _Trial:
    def __init__(self, session):
        self._session = session
        self._name = session.get_inputs()[0].name

    def run(self, array):
        try:
            (made,) = self._session.run(None, {self._name: array})
        except Exception as error:
            # ONNX Runtime has many classes of errors of its own, with no base but this.
            raise _CannotRun(_reason(error)) from error
        if not isinstance(made, np.ndarray):
            raise _CannotRun(f"its output is a {type(made).__name__}")
        return made


def _trial(data, source):
    """Something to run the model with; None where ONNX Runtime is not installed."""
    onnxruntime = engine.onnxruntime()
    if onnxruntime is None:
        return None
    options = onnxruntime.SessionOptions()
    # Errors come as exceptions; what it logs beside them is the same again.
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    try:
        return _Trial(onnxruntime.InferenceSession(bytes(data), options, providers=["CPUExecutionProvider"]))
    except Exception as error:
        required = f"ONNX Runtime {onnxruntime.__version__} must be able to load the model"
        return _checks.model_file(source, required, _reason(error), "export the model again, or pass another one")


def _reason(error):
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."
