"""What the examples share: the example pictures, the folder for results, a labelled sheet of pictures."""

import argparse
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

HERE = Path(__file__).resolve().parent
PAPER, INK, FAINT = (250, 248, 243), (34, 36, 44), (112, 112, 120)
MARGIN = 16


def output_folder(description):
    """The folder that the command line names, made if it is missing; examples/output by default."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=HERE / "output", help="default: examples/output")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def picture(name):
    """One of the pictures in examples/images."""
    with Image.open(HERE / "images" / name) as image:
        image.load()
        return image


def font(size):
    return ImageFont.load_default(size)


def on_paper(image):
    """`image` as RGB; one with alpha is laid on grey and white squares."""
    if not image.has_transparency_data:
        return image.convert("RGB")
    squares = Image.new("RGB", image.size, (255, 255, 255))
    draw = ImageDraw.Draw(squares)
    for y in range(0, image.height, 8):
        for x in range(y % 16, image.width, 16):
            draw.rectangle((x, y, x + 7, y + 7), fill=(222, 222, 226))
    rgba = image.convert("RGBA")
    squares.paste(rgba, mask=rgba.getchannel("A"))
    return squares


def sheet(title, *rows):
    """One picture of rows of (image, caption); a caption may have several lines."""
    heading, small = font(19), font(13)
    measure = ImageDraw.Draw(Image.new("RGB", (1, 1)))

    def extent(words, typeface):
        left, _, right, bottom = measure.multiline_textbbox((0, 0), words, font=typeface, spacing=5)
        return int(right - left) + 1, int(bottom) + 1

    cells = [[(on_paper(image), caption, extent(caption, small)) for image, caption in row] for row in rows]
    widths = [sum(max(image.width, text[0]) + MARGIN for image, _, text in row) + MARGIN for row in cells]
    heights = [max(image.height + text[1] for image, _, text in row) + 6 + MARGIN for row in cells]
    top = MARGIN + extent(title, heading)[1] + 12
    result = Image.new("RGB", (max(*widths, extent(title, heading)[0] + 2 * MARGIN), top + sum(heights)), PAPER)
    draw = ImageDraw.Draw(result)
    draw.multiline_text((MARGIN, MARGIN), title, fill=INK, font=heading, spacing=5)
    for row, height in zip(cells, heights, strict=True):
        left = MARGIN
        for image, caption, text in row:
            result.paste(image, (left, top))
            draw.multiline_text((left, top + image.height + 6), caption, fill=FAINT, font=small, spacing=5)
            left += max(image.width, text[0]) + MARGIN
        top += height
    return result
