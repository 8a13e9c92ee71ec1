"""Outputs made by other libraries, with the convention that each is by its owner's documentation.

The live tests call these where a library is installed; tools/make_identify_golden.py stores what they made.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

SHAPE = (13, 17)
SIZES = ((29, 23), (7, 5))


def picture(dtype):
    """The random input: 0..255 in float32 steps or whole."""
    values = np.random.default_rng(1317).random(SHAPE) * 255
    return np.rint(values).astype(dtype) if np.dtype(dtype).kind == "u" else values.astype(dtype)


def torch(x, size, **options):
    import torch
    from torch.nn import functional

    return functional.interpolate(torch.from_numpy(x)[None, None], size=size, **options)[0, 0].numpy()


def opencv(x, size, interpolation):
    import cv2

    return cv2.resize(x, size[::-1], interpolation=getattr(cv2, f"INTER_{interpolation}"))


def pillow(x, size, resampling):
    from PIL import Image

    return np.asarray(Image.fromarray(x).resize(size[::-1], getattr(Image.Resampling, resampling)))


def tensorflow(x, size, operator, **options):
    import tensorflow as tf

    images = tf.constant(x[None, :, :, None])
    resized = getattr(tf.raw_ops, operator)(images=images, size=size, **options)
    return resized.numpy()[0, :, :, 0]


def tensorflow_image(x, size, method, antialias=False):
    import tensorflow as tf

    return tf.image.resize(x[:, :, None], size, method=method, antialias=antialias).numpy()[:, :, 0]


def onnx(x, size, **attributes):
    import onnx
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator

    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    inputs = [
        helper.make_tensor_value_info("x", kind, x.shape),
        helper.make_tensor_value_info("sizes", TensorProto.INT64, [2]),
    ]
    graph = helper.make_graph([node], "resize", inputs, [helper.make_tensor_value_info("y", kind, size)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    onnx.checker.check_model(model)
    return ReferenceEvaluator(model).run(None, {"x": x, "sizes": np.array(size, np.int64)})[0].astype(x.dtype)


def skimage(x, size, order):
    from skimage import transform

    options = {"mode": "edge", "anti_aliasing": False, "preserve_range": True}
    return transform.resize(x, size, order=order, **options).astype(x.dtype)


class Case(NamedTuple):
    """A library's call: a function of input and size, the input's dtype, the fields of the match that it must be."""

    make: Callable
    dtype: str
    expected: dict
    library: str


def _case(maker, dtype, expected, *arguments, **options):
    def make(x, size):
        return maker(x, size, *arguments, **options)

    return Case(make, dtype, expected, LIBRARIES[maker])


def _is(convention, mode, rounding=None, **fields):
    return {"convention": convention, "mode": mode, "rounding": rounding, **fields}


# The module that each maker needs.
LIBRARIES = {
    torch: "torch",
    opencv: "cv2",
    pillow: "PIL",
    tensorflow: "tensorflow",
    tensorflow_image: "tensorflow",
    onnx: "onnx",
    skimage: "skimage",
}
_AA = {"antialias": True}
_HALF = {"half_pixel_centers": True}
_ALIGN = {"align_corners": True}
_TF_NEAREST, _TF_LINEAR = "ResizeNearestNeighbor", "ResizeBilinear"
CASES = {
    "torch nearest": _case(torch, "u1", _is("torch", "nearest"), mode="nearest"),
    "torch nearest-exact": _case(torch, "u1", _is("torch_nearest_exact", "nearest"), mode="nearest-exact"),
    "torch bilinear": _case(torch, "f4", _is("torch", "linear"), mode="bilinear"),
    "torch bilinear of uint8": _case(torch, "u1", _is("torch", "linear"), mode="bilinear"),
    "torch bilinear aligned": _case(torch, "f4", _is("torch_align_corners", "linear"), mode="bilinear", **_ALIGN),
    "torch bicubic": _case(torch, "f4", _is("torch", "cubic"), mode="bicubic"),
    "torch bilinear antialiased": _case(torch, "f4", _is("torch", "linear", **_AA), mode="bilinear", **_AA),
    "torch bicubic antialiased": _case(torch, "u1", _is("torch", "cubic", **_AA), mode="bicubic", **_AA),
    "tensorflow nearest": _case(tensorflow, "u1", _is("tf", "nearest"), _TF_NEAREST, **_HALF),
    "tensorflow nearest legacy": _case(tensorflow, "u1", _is("tf1", "nearest"), _TF_NEAREST),
    "tensorflow nearest aligned": _case(tensorflow, "u1", _is("tf1_align_corners", "nearest"), _TF_NEAREST, **_ALIGN),
    "tensorflow bilinear": _case(tensorflow, "f4", _is("tf", "linear"), _TF_LINEAR, **_HALF),
    "tensorflow bilinear legacy": _case(tensorflow, "f4", _is("tf1", "linear"), _TF_LINEAR),
    "tensorflow bilinear aligned": _case(tensorflow, "f4", _is("tf1_align_corners", "linear"), _TF_LINEAR, **_ALIGN),
    "tensorflow bilinear of uint8 to float": _case(tensorflow, "u1", _is("tf", "linear"), _TF_LINEAR, **_HALF),
    "tensorflow image bicubic": _case(tensorflow_image, "f4", _is("tf", "cubic"), "bicubic"),
    "tensorflow image bilinear antialiased": _case(
        tensorflow_image, "f4", _is("tf", "linear", **_AA), "bilinear", **_AA
    ),
    "onnx nearest": _case(onnx, "u1", _is("half_pixel", "nearest", "half_down"), mode="nearest"),
    "onnx nearest asymmetric floor": _case(
        onnx,
        "u1",
        _is("asymmetric", "nearest", "floor"),
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    ),
    "onnx nearest ceil": _case(onnx, "u1", _is("half_pixel", "nearest", "ceil"), mode="nearest", nearest_mode="ceil"),
    "onnx linear": _case(onnx, "f4", _is("half_pixel", "linear"), mode="linear"),
    "onnx linear aligned": _case(
        onnx, "f4", _is("align_corners", "linear"), mode="linear", coordinate_transformation_mode="align_corners"
    ),
    "onnx linear asymmetric": _case(
        onnx, "f4", _is("asymmetric", "linear"), mode="linear", coordinate_transformation_mode="asymmetric"
    ),
    "onnx linear antialiased": _case(
        onnx, "f4", _is("half_pixel", "linear", antialias=True, edge="repeat"), mode="linear", antialias=1
    ),
    "onnx cubic": _case(onnx, "f4", _is("half_pixel", "cubic"), mode="cubic"),
    "onnx cubic -0.5, outside excluded": _case(
        onnx,
        "f4",
        _is("half_pixel", "cubic", cubic_coefficient=-0.5, edge="renormalise"),
        mode="cubic",
        cubic_coeff_a=-0.5,
        exclude_outside=1,
    ),
    "opencv nearest": _case(opencv, "u1", _is("opencv", "nearest"), "NEAREST"),
    "opencv nearest exact": _case(opencv, "u1", _is("opencv_nearest_exact", "nearest"), "NEAREST_EXACT"),
    # OpenCV 5 computes the weights of float32 pictures from exact positions.
    "opencv linear": _case(opencv, "f4", _is("opencv", "linear"), "LINEAR"),
    "opencv linear of uint8": _case(opencv, "u1", _is("opencv", "linear"), "LINEAR"),
    "opencv cubic": _case(opencv, "f4", _is("opencv", "cubic"), "CUBIC"),
    "pillow nearest": _case(pillow, "u1", _is("pillow", "nearest"), "NEAREST"),
    "pillow bilinear": _case(pillow, "f4", _is("pillow", "linear"), "BILINEAR"),
    "pillow bilinear of uint8": _case(pillow, "u1", _is("pillow", "linear"), "BILINEAR"),
    "pillow bicubic of uint8": _case(pillow, "u1", _is("pillow", "cubic"), "BICUBIC"),
    "pillow lanczos": _case(pillow, "f4", _is("pillow", "lanczos3"), "LANCZOS"),
    "skimage order 0": _case(skimage, "u1", _is("skimage", "nearest"), 0),
    "skimage order 1": _case(skimage, "f4", _is("skimage", "linear"), 1),
}


# The file of stored outputs: for each dtype one array of all values, and in "meta" a JSON text with the versions of the
# modules and, for each output in order, its case, size and dtype.


def save(path, outputs, versions):
    outputs = dict(sorted(outputs.items()))
    index = [[name, size, output.dtype.name] for (name, size), output in outputs.items()]
    arrays = {
        dtype: np.concatenate([output.ravel() for output in outputs.values() if output.dtype == dtype])
        for dtype in sorted({entry[2] for entry in index})
    }
    meta = json.dumps({"versions": versions, "outputs": index}, sort_keys=True)
    np.savez_compressed(path, meta=np.array(meta), **arrays)


def load(path):
    """(outputs by case and size, versions by module)."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    meta = json.loads(str(arrays.pop("meta")))
    outputs = {}
    for name, size, dtype in meta["outputs"]:
        count = size[0] * size[1]
        outputs[name, tuple(size)] = arrays[dtype][:count].reshape(size)
        arrays[dtype] = arrays[dtype][count:]
    return outputs, meta["versions"]
