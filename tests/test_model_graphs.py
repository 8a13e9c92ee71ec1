"""imgops.sr.graph: ONNX files read as data, and every way in which a file is not one."""

import os

import numpy as np
import pytest
from model_makers import field, fields, handmade, tensor, value_info, varint

from imgops.sr import graph

WEIGHTS = np.arange(6, dtype=np.float32)


def refused(data, text):
    with pytest.raises(ValueError, match=text) as caught:
        graph.read_graph(data)
    assert "model must be a whole ONNX file; got" in str(caught.value)
    assert len(str(caught.value)) < 600


def test_all_of_a_model_that_was_written_by_hand():
    attributes = (
        fields((1, "a"), (2, 0.5), (20, 1)),
        fields((1, "i"), (3, -7), (20, 2)),
        fields((1, "s"), (4, "text"), (20, 3)),
        fields((1, "t"), (5, tensor("", [2, 3], WEIGHTS.tobytes())), (20, 4)),
        fields((1, "fs"), (7, 1.5), (7, 2.0), (20, 6)),
        fields((1, "is"), (8, -1), (8, 3), (20, 7)),
        fields((1, "packed"), (8, varint(5) + varint(300) + varint(-2)), (20, 7)),
        fields((1, "ss"), (9, "p"), (9, "q"), (20, 8)),
        fields((1, "empty"), (20, 7)),
        fields((1, "zero"), (20, 2)),
    )
    node = fields((1, "y"), (1, ""), (2, "z"), (3, "name"), (4, "Op"), *((5, a) for a in attributes), (7, "domain"))
    data = handmade(
        (1, node),
        (5, tensor("w", [3, 2], WEIGHTS.tobytes())),
        (11, value_info("w", (3, 2))),
        model_fields=((2, "by hand"), (8, fields((1, "domain"), (2, 3))), (14, fields((1, "key"), (2, "value")))),
    )
    result = graph.read_graph(data)
    assert result.opset == 17
    assert result.opsets == {"": 17, "domain": 3}
    assert (result.ir_version, result.producer, result.name) == (8, "by hand", "handmade")
    assert result.metadata == {"key": "value"}
    # An input that an initializer gives is none.
    assert result.inputs == (graph.Value("x", "float32", (1, 1, "H", "W")),)
    assert result.outputs == (graph.Value("y", "float32", (1, 1, "H", "W")),)
    assert result.initializers["w"].tolist() == WEIGHTS.reshape(3, 2).tolist()
    first, second = result.nodes
    assert first == graph.Node("Relu", ("x",), ("y",))
    assert (second.op, second.inputs, second.outputs, second.name) == ("Op", ("y", ""), ("z",), "name")
    assert second.domain == "domain"
    found = dict(second.attributes)
    assert found.pop("t").tolist() == WEIGHTS.reshape(2, 3).tolist()
    assert found == {
        "a": 0.5,
        "i": -7,
        "s": "text",
        "fs": [1.5, 2.0],
        "is": [-1, 3],
        "packed": [5, 300, -2],
        "ss": ["p", "q"],
        "empty": [],
        "zero": 0,
    }


def test_weights_are_read_only_and_files_are_left_alone(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(handmade((5, tensor("w", [6], WEIGHTS.tobytes()))))
    before = path.read_bytes()
    with pytest.raises(ValueError, match="read-only"):
        graph.read_graph(path).initializers["w"][0] = 1
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.onnx"]


@pytest.mark.parametrize("code", sorted(graph._DTYPES))
@pytest.mark.parametrize("raw", [True, False])
def test_tensors_of_every_type_as_onnx_writes_them(code, raw):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    dtype = np.dtype(graph._DTYPES[code])
    random = np.random.default_rng(code)
    array = random.integers(0 if dtype.kind in "bu" else -100, 2 if dtype.kind == "b" else 100, (2, 3, 5)).astype(dtype)
    if dtype.kind == "c":
        array = array + array.dtype.type(1j) * array[::-1]
    if raw:
        stored = onnx.numpy_helper.from_array(array, "w")
    else:
        stored = onnx.helper.make_tensor("w", code, array.shape, array.ravel().tolist())
    result = graph.read_graph(handmade((5, stored.SerializeToString()))).initializers["w"]
    assert result.dtype == dtype
    assert np.array_equal(result, array)


def test_bfloat16_becomes_float32_and_narrower_types_stay_bytes():
    bits = np.array([0x3F80, 0xC000, 0x3E00], np.uint16)
    for stored in (tensor("w", [3], bits.tobytes(), 16), tensor("w", [3], None, 16, *((5, int(b)) for b in bits))):
        result = graph.read_graph(handmade((5, stored))).initializers["w"]
        assert result.dtype == np.float32
        assert result.tolist() == [1.0, -2.0, 0.125]
    result = graph.read_graph(handmade((5, tensor("w", [3], b"\x21\x03", 22)))).initializers["w"]
    assert result.tolist() == [0x21, 0x03]


def test_large_packed_numbers():
    numbers = [0, 1, 127, 128, 2**31, 2**63 - 1, -1, -(2**63)]
    stored = tensor("w", [8], None, 7, (7, b"".join(map(varint, numbers))))
    assert graph.read_graph(handmade((5, stored))).initializers["w"].tolist() == numbers


def test_whole_models_as_the_package_onnx_sees_them():
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    from model_makers import super_resolution

    data = super_resolution(3, 3, mode="DCR", skip="linear", layout="NHWC")
    model, result = onnx.load_from_string(data), graph.read_graph(data)
    assert [node.op for node in result.nodes] == [node.op_type for node in model.graph.node]
    for ours, theirs in zip(result.nodes, model.graph.node, strict=True):
        assert (ours.inputs, ours.outputs) == (tuple(theirs.input), tuple(theirs.output))
        values = {a.name: onnx.helper.get_attribute_value(a) for a in theirs.attribute}
        assert ours.attributes == {k: v.decode() if isinstance(v, bytes) else v for k, v in values.items()}
    for stored in model.graph.initializer:
        assert np.array_equal(result.initializers[stored.name], onnx.numpy_helper.to_array(stored))


def test_subgraphs_are_read_and_bounded():
    inner = fields((1, fields((1, "x"), (2, "i"), (4, "Identity"))), (12, value_info("i", (1,))))
    node = fields((4, "If"), (5, fields((1, "then_branch"), (6, inner), (20, 5))))
    result = graph.read_graph(handmade((1, node)))
    assert result.nodes[1].attributes["then_branch"].nodes[0].op == "Identity"
    for _ in range(graph.MAX_DEPTH):
        inner = fields((1, fields((4, "If"), (5, fields((1, "then_branch"), (6, inner), (20, 5))))))
    refused(handmade((1, fields((4, "If"), (5, fields((1, "b"), (6, inner), (20, 5)))))), "graphs inside of each other")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "an empty file"),
        (bytes(100), "zeros"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "a PNG picture"),
        (b"\xff\xd8\xff\xe0" + bytes(50), "a JPEG picture"),
        (b"PK\x03\x04" + bytes(50), "checkpoint of PyTorch"),
        (b"\x80\x02}q\x00.", "a pickle"),
        (b"7767517\n3 3\n", "param file of ncnn"),
        (b"\x20\x00\x00\x00TFL3" + bytes(50), "TensorFlow Lite"),
        (b"\x20\x00\x00\x00ORTM" + bytes(50), "ONNX Runtime's own format"),
        (b"\x40\x00\x00\x00\x00\x00\x00\x00" + b'{"a":1}', "safetensors"),
        (b"<!DOCTYPE html>", "XML or HTML"),
        (b"version https://git-lfs.github.com/spec/v1\n", "pointer of Git LFS"),
        (b"\n\x10some other graph" + bytes(9), "frozen graph of TensorFlow"),
        (b"Not a model at all.", "a text"),
        (bytes(range(1, 60)), "no field|is a number"),
    ],
)
def test_other_kinds_of_files_are_named(data, kind):
    refused(data, kind)


def test_every_truncation_of_a_model_is_refused():
    data = handmade((5, tensor("w", [2, 3], WEIGHTS.tobytes())))
    for length in range(len(data)):
        with pytest.raises(ValueError, match="model must be a whole ONNX file"):
            graph.read_graph(data[:length])


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (tensor("w", [2, 4], WEIGHTS.tobytes()), r"'w', float32 of shape \(2, 4\), with 24 bytes of 32"),
        (tensor("w", [2, 2], WEIGHTS.tobytes()), "with 24 bytes of 16"),
        (tensor("w", [6], None), "with 0 numbers of 6"),
        (tensor("w", [2**40, 2**40], WEIGHTS.tobytes()), "absurd shape"),
        (tensor("w", [2**20, 0], b""), None),
        (tensor("w", [2**62, 2**62, 0], b""), "absurd shape"),
        (tensor("w", [-6], WEIGHTS.tobytes()), r"of shape \(-6,\)"),
        (tensor("w", [1] * 40, WEIGHTS.tobytes()[:4]), "absurd shape"),
        (tensor("w", [6], WEIGHTS.tobytes(), 99), "unknown element type 99"),
        (tensor("w", [6], WEIGHTS.tobytes(), 0), "unknown element type 0"),
        (tensor("w", [6], WEIGHTS.tobytes(), 1, (4, WEIGHTS.tobytes())), "numbers twice"),
        (tensor("w", [6], None, 1, (4, WEIGHTS.tobytes()[:-1])), "23 bytes of float32 numbers"),
        (tensor("w", [6], None, 1, (4, WEIGHTS.tobytes()[:-4])), "with 5 numbers of 6"),
        (tensor("w", [6], None, 1, (5, bytes(6))), "numbers of another type"),
        (tensor("w", [2], None, 7, (7, b"\x80" * 11 + b"\x00")), "more than 10 bytes"),
        (tensor("w", [2], None, 7, (7, b"\x01\x80")), "cut short in a number"),
        (tensor("w", [6], None, 1, (14, 1)), "external data"),
        (tensor("w", [6], None, 1, (13, fields((1, "location"), (2, "/etc/passwd"))), (14, 1)), "external data"),
        (tensor("w", [6], WEIGHTS.tobytes(), 1, (13, fields((1, "location"), (2, "w.bin")))), "external data"),
        (tensor("w", [6], WEIGHTS.tobytes(), 1, (3, b"")), "segments"),
        (tensor("w", [2], None, 8, (6, "a")), "with 1 strings"),
    ],
)
def test_tensors_that_do_not_fit_their_bytes(part, text):
    for data in (handmade((5, part)), handmade((1, fields((4, "Op"), (5, fields((1, "t"), (5, part), (20, 4))))))):
        if text is None:
            graph.read_graph(data)
        else:
            refused(data, text)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (fields((1, 8), (8, field(2, 17))), "no graph"),
        (handmade(model_fields=((7, b""),)), "2 graphs"),
        (fields((1, 8), (7, b"")), "no version of its operators"),
        (handmade(opset=0), "version 0"),
        (handmade(opset=-1), "version 18446744073709551615"),
        (handmade((5, tensor("w", [0], b"")), (5, tensor("w", [0], b""))), "two initializers 'w'"),
        (handmade(model_fields=((20, b""),)), "for training"),
        (handmade((1, fields((4, b"Op\xff")))), "a text that is not UTF-8"),
        (handmade((1, 5)), "with a number as field 1, which is a run of bytes"),
        (fields((1, 8)) + varint(7 << 3 | 2) + varint(2**62) + b"abc", "a field of 4611686018427387904 bytes"),
        (fields((1, 8)) + varint(7 << 3 | 3), "no field"),
        (fields((1, 8)) + b"\x00\x00", "no field"),
        (fields((1, 8)) + b"\xff" * 11, "more than 10 bytes"),
        (handmade((1, fields((4, "Op"), (5, fields((1, "f"), (20, 1)) + varint(2 << 3 | 5) + b"ab")))), "cut short"),
    ],
)
def test_messages_that_are_no_model(data, text):
    refused(data, text)


def test_a_flood_of_empty_fields_ends(monkeypatch):
    monkeypatch.setattr(graph, "MAX_FIELDS", 1000)
    refused(fields((1, 8)) + b"\x1a\x00" * 2000, "more than 1000 fields")


def test_external_data_is_found_wherever_it_hides():
    hidden = tensor("w", [1], None, 1, (14, 1))
    inner = fields((5, hidden))
    places = (
        handmade((15, fields((1, hidden)))),
        handmade((1, fields((4, "Op"), (5, fields((1, "t"), (10, hidden), (20, 9)))))),
        handmade((1, fields((4, "Op"), (5, fields((1, "t"), (22, fields((2, hidden))), (20, 11)))))),
        handmade((1, fields((4, "If"), (5, fields((1, "g"), (6, inner), (20, 5)))))),
        handmade((1, fields((4, "If"), (5, fields((1, "g"), (11, inner), (20, 10)))))),
        handmade(model_fields=((25, fields((1, "F"), (7, fields((4, "Op"), (5, fields((1, "t"), (5, hidden))))))),)),
    )
    for data in places:
        refused(data, "external data")


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        graph.read_graph(tmp_path / "nowhere.onnx")
    with pytest.raises(ValueError, match="regular file; got a folder"):
        graph.read_graph(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.onnx")
        with pytest.raises(ValueError, match="a device or pipe"):
            graph.read_graph(tmp_path / "pipe.onnx")
    path = tmp_path / "large.onnx"
    with open(path, "wb") as file:
        file.truncate(graph.MAX_BYTES + 1)
    with pytest.raises(ValueError, match=f"at most {graph.MAX_BYTES} bytes; got one of {graph.MAX_BYTES + 1}"):
        graph.read_graph(path)


def test_mutants_of_models_are_read_or_refused():
    random = np.random.default_rng(5)
    node = fields((1, "y"), (2, "z"), (4, "Conv"), (5, fields((1, "pads"), (8, 1), (8, 1), (20, 7))))
    seed = handmade(
        (1, node), (5, tensor("w", [2, 3], WEIGHTS.tobytes())), (5, tensor("v", [2], None, 7, (7, b"\1\2")))
    )
    messages = set()
    for _ in range(3000):
        data = bytearray(seed)
        for _ in range(random.integers(1, 4)):
            place = int(random.integers(len(data)))
            kind = random.integers(4)
            if kind == 0:
                data[place] ^= 1 << int(random.integers(8))
            elif kind == 1:
                data[place] = int(random.choice([0, 1, 0x7F, 0x80, 0xFF]))
            elif kind == 2:
                del data[place : place + int(random.integers(1, 9))]
            else:
                data[place:place] = bytes(random.integers(0, 256, random.integers(1, 9), np.uint8))
        try:
            result = graph.read_graph(bytes(data))
        except ValueError as error:
            messages.add(str(error)[:60])
        else:
            assert sum(array.nbytes for array in result.initializers.values()) < 2**12
    assert len(messages) > 1
    assert all(message.startswith("model: a model must be a whole ONNX file") for message in messages)
