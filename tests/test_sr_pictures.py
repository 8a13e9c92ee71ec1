"""Super-resolution of images and picture files: every mode, any scale, the command line's options and words."""

import contextlib
import json
import os
import re
import subprocess
import sys
import textwrap
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from test_pillow import MODES, random_image

from imgops import batches, cli, large, pillow, sr
from imgops.sr import Upscaler
from imgops.sr import engine as sr_engine

PIXELS = np.random.default_rng(5).integers(0, 256, (9, 13, 3), np.uint8)
ENLARGED = [mode for mode in MODES if mode not in ("I", "F")]


def distance(a, b):
    return np.abs(np.asarray(a).astype(int) - np.asarray(b).astype(int)).max()


@pytest.fixture
def call(capsys):
    def call(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out.splitlines(), printed.err.splitlines()

    if sr_engine.onnxruntime() is None:
        # What is said once is said now.
        sr_engine.slower_notice()
    return call


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "photo.png"
    Image.fromarray(PIXELS).save(path)
    return path


# ---------------------------------------------------------------------------------------------------------------------
# Images


@pytest.mark.parametrize("mode", ENLARGED)
@pytest.mark.parametrize("scale", [1, 1.5, 2, 3, Fraction(7, 2), 4, 5, 6])
def test_modes_and_sizes(mode, scale):
    image = random_image(mode, (7, 11))
    image.info["dpi"] = (72, 96)
    result = pillow.upscale(image, scale, model="fast")
    linear = pillow.upscale(image, scale, method="linear")
    assert (result.mode, result.size, result.info) == (linear.mode, linear.size, linear.info)
    if mode == "1":
        image = image.convert("L")
    if scale == 1 and mode not in ("P", "PA", "La", "RGBa", "RGBX", "LA", "RGBA", "HSV"):
        assert result.tobytes() == image.tobytes()


@pytest.mark.parametrize("scale", [2, 3, 4])
def test_images_are_as_their_arrays(scale):
    upscaler = Upscaler("best", scale)
    for mode in ("L", "LA", "RGB", "RGBA", "I;16"):
        image = random_image(mode, (13, 17))
        np.testing.assert_array_equal(pillow.to_array(pillow.upscale(image, scale)), upscaler(pillow.to_array(image)))


def test_luminance_alone_is_drawn_anew():
    for mode in ("YCbCr", "LAB"):
        image = random_image(mode, (13, 17))
        result = pillow.upscale(image, 2).split()
        assert result[0].tobytes() == pillow.upscale(image.split()[0], 2).tobytes()
        # The others are what the skip makes of them, whichever that is.
        others = [pillow.resize(image, (26, 34), mode=name).split()[1:] for name in ("linear", "cubic")]
        assert any(all(distance(a, b) <= 1 for a, b in zip(result[1:], other, strict=True)) for other in others)


def test_inks_are_enlarged_each_for_itself():
    image = random_image("CMYK", (13, 17))
    for ink, result in zip(image.split(), pillow.upscale(image, 3).split(), strict=True):
        assert result.tobytes() == pillow.upscale(ink, 3).tobytes()


def test_palettes_and_transparent_colours():
    palette = random_image("P", (13, 17))
    assert pillow.upscale(palette, 2).tobytes() == pillow.upscale(palette.convert("RGB"), 2).tobytes()
    palette.info["transparency"] = 3
    result = pillow.upscale(palette, 2)
    assert result.mode == "RGBA"
    assert "transparency" not in result.info
    grey = random_image("L", (13, 17))
    grey.info["transparency"] = int(grey.getpixel((6, 8)))
    assert pillow.upscale(grey, 2).mode == "LA"
    assert pillow.upscale(grey, 2).getpixel((13, 17))[1] < 255


def test_a_transparent_16_bit_grey_stays_one():
    grey = np.full((12, 12), 40000, np.uint16)
    grey[:, 6:] = 7
    image = pillow.to_image(grey)
    image.info["transparency"] = 7
    result = pillow.to_array(pillow.upscale(image, 2))
    assert (result[:, 14:] == 7).all()
    assert distance(result[:, :10], np.full((24, 10), 40000)) <= 2
    # Nothing bleeds across the edge: what is not transparent has the visible grey.
    assert distance(result[result != 7], np.full((result != 7).sum(), 40000)) <= 200


def test_straight_alpha():
    image = random_image("RGBA", (13, 17))
    image.putalpha(Image.fromarray(np.where(np.arange(13) < 6, 0, 255).astype(np.uint8)[None].repeat(17, 0)))
    result = pillow.upscale(image, 2, premultiply=False)
    assert result.convert("RGB").tobytes() == pillow.upscale(image.convert("RGB"), 2).tobytes()
    assert not pillow.to_array(pillow.upscale(image, 2))[:, :10].any()


def test_scales_made_of_others():
    image = random_image("RGB", (9, 8))
    twice = pillow.upscale(pillow.upscale(image, 2), 3)
    assert distance(pillow.upscale(image, 6), twice) <= 1
    half = pillow.resize(pillow.upscale(image, 2), (13, 12), mode="cubic", antialias=True)
    assert distance(pillow.upscale(image, 1.5), half) <= 1
    assert pillow.upscale(image, 1).tobytes() == image.tobytes()


def test_bands_of_large_images(monkeypatch):
    image = random_image("RGBA", (37, 90))
    whole = [pillow.upscale(image, scale, model="fast") for scale in (2, 2.5, 6)]
    rows = sr.upscaler.Bands.rows
    monkeypatch.setattr(sr.upscaler.Bands, "rows", lambda self, step=None: rows(self, step or 13))
    monkeypatch.setattr(pillow, "_BAND_VALUES", 2000)
    for scale, result in zip((2, 2.5, 6), whole, strict=True):
        assert distance(pillow.upscale(image, scale, model="fast"), result) <= 1


def test_16_bit_colours():
    pixels = np.random.default_rng(6).integers(0, 65536, (9, 13, 3), np.uint16)
    np.testing.assert_array_equal(pillow.upscale_pixels(pixels, 2), Upscaler("best")(pixels))
    assert pillow.upscale_pixels(pixels, 2.5).shape == (22, 32, 3)
    assert pillow.upscale_pixels(pixels, 2.5).dtype == np.uint16


def test_progress():
    for mode in ("RGB", "CMYK"):
        for scale in (2, 5):
            seen = []
            pillow.upscale(random_image(mode, (300, 200)), scale, model="fast", tile=64, progress=seen.append)
            assert seen[-1] == 1
            assert len(seen) > 3
            assert all(0 < part <= 1 for part in seen)
            assert seen == sorted(seen)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"linear_light": True}, ValueError, "linear_light=True has no meaning with method='sr'"),
        ({"method": "cubic", "model": "fast"}, ValueError, "model is defined for method='sr'"),
        ({"method": "linear", "tile": 64}, ValueError, "tile is defined for method='sr'"),
        ({"model": "bset"}, ValueError, "did you mean 'best'"),
        ({"model": "none.onnx"}, FileNotFoundError, "no existing file"),
        ({"tile": 0}, ValueError, "tile must be at least 8"),
        ({"num_threads": 0}, ValueError, "num_threads must be at least 1"),
        ({"premultiply": 2}, TypeError, "premultiply must be"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        pillow.upscale(random_image("RGB"), 2, **options)


@pytest.mark.parametrize("mode", ["I", "F"])
def test_numbers_whose_white_nobody_knows(mode):
    with pytest.raises(ValueError, match=f"white is known.*got mode '{mode}'.*another method"):
        pillow.upscale(random_image(mode), 2)


# ---------------------------------------------------------------------------------------------------------------------
# The command line


def test_super_resolution_is_the_default(call, photo):
    assert call("upscale", photo)[0] == 0
    assert call("upscale", photo, photo.with_name("named.png"), "--method", "sr", "--model", "best")[0] == 0
    expected = pillow.upscale(Image.fromarray(PIXELS), 2).tobytes()
    for name in ("photo_x2.png", "named.png"):
        with Image.open(photo.with_name(name)) as result:
            assert result.tobytes() == expected


@pytest.mark.parametrize("scale", ["1", "1.5", "3", "4", "500%"])
@pytest.mark.parametrize("model", ["best", "fast"])
def test_models_scales_and_tiles(call, photo, scale, model):
    factor = Fraction(scale[:-1]) / 100 if scale.endswith("%") else Fraction(scale)
    for tile in ((), ("--tile", "8")):
        code, lines, errors = call("upscale", photo, "--scale", scale, "--model", model, *tile, "--overwrite")
        assert (code, len(lines), errors) == (0, 1, [])
        with Image.open(photo.with_name(f"photo_x{float(factor):g}.png")) as result:
            assert distance(result, pillow.upscale(Image.fromarray(PIXELS), factor, model=model)) <= 1


def test_a_model_file_has_its_own_scale(call, photo, tmp_path):
    model = tmp_path / "mine.onnx"
    model.write_bytes((Path(sr.__file__).parent / "models" / "fast_x3.onnx").read_bytes())
    code, lines, _ = call("upscale", photo, "--model", model)
    assert (code, lines) == (0, [f"{photo} -> {photo.with_name('photo_x3.png')} (39x27)"])
    assert call("upscale", photo, "--model", model, "--scale", "2")[0] == 0
    with Image.open(photo.with_name("photo_x2.png")) as result:
        expected = pillow.resize(pillow.upscale(Image.fromarray(PIXELS), 3, model="fast"), (26, 18), mode="cubic")
        assert distance(result, expected) <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "bset"], "--model: must be 'best' or 'fast' or the path of a model file; got 'bset'; did you"),
        (["--model", "none.onnx"], "no existing file"),
        (["--linear-light"], "--linear-light has no meaning with --method sr, .*pass --method linear"),
        (["--method", "cubic", "--model", "fast"], "--model is of super-resolution"),
        (["--method", "cubic", "--tile", "64"], "--tile is of super-resolution"),
        (["--tile", "4"], "--tile: must be a whole number from 8"),
        (["--method", "srr"], "--method: must be 'sr', "),
    ],
)
def test_wrong_usage(photo, options, message, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["upscale", str(photo), *options])
    assert stop.value.code == 2
    assert re.search(message, capsys.readouterr().err.splitlines()[-1])
    assert [path.name for path in photo.parent.iterdir()] == ["photo.png"]


def test_a_file_that_is_no_model(call, photo):
    code, lines, errors = call("upscale", photo, "--model", photo)
    assert (code, lines, len(errors)) == (1, [], 1)
    assert errors[0].startswith(f"imgops: {photo}: a model must be a whole ONNX file; got a PNG picture")
    assert [path.name for path in photo.parent.iterdir()] == ["photo.png"]


def test_pictures_whose_white_nobody_knows(call, tmp_path):
    random_image("F").save(tmp_path / "a.tif")
    code, _, errors = call("upscale", tmp_path / "a.tif")
    assert (code, len(errors)) == (1, 1)
    assert "another method, such as 'linear'" in errors[0]
    assert call("upscale", tmp_path / "a.tif", "--method", "linear")[0] == 0


def test_several_processes(call, tmp_path):
    for index in range(3):
        random_image("RGB", (9, 12), seed=index).save(tmp_path / f"{index}.png")
    (tmp_path / "out").mkdir()
    code, lines, errors = call("upscale", tmp_path, "--output-dir", tmp_path / "out", "--jobs", "2", "--model", "fast")
    assert (code, len(lines), errors) == (0, 4, [])
    for index in range(3):
        with Image.open(tmp_path / "out" / f"{index}.png") as result:
            expected = pillow.upscale(random_image("RGB", (9, 12), seed=index), 2, model="fast")
            assert distance(result, expected) <= 1


def test_animations(call, tmp_path):
    frames = [random_image("RGBA", (9, 12), seed=index) for index in range(3)]
    frames[0].save(tmp_path / "a.png", save_all=True, append_images=frames[1:], duration=[40, 80, 120])
    assert call("upscale", tmp_path / "a.png")[0] == 0
    with Image.open(tmp_path / "a_x2.png") as result:
        assert result.n_frames == 3
        for index, frame in enumerate(frames):
            result.seek(index)
            assert result.info["duration"] == 40 * (index + 1)
            assert distance(result.convert("RGBA"), pillow.upscale(frame, 2)) <= 1


@pytest.mark.parametrize("scale", ["2", "3", "2.5", "6"])
@pytest.mark.parametrize(("channels", "dtype"), [(1, np.uint8), (3, np.uint8), (4, np.uint8), (3, np.uint16)])
def test_tiff_streams(call, tmp_path, monkeypatch, scale, channels, dtype):
    tifffile = pytest.importorskip("tifffile", reason="streaming needs the package tifffile")
    pixels = np.random.default_rng(1).integers(0, np.iinfo(dtype).max, (150, 101, channels), dtype, endpoint=True)
    pixels = pixels[..., 0] if channels == 1 else pixels
    extra = {"extrasamples": ["unassalpha"]} if channels == 4 else {}
    photometric = "minisblack" if channels == 1 else "rgb"
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric=photometric, tile=(64, 64), **extra)
    monkeypatch.setattr(large, "STREAMED_BYTES", 0)
    monkeypatch.setattr(batches.files, "read", None)
    code, _, errors = call("upscale", tmp_path / "a.tif", tmp_path / "b.tif", "--scale", scale, "--model", "fast")
    assert (code, errors) == (0, [])
    expected = pillow.upscale_pixels(pixels, Fraction(scale), model="fast")
    # 6 is x2 and then x3, which enlarges the last step by which the first one may round apart.
    steps = 4 if scale == "6" else 1
    assert distance(tifffile.imread(tmp_path / "b.tif"), expected) <= steps


def test_json(call, photo):
    code, lines, _ = call("upscale", photo, "--json")
    assert code == 0
    assert json.loads("\n".join(lines))["done"] == 1


def test_without_onnxruntime_a_note_and_the_same_picture(photo):
    """In a process where onnxruntime cannot be imported."""
    program = textwrap.dedent(
        """
        import sys
        sys.modules["onnxruntime"] = None
        from imgops.cli import run
        run()
        """
    )
    command = [sys.executable, "-W", "error", "-c", program, "upscale", str(photo), "--model", "fast"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("imgops: note: the package onnxruntime is not installed")
    assert "slower; pip install 'imgops[sr]'" in line
    with Image.open(photo.with_name("photo_x2.png")) as result:
        assert distance(result, pillow.upscale(Image.fromarray(PIXELS), 2, model="fast")) <= 1


def test_a_bar_moves_within_a_picture(call, tmp_path, monkeypatch):
    moves = []

    class Bar:
        n = 0

        def update(self, step):
            self.n += step
            moves.append(self.n)

        def external_write_mode(self):
            return contextlib.nullcontext()

        def close(self):
            pass

    monkeypatch.setattr(cli, "_progress_bar", lambda total, least: Bar() if total >= least else None)
    random_image("RGB", (120, 90)).save(tmp_path / "a.png")
    assert call("upscale", tmp_path / "a.png", "--model", "fast", "--tile", "32")[0] == 0
    assert len(moves) > 4
    assert moves == sorted(moves)
    assert moves[-1] == pytest.approx(1)


def test_processes_without_onnxruntime_add_no_warnings(tmp_path):
    (tmp_path / "onnxruntime.py").write_text("raise ModuleNotFoundError('not here')\n")
    for index in range(2):
        random_image("RGB", (9, 12), seed=index).save(tmp_path / f"{index}.png")
    (tmp_path / "out").mkdir()
    command = [sys.executable, "-m", "imgops", "upscale", str(tmp_path), "--model", "fast", "--jobs", "2"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONWARNINGS": "always"}
    command += ["--output-dir", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0
    assert len(done.stderr.splitlines()) == 1
