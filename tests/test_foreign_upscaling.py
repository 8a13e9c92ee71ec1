"""Upscaler with model files: every kind of tail, and ncnn, as ONNX Runtime gives the whole picture."""

import os

import numpy as np
import pytest
from model_makers import Net, srvgg, super_resolution

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

import imgops  # noqa: E402
from imgops.sr import Upscaler, ncnn  # noqa: E402

PIXELS = np.random.default_rng(0).integers(0, 256, (19, 23, 3), np.uint8)
# Smooth and noisy parts.
PIXELS[:8] = np.linspace(20, 230, 23, dtype=np.uint8)[:, None]


def run(data, array):
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: array})[0]


def quantised(values, white=255):
    return np.rint(np.clip(values.astype(np.float64), 0, 1) * white)


def runtime_result(data, pixels, layout="NCHW", dtype=np.float32, white=255):
    """ONNX Runtime's own picture (H, W, C) of 0..white for the picture (H, W, C)."""
    given = (pixels.astype(np.float32) / np.float32(white)).astype(dtype)[None]
    made = run(data, given if layout == "NHWC" else np.ascontiguousarray(given.transpose(0, 3, 1, 2)))[0]
    return quantised(made if layout == "NHWC" else made.transpose(1, 2, 0), white)


def saved(folder, data, name="net.onnx"):
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("skip", [None, "nearest", "linear"])
@pytest.mark.parametrize("scale", [2, 3])
def test_tails_of_both_orders_with_and_without_skips(scale, skip, mode, layout, tmp_path):
    data = super_resolution(scale, 3, mode=mode, skip=skip, layout=layout, seed=scale)
    expected = runtime_result(data, PIXELS, layout)
    path = saved(tmp_path, data)
    for tile in (None, 8):
        made = Upscaler(path, tile=tile)(PIXELS)
        assert made.dtype == np.uint8
        assert made.shape == (19 * scale, 23 * scale, 3)
        assert np.abs(made - expected).max() <= 1
        assert (made != expected).mean() < 0.002
    assert os.listdir(tmp_path) == ["net.onnx"]


def test_dcr_and_crd_of_the_same_weights_differ(tmp_path):
    made = [
        Upscaler(saved(tmp_path, super_resolution(2, 3, mode=mode, skip="nearest"), f"{mode}.onnx"))(PIXELS)
        for mode in ("DCR", "CRD")
    ]
    assert (made[0] != made[1]).mean() > 0.5


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_fixed_sizes(layout, tmp_path):
    """A picture as large as the network wants gives the network's result, any other one is put together of several."""
    data = super_resolution(2, 3, skip="linear", layout=layout, sides=(16, 24))
    upscaler = Upscaler(saved(tmp_path, data))
    whole = PIXELS[:16, :23].repeat(2, 1)[:, :24]
    assert np.abs(upscaler(whole) - runtime_result(data, whole, layout)).max() <= 1
    free = super_resolution(2, 3, skip="linear", layout=layout)
    assert np.abs(upscaler(PIXELS.repeat(2, 1)) - runtime_result(free, PIXELS.repeat(2, 1), layout)).max() <= 1
    assert upscaler(PIXELS[:3, :5]).shape == (6, 10, 3)


def test_float16(tmp_path):
    data = super_resolution(2, 3, skip="nearest", dtype=np.float16)
    made = Upscaler(saved(tmp_path, data))(PIXELS)
    assert np.abs(made - runtime_result(data, PIXELS, dtype=np.float16)).max() <= 1


def test_uint16_and_float32(tmp_path):
    data = super_resolution(2, 3, skip="linear")
    upscaler = Upscaler(saved(tmp_path, data))
    wide = PIXELS.astype(np.uint16) * 257
    made = upscaler(wide)
    assert made.dtype == np.uint16
    assert np.abs(made - runtime_result(data, wide, white=65535)).max() <= 1
    values = (PIXELS / 255).astype(np.float32)
    made = upscaler(values)
    assert made.dtype == np.float32
    assert np.allclose(
        made * 255, np.clip(run(data, values.transpose(2, 0, 1)[None])[0].transpose(1, 2, 0), 0, 1) * 255
    )


def test_luma_networks_on_grey_and_on_colour(tmp_path):
    data = super_resolution(2, 1, skip="linear")
    upscaler = Upscaler(saved(tmp_path, data))
    grey = PIXELS[..., 0]
    expected = runtime_result(data, grey[..., None])[..., 0]
    assert np.abs(upscaler(grey) - expected).max() <= 1
    # Grey stays grey through colours, and colour gets its luma from the network.
    assert np.abs(upscaler(np.stack([grey] * 3, -1)) - expected[..., None]).max() <= 1
    luma = PIXELS @ np.array([0.299, 0.587, 0.114])
    weak = (PIXELS // 4 + 96).astype(np.uint8)
    made = upscaler(weak) @ np.array([0.299, 0.587, 0.114])
    given = (weak @ np.array([0.299, 0.587, 0.114]) / 255).astype(np.float32)[None, None]
    assert luma.shape == given.shape[2:]
    assert np.abs(made - 255 * np.clip(run(data, given)[0, 0], 0, 1)).max() < 1


def test_rgba_networks(tmp_path):
    data = super_resolution(2, 4, skip="linear")
    pixels = np.concatenate([PIXELS, PIXELS[..., :1] // 2 + 128], -1)
    made, expected = Upscaler(saved(tmp_path, data))(pixels, premultiply=False), runtime_result(data, pixels)
    assert np.abs(made[..., :3] - expected[..., :3]).max() <= 1
    # Opacity is kept between those of the pixels around.
    inside = (expected[..., 3] > 128) & (expected[..., 3] < 255)
    assert (np.abs(made[..., 3] - expected[..., 3])[inside] <= 1).mean() > 0.5
    pixels[..., 3] = 255
    assert Upscaler(tmp_path / "net.onnx")(pixels)[..., 3].min() == 255


def test_values_to_255(tmp_path):
    net = Net(3)
    net.conv(12, gain=0.05)
    net.weights["w1"] = np.full(12, 6, np.float32)
    made = net.node("DepthToSpace", blocksize=2, mode="CRD")
    net.add(made, net.resize(2, "linear", "x", coordinate_transformation_mode="half_pixel"))
    data = net.model([1, 3, "H", "W"])
    expected = run(data, PIXELS.astype(np.float32).transpose(2, 0, 1)[None])[0].transpose(1, 2, 0)
    made = Upscaler(saved(tmp_path, data))(PIXELS)
    assert np.abs(made - np.rint(np.clip(expected, 0, 255))).max() <= 1


def test_valid_convolutions_get_the_edge_repeated(tmp_path):
    net = Net(3)
    for channels in (8, 12):
        net.conv(channels, pads=[0] * 4)
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    data = net.model([1, 3, "H", "W"])
    around = np.pad(PIXELS, ((2, 2), (2, 2), (0, 0)), "edge")
    expected = runtime_result(data, around)
    for tile in (None, 8):
        made = Upscaler(saved(tmp_path, data), tile=tile)(PIXELS)
        assert np.abs(made - expected).max() <= 1


def test_sides_that_must_be_multiples(tmp_path):
    net = Net(3)
    net.node("SpaceToDepth", blocksize=4)
    net.channels = 48
    net.conv(192, gain=0.5)
    net.node("DepthToSpace", blocksize=8, mode="DCR")
    data = net.model([1, 3, "H", "W"])
    path = saved(tmp_path, data)
    expected = runtime_result(data, PIXELS[:16, :20])
    assert np.abs(Upscaler(path)(PIXELS[:16, :20]) - expected).max() <= 1
    assert np.abs(Upscaler(path, tile=8)(PIXELS[:16, :20]) - expected).max() <= 1
    assert Upscaler(path)(PIXELS).shape == (38, 46, 3)
    assert Upscaler(path)(PIXELS[:1, :1]).shape == (2, 2, 3)


def test_tiles_of_a_network_whose_reach_was_measured(tmp_path):
    net = Net(3)
    net.conv(8)
    net.node("Relu")
    axis = net.constant(np.array([4]))
    net.node("Squeeze", net.node("Unsqueeze", net.name, axis), axis)
    net.conv(12)
    net.node("DepthToSpace", blocksize=2, mode="CRD")
    data = net.model([1, 3, "H", "W"])
    expected = runtime_result(data, PIXELS)
    for tile in (None, 8, 11):
        assert np.abs(Upscaler(saved(tmp_path, data), tile=tile)(PIXELS) - expected).max() <= 1


def test_ncnn_by_either_file(tmp_path):
    text, data, _ = srvgg(4, 6, 3, last=0.5)
    (tmp_path / "net.param").write_text(text)
    (tmp_path / "net.bin").write_bytes(data)
    expected = runtime_result(ncnn.to_onnx(tmp_path / "net.param"), PIXELS)
    for name in ("net.param", "net.bin"):
        upscaler = Upscaler(tmp_path / name)
        assert upscaler.scale == 2
        assert np.abs(upscaler(PIXELS) - expected).max() <= 1
    assert np.abs(Upscaler(tmp_path / "net.param", tile=8)(PIXELS) - expected).max() <= 1


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_realesr_animevideov3(scale):
    from test_ncnn import torch_evaluated, wheel_model

    path = wheel_model(f"realesr-animevideov3-x{scale}")
    pixels = np.ascontiguousarray(imgops.resample(PIXELS, (40, 48), data_format="NHWC"))
    expected = torch_evaluated(path, np.ascontiguousarray(pixels.transpose(2, 0, 1).astype(np.float32) / 255))
    expected = quantised(expected.transpose(1, 2, 0))
    assert np.abs(Upscaler(path)(pixels) - expected).max() <= 1
    assert np.abs(Upscaler(path, tile=16)(pixels) - expected).max() <= 1


def test_a_scale_that_the_model_has_not(tmp_path):
    path = saved(tmp_path, super_resolution(2, 3, skip="nearest"))
    assert Upscaler(path, 2).scale == 2
    with pytest.raises(ValueError, match=r"scale must be 2.*got 3"):
        Upscaler(path, 3)


@pytest.mark.parametrize("bound", [0.05, 0.5])
@pytest.mark.parametrize("channels", [1, 3])
def test_what_is_no_number_is_an_error(bound, channels, tmp_path):
    """The root of what is less than the bound: of dark pixels alone, or of the picture that models are tried on too."""
    net = Net(channels)
    net.node("Sub", "x", net.constant(np.float32(bound)))
    net.node("Sqrt")
    net.resize(2, "nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    path = saved(tmp_path, net.model([1, channels, "H", "W"]))
    if bound == 0.5:
        with pytest.raises(ValueError, match=r"must make finite numbers.*got NaN or infinity for \d+ of \d+"):
            Upscaler(path)
        return
    upscaler = Upscaler(path)
    bright = np.maximum(PIXELS, 20)
    assert upscaler(bright).shape == (38, 46, 3)
    bright[7, 5] = 0
    for dtype in (np.uint8, np.uint16, np.float32):
        with pytest.raises(ValueError, match=r"output must be finite; got NaN or infinity for \d+ of"):
            upscaler(bright.astype(dtype))


def test_tiles_of_a_residual_that_reads_less_than_its_skip(tmp_path):
    net = Net(1)
    net.conv(4, 1)
    facts = {"kind": "luma residual", "scale": "2", "halo": "0", "skip": "cubic", "rotations": "2"}
    model = net.model([1, 1, "H", "W"], metadata={f"imgops.{key}": value for key, value in facts.items()})
    path = saved(tmp_path, model)
    pixels = np.random.default_rng(5).integers(0, 256, (23, 31, 3), np.uint8)
    whole = Upscaler(path)(pixels)
    assert np.abs(Upscaler(path, tile=8)(pixels).astype(int) - whole).max() <= 1
