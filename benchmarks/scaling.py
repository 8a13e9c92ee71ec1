"""How time and memory of imgops.bridges.dask grow: with cores, with size on disk, with the number of chunks.

    python benchmarks/scaling.py [--folder FOLDER] [cores] [size] [chunks] [large] [--bytes N [N ...]]

Without names: cores, size and chunks. `large` is a 20000 x 20000 float32 array (1.6 GB) in Zarr, reduced by 3.7 and
enlarged back by two workers, and compared bit for bit. Arrays are random, so that nothing compresses; they lie in a
folder that must have room for twice the largest, a temporary one by default. Peak memory is that of all workers
together, their code and libraries included, sampled every 20 ms. Each line is one run; run it when the machine is idle.
"""

import argparse
import contextlib
import os
import shutil
import statistics
import tempfile
import threading
import time
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import psutil
import zarr
from dask.distributed import Client, LocalCluster

import imgops
from imgops.bridges import dask as lazy

MEGABYTE = 10**6
REDUCE = {"scale": 1 / 3.7, "antialias": True}


class Peak:
    """What some processes, the workers, need while the context lasts, and this one, the scheduler.

    The largest sum of the workers' resident memory, seconds that passed, seconds of the processors.
    """

    def __init__(self, pids):
        self.processes = [psutil.Process(pid) for pid in pids]
        self.bytes = self.seconds = self.workers = self.scheduler = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def _sample(self):
        while not self._done.wait(0.02):
            with contextlib.suppress(psutil.NoSuchProcess):
                self.bytes = max(self.bytes, sum(process.memory_info().rss for process in self.processes))

    def _spent(self):
        return time.perf_counter(), time.process_time(), sum(sum(p.cpu_times()[:2]) for p in self.processes)

    def __enter__(self):
        self._thread.start()
        self._before = self._spent()
        return self

    def __exit__(self, *_):
        after = self._spent()
        self.seconds, self.scheduler, self.workers = (b - a for a, b in zip(self._before, after, strict=True))
        self._done.set()
        self._thread.join()


@contextlib.contextmanager
def cluster(workers):
    """(client, process ids) of a local cluster of one thread per worker, without a dashboard."""
    options = {"n_workers": workers, "threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with LocalCluster(**options) as local, Client(local) as client:
        yield client, list(client.run(os.getpid).values())


def stored(folder, side, chunk):
    """A random float32 array of side x side in Zarr."""
    array = zarr.create_array(
        folder / f"x{side}.zarr",
        shape=(side, side),
        chunks=(chunk, chunk),
        dtype="f4",
        compressors=None,
        overwrite=True,
    )
    rng = np.random.default_rng(0)
    for start in range(0, side, chunk):
        array[start : start + chunk] = rng.random((min(chunk, side - start), side), dtype=np.float32)
    return array


def written(result, path):
    """Compute a dask array into Zarr."""
    target = zarr.create_array(
        path, shape=result.shape, chunks=result.chunksize, dtype=result.dtype, compressors=None, overwrite=True
    )
    da.store(result, target, lock=False)


def tasks(array):
    return len(array.__dask_graph__())


def cores(_folder, _sizes):
    """Threads of one call in memory; workers of a cluster on the same array."""
    print("\ncores: 8000 x 8000 float32 (256 MB) reduced by 3.7, antialiased; medians of 5, seconds")
    x = np.random.default_rng(0).random((8000, 8000), dtype=np.float32)
    runs = {1: [], 2: []}
    for _ in range(5):
        for threads, seconds in runs.items():
            start = time.perf_counter()
            imgops.resample(x, **REDUCE, num_threads=threads)
            seconds.append(time.perf_counter() - start)
    for threads, seconds in runs.items():
        print(f"  in memory, {threads} threads   {statistics.median(seconds):7.3f}")
    source = da.random.default_rng(0).random((8000, 8000), chunks=1000, dtype=np.float32)
    for workers in (1, 2):
        with cluster(workers) as (client, _):
            held = client.persist(source)
            client.gather(client.compute(held.sum()))
            seconds = []
            for _ in range(5):
                start = time.perf_counter()
                client.compute(lazy.resample(held, **REDUCE).sum()).result()
                seconds.append(time.perf_counter() - start)
            print(f"  dask, {workers} workers        {statistics.median(seconds):7.3f}")


def size(folder, sizes):
    """Arrays of many sizes on disk, reduced by two workers."""
    print("\nsize: float32 in Zarr, chunks of 1000 x 1000, reduced by 3.7, antialiased, two workers")
    print("  MB on disk   chunks    tasks   seconds   CPU s   peak MB")
    for number in sizes:
        side = max(500, round((number / 4) ** 0.5))
        chunk = min(1000, side)
        array = stored(folder, side, chunk)
        result = lazy.resample(da.from_zarr(array), **REDUCE)
        with cluster(2) as (_, pids), Peak(pids) as peak:
            written(result, folder / "result.zarr")
        count = (-(-side // chunk)) ** 2
        print(
            f"  {array.nbytes / MEGABYTE:10.0f} {count:8} {tasks(result):8} {peak.seconds:9.2f} "
            f"{peak.workers + peak.scheduler:7.2f} {peak.bytes / MEGABYTE:9.0f}",
            flush=True,
        )
        shutil.rmtree(folder / f"x{side}.zarr")


def chunks(_folder, _sizes):
    """One array in ever more chunks."""
    print(
        "\nchunks: 6000 x 6000 float32 zeros (144 MB), reduced by 3.7 and enlarged by 2, two workers, nothing on disk"
    )
    print("                          building   in all    CPU ms per task of")
    print("  chunks   scale   tasks   seconds  seconds   workers  scheduler   peak MB")
    with cluster(2) as (client, pids):
        for count in (1, 3, 10, 32, 100):
            for scale in (1 / 3.7, 2):
                x = da.zeros((6000, 6000), chunks=-(-6000 // count), dtype=np.float32)
                start = time.perf_counter()
                result = lazy.resample(x, scale=scale, antialias=True)
                number = tasks(result) - tasks(x)
                built = time.perf_counter() - start
                reduced = result.max()
                with Peak(pids) as peak:
                    client.compute(reduced).result()
                each = 1000 / tasks(reduced)
                print(
                    f"  {x.npartitions:6} {scale:7.3f} {number:7} {built:9.3f} {peak.seconds:8.2f} "
                    f"{each * peak.workers:9.2f} {each * peak.scheduler:10.2f} {peak.bytes / MEGABYTE:9.0f}",
                    flush=True,
                )


def large(folder, _sizes, side=20000):
    """1.6 GB there and back."""
    print(f"\nlarge: {side} x {side} float32 in Zarr, reduced by 3.7, enlarged back, two workers")
    array = stored(folder, side, 1000)
    with cluster(2) as (_, pids):
        for name, (source, options) in {
            "small": (array, REDUCE),
            "back": (None, {"size": (side, side), "chunks": 1000}),
        }.items():
            source = zarr.open_array(folder / "small.zarr", mode="r") if source is None else source
            result = lazy.resample(da.from_zarr(source), **options)
            with Peak(pids) as peak:
                written(result, folder / f"{name}.zarr")
            print(
                f"  to {result.shape}: {tasks(result)} tasks, {peak.seconds:.1f} s, "
                f"{peak.workers + peak.scheduler:.1f} CPU s, peak {peak.bytes / MEGABYTE:.0f} MB",
                flush=True,
            )
    expected = array[:]
    for name, options in (("small", REDUCE), ("back", {"size": (side, side)})):
        expected = imgops.resample(expected, **options)
        equal = np.array_equal(zarr.open_array(folder / f"{name}.zarr", mode="r")[:], expected)
        print(f"  {name}: bit for bit as in memory: {equal}")


PARTS = {"cores": cores, "size": size, "chunks": chunks, "large": large}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="part", help=f"{', '.join(PARTS)}; by default all but large")
    parser.add_argument("--folder", type=Path, help="where the arrays are put; a temporary folder by default")
    sizes = [n * MEGABYTE for n in (1, 10, 100, 1000)]
    parser.add_argument("--bytes", type=float, nargs="+", default=sizes, help="sizes on disk; 1 MB to 1 GB by default")
    arguments = parser.parse_args()
    wrong = set(arguments.parts) - set(PARTS)
    if wrong:
        parser.error(f"no such part: {', '.join(sorted(wrong))}; choose from {', '.join(PARTS)}")
    imgops.show_config()
    # What is measured is the memory that is needed; spilling to disk would hide it.
    memory = {f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause", "terminate")}
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder, dask.config.set(memory):
        for name in arguments.parts or ("cores", "size", "chunks"):
            PARTS[name](Path(folder), arguments.bytes)


if __name__ == "__main__":
    main()
