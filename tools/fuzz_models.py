"""Mutated model files through the readers, ONNX Runtime and Upscaler: no crash, hang, flood of memory or traceback.

    python tools/fuzz_models.py [--seconds 60] [--seed 0]

Seeds are the embedded models and small ones made here, of ONNX and of ncnn. Half of the mutants have bytes changed,
half have one of their parts replaced by something that fits the format: another operator, shape, number or name. Each
is loaded, and enlarges a small picture if it can, in a process that a watchdog ends. The files of a finding are kept,
and the exit code is then 1.
"""

import argparse
import contextlib
import faulthandler
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from importlib import resources
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from fuzz_pictures import HANG_SECONDS, Worker, mutant  # noqa: E402
from model_makers import srvgg, super_resolution  # noqa: E402

from imgops.sr import Upscaler  # noqa: E402

MEMORY = 6 * 2**30
NUMBERS = (0, 1, -1, 2, 3, 7, 255, 2**16, 2**31 - 1, -(2**31), 2**40, 2**62)
OPERATORS = (
    "Conv Relu Add Identity DepthToSpace SpaceToDepth Resize Slice Transpose Pad Tile Expand Loop If Shape Magic"
)


def seeds():
    """{name: (bytes, bytes of the file beside it or None)}."""
    result = {}
    for file in resources.files("imgops.sr").joinpath("models").iterdir():
        if file.name.endswith(".onnx"):
            result[file.name] = (file.read_bytes(), None)
    for number, (mode, skip, layout) in enumerate(
        (("DCR", None, "NCHW"), ("CRD", "nearest", "NHWC"), ("CRD", "linear", "NCHW"))
    ):
        result[f"made{number}.onnx"] = (super_resolution(2, 3, mode=mode, skip=skip, layout=layout), None)
    text, data, _ = srvgg(2, 4, 2, last=0.5)
    result["made.param"] = (text.encode(), data)
    return result


def rebuilt(data, chance):
    """A model of which one part is something else that the format allows."""
    import onnx

    model = onnx.load_from_string(data)
    graph = model.graph
    kind = chance.randrange(8)
    node = chance.choice(graph.node)
    if kind == 0:
        node.op_type = chance.choice(OPERATORS.split())
    elif kind == 1 and node.attribute:
        attribute = chance.choice(node.attribute)
        attribute.i = chance.choice(NUMBERS)
        for index in range(len(attribute.ints)):
            if chance.random() < 0.5:
                attribute.ints[index] = chance.choice(NUMBERS)
    elif kind == 2 and graph.initializer:
        stored = chance.choice(graph.initializer)
        array = onnx.numpy_helper.to_array(stored)
        changed = np.resize(
            array, [chance.choice((0, 1, 2, 3, 5, 16, *array.shape)) for _ in range(chance.randrange(6))]
        )
        stored.CopyFrom(
            onnx.numpy_helper.from_array(changed.astype(chance.choice((array.dtype, "int64", "float32"))), stored.name)
        )
    elif kind == 3 and graph.initializer:
        stored = chance.choice(graph.initializer)
        array = onnx.numpy_helper.to_array(stored).copy()
        if array.size:
            with np.errstate(all="ignore"):
                array.flat[chance.randrange(array.size)] = array.dtype.type(chance.choice((np.inf, 1e30, -1e9, 0)))
        stored.CopyFrom(onnx.numpy_helper.from_array(array, stored.name))
    elif kind == 4:
        value = chance.choice((graph.input[0], graph.output[0]))
        dims = value.type.tensor_type.shape.dim
        if dims:
            chance.choice(dims).dim_value = chance.choice(NUMBERS)
    elif kind == 5 and node.input:
        names = [name for other in graph.node for name in (*other.input, *other.output)]
        node.input[chance.randrange(len(node.input))] = chance.choice([*names, "", "nowhere"])
    elif kind == 6:
        graph.node.remove(node)
    else:
        model.opset_import[0].version = chance.choice((0, 1, 7, 9, 11, 13, 18, 21, 99))
        for entry in model.metadata_props:
            if chance.random() < 0.3:
                entry.value = chance.choice(("", "0", "-1", "2", "4", "999", "cubic", "x" * 99))
    return model.SerializeToString()


def mutated(name, pair, chance):
    data, beside = pair
    if beside is not None and chance.random() < 0.2:
        return data, mutant(beside, chance)
    if name.endswith(".onnx") and chance.random() < 0.6:
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            return rebuilt(data, chance), beside
    return mutant(data, chance), beside


def work(tasks, results, folder):
    """One mutant after the other, with an end to memory."""
    faulthandler.enable()
    with contextlib.suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    pixels = np.random.default_rng(0).integers(0, 256, (9, 7, 3), np.uint8)
    while (task := tasks.get()) is not None:
        number, path = task
        before = set(os.listdir(folder))
        finding = None
        try:
            upscaler = Upscaler(path)
            made = upscaler(pixels)
            if made.shape != (9 * upscaler.scale, 7 * upscaler.scale, 3):
                finding = f"made {made.shape}"
        except MemoryError:
            finding = "memory"
        except (ValueError, ImportError) as error:
            if "\n" in str(error) or not str(error):
                finding = f"no clear line: {error!r}"
        except BaseException as error:
            finding = f"{type(error).__name__}: {error}"
        if set(os.listdir(folder)) != before:
            finding = f"wrote {set(os.listdir(folder)) - before}"
        results.put((number, finding))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    starts = seeds()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-models-"))
    worker, findings, count, scarce = Worker(folder, work), 0, 0, 0
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        count += 1
        name = chance.choice(sorted(starts))
        path = folder / f"{count}-{name}"
        data, beside = mutated(name, starts[name], chance)
        path.write_bytes(data)
        if beside is not None:
            path.with_suffix(".bin").write_bytes(beside)
        finding = worker.finding((count, path))
        if finding == "memory":
            # Nothing is wrong with that, but what ONNX Runtime leaves behind would fail the next ones.
            scarce += 1
            worker.process.kill()
            worker.process.join()
            worker, finding = Worker(folder, work), None
        if finding is None:
            path.unlink()
            path.with_suffix(".bin").unlink(missing_ok=True)
            continue
        findings += 1
        print(f"{path}: {finding}", flush=True)
        if not worker.process.is_alive():
            worker = Worker(folder, work)
    worker.tasks.put(None)
    worker.process.join(HANG_SECONDS)
    print(
        f"{count} mutants of {len(starts)} models, seed {arguments.seed}: {findings} findings; "
        f"{scarce} met the end of memory"
    )
    if not findings:
        shutil.rmtree(folder)
    return 1 if findings else 0


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main())
