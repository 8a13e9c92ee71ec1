"""Draw the pictures of docs/super_resolution.md: the models beside the filters, on what is hard for them.

    python tools/make_sr_page.py [FOLDER] [--photographs FOLDER]

Each scene is drawn, reduced by 2 and by 4 with antialiased bicubic as the models were taught, and enlarged again by
every method. Below a panel stands its PSNR of luma. --photographs draws the same of the middle of each picture in a
folder instead.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(Path(__file__).resolve().parent))

from draw_examples import Canvas
from make_gallery import MARGIN, checkered

from imgops import pillow

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "images" / "super_resolution"
SCALES = (2, 4)
METHODS = ("original", "linear", "cubic", "lanczos3", "fast", "best")
SIDE, SHOWN, ZOOM = 168, 92, 2  # of a scene; of the part of it that is shown, each pixel as a square
INK, PAPER = (40, 40, 44), (252, 251, 248)


def text():
    image = Image.new("RGB", (SIDE, SIDE), (250, 248, 240))
    draw = ImageDraw.Draw(image)
    for top, size, ink, words in (
        (36, 26, (20, 30, 60), "Resample"),
        (66, 17, (150, 30, 20), "twice as large"),
        (88, 13, (20, 20, 20), "half pixel centres"),
    ):
        draw.text((40, top), words, ink, ImageFont.load_default(size))
    draw.rectangle((0, 106, SIDE, SIDE), (30, 40, 80))
    draw.text((42, 108), "16 / 9 = 1.78", (250, 230, 120), ImageFont.load_default(19))
    return image


def lines():
    canvas = Canvas(SIDE, SIDE)
    canvas.paint(np.ones(canvas.x.shape), (245, 242, 235))
    for step in range(0, 91, 6):
        angle = math.radians(step)
        end = 40 + 140 * math.cos(angle), 40 + 140 * math.sin(angle)
        canvas.paint(canvas.line(40, 40, *end, 1.3), (25, 38, 76))
    for radius in range(10, 36, 5):
        distance = np.hypot(canvas.x - 112, canvas.y - 64)
        canvas.paint(abs(distance - radius) <= 0.8, (190, 25, 25))
    return Image.fromarray(canvas.pixels())


def colours():
    """Flat colours against each other, and a slope."""
    canvas = Canvas(SIDE, SIDE)
    palette = ((230, 25, 25), (25, 76, 230), (25, 178, 50), (242, 204, 25), (128, 128, 128), (230, 50, 204))
    canvas.paint(np.ones(canvas.x.shape), (250, 250, 250))
    for index, colour in enumerate(palette):
        left, top = 36 + index % 3 * 32, 38 + index // 3 * 28
        canvas.paint(
            canvas.polygon((left, top), (left + 30, top + 3), (left + 27, top + 27), (left + 2, top + 25)), colour
        )
    slope = np.clip((canvas.x - 36) / 96, 0, 1)[..., None] * np.array((50, 150, 230))
    canvas.paint(canvas.polygon((36, 98), (132, 98), (132, 132), (36, 132)), slope)
    return Image.fromarray(canvas.pixels())


def noise():
    """Noise of three strengths on grey, and fine cloth."""
    random = np.random.default_rng(0)
    x, y = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    strength = np.choose(np.clip((x - 38) // 31, 0, 2), (4, 14, 34))
    values = 128 + random.normal(0, 1, (SIDE, SIDE, 3)) * strength[..., None]
    cloth = 128 + 50 * np.sin(x * 0.9 + y * 0.35) * np.cos(y * 0.8 - x * 0.2)
    values[84:] = cloth[84:, :, None] * (1.0, 0.9, 0.75)
    return Image.fromarray(np.clip(np.rint(values), 0, 255).astype(np.uint8))


def alpha():
    """A disc and a word; what is transparent is bright green."""
    canvas = Canvas(SIDE, SIDE)
    canvas.paint(canvas.disc(84, 66, 30) & ~canvas.disc(84, 66, 14), (255, 255, 255))
    opacity = Image.fromarray(canvas.pixels()).convert("L")
    ImageDraw.Draw(opacity).text((44, 98), "Badge 7", 255, ImageFont.load_default(22))
    image = Image.new("RGB", (SIDE, SIDE), (0, 255, 0))
    image.paste((190, 40, 30), mask=opacity.point(lambda value: 255 * (value > 0)))
    image.putalpha(opacity)
    return image


def scene():
    with Image.open(ROOT / "examples" / "images" / "harbour.png") as image:
        return image.convert("RGB").crop((72, 0, 240, 160)).resize((168, 160))


SCENES = (text, lines, colours, noise, alpha, scene)


# ---------------------------------------------------------------------------------------------------------------------
# Panels


def enlarged(image, scale, method):
    small = pillow.resize(image, [side // scale for side in image.size], mode="cubic")
    if method in ("fast", "best"):
        return pillow.upscale(small, scale, method="sr", model=method)
    return pillow.upscale(small, scale, method=method)


def psnr(image, other, border):
    """Decibels of luma, in the part that both show opaque."""
    a, b = (np.asarray(on_squares(part).convert("L"), dtype=np.float64) for part in (image, other))
    error = np.square(a - b)[border:-border, border:-border].mean()
    return 10 * math.log10(255**2 / error) if error else math.inf


def on_squares(image):
    if not image.has_transparency_data:
        return image.convert("RGB")
    squares = checkered(image.size, 6)
    squares.paste(image.convert("RGBA"), mask=image.convert("RGBA"))
    return squares


def drawn(image):
    """One picture of all methods, a row for each scale."""
    cell = SHOWN * ZOOM
    label = ImageFont.load_default(14)
    width = len(METHODS) * (cell + MARGIN) + MARGIN
    result = Image.new("RGB", (width, len(SCALES) * (cell + 24 + MARGIN) + MARGIN), PAPER)
    draw = ImageDraw.Draw(result)
    left, top = ((side - SHOWN) // 2 for side in image.size)
    for row, scale in enumerate(SCALES):
        whole = image.crop((0, 0, *(side // scale * scale for side in image.size)))
        for column, method in enumerate(METHODS):
            made = whole if method == "original" else enlarged(whole, scale, method)
            caption = "original" if made is whole else f"x{scale} {method}  {psnr(whole, made, scale):.2f} dB"
            part = on_squares(made).crop((left, top, left + SHOWN, top + SHOWN))
            place = MARGIN + column * (cell + MARGIN), MARGIN + row * (cell + 24 + MARGIN)
            result.paste(pillow.upscale(part, ZOOM, method="nearest"), place)
            draw.text((place[0], place[1] + cell + 4), caption, INK, label)
    return result


def pictures(photographs):
    """(name, original) of the scenes, or of the middles of the pictures in a folder."""
    if photographs is None:
        yield from ((make.__name__, make()) for make in SCENES)
        return
    for path in sorted(Path(photographs).iterdir()):
        if path.suffix.lower() in (".png", ".jpg", ".jpeg", ".webp", ".bmp"):
            with Image.open(path) as image:
                left, top = ((side - SIDE) // 2 for side in image.size)
                yield path.stem, image.convert("RGB").crop((left, top, left + SIDE, top + SIDE))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    parser.add_argument("--photographs", metavar="FOLDER", help="draw these instead, which are not for the repository")
    arguments = parser.parse_args(argv)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, image in pictures(arguments.photographs):
        path = arguments.folder / f"{name}.png"
        drawn(image).save(path, optimize=True)
        print(path)


if __name__ == "__main__":
    main()
