"""A super-resolution network fitted to one picture, without a framework: ESPCN in NumPy, its gradients by imgops.

    python examples/espcn_numpy.py [FOLDER]

The network learns on the left half of a picture to undo a reduction by 2 and is judged on the right half, which it has
not seen. Two convolutions with ReLU and one without make five channels of the small picture x:

    picture = depth_to_space(channels 0 to 3) + resample(x + channel 4)

`depth_to_space_grad` and `resample_grad` take the loss's gradient from the large picture back to these channels. The
large picture is never whole in memory: the loss goes over it in micro-batches of a few rows, each of which adds its
gradients to those of the others (`out=`, `accumulate=True`). Adam does the rest.

Writes espcn_numpy.png.
"""

import math
import os
import time

# Products as small as these are made by one thread; several wait for each other for longer, on busy cores much longer.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image, ImageDraw
from sheet import output_folder, picture, sheet

import imgops
from imgops import pillow

R = 2  # the enlargement
KERNELS, WIDTH = (5, 3, 3), 16  # sides and channels of the convolutions
EDGE = sum(side // 2 for side in KERNELS)  # what the convolutions take off at each side
ROWS = 32  # of the large picture in a micro-batch
STEPS, RATE = 400, 4e-3
LAYOUT = {"data_format": "NCHW"}


def small_and_large(name):
    """The luma of a picture reduced by R, and itself, as (1, 1, H, W) float32 of 0 to 1."""
    large = picture(name).convert("L")
    small = pillow.resize(large, [side // R for side in large.size], mode="cubic")
    return [np.asarray(image, dtype=np.float32)[None, None] / 255 for image in (small, large)]


# ---------------------------------------------------------------------------------------------------------------------
# The body: convolutions forward and backward


def columns(x, side):
    """The side x side surroundings of every sample inside, (N * H * W, C * side * side)."""
    windows = sliding_window_view(x, (side, side), (2, 3)).transpose(0, 2, 3, 1, 4, 5)
    return windows.reshape(-1, x.shape[1] * side * side)


def convolve(x, kernel, bias):
    """(N, C, H, W) to (N, K, H - side + 1, W - side + 1), with what the way back needs."""
    side = kernel.shape[-1]
    seen = columns(x, side)
    height, width = (length - side + 1 for length in x.shape[2:])
    y = (seen @ kernel.reshape(len(kernel), -1).T + bias).reshape(len(x), height, width, -1)
    return y.transpose(0, 3, 1, 2), seen


def convolve_grad(grad, seen, kernel, with_input):
    """Gradients of the input (or None), the kernel and the bias."""
    rows = grad.transpose(0, 2, 3, 1).reshape(-1, len(kernel))
    grad_kernel, grad_bias = (rows.T @ seen).reshape(kernel.shape), rows.sum(0)
    if not with_input:
        return None, grad_kernel, grad_bias
    around = kernel.shape[-1] - 1
    padded = np.pad(grad, ((0, 0), (0, 0), (around, around), (around, around)))
    turned = kernel[:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
    return convolve(padded, turned, np.float32(0))[0], grad_kernel, grad_bias


def new_weights(seed=0):
    random = np.random.default_rng(seed)
    counts = (1, WIDTH, WIDTH, R * R + 1)
    weights = []
    for side, inputs, outputs in zip(KERNELS, counts, counts[1:], strict=False):
        deviation = math.sqrt(2 / (inputs * side * side))
        weights.append(random.normal(0, deviation, (outputs, inputs, side, side)).astype(np.float32))
        weights.append(np.zeros(outputs, np.float32))
    # Five channels of zeros: the network begins as the linear enlargement.
    weights[-2] *= 0
    return weights


def body(x, weights):
    """The five channels, and what the way back needs."""
    y = np.pad(x, ((0, 0), (0, 0), (EDGE, EDGE), (EDGE, EDGE)), mode="edge")
    kept = []
    for layer in range(3):
        y, seen = convolve(y, *weights[2 * layer : 2 * layer + 2])
        if layer < 2:
            y = np.maximum(y, 0)
        kept.append((seen, y))
    return y, kept


def body_grad(grad, kept, weights):
    """Gradients of the weights, in their order."""
    grads = []
    for layer in (2, 1, 0):
        seen, y = kept[layer]
        if layer < 2:
            grad = grad * (y > 0)
        grad, *own = convolve_grad(grad, seen, weights[2 * layer], with_input=layer > 0)
        grads = own + grads
    return grads


# ---------------------------------------------------------------------------------------------------------------------
# The tail: imgops, forward and backward


def tail(channels, x):
    details = imgops.depth_to_space(channels[:, : R * R], R, **LAYOUT)
    return details + imgops.resample(x + channels[:, R * R :], scale=R, **LAYOUT)


def loss_and_grad(channels, x, target):
    """(mean squared error of the tail, its gradient by the channels), over micro-batches of rows."""
    grad = np.zeros_like(channels)
    base = x + channels[:, R * R :]
    plan = imgops.ResamplePlan(base.shape, scale=R, **LAYOUT)
    total = 0.0
    for top in range(0, target.shape[2], ROWS):
        band = (slice(None), slice(None), slice(top, min(top + ROWS, target.shape[2])), slice(None))
        small = (slice(None), slice(None), slice(band[2].start // R, band[2].stop // R), slice(None))
        window, read = plan.window(band), plan.input_region(band)
        features = channels[:, : R * R][small]
        difference = imgops.depth_to_space(features, R, **LAYOUT) + window(base[read]) - target[band]
        total += float(np.square(difference, dtype=np.float64).sum())
        difference *= np.float32(2 / target.size)
        imgops.depth_to_space_grad(difference, R, out=grad[:, : R * R][small], accumulate=True, **LAYOUT)
        # The same as resample_grad of all rows, a part at a time.
        window.grad(difference, out=grad[:, R * R :][read], accumulate=True)
    return total / target.size, grad


def enlarge(x, weights):
    return tail(body(x, weights)[0], x)


# ---------------------------------------------------------------------------------------------------------------------
# Fitting


def another_view(random, *pictures):
    """The pictures turned, mirrored, of less contrast, dark for light: one picture is little to learn from."""
    ways = random.integers(8)
    gain = np.float32(random.uniform(0.3, 1) * random.choice((-1, 1)))
    offset = np.float32(random.uniform(0, 1) - gain / 2)
    views = []
    for x in pictures:
        x = x[..., ::-1] if ways & 1 else x
        x = x[..., ::-1, :] if ways & 2 else x
        x = x.swapaxes(2, 3) if ways & 4 else x
        views.append(np.ascontiguousarray(x) * gain + offset)
    return views


def fit(small, large, *, steps, report=lambda *_: None):
    """Weights, by Adam with a rate that falls along half a cosine."""
    weights = new_weights()
    first, second = ([np.zeros_like(array) for array in weights] for _ in range(2))
    random = np.random.default_rng(1)
    for step in range(1, steps + 1):
        x, target = another_view(random, small, large)
        channels, kept = body(x, weights)
        loss, grad = loss_and_grad(channels, x, target)
        rate = RATE * (1 + math.cos(math.pi * step / steps)) / 2 * min(1, step / 50)
        for w, g, m, v in zip(weights, body_grad(grad, kept, weights), first, second, strict=True):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            w -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        report(step, loss)
    return weights


def psnr(made, wanted):
    """Decibels, of values rounded to 8 bits, without a border of R."""
    error = np.rint(np.clip(made, 0, 1) * 255) - np.rint(wanted * 255)
    return 10 * np.log10(255**2 / np.mean(np.square(error[..., R:-R, R:-R])))


def bicubic(x):
    values = Image.fromarray(np.rint(x[0, 0] * 255).astype(np.uint8))
    return np.asarray(pillow.upscale(values, R, method="cubic"), dtype=np.float32)[None, None] / 255


def halves(name):
    """((small, large) of the left half, the same of the right half); neither sees the other."""
    small, large = small_and_large(name)
    middle = small.shape[3] // 2
    return [(small[..., :middle], large[..., : R * middle]), (small[..., middle:], large[..., R * middle :])]


def image(x):
    return Image.fromarray(np.rint(np.clip(x[0, 0], 0, 1) * 255).astype(np.uint8))


def main():
    folder = output_folder(__doc__)
    fitted, judged = halves("harbour.png")
    begin = time.monotonic()

    def report(step, loss):
        if step in (1, 10) or step % 100 == 0:
            print(f"step {step:4}: loss {loss:.6f}, {time.monotonic() - begin:.0f} s")

    weights = fit(*fitted, steps=STEPS, report=report)
    seconds = time.monotonic() - begin
    pictures = {"bicubic": bicubic(judged[0]), "network": enlarge(judged[0], weights)}
    figures = {name: psnr(made, judged[1]) for name, made in pictures.items()}
    count = sum(array.size for array in weights)
    print(f"{count} weights in {seconds:.0f} s; on the half that was not seen:")
    for name, figure in figures.items():
        print(f"{name:8} {figure:.2f} dB")
    assert figures["network"] > figures["bicubic"]

    whole = Image.new("L", (2 * judged[1].shape[3], judged[1].shape[2]))
    for index, (_, large) in enumerate((fitted, judged)):
        whole.paste(image(large), (index * large.shape[3], 0))
    ImageDraw.Draw(whole).line((whole.width // 2, 0, whole.width // 2, whole.height), fill=255, width=2)

    def detail(x):
        """The same part of a large or small picture, its pixels as squares."""
        factor = judged[1].shape[2] // x.shape[2]
        part = image(x).crop([edge // factor for edge in (16, 40, 96, 120)])
        return pillow.upscale(part, 3 * factor, method="nearest")

    view = sheet(
        f"ESPCN in NumPy: {count} weights fitted in {seconds:.0f} s to the left half of one picture",
        [
            (whole, "left: what it learns from; right: what it is judged on"),
            (detail(judged[0]), "a part of the right half, reduced by 2:\nwhat the network sees"),
        ],
        [
            (detail(pictures["bicubic"]), f"bicubic: {figures['bicubic']:.2f} dB"),
            (detail(pictures["network"]), f"the network: {figures['network']:.2f} dB"),
            (detail(judged[1]), "the original"),
        ],
    )
    view.save(folder / "espcn_numpy.png")
    print(f"open {folder / 'espcn_numpy.png'}")


if __name__ == "__main__":
    main()
