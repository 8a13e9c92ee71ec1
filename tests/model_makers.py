"""Model files for tests: ONNX models by the package onnx, networks of ncnn, and the wire format by hand."""

import itertools

import numpy as np

FLOAT16_FLAG = (0x01306B47).to_bytes(4, "little")


# ---------------------------------------------------------------------------------------------------------------------
# The wire format of protocol buffers


def varint(number):
    number %= 2**64
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def field(number, value):
    """A field: of an int, a varint; of bytes or str, a run of bytes; of a float, 4 bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + np.float32(value).tobytes()
    data = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(data)) + data


def fields(*pairs):
    return b"".join(field(number, value) for number, value in pairs)


def tensor(name, dims, raw=None, code=1, *more):
    given = () if raw is None else ((9, raw),)
    return fields(*((1, length) for length in dims), (2, code), (8, name), *given, *more)


def value_info(name, shape, code=1):
    dims = b"".join(field(1, fields((2, n) if isinstance(n, str) else (1, n))) for n in shape)
    return fields((1, name), (2, field(1, fields((1, code), (2, dims)))))


def handmade(*graph_fields, opset=17, model_fields=()):
    """A model of one Relu, written by hand, with more fields of its graph and itself."""
    graph = fields(
        (1, fields((1, "x"), (2, "y"), (4, "Relu"))),
        (2, "handmade"),
        (11, value_info("x", (1, 1, "H", "W"))),
        (12, value_info("y", (1, 1, "H", "W"))),
        *graph_fields,
    )
    return fields((1, 8), (8, field(2, opset)), (7, graph), *model_fields)


# ---------------------------------------------------------------------------------------------------------------------
# ONNX


class Net:
    """A chain of nodes with random weights, from "x" on; `name` is the last result."""

    def __init__(self, channels, seed=0, dtype=np.float32):
        self.random = np.random.default_rng(seed)
        self.nodes, self.weights, self.name, self.channels = [], {}, "x", channels
        self.dtype = dtype

    def constant(self, array):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def node(self, op, *inputs, **attributes):
        """Append a node on the last result, or on the `inputs` given; returns the name of what it makes."""
        from onnx import helper

        self.name, inputs = f"t{len(self.nodes)}", inputs or (self.name,)
        self.nodes.append(helper.make_node(op, list(inputs), [self.name], **attributes))
        return self.name

    def conv(self, channels, size=3, pads=None, gain=1.0, source=None, **attributes):
        height, width = (size, size) if isinstance(size, int) else size
        pads = [height // 2, width // 2, height // 2, width // 2] if pads is None else pads
        shape = (channels, self.channels, height, width)
        weights = self.random.normal(0, gain / np.sqrt(self.channels * height * width), shape).astype(self.dtype)
        bias = self.random.normal(0, 0.02 * gain, channels).astype(self.dtype)
        self.channels = channels
        inputs = (source or self.name, self.constant(weights), self.constant(bias))
        return self.node("Conv", *inputs, pads=pads, **attributes)

    def resize(self, factor, mode, source=None, **attributes):
        factors = np.array([1, 1, factor, factor], np.float32)
        return self.node("Resize", source or self.name, "", self.constant(factors), mode=mode, **attributes)

    def add(self, a, b):
        return self.node("Add", a, b)

    def model(self, shape, out_shape=None, opset=17, metadata=(), code=None):
        """The bytes of the model."""
        from onnx import TensorProto, helper, numpy_helper

        code = code or {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}[self.dtype]
        out_shape = out_shape or [shape[0], None, None, None]
        graph = helper.make_graph(
            self.nodes,
            "net",
            [helper.make_tensor_value_info("x", code, shape)],
            [helper.make_tensor_value_info(self.name, code, out_shape)],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        helper.set_model_props(model, dict(metadata))
        return model.SerializeToString()


def super_resolution(
    scale, channels, *, mode="CRD", skip=None, layout="NCHW", dtype=np.float32, sides=("H", "W"), seed=0
):
    """A small network with a tail as most have it: DepthToSpace, and a skip that enlarges the picture."""
    net = Net(channels, seed, dtype)
    if layout == "NHWC":
        net.node("Transpose", perm=[0, 3, 1, 2])
    picture = net.name
    net.conv(8)
    net.node("PRelu", net.name, net.constant(net.random.uniform(0, 0.4, (8, 1, 1)).astype(dtype)))
    net.conv(8)
    net.node("Relu")
    net.conv(channels * scale**2, gain=0.3)
    made = net.node("DepthToSpace", blocksize=scale, mode=mode)
    if skip == "nearest":
        how = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        net.add(made, net.resize(scale, "nearest", picture, **how))
    elif skip == "linear":
        net.add(made, net.resize(scale, "linear", picture, coordinate_transformation_mode="half_pixel"))
    if layout == "NHWC":
        net.node("Transpose", perm=[0, 2, 3, 1])
        return net.model([1, *sides, channels])
    return net.model([1, channels, *sides])


# ---------------------------------------------------------------------------------------------------------------------
# ncnn


def param_text(lines):
    """A .param file of layers, each (kind, name, inputs, outputs, options)."""
    blobs = sum(len(outputs) for _, _, _, outputs, _ in lines)
    text = [f"7767517\n{len(lines)} {blobs}"]
    for kind, name, inputs, outputs, options in lines:
        text.append(" ".join((f"{kind:<24} {name:<24}", f"{len(inputs)} {len(outputs)}", *inputs, *outputs, options)))
    return "\n".join(text) + "\n"


def srvgg(scale, features, convolutions, *, channels=3, last=None, float16=True, seed=0):
    """(.param text, .bin bytes, weights) of an SRVGGNetCompact: convolutions with PReLU, PixelShuffle, nearest skip.

    `last`: factor of a cubic Interp behind it. The weights are a list of (kernel, bias, slope or None).
    """
    random = np.random.default_rng(seed)
    weights, lines, data = [], [], b""
    lines.append(("Input", "in", [], ["data"], ""))
    lines.append(("Split", "split", ["data"], ["data_0", "data_1"], ""))
    counts = [channels, *[features] * (convolutions + 1), channels * scale**2]
    blob = "data_1"
    for index, (inputs, outputs) in enumerate(itertools.pairwise(counts)):
        kernel = random.normal(0, 0.8 / np.sqrt(9 * inputs), (outputs, inputs, 3, 3)).astype(np.float16)
        bias = random.normal(0, 0.05, outputs).astype(np.float32)
        stored = kernel.tobytes() if float16 else kernel.astype(np.float32).tobytes()
        data += (FLOAT16_FLAG if float16 else bytes(4)) + stored + bytes(-len(stored) % 4) + bias.tobytes()
        options = f"0={outputs} 1=3 4=1 5=1 6={kernel.size}"
        lines.append(("Convolution", f"conv{index}", [blob], [f"c{index}"], options))
        blob, slope = f"c{index}", None
        if index <= convolutions:
            slope = random.uniform(0, 0.4, outputs).astype(np.float32)
            data += slope.tobytes()
            lines.append(("PReLU", f"prelu{index}", [blob], [f"p{index}"], f"0={outputs}"))
            blob = f"p{index}"
        weights.append((kernel.astype(np.float32), bias, slope))
    lines.append(("PixelShuffle", "shuffle", [blob], ["s"], f"0={scale}"))
    lines.append(("Interp", "up", ["data_0"], ["u"], f"0=1 1={scale:e} 2={scale:e}"))
    lines.append(("BinaryOp", "add", ["s", "u"], ["sum"], "0=0"))
    if last is not None:
        lines.append(("Interp", "down", ["sum"], ["output"], f"0=3 1={last:e} 2={last:e}"))
    return param_text(lines), data, weights
