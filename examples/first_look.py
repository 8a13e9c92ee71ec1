"""A first look: enlarge pictures of every kind, by name on the command line or in three lines of Python.

    python examples/first_look.py [FOLDER]

Writes first_look.png, and beside it each picture enlarged.
"""

import numpy as np
from sheet import output_folder, picture, sheet

import imgops
from imgops import pillow


def main():
    folder = output_folder(__doc__)

    # A picture in, a picture out. Palette, alpha and 16 bits are understood.
    for name, scale, method in (
        ("harbour.png", 2, "linear"),
        ("text.png", 3, "linear"),
        ("badge.png", 3, "linear"),
        ("night16.png", 4, "linear"),
        ("sprite.png", 8, "nearest"),
    ):
        before = picture(name)
        after = pillow.upscale(before, scale, method=method)
        path = folder / f"{name.removesuffix('.png')}_x{scale}.png"
        after.save(path)
        print(f"{name:12} {before.mode:4} {before.size} -> {after.mode:4} {after.size}  {path.name}")

    # The same on arrays: (H, W, C) in, (2H, 2W, C) out.
    array = np.asarray(picture("harbour.png"))
    assert np.array_equal(imgops.resample(array, scale=2), pillow.upscale(picture("harbour.png"), 2, method="linear"))

    harbour = picture("harbour.png")
    detail = harbour.crop((172, 10, 222, 60))
    badge = picture("badge.png").crop((0, 44, 48, 92))
    sprite = picture("sprite.png")
    view = sheet(
        "imgops: pictures enlarged",
        [
            (harbour, "harbour.png as it is"),
            (pillow.upscale(harbour, 2, method="linear"), "twice the size, linear: upscale(image, 2)"),
        ],
        [
            (pillow.upscale(detail, 5, method="nearest"), "a detail, nearest: every pixel\nbecomes a square"),
            (pillow.upscale(detail, 5, method="linear"), "the same, linear: four neighbours\nblended"),
            (pillow.upscale(badge, 5, method="linear"), "alpha: colours are weighted by it,\nso no fringe appears"),
        ],
        [
            (pillow.upscale(sprite, 7, method="nearest"), "a palette picture, nearest:\nthe palette stays"),
            (pillow.resize(harbour, (360, 196)), "any size: resize(image, (360, 196))"),
        ],
    )
    view.save(folder / "first_look.png")
    print(f"open {folder / 'first_look.png'}")


if __name__ == "__main__":
    main()
