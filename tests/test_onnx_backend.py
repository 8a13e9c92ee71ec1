"""imgops.interfaces.onnx_backend by onnx's own test runner, and with models and nodes of its own."""

import unittest
import warnings

import numpy as np
import pytest

from imgops.interfaces import onnx as operators
from imgops.interfaces import onnx_backend

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

_RESIZE = """
    downsample_scales_cubic downsample_scales_cubic_A_n0p5_exclude_outside downsample_scales_cubic_align_corners
    downsample_scales_cubic_antialias downsample_scales_linear downsample_scales_linear_align_corners
    downsample_scales_linear_antialias downsample_scales_linear_half_pixel_symmetric downsample_scales_nearest
    downsample_sizes_cubic downsample_sizes_cubic_antialias downsample_sizes_linear_antialias
    downsample_sizes_linear_pytorch_half_pixel downsample_sizes_nearest downsample_sizes_nearest_not_larger
    downsample_sizes_nearest_not_smaller tf_crop_and_resize tf_crop_and_resize_axes_2_3 tf_crop_and_resize_axes_3_2
    tf_crop_and_resize_extrapolation_value upsample_scales_cubic upsample_scales_cubic_A_n0p5_exclude_outside
    upsample_scales_cubic_align_corners upsample_scales_cubic_asymmetric upsample_scales_linear
    upsample_scales_linear_align_corners upsample_scales_linear_half_pixel_symmetric upsample_scales_nearest
    upsample_scales_nearest_axes_2_3 upsample_scales_nearest_axes_3_2 upsample_sizes_cubic upsample_sizes_nearest
    upsample_sizes_nearest_axes_2_3 upsample_sizes_nearest_axes_3_2 upsample_sizes_nearest_ceil_half_pixel
    upsample_sizes_nearest_floor_align_corners upsample_sizes_nearest_not_larger upsample_sizes_nearest_not_smaller
    upsample_sizes_nearest_round_prefer_ceil_asymmetric
"""
NODE_TESTS = (
    "test_depthtospace_example",
    "test_depthtospace_crd_mode_example",
    "test_spacetodepth",
    "test_spacetodepth_example",
    "test_spacetodepth_dcr_mode_example",
    "test_spacetodepth_crd_mode_example",
    "test_upsample_nearest",
    *(f"test_resize_{name}" for name in _RESIZE.split()),
)
NEWER_THAN_19 = {"test_spacetodepth_dcr_mode_example", "test_spacetodepth_crd_mode_example", "test_spacetodepth"}


@pytest.fixture(scope="module")
def node_tests():
    """onnx's own unittest.TestCase of node tests, for the backend."""
    from onnx.backend.test import BackendTest

    with warnings.catch_warnings():
        # onnx makes the data of its other tests here, which overflow on purpose.
        warnings.simplefilter("ignore")
        return BackendTest(onnx_backend, __name__).test_cases["OnnxBackendNodeModelTest"]


@pytest.mark.parametrize("name", NODE_TESTS)
def test_node_test_of_onnx(node_tests, name):
    if not hasattr(node_tests, f"{name}_cpu"):
        assert name in NEWER_THAN_19
        pytest.skip("this onnx has no such node test")
    result = unittest.TestResult()
    node_tests(f"{name}_cpu").run(result)
    assert result.testsRun == 1
    assert not result.skipped
    assert not result.errors + result.failures, result.errors + result.failures


def test_there_are_no_other_node_tests(node_tests):
    prefixes = ("test_depthtospace", "test_spacetodepth", "test_upsample", "test_resize")
    names = {name.removesuffix("_cpu") for name in dir(node_tests) if name.endswith("_cpu")}
    # The expanded ones are the same models written with other operators.
    assert {name for name in names if name.startswith(prefixes) and not name.endswith("_expanded")} <= set(NODE_TESTS)
    assert len(NODE_TESTS) == 46


# Models and nodes of our own


def info(name, dtype, shape):
    return onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)


def make_model(nodes, inputs, opset, initializers=(), output="y", rank=4, ir_version=8):
    graph = onnx.helper.make_graph(
        nodes,
        "graph",
        inputs,
        [info(output, "f4", (None,) * rank)],
        [onnx.numpy_helper.from_array(value, name) for name, value in initializers],
    )
    opsets = [onnx.helper.make_opsetid("", opset)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def node(operator, inputs, output="y", **attributes):
    return onnx.helper.make_node(operator, inputs, [output], **attributes)


X = np.arange(48, dtype=np.float32).reshape(1, 4, 3, 4)


def known_opset(opset):
    if opset > onnx.defs.onnx_opset_version():
        pytest.skip(f"this onnx has no operator set {opset}")


@pytest.mark.parametrize("opset", [1, 10, 11, 13, 27, 28])
def test_depth_to_space_of_every_operator_set(opset):
    known_opset(opset)
    model = make_model([node("DepthToSpace", ["x"], blocksize=2)], [info("x", "f4", X.shape)], opset)
    (y,) = onnx_backend.run_model(model, [X])
    np.testing.assert_array_equal(y, operators.DepthToSpace(X, 2))
    attributes = {"blocksize": 2, "mode": "CRD"}
    if opset >= 11:
        (y,) = onnx_backend.run_node(node("DepthToSpace", ["x"], **attributes), [X], opset_version=opset)
        np.testing.assert_array_equal(y, operators.DepthToSpace(X, 2, "CRD"))
    else:
        with pytest.raises(ValueError, match="mode"):
            onnx_backend.run_node(node("DepthToSpace", ["x"], **attributes), [X], opset_version=opset)


@pytest.mark.parametrize("opset", [1, 13, 28])
def test_space_to_depth_of_every_operator_set(opset):
    known_opset(opset)
    x = X.reshape(1, 2, 4, 6)
    attributes = {"blocksize": 2, "mode": "CRD"}
    (y,) = onnx_backend.run_node(node("SpaceToDepth", ["x"], blocksize=2), [x], opset_version=opset)
    np.testing.assert_array_equal(y, operators.SpaceToDepth(x, 2))
    if opset >= 28:
        (y,) = onnx_backend.run_node(node("SpaceToDepth", ["x"], **attributes), [x], opset_version=opset)
        np.testing.assert_array_equal(y, operators.SpaceToDepth(x, 2, "CRD"))
    else:
        with pytest.raises(ValueError, match="mode"):
            onnx_backend.run_node(node("SpaceToDepth", ["x"], **attributes), [x], opset_version=opset)


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_upsample_of_every_operator_set(mode):
    scales = np.array([1, 1, 1.5, 3], np.float32)
    expected = operators.Upsample(X, scales, mode)
    assert expected.shape == (1, 4, 4, 12)
    first = node("Upsample", ["x"], height_scale=1.5, width_scale=3.0, mode=mode.replace("linear", "bilinear"))
    (y,) = onnx_backend.run_node(first, [X], opset_version=1)
    np.testing.assert_array_equal(y, expected)
    (y,) = onnx_backend.run_node(node("Upsample", ["x"], scales=scales, mode=mode), [X], opset_version=8)
    np.testing.assert_array_equal(y, expected)
    (y,) = onnx_backend.run_node(node("Upsample", ["x", "scales"], mode=mode), [X, scales], opset_version=9)
    np.testing.assert_array_equal(y, expected)
    with pytest.raises(ValueError, match="operator set 1, 7, 9; got its version of operator set 10"):
        onnx_backend.run_node(node("Upsample", ["x", "scales"], mode=mode), [X, scales], opset_version=10)


def test_resize_10_rounds_up_where_an_axis_shrinks():
    x = np.arange(10, dtype=np.float32)
    resize = node("Resize", ["x", "scales"])
    (y,) = onnx_backend.run_node(resize, [x, np.float32([0.45])], opset_version=10)
    # As ONNX Runtime 1.32 computes them.
    assert y.tolist() == [0, 3, 5, 7]
    (y,) = onnx_backend.run_node(resize, [x, np.float32([1.7])], opset_version=10)
    assert y.tolist() == [0, 0, 1, 1, 2, 2, 3, 4, 4, 5, 5, 6, 7, 7, 8, 8, 9]


@pytest.mark.parametrize("opset", [11, 12, 13, 18, 19, 28])
def test_resize_of_every_operator_set_with_inputs_left_out(opset):
    known_opset(opset)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    scales, none = np.float32([1, 2]), np.empty(0, np.float32)
    expected = operators.Resize(x, scales=scales, mode="linear")
    inputs = ["x", "roi", "scales"] if opset < 13 else ["x", "", "scales"]
    values = [x, none, scales] if opset < 13 else [x, scales]
    (y,) = onnx_backend.run_node(node("Resize", inputs, mode="linear"), values, opset_version=opset)
    np.testing.assert_array_equal(y, expected)
    inputs = ["x", "roi", "scales", "sizes"] if opset < 13 else ["x", "", "", "sizes"]
    values = [x, none, none, np.array([2, 6])] if opset < 13 else [x, np.array([2, 6])]
    (y,) = onnx_backend.run_node(node("Resize", inputs, mode="linear"), values, opset_version=opset)
    np.testing.assert_array_equal(y, expected)


def test_a_chain_with_initializers():
    nodes = [
        node("Resize", ["x", "", "scales"], "wide", mode="linear"),
        node("DepthToSpace", ["wide"], "large", blocksize=2),
        node("SpaceToDepth", ["large"], "y", blocksize=2),
    ]
    scales = np.float32([1, 1, 2, 3])
    model = make_model(nodes, [info("x", "f4", (None, 4, "h", "w"))], 19, [("scales", scales)])
    prepared = onnx_backend.prepare(model)
    for x in (X, X[:, :, :2], np.concatenate([X, X])):
        before = x.copy()
        outputs = prepared.run([x])
        assert isinstance(outputs, tuple)
        np.testing.assert_array_equal(outputs[0], operators.Resize(x, scales=scales, mode="linear"))
        np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(prepared.run({"x": X})[0], prepared.run([X])[0])
    # An initializer that is an input too is a default.
    inputs = [info("x", "f4", X.shape), info("scales", "f4", (4,))]
    prepared = onnx_backend.prepare(make_model(nodes[:1], inputs, 19, [("scales", scales)], output="wide"))
    assert prepared.run([X])[0].shape == (1, 4, 6, 12)
    assert prepared.run([X, np.float32([1, 1, 1, 2])])[0].shape == (1, 4, 3, 8)
    assert prepared.run({"x": X, "scales": np.float32([1, 1, 1, 2])})[0].shape == (1, 4, 3, 8)


def test_devices_and_compatibility():
    assert onnx_backend.supports_device("CPU")
    assert onnx_backend.supports_device("CPU:0")
    assert not onnx_backend.supports_device("CUDA:1")
    good = make_model([node("DepthToSpace", ["x"], blocksize=2)], [info("x", "f4", X.shape)], 13)
    assert onnx_backend.is_compatible(good)
    assert not onnx_backend.is_compatible(good, "CUDA")
    assert not onnx_backend.is_compatible(make_model([node("Relu", ["x"])], [info("x", "f4", X.shape)], 13))


def d2s_model(**options):
    return make_model([node("DepthToSpace", ["x"], blocksize=2)], [info("x", "f4", (1, 4, None, 4))], 13, **options)


def sparse_model():
    model = d2s_model()
    sparse = model.graph.sparse_initializer.add()
    sparse.values.name = "thin"
    return model


def foreign_model():
    model = d2s_model()
    model.graph.node[0].domain = "com.microsoft"
    return model


REFUSED = {
    "operator": (ValueError, "got Relu", lambda: onnx_backend.run_node(node("Relu", ["x"]), [X])),
    "domain": (ValueError, "com.microsoft.DepthToSpace", lambda: onnx_backend.prepare(foreign_model())),
    "device": (ValueError, "'CUDA'", lambda: onnx_backend.prepare(d2s_model(), "CUDA")),
    "device of a node": (ValueError, "'CUDA'", lambda: onnx_backend.run_node(node("Relu", ["x"]), [X], "CUDA")),
    "no model": (TypeError, "onnx.ModelProto; got str", lambda: onnx_backend.prepare("model.onnx")),
    "no node": (TypeError, "onnx.NodeProto", lambda: onnx_backend.run_node("Resize", [X])),
    "sparse": (ValueError, "sparse thin", lambda: onnx_backend.prepare(sparse_model())),
    "blocksize": (ValueError, "blocksize", lambda: onnx_backend.run_node(node("DepthToSpace", ["x"]), [X])),
    "unknown attribute": (
        ValueError,
        "blob",
        lambda: onnx_backend.run_node(node("DepthToSpace", ["x"], blocksize=2, blob=1), [X]),
    ),
    "undefined name": (
        ValueError,
        "the model must pass onnx.checker",
        lambda: onnx_backend.prepare(make_model([node("DepthToSpace", ["z"], blocksize=2)], [], 13)),
    ),
    "too many inputs": (ValueError, r"1 arrays \(x\); got 2", lambda: onnx_backend.run_model(d2s_model(), [X, X])),
    "other name": (ValueError, "got z", lambda: onnx_backend.run_model(d2s_model(), {"z": X})),
    "bare array": (TypeError, "got ndarray", lambda: onnx_backend.run_model(d2s_model(), X)),
    "dtype": (TypeError, "float32; got float64", lambda: onnx_backend.run_model(d2s_model(), [X.astype("f8")])),
    "shape": (
        ValueError,
        r"\(1, 4, any, 4\); got \(1, 4, 3, 3\)",
        lambda: onnx_backend.run_model(d2s_model(), [X[..., :3]]),
    ),
    "rank": (ValueError, r"\(1, 4, any, 4\)", lambda: onnx_backend.run_model(d2s_model(), [X[0]])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    kind, text, call = REFUSED[name]
    with pytest.raises(kind, match=text) as caught:
        call()
    assert len(str(caught.value).split("; ")) >= 3, str(caught.value)
