"""imgops inside a pool of threads: how long a batch of pictures takes, by workers and by threads of each call.

    python benchmarks/thread_pools.py [--json FILE]

Every worker thread that calls with several threads has a team of its own: workers times threads in all. The ways take
turns; figures are medians. Were the interpreter's lock held during a call, two workers would take as long as one.
"""

import argparse
import json
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import imgops

PICTURES, TURNS = 48, 9
SIZE, TARGET = (540, 960, 3), (1080, 1920)


def batch(pictures, outputs, workers, threads):
    """Seconds of all pictures: `workers` at a time, each call with so many threads (None: the default)."""

    def work(index):
        imgops.resample(pictures[index], TARGET, out=outputs[index], num_threads=threads)

    start = time.perf_counter()
    if workers == 1:
        for index in range(len(pictures)):
            work(index)
    else:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(work, range(len(pictures))))
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    options = parser.parse_args()
    cores = imgops.get_num_threads()
    generator = np.random.default_rng(0)
    pictures = [generator.random(SIZE, np.float32) for _ in range(PICTURES)]
    outputs = [np.ones((*TARGET, 3), np.float32) for _ in range(PICTURES)]
    ways = [(1, 1), (1, cores), (cores, 1), (cores, cores), (4 * cores, 1), (4 * cores, cores)]
    seconds = {way: [] for way in ways}
    for _ in range(TURNS):
        for way in ways:
            seconds[way].append(batch(pictures, outputs, *way))
    rows = [
        [workers, threads, round(statistics.median(seconds[workers, threads]) * 1e3 / PICTURES, 3)]
        for workers, threads in ways
    ]
    for workers, threads, milliseconds in rows:
        print(f"{workers:3} workers, {threads:2} threads of a call: {milliseconds:7.3f} ms of a picture")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"cores": cores, "rows": rows}, file)
            file.write("\n")


if __name__ == "__main__":
    main()
