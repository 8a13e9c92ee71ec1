"""Animations and pages: as many frames, as long, played as often, looking as before."""

import io
import struct

import numpy as np
import pytest
from PIL import Image, ImageSequence, TiffImagePlugin

from imgops import animations, files, formats, pillow

SIZE = (24, 17)
DURATIONS = [40, 100, 70, 200, 50]
FORMATS = {"gif": "GIF", "png": "PNG", "webp": "WEBP"}


def frames(transparent=True):
    """A square that moves over flat colour or over nothing; the third frame is the second once more."""
    result = []
    for index in (0, 1, 1, 2, 3):
        image = Image.new("RGBA", SIZE, (0, 255, 0, 0) if transparent else (10, 60, 200, 255))
        image.paste((255, 40 * index, 0, 255), (3 * index, 2 * index, 3 * index + 9, 2 * index + 7))
        result.append(image)
    return result


def picture(format_name, images=None, *, clears=False, loop=3):
    images = frames() if images is None else images
    all_frames = [
        files.Picture(image, format_name, duration=float(duration), clears=clears)
        for image, duration in zip(images, DURATIONS, strict=True)
    ]
    all_frames[0].more = all_frames[1:]
    all_frames[0].loop = loop
    return all_frames[0]


def seen(path):
    """(RGBA arrays with no colour under alpha 0, durations, loop) of a file, by Pillow."""
    arrays, durations = [], []
    with Image.open(path) as image:
        for index in range(image.n_frames):
            image.seek(index)
            array = np.array(image.convert("RGBA"))
            array[array[..., 3] == 0] = 0
            arrays.append(array)
            durations.append(image.info.get("duration"))
        return arrays, durations, image.info.get("loop")


def needs(extension):
    name = formats.EXTENSIONS["." + extension]
    if name not in formats.formats():
        pytest.skip(f"this Pillow has no {name}")
    return name


# ---------------------------------------------------------------------------------------------------------------------
# Containers


@pytest.mark.parametrize("extension", FORMATS)
@pytest.mark.parametrize("transparent", [True, False])
@pytest.mark.parametrize("clears", [True, False])
def test_every_frame_is_written_as_it_looks(tmp_path, extension, transparent, clears):
    name = needs(extension)
    images = frames(transparent)
    first = picture(name, images, clears=clears)
    first.lossless = True
    path = tmp_path / f"a.{extension}"
    assert files.write(first, path) == []
    arrays, durations, loop = seen(path)
    assert durations == DURATIONS
    assert loop == 3
    for got, image in zip(arrays, images, strict=True):
        expected = np.array(image)
        expected[expected[..., 3] == 0] = 0
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("extension", FORMATS)
def test_reading_gives_back_what_was_written(tmp_path, extension):
    name = needs(extension)
    first = picture(name, clears=True)
    first.lossless = True
    files.write(first, tmp_path / f"a.{extension}")
    again = files.read(tmp_path / f"a.{extension}")
    assert again.lossless == (extension == "webp")
    assert [frame.duration for frame in again.frames] == DURATIONS
    if extension != "webp":
        # Pillow does not tell a WebP frame's.
        assert all(frame.clears for frame in again.frames)
    assert again.loop == 3
    files.write(again, tmp_path / f"b.{extension}")
    assert (tmp_path / f"b.{extension}").read_bytes() == (tmp_path / f"a.{extension}").read_bytes() or (
        extension == "webp"
    )


def test_frames_are_cropped_to_what_changes(tmp_path):
    images = frames(transparent=False)
    files.write(picture("PNG", images), tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    position, boxes = 8, []
    while position < len(data):
        length, name = struct.unpack_from(">I4s", data, position)
        if name == b"fcTL":
            boxes.append(struct.unpack_from(">4I", data, position + 12))
        position += length + 12
    # From the frames: the square of 9 x 7 pixels moves by (3, 2).
    assert boxes == [(24, 17, 0, 0), (12, 9, 0, 0), (1, 1, 0, 0), (12, 9, 3, 2), (12, 9, 6, 4)]


@pytest.mark.parametrize("loop", [None, 0, 7])
def test_loops_of_gif(tmp_path, loop):
    files.write(picture("GIF", loop=loop), tmp_path / "a.gif")
    assert seen(tmp_path / "a.gif")[2] == loop
    assert files.read(tmp_path / "a.gif").loop == loop


@pytest.mark.parametrize(
    ("source", "loop", "target", "expected"),
    [
        ("gif", None, "png", 1),
        ("gif", 0, "webp", 0),
        ("png", 1, "gif", None),
        ("webp", 0, "gif", 0),
        ("png", 5, "gif", 5),
    ],
)
def test_loops_between_formats(tmp_path, source, loop, target, expected):
    needs(source)
    needs(target)
    files.write(picture(FORMATS[source], loop=loop), tmp_path / f"a.{source}")
    files.write(files.read(tmp_path / f"a.{source}"), tmp_path / f"b.{target}")
    arrays, durations, loop = seen(tmp_path / f"b.{target}")
    assert loop == expected
    assert len(arrays) == 5
    assert durations == DURATIONS


def test_gif_palettes_are_each_frames_own(tmp_path):
    rng = np.random.default_rng(3)
    images = []
    for _ in DURATIONS:
        colours = rng.integers(0, 256, (256, 3), np.uint8)
        images.append(pillow.to_image(colours[rng.permutation(256)[:240].reshape(12, 20)]))
    files.write(picture("GIF", images), tmp_path / "a.gif")
    for got, image in zip(seen(tmp_path / "a.gif")[0], images, strict=True):
        np.testing.assert_array_equal(got[..., :3], np.asarray(image))


def test_more_colours_than_a_palette_are_reduced_and_told(tmp_path):
    noise = np.random.default_rng(4).integers(0, 256, (5, 40, 50, 4), np.uint8)
    noise[..., 3] = np.where(noise[..., 3] > 127, 255, 0)
    images = [pillow.to_image(array) for array in noise]
    notes = files.write(picture("GIF", images), tmp_path / "a.gif")
    assert notes == ["its colours were reduced to 256, since GIF files have no more"]
    for got, array in zip(seen(tmp_path / "a.gif")[0], noise, strict=True):
        np.testing.assert_array_equal(got[..., 3], array[..., 3])
        visible = array[..., 3] > 0
        assert np.abs(got[visible].astype(int) - array[visible]).mean() < 40


def test_partial_transparency_is_told(tmp_path):
    images = [Image.new("RGBA", SIZE, (9, 9, 9, alpha)) for alpha in (0, 100, 127, 128, 255)]
    notes = files.write(picture("GIF", images), tmp_path / "a.gif")
    assert any("partial transparency" in note for note in notes)
    assert [int(array[0, 0, 3]) for array in seen(tmp_path / "a.gif")[0]] == [0, 0, 0, 255, 255]


def test_short_durations_are_rounded_and_told(tmp_path):
    first = picture("PNG")
    first.more[0].duration = 33.4
    notes = files.write(first, tmp_path / "a.gif")
    assert any("hundredths" in note for note in notes)
    assert seen(tmp_path / "a.gif")[1][1] == 30


def test_durations_of_png_are_fractions(tmp_path):
    first = picture("PNG")
    for frame, duration in zip(first.frames, (1000 / 3, 0, 65535000, 1000 / 24, 123.456), strict=True):
        frame.duration = duration
    files.write(first, tmp_path / "a.png")
    assert seen(tmp_path / "a.png")[1] == pytest.approx([1000 / 3, 0, 65535000, 1000 / 24, 123.456], rel=1e-4)


def test_metadata_of_animations(tmp_path):
    exif = Image.Exif()
    exif[0x010F] = "A maker"
    for extension in ("png", "webp"):
        name = needs(extension)
        first = picture(name)
        first.icc_profile, first.exif, first.xmp = b"a profile of sorts", exif.tobytes(), b"<x:xmpmeta/>"
        path = tmp_path / f"a.{extension}"
        files.write(first, path)
        with Image.open(path) as image:
            assert image.info["icc_profile"] == b"a profile of sorts"
            assert image.getexif()[0x010F] == "A maker"
            assert image.info["xmp"] == b"<x:xmpmeta/>"


def test_the_still_picture_before_an_animation(tmp_path):
    moving = [Image.new("RGBA", SIZE, colour) for colour in ("red", "lime", "blue", "white")]
    still = Image.new("RGBA", SIZE, "purple")
    still.save(
        tmp_path / "a.png", save_all=True, append_images=moving, default_image=True, duration=DURATIONS[1:], loop=0
    )
    first = files.read(tmp_path / "a.png")
    assert [frame.duration for frame in first.frames] == [None, *DURATIONS[1:]]
    files.write(first, tmp_path / "b.png")
    with Image.open(tmp_path / "b.png") as image:
        assert image.info["default_image"]
        assert image.convert("RGBA").getpixel((0, 0)) == (128, 0, 128, 255)
        assert image.n_frames == len(first.frames)
    notes = files.write(first, tmp_path / "b.gif")
    assert any("still picture is left out" in note for note in notes)
    assert len(seen(tmp_path / "b.gif")[0]) == len(first.frames) - 1


def test_the_comment_of_a_gif_stays(tmp_path):
    images = frames(transparent=False)
    images[0].save(tmp_path / "a.gif", save_all=True, append_images=images[1:], comment=b"c" * 300)
    first = files.read(tmp_path / "a.gif")
    first.pixels = pillow.upscale(first.pixels, 2)
    for frame in first.more:
        frame.pixels = pillow.upscale(frame.pixels, 2)
    files.write(first, tmp_path / "b.gif")
    with Image.open(tmp_path / "b.gif") as image:
        assert image.info["comment"] == b"c" * 300


def test_avif_sequences(tmp_path):
    needs("avif")
    files.write(picture("AVIF"), tmp_path / "a.avif")
    arrays, durations, _ = seen(tmp_path / "a.avif")
    assert len(arrays) == 5
    assert durations == DURATIONS


# ---------------------------------------------------------------------------------------------------------------------
# Other writers' files


def disposals_of_gif(path):
    with Image.open(path) as image:
        result = []
        for index in range(image.n_frames):
            image.seek(index)
            result.append(image.disposal_method)
        return result


@pytest.mark.parametrize("disposal", [1, 2, 3])
def test_disposal_of_gif(tmp_path, disposal):
    """Frames drawn in parts on what the one before leaves: the result shows, at every moment, what was seen."""
    base = Image.new("P", SIZE, 0)
    base.putpalette([0, 0, 0, 255, 0, 0, 0, 0, 255, 0, 255, 0])
    parts = [base.copy() for _ in range(4)]
    for index, part in enumerate(parts):
        part.paste(index % 3 + 1, (4 * index, 2, 4 * index + 8, 12))
    parts[0].save(
        tmp_path / "a.gif",
        save_all=True,
        append_images=parts[1:],
        disposal=disposal,
        transparency=0,
        duration=[50, 60, 70, 80],
        loop=0,
    )
    before, durations, loop = seen(tmp_path / "a.gif")
    first = files.read(tmp_path / "a.gif")
    for frame in first.frames:
        frame.pixels = pillow.upscale(frame.pixels, 2, method="nearest")
    files.write(first, tmp_path / "b.gif")
    after = seen(tmp_path / "b.gif")
    assert after[1:] == (durations, loop)
    for small, large in zip(before, after[0], strict=True):
        np.testing.assert_array_equal(large, np.kron(small, np.ones((2, 2, 1), np.uint8)))
    if disposal == 2:
        assert disposals_of_gif(tmp_path / "b.gif") == [2, 2, 2, 2]


@pytest.mark.parametrize("extension", FORMATS)
@pytest.mark.parametrize("method", ["nearest", "linear"])
def test_files_of_pillows_own_writers(tmp_path, extension, method):
    name = needs(extension)
    images = frames(transparent=False)
    images = [image.convert("RGB") for image in images]
    options = {"duration": DURATIONS, "loop": 2, **({"lossless": True} if extension == "webp" else {})}
    images[0].save(tmp_path / f"a.{extension}", save_all=True, append_images=images[1:], **options)
    before, durations, loop = seen(tmp_path / f"a.{extension}")
    first = files.read(tmp_path / f"a.{extension}")
    assert first.format == name
    for frame in first.frames:
        frame.pixels = pillow.upscale(frame.pixels, 2, method=method)
    files.write(first, tmp_path / f"b.{extension}")
    after = seen(tmp_path / f"b.{extension}")
    assert after[1:] == (durations, loop)
    assert len(after[0]) == len(before)
    for small, large in zip(before, after[0], strict=True):
        expected = np.asarray(pillow.upscale(pillow.to_image(small), 2, method=method))
        np.testing.assert_allclose(large.astype(int), expected.astype(int), atol=6 if extension == "gif" else 0)


def test_a_cut_gif_is_told(tmp_path):
    files.write(picture("GIF", frames(transparent=False)), tmp_path / "a.gif")
    data = (tmp_path / "a.gif").read_bytes()
    last = data.rindex(b"!\xf9\x04")
    (tmp_path / "cut.gif").write_bytes(data[:last])
    first = files.read(tmp_path / "cut.gif")
    assert len(first.frames) == 4
    assert any("end marker" in note for note in first.notes)
    (tmp_path / "cut.gif").write_bytes(data[: last - 5])
    with pytest.raises(files.PictureError, match="damaged"):
        files.read(tmp_path / "cut.gif")


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be


def test_formats_of_one_picture_refuse_several(tmp_path):
    for extension in ("jpg", "bmp", "ppm", "tga"):
        with pytest.raises(files.PictureError, match=r"5 frames or pages.*hold one.*--format"):
            files.write(picture("GIF"), tmp_path / f"a.{extension}")
    with pytest.raises(files.PictureError, match=r"5 frames, which TIFF files cannot hold.*--format gif"):
        files.write(picture("GIF"), tmp_path / "a.tif")
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------------------------------------------------------
# Pages


def test_pages_of_tiff_keep_each_their_own(tmp_path):
    rng = np.random.default_rng(6)
    pages = [
        Image.fromarray(rng.integers(0, 256, (9, 7, 3), np.uint8)),
        Image.fromarray(rng.integers(0, 256, (4, 30), np.uint8)),
        Image.fromarray(rng.integers(0, 65536, (5, 6)).astype(np.uint16)),
        Image.fromarray(rng.integers(0, 2, (8, 8)).astype(bool)),
    ]
    first, *rest = (files.Picture(page, "TIFF", dpi=(100.0 + i, 50.0)) for i, page in enumerate(pages))
    first.icc_profile, first.more = b"of the first page", rest
    files.write(first, tmp_path / "a.tif")
    again = files.read(tmp_path / "a.tif")
    assert [page.pixels.mode for page in again.frames] == ["RGB", "L", "I;16", "1"]
    assert [page.dpi for page in again.frames] == [(100.0 + i, 50.0) for i in range(4)]
    assert [page.icc_profile for page in again.frames] == [b"of the first page", None, None, None]
    for page, image in zip(again.frames, pages, strict=True):
        np.testing.assert_array_equal(np.asarray(page.pixels), np.asarray(image))
    with pytest.raises(files.PictureError, match="4 pages, which PNG files cannot hold"):
        files.write(again, tmp_path / "a.png")


def test_pages_turn_each_by_its_own_tag(tmp_path):
    images = [Image.new("L", (4, 6), 50), Image.new("L", (4, 6), 90)]
    stream = io.BytesIO()
    with TiffImagePlugin.AppendingTiffWriter(stream) as writer:
        for image, orientation in zip(images, (1, 6), strict=True):
            image.save(writer, "TIFF", tiffinfo={274: orientation})
            writer.newFrame()
    (tmp_path / "a.tif").write_bytes(stream.getvalue())
    assert [page.size for page in files.read(tmp_path / "a.tif").frames] == [(4, 6), (6, 4)]


def test_gif_parts_of_every_size_of_palette():
    for count in (2, 3, 4, 5, 17, 128, 129, 256):
        image = Image.frombytes("P", (count, 1), bytes(range(count)))
        image.putpalette([value for index in range(count) for value in (index, 255 - index, 7)])
        stream = io.BytesIO()
        animations.write_gif(stream, [animations.Frame(image, 10, False)] * 2, 0)
        with Image.open(stream) as result:
            for frame in ImageSequence.Iterator(result):
                got = np.asarray(frame.convert("RGB"))[0]
                assert got.tolist() == [[index, 255 - index, 7] for index in range(count)]


@pytest.mark.parametrize("source", ["png", "webp"])
@pytest.mark.parametrize("target", ["png", "webp", "avif", "gif"])
def test_animations_are_turned_upright(tmp_path, source, target):
    if formats.EXTENSIONS["." + target] not in formats.formats():
        pytest.skip(f"this Pillow has no {target}")
    exif = Image.Exif()
    exif[0x0112] = 6
    frames = []
    for colour in ("red", "blue"):
        # Stored with its top at the left: orientation 6 turns it by a quarter to the right.
        frames.append(Image.new("RGB", (32, 16), "white"))
        frames[-1].paste(Image.new("RGB", (16, 16), colour))
    options = {"lossless": True} if source == "webp" else {}
    name = tmp_path / f"a.{source}"
    frames[0].save(name, save_all=True, append_images=frames[1:], duration=50, exif=exif.tobytes(), **options)
    files.write(files.read(name), tmp_path / f"b.{target}")
    picture = files.read(tmp_path / f"b.{target}")
    assert [frame.size for frame in picture.frames] == [(16, 32)] * 2
    for frame, colour in zip(picture.frames, ((255, 0, 0), (0, 0, 255)), strict=True):
        pixels = np.asarray(frame.pixels.convert("RGB")).astype(int)
        assert np.abs(pixels[4, 8] - colour).max() <= 12
        assert np.abs(pixels[28, 8] - 255).max() <= 12
    with Image.open(tmp_path / f"b.{target}") as result:
        assert result.getexif().get(0x0112, 1) == 1
