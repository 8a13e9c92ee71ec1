"""The same operators under the names, arguments, defaults and error conditions of their owners, on NumPy arrays.

`directml` speaks as Microsoft's DirectML does, `tensorflow` as TensorFlow's raw operators do. Each is a thin
translation onto `imgops`.
"""

from . import directml, tensorflow

__all__ = ["directml", "tensorflow"]
