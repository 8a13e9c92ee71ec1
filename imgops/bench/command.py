"""The command `imgops bench`."""

import json
import os
import time

import imgops

from .. import atomic, files
from . import cells, measure, report

TURNS, QUICK_TURNS = 5, 3


def run(arguments, complain):
    """Run the command with its arguments; `complain` takes a path and what is wrong with it."""
    threads = arguments.threads or imgops.get_num_threads()
    chosen = cells.select(cells.CELLS, arguments.only, arguments.quick)
    if not chosen:
        arguments.parser.error("no cell's name has all the words of --only; imgops bench --list prints the names")
    _check_outputs(arguments)
    if arguments.list:
        for cell in chosen:
            print(cell.name)
        return 0
    # Known before the first cell, and not after the last one, that their results can be written.
    for path in filter(None, (arguments.json, arguments.picture)):
        try:
            files.check_target(path, overwrite=arguments.overwrite)
        except files.PictureError as error:
            complain(path, error)
            return 1
    if arguments.picture:
        try:
            from . import chart
        except ImportError as error:
            complain(arguments.picture, f'cannot be drawn: {error}; pip install "imgops[plots]"')
            return 1
    # TensorFlow prints notes of its own start.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if arguments.check:
        return _check(chosen, threads)
    facts = report.machine(threads)
    entries = _measured(chosen, facts, threads, QUICK_TURNS if arguments.quick else TURNS)
    if arguments.json:
        _write(arguments.json, dumped({"machine": facts, "cells": entries}).encode(), arguments.overwrite)
    if arguments.picture:
        _write(arguments.picture, chart.png(facts, entries), arguments.overwrite)
    return 0


def _check_outputs(arguments):
    """End with wrong usage where an output is asked for that would not be written, or not as its name says."""
    outputs = [option for option in ("json", "picture") if getattr(arguments, option)]
    for without in ("list", "check"):
        if getattr(arguments, without) and outputs:
            arguments.parser.error(f"--{without} measures nothing that --{outputs[0]} could hold; leave one out")
    if "picture" in outputs and not arguments.picture.lower().endswith(".png"):
        arguments.parser.error(f"--picture is written as PNG; got {arguments.picture!r}; pass a name that ends in .png")
    if len(outputs) == 2 and os.path.realpath(arguments.json) == os.path.realpath(arguments.picture):
        arguments.parser.error(f"--json and --picture are two files; got {arguments.json!r} for both; pass two names")


def _check(chosen, threads):
    """Results on small pictures, nothing timed; 1 if a peer differs."""
    differing = 0
    for cell in chosen:
        if cell.operator == "import":
            continue
        for row in measure.prepare(cell if cell.family == "small" else cell.small(), threads):
            differing += row.note.startswith("differs")
            print(f"{cell.name:58}{row.name:22}{row.note}")
    if differing:
        print(f"{differing} results of peers differ and are not compared")
    return 0


def _measured(chosen, facts, threads, turns):
    begin = time.monotonic()
    print(f"{facts['processor']}, {facts['cores']} cores, {report.threads(facts)}, level {facts['simd_level']}")
    print(", ".join(f"{name} {number}" for name, number in facts["versions"].items()))
    if report.absent(facts):
        print(f"not installed, and not compared: {', '.join(report.absent(facts))}")
    if (facts["load"] or 0) > 0.5:
        print(f"load {facts['load']}: other programs take cores, threads wait for each other, figures are too high")
    print(report.HEADING)
    entries = []
    try:
        for cell in chosen:
            entries.append(report.record(cell, measure.measure(cell, threads, turns)))
            print(report.line(entries[-1], report.judge(entries)[-1]), flush=True)
            for text in report.not_compared(entries[-1]):
                print(text)
    except KeyboardInterrupt:
        print(f"interrupted after {len(entries)} of {len(chosen)} cells")
    if entries:
        print()
        for text in report.summary(entries):
            print(text)
    facts["seconds"], facts["load_after"] = round(time.monotonic() - begin), report.load_average()
    return entries


def dumped(results):
    """JSON with one line for each cell."""
    lines = ",\n".join(json.dumps(entry) for entry in results["cells"])
    return f'{{"machine": {json.dumps(results["machine"])},\n"cells": [\n{lines}\n]}}\n'


def _write(path, data, overwrite):
    with atomic.replacing(path, overwrite=overwrite) as file:
        file.write(data)
    print(f"written: {path}")
