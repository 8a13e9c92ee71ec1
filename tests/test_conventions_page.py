"""docs/conventions.md, its pictures and imgops.describe say what the code does."""

import itertools
import json
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from oracles import linear_matrix, nearest_matrix
from PIL import Image, features

import imgops
from imgops import cli, describe

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "images" / "conventions"
NAMES = imgops.conventions()


@pytest.fixture(scope="module")
def maker():
    """tools/make_conventions_page.py as a module."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import make_conventions_page

        return make_conventions_page
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.fixture(scope="module")
def text():
    return (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------
# The page


def test_the_page_is_up_to_date(maker, text):
    assert text == maker.page(), "run: python tools/make_conventions_page.py"


def test_the_pictures_are_there_and_small(text):
    linked = set(re.findall(r"\(images/conventions/(\w+)\.png\)", text))
    assert linked == set(NAMES) == {path.stem for path in PICTURES.glob("*.png")}
    assert sum(path.stat().st_size for path in PICTURES.glob("*.png")) < 300_000


@pytest.mark.parametrize("name", NAMES)
def test_the_pictures_are_up_to_date(maker, name):
    with Image.open(PICTURES / f"{name}.png") as image:
        assert json.loads(image.text[maker.CHUNK]) == maker.grids(name), "run: python tools/make_conventions_page.py"
        drawn = np.asarray(image.convert("RGB"), int)
    if not features.check("freetype2"):
        pytest.skip("this Pillow has no FreeType, and other digits")
    # Digits differ with the version of FreeType, discs and boxes do not.
    fresh = np.asarray(maker.picture(name).convert("RGB"), int)
    assert drawn.shape == fresh.shape
    assert (np.abs(drawn - fresh).max(axis=2) > 48).mean() < 0.003


def test_the_maker_writes_what_is_stored(maker, tmp_path, monkeypatch, capsys, text):
    monkeypatch.setattr(sys, "argv", ["make_conventions_page.py", str(tmp_path)])
    maker.main()
    assert (tmp_path / "conventions.md").read_text(encoding="utf-8") == text
    assert {path.stem for path in (tmp_path / "images" / "conventions").iterdir()} == set(NAMES)
    assert f"{len(NAMES)} conventions" in capsys.readouterr().out


def test_links_within_the_page(text):
    headings = set(re.findall(r"^## (.+)$", text, re.MULTILINE))
    assert headings == set(re.findall(r"\(#(\w+)\)", text)) == set(NAMES)


def table_of(text, name, lengths):
    """Cells of one table of the page."""
    section = re.split(r"^## ", text.split(f"\n## {name}\n")[1], flags=re.MULTILINE)[0]
    rows = section.split(f"\n{lengths[0]} to {lengths[1]}:\n\n")[1].split("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in row.strip("|\n ").split("|")] for row in rows]
    return cells[0], cells[2:]


def weights_of(cell, length):
    """A cell in words back as a row of the matrix."""
    row = np.zeros(length)
    if re.fullmatch(r"\d+", cell):
        row[int(cell)] = 1
        return row
    for sign, weight, index in re.findall(r"(^|\+|-) ?([\d./]+) \[(\d+)\]", cell):
        row[int(index)] = float(Fraction(weight)) * (-1 if sign == "-" else 1)
    return row


def coordinate(name, n, m, o):
    """Formulas of the rows with exact positions, written out again."""
    half = Fraction(2 * o + 1, 2) * Fraction(n, m)
    return {
        "half_pixel": half - Fraction(1, 2),
        "align_corners": Fraction(o * (n - 1), m - 1),
        "asymmetric": Fraction(o * n, m),
        "tf_half_pixel_for_nn": half,
        "tf_crop_and_resize": Fraction(n - 1, 4) + Fraction(o * (n - 1), 2 * (m - 1)),
    }[name]


@pytest.mark.parametrize("lengths", [(4, 8), (8, 3)])
@pytest.mark.parametrize(
    "name", ["half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"]
)
def test_tables_by_formula(text, name, lengths):
    n, m = lengths
    heading, rows = table_of(text, name, lengths)
    positions = [coordinate(name, n, m, o) for o in range(m)]
    assert [row[:2] for row in rows] == [[str(o), str(x)] for o, x in enumerate(positions)]
    for column, title in enumerate(heading[2:], 2):
        matrix = np.array([weights_of(row[column], n) for row in rows])
        if title == "linear":
            expected = linear_matrix(positions, n)
        else:
            expected = nearest_matrix(positions, n, title.removeprefix("nearest, "))
        np.testing.assert_allclose(matrix, np.array(expected, float), atol=1e-12)


@pytest.mark.parametrize("lengths", [(4, 8), (8, 3)])
@pytest.mark.parametrize("name", NAMES)
def test_tables_are_what_resample_does(text, name, lengths):
    n, m = lengths
    heading, rows = table_of(text, name, lengths)
    convention = describe.shown(name)
    x = np.random.default_rng(0).random(n)
    for column, title in enumerate(heading[2:], 2):
        mode, *rounding = title.split(", ")
        result = imgops.resample(x, m, mode=mode, rounding=rounding[0] if rounding else None, convention=convention)
        matrix = np.array([weights_of(row[column], n) for row in rows])
        np.testing.assert_allclose(matrix @ x, result, atol=2e-7)


def test_known_rows_of_the_tables(text):
    _, rows = table_of(text, "half_pixel", (8, 3))
    assert rows[1] == ["1", "7/2", "3", "4", "3", "4", "1/2 [3] + 1/2 [4]"]
    _, rows = table_of(text, "opencv", (8, 3))
    assert [row[2] for row in rows] == ["0", "2", "5"]
    _, rows = table_of(text, "pillow", (8, 3))
    assert rows[0][3] == "11/38 [0] + 15/38 [1] + 9/38 [2] + 3/38 [3]"


# ---------------------------------------------------------------------------------------------------------------------
# imgops.describe


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Fraction(3, 8), "3/8"),
        (0.375, "3/8"),
        (2 / 3, "2/3"),
        (0.0, "0"),
        (1.0, "1"),
        (-0.0703125, "-9/128"),
        (float(np.float32(1 / 3)), "0.3333333"),
        (np.pi, "3.1415927"),
    ],
)
def test_numbers(value, words):
    assert describe.number(value) == words


def test_reads():
    assert describe.reads(((2, 1.0),)) == "2"
    assert describe.reads(((0, -0.125), (1, 1.25), (2, -0.125))) == "-1/8 [0] + 5/4 [1] - 1/8 [2]"
    assert describe.reads(((4, 0.5),)) == "1/2 [4]"


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic", "lanczos3"])
@pytest.mark.parametrize(("n", "m"), [(5, 8), (8, 5), (1, 3), (3, 1), (7, 7)])
def test_axis_rows_are_the_matrix(mode, n, m):
    matrix = imgops.resample(np.eye(n), m, axes=0, mode=mode)
    for row in describe.axis_rows(n, m, mode=mode):
        assert row.coordinate == Fraction(2 * row.output + 1, 2) * Fraction(n, m) - Fraction(1, 2)
        expected = {i: weight for i, weight in enumerate(matrix[row.output]) if weight}
        assert dict(row.taps) == pytest.approx(expected, abs=1e-15)
    assert row.output == m - 1


def test_axis_rows_of_a_scale():
    rows = list(describe.axis_rows(5, scale=1.5, convention="asymmetric"))
    assert len(rows) == 7
    assert rows[1].coordinate == Fraction(2, 3)


def test_axis_rows_hide_coordinates_that_are_not_read():
    assert next(describe.axis_rows(5, 8, convention="torch", mode="nearest")).coordinate is None
    assert next(describe.axis_rows(5, 8, convention="torch", mode="cubic")).coordinate is not None
    assert next(describe.axis_rows(8, 5, convention="torch", antialias=True)).coordinate is not None


def test_axis_rows_of_a_long_axis_come_one_by_one():
    rows = describe.axis_rows(10**7, 10**7 + 1, mode="nearest")
    for row in itertools.islice(rows, 5000):
        assert row.taps[0][0] in (row.output, row.output - 1)
    down = describe.axis_rows(10**9, 1000)
    assert next(down).coordinate == Fraction(10**6 - 1, 2)


def test_axis_rows_refuse_what_resample_refuses():
    with pytest.raises(ValueError, match="align_corners"):
        next(describe.axis_rows(5, 8, convention="aligned_corners"))
    with pytest.raises(ValueError, match="size or scale"):
        next(describe.axis_rows(5))


@pytest.mark.parametrize("name", NAMES)
def test_facts_are_the_row(name):
    row = imgops.get_convention(name)
    facts = dict(describe.facts(name))
    assert facts["Formula"] == row.formula
    assert facts["Who uses it"] == row.source
    assert facts["What surprises"] == row.notes
    assert ("Cubic" in facts) == ("cubic" in row.modes)
    if "cubic" in row.modes:
        assert str(row.cubic_coefficient) in facts["Cubic"]
    assert ("Shown with" in facts) == (name == "tf_crop_and_resize")


def test_text_has_every_cell_of_the_table():
    lines = list(describe.convention_text("half_pixel"))
    assert lines[0] == "half_pixel"
    for lengths in ((4, 8), (8, 3)):
        _, rows = describe.convention_table("half_pixel", *lengths)
        for row in rows:
            assert any(line.split() == " ".join(row).split() for line in lines), row
    assert [line.split()[0] for line in describe.overview()] == list(NAMES)


# ---------------------------------------------------------------------------------------------------------------------
# The commands


def test_conventions_command_lists_them_all(capsys):
    assert cli.main(["conventions"]) == 0
    assert capsys.readouterr().out.splitlines() == list(describe.overview())


@pytest.mark.parametrize("name", NAMES)
def test_conventions_command_prints_the_tables_of_the_page(name, capsys, text):
    assert cli.main(["conventions", name]) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    for lengths in ((4, 8), (8, 3)):
        for row in table_of(text, name, lengths)[1]:
            assert " ".join(row).split() in printed


def test_taps_command(capsys):
    assert cli.main(["taps", "--in", "3", "--out", "5"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "output  coordinate  reads",
        "     0        -1/5  0",
        "     1         2/5  3/5 [0] + 2/5 [1]",
        "     2           1  1",
        "     3         8/5  2/5 [1] + 3/5 [2]",
        "     4        11/5  2",
    ]
    assert cli.main(["taps", "--in", "4", "--scale", "50%", "--mode", "nearest", "--rounding", "half_up"]) == 0
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()[1:]] == ["1", "3"]
    assert cli.main(["taps", "--in", "2", "--out", "7", "--convention", "pillow", "--mode", "nearest"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()[1:]] == [
        [str(o), index] for o, index in enumerate("0000111")
    ]
    assert cli.main(["taps", "--in", "4", "--out", "2", "--antialias"]) == 0
    assert capsys.readouterr().out.splitlines()[1].endswith("3/7 [0] + 3/7 [1] + 1/7 [2]")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["conventions", "aligned_corners"], "did you mean 'align_corners'?"),
        (["taps", "--in", "5"], "--out or --scale is required"),
        (["taps", "--out", "5"], "--in"),
        (["taps", "--in", "0", "--out", "5"], "from 1"),
        (["taps", "--in", "5", "--scale", "0.1"], "less than 1 "),
        (["taps", "--in", "5", "--out", "8", "--convention", "torch_nearest_exact"], "has mode 'nearest'"),
        (["taps", "--in", "5", "--out", "8", "--rounding", "floor"], "rounding"),
        (["taps", "--in", "5", "--out", "8", "--mode", "nearest", "--antialias"], "antialias"),
    ],
)
def test_wrong_usage(arguments, words, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert words in capsys.readouterr().err
