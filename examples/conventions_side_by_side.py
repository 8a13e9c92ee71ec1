"""Conventions side by side: where each output sample looks, and what that does to a picture.

    python examples/conventions_side_by_side.py [FOLDER]

Libraries agree on "bilinear" and on "nearest", but not on where the samples of the larger picture lie in the smaller
one. A ramp 0, 1, 2, 3 that is resampled answers with the coordinates themselves.

Writes conventions.png.
"""

import numpy as np
from PIL import Image, ImageDraw
from sheet import FAINT, INK, PAPER, font, output_folder, picture, sheet

import imgops

LENGTH, SCALE = 4, 2
CELL, BAR = 84, 30  # width of an input pixel and height of a strip in the drawing
COLOURS = np.array([(38, 70, 140), (42, 157, 143), (244, 196, 92), (214, 72, 62)], dtype=np.float32)
USERS = {
    "half_pixel": "ONNX, DirectML, TF 2, OpenCV, Pillow;\ntorch with align_corners=False",
    "asymmetric": "TF 1, ONNX Upsample; nearest in\nOpenCV and torch",
    "align_corners": "torch with align_corners=True,\nTF 1 with align_corners=True",
}


def diagram(convention):
    """Input pixels on top, the output's pixels below, and a line from each to the place it reads."""
    options = {"scale": SCALE, "convention": convention}
    ramp = np.arange(LENGTH, dtype=np.float64)
    coordinates = imgops.resample(ramp, **options)
    indices = imgops.resample(ramp, mode="nearest", **options)
    linear = imgops.resample(COLOURS, axes=0, **options)
    narrow = CELL // SCALE

    image = Image.new("RGB", (LENGTH * CELL, 7 * BAR), PAPER)
    draw = ImageDraw.Draw(image)

    def strip(top, colours, labels, width):
        for place, (colour, label) in enumerate(zip(colours, labels, strict=True)):
            fill = tuple(int(value) for value in np.rint(colour))
            draw.rectangle((place * width, top, place * width + width, top + BAR), fill=fill, outline=PAPER)
            ink = INK if np.dot(fill, (0.3, 0.6, 0.1)) > 130 else PAPER
            draw.text(((place + 0.5) * width, top + BAR / 2), str(label), fill=ink, font=font(13), anchor="mm")

    strip(0, COLOURS, ["input 0", "1", "2", "3"], CELL)
    strip(3 * BAR, linear, [f"{value:.4g}" for value in coordinates.round(2)], narrow)
    strip(5 * BAR, COLOURS[indices.astype(int)], indices.astype(int), narrow)
    draw.text((2, 4.45 * BAR), "linear: the coordinate read", fill=FAINT, font=font(12), anchor="lm")
    draw.text((2, 6.45 * BAR), "nearest: the index read", fill=FAINT, font=font(12), anchor="lm")
    for output, (coordinate, colour) in enumerate(zip(coordinates, linear, strict=True)):
        x, fill = (coordinate + 0.5) * CELL, tuple(int(value) for value in np.rint(colour))
        draw.line((x, 1.4 * BAR, (output + 0.5) * narrow, 3 * BAR - 2), fill=FAINT, width=1)
        draw.ellipse((x - 5, 1.4 * BAR - 5, x + 5, 1.4 * BAR + 5), fill=fill, outline=INK)
    return image


def main():
    folder = output_folder(__doc__)
    small = np.asarray(picture("harbour.png").crop((175, 12, 217, 46)))
    scale = 8
    diagrams, enlarged, differences = [], [], []
    centred = None
    for name, users in USERS.items():
        picked = imgops.resample(np.arange(4), 2, mode="nearest", convention=name)
        print(f"{name:14} nearest 4 -> 2 reads {picked}")
        diagrams.append((diagram(name), f"{name}: {users}\nnearest from 4 to 2 reads pixels {picked.tolist()}"))
        result = imgops.resample(small, scale=scale, convention=name)
        enlarged.append((Image.fromarray(result), f"{name}, linear, {scale} times"))
        if centred is None:
            centred = result.astype(np.int16)
        difference = np.clip(128 + 2 * (result.astype(np.int16) - centred), 0, 255).astype(np.uint8)
        largest = abs(result - centred).max()
        caption = "half_pixel, to which the others are compared"
        if largest:
            caption = f"its difference from half_pixel, doubled;\nlargest {largest} of 255 levels"
        differences.append((Image.fromarray(difference), caption))

    up = imgops.resample(np.arange(4), 2, mode="nearest", rounding="half_up")
    view = sheet("Conventions: where an enlargement from 4 samples to 8 looks", diagrams, enlarged, differences)
    view.save(folder / "conventions.png")
    print(f"half_pixel with rounding='half_up' reads {up} instead: the tie rule is part of a convention")
    print(f"open {folder / 'conventions.png'}")


if __name__ == "__main__":
    main()
