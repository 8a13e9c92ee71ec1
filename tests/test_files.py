"""Picture files: upright, whole, with their metadata, or one clear error and nothing left behind."""

import errno
import os
import re
import struct
import subprocess
import sys
import time
import zlib

import extras
import numpy as np
import profiles
import pytest
from PIL import Image, ImageCms, PngImagePlugin

from imgops import atomic, files, formats, png, tiff

ICC = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def random_pixels(*shape, dtype=np.uint8, seed=1):
    return np.random.default_rng(seed).integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def chunks(path):
    """[(name, content)] of a PNG file, read independently of the package."""
    data, position, result = path.read_bytes(), 8, []
    while position < len(data):
        length, name = struct.unpack_from(">I4s", data, position)
        result.append((name, data[position + 8 : position + 8 + length]))
        assert zlib.crc32(data[position + 4 : position + 8 + length]) == int.from_bytes(
            data[position + 8 + length : position + 12 + length], "big"
        )
        position += length + 12
    return result


def png_file(path, *contents):
    """A PNG file of given chunks."""
    data = png.SIGNATURE
    for name, content in contents:
        data += struct.pack(">I4s", len(content), name) + content + struct.pack(">I", zlib.crc32(name + content))
    path.write_bytes(data)
    return path


def header(width, height, depth, colour_type):
    return b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)


def read_error(path):
    with pytest.raises(files.PictureError) as caught:
        files.read(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


# ---------------------------------------------------------------------------------------------------------------------
# Metadata


def upright_l():
    """An L of bright pixels: no symmetry, so each orientation differs."""
    pixels = np.zeros((5, 3), np.uint8)
    pixels[:, 0] = 200
    pixels[4, :] = 100
    return pixels


# What a camera stores for each orientation, by the EXIF table of where row 0 and column 0 are.
STORED = {
    1: lambda a: a,
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.T,
    6: lambda a: a.T[::-1],
    7: lambda a: a.T[::-1, ::-1],
    8: lambda a: a.T[:, ::-1],
}


def exif_block(orientation):
    exif = Image.Exif()
    exif[0x010F] = "A maker"
    exif[0x0112] = orientation
    exif[0x0132] = "2020:02:03 04:05:06"
    return exif.tobytes()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("extension", ["png", "tif", "jpg", "webp", "avif"])
def test_orientation_is_applied_and_reset(tmp_path, orientation, extension):
    if formats.EXTENSIONS["." + extension] not in formats.formats():
        pytest.skip(f"this Pillow has no {extension}")
    stored = Image.fromarray(
        np.ascontiguousarray(np.kron(STORED[orientation](upright_l()), np.ones((16, 16), np.uint8)))
    )
    source, target = tmp_path / f"in.{extension}", tmp_path / f"out.{extension}"
    stored.save(source, exif=exif_block(orientation), **({"quality": 100} if extension not in ("png", "tif") else {}))
    files.write(files.read(source), target)
    with Image.open(target) as result:
        middles = np.asarray(result)[8::16, 8::16].astype(int)
        middles = middles if middles.ndim == 2 else middles[..., 1]
        assert np.abs(middles - upright_l()).max() <= 4
        assert result.getexif().get(0x0112, 1) == 1
        assert result.getexif()[0x010F] == "A maker"
        assert result.getexif()[0x0132] == "2020:02:03 04:05:06"


@extras.deep_colours
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_of_16_bit_colours(tmp_path, orientation):
    upright = random_pixels(5, 3, 3, dtype=np.uint16)
    stored = np.stack([STORED[orientation](upright[..., channel]) for channel in range(3)], axis=-1)
    picture = files.Picture(np.ascontiguousarray(stored), "PNG", exif=exif_block(orientation))
    files.write(picture, tmp_path / "in.png")
    np.testing.assert_array_equal(files.read(tmp_path / "in.png").pixels, upright)


def test_files_are_probed_without_decoding_them(tmp_path, monkeypatch):
    Image.fromarray(random_pixels(5, 3, 3)).save(tmp_path / "a.png")
    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", None)
    assert files.probe(tmp_path / "a.png").size == (3, 5)


@pytest.mark.parametrize("kind", ["exif", "xmp", "raw"])
@pytest.mark.parametrize("behind", [False, True])
def test_an_orientation_is_known_from_wherever_it_stands(tmp_path, kind, behind):
    chunk = {
        "exif": (b"eXIf", exif_block(6).removeprefix(b"Exif\0\0")),
        "xmp": (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + b'<x:xmpmeta tiff:Orientation="6"/>'),
        "raw": (b"tEXt", b"Raw profile type exif\0\nexif\n%8d\n" % len(exif_block(6)) + exif_block(6).hex().encode()),
    }[kind]
    pixels = [(b"IDAT", zlib.compress(bytes(4 * 8)))]
    parts = [*pixels, chunk] if behind else [chunk, *pixels]
    path = png_file(tmp_path / "a.png", header(7, 4, 8, 0), *parts, (b"IEND", b""))
    assert files.probe(path).size == files.read(path).size == (4, 7)


def test_exif_keeps_every_other_byte(tmp_path):
    block = exif_block(6)
    Image.new("L", (2, 3)).save(tmp_path / "in.png", exif=block)
    after = files.read(tmp_path / "in.png").exif
    assert len(after) == len(block)
    differences = [i for i, (a, b) in enumerate(zip(block, after, strict=True)) if a != b]
    assert [(block[i], after[i]) for i in differences] == [(6, 1)]


def test_upright_pictures_keep_their_exif_bytes(tmp_path):
    odd = b"Exif\0\0MM\0*\0\0\0\x08\0\1\x92\x7c\0\7\0\0\0\4abcd\0\0\0\0 and bytes after it"
    Image.new("RGB", (2, 3)).save(tmp_path / "in.png", exif=odd)
    files.write(files.read(tmp_path / "in.png"), tmp_path / "out.png")
    assert dict(chunks(tmp_path / "out.png"))[b"eXIf"] == odd[6:]


def test_orientation_in_xmp_is_applied_and_reset(tmp_path):
    xmp = '<x:xmpmeta xmlns:x="adobe:ns:meta/"><r tiff:Orientation="3" note="kept"/></x:xmpmeta>'
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", xmp, "en", "XMP")
    Image.fromarray(STORED[3](upright_l()).copy()).save(tmp_path / "in.png", pnginfo=info)
    files.write(files.read(tmp_path / "in.png"), tmp_path / "out.png")
    with Image.open(tmp_path / "out.png") as result:
        np.testing.assert_array_equal(np.asarray(result), upright_l())
        assert result.text["XML:com.adobe.xmp"] == xmp.replace('"3"', '"1"')
        assert (result.text["XML:com.adobe.xmp"].lang, result.text["XML:com.adobe.xmp"].tkey) == ("en", "XMP")


def test_dpi_turns_with_the_picture(tmp_path):
    Image.new("L", (4, 6)).save(tmp_path / "in.png", dpi=(100, 300), exif=exif_block(6))
    assert files.read(tmp_path / "in.png").dpi == pytest.approx((300, 100), abs=0.02)


@pytest.mark.parametrize("extension", ["png", "jpg", "tif", "webp", "avif"])
def test_icc_profile_is_identical(tmp_path, extension):
    if formats.EXTENSIONS["." + extension] not in formats.formats():
        pytest.skip(f"this Pillow has no {extension}")
    Image.new("RGB", (4, 3), "red").save(tmp_path / f"in.{extension}", icc_profile=ICC)
    files.write(files.read(tmp_path / f"in.{extension}"), tmp_path / f"out.{extension}")
    with Image.open(tmp_path / f"out.{extension}") as result:
        assert result.info["icc_profile"] == ICC


@pytest.mark.parametrize("pixels", [Image.new("RGB", (4, 3)), random_pixels(3, 4, 3, dtype=np.uint16)], ids=["8", "16"])
def test_png_keeps_text_dpi_profile_and_gamma(tmp_path, pixels):
    text = {
        "Title": "Ein Bild",
        "Comment": "zweite\nZeile",
        "Autor": PngImagePlugin.iTXt("\u0416\u6f22", "de", "Author"),
    }
    picture = files.Picture(
        pixels,
        "PNG",
        icc_profile=ICC,
        exif=exif_block(1),
        dpi=(96.012, 96.012),
        text=text,
        colour_chunks=[(b"gAMA", struct.pack(">I", 45455))],
    )
    files.write(picture, tmp_path / "a.png")
    files.write(files.read(tmp_path / "a.png"), tmp_path / "b.png")
    for name in ("a.png", "b.png"):
        written = dict(chunks(tmp_path / name))
        assert written[b"pHYs"] == struct.pack(">IIB", 3780, 3780, 1)
        assert written[b"gAMA"] == struct.pack(">I", 45455)
        with Image.open(tmp_path / name) as result:
            result.load()
            assert result.info["icc_profile"] == ICC
            assert result.text == text
            assert (result.text["Autor"].lang, result.text["Autor"].tkey) == ("de", "Author")
    assert [name for name, _ in chunks(tmp_path / "a.png")] == [name for name, _ in chunks(tmp_path / "b.png")]


def test_transparent_grey_of_few_bits_is_scaled_with_them(tmp_path):
    lines = b"\0" + bytes([0x0F, 0xF3])
    path = png_file(
        tmp_path / "in.png",
        header(4, 1, 4, 0),
        (b"tRNS", b"\0\x0f"),
        (b"IDAT", zlib.compress(lines)),
        (b"IEND", b""),
    )
    pixels = files.read(path).pixels
    assert np.asarray(pixels).tolist() == [[0, 255, 255, 51]]
    assert np.asarray(pixels.convert("LA"))[..., 1].tolist() == [[255, 0, 0, 255]]


# ---------------------------------------------------------------------------------------------------------------------
# 16 bits


@extras.deep_colours
@pytest.mark.parametrize("channels", [2, 3, 4])
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (64, 3)])
def test_16_bit_colours_survive(tmp_path, channels, size):
    pixels = random_pixels(*size, channels, dtype=np.uint16)
    pixels[: size[0] // 2] = np.arange(size[1] * channels).reshape(1, size[1], channels) * 500
    files.write(files.Picture(pixels, "PNG"), tmp_path / "deep.png")
    np.testing.assert_array_equal(files.read(tmp_path / "deep.png").pixels, pixels)
    with Image.open(tmp_path / "deep.png") as opened:
        # Pillow keeps the high bytes, and shows grey with alpha as RGBA.
        seen = np.asarray(opened)
        high = (pixels >> 8).astype(np.uint8)
    np.testing.assert_array_equal(seen if channels > 2 else seen[..., [0, 3]], high)


@extras.deep_colours
def test_16_bit_transparent_colour_becomes_alpha(tmp_path):
    pixels = np.array([[[1, 2, 3], [1, 2, 4]]], np.uint16)
    path = png_file(
        tmp_path / "in.png",
        header(2, 1, 16, 2),
        (b"tRNS", struct.pack(">3H", 1, 2, 3)),
        (b"IDAT", zlib.compress(b"\0" + pixels.astype(">u2").tobytes())),
        (b"IEND", b""),
    )
    assert files.read(path).pixels.tolist() == [[[1, 2, 3, 0], [1, 2, 4, 65535]]]


def test_16_bits_that_a_format_cannot_hold_are_rounded_and_told(tmp_path):
    picture = files.Picture(np.full((3, 4, 3), 257 * 100 + 128, np.uint16), "PNG")
    notes = files.write(picture, tmp_path / "out.bmp")
    assert len(notes) == 1
    assert "16 bits became 8" in notes[0]
    with Image.open(tmp_path / "out.bmp") as result:
        assert result.getpixel((0, 0)) == (100, 100, 100)


def test_transparency_in_jpeg_is_told(tmp_path):
    picture = files.Picture(Image.new("RGBA", (8, 8), (255, 0, 0, 0)), "PNG")
    notes = files.write(picture, tmp_path / "out.jpg")
    assert "white" in notes[0]
    with Image.open(tmp_path / "out.jpg") as result:
        assert result.getpixel((4, 4)) == (255, 255, 255)


RGB_FORMATS = ["png", "webp", "avif", "gif", "bmp", "tga", "ppm"]


def skip_without(extension):
    if formats.EXTENSIONS["." + extension] not in formats.formats():
        pytest.skip(f"this Pillow has no {extension}")


@pytest.mark.parametrize("extension", RGB_FORMATS)
def test_cmyk_becomes_srgb_by_its_profile(tmp_path, extension):
    skip_without(extension)
    pytest.importorskip("PIL._imagingcms", reason="colours are converted by LittleCMS")
    source = tmp_path / "a.jpg"
    Image.new("CMYK", (16, 16), (255, 0, 200, 0)).save(source, quality=100, icc_profile=profiles.of_cmyk())
    notes = files.write(files.read(source), tmp_path / f"b.{extension}")
    assert notes == ["its CMYK colours became sRGB by its ICC profile; JPEG and TIFF files can keep them"]
    with Image.open(tmp_path / f"b.{extension}") as result:
        assert "icc_profile" not in result.info
        # L* = 50 is a linear light of 0.184.
        grey = 255 * (1.055 * 0.18419 ** (1 / 2.4) - 0.055)
        np.testing.assert_allclose(result.convert("RGB").getpixel((8, 8)), grey, atol=3)


@pytest.mark.parametrize("extension", RGB_FORMATS)
@pytest.mark.parametrize("profile", [None, b"no profile", ICC], ids=["none", "damaged", "of RGB"])
def test_cmyk_without_a_profile_of_its_own(tmp_path, extension, profile):
    skip_without(extension)
    image = Image.new("CMYK", (16, 16), (200, 10, 30, 40))
    notes = files.write(files.Picture(image, "TIFF", icc_profile=profile), tmp_path / f"b.{extension}")
    assert len(notes) == 1
    assert "its CMYK colours became RGB without an ICC profile" in notes[0]
    with Image.open(tmp_path / f"b.{extension}") as result:
        assert "icc_profile" not in result.info
        np.testing.assert_allclose(
            result.convert("RGB").getpixel((8, 8)), image.convert("RGB").getpixel((8, 8)), atol=3
        )


@pytest.mark.parametrize("extension", ["jpg", "tif"])
def test_cmyk_stays_where_it_can(tmp_path, extension):
    profile = profiles.of_cmyk()
    image = Image.new("CMYK", (16, 16), (200, 10, 30, 40))
    assert files.write(files.Picture(image, "TIFF", icc_profile=profile), tmp_path / f"b.{extension}") == []
    with Image.open(tmp_path / f"b.{extension}") as result:
        assert (result.mode, result.info["icc_profile"]) == ("CMYK", profile)


@pytest.mark.parametrize("extension", [*RGB_FORMATS[:-1], "jpg"])
@pytest.mark.parametrize("mode", ["I", "F", "LAB"])
def test_pixels_that_are_no_colours_are_refused_in_words(tmp_path, extension, mode):
    skip_without(extension)
    with pytest.raises(
        files.PictureError, match=rf"\(Pillow's mode {mode}\), which TIFF files keep; pass --format tif"
    ):
        files.write(files.Picture(Image.new(mode, (4, 3)), "TIFF"), tmp_path / f"b.{extension}")
    assert os.listdir(tmp_path) == []
    assert files.write(files.Picture(Image.new(mode, (4, 3)), "TIFF"), tmp_path / "b.tif") == []


@pytest.mark.parametrize(
    ("depth", "colour_type", "row", "key", "expected"),
    [
        (8, 0, bytes([44, 7]), struct.pack(">H", 256 + 44), 44),
        (4, 0, bytes([0x37]), struct.pack(">H", 16 + 3), 3 * 17),
        (8, 2, bytes([1, 2, 3, 4, 5, 6]), struct.pack(">3H", 257, 514, 3), (1, 2, 3)),
    ],
    ids=["grey", "grey of 4 bits", "RGB"],
)
def test_only_the_low_bits_of_a_transparent_colour_count(tmp_path, depth, colour_type, row, key, expected):
    contents = [header(2, 1, depth, colour_type), (b"tRNS", key), (b"IDAT", zlib.compress(b"\0" + row)), (b"IEND", b"")]
    png_file(tmp_path / "a.png", *contents)
    picture = files.read(tmp_path / "a.png")
    assert picture.pixels.info["transparency"] == expected
    assert [pixel[-1] for pixel in np.asarray(picture.pixels.convert("RGBA"))[0]] == [0, 255]


@pytest.mark.parametrize("extension", ["pgm", "png", "tif"])
def test_16_bit_grey_of_ppm_files_stays(tmp_path, extension):
    pixels = random_pixels(5, 7, dtype=np.uint16)
    (tmp_path / "a.pgm").write_bytes(b"P5 7 5 65535\n" + pixels.astype(">u2").tobytes())
    assert files.write(files.read(tmp_path / "a.pgm"), tmp_path / f"b.{extension}") == []
    with Image.open(tmp_path / f"b.{extension}") as result:
        np.testing.assert_array_equal(np.asarray(result), pixels)


def test_16_bit_grey_of_ppm_files_is_rounded_by_its_full_scale(tmp_path):
    (tmp_path / "a.pgm").write_bytes(b"P5 1 1 65535\n" + (257 * 100 + 128).to_bytes(2, "big"))
    assert "16 bits became 8" in files.write(files.read(tmp_path / "a.pgm"), tmp_path / "b.bmp")[0]
    with Image.open(tmp_path / "b.bmp") as result:
        assert result.getpixel((0, 0)) == 100


@pytest.mark.parametrize("value", [-1, 0, 65535, 65536])
def test_whole_numbers_in_ppm_files(tmp_path, value):
    picture = files.Picture(Image.new("I", (4, 3), value), "TIFF")
    if 0 <= value <= 65535:
        assert files.write(picture, tmp_path / "b.pgm") == []
        with Image.open(tmp_path / "b.pgm") as result:
            assert result.getpixel((0, 0)) == value
    else:
        with pytest.raises(files.PictureError, match=f"its own are {value} to {value}"):
            files.write(picture, tmp_path / "b.pgm")


@pytest.mark.parametrize("extension", [*RGB_FORMATS, "jpg", "tif"])
@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "YCbCr", "CMYK"])
def test_every_mode_of_colours_is_written_to_every_format(tmp_path, extension, mode):
    skip_without(extension)
    source = Image.new("RGB", (8, 8), "white")
    image = source.convert("P").convert("PA") if mode == "PA" else source.convert(mode)
    files.write(files.Picture(image, "TIFF"), tmp_path / f"b.{extension}")
    with Image.open(tmp_path / f"b.{extension}") as result:
        np.testing.assert_allclose(result.convert("RGB").getpixel((4, 4)), (255, 255, 255), atol=2)


# ---------------------------------------------------------------------------------------------------------------------
# Writing all or nothing


def test_nothing_is_overwritten_unasked(tmp_path):
    target = tmp_path / "a.png"
    target.write_bytes(b"precious")
    picture = files.Picture(Image.new("L", (2, 2)), "PNG")
    with pytest.raises(files.PictureError, match="exists already"):
        files.write(picture, target)
    assert target.read_bytes() == b"precious"
    files.write(picture, target, overwrite=True)
    assert files.read(target).size == (2, 2)
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_target_that_appears_while_writing_is_kept(tmp_path):
    target = tmp_path / "a.png"
    context = atomic.replacing(target)
    context.__enter__().write(b"ours")
    target.write_bytes(b"theirs")
    with pytest.raises(FileExistsError):
        context.__exit__(None, None, None)
    assert target.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["a.png"]


def test_without_links_a_target_that_appears_is_kept_too(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", no_links)
    target = tmp_path / "a.png"
    with atomic.replacing(target) as file:
        file.write(b"first")
    assert target.read_bytes() == b"first"
    with pytest.raises(FileExistsError), atomic.replacing(target) as file:
        file.write(b"second")
    assert target.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a.png"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(errno.ENOSPC, "No space left on device")])
def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch, error):
    def fail(*_, **__):
        raise error

    target = tmp_path / "a.png"
    target.write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", fail)
    expected = files.PictureError if isinstance(error, OSError) else error
    with pytest.raises(expected):
        files.write(files.Picture(Image.new("L", (2, 2)), "PNG"), target, overwrite=True)
    assert target.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a.png"]


def test_permissions_are_those_of_a_new_file_or_of_the_old_one(tmp_path):
    plain, target = tmp_path / "plain", tmp_path / "a.png"
    plain.touch()
    picture = files.Picture(Image.new("L", (2, 2)), "PNG")
    files.write(picture, target)
    assert target.stat().st_mode == plain.stat().st_mode
    target.chmod(0o640)
    files.write(picture, target, overwrite=True)
    assert target.stat().st_mode & 0o777 == 0o640


def test_overwriting_a_link_writes_what_it_points_to(tmp_path):
    real, link = tmp_path / "real.png", tmp_path / "link.png"
    real.write_bytes(b"old")
    link.symlink_to(real)
    files.write(files.Picture(Image.new("L", (2, 2)), "PNG"), link, overwrite=True)
    assert link.is_symlink()
    assert files.read(real).size == (2, 2)


def test_temporaries_of_killed_runs_are_removed(tmp_path):
    program = (
        "import os, sys\nfrom imgops import atomic\n"
        "with atomic.replacing(sys.argv[1]) as file:\n    file.write(b'half')\n    file.flush()\n    os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.png")], check=False)
    (left,) = os.listdir(tmp_path)
    assert left.endswith(".tmp")
    with atomic.replacing(tmp_path / "b.png") as file:
        file.write(b"whole")
        # Another writer of this process does not take the first one's file away.
        with atomic.replacing(tmp_path / "c.png") as other:
            other.write(b"whole")
    assert sorted(os.listdir(tmp_path)) == ["b.png", "c.png"]


def test_temporaries_of_running_processes_and_other_machines_stay_for_a_day(tmp_path):
    running = tmp_path / f".imgops-{atomic._host()}-{os.getppid()}-0a0a.tmp"
    elsewhere = tmp_path / ".imgops-another.machine-1-0a0a.tmp"
    old = tmp_path / ".imgops-another.machine-2-0a0a.tmp"
    foreign = tmp_path / ".imgops-notes.tmp"
    for path in (running, elsewhere, old, foreign):
        path.touch()
    os.utime(old, (time.time() - 2 * 86400,) * 2)
    atomic.remove_stale(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {running.name, elsewhere.name, foreign.name}


# ---------------------------------------------------------------------------------------------------------------------
# Bad files


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.png"
    Image.fromarray(random_pixels(20, 30, 3)).save(path)
    return path


def test_missing_empty_and_foreign_files(tmp_path):
    assert "no such file" in read_error(tmp_path / "none.png")
    assert "folder" in read_error(tmp_path)
    (tmp_path / "empty.png").touch()
    assert "empty" in read_error(tmp_path / "empty.png")
    (tmp_path / "text.png").write_text("no picture at all")
    assert "not a picture" in read_error(tmp_path / "text.png")
    assert read_error(tmp_path / "nul\0.png")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    assert "regular file" in read_error(tmp_path / "pipe.png")


def test_every_cut_and_every_changed_byte_is_found(good, tmp_path):
    data = good.read_bytes()
    broken = tmp_path / "broken.png"
    for length in range(1, len(data), 7):
        broken.write_bytes(data[:length])
        assert read_error(broken)
    broken.write_bytes(data[:-1])
    assert "cut short" in read_error(broken)
    for position in range(0, len(data) - 12, 29):
        broken.write_bytes(data[:position] + bytes([data[position] ^ 0x55]) + data[position + 1 :])
        assert read_error(broken)


def test_cut_files_of_other_formats(tmp_path):
    for extension in ("jpg", "bmp", "tif", "gif", "ppm"):
        path = tmp_path / f"cut.{extension}"
        Image.fromarray(random_pixels(40, 30, 3)).save(path)
        path.write_bytes(path.read_bytes()[:-200])
        assert read_error(path)


@extras.deep_colours
def test_16_bit_colours_with_too_few_pixels(tmp_path):
    path = png_file(tmp_path / "in.png", header(4, 4, 16, 2), (b"IDAT", zlib.compress(b"\0" * 30)), (b"IEND", b""))
    assert "cut short" in read_error(path)


@pytest.mark.parametrize("interlaced", [0, 1])
def test_picture_data_that_end_early(tmp_path, interlaced):
    """Pillow takes the rest for black."""
    with Image.open(png_file(tmp_path / "a.png", *_rows(9, 7, interlaced))) as image:
        image.load()
    assert files.read(tmp_path / "a.png").size == (9, 7)
    for missing in (1, 8, 40):
        path = png_file(tmp_path / "in.png", *_rows(9, 7, interlaced, missing))
        assert "cut short: the PNG picture data end before the last row" in read_error(path)


def _rows(width, height, interlaced, missing=0):
    data = bytes(height * (width + 1))
    if interlaced:
        # Pixels and filter bytes of the seven passes of 9 x 7, counted by hand.
        data = bytes((2 * 1 + 1) + (1 * 1 + 1) + (3 * 1 + 1) + 2 * (2 + 1) + 2 * (5 + 1) + 4 * (4 + 1) + 3 * (9 + 1))
    name, content = header(width, height, 8, 0)
    pixels = (b"IDAT", zlib.compress(data[missing:]))
    return (name, content[:-1] + bytes([interlaced])), pixels, (b"IEND", b"")


@pytest.mark.parametrize("compression", ["tiff_adobe_deflate", "tiff_lzw"])
def test_what_libtiff_says_is_the_error(tmp_path, compression, capfd):
    Image.fromarray(random_pixels(60, 50, 3)).save(tmp_path / "a.tif", compression=compression)
    data = bytearray((tmp_path / "a.tif").read_bytes())
    data[500:520] = bytes(byte ^ 0x5A for byte in data[500:520])
    (tmp_path / "a.tif").write_bytes(data)
    assert re.search(r"is damaged: .*([Dd]ecod|table)", read_error(tmp_path / "a.tif"))
    assert capfd.readouterr().err == ""


def test_palette_pictures_without_a_palette(tmp_path):
    path = png_file(tmp_path / "in.png", header(1, 1, 8, 3), (b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b""))
    assert "no palette" in read_error(path)


def test_tiff_files_without_all_of_their_strips(tmp_path):
    Image.fromarray(random_pixels(40, 30, 3)).save(tmp_path / "a.tif")
    data = bytearray((tmp_path / "a.tif").read_bytes())
    assert data[:4] == b"II*\0"
    (directory,) = struct.unpack_from("<I", data, 4)
    for entry in range(directory + 2, directory + 2 + 12 * struct.unpack_from("<H", data, directory)[0], 12):
        if struct.unpack_from("<H", data, entry)[0] == 278:
            struct.pack_into("<I", data, entry + 8, 10)
    (tmp_path / "a.tif").write_bytes(data)
    assert "1 of the 4 parts" in read_error(tmp_path / "a.tif")


@extras.deep_colours
@pytest.mark.parametrize("channels", [2, 3, 4])
def test_16_bit_colours_in_tiff_files(tmp_path, channels):
    pixels = random_pixels(31, 20, channels, dtype=np.uint16)
    picture = files.Picture(pixels, "PNG", icc_profile=ICC, exif=exif_block(1), dpi=(72.0, 96.0))
    assert files.write(picture, tmp_path / "a.tif") == []
    again = files.read(tmp_path / "a.tif")
    np.testing.assert_array_equal(again.pixels, pixels if channels > 2 else pixels[..., [0, 0, 0, 1]])
    assert (again.icc_profile, again.dpi, again.notes) == (ICC, (72, 96), [])
    exif = Image.Exif()
    exif.load(again.exif)
    assert (exif[0x010F], exif[0x0132]) == ("A maker", "2020:02:03 04:05:06")


@extras.deep_colours
@pytest.mark.parametrize("options", [{}, {"compression": "zlib"}, {"tile": (16, 16)}, {"byteorder": ">"}], ids=str)
def test_16_bit_colours_of_other_writers(tmp_path, options):
    import tifffile

    pixels = random_pixels(31, 20, 3, dtype=np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", pixels, photometric="rgb", **options)
    np.testing.assert_array_equal(files.read(tmp_path / "a.tif").pixels, pixels)


@pytest.mark.parametrize("extension", ["tif", "png"])
def test_without_the_packages_16_bits_become_8_and_that_is_told(tmp_path, monkeypatch, extension):
    for module in (png, tiff):
        monkeypatch.setattr(module, "available", lambda: False)
    notes = files.write(files.Picture(np.full((3, 4, 3), 257 * 7, np.uint16), "PNG"), tmp_path / f"a.{extension}")
    name = {"tif": "TIFF", "png": "PNG"}[extension]
    assert notes == [f"its 16 bits became 8: 16-bit colours in {name} files need the packages of imgops[files]"]
    with Image.open(tmp_path / f"a.{extension}") as result:
        assert result.getpixel((0, 0)) == (7, 7, 7)


def test_without_the_packages_16_bit_colours_are_read_as_8_and_that_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(png, "available", lambda: False)
    key = (b"tRNS", struct.pack(">3H", 0x1234, 0x5678, 0x9ABC))
    row = b"\0" + struct.pack(">6H", 0x1234, 0x5678, 0x9ABC, 0x1334, 0x5678, 0x9ABC)
    path = png_file(tmp_path / "a.png", header(2, 1, 16, 2), key, (b"IDAT", zlib.compress(row)), (b"IEND", b""))
    picture = files.read(path)
    assert picture.notes == ["its 16-bit colours are read as 8-bit: the packages of imgops[files] read more"]
    assert np.asarray(picture.pixels.convert("RGBA")).tolist() == [[[0x12, 0x56, 0x9A, 0], [0x13, 0x56, 0x9A, 255]]]


def test_exif_directories_in_tiff_files(tmp_path):
    exif = Image.Exif()
    exif[0x010F] = "A maker"
    exif[0x8769] = {0x9003: "2019:01:01 00:00:00"}
    exif[0x8825] = {1: "N"}
    Image.new("RGB", (4, 3)).save(tmp_path / "a.jpg", exif=exif)
    for source, target in (("a.jpg", "b.tif"), ("b.tif", "c.tif"), ("c.tif", "d.jpg")):
        files.write(files.read(tmp_path / source), tmp_path / target)
        with Image.open(tmp_path / target) as result:
            kept = result.getexif()
            assert kept[0x010F] == "A maker"
            assert kept.get_ifd(0x8769)[0x9003] == "2019:01:01 00:00:00"
            assert kept.get_ifd(0x8825)[1] == "N"


def test_decompression_bombs_are_refused(tmp_path):
    path = png_file(
        tmp_path / "b.png", header(60000, 60000, 8, 0), (b"IDAT", zlib.compress(b"\0" * 99)), (b"IEND", b"")
    )
    assert "decompression bomb" in read_error(path)
    text = (b"zTXt", b"Comment\0\0" + zlib.compress(b"a" * 2**26))
    path = png_file(tmp_path / "t.png", header(1, 1, 8, 0), text, (b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b""))
    assert read_error(path)


def test_a_picture_past_half_the_limit_is_told_about(monkeypatch, good):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 400)
    assert any("bomb" in note for note in files.read(good).notes)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 200)
    assert "more than 400 pixels" in read_error(good)


def test_targets_that_cannot_be_written(tmp_path, good):
    picture = files.read(good)
    with pytest.raises(files.PictureError, match=r"no existing folder; make it first"):
        files.write(picture, tmp_path / "none" / "a.png")
    with pytest.raises(files.PictureError, match=r"\.png, \.apng, \.jpg"):
        files.write(picture, tmp_path / "a.xyz")
    with pytest.raises(files.PictureError, match="folder"):
        files.write(picture, tmp_path)
    with pytest.raises(files.PictureError, match="cannot be written as PNG: its pixels are 32-bit"):
        files.write(files.Picture(Image.new("F", (2, 2)), "TIFF"), tmp_path / "a.png")
    with pytest.raises(files.PictureError, match="too long"):
        files.write(picture, tmp_path / ("a" * 300 + ".png"))
    assert os.listdir(tmp_path) == ["good.png"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path, good):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(files.PictureError, match="permission"):
        files.write(files.read(good), folder / "a.png")


def test_no_permission_by_the_systems_word(tmp_path, good, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(files.PictureError, match="no permission"):
        files.write(files.read(good), tmp_path / "a.png")


def test_results_larger_than_memory_are_refused(monkeypatch):
    files.check_memory((1000, 1000))
    with pytest.raises(files.PictureError, match="too large"):
        files.check_memory((10**6, 10**6))
    with pytest.raises(files.PictureError, match="too large"):
        files.check_memory((1000, 1000), frames=10**7)
    monkeypatch.setattr(files.memory, "available", lambda: None)
    files.check_memory((10**6, 10**6))
