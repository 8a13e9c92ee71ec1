"""A network's body in plain NumPy, for installations without ONNX Runtime: convolutions as products of matrices.

Of ONNX's operators it has those of the embedded models: Conv without padding, Relu, Add, Slice for crops, and Cast
and Mul of weights.
"""

import contextlib
import ctypes
import threading

import numpy as np

from .. import _checks

# Rows of a convolution are worked on in blocks whose unfolded input takes about so many bytes, to stay in the cache.
_BLOCK_BYTES = 2**20
_SLICE_ALL = np.iinfo(np.int32).max
# As NumPy's own builds and those of distributions name OpenBLAS's functions.
_BLAS_NAMES = ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads")


class NumpyNetwork:
    """A Graph that runs on arrays (1, C, H, W) of float32.

    Raises
    ------
    ValueError
        For operators or attributes that it does not have.
    """

    def __init__(self, graph, name):
        self._name = name
        self._constants = dict(graph.initializers)
        self._steps = []
        for node in graph.nodes:
            self._add(node)
        self._input, self._output = graph.inputs[0].name, graph.outputs[0].name

    def _add(self, node):
        make = {
            "Add": self._sum,
            "Cast": self._cast,
            "Conv": self._conv,
            "Mul": self._product,
            "Relu": self._relu,
            "Slice": self._crop,
        }
        if node.op not in make or node.domain or len(node.outputs) != 1:
            _checks.sr_needs_runtime(self._name, f"the operator {node.op}")
        step = make[node.op](node)
        if step is not None:
            self._steps.append((step, [name for name in node.inputs if name not in self._constants], node.outputs[0]))

    def _constant(self, node, index):
        if index < len(node.inputs) and node.inputs[index] in self._constants:
            return self._constants[node.inputs[index]]
        return _checks.sr_needs_runtime(self._name, f"a {node.op} whose input {index} is computed")

    def _cast(self, node):
        """Weights alone are cast, once."""
        self._constants[node.outputs[0]] = self._constant(node, 0).astype(np.float32)

    def _product(self, node):
        """Steps of weights and their size are multiplied once."""
        self._constants[node.outputs[0]] = self._constant(node, 0) * self._constant(node, 1)

    def _conv(self, node):
        weights = np.asarray(self._constant(node, 1), np.float32)
        usual = {"strides": 1, "dilations": 1, "pads": 0, "group": 1}
        for name, value in usual.items():
            found = node.attributes.get(name, value)
            if any(number != value for number in (found if isinstance(found, list) else [found])):
                _checks.sr_needs_runtime(self._name, f"a Conv with {name} {found}")
        if weights.ndim != 4 or node.attributes.get("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
            _checks.sr_needs_runtime(self._name, "a Conv with padding, or of other than two axes")
        bias = np.asarray(self._constant(node, 2), np.float32) if len(node.inputs) > 2 else np.float32([0])
        # Columns in the order in which a block is unfolded: by rows and columns of the kernel, then by channels.
        matrix = np.ascontiguousarray(weights.transpose(0, 2, 3, 1).reshape(len(weights), -1))
        side = weights.shape[2:]
        return lambda x: _convolved(x, matrix, side, bias.reshape(-1, 1))

    def _relu(self, _node):
        return lambda x: np.maximum(x, np.float32(0))

    def _sum(self, node):
        if any(name in self._constants for name in node.inputs):
            _checks.sr_needs_runtime(self._name, "an Add of a constant")
        return lambda x, y: x + y

    def _crop(self, node):
        bounds = [self._constant(node, index).tolist() for index in range(1, len(node.inputs))]
        starts, stops = bounds[:2]
        axes = bounds[2] if len(bounds) > 2 else range(len(starts))
        steps = bounds[3] if len(bounds) > 3 else [1] * len(starts)
        parts = [slice(None)] * 4
        for start, stop, axis, step in zip(starts, stops, axes, steps, strict=True):
            parts[axis] = slice(start, None if stop >= _SLICE_ALL else stop, step)
        # One picture at a time: without the batch axis.
        return lambda x: x[tuple(parts[1:])]

    def __call__(self, x):
        values = {self._input: x[0]}
        for step, names, result in self._steps:
            values[result] = step(*(values[name] for name in names))
        return values[self._output][None]


class _Blas:
    lock = threading.Lock()
    users = 0
    before = 1


@contextlib.contextmanager
def one_blas_thread():
    """Products of matrices take one thread in this block, if OpenBLAS makes them: tiles have threads of their own."""
    get, put = _blas_functions()
    with _Blas.lock:
        if _Blas.users == 0:
            _Blas.before = get()
            put(1)
        _Blas.users += 1
    try:
        yield
    finally:
        with _Blas.lock:
            _Blas.users -= 1
            if _Blas.users == 0:
                put(_Blas.before)


def _blas_functions():
    """OpenBLAS's functions that tell and set its number of threads; some that do nothing for other libraries."""
    core = getattr(np, "_core", None) or np.core
    try:
        library = ctypes.CDLL(core._multiarray_umath.__file__)
    except (OSError, AttributeError):
        return lambda: 1, lambda _: None
    for name in _BLAS_NAMES:
        # Functions of libraries that this one is linked with are found too.
        if hasattr(library, name.format("set")) and hasattr(library, name.format("get")):
            return getattr(library, name.format("get")), getattr(library, name.format("set"))
    return lambda: 1, lambda _: None


def _convolved(x, matrix, side, bias):
    """(C, H, W) convolved to (K, H - h + 1, W - w + 1).

    Rows stay as long as they are, so that a shift of the picture is a shift of one long run of numbers; what is
    computed across their ends is cut off.
    """
    x = np.ascontiguousarray(x)
    channels, height, width = x.shape
    rows, columns = height - side[0] + 1, width - side[1] + 1
    result = np.empty((len(matrix), rows, columns), np.float32)
    step = max(1, _BLOCK_BYTES // (4 * matrix.shape[1] * width))
    flat = x.reshape(channels, -1)
    unfolded = np.empty((matrix.shape[1], step * width), np.float32)
    for top in range(0, rows, step):
        count = min(step, rows - top)
        # The last row ends where the picture does.
        length = (count - 1) * width + columns
        part = unfolded[:, :length]
        for row in range(side[0]):
            for column in range(side[1]):
                start = (top + row) * width + column
                place = (row * side[1] + column) * channels
                part[place : place + channels] = flat[:, start : start + length]
        product = np.empty((len(matrix), count * width), np.float32)
        np.matmul(matrix, part, out=product[:, :length])
        product = product.reshape(len(matrix), count, width)[:, :, :columns]
        np.add(product, bias[:, :, None], out=result[:, top : top + count])
    return result
