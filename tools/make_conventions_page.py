"""Make docs/conventions.md and its pictures from the conventions themselves.

    python tools/make_conventions_page.py [DOCS]

The tables are imgops.describe's, which `imgops conventions` prints too. Every picture carries what it shows as JSON in
a text chunk, so that a test can hold it against the code without comparing pixels of a font.
"""

import argparse
import json
from fractions import Fraction
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

import imgops
from imgops import describe

DOCS = Path(__file__).resolve().parent.parent / "docs"
LENGTHS = ((4, 8), (8, 3))
CHUNK = "imgops sample grids"

# Drawn this many times larger and reduced, for smooth edges.
FACTOR = 4
PANEL, MARGIN, AXIS, CELL_HEIGHT, MARKER = 440, 44, 352, 46, 9
TITLE, CELLS, MARKERS, HEIGHT = 12, 34, 118, 140
PAPER, INK, FAINT, LINE = (250, 248, 243), (34, 36, 44), (112, 112, 120), (150, 150, 156)
HUES = (
    (232, 134, 116),
    (236, 178, 92),
    (206, 200, 96),
    (138, 194, 118),
    (102, 190, 172),
    (108, 172, 218),
    (146, 148, 220),
    (204, 140, 200),
)

INTRODUCTION = """\
# Conventions

Made by tools/make_conventions_page.py from the code; `imgops conventions NAME` prints the same.

A convention says which input coordinate `x` the output sample `o` of an axis reads. `n` and `m` are the lengths of
input and output, `s` is the scale, `m / n` unless another was given; sample centres are at integers, so that the first
sample reaches from -1/2 to 1/2. Coordinates outside of 0 to `n - 1` are clamped: the edge sample repeats.

* **nearest** makes an index of `x` by a rounding: `floor`, `ceil`, `half_down` (halves go down; the default) or
  `half_up`. Owners with a rule, or arithmetic in floating point, of their own have no choice of it.
* **linear** weights the two neighbours of `x` by their distances, **cubic** four by Keys's filter, **lanczos3** six.
* **antialias** widens a filter by the reduction where an axis shrinks.

In the pictures the boxes are input samples, the discs output samples at their `x`, in the colour of the sample that
nearest reads. A convention that has nearest alone, by `floor`, is drawn half a sample to the left, where its sample
points are. In the tables `3/4 [0] + 1/4 [1]` is the sum of 3/4 of sample 0 and 1/4 of sample 1; decimals are weights
that the owner's float32 positions make, off the fraction.

Which one did they use? `imgops.identify(x, y)` tries them all on an input and an output made elsewhere;
`imgops identify A B` does it for two files. `imgops taps --in 5 --out 8 --convention NAME` prints any other table.

| convention | `x` | modes |
|---|---|---|
"""


# ---------------------------------------------------------------------------------------------------------------------
# The page


def page():
    """The text of the page."""
    names = imgops.conventions()
    rows = ((f"[`{name}`](#{name})", code(imgops.get_convention(name).formula), modes(name)) for name in names)
    return INTRODUCTION + "".join(map(line, rows)) + "".join(map(section, names))


def modes(name):
    return ", ".join(imgops.get_convention(name).modes)


def code(formula):
    """A formula with its parts as code; 'nearest' stays a word."""
    return "; ".join(
        f"nearest `{part.removeprefix('nearest ')}`" if part.startswith("nearest ") else f"`{part}`"
        for part in formula.split("; ")
    )


def line(cells):
    return "| " + " | ".join(cells) + " |\n"


def section(name):
    parts = [f"\n## {name}\n\n"]
    for label, words in describe.facts(name):
        if label not in ("Modes", "Formula"):
            parts.append(f"* **{label}.** {words.rstrip('.')}.\n")
        else:
            parts.append(f"* **{label}.** {code(words) if label == 'Formula' else words}\n")
    (first, second) = (f"{n} to {m}" for n, m in LENGTHS)
    parts.append(f"\n![Sample grids of {name}, {first} and {second}](images/conventions/{name}.png)\n")
    for n, m in LENGTHS:
        heading, rows = describe.convention_table(name, n, m)
        parts.append(f"\n{n} to {m}:\n\n{line(heading)}{line(['---'] * len(heading))}")
        parts.extend(line(cells) for cells in rows)
    return "".join(parts)


# ---------------------------------------------------------------------------------------------------------------------
# The pictures


def grids(name):
    """What the picture of a convention shows: for each pair of lengths [place of the disc, sample that it reads]."""
    row = describe.shown(name)
    shift = Fraction(1, 2) if row.modes == ("nearest",) and row.rounding == "floor" else 0
    mode = "nearest" if "nearest" in row.modes else "linear"
    result = {}
    for n, m in LENGTHS:
        coordinate = row.axis_map(n, m).coordinate
        result[f"{n} to {m}"] = [
            [str(coordinate(output.output) - shift), max(output.taps, key=lambda tap: tap[1])[0]]
            for output in describe.axis_rows(n, m, convention=name, mode=mode)
        ]
    return result


def picture(name):
    image = Image.new("RGB", (PANEL * len(LENGTHS) * FACTOR, HEIGHT * FACTOR), PAPER)
    draw = ImageDraw.Draw(image)
    for index, ((n, _), (title, outputs)) in enumerate(zip(LENGTHS, grids(name).items(), strict=True)):
        panel(draw, index * PANEL, n, title, outputs)
    return image.reduce(FACTOR).quantize(64)


def panel(draw, left, n, title, outputs):
    width = AXIS / n

    def place(coordinate):
        """Where on the sheet a coordinate is: centre 0 is half a cell from the left."""
        return left + MARGIN + (float(coordinate) + 0.5) * width

    text(draw, left + MARGIN, TITLE, title, FAINT, 14, "lm")
    for index in range(n):
        box = (place(index - 0.5) + 1, CELLS, place(index + 0.5) - 1, CELLS + CELL_HEIGHT)
        draw.rounded_rectangle(scaled(box), radius=5 * FACTOR, fill=mix(HUES[hue(index, n)], PAPER, 0.45))
        text(draw, place(index), CELLS + 15, str(index), INK, 15)
        disc(draw, place(index), CELLS + 34, 2.5, INK)
    for output, (coordinate, index) in enumerate(outputs):
        x = place(Fraction(coordinate))
        draw.line(scaled((x, CELLS + 34, x, MARKERS - MARKER)), fill=LINE, width=int(1.5 * FACTOR))
        disc(draw, x, CELLS + 34, 2, LINE)
        disc(draw, x, MARKERS, MARKER, HUES[hue(index, n)])
        text(draw, x, MARKERS, str(output), INK, 12)


def hue(index, n):
    return index * len(HUES) // n


def mix(colour, other, share):
    return tuple(round(a * share + b * (1 - share)) for a, b in zip(colour, other, strict=True))


def scaled(values):
    return tuple(value * FACTOR for value in values)


def disc(draw, x, y, radius, fill):
    draw.ellipse(scaled((x - radius, y - radius, x + radius, y + radius)), fill=fill)


def text(draw, x, y, words, fill, size, anchor="mm"):
    draw.text(scaled((x, y)), words, fill=fill, font=ImageFont.load_default(size * FACTOR), anchor=anchor)


def save(name, path):
    chunks = PngInfo()
    chunks.add_text(CHUNK, json.dumps(grids(name)))
    picture(name).save(path, optimize=True, pnginfo=chunks)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("docs", nargs="?", type=Path, default=DOCS, help="default: docs")
    docs = parser.parse_args().docs
    pictures = docs / "images" / "conventions"
    pictures.mkdir(parents=True, exist_ok=True)
    for name in imgops.conventions():
        save(name, pictures / f"{name}.png")
    (docs / "conventions.md").write_text(page(), encoding="utf-8")
    size = sum(path.stat().st_size for path in pictures.glob("*.png"))
    print(f"{docs / 'conventions.md'}: {len(imgops.conventions())} conventions, {size} bytes of pictures")


if __name__ == "__main__":
    main()
