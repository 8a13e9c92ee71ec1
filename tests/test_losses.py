"""Every mode of pixels and every kind of metadata to every format: what does not survive is refused or said."""

import struct
import zlib

import extras
import numpy as np
import profiles
import pytest
from PIL import Image, ImageCms, PngImagePlugin

from imgops import depths, files, formats, png, tiff

SIZE = (24, 16)
FORMATS = [pytest.param(name, id=name.lower()) for name in formats.FORMATS]
XMP = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><r note="kept"/></x:xmpmeta>'


def extension(name):
    if name not in formats.formats():
        pytest.skip(f"this Pillow has no {name}")
    return formats.FORMATS[name].extensions[0]


# ---------------------------------------------------------------------------------------------------------------------
# Pixels


def ramp(channels, top=255, dtype=np.uint8):
    """Smooth, so that lossy formats are close."""
    columns, rows = np.meshgrid(np.linspace(0, 1, SIZE[0]), np.linspace(0, 1, SIZE[1]))
    values = [columns, rows, (columns + rows) / 2, 1 - columns][:channels]
    return np.rint(np.stack(values, axis=-1) * top).astype(dtype)


def keyed(image, key):
    image.info["transparency"] = key
    return image


def palette(alphas=None):
    image = Image.fromarray(ramp(3)).quantize(8)
    return image if alphas is None else keyed(image, alphas)


def grey_alpha():
    return Image.fromarray(ramp(4)[..., [0, 3]])


def hard(array):
    """Without what lies between opaque and transparent."""
    array = array.copy()
    array[..., -1] = np.where(array[..., -1] < np.iinfo(array.dtype).max // 2, 0, np.iinfo(array.dtype).max)
    return array


RGB16 = ramp(4, 65535, np.uint16)
GREY16 = np.ascontiguousarray(RGB16[..., 0])
PIXELS = {
    "1": lambda: Image.fromarray(ramp(1)[..., 0]).convert("1"),
    "1 with a key": lambda: keyed(Image.fromarray(ramp(1)[..., 0] > 99), 255),
    "L": lambda: Image.fromarray(ramp(1)[..., 0]),
    "L with a key": lambda: keyed(Image.fromarray(ramp(1)[..., 0] // 64 * 64), 64),
    "LA": grey_alpha,
    "LA, hard": lambda: Image.fromarray(hard(ramp(4)[..., [0, 3]])),
    "La": lambda: grey_alpha().convert("La"),
    "P": palette,
    "P with a key": lambda: palette(3),
    "P with alphas": lambda: palette(bytes([0, 40, 80, 120, 160, 200, 240, 255])),
    "PA": lambda: palette(bytes([0, 40, 80, 120, 160, 200, 240, 255])).convert("PA"),
    "RGB": lambda: Image.fromarray(ramp(3)),
    "RGB with a key": lambda: keyed(Image.fromarray(ramp(3) // 64 * 64), (64, 64, 64)),
    "RGBA": lambda: Image.fromarray(ramp(4)),
    "RGBA, hard": lambda: Image.fromarray(hard(ramp(4) // 64 * 64)),
    "RGBa": lambda: Image.fromarray(ramp(4)).convert("RGBa"),
    "RGBX": lambda: Image.fromarray(ramp(3)).convert("RGBX"),
    "CMYK": lambda: Image.fromarray(ramp(3)).convert("CMYK"),
    "YCbCr": lambda: Image.fromarray(ramp(3)).convert("YCbCr"),
    "HSV": lambda: Image.fromarray(ramp(3)).convert("HSV"),
    "LAB": lambda: ImageCms.profileToProfile(
        Image.fromarray(ramp(3)), ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), outputMode="LAB"
    ),
    "I": lambda: Image.fromarray(GREY16.astype(np.int32)),
    "I past 16 bits": lambda: Image.fromarray(GREY16.astype(np.int32) * 3 - 70000),
    "F": lambda: Image.fromarray(GREY16.astype(np.float32) / 7),
    "I;16": lambda: Image.fromarray(GREY16),
    "I;16B": lambda: Image.frombytes("I;16B", SIZE, GREY16.astype(">u2").tobytes()),
    "I;16 with a key": lambda: keyed(Image.fromarray(GREY16 // 9000 * 9000), 9000),
    "16-bit grey and alpha": lambda: np.ascontiguousarray(RGB16[..., [0, 3]]),
    "16-bit RGB": lambda: np.ascontiguousarray(RGB16[..., :3]),
    "16-bit RGBA": lambda: RGB16.copy(),
}


KINDS = [pytest.param(kind, marks=extras.deep_colours if "16" in kind else ()) for kind in PIXELS]


def seen(pixels):
    """(H, W, 4) of float64, colours of 0..255 multiplied by alpha, and alpha; values for what is no colour."""
    if isinstance(pixels, np.ndarray) or pixels.mode.startswith("I;16"):
        array = np.asarray(pixels)
        values = (array if array.ndim == 3 else array[..., None]) / 257
        key = None if isinstance(pixels, np.ndarray) else pixels.info.get("transparency")
        alpha = np.where(array == key, 0, 255.0)[..., None] if key is not None else np.full_like(values[..., :1], 255)
        if values.shape[2] in (2, 4):
            values, alpha = values[..., :-1], values[..., -1:]
    elif pixels.mode in ("I", "F", "LAB"):
        array = np.asarray(pixels).astype(np.float64)
        values, alpha = array.reshape(*array.shape[:2], -1), np.full((*array.shape[:2], 1), 255.0)
    else:
        straight = {"La": "LA", "RGBa": "RGBA"}.get(pixels.mode, pixels.mode)
        array = np.asarray(pixels.convert(straight).convert("RGBA")).astype(np.float64)
        values, alpha = array[..., :3], array[..., 3:]
    values = values if values.shape[2] == 3 else np.repeat(values, 3, axis=2)
    return np.concatenate([values * (alpha / 255), alpha], axis=2)


def bits(pixels):
    if isinstance(pixels, np.ndarray):
        return 16
    return {"I": 32, "F": 32}.get(pixels.mode, 16 if pixels.mode.startswith("I;16") else 8)


LOSSY = ("JPEG", "WEBP", "AVIF")


def far(expected, found, name, rounding):
    difference = np.abs(expected - found)
    return difference.mean() > 9 if name in LOSSY else difference.max() > rounding


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_pixels_lose_is_said(tmp_path, kind, name):
    target = tmp_path / f"a{extension(name)}"
    pixels = PIXELS[kind]()
    before = pixels.copy()
    refused = kind in ("LAB", "I", "I past 16 bits", "F") and name != "TIFF"
    if refused and not (name == "PPM" and kind in ("I", "F")):
        with pytest.raises(files.PictureError, match="pass --format tif"):
            files.write(files.Picture(pixels, "PNG"), target)
        assert not target.exists()
        return
    notes = files.write(files.Picture(pixels, "PNG"), target, quality=100)
    assert seen(before).tolist() == seen(pixels).tolist()
    result = files.read(target).pixels
    expected, found = seen(before), seen(result)
    if name == "PPM" and kind == "I":
        np.testing.assert_array_equal(np.asarray(result), GREY16)
        return
    lost = {"16 bits"} if bits(result) < bits(before) else set()
    # Blocks of a lossy format ring at edges; of 8 bits there is a rounding, of colours multiplied by alpha some more.
    rounding = 1e-3 if bits(result) > 8 else 2 if kind in ("La", "RGBa", "HSV", "YCbCr") else 0.51
    if far(expected[..., 3:], found[..., 3:], name, rounding):
        lost.add("transparency")
        on_white = expected[..., :3] + 255 - expected[..., 3:]
        assert name == "GIF" or not far(on_white, found[..., :3], name, 2)
    elif far(expected, found, name, rounding) or (kind == "CMYK" and "CMYK" not in formats.FORMATS[name].modes):
        lost.add("colours")
    said = {word for word in ("16 bits", "transparency", "colours") if any(word in note for note in notes)}
    assert said == lost, (notes, np.abs(expected - found).max(axis=(0, 1)))


# ---------------------------------------------------------------------------------------------------------------------
# Metadata


def exif_block():
    exif = Image.Exif()
    exif[0x010F] = "A maker"
    exif[0x0132] = "2020:02:03 04:05:06"
    exif[0x8769] = {0x9003: "2019:01:01 00:00:00"}
    return exif.tobytes()


def wide(space=b"RGB "):
    return profiles.of_cmyk() if space == b"CMYK" else profiles.with_curves(profiles.gamma(1.2), space)


WITH_METADATA = ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "16-bit RGB", "16-bit grey and alpha")
METADATA = {
    "ICC profile": {"icc_profile": wide},
    "EXIF": {"exif": exif_block},
    "XMP": {"xmp": lambda: XMP},
    "dpi": {"dpi": lambda: (72.0, 96.0)},
    "Author": {"text": lambda: {"Author": "N. N."}},
    "Comment": {"text": lambda: {"Comment": "two\nlines \u00e4"}},
    "gamma": {"colour_chunks": lambda: [(b"gAMA", struct.pack(">I", 100000))]},
}


def survives(word, before, after):
    if word == "EXIF":
        exif = Image.Exif()
        exif.load(after.exif or b"")
        return exif.get(0x010F) == "A maker" and exif.get_ifd(0x8769).get(0x9003) == "2019:01:01 00:00:00"
    if word == "dpi":
        return after.dpi is not None and np.allclose(before.dpi, after.dpi, atol=0.02)
    (attribute,) = METADATA[word]
    return getattr(before, attribute) == getattr(after, attribute)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.values[0] in WITH_METADATA])
@pytest.mark.parametrize("word", METADATA)
def test_what_metadata_are_lost_is_said(tmp_path, word, kind, name):
    target = tmp_path / f"a{extension(name)}"
    ((attribute, make),) = METADATA[word].items()
    grey = kind in ("1", "L", "LA", "I;16", "16-bit grey and alpha")
    value = make(b"GRAY" if grey else b"CMYK" if kind == "CMYK" else b"RGB ") if word == "ICC profile" else make()
    picture = files.Picture(PIXELS[kind](), "PNG", **{attribute: value})
    if word == "ICC profile" and not isinstance(picture.pixels, np.ndarray):
        picture.pixels.info["icc_profile"] = value
    notes = files.write(picture, target)
    said = [note for note in notes if word in note]
    assert bool(said) != survives(word, picture, files.read(target)), notes
    if word == "ICC profile":
        with Image.open(target) as result:
            result.load()
            assert result.info.get("icc_profile") in (None, value)
            if any("became sRGB" in note for note in said):
                eight = picture.pixels if "16" not in kind else formats.eight_bit(picture.pixels)
                expected = seen(formats.in_srgb(eight, value))
                if not any("transparency" in note or "256" in note for note in notes):
                    assert not far(expected, seen(result), name, 2)
    assert not [note for note in notes if " EXIF" in note] or word == "EXIF"


def test_a_profile_of_srgb_changes_nothing(tmp_path):
    pixels = Image.fromarray(ramp(3))
    icc = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    notes = files.write(files.Picture(pixels, "PNG", icc_profile=icc), tmp_path / "a.bmp")
    assert notes == ["its ICC profile is left out, since BMP files hold none for such pixels"]
    assert files.read(tmp_path / "a.bmp").pixels.tobytes() == pixels.tobytes()


def test_a_wide_profile_is_gone_into_colours(tmp_path):
    pytest.importorskip("PIL._imagingcms", reason="colours are converted by LittleCMS")
    picture = files.Picture(Image.new("RGB", (4, 4), (128, 128, 128)), "PNG", icc_profile=wide())
    assert "became sRGB" in files.write(picture, tmp_path / "a.bmp")[0]
    light = (128 / 255) ** 1.2
    grey = 255 * (1.055 * light ** (1 / 2.4) - 0.055)
    np.testing.assert_allclose(files.read(tmp_path / "a.bmp").pixels.getpixel((0, 0)), grey, atol=1.5)


@pytest.mark.parametrize(("key", "length"), [("exif", 70000), ("xmp", 65600), ("comment", 70000)])
def test_metadata_that_are_too_long_for_jpeg_do_not_stop_the_picture(tmp_path, key, length):
    exif = Image.Exif()
    exif[0x010F] = "m" * length
    values = {"exif": exif.tobytes(), "xmp": b"x" * length, "text": {"Comment": "c" * length}}
    attribute = "text" if key == "comment" else key
    picture = files.Picture(Image.new("RGB", (4, 4)), "PNG", **{attribute: values[attribute]})
    (note,) = files.write(picture, tmp_path / "a.jpg")
    assert "left out" in note
    assert files.read(tmp_path / "a.jpg").size == (4, 4)


def test_metadata_of_readers_alone_are_told(tmp_path):
    tifffile = pytest.importorskip("tifffile", reason="makes the file")
    geographic = [(33550, "d", 3, (1.0, 1.0, 0.0), True), (42113, "s", 0, "0", True)]
    tifffile.imwrite(tmp_path / "a.tif", ramp(3), photometric="rgb", extratags=geographic)
    assert files.read(tmp_path / "a.tif").notes == ["its TIFF tags 33550, 42113 are left out"]
    Image.new("RGB", (4, 4)).save(tmp_path / "a.jpg")
    data = (tmp_path / "a.jpg").read_bytes()
    block = b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0\0\x08\x1c\x02\x05\0\x03abc"
    (tmp_path / "a.jpg").write_bytes(data[:2] + b"\xff\xed" + struct.pack(">H", len(block) + 2) + block + data[2:])
    assert files.read(tmp_path / "a.jpg").notes == ["its IPTC or Photoshop data are left out"]


# ---------------------------------------------------------------------------------------------------------------------
# Frames


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("kind", ["animation", "pages"])
def test_frames_are_kept_or_refused(tmp_path, kind, name):
    target = tmp_path / f"a{extension(name)}"
    durations = [33.4, 70.0, 120.0] if kind == "animation" else [None] * 3
    frames = [
        files.Picture(Image.new("RGB", (8, 8), (80 * index, 0, 99)), "GIF", duration=duration)
        for index, duration in enumerate(durations)
    ]
    picture, picture.more, picture.loop = frames[0], frames[1:], 3
    if formats.FORMATS[name].several != kind:
        with pytest.raises(files.PictureError, match="choose another format"):
            files.write(picture, target)
        assert not target.exists()
        return
    notes = files.write(picture, target)
    again = files.read(target)
    assert len(again.frames) == 3
    if kind == "animation":
        exact = np.allclose([frame.duration for frame in again.frames], durations, atol=0.01)
        assert exact != any("durations" in note for note in notes)
        # GIF files count the plays after the first.
        plays = {"GIF": 3, "AVIF": 0}.get(name, 4 if name != "GIF" else 3)
        assert again.loop in (3, plays)
        assert (again.loop == 3) != any("played" in note for note in notes)
    else:
        assert notes == []


# ---------------------------------------------------------------------------------------------------------------------
# Reading


def png_of(depth, colour_type, row, *more):
    data = png.SIGNATURE
    header = struct.pack(">IIBBBBB", 1, 1, depth, colour_type, 0, 0, 0)
    for name, content in ((b"IHDR", header), *more, (b"IDAT", zlib.compress(b"\0" + row)), (b"IEND", b"")):
        data += struct.pack(">I4s", len(content), name) + content + struct.pack(">I", zlib.crc32(name + content))
    return data


def tiff_of(bits, channels, photometric, data, *more):
    """A TIFF file of one pixel (TIFF 6.0)."""
    tags = {256: (4, 1), 257: (4, 1), 258: (3, *[bits] * channels), 259: (3, 1), 262: (3, photometric)}
    tags |= {273: (4, 8), 277: (3, channels), 278: (4, 1), 279: (4, len(data)), **dict(more)}
    entries, extra = b"", b""
    start = 8 + len(data) + len(data) % 2
    outside = start + 2 + 12 * len(tags) + 4
    for tag, (kind, *values) in sorted(tags.items()):
        content = struct.pack(f"<{len(values)}{'H' if kind == 3 else 'I'}", *values)
        if len(content) > 4:
            content, extra = struct.pack("<I", outside + len(extra)), extra + content
        entries += struct.pack("<HHI", tag, kind, len(values)) + content.ljust(4, b"\0")
    head = b"II*\0" + struct.pack("<I", start)
    return (head + data).ljust(start, b"\0") + struct.pack("<H", len(tags)) + entries + bytes(4) + extra


def test_bits_that_pillow_does_not_read_are_told(tmp_path, monkeypatch):
    for module in (png, tiff):
        monkeypatch.setattr(module, "available", lambda: False)
    deep = {
        "RGB.png": png_of(16, 2, bytes(6)),
        "LA.png": png_of(16, 4, bytes(4)),
        "RGB.tif": tiff_of(16, 3, 2, bytes(6)),
        "planes.tif": tiff_of(16, 3, 2, bytes(6), (273, (4, 8, 10, 12)), (279, (4, 2, 2, 2)), (284, (3, 2))),
        "CMYK.tif": tiff_of(16, 4, 5, bytes(8)),
        "a.ppm": b"P6 1 1 65535\n" + bytes(6),
        "b.ppm": b"P3 1 1 1023\n1023 0 7\n",
    }
    plain = {"RGB8.png": png_of(8, 2, bytes(3)), "RGB8.tif": tiff_of(8, 3, 2, bytes(3)), "c.ppm": b"P6 1 1 255\nabc"}
    for name, data in {**deep, **plain}.items():
        (tmp_path / name).write_bytes(data)
        told = [note for note in files.read(tmp_path / name).notes if "-bit colours are read as 8-bit" in note]
        assert len(told) == (name in deep), name
        assert all(
            ("imgops[files]" in note) == (name in ("RGB.png", "LA.png", "RGB.tif", "planes.tif")) for note in told
        )
    assert "its 10-bit" in files.read(tmp_path / "b.ppm").notes[0]


def test_bmp_files_of_16_bits_a_pixel_have_no_more_than_8_a_colour(tmp_path):
    head = struct.pack("<IiiHHIIiiII", 40, 1, 1, 1, 16, 0, 4, 0, 0, 0, 0)
    (tmp_path / "a.bmp").write_bytes(b"BM" + struct.pack("<IHHI", 58, 0, 0, 54) + head + b"\x1f\0\0\0")
    picture = files.read(tmp_path / "a.bmp")
    assert (picture.pixels.getpixel((0, 0)), picture.notes) == ((0, 0, 255), [])


def test_deep_avif_and_jpeg_2000(tmp_path):
    imagecodecs = pytest.importorskip("imagecodecs", reason="makes the files")
    pixels = ramp(3, 1023, np.uint16)
    (tmp_path / "a.jp2").write_bytes(imagecodecs.jpeg2k_encode(pixels, bitspersample=10))
    (tmp_path / "a.avif").write_bytes(imagecodecs.avif_encode(pixels, bitspersample=10))
    for name in ("JPEG2000", "AVIF"):
        notes = files.read(tmp_path / f"a{extension(name)}").notes
        assert notes == ["its 10-bit colours are read as 8-bit"]


def test_colours_that_an_avif_file_tells_by_number():
    class Opened:
        format, mode, info, tile = "AVIF", "RGB", {}, ()

    def notes(primaries, curve, flags=0):
        start = b"colrnclx" + struct.pack(">HHHB", primaries, curve, 9, 0x80) + b"av1C\x81\x20" + bytes([flags, 0])
        return depths.narrowing(__import__("io").BytesIO(start), Opened)

    assert notes(1, 13) == notes(2, 2) == []
    assert "primaries 9 and transfer curve 16" in notes(9, 16)[0]
    assert notes(1, 13, 0x60) == ["its 12-bit colours are read as 8-bit"]


@pytest.mark.parametrize(("bits", "photometric", "data", "expected"), [
    (16, 1, struct.pack("<H", 1000), 1000),
    (16, 0, struct.pack("<H", 1000), 64535),
    (12, 1, b"\xff\xf0", 65535),
    (12, 1, b"\x80\x00", 32776),
])  # fmt: skip
def test_grey_of_tiff_files_is_read_at_full_scale(tmp_path, bits, photometric, data, expected):
    (tmp_path / "a.tif").write_bytes(tiff_of(bits, 1, photometric, data))
    assert files.read(tmp_path / "a.tif").pixels.getpixel((0, 0)) == expected


@extras.deep_colours
@pytest.mark.parametrize(("planes", "premultiplied"), [(False, False), (False, True), (True, False)])
def test_16_bit_colours_of_every_layout_in_tiff_files(tmp_path, planes, premultiplied):
    import tifffile

    straight = RGB16.copy()
    straight[..., 3] = np.maximum(straight[..., 3], 30000)
    stored = straight.copy()
    if premultiplied:
        stored[..., :3] = np.rint(straight[..., :3] * (straight[..., 3:] / 65535.0))
    options = {"photometric": "rgb", "extrasamples": ["assocalpha" if premultiplied else "unassalpha"]}
    if planes:
        stored = np.moveaxis(stored, -1, 0)
        options["planarconfig"] = "separate"
    tifffile.imwrite(tmp_path / "a.tif", stored, **options)
    picture = files.read(tmp_path / "a.tif")
    assert picture.notes == []
    assert np.abs(picture.pixels.astype(int) - straight).max() <= (2 if premultiplied else 0)


def test_pictures_beside_the_one_that_is_read_are_told(tmp_path):
    Image.new("RGB", (32, 32)).save(tmp_path / "a.ico", sizes=[(16, 16), (32, 32)])
    picture = files.read(tmp_path / "a.ico")
    assert picture.size == (32, 32)
    assert picture.notes == ["the further pictures in its file are left out (1): previews, gain maps, layers or sizes"]
    images = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    images[0].save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=images[1:])
    assert len(files.read(tmp_path / "a.jpg").notes) == 1


def test_text_of_png_files_that_xmp_and_exif_came_in(tmp_path):
    info = PngImagePlugin.PngInfo()
    info.add_itxt("XML:com.adobe.xmp", XMP.decode())
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png", pnginfo=info)
    assert files.write(files.read(tmp_path / "a.png"), tmp_path / "a.jpg") == []
    assert files.read(tmp_path / "a.jpg").xmp == XMP
