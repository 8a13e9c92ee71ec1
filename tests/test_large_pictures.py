"""Pictures that are large beside memory: two images and a band at most, and TIFF files not even that."""

import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from imgops import batches, cli, files, large, pillow

_PEAK = """
import resource, sys
from imgops import cli
code = cli.main(sys.argv[1:])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(peak * (1 if sys.platform == "darwin" else 1024))
sys.exit(code)
"""


def peak(*arguments):
    """Bytes that the command had in memory at most."""
    pytest.importorskip("resource", reason="this system does not tell a process's peak")
    command = [sys.executable, "-c", _PEAK, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


def smooth(height, width, channels, dtype=np.uint8):
    rows, columns = np.mgrid[0:height, 0:width]
    planes = [rows * (3 + index) // 7 + columns * (5 - index) // 3 for index in range(channels)]
    return np.stack(planes, axis=-1).astype(dtype)


@pytest.mark.parametrize(
    ("channels", "options"),
    [(3, ()), (3, ("--mode", "nearest")), (3, ("--linear-light",)), (4, ()), (4, ("--mode", "cubic"))],
)
def test_two_images_and_little_else_are_in_memory(tmp_path, channels, options):
    Image.new("RGB", (8, 8)).save(tmp_path / "small.png")
    pillow.to_image(smooth(2000, 1500, channels)).save(tmp_path / "large.png", compress_level=1)
    idle = peak("resize", tmp_path / "small.png", "--scale", 2, *options)
    # Pillow has four bytes a pixel.
    images = 4 * 2000 * 1500 * (1 + 4)
    working = peak("resize", tmp_path / "large.png", "--scale", 2, *options) - idle
    assert working < images + 160e6 if "--linear-light" in options or channels == 4 else working < images + 60e6


def tifffile():
    pytest.importorskip("imagecodecs", reason="belongs to the same extra")
    return pytest.importorskip("tifffile", reason="streaming needs the package tifffile")


@pytest.fixture
def everything_streams(monkeypatch):
    tifffile()
    monkeypatch.setattr(large, "STREAMED_BYTES", 0)
    monkeypatch.setattr(files, "read", None)


@pytest.mark.usefixtures("everything_streams")
@pytest.mark.parametrize("layout", [{}, {"tile": (16, 32)}, {"rowsperstrip": 7}], ids=["one strip", "tiles", "strips"])
@pytest.mark.parametrize("compression", [None, "zlib", "lzw"])
@pytest.mark.parametrize(
    ("channels", "dtype"), [(1, np.uint8), (3, np.uint8), (4, np.uint8), (3, np.uint16), (1, np.uint16)]
)
def test_streams_equal_the_whole(tmp_path, layout, compression, channels, dtype):
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, np.iinfo(dtype).max, (301, 153, channels), dtype, endpoint=True)
    pixels = pixels[..., 0] if channels == 1 else pixels
    extra = {"extrasamples": ["unassalpha"]} if channels == 4 else {}
    photometric = "minisblack" if channels == 1 else "rgb"
    tifffile().imwrite(tmp_path / "a.tif", pixels, photometric=photometric, compression=compression, **layout, **extra)
    for size, mode in (((306, 602), "linear"), ((77, 100), "cubic"), ((500, 301), "nearest")):
        target = tmp_path / f"{mode}.tif"
        arguments = ["resize", str(tmp_path / "a.tif"), str(target), "--size", f"{size[0]}x{size[1]}", "--mode", mode]
        assert cli.main(arguments) == 0
        bands = pillow.bands_of_pixels(pixels.shape, size, mode=mode)
        expected = bands.band(0, size[1], pixels[slice(*bands.input_rows(0, size[1]))])
        with tifffile().TiffFile(target) as result:
            assert result.pages[0].is_tiled
            np.testing.assert_array_equal(result.pages[0].asarray(), expected)


@pytest.mark.usefixtures("everything_streams")
def test_streams_keep_metadata(tmp_path):
    exif = Image.Exif()
    exif[0x010F] = "A maker"
    image = pillow.to_image(smooth(20, 30, 3))
    image.save(tmp_path / "a.tif", exif=exif, icc_profile=b"a profile", dpi=(72, 96))
    assert cli.main(["upscale", str(tmp_path / "a.tif")]) == 0
    with Image.open(tmp_path / "a_x2.tif") as result:
        assert result.size == (60, 40)
        assert result.info["icc_profile"] == b"a profile"
        assert result.info["dpi"] == (72, 96)
        assert result.getexif()[0x010F] == "A maker"
        np.testing.assert_array_equal(np.asarray(result), np.asarray(pillow.upscale(image, 2)))


@pytest.mark.usefixtures("everything_streams")
def test_a_broken_stream_leaves_nothing(tmp_path, capsys):
    tifffile().imwrite(tmp_path / "a.tif", smooth(300, 200, 3), photometric="rgb", tile=(64, 64), compression="zlib")
    data = bytearray((tmp_path / "a.tif").read_bytes())
    with tifffile().TiffFile(tmp_path / "a.tif") as file:
        middle = file.pages[0].dataoffsets[-2]
    data[middle : middle + 40] = bytes(40)
    (tmp_path / "a.tif").write_bytes(data)
    assert cli.main(["upscale", str(tmp_path / "a.tif")]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 1
    assert "is damaged" in errors[0]
    assert [path.name for path in tmp_path.iterdir()] == ["a.tif"]


@pytest.mark.parametrize(
    "options",
    [
        {"photometric": "separated"},
        {"photometric": "rgb", "planarconfig": "separate"},
        {"photometric": "rgb", "extrasamples": ["assocalpha"]},
    ],
    ids=str,
)
def test_other_tiff_files_do_not_stream(tmp_path, monkeypatch, options):
    module = tifffile()
    monkeypatch.setattr(large, "STREAMED_BYTES", 0)
    channels = 3 if "planarconfig" in options else 4
    pixels = smooth(20, 30, channels)
    module.imwrite(tmp_path / "a.tif", pixels.transpose(2, 0, 1) if channels == 3 else pixels, **options)
    assert not large.streams(tmp_path / "a.tif", "TIFF", (60, 40))
    (tmp_path / "b.tif").write_bytes(b"II*\0 no TIFF file")
    assert not large.streams(tmp_path / "b.tif", "TIFF", (60, 40))


def test_small_pictures_and_other_formats_do_not_stream(tmp_path):
    pillow.to_image(smooth(20, 30, 3)).save(tmp_path / "a.tif")
    assert not large.streams(tmp_path / "a.tif", "TIFF", (60, 40))
    assert not large.streams(tmp_path / "a.tif", "PNG", (60000, 40000))


@pytest.mark.usefixtures("everything_streams")
def test_streams_are_planned_whatever_memory_there_is(tmp_path, monkeypatch):
    pillow.to_image(smooth(20, 30, 3)).save(tmp_path / "a.tif")
    monkeypatch.setattr(files.memory, "available", lambda: 1)
    places = batches.Places((str(tmp_path / "a.tif"),))
    plan = batches.plan(places, batches.Recipe(scale=2), lambda _: "_x2")
    assert [job.streamed for job in plan.jobs] == [True]


@pytest.mark.usefixtures("everything_streams")
def test_what_a_stream_leaves_out_is_told(tmp_path, capsys):
    exif = Image.Exif()
    exif[0x010F], exif[0x8769] = "A maker", {0x9003: "2019:01:01 00:00:00"}
    picture = files.Picture(pillow.to_image(smooth(40, 30, 3)), "TIFF", exif=exif.tobytes())
    files.write(picture, tmp_path / "a.tif")
    assert cli.main(["resize", str(tmp_path / "a.tif"), "--scale", "2"]) == 0
    assert "note: its EXIF details are left out" in capsys.readouterr().err
    assert cli.main(["resize", str(tmp_path / "a.tif"), "--scale", "3", "--strict"]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tif", "a_60x80.tif"]
