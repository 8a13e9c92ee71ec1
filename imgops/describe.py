"""Conventions in words and tables: what the command line prints and the page of conventions shows."""

import itertools
from fractions import Fraction
from typing import NamedTuple

from . import _checks
from .conventions import conventions, get_convention
from .resampling import ResamplePlan
from .taps import LongTaps

# A weight within a float64's rounding of a fraction of such a denominator is written as this fraction.
_LARGEST_DENOMINATOR = 9999
# Rows of a table that are made at a time.
_ROWS = 4096
# The part of the axis that tf_crop_and_resize is shown with.
CROP = (Fraction(1, 4), Fraction(3, 4))


class AxisRow(NamedTuple):
    """What one output sample reads.

    Attributes
    ----------
    output : int
    coordinate : Fraction or None
        Before clamping; None where a convention finds its samples by arithmetic of its own.
    taps : tuple of (int, float)
        Input index and weight; weights of 0 are left out.
    """

    output: int
    coordinate: Fraction | None
    taps: tuple


def shown(name):
    """The row of a convention; tf_crop_and_resize with CROP for its part of the axis."""
    row = get_convention(name)
    return row.with_roi(*CROP) if row.offsets is None else row


def axis_rows(input_length, output_length=None, *, scale=None, convention="half_pixel", **options):
    """An AxisRow for every output sample of one axis.

    Parameters
    ----------
    input_length : int
    output_length : int, optional
        Without it, floor(input_length * scale).
    scale, convention, mode, rounding, antialias
        As in `imgops.resample`; tf_crop_and_resize stands for its part from 1/4 to 3/4.

    Returns
    -------
    iterator of AxisRow

    Raises
    ------
    ValueError, TypeError
        As `imgops.resample`, at once.

    Examples
    --------
    >>> next(axis_rows(2, 5, mode="nearest"))
    AxisRow(output=0, coordinate=Fraction(-3, 10), taps=((0, 1.0),))
    """
    row = shown(convention) if isinstance(convention, str) and convention in conventions() else convention
    plan = ResamplePlan((input_length,), output_length, scale=scale, convention=row, axes=0, **options)
    return _rows(plan, _map_of(plan))


def _rows(plan, axis_map):
    ((_, table),) = plan._passes
    step = min(_ROWS, table.step) if isinstance(table, LongTaps) else _ROWS
    for start in range(0, plan.output_shape[0], step):
        stop = min(start + step, plan.output_shape[0])
        part, first, _ = (table.short_window if isinstance(table, LongTaps) else table.window)(start, stop)
        for output in range(start, stop):
            begin, weights = part.row(output - start)
            taps = tuple((first + begin + i, float(weight)) for i, weight in enumerate(weights) if weight)
            yield AxisRow(output, None if axis_map is None else axis_map.coordinate(output), taps)


def _map_of(plan):
    """The AxisMap that the table of a plan of one axis was made from, if it was."""
    request = plan._request
    row = request.rows[0][0]
    own = row is not None and getattr(row, request.mode, None) is not None and not request.antialias
    return None if own else request.maps[0]


# ---------------------------------------------------------------------------------------------------------------------
# Numbers


def number(value):
    """A number as a fraction, if it is one to a float64's precision, else to seven digits.

    Examples
    --------
    >>> number(0.375), number(1 / 3), number(Fraction(-1, 4)), number(0.3333333)
    ('3/8', '1/3', '-1/4', '0.3333333')
    """
    if isinstance(value, Fraction):
        return str(value)
    close = Fraction(float(value)).limit_denominator(_LARGEST_DENOMINATOR)
    if abs(float(close) - float(value)) <= 2**-52 * max(1.0, abs(value)):
        return str(close)
    return f"{float(value):.7f}"


def reads(taps):
    """Taps in words: an index alone, or weights times indices.

    Examples
    --------
    >>> reads(((3, 1.0),)), reads(((0, 0.75), (1, 0.25)))
    ('3', '3/4 [0] + 1/4 [1]')
    """
    if len(taps) == 1 and taps[0][1] == 1:
        return str(taps[0][0])
    words = " + ".join(f"{number(weight)} [{index}]" for index, weight in taps)
    return words.replace("+ -", "- ")


# ---------------------------------------------------------------------------------------------------------------------
# Tables: a heading and rows of cells


def axis_table(input_length, output_length=None, **options):
    """(heading, rows of cells, iterated once) of `axis_rows`."""
    rows = axis_rows(input_length, output_length, **options)

    def cells():
        for output, coordinate, taps in rows:
            yield (str(output), "" if coordinate is None else number(coordinate), reads(taps))

    return ("output", "coordinate", "reads"), cells()


def convention_table(name, input_length, output_length):
    """(heading, rows of cells): what every output reads in nearest, by each rounding, and in linear."""
    row = shown(name)
    columns = {}
    if "nearest" in row.modes:
        for rounding in roundings(row):
            heading = f"nearest, {rounding}" if rounding else "nearest"
            columns[heading] = {"mode": "nearest", "rounding": rounding}
    if "linear" in row.modes:
        # Of Pillow too, whose filter is widened where the axis shrinks.
        columns["linear"] = {"mode": "linear"}
    tables = [list(axis_rows(input_length, output_length, convention=name, **options)) for options in columns.values()]
    coordinate = row.axis_map(input_length, output_length).coordinate
    rows = [
        (str(output), number(coordinate(output)), *(reads(table[output].taps) for table in tables))
        for output in range(output_length)
    ]
    return ("output", "x", *columns), rows


def roundings(row):
    """The roundings of nearest that a convention leaves open; (None,) for one with a rule of its own."""
    return (None,) if row.has_own_arithmetic or row.rounding != "half_down" else _checks.ROUNDINGS


def facts(name):
    """(label, words) of what a convention is, from its row.

    Examples
    --------
    >>> dict(facts("torch"))["Cubic"]
    'Keys with a = -0.75, a = -0.5 with antialias; the edge sample repeats, left out with antialias'
    """
    row = shown(name)
    yield "Formula", row.formula
    yield "Who uses it", row.source
    yield "Modes", ", ".join(row.modes)
    if "nearest" in row.modes:
        yield "Nearest", _nearest_rule(row)
    if "cubic" in row.modes:
        yield "Cubic", _cubic_rule(row)
    if row.notes:
        yield "What surprises", row.notes
    if get_convention(name).offsets is None:
        yield "Shown with", f"b = {CROP[0]}, e = {CROP[1]}"


def _nearest_rule(row):
    if row.nearest is not None:
        return "by the owner's own arithmetic; rounding= is refused"
    return f"{row.rounding} by default"


def _cubic_rule(row):
    words = f"Keys with a = {row.cubic_coefficient}"
    if row.antialias_cubic_coefficient is not None:
        words += f", a = {row.antialias_cubic_coefficient} with antialias"
    if row.edge == "renormalise":
        return words + "; weights outside of the axis are left out and the rest normalised"
    return words + "; the edge sample repeats, left out with antialias"


# ---------------------------------------------------------------------------------------------------------------------
# Text


def text_table(heading, rows):
    """Lines of a table with aligned columns, made as they are needed; empty columns are left out."""
    rows = iter(rows)
    lines = [tuple(heading), *itertools.islice(rows, _ROWS)]
    kept = [i for i in range(len(heading)) if any(line[i] for line in lines[1:])]
    widths = {i: max(len(line[i]) for line in lines) for i in kept}
    for line in itertools.chain(lines, rows):
        yield "  ".join(line[i].rjust(widths[i]) if i < 2 else line[i].ljust(widths[i]) for i in kept).rstrip()


def overview():
    """Lines of the list of all conventions: name, modes, formula."""
    rows = [(name, get_convention(name).formula, ", ".join(get_convention(name).modes)) for name in conventions()]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    for name, formula, modes in rows:
        yield f"{name:<{widths[0]}}  {formula:<{widths[1]}}  {modes}"


def convention_text(name):
    """Lines that tell all about one convention.

    Raises
    ------
    ValueError
        For an unknown name; the message lists them all.
    """
    yield get_convention(name).name
    for label, words in facts(name):
        yield f"  {label + ':':<15} {words}"
    for lengths in ((4, 8), (8, 3)):
        yield ""
        yield f"{lengths[0]} to {lengths[1]}"
        yield from text_table(*convention_table(name, *lengths))
