"""ONNX files read as data, without the package onnx: what a model consists of, every length checked.

An ONNX file is a protocol buffer, a sequence of fields (number, wire type, value); its schema is onnx.proto3 of
https://github.com/onnx/onnx. Nothing in it is run, and nothing but the file itself is read.
"""

import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from .. import _checks

# Protocol buffers end at 2 GiB, and no graph that somebody made has so many fields or subgraphs in subgraphs.
MAX_BYTES = 2**31 - 1
MAX_FIELDS = 2_000_000
MAX_DEPTH = 8

# ONNX's element types by number. bfloat16 is held as float32, what NumPy has no type for as its bytes.
_DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
}
_OTHER_TYPES = {
    8: "string",
    16: "bfloat16",
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
    24: "float8e8m0",
}
_BITS = {"bfloat16": 16, "uint4": 4, "int4": 4, "float4e2m1": 4}

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIRE_NAMES = {_VARINT: "a number", _FIXED64: "8 bytes", _BYTES: "a run of bytes", _FIXED32: "4 bytes"}

# What files that are no ONNX models begin with.
_SIGNATURES = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"RIFF", "a RIFF file, such as a WebP picture"),
    (b"PK\x03\x04", "a zip archive, such as a checkpoint of PyTorch"),
    (b"\x80\x02", "a pickle, such as a checkpoint of PyTorch"),
    (b"\x80\x03", "a pickle, such as a checkpoint of PyTorch"),
    (b"\x80\x04", "a pickle, such as a checkpoint of PyTorch"),
    (b"\x80\x05", "a pickle, such as a checkpoint of PyTorch"),
    (b"\x89HDF", "an HDF5 file, such as a model of Keras"),
    (b"GGUF", "a GGUF file"),
    (b"\x93NUMPY", "an array of NumPy"),
    (b"7767517\n", "a .param file of ncnn, whose name must end in .param"),
    (b"7767517\r", "a .param file of ncnn, whose name must end in .param"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"%PDF", "a PDF document"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the file that it stands for"),
    (b"\n", "a text, or another protocol buffer such as a frozen graph of TensorFlow"),
    (b"<", "a text of XML or HTML, such as a page that was saved instead of the file"),
)


@dataclass(frozen=True)
class Value:
    """An input or output of a graph.

    Attributes
    ----------
    name : str
    dtype : str or None
        NumPy's name, or ONNX's where NumPy has none; None where the file does not say.
    shape : tuple of (int, str or None), or None
        A length that is free has its name, or None; None instead of a tuple where not even the rank is declared.
    """

    name: str
    dtype: str | None
    shape: tuple | None


@dataclass(frozen=True)
class Node:
    """One operator: its name and domain, names of what it reads and makes ("" for what is left out), attributes."""

    op: str
    inputs: tuple
    outputs: tuple
    attributes: Mapping = field(default_factory=dict)
    name: str = ""
    domain: str = ""


@dataclass(frozen=True)
class Graph:
    """What an ONNX file holds.

    Attributes
    ----------
    nodes : tuple of Node
    initializers : dict of str to ndarray
        Weights and constants, read-only.
    inputs, outputs : tuple of Value
        Without those inputs that initializers give.
    opset : int
        Version of ONNX's own operators; 0 in a subgraph.
    opsets : dict of str to int
        Versions by domain.
    metadata : dict of str to str
    functions : frozenset of (str, str)
        (domain, name) of the operators that the model defines itself.
    name : str
    ir_version : int
    producer : str
    """

    nodes: tuple
    initializers: Mapping
    inputs: tuple
    outputs: tuple
    opset: int = 0
    opsets: Mapping = field(default_factory=dict)
    metadata: Mapping = field(default_factory=dict)
    functions: frozenset = frozenset()
    name: str = ""
    ir_version: int = 0
    producer: str = ""


def read_graph(source, name="model"):
    """The Graph in an ONNX file.

    Parameters
    ----------
    source : path, or bytes of a file
    name : str
        What errors call the bytes.

    Returns
    -------
    Graph

    Raises
    ------
    ValueError
        For what is not an ONNX model: another kind of file, a truncated one, sizes that do not fit the bytes that are
        there, tensors kept in other files. The message says what was found.
    OSError
        Where the file cannot be read; FileNotFoundError if there is none.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _Reader(memoryview(source).cast("B"), name).model()
    return _Reader(memoryview(read_bytes(source)), os.fspath(source)).model()


def read_bytes(path, limit=MAX_BYTES):
    """The bytes of a regular file of at most `limit` bytes; other things are refused before they are opened."""
    path = os.fspath(path)
    facts = os.stat(path)
    if not stat.S_ISREG(facts.st_mode):
        kind = "a folder" if stat.S_ISDIR(facts.st_mode) else "a device or pipe"
        _checks.model_file(path, "a model must be a regular file", kind, "pass the path of a file")
    if facts.st_size > limit:
        found = f"one of {facts.st_size} bytes"
        _checks.model_file(path, f"a model's file must have at most {limit} bytes", found, "pass a smaller model")
    with open(path, "rb") as file:
        # A file may grow while it is read.
        data = file.read(limit + 1)
    if len(data) > limit:
        _checks.model_file(path, f"a model's file must have at most {limit} bytes", "more", "pass a smaller model")
    return data


def kind_of(data):
    """What a file that begins with these bytes is, in words; None where nothing is known."""
    head = bytes(data[:64])
    if not head:
        return "an empty file"
    if not any(head):
        return "zeros"
    if head[4:8] in (b"ORTM", b"TFL3"):
        return {b"ORTM": "a model in ONNX Runtime's own format", b"TFL3": "a model of TensorFlow Lite"}[head[4:8]]
    if head[8:10] in (b'{"', b"{ ") and int.from_bytes(head[:8], "little") < 2**27:
        return "a file of safetensors"
    kind = next((kind for start, kind in _SIGNATURES if head.startswith(start)), None)
    return kind or ("a text" if head.isascii() and all(byte > 31 or byte in b"\t\r\n" for byte in head) else None)


class _Reader:
    """Reads messages out of one buffer; `source` names it in errors."""

    def __init__(self, data, source):
        self._data = data
        self._source = source
        self._fields = 0

    def refuse(self, found):
        advice = "pass another file, or export the model again with its tensors in the file"
        _checks.model_file(self._source, "a model must be a whole ONNX file", found, advice)

    # -----------------------------------------------------------------------------------------------------------------
    # The wire format

    def _fields_of(self, part, where, wires):
        """(number, value) of the fields of one message; `wires` has the wire types that known numbers may have."""
        position, end = part
        while position < end:
            self._fields += 1
            if self._fields > MAX_FIELDS:
                self.refuse(f"more than {MAX_FIELDS} fields")
            key, position = self._varint(position, end, where)
            number, wire = key >> 3, key & 7
            if number == 0 or wire not in _WIRE_NAMES:
                self.refuse(f"bytes that are no field, in {where} at byte {position - 1}")
            if wire == _VARINT:
                value, position = self._varint(position, end, where)
            else:
                length = {_FIXED64: 8, _FIXED32: 4}.get(wire)
                if length is None:
                    length, position = self._varint(position, end, where)
                if length > end - position:
                    self.refuse(
                        f"{where} cut short: a field of {length} bytes at byte {position}, where {end - position} are "
                        f"left"
                    )
                value = (position, position + length)
                position += length
            if number in wires:
                if wire not in wires[number]:
                    expected = " or ".join(_WIRE_NAMES[w] for w in wires[number])
                    self.refuse(f"{where} with {_WIRE_NAMES[wire]} as field {number}, which is {expected}")
                yield number, value

    def _varint(self, position, end, where):
        value = 0
        for shift in range(0, 70, 7):
            if position >= end:
                self.refuse(f"{where} cut short in a number at byte {position}")
            byte = self._data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & (2**64 - 1), position
        return self.refuse(f"a number of more than 10 bytes, in {where} at byte {position - 10}")

    def _bytes(self, part):
        return self._data[part[0] : part[1]]

    def _text(self, part):
        try:
            return str(self._bytes(part), "utf-8")
        except UnicodeDecodeError:
            return self.refuse(f"a text that is not UTF-8, at byte {part[0]}")

    def _numbers(self, part, where):
        """The varints packed into a field, as a uint64 array."""
        data = np.frombuffer(self._bytes(part), np.uint8)
        last = np.flatnonzero(data < 0x80)
        if data.size and (not last.size or last[-1] != data.size - 1):
            self.refuse(f"{where} cut short in a number")
        first = np.concatenate(([0], last[:-1] + 1)) if last.size else last
        lengths = last - first + 1
        if lengths.size and lengths.max() > 10:
            self.refuse(f"a number of more than 10 bytes, in {where}")
        values = np.zeros(last.size, np.uint64)
        for index in range(int(lengths.max(initial=0))):
            has = np.flatnonzero(lengths > index)
            low = (data[first[has] + index] & 0x7F).astype(np.uint64)
            values[has] |= low << np.uint64(7 * index)
        return values

    def _repeated(self, value, where):
        """The numbers of a repeated integer field: one, or a run of packed ones."""
        if isinstance(value, int):
            return np.array([value], np.uint64)
        return self._numbers(value, where)

    def _fixed(self, value, dtype, where):
        data = self._bytes(value)
        if len(data) % np.dtype(dtype).itemsize:
            self.refuse(f"{len(data)} bytes of {np.dtype(dtype).name} numbers in {where}")
        return np.frombuffer(data, dtype)

    # -----------------------------------------------------------------------------------------------------------------
    # Messages of ONNX

    def model(self):
        data = self._data
        kind = kind_of(data)
        if kind is not None:
            self.refuse(kind)
        graphs, opsets, metadata, functions, facts = [], {}, {}, set(), {1: 0, 2: ""}
        wires = {1: (_VARINT,), 2: (_BYTES,), 7: (_BYTES,), 8: (_BYTES,), 14: (_BYTES,), 20: (_BYTES,), 25: (_BYTES,)}
        for number, value in self._fields_of((0, len(data)), "the model", wires):
            if number == 1:
                facts[1] = value
            elif number == 2:
                facts[2] = self._text(value)
            elif number == 7:
                graphs.append(value)
            elif number == 8:
                domain, version = self._opset(value)
                opsets[domain] = version
            elif number == 14:
                key, text = self._entry(value)
                metadata[key] = text
            elif number == 20:
                self.refuse("a model for training, with training_info")
            else:
                functions.add(self._function(value))
        if len(graphs) != 1:
            self.refuse(f"{len(graphs) or 'no'} graph{'s' if graphs else ''} in it")
        if not opsets:
            self.refuse("no version of its operators (opset_import) in it")
        return self._graph(
            graphs[0],
            "the graph",
            0,
            opset=opsets.get("", opsets.get("ai.onnx", 0)),
            opsets=opsets,
            metadata=metadata,
            functions=frozenset(functions),
            ir_version=facts[1],
            producer=facts[2],
        )

    def _opset(self, part):
        domain, version = "", 0
        for number, value in self._fields_of(part, "an opset_import", {1: (_BYTES,), 2: (_VARINT,)}):
            if number == 1:
                domain = self._text(value)
            else:
                version = value
        if not 1 <= version < 2**31:
            self.refuse(f"version {version} of the operators of domain {domain!r}")
        return domain, version

    def _entry(self, part):
        texts = {1: "", 2: ""}
        for number, value in self._fields_of(part, "an entry of metadata", {1: (_BYTES,), 2: (_BYTES,)}):
            texts[number] = self._text(value)
        return texts[1], texts[2]

    def _function(self, part):
        """(domain, name) of an operator that the model defines; its nodes are read so that they are checked."""
        name = domain = ""
        wires = {1: (_BYTES,), 7: (_BYTES,), 10: (_BYTES,), 11: (_BYTES,)}
        for number, value in self._fields_of(part, "a function", wires):
            if number == 1:
                name = self._text(value)
            elif number == 10:
                domain = self._text(value)
            elif number == 7:
                self._node(value, "a node of a function", 1)
            else:
                self._attribute(value, "a default of a function", 1)
        return domain, name

    def _graph(self, part, where, depth, **facts):
        if depth > MAX_DEPTH:
            self.refuse(f"more than {MAX_DEPTH} graphs inside of each other")
        nodes, initializers, inputs, outputs, name = [], {}, [], [], ""
        wires = dict.fromkeys((1, 2, 5, 11, 12, 15), (_BYTES,))
        for number, value in self._fields_of(part, where, wires):
            if number == 1:
                nodes.append(self._node(value, f"node {len(nodes)}", depth))
            elif number == 2:
                name = self._text(value)
            elif number == 5:
                title, array = self._tensor(value, f"initializer {len(initializers)}")
                if title in initializers:
                    self.refuse(f"two initializers {title!r}")
                initializers[title] = array
            elif number == 11:
                inputs.append(self._value(value, f"input {len(inputs)}"))
            elif number == 12:
                outputs.append(self._value(value, f"output {len(outputs)}"))
            else:
                title, array = self._sparse(value, "a sparse initializer")
                initializers[title] = array
        free = tuple(value for value in inputs if value.name not in initializers)
        return Graph(tuple(nodes), initializers, free, tuple(outputs), name=name, **facts)

    def _node(self, part, where, depth):
        texts, inputs, outputs, attributes = {3: "", 4: "", 7: ""}, [], [], {}
        for number, value in self._fields_of(part, where, dict.fromkeys((1, 2, 3, 4, 5, 7), (_BYTES,))):
            if number == 1:
                inputs.append(self._text(value))
            elif number == 2:
                outputs.append(self._text(value))
            elif number == 5:
                name, content = self._attribute(value, f"an attribute of {where}", depth)
                attributes[name] = content
            else:
                texts[number] = self._text(value)
        domain = "" if texts[7] == "ai.onnx" else texts[7]
        return Node(texts[4], tuple(inputs), tuple(outputs), attributes, texts[3], domain)

    def _attribute(self, part, where, depth):
        name, kind, found = "", 0, {}
        wires = {
            **dict.fromkeys((1, 4, 5, 6, 9, 10, 11, 22, 23), (_BYTES,)),
            **dict.fromkeys((3, 20), (_VARINT,)),
            2: (_FIXED32,),
            7: (_FIXED32, _BYTES),
            8: (_VARINT, _BYTES),
        }
        for number, value in self._fields_of(part, where, wires):
            if number == 1:
                name = self._text(value)
            elif number == 20:
                kind = value
            elif number in (2, 3, 4):
                found[number] = self._scalar(number, value, where)
            elif number in (7, 8, 9):
                found.setdefault(number, []).extend(self._list(number, value, where))
            elif number in (6, 11):
                graph = self._graph(value, f"a subgraph of {where}", depth + 1)
                found.setdefault(number, []).append(graph)
            else:
                read = self._sparse if number in (22, 23) else self._tensor
                found.setdefault(number, []).append(read(value, f"a tensor of {where}")[1])
        # AttributeProto.type, and the number of the field that holds the value of such a type.
        number = {1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 6: 7, 7: 8, 8: 9, 9: 10, 10: 11, 11: 22, 12: 23}.get(kind)
        if number is None:
            number = next(iter(found), 0)
        if number in (7, 8, 9, 10, 11, 23):
            return name, found.get(number, [])
        content = found.get(number, {2: 0.0, 3: 0, 4: ""}.get(number))
        return name, content[-1] if isinstance(content, list) else content

    def _scalar(self, number, value, where):
        if number == 2:
            return float(self._fixed(value, "<f4", where)[0])
        return _signed(value) if number == 3 else self._text(value)

    def _list(self, number, value, where):
        if number == 7:
            return self._fixed(value, "<f4", where).tolist()
        if number == 8:
            return self._repeated(value, where).view(np.int64).tolist()
        return [self._text(value)]

    # -----------------------------------------------------------------------------------------------------------------
    # Tensors

    def _tensor(self, part, where):
        """(name, array) of a TensorProto."""
        dims, code, name, raw, numbers, strings = [], 0, "", None, {}, 0
        wires = {
            **dict.fromkeys((3, 6, 8, 9, 13), (_BYTES,)),
            1: (_VARINT, _BYTES),
            2: (_VARINT,),
            4: (_FIXED32, _BYTES),
            5: (_VARINT, _BYTES),
            7: (_VARINT, _BYTES),
            10: (_FIXED64, _BYTES),
            11: (_VARINT, _BYTES),
            14: (_VARINT,),
        }
        for number, value in self._fields_of(part, where, wires):
            if number == 1:
                dims.extend(self._repeated(value, where).view(np.int64).tolist())
            elif number == 2:
                code = value
            elif number == 8:
                name = self._text(value)
            elif number == 9:
                raw = value
            elif number == 6:
                strings += 1
            elif number == 3:
                self.refuse(f"{where} in segments")
            elif number == 13 or (number == 14 and value):
                self.refuse(f"{where} with its numbers in another file (external data)")
            elif number != 14:
                numbers.setdefault(number, []).append(value)
        where = f"{where} {name!r}" if name else where
        count = self._count(dims, where)
        if code == 8:
            if strings != count:
                self.refuse(f"{where} of shape {tuple(dims)} with {strings} strings")
            return name, np.zeros(count, np.uint8).reshape(dims)
        kind = _DTYPES.get(code) or _OTHER_TYPES.get(code)
        if kind is None:
            self.refuse(f"{where} of the unknown element type {code}")
        if raw is not None and numbers:
            self.refuse(f"{where} with its numbers twice")
        array = self._raw(raw, kind, dims, count, where) if raw is not None else None
        return name, self._typed(numbers, kind, dims, count, where) if array is None else array

    def _count(self, dims, where):
        if min(dims, default=0) < 0:
            self.refuse(f"{where} of shape {tuple(dims[:33])}")
        # Python's integers do not overflow, so that an absurd product is seen as one.
        if len(dims) > 32 or math.prod(max(length, 1) for length in dims) > 8 * MAX_BYTES:
            self.refuse(f"{where} of the absurd shape {tuple(dims[:33])}")
        return math.prod(dims)

    def _raw(self, part, kind, dims, count, where):
        data = self._bytes(part)
        bits = _BITS.get(kind, 8) if kind in _OTHER_TYPES.values() else 8 * np.dtype(kind).itemsize
        expected = (count * bits + 7) // 8
        if len(data) != expected:
            self.refuse(f"{where}, {kind} of shape {tuple(dims)}, with {len(data)} bytes of {expected}")
        return _array(np.frombuffer(data, np.uint8), kind, dims)

    def _typed(self, numbers, kind, dims, count, where):
        """The array of numbers that are not given as raw bytes: each in the field of its type, widened to it."""
        number = {"float32": 4, "complex64": 4, "int64": 7, "float64": 10, "complex128": 10, "uint32": 11, "uint64": 11}
        number = number.get(kind, 5)
        if set(numbers) - {number}:
            self.refuse(f"{where}, {kind}, with numbers of another type")
        values = numbers.get(number, [])
        if number in (4, 10):
            dtype = "<f4" if number == 4 else "<f8"
            parts = [self._fixed(value, dtype, where) for value in values]
        else:
            parts = [self._repeated(value, where) for value in values]
            dtype = np.uint64
        flat = np.concatenate(parts) if parts else np.zeros(0, dtype)
        packed = 2 if kind in ("uint4", "int4", "float4e2m1") else 1
        expected = -(-count // packed) * (2 if kind.startswith("complex") else 1)
        if flat.size != expected:
            self.refuse(f"{where}, {kind} of shape {tuple(dims)}, with {flat.size} numbers of {expected}")
        if number in (4, 10):
            return _array(np.ascontiguousarray(flat).view(np.uint8), kind, dims)
        # float16 and narrower are bit patterns in the low bytes.
        width = {"bfloat16": 2}.get(kind, 1) if kind in _OTHER_TYPES.values() else np.dtype(kind).itemsize
        return _array(flat.astype(f"<u{width}").view(np.uint8), kind, dims)

    def _sparse(self, part, where):
        """(name, array) of a SparseTensorProto; only its sizes are of interest, so that the array is its values."""
        name, array = "", np.zeros(0, np.float32)
        for number, value in self._fields_of(part, where, {1: (_BYTES,), 2: (_BYTES,)}):
            title, values = self._tensor(value, where)
            if number == 1:
                name, array = title, values
        return name, array

    def _value(self, part, where):
        name, dtype, shape = "", None, None
        for number, value in self._fields_of(part, where, {1: (_BYTES,), 2: (_BYTES,)}):
            if number == 1:
                name = self._text(value)
            else:
                dtype, shape = self._type(value, f"the type of {where}")
        return Value(name, dtype, shape)

    def _type(self, part, where):
        dtype, shape = None, None
        for number, value in self._fields_of(part, where, dict.fromkeys((1, 4, 5, 8, 9), (_BYTES,))):
            if number != 1:
                dtype = {4: "sequence", 5: "map", 8: "sparse tensor", 9: "optional"}[number]
                continue
            for inner, content in self._fields_of(value, where, {1: (_VARINT,), 2: (_BYTES,)}):
                if inner == 1:
                    dtype = _DTYPES.get(content) or _OTHER_TYPES.get(content) or f"type {content}"
                else:
                    shape = tuple(
                        self._dimension(dimension, where)
                        for _, dimension in self._fields_of(content, where, {1: (_BYTES,)})
                    )
        return dtype, shape

    def _dimension(self, part, where):
        length = None
        for number, value in self._fields_of(part, where, {1: (_VARINT,), 2: (_BYTES,)}):
            length = _signed(value) if number == 1 else self._text(value) or None
        # Exporters write free lengths as 0 and -1 too.
        return None if isinstance(length, int) and length <= 0 else length


def _signed(value):
    return value - 2**64 if value >= 2**63 else value


def _array(data, kind, dims):
    """The array of little-endian bytes, read-only."""
    if kind == "bfloat16":
        array = (data.view("<u2").astype(np.uint32) << 16).view(np.float32).reshape(dims)
    elif kind in _OTHER_TYPES.values():
        array = data
    else:
        array = data.view(np.dtype(kind).newbyteorder("<")).reshape(dims)
    array.flags.writeable = False
    return array
