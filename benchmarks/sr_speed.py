"""Speed and memory of super-resolution: to 4K by the embedded models, beside the same networks in torch.

    python benchmarks/sr_speed.py [--scale 2] [--size 3840x2160] [--turns 5] [--threads 2] [--tiles] [--memory]

torch gets the same work: uint8 RGB in, luma, convolutions, pixel_shuffle, rotations, interpolate, sum, clip and round,
uint8 RGB out; eager, in inference mode, of the whole picture. All take turns in one process; medians and least are
seconds that pass, CPU the least seconds of all cores together, which other programs disturb less. --size is that of the
enlarged picture, --tiles compares sides of tiles, --memory enlarges 12 megapixels by 2 in a process of its own and
tells its peak.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import time
from importlib import resources

import numpy as np

import imgops
from imgops.sr import Upscaler, engine
from imgops.sr.graph import read_graph

MEMORY = """
import sys, time
import numpy as np
from imgops.sr import Upscaler
rng = np.random.default_rng(0)
pixels = np.repeat(rng.integers(0, 256, (3000, 4000, 1), np.uint8), 3, axis=2)
start = time.perf_counter()
result = Upscaler(sys.argv[1], 2)(pixels)
seconds = time.perf_counter() - start
# Not getrusage's, which begins with that of the process that started this one.
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(seconds, peak * 1024)
"""


def picture(width, height):
    """Slopes, edges and noise, (H, W, 3) uint8."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    planes = [127 + 60 * np.sin(x / (9 + index)) + 50 * np.cos(y / 13) + 30 * ((x + y) % 41 < 3) for index in range(3)]
    noise = np.random.default_rng(0).normal(0, 6, (height, width, 3))
    return np.clip(np.stack(planes, -1) + noise, 0, 255).astype(np.uint8)


def in_torch(grade, scale, threads):
    """The same network as a function on (H, W, 3) uint8 arrays."""
    import torch
    from torch.nn import functional

    torch.set_num_threads(threads)
    data = resources.files("imgops.sr").joinpath("models", f"{grade}_x{scale}.onnx").read_bytes()
    graph = read_graph(data)
    halo = int(graph.metadata["imgops.halo"])
    rotations = int(graph.metadata.get("imgops.rotations", 1))
    mode = {"linear": "bilinear", "cubic": "bicubic"}[graph.metadata["imgops.skip"]]
    constants = {name: torch.from_numpy(np.array(value)) for name, value in graph.initializers.items()}
    steps = []
    for node in graph.nodes:
        if node.op == "Cast":
            constants[node.outputs[0]] = constants[node.inputs[0]].float()
        elif node.op == "Mul":
            constants[node.outputs[0]] = constants[node.inputs[0]] * constants[node.inputs[1]]
        else:
            steps.append(node)
    luma = torch.tensor([0.299, 0.587, 0.114]) / 255

    def body(x):
        values = {graph.inputs[0].name: x, **constants}
        for node in steps:
            given = [values[name] for name in node.inputs]
            if node.op == "Conv":
                made = functional.conv2d(*given)
            elif node.op == "Relu":
                made = functional.relu(given[0])
            elif node.op == "Add":
                made = given[0] + given[1]
            else:
                starts, stops, axes = (value.tolist() for value in given[1:4])
                made = given[0]
                for start, stop, axis in zip(starts, stops, axes, strict=True):
                    made = made.narrow(axis, start, made.shape[axis] + stop - start if stop < 0 else stop - start)
            values[node.outputs[0]] = made
        return values[graph.outputs[0].name]

    @torch.inference_mode()
    def upscale(pixels):
        colours = torch.from_numpy(pixels).permute(2, 0, 1)[None].float()
        grey = torch.einsum("nchw,c->nhw", colours, luma)[:, None]
        padded = functional.pad(grey, (halo,) * 4, mode="replicate")
        residual = 0
        for turns in range(0, 4, 4 // rotations):
            answer = functional.pixel_shuffle(body(padded.rot90(turns, (2, 3))), scale)
            residual = residual + answer.rot90(-turns, (2, 3))
        enlarged = functional.interpolate(colours, scale_factor=scale, mode=mode)
        made = (enlarged + 255 / rotations * residual).clamp_(0, 255).round_().to(torch.uint8)
        return made[0].permute(1, 2, 0).contiguous().numpy()

    return upscale


def in_turns(calls, pixels, turns):
    """{name: (median, least, least of all cores together) seconds}; every call's first run is not counted."""
    seconds, cores = {name: [] for name in calls}, {name: [] for name in calls}
    for turn in range(turns + 1):
        for name, call in calls.items():
            start, cpu = time.perf_counter(), time.process_time()
            call(pixels)
            if turn:
                seconds[name].append(time.perf_counter() - start)
                cores[name].append(time.process_time() - cpu)
    return {name: (statistics.median(seconds[name]), min(seconds[name]), min(cores[name])) for name in calls}


def compare(pixels, scale, turns, threads):
    height, width = pixels.shape[:2]
    print(f"{width} x {height} to {scale * width} x {scale * height}, uint8 RGB, {threads} threads, seconds")
    calls = {grade: Upscaler(grade, scale, num_threads=threads) for grade in ("fast", "best")}
    calls["linear"] = lambda x: imgops.resample(x, scale=scale, num_threads=threads)
    try:
        for grade in ("fast", "best"):
            calls[f"{grade}, torch"] = in_torch(grade, scale, threads)
            difference = np.abs(calls[grade](pixels).astype(int) - calls[f"{grade}, torch"](pixels)).max()
            print(f"{grade}: largest difference from torch {difference}")
    except ImportError:
        print("torch is not installed")
    print(f"{'':<16}{'median':>9}{'least':>9}{'CPU':>9}")
    for name, times in in_turns(calls, pixels, turns).items():
        print(f"{name:<16}" + "".join(f"{value:9.3f}" for value in times))


def compare_tiles(pixels, scale, turns, threads):
    print("\nsides of tiles, threads in tiles in parallel")
    for grade in ("fast", "best"):
        sides = (64, 96, 128, 192, 256, 384, 512, 1024)
        calls = {side: Upscaler(grade, scale, tile=side, num_threads=threads) for side in sides}
        calls[f"one tile, {threads} threads inside"] = Upscaler(grade, scale, tile=10**6, num_threads=threads)
        for name, times in in_turns(calls, pixels, turns).items():
            print(f"{grade:<6}{name!s:<30}" + "".join(f"{value:9.3f}" for value in times))


def tell_memory():
    print("\n4000 x 3000 by 2, RGB, in a process of its own")
    for grade in ("fast", "best"):
        done = subprocess.run([sys.executable, "-c", MEMORY, grade], capture_output=True, text=True, check=True)
        seconds, peak = map(float, done.stdout.split())
        print(f"{grade:<6}{seconds:6.2f} s, peak {peak / 1e6:.0f} MB, of which the pictures have 180 MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=2, choices=(2, 3, 4))
    parser.add_argument("--size", default="3840x2160", metavar="WxH", help="of the enlarged picture")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--threads", type=int, default=imgops.get_num_threads())
    parser.add_argument("--tiles", action="store_true")
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    print(engine.slower_notice() or f"ONNX Runtime {engine.onnxruntime().__version__}")
    pixels = picture(*(int(side) // options.scale for side in options.size.split("x")))
    compare(pixels, options.scale, options.turns, options.threads)
    print(f"peak of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB")
    if options.tiles:
        compare_tiles(pixels, options.scale, options.turns, options.threads)
    if options.memory:
        tell_memory()


if __name__ == "__main__":
    main()
