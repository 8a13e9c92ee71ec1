"""The page of super-resolution shows what its script draws; the benchmark of quality measures what it says."""

import importlib.util
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "images" / "super_resolution"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


@pytest.fixture(scope="module")
def page():
    return load(ROOT / "tools" / "make_sr_page.py")


@pytest.fixture(scope="module")
def quality():
    return load(ROOT / "benchmarks" / "sr_quality.py")


def test_the_page_shows_every_scene(page):
    shown = re.findall(r"\(images/super_resolution/(\w+)\.png\)", (ROOT / "docs" / "super_resolution.md").read_text())
    assert shown == [scene.__name__ for scene in page.SCENES]
    assert sorted(path.stem for path in PICTURES.iterdir()) == sorted(shown)


def test_a_drawn_scene_is_like_the_kept_one(page):
    drawn = page.drawn(page.colours())
    with Image.open(PICTURES / "colours.png") as kept:
        assert drawn.size == kept.size
        difference = np.abs(np.asarray(drawn).astype(int) - np.asarray(kept.convert("RGB")))
    # Models may be trained again, which changes edges a little.
    assert difference.mean() < 4


def test_scenes_are_what_their_names_say(page):
    for scene in page.SCENES:
        image = scene()
        assert min(image.size) >= 160
        assert image.has_transparency_data == (scene.__name__ == "alpha")
        assert len(np.unique(np.asarray(image))) > 10


def test_photographs_are_drawn_on_request(page, tmp_path, capsys):
    (tmp_path / "in").mkdir()
    page.colours().resize((200, 190)).save(tmp_path / "in" / "a.png")
    page.main([str(tmp_path / "out"), "--photographs", str(tmp_path / "in")])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["a.png"]
    assert capsys.readouterr().out.strip().endswith("a.png")


# ---------------------------------------------------------------------------------------------------------------------
# The benchmark


def pictures(folder):
    random = np.random.default_rng(0)
    smooth = Image.fromarray(random.integers(0, 256, (12, 14, 3), np.uint8)).resize((61, 53), Image.Resampling.BICUBIC)
    smooth.save(folder / "10.png")
    smooth.convert("L").save(folder / "9.png")
    Image.new("RGB", (9, 9)).save(folder / "tiny.png")
    (folder / "notes.txt").write_text("no picture")


def test_figures_are_those_of_pillow_and_a_plain_formula(quality, tmp_path):
    pictures(tmp_path)
    paths = quality.pictures_in(tmp_path)
    assert [path.name for path in paths] == ["9.png", "10.png", "tiny.png"]
    result = quality.measure(paths, 3, [])
    assert list(result) == ["nearest", "linear", "cubic", "lanczos3"]
    filters = (Image.Resampling.NEAREST, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC, Image.Resampling.LANCZOS)
    for name in ("9.png", "10.png"):
        with Image.open(tmp_path / name) as image:
            original = image.crop((0, 0, 60, 51))
        small = original.resize((20, 17), Image.Resampling.BICUBIC)
        for method, chosen in zip(result, filters, strict=True):
            a, b = (np.asarray(part).astype(float) for part in (original, small.resize((60, 51), chosen)))
            if a.ndim == 3:
                a, b = (16 + (65.481 * x[..., 0] + 128.553 * x[..., 1] + 24.966 * x[..., 2]) / 255 for x in (a, b))
            expected = 10 * np.log10(255**2 / np.mean((a - b)[3:-3, 3:-3] ** 2))
            assert result[method]["pictures"][name][0] == pytest.approx(expected, abs=1e-9)
    assert result["cubic"]["gain"] == 0
    gains = {
        name: result["linear"]["pictures"][name][0] - result["cubic"]["pictures"][name][0]
        for name in ("9.png", "10.png")
    }
    assert result["linear"]["gain"] == pytest.approx(np.mean(list(gains.values())))
    assert result["linear"]["least_gain"] == pytest.approx(min(gains.values()))
    assert gains[result["linear"]["least_gain_picture"]] == min(gains.values())


def test_structural_similarity_is_that_of_scikit_image(quality, tmp_path):
    metrics = pytest.importorskip("skimage.metrics", reason="scikit-image is not installed")
    pictures(tmp_path)
    original = quality.cut(quality.opened(tmp_path / "10.png"), 2)
    made = quality.reduced(original, 2).resize(original.size)
    a, b = (quality.luma(image)[2:-2, 2:-2] for image in (original, made))
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "data_range": 255, "full": True}
    _, full = metrics.structural_similarity(a, b, **options)
    assert quality.psnr_and_ssim(original, made, 2)[1] == pytest.approx(full[5:-5, 5:-5].mean(), abs=1e-9)


def test_command_with_models_and_json(quality, tmp_path, capsys):
    (tmp_path / "in").mkdir()
    pictures(tmp_path / "in")
    assert (
        quality.main([str(tmp_path / "in"), "--scales", "2", "--models", "fast", "--json", str(tmp_path / "out.json")])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 pictures in in"
    assert [line.split()[1] for line in lines[2:]] == ["nearest", "linear", "cubic", "lanczos3", "fast"]
    facts = json.loads((tmp_path / "out.json").read_text())
    assert facts["scales"]["2"]["fast"]["psnr"] > facts["scales"]["2"]["nearest"]["psnr"]
    with pytest.raises(SystemExit):
        quality.main([str(tmp_path)])


def test_models_of_files_count_at_their_own_scale(quality, tmp_path):
    pytest.importorskip("onnx", reason="onnx is not installed")
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from model_makers import super_resolution

    path = tmp_path / "net.onnx"
    path.write_bytes(super_resolution(2, 3, skip="linear"))
    assert list(quality.enlargers([str(path)], 2))[-1] == "net"
    assert "net" not in quality.enlargers([str(path)], 3)


@pytest.mark.parametrize(("scale", "published"), [(2, 30.85), (3, 28.43), (4, 27.23)])
def test_bicubic_on_kodak_is_what_is_published(quality, scale, published):
    corpus = os.environ.get("IMGOPS_CORPUS")
    if not corpus:
        pytest.skip("IMGOPS_CORPUS names no folder of photographs")
    paths = quality.pictures_in(Path(corpus, "kodak"))
    assert len(paths) == 24
    values = []
    for path in paths:
        original = quality.cut(quality.opened(path), scale)
        made = quality.enlargers([], scale)["cubic"](quality.reduced(original, scale))
        a, b = (quality.luma(image)[scale:-scale, scale:-scale] for image in (original, made))
        values.append(10 * np.log10(255**2 / np.mean((a - b) ** 2)))
    # Two decimals are published; implementations differ in their edges and in what they round.
    assert np.mean(values) == pytest.approx(published, abs=0.01)
