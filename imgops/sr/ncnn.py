"""Networks of ncnn, a text NAME.param of layers and their weights NAME.bin, turned into ONNX.

The two formats and what each layer computes are those of https://github.com/Tencent/ncnn (docs/developer-guide and
src/layer). Layers that super-resolution networks have are known; others are refused by their name.
"""

import os
import re
from dataclasses import dataclass

import numpy as np

from .. import _checks
from .graph import kind_of, read_bytes

_MAGIC = "7767517"
_FLOAT16 = 0x01306B47
_KNOWN_FLAGS = {0x000D4B38: "int8", 0x0002C056: "scaled float32"}
_MAX_TEXT = 2**23
_MAX_LAYERS = 20_000
_MAX_SIZE = 2**12
_NUMBER = re.compile(r"[+-]?(\d{1,20}\.?\d{0,20}|\.\d{1,20})(e[+-]?\d{1,3})?", re.ASCII | re.IGNORECASE)

_BINARY = {0: "Add", 1: "Sub", 2: "Mul", 3: "Div", 4: "Max", 5: "Min", 7: "Sub", 8: "Div"}
_REVERSED = (7, 8)
_INTERPOLATIONS = {1: "nearest", 2: "linear", 3: "cubic"}


@dataclass(frozen=True)
class Layer:
    """One line of a .param file; `options` has numbers, or lists of them, by their number."""

    kind: str
    name: str
    inputs: tuple
    outputs: tuple
    options: dict


def to_onnx(path):
    """The bytes of an ONNX file that computes what NAME.param with the NAME.bin beside it does.

    Parameters
    ----------
    path : path
        Of either file.

    Returns
    -------
    bytes
        Its input and output are float32 (1, C, height, width).

    Raises
    ------
    ValueError
        For files that are no network of ncnn, do not fit each other, or have unknown layers.
    OSError
        Where one of the two cannot be read; FileNotFoundError if it is missing.
    ImportError
        Where the package onnx is not installed.
    """
    param_path, bin_path = os.fspath(path), other_file(path)
    if param_path.lower().endswith(".bin"):
        param_path, bin_path = bin_path, param_path
    layers = read_param(read_bytes(param_path, _MAX_TEXT), param_path)
    if not os.path.exists(bin_path):
        raise FileNotFoundError(2, "the weights of the .param file are missing; they stand beside it in", bin_path)
    weights = _Weights(read_bytes(bin_path), bin_path)
    builder = _Builder(param_path, weights)
    for layer in layers:
        builder.add(layer)
    weights.finish()
    return builder.model(os.path.splitext(os.path.basename(param_path))[0])


def other_file(path):
    """The path of the other one of ncnn's two files; None for an extension that is not theirs."""
    stem, extension = os.path.splitext(os.fspath(path))
    other = {".param": ".bin", ".bin": ".param"}.get(extension.lower())
    return other and stem + (other.upper() if extension.isupper() else other)


def read_param(data, source):
    """The layers in the text of a .param file."""

    def refuse(found):
        _checks.model_file(source, "a .param file must be a whole one of ncnn", found, "pass another file")

    text = str(bytes(data), "utf-8", "backslashreplace")
    lines = text.split("\n")
    if lines[0].strip() != _MAGIC:
        kind = kind_of(data)
        refuse(f"one that begins with {lines[0][:24]!r}, not {_MAGIC}" if kind in (None, "a text") else kind)
    counts = lines[1].split() if len(lines) > 1 else []
    if len(counts) != 2 or not all(re.fullmatch(r"\d{1,9}", count, re.ASCII) for count in counts):
        refuse("no counts of layers and blobs in its second line")
    lines = [line for line in lines[2:] if line.strip()]
    declared, blobs = map(int, counts)
    if not 0 < declared <= _MAX_LAYERS:
        refuse(f"{declared} layers")
    if declared != len(lines):
        refuse(f"{len(lines)} layers, where {declared} are declared")
    layers = [_layer(line.split(), refuse) for line in lines]
    made = [name for layer in layers for name in layer.outputs]
    if len(made) != blobs:
        refuse(f"{len(made)} blobs, where {blobs} are declared")
    if len(set(made)) != len(made):
        refuse("a blob that is made twice")
    there = set()
    for layer in layers:
        missing = [name for name in layer.inputs if name not in there]
        if missing:
            refuse(f"layer {layer.name!r} with an input {missing[0]!r} that no layer before it makes")
        there.update(layer.outputs)
    return layers


def _layer(words, refuse):
    place = f"layer {' '.join(words[:2])[:80]!r}"
    if len(words) < 4 or not all(re.fullmatch(r"\d{1,4}", word, re.ASCII) for word in words[2:4]):
        refuse(f"{place} without counts of its inputs and outputs")
    count, made = int(words[2]), int(words[3])
    names = words[4 : 4 + count + made]
    if len(names) != count + made or any("=" in name for name in names):
        refuse(f"{place} with fewer than its {count} inputs and {made} outputs")
    options = {}
    for word in words[4 + count + made :]:
        key, _, value = word.partition("=")
        if not re.fullmatch(r"-?\d{1,5}", key, re.ASCII) or not value:
            refuse(f"{place} with {word[:40]!r}, which is no option")
        number = int(key)
        values = value.split(",")
        if not all(_NUMBER.fullmatch(item) for item in values):
            refuse(f"{place} with {word[:40]!r}, which is no number")
        values = [float(item) if re.search(r"[.eE]", item) else int(item) for item in values]
        if number <= -23300:
            # A list, its length first; -23300 less its number.
            if values[0] != len(values) - 1:
                refuse(f"{place} with a list of {len(values) - 1} numbers, where {values[0]} are declared")
            options[-23300 - number] = values[1:]
        elif len(values) != 1:
            refuse(f"{place} with {word[:40]!r}, which is no number")
        else:
            options[number] = values[0]
    return Layer(words[0], words[1], tuple(names[:count]), tuple(names[count:]), options)


class _Weights:
    """The .bin file, read from its beginning to its end."""

    def __init__(self, data, source):
        self._data, self._source, self._position = data, source, 0

    def _refuse(self, found):
        _checks.model_file(self._source, "a .bin file must fit its .param file", found, "pass the two of one model")

    def _take(self, count, layer):
        if count > len(self._data) - self._position:
            left = len(self._data) - self._position
            self._refuse(f"{left} bytes for layer {layer.name!r}, which takes {count}")
        part = self._data[self._position : self._position + count]
        self._position += count
        return part

    def plain(self, count, layer):
        """float32 numbers as they are."""
        return np.frombuffer(self._take(4 * count, layer), "<f4").astype(np.float32)

    def flagged(self, count, layer):
        """Numbers behind a flag that tells how they are stored."""
        flag = int.from_bytes(self._take(4, layer), "little")
        if flag == _FLOAT16:
            # Padded to whole words.
            data = self._take(-(-2 * count // 4) * 4, layer)
            return np.frombuffer(data, "<f2", count).astype(np.float32)
        if flag in _KNOWN_FLAGS:
            self._refuse(f"weights of layer {layer.name!r} as {_KNOWN_FLAGS[flag]}, which is not known here")
        if flag:
            # A table of 256 values, and a byte for each number.
            table = np.frombuffer(self._take(1024, layer), "<f4")
            return table[np.frombuffer(self._take(-(-count // 4) * 4, layer), np.uint8, count)].astype(np.float32)
        return self.plain(count, layer)

    def finish(self):
        if self._position != len(self._data):
            self._refuse(f"{len(self._data) - self._position} bytes more than the layers take")


class _Builder:
    """Nodes and initializers of ONNX, layer by layer."""

    def __init__(self, source, weights):
        self._source, self._weights = source, weights
        self._nodes, self._initializers = [], {}
        self._inputs, self._made, self._used = [], [], set()
        self._channels = None

    def _refuse(self, found, layer=None, required="a network must be of layers that are known here"):
        where = "" if layer is None else f" in layer {layer.name!r}"
        _checks.model_file(self._source, required, f"{found}{where}", "pass another model, or its ONNX file")

    def add(self, layer):
        rule = getattr(self, f"_{layer.kind}", None) if layer.kind in _LAYERS else None
        if rule is None:
            self._refuse(f"a {layer.kind[:80]} layer", layer)
        self._used.update(layer.inputs)
        self._made.extend(layer.outputs)
        rule(layer)

    def model(self, name):
        try:
            from onnx import TensorProto, helper, numpy_helper
        except ImportError as error:
            _checks.needs_onnx(self._source, error)
        ends = [blob for blob in self._made if blob not in self._used]
        for kind, blobs in (("input", self._inputs), ("output", ends)):
            if len(blobs) != 1:
                self._refuse(
                    f"{len(blobs)} ({', '.join(blobs[:9]) or 'none'})", required=f"a network must have one {kind}"
                )
        if self._channels not in (1, 3, 4):
            self._refuse(
                f"a first convolution of {self._channels or 'no'} channels",
                required="a network must take pictures of 1, 3 or 4 channels",
            )
        nodes = [helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in self._nodes]
        graph = helper.make_graph(
            nodes,
            name,
            [helper.make_tensor_value_info(self._inputs[0], TensorProto.FLOAT, [1, self._channels, "height", "width"])],
            [helper.make_tensor_value_info(ends[0], TensorProto.FLOAT, [1, None, None, None])],
            [numpy_helper.from_array(array, title) for title, array in self._initializers.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return model.SerializeToString()

    # -----------------------------------------------------------------------------------------------------------------
    # Helpers of the layers

    def _node(self, op, inputs, outputs, **attributes):
        self._nodes.append((op, list(inputs), list(outputs), attributes))

    def _constant(self, layer, title, array):
        name = f"{layer.outputs[0]}/{title}"
        self._initializers[name] = np.ascontiguousarray(array)
        return name

    def _shape(self, layer, inputs, outputs):
        """Refuse a layer with other counts of blobs."""
        for kind, names, count in (("input", layer.inputs, inputs), ("output", layer.outputs, outputs)):
            if not (len(names) == count or (count is None and names)):
                self._refuse(f"{len(names)} {kind}s of a {layer.kind} layer", layer)

    def _whole(self, layer, number, default, least=0, most=_MAX_SIZE):
        value = layer.options.get(number, default)
        if not isinstance(value, int) or not least <= value <= most:
            self._refuse(f"option {number}={value} of a {layer.kind} layer", layer)
        return value

    def _real(self, layer, number, default):
        value = layer.options.get(number, default)
        if not isinstance(value, (int, float)) or not np.isfinite(value):
            self._refuse(f"option {number}={value} of a {layer.kind} layer", layer)
        return float(value)

    def _unset(self, layer, *numbers):
        """Refuse options that would change what the layer does, and are not known here."""
        for number in numbers:
            if layer.options.get(number, 0) not in (0, -233):
                self._refuse(f"option {number}={layer.options[number]} of a {layer.kind} layer", layer)

    # -----------------------------------------------------------------------------------------------------------------
    # Layers, by their names in ncnn

    def _Input(self, layer):
        self._shape(layer, 0, 1)
        self._inputs.append(layer.outputs[0])

    def _Split(self, layer):
        self._shape(layer, 1, None)
        for name in layer.outputs:
            self._node("Identity", layer.inputs, [name])

    def _Noop(self, layer):
        self._shape(layer, 1, 1)
        self._node("Identity", layer.inputs, layer.outputs)

    def _Dropout(self, layer):
        self._shape(layer, 1, 1)
        self._node("Mul", [*layer.inputs, self._scalar(layer, self._real(layer, 0, 1.0))], layer.outputs)

    def _scalar(self, layer, value, title="scalar"):
        return self._constant(layer, title, np.array(value, np.float32))

    def _Convolution(self, layer):
        self._convolution(layer, self._weight_shape(layer, 1), 1)

    def _ConvolutionDepthWise(self, layer):
        groups = self._whole(layer, 7, 1, 1)
        self._convolution(layer, self._weight_shape(layer, groups), groups)

    def _weight_shape(self, layer, groups):
        """(outputs, inputs of a group, height, width) of a convolution's kernel."""
        self._shape(layer, 1, 1)
        outputs = self._whole(layer, 0, 0, 1, 2**16)
        width = self._whole(layer, 1, 0, 1, 255)
        height = self._whole(layer, 11, width, 1, 255)
        size = self._whole(layer, 6, 0, 1, 2**29)
        inputs, rest = divmod(size, outputs * width * height)
        if rest or not inputs or outputs % groups:
            self._refuse(f"{size} weights for {outputs} outputs of {width} x {height} in {groups} groups", layer)
        if self._channels is None:
            self._channels = inputs * groups
        return outputs, inputs, height, width

    def _window(self, layer):
        dilation, stride = self._whole(layer, 2, 1, 1, 255), self._whole(layer, 3, 1, 1, 255)
        left = self._whole(layer, 4, 0)
        top, right = self._whole(layer, 14, left), self._whole(layer, 15, left)
        return {
            "strides": [self._whole(layer, 13, stride, 1, 255), stride],
            "dilations": [self._whole(layer, 12, dilation, 1, 255), dilation],
            "pads": [top, left, self._whole(layer, 16, top), right],
        }

    def _convolution(self, layer, shape, groups):
        self._unset(layer, 8, 18, 19)
        attributes = {**self._window(layer), "kernel_shape": list(shape[2:]), "group": groups}
        weights = self._weights.flagged(int(np.prod(shape)), layer).reshape(shape)
        inputs = [layer.inputs[0], self._constant(layer, "weight", weights), *self._bias(layer, shape[0])]
        self._activated("Conv", inputs, layer, attributes)

    def _bias(self, layer, count):
        if not self._whole(layer, 5, 0, 0, 1):
            return []
        return [self._constant(layer, "bias", self._weights.plain(count, layer))]

    def _Deconvolution(self, layer):
        self._unset(layer, 18, 19, 20, 21, 28)
        shape = self._weight_shape(layer, 1)
        attributes = {**self._window(layer), "kernel_shape": list(shape[2:])}
        weights = self._weights.flagged(int(np.prod(shape)), layer).reshape(shape).transpose(1, 0, 2, 3)
        inputs = [layer.inputs[0], self._constant(layer, "weight", weights), *self._bias(layer, shape[0])]
        self._activated("ConvTranspose", inputs, layer, attributes)

    def _activated(self, op, inputs, layer, attributes):
        """A node, and the activation that the layer's options 9 and 10 put behind it."""
        kind = self._whole(layer, 9, 0)
        numbers = layer.options.get(10, [])
        numbers = numbers if isinstance(numbers, list) else [numbers]
        if kind == 0:
            self._node(op, inputs, layer.outputs, **attributes)
            return
        between = f"{layer.outputs[0]}/linear"
        self._node(op, inputs, [between], **attributes)
        if len(numbers) < {2: 1, 3: 2, 6: 2}.get(kind, 0):
            self._refuse(f"activation {kind} with {len(numbers)} numbers", layer)
        if kind == 1:
            self._node("Relu", [between], layer.outputs)
        elif kind == 2:
            self._node("LeakyRelu", [between], layer.outputs, alpha=float(numbers[0]))
        elif kind == 3:
            limits = [self._scalar(layer, value, f"limit{index}") for index, value in enumerate(numbers[:2])]
            self._node("Clip", [between, *limits], layer.outputs)
        elif kind == 4:
            self._node("Sigmoid", [between], layer.outputs)
        else:
            self._refuse(f"activation {kind}", layer)

    def _PReLU(self, layer):
        self._shape(layer, 1, 1)
        count = self._whole(layer, 0, 0, 1, 2**16)
        slopes = self._weights.plain(count, layer).reshape(count, 1, 1)
        self._node("PRelu", [*layer.inputs, self._constant(layer, "slope", slopes)], layer.outputs)

    def _ReLU(self, layer):
        self._shape(layer, 1, 1)
        slope = self._real(layer, 0, 0.0)
        if slope:
            self._node("LeakyRelu", layer.inputs, layer.outputs, alpha=slope)
        else:
            self._node("Relu", layer.inputs, layer.outputs)

    def _Sigmoid(self, layer):
        self._shape(layer, 1, 1)
        self._node("Sigmoid", layer.inputs, layer.outputs)

    def _TanH(self, layer):
        self._shape(layer, 1, 1)
        self._node("Tanh", layer.inputs, layer.outputs)

    def _Clip(self, layer):
        self._shape(layer, 1, 1)
        limits = [self._real(layer, 0, -3.4e38), self._real(layer, 1, 3.4e38)]
        names = [self._scalar(layer, value, f"limit{index}") for index, value in enumerate(limits)]
        self._node("Clip", [*layer.inputs, *names], layer.outputs)

    def _PixelShuffle(self, layer):
        self._shape(layer, 1, 1)
        block, mode = self._whole(layer, 0, 1, 1, 64), self._whole(layer, 1, 0, 0, 1)
        self._node("DepthToSpace", layer.inputs, layer.outputs, blocksize=block, mode="DCR" if mode else "CRD")

    def _Interp(self, layer):
        self._shape(layer, 1, 1)
        self._unset(layer, 3, 4, 5, 6)
        mode = _INTERPOLATIONS[self._whole(layer, 0, 0, 1, 3)]
        scales = [1.0, 1.0, self._real(layer, 1, 1.0), self._real(layer, 2, 1.0)]
        if not all(1 / 64 <= scale <= 64 for scale in scales):
            self._refuse(f"a scale of {scales[2]} x {scales[3]}", layer)
        how = {"nearest": {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}}
        how = how.get(mode, {"coordinate_transformation_mode": "half_pixel", "cubic_coeff_a": -0.75})
        factors = self._constant(layer, "scales", np.array(scales, np.float32))
        self._node("Resize", [layer.inputs[0], "", factors], layer.outputs, mode=mode, **how)

    def _BinaryOp(self, layer):
        kind = self._whole(layer, 0, 0)
        if kind not in _BINARY:
            self._refuse(f"operation {kind} of a BinaryOp layer", layer)
        with_scalar = self._whole(layer, 1, 0, 0, 1)
        self._shape(layer, 2 - with_scalar, 1)
        inputs = list(layer.inputs)
        if with_scalar:
            inputs.append(self._scalar(layer, self._real(layer, 2, 0.0)))
        self._node(_BINARY[kind], inputs[::-1] if kind in _REVERSED else inputs, layer.outputs)

    def _Eltwise(self, layer):
        self._shape(layer, None, 1)
        kind = self._whole(layer, 0, 0, 0, 2)
        factors = layer.options.get(1, [])
        inputs = list(layer.inputs)
        if kind == 1 and factors:
            if not isinstance(factors, list) or len(factors) != len(inputs):
                self._refuse(f"coefficients {factors} for {len(inputs)} inputs", layer)
            for index, factor in enumerate(factors):
                if factor != 1:
                    scaled = f"{layer.outputs[0]}/scaled{index}"
                    self._node("Mul", [inputs[index], self._scalar(layer, factor, f"factor{index}")], [scaled])
                    inputs[index] = scaled
        if kind == 0:
            for index, name in enumerate(inputs[1:-1]):
                inputs[0], product = f"{layer.outputs[0]}/product{index}", inputs[0]
                self._node("Mul", [product, name], [inputs[0]])
            self._node("Mul" if len(inputs) > 1 else "Identity", [inputs[0], *inputs[1:][-1:]], layer.outputs)
        else:
            self._node({1: "Sum", 2: "Max"}[kind], inputs, layer.outputs)

    def _Concat(self, layer):
        self._shape(layer, None, 1)
        axis = self._whole(layer, 0, 0, -3, 2)
        self._node("Concat", layer.inputs, layer.outputs, axis=axis % 3 + 1)

    def _Padding(self, layer):
        self._shape(layer, 1, 1)
        self._unset(layer, 6, 7, 8)
        top, bottom, left, right = (self._whole(layer, number, 0) for number in range(4))
        mode = ("constant", "edge", "reflect")[self._whole(layer, 4, 0, 0, 2)]
        pads = self._constant(layer, "pads", np.array([0, 0, top, left, 0, 0, bottom, right], np.int64))
        value = self._scalar(layer, self._real(layer, 5, 0.0))
        self._node("Pad", [layer.inputs[0], pads, value], layer.outputs, mode=mode)


_LAYERS = frozenset(name[1:] for name in vars(_Builder) if name.startswith("_") and name[1:2].isupper())
