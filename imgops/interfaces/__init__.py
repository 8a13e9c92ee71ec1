"""The same operators under the names, arguments, defaults and error conditions of their owners, on NumPy arrays.

`directml` speaks as Microsoft's DirectML does, `onnx` as ONNX's operators, `tensorflow` as TensorFlow's raw operators,
`torch` as torch.nn.functional. Each is a thin translation onto `imgops`, and none needs its owner. `onnx_backend` runs
ONNX models of these operators, for which it needs the package onnx.
"""

from . import directml, onnx, onnx_backend, tensorflow, torch

__all__ = ["directml", "onnx", "onnx_backend", "tensorflow", "torch"]
