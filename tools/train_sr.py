"""Train a body for imgops.sr and write it as ONNX.

    python tools/train_sr.py --images FOLDER --validate FOLDER --scale 2 --channels 16 --layers 4 --output best_x2

A body maps luma to what the enlargement of the skip (linear or cubic) lacks:

    enlarged = resample(picture, scale, mode=skip) + depth_to_space(body(luma))

It is a stack of valid 3 x 3 convolutions with ReLU. Two properties are built in, not learned: kernels of the first
layer sum to zero, so the answer does not depend on the brightness, and the answer to a constant picture is subtracted
from the last bias. So a flat picture gets a zero residual, in every phase of the enlargement, whatever the weights.

With ``--rotations`` the answer is the mean over rotations of the picture, in the file's use and where it is measured;
the weights do not depend on it.

Kernels of all layers but the first are int8 in the file, with one step for each output channel; the last part of the
learning rounds them so, and the gradient passes the rounding unchanged. Most of it runs in bfloat16, that part in
float32.

While it learns, a layer may be wider than it ends (``--expand``): its kernel is the product of a 3 x 3 and a 1 x 1
convolution plus the identity, collapsed at every step, as SESR (Bhardwaj et al., 2022) does it. Needs torch, and onnx
to write.
"""

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

import imgops

LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # BT.601


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=Path, required=True, help="folder of pictures to learn from")
    parser.add_argument("--validate", type=Path, required=True, help="folder of pictures to measure on")
    parser.add_argument("--scale", type=int, required=True, choices=(2, 3, 4))
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--layers", type=int, default=4, help="layers between the first and the last")
    parser.add_argument("--first", type=int, default=3, help="side of the first kernel")
    parser.add_argument("--last", type=int, default=3, help="side of the last kernel")
    parser.add_argument("--expand", type=int, default=0, help="width of a layer while it learns; 0: as it ends")
    parser.add_argument("--carry", action="store_true", help="add the first layer's features before the last layer")
    parser.add_argument("--colours", action="store_true", help="RGB in and out, not luma, to compare: writes no .onnx")
    parser.add_argument("--rotations", type=int, default=1, choices=(1, 2, 4), help="whose residuals' mean is added")
    parser.add_argument("--skip", default="linear", choices=("linear", "cubic"))
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="end the schedule after this time at the latest"
    )
    parser.add_argument(
        "--resized",
        type=float,
        nargs="*",
        default=[],
        help="factors, such as 0.7 and 1.5: pictures so resized are learnt too",
    )
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--patch", type=int, default=48, help="side of a patch of the small picture, pixels")
    parser.add_argument("--rate", type=float, default=1e-3, help="largest learning rate")
    parser.add_argument(
        "--squares", type=float, default=0.0, help="share of the steps, at the end, with the squared error"
    )
    parser.add_argument(
        "--exact", type=float, default=0.1, help="share of the steps, at the end, in float32 with rounded kernels"
    )
    parser.add_argument("--start", type=Path, help="checkpoint (.pt) whose trunk to start from")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--report", type=float, default=5, help="minutes between validations")
    parser.add_argument("--output", type=Path, required=True, help="name of .onnx, .pt and .json to write")
    return parser.parse_args()


def steps_of(kernel):
    """The step of each output's int8 kernel, (O, 1, 1, 1)."""
    return kernel.detach().abs().amax((1, 2, 3), keepdim=True).clamp_min(1e-8) / 127


def rounded(kernel):
    """A kernel in whole steps; the gradient passes as if it were not rounded."""
    step = steps_of(kernel)
    return kernel + (torch.round(kernel / step) * step - kernel).detach()


class Layer(nn.Module):
    """A convolution whose kernel may be the product of a wide one and a 1 x 1, plus the identity."""

    def __init__(self, inputs, outputs, side, expand, identity):
        super().__init__()
        self.identity = identity
        self.bias = nn.Parameter(torch.zeros(outputs))
        middle = expand or outputs
        self.wide = nn.Parameter(torch.empty(middle, inputs, side, side))
        nn.init.kaiming_normal_(self.wide)
        self.narrow = None
        if expand:
            self.narrow = nn.Parameter(torch.randn(outputs, expand) / math.sqrt(expand))
        if identity:
            with torch.no_grad():
                self.wide *= 0.1 if not expand else 0.3

    def kernel(self):
        kernel = self.wide
        if self.narrow is not None:
            kernel = torch.einsum("om,mihw->oihw", self.narrow, kernel)
        if self.identity:
            side = kernel.shape[-1]
            kernel = kernel + F.pad(torch.eye(kernel.shape[0])[:, :, None, None], (side // 2,) * 4)
        return kernel


class Body(nn.Module):
    def __init__(self, scale, channels, layers, first=3, last=3, expand=0, carry=False, colours=False):
        super().__init__()
        self.scale, self.carry = scale, carry
        planes = 3 if colours else 1
        self.first = Layer(planes, channels, first, expand, False)
        self.middle = nn.ModuleList(Layer(channels, channels, 3, expand, True) for _ in range(layers))
        self.last = Layer(channels, planes * scale * scale, last, 0, False)
        nn.init.zeros_(self.last.wide)
        self.halo = first // 2 + layers + last // 2

    def kernels(self, rounding=False):
        """Collapsed kernels and biases, the first with sum zero, flat in, zero out; `rounding`: as in the file."""
        first = self.first.kernel()
        keep = rounded if rounding else (lambda kernel: kernel)
        kernels = [(first - first.mean((2, 3), keepdim=True), self.first.bias)]
        kernels += [(keep(layer.kernel()), layer.bias) for layer in self.middle]
        flat = start = torch.relu(self.first.bias)
        for kernel, bias in kernels[1:]:
            flat = torch.relu(kernel.sum((2, 3)) @ flat + bias)
        last = keep(self.last.kernel())
        return [*kernels, (last, -(last.sum((2, 3)) @ (flat + start if self.carry else flat)))]

    def forward(self, luma, half=False, kernels=None):
        first, *middle, last = kernels or self.kernels()
        features = start = torch.relu(F.conv2d(luma, *first))
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            for kernel, bias in middle:
                features = torch.relu(F.conv2d(features, kernel, bias))
            if self.carry:
                crop = len(middle)
                features = features + start[..., crop:-crop, crop:-crop]
            residual = F.conv2d(features, *last)
        return residual.float()


def read(folder):
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".png")
    if not paths:
        raise SystemExit(f"{folder} holds no PNG files")
    return [np.asarray(Image.open(path).convert("RGB")) for path in paths]


def with_resized(pictures, factors):
    """The pictures, and each of them resized by the factors: sharper or softer than they are themselves."""
    resized = [
        imgops.resample(picture, scale=factor, mode="cubic", antialias=True)
        for picture in pictures
        for factor in factors
    ]
    return pictures + resized


def pair(picture, scale):
    """A picture cut to a multiple of the scale, and its antialiased cubic (a = -1/2) reduction, rounded to 8 bits."""
    height, width = (side // scale * scale for side in picture.shape[:2])
    large = picture[:height, :width]
    small = Image.fromarray(large).resize((width // scale, height // scale), Image.Resampling.BICUBIC)
    return large, np.asarray(small)


def planes(picture, colours, weights=LUMA):
    """(H, W, 3) uint8 -> (C, H, W) float32, 0..1: the colours, or one sum of them."""
    if colours:
        return np.ascontiguousarray(picture.transpose(2, 0, 1)).astype(np.float32) / 255
    return (picture.astype(np.float32) @ (weights / np.float32(255)))[None]


def enlarge(small, scale, skip):
    return imgops.resample(small, scale=scale, mode=skip, axes=(-2, -1), num_threads=1)


class Patches:
    """Random patches: every picture cut at every phase of the small one's grid, turned, its colours weighted anew.

    Half of the patches have the weights of luma, half random ones, so that few pictures show more than their own luma.
    """

    def __init__(self, pictures, scale, skip, colours, halo, patch, seed):
        self.random = np.random.default_rng(seed)
        self.scale, self.skip, self.colours, self.halo, self.patch = scale, skip, colours, halo, patch
        phases = [(y, x) for y in range(scale) for x in range(scale)]
        self.items = [pair(picture[y:, x:], scale) for picture in pictures for y, x in phases]

    def batch(self, count):
        """Small planes (N, C, h, w), and the depth of what the skip lacks of the large ones, without the halo."""
        small, large = (np.stack(part) for part in zip(*(self.one() for _ in range(count)), strict=True))
        margin = self.scale * self.halo
        large -= enlarge(small, self.scale, self.skip)[..., margin:-margin, margin:-margin]
        depth = imgops.space_to_depth(large, self.scale, data_format="NCHW", mode="CRD", num_threads=1)
        layout = torch.channels_last
        return (torch.from_numpy(part).contiguous(memory_format=layout) for part in (small, depth))

    def one(self):
        large, small = self.items[self.random.integers(len(self.items))]
        y, x = (self.random.integers(length - self.patch + 1) for length in small.shape[:2])
        small = small[y : y + self.patch, x : x + self.patch]
        spans = [
            slice(self.scale * (start + self.halo), self.scale * (start + self.patch - self.halo)) for start in (y, x)
        ]
        weights = LUMA if self.random.random() < 0.5 else self.random.dirichlet((1, 1, 1)).astype(np.float32)
        turn = self.random.integers(8)
        return [turned(planes(part, self.colours, weights), turn) for part in (small, large[spans[0], spans[1]])]


def turned(part, turn):
    """(C, H, W) in one of eight orientations."""
    part = np.rot90(part, turn % 4, (1, 2))
    return part[:, :, ::-1] if turn >= 4 else part


def studio_luma(picture):
    """Y of BT.601 as the field's tables have it, 16..235."""
    return 16 + picture.astype(np.float64) @ np.array([65.481, 128.553, 24.966]) / 255


def psnr(a, b, border):
    a, b = (studio_luma(part)[border:-border, border:-border] for part in (a, b))
    return 10 * math.log10(255**2 / np.mean((a - b) ** 2))


def quantised(picture):
    return np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8).transpose(1, 2, 0)


def residual(body, kernels, small, rotations):
    """What a body adds to planes (C, H, W) with a halo: the mean over rotations of the picture, turned back."""
    answers = []
    for turns in range(0, 4, 4 // rotations):
        turned_small = np.ascontiguousarray(turned(small, turns))
        depth = body(torch.from_numpy(turned_small)[None], kernels=kernels).numpy()
        answer = imgops.depth_to_space(depth, body.scale, data_format="NCHW", mode="CRD")[0]
        answers.append(np.rot90(answer, -turns, (1, 2)))
    return np.mean(answers, 0)


@torch.no_grad()
def validate(body, pairs, scale, skip, colours, rotations):
    """Mean Y-PSNR, the mean gain over cubic and the least gain, in dB."""
    values, gains, kernels = [], [], body.kernels(rounding=True)
    for large, small in pairs:
        colour = planes(small, True)
        padded = np.pad(planes(small, colours), ((0, 0), (body.halo,) * 2, (body.halo,) * 2), mode="edge")
        made = enlarge(colour, scale, skip) + residual(body, kernels, padded, rotations)
        values.append(psnr(quantised(made), large, scale))
        size = large.shape[1], large.shape[0]
        cubic = np.asarray(Image.fromarray(small).resize(size, Image.Resampling.BICUBIC))
        gains.append(values[-1] - psnr(cubic, large, scale))
    return {"psnr": np.mean(values), "gain": np.mean(gains), "least_gain": np.min(gains)}


def write_onnx(body, path, skip, rotations):
    """The collapsed body: valid convolutions; all kernels but the first are int8 with a step for each output."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, initializers, value, start = [], [], "luma", None
    kernels = body.kernels(rounding=True)
    for index, (kernel, bias) in enumerate(kernels):
        last = index == len(kernels) - 1
        if last and body.carry:
            crop = len(kernels) - 2
            for key, ends in (("from", [crop] * 2), ("to", [-crop] * 2), ("axes", [2, 3])):
                initializers.append(numpy_helper.from_array(np.array(ends, np.int64), f"crop_{key}"))
            nodes.append(helper.make_node("Slice", [start, "crop_from", "crop_to", "crop_axes"], ["cropped"]))
            nodes.append(helper.make_node("Add", [value, "cropped"], ["carried"]))
            value = "carried"
        for kind, tensor in (("kernel", kernel), ("bias", bias)):
            values, key = tensor.detach(), f"{kind}_{index}"
            if kind == "kernel" and index > 0:
                step = steps_of(values)
                initializers.append(
                    numpy_helper.from_array(torch.round(values / step).numpy().astype(np.int8), f"{key}_steps")
                )
                initializers.append(numpy_helper.from_array(step.numpy(), f"{key}_step"))
                nodes.append(helper.make_node("Cast", [f"{key}_steps"], [f"{key}_whole"], to=TensorProto.FLOAT))
                nodes.append(helper.make_node("Mul", [f"{key}_whole", f"{key}_step"], [key]))
            else:
                initializers.append(numpy_helper.from_array(values.numpy(), key))
        result = "residual" if last else f"convolved_{index}"
        side = kernel.shape[-1]
        inputs = [value, f"kernel_{index}", f"bias_{index}"]
        nodes.append(helper.make_node("Conv", inputs, [result], kernel_shape=[side, side], pads=[0] * 4))
        value = result
        if not last:
            value = f"features_{index}"
            nodes.append(helper.make_node("Relu", [result], [value]))
            start = start or value
    free = [helper.make_tensor_value_info("luma", TensorProto.FLOAT, [1, 1, "padded height", "padded width"])]
    out = [helper.make_tensor_value_info("residual", TensorProto.FLOAT, [1, body.scale**2, "height", "width"])]
    graph = helper.make_graph(nodes, path.stem, free, out, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="imgops")
    facts = {
        "kind": "luma residual",
        "name": path.stem,
        "scale": body.scale,
        "halo": body.halo,
        "skip": skip,
        "rotations": rotations,
        "license": "BSD-3-Clause",
    }
    helper.set_model_props(model, {f"imgops.{key}": str(fact) for key, fact in facts.items()})
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())


def main():
    options = arguments()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    scale = options.scale
    shape = (scale, options.channels, options.layers, options.first, options.last, options.expand, options.carry)
    body = Body(*shape, options.colours)
    if options.start:
        state = torch.load(options.start, weights_only=True)
        own = body.state_dict()
        body.load_state_dict({key: state[key] if state[key].shape == own[key].shape else own[key] for key in own})
    average = Body(*shape, options.colours)
    average.load_state_dict(body.state_dict())
    pictures = with_resized(read(options.images), options.resized)
    patches = Patches(pictures, scale, options.skip, options.colours, body.halo, options.patch, options.seed)
    pairs = [pair(picture, scale) for picture in read(options.validate)]
    optimiser = torch.optim.Adam(body.parameters(), options.rate, betas=(0.9, 0.99), fused=True)
    count = sum(kernel.numel() + bias.numel() for kernel, bias in body.kernels())
    print(f"{count} parameters, {len(patches.items)} pictures and phases, {len(pairs)} to measure on", flush=True)
    began = reported = time.monotonic()
    log, step, progress = [], 0, 0.0

    def report():
        line = {
            "minutes": round((time.monotonic() - began) / 60, 1),
            "step": step,
            "rate": optimiser.param_groups[0]["lr"],
        } | {
            key: round(float(value), 4)
            for key, value in validate(average, pairs, scale, options.skip, options.colours, options.rotations).items()
        }
        log.append(line)
        print(json.dumps(line), flush=True)
        torch.save(average.state_dict(), options.output.with_suffix(".pt"))
        if not options.colours:
            write_onnx(average, options.output.with_suffix(".onnx"), options.skip, options.rotations)
        facts = {key: str(value) for key, value in vars(options).items()} | {"parameters": count, "log": log}
        options.output.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")

    while progress < 1:
        progress = max(step / options.steps, (time.monotonic() - began) / 60 / options.minutes)
        warm = min(1.0, (step + 1) / 500)
        for group in optimiser.param_groups:
            group["lr"] = options.rate * warm * (0.001 + 0.999 * (1 + math.cos(math.pi * min(progress, 1))) / 2)
        small, depth = patches.batch(options.batch)
        exact = progress >= 1 - options.exact
        error = body(small, half=not exact, kernels=body.kernels(rounding=exact)) - depth
        # Squares at the end: PSNR is the mean square. 20 keeps the gradients' size.
        loss = error.abs().mean() if progress < 1 - options.squares else 20 * error.square().mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(body.parameters(), 1.0)
        optimiser.step()
        step += 1
        keep = min(0.999, step / (step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(list(average.parameters()), list(body.parameters()), 1 - keep)
        if time.monotonic() - reported > options.report * 60:
            report()
            reported = time.monotonic()
    report()


if __name__ == "__main__":
    main()
