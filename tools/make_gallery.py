"""Draw the pictures of docs/gallery.md: the package's methods side by side on what each is good or bad at.

python tools/make_gallery.py [FOLDER]
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from imgops import pillow

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "gallery"
METHODS = ("nearest", "linear", "cubic", "lanczos3")
MARGIN, LABEL = 12, 26
INK, PAPER = (30, 30, 30), (255, 255, 255)


def sheet(panels, columns):
    """One picture of labelled panels, all as large as the largest."""
    width = max(image.width for _, image in panels)
    height = max(image.height for _, image in panels)
    rows = -(-len(panels) // columns)
    size = (columns * (width + MARGIN) + MARGIN, rows * (height + LABEL + MARGIN) + MARGIN)
    result = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(result)
    font = ImageFont.load_default(15)
    for index, (label, image) in enumerate(panels):
        left = MARGIN + index % columns * (width + MARGIN)
        top = MARGIN + index // columns * (height + LABEL + MARGIN)
        draw.text((left, top), label, INK, font)
        if image.mode == "RGBA" or "transparency" in image.info:
            squares = checkered(image.size)
            squares.paste(image.convert("RGBA"), mask=image.convert("RGBA"))
            image = squares
        result.paste(image.convert("RGB"), (left, top + LABEL))
    return result


def checkered(size, side=12):
    columns, rows = np.arange(size[0]) // side, np.arange(size[1])[:, None] // side
    return pillow.to_image(np.where((columns + rows) % 2, 205, 240).astype(np.uint8)).convert("RGB")


def enlarged(image, scale, **options):
    return [(method, pillow.upscale(image, scale, method=method, **options)) for method in METHODS]


def text():
    image = Image.new("RGB", (76, 44), (250, 248, 240))
    draw = ImageDraw.Draw(image)
    draw.text((4, 3), "Resample", (20, 30, 60), ImageFont.load_default(14))
    draw.text((4, 24), "7 to 19, x 2.5", (150, 30, 20), ImageFont.load_default(11))
    return sheet(enlarged(image, 4), 2)


def edges():
    """A disc, a slanted bar and a fine line, covered by area: 8 x 8 points in each pixel."""
    points = (np.arange(72 * 8) + 0.5) / 8
    x, y = points, points[: 44 * 8, None]
    disc = (x - 18) ** 2 + (y - 22) ** 2 < 14**2
    bar = np.abs((x - 46) - 0.35 * (y - 22)) < 4
    line = np.abs((y - 6) - 0.25 * (x - 40)) < 0.5
    cover = (disc | bar | line).reshape(44, 8, 72, 8).mean((1, 3))
    image = pillow.to_image(np.rint(245 - 215 * cover).astype(np.uint8))
    return sheet(enlarged(image, 4), 2)


def zone_plate():
    """Rings whose frequency grows outwards to one half of a sample at the corners of the picture."""
    side = 480
    x = np.arange(side) - side / 2 + 0.5
    rings = 127.5 + 127.5 * np.cos(np.pi * (x**2 + x[:, None] ** 2) / side)
    image = pillow.to_image(np.rint(rings).astype(np.uint8))
    size = (side // 2, side // 2)
    panels = [("linear, antialias=False", pillow.resize(image, size, antialias=False))]
    panels += [(f"{method}", pillow.resize(image, size, mode=method)) for method in METHODS[1:]]
    return sheet(panels, 2)


def alpha():
    """A red disc; what is transparent has the colour green, as after a careless cut."""
    points = (np.arange(32 * 8) + 0.5) / 8 - 16
    cover = (points**2 + points[:, None] ** 2 < 11**2).reshape(32, 8, 32, 8).mean((1, 3))
    pixels = np.zeros((32, 32, 4), np.uint8)
    pixels[...] = (0, 200, 0, 0)
    pixels[cover > 0, :3] = (220, 20, 30)
    pixels[..., 3] = np.rint(255 * cover)
    image = pillow.to_image(pixels)
    panels = [
        ("linear", pillow.upscale(image, 8, method="linear")),
        ("linear, premultiply=False", pillow.upscale(image, 8, method="linear", premultiply=False)),
        ("cubic", pillow.upscale(image, 8, method="cubic")),
        ("cubic, premultiply=False", pillow.upscale(image, 8, method="cubic", premultiply=False)),
    ]
    return sheet(panels, 2)


def linear_light():
    """A checkerboard of single pixels beside a field of the same light, and stars on black."""
    board = np.indices((200, 440)).sum(0) % 2 * 255
    board[:, 220:] = 188
    pixels = np.repeat(board[..., None], 3, axis=2)
    rng = np.random.default_rng(5)
    pixels[140:, 220:] = 0
    pixels[rng.integers(142, 198, 90), rng.integers(222, 438, 90)] = 255
    image = pillow.to_image(pixels.astype(np.uint8))
    panels = []
    for label, light in (("linear_light=True", True), ("linear_light=False", False)):
        small = pillow.resize(image, (220, 100), linear_light=light)
        panels.append((f"halved, {label}", pillow.upscale(small, 2, method="nearest")))
    return sheet(panels, 1)


def palette():
    """A pixel drawing of a palette with a transparent entry."""
    rows = ["..aaaa..", ".abbbba.", "abcbbcba", "abbbbbba", "abdbbdba", "abbddbba", ".abbbba.", "..aaaa.."]
    image = Image.new("P", (8, 8))
    image.putpalette([0, 255, 0, 60, 40, 20, 250, 200, 40, 20, 60, 200, 200, 30, 30])
    image.putdata([".abcd".index(letter) for row in rows for letter in row])
    image.info["transparency"] = 0
    small = image
    image = pillow.upscale(small, 4, method="nearest")
    panels = [(f"{method}: mode {result.mode}", result) for method, result in enlarged(image, 6)]
    return sheet(panels, 4)


PICTURES = {
    "text": text,
    "edges": edges,
    "zone_plate": zone_plate,
    "alpha": alpha,
    "linear_light": linear_light,
    "palette": palette,
}


def main(folder=FOLDER):
    for name, draw in PICTURES.items():
        path = Path(folder) / f"{name}.png"
        draw().save(path, optimize=True)
        print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
