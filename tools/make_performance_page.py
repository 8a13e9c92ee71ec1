"""Put the figures of `imgops bench` into docs/performance.md and README.md, and draw the picture that both show.

    imgops bench --json benchmarks/results.json --overwrite
    python benchmarks/thread_pools.py --json benchmarks/thread_pools.json
    python benchmarks/large_outputs.py --json benchmarks/large_outputs.json
    python tools/count_instructions.py
    python tools/make_performance_page.py [--no-picture]

What stands between `<!-- made: NAME -->` and `<!-- end -->` is made here; all else is written by hand.
"""

import argparse
import json
import re
import statistics
from collections import defaultdict
from pathlib import Path

from imgops.bench import cells, report

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"
PAGES = (ROOT / "docs" / "performance.md", ROOT / "README.md")
PICTURE = ROOT / "docs" / "images" / "performance.png"


def stored(name):
    return json.loads((BENCHMARKS / name).read_text(encoding="utf-8"))


def table(heading, rows, right=()):
    """A table of Markdown; the columns in `right` hold numbers."""
    marks = ["---:" if index in right else "---" for index in range(len(heading))]
    return "".join("| " + " | ".join(map(str, row)) + " |\n" for row in (heading, marks, *rows))


SHOWN = "![Every cell: times as fast as the fastest peer, and copies of its bytes](%s)\n"


def machine(results):
    facts = results["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return (
        f"{facts['processor']}, {facts['cores']} cores, {report.threads(facts)}, level {facts['simd_level']}, "
        f"Python {facts['python']}; {versions}. Load before and after: {facts['load']}, {facts['load_after']}.\n\n"
    ) + SHOWN % "images/performance.png"


def summary(results):
    entries, rows = results["cells"], []
    for family, _, judgements in report.families(entries):
        ratios = [found.ratio for found in judgements if found.ratio]
        count = [
            sum(found.verdict == verdict for found in judgements) for verdict in (report.WON, report.COPY, report.LOST)
        ]
        goal = cells.FAMILIES[family]
        wanted = f"{goal.least:g} times" if goal.least else f"{goal.limit:g} ms"
        numbers = report.number(min(ratios, default=None)), report.number(report.mean(ratios))
        rows.append([goal.title, len(judgements), *count, wanted, *numbers])
    heading = ["", "cells", "won", "at the copy", "lost", "goal of a cell", "smallest ratio", "geometric mean"]
    means = "".join(
        f"* Geometric mean of {name}: {report.number(reached)}; goal {wanted:g}.\n"
        for name, reached, wanted in report.goals(entries)
    )
    return table(heading, rows, range(1, 8)) + "\n" + means


def lost(results):
    entries = results["cells"]
    rows = [
        [entry["name"], report.number(found.milliseconds), _peer(entry, found), report.number(found.copies), found.why]
        for entry, found in zip(entries, report.judge(entries), strict=True)
        if found.verdict == report.LOST
    ]
    if not rows:
        return "None.\n"
    return table(["cell", "ms", "fastest peer, ms", "copies", "has and should have"], rows, (1, 3))


def _peer(entry, found):
    if found.peer is None:
        return "-"
    times = entry["peers"][found.peer]
    return f"{found.peer} {report.number(times.get('warm', times.get('fresh')))}"


def threads(results):
    rows, copies = [], []
    for family, entries, judgements in report.families(results["cells"]):
        speedups = [found.speedup for found in judgements if found.speedup]
        copies += [entry["copy_one_thread"] / entry["copy"] for entry in entries if "copy_one_thread" in entry]
        if not speedups:
            continue
        good = [found for found in judgements if found.speedup and found.speedup >= 1.8]
        bound = [found for found in judgements if found.speedup and found.speedup < 1.8 and found.memory_bound]
        others = len(speedups) - len(good) - len(bound)
        middle, least = statistics.median(speedups), min(speedups)
        title = cells.FAMILIES[family].title
        rows.append([title, report.number(middle), report.number(least), len(good), len(bound), others])
    if not rows:
        return "Measured with one thread only.\n"
    heading = ["", "median", "smallest", "at least 1.8", "below, bound by memory", "below, other"]
    text = table(heading, rows, range(1, 6))
    copy = report.number(statistics.median(copies))
    return f"{text}\nThe bare copy itself is {copy} times as fast with all threads as with one (median).\n"


def bound(results):
    """The cells that are as fast as a copy, by operator, layout and dtype."""
    groups = defaultdict(lambda: [0, 0])
    for entry, found in zip(results["cells"], report.judge(results["cells"]), strict=True):
        if found.copies is not None:
            group = groups[entry["family"], entry["layout"], entry["dtype"]]
            group[0] += found.memory_bound
            group[1] += 1
    rows = [
        [cells.FAMILIES[family].title, layout, dtype, f"{count} of {total}"]
        for (family, layout, dtype), (count, total) in groups.items()
        if count
    ]
    return table(["", "layout", "dtype", "cells bound by memory"], rows)


def pools(results):
    rows = [
        [workers, count, workers * count, f"{milliseconds:.2f}"] for workers, count, milliseconds in results["rows"]
    ]
    return table(["workers", "threads of a call", "threads in all", "ms of a picture"], rows, range(4))


def large(results):
    rows = [
        [f"{row.pop('megabytes')} MB", *(figure for pair in row.values() for figure in pair)] for row in results["rows"]
    ]
    heading = [f"{case}, {way}" for case in ("alone", "read", "cold", "fresh") for way in ("past", "through")]
    return table(["output", *heading], rows, range(9))


def instructions(results):
    """Instructions of a sample, cells of one operator and size in a row, by layout and dtype."""
    columns = [(layout, dtype) for layout in ("NHWC3", "NCHW3") for dtype in ("uint8", "uint16", "float16", "float32")]
    rows = defaultdict(dict)
    for name, (count, samples) in results["cells"].items():
        words = name.split()
        title = " ".join(word for word in words[:-2] if word not in ("DCR", "CRD"))
        rows[title][words[-2], words[-1]] = f"{count / samples:.2f}"
    heading = ["", *(f"{dtype} {layout[:4]}" for layout, dtype in columns)]
    text = table(
        heading, [[title, *(row.get(column, "-") for column in columns)] for title, row in rows.items()], range(1, 9)
    )
    return f"Build: {results['compiler']}.\n\n{text}"


def every_cell(results):
    parts = []
    heading = ["cell", "warm", "fresh", "fastest peer", "ratio", "fresh ratio", "copies", "one thread", "verdict"]
    for family, entries, judgements in report.families(results["cells"]):
        rows = [
            [
                entry["name"], report.number(entry.get("warm")), report.number(entry.get("fresh")), _peer(entry, found),
                *map(report.number, (found.ratio, found.fresh_ratio, found.copies, entry.get("one_thread"))),
                found.verdict,
            ]
            for entry, found in zip(entries, judgements, strict=True)
        ]  # fmt: skip
        title = f"<summary>{cells.FAMILIES[family].title}: {len(rows)} cells</summary>"
        parts.append(f"<details>\n{title}\n\n{table(heading, rows, (1, 2, 4, 5, 6, 7))}\n</details>\n")
    return "\n".join(parts)


def readme(results):
    """The cells of `--quick` that readers know, peers in columns."""
    quick = {cell.name for cell in cells.CELLS if cell.quick}
    wanted = ("moves of 3 channels", "linear", "antialias", "linear gradient")
    names = ("torch", "onnxruntime", "OpenCV", "TensorFlow", "NumPy", "Pillow")
    rows = []
    for entry in results["cells"]:
        if entry["name"] in quick and entry["family"] in wanted and "1777" not in entry["name"]:
            times = [entry["peers"].get(name, {}) for name in names]
            own = report.number(entry["warm"])
            rows.append([entry["name"], own, *(report.number(time.get("warm", time.get("fresh"))) for time in times)])
    rows = [[*row[:2], *("" if text == "-" else text for text in row[2:])] for row in rows]
    return SHOWN % "docs/images/performance.png" + "\n" + table(["ms", "imgops", *names], rows, range(1, 8))


MAKERS = {
    "machine": (machine, "results.json"),
    "summary": (summary, "results.json"),
    "lost": (lost, "results.json"),
    "threads": (threads, "results.json"),
    "bound": (bound, "results.json"),
    "pools": (pools, "thread_pools.json"),
    "large": (large, "large_outputs.json"),
    "instructions": (instructions, "instructions.json"),
    "cells": (every_cell, "results.json"),
    "readme": (readme, "results.json"),
}


def updated(text):
    """A page with all that is made in it made anew."""

    def made(match):
        make, file = MAKERS[match[1]]
        if not (BENCHMARKS / file).exists():
            return match[0]
        return f"<!-- made: {match[1]} -->\n{make(stored(file))}<!-- end -->"

    return re.sub(r"<!-- made: (\w+) -->\n.*?<!-- end -->", made, text, flags=re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-picture", action="store_true", help="the pages alone, which needs no matplotlib")
    options = parser.parse_args()
    for page in PAGES:
        page.write_text(updated(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(page.relative_to(ROOT))
    if not options.no_picture and (BENCHMARKS / "results.json").exists():
        from imgops.bench import chart

        results = stored("results.json")
        PICTURE.write_bytes(chart.png(results["machine"], results["cells"]))
        print(PICTURE.relative_to(ROOT))


if __name__ == "__main__":
    main()
