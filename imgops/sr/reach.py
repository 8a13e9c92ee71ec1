"""How far the samples of a network's output reach into its input, found from the graph alone.

For every tensor of the graph that is a picture, per axis: samples [A, B) of it depend on the input's part from
A / ratio + low to B / ratio + high, in input samples, where A and B stand at borders of input samples. Operators change
the three numbers; where one does not tell (a mean over the picture, a shape that is computed), nothing is said at all.
Rounding to whole samples is left to the end: the input's grid is a part of every finer one, so this changes nothing.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .graph import Graph

# Operators that look at one sample at a time.
# fmt: off
_POINTWISE = frozenset((
    "Abs", "Add", "And", "BatchNormalization", "Cast", "CastLike", "Ceil", "Celu", "Clip", "DequantizeLinear",
    "Div", "Dropout", "Elu", "Equal", "Erf", "Exp", "Floor", "Gelu", "Greater", "HardSigmoid", "HardSwish",
    "Identity", "LeakyRelu", "Less", "Log", "Max", "Mean", "Min", "Mish", "Mod", "Mul", "Neg", "Not", "Or",
    "PRelu", "Pow", "QuantizeLinear", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Softplus",
    "Softsign", "Sqrt", "Sub", "Sum", "Tanh", "ThresholdedRelu", "Where",
))
# fmt: on
# Of these, the ones whose further inputs have a number for each channel.
_BY_CHANNEL = frozenset(("BatchNormalization", "DequantizeLinear", "QuantizeLinear"))
_WINDOWS = frozenset(("Conv", "MaxPool", "AveragePool", "LpPool"))
# What exporters write for the end of an axis is at least this.
_END = 2**31 - 1
_LAYOUTS = {(0, 3, 1, 2): "NCHW", (0, 2, 3, 1): "NHWC"}


# Beyond these a network is none for pictures: of a tensor's length by the input's, and beside it.
MAX_RATIO, MAX_GROWTH = 64, 4096


@dataclass(frozen=True)
class Axis:
    """The three numbers of one axis, and two more, all but `ratio` in input samples.

    `step` is the coarsest sampling on the way there; the tensor's length is ratio * (input's length + growth).
    """

    ratio: Fraction = Fraction(1)
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    step: Fraction = Fraction(1)
    growth: Fraction = Fraction(0)

    def read(self, before, after, growth=0):
        """After an operator that reads so many samples more on either side, and makes so many more than it has."""
        low, high, growth = (Fraction(number) / self.ratio for number in (before, after, growth))
        if abs(self.growth + growth) > MAX_GROWTH:
            raise Absurd(f"a picture that grows by {float(self.growth + growth):.4g} samples")
        return replace(self, low=self.low - low, high=self.high + high, growth=self.growth + growth)

    def scaled(self, factor):
        ratio = self.ratio * factor
        if not 1 / MAX_RATIO <= ratio <= MAX_RATIO:
            raise Absurd(f"a picture of {float(ratio):.4g} times the size")
        if factor > 1 and self.ratio < 1:
            # Whole samples of a grid that is coarser than the input's.
            slack = 1 / self.ratio
            return replace(self, ratio=ratio, low=self.low - slack, high=self.high + slack)
        # Lengths round down; those of the input are multiples of `step`.
        growth = math.floor(self.growth * ratio) / ratio
        return replace(self, ratio=ratio, step=max(self.step, 1 / ratio), growth=growth)

    def joined(self, other):
        if (self.ratio, self.growth) != (other.ratio, other.growth):
            raise Unknown("pictures of two sizes together")
        step = Fraction(math.lcm(math.ceil(self.step), math.ceil(other.step)))
        return replace(self, low=min(self.low, other.low), high=max(self.high, other.high), step=step)


@dataclass(frozen=True)
class Reach:
    """What one output of a network reads: the Axis of its height and that of its width, and its layout."""

    height: Axis
    width: Axis
    layout: str

    @property
    def scale(self):
        """Output samples per input sample, a Fraction, or None where the axes differ."""
        return self.height.ratio if self.height.ratio == self.width.ratio else None

    @property
    def halo(self):
        """Input samples beside a part that its output reads."""
        return max(0, *(math.ceil(side) for axis in (self.height, self.width) for side in (-axis.low, axis.high)))

    @property
    def lost(self):
        """Input samples on each side that the output does not show, a Fraction, or None where the axes differ."""
        return -self.height.growth / 2 if self.height.growth == self.width.growth else None

    @property
    def multiple(self):
        """Parts must begin at multiples of this to be sampled like the whole."""
        return math.lcm(math.ceil(self.height.step), math.ceil(self.width.step))


# What rules run into where a node is not as ONNX says: ONNX Runtime is asked about these.
_MALFORMED = (IndexError, KeyError, TypeError, ValueError, AttributeError, ArithmeticError)


class Unknown(Exception):
    """The graph alone does not tell."""


class Absurd(Exception):
    """The graph makes something far too large, or too small."""


@dataclass(frozen=True)
class _Picture:
    axes: tuple
    layout: str

    def each(self, change):
        return _Picture(tuple(change(axis, index) for index, axis in enumerate(self.axes)), self.layout)


def find_reach(graph, layout):
    """The Reach of a graph's first output for an input of that layout, "NCHW" or "NHWC".

    Raises
    ------
    Unknown, Absurd
        Where the graph alone does not tell, or makes tensors of absurd sizes; the message says why.
    """
    known = dict(graph.initializers)
    known[graph.inputs[0].name] = _Picture((Axis(), Axis()), layout)
    for node in graph.nodes:
        inputs = [known.get(name) if name else None for name in node.inputs]
        try:
            results = _results(node, inputs, graph.opset)
        except _MALFORMED as error:
            raise Unknown(f"{node.op} with other inputs or attributes than it has") from error
        known.update(zip(node.outputs, results, strict=False))
    result = known.get(graph.outputs[0].name)
    if not isinstance(result, _Picture):
        raise Unknown("an output that is not made from the input")
    return Reach(*result.axes, result.layout)


def constants(graph):
    """{name: array}: initializers, and what Constant nodes give."""
    found = dict(graph.initializers)
    for node in graph.nodes:
        if node.op == "Constant" and node.outputs:
            value = _constant(node)
            if value is not None:
                found[node.outputs[0]] = value
    return found


def _constant(node):
    for name in ("value", "value_float", "value_int", "value_floats", "value_ints"):
        if name in node.attributes and node.attributes[name] is not None:
            return np.asarray(node.attributes[name])
    return None


def _results(node, inputs, opset):
    pictures = [value for value in inputs if isinstance(value, _Picture)]
    if node.op == "Constant":
        return [_constant(node)]
    if any(isinstance(value, Graph) for value in node.attributes.values()):
        raise Unknown(f"{node.op}, which holds a graph")
    if node.op in ("Shape", "Size"):
        return [None]
    if not pictures:
        return [_folded(node, inputs)] * len(node.outputs)
    if node.domain:
        raise Unknown(f"{node.domain}.{node.op}")
    first = inputs[0]
    if node.op in _POINTWISE:
        return [_pointwise(node, inputs)] * len(node.outputs)
    rule = _RULES.get(node.op)
    if rule is None or not isinstance(first, _Picture):
        raise Unknown(node.op)
    return [rule(node, first, inputs, opset)] * len(node.outputs)


def _folded(node, inputs):
    """The value of the few operators that exporters put between constants; None for those of others."""
    if any(value is None for value in inputs) or not inputs:
        return None
    if node.op in ("Identity", "Cast", "DequantizeLinear"):
        return inputs[0]
    if node.op == "Mul" and max(inputs[1].size, 1) * 64 <= max(inputs[0].size, 64):
        # Weights of a kernel by a step for each of its channels; their shape is what counts.
        return inputs[0]
    if node.op in ("Unsqueeze", "Squeeze"):
        return np.asarray(inputs[0]).reshape(-1)
    if node.op == "Concat":
        return np.concatenate([np.asarray(value).reshape(-1) for value in inputs])
    return None


def _pointwise(node, inputs):
    pictures = [value for value in inputs if isinstance(value, _Picture)]
    result = pictures[0]
    for picture in pictures[1:]:
        result = _join(result, picture)
    for name, value in zip(node.inputs, inputs, strict=True):
        if isinstance(value, np.ndarray) and node.op not in _BY_CHANNEL:
            if any(4 - axis <= value.ndim and value.shape[axis - 4] > 1 for axis in _spatial(result)):
                raise Unknown(f"{node.op} with a constant for each sample")
        elif value is None and name:
            raise Unknown(f"{node.op} with a computed number")
    return result


def _join(a, b):
    if a.layout != b.layout:
        raise Unknown("pictures of two layouts together")
    return _Picture(tuple(x.joined(y) for x, y in zip(a.axes, b.axes, strict=True)), a.layout)


def _spatial(picture):
    """Axes of height and width."""
    return (2, 3) if picture.layout == "NCHW" else (1, 2)


def _channel(picture):
    return 1 if picture.layout == "NCHW" else 3


def _nchw(picture, op):
    if picture.layout != "NCHW":
        raise Unknown(f"{op} on an NHWC picture")


def _window(node, picture, inputs, _):
    _nchw(picture, node.op)
    sizes = node.attributes.get("kernel_shape")
    if not sizes:
        if len(inputs) < 2 or not isinstance(inputs[1], np.ndarray) or inputs[1].ndim != 4:
            raise Unknown(f"{node.op} of an unknown size")
        sizes = inputs[1].shape[2:]
    strides, dilations, pads = _window_attributes(node, sizes)

    def read(axis, index):
        size, stride, begin = (sizes[index] - 1) * dilations[index] + 1, strides[index], pads[index]
        growth = begin + pads[index - 2] - size + stride
        return axis.read(begin, size - begin - stride, growth).scaled(Fraction(1, stride))

    return picture.each(read)


def _window_attributes(node, sizes):
    attributes = node.attributes
    strides = attributes.get("strides") or [1, 1]
    dilations = attributes.get("dilations") or [1, 1]
    pads = attributes.get("pads") or [0, 0, 0, 0]
    auto = attributes.get("auto_pad") or "NOTSET"
    if not (len(sizes) == len(strides) == len(dilations) == 2 and len(pads) == 4):
        raise Unknown(f"{node.op} of another rank")
    if min(*sizes, *strides, *dilations) < 1:
        raise Unknown(f"{node.op} of no size")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        if max(strides) > 1:
            raise Unknown(f"{node.op} with auto_pad and strides")
        total = [(size - 1) * dilation for size, dilation in zip(sizes, dilations, strict=True)]
        pads = [n // 2 if auto == "SAME_UPPER" else n - n // 2 for n in total]
        pads += [n - pad for n, pad in zip(total, pads, strict=True)]
    elif auto == "VALID":
        pads = [0, 0, 0, 0]
    return strides, dilations, pads


def _transposed(node, picture, inputs, _):
    _nchw(picture, node.op)
    if len(inputs) < 2 or not isinstance(inputs[1], np.ndarray) or inputs[1].ndim != 4:
        raise Unknown(f"{node.op} of an unknown size")
    if (node.attributes.get("auto_pad") or "NOTSET") != "NOTSET" or node.attributes.get("output_shape"):
        raise Unknown(f"{node.op} with a computed padding")
    sizes = inputs[1].shape[2:]
    strides, dilations, pads = _window_attributes(node, sizes)

    def spread(axis, index):
        size, stride, begin = (sizes[index] - 1) * dilations[index] + 1, strides[index], pads[index]
        growth = Fraction(size - begin - pads[index - 2], stride) - 1
        grown = axis.read(Fraction(size - stride - begin, stride), Fraction(begin, stride), growth)
        return grown.scaled(Fraction(stride))

    return picture.each(spread)


def _to_space(node, picture, *_):
    _nchw(picture, node.op)
    return _by(picture, Fraction(_block(node)))


def _to_depth(node, picture, *_):
    _nchw(picture, node.op)
    return _by(picture, Fraction(1, _block(node)))


def _block(node):
    block = node.attributes.get("blocksize", 0)
    if not isinstance(block, int) or block < 1:
        raise Unknown(f"{node.op} of block {block}")
    return block


def _by(picture, factor):
    return picture.each(lambda axis, _: axis.scaled(factor))


def _resize(node, picture, inputs, opset):
    attributes = node.attributes
    scales = inputs[1 if opset < 11 or node.op == "Upsample" else 2] if len(inputs) > 1 else attributes.get("scales")
    if scales is None or np.size(scales) != 4:
        raise Unknown(f"{node.op} to a computed size")
    if attributes.get("axes"):
        raise Unknown(f"{node.op} of some axes")
    scales = np.asarray(scales).reshape(-1)
    mode = attributes.get("mode") or "nearest"
    how = "asymmetric" if opset < 11 or node.op == "Upsample" else attributes.get("coordinate_transformation_mode")
    how = how or "half_pixel"
    if how not in ("asymmetric", "half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"):
        raise Unknown(f"{node.op} with {how}, which depends on the whole size")
    antialias = bool(attributes.get("antialias"))
    rounding = (
        "floor" if opset < 11 or node.op == "Upsample" else attributes.get("nearest_mode") or "round_prefer_floor"
    )
    # With a whole factor, the input sample that the output lies in.
    exact = rounding == "floor" if how == "asymmetric" else rounding.startswith("round")
    if any(scale != 1 for index, scale in enumerate(scales) if index not in _spatial(picture)):
        raise Unknown(f"{node.op} of channels")

    def resize(axis, index):
        factor = Fraction(str(scales[_spatial(picture)[index]])).limit_denominator(1000)
        if factor <= 0:
            raise Unknown(f"{node.op} by {factor}")
        if factor == 1:
            return axis
        if mode == "nearest" and exact and factor.denominator == 1:
            return axis.scaled(factor)
        return axis.read(*_resize_reach(mode, how, factor, antialias)).scaled(factor)

    return picture.each(resize)


def _resize_reach(mode, how, factor, antialias):
    """Input samples that are read beside the scaled part, before and after."""
    # The first output's coordinate lies `shift` after the part's beginning, the last one's 1 / factor less.
    shift = Fraction(0) if how == "asymmetric" else (1 / factor - 1) / 2
    half = {"nearest": Fraction(1), "linear": Fraction(1), "cubic": Fraction(2)}.get(mode)
    if half is None:
        raise Unknown(f"a resize of mode {mode}")
    if antialias and factor < 1:
        half = half / factor
    # Taps lie less than `half` from the coordinate; a sample's own part goes on one further.
    return half - 1 - shift, shift - 1 / factor + half


def _pad(node, picture, inputs, opset):
    pads = node.attributes.get("pads") if opset < 11 else (inputs[1] if len(inputs) > 1 else None)
    if pads is None or np.size(pads) != 8 or (len(inputs) > 3 and inputs[3] is not None):
        raise Unknown("Pad by a computed size")
    pads = [int(n) for n in np.asarray(pads).reshape(-1)]
    spatial = _spatial(picture)
    if any(pads[axis] or pads[axis + 4] for axis in range(4) if axis not in spatial):
        raise Unknown("Pad of channels")
    if node.attributes.get("mode") == "wrap":
        raise Unknown("Pad from the other side")
    sides = [(pads[axis], pads[axis + 4]) for axis in spatial]
    return picture.each(lambda axis, index: axis.read(sides[index][0], -sides[index][0], sum(sides[index])))


def _slice(node, picture, inputs, opset):
    if opset < 10:
        starts, ends, axes = (node.attributes.get(name) for name in ("starts", "ends", "axes"))
        steps = None
    else:
        _, starts, ends, axes, steps = [*inputs, None, None, None, None][:5]
    for value, name in ((starts, 1), (ends, 2), (axes, 3), (steps, 4)):
        if value is None and len(node.inputs) > name and node.inputs[name]:
            raise Unknown("Slice from a computed place")
    if starts is None or ends is None:
        raise Unknown("Slice from a computed place")
    starts, ends = ([int(n) for n in np.asarray(values).reshape(-1)] for values in (starts, ends))
    axes = range(len(starts)) if axes is None else [int(n) for n in np.asarray(axes).reshape(-1)]
    steps = [1] * len(starts) if steps is None else [int(n) for n in np.asarray(steps).reshape(-1)]
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise Unknown("Slice of unequal lists")
    changes = {axis % 4: change for axis, *change in zip(axes, starts, ends, steps, strict=True)}

    def cut(axis, index):
        start, end, step = changes.get(_spatial(picture)[index], (0, _END, 1))
        if start < 0 or step < 1 or 0 <= end < _END:
            raise Unknown("Slice of a fixed size")
        return axis.read(-start, start + 1 - step, min(end, 0) - start).scaled(Fraction(1, step))

    return picture.each(cut)


def _transpose(node, picture, *_):
    order = tuple(node.attributes.get("perm") or ())
    layout = _LAYOUTS.get(order)
    if layout is None or layout == picture.layout:
        raise Unknown(f"Transpose by {order}")
    return _Picture(picture.axes, layout)


def _along_channels(node, picture, inputs, _):
    axis = node.attributes.get("axis", {"Concat": None, "Split": 0, "Gather": 0}.get(node.op, -1))
    if node.op == "Gather" and (not isinstance(inputs[1], np.ndarray) or inputs[1].ndim != 1):
        raise Unknown("Gather that changes the rank")
    if axis is None or axis % 4 != _channel(picture):
        raise Unknown(f"{node.op} along axis {axis}")
    if node.op != "Concat":
        return picture
    for value in inputs[1:]:
        if not isinstance(value, _Picture):
            raise Unknown("Concat with no picture")
        picture = _join(picture, value)
    return picture


def _reduce(node, picture, inputs, _):
    axes = node.attributes.get("axes")
    if axes is None and len(inputs) > 1 and inputs[1] is not None:
        axes = np.asarray(inputs[1]).reshape(-1).tolist()
    if not axes or any(axis % 4 != _channel(picture) for axis in axes) or not node.attributes.get("keepdims", 1):
        raise Unknown(f"{node.op} over the picture")
    return picture


_RULES = {
    **dict.fromkeys(_WINDOWS, _window),
    **dict.fromkeys(("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceL2"), _reduce),
    **dict.fromkeys(("Concat", "Split", "Gather", "Softmax", "LogSoftmax", "LayerNormalization"), _along_channels),
    **dict.fromkeys(("Resize", "Upsample"), _resize),
    "ConvTranspose": _transposed,
    "DepthToSpace": _to_space,
    "Pad": _pad,
    "Slice": _slice,
    "SpaceToDepth": _to_depth,
    "Transpose": _transpose,
}
