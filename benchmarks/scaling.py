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
    """The largest sum of the resident memory of some processes while the context lasts."""

    def __init__(self, pids):
        self.processes = [psutil.Process(pid) for pid in pids]
        self.bytes = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def _sample(self):
        while not self._done.wait(0.02):
            with contextlib.suppress(psutil.NoSuchProcess):
                self.bytes = max(self.bytes, sum(process.memory_info().rss for process in self.processes))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
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
    """Compute a dask array into Zarr; returns seconds."""
    target = zarr.create_array(
        path, shape=result.shape, chunks=result.chunksize, dtype=result.dtype, compressors=None, overwrite=True
    )
    start = time.perf_counter()
    da.store(result, target, lock=False)
    return time.perf_counter() - start


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
    print("  MB on disk   chunks    tasks   seconds    MB/s   peak MB")
    for number in sizes:
        side = max(500, round((number / 4) ** 0.5))
        chunk = min(1000, side)
        array = stored(folder, side, chunk)
        with cluster(2) as (_, pids), Peak(pids) as peak:
            result = lazy.resample(da.from_zarr(array), **REDUCE)
            seconds = written(result, folder / "result.zarr")
        megabytes = array.nbytes / MEGABYTE
        print(
            f"  {megabytes:10.0f} {-((-side // chunk) ** 2):8} {tasks(result):8} {seconds:9.2f} "
            f"{megabytes / seconds:7.0f} {peak.bytes / MEGABYTE:9.0f}",
            flush=True,
        )
        shutil.rmtree(folder / f"x{side}.zarr")


def chunks(_folder, _sizes):
    """One array in ever more chunks."""
    print("\nchunks: 6000 x 6000 float32 (144 MB), reduced by 3.7 and enlarged by 2, two workers, nothing on disk")
    print("  chunks   scale   tasks   built s   seconds   ms per task   peak MB")
    with cluster(2) as (client, pids):
        for count in (1, 10, 32, 100):
            for scale in (1 / 3.7, 2):
                x = da.random.default_rng(0).random((6000, 6000), chunks=-(-6000 // count), dtype=np.float32)
                start = time.perf_counter()
                result = lazy.resample(x, scale=scale, antialias=True)
                number = tasks(result) - tasks(x)
                built = time.perf_counter() - start
                with Peak(pids) as peak:
                    start = time.perf_counter()
                    client.compute(result.sum()).result()
                    seconds = time.perf_counter() - start
                print(
                    f"  {x.npartitions:6} {scale:7.3f} {number:7} {built:9.3f} {seconds:9.2f} "
                    f"{1000 * seconds / tasks(result.sum()):13.2f} {peak.bytes / MEGABYTE:9.0f}",
                    flush=True,
                )


def large(folder, _sizes, side=20000):
    """1.6 GB there and back."""
    print(f"\nlarge: {side} x {side} float32 in Zarr, reduced by 3.7, enlarged back, two workers")
    array = stored(folder, side, 1000)
    with cluster(2) as (_, pids), Peak(pids) as peak:
        small = lazy.resample(da.from_zarr(array), **REDUCE)
        seconds = written(small, folder / "small.zarr")
        print(f"  reduced to {small.shape}: {tasks(small)} tasks, {seconds:.1f} s, peak {peak.bytes / MEGABYTE:.0f} MB")
        reduced = zarr.open_array(folder / "small.zarr", mode="r")
        back = lazy.resample(da.from_zarr(reduced), (side, side), chunks=1000)
        seconds = written(back, folder / "back.zarr")
        print(f"  enlarged to {back.shape}: {tasks(back)} tasks, {seconds:.1f} s, peak {peak.bytes / MEGABYTE:.0f} MB")
    enlarged = zarr.open_array(folder / "back.zarr", mode="r")
    expected = imgops.resample(array[:], **REDUCE)
    print(f"  reduced, bit for bit as in memory: {np.array_equal(reduced[:], expected)}")
    expected = imgops.resample(expected, (side, side))
    print(f"  enlarged, bit for bit as in memory: {np.array_equal(enlarged[:], expected)}")


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
