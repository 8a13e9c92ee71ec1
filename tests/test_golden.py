"""imgops against stored answers of torch and onnx (tools/make_golden.py made them; neither package is needed here)."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import imgops
import imgops.reference

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
    words = [str(value) for key, value in record.items() if key != "name"]
    return "-".join([*words, str(arrays["x"].dtype), "x".join(map(str, arrays["x"].shape))]).replace(" ", "")


TORCH, TORCH_VERSIONS = load("torch.npz")
ONNX, ONNX_VERSIONS = load("onnx.npz")


def assert_close(actual, expected):
    """Equal shapes and dtypes; floats within a few units in the last place of the largest value."""
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    tolerance = TOLERANCES.get(expected.dtype, 0)
    scale = np.abs(expected.astype(np.float64)).max(initial=0)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)


def test_versions_are_recorded():
    assert TORCH_VERSIONS["torch"].startswith("2.13")
    assert ONNX_VERSIONS["onnx"].startswith("1.23")


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in FOLDER.glob("*.npz")) < 300_000


@pytest.mark.parametrize("case", [c for c in TORCH if c[0]["op"] != "interpolate"], ids=label)
@pytest.mark.parametrize("module", [imgops, imgops.reference], ids=["kernels", "reference"])
def test_torch_pixel_shuffle(case, module):
    record, arrays = case
    np.testing.assert_array_equal(getattr(module, record["op"])(arrays["x"], record["factor"]), arrays["y"])


def torch_options(record):
    """imgops' options for one call of torch.nn.functional.interpolate on the last two of four axes."""
    options = {"data_format": "NCHW", "mode": "linear" if record["mode"] == "bilinear" else "nearest"}
    if record["mode"] == "nearest":
        options.update(convention="asymmetric", rounding="floor")
    elif record["mode"] == "nearest-exact":
        options.update(convention="half_pixel", rounding="half_up")
    else:
        options["convention"] = "align_corners" if record["align_corners"] else "half_pixel"
    options["antialias"] = record.get("antialias", False)
    if "scale_factor" in record:
        options["scale"] = tuple(record["scale_factor"])
    return options


@pytest.mark.parametrize("case", [c for c in TORCH if c[0]["op"] == "interpolate"], ids=label)
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
