"""imgops.identify: outputs of other libraries, stored and live; ties, dtypes, layouts, tolerance, bad input."""

import importlib.util
import itertools
import json
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction
from pathlib import Path

import makers
import numpy as np
import pytest
from PIL import Image

import imgops
from imgops import cli
from imgops.identify import _ORDER

OUTPUTS, VERSIONS = makers.load(Path(__file__).parent / "golden" / "identify.npz")
TOLERANCES = {"tensorflow image bicubic": 0.5}


def fits(match, expected):
    return all(getattr(match, field) == value for field, value in expected.items())


def expected_fields(name, size):
    """Those of the case; in linear mode a filter that nothing widens is the plain one."""
    expected = dict(makers.CASES[name].expected)
    if size[0] > makers.SHAPE[0] and expected["mode"] == "linear":
        expected.pop("antialias", None)
        expected.pop("edge", None)
    return expected


def assert_named(name, size, output):
    x = makers.picture(makers.CASES[name].dtype)
    matches = imgops.identify(x, output, tolerance=TOLERANCES.get(name))
    best = [match for match in matches if match.place == 1]
    assert any(fits(match, expected_fields(name, size)) for match in best), matches
    for match in best:
        made = match.apply(x)
        assert made.shape == output.shape
        assert made.dtype == output.dtype
        difference = np.abs(made.astype(float) - output)
        assert match.largest_difference == pytest.approx(difference.max(), rel=1e-6)
        assert match.rms_difference == pytest.approx(np.sqrt((difference**2).mean()), rel=1e-5)
        assert match.equal == np.array_equal(made, output)


def case_ids(key):
    return f"{key[0]}-{key[1][0]}x{key[1][1]}".replace(" ", "-")


# ---------------------------------------------------------------------------------------------------------------------
# Outputs of other libraries


def test_every_case_is_stored():
    assert set(OUTPUTS) == set(itertools.product(makers.CASES, makers.SIZES))
    assert set(VERSIONS) == set(makers.LIBRARIES.values())


@pytest.mark.parametrize("key", list(OUTPUTS), ids=case_ids)
def test_stored_outputs_are_named(key):
    assert_named(*key, OUTPUTS[key])


@pytest.mark.parametrize("key", list(OUTPUTS), ids=case_ids)
def test_live_outputs_are_named(key):
    case = makers.CASES[key[0]]
    if importlib.util.find_spec(case.library) is None:
        pytest.skip(f"{case.library} is not installed")
    assert_named(*key, case.make(makers.picture(case.dtype), key[1]))


@pytest.mark.parametrize(
    ("name", "size", "wrong"),
    [
        ("torch bilinear", (29, 23), ("torch_align_corners", "tf1", "asymmetric")),
        ("torch bilinear", (7, 5), ("pillow", "torch_align_corners", "tf1")),
        ("torch bilinear antialiased", (7, 5), ("torch_align_corners", "asymmetric")),
        ("pillow nearest", (29, 23), ("torch", "opencv", "asymmetric")),
        ("opencv nearest", (29, 23), ("pillow", "opencv_nearest_exact", "torch_nearest_exact")),
        ("tensorflow bilinear legacy", (7, 5), ("tf", "half_pixel", "torch")),
        ("opencv cubic", (29, 23), ("pillow", "tf")),
        ("onnx linear antialiased", (7, 5), ("torch", "pillow", "tf")),
    ],
)
def test_others_are_not_named(name, size, wrong):
    matches = imgops.identify(makers.picture(makers.CASES[name].dtype), OUTPUTS[name, size])
    assert matches
    assert not {match.convention for match in matches} & set(wrong)


def test_float32_positions_are_told_from_exact_ones():
    x = makers.picture("f4")
    torch = imgops.identify(x, OUTPUTS["torch bilinear", (7, 5)])
    onnx = imgops.identify(x, OUTPUTS["onnx linear", (7, 5)])
    places = [{match.convention: match.place for match in matches} for matches in (torch, onnx)]
    assert places[0]["torch"] == 1 < places[0]["half_pixel"]
    assert places[1]["half_pixel"] == 1 < places[1]["torch"]


def test_rounding_between_axes_is_told():
    x, output = makers.picture("u1"), OUTPUTS["pillow bilinear of uint8", (29, 23)]
    matches = imgops.identify(x, output)
    assert matches[0].equal
    assert matches[0].pass_order == (1, 0)
    assert np.array_equal(matches[0].apply(x), output)
    at_once = [match for match in matches if match.convention == "pillow" and match.pass_order is None]
    assert at_once[0].place > 1
    assert at_once[0].largest_difference == 1


# ---------------------------------------------------------------------------------------------------------------------
# Every row finds itself


def own_options():
    """(convention, mode, rounding, antialias) of everything that the rows offer."""
    for name in imgops.conventions():
        row = imgops.get_convention(name)
        if row.offsets is None:
            continue
        for mode in row.modes:
            free = mode == "nearest" and not row.has_own_arithmetic
            for rounding in ("floor", "ceil", "half_down", "half_up") if free else (None,):
                yield name, mode, rounding, False
            if mode != "nearest":
                yield name, mode, None, True


@pytest.mark.parametrize("options", list(own_options()), ids=lambda options: "-".join(map(str, options)))
def test_what_a_row_makes_is_equal(options):
    convention, mode, rounding, antialias = options
    call = {"convention": convention, "mode": mode, "rounding": rounding, "antialias": antialias}
    x = np.random.default_rng(5).random((11, 8), dtype=np.float32)
    y = imgops.resample(x, (5, 19), **call)
    best = imgops.identify(x, y)[0]
    assert best.equal
    assert np.array_equal(best.apply(x), y)
    assert np.array_equal(imgops.resample(x, **best.options()), y)


def test_every_convention_has_a_rank():
    assert set(_ORDER) == set(imgops.conventions()) - {"tf_crop_and_resize"}


# ---------------------------------------------------------------------------------------------------------------------
# Ties


def test_ties_are_all_listed_in_order():
    x = np.random.default_rng(0).random((6, 10))
    matches = imgops.identify(x, imgops.resample(x, scale=2))
    assert {match.place for match in matches} == {1}
    assert all(match.equal for match in matches)
    names = [match.convention for match in matches]
    assert names == sorted(names, key=_ORDER.index)
    assert names[:5] == ["torch", "opencv", "pillow", "tf", "half_pixel"]
    assert {"skimage", "directml", "pytorch_half_pixel", "half_pixel_symmetric"} <= set(names)


def test_places_leave_room_for_ties():
    x = makers.picture("f4")
    matches = imgops.identify(x, OUTPUTS["torch bilinear", (7, 5)], tolerance=np.inf)
    for place, match in enumerate(matches, 1):
        assert match.place == place or match.place == matches[place - 2].place
    assert len(matches) > 50
    leaders = [match.rms_difference for place, match in enumerate(matches, 1) if match.place == place]
    assert leaders == sorted(leaders)


def test_a_flat_picture_fits_everything_and_says_so():
    matches = imgops.identify(np.full((5, 7), 3.0), np.full((9, 4), 3.0))
    assert {match.place for match in matches if match.mode == "nearest"} == {1}
    assert {match.convention for match in matches} == set(_ORDER)


def test_antialias_and_roundings_are_listed_where_they_differ():
    x = np.random.default_rng(1).random((4, 4))
    assert not any(match.antialias for match in imgops.identify(x, imgops.resample(x, (8, 8))))
    halved = imgops.identify(x, imgops.resample(x, (2, 2), mode="nearest"))
    assert {match.rounding for match in halved if match.convention == "half_pixel"} == {"half_down", "floor"}


# ---------------------------------------------------------------------------------------------------------------------
# Dtypes


@pytest.mark.parametrize(
    "dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8", ">f4", "c8", "c16", "?"]
)
def test_nearest_of_every_dtype(dtype):
    x = np.random.default_rng(2).integers(0, 100, (13, 17)).astype(dtype)
    if dtype == "?":
        x = np.random.default_rng(2).random((13, 17)) < 0.5
    best = imgops.identify(x, imgops.resample(x, (29, 23), mode="nearest", convention="asymmetric", rounding="ceil"))[0]
    assert (best.convention, best.mode, best.rounding, best.equal) == ("asymmetric", "nearest", "ceil", True)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4", "f8", ">f4", "c8", "c16"])
def test_linear_of_every_dtype(dtype):
    x = (np.random.default_rng(3).random((13, 17)) * 100).astype(dtype)
    best = imgops.identify(x, imgops.resample(x, (29, 23), convention="align_corners"))
    assert best[0].equal
    assert "align_corners" in {match.convention for match in best if match.place == 1}


def test_integers_of_64_bits_are_told_apart():
    x = np.array([2**60, 2**60 + 1, 2**60 + 2, 2**60 + 3])
    matches = [match for match in imgops.identify(x, x[1::2], tolerance=0) if match.mode == "nearest"]
    for match in matches:
        assert match.equal == np.array_equal(match.apply(x), x[1::2])
    assert {match.equal for match in matches} == {True, False}


@pytest.mark.parametrize(
    "pair", [("u1", "f4"), ("u1", "f8"), ("f4", "f8"), ("f8", "f4"), ("u2", "i4"), ("f4", "u1"), ("i8", "f8")]
)
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_different_dtypes(pair, mode):
    x = np.random.default_rng(4).integers(0, 200, (13, 17)).astype(pair[0])
    y = imgops.resample(x, (29, 23), mode=mode, convention="tf1", dtype=np.float64)
    y = (np.rint(y) if pair[1][0] in "ui" else y).astype(pair[1])
    best = [match for match in imgops.identify(x, y) if match.place == 1]
    assert any((match.convention, match.mode) == ("tf1", mode) for match in best)
    made = best[0].apply(x)
    assert made.dtype == y.dtype
    assert np.abs(made.astype(float) - y).max() == pytest.approx(best[0].largest_difference, rel=1e-6)
    assert imgops.resample(x, **best[0].options()).shape == y.shape


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    x = np.random.default_rng(6).random((13, 17)).astype(ml_dtypes.bfloat16)
    best = imgops.identify(x, imgops.resample(x, (29, 23), convention="tf1"))[0]
    assert (best.mode, best.equal) == ("linear", True)


def test_nan_and_infinity_are_values():
    x = np.random.default_rng(7).random((9, 7))
    x[2, 3], x[5, 5], x[7, 1] = np.nan, np.inf, -np.inf
    y = imgops.resample(x, (4, 13), mode="nearest", convention="asymmetric", rounding="floor")
    assert np.isnan(y).any()
    matches = imgops.identify(x, y)
    assert matches[0].equal
    assert (matches[0].convention, matches[0].mode) == ("torch", "nearest")
    spoilt = y.copy()
    spoilt[0, 0] = np.nan
    assert imgops.identify(x, spoilt) == []
    assert not any(match.equal for match in imgops.identify(x, spoilt, tolerance=np.inf))


# ---------------------------------------------------------------------------------------------------------------------
# Layouts, scale, tolerance


@pytest.mark.parametrize(
    ("shape", "options", "axes"),
    [
        ((13, 17, 3), {}, (0, 1)),
        ((2, 13, 17, 3), {}, (1, 2)),
        ((2, 3, 13, 17), {"data_format": "NCHW"}, (2, 3)),
        ((2, 1, 13, 17, 4), {"data_format": "NCHW_VECT_C"}, (2, 3)),
        ((13, 17), {}, (0, 1)),
        ((17,), {}, (0,)),
        ((3, 13, 2, 17), {"axes": (-1, 1)}, (3, 1)),
        ((5, 6, 7), {"axes": (0, 1, 2)}, (0, 1, 2)),
        ((13, 2), {"axes": 0}, (0,)),
    ],
)
def test_layouts(shape, options, axes):
    x = np.random.default_rng(8).random(shape, dtype=np.float32)
    size = tuple(shape[axis] * 2 - 5 for axis in axes)
    y = imgops.resample(x, size, axes=axes, convention="tf1")
    best = imgops.identify(x, y, **options)[0]
    assert (best.convention, best.equal, best.axes, best.size) == ("tf1", True, axes, size)


def test_strided_and_listed_inputs():
    x = np.random.default_rng(9).random((20, 30))[::-2, ::3]
    y = np.asfortranarray(imgops.resample(x, (7, 23), convention="tf1"))
    best = imgops.identify(x.tolist(), y)[0]
    assert (best.convention, best.equal) == ("tf1", True)


def test_the_arrays_are_left_alone():
    x, y = np.random.default_rng(10).random((6, 5)), np.random.default_rng(11).random((9, 9))
    copies = x.copy(), y.copy()
    x.flags.writeable = y.flags.writeable = False
    assert imgops.identify(x, y) == []
    assert np.array_equal(x, copies[0])
    assert np.array_equal(y, copies[1])


def test_a_given_scale_is_told_from_the_lengths():
    x = np.random.default_rng(12).random((13, 17))
    by_scale = imgops.resample(x, scale=1.5)
    assert imgops.identify(x, by_scale) == []
    best = imgops.identify(x, by_scale, scale=1.5)
    assert best[0].equal
    assert best[0].scale == (1.5, 1.5)
    assert np.array_equal(imgops.resample(x, **best[0].options()), by_scale)
    by_size = imgops.identify(x, imgops.resample(x, by_scale.shape), scale=(1.5, 1.5))
    assert by_size[0].equal
    assert {match.scale for match in by_size} == {None}


def test_a_scale_in_two_steps():
    x = np.random.default_rng(12).integers(0, 256, (13, 17), np.uint8)
    y = imgops.resample(imgops.resample(x, scale=1.5, axes=1), scale=1.25, axes=0)
    best = imgops.identify(x, y, scale=(1.25, 1.5))[0]
    assert (best.equal, best.pass_order, best.scale) == (True, (1, 0), (1.25, 1.5))
    assert np.array_equal(best.apply(x), y)


def test_tolerance():
    x = np.random.default_rng(13).random((13, 17))
    y = imgops.resample(x, (29, 23), convention="tf1") + 1e-3
    assert imgops.identify(x, y) == []
    best = imgops.identify(x, y, tolerance=2e-3)[0]
    assert best.convention in ("tf1", "asymmetric")
    assert best.largest_difference == pytest.approx(1e-3)
    assert not best.equal
    exact = imgops.identify(x, y - 1e-3 + 1e-7)
    assert exact
    assert all(match.largest_difference <= 4e-6 for match in exact)
    assert imgops.identify(x, y - 1e-3 + 1e-7, tolerance=0) == []


def test_integers_match_within_1():
    x = np.random.default_rng(14).integers(0, 256, (13, 17), np.uint8)
    y = imgops.resample(x, (29, 23), convention="align_corners")
    y[3, 3] ^= 1
    best = imgops.identify(x, y)[0]
    assert (best.equal, best.largest_difference) == (False, 1)
    y[3, 3] ^= 2
    assert imgops.identify(x, y) == []


def test_a_difference_in_one_far_sample_is_seen():
    x = np.random.default_rng(15).random((300, 200), dtype=np.float32)
    y = imgops.resample(x, (311, 417))
    y[100, 300] += 1
    assert imgops.identify(x, y) == []


# ---------------------------------------------------------------------------------------------------------------------
# The record


def test_the_record():
    x = np.random.default_rng(16).random((13, 17))
    match = imgops.identify(x, imgops.resample(x, (29, 23), convention="tf1"))[0]
    assert str(match) == "1. tf1 linear: equal"
    assert repr(match) == "<Match 1. tf1 linear: equal>"
    assert pickle.loads(pickle.dumps(match)) == match
    with pytest.raises(FrozenInstanceError):
        match.place = 2
    options = match.options() | {"size": (5, 5)}
    assert imgops.resample(np.ones((9, 9)), **options).shape == (5, 5)


def test_what_is_unusual_is_in_its_words():
    x = makers.picture("f4")
    match = next(
        m for m in imgops.identify(x, OUTPUTS["onnx linear antialiased", (7, 5)]) if m.convention == "half_pixel"
    )
    assert match.describe() == "half_pixel linear, antialias, edge repeat"
    assert "largest difference" in str(match)


def test_facts_are_json():
    x = np.random.default_rng(12).integers(0, 256, (13, 17), np.uint8)
    y = imgops.resample(x, scale=1.5, dtype=np.float32)
    best = imgops.identify(x, y, scale=Fraction(3, 2))[0]
    facts = json.loads(json.dumps(best.facts()))
    assert facts["scale"] == [1.5, 1.5]
    assert facts["size"] == [19, 25]
    assert facts["dtype"] == facts["output_dtype"] == "float32"


# ---------------------------------------------------------------------------------------------------------------------
# The command


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """`imgops identify` in this process and an empty folder: (exit code, lines of stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        try:
            code = cli.main(["identify", *map(str, arguments)])
        except SystemExit as stop:
            code = stop.code
        output = capsys.readouterr()
        return code, output.out.splitlines(), output.err

    return call


def test_command_on_pictures(call):
    image = Image.fromarray(np.random.default_rng(1).integers(0, 256, (13, 17, 3), np.uint8))
    image.save("a.png")
    image.resize((23, 29), Image.Resampling.BILINEAR).save("b.png")
    code, lines, error = call("a.png", "b.png")
    assert (code, error) == (0, "")
    assert "1. pillow linear, rounded after axis 1: equal" in lines
    code, lines, _ = call("a.png", "b.png", "--json")
    assert code == 0
    assert json.loads("\n".join(lines))[0]["equal"] is True


def test_command_on_arrays(call):
    x = np.random.default_rng(1).random((3, 13, 17))
    np.save("a.npy", x)
    np.save("b.npy", imgops.resample(x, scale=1.7, data_format="NCHW", convention="asymmetric"))
    code, lines, _ = call("a.npy", "b.npy", "--data-format", "NCHW", "--scale", "1.7")
    assert code == 0
    assert lines[0] == "1. asymmetric linear, scale 17/10 x 17/10: equal"
    assert call("a.npy", "b.npy", "--axes", "1,2", "--scale", "170%")[:2] == (0, lines)


def test_command_without_a_match(call):
    x = np.random.default_rng(1).random((13, 17))
    np.save("a.npy", x)
    np.save("b.npy", imgops.resample(x, (7, 5), convention="tf1") + 0.25)
    code, lines, error = call("a.npy", "b.npy")
    assert (code, lines) == (1, [])
    assert error.startswith("imgops: b.npy: no convention makes it; the closest is ")
    assert error.count("\n") == 1
    code, lines, _ = call("a.npy", "b.npy", "--json")
    assert (code, lines) == (1, ["[]"])
    assert call("a.npy", "b.npy", "--tolerance", "1")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("a.npy", "none.npy"), 1, "none.npy: cannot be read"),
        (("a.npy", "text.png"), 1, "text.png: is not a picture"),
        (("a.npy", "text.npy"), 1, "text.npy: is no .npy file"),
        (("a.npy", "c.npy"), 1, "c.npy: x and y must have the same lengths"),
        (("a.npy", "b.npy", "--axes", "0,x"), 2, "axis numbers"),
        (("a.npy", "b.npy", "--axes", "7"), 1, "axes must be between"),
        (("a.npy", "b.npy", "--tolerance", "-1"), 2, "0 or more"),
        (("a.npy", "b.npy", "--tolerance", "nan"), 2, "0 or more"),
        (("a.npy", "b.npy", "--scale", "0"), 2, "positive"),
        (("a.npy",), 2, "required"),
    ],
)
def test_command_on_bad_input(call, arguments, code, words):
    np.save("a.npy", np.zeros((4, 5, 3)))
    np.save("b.npy", np.zeros((8, 9, 3)))
    np.save("c.npy", np.zeros((8, 9, 4)))
    Path("text.png").write_text("words")
    Path("text.npy").write_text("words")
    result = call(*arguments)
    assert result[0] == code
    assert words in result[2]
    assert "Traceback" not in result[2]


# ---------------------------------------------------------------------------------------------------------------------
# Bad input

A = np.zeros((4, 5))


@pytest.mark.parametrize(
    ("x", "y", "options", "kind", "words"),
    [
        (A, np.zeros((4, 5, 1)), {}, ValueError, "same number of axes"),
        (np.zeros((4, 5, 3)), np.zeros((8, 9, 4)), {}, ValueError, "H=4, W=5, C=3"),
        (np.zeros((3, 4, 5)), np.zeros((3, 8, 9)), {}, ValueError, "data_format"),
        (A, np.zeros((8, 0)), {}, ValueError, "y must not be empty"),
        (np.zeros((0, 5)), A, {}, ValueError, "x must not be empty"),
        (np.zeros(()), np.zeros(()), {}, ValueError, "axes"),
        (A, A, {"tolerance": -1}, ValueError, "0 or more"),
        (A, A, {"tolerance": float("nan")}, ValueError, "0 or more"),
        (A, A, {"tolerance": "1"}, TypeError, "real number"),
        (A, A, {"axes": 2}, np.exceptions.AxisError, "axes"),
        (A, A, {"axes": ()}, ValueError, "at least one axis"),
        (A, A, {"data_format": "HWC"}, ValueError, "'NHWC'"),
        (A, A, {"scale": 0}, ValueError, "positive"),
        (A, A, {"scale": (2, 2, 2)}, ValueError, "one entry per resampled axis"),
        (A.astype("c8"), A, {}, TypeError, "must both be real or both complex"),
        (A.astype("U3"), A, {}, TypeError, "numbers or bool"),
        (A, A.astype("M8[s]"), {}, TypeError, "y must hold numbers"),
        (A, np.array([None]), {}, TypeError, "fixed-size dtype"),
    ],
)
def test_bad_input(x, y, options, kind, words):
    with pytest.raises(kind, match="identify: ") as caught:
        imgops.identify(x, y, **options)
    assert words in str(caught.value)
