"""Make the golden data of tests/golden: small inputs and what other libraries answer to them.

    python tools/make_golden.py [--only torch onnx opencv pillow tensorflow] [--output-dir tests/golden]

Needs the libraries that it is asked for; the tests read the files with numpy alone. Each file is an .npz whose "meta"
entry is a JSON text with the versions of the libraries and one record per case in the oracle's own words; case number i
has the arrays "i.x" (input), "i.y" (output) and, for gradients, "i.g" (the gradient that comes in) and "i.dx" (the
result). A record of the operator "indices" has in "i.y" what nearest reads, for every pair of lengths to 64, as the
distance from what the exact rule of its name says: nearly all are 0, and compress well.
"""

import argparse
import itertools
import json
import platform
import zlib
from pathlib import Path

import numpy as np

SIZE_LIMIT = 500_000
LONGEST = 64
# Prime and unequal lengths, one of them doubled, one to and from a single sample.
SIZE_PAIRS = [((5, 7), (11, 3)), ((7, 3), (5, 13)), ((2, 11), (4, 22)), ((13, 4), (1, 2)), ((1, 5), (3, 1))]


def numbers(shape, dtype, name):
    """Small multiples of 1/8, so that sums of a few products are exact in float32; the name seeds them."""
    generator = np.random.default_rng(zlib.crc32(name.encode()))
    values = generator.integers(-200, 200, size=shape)
    return values.astype(dtype) if np.dtype(dtype).kind in "iu" else (values / 8).astype(dtype)


EXACT_RULES = {
    "floor(o n / m)": lambda o, n, m: o * n // m,
    "floor((o + 1/2) n / m)": lambda o, n, m: (2 * o + 1) * n // (2 * m),
    "floor(o (n - 1) / (m - 1) + 1/2)": lambda o, n, m: (2 * o * (n - 1) // max(m - 1, 1) + 1) // 2,
}


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

    def add_indices(self, convention, rule, nearest):
        """What `nearest`, a function of an array (n,) and m, reads for every pair of lengths."""
        distances = []
        for n, m in itertools.product(range(1, LONGEST + 1), repeat=2):
            exact = EXACT_RULES[rule](np.arange(m), n, m)
            distances.append(nearest(np.arange(n, dtype=np.uint8), m).astype(np.int64) - exact)
        self.add({"op": "indices", "convention": convention, "rule": rule}, y=np.concatenate(distances).astype(np.int8))

    def save(self, path):
        meta = json.dumps({"versions": self.versions, "cases": self.cases}, sort_keys=True)
        np.savez_compressed(path, meta=np.array(meta), **self.arrays)
        print(f"{path}: {len(self.cases)} cases, {path.stat().st_size} bytes")


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

    lengths = [((7,), (5,)), ((13, 4), (7, 9)), ((3, 5, 4), (5, 2, 7))]
    filters = ("bilinear", "bicubic")
    weighted = [("linear", False), ("linear", True), ("trilinear", False), ("trilinear", True), ("area", None)]
    calls = [{"mode": mode, "align_corners": align} for mode, align in weighted]
    calls += [{"mode": mode} for mode in ("nearest", "nearest-exact")]
    calls += [{"mode": "bicubic", "align_corners": align} for align in (False, True)]
    calls += [{"mode": mode, "antialias": True, "align_corners": True} for mode in filters]
    calls += [{"mode": mode, "antialias": True} for mode in ("bicubic", "lanczos")]
    ranks = {"linear": (1,), "trilinear": (3,), "bilinear": (2,), "bicubic": (2,), "lanczos": (2,)}
    for options, rank, dtype in itertools.product(calls, (1, 2, 3), (np.float32, np.float64)):
        if rank in ranks.get(options["mode"], (1, 2, 3)) and (rank == 2 or dtype == np.float64):
            size_in, size_out = lengths[rank - 1]
            x = numbers((2, 1, *size_in), dtype, f"{options}{rank}")
            interpolate({**options, "size": size_out}, x, size=size_out, **options)
    for options, factors in itertools.product(calls[7:9] + calls[11:], [(1.7, 0.45), (1.05, 2.3)]):
        x = numbers((1, 2, 10, 7), np.float64, f"{options}{factors}")
        # With antialias, torch's gradient uses the scale on an axis that its forward copies.
        copied = options.get("antialias") and int(10 * factors[0]) == 10
        interpolate({**options, "scale_factor": factors}, x, not copied, scale_factor=factors, **options)
    for mode, size in itertools.product(("bilinear", "nearest-exact"), [(5, 9), (17, 6)]):
        x = numbers((1, 3, 11, 8), np.uint8, f"{mode}{size}")
        interpolate({"mode": mode, "size": size}, x, False, mode=mode, size=size)

    def nearest(mode):
        def of_torch(x, m):
            y = functional.interpolate(torch.from_numpy(x.astype(np.float32))[None, None, :, None], (m, 1), mode=mode)
            return y.numpy().ravel()

        return of_torch

    collection.add_indices("torch", "floor(o n / m)", nearest("nearest"))
    collection.add_indices("torch_nearest_exact", "floor((o + 1/2) n / m)", nearest("nearest-exact"))
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


def opencv_cases():
    import cv2

    collection = Collection({"opencv": cv2.__version__})
    # OpenCV's own code, not Intel's library, whose positions are finer.
    cv2.ipp.setUseIPP(False)
    kinds = itertools.product(("INTER_LINEAR", "INTER_CUBIC"), (np.float32, np.uint8), SIZE_PAIRS)
    for interpolation, dtype, (size_in, size_out) in kinds:
        if (interpolation, dtype) != ("INTER_CUBIC", np.uint8):
            x = numbers((*size_in, 2), dtype, f"{interpolation}{size_in}")
            y = cv2.resize(x, size_out[::-1], interpolation=getattr(cv2, interpolation)).reshape(*size_out, 2)
            collection.add({"op": "resize", "interpolation": interpolation}, x=x, y=y)

    def nearest(interpolation):
        return lambda x, m: cv2.resize(x[None], (m, 1), interpolation=interpolation).ravel()

    collection.add_indices("opencv", "floor(o n / m)", nearest(cv2.INTER_NEAREST))
    collection.add_indices("opencv_nearest_exact", "floor((o + 1/2) n / m)", nearest(cv2.INTER_NEAREST_EXACT))
    return collection


def pillow_cases():
    import PIL
    from PIL import Image

    collection = Collection({"pillow": PIL.__version__})

    def resize(x, size, resample):
        return np.asarray(Image.fromarray(x).resize(size[::-1], Image.Resampling[resample]))

    for resample, dtype in [
        ("BILINEAR", np.float32),
        ("BICUBIC", np.float32),
        ("LANCZOS", np.float32),
        ("BILINEAR", np.uint8),
    ]:
        for size_in, size_out in SIZE_PAIRS:
            x = numbers(size_in, dtype, f"{resample}{size_in}")
            collection.add({"op": "resize", "resample": resample}, x=x, y=resize(x, size_out, resample))
    rule = "floor((o + 1/2) n / m)"
    collection.add_indices("pillow", rule, lambda x, m: resize(x[None], (1, m), "NEAREST").ravel())
    return collection


def tensorflow_cases():
    import tensorflow as tf

    collection = Collection({"tensorflow": tf.__version__})
    flags_of = {"tf1": (False, False), "tf1_align_corners": (True, False), "tf": (False, True)}
    rules = dict(
        zip(flags_of, ("floor(o n / m)", "floor(o (n - 1) / (m - 1) + 1/2)", "floor((o + 1/2) n / m)"), strict=True)
    )

    for name, (corners, centers) in flags_of.items():
        flags = {"align_corners": corners, "half_pixel_centers": centers}
        for size_in, size_out in SIZE_PAIRS:
            x = numbers((1, *size_in, 2), np.float32, f"{name}{size_in}")
            g = numbers((1, *size_out, 2), np.float32, f"gradient{name}{size_in}")
            y = tf.raw_ops.ResizeBilinear(images=x, size=size_out, **flags).numpy()
            dx = tf.raw_ops.ResizeBilinearGrad(grads=g, original_image=x, **flags).numpy()
            collection.add({"op": "resize_bilinear", **flags}, x=x, y=y, g=g, dx=dx)
            y = tf.raw_ops.ResizeNearestNeighbor(images=x, size=size_out, **flags).numpy()
            dx = tf.raw_ops.ResizeNearestNeighborGrad(grads=g, size=size_in, **flags).numpy()
            collection.add({"op": "resize_nearest_neighbor", **flags}, x=x, y=y, g=g, dx=dx)

        def nearest(x, m, flags=flags):
            return tf.raw_ops.ResizeNearestNeighbor(images=x.reshape(1, -1, 1, 1), size=(m, 1), **flags).numpy().ravel()

        collection.add_indices(name, rules[name], nearest)

    for method, antialias in [("bilinear", True), ("bicubic", False), ("lanczos3", True)]:
        for size_in, size_out in SIZE_PAIRS[:3]:
            x = numbers((1, *size_in, 2), np.float32, f"{method}{antialias}{size_in}")
            y = tf.image.resize(x, size_out, method, antialias=antialias).numpy()
            collection.add({"op": "image_resize", "method": method, "antialias": antialias}, x=x, y=y)
    kernels = ("triangle", "keyscubic", "lanczos3")
    for kernel, antialias, (size_in, size_out) in itertools.product(kernels, (False, True), SIZE_PAIRS[:3]):
        x = numbers((1, *size_in, 2), np.float32, f"{kernel}{size_in}")
        g = numbers((1, *size_out, 2), np.float32, f"gradient{kernel}{size_in}")
        options = {"kernel_type": kernel, "antialias": antialias}
        place = {"scale": np.float32(size_out) / np.float32(size_in), "translation": np.zeros(2, np.float32)}
        y = tf.raw_ops.ScaleAndTranslate(images=x, size=size_out, **place, **options).numpy()
        dx = tf.raw_ops.ScaleAndTranslateGrad(grads=g, original_image=x, **place, **options).numpy()
        collection.add({"op": "scale_and_translate", **options}, x=x, y=y, g=g, dx=dx)
    return collection


MAKERS = {
    "torch": torch_cases,
    "onnx": onnx_cases,
    "opencv": opencv_cases,
    "pillow": pillow_cases,
    "tensorflow": tensorflow_cases,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=MAKERS, default=list(MAKERS), help="these files; all by default")
    parser.add_argument("--output-dir", type=Path, default=Path(__file__).parent.parent / "tests" / "golden")
    arguments = parser.parse_args()
    folder = arguments.output_dir
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        MAKERS[name]().save(folder / f"{name}.npz")
    total = sum(path.stat().st_size for path in folder.glob("*.npz"))
    if total > SIZE_LIMIT:
        raise SystemExit(f"make_golden: the files hold {total} bytes; the limit is {SIZE_LIMIT}")


if __name__ == "__main__":
    main()
