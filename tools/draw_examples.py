"""Draw the pictures in examples/images: python tools/draw_examples.py [FOLDER]

Everything is computed from coordinates (pixel centres at x + 1/2, y + 1/2), four by four samples for each pixel, so the
same files come out every time. Only text.png uses a font, Pillow's own; its strokes depend on the FreeType in Pillow.
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

FOLDER = Path(__file__).resolve().parent.parent / "examples" / "images"
SAMPLES = 4


class Canvas:
    """A float RGB picture that is painted with SAMPLES**2 samples for each pixel and averaged at the end."""

    def __init__(self, width, height):
        y, x = np.mgrid[: height * SAMPLES, : width * SAMPLES]
        self.x, self.y = (x + 0.5) / SAMPLES, (y + 0.5) / SAMPLES
        self.rgb = np.zeros((*x.shape, 3))

    def paint(self, cover, colour):
        """Lay `colour` (an RGB triple or a picture of them) over the canvas where `cover` (0..1) says so."""
        cover = np.asarray(cover, dtype=float)[..., None]
        self.rgb += cover * (np.asarray(colour, dtype=float) - self.rgb)

    def disc(self, x, y, radius):
        return np.hypot(self.x - x, self.y - y) <= radius

    def polygon(self, *corners):
        """A convex polygon; the corners go round clockwise on the screen (y points down)."""
        inside = np.ones(self.x.shape, dtype=bool)
        for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
            inside &= (x1 - x0) * (self.y - y0) - (y1 - y0) * (self.x - x0) >= 0
        return inside

    def line(self, x0, y0, x1, y1, width):
        length = np.hypot(x1 - x0, y1 - y0)
        along = ((self.x - x0) * (x1 - x0) + (self.y - y0) * (y1 - y0)) / length
        across = ((self.x - x0) * (y1 - y0) - (self.y - y0) * (x1 - x0)) / length
        return (abs(across) <= width / 2) & (along >= 0) & (along <= length)

    def pixels(self):
        return to_bytes(box_mean(self.rgb))


def box_mean(samples):
    height, width = samples.shape[0] // SAMPLES, samples.shape[1] // SAMPLES
    return samples.reshape(height, SAMPLES, width, SAMPLES, *samples.shape[2:]).mean(axis=(1, 3))


def to_bytes(values):
    # Values that sums of binary fractions put on a half must not depend on the last bit of a sine.
    return np.clip(np.floor(values + 0.5 + 1e-6), 0, 255).astype(np.uint8)


def blend(fraction, *colours):
    """The colours at fraction 0, ..., 1 of a gradient through equally spaced `colours`."""
    stops = np.linspace(0, 1, len(colours))
    return np.stack([np.interp(fraction, stops, channel) for channel in np.transpose(colours)], axis=-1)


def harbour():
    """A harbour at dusk, 240 x 160: smooth gradients, a sun, thin rigging, stripes, ripples that grow finer."""
    c = Canvas(240, 160)
    x, y, horizon, sun_x, sun_y = c.x, c.y, 98.0, 62.0, 76.0
    c.paint(np.ones(x.shape), blend(y / horizon, (30, 48, 104), (112, 94, 150), (236, 150, 128), (255, 214, 150)))
    glow = np.exp(-(((x - sun_x) / 52) ** 2 + ((y - sun_y) / 34) ** 2))
    c.paint(0.55 * glow, (255, 226, 160))
    c.paint(c.disc(sun_x, sun_y, 15), (255, 244, 206))
    for top, height, waves, colour in ((84, 7, (31, 13), (126, 96, 142)), (91, 5, (23, 9), (84, 70, 118))):
        ridge = top + height * (0.6 * np.sin(x / waves[0] + 2) + 0.4 * np.sin(x / waves[1]))
        c.paint((y > ridge) & (y < horizon), colour)

    depth = np.clip((y - horizon) / (160 - horizon), 0, 1)
    sea = y >= horizon
    c.paint(sea, blend(depth, (236, 168, 138), (94, 104, 142), (22, 62, 98), (10, 34, 62)))
    phase = 62 * np.log1p(np.maximum(y - horizon, 0) / 25)
    ripple = np.sin(phase + 1.1 * np.sin(x / 19 + phase / 7) + 0.8 * np.sin(x / 7 - phase / 3))
    c.paint(sea * (0.10 + 0.10 * depth) * (ripple > 0.1), (226, 222, 232))
    c.paint(sea * (0.16 * depth) * (ripple < -0.5), (0, 14, 34))
    glitter = np.exp(-(((x - sun_x) / (7 + 22 * depth)) ** 2)) * (1 - 0.75 * depth)
    c.paint(sea * glitter * (ripple > -0.2), (255, 232, 176))

    _lighthouse(c)
    _boat(c)
    return Image.fromarray(c.pixels())


def _lighthouse(c):
    base, top, middle = 112.0, 38.0, 196.0
    beam = np.clip((middle - c.x) / 196, 0, 1)
    lit = (abs(c.y - 31 - 0.02 * (middle - c.x)) < 2 + 22 * beam) & (c.x < middle)
    c.paint(lit * 0.3 * (1 - beam) ** 2, (255, 246, 200))
    for x, y, radius in ((176, 124, 18), (198, 122, 24), (222, 127, 20)):
        c.paint(c.disc(x, y, radius) & (c.y < 118 + 0.05 * (c.x - 180)), (46, 44, 62))
        c.paint(c.disc(x - 4, y + 1, radius - 5) & (c.y < 117), (66, 62, 82))
    half = 6 + 5 * (c.y - top) / (base - top)
    tower = (abs(c.x - middle) < half) & (c.y > top) & (c.y < base)
    stripe = np.floor((c.y - top) / (base - top) * 6) % 2 == 0
    shade = 0.5 + 0.5 * (c.x - middle) / half
    c.paint(tower & stripe, blend(shade, (232, 84, 66), (206, 50, 48), (120, 24, 40)))
    c.paint(tower & ~stripe, blend(shade, (255, 246, 232), (238, 226, 220), (150, 142, 166)))
    c.paint(c.polygon((187, 36), (205, 36), (205, 38.5), (187, 38.5)), (40, 38, 56))
    c.paint(c.polygon((190.5, 26), (201.5, 26), (201.5, 36), (190.5, 36)), (255, 238, 160))
    for x in (190.8, 194.3, 197.7, 201.2):
        c.paint(c.line(x, 26, x, 36, 0.8), (40, 38, 56))
    c.paint(c.polygon((196, 18), (203, 26), (189, 26)), (176, 40, 44))
    c.paint(c.line(196, 13, 196, 19, 0.8), (40, 38, 56))
    for y in (62, 84):
        c.paint(c.polygon((194.5, y), (197.5, y), (197.5, y + 5), (194.5, y + 5)), (58, 54, 76))


def _boat(c):
    mast_x, deck = 112.0, 128.0
    c.paint(c.disc(112, 140, 34) & (c.y > 138) & (c.y < 141.5) & (abs(c.x - 112) < 30), (8, 26, 48))
    c.paint(c.polygon((76, deck), (148, deck), (138, 139), (86, 139)), (122, 46, 40))
    c.paint(c.polygon((76, deck), (148, deck), (146.2, 130), (77.8, 130)), (250, 236, 214))
    main_sail = c.polygon((114.5, 58), (142, 122), (114.5, 122))
    fore_sail = c.polygon((109.5, 66), (109.5, 122), (84, 122))
    c.paint(main_sail, blend((c.x - 112) / 30, (255, 252, 242), (228, 214, 212)))
    c.paint(fore_sail, blend((c.x - 84) / 26, (214, 198, 204), (250, 242, 232)))
    for y in (74, 90, 106):
        c.paint(main_sail & (abs(c.y - y) < 0.35), (176, 160, 172))
    c.paint(main_sail & c.disc(122, 100, 5.5), (206, 50, 48))
    c.paint(main_sail & c.disc(122, 100, 2.75), (255, 250, 240))
    c.paint(c.line(mast_x, 50, mast_x, deck, 1.4), (66, 42, 36))
    for foot in (78, 92, 132, 146):
        c.paint(c.line(mast_x, 52, foot, deck, 0.45), (50, 40, 52))
    c.paint(c.polygon((112.5, 50), (123, 53), (112.5, 56)), (206, 50, 48))


def zone_plate():
    """Rings of every frequency up to one cycle in 2.2 pixels at the middle of each side, 161 x 161, grey."""
    size = 161
    offset = np.arange(size) - size // 2
    square = offset[:, None] ** 2 + offset[None, :] ** 2
    return Image.fromarray(to_bytes(127.5 + 127 * np.cos(np.pi * square / (2.2 * (size // 2)))))


def edges():
    """Four panels of 64 x 64: a slanted edge, a checkerboard, a star of spokes, a fan of thin lines."""
    c = Canvas(128, 128)
    x, y = c.x, c.y
    c.paint(np.ones(x.shape), (246, 242, 234))
    left, upper = x < 64, y < 64
    c.paint(left & upper & (x - 32 > 0.18 * (y - 32)), (28, 60, 110))
    squares = (np.floor((x - 64) / 4) + np.floor(y / 4)) % 2 == 0
    fine = (np.floor(x) + np.floor(y)) % 2 == 0
    c.paint(~left & upper & np.where(y < 40, squares, fine), (30, 30, 36))
    spokes = np.sin(18 * np.arctan2(y - 96, x - 32)) > 0
    c.paint(spokes & c.disc(32, 96, 28), (190, 44, 50))
    for step in range(9):
        c.paint(c.line(68, 124, 68 + 6.5 * step, 68 + 2.2 * step, 0.4 + 0.15 * step), (20, 96, 86))
    c.paint((abs(x - 64) < 0.5) | (abs(y - 64) < 0.5), (150, 146, 140))
    return Image.fromarray(c.pixels())


def badge():
    """A round badge with a soft shadow on nothing, 96 x 96 RGBA.

    Where alpha is 0 the hidden colour is a loud green: resizing without weighting by alpha shows a green fringe.
    """
    c = Canvas(96, 96)
    distance = np.hypot(c.x - 48, c.y - 46)
    shadow = 0.45 * np.exp(-(np.maximum(np.hypot(c.x - 49, c.y - 52) - 34, 0) ** 2) / 14)
    disc = distance <= 38
    alpha = np.where(disc, 1.0, shadow)
    c.paint(disc, blend(c.y / 92, (84, 150, 214), (30, 84, 156)))
    c.paint(disc & (distance > 33.5) & (distance < 35.5), (244, 248, 252))
    angle = np.arctan2(c.x - 48, 46 - c.y)
    turn = (angle * 5 / (2 * np.pi) + 0.5) % 1 - 0.5
    # A five-pointed star: the straight line from a point (radius 26) to a notch (radius 11), in polar form.
    at = abs(turn) * 2 * np.pi / 5
    radius = 26 * 11 * np.sin(np.pi / 5) / (26 * np.sin(at) + 11 * np.sin(np.pi / 5 - at))
    c.paint(distance < radius, blend((c.y - 20) / 46, (255, 240, 176), (250, 186, 60)))
    cover = box_mean(alpha)
    colour = box_mean(c.rgb * alpha[..., None]) / np.maximum(cover, 1e-9)[..., None]
    rgba = np.dstack([to_bytes(colour), to_bytes(255 * cover)])
    rgba[rgba[..., 3] == 0] = (0, 255, 0, 0)
    return Image.fromarray(rgba)


SPRITE = """
................................
...............k................
...............krr..............
...............krrrr............
...............krr..............
...............k................
..............wkw...............
.............wwkww..............
.............wwkwww.............
............wwwkwwww............
............wwwkwwww............
...........wwwwkwwwww...........
..........wwwwwkwwrwww..........
..........wwwwwkwrrrww..........
.........wwwwwwkwwrwwww.........
.........gwwwwwkwwwwwwww........
........ggggwwwkwwwwwwgg........
........ggggggwkwwggggggg.......
...............k................
.....kkkkkkkkkkkkkkkkkkkkkk.....
.....kyyyyyyyyyyyyyyyyyyyyk.....
......kbbobbbobbbobbbobbbk......
.......kbbbbbbbbbbbbbbbbk.......
.ccccc..kkkkkkkkkkkkkkkk..ccccc.
cdddddccccccccccccccccccccdddddc
dddddddddddccdddddddccdddddddddd
.dd..ddd...dddd..dddd...ddd..dd.
................................
"""
SPRITE_COLOURS = {
    ".": (255, 0, 255), "k": (44, 32, 44), "w": (250, 244, 230), "g": (204, 196, 204), "r": (206, 50, 48),
    "y": (250, 200, 90), "b": (140, 70, 50), "o": (255, 226, 150), "c": (120, 190, 214), "d": (40, 104, 160),
}  # fmt: skip


def sprite():
    """A boat in ten colours with a palette whose first entry is transparent, 32 x 28."""
    letters = list(SPRITE_COLOURS)
    rows = SPRITE.split()
    image = Image.fromarray(np.array([[letters.index(letter) for letter in row] for row in rows], dtype=np.uint8))
    image.putpalette([value for colour in SPRITE_COLOURS.values() for value in colour])
    image.info["transparency"] = 0
    return image


LINES = {
    9: "The quick brown fox jumps over the lazy dog",
    11: "Thin strokes need their edges",
    14: "Enlarge me exactly & gently",
    19: "Half a pixel matters",
    26: "Aa Gg Qq @ 48",
}


def text():
    """Dark text in five sizes on a light ground, 220 x 120, grey."""
    image = Image.new("L", (220, 120), 248)
    draw = ImageDraw.Draw(image)
    y = 6
    for size, words in LINES.items():
        draw.text((8, y), words, fill=24, font=ImageFont.load_default(size))
        y += size + 5
    return image


def night():
    """A night sky in 16-bit grey, 96 x 64: steps too fine for 8 bits, and stars at full white."""
    y, x = np.mgrid[:64, :96]
    values = 1500 + 9000 * (y / 63) ** 2 + 20000 * np.exp(-(((x - 66) / 34) ** 2 + ((y - 72) / 24) ** 2))
    values = np.floor(values + 0.5 + 1e-6).astype(np.uint16)
    for star in range(40):
        values[(5 * star * star + 29 * star) % 47, (7 * star * star + 3 * star) % 95] = (20000, 34000, 65535)[star % 3]
    return Image.fromarray(values)


PICTURES = {
    "harbour.png": harbour,
    "text.png": text,
    "zone_plate.png": zone_plate,
    "edges.png": edges,
    "badge.png": badge,
    "sprite.png": sprite,
    "night16.png": night,
}


def main():
    parser = argparse.ArgumentParser(description="Draw the example pictures.")
    parser.add_argument("folder", nargs="?", type=Path, default=FOLDER, help="where to (default: examples/images)")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        draw().save(folder / name, optimize=True)
        print(f"{folder / name}  {(folder / name).stat().st_size} bytes")


if __name__ == "__main__":
    main()
