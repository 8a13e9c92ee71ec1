"""The tail of a super-resolution network: features become a picture.

    python examples/sr_tail.py [FOLDER]

A network that enlarges r times ends in C * r * r channels of features at low resolution, and

    picture = depth_to_space(features) + enlarged input        ("the skip")

The network here has one layer, a 5 x 5 convolution, fitted by least squares on two of the example pictures in a
moment; it has not seen the one it enlarges. Its channels can be laid out in two orders, and the tail must know which:

    DCR   channel = (row * r + column) * C + c      TensorFlow, ONNX's default, DirectML's depth_column_row
    CRD   channel = c * r * r + row * r + column    torch.pixel_shuffle, DirectML's column_row_depth

Writes sr_tail.png.
"""

import itertools

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from PIL import Image
from sheet import on_paper, output_folder, picture, sheet

import imgops
from imgops import pillow

R = 2  # the enlargement
WINDOW = 5  # side of the convolution
LAYOUT = {"data_format": "NCHW"}


def load(name):
    """A picture as (1, C, H, W) float32 in 0..1, cut to multiples of R."""
    array = np.asarray(on_paper(picture(name)), dtype=np.float32) / 255
    height, width = array.shape[0] // R * R, array.shape[1] // R * R
    return array[:height, :width].transpose(2, 0, 1)[None]


def enlarge(x, mode):
    return imgops.resample(x, scale=R, mode=mode, **LAYOUT)


def shrink(x):
    # Halving with half-pixel centres: each output is the mean of 2 x 2.
    return imgops.resample(x, scale=1 / R, **LAYOUT)


def windows(x):
    """The 5 x 5 surroundings of each pixel: (1, C, H, W, 25)."""
    edge = WINDOW // 2
    padded = np.pad(x, ((0, 0), (0, 0), (edge, edge), (edge, edge)), mode="edge")
    return sliding_window_view(padded, (WINDOW, WINDOW), axis=(2, 3)).reshape(*x.shape, -1)


def fit(skip):
    """Weights (25, R * R) of the convolution, such that the tail with this skip comes closest to the originals."""
    inputs, wanted = [], []
    for name, (down, right) in itertools.product(("text.png", "badge.png"), itertools.product((1, -1), repeat=2)):
        # Each picture also upside down and mirrored, so that the fit prefers no side.
        high = load(name)[:, :, ::down, ::right]
        low = shrink(high)
        missing = imgops.space_to_depth(high - enlarge(low, skip), R, mode="CRD", **LAYOUT)
        inputs.append(windows(low).reshape(-1, WINDOW * WINDOW))
        wanted.append(missing.reshape(-1, R * R, low[0, 0].size).transpose(0, 2, 1).reshape(-1, R * R))
    return np.linalg.lstsq(np.concatenate(inputs), np.concatenate(wanted), rcond=None)[0].astype(np.float32)


def network(x, weights, order):
    """Features (1, C * R * R, H, W), their channels in the given order."""
    n, c, h, w = x.shape
    features = windows(x) @ weights  # (N, C, H, W, R * R)
    axes = (0, 4, 1, 2, 3) if order == "DCR" else (0, 1, 4, 2, 3)
    return features.transpose(axes).reshape(n, c * R * R, h, w)


def tail(features, x, order, skip):
    return imgops.depth_to_space(features, R, mode=order, **LAYOUT) + enlarge(x, skip)


def repeat(x, order):
    """Every channel R * R times, where the order puts that channel's block."""
    return np.tile(x, (1, R * R, 1, 1)) if order == "DCR" else np.repeat(x, R * R, axis=1)


def psnr(a, b):
    return 10 * np.log10(1 / np.mean((a.astype(np.float64) - b) ** 2))


def show(x, box=(66, 44, 160, 146), scale=3):
    """A detail of a (1, 3, H, W) picture, its pixels as squares."""
    pixels = np.rint(np.clip(x[0].transpose(1, 2, 0), 0, 1) * 255).astype(np.uint8)
    return pillow.upscale(Image.fromarray(pixels).crop(box), scale, method="nearest")


def main():
    folder = output_folder(__doc__)
    high = load("harbour.png")
    low = shrink(high)
    pictures, figures = {}, {}
    for skip in ("nearest", "linear"):
        weights = fit(skip)
        for order in ("DCR", "CRD"):
            features = network(low, weights, order)
            pictures[skip, order] = tail(features, low, order, skip)

            # The nearest skip may be added before the shuffle, bit for bit, if it is repeated in the same order.
            before = imgops.depth_to_space(features + repeat(low, order), R, mode=order, **LAYOUT)
            after = imgops.depth_to_space(features, R, mode=order, **LAYOUT) + enlarge(low, "nearest")
            assert np.array_equal(before, after)

        # One network in two layouts is one picture.
        assert np.array_equal(pictures[skip, "DCR"], pictures[skip, "CRD"])
        figures[skip] = psnr(enlarge(low, skip), high), psnr(pictures[skip, "DCR"], high)
        print(f"{skip:8} skip alone {figures[skip][0]:.2f} dB, with the network's features {figures[skip][1]:.2f} dB")
        assert figures[skip][1] > figures[skip][0] + 0.5

    features = network(low, weights, "DCR")
    details = imgops.depth_to_space(features, R, mode="DCR", **LAYOUT)
    joined = features + repeat(low, "DCR")
    view = sheet(
        "The tail of a super-resolution network: depth_to_space(features) + skip",
        [
            (show(low, (33, 22, 80, 73), 6), "low resolution, what the network sees"),
            (show(enlarge(low, "linear")), f"the skip alone, bilinear: {figures['linear'][0]:.2f} dB"),
            (show(0.5 + 2 * details), "depth_to_space(features), twice as strong;\ngrey is 0"),
        ],
        [
            (show(pictures["linear", "DCR"]), f"their sum: {figures['linear'][1]:.2f} dB"),
            (show(high), "the original"),
            (
                show(imgops.depth_to_space(joined, R, mode="CRD", **LAYOUT)),
                "the same features in the wrong order\n(DCR read as CRD): colours and places mixed",
            ),
        ],
    )
    view.save(folder / "sr_tail.png")
    print(f"open {folder / 'sr_tail.png'}")


if __name__ == "__main__":
    main()
