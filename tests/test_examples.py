"""The examples run as they stand, the pictures come out again as they were drawn."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, features

import imgops

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "examples" / "images"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(script, *arguments, folder):
    """Run a script as a user does, in a folder of its own; returns what it printed."""
    command = [sys.executable, "-W", "error", str(ROOT / script), *map(str, arguments)]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


def opened(path):
    with Image.open(path) as image:
        image.load()
        return image


def pictures_in(folder):
    """{name: size} of the PNG files there, each of which opens and is not blank."""
    images = {path.name: opened(path) for path in folder.iterdir()}
    for name, image in images.items():
        assert image.format == "PNG"
        assert len(np.unique(np.asarray(image))) > 4, f"{name} is blank"
    return {name: image.size for name, image in images.items()}


@pytest.fixture(scope="module")
def first_look(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first_look")
    run("examples/first_look.py", folder / "out", folder=folder)
    return folder / "out"


def test_first_look(first_look):
    sizes = pictures_in(first_look)
    assert sizes.pop("first_look.png") > (480, 480)
    assert sizes == {
        "harbour_x2.png": (480, 320),
        "text_x3.png": (660, 360),
        "badge_x3.png": (288, 288),
        "night16_x4.png": (384, 256),
        "sprite_x8.png": (256, 224),
    }
    modes = {name: opened(first_look / name).mode for name in sizes}
    assert modes["badge_x3.png"] == "RGBA"
    assert modes["night16_x4.png"].startswith("I;16")
    assert modes["sprite_x8.png"] == "P"


def test_enlarged_badge_has_no_fringe(first_look):
    # Its hidden colour is pure green: weighted without alpha, pixels at the rim would be greener than red and blue.
    red, green, blue, alpha = np.moveaxis(np.asarray(opened(first_look / "badge_x3.png")).astype(int), -1, 0)
    rim = (alpha > 0) & (alpha < 255)
    assert (green <= np.maximum(red, blue) + 8)[rim].all()


def test_tail_of_a_super_resolution_network(tmp_path):
    printed = run("examples/sr_tail.py", tmp_path / "out", folder=tmp_path)
    assert list(pictures_in(tmp_path / "out")) == ["sr_tail.png"]
    pairs = re.findall(r"(\w+) +skip alone ([\d.]+) dB, with the network's features ([\d.]+) dB", printed)
    assert [skip for skip, _, _ in pairs] == ["nearest", "linear"]
    for _, alone, with_features in pairs:
        assert float(with_features) > float(alone) + 0.5


def test_repeated_input_before_the_shuffle_is_the_nearest_skip():
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        tail = load(ROOT / "examples" / "sr_tail.py")
    finally:
        sys.path.pop(0)
    generator = np.random.default_rng(3)
    x = generator.standard_normal((2, 3, 5, 7), dtype=np.float32)
    features = generator.standard_normal((2, 12, 5, 7), dtype=np.float32)
    for order, other in (("DCR", "CRD"), ("CRD", "DCR")):
        nearest_skip = tail.tail(features, x, order, "nearest")
        joined = features + tail.repeat(x, order)
        assert np.array_equal(imgops.depth_to_space(joined, 2, mode=order, data_format="NCHW"), nearest_skip)
        mixed = features + tail.repeat(x, other)
        assert not np.allclose(imgops.depth_to_space(mixed, 2, mode=order, data_format="NCHW"), nearest_skip)


@pytest.fixture(scope="module")
def espcn():
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        return load(ROOT / "examples" / "espcn_numpy.py")
    finally:
        sys.path.pop(0)


def test_espcn_gradients_of_micro_batches(espcn, monkeypatch):
    """The sum over micro-batches is the gradient of the whole, by the operators and by differences of the loss."""
    random = np.random.default_rng(0)
    x, target = random.random((1, 1, 9, 7), np.float32), random.random((1, 1, 18, 14), np.float32)
    channels = random.standard_normal((1, 5, 9, 7), np.float32)
    monkeypatch.setattr(espcn, "ROWS", 4)
    loss, grad = espcn.loss_and_grad(channels, x, target)
    difference = (espcn.tail(channels, x) - target).astype(np.float64)
    assert loss == pytest.approx(np.mean(difference**2))
    outer = 2 * difference / target.size
    options = {"data_format": "NCHW"}
    assert np.allclose(grad[:, :4], imgops.depth_to_space_grad(outer, 2, **options), atol=1e-7)
    assert np.allclose(grad[:, 4:], imgops.resample_grad(outer, (9, 7), scale=2, **options), atol=1e-7)

    weights = [array + random.normal(0, 0.1, array.shape) for array in espcn.new_weights()]
    x, target = x.astype(np.float64), target.astype(np.float64)

    def whole_loss():
        return espcn.loss_and_grad(espcn.body(x, weights)[0], x, target)[0]

    channels, kept = espcn.body(x, weights)
    grads = espcn.body_grad(espcn.loss_and_grad(channels, x, target)[1], kept, weights)
    assert [g.shape for g in grads] == [w.shape for w in weights]
    for array, gradient in zip(weights, grads, strict=True):
        place = tuple(random.integers(n) for n in array.shape)
        value, losses = array[place], []
        for step in (1e-4, -1e-4):
            array[place] = value + step
            losses.append(whole_loss())
        array[place] = value
        assert gradient[place] == pytest.approx((losses[0] - losses[1]) / 2e-4, rel=1e-3, abs=1e-6)


def test_espcn_beats_bicubic_on_the_half_it_has_not_seen(espcn, tmp_path, monkeypatch, capsys):
    # A third of its steps, so that this takes seconds.
    monkeypatch.setattr(espcn, "STEPS", espcn.STEPS // 3)
    monkeypatch.setattr(sys, "argv", ["espcn_numpy.py", str(tmp_path / "out")])
    espcn.main()
    assert pictures_in(tmp_path / "out").keys() == {"espcn_numpy.png"}
    bicubic, network = (float(value) for value in re.findall(r"([\d.]+) dB", capsys.readouterr().out))
    assert network > bicubic + 0.2


def test_gradients(tmp_path):
    printed = run("examples/gradients.py", tmp_path / "out", folder=tmp_path)
    assert pictures_in(tmp_path / "out").keys() == {"gradients.png", "gradients_fitted.png", "gradients_enlarged.png"}
    losses = [float(value) for value in re.findall(r"step +\d+: loss ([\d.]+)", printed)]
    assert len(losses) == 4
    assert losses[0] > 100 * losses[-1]
    assert losses == sorted(losses, reverse=True)
    fitted, shrunk = (float(value) for value in re.findall(r"([\d.]+) dB", printed))
    assert fitted > shrunk
    # The saved small picture, enlarged afresh, is as close to the target as was printed, but for its 8 bits.
    target = np.asarray(opened(IMAGES / "harbour.png")) / 255
    enlarged = imgops.resample(np.asarray(opened(tmp_path / "out" / "gradients_fitted.png")) / 255, (160, 240))
    assert 10 * np.log10(1 / np.mean((enlarged - target) ** 2)) > shrunk


def test_conventions_side_by_side(tmp_path):
    printed = run("examples/conventions_side_by_side.py", tmp_path / "out", folder=tmp_path)
    assert list(pictures_in(tmp_path / "out")) == ["conventions.png"]
    assert re.search(r"half_pixel +nearest 4 -> 2 reads \[0 2\]", printed)
    assert re.search(r"align_corners +nearest 4 -> 2 reads \[0 3\]", printed)
    assert "reads [1 3] instead" in printed


def test_results_go_to_examples_output_by_default(tmp_path):
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("output", "__pycache__"))
    result = subprocess.run([sys.executable, "examples/conventions_side_by_side.py"], cwd=tmp_path, check=False)
    assert result.returncode == 0
    assert [path.name for path in (tmp_path / "examples" / "output").iterdir()] == ["conventions.png"]


@pytest.mark.parametrize("name", sorted(path.name for path in IMAGES.glob("*.png")))
def test_pictures_are_drawn_again_equal(name):
    drawn = load(ROOT / "tools" / "draw_examples.py").PICTURES[name]()
    stored = opened(IMAGES / name)
    assert drawn.size == stored.size
    assert drawn.mode == stored.mode
    if name == "text.png" and features.version("freetype2") != "2.14.3":
        pytest.skip(f"text.png was drawn with FreeType 2.14.3; here is {features.version('freetype2')}")
    # A sine may differ by its last bit between builds of NumPy; that moves a value by one level at most.
    allowed = 0 if name in ("text.png", "sprite.png") else 1
    assert abs(np.asarray(drawn).astype(int) - np.asarray(stored)).max() <= allowed
    assert drawn.getpalette() == stored.getpalette()
    assert drawn.info.get("transparency") == stored.info.get("transparency")


def test_pictures_are_all_drawn_and_small():
    names = {path.name for path in IMAGES.iterdir()}
    assert names == load(ROOT / "tools" / "draw_examples.py").PICTURES.keys()
    assert sum(path.stat().st_size for path in IMAGES.iterdir()) < 300_000
    modes = {name: opened(IMAGES / name).mode for name in names}
    assert {"L", "RGB", "RGBA", "P"} <= set(modes.values())
    assert modes["night16.png"].startswith("I;16")
