"""Outputs written past the caches and through them: how much faster the first way is, by the output's size.

    python benchmarks/large_outputs.py [--json FILE]

Linear enlargement by 2, float32, RGB, all threads. An `out` of 32 MB and more goes past the caches by itself; here the
kernel is told which way to go, as it tells fresh memory from an `out`. The ways take turns; figures are medians.
`alone` repeats the call on the same arrays, `read` sums the output behind each call, `cold` copies another array before
each, `fresh` makes a new output for each.
"""

import argparse
import json
import statistics
import time

import numpy as np

import imgops

SIZES = [(640, 1140), (720, 1280), (810, 1440), (1080, 1920)]
TURNS, CALLS, WARMING = 8, 8, 2
WAYS = ("past", "through")
CASES = ("alone", "read", "cold", "fresh")


def milliseconds(kernel, x, output, way, cores, case, elsewhere):
    """Of one call, with what the case has around it."""
    if case == "cold":
        np.copyto(*elsewhere)
    if case == "fresh":
        output = np.empty_like(output)
    start = time.perf_counter()
    kernel(x, output, False, way == "through", cores)
    if case == "read":
        output.sum()
    return (time.perf_counter() - start) * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    cores = imgops.get_num_threads()
    generator = np.random.default_rng(0)
    elsewhere = np.ones(2**24, np.float32), np.ones(2**24, np.float32)
    rows = []
    for height, width in SIZES:
        x = generator.random((height, width, 3), np.float32)
        output = np.ones((2 * height, 2 * width, 3), np.float32)
        plan = imgops.ResamplePlan(x.shape, output.shape[:2])
        kernel = plan._prepared(x.dtype, output.dtype, False, backward=False)
        row = {"megabytes": round(output.nbytes / 1e6)}
        for case in CASES:
            times = {way: [] for way in WAYS}
            for _ in range(TURNS):
                for way in WAYS:
                    taken = [milliseconds(kernel, x, output, way, cores, case, elsewhere) for _ in range(CALLS)]
                    times[way] += taken[WARMING:]
            row[case] = [round(statistics.median(times[way]), 2) for way in WAYS]
        rows.append(row)
        print(f"{row['megabytes']:4} MB, ms past and through the caches:", end="")
        print(*(f"  {case} {past:6.2f} {through:6.2f}" for case, (past, through) in list(row.items())[1:]), flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"cores": cores, "rows": rows}, file)
            file.write("\n")


if __name__ == "__main__":
    main()
