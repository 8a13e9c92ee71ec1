"""What runs a network: sessions of ONNX Runtime, or NumPy where that is not installed."""

import threading
import warnings

import numpy as np

from .. import _checks
from .numpy_network import NumpyNetwork

SLOWER = (
    "the package onnxruntime is not installed: super-resolution runs in plain NumPy, with the same result but slower; "
    "pip install 'imgops[sr]'"
)
_told = False


def onnxruntime():
    """The module, or None where it is not installed."""
    try:
        import onnxruntime
    except ImportError:
        return None
    return onnxruntime


def slower_notice():
    """The first time that it is asked for, and where ONNX Runtime is missing: what to tell about that."""
    global _told
    if _told or onnxruntime() is not None:
        return None
    _told = True
    return SLOWER


class Engine:
    """A model's graph, ready to run on one array at a time, from several threads if need be.

    Parameters
    ----------
    model : bytes
        An ONNX file.
    graph : Graph
        The same, as `graph.read_graph` reads it.
    name : str
        Of the model, for messages.
    """

    def __init__(self, model, graph, name):
        self._model, self._graph, self._name = model, graph, name
        self._lock = threading.Lock()
        self._runners = {}
        self.input, self.output = graph.inputs[0], graph.outputs[0]

    @property
    def in_numpy(self):
        return onnxruntime() is None

    def run(self, x, num_threads=1):
        """The graph's output for an input array; `num_threads` within each of its operators."""
        with self._lock:
            runner = self._runners.get(num_threads)
            if runner is None:
                runner = self._runners[num_threads] = self._made(num_threads)
        return runner(x)

    def _made(self, num_threads):
        runtime = onnxruntime()
        if runtime is None:
            notice = slower_notice()
            if notice:
                warnings.warn(notice, RuntimeWarning, stacklevel=2)
            return NumpyNetwork(self._graph, self._name)
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = num_threads, 1
        # Fatal errors only: the others are raised, and warnings are of no use to who has a picture to enlarge.
        options.log_severity_level = 4
        try:
            session = runtime.InferenceSession(self._model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            _checks.sr_not_runnable(self._name, error)
        names = [self.output.name], self.input.name

        def runner(x):
            try:
                return session.run(names[0], {names[1]: x})[0]
            except Exception as error:
                return _checks.sr_not_runnable(self._name, error, np.shape(x))

        return runner
