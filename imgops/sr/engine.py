"""What runs a network: sessions of ONNX Runtime, or NumPy where that is not installed."""

import contextlib
import threading
import warnings

import numpy as np

from .. import _checks
from .numpy_network import NumpyNetwork, one_blas_thread

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
    """A model with one input and one output, ready to run, from several threads if need be.

    Parameters
    ----------
    model : bytes
        An ONNX file.
    name : str
        Of the model, for messages.
    graph : Graph, optional
        The same model as `graph.read_graph` reads it, if it is one that NumPy can run.
    """

    def __init__(self, model, name, graph=None):
        self._model, self._graph, self._name = model, graph, name
        self._lock = threading.Lock()
        self._runners = {}

    def working(self):
        """The context for calls of `run` from several threads."""
        return contextlib.nullcontext() if onnxruntime() else one_blas_thread()

    def run(self, x, num_threads=1):
        """The model's output for an input array; `num_threads` within each of its operators."""
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
            if self._graph is None:
                _checks.needs_onnxruntime(self._name)
            return NumpyNetwork(self._graph, self._name)
        options = runtime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = num_threads, 1
        # Fatal errors only: the others are raised, and warnings are of no use to who has a picture to enlarge.
        options.log_severity_level = 4
        try:
            session = runtime.InferenceSession(self._model, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            _checks.sr_not_runnable(self._name, error)
        name = session.get_inputs()[0].name

        def runner(x):
            try:
                return session.run(None, {name: x})[0]
            except Exception as error:
                return _checks.sr_not_runnable(self._name, error, np.shape(x))

        return runner
