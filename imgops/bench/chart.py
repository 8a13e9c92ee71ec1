"""The picture: how many times as fast as the fastest peer every cell is, and how many copies of its bytes it takes."""

import functools
import io

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from . import cells, report

COLOURS = {
    "uint8": "#d1495b", "uint16": "#edae49", "float16": "#66a182", "float32": "#2e4057", "float64": "#8d96a3",
}  # fmt: skip


def png(facts, entries):
    """The picture of these records, as the bytes of a PNG file."""
    rows = [row for row in report.families(entries) if any(found.ratio for found in row[2])]
    figure = Figure(figsize=(10, 1.6 + 0.62 * len(rows)), dpi=120, layout="constrained")
    figure.patch.set_facecolor("white")
    left, right = figure.subplots(1, 2, sharey=True)
    for place, (family, chosen, judgements) in enumerate(rows):
        _dots(left, place, [(entry["dtype"], found.ratio) for entry, found in zip(chosen, judgements, strict=True)])
        _dots(right, place, [(entry["dtype"], found.copies) for entry, found in zip(chosen, judgements, strict=True)])
        middle = report.mean(found.ratio for found in judgements if found.ratio)
        left.plot(middle, place, "D", color="black", markersize=7, markerfacecolor="none", zorder=4)
        least = cells.FAMILIES[family].least
        if least:
            left.plot([least, least], [place - 0.38, place + 0.38], color="#888888", linewidth=1.2, zorder=1)
    _axis(left, "times as fast as the fastest peer", 1)
    _axis(right, "time in copies of the same bytes", cells.COPIES_WON)
    titles = [f"{cells.FAMILIES[family].title}\n{len(chosen)} cells" for family, chosen, _ in rows]
    left.set_yticks(range(len(rows)), titles)
    left.set_ylim(len(rows) - 0.5, -0.5)
    seen = [dtype for dtype in COLOURS if any(entry["dtype"] == dtype for entry in entries)]
    point = functools.partial(Line2D, [], [], linestyle="")
    handles = [point(marker="o", color=COLOURS[name], label=name) for name in seen]
    handles.append(point(marker="D", color="black", markerfacecolor="none", label="geometric mean"))
    figure.legend(handles=handles, loc="outside upper right", ncols=len(handles), frameon=False, fontsize=9)
    figure.suptitle(f"{report.threads(facts)}, {facts['processor']}", x=0.01, ha="left", fontsize=9, color="#555555")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _dots(axes, place, values):
    """One dot for each cell, those of one dtype in a line of their own."""
    names = list(COLOURS)
    for dtype, value in values:
        if value:
            height = place + (names.index(dtype) - 2) * 0.13
            axes.plot(value, height, "o", color=COLOURS[dtype], markersize=4, alpha=0.65, markeredgewidth=0, zorder=3)


def _axis(axes, words, line):
    axes.set_xscale("log")
    axes.set_xlabel(words)
    axes.axvline(line, color="#bbbbbb", linestyle=":", zorder=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.grid(axis="x", color="#eeeeee", zorder=0)
    axes.tick_params(labelsize=8)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
