"""imgops beside its peers: python benchmarks/bench.py [--quick] [--threads N] [--only WORD] [--json FILE] [--check]

Every cell is one operator on one array. Each peer that is installed computes it with the same number of threads, into a
warm output where the peer takes one; its result is held against that of imgops before anything is timed. Then the peers
take turns (A B A B ...) in one process. A turn starts with a pause, since threads of the peer before may still spin on
a core that this one needs; its first call ("after a pause") wakes the threads and is told apart from the steady calls
that follow ("steady"). Both figures are medians over the turns; the ratio is peer / imgops of the steady calls (above
1: imgops is faster).

Adding a cell is one row of CELLS; adding a peer is one function with `@peer(operator, name)`.
"""

# ruff: noqa: ARG001 - every peer takes the same arguments

import argparse
import json
import os
import platform
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

import imgops

PAUSE, WAKE, STEADY = 0.05, 0.015, 0.015  # seconds of a turn: idle, untimed calls, timed calls


@dataclass(frozen=True)
class Cell:
    operator: str
    title: str
    shape: tuple  # of the array that goes in
    dtype: str
    layout: str = "NCHW"
    size: tuple = ()  # (H, W) of the output, where the operator has one
    block: int = 0
    tolerance: float = 0.0  # largest difference from the first peer

    def small(self):
        """The same cell on a small picture, for --check."""
        h, w = (self.layout.index(letter) for letter in "HW")
        shape = list(self.shape)
        shape[h], shape[w] = self.shape[h] // 20, self.shape[w] // 20
        return Cell(self.operator, self.title, tuple(shape), self.dtype, self.layout,
                    tuple(length // 20 for length in self.size), self.block, self.tolerance)  # fmt: skip


CELLS = [
    Cell("depth_to_space", "depth_to_space block 2 to 3x1080x1920", (1, 12, 540, 960), "float32", block=2),
    Cell("resample", "bilinear 540p to 1080p", (1, 3, 540, 960), "float32", "NCHW", (1080, 1920), tolerance=1e-5),
    Cell("resample", "bilinear 540p to 1080p", (1, 540, 960, 3), "float32", "NHWC", (1080, 1920), tolerance=1e-5),
    Cell("resample", "bilinear 540p to 1080p", (1, 3, 540, 960), "uint8", "NCHW", (1080, 1920), tolerance=1),
    Cell("resample", "bilinear 540p to 1080p", (1, 540, 960, 3), "uint8", "NHWC", (1080, 1920), tolerance=1),
    Cell("resample_grad", "bilinear gradient of 540p to 1080p", (1, 3, 1080, 1920), "float32", "NCHW", (540, 960),
         tolerance=1e-4),
    Cell("resample_grad", "bilinear gradient of 540p to 1080p", (1, 1080, 1920, 3), "float32", "NHWC", (540, 960),
         tolerance=1e-4),
]  # fmt: skip

PEERS = {}  # operator -> {name: function(cell, x, threads) -> a call without arguments that returns the result}


class NotHere(Exception):
    """This peer is not installed, or cannot compute this cell; the text says why."""


def peer(operator, name):
    def register(function):
        PEERS.setdefault(operator, {})[name] = function
        return function

    return register


def load(module):
    try:
        return __import__(module)
    except ImportError:
        raise NotHere(f"{module} is not installed") from None


def output_shape(cell):
    if cell.operator == "depth_to_space":
        return imgops.depth_to_space_shape(cell.shape, cell.block, data_format=cell.layout)
    shape = list(cell.shape)
    for letter, length in zip("HW", cell.size, strict=True):
        shape[cell.layout.index(letter)] = length
    return tuple(shape)


def warm(cell):
    """An output whose pages have been touched."""
    return np.ones(output_shape(cell), cell.dtype)


# imgops -----------------------------------------------------------------------------------------------------


@peer("depth_to_space", "imgops")
def _(cell, x, threads):
    out = warm(cell)
    options = {"data_format": cell.layout, "mode": "CRD", "out": out, "num_threads": threads}
    return lambda: imgops.depth_to_space(x, cell.block, **options)


@peer("resample", "imgops")
def _(cell, x, threads):
    out = warm(cell)
    options = {"data_format": cell.layout, "out": out, "num_threads": threads}
    return lambda: imgops.resample(x, cell.size, **options)


@peer("resample_grad", "imgops")
def _(cell, x, threads):
    out = warm(cell)
    options = {"data_format": cell.layout, "out": out, "num_threads": threads}
    return lambda: imgops.resample_grad(x, out.shape, **options)


# NumPy -----------------------------------------------------------------------------------------------------


@peer("depth_to_space", "NumPy reshape, transpose")
def _(cell, x, threads):
    n, c, h, w = x.shape
    r = cell.block
    out = warm(cell)
    into = out.reshape(n, c // r**2, h, r, w, r)

    def run():
        np.copyto(into, x.reshape(n, c // r**2, r, r, h, w).transpose(0, 1, 4, 2, 5, 3))
        return out

    return run


@peer("depth_to_space", "plain copy of the bytes")
def _(cell, x, threads):
    # The yardstick, not a peer: it moves the same bytes and leaves them in their order.
    out = np.ones(x.shape, x.dtype)
    pool = ThreadPoolExecutor(threads)
    parts = list(zip(np.array_split(out.reshape(-1), threads), np.array_split(x.reshape(-1), threads), strict=True))

    def run():
        for done in [pool.submit(np.copyto, *part) for part in parts[1:]] + [np.copyto(*parts[0])]:
            if done is not None:
                done.result()

    return run


# torch -----------------------------------------------------------------------------------------------------


def tensor(torch, cell, array):
    """A tensor (N, C, H, W) over the array's memory; an NHWC array becomes one in channels_last order."""
    whole = torch.from_numpy(array)
    return whole if cell.layout == "NCHW" else whole.permute(0, 3, 1, 2)


def torch_peer(cell, x, threads, call):
    torch = load("torch")
    torch.set_num_threads(threads)
    out = warm(cell)
    run, source, target = call(torch), tensor(torch, cell, x), tensor(torch, cell, out)

    def timed():
        run(source, target)
        return out

    return timed


@peer("depth_to_space", "torch pixel_shuffle")
def _(cell, x, threads):
    torch = load("torch")
    torch.set_num_threads(threads)
    source = tensor(torch, cell, x)
    return lambda: torch.nn.functional.pixel_shuffle(source, cell.block).numpy()


@peer("depth_to_space", "torch permute, warm copy")
def _(cell, x, threads):
    n, c, h, w = x.shape
    r = cell.block

    def call(torch):
        return lambda source, target: target.view(n, c // r**2, h, r, w, r).copy_(
            source.view(n, c // r**2, r, r, h, w).permute(0, 1, 4, 2, 5, 3)
        )

    return torch_peer(cell, x, threads, call)


@peer("resample", "torch interpolate")
def _(cell, x, threads):
    def call(torch):
        upsample = torch.ops.aten.upsample_bilinear2d.out
        return lambda source, target: upsample(source, list(cell.size), False, None, None, out=target)

    return torch_peer(cell, x, threads, call)


@peer("resample_grad", "torch interpolate backward")
def _(cell, x, threads):
    shape = (cell.shape[0], 3, *cell.size)
    height, width = (cell.shape[cell.layout.index(letter)] for letter in "HW")

    def call(torch):
        backward = torch.ops.aten.upsample_bilinear2d_backward.grad_input
        return lambda source, target: backward(
            source, [height, width], list(shape), False, None, None, grad_input=target
        )

    return torch_peer(cell, x, threads, call)


# ONNX Runtime -----------------------------------------------------------------------------------------------


def onnxruntime_peer(cell, x, threads, node, *constants):
    """One node in a model of its own, input and output bound to warm memory."""
    if cell.layout != "NCHW":
        raise NotHere("onnxruntime computes NCHW")
    onnx, runtime = load("onnx"), load("onnxruntime")
    from onnx import helper, numpy_helper

    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    out = warm(cell)
    graph = helper.make_graph(
        [node(helper)],
        "cell",
        [helper.make_tensor_value_info("x", kind, x.shape)],
        [helper.make_tensor_value_info("y", kind, out.shape)],
        [numpy_helper.from_array(array, name) for name, array in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    onnx.checker.check_model(model)
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 3
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    # The values must live as long as the binding: on the CPU they share the arrays' memory.
    source, target = runtime.OrtValue.ortvalue_from_numpy(x), runtime.OrtValue.ortvalue_from_numpy(out)
    binding.bind_ortvalue_input("x", source)
    binding.bind_ortvalue_output("y", target)

    def run():
        session.run_with_iobinding(binding)
        return target.numpy()

    return run


@peer("depth_to_space", "onnxruntime DepthToSpace")
def _(cell, x, threads):
    def node(helper):
        return helper.make_node("DepthToSpace", ["x"], ["y"], blocksize=cell.block, mode="CRD")

    return onnxruntime_peer(cell, x, threads, node)


@peer("resample", "onnxruntime Resize")
def _(cell, x, threads):
    def node(helper):
        return helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="linear")

    return onnxruntime_peer(cell, x, threads, node, ("sizes", np.array(output_shape(cell), np.int64)))


# OpenCV and Pillow ------------------------------------------------------------------------------------------


@peer("resample", "OpenCV resize")
def _(cell, x, threads):
    if cell.layout != "NHWC" or x.shape[0] != 1:
        raise NotHere("OpenCV computes (H, W, C)")
    cv2 = load("cv2")
    cv2.setNumThreads(threads)
    out = warm(cell)

    def run():
        cv2.resize(x[0], cell.size[::-1], dst=out[0], interpolation=cv2.INTER_LINEAR)
        return out

    return run


@peer("resample", "Pillow resize (1 thread)")
def _(cell, x, threads):
    if cell.layout != "NHWC" or x.dtype != np.uint8:
        raise NotHere("Pillow computes (H, W, 3) of uint8")
    from PIL import Image

    image = Image.fromarray(x[0])
    size, bilinear = cell.size[::-1], Image.Resampling.BILINEAR

    class Result:
        """The image; made an array only where it is checked, so that this is not timed."""

        def __init__(self, image):
            self.image = image

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self.image, dtype)[None]

    return lambda: Result(image.resize(size, bilinear))


# Measuring --------------------------------------------------------------------------------------------------


@dataclass
class Row:
    name: str
    run: object = None
    note: str = ""
    firsts: list = field(default_factory=list)  # seconds of the first call after a pause, one for each turn
    turns: list = field(default_factory=list)  # seconds of a steady call, one for each turn

    @property
    def seconds(self):
        return statistics.median(self.turns)

    def turn(self):
        time.sleep(PAUSE)
        self.firsts.append(self._repeat(0))
        self._repeat(WAKE)
        self.turns.append(self._repeat(STEADY))

    def _repeat(self, seconds):
        """Mean time of as many calls as fit into so many seconds, at least one."""
        calls, start = 0, time.perf_counter()
        while True:
            self.run()
            calls += 1
            passed = time.perf_counter() - start
            if passed >= seconds:
                return passed / calls


def prepare(cell, threads):
    """A Row for every peer, its result checked against imgops' own; those that are not here carry a note."""
    generator = np.random.default_rng(0)
    if np.dtype(cell.dtype).kind == "f":
        x = generator.random(cell.shape, dtype=cell.dtype)
    else:
        x = generator.integers(0, 256, cell.shape, dtype=cell.dtype)
    rows, expected = [], None
    for name, function in PEERS[cell.operator].items():
        try:
            row = Row(name, function(cell, x, threads))
        except NotHere as reason:
            rows.append(Row(name, note=str(reason)))
            continue
        result = row.run()
        if expected is None:
            expected = np.asarray(result, np.float64)
        elif result is not None:
            largest = abs(np.asarray(result, np.float64) - expected).max()
            if not largest <= cell.tolerance:
                raise SystemExit(f"{cell.title}: {name} differs from imgops by {largest}, allowed {cell.tolerance}")
            row.note = "equal" if largest == 0 else f"within {largest:.2g}"
        rows.append(row)
    return rows


def measure(rows, rounds):
    for _ in range(rounds):
        for row in rows:
            if row.run:
                row.turn()


def version(module):
    try:
        return __import__(module).__version__
    except ImportError:
        return None


def processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def load_average():
    """Processes that ran or waited in the last minute, None where the system does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def machine(threads):
    modules = ("imgops", "numpy", "torch", "onnxruntime", "cv2", "PIL")
    return {
        "processor": processor(),
        "threads": threads,
        "load_before": load_average(),
        "simd_level": imgops.simd_level(),
        "python": platform.python_version(),
        "versions": {module: version(module) for module in modules if version(module)},
    }


def show(cell, rows):
    print(f"\n{cell.title}, {cell.dtype} {cell.layout} {'x'.join(map(str, cell.shape))}")
    print(f"  {'':28}{'steady':>12}{'ratio':>10}{'after a pause':>16}")
    own = rows[0].seconds
    for row in rows:
        if row.run:
            ratio = f"{row.seconds / own:.2f} x"
            first = statistics.median(row.firsts)
            print(f"  {row.name:28}{row.seconds * 1e3:9.3f} ms{ratio:>10}{first * 1e3:13.3f} ms  {row.note}")
        else:
            print(f"  {row.name:28}{'-':>12}{'':26}  {row.note}")


def as_json(cell, rows):
    return {
        "operator": cell.operator, "title": cell.title, "dtype": cell.dtype, "layout": cell.layout,
        "shape": cell.shape, "size": cell.size, "block": cell.block,
        "peers": [{"name": row.name, "seconds": row.seconds, "turns": row.turns, "firsts": row.firsts, "note": row.note}
                  for row in rows if row.run],
    }  # fmt: skip


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Time imgops beside its peers.")
    parser.add_argument("--quick", action="store_true", help="5 turns rather than 15")
    parser.add_argument("--threads", type=int, default=imgops.get_num_threads(), help="for imgops and for every peer")
    parser.add_argument("--only", default="", metavar="WORD", help="only cells whose operator, dtype or layout has it")
    parser.add_argument("--json", metavar="FILE", help="write every turn there as well")
    parser.add_argument("--check", action="store_true", help="check the results on small pictures, time nothing")
    options = parser.parse_args(arguments)

    facts = machine(options.threads)
    print(", ".join([facts["processor"], f"{options.threads} threads", f"SIMD {facts['simd_level']}"]))
    print(", ".join(f"{name} {number}" for name, number in facts["versions"].items()))
    if (facts["load_before"] or 0) > 0.5 and not options.check:
        print(f"load {facts['load_before']:.1f} in the last minute: if other programs take cores, figures are too high")
    cells = [cell for cell in CELLS if options.only in (cell.operator, cell.dtype, cell.layout, "")]
    if not cells:
        parser.error(f"no cell has {options.only!r} as its operator, dtype or layout")
    report = []
    for cell in cells:
        if options.check:
            for row in prepare(cell.small(), options.threads):
                print(f"{cell.operator:15}{cell.dtype:9}{cell.layout:6}{row.name:28}{row.note}")
            continue
        rows = prepare(cell, options.threads)
        measure(rows, 5 if options.quick else 15)
        show(cell, rows)
        report.append(as_json(cell, rows))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"machine": facts, "cells": report}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
