"""imgops against stored answers of other libraries (tools/make_golden.py made them; none of them is needed here)."""

import itertools
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import imgops
import imgops.reference
from imgops.interfaces import tensorflow, torch

FOLDER = Path(__file__).parent / "golden"
ONNX_ROUNDINGS = {"round_prefer_floor": "half_down", "round_prefer_ceil": "half_up", "floor": "floor", "ceil": "ceil"}
TOLERANCES = {np.dtype(np.float32): 2e-6, np.dtype(np.float64): 1e-13}


def load(name):
    """The cases of one file as (record, arrays) and the versions it was made with."""
    with np.load(FOLDER / name) as stored:
        meta = json.loads(str(stored["meta"]))
        arrays = {key: stored[key] for key in stored.files if key != "meta"}
    cases = []
    for index, record in enumerate(meta["cases"]):
        own = {key.split(".")[1]: value for key, value in arrays.items() if key.startswith(f"{index}.")}
        cases.append((record, own))
    return cases, meta["versions"]


def label(case):
    record, arrays = case
    if record["op"] == "indices":
        return record["convention"]
    words = [str(value) for key, value in record.items() if key != "name"]
    return "-".join([*words, str(arrays["x"].dtype), "x".join(map(str, arrays["x"].shape))]).replace(" ", "")


TORCH, TORCH_VERSIONS = load("torch.npz")
ONNX, ONNX_VERSIONS = load("onnx.npz")
OPENCV, OPENCV_VERSIONS = load("opencv.npz")
PILLOW, PILLOW_VERSIONS = load("pillow.npz")
TENSORFLOW, TENSORFLOW_VERSIONS = load("tensorflow.npz")


def of(cases, *operators):
    return [case for case in cases if case[0]["op"] in operators]


def assert_within(actual, expected, relative):
    """Equal shapes and dtypes, and values within `relative` of the largest; bytes within 1."""
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    tolerance = relative * np.abs(expected.astype(np.float64)).max(initial=1e-30)
    if relative and expected.dtype == np.uint8:
        tolerance = 1
    np.testing.assert_allclose(actual.astype(np.float64), expected.astype(np.float64), rtol=0, atol=tolerance)


def assert_close(actual, expected):
    """Equal shapes and dtypes; floats within a few units in the last place of the largest value."""
    assert_within(actual, expected, TOLERANCES.get(expected.dtype, 0))


def test_versions_are_recorded():
    assert TORCH_VERSIONS["torch"].startswith("2.13")
    assert ONNX_VERSIONS["onnx"].startswith("1.23")
    assert OPENCV_VERSIONS["opencv"].startswith("5.0")
    assert PILLOW_VERSIONS["pillow"].startswith("13.0")
    assert TENSORFLOW_VERSIONS["tensorflow"].startswith("2.21")


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in FOLDER.glob("*.npz")) < 500_000


EXACT_RULES = {
    "floor(o n / m)": lambda o, n, m: Fraction(o * n, m),
    "floor((o + 1/2) n / m)": lambda o, n, m: Fraction((2 * o + 1) * n, 2 * m),
    "floor(o (n - 1) / (m - 1) + 1/2)": lambda o, n, m: Fraction(o * (n - 1), max(m - 1, 1)) + Fraction(1, 2),
}


@pytest.mark.parametrize("case", of([*TORCH, *OPENCV, *PILLOW, *TENSORFLOW], "indices"), ids=label)
def test_nearest_indices_of_every_pair_of_lengths(case):
    record, arrays = case
    rule = EXACT_RULES[record["rule"]]
    distances = iter(arrays["y"].tolist())
    apart = 0
    for n, m in itertools.product(range(1, 65), repeat=2):
        exact = [rule(o, n, m).__floor__() for o in range(m)]
        expected = [index + next(distances) for index in exact]
        result = imgops.resample(np.arange(n), m, mode="nearest", convention=record["convention"]).tolist()
        assert result == expected, (n, m)
        apart += expected != exact
    assert next(distances, None) is None
    # Arithmetic of the owner's own, not the exact rule under another name.
    assert apart > 0


@pytest.mark.parametrize("case", of(TORCH, "pixel_shuffle", "pixel_unshuffle"), ids=label)
@pytest.mark.parametrize("module", [imgops, imgops.reference], ids=["kernels", "reference"])
def test_torch_pixel_shuffle(case, module):
    record, arrays = case
    np.testing.assert_array_equal(getattr(module, record["op"])(arrays["x"], record["factor"]), arrays["y"])


@pytest.mark.parametrize("case", of(TORCH, "interpolate"), ids=label)
def test_torch_interface(case):
    record, arrays = case
    options = {name: value for name, value in record.items() if name != "op"}
    narrow = arrays["x"].dtype == np.float32
    if record["mode"].startswith("nearest"):
        forward = 0
    elif narrow:
        forward = 1e-5 if record.get("antialias") or record["mode"] == "bicubic" else 2e-6
    else:
        forward = 1e-13
    assert_within(torch.interpolate(arrays["x"], **options), arrays["y"], forward)
    if "dx" in arrays:
        gradient = torch.interpolate_grad(arrays["g"], arrays["x"].shape, **options)
        assert_within(gradient, arrays["dx"], 1e-5 if narrow else 1e-13)


def torch_options(record):
    """imgops' options for one call of torch.nn.functional.interpolate on the last two of four axes."""
    options = {"data_format": "NCHW", "mode": "linear" if record["mode"] == "bilinear" else "nearest"}
    if record["mode"] == "nearest":
        options.update(convention="asymmetric", rounding="floor")
    elif record["mode"] == "nearest-exact":
        options.update(convention="half_pixel", rounding="half_up")
    else:
        options["convention"] = "align_corners" if record.get("align_corners") else "half_pixel"
    options["antialias"] = record.get("antialias", False)
    if "scale_factor" in record:
        options["scale"] = tuple(record["scale_factor"])
    return options


def is_exact(case):
    """Modes and dtypes in which torch agrees with the exact conventions."""
    record, arrays = case
    plain = record["mode"] in ("nearest", "nearest-exact", "bilinear") and not (
        record.get("antialias") and record.get("align_corners")
    )
    return plain and arrays["x"].ndim == 4 and arrays["x"].dtype != np.uint8


@pytest.mark.parametrize("case", [*filter(is_exact, of(TORCH, "interpolate"))], ids=label)
@pytest.mark.parametrize("module", [imgops, imgops.reference], ids=["kernels", "reference"])
def test_torch_interpolate_and_its_gradient(case, module):
    record, arrays = case
    options = torch_options(record)
    assert_close(module.resample(arrays["x"], record.get("size"), **options), arrays["y"])
    gradient = module.resample_grad(arrays["g"], arrays["x"].shape[2:], **options)
    assert_close(gradient, arrays["dx"])


@pytest.mark.parametrize("case", [c for c in ONNX if c[0]["op"] in ("DepthToSpace", "SpaceToDepth")], ids=label)
@pytest.mark.parametrize("module", [imgops, imgops.reference], ids=["kernels", "reference"])
def test_onnx_depth_and_space(case, module):
    record, arrays = case
    function = module.depth_to_space if record["op"] == "DepthToSpace" else module.space_to_depth
    moved = function(arrays["x"], record["blocksize"], data_format="NCHW", mode=record.get("mode", "DCR"))
    np.testing.assert_array_equal(moved, arrays["y"])


def fractional_align_corners(length, scale):
    """onnx's align_corners for a given scale: it uses the length before it is rounded down."""
    exact = Fraction(str(np.float32(scale))) * length
    return imgops.AxisMap((exact - 1) / (length - 1) if length > 1 else 1, 0, 0)


def resize_options(record, arrays):
    """(size, options) of imgops for one Resize or Upsample node."""
    x, y = arrays["x"], arrays["y"]
    axes = record.get("axes", list(range(x.ndim)))
    convention = record.get("coordinate_transformation_mode", "half_pixel")
    options = {"axes": axes, "mode": record.get("mode", "nearest"), "convention": convention}
    if record["op"] == "Upsample":
        options["convention"] = "asymmetric"
    if options["mode"] == "nearest":
        options["rounding"] = ONNX_ROUNDINGS[record.get("nearest_mode", "round_prefer_floor")]
        if record["op"] == "Upsample":
            options["rounding"] = "floor"
    sizes = [y.shape[axis] for axis in axes]
    if "scales" in record:
        if convention == "align_corners":
            maps = [fractional_align_corners(x.shape[a], s) for a, s in zip(axes, record["scales"], strict=True)]
            options["convention"] = maps
            return sizes, options
        options["scale"] = [np.float32(scale) for scale in record["scales"]]
        return None, options
    if "keep_aspect_ratio_policy" in record:
        # One scale for all axes; its length is then rounded, so both are given.
        ratios = [Fraction(size, x.shape[axis]) for size, axis in zip(record["sizes"], axes, strict=True)]
        pick = min if record["keep_aspect_ratio_policy"] == "not_larger" else max
        options["scale"] = [pick(ratios)] * len(axes)
    return sizes, options


def is_plain_resize(record):
    """The oracle's antialias folds outside taps on the edge and tf_crop_and_resize needs a roi: not these operators."""
    crop = record.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    return record["op"] in ("Resize", "Upsample") and not crop and not record.get("antialias")


@pytest.mark.parametrize("case", [c for c in ONNX if is_plain_resize(c[0])], ids=label)
@pytest.mark.parametrize("module", [imgops, imgops.reference], ids=["kernels", "reference"])
def test_onnx_resize(case, module):
    record, arrays = case
    size, options = resize_options(record, arrays)
    assert_close(module.resample(arrays["x"], size, **options), arrays["y"])


@pytest.mark.parametrize("case", of(OPENCV, "resize"), ids=label)
@pytest.mark.parametrize("module", [imgops, imgops.reference], ids=["kernels", "reference"])
def test_opencv(case, module):
    record, arrays = case
    mode = {"INTER_LINEAR": "linear", "INTER_CUBIC": "cubic"}[record["interpolation"]]
    result = module.resample(arrays["x"], arrays["y"].shape[:2], mode=mode, convention="opencv")
    # OpenCV's weights of bytes have 11 bits.
    assert_within(result, arrays["y"], 2e-6)


@pytest.mark.parametrize("case", of(PILLOW, "resize"), ids=label)
@pytest.mark.parametrize("module", [imgops, imgops.reference], ids=["kernels", "reference"])
def test_pillow(case, module):
    record, arrays = case
    mode = {"BILINEAR": "linear", "BICUBIC": "cubic", "LANCZOS": "lanczos3"}[record["resample"]]
    result = module.resample(arrays["x"], arrays["y"].shape, mode=mode, convention="pillow")
    # Pillow rounds bytes between its two passes.
    assert_within(result, arrays["y"], 1e-6)


@pytest.mark.parametrize("case", of(TENSORFLOW, "resize_bilinear", "resize_nearest_neighbor"), ids=label)
def test_tensorflow_operators(case):
    record, arrays = case
    flags = {name: value for name, value in record.items() if name != "op"}
    size_in, size_out = arrays["x"].shape[1:3], arrays["y"].shape[1:3]
    if record["op"] == "resize_bilinear":
        assert_within(tensorflow.resize_bilinear(arrays["x"], size_out, **flags), arrays["y"], 2e-6)
        gradient = tensorflow.resize_bilinear_grad(arrays["g"], arrays["x"], **flags)
    else:
        result = tensorflow.resize_nearest_neighbor(arrays["x"], size_out, **flags)
        np.testing.assert_array_equal(result, arrays["y"])
        gradient = tensorflow.resize_nearest_neighbor_grad(arrays["g"], size_in, **flags)
    assert_within(gradient, arrays["dx"], 1e-5)


@pytest.mark.parametrize("case", of(TENSORFLOW, "image_resize"), ids=label)
def test_tensorflow_image_resize(case):
    record, arrays = case
    call = {"method": record["method"], "antialias": record["antialias"]}
    # Bicubic weights are from a table of 1024 positions in TensorFlow.
    relative = 2e-3 if record["method"] == "bicubic" else 1e-5
    assert_within(tensorflow.image_resize(arrays["x"], arrays["y"].shape[1:3], **call), arrays["y"], relative)


@pytest.mark.parametrize("case", of(TENSORFLOW, "scale_and_translate"), ids=label)
@pytest.mark.parametrize("module", [imgops, imgops.reference], ids=["kernels", "reference"])
def test_tensorflow_filters_and_their_gradients(case, module):
    record, arrays = case
    mode = {"triangle": "linear", "keyscubic": "cubic", "lanczos3": "lanczos3"}[record["kernel_type"]]
    options = {"axes": (1, 2), "mode": mode, "convention": "tf", "antialias": record["antialias"]}
    assert_within(module.resample(arrays["x"], arrays["y"].shape[1:3], **options), arrays["y"], 1e-5)
    gradient = module.resample_grad(arrays["g"], arrays["x"].shape[1:3], **options)
    assert_within(gradient, arrays["dx"], 1e-5)
