"""The peers: for each, a function that makes the calls of a cell. To add one, add a function with `@peer`.

A function takes the cell, its input and the number of threads. It raises NotHere where the peer is not installed or has
no such operation, and returns Calls.
"""

# ruff: noqa: ARG001 - every peer takes the same arguments

import functools
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import imgops

PEERS = {}


class NotHere(Exception):
    """This peer does not compute this cell; the text says why."""


class NotInstalled(NotHere):
    """A package is missing."""


@dataclass
class Calls:
    """Ways to call a peer, without arguments; each returns the result.

    Attributes
    ----------
    fresh : callable or None
        Makes a new result.
    warm : callable or None
        Writes into memory that has been written before.
    convention : str or None
        What imgops calls the peer's positions; None for those of the cell.
    to_array : callable
        Makes a NumPy array of the output's shape of a result; it is not timed.
    rest : float
        Seconds that the peer's threads spin on after a call.
    """

    fresh: Callable | None
    warm: Callable | None = None
    convention: str | None = None
    to_array: Callable = np.asarray
    rest: float = 0.02


def peer(name):
    def register(function):
        PEERS[name] = function
        return function

    return register


def load(module):
    try:
        return importlib.import_module(module)
    except ImportError:
        raise NotInstalled(f"{module} is not installed") from None


def warm_output(cell):
    """An output whose pages have been touched."""
    return np.ones(cell.output_shape, cell.dtype)


def spatial_axes(cell):
    return (1, 2) if cell.layout == "NHWC" else (2, 3)


def positions(cell, convention=None):
    """Options of imgops for the cell's mode: nearest is floor(o / s), which most peers have, if not told otherwise."""
    if convention is None:
        options = {"convention": "asymmetric", "rounding": "floor"} if cell.mode == "nearest" else {}
    else:
        options = {"convention": convention}
    return {"data_format": cell.layout, "mode": cell.mode, "antialias": cell.antialias, **options}


# ---------------------------------------------------------------------------------------------------------------------
# imgops


def own_call(cell, x, convention=None, **options):
    """imgops' call of the cell, as a callable."""
    if cell.block:
        move = getattr(imgops, cell.operator)
        return functools.partial(move, x, cell.block, data_format=cell.layout, mode=cell.order, **options)
    options = {**positions(cell, convention), **options}
    if cell.operator == "resample":
        return functools.partial(imgops.resample, x, cell.target, **options)
    return functools.partial(imgops.resample_grad, x, cell.output_shape, **options)


@peer("imgops")
def _(cell, x, threads):
    if cell.family == "small":
        # As a caller writes it: the 4 x 4 picture and its size.
        if cell.block:
            return Calls(functools.partial(getattr(imgops, cell.operator), x, cell.block))
        picture, options = x[0, 0], {} if cell.mode == "linear" else positions(cell)
        options.pop("data_format", None)
        function = imgops.resample if cell.operator == "resample" else imgops.resample_grad
        return Calls(functools.partial(function, picture, cell.target, **options))
    out = warm_output(cell)
    return Calls(own_call(cell, x, num_threads=threads), own_call(cell, x, out=out, num_threads=threads))


# ---------------------------------------------------------------------------------------------------------------------
# NumPy: reshape and transpose, repeats and strided views, one thread


@peer("NumPy")
def _(cell, x, threads):
    if cell.block:
        return _moved_views(cell, x)
    if cell.mode != "nearest":
        raise NotHere("NumPy has nearest alone")
    return (_nearest_views if cell.operator == "resample" else _nearest_gradient_views)(cell, x)


def block_views(cell, x, out, module):
    """(view of x, view of out) of equal shapes, of NumPy arrays or of tensors: the move is a copy between them."""
    r, c = cell.block, cell.channels
    h, w = cell.source if cell.operator == "depth_to_space" else cell.target
    depth, space = (x, out) if cell.operator == "depth_to_space" else (out, x)
    channels = (r, r, c) if cell.order == "DCR" else (c, r, r)
    if cell.layout == "NHWC":
        axes = (0, 1, 3, 2, 4, 5) if cell.order == "DCR" else (0, 1, 4, 2, 5, 3)
        views = depth.reshape(1, h, w, *channels), space.reshape(1, h, r, w, r, c)
    else:
        axes = (0, 3, 4, 1, 5, 2) if cell.order == "DCR" else (0, 1, 4, 2, 5, 3)
        views = depth.reshape(1, *channels, h, w), space.reshape(1, c, h, r, w, r)
    depth = module(views[0], axes)
    return (depth, views[1]) if cell.operator == "depth_to_space" else (views[1], depth)


def _moved_views(cell, x):
    out = warm_output(cell)
    source, target = block_views(cell, x, out, np.transpose)

    def warm():
        np.copyto(target, source)
        return out

    def fresh():
        result = np.empty(cell.output_shape, x.dtype)
        source, target = block_views(cell, x, result, np.transpose)
        np.copyto(target, source)
        return result

    return Calls(fresh, warm)


def _whole_factors(cell, small, large):
    """Factors between two sizes, or None where they are not whole."""
    if any(longer % shorter for longer, shorter in zip(large, small, strict=True)):
        return None
    return [longer // shorter for longer, shorter in zip(large, small, strict=True)]


def _blocks_of(cell, large, small, factors):
    """An array of the large size as (..., H, factor, W, factor, ...) of the small one."""
    (h, w), (rows, columns) = small, factors
    channels = cell.channels
    return large.reshape(
        (1, h, rows, w, columns, channels) if cell.layout == "NHWC" else (1, channels, h, rows, w, columns)
    )


def _strided(cell, factors):
    rows, columns = (slice(None, None, factor) for factor in factors)
    return (slice(None), rows, columns) if cell.layout == "NHWC" else (slice(None), slice(None), rows, columns)


def _nearest_views(cell, x):
    axis = spatial_axes(cell)[0]
    enlarged = _whole_factors(cell, cell.source, cell.target)
    reduced = _whole_factors(cell, cell.target, cell.source)
    if enlarged:

        def fill(out):
            spread = np.expand_dims(x, (axis + 1, axis + 3))
            np.copyto(_blocks_of(cell, out, cell.source, enlarged), spread)
            return out
    elif reduced:

        def fill(out):
            np.copyto(out, x[_strided(cell, reduced)])
            return out
    else:
        rows, columns = (np.arange(m) * n // m for n, m in zip(cell.source, cell.target, strict=True))

        def fill(out):
            return np.take(np.take(x, rows, axis), columns, axis + 1, out=out, mode="clip")

    out = warm_output(cell)
    return Calls(lambda: fill(np.empty(cell.output_shape, x.dtype)), lambda: fill(out))


def _nearest_gradient_views(cell, x):
    axis = spatial_axes(cell)[0]
    enlarged = _whole_factors(cell, cell.target, cell.source)
    reduced = _whole_factors(cell, cell.source, cell.target)
    if enlarged:

        def fill(out):
            blocks = _blocks_of(cell, x, cell.target, enlarged)
            return np.sum(blocks, (axis + 1, axis + 3), out=out)
    elif reduced:

        def fill(out):
            out[...] = 0
            out[_strided(cell, reduced)] = x
            return out
    else:
        raise NotHere("NumPy has whole factors alone")
    out = warm_output(cell)
    return Calls(lambda: fill(np.empty(cell.output_shape, x.dtype)), lambda: fill(out))


# ---------------------------------------------------------------------------------------------------------------------
# torch


def _torch(threads):
    torch = load("torch")
    torch.set_num_threads(threads)
    return torch


def _tensor(torch, cell, array):
    """A tensor (N, C, H, W) over the array's memory; an NHWC array becomes one in channels_last order."""
    whole = torch.from_numpy(array)
    return whole if cell.layout == "NCHW" else whole.permute(0, 3, 1, 2)


def _from_tensor(cell):
    def to_array(result):
        return (result if cell.layout == "NCHW" else result.permute(0, 2, 3, 1)).numpy()

    return to_array


@peer("torch")
def _(cell, x, threads):
    torch = _torch(threads)
    if cell.block:
        return _torch_move(torch, cell, x)
    source, out = _tensor(torch, cell, x), _tensor(torch, cell, warm_output(cell))
    to_array = _from_tensor(cell)
    size, nearest = list(cell.target), cell.mode == "nearest"
    aten = torch.ops.aten
    if cell.operator == "resample":
        options = {"mode": cell.mode} if nearest else {"mode": "bilinear", "antialias": cell.antialias}

        def fresh():
            return torch.nn.functional.interpolate(source, size=cell.target, **options)

        if nearest:
            warm = functools.partial(aten.upsample_nearest2d.out, source, size, out=out)
        else:
            operator = aten._upsample_bilinear2d_aa if cell.antialias else aten.upsample_bilinear2d
            warm = functools.partial(operator.out, source, size, False, out=out)
    else:
        shape = [1, cell.channels, *cell.target]
        operator = aten.upsample_nearest2d_backward if nearest else aten.upsample_bilinear2d_backward
        arguments = (source, list(cell.source), shape, *([] if nearest else [False]))
        fresh = functools.partial(operator, *arguments)
        warm = functools.partial(operator.grad_input, *arguments, grad_input=out)
    return Calls(fresh, warm, "torch", to_array)


def _torch_move(torch, cell, x):
    source = torch.from_numpy(x)
    if cell.family == "small":
        # Other than imgops' and TensorFlow's in order, which is the same one for a single channel.
        move = torch.pixel_shuffle if cell.operator == "depth_to_space" else torch.pixel_unshuffle
        return Calls(
            functools.partial(move, source.permute(0, 3, 1, 2).contiguous(), 2), None, None, _from_tensor(cell)
        )
    target = torch.from_numpy(warm_output(cell))
    reads, writes = block_views(cell, source, target, torch.permute)

    def warm():
        writes.copy_(reads)
        return target

    def fresh():
        result = torch.empty(cell.output_shape, dtype=source.dtype)
        reads, writes = block_views(cell, source, result, torch.permute)
        writes.copy_(reads)
        return result

    return Calls(fresh, warm)


@peer("torch pixel_shuffle")
def _(cell, x, threads):
    if not cell.block or cell.order != "CRD":
        raise NotHere("pixel_shuffle and pixel_unshuffle are moves in CRD order")
    torch = _torch(threads)
    move = torch.pixel_shuffle if cell.operator == "depth_to_space" else torch.pixel_unshuffle
    source = _tensor(torch, cell, x)
    return Calls(functools.partial(move, source, cell.block), None, None, _from_tensor(cell))


@peer("torch aten")
def _(cell, x, threads):
    if cell.family != "small" or cell.operator != "resample":
        raise NotHere("the operator below interpolate; it differs for small arrays alone")
    torch = _torch(threads)
    source, size = torch.from_numpy(x), list(cell.target)
    if cell.mode == "nearest":
        return Calls(functools.partial(torch._C._nn.upsample_nearest2d, source, size), None, "torch")
    return Calls(functools.partial(torch._C._nn.upsample_bilinear2d, source, size, False), None, "torch")


# ---------------------------------------------------------------------------------------------------------------------
# ONNX Runtime


@peer("onnxruntime")
def _(cell, x, threads):
    onnx, runtime = load("onnx"), load("onnxruntime")
    helper = onnx.helper
    constants = []
    if cell.block:
        if cell.layout != "NCHW" or (cell.operator == "space_to_depth" and cell.order != "DCR"):
            raise NotHere("onnxruntime moves NCHW, and to depth in DCR order alone")
        name = {"depth_to_space": "DepthToSpace", "space_to_depth": "SpaceToDepth"}[cell.operator]
        order = {"mode": cell.order} if cell.operator == "depth_to_space" else {}
        node = helper.make_node(name, ["x"], ["y"], blocksize=cell.block, **order)
    elif cell.operator == "resample":
        options = {"mode": cell.mode}
        if cell.mode == "nearest":
            options |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        if cell.antialias:
            options |= {"antialias": 1}
        node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **options)
        constants = [onnx.numpy_helper.from_array(np.array(cell.output_shape, np.int64), "sizes")]
    else:
        raise NotHere("onnxruntime has no gradient on the CPU")
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    inputs, outputs = (
        [helper.make_tensor_value_info(name, kind, shape)] for name, shape in (("x", x.shape), ("y", cell.output_shape))
    )
    graph = helper.make_graph([node], "cell", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    options = runtime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 4
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding, out = session.io_binding(), warm_output(cell)
    # The values must live as long as the binding: on the CPU they share the arrays' memory.
    source, target = runtime.OrtValue.ortvalue_from_numpy(x), runtime.OrtValue.ortvalue_from_numpy(out)
    binding.bind_ortvalue_input("x", source)
    binding.bind_ortvalue_output("y", target)

    def warm():
        session.run_with_iobinding(binding)
        return target

    def to_array(result):
        return result.numpy() if result is target else result

    feed = {"x": x}
    # Its threads spin on for tens of milliseconds.
    return Calls(lambda: session.run(None, feed)[0], warm, None, to_array, 0.08)


# ---------------------------------------------------------------------------------------------------------------------
# OpenCV and Pillow: pictures, plane by plane where the channels come first


def planes_of(cell, array):
    """Views of the array as (H, W, C) or (H, W) pictures, for what knows no other layout."""
    if cell.layout == "NCHW":
        return [array[0, channel] for channel in range(cell.channels)]
    return [array[0, :, :, 0] if cell.channels == 1 else array[0]]


@peer("OpenCV")
def _(cell, x, threads):
    if cell.operator != "resample" or cell.antialias:
        raise NotHere("OpenCV has no moves, no gradients and no antialiased linear filter")
    cv2 = load("cv2")
    cv2.setNumThreads(threads)
    flag = cv2.INTER_NEAREST if cell.mode == "nearest" else cv2.INTER_LINEAR
    sources, size = planes_of(cell, x), cell.target[::-1]

    def fill(out):
        for source, target in zip(sources, planes_of(cell, out), strict=True):
            cv2.resize(source, size, dst=target, interpolation=flag)
        return out

    out = warm_output(cell)
    if len(sources) > 1:
        return Calls(lambda: fill(np.empty(cell.output_shape, x.dtype)), lambda: fill(out), "opencv")

    def to_array(result):
        return np.reshape(result, cell.output_shape)

    return Calls(lambda: cv2.resize(sources[0], size, interpolation=flag), lambda: fill(out), "opencv", to_array)


_PILLOW_MODES = {
    ("uint8", 1): "L",
    ("uint8", 3): "RGB",
    ("uint8", 4): "RGBX",
    ("float32", 1): "F",
    ("uint16", 1): "I;16",
}


@peer("Pillow")
def _(cell, x, threads):
    if cell.operator != "resample":
        raise NotHere("Pillow has no moves and no gradients")
    mode = _PILLOW_MODES.get((cell.dtype, 1 if cell.layout == "NCHW" else cell.channels))
    if mode is None:
        raise NotHere("Pillow has pictures of 1, 3 or 4 channels of 8 bits, or of one of 16 bits or float32")
    shrinks = any(m < n for n, m in zip(cell.source, cell.target, strict=True))
    halves = _whole_factors(cell, cell.target, cell.source) == [2, 2] and cell.mode == "linear" and not cell.antialias
    if cell.mode == "linear" and shrinks and not cell.antialias and not halves:
        raise NotHere("Pillow antialiases what it reduces")
    image = load("PIL.Image")
    size = cell.target[::-1]
    filter_ = image.Resampling.NEAREST if cell.mode == "nearest" else image.Resampling.BILINEAR
    pictures = [
        image.frombuffer(mode, plane.shape[1::-1], np.ascontiguousarray(plane), "raw", mode, 0, 1)
        for plane in planes_of(cell, x)
    ]

    def fresh():
        return [picture.reduce(2) if halves else picture.resize(size, filter_) for picture in pictures]

    def to_array(result):
        return np.reshape(np.stack([np.asarray(picture) for picture in result]), cell.output_shape)

    return Calls(fresh, None, None if halves else "pillow", to_array)


# ---------------------------------------------------------------------------------------------------------------------
# TensorFlow


@functools.cache
def _tensorflow(threads):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = load("tensorflow")
    tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)
    return tensorflow


@peer("TensorFlow")
def _(cell, x, threads):
    if cell.layout != "NHWC" and cell.family != "small":
        raise NotHere("TensorFlow computes NHWC on the CPU")
    if cell.block and cell.order != "DCR":
        raise NotHere("TensorFlow moves in DCR order")
    if cell.mode == "linear" and cell.dtype != "float32" and cell.operator == "resample":
        raise NotHere("TensorFlow's linear result is float32")
    tensorflow = _tensorflow(threads)
    raw = tensorflow.raw_ops
    with tensorflow.device("CPU"):
        source = tensorflow.constant(x.reshape(1, *cell.source, -1))
    if cell.block:
        operator = raw.DepthToSpace if cell.operator == "depth_to_space" else raw.SpaceToDepth
        return Calls(functools.partial(operator, input=source, block_size=cell.block))
    size = tensorflow.constant(cell.target)
    centers = cell.mode == "linear"
    if cell.antialias:
        call = functools.partial(tensorflow.image.resize, source, size, antialias=True)
    elif cell.operator == "resample":
        operator = raw.ResizeBilinear if centers else raw.ResizeNearestNeighbor
        call = functools.partial(operator, images=source, size=size, half_pixel_centers=centers)
    elif centers:
        original = tensorflow.zeros((1, *cell.target, cell.channels), source.dtype)
        call = functools.partial(raw.ResizeBilinearGrad, grads=source, original_image=original, half_pixel_centers=True)
    else:
        call = functools.partial(raw.ResizeNearestNeighborGrad, grads=source, size=size)

    def to_array(result):
        return np.reshape(result, cell.output_shape)

    convention = None if cell.antialias else "tf" if centers else "tf1"
    return Calls(call, None, convention, to_array)
