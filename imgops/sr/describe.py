"""Models in words and tables: what the command line prints of those in the package and of a file."""

import collections
import dataclasses
import os
from importlib import resources

from . import engine, foreign, ncnn, upscaler
from .graph import read_graph


def embedded():
    """Facts of every embedded model, a dict each: grade, scale, parameters, bytes, halo, skip, rotations, license.

    Examples
    --------
    >>> embedded()[0]["grade"], embedded()[0]["scale"]
    ('best', 2)
    """
    return [_embedded(grade, scale) for grade in upscaler.models() for scale in upscaler.model_scales("models", grade)]


def _embedded(grade, scale):
    name = f"{grade}_x{scale}.onnx"
    data = resources.files("imgops.sr").joinpath("models", name).read_bytes()
    graph = read_graph(data, name)
    metadata = {key.removeprefix("imgops."): value for key, value in graph.metadata.items()}
    return {
        "grade": grade,
        "scale": scale,
        "parameters": foreign.count_parameters(graph),
        "bytes": len(data),
        "halo": int(metadata["halo"]),
        "skip": metadata.get("skip"),
        "rotations": int(metadata.get("rotations", 1)),
        "license": metadata.get("license"),
    }


def embedded_text():
    """Lines of the table of `embedded`, and one about what runs them."""
    rows = [("model", "scale", "parameters", "bytes", "reads around", "rotations", "added to")]
    for facts in embedded():
        numbers = [f"{facts[key]:,}" for key in ("parameters", "bytes")]
        numbers += [f"{facts['halo']} pixels", str(facts["rotations"])]
        rows.append((facts["grade"], f"x{facts['scale']}", *numbers, facts["skip"]))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        aligned = (word.rjust(width) if 2 <= index <= 5 else word.ljust(width) for index, (word, width) in cells)
        yield "  ".join(aligned).rstrip()
    runtime = engine.onnxruntime()
    yield ""
    yield f"run by ONNX Runtime {runtime.__version__}" if runtime else "run by NumPy: onnxruntime is not installed"


def checked(path):
    """(facts, problem) of a model file: what it is, as a dict, and why it cannot run, None if it can.

    Raises
    ------
    ValueError, OSError, ImportError
        As `foreign.load_model`, for what is no model that can be told.
    """
    spec = foreign.load_model(path)
    facts = {field.name: getattr(spec, field.name) for field in dataclasses.fields(spec)}
    del facts["model_bytes"]
    graph = read_graph(spec.model_bytes)
    operators = collections.Counter(node.op for node in graph.nodes)
    facts.update(bytes=_bytes_on_disk(path), operators=dict(operators.most_common()), opset=graph.opset)
    return facts, _problem(spec)


def _problem(spec):
    if engine.onnxruntime() is None and spec.kind == "picture":
        return "it needs the package onnxruntime, which is not installed; install it: pip install 'imgops[sr]'"
    return None


def _bytes_on_disk(path):
    other = ncnn.other_file(path)
    return os.path.getsize(path) + (0 if other is None else os.path.getsize(other))


def checked_text(facts):
    """Lines about the facts of `checked`."""
    size = facts["fixed_size"]
    kind = f"{facts['channels']} picture" if facts["kind"] == "picture" else "luma to a residual, imgops's own kind"
    sides = [f"{size[0]} x {size[1]} pixels alone, others in parts" if size else "any size"]
    if facts["multiple"] > 1:
        sides.append(f"sides that are multiples of {facts['multiple']}")
    if facts["minimum"] > facts["multiple"]:
        sides.append(f"at least {facts['minimum']} pixels a side")
    if facts["rotations"] > 1:
        kind += f", the mean of {facts['rotations']} rotations"
    around = "unknown, so that only the whole picture will do" if facts["halo"] is None else f"{facts['halo']} pixels"
    lines = {
        "takes": f"{kind}, {facts['layout']}, {facts['dtype']}, black {facts['value_range'][0]:g} to white "
        f"{facts['value_range'][1]:g}",
        "scale": f"x{facts['scale']}",
        "size": ", ".join(sides),
        "reads around": around,
        "border": "its own" if facts["padding"] == "own" else "the picture's edge, repeated",
        "parameters": f"{facts['parameters']:,} in {facts['bytes']:,} bytes",
        "operators": ", ".join(f"{count} {name}" for name, count in facts["operators"].items()),
    }
    yield from (f"{name:<13} {text}" for name, text in lines.items())
    yield from (f"{'note':<13} {note}" for note in facts["notes"])
