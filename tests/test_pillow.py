"""Pillow images through the resampler, against Pillow's own, NumPy formulations and pixel repetition."""

import os
import struct
from fractions import Fraction
from pathlib import Path

import numpy as np
import profiles
import pytest
from PIL import Image, ImageCms

from imgops import AxisMap, curves, files, resample
from imgops.pillow import resize, resize_colour16, to_array, to_image, upscale

MODES = ["1", "L", "LA", "La", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"]
MODES += ["I;16", "I;16L", "I;16B", "I;16N", "I", "F", "P", "PA"]
KEEP = [mode for mode in MODES if mode not in ("1", "P", "PA")]
SIZES = [(14, 22), (17, 29), (5, 3), (7, 5), (1, 1), (13, 3), (3, 40)]
IDS = [f"{width}x{height}" for width, height in SIZES]


def random_image(mode, size=(7, 11), seed=3):
    """Every byte random, in every mode."""
    random = np.random.default_rng(seed)
    width, height = size
    if mode == "1":
        return Image.fromarray(random.integers(0, 2, (height, width)).astype(bool))
    if mode == "F":
        return Image.fromarray(random.normal(100, 50, (height, width)).astype(np.float32))
    if mode == "I":
        return Image.fromarray(random.integers(-(2**31), 2**31, (height, width)).astype(np.int32))
    count = len(Image.new(mode, size).tobytes())
    image = Image.frombytes(mode, size, random.integers(0, 256, count, np.uint8).tobytes())
    if mode in ("P", "PA"):
        image.putpalette(random.integers(0, 256, 768, np.uint8).tobytes())
    return image


def repeated(image, factor):
    """Pixel repetition of the raw values."""
    return np.repeat(np.repeat(np.asarray(image), factor, 0), factor, 1)


# ---------------------------------------------------------------------------------------------------------------------
# Arrays


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode not in ("P", "PA")])
def test_arrays_hold_what_pillow_holds(mode):
    image = random_image(mode)
    array = to_array(image)
    assert array.flags.writeable
    assert array.dtype.isnative
    np.testing.assert_array_equal(array, np.asarray(image))
    back = to_image(array, mode)
    assert (back.mode, back.size, back.tobytes()) == (mode, image.size, image.tobytes())


def test_palette_arrays_hold_colours():
    image = Image.frombytes("P", (3, 1), bytes([0, 1, 2]))
    image.putpalette([10, 20, 30, 40, 50, 60, 70, 80, 90])
    assert to_array(image).tolist() == [[[10, 20, 30], [40, 50, 60], [70, 80, 90]]]
    image.info["transparency"] = 1
    assert to_array(image)[0, :, 3].tolist() == [255, 0, 255]
    image.info["transparency"] = bytes([7, 8])
    assert to_array(image)[0, :, 3].tolist() == [7, 8, 255]
    image = Image.frombytes("P", (2, 1), bytes([0, 1]))
    image.putpalette([1, 2, 3, 4, 5, 6, 7, 8], "RGBA")
    assert to_array(image).tolist() == [[[1, 2, 3, 4], [5, 6, 7, 8]]]


@pytest.mark.parametrize(
    ("shape", "dtype", "mode"),
    [
        ((2, 3), bool, "1"),
        ((2, 3), np.uint8, "L"),
        ((2, 3, 1), np.uint8, "L"),
        ((2, 3, 2), np.uint8, "LA"),
        ((2, 3, 3), np.uint8, "RGB"),
        ((2, 3, 4), np.uint8, "RGBA"),
        ((2, 3), np.uint16, "I;16"),
        ((2, 3), ">u2", "I;16"),
        ((2, 3), np.int32, "I"),
        ((2, 3), np.float32, "F"),
        ((2, 3), np.float64, "F"),
    ],
)
def test_mode_of_an_array(shape, dtype, mode):
    array = (np.arange(np.prod(shape)) % 2).reshape(shape).astype(dtype)[::-1]
    image = to_image(array)
    assert (image.mode, image.size) == (mode, (3, 2))
    np.testing.assert_array_equal(to_array(image), array[..., 0] if shape[2:] == (1,) else array)


@pytest.mark.parametrize(
    ("array", "mode", "error", "match"),
    [
        (np.zeros((2, 3), np.int64), None, TypeError, "int64; convert it"),
        (np.zeros((2, 3, 3), np.float32), None, ValueError, r"got float32 of shape \(2, 3, 3\)"),
        (np.zeros((2, 3, 5), np.uint8), None, ValueError, r"1 to 4 channels; got uint8 of shape \(2, 3, 5\)"),
        (np.zeros(3, np.uint8), None, ValueError, "height first"),
        (np.zeros((1, 2, 3, 3), np.uint8), None, ValueError, "one picture at a time"),
        (np.zeros((2, 3), np.uint8), "RGB", ValueError, "mode must be 'L'"),
        (np.zeros((2, 3, 3), np.uint8), "YCbcr", ValueError, "did you mean 'YCbCr'"),
        (np.array([[None]]), None, TypeError, "fixed-size"),
    ],
)
def test_arrays_that_are_no_image(array, mode, error, match):
    with pytest.raises(error, match=match):
        to_image(array, mode)


def test_only_images_are_images():
    for call in (to_array, lambda x: resize(x, (2, 2)), lambda x: upscale(x, 2)):
        with pytest.raises(TypeError, match=r"PIL\.Image\.Image; got ndarray"):
            call(np.zeros((2, 2), np.uint8))


# ---------------------------------------------------------------------------------------------------------------------
# Nearest


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "PA"])
@pytest.mark.parametrize("factor", [2, 3])
def test_nearest_repeats_pixels_untouched(mode, factor):
    image = random_image(mode)
    result = upscale(image, factor, method="nearest")
    assert result.mode == mode
    assert result.size == (7 * factor, 11 * factor)
    np.testing.assert_array_equal(np.asarray(result), repeated(image, factor))


def test_nearest_keeps_palette_and_transparency():
    image = random_image("P")
    for transparency in (3, bytes(range(256))):
        image.info["transparency"] = transparency
        result = upscale(image, 2, method="nearest")
        assert result.getpalette() == image.getpalette()
        assert result.info == image.info
        np.testing.assert_array_equal(to_array(result), np.kron(to_array(image), np.ones((2, 2, 1), np.uint8)))
    image = Image.frombytes("P", (2, 1), bytes([0, 1]))
    image.putpalette([1, 2, 3, 4, 5, 6, 7, 8], "RGBA")
    assert to_array(upscale(image, 2, method="nearest"))[0, 3].tolist() == [5, 6, 7, 8]


def test_nearest_of_palette_with_alpha_becomes_rgba():
    image = random_image("PA")
    result = upscale(image, 2, method="nearest")
    assert result.mode == "RGBA"
    np.testing.assert_array_equal(np.asarray(result), repeated(image.convert("RGBA"), 2))


@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_nearest_is_the_arrays_nearest(size):
    image = random_image("RGB")
    np.testing.assert_array_equal(
        to_array(resize(image, size, mode="nearest")), resample(to_array(image), size[::-1], mode="nearest")
    )


def test_every_readable_file_of_pngsuite_repeats():
    corpus = os.environ.get("IMGOPS_CORPUS")
    if not corpus:
        pytest.skip("IMGOPS_CORPUS is unset")
    count = 0
    for path in sorted(Path(corpus, "pngsuite").glob("*.png")):
        if path.name.startswith("x"):
            continue
        count += 1
        with Image.open(path) as image:
            image.load()
            result = upscale(image, 2, method="nearest")
            assert (result.mode, result.info) == (image.mode, image.info), path.name
            np.testing.assert_array_equal(np.asarray(result), repeated(image, 2), path.name)
    assert count >= 162


# ---------------------------------------------------------------------------------------------------------------------
# Weighted modes, against Pillow


@pytest.mark.parametrize("size", SIZES, ids=IDS)
@pytest.mark.parametrize("mode", ["L", "RGB", "La", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "I;16", "I", "F"])
def test_linear_agrees_with_pillow(mode, size):
    image = random_image(mode)
    expected = np.asarray(image.resize(size, Image.Resampling.BILINEAR)).astype(np.float64)
    result = resize(image, size)
    assert (result.mode, result.size) == (mode, size)
    difference = np.abs(np.asarray(result).astype(np.float64) - expected)
    if mode == "LAB":
        # Bytes of a and b are signed, so one step may pass from 255 to 0.
        difference[..., 1:] = np.minimum(difference[..., 1:], 256 - difference[..., 1:])
    assert difference.max() <= (1e-3 if mode == "F" else 1)


@pytest.mark.parametrize("size", SIZES, ids=IDS)
@pytest.mark.parametrize("image_mode", ["L", "RGB", "CMYK", "I;16", "F"])
@pytest.mark.parametrize("mode", ["cubic", "lanczos3"])
def test_longer_filters_agree_with_pillow(image_mode, size, mode):
    image = random_image(image_mode)
    filter_ = {"cubic": Image.Resampling.BICUBIC, "lanczos3": Image.Resampling.LANCZOS}[mode]
    expected = np.asarray(image.resize(size, filter_)).astype(np.float64)
    difference = np.abs(np.asarray(resize(image, size, mode=mode)).astype(np.float64) - expected)
    # Pillow rounds and clips between its passes, on which an overshoot of the first one is lost.
    assert np.quantile(difference, 0.7) <= (1e-3 if image_mode == "F" else 1)
    assert image_mode != "F" or difference.max() <= 2e-3


@pytest.mark.parametrize("size", SIZES, ids=IDS)
@pytest.mark.parametrize("mode", ["linear", "cubic", "lanczos3"])
def test_the_pillow_convention_is_pillow(mode, size):
    image = random_image("F")
    filter_ = {"linear": 2, "cubic": 3, "lanczos3": 1}[mode]
    np.testing.assert_allclose(
        to_array(resize(image, size, mode=mode, convention="pillow")),
        np.asarray(image.resize(size, filter_)),
        atol=2e-3,
    )


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "PA"])
def test_nearest_of_the_pillow_convention_is_pillows_bit_for_bit(mode):
    image = random_image(mode, (13, 9))
    for size in [(width, height) for width in range(1, 40, 3) for height in (1, 5, 9, 23, 64)]:
        expected = image.resize(size, Image.Resampling.NEAREST)
        assert resize(image, size, mode="nearest", convention="pillow").tobytes() == expected.tobytes(), size


def test_synonyms():
    image = random_image("RGB")
    for word, mode in (("bilinear", "linear"), ("bicubic", "cubic")):
        assert resize(image, (9, 9), mode=word).tobytes() == resize(image, (9, 9), mode=mode).tobytes()
        assert upscale(image, 2, method=word).tobytes() == upscale(image, 2, method=mode).tobytes()
    assert upscale(image, 2, method="cubic").tobytes() == resize(image, (14, 22), mode="cubic").tobytes()


@pytest.mark.parametrize("size", SIZES, ids=IDS)
@pytest.mark.parametrize("mode", ["I;16L", "I;16B", "I;16N"])
def test_byte_orders_of_16_bits(mode, size):
    image = random_image(mode)
    values = to_array(image)
    np.testing.assert_array_equal(to_array(resize(image, size)), to_array(resize(to_image(values), size)))
    assert resize(image, size).mode == mode


@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_bits_and_palettes_are_resized_as_colours(size):
    bits, palette, with_alpha, hue = (random_image(mode) for mode in ("1", "P", "PA", "HSV"))
    assert resize(bits, size).tobytes() == resize(bits.convert("L"), size).tobytes()
    assert resize(palette, size).tobytes() == resize(palette.convert("RGB"), size).tobytes()
    assert resize(with_alpha, size).tobytes() == resize(with_alpha.convert("RGBA"), size).tobytes()
    assert resize(hue, size).tobytes() == resize(hue.convert("RGB"), size).convert("HSV").tobytes()
    results = [resize(image, size).mode for image in (bits, palette, with_alpha, hue)]
    assert results == ["L", "RGB", "RGBA", "HSV"]


@pytest.mark.parametrize("mode", KEEP)
def test_same_size_changes_nothing(mode):
    image = random_image(mode)
    result = resize(image, image.size)
    assert result is not image
    if mode in ("LA", "RGBA"):
        array = np.array(image)
        array[array[..., -1] == 0] = 0
        np.testing.assert_array_equal(np.asarray(result), array)
    elif mode == "HSV":
        assert result.tobytes() == image.convert("RGB").convert("HSV").tobytes()
    else:
        assert result.tobytes() == image.tobytes()


@pytest.mark.parametrize("size", SIZES, ids=IDS)
@pytest.mark.parametrize("mode", KEEP)
def test_flat_stays_flat(mode, size):
    for byte in (1, 77, 128, 255):
        image = Image.frombytes(
            mode, (7, 11), np.full(len(Image.new(mode, (7, 11)).tobytes()), byte, np.uint8).tobytes()
        )
        if mode == "F":
            image = Image.new("F", (7, 11), byte)
        values = np.asarray(resize(image, size)).reshape(size[0] * size[1], -1)
        same = np.asarray(resize(image, image.size)).reshape(77, -1)[0]
        np.testing.assert_allclose(values, np.broadcast_to(same, values.shape), rtol=1e-6 if mode == "F" else 0)


def test_antialias_is_on_where_an_axis_shrinks():
    image = random_image("L", (24, 24))
    for size, antialias in (((8, 48), True), ((24, 11), True), ((48, 48), False)):
        np.testing.assert_array_equal(
            to_array(resize(image, size)), resample(to_array(image), size[::-1], antialias=antialias)
        )
    plain = to_array(resize(image, (8, 8), antialias=False))
    np.testing.assert_array_equal(plain, resample(to_array(image), (8, 8)))
    assert np.any(plain != to_array(resize(image, (8, 8))))


def test_16_bit_ramp_keeps_its_levels():
    ramp = np.tile(np.arange(0, 65536, 16, dtype=np.uint16), (2, 1))
    wide = to_array(resize(to_image(ramp), (8192, 2)))
    assert len(np.unique(wide)) == 8192
    assert np.all(np.diff(wide[0].astype(int)) >= 0)
    np.testing.assert_array_equal(to_array(resize(to_image(wide), (4096, 2), antialias=False))[:, 1:-1], ramp[:, 1:-1])


# ---------------------------------------------------------------------------------------------------------------------
# Alpha


def premultiplied(pixels, size, antialias):
    """The definition, in float64: colours times alpha, resampled, divided by alpha; 0 where alpha rounds to 0."""
    peak = np.iinfo(pixels.dtype).max
    alpha = pixels[..., -1:] / peak
    values = resample(np.concatenate([pixels[..., :-1] * alpha, alpha], -1), size[::-1], antialias=antialias)
    opacity = values[..., -1:]
    colours = np.divide(values[..., :-1], opacity, out=np.zeros_like(values[..., :-1]), where=opacity > 0)
    colours[np.broadcast_to(np.rint(opacity * peak) == 0, colours.shape)] = 0
    return np.concatenate([colours, opacity * peak], axis=-1)


@pytest.mark.parametrize("size", SIZES, ids=IDS)
@pytest.mark.parametrize("mode", ["LA", "RGBA"])
def test_alpha_weighs_colours(mode, size):
    image = random_image(mode)
    pixels = np.array(image)
    pixels[2:5, 1:4, -1] = 0
    image = to_image(pixels)
    expected = premultiplied(pixels, size, antialias=size[0] < 7 or size[1] < 11)
    assert np.abs(np.asarray(resize(image, size)) - expected).max() <= 0.502


@pytest.mark.parametrize("channels", [2, 4])
@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_alpha_weighs_16_bit_colours(channels, size):
    pixels = np.random.default_rng(5).integers(0, 65536, (11, 7, channels), np.uint16)
    pixels[2:5, 1:4, -1] = 0
    expected = premultiplied(pixels, size, antialias=size[0] < 7 or size[1] < 11)
    assert np.abs(resize_colour16(pixels, size) - expected).max() <= 0.6


@pytest.mark.parametrize("size", [(40, 40), (9, 9), (3, 5)])
def test_no_fringe_beside_transparent_colour(size):
    image = Image.new("RGBA", (20, 20), (0, 255, 0, 0))
    image.paste((255, 0, 0, 255), (5, 5, 15, 15))
    result = np.asarray(resize(image, size))
    assert not result[..., 1:3].any()
    assert np.all(result[..., 0] == np.where(result[..., 3] > 0, 255, 0))
    assert {0, 255} <= set(result[..., 3].ravel()) or size == (3, 5)


@pytest.mark.parametrize("mode", ["LA", "RGBA"])
@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_straight_alpha_leaves_colours_alone(mode, size):
    image = random_image(mode)
    options = {"antialias": size[0] < 7 or size[1] < 11}
    result = np.asarray(resize(image, size, premultiply=False))
    np.testing.assert_array_equal(result, resample(np.asarray(image), size[::-1], **options))
    light = np.asarray(resize(image, size, premultiply=False, linear_light=True))
    np.testing.assert_array_equal(light[..., -1], result[..., -1])
    colours = to_image(np.asarray(image)[..., :-1])
    np.testing.assert_array_equal(
        light[..., :-1].squeeze(), to_array(resize(colours, size, linear_light=True)).squeeze()
    )


def test_straight_alpha_of_16_bits_and_of_a_transparent_colour():
    pixels = np.random.default_rng(8).integers(0, 65536, (11, 7, 4), np.uint16)
    np.testing.assert_array_equal(resize_colour16(pixels, (14, 22), premultiply=False), resample(pixels, (22, 14)))
    grey = to_image(np.array([[1000, 3000, 3000, 3000]], np.uint16))
    grey.info["transparency"] = 1000
    assert to_array(resize(grey, (8, 1), premultiply=False)).tolist() == [[1000, 1000, 2500, *[3000] * 5]]
    assert to_array(resize(grey, (8, 1))).tolist() == [[1000, 1000, 3000, *[3000] * 5]]


@pytest.mark.parametrize("mode", ["cubic", "lanczos3"])
def test_overshoot_of_alpha_stays_in_range(mode):
    image = Image.new("RGBA", (20, 20), (0, 255, 0, 0))
    image.paste((255, 0, 0, 255), (5, 5, 15, 15))
    result = np.asarray(resize(image, (67, 67), mode=mode))
    assert not result[..., 1:3].any()
    assert np.all(result[..., 0] == np.where(result[..., 3] > 0, 255, 0))


def test_opaque_colours_are_those_without_alpha():
    colours = random_image("RGB", (40, 31))
    with_alpha = colours.convert("RGBA")
    for size in ((80, 62), (61, 17), (20, 93)):
        result = np.asarray(resize(with_alpha, size)).astype(int)
        assert np.abs(result[..., :3] - np.asarray(resize(colours, size))).max() <= 1
        assert np.all(result[..., 3] == 255)


@pytest.mark.parametrize("image_mode", MODES)
def test_bands_do_not_show(monkeypatch, image_mode):
    image = random_image(image_mode, (37, 53))

    def results():
        resized = [
            resize(image, size, mode=mode) for size in ((91, 117), (20, 17)) for mode in ("nearest", "linear", "cubic")
        ]
        return [(result.mode, result.tobytes(), result.getpalette()) for result in resized]

    whole = results()
    monkeypatch.setattr("imgops.pillow._BAND_VALUES", 1000)
    assert results() == whole


def test_a_transparent_colour_becomes_alpha():
    for mode, key, becomes in (("L", 200, "LA"), ("RGB", (0, 255, 0), "RGBA"), ("1", 255, "LA")):
        image = Image.new(mode, (20, 20), key)
        image.paste(0, (5, 5, 15, 15))
        image.info["transparency"] = key
        result = resize(image, (41, 41))
        assert result.mode == becomes
        assert "transparency" not in result.info
        assert not np.asarray(result)[..., :-1].any(), "the transparent colour has bled"
        assert "transparency" in image.info


def test_a_transparent_grey_of_16_bits_stays_one():
    pixels = np.full((20, 20), 65535, np.uint16)
    pixels[5:15, 5:15] = 1000
    image = to_image(pixels)
    image.info["transparency"] = 65535
    result = resize(image, (41, 41))
    assert result.mode == "I;16"
    assert result.info["transparency"] == 65535
    assert set(np.unique(np.asarray(result))) == {1000, 65535}
    image.info["transparency"] = 0
    ramp = resize(image, (41, 41))
    assert not np.any(np.asarray(ramp) == 0)


# ---------------------------------------------------------------------------------------------------------------------
# Linear light


def test_a_checkerboard_halves_to_its_light():
    board = np.kron(np.indices((8, 8)).sum(0) % 2, np.ones((1, 1))).astype(np.uint8) * 255
    for image in (to_image(board), to_image(board).convert("RGB"), to_image(board).convert("RGBA")):
        middle = (2, 2) if image.mode == "L" else (2, 2, slice(0, 3))
        assert np.all(np.asarray(resize(image, (4, 4), linear_light=True, antialias=False))[middle] == 188)
        assert np.all(np.abs(np.asarray(resize(image, (4, 4), antialias=False))[middle].astype(int) - 128) <= 1)


def srgb_to_light(code):
    return np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)


def light_to_srgb(light):
    return np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)


@pytest.mark.parametrize("mode", ["L", "RGB", "I;16"])
@pytest.mark.parametrize("size", SIZES, ids=IDS)
def test_linear_light_is_the_srgb_curve(mode, size):
    image = random_image(mode)
    pixels = to_array(image)
    peak = np.iinfo(pixels.dtype).max
    light = resample(srgb_to_light(pixels / peak), size[::-1], antialias=size[0] < 7 or size[1] < 11)
    difference = np.abs(to_array(resize(image, size, linear_light=True)) - light_to_srgb(light) * peak)
    assert difference.max() <= (0.6 if mode == "I;16" else 0.502)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_linear_light_keeps_every_code(dtype):
    codes = np.arange(np.iinfo(dtype).max + 1, dtype=dtype).reshape(16, -1)
    image = to_image(codes)
    np.testing.assert_array_equal(to_array(resize(image, image.size, linear_light=True)), codes)


GAMMA = 1.75
CURVES = {
    "curv gamma": profiles.gamma(GAMMA),
    "curv table": struct.pack(
        ">4sII4096H", b"curv", 0, 4096, *np.rint(65535 * np.linspace(0, 1, 4096) ** GAMMA).astype(int)
    ),
    "para 0": struct.pack(">4sIHHi", b"para", 0, 0, 0, round(GAMMA * 65536)),
    "para 3": struct.pack(">4sIHH5i", b"para", 0, 3, 0, round(GAMMA * 65536), 65536, 0, 65536, 0),
}


@pytest.mark.parametrize("name", [*CURVES, "table in three dimensions"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_linear_light_by_the_curve_of_a_profile(name, dtype):
    pytest.importorskip("PIL._imagingcms", reason="profiles are read by LittleCMS")
    pixels = np.random.default_rng(4).integers(0, np.iinfo(dtype).max, (11, 7, 3), dtype)
    peak = np.iinfo(dtype).max
    expected = resample((pixels / peak) ** GAMMA, (22, 14)) ** (1 / GAMMA) * peak
    icc = profiles.with_curves(CURVES[name]) if name in CURVES else profiles.with_table(GAMMA)
    if dtype == np.uint8:
        image = to_image(pixels)
        image.info["icc_profile"] = icc
        result = np.asarray(resize(image, (14, 22), linear_light=True))
    else:
        result = resize_colour16(pixels, (14, 22), linear_light=True, icc_profile=icc)
    assert np.abs(result - expected).max() <= (0.6 if dtype == np.uint8 else 40 if "table" in name else 6)


def test_linear_light_by_a_profile_keeps_every_code():
    pytest.importorskip("PIL._imagingcms", reason="profiles are read by LittleCMS")
    for dtype in (np.uint8, np.uint16):
        codes = np.arange(np.iinfo(dtype).max + 1, dtype=dtype).reshape(16, -1)
        for icc in (profiles.with_curves(CURVES["curv table"]), profiles.with_table(GAMMA)):
            image = to_image(codes)
            image.info["icc_profile"] = icc
            result = to_array(resize(image, image.size, linear_light=True)).astype(int)
            assert np.abs(result - codes).max() <= (0 if dtype == np.uint8 else 1)


def test_curves_of_their_own_for_each_channel_weigh_as_greys_do():
    pytest.importorskip("PIL._imagingcms", reason="profiles are read by LittleCMS")
    image = random_image("RGB")
    results = []
    for last in (None, profiles.gamma(3)):
        image.info["icc_profile"] = profiles.with_curves(profiles.gamma(GAMMA), last=last)
        results.append(np.asarray(resize(image, (14, 22), linear_light=True)).astype(int))
    # Blue is a sixteenth of a grey's light.
    assert 0 < np.abs(results[0] - results[1]).max() <= 6


def test_profiles_without_a_curve_are_taken_for_srgb():
    image = random_image("RGB")
    expected = resize(image, (14, 22), linear_light=True).tobytes()
    srgb = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    assert curves.has_curve(srgb)
    other = profiles.with_curves(CURVES["curv gamma"])
    assert curves.has_curve(other)
    cases = [b"", b"nothing", other[:140], profiles.with_curves(b"mft2" + bytes(40)), profiles.of_cmyk()]
    falling = struct.pack(">4sII3H", b"curv", 0, 3, 65535, 30000, 0)
    cases += [profiles.with_curves(falling), profiles.with_curves(struct.pack(">4sIHH", b"para", 0, 9, 0))]
    assert not any(map(curves.has_curve, cases))
    for icc in (srgb, *cases):
        image.info["icc_profile"] = icc
        assert resize(image, (14, 22), linear_light=True).tobytes() == expected
    image.info["icc_profile"] = other
    assert resize(image, (14, 22), linear_light=True).tobytes() != expected
    grey = image.convert("L")
    grey.info["icc_profile"] = profiles.with_curves(CURVES["curv gamma"], b"GRAY")
    light = resample((np.asarray(grey) / 255) ** GAMMA, (22, 14))
    assert np.abs(to_array(resize(grey, (14, 22), linear_light=True)) - light ** (1 / GAMMA) * 255).max() <= 0.6


def test_linear_light_leaves_alpha_linear():
    image = random_image("RGBA")
    plain, light = (np.asarray(resize(image, (15, 23), linear_light=value)) for value in (False, True))
    np.testing.assert_array_equal(plain[..., 3], light[..., 3])
    assert np.any(plain[..., :3] != light[..., :3])


# ---------------------------------------------------------------------------------------------------------------------
# Box, size, info


@pytest.mark.parametrize("box", [(1, 2, 6, 9), (0.25, 1.5, 5.75, 10.125), (0, 0, 7, 11), (3.5, 4, 3.75, 4.5)])
@pytest.mark.parametrize("size", [(14, 22), (3, 4), (1, 1)])
@pytest.mark.parametrize("mode", ["L", "F"])
def test_box_agrees_with_pillow(box, size, mode):
    image = random_image(mode)
    expected = np.asarray(image.resize(size, Image.Resampling.BILINEAR, box=box)).astype(np.float64)
    difference = np.abs(to_array(resize(image, size, box=box)) - expected)
    # Pillow cuts the widened filter's window at whole pixels.
    assert difference.max() <= (1e-3 if mode == "F" else 1)


def test_an_integer_box_of_its_own_size_is_a_crop():
    image = random_image("RGB")
    for mode in ("nearest", "linear"):
        assert resize(image, (4, 5), mode=mode, box=(2, 3, 6, 8)).tobytes() == image.crop((2, 3, 6, 8)).tobytes()
    doubled = resize(image, (8, 10), mode="nearest", box=(2, 3, 6, 8))
    np.testing.assert_array_equal(np.asarray(doubled), repeated(image.crop((2, 3, 6, 8)), 2))


@pytest.mark.parametrize("scale", [1, 1.2, 1.5, 2, 3, Fraction(7, 3)])
def test_upscale_is_resize_to_the_scaled_size(scale):
    image = random_image("RGB", (5, 10))
    result = upscale(image, scale, method="linear")
    exact = Fraction(str(scale))
    assert result.size == (int(5 * exact), int(10 * exact))
    assert result.tobytes() == resize(image, result.size).tobytes()


def test_info_goes_along():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for mode in MODES:
        image = random_image(mode)
        image.info = {"icc_profile": profile, "dpi": (72, 72), "Comment": "text"}
        for result in (resize(image, (3, 3)), resize(image, (9, 9), mode="nearest")):
            if mode not in ("PA", "HSV"):
                assert result.info == image.info
            assert result.info["icc_profile"] == profile
            assert result.info is not image.info


def test_inputs_are_unchanged():
    for mode in MODES:
        image = random_image(mode)
        before = image.tobytes(), dict(image.info), image.mode
        resize(image, (5, 5))
        upscale(image, 2, method="nearest")
        to_array(image)[:] = 0
        assert (image.tobytes(), dict(image.info), image.mode) == before


def test_conventions_and_threads():
    image = random_image("L")
    for convention in ("align_corners", "asymmetric", AxisMap(2, 0, 0)):
        np.testing.assert_array_equal(
            to_array(resize(image, (14, 22), convention=convention)),
            resample(to_array(image), (22, 14), convention=convention),
        )
    assert resize(image, (14, 22), num_threads=1).tobytes() == resize(image, (14, 22), num_threads=2).tobytes()


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"size": (0, 5)}, ValueError, r"between 1 and 2147483647 pixels.*width=0, height=5"),
        ({"size": (5, -1)}, ValueError, "height=-1"),
        ({"size": (2**31, 1)}, ValueError, "pixels"),
        ({"size": (2.5, 3)}, TypeError, "integer"),
        ({"size": 5}, TypeError, r"\(width, height\)"),
        ({"size": "12"}, TypeError, r"\(width, height\)"),
        ({"size": (1, 2, 3)}, TypeError, r"\(width, height\)"),
        ({"mode": "linaer"}, ValueError, "did you mean 'linear'"),
        ({"mode": Image.Resampling.BILINEAR}, TypeError, "'linear'"),
        ({"convention": "half_pixl"}, ValueError, "did you mean 'half_pixel'"),
        ({"convention": ("half_pixel", "asymmetric")}, TypeError, "one name or one AxisMap"),
        ({"box": (0, 0, 8, 5)}, ValueError, "inside the image"),
        ({"box": (3, 0, 3, 5)}, ValueError, "left < right"),
        ({"box": (-0.5, 0, 3, 5)}, ValueError, "inside"),
        ({"box": (0, 0, float("nan"), 5)}, ValueError, "finite"),
        ({"box": (0, 0, 3)}, TypeError, "left, top, right, bottom"),
        ({"box": (0, 0, 3, 5), "convention": "asymmetric"}, ValueError, "half_pixel"),
        ({"linear_light": True, "mode": "nearest"}, ValueError, "weighted mode"),
        ({"linear_light": 1}, TypeError, "True or False"),
        ({"antialias": True, "mode": "nearest"}, ValueError, "weighted"),
        ({"antialias": "yes"}, TypeError, "antialias"),
        ({"premultiply": 0}, TypeError, "premultiply"),
        ({"num_threads": 0}, ValueError, "num_threads"),
    ],
)
def test_arguments_that_mean_nothing(options, error, match):
    options = {"size": (3, 4), **options}
    with pytest.raises(error, match=match):
        resize(random_image("RGB"), options.pop("size"), **options)


@pytest.mark.parametrize("mode", ["F", "I", "CMYK", "YCbCr", "LAB", "RGBa"])
def test_linear_light_needs_code_values(mode):
    with pytest.raises(ValueError, match=f"got mode '{mode}'"):
        resize(random_image(mode), (3, 3), linear_light=True)


@pytest.mark.parametrize(
    ("scale", "error"),
    [
        *((scale, ValueError) for scale in (0, -2, 0.5, float("nan"), float("inf"), 1e10)),
        *((scale, TypeError) for scale in ("2", True, None)),
    ],
)
def test_scales_that_enlarge_nothing(scale, error):
    with pytest.raises(error, match=r"scale|size"):
        upscale(random_image("L"), scale)


def test_an_unknown_method_names_the_known_ones():
    with pytest.raises(ValueError, match=r"upscale: method must be 'sr', 'nearest'.*; got 'lanczos'"):
        upscale(random_image("L"), 2, method="lanczos")


@pytest.mark.parametrize("mode", ["L", "RGBA", "1"])
def test_results_that_memory_cannot_hold(mode):
    with pytest.raises((MemoryError, ValueError), match=r"memory|fewer|allocate"):
        resize(random_image(mode), (2**31 - 1, 2**31 - 1))


def test_an_empty_image_has_nothing_to_read():
    with pytest.raises(ValueError, match="at least one sample"):
        resize(Image.new("L", (0, 3)), (4, 4))


def test_files_and_images_agree(tmp_path):
    random_image("RGBA").save(tmp_path / "a.png")
    picture = files.read(tmp_path / "a.png")
    assert resize(picture.pixels, (9, 9)).tobytes() == resize(Image.open(tmp_path / "a.png"), (9, 9)).tobytes()


@pytest.mark.parametrize(
    ("mode", "key"),
    [("I;16", 70000), ("I;16", (1, 2)), ("L", 300), ("RGB", "red"), ("RGB", (1, 2, 300)), ("P", "none")],
)
def test_a_transparent_colour_that_the_mode_has_not(mode, key):
    image = Image.new(mode, (4, 3))
    image.info["transparency"] = key
    with pytest.raises((ValueError, TypeError), match=r"^resize: .+ must be .+; got .+; correct it"):
        resize(image, (8, 6))
