"""Live comparison with torch, onnx, onnxruntime, Pillow and OpenCV, where they are installed."""

import importlib.util
import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import ROUNDINGS
from strategies import seeds, values

import imgops

lengths = st.integers(1, 24)


def has(name):
    return importlib.util.find_spec(name) is not None


needs_torch = pytest.mark.skipif(not has("torch"), reason="torch is not installed")
needs_onnx = pytest.mark.skipif(not has("onnx"), reason="onnx is not installed")
needs_onnxruntime = pytest.mark.skipif(not (has("onnx") and has("onnxruntime")), reason="onnxruntime is not installed")
needs_pillow = pytest.mark.skipif(not has("PIL"), reason="Pillow is not installed")
needs_opencv = pytest.mark.skipif(not has("cv2"), reason="OpenCV is not installed")


# torch


@needs_torch
@given(
    lead=st.lists(st.integers(1, 3), max_size=2),
    channels=st.integers(1, 3),
    h=st.integers(1, 4),
    w=st.integers(1, 4),
    factor=st.integers(1, 5),
    seed=seeds,
)
def test_pixel_shuffle_of_torch(lead, channels, h, w, factor, seed):
    import torch

    x = values((*lead, channels * factor**2, h, w), "f4", seed)
    shuffled = torch.nn.functional.pixel_shuffle(torch.from_numpy(x), factor).numpy()
    np.testing.assert_array_equal(imgops.pixel_shuffle(x, factor), shuffled)
    np.testing.assert_array_equal(imgops.pixel_unshuffle(shuffled, factor), x)


TORCH_LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


@needs_torch
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("align_corners", [False, True])
@given(data=st.data(), seed=seeds)
def test_linear_of_torch_and_its_gradient(rank, align_corners, data, seed):
    import torch

    shape = data.draw(st.tuples(*[lengths] * rank))
    size = data.draw(st.tuples(*[lengths] * rank))
    x = torch.from_numpy(values((2, 1, *shape), "f8", seed)).requires_grad_()
    out = torch.nn.functional.interpolate(x, size=size, mode=TORCH_LINEAR[rank], align_corners=align_corners)
    grad_output = torch.from_numpy(values(out.shape, "f8", seed + 1))
    out.backward(grad_output)
    options = {"axes": range(2, 2 + rank), "convention": "align_corners" if align_corners else "half_pixel"}
    result = imgops.resample(x.detach().numpy(), size, **options)
    np.testing.assert_allclose(result, out.detach().numpy(), rtol=1e-11, atol=1e-12)
    grad = imgops.resample_grad(grad_output.numpy(), shape, **options)
    np.testing.assert_allclose(grad, x.grad.numpy(), rtol=1e-11, atol=1e-12)


@needs_torch
@given(
    shape=st.tuples(lengths, lengths),
    scale=st.tuples(*[st.sampled_from((0.5, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0))] * 2),
    seed=seeds,
)
def test_a_scale_factor_of_torch_is_a_scale(shape, scale, seed):
    import torch

    if min(int(n * s) for n, s in zip(shape, scale, strict=True)) < 1:
        return
    x = values((1, 2, *shape), "f8", seed)
    out = torch.nn.functional.interpolate(torch.from_numpy(x), scale_factor=scale, mode="bilinear").numpy()
    result = imgops.resample(x, scale=scale, data_format="NCHW")
    np.testing.assert_allclose(result, out, rtol=1e-11, atol=1e-12)


@needs_torch
@given(shape=st.tuples(lengths, lengths), size=st.tuples(lengths, st.integers(2, 24)), seed=seeds)
def test_antialiased_linear_of_torch_and_its_gradient(shape, size, seed):
    """Outputs one sample wide are left out: torch 2.13 repeats their first row."""
    import torch

    x = torch.from_numpy(values((2, 1, *shape), "f8", seed)).requires_grad_()
    out = torch.nn.functional.interpolate(x, size=size, mode="bilinear", antialias=True)
    grad_output = torch.from_numpy(values(out.shape, "f8", seed + 1))
    out.backward(grad_output)
    options = {"data_format": "NCHW", "antialias": True}
    result = imgops.resample(x.detach().numpy(), size, **options)
    np.testing.assert_allclose(result, out.detach().numpy(), rtol=1e-10, atol=1e-11)
    grad = imgops.resample_grad(grad_output.numpy(), shape, **options)
    np.testing.assert_allclose(grad, x.grad.numpy(), rtol=1e-10, atol=1e-11)


@needs_torch
@pytest.mark.parametrize(("mode", "convention"), [("nearest", "asymmetric"), ("nearest-exact", "tf_half_pixel_for_nn")])
def test_nearest_of_torch_to_within_its_float32(mode, convention):
    """Of small sizes torch's float32 product misses an exact integer in a few pairs; never by more than one."""
    import torch

    different = 0
    for n, m in itertools.product(range(1, 33), repeat=2):
        x = np.arange(n, dtype="f4")[None, None]
        theirs = torch.nn.functional.interpolate(torch.from_numpy(x), size=m, mode=mode).numpy()[0, 0]
        ours = imgops.resample(x[0, 0], m, mode="nearest", convention=convention, rounding="floor")
        assert abs(ours - theirs).max() <= 1
        different += not np.array_equal(ours, theirs)
    assert different <= 20


@needs_torch
@given(shape=st.tuples(lengths, lengths), factor=st.integers(1, 4), seed=seeds)
def test_nearest_gradient_of_torch(shape, factor, seed):
    import torch

    x = torch.from_numpy(values((1, 2, *shape), "f8", seed)).requires_grad_()
    out = torch.nn.functional.interpolate(x, scale_factor=factor, mode="nearest")
    grad_output = torch.from_numpy(values(out.shape, "f8", seed + 1))
    out.backward(grad_output)
    options = {"data_format": "NCHW", "mode": "nearest", "convention": "asymmetric", "rounding": "floor"}
    np.testing.assert_array_equal(imgops.resample(x.detach().numpy(), scale=factor, **options), out.detach().numpy())
    grad = imgops.resample_grad(grad_output.numpy(), shape, **options)
    np.testing.assert_allclose(grad, x.grad.numpy(), rtol=1e-13, atol=1e-14)


def supports(mode):
    try:
        imgops.resample(np.zeros((4, 4), "f4"), (3, 3), mode=mode)
    except ValueError:
        return False
    return True


@needs_torch
@pytest.mark.skipif(not supports("cubic"), reason="this build has no cubic mode")
@pytest.mark.parametrize("align_corners", [False, True])
@given(shape=st.tuples(lengths, lengths), size=st.tuples(lengths, lengths), seed=seeds)
def test_cubic_of_torch_and_its_gradient(align_corners, shape, size, seed):
    import torch

    x = torch.from_numpy(values((2, 1, *shape), "f8", seed)).requires_grad_()
    out = torch.nn.functional.interpolate(x, size=size, mode="bicubic", align_corners=align_corners)
    grad_output = torch.from_numpy(values(out.shape, "f8", seed + 1))
    out.backward(grad_output)
    options = {"data_format": "NCHW", "mode": "cubic", "convention": "align_corners" if align_corners else "half_pixel"}
    result = imgops.resample(x.detach().numpy(), size, **options)
    np.testing.assert_allclose(result, out.detach().numpy(), rtol=1e-10, atol=1e-11)
    grad = imgops.resample_grad(grad_output.numpy(), shape, **options)
    np.testing.assert_allclose(grad, x.grad.numpy(), rtol=1e-10, atol=1e-11)


PAIRS = list(itertools.product(range(1, 49), repeat=2))


def assert_nearest_of_every_pair(convention, theirs):
    """Index for index: each side resizes a ramp."""
    different = []
    for n, m in PAIRS:
        x = np.arange(n, dtype="u1")
        ours = imgops.resample(x, m, mode="nearest", convention=convention)
        if not np.array_equal(ours, theirs(x, m)):
            different.append((n, m))
    assert not different


@needs_torch
@pytest.mark.parametrize(("mode", "convention"), [("nearest", "torch"), ("nearest-exact", "torch_nearest_exact")])
def test_nearest_of_torch_index_for_index(mode, convention):
    import torch

    def theirs(x, m):
        picture = torch.from_numpy(x.astype("f4"))[None, None, None]
        return torch.nn.functional.interpolate(picture, size=(1, m), mode=mode).numpy()[0, 0, 0]

    assert_nearest_of_every_pair(convention, theirs)


@needs_torch
@pytest.mark.parametrize("options", [{}, {"align_corners": True}, {"antialias": True}, {"mode": "bicubic"}], ids=str)
@given(shape=st.tuples(lengths, lengths), size=st.tuples(lengths, st.integers(2, 24)), seed=seeds)
def test_float32_of_torch_in_its_own_convention(options, shape, size, seed):
    import torch

    options = {"mode": "bilinear", **options}
    x = values((1, 2, *shape), "f4", seed)
    expected = torch.nn.functional.interpolate(torch.from_numpy(x), size=size, **options).numpy()
    result = imgops.resample(
        x,
        size,
        data_format="NCHW",
        mode="cubic" if options["mode"] == "bicubic" else "linear",
        convention="torch_align_corners" if options.get("align_corners") else "torch",
        antialias=options.get("antialias", False),
    )
    np.testing.assert_allclose(result, expected, rtol=0, atol=2e-5)


@needs_torch
@given(shape=st.tuples(lengths, lengths), size=st.tuples(lengths, st.integers(2, 24)), seed=seeds)
def test_antialiased_cubic_of_torch(shape, size, seed):
    import torch

    x = values((1, 2, *shape), "f8", seed)
    expected = torch.nn.functional.interpolate(torch.from_numpy(x), size=size, mode="bicubic", antialias=True).numpy()
    result = imgops.resample(x, size, data_format="NCHW", mode="cubic", convention="torch", antialias=True)
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-6)


# onnx


ONNX_ROUNDING = {"floor": "floor", "ceil": "ceil", "half_down": "round_prefer_floor", "half_up": "round_prefer_ceil"}
ONNX_CONVENTIONS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")


def onnx_node(op, inputs, **attributes):
    from onnx import TensorProto, helper

    node = helper.make_node(op, inputs, ["Y"], **attributes)
    # The names that carry values; empty ones stand for inputs left out.
    kinds = {"X": TensorProto.FLOAT, "sizes": TensorProto.INT64, "scales": TensorProto.FLOAT}
    graph = helper.make_graph(
        [node],
        "one_node",
        [helper.make_tensor_value_info(name, kinds[name], None) for name in inputs if name],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


def onnx_resize(x, *, sizes, convention, mode, rounding="half_down"):
    from onnx.reference import ReferenceEvaluator

    model = onnx_node(
        "Resize",
        ["X", "", "", "sizes"],
        mode=mode,
        coordinate_transformation_mode=convention,
        nearest_mode=ONNX_ROUNDING[rounding],
    )
    return ReferenceEvaluator(model).run(None, {"X": x, "sizes": np.array(sizes, np.int64)})[0]


@needs_onnx
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_depth_to_space_of_onnx(mode, block):
    from onnx.reference import ReferenceEvaluator

    x = values((2, 3 * block**2, 4, 5), "f4", block)
    expected = ReferenceEvaluator(onnx_node("DepthToSpace", ["X"], blocksize=block, mode=mode)).run(None, {"X": x})[0]
    out = imgops.depth_to_space(x, block, data_format="NCHW", mode=mode)
    np.testing.assert_array_equal(out, expected)
    if mode == "DCR":
        back = ReferenceEvaluator(onnx_node("SpaceToDepth", ["X"], blocksize=block)).run(None, {"X": out})[0]
        np.testing.assert_array_equal(imgops.space_to_depth(out, block, data_format="NCHW"), back)


@needs_onnx
@pytest.mark.parametrize("convention", ONNX_CONVENTIONS)
def test_linear_of_the_onnx_reference(convention):
    rng = np.random.default_rng(0)
    for h, w, oh, ow in rng.integers(1, 9, (12, 4)).tolist():
        x = values((1, 1, h, w), "f4", h)
        expected = onnx_resize(x, sizes=(1, 1, oh, ow), convention=convention, mode="linear")
        result = imgops.resample(x, (oh, ow), data_format="NCHW", convention=convention)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@needs_onnx
@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("convention", ONNX_CONVENTIONS)
def test_nearest_of_the_onnx_reference(convention, rounding):
    """Over lengths whose ratios are exact in binary, where the reference's floats are exact too."""
    for n, m in ((4, 2), (2, 4), (8, 3), (4, 7), (5, 5), (8, 1), (1, 4), (2, 8), (4, 4)):
        if m & (m - 1) and convention != "asymmetric":
            continue
        x = np.arange(n, dtype="f4").reshape(1, 1, 1, n)
        if convention == "align_corners" and m > 1 and (n - 1) % (m - 1):
            continue
        if convention == "asymmetric" and m & (m - 1):
            continue
        expected = onnx_resize(x, sizes=(1, 1, 1, m), convention=convention, mode="nearest", rounding=rounding)
        result = imgops.resample(
            x, (1, m), data_format="NCHW", mode="nearest", convention=convention, rounding=rounding
        )
        np.testing.assert_array_equal(result, expected, err_msg=f"{n} to {m}")


@needs_onnxruntime
@pytest.mark.parametrize("convention", ["half_pixel", "align_corners", "asymmetric"])
def test_linear_of_onnxruntime(convention):
    import onnxruntime

    model = onnx_node("Resize", ["X", "", "", "sizes"], mode="linear", coordinate_transformation_mode=convention)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for h, w, oh, ow in ((5, 7, 8, 3), (3, 4, 6, 8), (9, 2, 4, 11)):
        x = values((1, 3, h, w), "f4", h)
        expected = session.run(None, {"X": x, "sizes": np.array((1, 3, oh, ow), np.int64)})[0]
        result = imgops.resample(x, (oh, ow), data_format="NCHW", convention=convention)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


# Pillow


@needs_pillow
@given(shape=st.tuples(lengths, lengths), size=st.tuples(lengths, lengths), seed=seeds)
def test_bilinear_of_pillow_is_antialiased_linear(shape, size, seed):
    from PIL import Image

    x = values(shape, "f4", seed)
    expected = np.asarray(Image.fromarray(x).resize(size[::-1], Image.Resampling.BILINEAR))
    np.testing.assert_allclose(imgops.resample(x, size, antialias=True), expected, rtol=1e-5, atol=1e-5)


@needs_pillow
@given(shape=st.tuples(lengths, lengths), size=st.tuples(lengths, lengths), seed=seeds)
def test_bilinear_of_pillow_on_bytes_to_within_its_passes(shape, size, seed):
    """Pillow rounds to bytes between its two passes."""
    from PIL import Image

    x = values(shape, "u1", seed)
    expected = np.asarray(Image.fromarray(x).resize(size[::-1], Image.Resampling.BILINEAR)).astype(int)
    assert abs(imgops.resample(x, size, antialias=True) - expected).max() <= 1


@needs_pillow
@pytest.mark.skipif(not supports("lanczos3"), reason="this build has no lanczos3 mode")
@given(shape=st.tuples(lengths, lengths), size=st.tuples(lengths, lengths), seed=seeds)
def test_lanczos_of_pillow(shape, size, seed):
    from PIL import Image

    x = values(shape, "f4", seed)
    expected = np.asarray(Image.fromarray(x).resize(size[::-1], Image.Resampling.LANCZOS))
    np.testing.assert_allclose(
        imgops.resample(x, size, mode="lanczos3", antialias=True), expected, rtol=1e-4, atol=1e-4
    )


@needs_pillow
def test_nearest_of_pillow_index_for_index():
    from PIL import Image

    def theirs(x, m):
        return np.asarray(Image.fromarray(x[None]).resize((m, 1), Image.Resampling.NEAREST))[0]

    assert_nearest_of_every_pair("pillow", theirs)


@needs_pillow
@pytest.mark.parametrize(("mode", "name"), [("linear", "BILINEAR"), ("cubic", "BICUBIC"), ("lanczos3", "LANCZOS")])
@given(shape=st.tuples(lengths, lengths), size=st.tuples(lengths, lengths), seed=seeds)
def test_filters_of_pillow_in_its_own_convention(mode, name, shape, size, seed):
    from PIL import Image

    x = values(shape, "f4", seed)
    expected = np.asarray(Image.fromarray(x).resize(size[::-1], Image.Resampling[name]))
    result = imgops.resample(x, size, mode=mode, convention="pillow")
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5)


# OpenCV


@needs_opencv
@given(shape=st.tuples(lengths, lengths), size=st.tuples(lengths, lengths), channels=st.integers(1, 4), seed=seeds)
def test_linear_of_opencv(shape, size, channels, seed):
    import cv2

    if shape == (2 * size[0], 2 * size[1]):
        return  # OpenCV averages areas there
    x = values((*shape, channels), "f4", seed)
    expected = cv2.resize(x, size[::-1], interpolation=cv2.INTER_LINEAR).reshape(*size, channels)
    np.testing.assert_allclose(imgops.resample(x, size), expected, rtol=1e-4, atol=1e-4)


@needs_opencv
def test_nearest_of_opencv_at_whole_factors():
    import cv2

    x = values((6, 9, 3), "u1", 0)
    for factor in (Fraction(2), Fraction(3), Fraction(1, 3)):
        size = tuple(int(n * factor) for n in x.shape[:2])
        expected = cv2.resize(x, size[::-1], interpolation=cv2.INTER_NEAREST)
        result = imgops.resample(x, size, mode="nearest", convention="asymmetric", rounding="floor")
        np.testing.assert_array_equal(result, expected)


@needs_opencv
@pytest.mark.parametrize(
    ("convention", "name"), [("opencv", "INTER_NEAREST"), ("opencv_nearest_exact", "INTER_NEAREST_EXACT")]
)
def test_nearest_of_opencv_index_for_index(convention, name):
    import cv2

    if int(cv2.__version__.split(".")[0]) < 5:
        pytest.skip("the rules of OpenCV 5")

    def theirs(x, m):
        return cv2.resize(x[None], (m, 1), interpolation=getattr(cv2, name)).reshape(-1)

    assert_nearest_of_every_pair(convention, theirs)


@needs_opencv
@pytest.mark.parametrize(("mode", "name"), [("linear", "INTER_LINEAR"), ("cubic", "INTER_CUBIC")])
@given(shape=st.tuples(lengths, lengths), size=st.tuples(lengths, lengths), seed=seeds)
def test_filters_of_opencv_in_its_own_convention(mode, name, shape, size, seed):
    import cv2

    if shape == (2 * size[0], 2 * size[1]):
        return  # OpenCV averages areas there
    x = values(shape, "f4", seed)
    expected = cv2.resize(x, size[::-1], interpolation=getattr(cv2, name)).reshape(size)
    np.testing.assert_allclose(imgops.resample(x, size, mode=mode, convention="opencv"), expected, rtol=0, atol=2e-5)
