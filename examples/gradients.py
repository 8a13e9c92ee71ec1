"""Gradients: find the low-resolution picture whose enlargement matches a target.

    python examples/gradients.py [FOLDER]

Half the sum of squared differences between the enlargement A x and a target t has the gradient A' (A x - t): what
`resample_grad` computes. Descent with a fixed step starts from noise and needs nothing else.

Writes gradients.png, gradients_fitted.png (the small picture) and gradients_enlarged.png.
"""

import numpy as np
from PIL import Image
from sheet import output_folder, picture, sheet

import imgops
from imgops import pillow

STEPS = 60
SHOWN = (0, 1, 4, STEPS)


def as_image(array):
    return Image.fromarray(np.rint(np.clip(array, 0, 1) * 255).astype(np.uint8))


def loss(a, b):
    return float(np.mean(np.square(a - b, dtype=np.float64)))


def psnr(a, b):
    return 10 * np.log10(1 / loss(a, b))


def detail(array):
    return pillow.upscale(as_image(array).crop((78, 46, 150, 118)), 3, method="nearest")


def main():
    folder = output_folder(__doc__)
    target = np.asarray(picture("harbour.png"), dtype=np.float32) / 255
    height, width, channels = target.shape
    plan = imgops.ResamplePlan((height * 3 // 4, width * 3 // 4, channels), (height, width))

    # A step of 1 / L cannot overshoot, L the largest eigenvalue of A' A: at most the largest sum of weights that one
    # input has in all outputs, which is the gradient of an output gradient of ones.
    step = 1 / plan.grad(np.ones_like(target)).max()

    low = np.random.default_rng(1).random(plan.input_shape, dtype=np.float32)
    losses, shown = [], []
    for number in range(STEPS + 1):
        enlarged = plan(low)
        losses.append(loss(enlarged, target))
        if number in SHOWN:
            print(f"step {number:3}: loss {losses[-1]:.6f}")
            shown.append((as_image(low), f"step {number}\nloss {losses[-1]:.5f}"))
        if number < STEPS:
            low -= step * plan.grad(enlarged - target)

    fall = losses[0] / losses[-1]
    print(f"the loss fell {fall:.0f} times in {STEPS} steps")
    assert fall >= 100, f"the loss fell only {fall:.1f} times"

    shrunk = plan(imgops.resample(target, scale=0.75))
    print(f"enlarged from the fitted picture: {psnr(enlarged, target):.2f} dB")
    print(f"enlarged from the shrunk target:  {psnr(shrunk, target):.2f} dB")

    as_image(low).save(folder / "gradients_fitted.png")
    as_image(enlarged).save(folder / "gradients_enlarged.png")
    view = sheet(
        "Gradients: a small picture fitted so that its enlargement matches the target",
        shown,
        [
            (detail(shrunk), f"the target shrunk, then enlarged:\n{psnr(shrunk, target):.2f} dB"),
            (detail(enlarged), f"the fitted picture enlarged:\n{psnr(enlarged, target):.2f} dB"),
            (detail(target), "the target"),
        ],
    )
    view.save(folder / "gradients.png")
    print(f"open {folder / 'gradients.png'}")


if __name__ == "__main__":
    main()
