"""Make the golden data of tests/golden: small inputs and what torch and onnx answer to them.

    python tools/make_golden.py [--output-dir tests/golden]

Needs torch, onnx and numpy; the tests read the files with numpy alone. Each file is an .npz whose "meta" entry is a
JSON text with the versions of the libraries and one record per case in the oracle's own words; case number i has the
arrays "i.x" (input), "i.y" (output) and, for gradients, "i.g" (the gradient that comes in) and "i.dx" (the result).
"""

import argparse
import itertools
import json
import platform
import zlib
from pathlib import Path

import numpy as np

SIZE_LIMIT = 300_000
# Prime and unequal lengths, one of them doubled, one to and from a single sample.
SIZE_PAIRS = [((5, 7), (11, 3)), ((7, 3), (5, 13)), ((2, 11), (4, 22)), ((13, 4), (1, 2)), ((1, 5), (3, 1))]


def numbers(shape, dtype, name):
    """Small multiples of 1/8, so that sums of a few products are exact in float32; the name seeds them."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    values = generator.integers(-200, 200, size=shape)
    return values.astype(dtype) if np.dtype(dtype).kind in "iu" else (values / 8).astype(dtype)


class Collection:
    """Cases on their way into one .npz file."""

    def __init__(self, versions):
        self.versions = {"numpy": np.__version__, "python": platform.python_version(), **versions}
        self.cases = []
        self.arrays = {}

    def add(self, record, **arrays):
        index = len(self.cases)
        self.cases.append(record)
        self.arrays.update({f"{index}.{key}": np.asarray(value) for key, value in arrays.items()})

    def save(self, path):
        meta = json.dumps({"versions": self.versions, "cases": self.cases}, sort_keys=True)
        np.savez_compressed(path, meta=np.array(meta), **self.arrays)
        print(f"{path}: {len(self.cases)} cases, {path.stat().st_size} bytes")
        return path.stat().st_size


def torch_cases():
    import torch
    from torch.nn import functional

    collection = Collection({"torch": torch.__version__})

    for name, factor, shape, dtype in [
        ("pixel_shuffle", 2, (2, 12, 3, 5), np.int32),
        ("pixel_shuffle", 3, (18, 5, 2), np.float32),
        ("pixel_shuffle", 5, (2, 3, 25, 1, 3), np.uint8),
        ("pixel_unshuffle", 2, (2, 3, 6, 10), np.int32),
        ("pixel_unshuffle", 3, (2, 15, 6), np.float32),
        ("pixel_unshuffle", 5, (3, 1, 2, 5, 15), np.uint8),
    ]:
        x = numbers(shape, dtype, f"{name}{factor}")
        y = getattr(functional, name)(torch.from_numpy(x), factor).numpy()
        collection.add({"op": name, "factor": factor}, x=x, y=y)

    def interpolate(record, x, backward=True, **options):
        """One call of torch.nn.functional.interpolate and, through autograd, its gradient."""
        tensor = torch.from_numpy(x).requires_grad_(backward)
        y = functional.interpolate(tensor, **options)
        arrays = {"x": x, "y": y.detach().numpy()}
        if backward:
            arrays["g"] = numbers(tuple(y.shape), x.dtype, f"gradient{record}")
            y.backward(torch.from_numpy(arrays["g"]))
            arrays["dx"] = tensor.grad.numpy()
        collection.add({"op": "interpolate", **record}, **arrays)

    modes = [("nearest", None), ("nearest-exact", None), ("bilinear", False), ("bilinear", True)]
    for (mode, align), dtype, (size_in, size_out) in itertools.product(modes, (np.float32, np.float64), SIZE_PAIRS):
        record = {"mode": mode, "align_corners": align, "size": size_out}
        x = numbers((1, 2, *size_in), dtype, f"{record}{size_in}")
        interpolate(record, x, mode=mode, align_corners=align, size=size_out)
    for (mode, align), factors in itertools.product(modes, [(1.5, 0.6), (2.0, 3.0), (0.35, 1.25)]):
        record = {"mode": mode, "align_corners": align, "scale_factor": factors}
        x = numbers((1, 2, 10, 7), np.float64, f"{record}")
        interpolate(record, x, mode=mode, align_corners=align, scale_factor=factors, recompute_scale_factor=False)
    for size_in, size_out in [((11, 13), (5, 3)), ((7, 5), (3, 11)), ((3, 5), (7, 7))]:
        record = {"mode": "bilinear", "align_corners": False, "size": size_out, "antialias": True}
        x = numbers((1, 2, *size_in), np.float64, f"{record}{size_in}")
        interpolate(record, x, mode="bilinear", align_corners=False, size=size_out, antialias=True)
    return collection


def onnx_node_cases():
    """(name, model, input arrays, output array) of the node tests that onnx itself carries for these operators."""
    from onnx.backend.test import loader

    wanted = ("DepthToSpace", "SpaceToDepth", "Resize", "Upsample")
    for case in loader.load_model_tests(kind="node"):
        if case.model is None or case.data_sets is None:
            raise SystemExit("make_golden: this onnx keeps its node tests in files; use onnx 1.23 or later")
        if len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type in wanted:
            inputs, outputs = case.data_sets[0]
            yield case.name, case.model, inputs, outputs[0]


def describe_node(onnx, node, inputs):
    """A record of one node: its attributes and its constant inputs by their ONNX names."""
    schema_inputs = {"Upsample": ("X", "scales"), "Resize": ("X", "roi", "scales", "sizes")}
    record = {"op": node.op_type}
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        record[attribute.name] = value.decode() if isinstance(value, bytes) else value
    given = iter(inputs)
    for formal, actual in zip(schema_inputs.get(node.op_type, ("X",)), node.input, strict=False):
        if actual:
            value = next(given)
            if formal != "X":
                record[formal] = np.asarray(value).tolist()
    return record


def onnx_cases():
    import onnx
    from onnx.reference import ReferenceEvaluator

    collection = Collection({"onnx": onnx.__version__})
    for name, model, inputs, output in onnx_node_cases():
        record = describe_node(onnx, model.graph.node[0], inputs)
        if record.get("mode") != "cubic":
            collection.add({"name": name, **record}, x=inputs[0], y=output)

    def run(op_type, opset, x, constants=(), **attributes):
        """One node through onnx.reference; constants are the inputs after X as (name, array)."""
        make = onnx.helper
        kind = make.np_dtype_to_tensor_dtype(x.dtype)
        names = ["X", "roi", "scales", "sizes"] if op_type == "Resize" else ["X"]
        given = dict(constants)
        node = make.make_node(op_type, [n if n == "X" or n in given else "" for n in names], ["Y"], **attributes)
        inputs = [make.make_tensor_value_info("X", kind, x.shape)]
        inputs += [
            make.make_tensor_value_info(n, make.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in given.items()
        ]
        graph = make.make_graph([node], "golden", inputs, [make.make_tensor_value_info("Y", kind, None)])
        model = make.make_model(graph, opset_imports=[make.make_opsetid("", opset)])
        y = ReferenceEvaluator(model).run(None, {"X": x, **given})[0]
        lists = {n: v.tolist() for n, v in given.items()}
        collection.add({"name": "reference", "op": op_type, **attributes, **lists}, x=x, y=y)

    for mode, block in itertools.product(("DCR", "CRD"), (2, 3)):
        x = numbers((2, 2 * block * block, 3, 5), np.int32, f"{mode}{block}")
        run("DepthToSpace", 13, x, blocksize=block, mode=mode)
        run("SpaceToDepth", 28, numbers((2, 3, 2 * block, 5 * block), np.int32, mode), blocksize=block, mode=mode)

    transformations = ("half_pixel", "half_pixel_symmetric", "align_corners", "asymmetric", "pytorch_half_pixel")
    roundings = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    for transformation, (size_in, size_out) in itertools.product(transformations, SIZE_PAIRS[:4]):
        sizes = [("sizes", np.array((1, 1, *size_out), np.int64))]
        x = numbers((1, 1, *size_in), np.float32, f"{transformation}{size_in}")
        shared = {"coordinate_transformation_mode": transformation}
        run("Resize", 19, x, sizes, mode="linear", **shared)
        for rounding in roundings:
            run("Resize", 19, x, sizes, mode="nearest", nearest_mode=rounding, **shared)
    # Scales that binary floats hold exactly and that map no output to a whole input: the oracle computes in floats, and
    # half_pixel_symmetric then reads a neighbour's neighbour for a last bit.
    for transformation, scales in itertools.product(transformations, [(1.1875, 0.8125), (0.625, 2.125)]):
        if transformation == "align_corners":
            continue  # the oracle's align_corners takes the unrounded length
        constants = [("scales", np.array((1, 1, *scales), np.float32))]
        x = numbers((1, 1, 7, 5), np.float32, f"{transformation}{scales}")
        shared = {"coordinate_transformation_mode": transformation}
        run("Resize", 19, x, constants, mode="linear", **shared)
        for rounding in roundings:
            run("Resize", 19, x, constants, mode="nearest", nearest_mode=rounding, **shared)
    x = np.arange(2 * 3 * 5, dtype=np.uint8).reshape(1, 2, 3, 5) * 8
    run("Resize", 19, x, [("sizes", np.array((1, 2, 7, 4), np.int64))], mode="linear")
    return collection


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output-dir", type=Path, default=Path(__file__).parent.parent / "tests" / "golden")
    folder = parser.parse_args().output_dir
    folder.mkdir(parents=True, exist_ok=True)
    total = torch_cases().save(folder / "torch.npz") + onnx_cases().save(folder / "onnx.npz")
    if total > SIZE_LIMIT:
        raise SystemExit(f"make_golden: the files hold {total} bytes; the limit is {SIZE_LIMIT}")


if __name__ == "__main__":
    main()
