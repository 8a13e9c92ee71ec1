"""The command line: results, names, one line per bad file, exit codes."""

import json
import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import extras
import numpy as np
import pytest
from PIL import Image

from imgops import cli, files, pillow, png

PIXELS = np.random.default_rng(2).integers(0, 256, (5, 7, 3), np.uint8)


def run(*arguments, cwd=None):
    """The command as a user starts it."""
    command = [sys.executable, "-m", "imgops", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, encoding="utf-8", check=False)


@pytest.fixture
def call(capsys):
    """The command in this process: (exit code, lines of stdout but the summary, lines of stderr)."""

    def call(*arguments):
        call.summary = None
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as stop:
            code = stop.code
        output = capsys.readouterr()
        assert "Traceback" not in output.err
        lines = output.out.splitlines()
        if lines and re.match(r"\d+ pictures: ", lines[-1]):
            call.summary = lines.pop()
        return code, lines, output.err.splitlines()

    return call


@pytest.fixture
def photo(tmp_path):
    path = tmp_path / "photo.png"
    Image.fromarray(PIXELS).save(path)
    return path


def names(folder):
    return sorted(os.listdir(folder))


# ---------------------------------------------------------------------------------------------------------------------
# Results


def test_a_first_enlargement(photo):
    done = run("upscale", "photo.png", "--method", "linear", cwd=photo.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "photo.png -> photo_x2.png (14x10)\n"
    with Image.open(photo.with_name("photo_x2.png")) as result:
        assert result.tobytes() == pillow.upscale(Image.fromarray(PIXELS), 2, method="linear").tobytes()


def test_nearest_and_a_target(call, photo, tmp_path):
    assert call("upscale", photo, tmp_path / "big.png", "--scale", "3", "--method", "nearest")[0] == 0
    with Image.open(tmp_path / "big.png") as result:
        np.testing.assert_array_equal(np.asarray(result), np.kron(PIXELS, np.ones((3, 3, 1), np.uint8)))


@pytest.mark.parametrize(
    ("options", "name", "size"),
    [
        (["upscale", "--method", "linear"], "photo_x2.png", (14, 10)),
        (["upscale", "--scale", "1.5", "--method", "linear"], "photo_x1.5.png", (10, 7)),
        (["upscale", "--scale", "300%", "--method", "linear"], "photo_x3.png", (21, 15)),
        (["resize", "--size", "4x9"], "photo_4x9.png", (4, 9)),
        (["resize", "--size", "4X9", "--mode", "nearest"], "photo_4x9.png", (4, 9)),
        (["resize", "--scale", "50%"], "photo_3x2.png", (3, 2)),
        (["resize", "--scale", ".5", "--linear-light"], "photo_3x2.png", (3, 2)),
        (["resize", "--scale", "1e1"], "photo_70x50.png", (70, 50)),
    ],
)
def test_names_and_sizes(call, photo, options, name, size):
    command, *options = options
    code, lines, errors = call(command, photo, *options)
    assert (code, errors) == (0, [])
    assert lines == [f"{photo} -> {photo.with_name(name)} ({size[0]}x{size[1]})"]
    with Image.open(photo.with_name(name)) as result:
        expected = pillow.resize(
            Image.fromarray(PIXELS),
            size,
            mode="nearest" if "nearest" in options else "linear",
            linear_light="--linear-light" in options,
        )
        assert result.tobytes() == expected.tobytes()


def test_many_sources_into_a_folder(call, photo, tmp_path):
    other, out = tmp_path / "other.bmp", tmp_path / "out"
    Image.fromarray(PIXELS).save(other)
    out.mkdir()
    assert call("upscale", photo, other, "--output-dir", out)[0] == 0
    assert names(out) == ["other.bmp", "photo.png"]
    code, lines, errors = call("upscale", photo, other, out)
    assert (code, lines, len(errors)) == (1, [], 2)
    assert all("exists already; pass --overwrite" in line for line in errors)
    assert call("upscale", photo, other, f"{out}{os.sep}", "--overwrite", "--quiet") == (0, [], [])


@pytest.mark.usefixtures("photo")
def test_a_folder_of_pictures(call, tmp_path):
    (tmp_path / "notes.txt").write_text("no picture, and not named")
    assert call("upscale", tmp_path)[0] == 0
    assert names(tmp_path) == ["notes.txt", "photo.png", "photo_x2.png"]


@extras.deep_colours
def test_16_bits_stay(call, tmp_path):
    colours = np.random.default_rng(4).integers(0, 65536, (5, 7, 4), np.uint16)
    grey = colours[..., 0].copy()
    files.write(files.Picture(colours, "PNG"), tmp_path / "colours.png")
    pillow.to_image(grey).save(tmp_path / "grey.png")
    assert call("upscale", tmp_path)[0] == 0
    result = files.read(tmp_path / "colours_x2.png").pixels
    np.testing.assert_array_equal(result, pillow.upscale_pixels(colours, 2))
    assert np.any(result & 0xFF)
    result = files.read(tmp_path / "grey_x2.png").pixels
    assert result.mode == "I;16"
    assert result.tobytes() == pillow.upscale(pillow.to_image(grey), 2).tobytes()


@pytest.mark.parametrize("channels", [1, pytest.param(3, marks=extras.deep_colours)])
def test_a_16_bit_ramp_keeps_its_levels(call, tmp_path, channels):
    ramp = np.tile(np.arange(65536, dtype=np.uint16).reshape(256, 256, 1), (1, 1, channels))
    picture = files.Picture(ramp if channels > 1 else pillow.to_image(ramp[..., 0]), "PNG")
    files.write(picture, tmp_path / "ramp.png")
    assert call("upscale", tmp_path / "ramp.png", "--strict")[0] == 0
    result = np.asarray(files.read(tmp_path / "ramp_x2.png").pixels)
    assert result.shape[:2] == (512, 512)
    assert all(len(np.unique(plane)) > 60000 for plane in result.reshape(512 * 512, -1).T)


def test_a_palette_with_transparency_looks_as_its_colours(call, tmp_path):
    rng = np.random.default_rng(5)
    image = Image.frombytes("P", (9, 7), rng.integers(0, 16, 63, np.uint8).tobytes())
    image.putpalette(rng.integers(0, 256, 48, np.uint8).tobytes())
    image.save(tmp_path / "palette.png", transparency=bytes([0, 255, 100, *range(13)]))
    with Image.open(tmp_path / "palette.png") as opened:
        opened.convert("RGBA").save(tmp_path / "colours.png")
    for method in ("nearest", "linear", "cubic", "lanczos3"):
        assert call("upscale", tmp_path, "--method", method, "--overwrite")[0] == 0
        results = [Image.open(tmp_path / f"{name}_x2.png") for name in ("palette", "colours")]
        assert results[0].mode == ("P" if method == "nearest" else "RGBA")
        assert results[0].convert("RGBA").tobytes() == results[1].tobytes()


@pytest.mark.parametrize(("options", "grey"), [(["--linear-light"], 188), ([], 128)])
def test_a_checkerboard_halves_to_its_light(call, tmp_path, options, grey):
    pillow.to_image((np.indices((16, 16)).sum(0) % 2 * 255).astype(np.uint8)).save(tmp_path / "board.png")
    assert call("resize", tmp_path / "board.png", tmp_path / "half.png", "--scale", "50%", *options)[0] == 0
    with Image.open(tmp_path / "half.png") as result:
        assert np.unique(np.asarray(result)[1:-1, 1:-1]).tolist() == [grey]


def test_no_green_beside_a_red_square(call, tmp_path):
    image = Image.new("RGBA", (20, 20), (0, 255, 0, 0))
    image.paste((255, 0, 0, 255), (5, 5, 15, 15))
    for extension in ("png", "tif", "webp", "gif"):
        image.save(tmp_path / f"a.{extension}", **({"lossless": True, "exact": True} if extension == "webp" else {}))
        assert call("upscale", tmp_path / f"a.{extension}")[0] == 0
        with Image.open(tmp_path / f"a_x2.{extension}") as result:
            visible = np.asarray(result.convert("RGBA"))
            assert result.size == (40, 40)
            assert not visible[visible[..., 3] > 0][:, 1].any()


def test_metadata_goes_along(call, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(PIXELS).save(tmp_path / "a.png", exif=exif, dpi=(300, 300), icc_profile=b"a profile of sorts")
    assert call("upscale", tmp_path / "a.png")[0] == 0
    with Image.open(tmp_path / "a_x2.png") as result:
        assert result.size == (10, 14)
        assert result.info["icc_profile"] == b"a profile of sorts"
        assert result.info["dpi"] == pytest.approx((300, 300), abs=0.01)
        assert result.getexif()[0x0112] == 1


def test_every_file_of_pngsuite(call, tmp_path):
    corpus = os.environ.get("IMGOPS_CORPUS")
    if not corpus:
        pytest.skip("IMGOPS_CORPUS is unset")
    sources = sorted(Path(corpus, "pngsuite").glob("*.png"))
    damaged = [source for source in sources if source.name.startswith("x")]
    code, lines, errors = call("upscale", *sources, "--method", "nearest", "--output-dir", tmp_path)
    assert code == 1
    assert len(damaged) == 14
    for source, line in zip(damaged, sorted(errors), strict=True):
        assert line.startswith(f"imgops: {source}: is ")
    assert len(lines) == len(sources) - len(damaged)
    assert names(tmp_path) == sorted({source.name for source in sources} - {source.name for source in damaged})
    for name in names(tmp_path):
        before, after = (np.asarray(files.read(folder / name).pixels) for folder in (sources[0].parent, tmp_path))
        np.testing.assert_array_equal(after, np.repeat(np.repeat(before, 2, 0), 2, 1), name)


# ---------------------------------------------------------------------------------------------------------------------
# Facts


def test_version_help_and_info(call):
    done = run("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"imgops \d+\.\d+\.\d+\S*\n", done.stdout)
    code, lines, _ = call("--help")
    assert code == 0
    assert any("python -m imgops upscale photo.png" in line for line in lines)
    for command in ("upscale", "resize", "info"):
        code, lines, _ = call(command, "--help")
        assert (code, lines[0].startswith(f"usage: imgops {command}")) == (0, True)
    code, lines, _ = call("info")
    assert code == 0
    assert any(line.startswith("pillow") for line in lines)
    code, lines, _ = call("info", "--json")
    facts = json.loads("\n".join(lines))
    assert facts["numpy"] == np.__version__
    assert "PNG" in facts["formats"]


# ---------------------------------------------------------------------------------------------------------------------
# Wrong usage


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["upscale"],
        ["enlarge", "a.png"],
        ["upscale", "a.png", "--method", "bicubik"],
        ["upscale", "a.png", "--size", "3x4"],
        ["upscale", "a.png", "--overwrit"],
        ["upscale", "a.png", "--linear-light", "--method", "nearest"],
        ["resize", "a.png"],
        ["resize", "a.png", "--size", "3x4", "--scale", "2"],
        *(["upscale", "a.png", "--scale", text] for text in ("0", "-1", "nan", "inf", "0.5", "x", "", "1/0", "\u0661")),
        *(["resize", "a.png", "--scale", text] for text in ("0", "0%", "-50%", "%", ".", "1e999999999", "1e5000")),
        *(["resize", "a.png", "--size", text] for text in ("0x5", "5x0", "12y7", "12", "-3x4", "3.5x4", "3x4x5")),
    ],
    ids=" ".join,
)
def test_wrong_usage(call, arguments):
    code, lines, errors = call(*arguments)
    assert (code, lines) == (2, [])
    assert errors[0].startswith("usage: imgops")
    assert "error:" in errors[-1]


# ---------------------------------------------------------------------------------------------------------------------
# Bad files: one line, exit code 1, the rest still done


def refused(call, photo, bad, *arguments):
    """The one error line for `bad`, beside `photo`, which is still done into a folder `out`."""
    out = photo.parent / "out"
    out.mkdir(exist_ok=True)
    code, lines, errors = call("upscale", bad, photo, "--output-dir", out, "--overwrite", *arguments)
    assert code == 1
    assert lines == [f"{photo} -> {out / 'photo.png'} (14x10)"]
    assert names(out) == ["photo.png"]
    (line,) = errors
    assert line.startswith(f"imgops: {bad}: ")
    return line


def test_bad_sources(call, photo, tmp_path):
    data = photo.read_bytes()
    contents = {
        "empty.png": b"",
        "text.png": b"not a picture",
        "cut.png": data[: len(data) // 2],
        "signature.png": png.SIGNATURE,
        "changed.png": data[:60] + b"!" + data[61:],
        "zeros.png": bytes(5000),
    }
    size = struct.pack(">IIBBBBB", 50000, 50000, 8, 2, 0, 0, 0)
    bomb = png.SIGNATURE
    for name, content in ((b"IHDR", size), (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b"")):
        bomb += struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    contents["bomb.png"] = bomb
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        assert refused(call, photo, tmp_path / name)
    assert "no such file" in refused(call, photo, tmp_path / "missing.png")
    (tmp_path / "bare").mkdir()
    assert "without pictures" in refused(call, photo, tmp_path / "bare")


def test_bad_source_in_a_process_of_its_own(tmp_path):
    (tmp_path / "bad\nname.png").write_bytes(b"x")
    done = run("upscale", "bad\nname.png", "missing.png", "third.png", cwd=tmp_path)
    assert done.returncode == 1
    assert re.fullmatch(r"3 pictures: 3 failed, in \d+\.\d s\n", done.stdout)
    assert [line.split(":")[1] for line in done.stderr.splitlines()] == [
        " bad\\nname.png",
        " missing.png",
        " third.png",
    ]


def test_targets_that_cannot_be(call, photo, tmp_path):
    for target, word in [
        (photo, "source"),
        (tmp_path / "none" / "a.png", "no existing folder"),
        (f"{tmp_path}/none/", "no existing folder|not an existing folder"),
        (tmp_path / "a.xyz", "must end in"),
        (tmp_path / "a", "must end in"),
        (photo / "a.png", "folder"),
    ]:
        for overwrite in ([], ["--overwrite"]):
            code, lines, errors = call("upscale", photo, target, *overwrite)
            assert (code, lines, len(errors)) == (1, [], 1)
            assert re.search(word, errors[0])
    assert names(tmp_path) == ["photo.png"]
    np.testing.assert_array_equal(np.asarray(Image.open(photo)), PIXELS)


def test_a_source_is_never_written_over(call, photo, tmp_path):
    second = tmp_path / "photo_x2.png"
    Image.fromarray(PIXELS).save(second)
    before = second.read_bytes()
    code, lines, errors = call("upscale", photo, second, photo, "--overwrite")
    assert code == 1
    assert second.read_bytes() == before
    assert len(lines) == len(errors) == 1
    assert "is a source of this call" in errors[0]
    code, _, errors = call("upscale", photo, "--output-dir", tmp_path, "--overwrite")
    assert (code, len(errors)) == (1, 1)


def test_two_sources_with_one_target(call, photo, tmp_path):
    other, out = tmp_path / "other", tmp_path / "out"
    other.mkdir()
    out.mkdir()
    Image.fromarray(PIXELS).save(other / "photo.png")
    Image.fromarray(PIXELS).save(tmp_path / "fine.png")
    code, lines, errors = call("upscale", photo, other / "photo.png", tmp_path / "fine.png", "--output-dir", out)
    assert (code, len(lines), len(errors)) == (1, 1, 2)
    assert names(out) == ["fine.png"]


def test_results_larger_than_memory(call, photo):
    for arguments in (["upscale", "--scale", "1e9"], ["resize", "--size", "2000000x2000000"]):
        command, *options = arguments
        code, lines, errors = call(command, photo, *options)
        assert (code, lines, len(errors)) == (1, [], 1)
        assert re.search(r"too large|a side of 2\*\*31 pixels or more", errors[0])
    assert names(photo.parent) == ["photo.png"]


def test_a_result_of_no_pixels(call, photo):
    code, _, errors = call("resize", photo, "--scale", "1%")
    assert (code, len(errors)) == (1, 1)
    assert "less than 1" in errors[0]


def test_memory_that_ends_on_the_way(call, photo, monkeypatch):
    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr(pillow, "resize", fail)
    code, _, errors = call("resize", photo, "--scale", "2")
    assert (code, len(errors)) == (1, 1)
    assert "memory" in errors[0]


def test_ctrl_c_is_one_line(call, photo, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    code, lines, errors = call("upscale", photo)
    assert (code, lines) == (130, [])
    assert len(errors) == 1
    assert names(photo.parent) == ["photo.png"]


def test_losses_are_told(call, tmp_path):
    Image.new("RGBA", (8, 8), (1, 2, 3, 4)).save(tmp_path / "a.png")
    code, lines, errors = call("upscale", tmp_path / "a.png", tmp_path / "b.jpg")
    assert (code, len(lines), len(errors)) == (0, 1, 1)
    assert "note: its transparency was composed on white" in errors[0]


def test_a_reader_that_goes_away_is_no_traceback():
    command = f"{sys.executable} -m imgops info | true"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("redirection", "word"),
    [(">&-", "it is closed"), ("> /dev/full", "no space left on device")],
    ids=["closed", "full"],
)
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_output_that_cannot_be_written_stops_no_work(tmp_path, redirection, word, unbuffered):
    if "full" in redirection and not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    for name in ("a.png", "b.png"):
        Image.fromarray(PIXELS).save(tmp_path / name)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}

    def run_shell(arguments):
        command = f"exec {sys.executable} -m imgops {arguments} {redirection}"
        return subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True, check=False
        )

    for arguments in (
        "upscale --method linear a.png b.png",
        "info",
        "info --json",
        "conventions",
        "taps --in 5 --out 8",
    ):
        if arguments.startswith("upscale"):
            (tmp_path / "large").mkdir()
            arguments += " large/"
        done = run_shell(arguments)
        assert done.returncode == 1
        assert done.stderr.splitlines() == [f"imgops: standard output cannot be written: {word}"]
    assert names(tmp_path / "large") == ["a.png", "b.png"]
    (tmp_path / "quiet").mkdir()
    done = run_shell("upscale a.png b.png quiet/ --quiet --method linear")
    assert (done.returncode, done.stderr, names(tmp_path / "quiet")) == (0, "", ["a.png", "b.png"])
    for name in names(tmp_path / "large"):
        with Image.open(tmp_path / "large" / name) as result:
            result.load()
            assert result.size == (14, 10)


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize("redirection", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_standard_files_are_not_taken_for_pictures(photo, redirection):
    (photo.parent / "bad.png").write_bytes(b"no picture")
    Image.fromarray(PIXELS).save(photo.parent / "other.png")
    command = f"exec {sys.executable} -m imgops upscale bad.png other.png photo.png ./ --suffix _new {redirection}"
    done = subprocess.run(["sh", "-c", command], cwd=photo.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "imgops:" not in done.stdout
    for name in ("other_new.png", "photo_new.png"):
        with Image.open(photo.parent / name) as result:
            result.load()
            assert result.size == (14, 10)
