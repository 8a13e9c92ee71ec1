"""How well super-resolution restores pictures: Y-PSNR and SSIM of models beside the filters, on any folder.

    python benchmarks/sr_quality.py FOLDER [--scales 2,3,4] [--models best,fast,network.onnx] [--json OUT.json]

The protocol of the field, so that its tables can be compared: the picture is cut to a multiple of the scale, made
smaller by antialiased bicubic (a = -0.5) and rounded to 8 bits, enlarged again and rounded; luma is BT.601's of 16 to
235, not rounded; a border as wide as the scale does not count. SSIM has a Gaussian window of 11 x 11 with sigma 1.5.
Filters have Pillow's arithmetic. Grey pictures are taken as they are. The gain is over bicubic: its mean, and on the
picture where it is least.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from PIL import Image

from imgops import comparing, pillow, sr

FILTERS = ("nearest", "linear", "cubic", "lanczos3")
REFERENCE = "cubic"
EXTENSIONS = (".png", ".bmp", ".tif", ".tiff", ".webp", ".jpg", ".jpeg")


def luma(image):
    """BT.601 luma of 16 to 235 as float64; a grey picture's values as they are."""
    pixels = np.asarray(image).astype(np.float64)
    return pixels if pixels.ndim == 2 else 16 + pixels @ (np.array([65.481, 128.553, 24.966]) / 255)


def psnr_and_ssim(original, made, border):
    a, b = (luma(image)[border:-border, border:-border] for image in (original, made))
    error = np.square(a - b).mean()
    psnr = 10 * math.log10(255**2 / error) if error else math.inf
    return psnr, float(comparing.similarities(a, b, 255).mean())


def opened(path):
    with Image.open(path) as image:
        grey = image.mode in ("1", "L", "LA", "I;16", "I")
        return image.convert("L" if grey else "RGB")


def cut(image, scale):
    width, height = (side // scale * scale for side in image.size)
    return image.crop((0, 0, width, height))


def reduced(image, scale):
    return pillow.resize(image, [side // scale for side in image.size], mode="cubic", convention="pillow")


def enlargers(models, scale):
    """{name: function of a small image}, the filters and those of the models that have the scale."""

    def by_filter(mode):
        return lambda image: pillow.resize(image, [scale * side for side in image.size], mode=mode, convention="pillow")

    def by_model(upscaler):
        return lambda image: Image.fromarray(upscaler(np.asarray(image)))

    result = {mode: by_filter(mode) for mode in FILTERS}
    for name in models:
        if name in sr.models():
            result[name] = by_model(sr.Upscaler(name, scale))
        elif (upscaler := sr.Upscaler(name)).scale == scale:
            result[os.path.splitext(os.path.basename(name))[0]] = by_model(upscaler)
    return result


def measure(paths, scale, models, progress=lambda _: None):
    """{method: {"psnr", "ssim", "seconds", "pictures": {name: [psnr, ssim]}, ...}} at one scale."""
    methods = enlargers(models, scale)
    result = {name: {"seconds": 0.0, "pictures": {}} for name in methods}
    for path in paths:
        original = cut(opened(path), scale)
        if min(original.size) < 11 + 2 * scale:
            progress(f"{path.name} is too small, and left out")
            continue
        small = reduced(original, scale)
        for name, enlarge in methods.items():
            begin = time.perf_counter()
            made = enlarge(small)
            result[name]["seconds"] += time.perf_counter() - begin
            result[name]["pictures"][path.name] = psnr_and_ssim(original, made, scale)
        progress(f"x{scale} {path.name}")
    for facts in result.values():
        summarise(facts, result[REFERENCE]["pictures"])
    return result


def summarise(facts, reference):
    """Add means over the pictures, and the gain over the reference."""
    pictures = facts["pictures"]
    gains = {name: psnr - reference[name][0] for name, (psnr, _) in pictures.items() if math.isfinite(psnr)}
    facts["psnr"] = statistics.mean(psnr for psnr, _ in pictures.values())
    facts["ssim"] = statistics.mean(ssim for _, ssim in pictures.values())
    facts["gain"] = statistics.mean(gains.values()) if gains else 0.0
    facts["least_gain_picture"] = min(gains, key=gains.get) if gains else None
    facts["least_gain"] = min(gains.values(), default=0.0)


def table(results):
    """Lines of the table of {scale: measure's result}."""
    yield f"{'scale':<6} {'method':<28} {'PSNR-Y':>7} {'SSIM':>7} {'gain':>6}  {'least gain, on':<24} {'seconds':>8}"
    for scale, methods in results.items():
        for name, facts in methods.items():
            least = f"{facts['least_gain']:+.2f} {facts['least_gain_picture']}"
            yield (
                f"x{scale:<5} {name[:28]:<28} {facts['psnr']:>7.2f} {facts['ssim']:>7.4f} {facts['gain']:>+6.2f}  "
                f"{least[:24]:<24} {facts['seconds']:>8.2f}"
            )


def pictures_in(folder):
    paths = [path for path in Path(folder).iterdir() if path.suffix.lower() in EXTENSIONS]
    # 2.png before 10.png.
    return sorted(paths, key=lambda path: (len(path.stem), path.name))


def main(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="of original pictures")
    parser.add_argument("--scales", default="2,3,4", help="default: 2,3,4")
    parser.add_argument("--models", default="best,fast", help="names or files, a comma between; default: best,fast")
    parser.add_argument("--json", metavar="OUT.json", help="all figures, those of each picture too")
    arguments = parser.parse_args(argv)
    paths = pictures_in(arguments.folder)
    if not paths:
        parser.error(f"no pictures in {arguments.folder}")
    models = [name for name in arguments.models.split(",") if name]

    def progress(text):
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    shown = progress if sys.stderr.isatty() else lambda _: None
    results = {scale: measure(paths, scale, models, shown) for scale in map(int, arguments.scales.split(","))}
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    counted = len(next(iter(results.values()))[REFERENCE]["pictures"])
    print(f"{counted} pictures in {Path(arguments.folder).name}")
    for line in table(results):
        print(line)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps({"pictures": counted, "scales": results}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
