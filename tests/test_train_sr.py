"""The trainer of the embedded models: what it writes is what it measured, and a flat picture stays flat."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from imgops.sr import Upscaler, graph

pytest.importorskip("torch", reason="the trainer needs torch")
pytest.importorskip("onnx", reason="the trainer writes by onnx")

TOOL = Path(__file__).parents[1] / "tools" / "train_sr.py"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    random = np.random.default_rng(3)
    for index in range(2):
        blocks = random.integers(0, 256, (12, 10, 3), np.uint8).repeat(7, 0).repeat(8, 1)
        Image.fromarray(blocks).save(folder / f"{index}.png")
    command = [sys.executable, TOOL, "--images", folder, "--validate", folder, "--scale", "3", "--channels", "4"]
    command += ["--layers", "2", "--expand", "6", "--steps", "12", "--batch", "2", "--patch", "20", "--rate", "0.02"]
    command += ["--rotations", "4"]
    subprocess.run([*command, "--output", folder / "tiny_x3"], check=True, capture_output=True)
    return folder / "tiny_x3.onnx"


def test_the_file_says_what_it_is_and_stays_small(trained):
    read = graph.read_graph(trained)
    facts = {key: read.metadata[f"imgops.{key}"] for key in ("kind", "scale", "halo", "skip", "rotations")}
    assert facts == {"kind": "luma residual", "scale": "3", "halo": "4", "skip": "linear", "rotations": "4"}
    assert {node.op for node in read.nodes} == {"Cast", "Mul", "Conv", "Relu"}
    assert json.loads(trained.with_suffix(".json").read_text())["log"][-1]["step"] >= 12


def test_upscaler_gives_what_the_trainer_measured(trained):
    import torch

    spec = importlib.util.spec_from_file_location("train_sr", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    body = tool.Body(3, 4, 2, expand=6)
    body.load_state_dict(torch.load(trained.with_suffix(".pt"), weights_only=True))
    small = np.random.default_rng(0).integers(0, 256, (11, 13, 3), np.uint8)
    padded = np.pad(tool.planes(small, False), ((0, 0), (4, 4), (4, 4)), mode="edge")
    with torch.no_grad():
        single, residual = (tool.residual(body, body.kernels(rounding=True), padded, count) for count in (1, 4))
    made = Upscaler(str(trained))(np.float32(small) / 255).transpose(2, 0, 1)
    skip = tool.enlarge(tool.planes(small, True), 3, "linear")
    np.testing.assert_allclose(made, np.clip(skip + residual, 0, 1), rtol=0, atol=1e-5)
    # A residual there is, and the mean is that of four different ones.
    assert np.abs(made - np.clip(skip, 0, 1)).max() > 1e-3
    assert np.abs(made - np.clip(skip + single, 0, 1)).max() > 1e-4


@pytest.mark.parametrize("value", [0, 1, 97, 254, 255])
def test_flat_stays_flat(trained, value):
    made = Upscaler(str(trained))(np.full((5, 7, 3), value, np.uint8))
    assert np.abs(made.astype(int) - value).max() == 0


def test_numpy_runs_it_too(trained):
    pytest.importorskip("onnxruntime", reason="compared with ONNX Runtime")
    from imgops.sr.engine import Engine
    from imgops.sr.numpy_network import NumpyNetwork

    x = np.random.default_rng(1).random((1, 1, 19, 23), np.float32)
    by_runtime = Engine(trained.read_bytes(), "tiny").run(x)
    by_numpy = NumpyNetwork(graph.read_graph(trained), "tiny")(x)
    np.testing.assert_allclose(by_numpy, by_runtime, rtol=0, atol=2e-6)
