"""imgops models, and imgops models check: what is there, and what a file is."""

import json
import os
from importlib import resources

import pytest
from model_makers import srvgg, super_resolution

from imgops import cli, sr
from imgops.sr import describe, engine
from imgops.sr.graph import read_graph


def imgops(*arguments):
    return cli.main([str(argument) for argument in arguments])


def needs(*names):
    for name in names:
        pytest.importorskip(name, reason=f"{name} is not installed")


def test_the_list_has_every_embedded_model(capsys):
    assert imgops("models") == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split()[:4] for line in lines[1:7]]
    files = resources.files("imgops.sr").joinpath("models")
    for grade, scale, parameters, size in rows:
        data = files.joinpath(f"{grade}_{scale}.onnx").read_bytes()
        assert size == f"{len(data):,}"
        kernels = [array for array in read_graph(data).initializers.values() if array.ndim == 4]
        # All but the biases.
        assert 0 < int(parameters.replace(",", "")) - sum(kernel.size for kernel in kernels) < 500
    assert [row[:2] for row in rows] == [[name, f"x{scale}"] for name in sr.models() for scale in (2, 3, 4)]


def test_the_list_as_json(capsys):
    assert imgops("models", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert [(row["grade"], row["scale"]) for row in facts] == [(n, s) for n in sr.models() for s in (2, 3, 4)]
    assert all(row["bytes"] < 110_000 and row["halo"] > 0 and row["parameters"] > 1000 for row in facts)


def test_the_list_says_what_runs_them(capsys, monkeypatch):
    monkeypatch.setattr(engine, "onnxruntime", lambda: None)
    assert imgops("models") == 0
    assert "run by NumPy" in capsys.readouterr().out.splitlines()[-1]


def test_check_of_models_that_can_run(tmp_path, capsys):
    needs("onnx", "onnxruntime")
    path = tmp_path / "net.onnx"
    path.write_bytes(super_resolution(3, 1, skip="linear", layout="NHWC", sides=(16, 24)))
    text, data, _ = srvgg(2, 4, 2)
    (tmp_path / "small.param").write_text(text)
    (tmp_path / "small.bin").write_bytes(data)
    assert imgops("models", "check", path, tmp_path / "small.bin") == 0
    out, error = capsys.readouterr()
    assert error == ""
    first, second = out.split(f"{tmp_path / 'small.bin'}: can run\n")
    assert first.splitlines()[0] == f"{path}: can run"
    assert "luma picture, NHWC, float32, black 0 to white 1" in first
    assert "scale         x3" in first
    assert "16 x 24 pixels alone" in first
    assert "4 Conv" not in first
    assert "3 Conv" in first
    assert "rgb picture, NCHW" in second
    assert f"in {len(text) + len(data):,} bytes" in second
    assert sorted(os.listdir(tmp_path)) == ["net.onnx", "small.bin", "small.param"]


def test_check_of_an_embedded_model(capsys):
    with resources.as_file(resources.files("imgops.sr").joinpath("models", "fast_x4.onnx")) as path:
        assert imgops("models", "check", path) == 0
    out = capsys.readouterr().out
    assert "luma" in out
    assert "scale         x4" in out


def test_check_of_what_cannot_run(tmp_path, capsys):
    needs("onnx", "onnxruntime")
    good = tmp_path / "net.onnx"
    good.write_bytes(super_resolution(2, 3))
    torn = tmp_path / "torn.onnx"
    torn.write_bytes(good.read_bytes()[:-40])
    lone = tmp_path / "lone.param"
    lone.write_text(srvgg(2, 4, 2)[0])
    assert imgops("models", "check", torn, tmp_path / "none.onnx", good, lone, tmp_path) == 1
    out, error = capsys.readouterr()
    assert out.count(": can run") == 1
    lines = error.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith(f"imgops: {torn}: a model must be a whole ONNX file; got ")
    assert lines[1] == f"imgops: {tmp_path / 'none.onnx'}: no such file or directory"
    assert lines[2].endswith(f"stand beside it in {tmp_path / 'lone.bin'}")
    assert "a folder" in lines[3]


def test_check_as_json(tmp_path, capsys):
    needs("onnx", "onnxruntime")
    (tmp_path / "net.onnx").write_bytes(super_resolution(2, 4))
    (tmp_path / "text.onnx").write_text("A text of some length.")
    assert imgops("models", "check", tmp_path / "net.onnx", tmp_path / "text.onnx", "--json") == 1
    out, error = capsys.readouterr()
    first, second = json.loads(out)
    assert (first["can_run"], first["error"], first["channels"], first["scale"]) == (True, None, "rgba", 2)
    assert (second["can_run"], second["source"]) == (False, str(tmp_path / "text.onnx"))
    assert "got a text" in second["error"]
    assert error.startswith(f"imgops: {tmp_path / 'text.onnx'}: ")


def test_check_without_onnxruntime(tmp_path, capsys, monkeypatch):
    needs("onnx")
    monkeypatch.setattr(engine, "onnxruntime", lambda: None)
    (tmp_path / "net.onnx").write_bytes(super_resolution(2, 3, skip="linear"))
    assert imgops("models", "check", tmp_path / "net.onnx") == 1
    out, error = capsys.readouterr()
    assert "pip install 'imgops[sr]'" in error
    assert "scale         x2" in out
    assert "can run" not in out
    with resources.as_file(resources.files("imgops.sr").joinpath("models", "best_x2.onnx")) as path:
        assert imgops("models", "check", path) == 0


def test_the_text_tells_what_is_peculiar():
    facts = {
        "kind": "picture",
        "channels": "rgb",
        "layout": "NCHW",
        "dtype": "float16",
        "value_range": (0.0, 255.0),
        "scale": 2,
        "fixed_size": None,
        "multiple": 4,
        "minimum": 16,
        "halo": None,
        "padding": "valid",
        "rotations": 4,
        "parameters": 1234,
        "bytes": 5678,
        "operators": {"Conv": 3},
        "notes": ("a note",),
    }
    text = "\n".join(describe.checked_text(facts))
    assert "black 0 to white 255" in text
    assert "the mean of 4 rotations" in text
    assert "sides that are multiples of 4, at least 16 pixels a side" in text
    assert "unknown, so that only the whole picture will do" in text
    assert "the picture's edge, repeated" in text
    assert "1,234 in 5,678 bytes" in text
    assert text.endswith("a note")


def test_wrong_usage(capsys):
    for arguments in (["models", "chekc"], ["models", "check"], ["models", "check", "--jso", "x"]):
        with pytest.raises(SystemExit) as caught:
            imgops(*arguments)
        assert caught.value.code == 2
    # Of the command alone, without the usage of the listing before it.
    assert "\nimgops models check: error: " in capsys.readouterr().err
