"""imgops.sr.foreign and reach: what a model file is, by its graph and by runs on small pictures."""

import os
from fractions import Fraction

import numpy as np
import pytest
from model_makers import Net, field, fields, handmade, super_resolution, tensor, value_info

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from imgops.sr import engine, foreign, graph, reach  # noqa: E402


def spec_of(data):
    return foreign.describe_model(data, "net.onnx", "net")


def run(data, array):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: array})[0]


# ---------------------------------------------------------------------------------------------------------------------
# What a model is


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("sides", [("H", "W"), (24, 20)], ids=["free", "fixed"])
@pytest.mark.parametrize(
    ("scale", "channels", "mode", "skip", "dtype"),
    [
        (2, 3, "CRD", "nearest", np.float32),
        (3, 3, "DCR", "linear", np.float32),
        (4, 1, "DCR", None, np.float32),
        (2, 4, "CRD", "linear", np.float32),
        (2, 3, "DCR", "nearest", np.float16),
        (1, 3, "CRD", "nearest", np.float32),
    ],
)
def test_channels_layout_dtype_scale_and_sizes(scale, channels, mode, skip, dtype, layout, sides):
    options = {"mode": mode, "skip": skip, "layout": layout, "dtype": dtype, "sides": sides}
    spec = spec_of(super_resolution(scale, channels, **options))
    assert spec.channels == {1: "luma", 3: "rgb", 4: "rgba"}[channels]
    assert (spec.layout, spec.dtype, spec.scale) == (layout, np.dtype(dtype).name, scale)
    assert spec.fixed_size == (None if sides[0] == "H" else sides)
    assert (spec.padding, spec.multiple, spec.minimum, spec.step) == ("own", 1, 1, 1)
    assert (spec.kind, spec.skip, spec.name) == ("picture", None, "net")
    # Three convolutions of 3 x 3, and a linear skip that reads less than these.
    assert spec.halo == 3
    assert spec.value_range == (0, 1)
    weights = 9 * (channels * 8 + 64 + 8 * channels * scale**2) + 8 + 8 + 8 + channels * scale**2
    assert spec.parameters == weights


@pytest.mark.parametrize(("shape", "expected"), [(["N", "C", "H", "W"], "NCHW"), (None, "NCHW")])
def test_shapes_that_say_nothing(shape, expected):
    model = onnx.load_from_string(super_resolution(2, 3, skip="nearest"))
    kind = model.graph.input[0].type.tensor_type
    if shape is None:
        kind.ClearField("shape")
    else:
        for dimension, name in zip(kind.shape.dim, shape, strict=True):
            dimension.dim_param = name
    model.graph.output[0].type.tensor_type.ClearField("shape")
    spec = spec_of(model.SerializeToString())
    assert (spec.layout, spec.channels, spec.scale, spec.fixed_size) == (expected, "rgb", 2, None)


def test_a_layout_that_only_a_run_shows():
    # Nothing but a Resize: its factors tell the layout, and so does its declared shape of neither.
    net = Net(3)
    net.node("Resize", "x", "", net.constant(np.array([1, 2, 2, 1], np.float32)), mode="nearest")
    spec = spec_of(net.model([1, "a", "b", "c"]))
    assert (spec.layout, spec.channels, spec.scale, spec.halo) == ("NHWC", "rgb", 2, 0)


def test_fixed_side_beside_a_free_one():
    spec = spec_of(super_resolution(2, 3, skip="nearest", sides=(24, "W")))
    assert spec.fixed_size == (24, 24)


@pytest.mark.parametrize("final", ["Clip", "Mul"])
def test_values_to_255_by_what_stands_at_the_end(final):
    net = Net(3)
    net.node("Mul", "x", net.constant(np.float32(1 / 255)))
    net.conv(12, gain=0.1)
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    net.node("Mul", net.name, net.constant(np.float32(255)))
    if final == "Clip":
        net.node("Clip", net.name, net.constant(np.float32(0)), net.constant(np.float32(255)))
    assert spec_of(net.model([1, 3, "H", "W"])).value_range == (0, 255)


def test_values_to_255_by_a_run():
    # Its biases are of the size of code values.
    net = Net(3)
    net.conv(12, gain=0.05)
    net.weights["w1"] = np.full(12, 6, np.float32)
    made = net.node("DepthToSpace", blocksize=2, mode="CRD")
    up = net.resize(2, "nearest", "x", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    net.add(made, up)
    assert spec_of(net.model([1, 3, "H", "W"])).value_range == (0, 255)


def test_random_weights_are_said_to_be_unlike_a_picture():
    net = Net(3)
    net.conv(12, gain=30)
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    spec = spec_of(net.model([1, 3, "H", "W"]))
    assert spec.value_range == (0, 1)
    assert "unlike the input" in spec.notes[0]


def test_valid_convolutions_bring_a_halo():
    net = Net(3)
    for channels in (8, 8, 12):
        net.conv(channels, pads=[0] * 4)
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    spec = spec_of(net.model([1, 3, "H", "W"]))
    assert (spec.padding, spec.halo, spec.scale, spec.minimum) == ("valid", 3, 2, 8)


@pytest.mark.parametrize("factor", [2, 4])
def test_sides_that_must_be_multiples(factor):
    net = Net(3)
    net.node("SpaceToDepth", blocksize=factor)
    net.channels *= factor**2
    net.conv(3 * (2 * factor) ** 2)
    net.node("DepthToSpace", blocksize=2 * factor, mode="CRD")
    spec = spec_of(net.model([1, 3, "H", "W"]))
    assert (spec.scale, spec.multiple, spec.step, spec.minimum) == (2, factor, factor, factor)
    assert spec.halo == 2 * factor


def test_least_sides():
    net = Net(3)
    net.node("Pad", "x", net.constant(np.array([0, 0, 3, 3, 0, 0, 3, 3])), mode="reflect")
    net.conv(12, 7, pads=[0] * 4)
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    spec = spec_of(net.model([1, 3, "H", "W"]))
    assert (spec.padding, spec.halo, spec.scale) == ("own", 3, 2)
    assert spec.minimum == 4


def test_a_mean_over_the_picture_leaves_the_halo_open():
    net = Net(3)
    net.conv(12)
    net.node("Add", net.name, net.node("GlobalAveragePool"))
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    spec = spec_of(net.model([1, 3, "H", "W"]))
    assert (spec.scale, spec.halo) == (2, None)
    assert any("not known" in note for note in spec.notes)


@pytest.mark.parametrize("factor", [1, 2, 4])
def test_what_the_graph_leaves_open_is_measured(factor):
    def network(riddle):
        net = Net(3)
        net.node("SpaceToDepth", blocksize=factor)
        net.channels *= factor**2
        net.conv(8)
        net.node("Relu")
        if riddle:
            axis = net.constant(np.array([4]))
            net.node("Squeeze", net.node("Unsqueeze", net.name, axis), axis)
        net.conv(3 * (2 * factor) ** 2)
        net.node("DepthToSpace", blocksize=2 * factor, mode="CRD")
        return net.model([1, 3, "H", "W"])

    told, measured = (spec_of(network(riddle)) for riddle in (False, True))
    # One more block where a part may begin within one.
    assert (told.halo, told.step) == (2 * factor + factor * (factor > 1), factor)
    assert (measured.step, measured.multiple) == (factor, factor)
    assert 2 * factor <= measured.halo <= told.halo


# ---------------------------------------------------------------------------------------------------------------------
# How far a network reaches


def strided_network():
    net = Net(3)
    net.conv(8)
    first = net.node("Relu")
    net.conv(8, strides=[2, 2])
    net.node("Relu")
    net.conv(8)
    net.resize(2, "linear")
    net.add(net.name, first)
    net.conv(12)
    net.node("DepthToSpace", blocksize=2, mode="DCR")
    return net


def dilated_network():
    net = Net(3)
    net.conv(8, (3, 5))
    net.conv(8, dilations=[3, 2], pads=[3, 2, 3, 2])
    net.conv(12, (5, 1))
    net.node("DepthToSpace", blocksize=2, mode="DCR")
    return net


def lopsided_network():
    net = Net(3)
    net.conv(8, pads=[2, 0, 0, 2])
    net.conv(8, 2, pads=[0, 1, 1, 0])
    net.conv(12)
    net.node("DepthToSpace", blocksize=2, mode="DCR")
    return net


def two_shuffles():
    net = Net(3)
    net.conv(16)
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    net.channels = 4
    net.conv(12)
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    net.channels = 3
    net.conv(3)
    return net


def cubic_at_the_end():
    net = Net(3)
    net.conv(48)
    net.node("DepthToSpace", blocksize=4, mode="CRD")
    net.resize(0.75, "cubic", coordinate_transformation_mode="half_pixel", cubic_coeff_a=-0.75)
    return net


def deconvolution():
    net = Net(3)
    net.conv(8)
    weights = net.random.normal(0, 0.1, (8, 3, 4, 4)).astype(np.float32)
    net.node("ConvTranspose", net.name, net.constant(weights), strides=[2, 2], pads=[1, 1, 1, 1])
    return net


def nearest_inside():
    net = Net(3)
    net.conv(8)
    net.resize(2, "nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    net.conv(8)
    net.resize(2, "nearest", coordinate_transformation_mode="half_pixel")
    net.conv(3)
    return net


def pools_and_crops():
    net = Net(3)
    net.conv(8, 5)
    wide = net.node("MaxPool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    starts, ends, axes = (net.constant(np.array(values)) for values in ([2, 3], [2**62, -2], [2, 3]))
    cut = net.node("Slice", wide, starts, ends, axes)
    net.node("Pad", cut, net.constant(np.array([0, 0, 2, 3, 0, 0, 0, 2])), mode="edge")
    net.node("Concat", net.name, wide, axis=1)
    net.channels = 16
    net.conv(12)
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    return net


NETWORKS = (
    strided_network,
    dilated_network,
    lopsided_network,
    two_shuffles,
    cubic_at_the_end,
    deconvolution,
    nearest_inside,
    pools_and_crops,
)


@pytest.mark.parametrize("make", NETWORKS)
def test_the_halo_is_enough_and_no_more(make):
    """Parts with their halo give the whole's samples; with one less they do not."""
    data = make().model([1, 3, "H", "W"])
    spec = spec_of(data)
    assert spec.padding == "own"
    picture = np.random.default_rng(1).uniform(0, 1, (1, 3, 48, 56)).astype(np.float32)
    whole = run(data, picture)

    def difference(halo, top, left, height, width):
        part = picture[:, :, top - halo : top + height + halo, left - halo : left + width + halo]
        made = run(data, np.ascontiguousarray(part))
        cut = [slice(spec.scale * halo, spec.scale * (halo + length)) for length in (height, width)]
        here = [
            slice(spec.scale * start, spec.scale * stop) for start, stop in ((top, top + height), (left, left + width))
        ]
        return np.abs(made[(..., *cut)] - whole[(..., *here)]).max()

    halo = -(-spec.halo // spec.step) * spec.step
    assert 0 < halo <= 16
    for top, left, height, width in ((20, 20, 4, 8), (18, 22, 6, 2), (22, 16, 2, 4)):
        # ONNX Runtime's cubic weights are computed from float32 coordinates, in the part and in the whole.
        assert difference(halo, top, left, height, width) < 3e-5
    if spec.step == 1:
        assert difference(halo - 1, 20, 20, 4, 8) > 1e-3


def test_reach_of_every_part_is_what_a_change_of_the_input_shows():
    """Against the samples that a change of one input sample moves, on both sides and both axes."""
    for make in (dilated_network, lopsided_network, two_shuffles, deconvolution, nearest_inside):
        data = make().model([1, 3, "H", "W"])
        found = reach.find_reach(graph.read_graph(data), "NCHW")
        scale = int(found.scale)
        picture = np.random.default_rng(2).uniform(0, 1, (1, 3, 32, 32)).astype(np.float32)
        before = run(data, picture)
        moved = np.zeros((32 * scale, 32 * scale), bool)
        for seed in range(4):
            changed = picture.copy()
            changed[:, :, 16, 16] = np.random.default_rng(seed).normal(0, 50, 3)
            moved |= (np.abs(run(data, changed) - before) > 1e-4).any((0, 1))
        for axis, numbers in ((0, found.height), (1, found.width)):
            places = np.flatnonzero(moved.any(1 - axis))
            # Output sample q reads the input sample 16 only if q / scale + low <= 16 and so on.
            assert Fraction(int(places[0]) + 1, scale) + numbers.high > 16
            assert Fraction(int(places[-1]), scale) + numbers.low < 17


@pytest.mark.parametrize(
    ("build", "why"),
    [
        (lambda net: net.node("ReduceMean", axes=[2, 3]), "ReduceMean over the picture"),
        (lambda net: net.node("Softmax", axis=2), "Softmax along axis 2"),
        (lambda net: net.resize(2, "linear", coordinate_transformation_mode="align_corners"), "align_corners"),
        (lambda net: net.node("Add", net.name, net.constant(np.ones((1, 1, 8, 8), np.float32))), "each sample"),
        (lambda net: net.node("Add", net.name, net.node("Cast", net.node("Shape"), to=1)), "a computed number"),
        (lambda net: net.node("Transpose", perm=[0, 1, 3, 2]), "Transpose"),
        (lambda net: net.node("Flatten"), "Flatten"),
        (lambda net: net.node("Resize", "x", "", mode="nearest"), "Resize with other inputs"),
        (lambda net: net.node("Transpose", perm="0231"), "Transpose by"),
        (lambda net: net.node("MaxPool", kernel_shape="33"), "MaxPool"),
        (lambda net: net.node("DepthToSpace", blocksize="2"), "DepthToSpace of block 2"),
        (lambda net: net.node("Concat", net.name, net.name, axis=3), "Concat along axis 3"),
        (lambda net: net.node("Add", net.resize(2, "nearest", "x"), net.resize(3, "nearest", "x")), "together"),
    ],
)
def test_what_reach_leaves_open(build, why):
    net = Net(3)
    build(net)
    with pytest.raises(reach.Unknown, match=why):
        reach.find_reach(graph.read_graph(net.model([1, 3, "H", "W"])), "NCHW")


# ---------------------------------------------------------------------------------------------------------------------
# Without ONNX Runtime, and imgops's own kind


def test_without_onnxruntime_the_graph_must_tell(monkeypatch):
    monkeypatch.setattr(engine, "onnxruntime", lambda: None)
    spec = spec_of(super_resolution(3, 3, skip="linear"))
    assert (spec.layout, spec.channels, spec.scale, spec.halo, spec.padding) == ("NCHW", "rgb", 3, 3, "own")
    assert "not tried" in spec.notes[0]
    net = Net(3)
    net.conv(12, pads=[0] * 4)
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    assert (spec_of(net.model([1, 3, "H", "W"])).padding, spec_of(net.model([1, 3, "H", "W"])).halo) == ("valid", 1)
    net.node("Resize", net.name, "", "", net.node("Shape", net.name))
    with pytest.raises(ImportError, match=r"onnxruntime is required.*pip install"):
        spec_of(net.model([1, 3, "H", "W"]))


def luma_residual(block=2, **metadata):
    net = Net(1)
    for _ in range(2):
        net.conv(4, pads=[0] * 4)
    net.conv(block**2, 1)
    facts = {"kind": "luma residual", "scale": str(block), "halo": "2", "skip": "linear", "name": "ours", **metadata}
    return net.model([1, 1, "H", "W"], metadata={f"imgops.{key}": value for key, value in facts.items()})


def test_a_residual_of_luma_by_its_metadata():
    spec = spec_of(luma_residual(3))
    assert (spec.kind, spec.skip, spec.scale, spec.halo, spec.padding) == ("luma residual", "linear", 3, 2, "valid")
    assert (spec.channels, spec.layout, spec.name) == ("luma", "NCHW", "ours")


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"kind": "colour residual"}, "kind 'colour residual'"),
        ({"skip": "none"}, "skip 'none'"),
        ({"scale": "3"}, r"of shape \(1, 9, 3, 5\); got \(1, 4, 3, 5\)"),
        ({"halo": "5"}, "got 5 for a graph that shows 2"),
        ({"halo": "999"}, "at most 256; got 999"),
        ({"halo": "-1"}, "got '2' and '-1'"),
        ({"scale": "99"}, "from 1 to 16; got 99"),
        ({"rotations": "3"}, "1, 2 or 4; got '3'"),
    ],
)
def test_metadata_that_does_not_fit_the_graph(metadata, text):
    with pytest.raises(ValueError, match=text):
        spec_of(luma_residual(**metadata))


# ---------------------------------------------------------------------------------------------------------------------
# What cannot run


def two_inputs():
    model = onnx.load_from_string(super_resolution(2, 3))
    model.graph.input.append(onnx.helper.make_tensor_value_info("noise", 1, [1]))
    return model.SerializeToString()


def two_outputs():
    model = onnx.load_from_string(super_resolution(2, 3))
    model.graph.output.append(onnx.helper.make_tensor_value_info("t0", 1, [1, 8, None, None]))
    return model.SerializeToString()


def of_op(op, *constants, shape=(1, 3, "H", "W"), **attributes):
    net = Net(shape[1] if isinstance(shape[1], int) else 3)
    net.node(op, "x", *(net.constant(value) for value in constants), **attributes)
    return net.model(list(shape))


def five_channels():
    net = Net(5)
    net.conv(20)
    net.node("DepthToSpace", blocksize=2)
    return net.model([1, 5, "H", "W"])


def of_another_domain():
    net = Net(3)
    net.node("Magic", domain="com.example")
    return net.model([1, 3, "H", "W"])


def with_type(code):
    net = Net(3)
    net.node("Identity")
    return net.model([1, 3, "H", "W"], code=code)


REFUSED = {
    "two inputs": (two_inputs, "one input; got 2 .*'noise'"),
    "two outputs": (two_outputs, "one output; got 2"),
    "uint8": (lambda: with_type(2), "must be float32 or float16; got 'x', uint8"),
    "three axes": (lambda: of_op("Identity", shape=(3, "H", "W")), r"four axes; got 'x', float32 \(3, H, W\)"),
    "batches": (lambda: of_op("Identity", shape=(8, 3, "H", "W")), r"one picture at a time; got 'x', float32 \(8, 3"),
    "two channels": (lambda: of_op("Identity", shape=(1, 2, "H", "W")), "1, 3 or 4 channels"),
    "five channels": (five_channels, "1, 3 or 4 channels"),
    "other channels out": (lambda: of_op("Concat", np.ones((1, 1, 1, 1), np.float32), axis=1), "enlarged picture"),
    "no picture out": (lambda: of_op("ReduceMean", axes=[2, 3]), "its output"),
    "unequal scales": (
        lambda: of_op("Resize", np.zeros(0, np.float32), np.array([1, 1, 2, 3], np.float32), mode="nearest"),
        "its output is",
    ),
    "a broken scale": (
        lambda: of_op("Resize", np.zeros(0, np.float32), np.array([1, 1, 1.5, 1.5], np.float32), mode="nearest"),
        "whole number from 1 to 16; got 3/2",
    ),
    "a large scale": (
        lambda: of_op("Resize", np.zeros(0, np.float32), np.array([1, 1, 32, 32], np.float32), mode="nearest"),
        "whole number from 1 to 16; got 32",
    ),
    "an absurd scale": (
        lambda: of_op("Resize", np.zeros(0, np.float32), np.array([1, 1, 1e6, 1e6], np.float32), mode="nearest"),
        "Resize to an absurd size",
    ),
    "absurd sides": (lambda: of_op("Identity", shape=(1, 3, 2**40, 2**40)), "absurd size"),
    "absurd pads": (lambda: of_op("Pad", np.array([0, 0, 10**9, 0, 0, 0, 0, 0])), "Pad to an absurd size"),
    "an absurd window": (lambda: of_op("MaxPool", kernel_shape=[10**6, 3]), "MaxPool with kernel_shape"),
    "an absurd constant": (
        lambda: absurd_constant(),
        "ConstantOfShape to an absurd size",
    ),
    "a tower of scales": (lambda: many("Resize"), "a picture of 256 times the size"),
    "a tower of pads": (lambda: many("Pad"), "grows by 4400 samples"),
    "an unknown domain": (of_another_domain, "com.example.Magic"),
    "an unknown operator": (lambda: of_op("Magic"), "ONNX Runtime .* must be able to load"),
    "other weights than channels": (lambda: wrong_weights(), "1, 3 or 4 channels; got .* convolutions of 5"),
    "a loop": (lambda: handmade((1, fields((4, "Loop"), (1, "x")))), "no operators such as loops; got Loop"),
}


def many(op):
    net = Net(3)
    for _ in range(11 if op == "Pad" else 3):
        if op == "Pad":
            net.node("Pad", net.name, net.constant(np.array([0, 0, 200, 200, 0, 0, 200, 200])))
        else:
            net.resize(16, "nearest")
    return net.model([1, 3, "H", "W"])


def absurd_constant():
    net = Net(3)
    net.node("ConstantOfShape", net.constant(np.array([1, 3, 2**20, 2**20])))
    return net.model([1, 3, "H", "W"])


def wrong_weights():
    net = Net(5)
    net.conv(20)
    net.node("DepthToSpace", blocksize=2)
    return net.model([1, 3, "H", "W"])


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_cannot_run(name, tmp_path, capfd):
    make, text = REFUSED[name]
    path = tmp_path / "net.onnx"
    path.write_bytes(make())
    with pytest.raises(ValueError, match=text) as caught:
        foreign.load_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert os.listdir(tmp_path) == ["net.onnx"]
    # ONNX Runtime logs nothing of its own.
    assert capfd.readouterr() == ("", "")


def test_files_that_are_missing_or_of_another_kind(tmp_path):
    for name in ("none.onnx", "none.param", "none.bin"):
        with pytest.raises(FileNotFoundError, match="none"):
            foreign.load_model(tmp_path / name)
    (tmp_path / "checkpoint.pth").write_bytes(b"PK\x03\x04" + bytes(60))
    with pytest.raises(ValueError, match="checkpoint of PyTorch"):
        foreign.load_model(tmp_path / "checkpoint.pth")
    outside = handmade((5, tensor("w", [1], None, 1, (13, fields((1, "location"), (2, "w.bin"))), (14, 1))))
    (tmp_path / "net.onnx").write_bytes(outside)
    with pytest.raises(ValueError, match="external data"):
        foreign.load_model(tmp_path / "net.onnx")
    assert sorted(os.listdir(tmp_path)) == ["checkpoint.pth", "net.onnx"]


def test_operators_that_a_model_defines_itself_run():
    function = fields((1, "Twice"), (4, "a"), (5, "b"), (7, fields((1, "a"), (1, "a"), (2, "b"), (4, "Add"))))
    function += fields((9, field(2, 17)), (10, "local"))
    node = fields((1, "x"), (2, "h"), (4, "Twice"), (7, "local"))
    half = fields((1, "h"), (1, "c"), (2, "z"), (4, "Mul"))
    graph_fields = fields(
        (1, node),
        (1, half),
        (2, "g"),
        (5, tensor("c", [1], np.float32(0.5).tobytes())),
        (11, value_info("x", (1, 3, "H", "W"))),
        (12, value_info("z", (1, 3, "H", "W"))),
    )
    data = fields((1, 8), (8, field(2, 17)), (8, fields((1, "local"), (2, 1))), (7, graph_fields), (25, function))
    assert (spec_of(data).scale, spec_of(data).halo) == (1, 0)


def test_whole_weights_with_steps_are_weights():
    net = Net(3)
    kernel = net.random.integers(-9, 9, (12, 3, 3, 3)).astype(np.int8)
    wide = net.node("Cast", net.constant(kernel), to=1)
    scaled = net.node("Mul", wide, net.constant(np.full((12, 1, 1, 1), 0.01, np.float32)))
    net.node("Conv", "x", scaled, net.constant(np.zeros(12, np.float32)), pads=[1, 1, 1, 1])
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    spec = spec_of(net.model([1, "C", "H", "W"]))
    assert (spec.parameters, spec.channels, spec.halo, spec.scale) == (12 * 27 + 12, "rgb", 1, 2)
